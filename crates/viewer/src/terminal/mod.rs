//! The game in a terminal: the same scene, keys and commands as in the window.
//!
//! ```text
//! trantor-viewer --text             draws in this terminal, ten times a second
//! trantor-viewer --text | less      writes a plain page a second until the pipe is closed
//! ```
//!
//! The game loop is the window's, with another [`Screen`](crate::game_loop::Screen). [`text_scene`] draws the scene,
//! [`below`] writes the rows below it, [`screen`] puts both on a page, and [`tty`] is the terminal.

mod below;
mod screen;
mod text_scene;
mod tty;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use crossbeam_channel::{Receiver, bounded};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _, Waker};
use trantor_runtime::{signals, threads};

use crate::game_loop::{GameLoop, Viewer, parked};
use crate::input::{Action, Input};
use crate::logging;
use crate::state::ViewerState;

use self::screen::TextScreen;
use self::tty::Terminal;

/// Keys queued for the loop: more than a tenth of a second of typing, pasted text included.
const KEYS_MAX: usize = 1_024;

enum Event {
    /// A key, by the name that bindings use.
    Key(String),
    End,
}

/// Shows what `make_state` makes until the user quits or the pipe is closed.
///
/// # Errors
/// If the terminal cannot be set up.
pub fn run(make_state: impl FnOnce(Waker) -> anyhow::Result<ViewerState>) -> anyhow::Result<()> {
    let mut parker = Parker::new();
    let state = make_state(parker.waker())?;
    let mut is_ending = Arc::default();
    let terminal = Terminal::open().context("this terminal cannot be drawn on")?;
    let (to_loop, typed) = bounded(KEYS_MAX);
    let mut keyboard = None;
    if terminal.abilities.is_live {
        logging::set_quiet(true);
        // The terminal must be restored first, so signals only ask for the end.
        is_ending = signals::end_flag(false)?;
    }
    if terminal.has_keyboard {
        let (waker, is_ending) = (parker.waker(), Arc::clone(&is_ending));
        let read = move || {
            while !is_ending.load(Ordering::Relaxed) {
                match tty::read_key() {
                    Ok(Some(name)) => {
                        // Keys that find no room are those of a paste; they are lost.
                        let _ = to_loop.try_send(name);
                        waker.wake();
                    }
                    Ok(None) => {}
                    Err(error) => return log::warn!("the keyboard is gone: {error}"),
                }
            }
        };
        keyboard = Some(threads::spawn("keyboard", read)?);
    }
    let mut game_loop = GameLoop::new(state, TextScreen::new(terminal), RealClock::new());
    let take = || next_event(&typed, &is_ending);
    parked::run(&mut game_loop, &mut parker, take, handle);
    is_ending.store(true, Ordering::Relaxed);
    // Joined by being dropped, within a tenth of a second.
    drop(keyboard);
    let (screen, settings) = game_loop.finish();
    // Restores the terminal, so that later messages can be read.
    drop(screen);
    logging::set_quiet(false);
    settings.save();
    Ok(())
}

fn next_event(typed: &Receiver<String>, is_ending: &AtomicBool) -> Option<Event> {
    // The loop runs one more frame; it must not ask for the end twice.
    if is_ending.swap(false, Ordering::Relaxed) {
        return Some(Event::End);
    }
    typed.try_recv().ok().map(Event::Key)
}

fn handle(viewer: &mut Viewer<TextScreen>, event: Event) {
    let name = match event {
        Event::End => return viewer.put_input(Input::Act(Action::Quit)),
        Event::Key(name) => name,
    };
    let Viewer { state, screen, .. } = viewer;
    if screen.is_typing {
        return screen.type_key(&name, &mut state.hud().console);
    }
    let action = match name.as_str() {
        // As in other programs for terminals.
        "q" | "ctrl-c" | "ctrl-d" => Some(Action::Quit),
        name => state.bindings().action_of(name),
    };
    match action {
        Some(Action::Console) => screen.is_typing = true,
        Some(action) if screen.pans(action, state) => {}
        Some(action) => viewer.put_input(Input::Act(action)),
        None => {}
    }
}
