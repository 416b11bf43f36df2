//! `trantor-bench kills`: a server killed at random instants of a recorded and autosaved game, again and again.
//!
//! Each time agents play (and talk so much that pieces of the journal end, are packed, and begin all the time), the game
//! is saved ten times a second, and the process is killed as no process can prevent, in one of three kills right after a
//! victory. Then, of what lies on the disk: the journal must verify to its last whole record, and show every line that an agent
//! or a text viewer received; the newest save must load and be a state that the journal passes through, and the program itself
//! must resume where the journal ends (so that what was sent has happened, a victory too), let agents play, and end in order.
//! Good is all of them.

mod aftermath;
mod peers;
mod received;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_time::RealSpan;

use self::aftermath::{Aftermath, newest_save};
use self::peers::Peers;
use crate::process::{ServerProgram, sleep, wait_until};

/// How often, and where.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Kills
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    times: u32,
    /// What the instants are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A folder for what the servers write; removed again unless something is found
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Agents that play while the server is killed.
const AGENTS: usize = 6;

/// The span after the first save in play in which the kill falls: some saves, and some pieces of the journal.
const KILL_WITHIN_US: u32 = 1_000_000;

/// One kill of so many follows a victory.
const KILLS_PER_VICTORY: u32 = 3;

/// The span after the victory in which the kill falls then.
const KILL_AFTER_VICTORY_US: u32 = 20_000;

/// How long the first save may take to appear, on a machine that is busy with other things.
const PATIENCE: RealSpan = RealSpan::from_secs(20);

/// Answers that an agent reads from the resumed server before it is ended.
const ANSWERS_AFTER: usize = 20;

/// Kills as often as asked for. Fails at the first aftermath that is not as it should be, and leaves it on the disk.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = options.folder.clone();
    let folder =
        folder.unwrap_or_else(|| std::env::temp_dir().join(format!("trantor-kills-{}", std::process::id())));
    let mut random = Pcg64Mcg::seed_from_u64(options.seed);
    let (mut found, mut lines) = (Vec::new(), 0);
    for kill in 1..=options.times {
        let after_us = random.next_u32() % KILL_WITHIN_US;
        let here = folder.join(format!("kill-{kill:05}"));
        let (aftermath, received) =
            kill_and_look(&options.program, &here, kill, after_us).with_context(|| {
                format!(
                    "kill {kill}, {after_us} µs after the first save; see {}",
                    here.display()
                )
            })?;
        found.push(aftermath);
        lines += received;
        std::fs::remove_dir_all(&here)?;
        if kill % 20 == 0 {
            println!("{kill} of {}: all well", options.times);
        }
    }
    // The last one has emptied it.
    std::fs::remove_dir_all(&folder)?;
    let count = |is_so: fn(&Aftermath) -> bool| found.iter().filter(|one| is_so(one)).count();
    println!(
        "{times} of {times}: every journal verified to its last whole record ({records} records in {pieces} pieces) and \
         showed what was sent ({lines} lines), every newest save loaded, and every game went on where its journal ends, {won} \
         of them with the victory.\nMet on the way: {torn} torn records, \
         {ahead} saves ahead of the journal.",
        times = options.times,
        records = found.iter().map(|one| one.records).sum::<u64>(),
        pieces = found.iter().map(|one| one.pieces).sum::<usize>(),
        torn = count(|one| one.is_torn),
        ahead = count(|one| one.is_save_ahead),
        won = count(|one| one.end.winner().is_some()),
    );
    Ok(())
}

/// Answers what was found, and how many lines had been received.
fn kill_and_look(
    program: &ServerProgram,
    folder: &Path,
    kill: u32,
    after_us: u32,
) -> Result<(Aftermath, usize)> {
    let (journal, saves) = (folder.join("journal"), folder.join("saves"));
    let folders = [("--record", journal.as_path()), ("--save", &saves)];
    let flags = format!("--save-every 100ms -f 1000 --control loopback --seed {kill}");
    let mut server = program.start(&flags, &folders)?;
    let peers = Peers::start(server.address, AGENTS, u64::from(kill))?;
    // The first save is of the start.
    let first = saves.join("save-0000000001.trs");
    wait_until(PATIENCE, "no save appears", || {
        Ok(newest_save(&saves)? > Some(first.clone()))
    })?;
    sleep(RealSpan::from_micros(i64::from(after_us)));
    let has_victory = kill.is_multiple_of(KILLS_PER_VICTORY);
    if has_victory {
        server.operate("end")?;
        sleep(RealSpan::from_micros(i64::from(after_us % KILL_AFTER_VICTORY_US)));
    }
    server.process.0.kill()?;
    let (agents, viewer) = peers.join()?;
    drop(server);
    let aftermath = aftermath::look(&journal, &saves)?;
    let lines = received::check(&journal.join("run-0001"), &agents, &viewer)?;
    let is_won = aftermath.end.winner().is_some();
    ensure!(is_won || !has_victory, "the victory is not in the journal");

    let server = program.start("--save-every 100ms -f 1000 --control loopback --resume", &folders)?;
    if !is_won {
        let mut agent = peers::join(server.address, "red")?;
        for _ in 0..ANSWERS_AFTER {
            agent.send("Inventory\n")?;
            agent.read_to("[")?;
        }
    }
    server.stop()?;
    aftermath::look_again(&journal, &aftermath.end)?;
    Ok((aftermath, lines))
}
