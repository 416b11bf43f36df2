//! The stages of a pass: their declared order, what each may spend, and what each did spend.
//!
//! A loop declares its stages once, and enters and leaves them in that order in every pass; here is kept which of
//! them left work over, how long each took, and that none of them starves another. What a stage does, and
//! whether the loop sleeps, is the loop's own.
//!
//! ```
//! # use trantor_runtime::stages::{Budget, StageSpec, Stages};
//! # use trantor_time::{Clock, ManualClock, RealSpan};
//! # let clock = ManualClock::default();
//! # let mut inbox = vec![1, 2, 3];
//! const INBOUND: usize = 0;
//! let mut stages = Stages::declare(
//!     "server",
//!     [StageSpec::new("inbound", Budget::new(2, RealSpan::from_millis(5)))],
//!     RealSpan::from_millis(250),
//! );
//! stages.begin_pass(clock.now());
//! let mut turn = stages.enter(INBOUND, clock.now());
//! while !inbox.is_empty() && turn.admits(clock.now()) {
//!     inbox.pop();
//! }
//! stages.leave(turn, clock.now());
//! stages.end_pass(clock.now());
//! assert!(stages.work_is_left(), "the next pass must not wait: one of three was left over");
//! ```

mod report;

use std::fmt;

use trantor_time::{RealSpan, RealTime};

use report::Declared;
pub use report::PassReport;

/// What a stage may spend in one pass; it always gets at least one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Items, at least one.
    pub items_max: u32,
    /// Time; the item during which it runs out is finished.
    pub time_max: RealSpan,
}

impl Budget {
    /// For a stage that does one bounded thing in every pass, such as publishing statistics.
    pub const UNLIMITED: Self = Self {
        items_max: u32::MAX,
        time_max: RealSpan::MAX,
    };

    /// At most `items_max` items and `time_max` of time.
    pub const fn new(items_max: u32, time_max: RealSpan) -> Self {
        Self { items_max, time_max }
    }
}

/// A stage as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSpec {
    /// Its name in logs and metrics.
    pub name: &'static str,
    /// What it may spend in one pass.
    pub budget: Budget,
}

impl StageSpec {
    /// A stage called `name` that may spend `budget` in one pass.
    pub const fn new(name: &'static str, budget: Budget) -> Self {
        Self { name, budget }
    }
}

/// The stages of one loop, in the order in which every pass runs them.
#[derive(Debug)]
pub struct Stages {
    loop_name: &'static str,
    specs: Vec<StageSpec>,
    long_pass: RealSpan,
    passes: u64,
    pass_start: RealTime,
    /// The next stage that may be entered; stages may be left out, but never run twice or out of order.
    next: usize,
    /// By stage: what it spent in its latest turn.
    turns: Vec<StageUse>,
    /// By stage: whether it had a turn in this pass.
    entered: Vec<bool>,
    slowest: Option<SlowItem>,
}

/// What a stage spent in its latest turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageUse {
    /// Time from entering to leaving it.
    pub time: RealSpan,
    /// Items it took.
    pub items: u32,
    /// Whether it had to stop with work left.
    pub left_over: bool,
}

/// The longest item of a pass, where somebody measured items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowItem {
    /// The handler, timer or kind of deadline.
    pub name: String,
    /// How long it ran.
    pub took: RealSpan,
}

/// An item that runs this long is logged by name.
pub const SLOW_ITEM: RealSpan = RealSpan::from_millis(50);

/// A pass this long is logged with its stages, unless a program asks for another limit.
pub const LONG_PASS: RealSpan = RealSpan::from_millis(250);

impl Stages {
    /// Declares the stages of the loop called `loop_name` and logs their order.
    ///
    /// A pass of `long_pass` or more is reported by [`Self::end_pass`].
    ///
    /// # Panics
    /// If there is no stage, or a stage could take no item.
    pub fn declare(
        loop_name: &'static str,
        specs: impl IntoIterator<Item = StageSpec>,
        long_pass: RealSpan,
    ) -> Self {
        let specs: Vec<_> = specs.into_iter().collect();
        assert!(!specs.is_empty(), "a loop without stages does nothing");
        assert!(
            specs.iter().all(|spec| spec.budget.items_max > 0),
            "a stage takes at least one item a pass"
        );
        let stages = Self {
            loop_name,
            turns: vec![StageUse::default(); specs.len()],
            entered: vec![false; specs.len()],
            next: specs.len(),
            specs,
            long_pass,
            passes: 0,
            pass_start: RealTime::ZERO,
            slowest: None,
        };
        log::info!("{}: {}", loop_name, stages.declared());
        stages
    }

