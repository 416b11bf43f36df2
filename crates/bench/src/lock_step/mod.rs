//! `trantor-bench lock-step`: how many actions a second a server in lock-step carries out, with bots as processes.
//!
//! The server is a child of this program, and so is each process of bots: they talk over loopback and share the
//! machine's cores. A bot walks, and sends its next step when the last one is answered, so that nothing but the bots
//! and the system between them sets the pace. Good is more than 50,000 actions a second in all.

pub(crate) mod walkers;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use trantor_protocol::OPERATOR_WORD;
use trantor_runtime::{Parker, RealClock, Wait};
use trantor_time::{Clock, RealSpan};

use crate::child::ServerProgram;
use crate::table::Table;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seconds measured for each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(i64).range(1..=600))]
    seconds: i64,
}

/// Processes, agents in each, and the sides of the map.
const LOADS: [(u32, u32, u32); 5] = [(2, 1, 10), (12, 1, 20), (2, 6, 20), (100, 1, 100), (4, 250, 100)];

/// How long the bots walk before they are measured.
const WARM_UP: RealSpan = RealSpan::from_millis(500);

/// The server's count of commands.
const COMMANDS: &str = "trantor_commands_total";

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut table = Table::new([
        "processes",
        "agents in each",
        "map",
        "actions/s",
        "units/s",
        "µs of the server per action",
    ]);
    for (processes, agents, side) in LOADS {
        let row = measure(options, processes, agents, side)?;
        table.row(vec![
            processes.to_string(),
            agents.to_string(),
            format!("{side} × {side}"),
            format!("{:.0}", row.actions_per_s),
            format!("{:.0}", row.units_per_s),
            format!("{:.1}", row.server_us_per_action),
        ]);
    }
    println!("{table}");
    Ok(())
}

struct Row {
    actions_per_s: f64,
    units_per_s: f64,
    server_us_per_action: f64,
}

fn measure(options: &Options, processes: u32, agents: u32, side: u32) -> Result<Row> {
    let places = (processes * agents / 2).to_string();
    let side = side.to_string();
    let server = options.program.start(&[
        "--lock-step",
        "on",
        "-n",
        "red",
        "blue",
        "-c",
        &places,
        "-x",
        &side,
        "-y",
        &side,
        "--seed",
        "1",
        // The line below is said by a program that shows no token.
        "--control",
        "loopback",
    ])?;
    // The map is too small for so many to live on what grows there.
    operate(server.address, "hunger off")?;
    let bots = (0..processes)
        .map(|number| Bots::start(server.address, ["red", "blue"][number as usize % 2], agents))
        .collect::<Result<Vec<Bots>>>()?;
    let clock = RealClock::new();
    let rest = |span| Parker::new().wait(Some(clock.now() + span));
    let counts = || -> Result<_> { Ok((clock.now(), server.metric(COMMANDS)?, server.processor_time()?)) };
    rest(WARM_UP);
    let (began, commands_before, used_before) = counts()?;
    rest(RealSpan::from_secs(options.seconds));
    let (ended, commands, used) = counts()?;
    drop(bots);
    let seconds = ended.since(began).as_millis_f64() / 1_000.0;
    let actions = commands - commands_before;
    if actions < 1.0 {
        bail!("nobody plays");
    }
    let actions_per_s = actions / seconds;
    Ok(Row {
        actions_per_s,
        // Everybody takes a step in 7 units.
        units_per_s: actions_per_s * 7.0 / f64::from(processes * agents),
        server_us_per_action: (used.as_millis_f64() - used_before.as_millis_f64()) * 1_000.0 / actions,
    })
}

/// Says a line on the server's console.
fn operate(server: SocketAddr, line: &str) -> Result<()> {
    let mut stream = TcpStream::connect(server)?;
    stream.write_all(format!("{OPERATOR_WORD}\n{line}\n").as_bytes())?;
    let mut answers = BufReader::new(stream).lines();
    // The greeting, the answer to the word, and that to the line.
    for _ in 0..3 {
        let answer = answers.next().context("the server ends the connection")??;
        if answer.starts_with("ko") {
            bail!("the server refuses {line:?}: {answer}");
        }
    }
    Ok(())
}

/// A process of bots; ended when it is dropped.
struct Bots(Child);

impl Bots {
    fn start(server: SocketAddr, team: &str, agents: u32) -> Result<Self> {
        let child = Command::new(std::env::current_exe()?)
            .args(["walkers", "--address", &server.to_string(), "--team", team])
            .args(["--agents", &agents.to_string()])
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Bots {
    fn drop(&mut self) {
        // It ends by itself once the server has.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}
