//! `trantor-bench kills`: a server killed at random instants of a recorded and autosaved game, again and again.
//!
//! Agents play, and broadcast so much that pieces of the journal end and are packed all the time; the game is saved ten times a
//! second; one kill in three follows a victory. After each SIGKILL the journal must verify to its last whole record and show
//! every line that a text viewer received and every message that an agent received. The newest save must load. The server must
//! resume at the end of the journal, with its victory, let an agent play, and end in order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_engine::EngineConfig;
use trantor_game::journal::{CutShort, Ending};
use trantor_game::replay::Recording;
use trantor_game::{Game, Replay};
use trantor_runtime::threads::{self, Thread};
use trantor_server::autosave::newest_good;
use trantor_server::playback::load;
use trantor_server::replay::{Outcome, pieces_in, read, verify_all};
use trantor_server::store::SystemFiles;
use trantor_sim::playback::lines_to_text_viewer;
use trantor_time::RealSpan;

use crate::process::{Line, ServerProgram, sleep, wait_until};

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Kills
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    times: u32,
    /// Seed of the instants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder of what the servers write; removed unless a check fails
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Agents that play while the server is killed.
const AGENTS: u64 = 6;

/// The kill follows the second save within this span: some saves, and some pieces of the journal.
const KILL_WITHIN_US: u32 = 1_000_000;

/// One kill of so many follows a victory, within the span.
const KILLS_PER_VICTORY: u32 = 3;
const KILL_AFTER_VICTORY_US: u32 = 20_000;

/// Time limit for the second save, on a busy machine.
const PATIENCE: RealSpan = RealSpan::from_secs(20);

/// Answers that an agent reads from the resumed server.
const ANSWERS_AFTER: usize = 20;

/// Longest broadcast, near the line limit, so that the journal finishes several pieces a second.
const BROADCAST_BYTES_MAX: usize = 16_000;

/// Whole lines that a peer received, in order.
type Received = Vec<Vec<u8>>;

/// What one kill left.
struct Left {
    pieces: usize,
    records: u64,
    is_torn: bool,
    is_save_ahead: bool,
    is_won: bool,
    lines: usize,
}

/// Kills as often as asked for. Fails at the first check that fails, and leaves the files.
pub(crate) fn run(options: &Options) -> Result<()> {
    let name = format!("trantor-kills-{}", std::process::id());
    let folder = options.folder.clone();
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join(name));
    let mut random = Pcg64Mcg::seed_from_u64(options.seed);
    let mut all = Vec::new();
    for kill in 1..=options.times {
        let after_us = random.next_u32() % KILL_WITHIN_US;
        let here = folder.join(format!("kill-{kill:05}"));
        let left = kill_and_resume(&options.program, &here, kill, after_us);
        all.push(left.with_context(|| format!("kill {kill}, after {after_us} µs; see {}", here.display()))?);
        std::fs::remove_dir_all(&here)?;
        if kill % 20 == 0 {
            println!("{kill} of {}: no check failed", options.times);
        }
    }
    std::fs::remove_dir_all(&folder)?;
    let count = |is_so: fn(&Left) -> bool| all.iter().filter(|left| is_so(left)).count();
    println!(
        "{times} of {times}: every journal verified to its last whole record ({records} records in {pieces} pieces) and \
         showed what was sent ({lines} lines), every newest save loaded, and every game resumed at the end of its journal, \
         {won} of them with the victory.\n{torn} torn records, {ahead} saves ahead of the journal.",
        times = options.times,
        records = all.iter().map(|left| left.records).sum::<u64>(),
        pieces = all.iter().map(|left| left.pieces).sum::<usize>(),
        lines = all.iter().map(|left| left.lines).sum::<usize>(),
        torn = count(|left| left.is_torn),
        ahead = count(|left| left.is_save_ahead),
        won = count(|left| left.is_won),
    );
    Ok(())
}

