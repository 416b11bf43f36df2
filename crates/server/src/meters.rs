//! What the server counts beside the passes of its loop, and how others come to see it (§23).
//!
//! Counters of sockets and deadlines are published with every pass. What the engine counts takes longer to gather,
//! so that is done once a second while passes follow each other, and before a long sleep, so that what readers see
//! of a resting server is all there is. No pass is begun for the sake of being measured.

use trantor_engine::{CloseReason, Engine, EngineStats, Fired, FiredKind};
use trantor_game::DueKind;
use trantor_runtime::metrics::{Counter, Gauge, Meter, MeterBuilder, Reader, Spread};
use trantor_time::{RealSpan, RealTime};

use crate::conn::Conns;
use crate::listener::Listener;
use crate::mio_wait::WaitCounts;

/// How old the engine's counts may be.
const ENGINE_COUNTS_SPAN: RealSpan = RealSpan::from_secs(1);

/// Every kind of due work, in the order of their counters.
const KINDS: [FiredKind; DueKind::ALL.len() + 4] = [
    FiredKind::Game(DueKind::Action),
    FiredKind::Game(DueKind::Ritual),
    FiredKind::Game(DueKind::Hatch),
    FiredKind::Game(DueKind::Hunger),
    FiredKind::Game(DueKind::Refill),
    FiredKind::Game(DueKind::Start),
    FiredKind::SessionLimit,
    FiredKind::Tick,
    FiredKind::Stats,
    FiredKind::MatchEnd,
];

/// The server's own counts; they live in its loop.
#[derive(Debug)]
pub struct Meters {
    meter: Meter,
    wait: WaitCounts,
    lateness: Spread,
    due: [Counter; KINDS.len()],
    transport: Transport,
    sessions: Sessions,
    engine_counted: Option<RealTime>,
}

/// What happens on sockets.
#[derive(Debug)]
struct Transport {
    open: Gauge,
    blocked: Gauge,
    opened: Counter,
    closed: Counter,
    reads: Counter,
    read_bytes: Counter,
    writes: Counter,
    written_bytes: Counter,
    writes_blocked: Counter,
    accepted: Counter,
    back_offs: Counter,
    aborted: Counter,
    sleeps: Counter,
    wake_ups: Counter,
    alarms_set: Counter,
}

/// Picks one value out of what the engine tells.
type GaugeOf = fn(&EngineStats) -> f64;
/// The same for a number that only rises.
type TotalOf = fn(&EngineStats) -> u64;

/// What the engine tells of its sessions and its game.
#[derive(Debug)]
struct Sessions {
    gauges: Vec<(Gauge, GaugeOf)>,
    counters: Vec<(Counter, TotalOf)>,
    closed: [Counter; CloseReason::ALL.len()],
    frequency: Gauge,
    game_time: Gauge,
}

impl Meters {
    /// Meters at zero, and the reader for everybody else.
    pub fn new(wait: WaitCounts) -> (Self, Reader) {
        let mut declare = MeterBuilder::new();
        let lateness = declare.distribution("due.lateness_ns");
        let due = KINDS.map(|kind| declare.counter(format!("due.{}.run_count", kind.name())));
        let transport = Transport::declare(&mut declare);
        let sessions = Sessions::declare(&mut declare);
        let (meter, reader) = declare.build();
        (
            Self {
                meter,
                wait,
                lateness,
                due,
                transport,
                sessions,
                engine_counted: None,
            },
            reader,
        )
    }

    /// Counts a deadline that was carried out.
    pub fn note_due(&mut self, fired: Fired) {
        let place = match fired.kind {
            FiredKind::Game(kind) => kind as usize,
            FiredKind::SessionLimit => DueKind::ALL.len(),
            FiredKind::Tick => DueKind::ALL.len() + 1,
            FiredKind::Stats => DueKind::ALL.len() + 2,
            FiredKind::MatchEnd => DueKind::ALL.len() + 3,
        };
        debug_assert_eq!(KINDS[place], fired.kind, "each kind has a counter of its own");
        self.meter.add(self.due[place], 1);
        self.meter.record(self.lateness, fired.lateness_ns);
    }

