//! The pass of a service loop: sleep, stages, report, and the end.

use trantor_time::{Clock, RealSpan, RealTime};

use crate::fault::Fault;
use crate::life::{StopRequest, StopSignal};
use crate::metrics::loop_meter::{LoopMeter, LoopReader};
use crate::metrics::{Counter, MeterBuilder};
use crate::stages::{StageSpec, Stages};
use crate::wait::{Wait, Woken};

use super::Service;
use super::builder::ServiceSettings;
use super::stage::{Stage, StageTurn};

/// A service loop: run it on the calling thread, or give it a thread with [`crate::life::LoopThread`].
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
    /// `None` before the first pass, which does not wait: it sets the baseline.
    last_wake: Option<RealTime>,
    /// Set while stopping: when patience ends.
    stopping_until: Option<RealTime>,
    /// Reused by every stage for the name of its present item.
    item_name: String,
}

/// What a builder was told of a loop's stages.
pub(super) struct Declared<S: 'static> {
    pub(super) name: &'static str,
    pub(super) specs: Vec<StageSpec>,
    pub(super) work: Vec<Box<dyn Stage<S>>>,
    pub(super) metrics: MeterBuilder,
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
    pub(super) fn new(
        settings: ServiceSettings,
        declared: Declared<S>,
        service: Service<S>,
        clock: C,
        wait: W,
    ) -> Self {
        let Declared {
            name,
            specs,
            work,
            mut metrics,
        } = declared;
        let faults = metrics.counter("loop.faults_count");
        let (meter, reader) = LoopMeter::build(metrics, specs.iter().copied(), clock.now());
        Self {
            stages: Stages::declare(name, specs, settings.long_pass),
            settings,
            service,
            work,
            meter,
            reader,
            faults,
            clock,
            wait,
            last_wake: None,
            stopping_until: None,
            item_name: String::new(),
        }
    }

    /// Starts the worker threads for jobs, which measure with `clock`. Without them, call [`crate::jobs::Jobs::work_here`].
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

    /// Runs the stages in their order, at the instant of the pass or of the latest arrival in it; answers when the last one
    /// ended.
    fn run_stages(&mut self) -> RealTime {
        let mut now = self.service.now;
        self.stages.begin_pass(now);
        let mut reading = now;
        for (index, work) in self.work.iter_mut().enumerate() {
            let name = self.stages.name(index);
            let mut turn =
                StageTurn::enter(&mut self.stages, index, &self.clock, reading, &mut self.item_name);
            self.service.guard(name, |service| {
                work.run(service, &mut turn);
                Ok::<_, String>(())
            });
            let (left_at, arrived_at) = turn.leave();
            reading = left_at;
            now = now.max(arrived_at.unwrap_or(now));
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
        // A reading that is not later changes nothing.
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