fn kill_and_resume(program: &ServerProgram, folder: &Path, kill: u32, after_us: u32) -> Result<Left> {
    let (journal, saves) = (folder.join("journal"), folder.join("saves"));
    let folders = [("--record", journal.as_path()), ("--save", &saves)];
    let flags = "--save-every 100ms -f 1000 --control loopback";
    let mut server = program.start(&format!("{flags} --seed {kill}"), &folders)?;
    let viewer = Line::connect(server.address, "GRAPHIC", "WELCOME")?;
    let viewer = threads::spawn("viewer", move || {
        let mut viewer = viewer;
        std::iter::from_fn(|| next_line(&mut viewer)).collect::<Received>()
    })?;
    let seeds = (0..AGENTS).map(|number| u64::from(kill) << 8 | number);
    let agents: Vec<_> = seeds
        .map(|seed| start_agent(server.address, seed))
        .collect::<Result<_>>()?;
    // The first save is of the start.
    let first = saves.join("save-0000000001.trs");
    wait_until(PATIENCE, "there is no second save", || {
        Ok(newest_save(&saves)?.is_some_and(|newest| newest > first))
    })?;
    sleep(RealSpan::from_micros(i64::from(after_us)));
    let has_victory = kill.is_multiple_of(KILLS_PER_VICTORY);
    if has_victory {
        server.operate("end")?;
        sleep(RealSpan::from_micros(i64::from(after_us % KILL_AFTER_VICTORY_US)));
    }
    server.process.0.kill()?;
    let messages: Vec<Received> = agents.into_iter().map(Thread::join).collect::<Result<_, _>>()?;
    let viewer = viewer.join()?;
    drop(server);

    let (pieces, records, is_torn) = verify(&journal)?;
    let recording = load(std::slice::from_ref(&journal))?;
    let lines = check_received(&recording, &viewer, &messages.concat())?;
    let (save, path) = newest_good(&SystemFiles, &saves)?.context("no save loads")?;
    ensure!(
        newest_save(&saves)?.as_ref() == Some(&path),
        "the newest save does not load"
    );
    let (end, _) = recording.seek(recording.end())?;
    // The process may have died after a save and before it wrote the journal of the same pass.
    let is_save_ahead = (save.steps(), save.now()) > (end.steps(), end.now());
    let end = if is_save_ahead { save } else { end };
    let is_won = end.winner().is_some();
    ensure!(is_won || !has_victory, "the victory is not in the journal");

    let server = program.start(&format!("{flags} --resume"), &folders)?;
    if !is_won {
        let mut agent = join(server.address, "red")?;
        for _ in 0..ANSWERS_AFTER {
            agent.send("Inventory\n")?;
            agent.read_to("[")?;
        }
    }
    server.stop()?;
    check_resumed(&journal, end)?;
    Ok(Left {
        pieces,
        records,
        is_torn,
        is_save_ahead,
        is_won,
        lines,
    })
}

/// Starts an agent that plays until its connection ends. Returns the messages that it received.
fn start_agent(server: SocketAddr, seed: u64) -> Result<Thread<Received>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut agent = join(server, ["red", "blue"][seed as usize % 2])?;
    agent.send(&command(&mut random))?;
    let body = move || {
        let mut messages = Received::new();
        while let Some(line) = next_line(&mut agent) {
            if line.starts_with(b"message ") {
                messages.push(line);
            }
            // If the server is gone, there may be more to read.
            let _gone = agent.0.get_mut().write_all(command(&mut random).as_bytes());
        }
        messages
    };
    Ok(threads::spawn(&format!("agent {seed}"), body)?)
}

fn join(server: SocketAddr, team: &str) -> Result<Line> {
    let mut agent = Line::connect(server, team, "WELCOME")?;
    // The number of places left, and the size of the map.
    agent.read_to("")?;
    agent.read_to("")?;
    Ok(agent)
}

/// The next whole line; `None` at the end of the stream.
fn next_line(peer: &mut Line) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let is_read = peer.0.read_until(b'\n', &mut line).is_ok();
    (is_read && line.ends_with(b"\n")).then_some(line)
}

