//! `trantor-bench idle`: what a server does when there is nothing to do.
//!
//! A thread that sleeps and is woken makes a voluntary context switch. Good: none, and less than a millisecond of processor
//! time in ten seconds.
//!
//! Then the processor time of one agent's question, alone and beside thousands of silent connections. Good: at most twice as
//! much.

use std::net::TcpStream;

use anyhow::{Result, ensure};
use trantor_server::descriptors;
use trantor_time::RealSpan;

use crate::figures::{Column, Table};
use crate::process::{Line, Server, ServerProgram, Usage, sleep};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Silent connections beside which one agent talks
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    silent: u32,
    /// How long each situation is watched
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..=3_600))]
    seconds: i64,
}

/// At 100 units a second agents starve 12.6 seconds after their birth: how long they have to come to rest, and how long they
/// are watched then.
const AT_REST_SPAN: RealSpan = RealSpan::from_secs(2);
const EATING_AGENTS_SECONDS: i64 = 6;

/// Questions of the agent that talks.
const QUESTIONS: u32 = 20_000;

const COLUMNS: [Column<Usage>; 2] = [
    ("wake-ups", 0, |used| used.sleeps as f64),
    ("processor time, ms", 3, |used| used.processor.as_millis_f64()),
];

/// Measures and prints. Fails if an idle server was woken.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let mut rows = Vec::new();
    let mut watch = |server: &Server, situation: &str, seconds: i64| -> Result<()> {
        settle(server)?;
        let before = server.process.usage()?;
        sleep(RealSpan::from_secs(seconds));
        let used = server.process.usage()?.since(before);
        rows.push((format!("{situation}, {seconds} s"), vec![used]));
        Ok(())
    };
    // At one unit a second, what agents eat in a minute and what is due in an hour lies far ahead.
    // Thousands of silent ones connect at once below, which the usual rate would refuse.
    let flags = "-f 1 -c 1000 -x 100 -y 100 --accept-rate 20000";
    let server = options.program.start(flags, &[])?;
    watch(&server, "no connections", options.seconds)?;
    let connect = |server: &Server, count, word: &str, last: &str| -> Result<Vec<Line>> {
        (0..count)
            .map(|_| Line::connect(server.address, word, last))
            .collect()
    };
    let mut viewers = connect(&server, 50, "GRAPHIC", "sgt ")?;
    watch(&server, "50 silent viewers", options.seconds)?;
    let agents = connect(&server, 1_000, "red", "100 100")?;
    // No viewer's buffer is to be full.
    viewers.iter_mut().try_for_each(Line::drain)?;
    watch(&server, "50 viewers, 1,000 agents that wait", options.seconds)?;
    drop((viewers, agents));

    let usual = options.program.start("-f 100 -c 50 -x 20 -y 20", &[])?;
    let agents = connect(&usual, 50, "red", "20 20")?;
    sleep(AT_REST_SPAN);
    watch(
        &usual,
        "50 silent agents at 100 units a second",
        EATING_AGENTS_SECONDS,
    )?;
    drop(agents);

    println!("{}", Table::of("situation", &COLUMNS, &rows));
    println!("{}", beside_silent_ones(&server, options.silent)?);
    let woken: u64 = rows.iter().map(|(_, used)| used[0].sleeps).sum();
    ensure!(woken == 0, "an idle server was woken {woken} times");
    Ok(())
}

fn beside_silent_ones(server: &Server, silent: u32) -> Result<Table> {
    let mut talker = Line::connect(server.address, "blue", "100 100")?;
    let (mut rows, mut silent_ones) = (Vec::new(), Vec::new());
    for count in [0, silent] {
        while silent_ones.len() < count as usize {
            silent_ones.push(TcpStream::connect(server.address)?);
        }
        settle(server)?;
        let before = server.process.usage()?;
        for _ in 0..QUESTIONS {
            talker.send("Connect_nbr\n")?;
            talker.read_to("")?;
        }
        let used = server.process.usage()?.since(before).processor;
        rows.push((
            count.to_string(),
            vec![used.as_secs_f64() * 1e6 / f64::from(QUESTIONS)],
        ));
    }
    let columns: [Column<f64>; 1] = [("processor time per question, µs", 1, |us| *us)];
    Ok(Table::of("silent connections", &columns, &rows))
}

/// Waits until the server has done what was asked of it before.
fn settle(server: &Server) -> Result<()> {
    loop {
        let before = server.process.usage()?;
        sleep(RealSpan::from_millis(300));
        if server.process.usage()?.since(before).sleeps == 0 {
            return Ok(());
        }
    }
}
