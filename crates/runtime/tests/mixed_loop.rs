//! Ticks, systems, frames, repeating and one-shot timers in one loop: one core of deadlines, each with its own kind of
//! step and its own way of being late.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use trantor_runtime::frames::FramePacer;
use trantor_runtime::inbox::{Inbox, Priority};
use trantor_runtime::service::{
    Handlers, INBOUND, Message, POSTED, Service, ServiceBuilder, ServiceLoop, ServiceSettings, Stage,
    StageTurn, TIMERS,
};
use trantor_runtime::stages::Budget;
use trantor_runtime::systems::{SystemSpec, Systems};
use trantor_runtime::{Faults, ManualWait};
use trantor_time::{Clock, ManualClock, Rate, RealSpan, RealTime, TickClock};

/// What happened: who, and at which logical time in milliseconds.
type Log = Vec<(&'static str, i64)>;
type Mixed = ServiceLoop<Log, ManualClock, ManualWait>;

/// Fixed steps on a grid; missed instants are skipped.
struct Ticks(TickClock<RealTime>);

impl Stage<Log> for Ticks {
    fn run(&mut self, service: &mut Service<Log>, turn: &mut StageTurn<'_>) {
        if self.0.next_instant() <= service.now() && turn.admits() {
            let tick = self.0.start(service.now()).unwrap();
            service.state.push(("tick", millis(tick.instant)));
            self.0.end(turn.measured_now());
        }
    }

    fn next_wake(&self, _service: &Service<Log>) -> Option<RealTime> {
        Some(self.0.next_instant())
    }
}

/// Steps of the time that passed; late calls move those that follow.
struct World(Systems<Log>);

impl Stage<Log> for World {
    fn run(&mut self, service: &mut Service<Log>, turn: &mut StageTurn<'_>) {
        let (now, mut faults) = (service.now(), Faults::default());
        if self.next_wake(service).is_some_and(|due| due <= now) && turn.admits() {
            self.0
                .run_due(&mut service.state, now, &mut || turn.measured_now(), &mut faults);
        }
    }

    fn next_wake(&self, service: &Service<Log>) -> Option<RealTime> {
        self.0.next_due(service.now())
    }
}

/// Frames by the frame rule.
struct Picture(FramePacer);

impl Stage<Log> for Picture {
    fn run(&mut self, service: &mut Service<Log>, turn: &mut StageTurn<'_>) {
        if self.0.frame_due_when_quiet(service.now()) && turn.admits() {
            let frame = self.0.begin_frame(service.now());
            service.state.push(("frame", millis(frame.start)));
            self.0.end_frame(turn.measured_now());
        }
    }

    fn next_wake(&self, service: &Service<Log>) -> Option<RealTime> {
        Some(self.0.next_wake(service.now()))
    }
}

struct Hello;

impl Message for Hello {
    fn kind(&self) -> &'static str {
        "hello"
    }
}

fn mixed() -> (Mixed, ManualClock, ManualWait) {
    let clock = ManualClock::default();
    let wait = ManualWait::new(&clock);
    let mut builder = ServiceBuilder::new(
        "mixed",
        ServiceSettings {
            timer_resolution: RealSpan::from_nanos(1),
            ..ServiceSettings::default()
        },
        Log::new(),
        clock.clone(),
        wait.clone(),
    );
    let noted = |name: &'static str| {
        move |service: &mut Service<Log>| {
            let now = millis(service.now());
            service.state.push((name, now));
            Ok(())
        }
    };
    builder
        .service()
        .every("repeating", RealSpan::from_millis(30), noted("repeating"))
        .unwrap();
    builder
        .service()
        .once("one-shot", RealSpan::from_millis(75), noted("one-shot"))
        .unwrap();
    let inbox = Inbox::new(8, builder.waker());
    let sender = inbox.sender();
    wait.at(at(60), move |_| {
        sender
            .put(Priority::Network, Hello)
            .unwrap_or_else(|_| panic!("there is room"));
        None
    });
    let handlers = Handlers::new().on("hello", "greeter", |service: &mut Service<Log>, _: &Hello| {
        let now = millis(service.now());
        service.state.push(("event", now));
        Ok(())
    });
    let systems =
        Systems::new(clock.now()).add(SystemSpec::at("world", 25.0).unwrap(), |log: &mut Log, call| {
            log.push(("world", millis(call.now)));
            Ok(())
        });
    let a_loop = builder
        .inbound(INBOUND, inbox, handlers)
        .posts(POSTED)
        .timers(TIMERS)
        .stage(
            "ticks",
            Budget::UNLIMITED,
            Ticks(TickClock::new(at(0), RealSpan::from_millis(50))),
        )
        .stage("systems", Budget::UNLIMITED, World(systems))
        .stage(
            "frames",
            Budget::UNLIMITED,
            Picture(FramePacer::new(Rate::per_second(12.5).unwrap(), at(0))),
        )
        .build();
    (a_loop, clock, wait)
}

