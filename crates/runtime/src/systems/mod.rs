//! Systems at rates of their own: input, network, world, graphics and whatever else a simulation has.
//!
//! [`Systems`] is the declared list as a value: [`Systems::run_due`] calls those that are due, in order, and
//! [`Systems::next_due`] says when to come again. A program whose platform owns the event loop uses it as it is;
//! [`SystemLoop`] is the loop for those that own theirs. When a system is due is the arithmetic of
//! [`trantor_time::Pacer`]; which rates there are, and what may be changed while running, is [`SystemControl`].

mod control;
mod own_thread;
mod system_loop;
#[cfg(test)]
mod tests;

use std::fmt;

use trantor_time::pacing::Phase;
use trantor_time::{Pace, Pacing, RateError, RealSpan, RealTime};

use crate::fault::{CallbackResult, Faults, caught};
use crate::listeners::{TimerManager, TimerNumber};

pub use self::control::{Failing, RETRY_AFTER, RETRY_AFTER_MAX, SOUND_AFTER, SystemControl, SystemStats};
pub use self::own_thread::{Note, OwnThread};
pub use self::system_loop::SystemLoop;

/// The usual systems with their usual rates in calls per second, in the order in which a pass calls them.
///
/// Negative is uncapped. Sound has the rate at which people notice that it follows what they see.
pub const STANDARD: [(&str, f64); 7] = [
    ("input", -1.0),
    ("network", 15.0),
    ("ai", 5.0),
    ("world", 30.0),
    ("sound", 30.0),
    ("graphics", -1.0),
    ("statistics", 1.0),
];

/// Systems that are started before all others, in this order: without a window there is nowhere to report a failure
/// of the rest.
pub const STARTED_FIRST: [&str; 2] = ["graphics", "input"];

/// How a system is to be called.
#[derive(Clone, Debug)]
pub struct SystemSpec {
    name: &'static str,
    pace: Pace,
    pacing: Pacing,
    first_elapsed: RealSpan,
    budget: Option<RealSpan>,
}

impl SystemSpec {
    /// A system called `name`, at `pace`, spaced, told zero elapsed time at its first call.
    pub const fn new(name: &'static str, pace: Pace) -> Self {
        Self {
            name,
            pace,
            pacing: Pacing::Spacing,
            first_elapsed: RealSpan::ZERO,
            budget: None,
        }
    }

    /// A system called `name` at `calls_per_second`; negative means uncapped.
    ///
    /// # Errors
    /// If that is zero or no rate.
    pub fn at(name: &'static str, calls_per_second: f64) -> Result<Self, RateError> {
        Ok(Self::new(name, Pace::from_setting(calls_per_second)?))
    }

    /// One of the [`STANDARD`] systems at its usual rate.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn standard(name: &str) -> Self {
        let found = STANDARD.iter().find(|(standard, _)| *standard == name);
        let &(name, rate) = found.expect("the name of a standard system");
        Self::at(name, rate).expect("the standard rates are rates")
    }

    /// Lets its interval count from multiples of the interval instead of from the last call.
    pub const fn on_grid(mut self) -> Self {
        self.pacing = Pacing::Grid;
        self
    }

    /// What the first call is told as elapsed time instead of zero.
    pub const fn first_elapsed(mut self, first_elapsed: RealSpan) -> Self {
        self.first_elapsed = first_elapsed;
        self
    }

    /// The longest that a call should take, if that is not its interval.
    pub const fn budget(mut self, budget: RealSpan) -> Self {
        self.budget = Some(budget);
        self
    }
}

/// What a system is given when it is called, besides the program's state.
pub struct SystemCall<'a> {
    /// The instant of the pass, the same for all systems in it.
    pub now: RealTime,
    /// Time since its last call; over all calls it adds up to the time passed.
    pub elapsed: RealSpan,
    /// The same in simulated time: times the speed, nothing while paused. What world, AI and graphics go by.
    pub simulated: RealSpan,
    /// Instants of its grid that were skipped before this call.
    pub missed: u64,
    /// What can be changed from here: rates, speed, the end of the loop.
    pub control: &'a mut SystemControl,
}

impl SystemCall<'_> {
    /// How far the system called `name` is between two calls; what graphics needs to draw between world updates.
    ///
    /// `None` if there is no such system.
    pub fn phase_of(&self, name: &str) -> Option<Phase> {
        self.control.phase_of(name, self.now)
    }
}

/// The declared list of systems over a state `S`.
pub struct Systems<S> {
    systems: Vec<System<S>>,
    requested: Vec<Box<dyn Requested<S>>>,
    control: SystemControl,
}

struct System<S> {
    start: Option<StartFn<S>>,
    run: RunFn<S>,
}

