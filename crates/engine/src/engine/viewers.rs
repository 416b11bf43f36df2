//! Viewers of ours: their messages, their ticks, their figures (§13, §16, §17).

use trantor_protocol::wire::{
    ClientHello, ServerHello, ServerStats, TeamStats, ToClient, ToServer, WIRE_VERSION,
};
use trantor_time::RealTime;

use super::{Engine, Watch};
use crate::admin::PaceRequest;
use crate::housekeeping::Chore;
use crate::input::ConnId;
use crate::limits;
use crate::output::CloseReason;
use crate::replicate::{clock_anchor, send, snapshot_frames};
use crate::session::Feed;
use crate::ticks::Ticks;

impl Engine {
    /// Carries out a message of a viewer of ours, and acknowledges it after its effects (R-002-51).
    pub(super) fn message(&mut self, conn: ConnId, message: ToServer, now: RealTime) {
        self.counters.messages += 1;
        let Some(observer) = self
            .sessions
            .get_mut(conn)
            .and_then(|session| session.observer_mut())
        else {
            return;
        };
        let number = observer.numbers.receive();
        let is_welcome = observer.is_welcome();
        match message {
            ToServer::Hello(hello) if !is_welcome => return self.hello(conn, &hello, number, now),
            _ if !is_welcome => return self.protocol_error(conn, "the first message is a hello", now),
            ToServer::Hello(_) => return self.protocol_error(conn, "a hello is said once", now),
            ToServer::Goodbye => return self.close_after_flush(conn, CloseReason::Goodbye),
            ToServer::Probe { token } => {
                let server_us = observer.us_at(now);
                send(
                    &mut self.sessions,
                    conn,
                    &ToClient::ProbeReply { token, server_us },
                );
            }
            ToServer::Credit { items } => {
                if observer.credit(items).is_err() {
                    return self.protocol_error(
                        conn,
                        "more credit was given back than pieces were sent",
                        now,
                    );
                }
                self.send_snapshot(conn, now);
            }
            ToServer::SetFrequency { frequency } => {
                self.pace_request(conn, PaceRequest::SetFrequency(frequency), number, now);
            }
            ToServer::Pause => self.pace_request(conn, PaceRequest::Pause, number, now),
            ToServer::Resume => self.pace_request(conn, PaceRequest::Resume, number, now),
            ToServer::Step(kind) => self.pace_request(conn, PaceRequest::Step(kind), number, now),
        }
        self.acknowledge(conn, now);
    }

    /// Ends a session that broke the rules of the wire, with the reason (R-002-58).
    pub(super) fn protocol_error(&mut self, conn: ConnId, reason: &str, now: RealTime) {
        let reason = reason.to_owned();
        self.tell(conn, now, &ToClient::Goodbye { reason });
        self.close_after_flush(conn, CloseReason::ProtocolError);
    }

    fn hello(&mut self, conn: ConnId, hello: &ClientHello, number: u64, now: RealTime) {
        if hello.version != WIRE_VERSION {
            let reason = format!(
                "this server speaks version {WIRE_VERSION} of the viewer protocol, and {} speaks version {}",
                hello.program.escape_debug(),
                hello.version
            );
            send(&mut self.sessions, conn, &ToClient::Refused { number, reason });
            return self.close_after_flush(conn, CloseReason::VersionRefused);
        }
        self.set_limit(conn, None);
        self.start_watch(now);
        let may_control = self.may_control(conn);
        let news_from = self.news.len();
        let frames = snapshot_frames(&self.game);
        let Some(observer) = self
            .sessions
            .get_mut(conn)
            .and_then(|session| session.observer_mut())
        else {
            return;
        };
        observer.reference = now;
        observer.begin_snapshot(frames, news_from);
        let message = ToClient::Hello(ServerHello {
            version: WIRE_VERSION,
            program: self.config.program.clone(),
            since_reference_us: 0,
            tick_period_us: u32::try_from(Ticks::PERIOD.as_nanos() / 1_000).expect("a tick is short"),
            last_tick: self
                .ticks
                .last()
                .map(|(number, instant)| (number, observer.us_at(instant))),
            next_tick_us: observer.us_at(self.ticks.next()),
            size: self.config.game.size,
            teams: self.config.game.teams.clone(),
            may_control,
        });
        self.counters.snapshots += 1;
        send(&mut self.sessions, conn, &message);
        self.tell_clock_to(conn, now);
        self.acknowledge(conn, now);
        self.send_snapshot(conn, now);
    }

