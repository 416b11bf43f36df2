//! Output for frame viewers: ticks, updates, snapshots and statistics.

use std::sync::Arc;

use trantor_game::Agent;
use trantor_model::Command;
use trantor_protocol::wire::{ServerStats, TeamStats, ToClient};
use trantor_time::{NANOS, RealSpan, RealTime};

use super::deadlines::Timer;
use super::{Engine, Watch};
use crate::input::ConnId;
use crate::limits;
use crate::replicate::send;
use crate::session::{Feed, Observer};
use crate::snapshot::Population;
use crate::stats::Speedometer;

impl Engine {
    /// One tick: everything since the last one, between its marks.
    pub(super) fn tick(&mut self, now: RealTime) {
        let tick = self.ticks.start(now);
        let (number, skipped) = (tick.number, tick.skipped_before);
        for conn in self.welcome_viewers() {
            let Some(observer) = self.sessions.observer_mut(conn) else {
                continue;
            };
            let instant_us = observer.us_at(tick.instant);
            observer.stream_time.at_tick(instant_us);
            send(&mut self.sessions, conn, &ToClient::TickBegin { number, skipped });
            self.send_updates(conn);
            self.send_waiting(conn);
            send(&mut self.sessions, conn, &ToClient::TickEnd { number });
            self.catch_up(conn, now);
            if self.delay_of(conn) > RealSpan::ZERO {
                // Its credit comes back too late to ask for more.
                self.send_snapshot(conn, now);
            }
        }
        self.frame_updates.clear();
        let next = self.ticks.end(now);
        let Some(watch) = &mut self.watch else { return };
        watch.tick = self.timers.schedule(next, Timer::Tick);
        watch.leap_frequency = watch.leaps.frequency(now, self.pace.game_now());
        // In lock-step time leaps in every pass, which would be too many messages.
        if std::mem::take(&mut watch.has_slipped) || self.lock_step.is_some() {
            self.send_clock(now);
        }
        let (_, skipped) = self.ticks.counts();
        if let Some(skipped) = self.skips_logged.note(now, skipped) {
            log::warn!("{skipped} tick instants were skipped");
        }
    }

    /// Sends a viewer the waiting commands of its watched agent, if they have changed. They would contradict what
    /// a viewer that lags behind shows.
    fn send_waiting(&mut self, conn: ConnId) {
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        let (Feed::Updates, Some(watched)) = (&observer.feed, &mut observer.watched) else {
            return;
        };
        let agent = watched.agent;
        let waiting = self
            .game
            .world()
            .agent(agent)
            .into_iter()
            .flat_map(Agent::waiting);
        let commands: Vec<_> = waiting.map(Command::kind).collect();
        if watched.sent.as_ref() != Some(&commands) {
            watched.sent = Some(commands.clone());
            send(&mut self.sessions, conn, &ToClient::Waiting { agent, commands });
        }
    }

    /// Sends a viewer the changes of the tick, or keeps it behind a snapshot that is on its way.
    fn send_updates(&mut self, conn: ConnId) {
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        let frames = self
            .frame_updates
            .encode(std::mem::take(&mut observer.updates_from));
        let takes_updates = self.sessions.takes_changes(conn, frames.len());
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        match &mut observer.feed {
            Feed::Updates if takes_updates => {
                self.sessions
                    .push(conn, |outbox| outbox.extend_from_slice(frames));
            }
            Feed::Updates => {
                observer.feed = Feed::Behind;
                self.counters.viewers_thinned += 1;
            }
            Feed::Snapshot {
                snapshot, updates, ..
            } => {
                if let Some(kept) = updates {
                    if kept.len() + frames.len() <= limits::VIEWER_UPDATES_BYTES_MAX {
                        kept.extend_from_slice(frames);
                    } else {
                        *updates = None;
                    }
                }
                if !snapshot.is_over() {
                    return;
                }
                match updates.take() {
                    Some(kept) => {
                        observer.feed = Feed::Updates;
                        self.sessions.push(conn, |outbox| outbox.extend_from_slice(&kept));
                    }
                    None => {
                        observer.feed = Feed::Behind;
                        self.counters.viewers_thinned += 1;
                    }
                }
            }
            Feed::Silent | Feed::Behind => {}
        }
    }

    /// Sends a thinned viewer a fresh snapshot, once its outbox is almost empty.
    fn catch_up(&mut self, conn: ConnId, now: RealTime) {
        let is_behind = |observer: &Observer| matches!(observer.feed, Feed::Behind);
        let snapshot_bytes = limits::snapshot_bytes_max(self.config.game.size);
        if !self.sessions.observer(conn).is_some_and(is_behind)
            || !self.sessions.takes_snapshot(conn, snapshot_bytes)
        {
            return;
        }
        let population = self.population();
        if let Some(observer) = self.sessions.observer_mut(conn) {
            // It includes all updates of this tick.
            observer.begin_snapshot(population, 0, now);
            self.counters.snapshots += 1;
            self.send_snapshot(conn, now);
        }
    }

