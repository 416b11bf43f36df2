//! `trantor-bench wake`: ways of waiting for a deadline, side by side.
//!
//! Each way is given the same deadlines at random instants, alone on the machine, and sleeps from one to the next
//! as the server's loop does. What is told: how late it woke, the processor time and the wake-ups it took per
//! deadline. Good looks like this: p50 under 60 µs, p99 under 300 µs, one wake-up per deadline, under 3 % of a
//! core at 1,000 deadlines a second.

mod ways;

use anyhow::Result;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_runtime::RealClock;
use trantor_runtime::real_clock::processor_time_for_measurement;
use trantor_time::{Clock, NANOS, RealSpan, RealTime};

use self::ways::Way;
use crate::samples::{Runs, Samples};
use crate::table::Table;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Deadlines per second, one table for each
    #[arg(long, value_delimiter = ',', default_value = "1000,10000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rates: Vec<u32>,
    /// Deadlines in each run
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    deadlines: u32,
    /// Runs of each way; they take turns, so that a passing disturbance hits all
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// What the instants are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The figures of one way.
#[derive(Default)]
struct Figures {
    late_us: [Runs; 3],
    core_percent: Runs,
    cpu_us_per_deadline: Runs,
    wake_ups_per_deadline: Runs,
}

/// The quantiles shown.
const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    for &rate in &options.rates {
        println!(
            "{} runs of {} deadlines at {rate} a second:\n",
            options.runs, options.deadlines
        );
        println!("{}", compare(options, rate)?);
    }
    println!("Medians of the runs, with the least and the greatest.");
    Ok(())
}

fn compare(options: &Options, rate: u32) -> Result<Table> {
    let ways = Way::available();
    let mut figures: Vec<Figures> = ways.iter().map(|_| Figures::default()).collect();
    for run in 0..options.runs {
        let gaps = gaps(options.seed.wrapping_add(u64::from(run)), rate, options.deadlines);
        for (way, figures) in ways.iter().zip(&mut figures) {
            measure(*way, &gaps, figures)?;
        }
    }
    let mut table = Table::new([
        "way of waiting",
        "late p50, µs",
        "p99, µs",
        "p99.9, µs",
        "% of a core",
        "CPU per deadline, µs",
        "wake-ups per deadline",
    ]);
    for (way, figures) in ways.iter().zip(&figures) {
        let [p50, p99, p999] = &figures.late_us;
        table.row(vec![
            way.name().to_owned(),
            p50.show(1),
            p99.show(1),
            p999.show(0),
            figures.core_percent.show(1),
            figures.cpu_us_per_deadline.show(1),
            figures.wake_ups_per_deadline.show(2),
        ]);
    }
    Ok(table)
}

fn measure(way: Way, gaps: &[RealSpan], figures: &mut Figures) -> Result<()> {
    let clock = RealClock::new();
    let mut wait = way.start()?;
    let mut late = Samples::new();
    let mut wake_ups: u64 = 0;

    let cpu_before = processor_time_for_measurement();
    let started = clock.now();
    let mut due = started;
    let mut now = started;
    for &gap in gaps {
        due += gap;
        // Several may have become due in one sleep; then the later of them cost no wake-up.
        while now < due {
            wait.wait_until(due, now);
            wake_ups += 1;
            now = clock.now();
        }
        late.record(now - due);
    }
    let elapsed = now - started;
    let cpu_after = processor_time_for_measurement();

    for (quantile, runs) in QUANTILES.into_iter().zip(&mut figures.late_us) {
        runs.add(late.quantile_us(quantile));
    }
    if let (Some(before), Some(after)) = (cpu_before, cpu_after) {
        let cpu = after - before;
        figures
            .core_percent
            .add(100.0 * cpu.as_secs_f64() / elapsed.as_secs_f64());
        figures
            .cpu_us_per_deadline
            .add(cpu.as_secs_f64() * 1e6 / gaps.len() as f64);
    }
    figures
        .wake_ups_per_deadline
        .add(wake_ups as f64 / gaps.len() as f64);
    Ok(())
}

/// Gaps between deadlines: anything from none to twice the mean, all equally likely.
fn gaps(seed: u64, rate: u32, count: u32) -> Vec<RealSpan> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let widest_ns = 2 * NANOS as u64 / u64::from(rate);
    (0..count)
        .map(|_| RealSpan::from_nanos((random.next_u64() % (widest_ns + 1)) as i64))
        .collect()
}

/// One way, ready to wait.
trait WaitUntil {
    /// Sleeps until `due` or a while; `now` was read just before. It may return early, and is then asked again.
    fn wait_until(&mut self, due: RealTime, now: RealTime);
}
