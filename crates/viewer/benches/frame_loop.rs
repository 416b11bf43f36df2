//! The viewer's whole loop, with all its systems, the lists of a synthetic scene of 20 × 20 tiles and 36 agents, and a
//! screen that shows nothing.
//!
//! - `stress`: a machine that is too slow for the picture, for the events, or for both, and the same with pieces from the
//!   network instead of events from the platform. A screen takes the time that a frame shall cost.
//! - `pacing`: a viewer that has time to spare, beside displays of several rates. Good: frames within 1 % of the rate, 99
//!   of 100 intervals within 1.5 ms of the period.
//! - `panels`: what laying out the panels and cutting them into triangles costs, and what the debugging view adds. Good:
//!   open, at most a twentieth of a frame of 16.7 ms; closed, nothing that exceeds the noise.
//!
//! Run it in the real-time class (`chrt -f 50`) where other programs want the processors.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use trantor_runtime::real_clock::{RealClock, processor_time_for_measurement};
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock, ManualClock, RealSpan, RealTime};
use trantor_viewer::demo::{Demo, DemoScene};
use trantor_viewer::game_loop::pretend::PretendScreen;
use trantor_viewer::game_loop::{GameLoop, Wake};
use trantor_viewer::input::{Action, Input};
use trantor_viewer::settings::Settings;
use trantor_viewer::source;
use trantor_viewer::stage::{Stage, StageOptions};

#[derive(Parser)]
struct Arguments {
    what: What,
    /// Seconds for each row of stress and pacing [default: 10, 60]
    #[arg(long)]
    seconds: Option<i64>,
    /// Rates that the display reports, for pacing
    #[arg(long, value_delimiter = ',', default_value = "60,75,144")]
    rates: Vec<f64>,
    /// Frames measured with the debugging view and without, for panels
    #[arg(long, default_value_t = 600)]
    frames: u32,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Stress,
    Pacing,
    Panels,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let seconds = |usual| RealSpan::from_secs(arguments.seconds.unwrap_or(usual));
    let is_met = match arguments.what {
        What::Stress => stress(seconds(10))?,
        What::Pacing => pacing(seconds(60), &arguments.rates)?,
        What::Panels => panels(arguments.frames)?,
    };
    Ok(ExitCode::from(u8::from(!is_met)))
}

/// What a frame of the fast screen and of the slow one takes, and handling an event or a piece.
const FAST: RealSpan = RealSpan::from_millis(2);
const SLOW: RealSpan = RealSpan::from_millis(30);
const EVENT: RealSpan = RealSpan::from_micros(100);

#[derive(Clone, Copy)]
enum Events {
    None,
    /// One by one, at this interval.
    Every(RealSpan),
    /// There is always one waiting: for the platform, and for the network.
    Endless,
    EndlessFromNetwork,
}

struct Outcome {
    screen: PretendScreen,
    length: RealSpan,
    event_share: f64,
    processor_share: f64,
    event_delay_p99: RealSpan,
}

impl Outcome {
    fn frames_per_second(&self) -> f64 {
        let spanned = self.screen.intervals().fold(RealSpan::ZERO, |sum, one| sum + one);
        self.screen.intervals().count() as f64 / spanned.as_secs_f64()
    }
}

fn measure(screen: PretendScreen, events: Events, length: RealSpan) -> Outcome {
    let clock = RealClock::new();
    let demo = Demo::new(DemoScene::Overview);
    let source = match events {
        Events::EndlessFromNetwork => source::demo_with_network(demo, |now| {
            busy_until(now + EVENT);
            true
        }),
        _ => source::demo(demo),
    };
    let stage = Stage::new(source, StageOptions::default());
    let mut game_loop = GameLoop::new(stage, screen, Settings::default(), clock);
    let used_before = processor_time_for_measurement().unwrap_or_default();
    let start = clock.now();
    let end = start + length;
    let mut next_event = start;
    let mut delays = Vec::new();
    let mut parker = Parker::new();
    while clock.now() < end {
        while clock.now() < end {
            let came = match events {
                Events::Endless => clock.now(),
                Events::Every(interval) if next_event <= clock.now() => {
                    next_event += interval;
                    next_event - interval
                }
                _ => break,
            };
            game_loop.event(|_, now| {
                delays.push(now.since(came));
                busy_until(now + EVENT);
            });
        }
        if let Wake::At(wake) = game_loop.turn() {
            let is_timed = matches!(events, Events::Every(_));
            parker.wait(Some(if is_timed { wake.min(next_event) } else { wake }));
        }
    }
    let length = clock.now() - start;
    let used = processor_time_for_measurement().unwrap_or_default() - used_before;
    let in_events = game_loop.viewer().pacer.time_in_events;
    delays.sort_unstable();
    Outcome {
        screen: game_loop.finish().0,
        length,
        event_share: in_events.as_secs_f64() / length.as_secs_f64(),
        processor_share: used.as_secs_f64() / length.as_secs_f64(),
        event_delay_p99: at_share(&delays, 0.99),
    }
}

