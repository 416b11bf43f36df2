//! The engine looked at from outside: how it stands, and everything that is counted.

use trantor_game::Game;
use trantor_time::{GameClock, GameTime, RealSpan, RealTime};

use super::Engine;
use crate::config::EngineConfig;
use crate::input::ConnId;
use crate::session::{Answer, Feed, Role};
use crate::stats::EngineStats;

impl Engine {
    /// The game, to be looked at.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// What the engine was made from.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// How game time follows real time at present.
    pub fn game_clock(&self) -> &GameClock {
        self.pace.clock()
    }

    /// Whether the game was started: peers are greeted, and time passes.
    pub fn is_started(&self) -> bool {
        self.pace.is_started()
    }

    /// Whether a viewer has been sent all that happened: one of ours until the last tick, unless it is too slow or gets the
    /// world just now; one in text, unless it gets the world, or it or another waits for its turn.
    pub fn is_up_to_date(&self, conn: ConnId) -> bool {
        let Some(session) = self.sessions.get(conn) else {
            return false;
        };
        match &session.role {
            Role::Viewer(observer) => matches!(observer.feed, Feed::News),
            Role::TextViewer => {
                let gets_world = session.flow.answer.as_ref().is_some_and(Answer::is_world);
                !gets_world && !self.is_map_news_due && self.sessions.text_viewers().turns_left() == 0
            }
            _ => false,
        }
    }

    /// Game time of this pass.
    pub fn game_now(&self) -> GameTime {
        self.pace.game_now()
    }

    /// Everything that is counted.
    pub fn stats(&mut self, now: RealTime) -> EngineStats {
        let (slips, slipped) = self.pace.slips();
        let (ticks_run, ticks_skipped) = self.ticks.counts();
        let mut counters = self.counters.clone();
        counters.encode_failures = self.news.encode_failures;
        counters.undeliverable = self.sessions.undeliverable();
        EngineStats {
            uptime_ms: u64::try_from(now.since(self.began).as_nanos() / 1_000_000).unwrap_or(0),
            counters,
            lateness: self.lateness.all(),
            lateness_last_second: self.lateness.last_second(now),
            outbox_waits: self.outbox_waits.all(),
            outbox_age: self
                .sessions
                .iter()
                .map(|session| session.outbox.age(now))
                .max()
                .unwrap_or(RealSpan::ZERO),
            slips,
            slipped,
            ticks_run,
            ticks_skipped,
            connections: self.sessions.len(),
            agents: self.sessions.agents(),
            text_viewers: self.sessions.text_viewers().len(),
            viewers: self.sessions.viewers().len(),
            outbox_bytes: self.sessions.outbox_bytes(),
            timers_pending: self.timers.len(),
            eggs_refused: self.game.world().eggs_refused(),
        }
    }

    /// Whether some agent has nothing to do and could do something. While there is none, nothing that a player sends
    /// can count before the next deadline: a command waits for the end of the one before it.
    pub fn awaits_command(&self) -> bool {
        self.sessions.idle_agents() > 0
    }
}
