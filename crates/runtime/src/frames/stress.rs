//! The frame rule under the four kinds of stress, with pretend work instead of pictures.
//!
//! Nothing stressed, rendering, events, or both: what comes out shows whether the rule is kept. [`Stress::run_manual`]
//! gives the exact figures in no time; [`Stress::run_real`] those of this machine.

use hdrhistogram::Histogram;
use trantor_time::{Clock, ManualClock, Rate, RealSpan, RealTime};

use crate::fault::CallbackResult;
use crate::inbox::{Priority, PutError, Sender};
use crate::real_clock::{RealClock, processor_time_for_measurement};
use crate::threads;
use crate::wait::{ManualWait, Parker, Wait};

use super::{Frame, FrameLoop, Screen, UpdateStep};

/// One kind of stress.
#[derive(Clone, Copy, Debug)]
pub struct Stress {
    /// What is stressed.
    pub name: &'static str,
    /// What rendering takes.
    pub frame_cost: RealSpan,
    /// How events come.
    pub events: Events,
    /// What is required of the outcome.
    pub required: Required,
}

/// How events come; handling one takes [`EVENT_COST`].
#[derive(Clone, Copy, Debug)]
pub enum Events {
    /// One by one, at this interval.
    Every(RealSpan),
    /// There is always one waiting.
    Endless,
}

/// What handling an event takes.
pub const EVENT_COST: RealSpan = RealSpan::from_micros(100);

/// The frequency aimed at.
pub const TARGET_PER_SECOND: f64 = 60.0;

/// Bounds of an outcome; those that are not bounded are unlimited.
#[derive(Clone, Copy, Debug)]
pub struct Required {
    /// Frames a second, at least and at most.
    pub frames_per_second: (f64, f64),
    /// The part of the time that events get, at least and at most.
    pub event_share: (f64, f64),
    /// The part of one processor that is used, at most.
    pub processor_share_max: f64,
    /// How long 99 of 100 events wait until they are handled, at most.
    pub event_delay_p99_max: RealSpan,
}

const ANY: (f64, f64) = (0.0, f64::INFINITY);

/// The four kinds, with what each must reach.
pub const STRESSES: [Stress; 4] = [
    Stress {
        name: "nothing",
        frame_cost: RealSpan::from_millis(2),
        events: Events::Every(RealSpan::from_millis(7)),
        required: Required {
            frames_per_second: (59.4, 60.6),
            event_share: ANY,
            processor_share_max: 0.15,
            event_delay_p99_max: RealSpan::from_millis(3),
        },
    },
    Stress {
        name: "rendering",
        frame_cost: RealSpan::from_millis(30),
        events: Events::Every(RealSpan::from_millis(100)),
        required: Required {
            frames_per_second: (33.0, 33.4),
            event_share: ANY,
            processor_share_max: f64::INFINITY,
            event_delay_p99_max: RealSpan::MAX,
        },
    },
    Stress {
        name: "events",
        frame_cost: RealSpan::from_millis(2),
        events: Events::Endless,
        required: Required {
            frames_per_second: (59.4, 60.6),
            event_share: (0.85, 1.0),
            processor_share_max: f64::INFINITY,
            event_delay_p99_max: RealSpan::MAX,
        },
    },
    Stress {
        name: "both",
        frame_cost: RealSpan::from_millis(30),
        events: Events::Endless,
        required: Required {
            frames_per_second: (21.7, 22.7),
            event_share: (0.31, 0.35),
            processor_share_max: f64::INFINITY,
            event_delay_p99_max: RealSpan::MAX,
        },
    },
];

/// What came out.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Frames a second, over the whole run.
    pub frames_per_second: f64,
    /// The part of the time that events got.
    pub event_share: f64,
    /// The part of one processor that was used; on a manual clock, the part of the time that was not slept.
    pub processor_share: f64,
    /// How long 99 of 100 events waited until they were handled.
    pub event_delay_p99: RealSpan,
}

impl Required {
    /// Whether `outcome` is within all bounds.
    pub fn is_met_by(&self, outcome: &Outcome) -> bool {
        let within = |value: f64, (least, most): (f64, f64)| value >= least && value <= most;
        within(outcome.frames_per_second, self.frames_per_second)
            && within(outcome.event_share, self.event_share)
            && outcome.processor_share <= self.processor_share_max
            && outcome.event_delay_p99 <= self.event_delay_p99_max
    }
}

/// The head of a table of [`Stress::row`]s; in brackets is what is required.
pub const TABLE_HEAD: &str = "\
| stressed | frames/s | events' share | processor | event delay p99 | |
|---|---|---|---|---|---|";