fn busy_until(until: RealTime) {
    let clock = RealClock::new();
    while clock.now() < until {
        std::hint::spin_loop();
    }
}

fn at_share(sorted: &[RealSpan], share: f64) -> RealSpan {
    let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(RealSpan::ZERO)
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

/// Prints a row for each kind of stress; in brackets is what is required. Answers whether all of it was met.
fn stress(length: RealSpan) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| stressed | frames/s | events' share | processor | event delay p99 | |\n|---|---|---|---|---|---|"
    )?;
    let (any, full, both) = ([0.0, f64::INFINITY], [59.4, 60.6], [21.7, 22.7]);
    let every = |millis| Events::Every(RealSpan::from_millis(millis));
    let mut all_met = true;
    for (name, frame, events, frames, share, processor_max, delay_ms_max) in [
        ("nothing", FAST, every(7), full, any, 0.15, 3.0),
        (
            "rendering",
            SLOW,
            every(100),
            [33.0, 33.4],
            any,
            1.1,
            f64::INFINITY,
        ),
        (
            "events",
            FAST,
            Events::Endless,
            full,
            [0.85, 1.0],
            1.1,
            f64::INFINITY,
        ),
        (
            "both",
            SLOW,
            Events::Endless,
            both,
            [0.31, 0.35],
            1.1,
            f64::INFINITY,
        ),
        (
            "events, network",
            FAST,
            Events::EndlessFromNetwork,
            full,
            [0.85, 1.0],
            1.1,
            f64::INFINITY,
        ),
        (
            "both, network",
            SLOW,
            Events::EndlessFromNetwork,
            both,
            [0.31, 0.35],
            1.1,
            f64::INFINITY,
        ),
    ] {
        let mut screen = PretendScreen::new(60.0);
        // What the loop itself does in a frame is part of its cost; the renderer takes the rest.
        screen.work = match frame {
            SLOW => |began| busy_until(began + SLOW),
            _ => |began| busy_until(began + FAST),
        };
        let outcome = measure(screen, events, length);
        let per_second = outcome.screen.drawn.len() as f64 / outcome.length.as_secs_f64();
        let delay_ms = outcome.event_delay_p99.as_millis_f64();
        let within = |value: f64, [least, most]: [f64; 2]| (least..=most).contains(&value);
        let is_met = within(per_second, frames)
            && within(outcome.event_share, share)
            && outcome.processor_share <= processor_max
            && delay_ms <= delay_ms_max;
        all_met &= is_met;
        let (share_of_events, processor) = (outcome.event_share, outcome.processor_share * 100.0);
        let row = format!(
            "| {name} | {per_second:.2} {frames:?} | {share_of_events:.3} {share:?} | {processor:.1} % [{:.0}] \
             | {delay_ms:.2} ms [{delay_ms_max}] | {} |",
            processor_max * 100.0,
            verdict(is_met)
        );
        // What has no bound has no brackets.
        let row = ["[0.0, inf]", "[inf]", "[110]"]
            .iter()
            .fold(row, |row, unbounded| row.replace(unbounded, ""));
        writeln!(out, "{row}")?;
    }
    Ok(all_met)
}