    /// Shows to readers how things stand at the end of a pass at `now`.
    pub fn publish(
        &mut self,
        now: RealTime,
        engine: &mut Engine,
        conns: &Conns,
        listener: Option<&Listener>,
    ) {
        self.count_transport(conns, listener);
        let is_old = self
            .engine_counted
            .is_none_or(|counted| now - counted >= ENGINE_COUNTS_SPAN);
        let rests = engine
            .poll_timeout()
            .is_none_or(|until| until - now >= ENGINE_COUNTS_SPAN);
        if is_old || rests {
            self.engine_counted = Some(now);
            self.count_engine(now, engine);
        }
        self.meter.publish();
    }

    fn count_transport(&mut self, conns: &Conns, listener: Option<&Listener>) {
        let (meter, to) = (&mut self.meter, &self.transport);
        let stats = conns.stats();
        meter.set(to.open, conns.len() as f64);
        meter.set(to.blocked, conns.blocked() as f64);
        meter.set_total(to.opened, stats.opened);
        meter.set_total(to.closed, stats.closed);
        meter.set_total(to.reads, stats.reads);
        meter.set_total(to.read_bytes, stats.bytes_in);
        meter.set_total(to.writes, stats.writes);
        meter.set_total(to.written_bytes, stats.bytes_out);
        meter.set_total(to.writes_blocked, stats.writes_blocked);
        if let Some(listener) = listener {
            let stats = listener.stats();
            meter.set_total(to.accepted, stats.accepted);
            meter.set_total(to.back_offs, stats.back_offs);
            meter.set_total(to.aborted, stats.aborted);
        }
        let stats = self.wait.get();
        meter.set_total(to.sleeps, stats.sleeps);
        meter.set_total(to.wake_ups, stats.wake_ups);
        meter.set_total(to.alarms_set, stats.alarms_set);
    }

    fn count_engine(&mut self, now: RealTime, engine: &mut Engine) {
        let (meter, to) = (&mut self.meter, &self.sessions);
        let stats = engine.stats(now);
        for (gauge, value) in &to.gauges {
            meter.set(*gauge, value(&stats));
        }
        for (counter, total) in &to.counters {
            meter.set_total(*counter, total(&stats));
        }
        for (counter, total) in to.closed.iter().zip(stats.counters.closed) {
            meter.set_total(*counter, total);
        }
        meter.set(to.frequency, f64::from(engine.game_clock().frequency().get()));
        meter.set(to.game_time, engine.game_now().as_units_f64());
    }
}

impl Transport {
    fn declare(declare: &mut MeterBuilder) -> Self {
        Self {
            open: declare.gauge("connections.open_count"),
            blocked: declare.gauge("connections.blocked_count"),
            opened: declare.counter("connections.opened_count"),
            closed: declare.counter("connections.closed_count"),
            reads: declare.counter("io.reads_count"),
            read_bytes: declare.counter("io.read_bytes"),
            writes: declare.counter("io.writes_count"),
            written_bytes: declare.counter("io.written_bytes"),
            writes_blocked: declare.counter("io.writes_blocked_count"),
            accepted: declare.counter("listener.accepted_count"),
            back_offs: declare.counter("listener.back_offs_count"),
            aborted: declare.counter("listener.aborted_count"),
            sleeps: declare.counter("wait.sleeps_count"),
            wake_ups: declare.counter("wait.wake_ups_count"),
            alarms_set: declare.counter("wait.alarms_set_count"),
        }
    }
}

