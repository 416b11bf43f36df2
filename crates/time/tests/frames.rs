//! The frame rule under the four kinds of stress, exactly, on a manual clock.

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

/// A loop with a pretend renderer; what it did is kept.
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
fn nothing_stressed() {
    let viewer = Viewer::new(60.0, micros(2_000), Events::Every(micros(37_000))).run_for(MINUTE);
    assert!(
        (viewer.frames_per_second() - 60.0).abs() < 0.02,
        "{}",
        viewer.frames_per_second()
    );
    assert!(
        viewer.event_delay_max <= micros(2_000),
        "an event waits for one frame at most"
    );
    assert!(
        viewer.asleep.as_secs_f64() / 60.0 > 0.85,
        "the rest of the time it sleeps"
    );
}

#[test]
fn only_rendering_stressed() {
    let viewer = Viewer::new(60.0, micros(30_000), Events::Every(micros(100_000))).run_for(MINUTE);
    assert!(
        viewer.frames_per_second() >= 33.0,
        "{}",
        viewer.frames_per_second()
    );
    let silent = Viewer::new(60.0, micros(30_000), Events::None).run_for(MINUTE);
    assert!(
        (silent.frames_per_second() - 100.0 / 3.0).abs() < 0.02,
        "nobody to yield to"
    );
}

#[test]
fn only_events_stressed() {
    let viewer = Viewer::new(60.0, micros(2_000), Events::Endless).run_for(MINUTE);
    assert!(
        (viewer.frames_per_second() - 60.0).abs() < 0.02,
        "{}",
        viewer.frames_per_second()
    );
    assert!(viewer.event_share() >= 0.85, "{}", viewer.event_share());
}

#[test]
fn both_stressed() {
    let viewer = Viewer::new(60.0, micros(30_000), Events::Endless).run_for(MINUTE);
    assert!(
        (viewer.frames_per_second() - 22.2).abs() <= 0.1,
        "{}",
        viewer.frames_per_second()
    );
    assert!(
        (viewer.event_share() - 1.0 / 3.0).abs() <= 0.01,
        "{}",
        viewer.event_share()
    );
}

#[test]
fn neither_side_falls_below_a_third_when_both_are_saturated() {
    for draw_us in [20_000, 30_000, 50_000, 111_000] {
        let viewer = Viewer::new(60.0, micros(draw_us), Events::Endless).run_for(MINUTE);
        // The minute may end between a frame and its events, so one cycle of hundreds may be cut short.
        assert!(
            (0.332..0.345).contains(&viewer.event_share()),
            "{draw_us}: {}",
            viewer.event_share()
        );
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
fn the_first_frame_has_no_update_and_the_second_counts_from_it() {
    let at = RealTime::from_nanos;
    let mut budget = FrameBudget::new(hertz(50.0));
    assert_eq!(budget.turn(at(123), false), Turn::Frame);
    assert_eq!(budget.start_frame(at(123)).elapsed, None);
    budget.end_frame(at(1_000));
    let second = budget.start_frame(at(20_000_123));
    assert_eq!(
        (second.number, second.elapsed),
        (1, Some(RealSpan::from_nanos(20_000_000)))
    );
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
fn left_over_work_is_flushed_every_tenth_of_an_interval() {
    let mut budget = FrameBudget::new(hertz(100.0));
    let flushes = (1..=10_000).filter(|step| budget.flush_due(RealTime::ZERO + micros(step * 10)));
    assert_eq!(
        flushes.count(),
        100,
        "ten frames of ten milliseconds, ten times each"
    );
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
