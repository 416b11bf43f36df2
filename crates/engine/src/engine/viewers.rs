//! Frame viewers: their messages, and what they are sent: ticks, updates, snapshots and statistics.
//!
//! Ticks run only while a frame viewer is connected: an empty server makes no wake-ups. The grid itself
//! continues, and the begin mark after a break counts all instants without a tick, so that every viewer's sum
//! is right; for metrics, instants without a viewer are not skips.

use std::collections::BTreeMap;

use trantor_game::{Agent, Delays, history};
use trantor_model::{AgentId, Command, Control, Lag, Show, ShownBy, TeamId};
use trantor_protocol::limits::{HISTORY_EVENTS_MAX, HISTORY_SCORES_MAX, LINKS_SHOWN_MAX};
use trantor_protocol::wire::{
    ClientHello, FeedEntry, History, LagState, LinkState, LinkTotals, ScorePoint, ServerHello, ServerStats,
    TeamStats, ToClient, ToServer, WIRE_VERSION,
};
use trantor_time::link::LinkCounts;
use trantor_time::tick_clock::TICK_PERIOD;
use trantor_time::{Frequency, NANOS, RealSpan, RealTime, Tick, TickClock, TimerId};

use super::Engine;
use super::deadlines::Timer;
use super::operators::WRONG_TOKEN;
use crate::limits;
use crate::replicate::{clock_anchor, send, send_at_once};
use crate::session::{Feed, Observer, Session, TokenShown, Watched};
use crate::shell::{CloseReason, ConnId};
use crate::stats::Speedometer;

const _: () = assert!(
    history::EVENTS_MAX <= HISTORY_EVENTS_MAX && history::SCORES_MAX <= HISTORY_SCORES_MAX,
    "what is kept is no more than may be sent"
);

impl Engine {
    /// Carries out a message of a frame viewer, and acknowledges it after its effects.
    pub(super) fn message(&mut self, conn: ConnId, message: ToServer, now: RealTime) {
        self.figures.counters.messages += 1;
        let delay = self.delay_of(conn);
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        let number = observer.numbers.receive();
        let is_welcome = observer.is_welcome();
        let request = match message {
            ToServer::Hello(hello) if !is_welcome => return self.hello(conn, &hello, number, now),
            _ if !is_welcome => return self.protocol_error(conn, "the first message is a hello", now),
            ToServer::Hello(_) => return self.protocol_error(conn, "a hello is said once", now),
            ToServer::Goodbye => return self.close_after_flush(conn, CloseReason::Goodbye),
            ToServer::Probe { token } => {
                let server_us = observer.us_at(now - delay);
                let message = ToClient::ProbeReply { token, server_us };
                send_at_once(&mut self.sessions, conn, &message);
                None
            }
            ToServer::Credit { items } => {
                if observer.credit(items).is_err() {
                    let reason = "more credit was given back than pieces were sent";
                    return self.protocol_error(conn, reason, now);
                }
                self.send_snapshot(conn, now);
                None
            }
            ToServer::Watch { agent } => {
                observer.watched = agent.map(|agent| Watched { agent, sent: None });
                None
            }
            ToServer::Control(request) => Some(request),
        };
        if let Some(request) = request {
            self.viewer_request(conn, &request, number, now);
        }
        self.acknowledge(conn, now);
    }

    pub(super) fn protocol_error(&mut self, conn: ConnId, reason: &str, now: RealTime) {
        self.say_goodbye(conn, reason, CloseReason::ProtocolError, now);
    }

    pub(super) fn say_goodbye(&mut self, conn: ConnId, words: &str, reason: CloseReason, now: RealTime) {
        let words = words.to_owned();
        self.send_message_at_once(conn, now, &ToClient::Goodbye { reason: words });
        self.close_after_flush(conn, reason);
    }

