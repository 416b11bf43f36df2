//! What a stage of a service loop is, and the two that every loop has: posted actions and due timers.

use trantor_time::{Clock, RealSpan, RealTime};

use crate::metrics::{Counter, Gauge, Meter, MeterBuilder};
use crate::posts::Posts;
use crate::stages::{SLOW_ITEM, Stages, Turn};

use super::Service;

/// One stage of a service loop.
///
/// It does its work item by item, each admitted by the turn; so no stage can hold the loop, and none is starved.
pub trait Stage<S: 'static> {
    /// Does what there is to do, as far as `turn` admits. Never blocks.
    fn run(&mut self, service: &mut Service<S>, turn: &mut StageTurn<'_>);

    /// When this stage next has something to do, if nobody wakes the loop before; `None` for never.
    fn next_wake(&self, service: &Service<S>) -> Option<RealTime> {
        let _ = service;
        None
    }

    /// The loop is asked to stop: accept nothing new.
    fn close(&mut self, service: &mut Service<S>) {
        let _ = service;
    }

    /// Declares what this stage tells readers of the loop's metrics.
    fn declare(&mut self, metrics: &mut MeterBuilder) {
        let _ = metrics;
    }

    /// Sets what was declared; called at the end of each pass, so it must cost next to nothing.
    fn measure(&self, service: &Service<S>, meter: &mut Meter) {
        let _ = (service, meter);
    }

    /// Items accepted and not yet done, as far as the stage knows; an orderly stop waits until there are none.
    fn waiting(&self) -> usize {
        0
    }
}

/// Items that are timed together by [`StageTurn::admits_short`].
pub const SHORT_ITEMS: u32 = 8;

/// One stage's turn in one pass: says how long it may go on, and times its items.
pub struct StageTurn<'a> {
    stages: &'a mut Stages,
    turn: Turn,
    clock: &'a dyn Clock,
    /// When something last came in, if anything did; see [`Self::arrival`].
    arrived_at: Option<RealTime>,
    /// The latest reading of the clock.
    read_at: RealTime,
    item_start: Option<RealTime>,
    item_name: &'a mut String,
}

impl<'a> StageTurn<'a> {
    pub(super) fn enter(
        stages: &'a mut Stages,
        stage: usize,
        clock: &'a dyn Clock,
        now: RealTime,
        item_name: &'a mut String,
    ) -> Self {
        let turn = stages.enter(stage, now);
        Self {
            stages,
            turn,
            clock,
            arrived_at: None,
            read_at: now,
            item_start: None,
            item_name,
        }
    }

    /// Whether one more item may be done. The first always may.
    ///
    /// Ask only with an item at hand: a refusal means that work is left over, and the next pass will not wait.
    pub fn admits(&mut self) -> bool {
        self.read_at = self.clock.now();
        self.end_item(self.read_at);
        let admitted = self.turn.admits(self.read_at);
        if admitted {
            self.item_start = Some(self.read_at);
        }
        admitted
    }

    /// As [`Self::admits`], for items of a few microseconds: they are timed [`SHORT_ITEMS`] at a time, since a reading of the
    /// clock for each would be a good part of what they take.
    pub fn admits_short(&mut self) -> bool {
        match self.turn.items().is_multiple_of(SHORT_ITEMS) {
            true => self.admits(),
            false => self.turn.admits(self.read_at),
        }
    }

    /// Names the item that was admitted last, so that it is logged by name if it takes long.
    pub fn name_item(&mut self, name: &str) {
        self.item_name.clear();
        self.item_name.push_str(name);
    }

    /// How long the item that was admitted last has taken so far.
    pub fn item_took(&self) -> RealSpan {
        self.item_start
            .map_or(RealSpan::ZERO, |start| self.clock.now().since(start))
    }

    /// The instant of something that has just come in from outside: the clock, read again. The pass goes on at it, so that
    /// no input is older than the logical time it is handled at.
    pub fn arrival(&mut self) -> RealTime {
        self.read_at = self.clock.now();
        self.arrived_at = Some(self.read_at);
        self.read_at
    }

