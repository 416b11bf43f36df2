//! Passes of the loop: what each stage may spend, what it did spend, the totals, and the log line of a long pass.
//!
//! Which stages there are, and what they do, is [`crate::stages`]'.

use std::fmt;

use trantor_engine::{Fired, FiredKind};
use trantor_time::{Clock, NANOS, RealSpan, RealTime};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub items_max: u32,
    /// The item during which it runs out is finished.
    pub time_max: RealSpan,
}

impl Budget {
    /// For a stage that does one bounded thing in every pass.
    pub(crate) const UNLIMITED: Self = Self::new(u32::MAX, RealSpan::MAX);

    pub(crate) const fn new(items_max: u32, time_max: RealSpan) -> Self {
        Self { items_max, time_max }
    }
}

/// An item that runs this long is logged by name.
const SLOW_ITEM: RealSpan = RealSpan::from_millis(50);

/// A pass this long is logged with its stages.
const LONG_PASS: RealSpan = RealSpan::from_millis(250);

/// Items that are timed together by [`Turn::admits_short`].
const SHORT_ITEMS: u32 = 8;

#[derive(Debug)]
pub(crate) struct Passes {
    stages: Vec<StageUse>,
    count: u64,
    start: RealTime,
    /// The latest reading of the clock, with which the next stage begins.
    read_at: RealTime,
    slowest: Option<(&'static str, RealSpan)>,
    /// The name of the present item; empty for none.
    item_name: &'static str,
}

/// What a stage spent in its latest turn.
#[derive(Clone, Copy, Debug)]
pub struct StageUse {
    pub name: &'static str,
    pub budget: Budget,
    pub time: RealSpan,
    pub items: u32,
    /// It stopped with work left.
    left_over: bool,
}

impl Passes {
    pub(crate) fn new(stages: impl IntoIterator<Item = (&'static str, Budget)>) -> Self {
        let stages = stages.into_iter().map(|(name, budget)| StageUse {
            name,
            budget,
            time: RealSpan::ZERO,
            items: 0,
            left_over: false,
        });
        Self {
            stages: stages.collect(),
            count: 0,
            start: RealTime::ZERO,
            read_at: RealTime::ZERO,
            slowest: None,
            item_name: "",
        }
    }

    pub(crate) fn stages(&self) -> &[StageUse] {
        &self.stages
    }

    #[cfg(feature = "faults")]
    pub(crate) fn ignore_budgets(&mut self) {
        self.stages
            .iter_mut()
            .for_each(|stage| stage.budget = Budget::UNLIMITED);
    }

    pub(crate) fn begin(&mut self, now: RealTime) {
        self.start = now;
        self.read_at = now;
        self.count += 1;
        self.slowest = None;
        for stage in &mut self.stages {
            // Times stay: until a stage has had its turn, its last one counts.
            stage.left_over = false;
            stage.items = 0;
        }
    }

    pub(crate) fn enter<'a>(&'a mut self, stage: usize, clock: &'a dyn Clock) -> Turn<'a> {
        let (start, budget) = (self.read_at, self.stages[stage].budget);
        self.item_name = "";
        Turn {
            items: 0,
            end: start.saturating_add(budget.time_max),
            floor: start.saturating_add(self.floor_against(stage)),
            start,
            budget,
            arrived_at: None,
            item_start: None,
            refused: false,
            stage,
            clock,
            passes: self,
        }
    }

    pub(crate) fn end(&self) -> RealTime {
        self.read_at
    }

    /// How long the pass took until the end of its latest stage, sleeping not included.
    pub(crate) fn duration(&self) -> RealSpan {
        self.read_at - self.start
    }

    /// Logs the pass, and what is `queued`, if it took long.
    pub(crate) fn log_if_long(&self, queued: impl fmt::Display) {
        if self.duration() >= LONG_PASS {
            log::warn!("server: long pass: {self}; queued: {queued}");
        }
    }

    /// Whether a stage of this pass left work over, so that the next pass must start without waiting.
    pub(crate) fn work_is_left(&self) -> bool {
        self.stages.iter().any(|stage| stage.left_over)
    }

    /// Where the loop is, for an error message.
    pub(crate) fn place(&self, stage: usize) -> String {
        match self.item_name {
            "" => self.stages[stage].name.to_owned(),
            item => format!("{}: {item}", self.stages[stage].name),
        }
    }

    /// The time that `stage` may take whatever its budget: half of the longest turn of another stage. Without it a stage of
    /// many cheap items, cut at its count, would starve beside one of few expensive items.
    fn floor_against(&self, stage: usize) -> RealSpan {
        let others = self
            .stages
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != stage);
        let longest = others.map(|(_, turn)| turn.time).max().unwrap_or(RealSpan::ZERO);
        RealSpan::from_nanos(longest.as_nanos() / 2)
    }

