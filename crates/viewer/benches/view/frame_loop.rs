//! The viewer's whole loop, with all its systems, a synthetic scene of 20 × 20 tiles and 36 agents, and a screen that shows
//! nothing.

use std::io::Write as _;

use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock, ManualClock, RealSpan, RealTime};
use trantor_viewer::demo::{Demo, DemoScene};
use trantor_viewer::game_loop::pretend::PretendScreen;
use trantor_viewer::game_loop::{GameLoop, Wake};
use trantor_viewer::input::{Action, Input};
use trantor_viewer::source;
use trantor_viewer::state::{ViewerOptions, ViewerState};

use super::{processor_time, quantile};

/// Time to handle an event or a piece from the network.
const EVENT: RealSpan = RealSpan::from_micros(100);

#[derive(Clone, Copy)]
enum Events {
    None,
    /// One at a time, at this interval.
    Every(RealSpan),
    /// There is always one waiting: from the platform, or from the network.
    Endless,
    EndlessFromNetwork,
}

struct Measured {
    game_loop: GameLoop<PretendScreen, RealClock>,
    seconds: f64,
    processor_percent: f64,
    event_delays: Vec<RealSpan>,
}

fn measure(screen: PretendScreen, events: Events, length: RealSpan) -> Measured {
    let clock = RealClock::new();
    let demo = Demo::new(DemoScene::Overview);
    let source = match events {
        Events::EndlessFromNetwork => source::demo_with_network(demo, |now| {
            busy_until(now + EVENT);
            true
        }),
        _ => source::demo(demo),
    };
    let state = ViewerState::new(source, ViewerOptions::default());
    let mut game_loop = GameLoop::new(state, screen, clock);
    let used_before = processor_time();
    let start = clock.now();
    let end = start + length;
    let mut next_event = start;
    let mut event_delays = Vec::new();
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
                event_delays.push(now.since(came));
                busy_until(now + EVENT);
            });
        }
        if let Wake::At(wake) = game_loop.turn() {
            let is_timed = matches!(events, Events::Every(_));
            parker.wait(Some(if is_timed { wake.min(next_event) } else { wake }));
        }
    }
    let seconds = (clock.now() - start).as_secs_f64();
    Measured {
        game_loop,
        seconds,
        processor_percent: (processor_time() - used_before).as_secs_f64() * 100.0 / seconds,
        event_delays,
    }
}

fn busy_until(until: RealTime) {
    let clock = RealClock::new();
    while clock.now() < until {
        std::hint::spin_loop();
    }
}

pub fn stress(length: RealSpan) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| stressed | frames a second | share of events | processor | event delay p99 |\n|---|---|---|---|---|"
    )?;
    // What the loop itself does in a frame is part of its cost; the screen takes the rest.
    let fast: fn(RealTime) = |began| busy_until(began + RealSpan::from_millis(2));
    let slow: fn(RealTime) = |began| busy_until(began + RealSpan::from_millis(30));
    let every = |millis| Events::Every(RealSpan::from_millis(millis));
    for (name, work, events) in [
        ("nothing", fast, every(7)),
        ("rendering", slow, every(100)),
        ("events", fast, Events::Endless),
        ("both", slow, Events::Endless),
        ("events, network", fast, Events::EndlessFromNetwork),
        ("both, network", slow, Events::EndlessFromNetwork),
    ] {
        let mut screen = PretendScreen::new(60.0);
        screen.work = work;
        let mut row = measure(screen, events, length);
        let pacer = &row.game_loop.viewer().pacer;
        writeln!(
            out,
            "| {name} | {:.2} | {:.3} | {:.1} % | {:.2} ms |",
            pacer.frames() as f64 / row.seconds,
            pacer.time_in_events.as_secs_f64() / row.seconds,
            row.processor_percent,
            quantile(&row.event_delays, 0.99).as_millis_f64(),
        )?;
    }
    Ok(())
}

pub fn pacing(length: RealSpan) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for hertz in [60.0, 75.0, 144.0] {
        let mut row = measure(PretendScreen::new(hertz), Events::None, length);
        let percent = row.processor_percent;
        let pace = &row.game_loop.viewer().pacer.pace;
        writeln!(out, "{pace}; processor {percent:.1} %")?;
    }
    Ok(())
}

/// Times that both are measured, in turns, so that other programs disturb both alike.
const ROUNDS: u64 = 6;

pub fn panels(frames: u64) -> anyhow::Result<()> {
    let clock = ManualClock::default();
    let options = ViewerOptions {
        panels: true,
        ..ViewerOptions::default()
    };
    let state = ViewerState::new(source::demo(Demo::new(DemoScene::Overview)), options);
    let mut screen = PretendScreen::new(60.0);
    screen.panels = Some(egui::Context::default());
    let mut game_loop = GameLoop::new(state, screen, clock.clone());
    // Processor time of so many frames, in milliseconds.
    let mut run = |frames: u64, is_toggled: bool| {
        if is_toggled {
            game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Debug)));
        }
        let used = processor_time();
        let end = game_loop.viewer().pacer.frames() + frames;
        while game_loop.viewer().pacer.frames() < end {
            if let Wake::At(wake) = game_loop.turn() {
                clock.advance(wake - clock.now());
            }
        }
        (processor_time() - used).as_millis_f64()
    };
    // The first frames lay out fonts and grow buffers.
    run(30, false);
    let mut spent_ms = [0.0; 2];
    for round in 0..ROUNDS * 2 {
        spent_ms[(round % 2) as usize] += run(frames, false) / (frames * ROUNDS) as f64;
        // Not counted: the frames in which the view opens or closes.
        run(3, true);
    }
    let [closed, open] = spent_ms;
    writeln!(
        std::io::stdout().lock(),
        "| debugging view | processor time of a frame |\n|---|---|\n\
         | closed | {closed:.3} ms |\n| open | {open:.3} ms |\n| adds | {:.3} ms |",
        open - closed
    )?;
    Ok(())
}