type StartFn<S> = Box<dyn FnOnce(&mut S) -> CallbackResult>;
type RunFn<S> = Box<dyn FnMut(&mut S, &mut SystemCall<'_>) -> CallbackResult>;

/// A system that could not be started; the loop then does not start either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{system} could not be started: {message}")]
pub struct SystemNotStarted {
    /// Its name.
    pub system: &'static str,
    /// What it said.
    pub message: String,
}

impl<S> Systems<S> {
    /// No systems yet; simulated time begins at zero, now, at the speed of real time.
    pub fn new(now: RealTime) -> Self {
        Self {
            systems: Vec::new(),
            requested: Vec::new(),
            control: SystemControl::new(now),
        }
    }

    /// Adds a system after those added so far.
    ///
    /// # Panics
    /// If there is one of that name already.
    pub fn add(
        self,
        spec: SystemSpec,
        run: impl FnMut(&mut S, &mut SystemCall<'_>) -> CallbackResult + 'static,
    ) -> Self {
        self.insert(spec, None, Box::new(run))
    }

    /// Adds a system that must be started before the first pass, and whose failure to start ends the program.
    ///
    /// # Panics
    /// If there is one of that name already.
    pub fn add_started(
        self,
        spec: SystemSpec,
        start: impl FnOnce(&mut S) -> CallbackResult + 'static,
        run: impl FnMut(&mut S, &mut SystemCall<'_>) -> CallbackResult + 'static,
    ) -> Self {
        self.insert(spec, Some(Box::new(start)), Box::new(run))
    }

    /// Fires, after the systems of each pass, the timers requested of `manager`; each goes to `tell`.
    pub fn fire_requested<L: 'static>(
        mut self,
        manager: TimerManager<L>,
        tell: impl FnMut(&mut S, TimerNumber, L) -> CallbackResult + 'static,
    ) -> Self {
        self.requested.push(Box::new(RequestedTimers { manager, tell }));
        self
    }

    /// Starts all systems: first graphics and input, then the others in their order.
    ///
    /// # Errors
    /// With the first that failed; those after it are not started.
    pub fn start(&mut self, state: &mut S) -> Result<(), SystemNotStarted> {
        log::info!("systems: {}", self.control.declared());
        let rank = |name| {
            STARTED_FIRST
                .iter()
                .position(|first| *first == name)
                .unwrap_or(STARTED_FIRST.len())
        };
        let mut order: Vec<usize> = (0..self.systems.len()).collect();
        order.sort_by_key(|&index| rank(self.control.name(index)));
        for index in order {
            if let Some(start) = self.systems[index].start.take() {
                let system = self.control.name(index);
                caught(|| start(state)).map_err(|message| SystemNotStarted { system, message })?;
            }
        }
        Ok(())
    }

    /// Calls, in order, each system that is due at `now`, the instant of the pass; answers how many were.
    ///
    /// `measure` reads the clock, to see how long each took. A failing system is noted in `faults` and called again after
    /// [`RETRY_AFTER`], or longer if it goes on failing.
    pub fn run_due(
        &mut self,
        state: &mut S,
        now: RealTime,
        measure: &mut dyn FnMut() -> RealTime,
        faults: &mut Faults,
    ) -> usize {
        let mut called = 0;
        let mut before = None;
        for (index, system) in self.systems.iter_mut().enumerate() {
            let Some((elapsed, simulated, missed)) = self.control.begin_call(index, now) else {
                continue;
            };
            called += 1;
            let started = before.unwrap_or_else(&mut *measure);
            let mut call = SystemCall {
                now,
                elapsed,
                simulated,
                missed,
                control: &mut self.control,
            };
            let outcome = caught(|| (system.run)(state, &mut call));
            let ended = measure();
            before = Some(ended);
            self.control.end_call(index, ended.since(started));
            if let Err(message) = outcome {
                faults.note(self.control.name(index), message.clone());
                self.control.fail_call(index, now, message);
            }
        }
        self.control.count_pass(now, called);
        for requested in &mut self.requested {
            requested.fire(state, now, faults);
        }
        called
    }

    /// When to come next: `now` if a system is uncapped or anything is due, `None` if all are disabled and no timer
    /// is requested.
    pub fn next_due(&self, now: RealTime) -> Option<RealTime> {
        let requested = self
            .requested
            .iter()
            .filter_map(|requested| requested.next_deadline());
        requested
            .map(|deadline| deadline.max(now))
            .chain(self.control.next_due(now))
            .min()
    }

    /// What can be changed and seen.
    pub fn control(&mut self) -> &mut SystemControl {
        &mut self.control
    }

    fn insert(mut self, spec: SystemSpec, start: Option<StartFn<S>>, run: RunFn<S>) -> Self {
        self.control.add(&spec);
        self.systems.push(System { start, run });
        self
    }
}

/// Requested timers fired in one pass at most, so that a storm of them does not hold up the systems.
const REQUESTED_PER_PASS: usize = 256;

/// A manager of requested timers, whatever its listeners are.
trait Requested<S> {
    fn fire(&mut self, state: &mut S, now: RealTime, faults: &mut Faults);
    fn next_deadline(&self) -> Option<RealTime>;
}

struct RequestedTimers<L, F> {
    manager: TimerManager<L>,
    tell: F,
}

impl<S, L, F> Requested<S> for RequestedTimers<L, F>
where
    F: FnMut(&mut S, TimerNumber, L) -> CallbackResult,
{
    fn fire(&mut self, state: &mut S, now: RealTime, faults: &mut Faults) {
        if !self.manager.may_fire(now) {
            return;
        }
        for _ in 0..REQUESTED_PER_PASS {
            let Some((number, listener)) = self.manager.take_due(now) else {
                return;
            };
            faults.guard("requested timer", || (self.tell)(state, number, listener));
        }
    }

    fn next_deadline(&self) -> Option<RealTime> {
        self.manager.next_deadline()
    }
}

impl<S> fmt::Debug for Systems<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Systems")
            .field("control", &self.control)
            .finish_non_exhaustive()
    }
}
