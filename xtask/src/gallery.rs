//! `cargo xtask gallery`: draws docs/images/gallery and writes docs/gallery.md.
//!
//! The drawing is the viewer's (`crates/viewer/examples/gallery`). What that needs besides itself is a match to look
//! back at: it is played here by bots, in a hurry, recorded, and shown again.

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{demo, process, source};

/// Flags of the gallery.
#[derive(clap::Args)]
pub struct Options {
    /// Only the pictures whose name contains this word; the page stays as it is
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

/// Units a second at which the match is played.
const FREQUENCY: u32 = 500;
/// For how long; a team has won by then.
const PLAYED: Duration = Duration::from_secs(12);
/// Where the pictures of it begin: when some have risen.
const SHOWN_FROM: &str = "60%";

/// Draws it.
pub fn run(options: &Options) -> Result<ExitCode> {
    let folder = process::target_folder()?.join("gallery-match");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    // Built first: the pictures should be of what is played, not of waiting for a compiler.
    let gallery = process::build_example("trantor-viewer", "gallery")?;
    demo::record(&folder, FREQUENCY, PLAYED)?;
    let (_server, port) = demo::replay(&folder, SHOWN_FROM)?;
    let mut gallery = Command::new(gallery);
    gallery.current_dir(source::root());
    gallery.args(["docs", "--recording"]).arg(port.to_string());
    if let Some(word) = &options.only {
        gallery.args(["--only", word]);
    }
    process::check(&mut gallery)?;
    Ok(ExitCode::SUCCESS)
}