fn at(millis: i64) -> RealTime {
    RealTime::ZERO + RealSpan::from_millis(millis)
}

fn millis(instant: RealTime) -> i64 {
    instant.as_nanos() / 1_000_000
}

/// The instants at which one of them ran.
fn instants(log: &Log, of: &str) -> Vec<i64> {
    log.iter()
        .filter(|(who, _)| *who == of)
        .map(|&(_, instant)| instant)
        .collect()
}

#[test]
fn any_mix_of_subscribers_runs_in_one_loop_each_at_its_deadlines() {
    let (mut a_loop, clock, wait) = mixed();
    while clock.now() < at(200) {
        assert_eq!(a_loop.pass(), None);
    }
    let log = a_loop.service().state.clone();
    assert_eq!(instants(&log, "tick"), [0, 50, 100, 150, 200]);
    assert_eq!(instants(&log, "world"), [0, 40, 80, 120, 160, 200]);
    assert_eq!(instants(&log, "frame"), [0, 80, 160]);
    assert_eq!(instants(&log, "repeating"), [30, 60, 90, 120, 150, 180]);
    assert_eq!(instants(&log, "one-shot"), [75]);
    assert_eq!(instants(&log, "event"), [60]);
    // One wake-up for each distinct instant, and the first pass, which does not sleep.
    let mut distinct: Vec<_> = log
        .iter()
        .map(|&(_, instant)| instant)
        .filter(|&instant| instant > 0)
        .collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(wait.counts().slept, distinct.len() as u64);
}

#[test]
fn each_subscriber_is_late_in_its_own_way() {
    let (mut a_loop, clock, _) = mixed();
    a_loop.pass();
    // A stall of a quarter of a second: a suspended machine looks the same.
    clock.advance(RealSpan::from_millis(250));
    while clock.now() < at(400) {
        assert_eq!(a_loop.pass(), None);
    }
    let log = a_loop.service().state.clone();
    assert_eq!(
        instants(&log, "tick"),
        [0, 250, 300, 350, 400],
        "skip to the grid"
    );
    assert_eq!(instants(&log, "world"), [0, 250, 290, 330, 370], "re-space");
    assert_eq!(
        instants(&log, "repeating"),
        [30, 270, 300, 330, 360, 390],
        "coalesce, and keep the phase"
    );
    assert_eq!(instants(&log, "one-shot"), [75], "once, told its own deadline");
    assert_eq!(
        instants(&log, "frame"),
        [0, 250, 330],
        "one frame, and no burst after it"
    );
}

#[test]
fn between_ticks_events_are_handled_as_they_come_and_else_the_loop_sleeps() {
    let (mut a_loop, clock, wait) = mixed();
    while clock.now() < at(100) {
        a_loop.pass();
    }
    let log = a_loop.service().state.clone();
    let around: Vec<_> = log
        .iter()
        .filter(|(who, _)| ["tick", "event"].contains(who))
        .collect();
    assert_eq!(
        around,
        [&("tick", 0), &("tick", 50), &("event", 60), &("tick", 100)]
    );
    assert_eq!(wait.counts().passed, 1, "it never spun");
}

#[test]
fn a_tick_sees_its_scheduled_instant_however_late_it_runs() {
    let (mut a_loop, clock, wait) = mixed();
    a_loop.pass();
    clock.advance(RealSpan::from_millis(263));
    wait.set_oversleep(RealSpan::from_millis(3));
    while clock.now() < at(400) {
        a_loop.pass();
    }
    assert_eq!(instants(&a_loop.service().state, "tick"), [0, 250, 300, 350, 400]);
}

#[test]
fn ticks_are_numbered_without_gaps_and_skips_counted_apart() {
    let mut clock = TickClock::new(at(0), RealSpan::from_millis(50));
    let mut numbers = Vec::new();
    for millis in [0, 50, 260, 300, 1_000] {
        let tick = clock.start(at(millis)).unwrap();
        numbers.push((tick.number, tick.skipped_before));
        clock.end(at(millis));
    }
    assert_eq!(numbers, [(0, 0), (1, 0), (2, 3), (3, 0), (4, 13)]);
    assert_eq!((clock.ticks_run(), clock.instants_skipped()), (5, 16));
}