    fn pace_request(&mut self, conn: ConnId, request: PaceRequest, number: u64, now: RealTime) {
        let changed = if self.may_control(conn) {
            self.change_pace(request, now)
                .map_err(|refusal| refusal.to_string())
        } else {
            Err("this server lets only viewers on its own machine change the speed".to_owned())
        };
        if let Err(reason) = changed {
            self.counters.messages_refused += 1;
            self.tell(conn, now, &ToClient::Refused { number, reason });
        }
    }

    fn acknowledge(&mut self, conn: ConnId, now: RealTime) {
        let ack = self
            .sessions
            .get_mut(conn)
            .and_then(|session| session.observer_mut())
            .and_then(|observer| observer.numbers.take_ack());
        if let Some(number) = ack {
            self.tell(conn, now, &ToClient::Ack { number });
        }
    }

    /// One tick: everything since the last one, between its marks (R-002-43, R-002-44).
    pub(super) fn tick(&mut self, now: RealTime) {
        let tick = self.ticks.start(now);
        let (number, skipped) = (tick.number, tick.skipped_before);
        for conn in self.welcome_viewers() {
            let Some(observer) = self
                .sessions
                .get_mut(conn)
                .and_then(|session| session.observer_mut())
            else {
                continue;
            };
            let instant_us = observer.us_at(tick.instant);
            observer.stream_time.at_tick(instant_us);
            send(&mut self.sessions, conn, &ToClient::TickBegin { number, skipped });
            self.send_news(conn);
            send(&mut self.sessions, conn, &ToClient::TickEnd { number });
            self.catch_up(conn, now);
        }
        self.news.clear();
        let next = self.ticks.end(now);
        if let Some(watch) = &mut self.watch {
            watch.tick = self.housekeeping.schedule(next, Chore::Tick);
        }
    }