    /// The clock as it shows now: for measuring, never for deciding what is due.
    pub fn measured_now(&self) -> RealTime {
        self.clock.now()
    }

    /// Items admitted so far.
    pub fn items(&self) -> u32 {
        self.turn.items()
    }

    /// Ends the turn. Answers when, where the next one begins without another reading, and the latest arrival, at which
    /// the pass goes on. A turn without items has taken no time worth a reading.
    pub(super) fn leave(mut self) -> (RealTime, Option<RealTime>) {
        let left_at = match self.turn.items() {
            0 => self.read_at,
            _ => self.clock.now(),
        };
        self.end_item(left_at);
        self.stages.leave(self.turn, left_at);
        (left_at, self.arrived_at)
    }

    fn end_item(&mut self, now: RealTime) {
        if let Some(start) = self.item_start.take() {
            let took = now.since(start);
            if took >= SLOW_ITEM {
                let name = if self.item_name.is_empty() {
                    "an item without a name"
                } else {
                    &*self.item_name
                };
                self.stages.note_item(name, took);
            }
            self.item_name.clear();
        }
    }
}

/// A stage made of a function.
pub(super) struct FnStage<F>(pub(super) F);

impl<S, F> Stage<S> for FnStage<F>
where
    S: 'static,
    F: FnMut(&mut Service<S>, &mut StageTurn<'_>),
{
    fn run(&mut self, service: &mut Service<S>, turn: &mut StageTurn<'_>) {
        (self.0)(service, turn);
    }
}

/// Runs what other threads posted, and the ends of jobs.
pub(super) struct PostedActions<S: 'static> {
    posts: Posts<Service<S>>,
    metrics: Option<PostMetrics>,
}

struct PostMetrics {
    waiting: Gauge,
    run: Counter,
    refused: Counter,
}

impl<S> PostedActions<S> {
    pub(super) fn new(posts: Posts<Service<S>>) -> Self {
        Self { posts, metrics: None }
    }
}

impl<S> Stage<S> for PostedActions<S> {
    fn run(&mut self, service: &mut Service<S>, turn: &mut StageTurn<'_>) {
        while !self.posts.is_empty() && turn.admits() {
            let Some(post) = self.posts.take() else { return };
            turn.name_item(post.name);
            service.now = turn.arrival();
            if !service.guard(post.name, |service| post.run(service)) && service.has_failed() {
                return;
            }
        }
    }

    fn close(&mut self, _service: &mut Service<S>) {
        self.posts.close();
    }

    fn declare(&mut self, metrics: &mut MeterBuilder) {
        self.metrics = Some(PostMetrics {
            waiting: metrics.gauge("posts.waiting_count"),
            run: metrics.counter("posts.run_count"),
            refused: metrics.counter("posts.refused_count"),
        });
    }

    fn measure(&self, _service: &Service<S>, meter: &mut Meter) {
        let Some(metrics) = &self.metrics else { return };
        let stats = self.posts.stats();
        meter.set(metrics.waiting, (stats.posted - stats.run) as f64);
        meter.set_total(metrics.run, stats.run);
        meter.set_total(metrics.refused, stats.refused);
    }

    fn waiting(&self) -> usize {
        self.posts.len()
    }
}

/// Runs timers that are due, and fails jobs that are over their time limit.
#[derive(Default)]
pub(super) struct DueTimers {
    metrics: Option<TimerMetrics>,
}

struct TimerMetrics {
    active: Gauge,
    registered: Counter,
    executed: Counter,
    failed: Counter,
    coalesced: Counter,
    wheel_steps: Counter,
    duration_average: Gauge,
    duration_max: Gauge,
    lateness_max: Gauge,
    jobs: JobMetrics,
}

struct JobMetrics {
    waiting: Gauge,
    running: Gauge,
    oldest_age: Gauge,
    waited_max: Gauge,
    done: Counter,
    failed: Counter,
    dropped: Counter,
    late: Counter,
    refused: Counter,
}

