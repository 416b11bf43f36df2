//! The service loop on a manual clock: nothing here sleeps.

mod jobs_and_ends;
mod outbound;
mod passes;
mod sources;
mod timers;

use std::cell::RefCell;
use std::rc::Rc;

use trantor_time::{Clock, LatePolicy, ManualClock};

use super::*;
use crate::fault::FaultPolicy;
use crate::inbox::Inbox;
use crate::inbox::{Priority, Sender};
use crate::metrics::Value;
use crate::metrics::collector::Source;
use crate::stages::{Budget, LONG_PASS, StageSpec, Stages};
use crate::wait::{ManualWait, Wait};

/// What happened, in order, shared between a loop and its test.
type Log = Rc<RefCell<Vec<String>>>;

#[derive(Debug)]
struct Text(&'static str, &'static str);

impl Message for Text {
    fn kind(&self) -> &'static str {
        self.0
    }
}

/// A loop with the four usual stages, its clock, its wait, and a sender of messages to it.
struct Rig {
    a_loop: ServiceLoop<Log, ManualClock, ManualWait>,
    clock: ManualClock,
    wait: ManualWait,
    sender: Sender<Text>,
    log: Log,
}

fn rig_with(settings: ServiceSettings, handlers: Handlers<Log, Text>) -> Rig {
    let clock = ManualClock::default();
    let wait = ManualWait::new(&clock);
    let log = Log::default();
    let builder = ServiceBuilder::new(
        "test",
        exact(settings),
        Rc::clone(&log),
        clock.clone(),
        wait.clone(),
    );
    let inbox = Inbox::new(8, builder.waker());
    let sender = inbox.sender();
    let a_loop = builder
        .inbound(INBOUND, inbox, handlers)
        .posts(POSTED)
        .timers(TIMERS)
        .stage_fn("flush", OUTBOUND, |service, _| note(service, "flush"))
        .build();
    Rig {
        a_loop,
        clock,
        wait,
        sender,
        log,
    }
}

/// Timers that run at their deadlines, which most tests count on.
fn exact(settings: ServiceSettings) -> ServiceSettings {
    ServiceSettings {
        timer_resolution: RealSpan::from_nanos(1),
        ..settings
    }
}

fn rig() -> Rig {
    let handlers = Handlers::new().on("text", "reader", |service, text: &Text| {
        note(service, text.1);
        Ok(())
    });
    rig_with(
        ServiceSettings {
            workers: 1,
            ..ServiceSettings::default()
        },
        handlers,
    )
}

fn note(service: &mut Service<Log>, what: &str) {
    service.state.borrow_mut().push(what.to_owned());
}

impl Rig {
    fn passes(&mut self, count: usize) {
        for _ in 0..count {
            assert_eq!(self.a_loop.pass(), None);
        }
    }

    /// What was logged since the last call, flushes left out.
    fn noted(&self) -> Vec<String> {
        let mut log = self.log.take();
        log.retain(|line| line != "flush");
        log
    }

    fn count(&self, name: &str) -> u64 {
        let mut samples = Vec::new();
        self.a_loop
            .metrics()
            .collect(self.clock.now(), &mut samples)
            .unwrap();
        match samples
            .iter()
            .find(|sample| sample.name == format!("test.{name}"))
            .map(|sample| sample.value)
        {
            Some(Value::Counter(count)) => count,
            other => panic!("{name} is {other:?}"),
        }
    }
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn at(millis: i64) -> RealTime {
    RealTime::ZERO + ms(millis)
}
