//! The service loop: declared stages over one state, in one thread.
//!
//! ```text
//!  start ─> wait ─> stage 1 ─> stage 2 ─> … ─> report ─┐      a pass; work left over: the next one does not wait
//!            ^─────────────────────────────────────────┘
//! ```
//!
//! The usual stages are inbound messages ([`handlers`]), posted actions, due timers, and the outbound flush
//! ([`outbound`]); [`ServiceLoop`] puts them and any others in the order that the program declares. What runs in a
//! stage is given a [`Service`]: the program's state, and all that a loop offers it.
//!
//! The loop sleeps in one wait until the earliest deadline of any stage. There is no polling: a message, a post or an
//! earlier timer ends the sleep at once.

mod builder;
pub mod handlers;
pub mod outbound;
mod service_loop;
mod stage;

use std::fmt;

use trantor_time::timers::{NewTimer, RegisterError, Timers};
use trantor_time::{RealSpan, RealTime, TimerId, TimerWheel};

use crate::fault::{CallbackResult, Faults, caught};
use crate::jobs::{Job, JobId, JobRefused, JobSpec, Jobs, OwnerId};
use crate::life::{LoopHome, StopSignal};
use crate::posts::Poster;

pub use self::builder::{INBOUND, OUTBOUND, POSTED, STAGE_TIME, ServiceBuilder, ServiceSettings, TIMERS};
pub use self::handlers::{Handlers, Message};
pub use self::outbound::{Outbound, Peers};
pub use self::service_loop::{EndReason, Ended, ServiceLoop};
pub use self::stage::{Stage, StageTurn};

/// What a callback of a timer is given, and answers.
pub type TimerCallback<S> = Box<dyn FnMut(&mut Service<S>) -> CallbackResult>;

/// The store of a service loop's timers: limits, keep-alives, saves, of which there may be masses and none needs to be
/// exact. Any other would do: they obey one contract.
type TimerStore = TimerWheel<TimerId>;

/// What everything that runs in a service loop is given: the program's state, and what the loop offers.
pub struct Service<S: 'static> {
    /// The program's own.
    pub state: S,
    now: RealTime,
    timers: Timers<TimerStore, OwnerId, TimerCallback<S>>,
    jobs: Jobs<Service<S>>,
    poster: Poster<Service<S>>,
    faults: Faults,
    stop: StopSignal,
    home: LoopHome,
}

impl<S> Service<S> {
    /// Logical time: in a timer its nominal deadline, in a posted action the instant at which it is taken, elsewhere that at
    /// which the pass began, or of what came in since ([`StageTurn::arrival`]).
    pub fn now(&self) -> RealTime {
        self.now
    }

    /// Registers a timer that runs once, `delay` after [`Self::now`], or up to a step of the loop's timers later
    /// ([`ServiceSettings::timer_resolution`]).
    ///
    /// # Errors
    /// As [`Self::register`].
    pub fn once(
        &mut self,
        name: &str,
        delay: RealSpan,
        callback: impl FnMut(&mut Service<S>) -> CallbackResult + 'static,
    ) -> Result<TimerId, RegisterError> {
        self.register(NewTimer::once(name, delay, Box::new(callback)))
    }

    /// Registers a timer that runs every `period`, first after one, and coalesces what it misses.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub fn every(
        &mut self,
        name: &str,
        period: RealSpan,
        callback: impl FnMut(&mut Service<S>) -> CallbackResult + 'static,
    ) -> Result<TimerId, RegisterError> {
        self.register(NewTimer::every(name, period, Box::new(callback)))
    }

    /// Registers a timer with everything that [`NewTimer`] can say.
    ///
    /// # Errors
    /// If the name is empty or too long, a span is not positive, or too many timers are registered.
    pub fn register(
        &mut self,
        timer: NewTimer<'_, RealTime, OwnerId, TimerCallback<S>>,
    ) -> Result<TimerId, RegisterError> {
        self.home.assert_current();
        self.timers.register(self.now, timer)
    }

    /// The timers themselves, to cancel, move and look at.
    pub fn timers(&mut self) -> &mut Timers<TimerStore, OwnerId, TimerCallback<S>> {
        self.home.assert_current();
        &mut self.timers
    }

    /// Submits a background job.
    ///
    /// # Errors
    /// If its key is in flight, too many wait, or the loop is stopping.
    pub fn submit(&mut self, spec: JobSpec, job: Job<Service<S>>) -> Result<JobId, JobRefused> {
        self.home.assert_current();
        self.jobs.submit(spec, job, self.now)
    }

    /// The jobs themselves, to cancel and look at.
    pub fn jobs(&mut self) -> &mut Jobs<Service<S>> {
        self.home.assert_current();
        &mut self.jobs
    }

    /// Cancels all timers and jobs of an owner that goes away; answers how many there were.
    pub fn cancel_owned(&mut self, owner: OwnerId) -> usize {
        self.home.assert_current();
        self.timers.cancel_owned(owner) + self.jobs.cancel_owner(owner)
    }

    /// A handle with which any thread posts actions to this loop.
    pub fn poster(&self) -> Poster<Service<S>> {
        self.poster.clone()
    }

    /// A handle with which any thread asks this loop to stop; from inside it takes effect after the pass.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Which thread is the loop's.
    pub fn home(&self) -> LoopHome {
        self.home
    }

    /// The failures so far; report there what you notice yourself.
    pub fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// Runs `callback` under `name`; a failure or panic goes to the faults. Answers whether it went well.
    pub fn guard<E: fmt::Display>(
        &mut self,
        name: &str,
        callback: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> bool {
        // The faults are not borrowed meanwhile: the callback may use the whole service.
        caught(|| callback(self))
            .map_err(|message| self.faults.note(name, message))
            .is_ok()
    }

    /// Whether a failure must end the loop.
    fn has_failed(&self) -> bool {
        self.faults.fatal().is_some()
    }
}

impl<S> fmt::Debug for Service<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("now", &self.now)
            .field("timers", &self.timers.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