    fn hello(&mut self, conn: ConnId, hello: &ClientHello, number: u64, now: RealTime) {
        if hello.version != WIRE_VERSION {
            let reason = format!(
                "this server speaks version {WIRE_VERSION} of the viewer protocol, and {} speaks version {}",
                hello.program.escape_debug(),
                hello.version
            );
            send_at_once(&mut self.sessions, conn, &ToClient::Refused { number, reason });
            return self.close_after_flush(conn, CloseReason::VersionRefused);
        }
        let has_wrong_token = |session: &Session| session.token == TokenShown::Wrong;
        if self.sessions.get(conn).is_some_and(has_wrong_token) {
            let reason = WRONG_TOKEN.to_owned();
            send_at_once(&mut self.sessions, conn, &ToClient::Refused { number, reason });
            return self.close_after_flush(conn, CloseReason::ControlRefused);
        }
        log::debug!(
            "{}: watches with {}",
            self.shown(conn),
            hello.program.escape_debug()
        );
        self.set_limit(conn, None);
        self.start_watch(now);
        let may_control = self.may_control(conn);
        let delay = self.delay_of(conn);
        let position = self.delivery.frames.flush();
        let population = self.delivery.snapshots.population(&self.game);
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        // A delayed viewer sees the past, and a clock of the past.
        observer.reference = now - delay;
        observer.begin_snapshot(population, position, now);
        let message = ToClient::Hello(ServerHello {
            version: WIRE_VERSION,
            program: self.config.program.clone(),
            since_reference_us: 0,
            tick_period_us: u32::try_from(TICK_PERIOD.as_nanos() / 1_000).expect("a tick is short"),
            last_tick: self
                .delivery
                .ticks
                .last
                .map(|(number, instant)| (number, observer.us_at(instant))),
            next_tick_us: observer.us_at(self.delivery.ticks.next),
            size: self.config.game.size,
            teams: self.config.game.teams.clone(),
            may_control,
            delay_ms: u32::try_from(delay.as_nanos() / 1_000_000).unwrap_or(u32::MAX),
        });
        self.figures.counters.snapshots += 1;
        send_at_once(&mut self.sessions, conn, &message);
        self.send_clock_to(conn, now);
        if let Some(playback) = self.course.playback().filter(|playback| !playback.is_live) {
            let message = ToClient::Recording(playback.info.clone());
            send(&mut self.sessions, conn, &message);
        }
        if let Some(lag) = self.lag_state() {
            send(&mut self.sessions, conn, &ToClient::Lag(lag));
        }
        self.send_history(conn);
        self.send_shown(conn);
        self.acknowledge(conn, now);
        self.send_snapshot(conn, now);
    }

    /// What happened before the world that a viewer is sent next.
    pub(super) fn send_history(&mut self, conn: ConnId) {
        let points = self.delivery.snapshots.history.points(self.game.now());
        let events = self.delivery.snapshots.history.events().cloned();
        let message = ToClient::History(History {
            scores: points.map(|(at, scores)| ScorePoint { at, scores }).collect(),
            events: events.map(|(at, kind)| FeedEntry { at, kind }).collect(),
        });
        send(&mut self.sessions, conn, &message);
    }

    fn viewer_request(&mut self, conn: ConnId, request: &Control, number: u64, now: RealTime) {
        if let Err(refusal) = self.control_by_viewer(conn, request, now) {
            let reason = refusal.to_string();
            self.figures.counters.messages_refused += 1;
            self.send_message_at_once(conn, now, &ToClient::Refused { number, reason });
        } else if let Some(observer) = self.sessions.observer_mut(conn) {
            observer.has_stepped |= matches!(request, Control::Step(_));
        }
    }

    /// Whether what became due by a viewer's last step is not done yet: what it says next counts from where that leads to,
    /// or several steps to the next event that arrive together would all be to the same one.
    pub(super) fn is_own_step_under_way(&mut self, conn: ConnId) -> bool {
        let has_stepped = |observer: &Observer| observer.has_stepped;
        if !self.sessions.observer(conn).is_some_and(has_stepped) {
            return false;
        }
        let is_under_way = self.is_step_under_way();
        if let Some(observer) = self.sessions.observer_mut(conn) {
            observer.has_stepped = is_under_way;
        }
        is_under_way
    }

    fn acknowledge(&mut self, conn: ConnId, now: RealTime) {
        let observer = self.sessions.observer_mut(conn);
        if let Some(number) = observer.and_then(|observer| observer.numbers.take_ack()) {
            self.send_message_at_once(conn, now, &ToClient::Ack { number });
        }
    }

    /// Sends every frame viewer the state of the game clock, at once after each change.
    pub(super) fn send_clock(&mut self, now: RealTime) {
        for conn in self.welcome_viewers() {
            self.send_clock_to(conn, now);
        }
    }

    fn send_clock_to(&mut self, conn: ConnId, now: RealTime) {
        let Some(observer) = self.sessions.observer(conn) else {
            return;
        };
        let anchor = clock_anchor(observer, &self.shown_clock(now), now);
        self.send_message(conn, now, &ToClient::Clock(anchor));
    }

    /// Sends a message that belongs to this moment.
    pub(super) fn send_message(&mut self, conn: ConnId, now: RealTime, message: &ToClient) {
        self.send_stream_time(conn, now);
        send(&mut self.sessions, conn, message);
    }

