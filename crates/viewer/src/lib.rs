//! The window on the arena: picture, HUD and speed control around `trantor-client`.
//!
//! ```text
//! socket thread ─ bytes ─> Client ─ Scene ─> trantor_render ─> window, or a file
//!                             ^               ^
//!                          requests <── hud ── state ── mouse, keys
//! ```
//!
//! [`mod@game_loop`] is where to begin: what happens in a frame, and what in the time between two. [`mod@state`] is
//! the viewer's state between a source of scenes and a picture, without a window; [`app`] is the window, [`terminal`] the view for
//! a terminal, [`offscreen`] draws into files. The rules of the game and the protocol are the client's: nothing here
//! decides what is true.

#![expect(
    missing_docs,
    reason = "names that say it all need no sentence; only our own programs build on this"
)]

pub mod app;
pub mod console;
pub mod demo;
pub mod figures;
pub mod film;
pub mod game_loop;
pub mod input;
pub mod intent;
pub mod logging;
pub mod offscreen;
pub mod options;
pub mod painter;
pub mod pictures;
pub mod replay_server;
pub mod settings;
pub mod sound;
pub mod source;
pub mod state;
pub mod terminal;
pub mod trails;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use trantor_runtime::files::check_overwrite;
use trantor_runtime::wait::Waker;

use demo::Demo;
use offscreen::Headless;
use options::Cli;
use replay_server::ReplayServer;
use settings::Settings;

use state::ViewerState;
use state::hud::Panels;

/// Does what the command line asks for.
///
/// # Errors
/// If it cannot be done; the text is for the person who asked.
pub fn run(cli: &Cli) -> anyhow::Result<()> {
    if let Some(file) = cli.screenshot.as_ref().or(cli.film.film.as_ref()) {
        check_overwrite(file, "a picture or a film", &PICTURES)
            .and_then(|()| check_writable(file))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let replay = cli.replay.as_deref().map(ReplayServer::start).transpose()?;
    let mut cli = cli.clone();
    if let Some(server) = &replay {
        cli.port = server.port();
    }
    let cli = &cli;
    let headless = || Headless::new(|waker| state(cli, Settings::default(), waker));
    match (&cli.screenshot, &cli.film.film) {
        (Some(file), _) => offscreen::take(headless()?, cli, file),
        (None, Some(file)) => {
            let text = offscreen::film::make(headless()?, cli, &cli.film, file)?;
            // The film is written even if standard output is closed.
            let _ = writeln!(std::io::stdout(), "{text}");
            Ok(())
        }
        (None, None) => {
            let make_state = |waker| {
                let mut state = state(cli, Settings::load(), waker)?;
                state.director.starts_when_idle = state.settings.director.unwrap_or(true);
                Ok(state)
            };
            match cli.text {
                true => terminal::run(make_state),
                false => app::run(cli, make_state),
            }
        }
    }
}

/// What pictures and films of ours begin with: PNG and GIF. Nothing else is overwritten, least of all the recording that
/// is shown.
const PICTURES: [&[u8]; 2] = [b"\x89PNG", b"GIF8"];

/// Finds out now whether a picture can be written into `file`, and not after what is to be drawn was waited for. Leaves
/// the file as it is.
fn check_writable(file: &Path) -> io::Result<()> {
    match File::create_new(file) {
        Ok(_) => fs::remove_file(file),
        // Anything else that is there, a pipe for instance, would notice.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match file.metadata()?.is_file() {
            true => File::options().write(true).open(file).map(drop),
            false if file.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(()),
        },
        Err(error) => Err(error),
    }
}

fn state(cli: &Cli, mut settings: Settings, waker: Waker) -> anyhow::Result<ViewerState> {
    let source = match cli.demo_scene {
        Some(which) => source::demo(Demo::new(which)),
        None => source::live(&cli.host, cli.port, cli.dialect, cli.token()?, waker)?,
    };
    settings.theme = cli.theme.or(settings.theme);
    let mut state = ViewerState::new(source, settings);
    state.light_stands = cli.theme.is_some();
    state.hud().report.is_on = cli.report_widgets;
    if cli.director {
        state.direct(true);
    }
    if cli.no_hud {
        state.hud().panels = Panels::default();
    }
    Ok(state)
}
