//! The viewer's loop under the four kinds of stress, with a pretend renderer, and under
//! the two floods once more with pieces from the network instead of events from the platform.
//!
//! Stands for a person's machine that is too slow for the picture, for the events, or for both. It is the whole loop with
//! all its systems, and a screen that takes as long as it is told instead of drawing; the kinds and what is required of
//! each are those of `trantor_runtime::frames::stress`, which shows the same of the frame loop alone. Run it in the
//! real-time class (`chrt -f 50`) where other programs want the processors.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use trantor_runtime::frames::stress::{
    EVENT_COST, Events, Outcome, STRESSES, Stress, TABLE_HEAD, TARGET_PER_SECOND,
};
use trantor_runtime::real_clock::{RealClock, processor_time_for_measurement};
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock as _, Rate, RealSpan, RealTime};
use trantor_viewer::demo::{Demo, DemoScene};
use trantor_viewer::game_loop::pretend::{PretendNetwork, PretendScreen};
use trantor_viewer::game_loop::{GameLoop, Wake};
use trantor_viewer::settings::Settings;
use trantor_viewer::source::Source;
use trantor_viewer::stage::{Stage, StageOptions};

#[derive(Parser)]
struct Arguments {
    /// Seconds for each kind
    #[arg(long, default_value_t = 10)]
    seconds: i64,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{TABLE_HEAD}")?;
    let mut all_met = true;
    let [.., events, both] = STRESSES;
    let from_network = [("events, network", events), ("both, network", both)]
        .map(|(name, stress)| (Stress { name, ..stress }, true));
    let from_platform = STRESSES.map(|stress| (stress, false));
    for (stress, is_network) in from_platform.into_iter().chain(from_network) {
        let outcome = measure(&stress, is_network, RealSpan::from_secs(arguments.seconds))?;
        all_met &= stress.required.is_met_by(&outcome);
        writeln!(out, "{}", stress.row(&outcome))?;
    }
    Ok(ExitCode::from(u8::from(!all_met)))
}

fn measure(stress: &Stress, is_network: bool, length: RealSpan) -> anyhow::Result<Outcome> {
    let clock = RealClock::new();
    let demo = Demo::new(DemoScene::Overview);
    let flood = PretendNetwork::new(|now| {
        busy_until(now + EVENT_COST);
        true
    });
    let source = match is_network {
        true => Source::demo_with_network(demo, flood),
        false => Source::demo(demo),
    };
    let stage = Stage::new(source, StageOptions::default());
    // What the loop itself does in a frame is part of its cost; the renderer takes the rest.
    let work = match stress.frame_cost {
        cost if cost > RealSpan::from_millis(10) => |began| busy_until(began + RealSpan::from_millis(30)),
        _ => |began| busy_until(began + RealSpan::from_millis(2)),
    };
    let screen = PretendScreen::new(Rate::per_second(TARGET_PER_SECOND)?).working(work);
    let mut game_loop = GameLoop::new(stage, screen, Settings::default(), clock);
    game_loop.start()?;
    let mut source = EventSource::new(stress.events, clock.now());
    let used_before = processor_time_for_measurement().unwrap_or_default();
    let start = clock.now();
    let mut parker = Parker::new();
    while clock.now() < start + length {
        while !is_network && let Some(put_at) = source.take(clock.now()) {
            game_loop.event(|_, now| {
                source.delays.push(now.since(put_at));
                busy_until(now + EVENT_COST);
            });
            if clock.now() >= start + length {
                break;
            }
        }
        if let Wake::At(wake) = game_loop.turn() {
            parker.wait(Some(source.next.map_or(wake, |next| next.min(wake))));
        }
    }
    let ran = clock.now() - start;
    let used = processor_time_for_measurement().unwrap_or_default() - used_before;
    let pacer = &mut game_loop.viewer().pacer;
    source.delays.sort_unstable();
    let p99 = source.delays.len().saturating_sub(1) * 99 / 100;
    Ok(Outcome {
        frames_per_second: pacer.frames() as f64 / ran.as_secs_f64(),
        event_share: pacer.stats().time_in_events().as_secs_f64() / ran.as_secs_f64(),
        processor_share: used.as_secs_f64() / ran.as_secs_f64(),
        event_delay_p99: source.delays.get(p99).copied().unwrap_or(RealSpan::ZERO),
    })
}

/// Where events come from: the clock.
struct EventSource {
    events: Events,
    /// When the next one comes; `None` where there is always one.
    next: Option<RealTime>,
    /// How long each waited.
    delays: Vec<RealSpan>,
}

impl EventSource {
    fn new(events: Events, now: RealTime) -> Self {
        Self {
            events,
            next: match events {
                Events::Every(interval) => Some(now + interval),
                Events::Endless => None,
            },
            delays: Vec::new(),
        }
    }

    /// The oldest event that has come by `now`: when it did.
    fn take(&mut self, now: RealTime) -> Option<RealTime> {
        match (self.events, self.next) {
            (Events::Every(interval), Some(next)) if next <= now => {
                self.next = Some(next + interval);
                Some(next)
            }
            (Events::Every(_), _) => None,
            (Events::Endless, _) => Some(now),
        }
    }
}

/// Takes time the way work does.
fn busy_until(until: RealTime) {
    let clock = RealClock::new();
    while clock.now() < until {
        std::hint::spin_loop();
    }
}
