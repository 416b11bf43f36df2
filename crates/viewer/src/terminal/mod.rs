//! The game in a terminal: the same scene, keys and commands as in the window, as characters, over any line.
//!
//! ```text
//! trantor-viewer --text             draws over and over in this terminal, ten times a second
//! trantor-viewer --text | less      a frame a second, plain, one below the other, until nobody reads
//! ```
//!
//! The game loop is the window's, with another [`Screen`](crate::game_loop::Screen). What a frame looks like is
//! [`text_scene`]'s, what surrounds it is [`words`]', where it looks is [`looking`]'s; [`screen`] puts them on a page, and the terminal itself is [`tty`]'s.

mod keys;
mod looking;
mod screen;
mod text_scene;
mod tty;
mod words;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use crossbeam_channel::{Receiver, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::wait::{Parker, Wait as _, Waker};

use crate::game_loop::{GameLoop, Viewer, parked};
use crate::input::{Action, Input};
use crate::logging;
use crate::settings::Settings;
use crate::stage::Stage;

use self::keys::KeyReader;
use self::screen::TextScreen;
pub use self::text_scene::{TextScale, TextScene, TextView};
use self::tty::{Keyboard, Terminal};

/// Keys that wait for the loop: more than anybody types in a tenth of a second, pasted text included.
const KEYS_MAX: usize = 1_024;

/// What the loop hears of.
enum Event {
    /// A key, by the name that bindings use.
    Key(String),
    /// A signal, or the end of the reader.
    End,
}

/// Shows what `make_stage` makes until the user quits, or nobody reads any more.
///
/// # Errors
/// If the terminal cannot be set up.
pub fn run(
    settings: Settings,
    make_stage: impl FnOnce(Waker) -> anyhow::Result<Stage>,
) -> anyhow::Result<()> {
    let mut parker = Parker::new();
    let stage = make_stage(parker.waker())?;
    let is_ending = Arc::new(AtomicBool::new(false));
    let terminal = Terminal::open().context("this terminal cannot be drawn on")?;
    let (to_loop, typed) = bounded(KEYS_MAX);
    let mut typist = None;
    if terminal.is_live() {
        logging::set_quiet(true);
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The terminal must be given back as it was, so these only ask for the end.
            signal_hook::flag::register(signal, Arc::clone(&is_ending))?;
        }
        if let Some(keyboard) = Keyboard::open()? {
            let (waker, is_ending) = (parker.waker(), Arc::clone(&is_ending));
            typist = Some(Typist::start(keyboard, to_loop, waker, is_ending)?);
        }
    }
    let screen = TextScreen::new(terminal);
    let mut game_loop = GameLoop::new(stage, screen, settings, RealClock::new());
    let take = || next_event(&typed, &is_ending);
    parked::run(&mut game_loop, &mut parker, take, handle);
    is_ending.store(true, Ordering::Relaxed);
    drop(typist);
    let (screen, settings) = game_loop.finish();
    // First the terminal, so that what is said from here on can be read.
    drop(screen);
    logging::set_quiet(false);
    settings.save();
    Ok(())
}

fn next_event(typed: &Receiver<String>, is_ending: &AtomicBool) -> Option<Event> {
    // The loop goes on for one more frame, in which it says goodbye; it must not ask for the end twice.
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
    let Viewer { stage, screen, .. } = viewer;
    if screen.is_typing() {
        return screen.type_key(&name, &mut stage.hud().console);
    }
    // Terminals have no window to close; what every other program ends with ends this one.
    let action = match name.as_str() {
        "q" | "ctrl-c" | "ctrl-d" => Some(Action::Quit),
        name => stage.bindings().action_of(name),
    };
    match action {
        Some(Action::Console) => screen.start_typing(),
        Some(action) if screen.moves(action, stage) => {}
        Some(action) => viewer.put_input(Input::Act(action)),
        None => {}
    }
}

/// The thread that reads the keyboard.
struct Typist {
    thread: Option<Thread<()>>,
}

impl Typist {
    fn start(
        mut keyboard: Keyboard,
        to_loop: crossbeam_channel::Sender<String>,
        waker: Waker,
        is_ending: Arc<AtomicBool>,
    ) -> std::io::Result<Self> {
        let read = move || {
            let mut reader = KeyReader::default();
            let mut bytes = [0; 256];
            // A read ends after a tenth of a second with nothing, so that the end is noticed.
            while !is_ending.load(Ordering::Relaxed) {
                let count = match keyboard.read(&mut bytes) {
                    Ok(count) => count,
                    Err(error) => return log::warn!("the keyboard is gone: {error}"),
                };
                for name in reader.read(&bytes[..count]) {
                    // Keys that find no room are those of a paste; they are lost.
                    let _ = to_loop.try_send(name);
                    waker.wake();
                }
            }
        };
        Ok(Self {
            thread: Some(threads::spawn("keyboard", read)?),
        })
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        // Joined by being dropped, within a tenth of a second.
        self.thread = None;
    }
}
