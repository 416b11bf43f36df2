//! `cargo xtask gallery`: draws docs/images/gallery and writes docs/gallery.md.
//!
//! The drawing is the viewer's (`crates/viewer/examples/gallery`). It also needs a recorded match to jump about in: the
//! server plays one without a clock, and shows it again.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::demo::Programs;
use crate::{process, source};

/// Flags of the gallery.
#[derive(clap::Args)]
pub struct Options {
    /// Only the pictures whose name contains this word; the page stays as it is
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

/// The match: until a team has won.
const MATCH: [&str; 9] = ["sim", "--seed", "7", "-x", "20", "-y", "20", "-c", "6"];
/// Where the pictures of it begin: when some have risen.
const SHOWN_FROM: &str = "60%";

/// Draws it.
pub fn run(options: &Options) -> Result<ExitCode> {
    let [server] = process::build(process::PLAY_PROFILE, ["trantor-server"])?;
    let gallery = process::build_example("trantor-viewer", "gallery")?;
    let recording = process::target_folder()?.join("gallery-match.trj");
    if recording.exists() {
        std::fs::remove_file(&recording).with_context(|| format!("cannot remove {}", recording.display()))?;
    }
    let mut play = Command::new(&server);
    process::check(play.args(MATCH).arg("--record").arg(&recording))?;
    let mut show = Command::new(&server);
    show.args([
        "replay", "play", "-p", "0", "-f", "100", "--paused", "--at", SHOWN_FROM,
    ]);
    let mut programs = Programs::default();
    let (port, _words) = programs.start_server(show.arg(&recording))?;
    let mut gallery = Command::new(gallery);
    gallery.current_dir(source::root());
    gallery.args(["docs", "--recording"]).arg(port.to_string());
    if let Some(word) = &options.only {
        gallery.args(["--only", word]);
    }
    process::check(&mut gallery)?;
    Ok(ExitCode::SUCCESS)
}
