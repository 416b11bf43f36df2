//! `trantor-bench accuracy`: the server's timing against the real clock, as a client sees it over loopback.
//!
//! - *Completions*: agents that always have commands waiting; how late each reply is after its ideal instant, counted
//!   from the moment the agent sent its first command. Beside it, how late the server says that its deadlines fired.
//!   Good: p99 under 1 ms at any frequency, and none early.
//! - *Stops*: the same with one and two commands in flight, while the process is stopped for 20 ms now and then. Good: no
//!   reply before its 7 units have passed since its command was sent.
//! - *Chain*: a thousand commands back to back at a frequency that divides nothing evenly. Good: the end is within
//!   1 ms of the ideal, because lateness does not add up.
//! - *Speed set again*: a Fork during which the same speed is set every millisecond. Good: it takes as long as ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::process::{Pid, Signal, kill_process};
use trantor_game::OUTSTANDING_MAX;
use trantor_runtime::{RealClock, threads};
use trantor_time::{Clock, RealSpan};

use crate::figures::{Column, Table};
use crate::load::{Measured, load, measure};
use crate::process::{Line, STEP_UNITS, Server, ServerProgram, sleep};

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Frequencies for the completions
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    frequencies: Vec<u32>,
    /// Agents at one time
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    agents: u32,
    /// Completions to measure for each frequency
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    completions: u32,
    /// Commands in the chain
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    chain: u32,
    /// Completions to measure for each frequency while the server's process is stopped at random; 0 skips this
    #[arg(long, default_value_t = 10_000)]
    stopped: u32,
}

/// Length of a stop of the server's process.
const STOP_SPAN: RealSpan = RealSpan::from_millis(20);

/// Longest time between two stops, at random instants.
const STOP_EVERY_US_MAX: u32 = 60_000;

/// Highest speed measured with stops; at higher ones agents starve during a stop.
const STOPPED_FREQUENCY_MAX: u32 = 1_000;

/// Frequency of the chain: it divides neither a second nor a millisecond.
const CHAIN_FREQUENCY: u32 = 300;

/// Units that a Fork takes.
const FORK_UNITS: u32 = 42;

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("{}\n{}", completions(options)?, spans(options)?);
    Ok(())
}

const COLUMNS: [Column<Measured>; 10] = [
    ("completions", 0, |found| found.report.counts.commands as f64),
    ("early", 0, |found| found.report.counts.early as f64),
    ("earliest, µs", 1, |found| {
        found
            .report
            .earliest
            .map_or(f64::NAN, |earliest| earliest.as_nanos() as f64 / 1e3)
    }),
    ("starved", 0, |found| found.report.counts.deaths as f64),
    ("reply late p50, µs", 1, |found| found.report.lateness.p50_us),
    ("p99, µs", 1, |found| found.report.lateness.p99_us),
    ("p99.9, µs", 1, |found| found.report.lateness.p999_us),
    ("server: deadline late p50, µs", 1, |found| {
        deadline_late_us(found, "0.5")
    }),
    ("p99, µs", 1, |found| deadline_late_us(found, "0.99")),
    ("p99.9, µs", 1, |found| deadline_late_us(found, "0.999")),
];

fn deadline_late_us(found: &Measured, quantile: &str) -> f64 {
    let name = format!("deadline_lateness_quantile_seconds{{quantile=\"{quantile}\"}}");
    found.metrics.get(&name) * 1e6
}

fn completions(options: &Options) -> Result<Table> {
    let mut rows = Vec::new();
    for &frequency in &options.frequencies {
        let server = start(options)?;
        let found = play(options, &server, options.completions, frequency, OUTSTANDING_MAX)?;
        rows.push((frequency.to_string(), vec![found]));
    }
    let is_stopped = |frequency: &u32| options.stopped > 0 && *frequency <= STOPPED_FREQUENCY_MAX;
    for frequency in options.frequencies.iter().copied().filter(is_stopped) {
        for in_flight in [1, 2] {
            let server = start(options)?;
            let is_over = Arc::new(AtomicBool::new(false));
            let (seen, pid) = (Arc::clone(&is_over), server.process.pid());
            let stopper = threads::spawn("stopper", move || stop_now_and_then(pid, &seen))?;
            let found = play(options, &server, options.stopped, frequency, in_flight);
            is_over.store(true, Ordering::Relaxed);
            let stops = stopper.join()??;
            let name = format!("{frequency}, {in_flight} in flight, stopped {stops} times");
            rows.push((name, vec![found?]));
        }
    }
    Ok(Table::of("frequency", &COLUMNS, &rows))
}

