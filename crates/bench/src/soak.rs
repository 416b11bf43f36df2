//! `trantor-bench soak`: one server for a long time under load, abuse and faults.
//!
//! Rounds of different kinds alternate: calm ones, crowds with viewers, abuse, and the highest speed. All clients disconnect
//! between rounds. Once the process is stopped for ten seconds, and once it runs out of descriptors. It records and saves
//! all the time.
//!
//! Good: memory does not grow, no descriptor leaks, calm rounds keep their lateness, the shutdown is clean, and the
//! recording replays to the same world.

mod checks;

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use trantor_bot::load::Phase;
use trantor_bot::load::cli::Options as LoadOptions;
use trantor_runtime::RealClock;
use trantor_server::descriptors;
use trantor_time::{Clock, RealSpan};

use self::checks::Round;
use crate::abuse::start_abusers;
use crate::figures::Table;
use crate::process::{Line, Server, ServerProgram, load, run_load, sleep, wait_until};

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Minutes
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=100_000))]
    minutes: i64,
    /// Where the server records and saves; a temporary folder if not given
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Kind of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Calm,
    Crowd,
    Abuse,
    Fast,
}

/// Rounds take turns in this order.
const TURNS: [Kind; 4] = [Kind::Calm, Kind::Crowd, Kind::Abuse, Kind::Fast];

/// Measured part of a round.
const ROUND_SECONDS: i64 = 8;

/// Time limit for detecting all disconnects, and for greeting clients that waited for a descriptor.
const PATIENCE: RealSpan = RealSpan::from_secs(15);

/// Longest use of a descriptor by a save or the packing of a journal piece.
const DESCRIPTOR_PATIENCE: RealSpan = RealSpan::from_secs(2);

/// Connections opened while the server has no descriptors for them, and descriptors left to it.
const LATECOMERS: usize = 50;
const DESCRIPTORS_LEFT: u64 = 4;

/// Runs the rounds, prints a row for each, and fails if a check fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let folder = options.folder.clone();
    let folder =
        folder.unwrap_or_else(|| std::env::temp_dir().join(format!("trantor-soak-{}", std::process::id())));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (record, save) = (folder.join("recordings"), folder.join("saves"));
    let flags = "-f 1 -x 60 -y 60 -c 400 -n red blue grey --respawn-slots on --seed 1 --greeting-limit 3 --stall-limit 3 \
                 --save-every 10s";
    let server = options
        .program
        .start(flags, &[("--record", &record), ("--save", &save)])?;
    let mut rounds = Vec::new();
    let clock = RealClock::new();
    let until = clock.now() + RealSpan::from_secs(options.minutes * 60);
    while clock.now() < until {
        let round = soak_round(&server, &rounds)?;
        eprintln!("{}", round.cells(rounds.len()).join(" | "));
        rounds.push(round);
    }
    server.stop()?;
    verify(options, &record)?;
    ensure!(std::fs::read_dir(&save)?.next().is_some(), "nothing was saved");
    let mut table = Table::new(&[
        "round",
        "what",
        "agents",
        "viewers",
        "commands",
        "late p99, µs",
        "achieved/ideal",
        "MB afterwards",
        "descriptors",
        "journal, MB",
    ]);
    for (number, round) in rounds.iter().enumerate() {
        table.row(round.cells(number));
    }
    println!("{table}");
    checks::compare(&rounds)?;
    if options.folder.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    println!("soak: clean");
    Ok(())
}