impl Stress {
    /// A line of a table: what came out beside what is required, and whether it is met.
    pub fn row(&self, outcome: &Outcome) -> String {
        let bounds = |(least, most): (f64, f64)| match most.is_finite() {
            true => format!(" [{least:.2} to {most:.2}]"),
            false => String::new(),
        };
        let at_most = |most: f64, unit: &str| match most < 1e6 {
            true => format!(" [{most:.0}{unit}]"),
            false => String::new(),
        };
        let required = &self.required;
        format!(
            "| {} | {:.2}{} | {:.3}{} | {:.1} %{} | {:.2} ms{} | {} |",
            self.name,
            outcome.frames_per_second,
            bounds(required.frames_per_second),
            outcome.event_share,
            bounds(required.event_share),
            outcome.processor_share * 100.0,
            at_most(required.processor_share_max * 100.0, " %"),
            outcome.event_delay_p99.as_millis_f64(),
            at_most(required.event_delay_p99_max.as_millis_f64(), " ms"),
            if required.is_met_by(outcome) {
                "met"
            } else {
                "MISSED"
            },
        )
    }

    /// Runs for `length` on a manual clock; each sleep ends `oversleep` late, as real ones do.
    pub fn run_manual(&self, length: RealSpan, oversleep: RealSpan) -> Outcome {
        let clock = ManualClock::default();
        let wait = ManualWait::new(&clock);
        wait.set_oversleep(oversleep);
        let mut frame_loop = self.frame_loop(clock.clone(), wait.clone(), Spend::Manual(clock.clone()));
        let sender = frame_loop.sender();
        match self.events {
            Events::Endless => put(&sender, clock.now()),
            Events::Every(interval) => wait.at(RealTime::ZERO + interval, move |at| {
                put(&sender, at);
                Some(at + interval)
            }),
        }
        while clock.now() < RealTime::ZERO + length {
            frame_loop.pass();
        }
        let stats = frame_loop.pacer().stats();
        let busy = stats.time_in_frames() + stats.time_in_events();
        self.outcome(&mut frame_loop, clock.now() - RealTime::ZERO, busy)
    }

    /// Runs for `length` on the machine's clock; the pretend work keeps a processor busy.
    ///
    /// # Errors
    /// If there is no thread for the source of events.
    pub fn run_real(&self, length: RealSpan) -> std::io::Result<Outcome> {
        let clock = RealClock::new();
        let mut frame_loop = self.frame_loop(clock, Parker::new(), Spend::Real(clock));
        let sender = frame_loop.sender();
        let source = match self.events {
            Events::Endless => {
                put(&sender, clock.now());
                None
            }
            Events::Every(interval) => Some(threads::spawn("event source", move || {
                let mut parker = Parker::new();
                let mut next = clock.now();
                // It ends when the inbox does.
                while !matches!(
                    sender.put(Priority::Network, clock.now()),
                    Err(PutError::Closed(_))
                ) {
                    next += interval;
                    parker.wait(Some(next));
                }
            })?),
        };
        let (start, used_before) = (clock.now(), processor_time_for_measurement());
        while clock.now() < start + length {
            frame_loop.pass();
        }
        let (ran, used_after) = (clock.now() - start, processor_time_for_measurement());
        let used = used_before
            .zip(used_after)
            .map_or(RealSpan::ZERO, |(before, after)| after - before);
        let outcome = self.outcome(&mut frame_loop, ran, used);
        drop(frame_loop);
        drop(source);
        Ok(outcome)
    }

    fn frame_loop<C: Clock, W: Wait>(&self, clock: C, wait: W, spend: Spend) -> FrameLoop<Pretend, C, W> {
        let screen = Pretend {
            stress: *self,
            spend,
            again: None,
            delays_us: new_delays(),
        };
        let target = Rate::per_second(TARGET_PER_SECOND).expect("sixty is a rate");
        // Room for one more than ever wait at a time: an endless source puts the next when one is handled.
        let mut frame_loop = FrameLoop::new(screen, target, 64, clock, wait);
        if let Events::Endless = self.events {
            frame_loop.screen().again = Some(frame_loop.sender());
        }
        frame_loop
    }

