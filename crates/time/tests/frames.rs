//! The frame rule under the kinds of stress, on a manual clock.

use trantor_time::frame_budget::target_rate;
use trantor_time::{Clock, FrameBudget, ManualClock, Rate, RealSpan, RealTime, Turn};

fn micros(micros: i64) -> RealSpan {
    RealSpan::from_micros(micros)
}

fn hertz(rate: f64) -> Rate {
    Rate::per_second(rate).expect("a good rate")
}

/// Where events come from.
#[derive(Clone, Copy)]
enum Events {
    None,
    /// One every so often.
    Every(RealSpan),
    /// The queue is never empty.
    Endless,
}

/// A loop with a renderer that only takes time; keeps what the loop did.
struct Viewer {
    clock: ManualClock,
    budget: FrameBudget,
    draw: RealSpan,
    events: Events,
    event_cost: RealSpan,
    /// How late each sleep ends.
    wake_lateness: RealSpan,
    arrivals: RealTime,
    frames: Vec<RealTime>,
    in_events: RealSpan,
    asleep: RealSpan,
    event_delay_max: RealSpan,
}

impl Viewer {
    fn new(rate: f64, draw: RealSpan, events: Events) -> Self {
        Self {
            clock: ManualClock::default(),
            budget: FrameBudget::new(hertz(rate)),
            draw,
            events,
            event_cost: micros(100),
            wake_lateness: RealSpan::ZERO,
            arrivals: RealTime::ZERO,
            frames: Vec::new(),
            in_events: RealSpan::ZERO,
            asleep: RealSpan::ZERO,
            event_delay_max: RealSpan::ZERO,
        }
    }

    fn run_for(mut self, span: RealSpan) -> Self {
        let end = self.clock.now() + span;
        while self.clock.now() < end {
            let now = self.clock.now();
            match self.budget.turn(now, self.is_event_waiting(now)) {
                Turn::Frame => {
                    self.budget.start_frame(now);
                    self.frames.push(now);
                    self.clock.advance(self.draw);
                    self.budget.end_frame(self.clock.now());
                }
                Turn::Events { until } => {
                    assert!(until > now);
                    self.handle_event(now);
                }
                Turn::Sleep { until } => {
                    assert!(until > now, "a sleep has a length");
                    let event = match self.events {
                        Events::Every(_) => self.arrivals,
                        Events::None | Events::Endless => RealTime::MAX,
                    };
                    self.clock.advance_to(until.min(event));
                    self.clock.advance(self.wake_lateness);
                    self.asleep += self.clock.now().since(now);
                }
            }
        }
        self
    }

    fn is_event_waiting(&self, now: RealTime) -> bool {
        match self.events {
            Events::None => false,
            Events::Every(_) => self.arrivals <= now,
            Events::Endless => true,
        }
    }

    fn handle_event(&mut self, now: RealTime) {
        if let Events::Every(spacing) = self.events {
            self.event_delay_max = self.event_delay_max.max(now.since(self.arrivals));
            self.arrivals += spacing;
        }
        self.clock.advance(self.event_cost);
        self.in_events += self.event_cost;
    }

    fn frames_per_second(&self) -> f64 {
        self.frames.len() as f64 / self.clock.now().since(RealTime::ZERO).as_secs_f64()
    }

    fn event_share(&self) -> f64 {
        self.in_events.as_secs_f64() / self.clock.now().since(RealTime::ZERO).as_secs_f64()
    }
}

const MINUTE: RealSpan = RealSpan::from_secs(60);

