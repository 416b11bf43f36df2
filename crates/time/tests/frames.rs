//! The frame rule under the kinds of stress, on a manual clock.

use trantor_time::frame_budget::target_rate;
use trantor_time::{Clock, FrameBudget, ManualClock, Rate, RealSpan, RealTime, Turn};

fn micros(micros: i64) -> RealSpan {
    RealSpan::from_micros(micros)
}

fn hertz(rate: f64) -> Rate {
    Rate::per_second(rate).expect("a good rate")
}

/// A loop with a renderer that only takes time; keeps what the loop did.
struct Viewer {
    clock: ManualClock,
    budget: FrameBudget,
    draw: RealSpan,
    /// Between two events: none at all, or a queue that is never empty.
    events_every: Option<RealSpan>,
    next_event: RealTime,
    /// How late each sleep ends.
    wake_lateness: RealSpan,
    frames: Vec<RealTime>,
    in_events: RealSpan,
    event_delay_max: RealSpan,
}

impl Viewer {
    fn new(draw: RealSpan, events_every: Option<RealSpan>) -> Self {
        Self {
            clock: ManualClock::default(),
            budget: FrameBudget::new(hertz(60.0)),
            draw,
            events_every,
            next_event: events_every.map_or(RealTime::MAX, |_| RealTime::ZERO),
            wake_lateness: RealSpan::ZERO,
            frames: Vec::new(),
            in_events: RealSpan::ZERO,
            event_delay_max: RealSpan::ZERO,
        }
    }

    fn run_for(mut self, span: RealSpan) -> Self {
        let end = self.clock.now() + span;
        while self.clock.now() < end {
            let now = self.clock.now();
            match self.budget.turn(now, self.next_event <= now) {
                Turn::Frame => {
                    self.budget.start_frame(now);
                    self.frames.push(now);
                    self.clock.advance(self.draw);
                    self.budget.end_frame(self.clock.now());
                }
                Turn::Events { until } => {
                    assert!(until > now);
                    self.event_delay_max = self.event_delay_max.max(now.since(self.next_event));
                    self.next_event += self.events_every.expect("there is one");
                    self.clock.advance(micros(100));
                    self.in_events += micros(100);
                }
                Turn::Sleep { until } => {
                    assert!(until > now, "a sleep has a length");
                    self.clock.advance_to(until.min(self.next_event));
                    self.clock.advance(self.wake_lateness);
                }
            }
        }
        self
    }
}

const MINUTE: RealSpan = RealSpan::from_secs(60);

#[test]
fn frames_and_events_get_their_shares_under_every_kind_of_stress() {
    let endless = Some(0);
    // The minute may end between a frame and its events, so one cycle of hundreds may be cut short.
    let third = 0.332..0.345;
    for (case, draw_us, events_every_us, frames_per_second, event_share) in [
        ("none", 2_000, Some(37_000), 59.98..60.02, 0.0..0.01),
        ("rendering", 30_000, Some(100_000), 33.0..33.4, 0.0..0.01),
        ("rendering, no events", 30_000, None, 33.3..33.4, 0.0..0.01),
        ("events", 2_000, endless, 59.98..60.02, 0.85..1.0),
        ("both", 20_000, endless, 33.1..33.5, third.clone()),
        ("both", 30_000, endless, 22.1..22.3, third.clone()),
        ("both", 111_000, endless, 5.9..6.1, third),
    ] {
        let viewer = Viewer::new(micros(draw_us), events_every_us.map(micros)).run_for(MINUTE);
        let secs = viewer.clock.now().since(RealTime::ZERO).as_secs_f64();
        let frames = viewer.frames.len() as f64 / secs;
        let share = viewer.in_events.as_secs_f64() / secs;
        let is_as_expected = frames_per_second.contains(&frames) && event_share.contains(&share);
        assert!(
            is_as_expected,
            "{case}: {frames} frames a second, {share} of the time for events"
        );
        let waits_for_one_frame = viewer.event_delay_max <= micros(2_000);
        assert!(
            case != "none" || waits_for_one_frame,
            "{:?}",
            viewer.event_delay_max
        );
    }
}

#[test]
fn late_starts_do_not_add_up() {
    let mut viewer = Viewer::new(micros(2_000), None);
    viewer.wake_lateness = micros(900);
    let viewer = viewer.run_for(MINUTE);
    let frames = viewer.frames.len();
    assert!((3_582..=3_601).contains(&frames), "{frames} frames");
}

#[test]
fn the_target_is_the_highest_refresh_rate_of_at_least_sixty() {
    let of_a_driver = [f64::NAN, f64::INFINITY, -5.0];
    for (rates, target) in [
        (&[59.94, 144.0, 75.0][..], 144.0),
        (&[30.0, 50.0], 60.0),
        (&[], 60.0),
        (&of_a_driver, 60.0),
    ] {
        assert_eq!(target_rate(rates.iter().copied()), hertz(target), "{rates:?}");
    }
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
    let mut viewer = Viewer::new(micros(1_000), None);
    viewer = viewer.run_for(RealSpan::from_secs(1));
    viewer.clock.advance(RealSpan::from_secs(3600));
    let resumed = viewer.clock.now();
    viewer = viewer.run_for(RealSpan::from_secs(1));
    let is_after = |frame: &&RealTime| **frame >= resumed;
    let after: Vec<_> = viewer.frames.iter().filter(is_after).collect();
    assert_eq!(after.len(), 60, "in the second after the stall");
    assert!(after.windows(2).all(|pair| *pair[1] - *pair[0] >= micros(16_666)));
}

/// Until then the count of frames keeps to its grid.
#[test]
fn a_frame_that_is_late_by_an_interval_begins_a_new_count() {
    for (late_us, next_us) in [(19_999, 40_000), (20_000, 60_000)] {
        let start = RealTime::from_nanos(1_000_000_000);
        let mut budget = FrameBudget::new(hertz(50.0));
        for at in [start, start + micros(20_000 + late_us)] {
            budget.start_frame(at);
            budget.end_frame(at);
        }
        assert_eq!(budget.frames(), 2);
        let until = start + micros(next_us);
        assert_eq!(budget.turn(start, false), Turn::Sleep { until }, "{late_us}");
    }
}
