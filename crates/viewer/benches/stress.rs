//! The viewer's loop under the four kinds of stress, with a pretend renderer, and under
//! the two floods once more with pieces from the network instead of events from the platform.
//!
//! Stands for a person's machine that is too slow for the picture, for the events, or for both. It is the whole loop with
//! all its systems, and a screen that takes as long as it is told instead of drawing. Run it in the real-time class
//! (`chrt -f 50`) where other programs want the processors.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use trantor_runtime::real_clock::{RealClock, processor_time_for_measurement};
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock as _, Rate, RealSpan, RealTime};
use trantor_viewer::demo::{Demo, DemoScene};
use trantor_viewer::game_loop::pretend::PretendScreen;
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

/// One kind of stress.
#[derive(Clone, Copy)]
struct Stress {
    name: &'static str,
    /// What a frame takes.
    frame_cost: RealSpan,
    events: Events,
    required: Required,
}

/// How events come; handling one takes [`EVENT_COST`].
#[derive(Clone, Copy)]
enum Events {
    /// One by one, at this interval.
    Every(RealSpan),
    /// There is always one waiting: for the platform, and for the network.
    Endless,
    EndlessFromNetwork,
}

/// Bounds of what comes out.
#[derive(Clone, Copy)]
struct Required {
    /// Frames a second, at least and at most.
    frames_per_second: (f64, f64),
    /// The part of the time that events get, at least and at most.
    event_share: (f64, f64),
    /// The part of one processor that is used, at most.
    processor_share_max: f64,
    /// How long 99 of 100 events wait until they are handled, at most.
    event_delay_p99_max: RealSpan,
}

/// What came out.
struct Outcome {
    frames_per_second: f64,
    event_share: f64,
    processor_share: f64,
    event_delay_p99: RealSpan,
}

/// What handling an event takes.
const EVENT_COST: RealSpan = RealSpan::from_micros(100);
/// The frequency aimed at.
const TARGET_PER_SECOND: f64 = 60.0;

const UNBOUNDED: Required = Required {
    frames_per_second: (0.0, f64::INFINITY),
    event_share: (0.0, f64::INFINITY),
    processor_share_max: f64::INFINITY,
    event_delay_p99_max: RealSpan::MAX,
};
const EVENTS_STRESSED: Stress = Stress {
    name: "events",
    frame_cost: RealSpan::from_millis(2),
    events: Events::Endless,
    required: Required {
        frames_per_second: (59.4, 60.6),
        event_share: (0.85, 1.0),
        ..UNBOUNDED
    },
};
const BOTH_STRESSED: Stress = Stress {
    name: "both",
    frame_cost: RealSpan::from_millis(30),
    events: Events::Endless,
    required: Required {
        frames_per_second: (21.7, 22.7),
        event_share: (0.31, 0.35),
        ..UNBOUNDED
    },
};
const STRESSES: [Stress; 6] = [
    Stress {
        name: "nothing",
        frame_cost: RealSpan::from_millis(2),
        events: Events::Every(RealSpan::from_millis(7)),
        required: Required {
            frames_per_second: (59.4, 60.6),
            processor_share_max: 0.15,
            event_delay_p99_max: RealSpan::from_millis(3),
            ..UNBOUNDED
        },
    },
    Stress {
        name: "rendering",
        frame_cost: RealSpan::from_millis(30),
        events: Events::Every(RealSpan::from_millis(100)),
        required: Required {
            frames_per_second: (33.0, 33.4),
            ..UNBOUNDED
        },
    },
    EVENTS_STRESSED,
    BOTH_STRESSED,
    Stress {
        name: "events, network",
        events: Events::EndlessFromNetwork,
        ..EVENTS_STRESSED
    },
    Stress {
        name: "both, network",
        events: Events::EndlessFromNetwork,
        ..BOTH_STRESSED
    },
];