    /// The agents and eggs of the world, cached until they change. After the end of a match those at its end, since all
    /// agents are disconnected with it.
    pub(super) fn population(&mut self) -> Arc<Population> {
        if let Some(ending) = &self.ending {
            return Arc::clone(ending);
        }
        let population = self
            .population
            .get_or_insert_with(|| Arc::new(Population::of(&self.game, &mut self.egg_pieces)));
        Arc::clone(population)
    }

    /// Sends as much of a viewer's snapshot as its credit allows. A viewer that never gives credit for the rest is
    /// disconnected, since its snapshot takes memory until it is sent.
    pub(super) fn send_snapshot(&mut self, conn: ConnId, now: RealTime) {
        // Credit that returns only after the delay would make a large snapshot take too long.
        let is_lent = self.delay_of(conn) > RealSpan::ZERO;
        for nth in 0..limits::SNAPSHOT_CREDIT {
            let observer = self.sessions.observer_mut(conn);
            let Some(part) = observer.and_then(|observer| observer.next_part(&self.game, is_lent, now))
            else {
                break;
            };
            if nth == 0 {
                self.send_stream_time(conn, now);
            }
            self.sessions.push(conn, |outbox| outbox.extend_from_slice(&part));
        }
        if self
            .sessions
            .observer(conn)
            .is_some_and(|observer| observer.snapshot_waits_since().is_some())
        {
            self.sessions.watch_backlog(conn);
        }
    }

    /// A tick cannot carry so many changes: every viewer gets a snapshot instead.
    pub(super) fn drop_updates(&mut self) {
        for conn in self.welcome_viewers() {
            let Some(observer) = self.sessions.observer_mut(conn) else {
                continue;
            };
            observer.updates_from = 0;
            match &mut observer.feed {
                Feed::Snapshot { updates, .. } => *updates = None,
                Feed::Updates => {
                    observer.feed = Feed::Behind;
                    self.counters.viewers_thinned += 1;
                }
                Feed::Silent | Feed::Behind => {}
            }
        }
    }

    /// Sends all frame viewers the statistics of the HUD.
    pub(super) fn send_stats(&mut self, at: RealTime, now: RealTime) {
        let stats = self.server_stats(now);
        for conn in self.welcome_viewers() {
            self.send_message(conn, now, &ToClient::Stats(stats.clone()));
        }
        // Missed statistics are skipped: the next are due a whole period later.
        let next = at.saturating_add(limits::STATS_PERIOD);
        let next = if next > now {
            next
        } else {
            now.saturating_add(limits::STATS_PERIOD)
        };
        if let Some(watch) = &mut self.watch {
            watch.stats = self.timers.schedule(next, Timer::Stats);
        }
    }

    fn server_stats(&mut self, now: RealTime) -> ServerStats {
        let game_now = self.pace.game_now();
        let effective_frequency_milli = self.speedometer.milli_units_per_second(now, game_now);
        let stats = self.stats(now);
        let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let teams = self.game.world().teams().iter();
        ServerStats {
            uptime_ms: stats.uptime_ms,
            passes: stats.counters.passes,
            deadlines_fired: stats.counters.deadlines_fired(),
            lateness_p99_ns: stats.lateness_last_second.p99_ns,
            lateness_max_ns: stats.lateness_last_second.max_ns,
            effective_frequency_milli,
            slipped_units: u64::try_from(stats.slipped.as_nanounits() / i128::from(NANOS))
                .unwrap_or(u64::MAX),
            ticks_skipped: stats.ticks_skipped,
            connections: count(stats.connections),
            viewers: count(stats.text_viewers + stats.viewers),
            teams: teams
                .map(|team| TeamStats {
                    agents: team.living(),
                    places: team.places(),
                })
                .collect(),
        }
    }

    /// Frame viewers after their hello, in order of arrival.
    pub(super) fn welcome_viewers(&self) -> Vec<ConnId> {
        let is_welcome = |conn: &ConnId| self.sessions.observer(*conn).is_some_and(Observer::is_welcome);
        self.sessions.viewers.iter().copied().filter(is_welcome).collect()
    }

    /// Schedules ticks and statistics for the first viewer.
    pub(super) fn start_watch(&mut self, now: RealTime) {
        if self.watch.is_none() {
            self.frame_updates.clear();
            self.speedometer = Speedometer::new(now, self.pace.game_now());
            let tick = self.timers.schedule(self.ticks.resume(now), Timer::Tick);
            let stats = self
                .timers
                .schedule(now.saturating_add(limits::STATS_PERIOD), Timer::Stats);
            self.watch = Some(Watch {
                tick,
                stats,
                has_slipped: false,
                leaps: Speedometer::new(now, self.pace.game_now()),
                leap_frequency: None,
            });
        }
    }

    /// Cancels ticks and statistics without viewers: an empty server makes no wake-ups.
    pub(super) fn stop_watch_if_unwatched(&mut self) {
        if self.welcome_viewers().is_empty()
            && let Some(Watch { tick, stats, .. }) = self.watch.take()
        {
            self.timers.cancel(tick);
            self.timers.cancel(stats);
            self.frame_updates.clear();
        }
    }
}
