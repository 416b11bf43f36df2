//! Settings of a service loop, and the declaration of its stages.

use trantor_time::timers::Timers;
use trantor_time::wheel::{WHEEL_RESOLUTION, WHEEL_SLOTS};
use trantor_time::{Clock, RealSpan, TimerWheel};

use crate::fault::{FaultPolicy, Faults};
use crate::inbox::Inbox;
use crate::jobs::{JOBS_WAITING_MAX, Jobs, WaitingJobs, workers_default};
use crate::life::{LoopHome, StopSignal};
use crate::metrics::MeterBuilder;
use crate::posts::{POSTS_MAX, Posts};
use crate::stages::{Budget, LONG_PASS, StageSpec};
use crate::wait::{Wait, Waker};

use super::Service;
use super::handlers::{Handlers, Inbound, Message};
use super::service_loop::{Declared, ServiceLoop};
use super::stage::{DueTimers, FnStage, PostedActions, Stage, StageTurn};

/// Longest time a stage may take of one pass, unless it is cut by its count before.
pub const STAGE_TIME: RealSpan = RealSpan::from_millis(5);

/// The usual budget of inbound messages: enough to keep up with a thousand sessions at a few hundred passes a second.
pub const INBOUND: Budget = Budget::new(128, STAGE_TIME);
/// The usual budget of posted actions.
pub const POSTED: Budget = Budget::new(100, STAGE_TIME);
/// The usual budget of timers.
pub const TIMERS: Budget = Budget::new(256, STAGE_TIME);
/// The usual budget of outbound messages: what a pass queued should leave with it.
pub const OUTBOUND: Budget = Budget::new(1_024, STAGE_TIME);

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
    /// The step of the timers: none runs early, and none later than the end of the step that its deadline lies in, so
    /// that all of a step share one wake-up. A nanosecond makes them exact.
    pub timer_resolution: RealSpan,
    /// The least time between two wake-ups that only a deadline causes; 0 for exact ones, 1 ms is traditional.
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
            timer_resolution: WHEEL_RESOLUTION,
            idle_spacing: RealSpan::ZERO,
            long_pass: LONG_PASS,
            on_fault: FaultPolicy::Contain,
            waiting_jobs_at_stop: WaitingJobs::Run,
            stop_limit: RealSpan::from_secs(10),
        }
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
    ///
    /// # Panics
    /// If the resolution of timers is not positive.
    pub fn new(name: &'static str, settings: ServiceSettings, state: S, clock: C, wait: W) -> Self {
        let posts = Posts::new(settings.posts_max, wait.waker());
        let wheel = TimerWheel::with_size(settings.timer_resolution, WHEEL_SLOTS);
        let service = Service {
            state,
            now: clock.now(),
            timers: Timers::with_capacity(wheel, settings.timers_max),
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
            declare: MeterBuilder::of_loop(name),
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

    /// Where to declare metrics of the program's own; their names, like the loop's, will begin with the loop's name.
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

    /// The loop, ready to run; its stages are printed in their order.
    ///
    /// # Panics
    /// If there is no stage for posts or none for timers: what callbacks ask for would never come.
    pub fn build(self) -> ServiceLoop<S, C, W> {
        assert!(self.posts.is_none(), "a service loop needs a stage for posts");
        assert!(self.has_timers, "a service loop needs a stage for timers");
        let declared = Declared {
            name: self.name,
            specs: self.specs,
            work: self.stages,
            metrics: self.declare,
        };
        ServiceLoop::new(self.settings, declared, self.service, self.clock, self.wait)
    }
}
