//! `cargo xtask gallery`: draws docs/images/gallery and writes docs/gallery.md.
//!
//! The drawing is the viewer's (`crates/viewer/examples/gallery`); this chore only builds it for play and starts it.

use std::process::ExitCode;

use anyhow::Result;

use crate::process;

/// Flags of the gallery.
#[derive(clap::Args)]
pub struct Options {
    /// Only the pictures whose name contains this word; the page stays as it is
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

/// Draws it.
pub fn run(options: &Options) -> Result<ExitCode> {
    let mut gallery = process::cargo();
    gallery.args(["run", "--profile", process::PLAY_PROFILE]);
    gallery.args([
        "--package",
        "trantor-viewer",
        "--example",
        "gallery",
        "--",
        "docs",
    ]);
    if let Some(word) = &options.only {
        gallery.args(["--only", word]);
    }
    process::check(&mut gallery)?;
    Ok(ExitCode::SUCCESS)
}
