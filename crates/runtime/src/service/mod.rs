//! The service loop: declared stages over one state, in one thread (R-003-1 to R-003-14).
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
//! earlier timer ends the sleep at once (R-003-6, R-003-27).

pub mod handlers;
pub mod outbound;
mod stage;

use std::fmt;

use trantor_time::timers::{NewTimer, RegisterError, Timers};
use trantor_time::{Clock, DeadlineHeap, RealSpan, RealTime, TimerId};

use crate::fault::{Fault, FaultPolicy, Faults, caught};
use crate::inbox::Inbox;
use crate::jobs::{
    JOBS_WAITING_MAX, Job, JobId, JobRefused, JobSpec, Jobs, OwnerId, WaitingJobs, workers_default,
};
use crate::life::{LoopHome, StopRequest, StopSignal};
use crate::metrics::loop_meter::{LoopMeter, LoopReader};
use crate::metrics::{Counter, MeterBuilder};
use crate::posts::{POSTS_MAX, Poster, Posts};
use crate::stages::{Budget, LONG_PASS, StageSpec, Stages};
use crate::wait::{Wait, Waker, Woken};

pub use self::handlers::{Handlers, Message};
pub use self::outbound::{Outbound, Peers};
pub use self::stage::{Stage, StageTurn};

use self::handlers::Inbound;
use self::stage::{DueTimers, FnStage, PostedActions};

/// Longest time a stage may take of one pass, unless it is cut by its count before (R-003-8).
pub const STAGE_TIME: RealSpan = RealSpan::from_millis(5);

/// The usual budget of inbound messages: enough to keep up with a thousand sessions at a few hundred passes a second.
pub const INBOUND: Budget = Budget::new(128, STAGE_TIME);
/// The usual budget of posted actions.
pub const POSTED: Budget = Budget::new(100, STAGE_TIME);
/// The usual budget of timers.
pub const TIMERS: Budget = Budget::new(256, STAGE_TIME);
/// The usual budget of outbound messages: what a pass queued should leave with it.
pub const OUTBOUND: Budget = Budget::new(1_024, STAGE_TIME);

/// What a callback of a timer is given, and answers.
pub type TimerCallback<S> = Box<dyn FnMut(&mut Service<S>) -> Result<(), String>>;

/// The store of a service loop's timers. Any other would do: they obey one contract (R-003-28).
type TimerStore = DeadlineHeap<RealTime, TimerId>;

