//! winit's events, passed to the game loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::WakeGate;
use trantor_time::{Clock as _, RealSpan};
use winit::application::ApplicationHandler;
use winit::event::{ElementState, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow};
use winit::window::WindowId;

use super::Woken;
use super::screen::WindowScreen;
use crate::game_loop::{GameLoop, Viewer, Wake};
use crate::input::{Action, HeldBefore, Input, key_name};

pub(super) struct App {
    game_loop: GameLoop<WindowScreen, RealClock>,
    gate: WakeGate,
    /// A signal asked for the end; handled with the next frame.
    is_ending: Arc<AtomicBool>,
    failure: Option<anyhow::Error>,
    held_before: HeldBefore,
}

impl App {
    pub(super) fn new(
        game_loop: GameLoop<WindowScreen, RealClock>,
        gate: WakeGate,
        is_ending: Arc<AtomicBool>,
    ) -> Self {
        Self {
            game_loop,
            gate,
            is_ending,
            failure: None,
            held_before: HeldBefore::default(),
        }
    }

    /// Leaves the server and saves settings.
    ///
    /// # Errors
    /// The failure that ended the loop.
    pub(super) fn finish(self) -> anyhow::Result<()> {
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
            // The panels get it first, and may use it.
            let is_used = viewer.screen.panel_event(&event);
            take(viewer, event, is_used);
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
        if self.game_loop.viewer().screen.is_lost() {
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

/// Queues input, and follows the window.
fn take(viewer: &mut Viewer<WindowScreen>, event: WindowEvent, is_used: bool) {
    let input = match event {
        WindowEvent::CloseRequested => Input::Act(Action::Quit),
        WindowEvent::Resized(size) => return viewer.screen.resize(size),
        WindowEvent::Moved(place) => return viewer.screen.moved(place),
        WindowEvent::RedrawRequested => return viewer.screen.expose(),
        WindowEvent::Occluded(is_covered) => return viewer.screen.occluded(is_covered),
        WindowEvent::KeyboardInput { event, .. } => {
            let Some(name) = key_name(&event.logical_key) else {
                return;
            };
            Input::Key {
                name,
                is_down: event.state == ElementState::Pressed,
                is_repeat: event.repeat,
                is_typing: viewer.screen.is_typing(),
            }
        }
        WindowEvent::Focused(false) => Input::FocusLost,
        WindowEvent::CursorMoved { position, .. } => Input::Moved {
            to: position,
            is_over_panel: viewer.screen.is_pointer_over_panel(),
        },
        WindowEvent::CursorLeft { .. } => Input::Left,
        WindowEvent::MouseInput { state, button, .. } => Input::Button {
            button,
            state,
            is_over_panel: is_used,
        },
        WindowEvent::MouseWheel { delta, .. } if !is_used => Input::Wheel(delta),
        WindowEvent::PinchGesture { delta, .. } if !is_used => Input::Pinch(delta),
        WindowEvent::RotationGesture { delta, .. } if !is_used => Input::Rotate(delta),
        _ => return,
    };
    viewer.put_input(input);
}
