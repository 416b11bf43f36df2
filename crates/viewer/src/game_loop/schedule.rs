//! Which systems a frame calls: each in every frame, or at a rate of its own.
//!
//! When a system is due is the arithmetic of [`Pacer`]. A system that fails is called again after a wait that doubles
//! with each failure in a row. What the systems do is in [`super::systems`].

use trantor_time::{Due, Pace, Pacer, Pacing, RealSpan, RealTime};

/// How long a system that failed is not called: long enough that one that fails in each call costs a few calls a second
/// at the beginning, short enough that what a single failure leaves out is not missed. Each failure in a row doubles it.
const RETRY_AFTER: RealSpan = RealSpan::from_millis(100);
/// The longest that it is not called: a picture comes back while its user still waits for it, and a day's log has less
/// than ten thousand lines of a system that keeps failing.
const RETRY_AFTER_MAX: RealSpan = RealSpan::from_secs(10);
/// A failure this long after the last one begins a new row. Longer than any wait, so that a system that fails in every
/// other call waits as long as one that fails in each.
const SOUND_AFTER: RealSpan = RealSpan::from_secs(20);

/// The systems in the order in which a frame calls them.
#[derive(Debug)]
pub struct Schedule {
    systems: Vec<System>,
    failures: u64,
    last_failure: Option<String>,
}

/// One system: its rate, and what was counted of it.
#[derive(Debug)]
pub struct System {
    pub name: &'static str,
    pub pacer: Pacer,
    time: RealSpan,
    failing: Option<Failing>,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    failures: u32,
    last: RealTime,
    until: RealTime,
}

impl Schedule {
    /// Systems that are all due at once, in this order.
    pub fn new(systems: impl IntoIterator<Item = (&'static str, Pace)>) -> Self {
        let systems = systems.into_iter().map(|(name, pace)| System {
            name,
            pacer: Pacer::new(pace, Pacing::Spacing),
            time: RealSpan::ZERO,
            failing: None,
        });
        Self {
            systems: systems.collect(),
            failures: 0,
            last_failure: None,
        }
    }

    pub fn systems(&self) -> &[System] {
        &self.systems
    }

    pub fn system_mut(&mut self, name: &str) -> Option<&mut System> {
        self.systems.iter_mut().find(|system| system.name == name)
    }

    /// How many calls failed, and what the last one said.
    pub fn failures(&self) -> (u64, Option<&str>) {
        (self.failures, self.last_failure.as_deref())
    }

    /// If system `index` is due at `now`: the time since its last call, zero for the first.
    pub fn begin_call(&mut self, index: usize, now: RealTime) -> Option<RealSpan> {
        let system = &mut self.systems[index];
        if system.failing.is_some_and(|failing| now < failing.until) {
            return None;
        }
        if system
            .failing
            .is_some_and(|failing| now.since(failing.last) >= SOUND_AFTER)
        {
            system.failing = None;
        }
        system.pacer.call(now)
    }

    /// The call at `now` took so long. Answers a message for the user if it failed and is the first of a row.
    pub fn end_call(
        &mut self,
        index: usize,
        now: RealTime,
        took: RealSpan,
        outcome: Result<(), String>,
    ) -> Option<String> {
        let system = &mut self.systems[index];
        system.time += took;
        if system.pacer.finish(took) {
            log::debug!("{} overran: {:.1} ms", system.name, took.as_millis_f64());
        }
        let message = outcome.err()?;
        let before = system.failing.map_or(0, |failing| failing.failures);
        // Beyond that many doublings the longest wait is reached.
        let doublings = before.min(RETRY_AFTER_MAX.as_nanos().ilog2());
        let wait = RealSpan::from_nanos(RETRY_AFTER.as_nanos().saturating_mul(1 << doublings));
        system.failing = Some(Failing {
            failures: before.saturating_add(1),
            last: now,
            until: now + wait.min(RETRY_AFTER_MAX),
        });
        let failure = format!("{} failed: {message}", system.name);
        log::error!("{failure}");
        self.failures += 1;
        self.last_failure = Some(failure);
        (before == 0).then(|| format!("{} failed, and is tried again: {message}", system.name))
    }
}

impl System {
    /// How often it is to be called; `None` if it is off.
    pub fn pace(&self) -> Option<Pace> {
        (self.pacer.due() != Due::Never).then(|| self.pacer.pace())
    }

    /// Failures in a row; 0 for a sound system.
    pub fn failures(&self) -> u32 {
        self.failing.map_or(0, |failing| failing.failures)
    }

    pub fn mean_time(&self) -> RealSpan {
        RealSpan::from_nanos(self.time.as_nanos() / (self.pacer.calls().max(1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    /// Calls the only system at `now`, with that outcome; answers its failures in a row.
    fn call(schedule: &mut Schedule, now: RealTime, outcome: Result<(), String>) -> u32 {
        assert!(schedule.begin_call(0, now).is_some(), "due at {now:?}");
        schedule.end_call(0, now, RealSpan::ZERO, outcome);
        schedule.systems[0].failures()
    }

    #[test]
    fn a_system_that_has_not_failed_for_long_begins_anew_with_a_short_wait() {
        let mut schedule = Schedule::new([("shaky", Pace::Uncapped)]);
        let broken = || Err("no".to_owned());
        assert_eq!(call(&mut schedule, at(0), broken()), 1);
        assert_eq!(call(&mut schedule, at(100), broken()), 2);
        assert_eq!(
            call(&mut schedule, at(400), Ok(())),
            2,
            "one good call is not enough"
        );
        assert_eq!(call(&mut schedule, at(20_100), Ok(())), 0);
        assert_eq!(call(&mut schedule, at(30_000), broken()), 1);
    }
}