/// Settings of a service loop.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Posted actions that may wait.
    pub posts_max: usize,
    /// Worker threads for jobs, at least 1. None is started before the first pass.
    pub workers: usize,
    /// Jobs that may wait for a worker.
    pub jobs_waiting_max: usize,
    /// Timers that may be registered.
    pub timers_max: usize,
    /// The least time between two wake-ups that only a deadline causes; 0 for exact ones, 1 ms is traditional (R-003-6).
    pub idle_spacing: RealSpan,
    /// Passes this long are logged.
    pub long_pass: RealSpan,
    /// What becomes of the loop when a callback fails.
    pub on_fault: FaultPolicy,
    /// What a stop does with jobs that no worker has taken.
    pub waiting_jobs_at_stop: WaitingJobs,
    /// The longest time that an orderly stop takes, workers included.
    pub stop_limit: RealSpan,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            posts_max: POSTS_MAX,
            workers: workers_default(),
            jobs_waiting_max: JOBS_WAITING_MAX,
            timers_max: trantor_time::timers::TIMERS_MAX,
            idle_spacing: RealSpan::ZERO,
            long_pass: LONG_PASS,
            on_fault: FaultPolicy::Contain,
            waiting_jobs_at_stop: WaitingJobs::Run,
            stop_limit: RealSpan::from_secs(10),
        }
    }
}

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
    /// Logical time: in a timer its nominal deadline, elsewhere the instant at which the pass began (R-X-5).
    pub fn now(&self) -> RealTime {
        self.now
    }

    /// Registers a timer that runs once, `delay` after [`Self::now`].
    ///
    /// # Errors
    /// As [`Self::register`].
    pub fn once(
        &mut self,
        name: &str,
        delay: RealSpan,
        callback: impl FnMut(&mut Service<S>) -> Result<(), String> + 'static,
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
        callback: impl FnMut(&mut Service<S>) -> Result<(), String> + 'static,
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

    /// Cancels all timers and jobs of an owner that goes away; answers how many there were (R-000-10, R-003-57).
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
    pub fn guard(&mut self, name: &str, callback: impl FnOnce(&mut Self) -> Result<(), String>) -> bool {
        // The faults are not borrowed meanwhile: the callback may use the whole service.
        caught(|| callback(self))
            .map_err(|message| self.faults.note(name, message))
            .is_ok()
    }

    /// The state and the failures, for stages that guard their own callbacks.
    pub(crate) fn state_and_faults(&mut self) -> (&mut S, &mut Faults) {
        (&mut self.state, &mut self.faults)
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

/// Declares a service loop: its stages in the order in which they will run.
pub struct ServiceBuilder<S: 'static, C, W> {
    name: &'static str,
    settings: ServiceSettings,
    specs: Vec<StageSpec>,
    stages: Vec<Box<dyn Stage<S>>>,
    has_timers: bool,
    service: Service<S>,
    posts: Option<Posts<Service<S>>>,
    declare: MeterBuilder,
    clock: C,
    wait: W,
}

impl<S: 'static, C: Clock, W: Wait> ServiceBuilder<S, C, W> {
    /// A loop called `name` over `state`, on the calling thread, with no stages yet.
    pub fn new(name: &'static str, settings: ServiceSettings, state: S, clock: C, wait: W) -> Self {
        let posts = Posts::new(settings.posts_max, wait.waker());
        let service = Service {
            state,
            now: clock.now(),
            timers: Timers::with_capacity(DeadlineHeap::new(), settings.timers_max),
            jobs: Jobs::new(posts.poster(), settings.workers, settings.jobs_waiting_max),
            poster: posts.poster(),
            faults: Faults::new(settings.on_fault),
            stop: StopSignal::new(wait.waker()),
            home: LoopHome::here(),
        };
        Self {
            name,
            settings,
            specs: Vec::new(),
            stages: Vec::new(),
            has_timers: false,
            service,
            posts: Some(posts),
            declare: MeterBuilder::new(),
            clock,
            wait,
        }
    }

    /// A waker for this loop, for queues that feed its stages.
    pub fn waker(&self) -> Waker {
        self.wait.waker()
    }

    /// The service, to register timers before the loop starts.
    pub fn service(&mut self) -> &mut Service<S> {
        &mut self.service
    }

    /// Where to declare metrics of the program's own.
    pub fn metrics(&mut self) -> &mut MeterBuilder {
        &mut self.declare
    }

    /// Declares a stage of the program's own, after those declared so far.
    pub fn stage(mut self, name: &'static str, budget: Budget, stage: impl Stage<S> + 'static) -> Self {
        self.specs.push(StageSpec::new(name, budget));
        let mut stage = Box::new(stage);
        stage.declare(&mut self.declare);
        self.stages.push(stage);
        self
    }

    /// As [`Self::stage`], for a stage that is no more than a function.
    pub fn stage_fn(
        self,
        name: &'static str,
        budget: Budget,
        run: impl FnMut(&mut Service<S>, &mut StageTurn<'_>) + 'static,
    ) -> Self {
        self.stage(name, budget, FnStage(run))
    }

    /// Declares the stage that gives the messages of `inbox` to `handlers`, in the order they arrived.
    ///
    /// The inbox must have been made with this loop's [`Self::waker`].
    pub fn inbound<M: Message + 'static>(
        self,
        budget: Budget,
        inbox: Inbox<M>,
        handlers: Handlers<S, M>,
    ) -> Self {
        self.stage("inbound", budget, Inbound::new(inbox, handlers))
    }

    /// Declares the stage that runs posted actions, results of jobs among them.
    ///
    /// # Panics
    /// If it was declared before.
    pub fn posts(mut self, budget: Budget) -> Self {
        let posts = self.posts.take().expect("posts have one stage");
        self.stage("posts", budget, PostedActions::new(posts))
    }

    /// Declares the stage that runs timers that are due, and fails jobs over their time limit.
    pub fn timers(mut self, budget: Budget) -> Self {
        self.has_timers = true;
        self.stage("timers", budget, DueTimers::default())
    }

    /// The loop, ready to run; its stages are printed in their order (R-X-25).
    ///
    /// # Panics
    /// If there is no stage for posts or none for timers: what callbacks ask for would never come.
    pub fn build(mut self) -> ServiceLoop<S, C, W> {
        assert!(self.posts.is_none(), "a service loop needs a stage for posts");
        assert!(self.has_timers, "a service loop needs a stage for timers");
        let started = self.clock.now();
        let faults = self.declare.counter("loop.faults_count");
        let (meter, reader) = LoopMeter::build(self.declare, "loop", self.specs.iter().copied(), started);
        ServiceLoop {
            stages: Stages::declare(self.name, self.specs, self.settings.long_pass),
            work: self.stages,
            settings: self.settings,
            service: self.service,
            meter,
            reader,
            faults,
            clock: self.clock,
            wait: self.wait,
            last_wake: None,
            stopping_until: None,
            item_name: String::new(),
        }
    }
}

