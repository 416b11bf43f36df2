//! What frames of the viewer cost, and how well their rate is kept. docs/benchmarks.md quotes the tables and says what is
//! required of each.
//!
//! Run it in the real-time class (`chrt -f 50`) where other programs want the processors.

mod frame_loop;
mod walkers;
mod worlds;

use clap::{Parser, ValueEnum};
use trantor_runtime::real_clock::processor_time_for_measurement;
use trantor_time::RealSpan;

#[derive(Parser)]
struct Arguments {
    #[arg(value_enum, default_value = "worlds")]
    what: What,
    /// Seconds of each row of pacing
    #[arg(long, default_value_t = 10)]
    seconds: i64,
    /// Frames measured of each row of worlds
    #[arg(long, default_value_t = 240)]
    frames: usize,
    /// Only worlds of this side
    #[arg(long)]
    side: Option<u16>,
    /// Worlds also in the quality for graphics cards; a software adapter takes minutes for it
    #[arg(long)]
    fine: bool,
    /// Added by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// A frame of small and large worlds: the loop's thread, and the picture on the adapter at hand
    Worlds,
    /// The whole loop beside displays of several rates
    Pacing,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.what {
        What::Worlds => worlds::measure(arguments.frames, arguments.side, arguments.fine),
        What::Pacing => frame_loop::pacing(RealSpan::from_secs(arguments.seconds)),
    }
}

/// Processor time of all threads.
fn processor_time() -> RealSpan {
    processor_time_for_measurement().unwrap_or_default()
}

/// The value that a share of all samples does not exceed.
fn quantile<T: Copy + PartialOrd + Default>(samples: &[T], share: f64) -> T {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(|one, other| one.partial_cmp(other).expect("samples are comparable"));
    let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or_default()
}
