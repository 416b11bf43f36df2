//! The engine looked at from outside: how it stands, and everything that is counted.

use trantor_game::Game;
use trantor_time::{GameClock, GameTime, RealSpan, RealTime};

use super::Engine;
use crate::config::EngineConfig;
use crate::input::ConnId;
use crate::session::Feed;
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

    /// Whether a viewer of ours has been sent all that happened until the last tick. One that is too slow, or gets the
    /// world just now, has not.
    pub fn is_up_to_date(&self, conn: ConnId) -> bool {
        let observer = self.sessions.observer(conn);
        observer.is_some_and(|observer| matches!(observer.feed, Feed::News))
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
            outbox_bytes: self.sessions.owed_bytes(),
            chores_pending: self.housekeeping.len(),
            eggs_refused: self.game.world().eggs_refused(),
            wheel_steps: self.housekeeping.wheel_steps(),
        }
    }

    /// Whether some agent has nothing to do and could do something. While there is none, nothing that a player sends
    /// can count before the next deadline: a command waits for the end of the one before it.
    pub fn awaits_command(&self) -> bool {
        self.sessions.owing() > 0
    }
}
