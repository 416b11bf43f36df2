//! `trantor-bench soak`: one server for a long time under load, abuse and faults.
//!
//! Rounds of different kinds alternate: calm ones, crowds with viewers, abuse, and the highest speed. All clients disconnect
//! between rounds. Once the process is stopped for ten seconds, and once it runs out of descriptors. It records and saves
//! all the time.
//!
//! Good: memory does not grow, no descriptor leaks, calm rounds keep their lateness, the shutdown is clean, and the
//! recording replays to the same world.

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

use crate::abuse::start_abusers;
use crate::figures::{Column, Runs, Table};
use crate::load::{Measured, load, measure};
use crate::process::{Line, Server, ServerProgram, sleep, wait_until};

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
enum Kind {
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

/// A round, and the server once all clients had left.
struct Round {
    kind: Kind,
    measured: Measured,
    memory_bytes: u64,
    descriptors: usize,
}

/// Allowed growth of memory in the second half of the rounds, as a share. A server allocates on first need; steady growth
/// after that is a leak. Twenty minutes show a leak of a few bytes for each connection.
const GROWTH_MAX: f64 = 0.05;

/// Rounds in the second half that an estimate of growth needs: each kind twice.
const ROUNDS_MIN: usize = 8;

/// Descriptors of background jobs: a save, a piece of the journal being packed or synced.
const DESCRIPTORS_UNDER_WAY_MAX: usize = 3;

/// Least achieved/ideal of a calm round.
const ACHIEVED_MIN: f64 = 0.999;

const COLUMNS: [Column<Round>; 8] = [
    ("agents", 0, |round| round.measured.report.agents as f64),
    ("viewers", 0, |round| {
        round.measured.report.viewers.iter().sum::<usize>() as f64
    }),
    ("commands", 0, |round| {
        round.measured.report.counts.commands as f64
    }),
    ("late p99, µs", 0, |round| round.measured.report.lateness.p99_us),
    ("achieved/ideal", 4, |round| {
        round.measured.report.achieved_of_ideal
    }),
    ("MB afterwards", 1, |round| round.memory_bytes as f64 / 1e6),
    ("descriptors", 0, |round| round.descriptors as f64),
    ("journal, MB", 1, |round| {
        round.measured.metrics.get("journal_written_bytes_total") / 1e6
    }),
];

/// Runs the rounds, prints a row for each, and fails if a check fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let name = format!("trantor-soak-{}", std::process::id());
    let folder = options.folder.clone();
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join(name));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (record, save) = (folder.join("recordings"), folder.join("saves"));
    let flags = "-f 1 -x 60 -y 60 -c 400 -n red blue grey --respawn-slots on --seed 1 --greeting-limit 3 --stall-limit 3 \
                 --save-every 10s";
    let server = options
        .program
        .start(flags, &[("--record", &record), ("--save", &save)])?;
    let mut rows: Vec<(String, Vec<Round>)> = Vec::new();
    let clock = RealClock::new();
    let until = clock.now() + RealSpan::from_secs(options.minutes * 60);
    while clock.now() < until {
        let number = rows.len();
        let trouble = match number.checked_sub(TURNS.len()) {
            Some(0) => {
                stop_for_ten_seconds(&server)?;
                " after it was stopped for 10 s"
            }
            Some(1) => {
                take_descriptors_away(&server)?;
                " after it had no descriptors"
            }
            _ => "",
        };
        let kind = TURNS[number % TURNS.len()];
        let name = format!("{number}: {kind:?}{trouble}");
        let usual = rows.first().map_or(0, |(_, rounds)| rounds[0].descriptors);
        let round = soak_round(&server, kind, number, usual).with_context(|| name.clone())?;
        eprintln!("{name}: {} bytes", round.memory_bytes);
        rows.push((name, vec![round]));
    }
    server.stop()?;
    verify(options, &record)?;
    ensure!(std::fs::read_dir(&save)?.next().is_some(), "nothing was saved");
    println!("{}", Table::of("round", &COLUMNS, &rows));
    check(
        &rows
            .into_iter()
            .flat_map(|(_, rounds)| rounds)
            .collect::<Vec<_>>(),
    )?;
    if options.folder.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    println!("soak: clean");
    Ok(())
}

