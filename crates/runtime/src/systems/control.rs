//! What can be changed and seen of systems while they run: rates, speed, overruns, the end of the loop.

use trantor_time::pacing::Phase;
use trantor_time::{
    Due, Frequency, FrequencyError, GameClock, GameTime, Pace, Pacer, Pacing, RealSpan, RealTime,
};

use crate::publish::{Published, SlidingRate};

use super::SystemSpec;

/// The board of switches of a list of systems; every system can reach it while it is called.
#[derive(Debug)]
pub struct SystemControl {
    entries: Vec<Entry>,
    /// Simulated time, in units of a simulated millisecond: a speed of 1 is then 1,000 hertz, and all speeds
    /// from a thousandth to a thousandfold are exact.
    simulation: GameClock,
    started: RealTime,
    pass_rate: SlidingRate,
    frame_rate: SlidingRate,
    passes: u64,
    frames: u64,
    idle_passes: u64,
    is_shutdown_requested: bool,
}

/// What is known of a system that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Failures in a row, of which none was [`SOUND_AFTER`] after the one before.
    pub failures: u32,
    /// What it said last.
    pub message: String,
    /// When it failed last.
    pub at: RealTime,
    /// It is not called before this.
    until: RealTime,
}

/// How long a system that failed is not called: long enough that one that fails in each call costs a few calls a second
/// at the beginning, short enough that nobody misses what a single failure leaves out. Each failure in a row doubles it.
pub const RETRY_AFTER: RealSpan = RealSpan::from_millis(100);
/// The longest that it is not called: a picture comes back while its user still waits for it, and a day's log has less
/// than ten thousand lines of a system that fails for ever.
pub const RETRY_AFTER_MAX: RealSpan = RealSpan::from_secs(10);
/// A system that did not fail for so long is sound again. Longer than any wait, so that one that fails in every other
/// call is no better than one that fails in each.
pub const SOUND_AFTER: RealSpan = RealSpan::from_secs(20);

#[derive(Debug)]
struct Entry {
    name: &'static str,
    /// The name under which its rate is published.
    rate_name: String,
    pacer: Pacer,
    rate: SlidingRate,
    time: RealSpan,
    time_max: RealSpan,
    /// Simulated time, in nanoseconds, at its last call.
    simulated_ns: i128,
    failing: Option<Failing>,
}

/// What is counted of one system, all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemStats {
    /// Calls so far.
    pub calls: u64,
    /// Instants of its grid that were skipped.
    pub missed: u64,
    /// Calls that took longer than the system's budget, or its interval if it has none.
    pub overruns: u64,
    /// Time spent in it, in nanoseconds.
    pub time_ns: i64,
    /// Its longest call, in nanoseconds.
    pub time_ns_max: i64,
}

/// Thousandths: the speed at which simulated time passes as real time does.
const SPEED_REAL: u64 = 1_000;
/// Nanounits of the simulation clock, of a simulated millisecond each, in a simulated nanosecond.
const NANOUNITS_PER_NANO: i128 = 1_000;

impl SystemControl {
    pub(super) fn new(now: RealTime) -> Self {
        let real_speed = Frequency::new(SPEED_REAL).expect("a thousand hertz is a frequency");
        Self {
            entries: Vec::new(),
            simulation: GameClock::new(now, GameTime::ZERO, real_speed),
            started: now,
            pass_rate: SlidingRate::new(now),
            frame_rate: SlidingRate::new(now),
            passes: 0,
            frames: 0,
            idle_passes: 0,
            is_shutdown_requested: false,
        }
    }

    /// Asks for the end of the loop, which comes after this pass.
    pub fn request_shutdown(&mut self) {
        self.is_shutdown_requested = true;
    }

    /// Whether a system asked for the end of the loop.
    pub fn is_shutdown_requested(&self) -> bool {
        self.is_shutdown_requested
    }

    /// Changes how often a system is called; the time already waited counts, and there is no burst.
    /// Answers whether there is such a system; so for all switches.
    pub fn set_pace(&mut self, name: &str, pace: Pace) -> bool {
        self.with(name, |pacer| pacer.set_pace(pace))
    }

    /// Changes how its interval is counted.
    pub fn set_pacing(&mut self, name: &str, pacing: Pacing) -> bool {
        self.with(name, |pacer| pacer.set_pacing(pacing))
    }

