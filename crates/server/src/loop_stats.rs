//! What the loop measures of itself: passes, their lengths, and the due work by kind (§23).
//!
//! Sleeping is no part of a pass. Names for scrapers and lines for the log are made by others.

use hdrhistogram::Histogram;
use trantor_engine::{Fired, FiredKind};
use trantor_game::DueKind;
use trantor_time::{RealSpan, RealTime, WorkStats};

use crate::mio_wait::WaitStats;

/// The longest pass told apart from longer ones, in nanoseconds: a minute.
const PASS_NS_MAX: u64 = 60_000_000_000;

/// The part of the old value that recent averages keep at each pass (R-003-62).
const RECENT_KEEPS: f64 = 0.95;

/// Kinds of due work: the game's, and the engine's own.
const KINDS: usize = DueKind::ALL.len() + 4;

/// Collected since the loop began; everything starts at zero (R-003-67).
#[derive(Clone, Debug)]
pub struct LoopStats {
    began: RealTime,
    passes: u64,
    items: u64,
    busy: RealSpan,
    pass_ns: Histogram<u64>,
    pass_ns_recent: f64,
    items_recent: f64,
    due: [WorkStats; KINDS],
    wait: WaitStats,
}

impl LoopStats {
    /// Nothing measured yet, in a loop that begins at `now`.
    pub fn new(now: RealTime) -> Self {
        Self {
            began: now,
            passes: 0,
            items: 0,
            busy: RealSpan::ZERO,
            // Two digits: a hundredth of a pass is below what one reading of the clock can tell.
            pass_ns: Histogram::new_with_bounds(1, PASS_NS_MAX, 2).expect("the bounds are in order"),
            pass_ns_recent: 0.0,
            items_recent: 0.0,
            due: [WorkStats::default(); KINDS],
            wait: WaitStats::default(),
        }
    }

    /// Notes a deadline that was carried out in `took`.
    pub fn note_due(&mut self, fired: Fired, took: RealSpan) {
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(0);
        self.due[place(fired.kind)].note_run(fired.lateness_ns, took_ns, false);
    }

    /// Notes a pass that took `duration` for `items` of work, and what the wait did up to its end.
    pub fn note_pass(&mut self, duration: RealSpan, items: u32, wait: WaitStats) {
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(0);
        let is_first = self.passes == 0;
        let recent = |old: f64, new: f64| match is_first {
            true => new,
            false => RECENT_KEEPS * old + (1.0 - RECENT_KEEPS) * new,
        };
        self.pass_ns_recent = recent(self.pass_ns_recent, duration_ns as f64);
        self.items_recent = recent(self.items_recent, f64::from(items));
        self.passes += 1;
        self.items += u64::from(items);
        self.busy += duration;
        self.pass_ns.saturating_record(duration_ns);
        self.wait = wait;
    }

    /// Passes so far.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Items of work done in all passes.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Items of work per pass, following the present.
    pub fn items_recent(&self) -> f64 {
        self.items_recent
    }

    /// Time spent in passes; what is left of [`Self::uptime`] the loop slept (R-003-60).
    pub fn busy(&self) -> RealSpan {
        self.busy
    }

    /// Time since the loop began, sleeping included.
    pub fn uptime(&self, now: RealTime) -> RealSpan {
        now.since(self.began)
    }

    /// Length of a pass in nanoseconds, following the present.
    pub fn pass_ns_recent(&self) -> f64 {
        self.pass_ns_recent
    }

    /// The length in nanoseconds that `quantile` of the passes do not exceed; 0 before the first.
    pub fn pass_ns_at(&self, quantile: f64) -> u64 {
        self.pass_ns.value_at_quantile(quantile)
    }

    /// The longest pass since the last reset, in nanoseconds.
    pub fn pass_ns_longest(&self) -> u64 {
        self.pass_ns.max()
    }

    /// Due work by kind: name, and what was counted.
    pub fn due(&self) -> impl Iterator<Item = (&'static str, &WorkStats)> {
        let own = [
            FiredKind::SessionLimit,
            FiredKind::Tick,
            FiredKind::Stats,
            FiredKind::MatchEnd,
        ];
        let kinds = DueKind::ALL.into_iter().map(FiredKind::Game).chain(own);
        kinds.map(|kind| (kind.name(), &self.due[place(kind)]))
    }

    /// What the wait did.
    pub fn wait(&self) -> WaitStats {
        self.wait
    }
}

fn place(kind: FiredKind) -> usize {
    let own = match kind {
        FiredKind::Game(kind) => return kind as usize,
        FiredKind::SessionLimit => 0,
        FiredKind::Tick => 1,
        FiredKind::Stats => 2,
        FiredKind::MatchEnd => 3,
    };
    DueKind::ALL.len() + own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_003_67_everything_starts_at_zero() {
        let stats = LoopStats::new(RealTime::ZERO);
        assert_eq!(
            (stats.passes(), stats.items(), stats.busy()),
            (0, 0, RealSpan::ZERO)
        );
        assert_eq!((stats.pass_ns_at(0.99), stats.pass_ns_longest()), (0, 0));
        assert!(stats.due().all(|(_, due)| *due == WorkStats::default()));
    }

    #[test]
    fn every_kind_of_due_work_has_a_place_of_its_own() {
        let stats = LoopStats::new(RealTime::ZERO);
        let names: std::collections::BTreeSet<_> = stats.due().map(|(name, _)| name).collect();
        assert_eq!(names.len(), KINDS);
        for (name, _) in stats.due() {
            let mut noted = stats.clone();
            let own = [
                FiredKind::SessionLimit,
                FiredKind::Tick,
                FiredKind::Stats,
                FiredKind::MatchEnd,
            ];
            let kinds = DueKind::ALL.into_iter().map(FiredKind::Game).chain(own);
            let kind = kinds.into_iter().find(|kind| kind.name() == name).unwrap();
            noted.note_due(Fired { kind, lateness_ns: 5 }, RealSpan::from_nanos(7));
            let counted: Vec<_> = noted.due().filter(|(_, due)| due.executed > 0).collect();
            assert_eq!(counted.len(), 1);
            assert_eq!(counted[0].0, name);
            assert_eq!(counted[0].1.duration_ns_max, 7);
        }
    }

    #[test]
    fn r_003_60_busy_time_is_not_uptime() {
        let mut stats = LoopStats::new(RealTime::ZERO);
        stats.note_pass(RealSpan::from_millis(10), 3, WaitStats::default());
        let now = RealTime::ZERO + RealSpan::from_secs(1);
        assert_eq!(stats.uptime(now), RealSpan::from_secs(1));
        assert_eq!(stats.busy(), RealSpan::from_millis(10));
        // R-003-61: 10 ms are told as 10 ms, to the two digits kept.
        assert!((9_900_000..=10_100_000).contains(&stats.pass_ns_longest()));
    }
}
