//! Building and starting the project's own programs, and where its files are.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

/// The profile that a user should have: fast to run, quicker to build than release.
pub const PLAY_PROFILE: &str = "play";

/// The folder that holds the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in a folder of the workspace")
}

/// `cargo`, the one that runs us, at the workspace's root.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command to its end and fails with its words if it fails.
pub fn check(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Runs a command to its end and answers how it ended.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command
        .status()
        .with_context(|| format!("cannot start {command:?}"))
}

/// Builds programs in a profile of the workspace and answers where they lie.
///
/// All of the workspace is named: features of what programs share are then the same whichever is built, and no library is
/// built twice.
pub fn build<const N: usize>(profile: &str, programs: [&str; N]) -> Result<[PathBuf; N]> {
    let mut build = cargo();
    build.args(["build", "--profile", profile, "--workspace"]);
    programs.iter().for_each(|program| {
        build.args(["--bin", program]);
    });
    check(&mut build)?;
    let folder = target_folder()?.join(if profile == "dev" { "debug" } else { profile });
    Ok(programs.map(|program| folder.join(program)))
}

/// Where cargo builds: this program lies in a profile's folder of it.
pub fn target_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().and_then(|folder| folder.parent());
    Ok(folder
        .context("this program lies in no target folder")?
        .to_owned())
}
