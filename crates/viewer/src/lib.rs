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
pub mod source;
pub mod state;
pub mod terminal;
pub mod trails;

use std::io::Write as _;

use anyhow::Context as _;
use trantor_cli::check_writable;
use trantor_runtime::files::check_overwrite;
use trantor_runtime::wait::Waker;

use demo::Demo;
use film::Format;
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
    let film = cli.film.film.as_deref().map(Format::of);
    let film = film.transpose().map_err(anyhow::Error::msg)?;
    for file in cli.screenshot.iter().chain(film.as_ref().map(|(file, _)| file)) {
        check_overwrite(file, "a picture or a film", &PICTURES)
            .with_context(|| format!("cannot write {}", file.display()))?;
        check_writable(file).map_err(anyhow::Error::msg)?;
    }
    let replay = cli.replay.as_deref().map(ReplayServer::start).transpose()?;
    let mut cli = cli.clone();
    if let Some(server) = &replay {
        cli.port = server.port();
    }
    let cli = &cli;
    let headless = || Headless::new(|waker| state(cli, Settings::default(), waker));
    match (&cli.screenshot, &film) {
        (Some(file), _) => offscreen::take(headless()?, cli, file),
        (None, Some((file, format))) => {
            let text = offscreen::film::make(headless()?, cli, &cli.film, (file, format))?;
            // The film is written even if standard output is closed.
            let _ = writeln!(std::io::stdout(), "{text}");
            Ok(())
        }
        (None, None) => {
            let make_state = |waker| {
                let mut state = state(cli, Settings::load(), waker)?;
                state.rig.director.starts_when_idle = state.settings.director.unwrap_or(true);
                Ok(state)
            };
            match cli.text {
                true => terminal::run(make_state),
                false => app::run(cli, make_state),
            }
        }
    }
}

/// What pictures and films of ours begin with: PNG, GIF, WebM and MP4. Nothing else is overwritten, least of all the
/// recording that is shown.
const PICTURES: [&[u8]; 4] = [b"\x89PNG", b"GIF8", b"\x1a\x45\xdf\xa3", b"\0\0\0"];

fn state(cli: &Cli, mut settings: Settings, waker: Waker) -> anyhow::Result<ViewerState> {
    let source = match cli.demo_scene {
        Some(which) => source::demo(Demo::new(which)),
        None => source::live(&cli.host, cli.port, cli.dialect, cli.token()?, waker)?,
    };
    settings.theme = cli.theme.or(settings.theme);
    let mut state = ViewerState::new(source, settings);
    state.drawing.light_stands = cli.theme.is_some();
    state.hud().report.is_on = cli.report_widgets;
    if cli.director {
        state.direct(true);
    }
    if cli.no_hud {
        state.hud().panels = Panels::default();
    }
    Ok(state)
}
