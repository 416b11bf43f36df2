//! The pace of the viewer's loop on this machine's clock, beside a display that reports 60, 75 and 144 pictures a second.
//!
//! Stands for a viewer that has time to spare: the whole loop with all its systems and the lists of a synthetic scene of
//! 20 × 20 tiles and 36 agents, and a screen that throws them away. Good: frames within 1 % of the rate, 99 of 100
//! intervals within 1.5 ms of the period. On a machine where other programs want the processors, run it in the
//! real-time class (`chrt -f 50`); otherwise the figures are those of their turns.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use trantor_runtime::real_clock::{RealClock, processor_time_for_measurement};
use trantor_runtime::wait::Parker;
use trantor_time::{Clock as _, Rate, RealSpan, RealTime};
use trantor_viewer::demo::{Demo, DemoScene};
use trantor_viewer::game_loop::pretend::PretendScreen;
use trantor_viewer::game_loop::{GameLoop, parked};
use trantor_viewer::input::{Action, Input};
use trantor_viewer::settings::Settings;
use trantor_viewer::source::Source;
use trantor_viewer::stage::{Stage, StageOptions};

#[derive(Parser)]
struct Arguments {
    /// Seconds for each rate
    #[arg(long, default_value_t = 60)]
    seconds: i64,
    /// Rates that the display reports
    #[arg(long, value_delimiter = ',', default_value = "60,75,144")]
    rates: Vec<f64>,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Frames a second may be off by this part.
const RATE_OFF_MAX: f64 = 0.01;
/// 99 of 100 intervals are within this of the period.
const INTERVAL_OFF_MAX: RealSpan = RealSpan::from_micros(1_500);

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| display, Hz | frames/s | off, % [1] | interval p50, ms | p99 off the period, ms [1.5] | longest, ms | processor, % | |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    let mut all_met = true;
    for &hertz in &arguments.rates {
        let rate = Rate::per_second(hertz)?;
        let measured = measure(rate, RealSpan::from_secs(arguments.seconds))?;
        all_met &= measured.is_met();
        writeln!(out, "{}", measured.row())?;
    }
    Ok(ExitCode::from(u8::from(!all_met)))
}

/// What came out at one rate.
struct Measured {
    rate: Rate,
    frames_per_second: f64,
    interval_p50: RealSpan,
    /// How far 99 of 100 intervals are from the period, at most.
    off_p99: RealSpan,
    longest: RealSpan,
    processor_share: f64,
}

fn measure(rate: Rate, length: RealSpan) -> anyhow::Result<Measured> {
    let clock = RealClock::new();
    let stage = Stage::new(
        Source::demo(Demo::new(DemoScene::Overview)),
        StageOptions::default(),
    );
    let mut game_loop = GameLoop::new(stage, PretendScreen::new(rate), Settings::default(), clock);
    let used_before = processor_time_for_measurement().unwrap_or_default();
    let start = clock.now();
    let end = start + length;
    let mut is_ending = false;
    // The only event there is: the end.
    let take = || (clock.now() >= end && !std::mem::replace(&mut is_ending, true)).then_some(());
    parked::run(&mut game_loop, &mut Parker::new(), take, |viewer, ()| {
        viewer.put_input(Input::Act(Action::Quit));
    });
    let used = processor_time_for_measurement().unwrap_or_default() - used_before;
    let (screen, _) = game_loop.finish();
    let drawn = screen.drawn();
    let (first, last) = (drawn.first().copied(), drawn.last().copied());
    let spanned = last.unwrap_or(RealTime::ZERO) - first.unwrap_or(RealTime::ZERO);
    let mut intervals: Vec<RealSpan> = screen.intervals().collect();
    intervals.sort_unstable();
    let mut off: Vec<RealSpan> = intervals
        .iter()
        .map(|&interval| distance(interval, rate.interval()))
        .collect();
    off.sort_unstable();
    Ok(Measured {
        rate,
        frames_per_second: intervals.len() as f64 / spanned.as_secs_f64(),
        interval_p50: at_share(&intervals, 0.5),
        off_p99: at_share(&off, 0.99),
        longest: at_share(&intervals, 1.0),
        processor_share: used.as_secs_f64() / length.as_secs_f64(),
    })
}

fn distance(one: RealSpan, other: RealSpan) -> RealSpan {
    (one - other).max(other - one)
}

fn at_share(sorted: &[RealSpan], share: f64) -> RealSpan {
    let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(RealSpan::ZERO)
}

impl Measured {
    fn rate_off(&self) -> f64 {
        (self.frames_per_second / self.rate.as_per_second() - 1.0).abs()
    }

    fn is_met(&self) -> bool {
        self.rate_off() <= RATE_OFF_MAX && self.off_p99 <= INTERVAL_OFF_MAX
    }

    fn row(&self) -> String {
        format!(
            "| {} | {:.2} | {:.2} | {:.3} | {:.3} | {:.2} | {:.1} | {} |",
            self.rate.as_per_second(),
            self.frames_per_second,
            self.rate_off() * 100.0,
            self.interval_p50.as_millis_f64(),
            self.off_p99.as_millis_f64(),
            self.longest.as_millis_f64(),
            self.processor_share * 100.0,
            if self.is_met() { "met" } else { "MISSED" }
        )
    }
}