#[test]
fn frames_and_events_get_their_shares_under_every_kind_of_stress() {
    let every = |micros_between| Events::Every(micros(micros_between));
    // The minute may end between a frame and its events, so one cycle of hundreds may be cut short.
    let third = 0.332..0.345;
    for (case, draw_us, events, frames_per_second, event_share) in [
        ("none", 2_000, every(37_000), 59.98..60.02, 0.0..0.01),
        ("rendering", 30_000, every(100_000), 33.0..33.4, 0.0..0.01),
        (
            "rendering, no events",
            30_000,
            Events::None,
            33.3..33.4,
            0.0..0.01,
        ),
        ("events", 2_000, Events::Endless, 59.98..60.02, 0.85..1.0),
        ("both", 20_000, Events::Endless, 33.1..33.5, third.clone()),
        ("both", 30_000, Events::Endless, 22.1..22.3, third.clone()),
        ("both", 111_000, Events::Endless, 5.9..6.1, third),
    ] {
        let viewer = Viewer::new(60.0, micros(draw_us), events).run_for(MINUTE);
        let (frames, share) = (viewer.frames_per_second(), viewer.event_share());
        assert!(
            frames_per_second.contains(&frames),
            "{case}: {frames} frames a second"
        );
        assert!(
            event_share.contains(&share),
            "{case}: {share} of the time for events"
        );
        if case == "none" {
            assert!(
                viewer.event_delay_max <= micros(2_000),
                "an event waits for one frame at most"
            );
            assert!(
                viewer.asleep.as_secs_f64() / 60.0 > 0.85,
                "the rest of the time it sleeps"
            );
        }
    }
}

#[test]
fn late_starts_do_not_add_up() {
    let mut viewer = Viewer::new(60.0, micros(2_000), Events::None);
    viewer.wake_lateness = micros(900);
    let viewer = viewer.run_for(MINUTE);
    assert!(
        viewer.frames.len() as f64 >= 0.995 * 3600.0,
        "{} frames",
        viewer.frames.len()
    );
    assert!(viewer.frames.len() <= 3601, "and none too many");
}

#[test]
fn the_target_is_the_highest_refresh_rate_of_at_least_sixty() {
    assert_eq!(target_rate([59.94, 144.0, 75.0]), hertz(144.0));
    assert_eq!(target_rate([30.0, 50.0]), hertz(60.0));
    assert_eq!(target_rate([]), hertz(60.0));
    assert_eq!(
        target_rate([f64::NAN, f64::INFINITY, -5.0]),
        hertz(60.0),
        "what a driver may say"
    );
}

#[test]
fn a_change_of_display_changes_the_target_at_once() {
    let mut budget = FrameBudget::new(hertz(60.0));
    let start = RealTime::from_nanos(1_000_000_000);
    budget.start_frame(start);
    budget.end_frame(start);
    budget.set_rate(hertz(100.0));
    assert_eq!(
        budget.turn(start, false),
        Turn::Sleep {
            until: start + micros(10_000)
        }
    );
}

#[test]
fn the_clock_decides_and_not_the_cause_of_the_wake_up() {
    let start = RealTime::ZERO;
    let mut budget = FrameBudget::new(hertz(50.0));
    budget.start_frame(start);
    budget.end_frame(start + micros(1_000));
    // An event that the platform would not queue took 30 ms; more are waiting. The frame comes first.
    let now = start + micros(31_000);
    assert_eq!(budget.turn(now, true), Turn::Frame);
    assert_eq!(budget.turn(now, false), Turn::Frame);
    // Asking a thousand times in between changes nothing.
    let until = start + micros(20_000);
    for step in 1..1_000 {
        let now = start + micros(1_000 + step * 19);
        assert_eq!(budget.turn(now, true), Turn::Events { until });
        assert_eq!(budget.turn(now, false), Turn::Sleep { until });
    }
}

#[test]
fn a_stall_is_not_made_up_for_by_a_burst() {
    let mut viewer = Viewer::new(60.0, micros(1_000), Events::None);
    viewer = viewer.run_for(RealSpan::from_secs(1));
    viewer.clock.advance(RealSpan::from_secs(3600));
    let resumed = viewer.clock.now();
    viewer = viewer.run_for(RealSpan::from_secs(1));
    let after: Vec<_> = viewer
        .frames
        .into_iter()
        .filter(|&frame| frame >= resumed)
        .collect();
    assert_eq!(after.len(), 60, "in the second after the stall");
    assert!(
        after.windows(2).all(|pair| pair[1] - pair[0] >= micros(16_666)),
        "no two on each other's heels"
    );
}