/// In brackets is what is required.
const TABLE_HEAD: &str = "\
| stressed | frames/s | events' share | processor | event delay p99 | |
|---|---|---|---|---|---|";

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{TABLE_HEAD}")?;
    let mut all_met = true;
    for stress in &STRESSES {
        let outcome = stress.measure(RealSpan::from_secs(arguments.seconds))?;
        all_met &= stress.required.is_met_by(&outcome);
        writeln!(out, "{}", stress.row(&outcome))?;
    }
    Ok(ExitCode::from(u8::from(!all_met)))
}

impl Stress {
    fn measure(&self, length: RealSpan) -> anyhow::Result<Outcome> {
        let clock = RealClock::new();
        let is_network = matches!(self.events, Events::EndlessFromNetwork);
        let demo = Demo::new(DemoScene::Overview);
        let source = match is_network {
            true => Source::demo_with_network(demo, |now| {
                busy_until(now + EVENT_COST);
                true
            }),
            false => Source::demo(demo),
        };
        let stage = Stage::new(source, StageOptions::default());
        // What the loop itself does in a frame is part of its cost; the renderer takes the rest.
        let work = match self.frame_cost {
            cost if cost > RealSpan::from_millis(10) => |began| busy_until(began + RealSpan::from_millis(30)),
            _ => |began| busy_until(began + RealSpan::from_millis(2)),
        };
        let screen = PretendScreen::new(Rate::per_second(TARGET_PER_SECOND)?).working(work);
        let mut game_loop = GameLoop::new(stage, screen, Settings::default(), clock);
        let mut source = EventSource::new(self.events, clock.now());
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
        let pacer = &game_loop.viewer().pacer;
        let (_, in_events) = pacer.time_in_frames_and_events();
        source.delays.sort_unstable();
        let p99 = source.delays.len().saturating_sub(1) * 99 / 100;
        Ok(Outcome {
            frames_per_second: pacer.frames() as f64 / ran.as_secs_f64(),
            event_share: in_events.as_secs_f64() / ran.as_secs_f64(),
            processor_share: used.as_secs_f64() / ran.as_secs_f64(),
            event_delay_p99: source.delays.get(p99).copied().unwrap_or(RealSpan::ZERO),
        })
    }

    /// A line of the table.
    fn row(&self, outcome: &Outcome) -> String {
        let bounds = |(least, most): (f64, f64)| match most.is_finite() {
            true => format!(" [{least:.2} to {most:.2}]"),
            false => String::new(),
        };
        let at_most = |most: f64, unit: &str| match most < 1e6 {
            true => format!(" [{most:.0}{unit}]"),
            false => String::new(),
        };
        let required = &self.required;
        format!(
            "| {} | {:.2}{} | {:.3}{} | {:.1} %{} | {:.2} ms{} | {} |",
            self.name,
            outcome.frames_per_second,
            bounds(required.frames_per_second),
            outcome.event_share,
            bounds(required.event_share),
            outcome.processor_share * 100.0,
            at_most(required.processor_share_max * 100.0, " %"),
            outcome.event_delay_p99.as_millis_f64(),
            at_most(required.event_delay_p99_max.as_millis_f64(), " ms"),
            if required.is_met_by(outcome) {
                "met"
            } else {
                "MISSED"
            },
        )
    }
}

impl Required {
    /// Whether `outcome` is within all bounds.
    fn is_met_by(&self, outcome: &Outcome) -> bool {
        let within = |value: f64, (least, most): (f64, f64)| value >= least && value <= most;
        within(outcome.frames_per_second, self.frames_per_second)
            && within(outcome.event_share, self.event_share)
            && outcome.processor_share <= self.processor_share_max
            && outcome.event_delay_p99 <= self.event_delay_p99_max
    }
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
                Events::Endless | Events::EndlessFromNetwork => None,
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
            (Events::Endless | Events::EndlessFromNetwork, _) => Some(now),
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