impl<S: 'static> Stage<S> for DueTimers {
    fn run(&mut self, service: &mut Service<S>, turn: &mut StageTurn<'_>) {
        let now = service.now;
        service.timers.begin_pass();
        while service
            .timers
            .next_deadline()
            .is_some_and(|deadline| deadline <= now)
            && turn.admits()
        {
            let Some(mut run) = service.timers.take_due(now) else {
                break;
            };
            turn.name_item(&run.name);
            // Inside a callback the time is its own deadline, so that delays it asks for do not drift.
            service.now = run.instant;
            let passed = service.guard(&run.name, |service| (run.payload)(service));
            service.now = now;
            service.timers.finish(run, turn.item_took(), !passed);
            if !passed && service.has_failed() {
                return;
            }
        }
        while service
            .jobs
            .next_deadline()
            .is_some_and(|deadline| deadline <= now)
            && turn.admits()
        {
            let Some(job) = service.jobs.take_expired(now) else {
                break;
            };
            turn.name_item(job.name());
            service.guard(job.name(), |service| job.tell(service));
        }
    }

    fn next_wake(&self, service: &Service<S>) -> Option<RealTime> {
        service
            .timers
            .next_deadline()
            .into_iter()
            .chain(service.jobs.next_deadline())
            .min()
    }

    fn declare(&mut self, metrics: &mut MeterBuilder) {
        self.metrics = Some(TimerMetrics {
            active: metrics.gauge("timers.active_count"),
            registered: metrics.counter("timers.registered_count"),
            executed: metrics.counter("timers.executed_count"),
            failed: metrics.counter("timers.failed_count"),
            coalesced: metrics.counter("timers.coalesced_count"),
            wheel_steps: metrics.counter("timers.wheel_steps_count"),
            duration_average: metrics.gauge("timers.duration_average_ns"),
            duration_max: metrics.gauge("timers.duration_max_ns"),
            lateness_max: metrics.gauge("timers.lateness_max_ns"),
            jobs: JobMetrics {
                waiting: metrics.gauge("jobs.waiting_count"),
                running: metrics.gauge("jobs.running_count"),
                oldest_age: metrics.gauge("jobs.oldest_age_ns"),
                waited_max: metrics.gauge("jobs.waited_max_ns"),
                done: metrics.counter("jobs.done_count"),
                failed: metrics.counter("jobs.failed_count"),
                dropped: metrics.counter("jobs.dropped_count"),
                late: metrics.counter("jobs.late_count"),
                refused: metrics.counter("jobs.refused_count"),
            },
        });
    }

    fn measure(&self, service: &Service<S>, meter: &mut Meter) {
        let Some(metrics) = &self.metrics else { return };
        let stats = service.timers.stats();
        meter.set(metrics.active, stats.active as f64);
        meter.set_total(metrics.registered, stats.registered);
        meter.set_total(metrics.executed, stats.executed);
        meter.set_total(metrics.failed, stats.failed);
        meter.set_total(metrics.coalesced, stats.coalesced);
        meter.set_total(metrics.wheel_steps, service.timers.store().steps());
        meter.set(metrics.duration_average, stats.duration_ns_recent);
        meter.set(metrics.duration_max, stats.duration_ns_max as f64);
        meter.set(metrics.lateness_max, stats.lateness_nanos_max as f64);

        let (jobs, stats) = (&metrics.jobs, service.jobs.stats());
        meter.set(jobs.waiting, stats.waiting as f64);
        meter.set(jobs.running, stats.running as f64);
        meter.set(
            jobs.oldest_age,
            service.jobs.age_of_oldest(service.now).as_nanos() as f64,
        );
        meter.set(jobs.waited_max, stats.waited_ns_max as f64);
        meter.set_total(jobs.done, stats.done);
        meter.set_total(jobs.failed, stats.failed);
        meter.set_total(jobs.dropped, stats.dropped);
        meter.set_total(jobs.late, stats.late);
        meter.set_total(jobs.refused, stats.refused);
    }
}
