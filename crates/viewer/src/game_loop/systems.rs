//! The viewer's systems: what each does once a frame, or at a rate of its own.
//!
//! | System | Rate | Does |
//! |---|---|---|
//! | `input` | each frame | what keys and mouse did since the last frame, in its order |
//! | `network` | each frame | time-outs of the connection; what is to be sent |
//! | `interpolation` | each frame | the scene of this instant, the camera, the ground's colours |
//! | `mirror` | each frame | what belongs to that scene: events, refusals, standings |
//! | `hud` | each frame | panels, and the commands typed into them |
//! | `sound` | each frame | what begins to be heard with this scene |
//! | `graphics` | each frame | the lists to draw, the picture; what only the screen can do |
//! | `statistics` | once a second | rates of frames and systems |
//!
//! The scene comes first: a new match drops the events and scores of the last one, and its own come with its first scene.
//! The first frame updates nothing: both begin with the second. A system that fails is
//! called again after a while that doubles with each failure; the user sees the first.
//!
//! *Each frame* is a negative rate: uncapped, called in every pass. All rates can be changed while it runs; `hud` at
//! 10 is a good saving on a slow machine.

use trantor_time::{Pace, Rate, RealSpan, RealTime};

use super::figures;
use super::{Screen, Viewer};
use crate::input::{Action, Input};
use crate::intent::Intent;
use crate::state::hud::FrameFigures;

/// What a system does in a frame, given the time since its last call and the instant of the frame.
pub(super) type Run<S> = fn(&mut Viewer<S>, RealSpan, RealTime) -> anyhow::Result<()>;

/// The list, in the order in which a frame calls them.
pub(super) fn list<S: Screen>() -> [(&'static str, Pace, Run<S>); 8] {
    let each_second = Pace::At(Rate::per_second(1.0).expect("one a second is a rate"));
    [
        ("input", Pace::Uncapped, input),
        ("network", Pace::Uncapped, network),
        ("interpolation", Pace::Uncapped, interpolation),
        ("mirror", Pace::Uncapped, mirror),
        ("hud", Pace::Uncapped, hud),
        ("sound", Pace::Uncapped, sound),
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
        state.director.note_input();
        match input {
            Input::Key {
                name,
                is_down,
                is_repeat,
                is_typing,
            } => {
                let Some(action) = state.bindings().action_of(&name) else {
                    continue;
                };
                // While a field is edited, keys are letters, except for those that cannot be any.
                if is_down && is_typing && !is_no_letter(&name) {
                    continue;
                }
                state.hold(action, is_down);
                if is_down && (!is_repeat || action.repeats()) {
                    state.act(action, now);
                }
            }
            Input::Act(action) => state.act(action, now),
            other => {
                if other == Input::FocusLost {
                    state.release_all();
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
    viewer.state.frames = FrameFigures {
        per_second: viewer.rates.frames(),
        target: viewer.pacer.budget.rate().as_per_second(),
    };
    viewer.state.volume = viewer.sound.volume();
    viewer.screen.lay_out(&mut viewer.state, &viewer.figures, now);
    while let Some(line) = viewer.state.hud().console.take_entered() {
        let answer = viewer.run_command(&line, now);
        viewer.state.hud().console.answer(&line, answer);
    }
    Ok(())
}

fn sound<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    let Viewer { state, sound, .. } = viewer;
    if let Some(listener) = state.listener() {
        sound.play(state.scene(), &listener, now);
    }
    Ok(())
}

fn graphics<S: Screen>(viewer: &mut Viewer<S>, _: RealSpan, now: RealTime) -> anyhow::Result<()> {
    let Viewer {
        state,
        screen,
        sound,
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
            Intent::Sound(change) => Some(sound.change(change, &mut state.settings)),
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
