//! `trantor-bench abuse`: honest agents beside a crew of abusers, and the same agents without it.
//!
//! Three ways are measured in turn, several times, each with a fresh server: without abusers; with a crew that abuses another
//! server on the same machine, and so takes as much of the processors; and with a crew that abuses this one. Beside abusers
//! the honest p99 of lateness is to be at most a fifth above that without. The two are compared within each round, since a
//! machine is seldom the same for longer, and the median of those ratios counts. What the third is worse than the second is
//! the server's own doing; what the second is worse than the first is what the crew takes of the processors. The crew is a
//! program of its own that gets what the server and the honest leave over, as a network would give it.
//!
//! The crew comes when all the honest have begun. What one of them is late by with its first command it is late by for as long as
//! it plays, so that the p99 of a hundred would otherwise be that of a hundred first commands.
//!
//! Beside all three a thread only sleeps, as often as the honest have deadlines: by how much it is later beside a crew is the
//! machine's doing and nobody's mistake.
//!
//! Every kind of abuse is to be found in the server's counts, memory is to stay bounded, and nobody honest may be
//! lost.

pub(crate) mod crew;
mod kinds;

use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use trantor_bot::load::{LoadConfig, Mix, Phase, Report, Speed, run_watched};
use trantor_protocol::text::Dialect;
use trantor_server::descriptors;
use trantor_time::{Frequency, RealSpan};

use self::kinds::{Kind, TEAM};
use crate::child::{Server, ServerProgram};
use crate::samples::Runs;
use crate::sleeper::Sleeper;
use crate::table::Table;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seconds measured each time
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(i64).range(2..=600))]
    seconds: i64,
    /// Times that each is measured
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Abusers
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(9..=1_000))]
    abusers: u32,
    /// Honest agents
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    honest: u32,
    /// Commands that the honest keep open; with one, what is read late is late at every command
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=10))]
    in_flight: u16,
}

/// How long the honest, and the crew, are there before it counts: longer than the limits below, so that all that
/// abuse leads to has happened.
const WARM_UP: RealSpan = RealSpan::from_secs(5);

/// Limits on time are shorter than usual, so that they are reached while it is measured.
const LIMITS: [&str; 4] = ["--greeting-limit", "3", "--stall-limit", "3"];

/// The honest p99 beside abusers may be so many times what it is without.
const RATIO_MAX: f64 = 1.2;

/// Whom the crew abuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crew {
    None,
    Elsewhere,
    Here,
}

impl Crew {
    /// All of them, in the order in which they take turns.
    const ALL: [Self; 3] = [Self::None, Self::Elsewhere, Self::Here];

    /// What stands in the table.
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Elsewhere => "at another server",
            Self::Here => "at this server",
        }
    }
}

/// Memory that the server may hold in all, in bytes: a hundred of the dearest sessions.
const MEMORY_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// What was found in one run.
struct Run {
    report: Report,
    /// How late a thread was that only slept.
    sleeper_p99_us: f64,
    memory_bytes: u64,
    core: f64,
    /// What each kind did, and the server's counts of it.
    deeds: Vec<Vec<String>>,
}

/// Measures, prints, and fails if somebody honest was lost, a kind was not counted, or memory grew beyond its bound.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let mut ways = Crew::ALL.map(|crew| (crew, Vec::new()));
    for _ in 0..options.rounds {
        for (crew, runs) in &mut ways {
            runs.push(measure(options, *crew)?);
        }
    }
    let mut table = Table::new([
        "a crew",
        "honest p50, µs",
        "p90, µs",
        "p99, µs",
        "a sleeper's p99, µs",
        "p99.9, µs",
        "achieved/ideal",
        "lost",
        "server, % of a core",
        "server, MB",
    ]);
    for (crew, runs) in &ways {
        table.row(vec![
            crew.name().to_owned(),
            format!("{:.0}", median(runs, |run| run.report.lateness.p50_us)),
            format!("{:.0}", median(runs, |run| run.report.lateness.p90_us)),
            figures(runs, |run| run.report.lateness.p99_us).show(0),
            figures(runs, |run| run.sleeper_p99_us).show(0),
            format!("{:.0}", median(runs, |run| run.report.lateness.p999_us)),
            format!("{:.4}", median(runs, |run| run.report.achieved_of_ideal)),
            runs.iter()
                .map(|run| run.report.connections_lost)
                .sum::<u64>()
                .to_string(),
            format!("{:.0}", median(runs, |run| run.core * 100.0)),
            format!("{:.1}", median(runs, |run| run.memory_bytes as f64 / 1e6)),
        ]);
    }
    println!("{table}");
    let [(_, without), (_, elsewhere), (_, here)] = &ways;
    let last = here.last().context("there is a round at least")?;
    let mut deeds = Table::new([
        "abuse",
        "abusers",
        "connections",
        "let go",
        "MB sent",
        "counted as",
    ]);
    last.deeds.iter().for_each(|cells| deeds.row(cells.clone()));
    println!("{deeds}");

    let honest_p99 = |run: &Run| run.report.lateness.p99_us;
    let ratio = ratios(here, without, honest_p99);
    println!(
        "honest p99 beside abusers: {} times what it is without (at most {RATIO_MAX}). What they take of the processors makes \
         it {} times, and what the server does for them {} times. Of a thread that only sleeps, theirs makes the p99 {} times",
        ratio.show(2),
        ratios(elsewhere, without, honest_p99).show(2),
        ratios(here, elsewhere, honest_p99).show(2),
        ratios(here, without, |run| run.sleeper_p99_us).show(2),
    );
    for run in ways.iter().flat_map(|(_, runs)| runs) {
        ensure!(run.report.connections_lost == 0, "somebody honest was let go");
        ensure!(
            run.memory_bytes <= MEMORY_BYTES_MAX,
            "the server holds {} bytes",
            run.memory_bytes
        );
    }
    ensure!(
        ratio.median() <= RATIO_MAX,
        "the honest are served worse beside abusers"
    );
    Ok(())
}

