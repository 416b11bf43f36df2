//! `trantor-bench soak`: one server for a long time, under all that may happen to it.
//!
//! Rounds of different kinds take turns: calm ones, crowds that come and go with viewers, abuse, and the highest speed.
//! In between everybody leaves. Once the process is stopped for ten seconds and goes on, and once its descriptors are
//! taken away. All the time it records and saves.
//!
//! Good is: memory of the later rounds is that of the earlier ones, no descriptor stays open, calm rounds are served
//! as the first was, the end is an orderly one, and what was recorded replays to the same world.

mod checks;
mod trouble;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, Result, bail, ensure};
use trantor_bot::load::{LoadConfig, Mix, Phase, Speed, run_watched};
use trantor_protocol::text::Dialect;
use trantor_runtime::{Parker, RealClock, Wait};
use trantor_server::descriptors;
use trantor_time::{Clock, Frequency, RealSpan, RealTime};

use self::checks::Round;
use crate::abuse::let_loose;
use crate::child::{Server, ServerProgram};
use crate::table::Table;

/// How long, and where what is recorded goes.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Minutes
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=100_000))]
    minutes: i64,
    /// Where the server records and saves; a folder of the system's for such things if not given
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// What a round is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Calm,
    Crowd,
    Abuse,
    Fast,
}

/// Rounds take turns in this order.
const TURNS: [Kind; 4] = [Kind::Calm, Kind::Crowd, Kind::Abuse, Kind::Fast];

/// How long a round is measured.
const ROUND_SPAN: RealSpan = RealSpan::from_secs(8);

/// How long the server may take to see that everybody has left, and to end in order.
const PATIENCE: RealSpan = RealSpan::from_secs(15);

/// Looks at the open descriptors, a tenth of a second apart, before they count as staying open.
const LOOKS: usize = 20;

/// Abusers in a round of abuse.
const ABUSERS: u32 = 100;

/// The server of a soak, and where it keeps things.
struct Soak {
    server: Server,
    program: PathBuf,
    folder: PathBuf,
    rounds: Vec<Round>,
    clock: RealClock,
}

/// Soaks, prints a row for each round, and fails if something is not as it should be.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("trantor-soak-{}", std::process::id())),
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut soak = Soak::start(&options.program, &folder)?;
    let until = soak.clock.now() + RealSpan::from_secs(options.minutes * 60);
    while soak.clock.now() < until {
        soak.round()?;
    }
    let rounds = std::mem::take(&mut soak.rounds);
    soak.end()?;
    println!("{}", table(&rounds));
    checks::compare(&rounds)?;
    if options.folder.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    println!("soak: clean");
    Ok(())
}

impl Soak {
    fn start(program: &ServerProgram, folder: &Path) -> Result<Self> {
        let (record, save) = (folder.join("recordings"), folder.join("saves"));
        let (record, save) = (record.display().to_string(), save.display().to_string());
        let server = program.start(&[
            "-f",
            "1",
            "-x",
            "60",
            "-y",
            "60",
            "-c",
            "400",
            "-n",
            "red",
            "blue",
            "grey",
            "--respawn-slots",
            "on",
            "--seed",
            "1",
            "--greeting-limit",
            "3",
            "--stall-limit",
            "3",
            "--record",
            &record,
            "--save",
            &save,
            "--save-every",
            "10s",
        ])?;
        Ok(Self {
            server,
            program: program.path()?,
            folder: folder.to_owned(),
            rounds: Vec::new(),
            clock: RealClock::new(),
        })
    }

