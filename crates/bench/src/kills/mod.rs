//! `trantor-bench kills`: a server killed at random instants of a recorded and autosaved game, again and again.
//!
//! Each time agents play (and talk so much that pieces of the journal end, are packed, and begin all the time), the game
//! is saved ten times a second, and the process is killed as no process can prevent, in one of three kills right after a
//! victory. Then, of what lies on the disk: the journal must verify to its last whole record, and show every line that an agent
//! or a text viewer received; the newest save must load and be a state that the journal passes through, the game must go on
//! from it with every invariant checked, and the program itself must resume where the journal ends (so that what was sent has
//! happened, a victory too), let agents play, and end in order. Good is all of them.

mod aftermath;
mod players;
mod received;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_runtime::{Parker, RealClock, Wait};
use trantor_time::{Clock, RealSpan};

use crate::child::ServerProgram;
use aftermath::Aftermath;

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

/// Answers that agents read from the resumed server before it is ended.
const ANSWERS_AFTER: usize = 20;

/// What was met in all kills together.
#[derive(Debug, Default)]
struct Met {
    pieces: usize,
    records: u64,
    /// Journals whose last record was not written whole.
    torn: u32,
    /// Journals with a piece that was packed, or being packed.
    packing: u32,
    /// Saves that were being written.
    saving: u32,
    /// Saves that the journal had not reached: the kill fell between the two.
    ahead: u32,
    /// Lines that agents and viewers received before the kill.
    lines: usize,
    /// Games that were won.
    won: u32,
}

/// Kills as often as asked for. Fails at the first aftermath that is not as it should be, and leaves it on the disk.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("trantor-kills-{}", std::process::id())),
    };
    let mut random = Pcg64Mcg::seed_from_u64(options.seed);
    let mut met = Met::default();
    for kill in 1..=options.times {
        let after_us = random.next_u32() % KILL_WITHIN_US;
        let here = folder.join(format!("kill-{kill:05}"));
        let aftermath = kill_and_look(&options.program, &here, kill, after_us).with_context(|| {
            format!(
                "kill {kill}, {after_us} µs after the first save; see {}",
                here.display()
            )
        })?;
        met.add(&aftermath);
        std::fs::remove_dir_all(&here)?;
        if kill % 20 == 0 {
            println!("{kill} of {}: all well", options.times);
        }
    }
    // The last one has emptied it.
    std::fs::remove_dir_all(&folder)?;
    println!(
        "{times} of {times}: every journal verified to its last whole record ({records} records in {pieces} pieces) and \
         showed what was sent ({lines} lines), every newest save loaded, and every game went on where its journal ends, {won} \
         of them with the victory.\nMet on the way: {torn} torn records, {packing} pieces packed or being \
         packed, {saving} saves being written, {ahead} saves ahead of the journal.",
        times = options.times,
        records = met.records,
        pieces = met.pieces,
        torn = met.torn,
        packing = met.packing,
        saving = met.saving,
        ahead = met.ahead,
        lines = met.lines,
        won = met.won,
    );
    Ok(())
}

fn kill_and_look(program: &ServerProgram, folder: &Path, kill: u32, after_us: u32) -> Result<Aftermath> {
    let (journal, saves) = (folder.join("journal"), folder.join("saves"));
    let keeping = [
        "--record",
        journal.to_str().context("a folder with a readable name")?,
        "--save",
        saves.to_str().context("a folder with a readable name")?,
        "--save-every",
        "100ms",
        "-f",
        "1000",
        "--control",
        "loopback",
    ];
    let seed = kill.to_string();
    let server = program.start(&[&keeping[..], &["--seed", &seed]].concat())?;
    let players = players::start(server.address, AGENTS, u64::from(kill))?;
    wait_for_a_save(&saves)?;
    sleep(RealSpan::from_micros(i64::from(after_us)));
    if kill.is_multiple_of(KILLS_PER_VICTORY) {
        players::end_match(server.address)?;
        sleep(RealSpan::from_micros(i64::from(after_us % KILL_AFTER_VICTORY_US)));
    }
    server.kill()?;
    let (agents, viewer) = players.join()?;
    let mut aftermath = aftermath::look(&journal, &saves)?;
    aftermath.lines = received::check(&journal.join("run-0001"), &agents, &viewer)?;
    if kill.is_multiple_of(KILLS_PER_VICTORY) {
        anyhow::ensure!(
            aftermath.end.winner().is_some(),
            "the victory is not in the journal"
        );
    }

    let server = program.start(&[&keeping[..], &["--resume"]].concat())?;
    if aftermath.end.winner().is_none() {
        players::play(server.address, ANSWERS_AFTER)?;
    }
    server.stop()?;
    aftermath::look_again(&journal, &aftermath.end)?;
    Ok(aftermath)
}

fn wait_for_a_save(saves: &Path) -> Result<()> {
    let patience = RealClock::new().now() + PATIENCE;
    // The first one is of the start.
    let first = saves.join("save-0000000001.trs");
    while aftermath::newest_save(saves)?.is_none_or(|newest| newest <= first) {
        anyhow::ensure!(RealClock::new().now() < patience, "no save appears");
        sleep(RealSpan::from_millis(2));
    }
    Ok(())
}

fn sleep(span: RealSpan) {
    Parker::new().wait(Some(RealClock::new().now() + span));
}

impl Met {
    fn add(&mut self, aftermath: &Aftermath) {
        self.pieces += aftermath.pieces;
        self.records += aftermath.records;
        self.torn += u32::from(aftermath.is_torn);
        self.packing += u32::from(aftermath.was_packing);
        self.saving += u32::from(aftermath.was_saving);
        self.ahead += u32::from(aftermath.is_save_ahead);
        self.lines += aftermath.lines;
        self.won += u32::from(aftermath.end.winner().is_some());
    }
}