    fn note_item(&mut self, took: RealSpan) {
        if took >= SLOW_ITEM {
            let name = self.item_name;
            log::warn!("server: {name} held the loop for {:.1} ms", took.as_millis_f64());
            if self.slowest.as_ref().is_none_or(|(_, slowest)| took > *slowest) {
                self.slowest = Some((name, took));
            }
        }
        self.item_name = "";
    }
}

impl fmt::Display for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pass {} took {:.1} ms:",
            self.count,
            self.duration().as_millis_f64()
        )?;
        for stage in &self.stages {
            let more = if stage.left_over { "+" } else { "" };
            let (name, time, items) = (stage.name, stage.time.as_millis_f64(), stage.items);
            write!(f, " {name} {time:.1} ms ({items}{more})")?;
        }
        match &self.slowest {
            Some((name, took)) => write!(f, "; slowest {name} {:.1} ms", took.as_millis_f64()),
            None => Ok(()),
        }
    }
}

pub(crate) struct Turn<'a> {
    passes: &'a mut Passes,
    clock: &'a dyn Clock,
    stage: usize,
    budget: Budget,
    start: RealTime,
    end: RealTime,
    floor: RealTime,
    items: u32,
    refused: bool,
    /// When input last came in, if any did; see [`Self::arrival`].
    arrived_at: Option<RealTime>,
    item_start: Option<RealTime>,
}

impl Turn<'_> {
    /// Whether one more item may be done, which is logged by `name` if it takes long. The first always may.
    ///
    /// Ask only with an item at hand: a refusal means that work is left over, and the next pass will not wait.
    pub(crate) fn admits(&mut self, name: &'static str) -> bool {
        let now = self.read_clock();
        self.end_item(now);
        let is_admitted = self.is_within_budget(name);
        self.item_start = is_admitted.then_some(now);
        is_admitted
    }

    /// As [`Self::admits`], for items of a few microseconds, which are timed [`SHORT_ITEMS`] at a time: reading the clock for
    /// each would cost a good part of their time.
    pub(crate) fn admits_short(&mut self, name: &'static str) -> bool {
        match self.items.is_multiple_of(SHORT_ITEMS) {
            true => self.admits(name),
            false => self.is_within_budget(name),
        }
    }

    fn is_within_budget(&mut self, name: &'static str) -> bool {
        let now = self.passes.read_at;
        let is_admitted =
            self.items == 0 || (self.items < self.budget.items_max && now < self.end) || now < self.floor;
        match is_admitted {
            true => (self.items, self.passes.item_name) = (self.items + 1, name),
            false => self.refused = true,
        }
        is_admitted
    }

    /// Names the item that was admitted last more closely.
    pub(crate) fn name_item(&mut self, name: &'static str) {
        self.passes.item_name = name;
    }

    /// How long the item that was admitted last has taken so far.
    pub(crate) fn item_took(&self) -> RealSpan {
        self.item_start
            .map_or(RealSpan::ZERO, |start| self.clock.now().since(start))
    }

    /// The time of input that has just come in: the clock, read again. The pass continues at it, so that no input is handled
    /// before it came.
    pub(crate) fn arrival(&mut self) -> RealTime {
        let now = self.read_clock();
        self.arrived_at = Some(now);
        now
    }

    /// Ends the turn, and answers the latest arrival. A turn without items has taken no time worth a reading.
    pub(crate) fn leave(mut self) -> Option<RealTime> {
        if self.items > 0 {
            let now = self.read_clock();
            self.end_item(now);
        }
        let stage = &mut self.passes.stages[self.stage];
        stage.time = self.passes.read_at - self.start;
        stage.items = self.items;
        stage.left_over = self.refused;
        self.arrived_at
    }

    fn read_clock(&mut self) -> RealTime {
        self.passes.read_at = self.clock.now();
        self.passes.read_at
    }

    fn end_item(&mut self, now: RealTime) {
        if let Some(start) = self.item_start.take() {
            self.passes.note_item(now - start);
        }
    }
}

/// Deadlines that are not the game's, by kind. Those of the game are counted by the engine.
pub(crate) const REAL_KINDS: [FiredKind; 8] = [
    FiredKind::SessionLimit,
    FiredKind::Resume,
    FiredKind::TextUpdates,
    FiredKind::Tick,
    FiredKind::Stats,
    FiredKind::MatchEnd,
    FiredKind::Recorded,
    FiredKind::Mind,
];

