//! What a stage of a service loop is, and the two that every loop has: posted actions and due timers.

use trantor_time::{Clock, RealSpan, RealTime};

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

    /// Items accepted and not yet done, as far as the stage knows; an orderly stop waits until there are none.
    fn waiting(&self) -> usize {
        0
    }
}

/// One stage's turn in one pass: says how long it may go on, and times its items.
pub struct StageTurn<'a> {
    stages: &'a mut Stages,
    turn: Turn,
    clock: &'a dyn Clock,
    item_start: Option<RealTime>,
    item_name: &'a mut String,
}

impl<'a> StageTurn<'a> {
    pub(super) fn enter(
        stages: &'a mut Stages,
        stage: usize,
        clock: &'a dyn Clock,
        item_name: &'a mut String,
    ) -> Self {
        let turn = stages.enter(stage, clock.now());
        Self {
            stages,
            turn,
            clock,
            item_start: None,
            item_name,
        }
    }

    /// Whether one more item may be done. The first always may.
    ///
    /// Ask only with an item at hand: a refusal means that work is left over, and the next pass will not wait.
    pub fn admits(&mut self) -> bool {
        let now = self.clock.now();
        self.end_item(now);
        let admitted = self.turn.admits(now);
        if admitted {
            self.item_start = Some(now);
        }
        admitted
    }

    /// Names the item that was admitted last, so that it is logged by name if it takes long (R-003-9).
    pub fn name_item(&mut self, name: &str) {
        self.item_name.clear();
        self.item_name.push_str(name);
    }

    /// How long the item that was admitted last has taken so far.
    pub fn item_took(&self) -> RealSpan {
        self.item_start
            .map_or(RealSpan::ZERO, |start| self.clock.now().since(start))
    }

    /// The clock as it shows now: for measuring, never for deciding what is due (R-X-7).
    pub fn measured_now(&self) -> RealTime {
        self.clock.now()
    }

    /// Items admitted so far.
    pub fn items(&self) -> u32 {
        self.turn.items()
    }

    pub(super) fn leave(mut self) {
        let now = self.clock.now();
        self.end_item(now);
        self.stages.leave(self.turn, now);
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
pub(super) struct PostedActions<S: 'static>(pub(super) Posts<Service<S>>);

impl<S> Stage<S> for PostedActions<S> {
    fn run(&mut self, service: &mut Service<S>, turn: &mut StageTurn<'_>) {
        while !self.0.is_empty() && turn.admits() {
            let Some(post) = self.0.take() else { return };
            turn.name_item(post.name);
            if !service.guard(post.name, |service| post.run(service)) && service.has_failed() {
                return;
            }
        }
    }

    fn close(&mut self, _service: &mut Service<S>) {
        self.0.close();
    }

    fn waiting(&self) -> usize {
        self.0.len()
    }
}

/// Runs timers that are due, and fails jobs that are over their time limit.
pub(super) struct DueTimers;

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
            // Inside a callback the time is its own deadline, so that delays it asks for do not drift (R-X-6).
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
}
