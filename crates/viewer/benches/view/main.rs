//! What frames of the viewer cost, and how well their rate is kept. docs/benchmarks.md quotes the tables and says what is
//! required of each.
//!
//! Run it in the real-time class (`chrt -f 50`) where other programs want the processors.

mod walkers;
mod worlds;

use std::io::Write as _;

use clap::{Parser, ValueEnum};
use trantor_runtime::real_clock::{RealClock, processor_time_for_measurement};
use trantor_runtime::wait::Parker;
use trantor_time::{Clock as _, RealSpan, RealTime};
use trantor_viewer::demo::DemoScene;
use trantor_viewer::game_loop::pretend::PretendScreen;
use trantor_viewer::game_loop::{GameLoop, Wake};
use trantor_viewer::state::ViewerState;

/// Time to handle an event.
const EVENT: RealSpan = RealSpan::from_micros(100);

#[derive(Parser)]
struct Arguments {
    #[arg(value_enum, default_value = "worlds")]
    what: What,
    /// Seconds of each row of pacing and stress
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
    /// The whole loop on a machine too slow for the picture, for the events, or for both
    Stress,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.what {
        What::Worlds => worlds::measure(arguments.frames, arguments.side, arguments.fine),
        What::Pacing => pacing(RealSpan::from_secs(arguments.seconds)),
        What::Stress => stress(RealSpan::from_secs(arguments.seconds)),
    }
}

/// A run of the whole loop, with all its systems, a synthetic scene of 20 × 20 tiles and 36 agents, and a screen that shows
/// nothing.
struct Run {
    game_loop: GameLoop<PretendScreen, RealClock>,
    seconds: f64,
    processor_percent: f64,
    /// From the instant an event came to its handling.
    event_delays: Vec<RealSpan>,
}

/// `events`: the interval at which events come; zero is a flood, of which one always waits.
fn run(screen: PretendScreen, events: Option<RealSpan>, length: RealSpan) -> Run {
    let clock = RealClock::new();
    let state = ViewerState::demo(DemoScene::Overview);
    let mut game_loop = GameLoop::new(state, screen, clock);
    let (used, start) = (processor_time(), clock.now());
    let (mut next_event, mut event_delays) = (start, Vec::new());
    let mut parker = Parker::new();
    while clock.now() < start + length {
        while let Some(interval) = events
            && next_event <= clock.now()
            && clock.now() < start + length
        {
            let came = if interval == RealSpan::ZERO {
                clock.now()
            } else {
                next_event
            };
            next_event += interval;
            game_loop.event(|_, now| {
                event_delays.push(now.since(came));
                busy_until(now + EVENT);
            });
        }
        if let Wake::At(wake) = game_loop.turn() {
            parker.wait(Some(events.map_or(wake, |_| wake.min(next_event))));
        }
    }
    let seconds = (clock.now() - start).as_secs_f64();
    Run {
        game_loop,
        seconds,
        processor_percent: (processor_time() - used).as_secs_f64() * 100.0 / seconds,
        event_delays,
    }
}

fn busy_until(until: RealTime) {
    let clock = RealClock::new();
    while clock.now() < until {
        std::hint::spin_loop();
    }
}

fn stress(length: RealSpan) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| stressed | frames a second | share of events | processor | event delay p99 |\n|---|---|---|---|---|"
    )?;
    // What the loop itself does in a frame is part of its cost; the screen takes the rest.
    let fast: fn(RealTime) = |began| busy_until(began + RealSpan::from_millis(2));
    let slow: fn(RealTime) = |began| busy_until(began + RealSpan::from_millis(30));
    for (name, work, interval_ms) in [
        ("nothing", fast, 7),
        ("rendering", slow, 100),
        ("events", fast, 0),
        ("both", slow, 0),
    ] {
        let mut screen = PretendScreen::new(60.0);
        screen.work = work;
        let mut row = run(screen, Some(RealSpan::from_millis(interval_ms)), length);
        let pacer = &row.game_loop.viewer().pacer;
        writeln!(
            out,
            "| {name} | {:.2} | {:.3} | {:.1} % | {:.2} ms |",
            pacer.budget.frames() as f64 / row.seconds,
            pacer.time_in_events.as_secs_f64() / row.seconds,
            row.processor_percent,
            quantile(&row.event_delays, 0.99).as_millis_f64(),
        )?;
    }
    Ok(())
}

fn pacing(length: RealSpan) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| display, Hz | frames a second | interval p50 | p99 off the period | longest | processor |\n|---|---|---|---|---|---|"
    )?;
    for hertz in [60.0, 75.0, 144.0] {
        let mut row = run(PretendScreen::new(hertz), None, length);
        let intervals: Vec<f64> = row
            .game_loop
            .viewer()
            .screen
            .intervals()
            .map(RealSpan::as_millis_f64)
            .collect();
        let off: Vec<f64> = intervals
            .iter()
            .map(|interval| (interval - 1e3 / hertz).abs())
            .collect();
        writeln!(
            out,
            "| {hertz} | {:.2} | {:.3} ms | {:.3} ms | {:.1} ms | {:.1} % |",
            1e3 * intervals.len() as f64 / intervals.iter().sum::<f64>(),
            quantile(&intervals, 0.5),
            quantile(&off, 0.99),
            quantile(&intervals, 1.0),
            row.processor_percent,
        )?;
    }
    Ok(())
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
