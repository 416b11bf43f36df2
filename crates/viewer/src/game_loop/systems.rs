//! The viewer's systems: what each does once a frame, or at a rate of its own.
//!
//! | System | Rate | Does |
//! |---|---|---|
//! | `input` | each frame | what keys and mouse did since the last frame, in its order |
//! | `network` | each frame | time-outs of the connection; what is to be sent |
//! | `interpolation` | each frame | the scene of this instant, the camera, the ground's colours |
//! | `mirror` | each frame | what belongs to that scene: events, refusals, standings |
//! | `hud` | each frame | panels, and the commands typed into them |
//! | `graphics` | each frame | the lists to draw, the picture; what only the screen can do |
//! | `statistics` | once a second | rates of frames and systems |
//!
//! The scene comes first: a new match drops the events and scores of the last one, and its own come with its first scene.
//! The first frame updates nothing: both begin with the second. A system that fails is
//! called again after a while that doubles with each failure; the user sees the first.
//!
//! *Each frame* is a negative rate: uncapped, called in every pass. All rates can be changed while it runs; `hud` at
//! 10 is a good saving on a slow machine.

use trantor_time::{Due, Pace, Pacer, Pacing, Rate, RealSpan, RealTime};

use super::figures;
use super::{Screen, Viewer};
use crate::input::{Action, Input};
use crate::intent::Intent;
use crate::state::hud::FrameFigures;

/// What a system does in a frame, given the time since its last call and the instant of the frame.
pub(super) type Run<S> = fn(&mut Viewer<S>, RealSpan, RealTime) -> anyhow::Result<()>;

/// The list, in the order in which a frame calls them.
pub(super) fn list<S: Screen>() -> [(&'static str, Pace, Run<S>); 7] {
    let each_second = Pace::At(Rate::per_second(1.0).expect("one a second is a rate"));
    [
        ("input", Pace::Uncapped, input),
        ("network", Pace::Uncapped, network),
        ("interpolation", Pace::Uncapped, interpolation),
        ("mirror", Pace::Uncapped, mirror),
        ("hud", Pace::Uncapped, hud),
        ("graphics", Pace::Uncapped, graphics),
        ("statistics", each_second, statistics),
    ]
}

fn input<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    let Viewer {
        state,
        pointer,
        inputs,
        ..
    } = viewer;
    while let Some(input) = inputs.take() {
        state.rig.director.note_input();
        match input {
            Input::Key {
                name,
                is_down,
                is_repeat,
                is_typing,
            } => {
                let Some(action) = state.keys.bindings.action_of(&name) else {
                    continue;
                };
                // While a field is edited, keys are letters, except for those that cannot be any.
                if is_down && is_typing && !is_no_letter(&name) {
                    continue;
                }
                state.keys.hold(action, is_down);
                if is_down && (!is_repeat || action.repeats()) {
                    state.act(action, now);
                }
            }
            Input::Act(action) => state.act(action, now),
            other => {
                if other == Input::FocusLost {
                    state.keys.release_all();
                }
                pointer.handle(other, state);
            }
        }
    }
    Ok(())
}

/// Whether a key of that name does the same while a field is edited.
fn is_no_letter(name: &str) -> bool {
    let number = name.strip_prefix('f').filter(|number| !number.is_empty());
    name == "escape" || number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

fn network<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    viewer.state.source().tend(now);
    Ok(())
}

fn mirror<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    if !viewer.is_first_frame {
        viewer.state.follow_world();
    }
    viewer.state.hud().follow_notice(now);
    Ok(())
}

fn interpolation<S: Screen>(viewer: &mut Viewer<S>, elapsed: RealSpan, now: RealTime) -> anyhow::Result<()> {
    let (pixels, pixels_per_point) = viewer.screen.size();
    let points = egui::vec2(pixels.0 as f32, pixels.1 as f32) / pixels_per_point;
    viewer.state.resize(pixels, points);
    if !viewer.is_first_frame {
        viewer.state.interpolate(elapsed, now);
    }
    Ok(())
}

fn hud<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    // Closed, it costs this question.
    if viewer.state.hud().panels.debug {
        figures::collect(viewer, now);
    }
    viewer.state.hud().frames = FrameFigures {
        per_second: viewer.rates.frames(),
        target: viewer.pacer.budget.rate().as_per_second(),
    };
    viewer.screen.lay_out(&mut viewer.state, &viewer.figures, now);
    while let Some(line) = viewer.state.hud().console.take_entered() {
        let answer = viewer.run_command(&line, now);
        viewer.state.hud().console.answer(&line, answer);
    }
    Ok(())
}

fn graphics<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    let Viewer {
        state,
        screen,
        is_over,
        drawn: frames_drawn,
        ..
    } = viewer;
    let drawn = screen.draw(state, now);
    while let Some(request) = state.poll_host_request() {
        let said = match request {
            Intent::Do(Action::Quit) => {
                *is_over = true;
                None
            }
            other => screen.host_request(other, state, now),
        };
        if let Some(said) = said {
            state.notice(said);
        }
    }
    *frames_drawn += u64::from(drawn?);
    Ok(())
}

fn statistics<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    figures::count_rates(viewer, now);
    figures::report(viewer);
    Ok(())
}