/// What the loop counts of itself; all from zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopStats {
    pub(crate) passes: u64,
    pub(crate) idle_passes: u64,
    pub(crate) busy: RealSpan,
    pub(crate) pass_time: Histogram,
    pub(crate) pass_max: RealSpan,
    /// Items that all stages did.
    pub(crate) work: u64,
    /// Sleeps that the loop began with nothing to do.
    pub(crate) idle_sleeps: u64,
    /// How late the loop woke after the deadline that ended its sleep.
    pub(crate) wake_lateness: Histogram,
    /// In the order of a pass; none before the first.
    pub(crate) stages: Vec<StageTotals>,
    pub(crate) real_deadlines: [u64; REAL_KINDS.len()],
    pub(crate) deadline_lateness: Histogram,
    /// Of those, that of decisions which minds take at a rate or when they asked to be woken.
    pub(crate) mind_lateness: Histogram,
    /// How long captures of the game held the loop, and how long the disk worker wrote them.
    pub(crate) save_capture: Histogram,
    pub(crate) save_write: Histogram,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct StageTotals {
    pub(crate) name: &'static str,
    pub(crate) items: u64,
    pub(crate) time: RealSpan,
}

impl LoopStats {
    pub(crate) fn count_pass(&mut self, passes: &Passes) {
        if self.stages.is_empty() {
            let named = passes.stages().iter().map(|stage| StageTotals {
                name: stage.name,
                ..StageTotals::default()
            });
            self.stages.extend(named);
        }
        let mut items = 0;
        for (stage, totals) in passes.stages().iter().zip(&mut self.stages) {
            items += u64::from(stage.items);
            totals.items += u64::from(stage.items);
            totals.time += stage.time;
        }
        let took = passes.duration();
        self.passes += 1;
        self.idle_passes += u64::from(items == 0);
        self.work += items;
        self.busy += took;
        self.pass_time.record(took);
        self.pass_max = self.pass_max.max(took);
    }

    pub(crate) fn pass_average(&self) -> RealSpan {
        let passes = i64::try_from(self.passes).unwrap_or(i64::MAX).max(1);
        RealSpan::from_nanos(self.busy.as_nanos() / passes)
    }

    /// Items that a pass does on average.
    pub(crate) fn work_average(&self) -> f64 {
        self.work as f64 / self.passes.max(1) as f64
    }

    pub(crate) fn count_deadline(&mut self, fired: Fired) {
        if let Some(place) = REAL_KINDS.iter().position(|kind| *kind == fired.kind) {
            self.real_deadlines[place] += u64::from(fired.count);
        }
        let lateness_ns = i64::try_from(fired.lateness_ns).unwrap_or(i64::MAX);
        let lateness = RealSpan::from_nanos(lateness_ns);
        self.deadline_lateness.record_n(lateness, fired.count);
        if fired.kind == FiredKind::Mind {
            self.mind_lateness.record_n(lateness, fired.count);
        }
    }
}

/// Upper bounds of the buckets of a [`Histogram`]: 1, 2 and 5 of each power of ten from a microsecond to ten seconds.
const BOUNDS_NS: [i64; 22] = {
    let mut bounds = [0; 22];
    let (mut nth, mut decade) = (0, 1_000);
    while nth < bounds.len() {
        bounds[nth] = decade * [1, 2, 5][nth % 3];
        if nth % 3 == 2 {
            decade *= 10;
        }
        nth += 1;
    }
    bounds
};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Histogram {
    pub(crate) sum: RealSpan,
    /// One for each bound, and one for what is longer than all of them.
    pub(crate) buckets: [u64; BOUNDS_NS.len() + 1],
}

impl Histogram {
    pub(crate) fn record(&mut self, span: RealSpan) {
        self.record_n(span, 1);
    }

    pub(crate) fn record_n(&mut self, span: RealSpan, count: u32) {
        let bucket = BOUNDS_NS.partition_point(|bound| *bound < span.as_nanos());
        self.buckets[bucket] += u64::from(count);
        self.sum += RealSpan::from_nanos(span.as_nanos().saturating_mul(count.into()));
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The upper bound, in seconds, of the bucket in which this quantile lies.
    pub(crate) fn quantile(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.count() as f64).ceil() as u64;
        let mut seen = 0;
        let holds = |count: &u64| {
            seen += count;
            seen >= rank.max(1)
        };
        let bucket = self.buckets.iter().position(holds);
        bucket.map_or(0.0, |bucket| {
            bounds_seconds().nth(bucket).unwrap_or(f64::INFINITY)
        })
    }
}