fn measure(options: &Options, whom: Crew) -> Result<Run> {
    let honest = options.honest.to_string();
    let mut flags = vec!["-f", "1", "-x", "100", "-y", "100", "--seed", "1", "-c", &honest];
    flags.extend(["--respawn-slots", "on", "-n", "red", "blue", TEAM]);
    flags.extend(LIMITS);
    let server = options.program.start(&flags)?;
    let elsewhere = match whom {
        Crew::Elsewhere => {
            let other = options.program.start(&flags)?;
            put_last(&other);
            Some(other)
        }
        Crew::None | Crew::Here => None,
    };
    let abused = elsewhere.as_ref().unwrap_or(&server);
    let span = RealSpan::from_secs(options.seconds);
    let (mut crew, mut sleeper) = (None, None);
    let mut used = Vec::new();
    let report = run_watched(&honest_load(options, &server, span)?, |phase| {
        match phase {
            Phase::Begun if whom != Crew::None => {
                let seconds = options.seconds + WARM_UP.as_nanos() / 1_000_000_000;
                crew = Some(let_loose(abused, options.abusers, seconds));
            }
            Phase::Measuring => {
                used.push(server.processor_time());
                sleeper = Some(Sleeper::start());
            }
            Phase::Measured => used.push(server.processor_time()),
            Phase::Joined | Phase::Begun | Phase::Warm => {}
        };
    })?;
    let slept = sleeper.context("it was measured")??.end()?;
    let told = crew.transpose()?.map(Child::wait_with_output).transpose()?;
    let used = used.into_iter().collect::<Result<Vec<_>>>()?;
    let deeds = match told {
        Some(told) => counted(abused, &String::from_utf8(told.stdout)?)?,
        None => Vec::new(),
    };
    Ok(Run {
        core: (used[1] - used[0]).as_secs_f64() / report.measured_s,
        report,
        sleeper_p99_us: slept.quantile_us(0.99),
        memory_bytes: server.memory_peak_bytes()?,
        deeds,
    })
}

/// Lets another server have what this one and the honest leave over, as the crew has: otherwise it would take turns with
/// them as if it were one of them.
fn put_last(server: &Server) {
    let pid = server.pid().as_raw_nonzero().to_string();
    // Without such a program nothing is in another class.
    let _no_such_program = Command::new("chrt")
        .args(["--all-tasks", "--idle", "--pid", "0", &pid])
        .status();
}

fn honest_load(options: &Options, server: &Server, span: RealSpan) -> Result<LoadConfig> {
    Ok(LoadConfig {
        server: server.address,
        teams: vec!["red".to_owned(), "blue".to_owned()],
        agents: options.honest as usize,
        text_viewers: 0,
        frame_viewers: 0,
        in_flight: usize::from(options.in_flight),
        mix: Mix::default(),
        dialect: Dialect::default(),
        speed: Speed::Set(Frequency::new(100)?),
        warm_up: WARM_UP,
        duration: span,
        in_step: false,
        join_patience: RealSpan::from_secs(30),
        seed: 1,
    })
}

/// Starts a crew that runs when nobody else wants to.
pub(crate) fn let_loose(server: &Server, abusers: u32, seconds: i64) -> Result<Child> {
    let this = std::env::current_exe()?;
    let (address, count, seconds) = (
        server.address.to_string(),
        abusers.to_string(),
        seconds.to_string(),
    );
    let flags = [
        "abusers",
        "--address",
        &address,
        "--count",
        &count,
        "--seconds",
        &seconds,
    ];
    let last_of_all = Command::new("chrt")
        .args(["--idle", "0"])
        .arg(&this)
        .args(flags)
        .stdout(Stdio::piped())
        .spawn();
    last_of_all
        .or_else(|_no_such_program| Command::new(&this).args(flags).stdout(Stdio::piped()).spawn())
        .context("the crew cannot be started")
}

/// Rows of what each kind did, and what the server counted of it; fails if that is nothing.
fn counted(server: &Server, told: &str) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for (kind, line) in Kind::ALL.into_iter().zip(told.lines()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, count, connections, let_go, bytes] = fields[..] else {
            anyhow::bail!("the crew tells {line:?}");
        };
        let mut counts = Vec::new();
        for metric in kind.counted_as() {
            let value = server.metric(&format!("trantor_{metric}"))?;
            ensure!(value > 0.0, "{name}: the server counts nothing as {metric}");
            counts.push(format!("{metric} {value:.0}"));
        }
        let megabytes = bytes.parse::<f64>()? / 1e6;
        rows.push(vec![
            name.to_owned(),
            count.to_owned(),
            connections.to_owned(),
            let_go.to_owned(),
            format!("{megabytes:.1}"),
            counts.join(", "),
        ]);
    }
    Ok(rows)
}

/// How many times a figure of `one` is that of `other`, in each round.
fn ratios(one: &[Run], other: &[Run], figure: impl Fn(&Run) -> f64) -> Runs {
    one.iter()
        .zip(other)
        .map(|(one, other)| figure(one) / figure(other))
        .collect()
}

fn figures(runs: &[Run], figure: impl Fn(&Run) -> f64) -> Runs {
    runs.iter().map(figure).collect()
}

fn median(runs: &[Run], figure: impl Fn(&Run) -> f64) -> f64 {
    figures(runs, figure).median()
}
