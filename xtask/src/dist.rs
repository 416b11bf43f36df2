//! `cargo xtask dist`: everything that is installed, in one folder.
//!
//! The programs in the release profile, manual pages, shell completions, units of systemd and the file of options, laid
//! out as under `/usr`. Packages are made from it: cargo-deb names these paths in `crates/server/Cargo.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::source;

/// Where to, and from which build.
#[derive(clap::Args)]
pub struct Options {
    /// The folder to fill
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    into: PathBuf,
    /// The profile to build in
    #[arg(long, value_name = "PROFILE", default_value = "release")]
    profile: String,
}

/// Packages and their programs.
const PROGRAMS: [(&str, &str); 3] = [
    ("trantor-server", "trantor-server"),
    ("trantor-bot", "trantor-bot"),
    ("trantor-bot", "trantor-load"),
];

/// Shells, and where each looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/trantor-server"),
    ("zsh", "share/zsh/site-functions/_trantor-server"),
    ("fish", "share/fish/vendor_completions.d/trantor-server.fish"),
];

/// Files that are as they are, and where they go.
const FILES: [(&str, &str); 4] = [
    ("assets/config/server.toml", "share/doc/trantor/server.toml"),
    (
        "packaging/systemd/trantor-server.service",
        "lib/systemd/system/trantor-server.service",
    ),
    (
        "packaging/systemd/trantor-server.socket",
        "lib/systemd/system/trantor-server.socket",
    ),
    ("docs/operating.md", "share/doc/trantor/operating.md"),
];

/// Builds and gathers everything.
pub fn run(options: &Options) -> Result<()> {
    let into = source::root().join(&options.into);
    for (package, program) in PROGRAMS {
        let built = process::build_with_profile(package, program, &options.profile)?;
        copy(&built, &into.join("bin").join(program))?;
    }
    let server = into.join("bin/trantor-server");
    process::check(Command::new(&server).arg("man").arg(into.join("share/man/man1")))?;
    for (shell, place) in COMPLETIONS {
        let output = Command::new(&server)
            .args(["completions", shell])
            .output()
            .with_context(|| format!("cannot start {}", server.display()))?;
        write(&into.join(place), &output.stdout)?;
    }
    for (file, place) in FILES {
        copy(&source::root().join(file), &into.join(place))?;
    }
    println!("everything is in {}", into.display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    make_folder_of(to)?;
    fs::copy(from, to).with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))?;
    Ok(())
}

fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    make_folder_of(to)?;
    fs::write(to, bytes).with_context(|| format!("{} cannot be written", to.display()))
}

fn make_folder_of(file: &Path) -> Result<()> {
    let folder = file.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))
}
