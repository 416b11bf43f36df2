//! The declared list of the viewer's systems: what each does once a frame, or as often as its rate says.
//!
//! | System | Rate | Does |
//! |---|---|---|
//! | `input` | each frame | what keys and mouse did since the last frame, in its order |
//! | `network` | each frame | time-outs of the connection; what is to be sent |
//! | `mirror` | each frame | what the server told: events, refusals, standings |
//! | `interpolation` | each frame | the scene of this instant, the camera, the ground's colours |
//! | `hud` | each frame | panels, and the commands typed into them |
//! | `sound` | each frame | what begins to be heard with this scene |
//! | `graphics` | each frame | the lists to draw, the picture; what only the screen can do |
//! | `statistics` | once a second | published values |
//!
//! The first frame updates nothing: mirror and interpolation begin with the second. A system that fails is
//! called again after a while that doubles with each failure; the user is told of the first.
//!
//! *Each frame* is a negative rate: uncapped, called in every pass. All rates can be changed while it runs; `hud` at
//! 10 is a good saving on a slow machine.

use trantor_runtime::fault::CallbackResult;
use trantor_runtime::listeners::{TimerManager, TimerServer};
use trantor_runtime::systems::{SystemCall, SystemSpec, Systems};
use trantor_time::{Pace, RealSpan, RealTime};

use super::commands::{self, Levers};
use super::figures;
use super::{Listener, Screen, Viewer};
use crate::input::Input;
use crate::stage::Outside;

/// How long a message stays.
const NOTICE_FOR: RealSpan = RealSpan::from_secs(5);

/// The list, in the order in which a frame calls them; then the timers of `timers` that are due.
pub fn declare<S: Screen + 'static>(now: RealTime, timers: &TimerServer<Listener>) -> Systems<Viewer<S>> {
    let each_frame = |name| SystemSpec::new(name, Pace::Uncapped);
    let mut manager = TimerManager::new();
    manager.register(timers);
    Systems::new(now)
        .add(each_frame("input"), input)
        .add(each_frame("network"), network)
        .add(each_frame("mirror"), mirror)
        .add(each_frame("interpolation"), interpolation)
        .add(each_frame("hud"), hud)
        .add(each_frame("sound"), sound)
        .add(each_frame("graphics"), graphics)
        .add(SystemSpec::standard("statistics"), statistics)
        .fire_requested(manager, tell)
}

fn input<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    let Viewer {
        stage,
        pointer,
        inputs,
        ..
    } = viewer;
    while let Some(input) = inputs.take() {
        match input {
            Input::Key {
                name,
                is_down,
                is_repeat,
                is_typing,
            } => {
                let Some(action) = stage.bindings().action_of(&name) else {
                    continue;
                };
                // While somebody types, keys are letters, except for those that cannot be any.
                if is_down && is_typing && !is_no_letter(&name) {
                    continue;
                }
                stage.hold(action, is_down);
                if is_down && (!is_repeat || action.repeats()) {
                    stage.act(action, call.now);
                }
            }
            Input::Act(action) => stage.act(action, call.now),
            Input::Moved { to, is_over_panel } => pointer.moved(to, is_over_panel, stage),
            Input::Left => stage.hover(None),
            Input::Button {
                button,
                state,
                is_over_panel,
            } => pointer.button(button, state, is_over_panel, stage),
            Input::Wheel(delta) => pointer.wheel(delta, stage),
            Input::Pinch(delta) => pointer.pinch(delta, stage),
            Input::Rotate(degrees) => pointer.rotate(degrees, stage),
            Input::FocusLost => {
                stage.release_all();
                pointer.let_go();
            }
        }
    }
    Ok(())
}

/// Whether a key of that name does the same while somebody types.
fn is_no_letter(name: &str) -> bool {
    let number = name.strip_prefix('f').filter(|number| !number.is_empty());
    name == "escape" || number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

fn network<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    viewer.stage.source().tend(call.now);
    Ok(())
}

fn mirror<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    if !viewer.is_first_frame {
        viewer.stage.follow_world();
    }
    if viewer.stage.take_new_notice() {
        // The one before is gone, and so is its timer.
        viewer.timers.forget(|listener| *listener == Listener::Notice);
        viewer.timers.request(Listener::Notice, NOTICE_FOR, call.now)?;
    }
    Ok(())
}

fn interpolation<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    let (pixels, pixels_per_point) = viewer.screen.size();
    let points = egui::vec2(pixels.0 as f32, pixels.1 as f32) / pixels_per_point;
    viewer.stage.resize(pixels, points);
    if !viewer.is_first_frame {
        viewer.stage.interpolate(call.elapsed, call.now);
    }
    Ok(())
}

fn hud<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    // Closed, it costs this question.
    if viewer.stage.hud().panels.debug {
        figures::collect(viewer, call);
    }
    viewer
        .stage
        .set_frame_figures(viewer.frame_times.summary(&viewer.pacer, &viewer.published));
    viewer.stage.set_volume(viewer.sound.volume());
    viewer
        .screen
        .lay_out(&mut viewer.stage, &viewer.figures, call.now);
    while let Some(line) = viewer.stage.hud().console.take_entered() {
        let answer = commands::run(&line, &mut Levers::of(viewer, call));
        viewer.stage.hud().console.answer(&line, answer);
    }
    Ok(())
}

fn sound<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    let Viewer { stage, sound, .. } = viewer;
    if let Some(ear) = stage.ear() {
        sound.play(stage.scene(), &ear, call.now);
    }
    Ok(())
}

fn graphics<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    let Viewer {
        stage,
        screen,
        sound,
        settings,
        ..
    } = viewer;
    let drawn = screen.draw(stage, call.now);
    while let Some(outside) = stage.poll_outside() {
        let said = match outside {
            Outside::Quit => {
                call.control.request_shutdown();
                None
            }
            Outside::Sound(change) => Some(sound.change(change, settings)),
            other => screen.outside(other, stage, call.now),
        };
        if let Some(said) = said {
            stage.notice(said);
        }
    }
    if drawn? {
        call.control.count_frame(call.now);
    }
    Ok(())
}

fn statistics<S: Screen>(viewer: &mut Viewer<S>, call: &mut SystemCall<'_>) -> CallbackResult {
    call.control.publish(&mut viewer.published, call.now);
    figures::publish(viewer, call.now);
    figures::report(viewer);
    // Completion knows what there is, a second late at most.
    let vocabulary = Levers::of(viewer, call).vocabulary();
    viewer.stage.hud().console.set_vocabulary(vocabulary);
    Ok(())
}

fn tell<S: Screen>(
    viewer: &mut Viewer<S>,
    _: trantor_runtime::listeners::TimerNumber,
    listener: Listener,
) -> CallbackResult {
    match listener {
        Listener::Notice => viewer.stage.hud().forget_notice(),
        Listener::Reminder(text) => viewer.stage.notice(text),
    }
    Ok(())
}
