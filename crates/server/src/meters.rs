//! What the server counts of sockets and deadlines, shown to readers with every pass.
//!
//! What the engine counts is not here: it takes longer to gather, and is gathered when somebody asks; see
//! [`crate::engine_source`].

use trantor_engine::{Fired, FiredKind};
use trantor_game::DueKind;
use trantor_runtime::metrics::{Counter, Gauge, Meter, MeterBuilder, Reader, Spread};
use trantor_time::RealSpan;

use crate::autosave::SaveStats;
use crate::conn::Conns;
use crate::listener::Listener;
use crate::mio_wait::WaitStats;
use crate::recorder::RecorderStats;

/// Every kind of due work, in the order of their counters.
const KINDS: [FiredKind; DueKind::ALL.len() + 7] = [
    FiredKind::Game(DueKind::Action),
    FiredKind::Game(DueKind::Ritual),
    FiredKind::Game(DueKind::Hatch),
    FiredKind::Game(DueKind::Hunger),
    FiredKind::Game(DueKind::Refill),
    FiredKind::Game(DueKind::Start),
    FiredKind::Game(DueKind::Delivery),
    FiredKind::SessionLimit,
    FiredKind::GoOn,
    FiredKind::TextNews,
    FiredKind::Tick,
    FiredKind::Stats,
    FiredKind::MatchEnd,
    FiredKind::Recorded,
];

/// The server's own counts; they live in its loop.
#[derive(Debug)]
pub struct Meters {
    meter: Meter,
    lateness: Spread,
    due: [Counter; KINDS.len()],
    transport: Transport,
    recording: Recording,
    saving: Saving,
}

/// What is saved.
#[derive(Debug)]
struct Saving {
    saved: Counter,
    skipped: Counter,
    unchanged: Counter,
    failures: Counter,
    capture: Spread,
    write: Spread,
}

/// What is recorded.
#[derive(Debug)]
struct Recording {
    bytes: Counter,
    writes: Counter,
    pieces: Counter,
    packed: Counter,
    not_packed: Counter,
    synced: Counter,
    not_synced: Counter,
    failures: Counter,
    no_room: Counter,
    removed: Counter,
    resumed: Counter,
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
    watches_failed: Counter,
    accepted: Counter,
    back_offs: Counter,
    aborted: Counter,
    slowed: Counter,
    refused: Counter,
    sleeps: Counter,
    wake_ups: Counter,
    alarms_set: Counter,
    put_off: Counter,
    spins: Counter,
    spins_given_up: Counter,
}

impl Meters {
    /// Meters at zero, and the reader for everybody else.
    pub fn new() -> (Self, Reader) {
        let mut declare = MeterBuilder::new();
        let lateness = declare.distribution("due.lateness_ns");
        let due = KINDS.map(|kind| declare.counter(format!("due.{}.run_count", kind.name())));
        let transport = Transport::declare(&mut declare);
        let recording = Recording::declare(&mut declare);
        let saving = Saving::declare(&mut declare);
        let (meter, reader) = declare.build();
        (
            Self {
                meter,
                lateness,
                due,
                transport,
                recording,
                saving,
            },
            reader,
        )
    }

    /// Counts a deadline that was carried out.
    pub fn note_due(&mut self, fired: Fired) {
        let place = match fired.kind {
            FiredKind::Game(kind) => kind as usize,
            FiredKind::SessionLimit => DueKind::ALL.len(),
            FiredKind::GoOn => DueKind::ALL.len() + 1,
            FiredKind::TextNews => DueKind::ALL.len() + 2,
            FiredKind::Tick => DueKind::ALL.len() + 3,
            FiredKind::Stats => DueKind::ALL.len() + 4,
            FiredKind::MatchEnd => DueKind::ALL.len() + 5,
            FiredKind::Recorded => DueKind::ALL.len() + 6,
        };
        debug_assert_eq!(KINDS[place], fired.kind, "each kind has a counter of its own");
        self.meter.add(self.due[place], 1);
        self.meter.record(self.lateness, fired.lateness_ns);
    }

    /// Shows to readers how things stand at the end of a pass.
    pub fn publish(&mut self, conns: &Conns, listener: Option<&Listener>, wait: WaitStats) {
        self.count_transport(conns, listener, wait);
        self.meter.publish();
    }

    /// Counts what the journal's recorder has done by now.
    pub fn count_recording(&mut self, stats: RecorderStats) {
        let (meter, to) = (&mut self.meter, &self.recording);
        meter.set_total(to.bytes, stats.bytes);
        meter.set_total(to.writes, stats.writes);
        meter.set_total(to.pieces, stats.pieces);
        meter.set_total(to.packed, stats.packed);
        meter.set_total(to.not_packed, stats.not_packed);
        meter.set_total(to.synced, stats.synced);
        meter.set_total(to.not_synced, stats.not_synced);
        meter.set_total(to.failures, stats.failures);
        meter.set_total(to.no_room, stats.no_room);
        meter.set_total(to.removed, stats.removed);
        meter.set_total(to.resumed, stats.resumed);
    }