fn command(random: &mut Pcg64Mcg) -> String {
    const COMMANDS: [&str; 9] = [
        "Fork",
        "Incantation",
        "Take food",
        "Set food",
        "Right",
        "Look",
        "Forward",
        "Forward",
        "Forward",
    ];
    if let Some(word) = COMMANDS.get(random.next_u32() as usize % 24) {
        return format!("{word}\n");
    }
    let text = "x".repeat(random.next_u32() as usize % BROADCAST_BYTES_MAX);
    format!("Broadcast {text}\n")
}

/// Verifies the journal of a killed server. Returns its pieces and records, and whether the last record is torn.
fn verify(journal: &Path) -> Result<(usize, u64, bool)> {
    let files = pieces_in(&[journal.to_owned()])?;
    let (mut records, mut is_torn, mut follows) = (0, false, true);
    for checked in verify_all(&files, &[])? {
        let file = checked.file.display();
        ensure!(follows, "{file}: the piece before it did not end");
        follows = match checked.outcome {
            Outcome::Begun => false,
            Outcome::Played { played, ending, .. } => {
                records += played.records;
                is_torn |= matches!(
                    ending,
                    Ending::CutOff {
                        why: CutShort::Torn,
                        ..
                    }
                );
                match ending {
                    Ending::Continued => true,
                    Ending::CutOff {
                        why: CutShort::Nothing | CutShort::Torn,
                        ..
                    } => false,
                    other => bail!("{file}: {other:?}"),
                }
            }
            other => bail!("{file}: {other:?}"),
        };
    }
    Ok((files.len(), records, is_torn))
}

/// Checks that the recording sends a text viewer the lines that one received, and has the messages that agents received. Returns
/// their number.
fn check_received(recording: &Arc<Recording>, viewer: &Received, messages: &Received) -> Result<usize> {
    let mut sent: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let config = EngineConfig::new(recording.config().clone());
    for (_, line) in lines_to_text_viewer(recording, config)? {
        *sent.entry(line).or_default() += 1;
    }
    let broadcasts = sent.keys().filter(|line| line.starts_with(b"pbc "));
    let texts: BTreeSet<_> = broadcasts
        .map(|line| line.splitn(3, |byte| *byte == b' ').nth(2))
        .collect();
    for message in messages {
        let text = message.splitn(2, |byte| *byte == b',').nth(1);
        let is_sent = texts.contains(&text.map(<[u8]>::trim_ascii_start));
        ensure!(
            is_sent,
            "an agent received a broadcast that the journal does not show"
        );
    }
    // Lines about the shutdown are not in the journal.
    let end = viewer.iter().position(|line| line.starts_with(b"seg "));
    let until = end.map_or(viewer.len(), |place| place + 1);
    for line in &viewer[..until] {
        let left = sent.get_mut(line).filter(|left| **left > 0);
        *left.with_context(|| {
            let line = String::from_utf8_lossy(line);
            format!("the viewer received what the journal does not show: {line}")
        })? -= 1;
    }
    Ok(messages.len() + until)
}

/// Checks that the second run began with `end` and ended in order.
fn check_resumed(journal: &Path, mut end: Game) -> Result<()> {
    let files = pieces_in(&[journal.join("run-0002")])?;
    let first = files.first().context("the resumed server has no journal")?;
    end.release_agents();
    let resumed = Replay::open(read(first)?)?;
    ensure!(
        resumed.game.digest() == end.digest(),
        "it resumed after {} deadlines, and {} were recorded",
        resumed.game.steps(),
        end.steps()
    );
    match verify_all(&files, &[])?.pop().map(|last| last.outcome) {
        Some(Outcome::Played {
            ending: Ending::Closed,
            ..
        }) => Ok(()),
        other => bail!("the resumed server did not end in order: {other:?}"),
    }
}

/// The newest save in a folder, valid or not.
fn newest_save(saves: &Path) -> Result<Option<PathBuf>> {
    if !saves.exists() {
        return Ok(None);
    }
    let files = std::fs::read_dir(saves)?.map(|file| Ok(file?.path()));
    let files = files.collect::<Result<Vec<_>>>()?.into_iter();
    Ok(files
        .filter(|path| path.extension().is_some_and(|end| end == "trs"))
        .max())
}