/// Frames a second may be off by this part.
const RATE_OFF_MAX: f64 = 0.01;
/// 99 of 100 intervals are within this of the period.
const INTERVAL_OFF_MAX: RealSpan = RealSpan::from_micros(1_500);

/// Prints a row for each rate; answers whether what is required of all was met.
fn pacing(length: RealSpan, rates: &[f64]) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| display, Hz | frames/s | off, % [1] | interval p50, ms | p99 off the period, ms [1.5] | longest, ms | processor, % | |\n\
         |---|---|---|---|---|---|---|---|"
    )?;
    let mut all_met = true;
    for &rate in rates {
        let outcome = measure(PretendScreen::new(rate), Events::None, length);
        let period = outcome.screen.rate.interval();
        let mut intervals: Vec<RealSpan> = outcome.screen.intervals().collect();
        intervals.sort_unstable();
        let mut off: Vec<RealSpan> = intervals
            .iter()
            .map(|&interval| (interval - period).max(period - interval))
            .collect();
        off.sort_unstable();
        let rate_off = (outcome.frames_per_second() / rate - 1.0).abs();
        let off_p99 = at_share(&off, 0.99);
        let is_met = rate_off <= RATE_OFF_MAX && off_p99 <= INTERVAL_OFF_MAX;
        all_met &= is_met;
        writeln!(
            out,
            "| {rate} | {:.2} | {:.2} | {:.3} | {:.3} | {:.2} | {:.1} | {} |",
            outcome.frames_per_second(),
            rate_off * 100.0,
            at_share(&intervals, 0.5).as_millis_f64(),
            off_p99.as_millis_f64(),
            at_share(&intervals, 1.0).as_millis_f64(),
            outcome.processor_share * 100.0,
            verdict(is_met)
        )?;
    }
    Ok(all_met)
}

/// A twentieth of a frame of 16.7 ms.
const ADDED_MS_MAX: f64 = 0.83;
/// Times that both are measured, by turns, so that what else the machine does meets both alike.
const ROUNDS: u32 = 6;

/// Prints what frames with the debugging view open and closed cost; answers whether what it adds is little enough.
fn panels(frames: u32) -> anyhow::Result<bool> {
    let clock = ManualClock::default();
    let options = StageOptions {
        panels: true,
        ..StageOptions::default()
    };
    let stage = Stage::new(source::demo(Demo::new(DemoScene::Overview)), options);
    let mut screen = PretendScreen::new(60.0);
    screen.panels = Some(egui::Context::default());
    let mut game_loop = GameLoop::new(stage, screen, Settings::default(), clock.clone());
    // The first frames lay out fonts and grow buffers.
    run(&mut game_loop, &clock, 30);
    let mut spent_ms = [0.0; 2];
    for round in 0..ROUNDS * 2 {
        // Not counted: the frames in which the view opens or closes.
        run(&mut game_loop, &clock, 3);
        let took = run(&mut game_loop, &clock, frames / ROUNDS);
        spent_ms[(round % 2) as usize] +=
            took.as_millis_f64() / f64::from(frames / ROUNDS) / f64::from(ROUNDS);
        game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Debug)));
    }
    let added_ms = spent_ms[1] - spent_ms[0];
    let is_met = added_ms <= ADDED_MS_MAX;
    writeln!(
        std::io::stdout().lock(),
        "| debugging view | processor time of a frame, ms | |\n|---|---|---|\n\
         | closed | {:.3} | |\n| open | {:.3} | |\n| adds [{ADDED_MS_MAX}] | {added_ms:.3} | {} |",
        spent_ms[0],
        spent_ms[1],
        verdict(is_met)
    )?;
    Ok(is_met)
}

/// Draws so many frames, and answers the processor time they took.
fn run(game_loop: &mut GameLoop<PretendScreen, ManualClock>, clock: &ManualClock, frames: u32) -> RealSpan {
    let used = processor_time_for_measurement().unwrap_or_default();
    let end = game_loop.viewer().screen.drawn.len() + frames as usize;
    while game_loop.viewer().screen.drawn.len() < end {
        if let Wake::At(wake) = game_loop.turn() {
            clock.advance(wake - clock.now());
        }
    }
    processor_time_for_measurement().unwrap_or_default() - used
}