    /// The order and the budgets, as they are printed at start and kept in a recording.
    pub fn declared(&self) -> impl fmt::Display + '_ {
        Declared(&self.specs)
    }

    /// Begins a pass at `now`.
    pub fn begin_pass(&mut self, now: RealTime) {
        self.pass_start = now;
        self.passes += 1;
        self.next = 0;
        self.slowest = None;
        self.entered.fill(false);
        for turn in &mut self.turns {
            // Times stay as they were: until a stage has had its turn, its last one tells what it takes.
            turn.left_over = false;
            turn.items = 0;
        }
    }

    /// Enters the stage declared as number `stage`, counted from zero.
    ///
    /// # Panics
    /// If the stage does not exist, or it or a later one was entered in this pass already.
    pub fn enter(&mut self, stage: usize, now: RealTime) -> Turn {
        assert!(
            stage < self.specs.len(),
            "{} has no stage {stage}",
            self.loop_name
        );
        assert!(
            stage >= self.next,
            "stage {:?} runs out of its declared order",
            self.specs[stage].name
        );
        self.next = stage + 1;
        self.entered[stage] = true;
        let budget = self.specs[stage].budget;
        Turn {
            stage,
            start: now,
            items: 0,
            items_max: budget.items_max,
            end: now.saturating_add(budget.time_max),
            floor: now.saturating_add(self.floor_against(stage)),
            refused: false,
        }
    }

    /// Ends the turn at `now`.
    pub fn leave(&mut self, turn: Turn, now: RealTime) {
        self.turns[turn.stage] = StageUse {
            time: now.since(turn.start),
            items: turn.items,
            left_over: turn.refused,
        };
    }

    /// Notes that an item called `name` ran for `took`; a long one is logged, the longest kept for the report.
    pub fn note_item(&mut self, name: &str, took: RealSpan) {
        if took < SLOW_ITEM {
            return;
        }
        log::warn!(
            "{}: {name} held the loop for {:.1} ms",
            self.loop_name,
            took.as_millis_f64()
        );
        if self.slowest.as_ref().is_none_or(|slowest| took > slowest.took) {
            self.slowest = Some(SlowItem {
                name: name.to_owned(),
                took,
            });
        }
    }

    /// Ends the pass at `now`; answers what it was made of. Log it if [`PassReport::is_long`].
    pub fn end_pass(&mut self, now: RealTime) -> PassReport<'_> {
        self.next = self.specs.len();
        for (turn, entered) in self.turns.iter_mut().zip(&self.entered) {
            if !entered {
                turn.time = RealSpan::ZERO;
            }
        }
        PassReport {
            stages: self,
            duration: now.since(self.pass_start),
        }
    }

    /// Whether a stage of this pass left work over, so that the next pass must start without waiting.
    pub fn work_is_left(&self) -> bool {
        self.turns.iter().any(|turn| turn.left_over)
    }

    /// Items taken by all stages of this pass.
    pub fn items_taken(&self) -> u32 {
        self.turns.iter().map(|turn| turn.items).sum()
    }

    /// The name of the stage declared as number `stage`.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn name(&self, stage: usize) -> &'static str {
        self.specs[stage].name
    }

    /// Passes begun.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Every stage with what it spent in its latest turn, in declared order.
    pub fn uses(&self) -> impl Iterator<Item = (StageSpec, StageUse)> + '_ {
        self.specs.iter().copied().zip(self.turns.iter().copied())
    }

    /// Half the time of the longest turn that another stage had: `stage` may go on that long whatever its budget.
    ///
    /// This is the rule of frames and events among stages. Without it a stage of many cheap items, cut at
    /// its count, would starve beside one of few dear items, which both are within their budgets.
    fn floor_against(&self, stage: usize) -> RealSpan {
        let others = self.turns.iter().enumerate().filter(|&(other, _)| other != stage);
        let longest = others.map(|(_, turn)| turn.time).max().unwrap_or(RealSpan::ZERO);
        RealSpan::from_nanos(longest.as_nanos() / 2)
    }
}

/// One stage's turn in one pass: says how long it may go on.
#[derive(Debug)]
#[must_use = "a turn ends by Stages::leave"]
pub struct Turn {
    stage: usize,
    start: RealTime,
    items: u32,
    items_max: u32,
    end: RealTime,
    floor: RealTime,
    refused: bool,
}

impl Turn {
    /// Whether one more item may be taken at `now`; if so it is counted. The first always may.
    ///
    /// Ask only with an item at hand: a refusal means that work is left over, and the next pass will not wait.
    pub fn admits(&mut self, now: RealTime) -> bool {
        let within_budget = self.items < self.items_max && now < self.end;
        if self.items == 0 || within_budget || now < self.floor {
            self.items += 1;
            true
        } else {
            self.refused = true;
            false
        }
    }

    /// Items admitted so far.
    pub fn items(&self) -> u32 {
        self.items
    }
}

#[cfg(test)]
mod tests;
