//! Building and starting the project's own programs.

use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::source;

/// The profile that a user should have: fast to run, quicker to build than release.
pub const PLAY_PROFILE: &str = "play";

/// `cargo`, the one that runs us, at the workspace's root.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(source::root());
    command
}

/// Runs a command to its end and fails with its words if it fails.
pub fn check(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command to its end and answers how it ended.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))
}

/// Builds one binary in the profile for playing and answers where it lies.
pub fn build_program(package: &str, binary: &str) -> Result<PathBuf> {
    build_with_profile(package, binary, PLAY_PROFILE)
}

/// Builds one binary in a profile of the workspace and answers where it lies.
pub fn build_with_profile(package: &str, binary: &str, profile: &str) -> Result<PathBuf> {
    let mut build = cargo();
    build.args([
        "build",
        "--profile",
        profile,
        "--package",
        package,
        "--bin",
        binary,
    ]);
    check(&mut build)?;
    Ok(target_folder()?.join(profile_folder(profile)).join(binary))
}

/// Builds an example in the profile for playing and answers where it lies.
pub fn build_example(package: &str, example: &str) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--profile", PLAY_PROFILE]);
    build.args(["--package", package, "--example", example]);
    check(&mut build)?;
    let folder = target_folder()?.join(profile_folder(PLAY_PROFILE));
    Ok(folder.join("examples").join(example))
}

/// Whether a program of this name can be found on the search path.
pub fn is_installed(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|folder| folder.join(name).is_file()))
}

/// Whether there is a display to open a window on.
pub fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn profile_folder(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Where cargo builds.
pub fn target_folder() -> Result<PathBuf> {
    let metadata = metadata()?;
    let folder = metadata["target_directory"]
        .as_str()
        .context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(folder))
}

/// What cargo knows of the workspace, without its dependencies' own.
pub fn metadata() -> Result<serde_json::Value> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata did not print JSON")
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|argument| argument.to_string_lossy().into_owned()),
    );
    words.join(" ")
}