    /// Sends a message about the connection rather than the game, which no delay applies to.
    fn send_message_at_once(&mut self, conn: ConnId, now: RealTime, message: &ToClient) {
        if self.delay_of(conn) == RealSpan::ZERO {
            return self.send_message(conn, now, message);
        }
        send_at_once(&mut self.sessions, conn, message);
    }

    /// Sends the stream time, if the viewer would otherwise take what follows for another moment.
    pub(super) fn send_stream_time(&mut self, conn: ConnId, now: RealTime) {
        let next_tick = self.delivery.ticks.next;
        // Without a hello there is no reference to count from.
        let observer = self.sessions.observer_mut(conn);
        let Some(observer) = observer.filter(|observer| observer.is_welcome()) else {
            return;
        };
        let (event_us, next_tick_us) = (observer.us_at(now), observer.us_at(next_tick));
        if let Some(instant_us) = observer.stream_time.before_event(event_us, next_tick_us) {
            send(&mut self.sessions, conn, &ToClient::StreamTime { instant_us });
        }
    }
}

impl Engine {
    /// One tick: everything since the last one, between its marks.
    pub(super) fn tick(&mut self, now: RealTime) {
        let tick = self.delivery.ticks.start(now);
        let (number, skipped) = (tick.number, tick.skipped_before);
        self.delivery.frames.flush();
        self.delivery
            .frames
            .append(|frames| self.delivery.board.write_tick(frames));
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
        self.send_lag(now, false);
        let viewers = self.sessions.viewers.iter();
        let observers = viewers.filter_map(|conn| self.sessions.observer(*conn));
        let readers = observers.filter(|observer| observer.reads_log());
        let read = readers.map(|observer| observer.position).min();
        self.delivery.frames.forget_before(read);
        let next = self.delivery.ticks.end(now);
        let Some(watch) = &mut self.delivery.watch else {
            return;
        };
        watch.tick = self.timers.schedule(next, Timer::Tick);
        watch.leap_frequency = watch.leaps.frequency(now, self.course.pace.game_now());
        // In lock-step time leaps in every pass, which would be too many messages.
        if std::mem::take(&mut watch.has_slipped) || self.course.is_lock_step() {
            self.send_clock(now);
        }
        let (_, skipped) = self.delivery.ticks.counts();
        if let Some(skipped) = self.figures.meters.skips_logged.note(now, skipped) {
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
        let waiting = self.game.world().agent(agent).into_iter();
        let commands: Vec<_> = waiting.flat_map(Agent::waiting).map(Command::kind).collect();
        if watched.sent.as_ref() != Some(&commands) {
            watched.sent = Some(commands.clone());
            send(&mut self.sessions, conn, &ToClient::Waiting { agent, commands });
        }
    }

    /// Shows something to frame viewers, beside the game: with the next tick, or later if too much is shown at once. Agents
    /// that are gone show nothing.
    pub fn show(&mut self, by: ShownBy, show: Show) {
        let is_there = match by {
            ShownBy::Server => true,
            ShownBy::Agent(agent) => self.game.world().agent(agent).is_some(),
        };
        if is_there {
            let map = self.config.game.size;
            self.delivery
                .board
                .show(by, show, map, self.delivery.watch.is_some());
        }
    }

    /// An agent is gone, and what it showed.
    pub(super) fn forget_shown(&mut self, agent: AgentId) {
        let (by, map) = (ShownBy::Agent(agent), self.config.game.size);
        self.delivery
            .board
            .show(by, Show::Clear, map, self.delivery.watch.is_some());
    }

    /// Sends a viewer all that is shown, before the world.
    pub(super) fn send_shown(&mut self, conn: ConnId) {
        self.sessions
            .push(conn, |outbox| self.delivery.board.write_all(outbox));
    }

    /// Sends a viewer the changes since its position, unless a snapshot is on its way.
    fn send_updates(&mut self, conn: ConnId) {
        let log = &self.delivery.frames.log;
        let Some(observer) = self.sessions.observer(conn) else {
            return;
        };
        let unread = (log.end - observer.position) as usize;
        let takes_updates = self.sessions.takes_changes(conn, unread);
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        let is_thinned = match &mut observer.feed {
            Feed::Updates => !takes_updates,
            Feed::Snapshot {
                snapshot,
                is_outdated,
                ..
            } => {
                *is_outdated |= unread > limits::VIEWER_UPDATES_BYTES_MAX;
                if !snapshot.is_over() {
                    return;
                }
                *is_outdated
            }
            Feed::Silent | Feed::Behind => return,
        };
        if is_thinned {
            observer.feed = Feed::Behind;
            self.figures.counters.viewers_thinned += 1;
            return;
        }
        observer.feed = Feed::Updates;
        let range = std::mem::replace(&mut observer.position, log.end)..log.end;
        self.sessions.push(conn, |outbox| log.copy(range, outbox));
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
        let population = self.delivery.snapshots.population(&self.game);
        if let Some(observer) = self.sessions.observer_mut(conn) {
            // It includes all updates of this tick.
            observer.begin_snapshot(population, self.delivery.frames.log.end, now);
            self.figures.counters.snapshots += 1;
            self.send_shown(conn);
            self.send_snapshot(conn, now);
        }
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
            match &mut observer.feed {
                Feed::Snapshot { is_outdated, .. } => *is_outdated = true,
                Feed::Updates => {
                    observer.feed = Feed::Behind;
                    self.figures.counters.viewers_thinned += 1;
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
        self.send_lag(now, true);
        // Missed statistics are skipped: the next are due a whole period later.
        let next = match at.saturating_add(limits::STATS_PERIOD) {
            next if next > now => next,
            _ => now.saturating_add(limits::STATS_PERIOD),
        };
        if let Some(watch) = &mut self.delivery.watch {
            watch.stats = self.timers.schedule(next, Timer::Stats);
        }
    }

    /// How messages travel: of all teams, and of those with settings of their own.
    fn lag_settings(&self) -> LagSettings {
        let world = self.game.world();
        let own = world.own_lags().map(|(team, lag)| (team, lag.copied()));
        (world.lag().copied(), own.collect())
    }

    /// As `lag_settings`, with what became of the messages; `None` while all arrive at once.
    pub(super) fn lag_state(&self) -> Option<LagState> {
        let (settings, teams) = self.lag_settings();
        let is_on = settings.is_some() || teams.iter().any(|(_, lag)| lag.is_some());
        is_on.then(|| LagState {
            settings,
            teams,
            totals: {
                let totals = self.game.world().lag_totals();
                link_totals(&totals.counts, &totals.delays)
            },
        })
    }

    /// Sends all frame viewers how messages travel, and the links of the agents they watch; with the statistics while messages
    /// take time, and when that changes.
    fn send_lag(&mut self, now: RealTime, is_due: bool) {
        let settings = self.lag_settings();
        let has_changed = self
            .delivery
            .watch
            .as_ref()
            .is_some_and(|watch| watch.lag != settings);
        let Some(lag) = (has_changed || is_due).then(|| self.lag_state()) else {
            return;
        };
        if lag.is_none() && !has_changed {
            return;
        }
        let lag = lag.unwrap_or_default();
        let Some(watch) = &mut self.delivery.watch else {
            return;
        };
        watch.lag = settings;
        for conn in self.welcome_viewers() {
            self.send_message(conn, now, &ToClient::Lag(lag.clone()));
            let observer = self.sessions.observer(conn);
            if let Some(agent) = observer.and_then(|observer| Some(observer.watched.as_ref()?.agent)) {
                let links = self.links_of(agent);
                send(&mut self.sessions, conn, &ToClient::Links { agent, links });
            }
        }
    }

    /// The links of an agent that carried most.
    fn links_of(&self, agent: AgentId) -> Vec<LinkState> {
        let mut links: BTreeMap<AgentId, LinkState> = BTreeMap::new();
        let empty = |other| LinkState {
            other,
            to: LinkTotals::default(),
            from: LinkTotals::default(),
        };
        for (from, to, counts, delays) in self.game.world().links() {
            if from == agent {
                links.entry(to).or_insert_with(|| empty(to)).to = link_totals(counts, delays);
            } else if to == agent {
                links.entry(from).or_insert_with(|| empty(from)).from = link_totals(counts, delays);
            }
        }
        let mut links: Vec<LinkState> = links.into_values().collect();
        links.sort_by_key(|link| std::cmp::Reverse(link.to.counts.sent + link.from.counts.sent));
        links.truncate(LINKS_SHOWN_MAX);
        links
    }

    fn server_stats(&mut self, now: RealTime) -> ServerStats {
        let game_now = self.course.pace.game_now();
        let effective_frequency_milli = self
            .figures
            .meters
            .speedometer
            .milli_units_per_second(now, game_now);
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
                    agents: team.living,
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
        if self.delivery.watch.is_none() {
            self.delivery.frames.forget();
            self.figures.meters.speedometer = Speedometer::new(now, self.course.pace.game_now());
            let tick = self.timers.schedule(self.delivery.ticks.resume(now), Timer::Tick);
            let stats = self
                .timers
                .schedule(now.saturating_add(limits::STATS_PERIOD), Timer::Stats);
            self.delivery.watch = Some(Watch {
                tick,
                stats,
                has_slipped: false,
                leaps: Speedometer::new(now, self.course.pace.game_now()),
                leap_frequency: None,
                lag: self.lag_settings(),
            });
        }
    }

    /// Cancels ticks and statistics without viewers: an empty server makes no wake-ups.
    pub(super) fn stop_watch_if_unwatched(&mut self) {
        if self.welcome_viewers().is_empty()
            && let Some(Watch { tick, stats, .. }) = self.delivery.watch.take()
        {
            self.timers.cancel(tick);
            self.timers.cancel(stats);
            self.delivery.frames.forget();
            self.delivery.board.forget_unsent();
        }
    }
}

/// How messages travel: of all teams, and of those with settings of their own.
type LagSettings = (Option<Lag>, Vec<(TeamId, Option<Lag>)>);

/// The deadlines that exist only while a frame viewer is there.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    tick: TimerId,
    stats: TimerId,
    /// The game clock slipped since the last tick, and viewers have not been sent that.
    pub(super) has_slipped: bool,
    /// Measures a game in lock-step from tick to tick.
    leaps: Speedometer,
    /// Its frequency between the last two ticks; `None` if it stood still.
    pub(super) leap_frequency: Option<Frequency>,
    /// How messages travel, as viewers were sent it last.
    lag: LagSettings,
}

fn link_totals(counts: &LinkCounts, delays: &Delays) -> LinkTotals {
    LinkTotals {
        counts: *counts,
        delay_p50: delays.percentile(50),
        delay_p99: delays.percentile(99),
    }
}

/// The tick clock, and where it stands.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    /// From the first viewer on.
    clock: Option<TickClock>,
    /// Number and instant of the last tick that ran.
    last: Option<(u64, RealTime)>,
    /// The instant of the next tick, below which events before it stay; of use while a viewer watches.
    next: RealTime,
    /// Instants that passed without a viewer, and those of them since the last tick.
    unwatched: u64,
    unwatched_since_tick: u64,
}

impl Ticks {
    /// The first viewer watches from `now` on. Answers when the next tick is due.
    pub(crate) fn resume(&mut self, now: RealTime) -> RealTime {
        // A grid on which no tick ever ran is laid anew: a viewer that joins is sent the first
        // tick's instant, and takes skipped instants before that tick for ones after it joined.
        let clock = match &mut self.clock {
            Some(clock) if self.last.is_some() => clock,
            unused => unused.insert(TickClock::new(now + TICK_PERIOD, TICK_PERIOD)),
        };
        let next = clock.next_instant();
        let missed = next.periods_to_reach(now, TICK_PERIOD);
        self.unwatched_since_tick = missed;
        self.next = next.after_periods(TICK_PERIOD, missed);
        self.next
    }