fn start(options: &Options) -> Result<Server> {
    let (places, side) = (options.agents.div_ceil(2), (options.agents * 10).isqrt().max(20));
    let flags = format!("-f 1 -c {places} -x {side} -y {side} --seed 1");
    options.program.start(&flags, &[])
}

/// Lets agents play for so long that there are about so many completions.
fn play(
    options: &Options,
    server: &Server,
    completions: u32,
    frequency: u32,
    in_flight: usize,
) -> Result<Measured> {
    let seconds = f64::from(completions * STEP_UNITS) / f64::from(options.agents * frequency);
    let span = RealSpan::from_nanos((seconds * 1e9) as i64);
    let flags = format!("-a {} -f {frequency} -k {in_flight}", options.agents);
    measure(server, &load(server, &flags, span)?, |_| {})
}

/// Stops a process for a moment at random instants until it is over; answers how often.
fn stop_now_and_then(pid: Pid, is_over: &AtomicBool) -> Result<u64> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut stops = 0;
    loop {
        sleep(RealSpan::from_micros(i64::from(
            random.next_u32() % STOP_EVERY_US_MAX,
        )));
        if is_over.load(Ordering::Relaxed) {
            return Ok(stops);
        }
        kill_process(pid, Signal::STOP)?;
        sleep(STOP_SPAN);
        kill_process(pid, Signal::CONT)?;
        stops += 1;
    }
}

/// How long things take from a client's question to its answer, against how long they should.
fn spans(options: &Options) -> Result<Table> {
    let (chain, frequency) = (options.chain, CHAIN_FREQUENCY);
    let mut rows = vec![(
        format!("{chain} Forward at {frequency}"),
        chain * STEP_UNITS,
        frequency,
        chain_of_forwards(&options.program, chain)?,
    )];
    for frequency in [20, 100] {
        let (measured, times) = fork_while_setting_speed(&options.program, frequency)?;
        let name = format!("Fork at {frequency}, `sst {frequency}` {times} times");
        rows.push((name, FORK_UNITS, frequency, measured));
    }
    let rows = rows.into_iter().map(|(name, units, frequency, measured)| {
        let ideal_ms = f64::from(units) / f64::from(frequency) * 1e3;
        (name, vec![(ideal_ms, measured.as_millis_f64())])
    });
    let columns: [Column<(f64, f64)>; 3] = [
        ("ideal, ms", 3, |found| found.0),
        ("measured, ms", 3, |found| found.1),
        ("difference, µs", 0, |found| (found.1 - found.0) * 1e3),
    ];
    Ok(Table::of("what", &columns, &rows.collect::<Vec<_>>()))
}

/// A server without hunger, or the agent would starve half way through the chain.
fn without_hunger(program: &ServerProgram, frequency: u32) -> Result<Server> {
    let server = program.start(
        &format!("-f {frequency} -x 10 -y 10 --seed 1 --control loopback"),
        &[],
    )?;
    server.operate("hunger off")?;
    Ok(server)
}

/// The time from the first command sent to the last reply.
fn chain_of_forwards(program: &ServerProgram, count: u32) -> Result<RealSpan> {
    let server = without_hunger(program, CHAIN_FREQUENCY)?;
    let clock = RealClock::new();
    let mut agent = Line::connect(server.address, "red", "10 10")?;
    let started = clock.now();
    let at_first = count.min(OUTSTANDING_MAX as u32);
    agent.send(&"Forward\n".repeat(at_first as usize))?;
    for replied in 0..count {
        agent.read_to("ok")?;
        if replied + at_first < count {
            agent.send("Forward\n")?;
        }
    }
    Ok(clock.now() - started)
}

/// The time that a Fork takes while a viewer sets the speed that it has, every millisecond; and how often it did.
fn fork_while_setting_speed(program: &ServerProgram, frequency: u32) -> Result<(RealSpan, u32)> {
    let server = without_hunger(program, frequency)?;
    let clock = RealClock::new();
    let mut agent = Line::connect(server.address, "red", "10 10")?;
    let mut viewer = Line::connect(server.address, "GRAPHIC", "sgt ")?;
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_over);
    let started = clock.now();
    let setter = threads::spawn("setter", move || -> Result<u32> {
        let mut times = 0;
        while !seen.load(Ordering::Relaxed) {
            viewer.send(&format!("sst {frequency}\n"))?;
            times += 1;
            // A viewer that reads nothing would be disconnected.
            viewer.drain()?;
            sleep((started + RealSpan::from_millis(i64::from(times))).since(clock.now()));
        }
        Ok(times)
    })?;
    agent.send("Fork\n")?;
    agent.read_to("ok")?;
    let took = clock.now() - started;
    is_over.store(true, Ordering::Relaxed);
    Ok((took, setter.join()??))
}