    /// Switches a system off, or on again.
    pub fn set_enabled(&mut self, name: &str, is_enabled: bool) -> bool {
        self.with(name, |pacer| pacer.set_enabled(is_enabled))
    }

    /// Lets a system be called in every pass whatever its rate, until further notice.
    pub fn set_exempt(&mut self, name: &str, is_exempt: bool) -> bool {
        self.with(name, |pacer| pacer.set_exempt(is_exempt))
    }

    /// Lets a system be called once in the next pass, or in this one if its turn is still to come.
    pub fn run_once(&mut self, name: &str) -> bool {
        self.with(name, Pacer::run_once)
    }

    /// Changes the speed of simulated time from `now` on, in thousandths of real time.
    ///
    /// # Errors
    /// If it is zero (pause instead) or above a thousandfold.
    pub fn set_speed(&mut self, now: RealTime, thousandths: u64) -> Result<(), FrequencyError> {
        self.simulation.set_frequency(now, Frequency::new(thousandths)?);
        Ok(())
    }

    /// The speed of simulated time in thousandths of real time, also while it is paused.
    pub fn speed_thousandths(&self) -> u32 {
        self.simulation.frequency().get()
    }

    /// Lets simulated time stand still, or go on.
    pub fn set_paused(&mut self, now: RealTime, is_paused: bool) {
        if is_paused {
            self.simulation.pause(now);
        } else {
            self.simulation.resume(now);
        }
    }

    /// Whether simulated time stands still.
    pub fn is_paused(&self) -> bool {
        self.simulation.is_paused()
    }

    /// Simulated time at `now`: how much has passed since the start, by the speeds there were.
    pub fn simulated(&self, now: RealTime) -> RealSpan {
        span_of(self.simulated_ns(now))
    }

    /// A frame was drawn; to be told by whoever draws, since not every call of graphics draws one.
    pub fn count_frame(&mut self, now: RealTime) {
        self.frames += 1;
        self.frame_rate.add(now, 1);
    }

    /// How far a system is between two calls at `now`.
    pub fn phase_of(&self, name: &str, now: RealTime) -> Option<Phase> {
        self.entry(name).map(|entry| entry.pacer.phase(now))
    }

    /// When a system is due.
    pub fn due_of(&self, name: &str) -> Option<Due> {
        self.entry(name).map(|entry| entry.pacer.due())
    }

    /// How often a system is called.
    pub fn pace_of(&self, name: &str) -> Option<Pace> {
        self.entry(name).map(|entry| entry.pacer.pace())
    }

    /// What was counted of a system.
    pub fn stats_of(&self, name: &str) -> Option<SystemStats> {
        self.entry(name).map(|entry| SystemStats {
            calls: entry.pacer.calls(),
            missed: entry.pacer.missed(),
            overruns: entry.pacer.overruns(),
            time_ns: entry.time.as_nanos(),
            time_ns_max: entry.time_max.as_nanos(),
        })
    }

    /// What is known of a system that failed lately.
    pub fn failing(&self, name: &str) -> Option<&Failing> {
        self.entry(name).and_then(|entry| entry.failing.as_ref())
    }