/// One round, and the state of the server after all clients left.
fn soak_round(server: &Server, kind: Kind, number: usize, usual_descriptors: usize) -> Result<Round> {
    let mut abusers = None;
    let measured = measure(server, &load_of(kind, number, server)?, |phase| {
        if phase == Phase::Joined && kind == Kind::Abuse {
            abusers = Some(start_abusers(server, 100, ROUND_SECONDS + 1));
        }
    })?;
    if let Some(mut abusers) = abusers.transpose()? {
        ensure!(abusers.0.wait()?.success(), "the abusers failed");
    }
    wait_until(
        PATIENCE,
        "connections of clients that have left stay open",
        || Ok(server.metrics()?.get("connections_open") == 0.0),
    )?;
    // Do not count descriptors that are open for a moment only.
    let at_rest = || Ok(server.process.descriptors()? <= usual_descriptors);
    let _more_stay_open = wait_until(DESCRIPTOR_PATIENCE, "see `check`", at_rest);
    Ok(Round {
        kind,
        measured,
        memory_bytes: server.process.memory_bytes()?[0],
        descriptors: server.process.descriptors()?,
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
    load(server, &flags, RealSpan::from_secs(ROUND_SECONDS))
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
    let back_offs = || Ok::<_, anyhow::Error>(server.metrics()?.get("listener_back_offs_total"));
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

/// Fails if an honest peer was lost, descriptors leak, or a calm round or the memory got worse.
fn check(rounds: &[Round]) -> Result<()> {
    let usual = rounds.first().map_or(0, |round| round.descriptors);
    for (number, round) in rounds.iter().enumerate() {
        let (report, open) = (&round.measured.report, round.descriptors);
        let lost = report.counts.connections_lost;
        ensure!(lost == 0, "round {number}: {lost} honest peers were lost");
        ensure!(
            open <= usual + DESCRIPTORS_UNDER_WAY_MAX,
            "round {number}: {open} descriptors stay open, {usual} before"
        );
        let achieved = report.achieved_of_ideal;
        ensure!(
            round.kind != Kind::Calm || achieved >= ACHIEVED_MIN,
            "round {number}: a calm one achieved {achieved:.4} of the ideal"
        );
    }
    let memory = rounds.iter().map(|round| (round.kind, round.memory_bytes as f64));
    // The first half warms up.
    check_memory(&memory.skip(rounds.len() / 2).collect::<Vec<_>>())
}

/// Fails if memory grows: the growth in each round is the median slope over all pairs of rounds of the same kind (Theil-Sen),
/// robust against single rounds and the alternation.
fn check_memory(rounds: &[(Kind, f64)]) -> Result<()> {
    let pairs = (0..rounds.len()).flat_map(|late| (0..late).map(move |early| (early, late)));
    let same = pairs.filter(|&(early, late)| rounds[early].0 == rounds[late].0);
    let slopes: Runs = same
        .map(|(early, late)| (rounds[late].1 - rounds[early].1) / (late - early) as f64)
        .collect();
    let level = rounds.iter().map(|(_, bytes)| *bytes).collect::<Runs>().median();
    let part = slopes.median() * rounds.len() as f64 / level;
    if rounds.len() < ROUNDS_MIN {
        return Ok(());
    }
    println!(
        "memory, second half: {:.1} MB, and {:+.0} KB with each round: {:+.1} % in {} rounds",
        level / 1e6,
        slopes.median() / 1e3,
        part * 100.0,
        rounds.len()
    );
    ensure!(
        part <= GROWTH_MAX,
        "memory grows (at most {:.0} %)",
        GROWTH_MAX * 100.0
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_is_found() {
        let checked = |bytes: fn(u8) -> u8| {
            let rounds = (0..16).map(|number| (TURNS[usize::from(number) % 4], f64::from(bytes(number))));
            check_memory(&rounds.collect::<Vec<_>>()).is_ok()
        };
        assert!(checked(|_| 12));
        assert!(!checked(|number| 12 + number));
        assert!(
            checked(|number| if number == 14 { 40 } else { 12 }),
            "one odd round"
        );
    }
}