    fn outcome<C: Clock, W: Wait>(
        &self,
        frame_loop: &mut FrameLoop<Pretend, C, W>,
        ran: RealSpan,
        used: RealSpan,
    ) -> Outcome {
        let p99_us = frame_loop.screen().delays_us.value_at_quantile(0.99);
        let pacer = frame_loop.pacer();
        let frames = pacer.frames();
        Outcome {
            frames_per_second: frames as f64 / ran.as_secs_f64(),
            event_share: pacer.stats().time_in_events().as_secs_f64() / ran.as_secs_f64(),
            processor_share: used.as_secs_f64() / ran.as_secs_f64(),
            event_delay_p99: RealSpan::from_micros(p99_us as i64),
        }
    }
}

/// A screen whose work is to take time.
struct Pretend {
    stress: Stress,
    spend: Spend,
    /// Set if each event is followed by another.
    again: Option<Sender<RealTime>>,
    delays_us: Histogram<u64>,
}

impl Screen for Pretend {
    /// When it was put.
    type Event = RealTime;

    fn update(&mut self, _step: UpdateStep) -> CallbackResult {
        Ok(())
    }

    fn render(&mut self, _frame: &Frame) {
        self.spend.spend(self.stress.frame_cost);
    }

    fn handle(&mut self, put_at: RealTime) {
        let delay_us = self.spend.now().since(put_at).as_nanos() as u64 / 1_000;
        self.delays_us.saturating_record(delay_us);
        self.spend.spend(EVENT_COST);
        if let Some(sender) = &self.again {
            put(sender, self.spend.now());
        }
    }

    fn close(&mut self, _message: &str) -> bool {
        false
    }
}

fn put(sender: &Sender<RealTime>, at: RealTime) {
    // A source that finds no room has been heard already: what counts is that there is always an event waiting.
    sender.put(Priority::Network, at).ok();
}

fn new_delays() -> Histogram<u64> {
    /// Ten seconds: beyond that an event was not delayed but lost.
    const DELAY_US_MAX: u64 = 10_000_000;
    Histogram::new_with_bounds(1, DELAY_US_MAX, 3)
        .expect("the bounds are constants that hdrhistogram accepts")
}

/// Takes time the way its clock has it.
enum Spend {
    Manual(ManualClock),
    Real(RealClock),
}

impl Spend {
    fn now(&self) -> RealTime {
        match self {
            Self::Manual(clock) => clock.now(),
            Self::Real(clock) => clock.now(),
        }
    }

    fn spend(&self, span: RealSpan) {
        match self {
            Self::Manual(clock) => clock.advance(span),
            Self::Real(clock) => {
                let until = clock.now() + span;
                while clock.now() < until {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: RealSpan = RealSpan::from_secs(60);

    fn run(index: usize) -> Outcome {
        let stress = &STRESSES[index];
        let outcome = stress.run_manual(MINUTE, RealSpan::ZERO);
        assert!(
            stress.required.is_met_by(&outcome),
            "{}: {outcome:?}",
            stress.name
        );
        outcome
    }

    #[test]
    fn nothing_stressed() {
        let outcome = run(0);
        assert!((outcome.frames_per_second - 60.0).abs() < 0.05, "{outcome:?}");
    }

    #[test]
    fn only_rendering_stressed() {
        let outcome = run(1);
        assert!(outcome.frames_per_second > 33.2, "{outcome:?}");
    }

    #[test]
    fn only_events_stressed() {
        let outcome = run(2);
        assert!((outcome.frames_per_second - 60.0).abs() < 0.1, "{outcome:?}");
        assert!((outcome.event_share - 0.88).abs() < 0.01, "{outcome:?}");
    }

    #[test]
    fn both_stressed() {
        let outcome = run(3);
        assert!((outcome.frames_per_second - 22.22).abs() < 0.1, "{outcome:?}");
        assert!((outcome.event_share - 0.333).abs() < 0.003, "{outcome:?}");
    }

    #[test]
    fn late_starts_do_not_add_up() {
        let quiet = Stress {
            events: Events::Every(MINUTE),
            ..STRESSES[0]
        };
        let outcome = quiet.run_manual(MINUTE, RealSpan::from_micros(400));
        assert!(outcome.frames_per_second >= 0.995 * 60.0, "{outcome:?}");
    }

    #[test]
    fn the_loop_runs_without_a_display_by_pretend_work_of_given_cost() {
        let costly = Stress {
            frame_cost: RealSpan::from_millis(50),
            ..STRESSES[1]
        };
        let outcome = costly.run_manual(MINUTE, RealSpan::ZERO);
        assert!((outcome.frames_per_second - 20.0).abs() < 0.1, "{outcome:?}");
        assert!(!costly.required.is_met_by(&outcome), "the bounds mean something");
    }
}