impl Sessions {
    fn declare(declare: &mut MeterBuilder) -> Self {
        let gauges: [(&str, GaugeOf); 5] = [
            ("sessions.agents_count", |stats| stats.agents as f64),
            ("sessions.text_viewers_count", |stats| stats.text_viewers as f64),
            ("sessions.viewers_count", |stats| stats.viewers as f64),
            ("sessions.outbox_bytes", |stats| stats.outbox_bytes as f64),
            ("timers.real.active_count", |stats| stats.chores_pending as f64),
        ];
        let counters: [(&str, TotalOf); 22] = [
            ("sessions.closed_by_peer_count", |stats| {
                stats.counters.closed_by_peer
            }),
            ("sessions.dropped_bytes", |stats| stats.counters.bytes_dropped),
            ("sessions.violations_count", |stats| stats.counters.violations),
            ("game.joined_count", |stats| stats.counters.joined),
            ("game.joins_refused_count", |stats| stats.counters.joins_refused),
            ("game.slips_count", |stats| stats.slips),
            ("game.slipped_units_count", |stats| {
                u64::try_from(stats.slipped.as_nanounits() / 1_000_000_000).unwrap_or(u64::MAX)
            }),
            ("commands.taken_count", |stats| stats.counters.commands),
            ("commands.malformed_count", |stats| {
                stats.counters.commands_malformed
            }),
            ("commands.dropped_count", |stats| stats.counters.commands_dropped),
            ("gui.requests_count", |stats| stats.counters.gui_requests),
            ("gui.unknown_count", |stats| stats.counters.gui_unknown),
            ("gui.refused_count", |stats| stats.counters.gui_refused),
            ("viewers.messages_count", |stats| stats.counters.messages),
            ("viewers.messages_refused_count", |stats| {
                stats.counters.messages_refused
            }),
            ("viewers.snapshots_count", |stats| stats.counters.snapshots),
            ("viewers.thinned_count", |stats| stats.counters.viewers_thinned),
            ("viewers.encode_failures_count", |stats| {
                stats.counters.encode_failures
            }),
            ("ticks.run_count", |stats| stats.ticks_run),
            ("ticks.skipped_count", |stats| stats.ticks_skipped),
            ("timers.game.executed_count", |stats| {
                stats.counters.deadlines_fired()
            }),
            ("timers.real.executed_count", |stats| stats.counters.chores),
        ];
        Self {
            gauges: gauges.map(|(name, value)| (declare.gauge(name), value)).into(),
            counters: counters
                .map(|(name, total)| (declare.counter(name), total))
                .into(),
            closed: CloseReason::ALL
                .map(|reason| declare.counter(format!("sessions.closed.{}_count", reason.name()))),
            frequency: declare.gauge("game.frequency_per_second"),
            game_time: declare.gauge("game.time_units_count"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_runtime::metrics::{Snapshot, Value};

    use crate::options::Options;

    fn snapshot(reader: &Reader) -> Snapshot {
        reader.snapshot(RealTime::ZERO)
    }

    #[test]
    fn r_003_67_all_counts_start_at_zero() {
        let (_meters, reader) = Meters::new(WaitCounts::default());
        for sample in snapshot(&reader).samples() {
            let is_zero = match sample.value {
                Value::Counter(count) => count == 0,
                Value::Gauge(value) => value == 0.0,
                Value::Distribution(shape) => shape.count == 0,
            };
            assert!(is_zero, "{sample}");
        }
    }

    #[test]
    fn each_kind_of_due_work_is_counted_under_its_own_name() {
        let (mut meters, reader) = Meters::new(WaitCounts::default());
        for (times, kind) in KINDS.into_iter().enumerate() {
            for _ in 0..times {
                meters.note_due(Fired {
                    kind,
                    lateness_ns: 1_000,
                });
            }
        }
        let mut engine = Engine::new(Options::default().engine_config(1), RealTime::ZERO);
        meters.publish(RealTime::ZERO, &mut engine, &Conns::default(), None);
        let snapshot = snapshot(&reader);
        for (times, kind) in KINDS.into_iter().enumerate() {
            let name = format!("due.{}.run_count", kind.name());
            assert_eq!(snapshot.get(&name), Some(Value::Counter(times as u64)), "{name}");
        }
        let all = KINDS.len() * (KINDS.len() - 1) / 2;
        match snapshot.get("due.lateness_ns") {
            Some(Value::Distribution(lateness)) => {
                assert_eq!((lateness.count, lateness.max), (all as u64, 1_000))
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            snapshot.get("game.frequency_per_second"),
            Some(Value::Gauge(100.0))
        );
    }
}