/// A service loop: run it on the calling thread, or give it a thread with [`crate::life::LoopThread`] (R-000-30).
pub struct ServiceLoop<S: 'static, C, W> {
    settings: ServiceSettings,
    service: Service<S>,
    stages: Stages,
    work: Vec<Box<dyn Stage<S>>>,
    meter: LoopMeter,
    reader: LoopReader,
    faults: Counter,
    clock: C,
    wait: W,
    /// `None` before the first pass, which does not wait: it sets the baseline (R-003-4).
    last_wake: Option<RealTime>,
    /// Set while stopping: when patience ends.
    stopping_until: Option<RealTime>,
    /// Reused by every stage for the name of its present item.
    item_name: String,
}

/// How a loop ended, and what it leaves.
#[derive(Debug)]
pub struct Ended<S> {
    /// The program's state.
    pub state: S,
    /// Why it ended.
    pub why: EndReason,
}

/// Why a loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It was asked to, and everything accepted was finished.
    Stopped,
    /// It was asked to, and its time limit came before everything was finished.
    StopLimit,
    /// It was forced to.
    Forced,
    /// A failure that its policy does not contain.
    Failed(Fault),
}

impl<S: 'static, C: Clock, W: Wait> ServiceLoop<S, C, W> {
    /// Starts the worker threads for jobs, which measure with `clock`. Without them, call [`Jobs::work_here`].
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn start_workers(&mut self, clock: impl Clock + Copy + Send + 'static) -> std::io::Result<()> {
        self.service.jobs.start_workers(clock)
    }

    /// Runs passes until the loop is asked to stop or fails, and ends it in good order.
    pub fn run(mut self) -> Ended<S> {
        let why = loop {
            if let Some(why) = self.pass() {
                break why;
            }
        };
        self.end(why)
    }

    /// Waits, and runs one pass; answers why the loop ended, once it has. For programs and tests that drive it themselves.
    pub fn pass(&mut self) -> Option<EndReason> {
        self.sleep();
        self.look_for_stop();
        let ended_at = self.run_stages();
        self.report(ended_at);
        self.ended()
    }

    /// Ends a loop for which [`Self::pass`] answered `why`: its workers are stopped and joined.
    pub fn end(mut self, why: EndReason) -> Ended<S> {
        let limit = match why {
            EndReason::Stopped => self.settings.stop_limit,
            EndReason::StopLimit | EndReason::Forced | EndReason::Failed(_) => RealSpan::ZERO,
        };
        let left = self.service.jobs.stop_workers(&self.clock, limit);
        log::info!("the loop ended: {why:?}; {left} workers left behind");
        Ended {
            state: self.service.state,
            why,
        }
    }

    /// The program's state and what the loop offers.
    pub fn service(&mut self) -> &mut Service<S> {
        &mut self.service
    }

    /// A handle to ask for a stop with.
    pub fn stop_signal(&self) -> StopSignal {
        self.service.stop_signal()
    }

    /// A source of this loop's metrics.
    pub fn metrics(&self) -> LoopReader {
        self.reader.clone()
    }

    /// The declared order of the stages, as it was printed at the start.
    pub fn declared(&self) -> String {
        self.stages.declared().to_string()
    }

    /// When the loop wakes next if nothing happens: at once if work was left over, `None` for never.
    pub fn next_wake(&self) -> Option<RealTime> {
        let Some(last_wake) = self.last_wake else {
            return Some(self.service.now);
        };
        if self.stages.work_is_left() {
            return Some(last_wake);
        }
        let of_stages = self.work.iter().filter_map(|work| work.next_wake(&self.service));
        let earliest = of_stages.chain(self.stopping_until).min()?;
        Some(earliest.max(last_wake.saturating_add(self.settings.idle_spacing)))
    }

    /// Runs the stages in their order, all at the instant of the pass; answers when the last one ended.
    fn run_stages(&mut self) -> RealTime {
        let now = self.service.now;
        self.stages.begin_pass(now);
        let mut reading = now;
        for (index, work) in self.work.iter_mut().enumerate() {
            let name = self.stages.name(index);
            let mut turn =
                StageTurn::enter(&mut self.stages, index, &self.clock, reading, &mut self.item_name);
            self.service.guard(name, |service| {
                work.run(service, &mut turn);
                Ok(())
            });
            reading = turn.leave();
            self.service.now = now;
            if self.service.has_failed() {
                break;
            }
        }
        reading
    }

    /// Counts the pass, and logs it if it was long.
    fn report(&mut self, ended_at: RealTime) {
        for work in &self.work {
            work.measure(&self.service, self.meter.meter());
        }
        self.meter
            .meter()
            .set_total(self.faults, self.service.faults.count());
        let report = self.stages.end_pass(ended_at);
        self.meter.count_pass(&report);
        if report.is_long() {
            let names = report.uses().map(|(spec, _)| spec.name);
            let mut depths: Vec<_> = names.zip(self.work.iter().map(|work| work.waiting())).collect();
            depths.push(("jobs", self.service.jobs.in_flight()));
            report.log_if_long(&depths);
        }
    }

    fn sleep(&mut self) {
        let until = self.next_wake();
        let before = self.clock.now();
        let is_idle = until.is_none_or(|until| until > before);
        if is_idle {
            self.meter.count_sleep();
        }
        let woken = self.wait.wait(until);
        // A reading that is not later changes nothing (R-003-4).
        let now = self.clock.now().max(self.service.now);
        if let (true, Woken::Deadline, Some(until)) = (is_idle, woken, until) {
            self.meter.record_lateness(now.since(until));
        }
        self.service.now = now;
        self.last_wake = Some(now);
    }

    fn look_for_stop(&mut self) {
        if self.stopping_until.is_none() && self.service.stop.requested() == StopRequest::Orderly {
            self.stopping_until = Some(self.service.now.saturating_add(self.settings.stop_limit));
            for work in &mut self.work {
                work.close(&mut self.service);
            }
            for job in self.service.jobs.close(self.settings.waiting_jobs_at_stop) {
                self.service.guard(job.name(), |service| job.tell(service));
            }
        }
    }

    fn ended(&self) -> Option<EndReason> {
        if let Some(fault) = self.service.faults.fatal() {
            return Some(EndReason::Failed(fault.clone()));
        }
        if self.service.stop.requested() == StopRequest::Forced {
            return Some(EndReason::Forced);
        }
        let until = self.stopping_until?;
        let is_drained =
            self.work.iter().all(|work| work.waiting() == 0) && self.service.jobs.in_flight() == 0;
        if is_drained {
            return Some(EndReason::Stopped);
        }
        (self.clock.now() >= until).then_some(EndReason::StopLimit)
    }
}

#[cfg(test)]
mod tests;