    /// One round, and how things stand once everybody has left.
    fn round(&mut self) -> Result<()> {
        let number = self.rounds.len();
        let kind = TURNS[number % TURNS.len()];
        let mut trouble = "";
        if number == TURNS.len() {
            trouble::stop_for_ten_seconds(&self.server)?;
            trouble = "after it was stopped for 10 s";
        }
        if number == TURNS.len() + 1 {
            trouble::take_descriptors_away(&self.server)?;
            trouble = "after it had no descriptors";
        }
        let mut crew: Option<Result<Child>> = None;
        let report = run_watched(&load(kind, number, &self.server)?, |phase| {
            if phase == Phase::Joined && kind == Kind::Abuse {
                let seconds = ROUND_SPAN.as_nanos() / 1_000_000_000 + 1;
                crew = Some(let_loose(&self.server, ABUSERS, seconds));
            }
        });
        let report = report.with_context(|| format!("round {number}, {kind:?}"))?;
        if let Some(crew) = crew {
            ensure!(crew?.wait()?.success(), "the crew of abusers failed");
        }
        self.wait_until_empty()?;
        let round = Round {
            kind,
            trouble,
            agents: report.agents,
            viewers: report.viewers.iter().sum(),
            commands: report.commands,
            late_p99_us: report.lateness.p99_us,
            achieved: report.achieved_of_ideal,
            lost: report.connections_lost,
            memory_bytes: self.server.memory_bytes()?,
            descriptors: self.descriptors_at_rest()?,
            journal_bytes: self.server.metric("trantor_journal_written_bytes_total")?,
        };
        eprintln!("round {number}: {}", round.cells(number).join(" | "));
        self.rounds.push(round);
        Ok(())
    }

    fn wait_until_empty(&self) -> Result<()> {
        let until = self.clock.now() + PATIENCE;
        while self.server.metric("trantor_connections_open")? > 0.0 {
            ensure!(
                self.clock.now() < until,
                "connections stay open that nobody holds any more"
            );
            sleep(RealSpan::from_millis(200));
        }
        Ok(())
    }

    /// Descriptors that stay open. A save or a finished piece of the journal takes another one for a moment.
    fn descriptors_at_rest(&self) -> Result<usize> {
        let mut least = self.server.descriptors()?;
        let usual = self.rounds.first().map_or(0, |round| round.descriptors);
        for _ in 0..LOOKS {
            if least <= usual {
                break;
            }
            sleep(RealSpan::from_millis(100));
            least = least.min(self.server.descriptors()?);
        }
        Ok(least)
    }

    /// Ends the server in order, and replays what it has recorded.
    fn end(mut self) -> Result<()> {
        let status = self.server.end(self.clock.now() + PATIENCE)?;
        ensure!(status.success(), "the server ended with {status}");
        let verified = Command::new(&self.program)
            .args(["replay", "verify"])
            .arg(self.folder.join("recordings"))
            .output()?;
        let told = String::from_utf8_lossy(&verified.stdout);
        println!("replay verify: {}", told.lines().last().unwrap_or("nothing"));
        if !verified.status.success() {
            bail!(
                "the recording does not replay: {told}{}",
                String::from_utf8_lossy(&verified.stderr)
            );
        }
        let saves = std::fs::read_dir(self.folder.join("saves"))?.count();
        ensure!(saves > 0, "nothing was saved");
        Ok(())
    }
}

fn load(kind: Kind, number: usize, server: &Server) -> Result<LoadConfig> {
    let (agents, viewers, frequency) = match kind {
        Kind::Calm | Kind::Abuse => (100, 0, 100),
        Kind::Crowd => (crowd(number / TURNS.len()), 20, 1_000),
        Kind::Fast => (50, 2, 10_000),
    };
    Ok(LoadConfig {
        server: server.address,
        teams: vec!["red".to_owned(), "blue".to_owned()],
        agents,
        text_viewers: viewers,
        frame_viewers: viewers,
        // With one open an answer has to go there and back between two, which is not the server's doing.
        in_flight: match kind {
            Kind::Calm => 2,
            Kind::Crowd | Kind::Abuse | Kind::Fast => 1 + number % 4,
        },
        mix: Mix::default(),
        dialect: Dialect::default(),
        speed: Speed::Set(Frequency::new(frequency)?),
        warm_up: RealSpan::from_secs(1),
        duration: ROUND_SPAN,
        in_step: false,
        join_patience: RealSpan::from_secs(30),
        seed: number as u64,
    })
}

/// Agents in the `nth` crowd: another number each time, and small and large ones early, so that a later one does not need
/// more memory only because it is the largest so far.
fn crowd(nth: usize) -> usize {
    150 + nth * 67 % 150
}

fn table(rounds: &[Round]) -> Table {
    let mut table = Table::new([
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
    table
}

/// Sleeps; a tool that watches a server has nothing else to do.
pub(crate) fn sleep(span: RealSpan) {
    let until: RealTime = RealClock::new().now() + span;
    Parker::new().wait(Some(until));
}