/// One round, and the state of the server after all clients left.
fn soak_round(server: &Server, before: &[Round]) -> Result<Round> {
    let number = before.len();
    let kind = TURNS[number % TURNS.len()];
    let trouble = match number.checked_sub(TURNS.len()) {
        Some(0) => {
            stop_for_ten_seconds(server)?;
            " after it was stopped for 10 s"
        }
        Some(1) => {
            take_descriptors_away(server)?;
            " after it had no descriptors"
        }
        _ => "",
    };
    let mut abusers = None;
    let (report, _) = run_load(&load_of(kind, number, server)?, &server.process, |phase| {
        if phase == Phase::Joined && kind == Kind::Abuse {
            abusers = Some(start_abusers(server, 100, ROUND_SECONDS + 1));
        }
    })
    .with_context(|| format!("round {number}, {kind:?}"))?;
    if let Some(mut abusers) = abusers.transpose()? {
        ensure!(abusers.0.wait()?.success(), "the abusers failed");
    }
    wait_until(
        PATIENCE,
        "connections of clients that have left stay open",
        || Ok(server.metric("trantor_connections_open")? == 0.0),
    )?;
    // Do not count descriptors that are open for a moment only.
    let usual = before.first().map_or(0, |round| round.descriptors);
    let at_rest = || Ok(server.process.descriptors()? <= usual);
    let _more_stay_open = wait_until(DESCRIPTOR_PATIENCE, "see `checks`", at_rest);
    Ok(Round {
        kind,
        trouble,
        agents: report.agents,
        viewers: report.viewers.iter().sum(),
        commands: report.counts.commands,
        late_p99_us: report.lateness.p99_us,
        achieved: report.achieved_of_ideal,
        lost: report.counts.connections_lost,
        memory_bytes: server.process.memory_bytes()?,
        descriptors: server.process.descriptors()?,
        journal_bytes: server.metric("trantor_journal_written_bytes_total")?,
    })
}

fn load_of(kind: Kind, number: usize, server: &Server) -> Result<LoadOptions> {
    let (agents, viewers, frequency) = match kind {
        Kind::Calm | Kind::Abuse => (100, 0, 100),
        // Another number each time, and small and large ones early, so that a later one does not need more memory only
        // because it is the largest so far.
        Kind::Crowd => (150 + number / TURNS.len() * 67 % 150, 20, 1_000),
        Kind::Fast => (50, 2, 10_000),
    };
    let in_flight = match kind {
        Kind::Calm => 2,
        Kind::Crowd | Kind::Abuse | Kind::Fast => 1 + number % 4,
    };
    let flags = format!(
        "-a {agents} -f {frequency} -k {in_flight} --text-viewers {viewers} --frame-viewers {viewers} --seed {number}"
    );
    load(server.address, &flags, RealSpan::from_secs(ROUND_SECONDS))
}

/// Stops the process for ten seconds; it must answer after it resumes.
fn stop_for_ten_seconds(server: &Server) -> Result<()> {
    kill_process(server.process.pid(), Signal::STOP)?;
    sleep(RealSpan::from_secs(10));
    kill_process(server.process.pid(), Signal::CONT)?;
    Line::connect(server.address, "GRAPHIC", "WELCOME").map(drop)
}

/// Lowers the server's limit of descriptors while clients connect, and restores it. The server must count its back-off and
/// greet all waiting clients.
fn take_descriptors_away(server: &Server) -> Result<()> {
    let back_offs = || server.metric("trantor_listener_back_offs_total");
    let (before, pid) = (back_offs()?, Some(server.process.pid()));
    let few = Rlimit {
        current: Some(server.process.descriptors()? as u64 + DESCRIPTORS_LEFT),
        // The server inherited this process's limit.
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    let usual = prlimit(pid, Resource::Nofile, few)?;
    let latecomers: Vec<TcpStream> = (0..LATECOMERS)
        .map(|_| TcpStream::connect(server.address))
        .collect::<Result<_, _>>()?;
    sleep(RealSpan::from_millis(1_500));
    prlimit(pid, Resource::Nofile, usual)?;
    for latecomer in latecomers {
        latecomer.set_read_timeout(Some(PATIENCE.to_std()))?;
        let mut line = Line(std::io::BufReader::new(latecomer));
        line.read_to("WELCOME")
            .context("a client that waited for a descriptor")?;
    }
    ensure!(
        back_offs()? > before,
        "a server without descriptors does not count it"
    );
    Ok(())
}

/// Verifies the recordings.
fn verify(options: &Options, recordings: &Path) -> Result<()> {
    let mut command = Command::new(options.program.path()?);
    let verified = command.args(["replay", "verify"]).arg(recordings).output()?;
    let printed = String::from_utf8_lossy(&verified.stdout);
    println!("replay verify: {}", printed.lines().last().unwrap_or("nothing"));
    let errors = String::from_utf8_lossy(&verified.stderr);
    ensure!(
        verified.status.success(),
        "the recording does not replay: {printed}{errors}"
    );
    Ok(())
}