    /// Sends a viewer what it has not been told, or keeps it behind a snapshot that is on its way.
    fn send_news(&mut self, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        let waiting = session.outbox.len();
        let Some(observer) = session.observer_mut() else {
            return;
        };
        let frames = self.news.encode(std::mem::take(&mut observer.news_from));
        match &mut observer.feed {
            Feed::News if waiting <= limits::VIEWER_NEWS_BYTES_MAX => {
                self.sessions
                    .push(conn, |outbox| outbox.extend_from_slice(frames));
            }
            Feed::News => {
                observer.feed = Feed::Behind;
                self.counters.viewers_thinned += 1;
            }
            Feed::Snapshot { parts, news } => {
                if let Some(kept) = news {
                    if kept.len() + frames.len() <= limits::VIEWER_NEWS_BYTES_MAX {
                        kept.extend_from_slice(frames);
                    } else {
                        *news = None;
                    }
                }
                if !parts.is_empty() {
                    return;
                }
                match news.take() {
                    Some(kept) => {
                        observer.feed = Feed::News;
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

    /// Gives a viewer that was too slow a fresh snapshot, once it has read most of what it was owed.
    fn catch_up(&mut self, conn: ConnId, now: RealTime) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        if session.outbox.len() > limits::VIEWER_CAUGHT_UP_BYTES {
            return;
        }
        let Some(observer) = session.observer_mut() else {
            return;
        };
        if matches!(observer.feed, Feed::Behind) {
            // All news of this tick are in it.
            observer.begin_snapshot(snapshot_frames(&self.game), 0);
            self.counters.snapshots += 1;
            self.send_snapshot(conn, now);
        }
    }

    /// Sends as much of a viewer's snapshot as it has credit for.
    fn send_snapshot(&mut self, conn: ConnId, now: RealTime) {
        let mut is_first = true;
        while let Some(part) = self
            .sessions
            .get_mut(conn)
            .and_then(|session| session.observer_mut())
            .and_then(|observer| observer.next_part())
        {
            if std::mem::take(&mut is_first) {
                self.tell_stream_time(conn, now);
            }
            self.sessions.push(conn, |outbox| outbox.extend_from_slice(&part));
        }
    }

    /// There were more changes than a tick carries: everybody gets a snapshot instead.
    pub(super) fn drop_news(&mut self) {
        for conn in self.welcome_viewers() {
            let Some(observer) = self
                .sessions
                .get_mut(conn)
                .and_then(|session| session.observer_mut())
            else {
                continue;
            };
            observer.news_from = 0;
            match &mut observer.feed {
                Feed::Snapshot { news, .. } => *news = None,
                Feed::News => {
                    observer.feed = Feed::Behind;
                    self.counters.viewers_thinned += 1;
                }
                Feed::Silent | Feed::Behind => {}
            }
        }
    }

    /// Figures for the HUD, to all viewers of ours.
    pub(super) fn tell_stats(&mut self, at: RealTime, now: RealTime) {
        let stats = self.server_stats(now);
        for conn in self.welcome_viewers() {
            self.tell(conn, now, &ToClient::Stats(stats.clone()));
        }
        // A figure that is missed is not made up for: the next one is a whole period away.
        let next = at.saturating_add(limits::STATS_PERIOD);
        let next = if next > now {
            next
        } else {
            now.saturating_add(limits::STATS_PERIOD)
        };
        if let Some(watch) = &mut self.watch {
            watch.stats = self.housekeeping.schedule(next, Chore::Stats);
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
            slipped_units: u64::try_from(stats.slipped.as_nanounits() / i128::from(trantor_time::NANOS))
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

    /// Tells every viewer of ours how the game clock stands, at once after each change.
    pub(super) fn tell_clock(&mut self, now: RealTime) {
        for conn in self.welcome_viewers() {
            self.tell_clock_to(conn, now);
        }
    }

    fn tell_clock_to(&mut self, conn: ConnId, now: RealTime) {
        let Some(observer) = self.sessions.get(conn).and_then(|session| session.observer()) else {
            return;
        };
        let anchor = clock_anchor(observer, self.pace.clock(), now);
        self.tell(conn, now, &ToClient::Clock(anchor));
    }

    /// Sends a message that belongs to this moment.
    fn tell(&mut self, conn: ConnId, now: RealTime, message: &ToClient) {
        self.tell_stream_time(conn, now);
        send(&mut self.sessions, conn, message);
    }

    /// Tells a viewer that what follows belongs to this moment, if it would otherwise take it for another
    /// (R-002-47).
    fn tell_stream_time(&mut self, conn: ConnId, now: RealTime) {
        let next_tick = self.ticks.next();
        let Some(observer) = self
            .sessions
            .get_mut(conn)
            .and_then(|session| session.observer_mut())
        else {
            return;
        };
        if !observer.is_welcome() {
            // Without a hello there is no reference to count from.
            return;
        }
        let (event_us, next_tick_us) = (observer.us_at(now), observer.us_at(next_tick));
        if let Some(instant_us) = observer.stream_time.before_event(event_us, next_tick_us) {
            send(&mut self.sessions, conn, &ToClient::StreamTime { instant_us });
        }
    }

    fn welcome_viewers(&self) -> Vec<ConnId> {
        let is_welcome = |conn: &ConnId| {
            self.sessions
                .get(*conn)
                .and_then(|session| session.observer())
                .is_some_and(|it| it.is_welcome())
        };
        self.sessions
            .viewers()
            .iter()
            .copied()
            .filter(is_welcome)
            .collect()
    }

    /// Somebody watches: ticks and figures are due from now on, if they were not already.
    fn start_watch(&mut self, now: RealTime) {
        if self.watch.is_none() {
            self.news.clear();
            let tick = self.housekeeping.schedule(self.ticks.resume(now), Chore::Tick);
            let stats = self
                .housekeeping
                .schedule(now.saturating_add(limits::STATS_PERIOD), Chore::Stats);
            self.watch = Some(Watch { tick, stats });
        }
    }

    /// If nobody watches any more, nothing is due for it: an empty server makes no wake-ups (R-000-20).
    pub(super) fn stop_watch_if_unwatched(&mut self) {
        if self.welcome_viewers().is_empty()
            && let Some(Watch { tick, stats }) = self.watch.take()
        {
            self.housekeeping.cancel(tick);
            self.housekeeping.cancel(stats);
            self.news.clear();
        }
    }
}