    /// Counts what came of saving by now.
    pub fn count_saves(&mut self, stats: SaveStats) {
        let (meter, to) = (&mut self.meter, &self.saving);
        meter.set_total(to.saved, stats.saved);
        meter.set_total(to.skipped, stats.skipped);
        meter.set_total(to.unchanged, stats.unchanged);
        meter.set_total(to.failures, stats.failures);
    }

    /// Notes how long a capture held the loop.
    pub fn note_capture(&mut self, took: RealSpan) {
        self.meter
            .record(self.saving.capture, took.as_nanos().unsigned_abs());
    }

    /// Notes how long a save took in the background.
    pub fn note_save(&mut self, took: RealSpan) {
        self.meter
            .record(self.saving.write, took.as_nanos().unsigned_abs());
    }

    fn count_transport(&mut self, conns: &Conns, listener: Option<&Listener>, wait: WaitStats) {
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
        meter.set_total(to.watches_failed, stats.watches_failed);
        if let Some(listener) = listener {
            let stats = listener.stats();
            meter.set_total(to.accepted, stats.accepted);
            meter.set_total(to.back_offs, stats.back_offs);
            meter.set_total(to.aborted, stats.aborted);
            meter.set_total(to.slowed, stats.slowed);
            meter.set_total(to.refused, stats.refused);
        }
        meter.set_total(to.sleeps, wait.sleeps);
        meter.set_total(to.wake_ups, wait.wake_ups);
        meter.set_total(to.alarms_set, wait.alarms_set);
        meter.set_total(to.put_off, wait.put_off);
        meter.set_total(to.spins, wait.spins);
        meter.set_total(to.spins_given_up, wait.spins_given_up);
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
            watches_failed: declare.counter("connections.watches_failed_count"),
            accepted: declare.counter("listener.accepted_count"),
            back_offs: declare.counter("listener.back_offs_count"),
            aborted: declare.counter("listener.aborted_count"),
            slowed: declare.counter("listener.slowed_count"),
            refused: declare.counter("listener.refused_count"),
            sleeps: declare.counter("wait.sleeps_count"),
            wake_ups: declare.counter("wait.wake_ups_count"),
            alarms_set: declare.counter("wait.alarms_set_count"),
            put_off: declare.counter("wait.put_off_count"),
            spins: declare.counter("wait.spins_count"),
            spins_given_up: declare.counter("wait.spins_given_up_count"),
        }
    }
}

impl Recording {
    fn declare(declare: &mut MeterBuilder) -> Self {
        Self {
            bytes: declare.counter("journal.written_bytes"),
            pieces: declare.counter("journal.pieces_count"),
            writes: declare.counter("journal.writes_count"),
            packed: declare.counter("journal.packed_count"),
            not_packed: declare.counter("journal.not_packed_count"),
            synced: declare.counter("journal.synced_count"),
            not_synced: declare.counter("journal.not_synced_count"),
            failures: declare.counter("journal.failures_count"),
            no_room: declare.counter("journal.no_room_count"),
            removed: declare.counter("journal.removed_count"),
            resumed: declare.counter("journal.resumed_count"),
        }
    }
}

impl Saving {
    fn declare(declare: &mut MeterBuilder) -> Self {
        Self {
            saved: declare.counter("save.saved_count"),
            skipped: declare.counter("save.skipped_count"),
            unchanged: declare.counter("save.unchanged_count"),
            failures: declare.counter("save.failures_count"),
            capture: declare.distribution("save.capture_ns"),
            write: declare.distribution("save.write_ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_runtime::metrics::{Snapshot, Value};
    use trantor_time::RealTime;

    fn snapshot(reader: &Reader) -> Snapshot {
        reader.snapshot(RealTime::ZERO)
    }

    #[test]
    fn each_kind_of_due_work_is_counted_under_its_own_name() {
        let (mut meters, reader) = Meters::new();
        for (times, kind) in KINDS.into_iter().enumerate() {
            for _ in 0..times {
                meters.note_due(Fired {
                    kind,
                    lateness_ns: 1_000,
                });
            }
        }
        meters.publish(&Conns::default(), None, WaitStats::default());
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
    }

    #[test]
    fn counts_errors_and_times_of_saves_are_metrics() {
        let (mut meters, reader) = Meters::new();
        meters.note_capture(RealSpan::from_micros(30));
        meters.note_save(RealSpan::from_millis(4));
        meters.count_saves(SaveStats {
            saved: 4,
            skipped: 3,
            unchanged: 2,
            failures: 1,
        });
        meters.publish(&Conns::default(), None, WaitStats::default());
        let snapshot = snapshot(&reader);
        for (name, count) in [("saved", 4), ("skipped", 3), ("unchanged", 2), ("failures", 1)] {
            let name = format!("save.{name}_count");
            assert_eq!(snapshot.get(&name), Some(Value::Counter(count)), "{name}");
        }
        for (name, longest) in [("save.capture_ns", 30_000), ("save.write_ns", 4_000_000)] {
            match snapshot.get(name) {
                Some(Value::Distribution(shape)) => assert_eq!((shape.count, shape.max), (1, longest)),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