pub(crate) fn bounds_seconds() -> impl Iterator<Item = f64> {
    BOUNDS_NS.iter().map(|bound| *bound as f64 / NANOS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_time::ManualClock;

    const CHEAP: usize = 0;
    const DEAR: usize = 1;

    fn two_stages(cheap_items: u32) -> Passes {
        let five_ms = RealSpan::from_millis(5);
        Passes::new([
            ("cheap", Budget::new(cheap_items, five_ms)),
            ("dear", Budget::new(64, five_ms)),
        ])
    }

    /// One turn of a stage that always has work, each item of which takes `item`.
    fn saturate(passes: &mut Passes, stage: usize, clock: &ManualClock, item: RealSpan) -> RealSpan {
        let start = clock.now();
        let mut turn = passes.enter(stage, clock);
        while turn.admits("item") {
            clock.advance(item);
        }
        turn.leave();
        clock.now() - start
    }

    #[test]
    fn a_stage_takes_one_item_at_least_and_stops_at_count_or_time() {
        let (clock, mut passes) = (ManualClock::default(), two_stages(10));
        passes.begin(clock.now());
        saturate(&mut passes, CHEAP, &clock, RealSpan::ZERO);
        saturate(&mut passes, DEAR, &clock, RealSpan::from_secs(1));
        let taken: Vec<_> = passes.stages().iter().map(|stage| stage.items).collect();
        assert_eq!(taken, [10, 1]);
        assert!(passes.work_is_left());
        passes.begin(clock.now());
        let mut turn = passes.enter(DEAR, &clock);
        assert!((0..64).all(|_| turn.admits("item")));
        turn.leave();
        assert!(
            !passes.work_is_left(),
            "the budget was used up, and no more asked for"
        );
    }

    #[test]
    fn neither_of_two_saturated_stages_falls_below_a_third() {
        for (cheap_ns, dear_ns) in [
            (1_000, 5_000_000),
            (1_000, 60_000_000),
            (100, 100),
            (5_000_000, 1_000),
        ] {
            let (clock, mut passes) = (ManualClock::default(), two_stages(128));
            let mut pass = || {
                passes.begin(clock.now());
                let cheap = saturate(&mut passes, CHEAP, &clock, RealSpan::from_nanos(cheap_ns));
                let dear = saturate(&mut passes, DEAR, &clock, RealSpan::from_nanos(dear_ns));
                (cheap.as_nanos(), dear.as_nanos())
            };
            pass(); // the first stage of the first pass does not know yet what the others take
            let (cheap, dear) = (0..20)
                .map(|_| pass())
                .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let smaller = cheap.min(dear) as f64 / (cheap + dear) as f64;
            assert!(
                smaller > 0.33,
                "{cheap_ns} against {dear_ns} ns an item: {smaller:.3}"
            );
        }
    }

    #[test]
    fn time_and_work_are_averaged_over_all_passes() {
        let (clock, mut passes, mut stats) = (ManualClock::default(), two_stages(10), LoopStats::default());
        assert_eq!(
            (stats.pass_average(), stats.work_average()),
            (RealSpan::ZERO, 0.0)
        );
        for items in [0, 2, 0, 4] {
            passes.begin(clock.now());
            let mut turn = passes.enter(DEAR, &clock);
            for _ in 0..items {
                assert!(turn.admits("item"));
                clock.advance(RealSpan::from_millis(1));
            }
            turn.leave();
            stats.count_pass(&passes);
        }
        let spans = [stats.pass_average(), stats.pass_max];
        assert_eq!(spans, [1_500, 4_000].map(RealSpan::from_micros));
        assert_eq!(
            (stats.work_average(), stats.passes, stats.idle_passes),
            (1.5, 4, 2)
        );
    }

    #[test]
    fn a_long_pass_is_reported_with_stages_and_the_slowest_item() {
        let (clock, mut passes) = (ManualClock::default(), two_stages(10));
        passes.begin(clock.now());
        passes.enter(CHEAP, &clock).leave();
        let mut turn = passes.enter(DEAR, &clock);
        assert!(turn.admits("db_save"));
        clock.advance(LONG_PASS);
        turn.leave();
        assert_eq!(
            passes.to_string(),
            "pass 1 took 250.0 ms: cheap 0.0 ms (0) dear 250.0 ms (1); slowest db_save 250.0 ms"
        );
    }
}
