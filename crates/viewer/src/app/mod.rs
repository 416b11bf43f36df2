//! The window: winit's event loop around a [`GameLoop`], and the window as its screen.
//!
//! ```text
//! winit event ──────> queued, its time counted ──────┐
//! nothing left ─────> network, frame if due ─────────┼─> sleep until frame, time-out, wake
//! waker ────────────> handles the network ───────────┘
//! ```

mod canvas;
mod refresh;
mod screen;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::signals;
use trantor_runtime::wait::{WakeGate, Waker};
use trantor_time::{Clock as _, RealSpan};
use winit::application::ApplicationHandler;
use winit::event::{ElementState, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::window::WindowId;

use self::screen::WindowScreen;
use crate::game_loop::{GameLoop, Viewer, Wake};
use crate::input::{Action, HeldBefore, Input, key_name};
use crate::options::Cli;
use crate::state::ViewerState;

#[derive(Clone, Copy, Debug)]
pub struct Woken;

/// Opens a window and shows what `make_state` makes, until the window is closed.
pub fn run(cli: &Cli, make_state: impl FnOnce(Waker) -> anyhow::Result<ViewerState>) -> anyhow::Result<()> {
    let event_loop = EventLoop::<Woken>::with_user_event()
        .build()
        .map_err(|error| {
            log::debug!("no event loop: {error}");
            anyhow::anyhow!(
                "there is no display to open a window on{}; --text draws in this terminal, --screenshot FILE into a file",
                tried()
            )
        })?;
    let proxy = event_loop.create_proxy();
    let gate = WakeGate::new(move || {
        // A loop that has ended need not be woken.
        let _ = proxy.send_event(Woken);
    });
    let state = make_state(gate.waker())?;
    let screen = WindowScreen::new(cli.clone(), &state.settings);
    let game_loop = GameLoop::new(state, screen, RealClock::new());
    // The first signal asks for the end, which saves settings; a second one ends the program at once.
    let is_ending = signals::end_flag(true)?;
    let mut app = App {
        game_loop,
        gate,
        is_ending,
        failure: None,
        held_before: HeldBefore::default(),
    };
    event_loop.run_app(&mut app).context("the window's loop failed")?;
    app.finish()
}

/// The displays that were tried, by their environment variables.
fn tried() -> String {
    let named = ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().filter_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(format!("{name} is {value}"))
    });
    let named: Vec<String> = named.collect();
    match named.is_empty() {
        true => String::new(),
        false => format!(" ({})", named.join(", ")),
    }
}

struct App {
    game_loop: GameLoop<WindowScreen, RealClock>,
    gate: WakeGate,
    /// A signal asked for the end; handled with the next frame.
    is_ending: Arc<AtomicBool>,
    failure: Option<anyhow::Error>,
    held_before: HeldBefore,
}

impl App {
    /// Leaves the server and saves settings.
    fn finish(self) -> anyhow::Result<()> {
        let (screen, mut settings) = self.game_loop.finish();
        screen.remember(&mut settings);
        settings.save();
        self.failure.map_or(Ok(()), Err)
    }

    /// Opens the window, again if its surface was lost; a failure ends the program.
    fn open_or_end(&mut self, event_loop: &ActiveEventLoop) {
        let viewer = self.game_loop.viewer();
        let opened = viewer.screen.open(event_loop, &mut viewer.state);
        if let Err(error) = opened {
            self.failure.get_or_insert(error);
            event_loop.exit();
        }
    }
}

impl ApplicationHandler<Woken> for App {
    fn new_events(&mut self, _event_loop: &ActiveEventLoop, _cause: StartCause) {
        self.gate.rise();
    }

    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        self.open_or_end(event_loop);
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, window: WindowId, event: WindowEvent) {
        if event == WindowEvent::Destroyed && self.game_loop.viewer().screen.shows_on(window) {
            let error = anyhow::anyhow!("another program destroyed the window");
            self.failure.get_or_insert(error);
            return event_loop.exit();
        }
        if let WindowEvent::KeyboardInput {
            event, is_synthetic, ..
        } = &event
            && !self
                .held_before
                .is_for_us(event.physical_key, event.state, *is_synthetic)
        {
            return;
        }
        self.game_loop.event(|viewer, _| {
            // The panels get it first.
            if let Some(canvas) = &mut viewer.screen.canvas {
                let _ = canvas.input.on_window_event(&canvas.window, &event);
            }
            take(viewer, event);
        });
        if self.game_loop.is_over() {
            event_loop.exit();
        }
    }

    fn user_event(&mut self, _event_loop: &ActiveEventLoop, _woken: Woken) {
        // `about_to_wait` handles the network before the next sleep.
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        if self.is_ending.load(Ordering::Relaxed) {
            self.game_loop.viewer().quit();
        }
        let wake = self.game_loop.turn();
        if self.game_loop.viewer().screen.canvas.is_none() {
            self.open_or_end(event_loop);
        }
        if self.game_loop.is_over() {
            event_loop.exit();
        }
        let now = self.game_loop.clock().now();
        event_loop.set_control_flow(match wake {
            Wake::At(wake) if wake > now && self.gate.lie_down() => {
                ControlFlow::wait_duration(RealSpan::to_std(wake - now))
            }
            Wake::At(_) | Wake::Now => ControlFlow::Poll,
        });
    }
}

fn take(viewer: &mut Viewer<WindowScreen>, event: WindowEvent) {
    if let WindowEvent::CursorMoved { position, .. } = event {
        viewer.screen.pointer = position;
    }
    let is_over_panel = viewer.screen.is_over_panel();
    let canvas = viewer.screen.canvas.as_mut();
    let input = match event {
        WindowEvent::CloseRequested => Input::Act(Action::Quit),
        WindowEvent::Resized(size) => return viewer.screen.resize(size),
        WindowEvent::Moved(place) => return viewer.screen.moved(place),
        // The window may have lost its contents.
        WindowEvent::RedrawRequested => {
            canvas.into_iter().for_each(|canvas| canvas.is_shown = false);
            return;
        }
        WindowEvent::Occluded(is_covered) => return viewer.screen.refresh.occluded(is_covered),
        WindowEvent::ModifiersChanged(modifiers) => {
            viewer.screen.has_control = modifiers.state().control_key();
            return;
        }
        WindowEvent::KeyboardInput { event, .. } => {
            let Some(mut name) = key_name(&event.logical_key) else {
                return;
            };
            // What a key began when it went down ends when it goes up, whatever is held then.
            if viewer.screen.has_control && event.state == ElementState::Pressed {
                name.insert_str(0, "ctrl+");
            }
            Input::Key {
                name,
                is_down: event.state == ElementState::Pressed,
                is_repeat: event.repeat,
                is_typing: canvas.is_some_and(|canvas| canvas.frame.egui.egui_wants_keyboard_input()),
            }
        }
        WindowEvent::Focused(false) => Input::FocusLost,
        WindowEvent::CursorMoved { position, .. } => Input::Moved {
            to: position,
            is_over_panel,
        },
        WindowEvent::CursorLeft { .. } => Input::Left,
        WindowEvent::MouseInput { state, button, .. } => Input::Button {
            button,
            state,
            is_over_panel,
        },
        WindowEvent::MouseWheel { delta, .. } if !is_over_panel => Input::Wheel(delta),
        WindowEvent::PinchGesture { delta, .. } if !is_over_panel => Input::Pinch(delta),
        WindowEvent::RotationGesture { delta, .. } if !is_over_panel => Input::Rotate(delta),
        _ => return,
    };
    viewer.put_input(input);
}
