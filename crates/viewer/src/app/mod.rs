//! The window: winit's event loop around a [`GameLoop`], and the window as its screen.
//!
//! ```text
//! winit event ──────> queued, its time counted ──────┐
//! nothing left ─────> network, frame if due ─────────┼─> sleep until frame, time-out, wake
//! waker ────────────> handles the network ───────────┘
//! ```

mod handler;
mod panels;
mod place;
mod refresh;
mod rest;
mod screen;
mod window;

use anyhow::Context as _;
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::signals;
use trantor_runtime::wait::{WakeGate, Waker};
use winit::event_loop::EventLoop;

use crate::game_loop::GameLoop;
use crate::options::Cli;
use crate::state::ViewerState;

#[derive(Clone, Copy, Debug)]
pub struct Woken;

/// Opens a window and shows what `make_state` makes, until the window is closed.
///
/// # Errors
/// If there is no display, or nothing to draw with.
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
    let screen = screen::WindowScreen::new(cli.clone(), &state.settings);
    let mut game_loop = GameLoop::new(state, screen, RealClock::new());
    game_loop.viewer().sound.open_device();
    // The first signal asks for the end, which saves settings; a second one ends the program at once.
    let is_ending = signals::end_flag(true)?;
    let mut app = handler::App::new(game_loop, gate, is_ending);
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