    /// The systems in the order in which they are called.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.entries.iter().map(|entry| entry.name)
    }

    /// Passes in which no system was due: in a loop that waits exactly there are few.
    pub fn idle_passes(&self) -> u64 {
        self.idle_passes
    }

    /// Publishes uptime, passes, frames, the rate of each system, and simulated time.
    pub fn publish(&mut self, published: &mut Published, now: RealTime) {
        published.set("loop.uptime_seconds", now.since(self.started).as_secs_f64());
        published.set("loop.passes_count", self.passes as f64);
        published.set("loop.frames_count", self.frames as f64);
        published.set("loop.simulated_seconds", self.simulated(now).as_secs_f64());
        published.set_known("loop.passes_per_second", self.pass_rate.per_second(now));
        published.set_known("loop.frames_per_second", self.frame_rate.per_second(now));
        for entry in &mut self.entries {
            published.set_known(&entry.rate_name, entry.rate.per_second(now));
        }
    }

    pub(super) fn add(&mut self, spec: &SystemSpec) {
        assert!(
            self.entry(spec.name).is_none(),
            "there are two systems called {:?}",
            spec.name
        );
        let mut pacer = Pacer::new(spec.pace, spec.pacing).with_first_elapsed(spec.first_elapsed);
        if let Some(budget) = spec.budget {
            pacer = pacer.with_budget(budget);
        }
        self.entries.push(Entry {
            name: spec.name,
            rate_name: format!("system.{}.calls_per_second", spec.name),
            pacer,
            rate: SlidingRate::new(self.started),
            time: RealSpan::ZERO,
            time_max: RealSpan::ZERO,
            simulated_ns: 0,
            failing: None,
        });
    }

    pub(super) fn name(&self, index: usize) -> &'static str {
        self.entries[index].name
    }

    /// The order and the rates, as they are printed at the start.
    pub(super) fn declared(&self) -> String {
        let one = |entry: &Entry| match entry.pacer.pace() {
            Pace::Uncapped => format!("{} (uncapped)", entry.name),
            Pace::At(rate) => format!("{} ({}/s)", entry.name, rate.as_per_second()),
        };
        self.entries.iter().map(one).collect::<Vec<_>>().join(" > ")
    }

    /// If the system is due: its elapsed time, real and simulated, and the instants it missed.
    pub(super) fn begin_call(&mut self, index: usize, now: RealTime) -> Option<(RealSpan, RealSpan, u64)> {
        let simulated_ns = self.simulated_ns(now);
        let entry = &mut self.entries[index];
        if let Some(failing) = &entry.failing {
            if now < failing.until {
                return None;
            }
            if now.since(failing.at) >= SOUND_AFTER {
                entry.failing = None;
            }
        }
        let is_first = entry.pacer.calls() == 0;
        let call = entry.pacer.call(now)?;
        entry.rate.add(now, 1);
        // Taken as the difference of two readings, so that roundings do not add up.
        let simulated_before_ns = std::mem::replace(&mut entry.simulated_ns, simulated_ns);
        let simulated = if is_first {
            call.elapsed
        } else {
            span_of(simulated_ns - simulated_before_ns)
        };
        Some((call.elapsed, simulated, call.missed))
    }

    pub(super) fn end_call(&mut self, index: usize, took: RealSpan) {
        let entry = &mut self.entries[index];
        entry.time += took;
        entry.time_max = entry.time_max.max(took);
        if entry.pacer.finish(took) {
            log::debug!("{} overran: {:.1} ms", entry.name, took.as_millis_f64());
        }
    }

    /// A call at `now` failed: the next one waits, longer with each failure in a row.
    pub(super) fn fail_call(&mut self, index: usize, now: RealTime, message: String) {
        let entry = &mut self.entries[index];
        let before = entry.failing.take().map_or(0, |failing| failing.failures);
        // Beyond that many doublings the longest wait is reached.
        let doublings = before.min(RETRY_AFTER_MAX.as_nanos().ilog2());
        let wait = RealSpan::from_nanos(RETRY_AFTER.as_nanos().saturating_mul(1 << doublings));
        entry.failing = Some(Failing {
            failures: before.saturating_add(1),
            message,
            at: now,
            until: now + wait.min(RETRY_AFTER_MAX),
        });
    }

    pub(super) fn count_pass(&mut self, now: RealTime, called: usize) {
        self.passes += 1;
        self.pass_rate.add(now, 1);
        if called == 0 {
            self.idle_passes += 1;
            log::trace!("pass {} called no system", self.passes);
        }
    }

    pub(super) fn next_due(&self, now: RealTime) -> Option<RealTime> {
        let instants = self.entries.iter().filter_map(|entry| {
            let due = match entry.pacer.due() {
                Due::Now => now,
                Due::At(instant) => instant.max(now),
                Due::Never => return None,
            };
            let until = entry.failing.as_ref().map_or(now, |failing| failing.until);
            Some(due.max(until))
        });
        instants.min()
    }

    fn simulated_ns(&self, now: RealTime) -> i128 {
        self.simulation.now(now).as_nanounits() / NANOUNITS_PER_NANO
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    fn with(&mut self, name: &str, change: impl FnOnce(&mut Pacer)) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.name == name);
        entry.map(|entry| change(&mut entry.pacer)).is_some()
    }
}

fn span_of(nanos: i128) -> RealSpan {
    RealSpan::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