    /// Starts the tick that is due.
    ///
    /// # Panics
    /// If none is, or without a viewer: ticks are scheduled by what this module answers.
    pub(crate) fn start(&mut self, now: RealTime) -> Tick {
        let tick = self
            .clock
            .as_mut()
            .and_then(|clock| clock.start(now))
            .expect("ticks are scheduled when due");
        self.last = Some((tick.number, tick.instant));
        self.unwatched += std::mem::take(&mut self.unwatched_since_tick);
        tick
    }

    pub(crate) fn end(&mut self, now: RealTime) -> RealTime {
        let clock = self.clock.as_mut().expect("a tick that ends has started");
        clock.end(now);
        self.next = clock.next_instant();
        self.next
    }

    /// Ticks that ran, and instants skipped while a viewer watched.
    pub(crate) fn counts(&self) -> (u64, u64) {
        self.clock.as_ref().map_or((0, 0), |clock| {
            (
                clock.ticks_run(),
                clock.instants_skipped().saturating_sub(self.unwatched),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    #[test]
    fn a_viewer_that_left_before_the_first_tick_leaves_no_skips_behind() {
        let mut ticks = Ticks::default();
        ticks.resume(ms(0));
        assert_eq!(ticks.resume(ms(1_010)), ms(1_060));
        let first = ticks.start(ms(1_060));
        assert_eq!(
            (first.number, first.instant, first.skipped_before),
            (0, ms(1_060), 0)
        );
    }
}
