//! A match of two teams of bots, recorded by the server that they play on.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::child::ServerProgram;

/// Bots of a team, as many as there are places.
const TEAM_SIZE: &str = "6";

/// Plays a match on 20 × 20 tiles until a team has won or all have starved. Answers the folder with its recording.
pub(super) fn record(program: &ServerProgram, seed: u64) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("trantor-replay-{}-{seed}", std::process::id()));
    let (seed, path) = (seed.to_string(), folder.to_string_lossy().into_owned());
    let server = program.start(&[
        "-x",
        "20",
        "-y",
        "20",
        "-c",
        TEAM_SIZE,
        "-n",
        "red",
        "blue",
        "--lock-step",
        "on",
        "--seed",
        &seed,
        "--record",
        &path,
    ])?;
    let bot = program.path()?.with_file_name("trantor-bot");
    let port = server.address.port().to_string();
    let start = |team: &str| -> Result<Child> {
        Command::new(&bot)
            .args(["-h", "127.0.0.1", "-p", &port, "-n", team, "--seed", &seed])
            .args(["--team-size", TEAM_SIZE, "--patience", "2"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}; build it beside the server", bot.display()))
    };
    let teams = [start("red")?, start("blue")?];
    for mut team in teams {
        // How its match ended is in the recording.
        team.wait()?;
    }
    server.stop()?;
    Ok(folder)
}
