//! The game in a terminal: the same scene, keys and commands as in the window.
//!
//! ```text
//! trantor-viewer --text             draws in this terminal, ten times a second
//! trantor-viewer --text | less      writes a plain page a second until the pipe is closed
//! ```
//!
//! The game loop is the window's, with another [`Screen`](crate::game_loop::Screen). [`screen`] puts a page together:
//! the scene ([`text_scene`]) and the rows below it ([`below`]) on a grid of characters ([`canvas`]). [`tty`] is the
//! terminal.

mod below;
mod canvas;
mod screen;
mod text_scene;
mod tty;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::signals;
use trantor_runtime::wait::{Parker, Waker};

use crate::game_loop::{GameLoop, Viewer, Wake};
use crate::input::{Action, Input};
use crate::logging;
use crate::state::ViewerState;

use self::screen::TextScreen;
use self::tty::Terminal;

/// Shows what `make_state` makes until the user quits or the pipe is closed.
///
/// # Errors
/// If the terminal cannot be set up.
pub fn run(make_state: impl FnOnce(Waker) -> anyhow::Result<ViewerState>) -> anyhow::Result<()> {
    let mut parker = Parker::new();
    let state = make_state(parker.waker())?;
    let terminal = Terminal::open().context("this terminal cannot be drawn on")?;
    let mut is_ending = Arc::<AtomicBool>::default();
    if terminal.abilities.is_live {
        logging::set_quiet(true);
        // The terminal must be restored first, so signals only ask for the end.
        is_ending = signals::end_flag(false)?;
    }
    let mut game_loop = GameLoop::new(state, TextScreen::new(terminal), RealClock::new());
    while !game_loop.is_over() {
        // The loop runs one more frame; it must not ask for the end twice.
        if is_ending.swap(false, Ordering::Relaxed) {
            game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Quit)));
        }
        // Keys count from the next frame on, so it is enough to look for them before each.
        while let Some(key) = game_loop.viewer().screen.terminal.read_key() {
            game_loop.event(|viewer, _| handle(viewer, &key));
        }
        if let Wake::At(wake) = game_loop.turn() {
            parker.wait(Some(wake));
        }
    }
    let (screen, settings) = game_loop.finish();
    // Restores the terminal, so that later messages can be read.
    drop(screen);
    logging::set_quiet(false);
    settings.save();
    Ok(())
}

fn handle(viewer: &mut Viewer<TextScreen>, key: &str) {
    let Viewer { state, screen, .. } = viewer;
    if screen.is_typing {
        return screen.type_key(key, &mut state.hud().console);
    }
    let action = match key {
        // As in other programs for terminals.
        "q" | "ctrl-c" | "ctrl-d" => Some(Action::Quit),
        key => state.bindings().action_of(key),
    };
    match action {
        Some(Action::Console) => screen.is_typing = true,
        Some(action) if screen.pans(action, state) => {}
        Some(action) => viewer.put_input(Input::Act(action)),
        None => {}
    }
}