/// How long a system that failed is not called: long enough that one that fails in each call costs a few calls a second
/// at the beginning, short enough that what a single failure leaves out is not missed. Each failure in a row doubles it.
const RETRY_AFTER: RealSpan = RealSpan::from_millis(100);
/// The longest that it is not called: a picture comes back while its user still waits for it, and a day's log has less
/// than ten thousand lines of a system that keeps failing.
const RETRY_AFTER_MAX: RealSpan = RealSpan::from_secs(10);
/// A failure this long after the last one begins a new row. Longer than any wait, so that a system that fails in every
/// other call waits as long as one that fails in each.
const SOUND_AFTER: RealSpan = RealSpan::from_secs(20);

/// The systems in the order in which a frame calls them.
///
/// When a system is due is the arithmetic of [`Pacer`].
#[derive(Debug)]
pub struct Schedule {
    systems: Vec<System>,
    failures: u64,
    last_failure: Option<String>,
}

/// One system: its rate, and what was counted of it.
#[derive(Debug)]
pub struct System {
    pub name: &'static str,
    pub pacer: Pacer,
    time: RealSpan,
    failing: Option<Failing>,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    failures: u32,
    last: RealTime,
    until: RealTime,
}

impl Schedule {
    /// Systems that are all due at once, in this order.
    pub fn new(systems: impl IntoIterator<Item = (&'static str, Pace)>) -> Self {
        let systems = systems.into_iter().map(|(name, pace)| System {
            name,
            pacer: Pacer::new(pace, Pacing::Spacing),
            time: RealSpan::ZERO,
            failing: None,
        });
        Self {
            systems: systems.collect(),
            failures: 0,
            last_failure: None,
        }
    }

    pub fn systems(&self) -> &[System] {
        &self.systems
    }

    pub fn system_mut(&mut self, name: &str) -> Option<&mut System> {
        self.systems.iter_mut().find(|system| system.name == name)
    }

    /// How many calls failed, and what the last one said.
    pub fn failures(&self) -> (u64, Option<&str>) {
        (self.failures, self.last_failure.as_deref())
    }

    /// If system `index` is due at `now`: the time since its last call, zero for the first.
    pub fn begin_call(&mut self, index: usize, now: RealTime) -> Option<RealSpan> {
        let system = &mut self.systems[index];
        if system.failing.is_some_and(|failing| now < failing.until) {
            return None;
        }
        if system
            .failing
            .is_some_and(|failing| now.since(failing.last) >= SOUND_AFTER)
        {
            system.failing = None;
        }
        system.pacer.call(now)
    }

    /// The call at `now` took so long. Answers a message for the user if it failed and is the first of a row.
    pub fn end_call(
        &mut self,
        index: usize,
        now: RealTime,
        took: RealSpan,
        outcome: Result<(), String>,
    ) -> Option<String> {
        let system = &mut self.systems[index];
        system.time += took;
        if system.pacer.finish(took) {
            log::debug!("{} overran: {:.1} ms", system.name, took.as_millis_f64());
        }
        let message = outcome.err()?;
        let before = system.failing.map_or(0, |failing| failing.failures);
        // Beyond that many doublings the longest wait is reached.
        let doublings = before.min(RETRY_AFTER_MAX.as_nanos().ilog2());
        let wait = RealSpan::from_nanos(RETRY_AFTER.as_nanos().saturating_mul(1 << doublings));
        system.failing = Some(Failing {
            failures: before.saturating_add(1),
            last: now,
            until: now + wait.min(RETRY_AFTER_MAX),
        });
        let failure = format!("{} failed: {message}", system.name);
        log::error!("{failure}");
        self.failures += 1;
        self.last_failure = Some(failure);
        (before == 0).then(|| format!("{} failed, and is tried again: {message}", system.name))
    }
}

impl System {
    /// How often it is to be called; `None` if it is off.
    pub fn pace(&self) -> Option<Pace> {
        (self.pacer.due() != Due::Never).then(|| self.pacer.pace())
    }

    /// Failures in a row; 0 for a system without one.
    pub fn failures(&self) -> u32 {
        self.failing.map_or(0, |failing| failing.failures)
    }

    pub fn mean_time(&self) -> RealSpan {
        RealSpan::from_nanos(self.time.as_nanos() / (self.pacer.calls().max(1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    /// Calls the only system at `now`, with that outcome; answers its failures in a row.
    fn call(schedule: &mut Schedule, now: RealTime, outcome: Result<(), String>) -> u32 {
        assert!(schedule.begin_call(0, now).is_some(), "due at {now:?}");
        schedule.end_call(0, now, RealSpan::ZERO, outcome);
        schedule.systems[0].failures()
    }

    #[test]
    fn a_system_that_has_not_failed_for_long_begins_anew_with_a_short_wait() {
        let mut schedule = Schedule::new([("shaky", Pace::Uncapped)]);
        let broken = || Err("no".to_owned());
        assert_eq!(call(&mut schedule, at(0), broken()), 1);
        assert_eq!(call(&mut schedule, at(100), broken()), 2);
        assert_eq!(
            call(&mut schedule, at(400), Ok(())),
            2,
            "one good call is not enough"
        );
        assert_eq!(call(&mut schedule, at(20_100), Ok(())), 0);
        assert_eq!(call(&mut schedule, at(30_000), broken()), 1);
    }
}
