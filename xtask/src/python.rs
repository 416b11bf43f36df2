//! `cargo xtask python`: the Python package as a wheel, in a virtual environment of its own, with its tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

#[derive(clap::Args)]
pub struct Options {
    /// Profile of the wheel; CI tests the one of development, `release` is what people install
    #[arg(long, default_value = process::PLAY_PROFILE)]
    profile: String,
    /// Do not run the tests
    #[arg(long)]
    no_tests: bool,
    /// Instead of the tests, play what the tables of docs/cluster.md, docs/lag.md and docs/learning.md show, and write them
    #[arg(long)]
    tables: bool,
}

/// Builds the wheel, installs it, and runs the tests of the package.
pub fn run(options: &Options) -> Result<()> {
    let (python, wheel) = install(&options.profile)?;
    println!("{wheel}");
    if options.tables {
        return process::check(Command::new(python).current_dir(package()).arg("tables.py"));
    }
    match options.no_tests {
        true => Ok(()),
        false => check(&python, &options.profile),
    }
}

/// Measures the package as people install it.
pub fn bench() -> Result<()> {
    let (python, wheel) = install("release")?;
    process::check(
        Command::new(python)
            .current_dir(package())
            .args(["bench.py", &wheel]),
    )
}

/// Where the package is.
fn package() -> PathBuf {
    process::root().join("crates/python")
}

/// Builds the wheel and installs it; answers the interpreter that has it, and the wheel.
fn install(profile: &str) -> Result<(PathBuf, String)> {
    let folder = process::target_folder()?.join("python");
    let environment = folder.join("venv");
    let python = environment.join("bin/python");
    if !python.exists() {
        let mut create = Command::new("python3");
        process::check(create.args(["-m", "venv"]).arg(&environment))
            .context("python3 with venv is needed: apt-get install python3-venv")?;
    }
    let pip = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]);
        process::check(pip.args(words))
    };
    pip(&["maturin>=1.9,<2"])?;
    // Wheels of before would be installed with the new one.
    let wheels = folder.join("wheels");
    match std::fs::remove_dir_all(&wheels) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut build = Command::new(environment.join("bin/maturin"));
    build.current_dir(package());
    build.args(["build", "--quiet", "--profile", profile, "--out"]);
    process::check(build.arg(&wheels))?;
    let wheel = std::fs::read_dir(&wheels)?
        .next()
        .context("maturin has left no wheel")??
        .path();
    let wheel = wheel.to_string_lossy().into_owned();
    pip(&["--force-reinstall", "--no-deps", &wheel])?;
    pip(&[&format!("{wheel}[test]")])?;
    Ok((python, wheel))
}

fn check(python: &Path, profile: &str) -> Result<()> {
    let [server, bot] = process::build(profile, ["trantor-server", "trantor-bot"])?;
    let run = |words: &[&str]| {
        let mut run = Command::new(python);
        run.current_dir(package())
            .env("TRANTOR_SERVER", &server)
            .env("TRANTOR_BOT", &bot);
        process::check(run.arg("-m").args(words))
    };
    run(&["mypy", "--strict", "python/trantor", "examples", "tables.py"])?;
    let interpreter = python.to_string_lossy();
    run(&["basedpyright", "--pythonpath", &interpreter])?;
    run(&["pytest", "--quiet", "tests"])
}
