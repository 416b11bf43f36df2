//! The viewer's whole loop, with all its systems, a synthetic scene of 20 × 20 tiles and 36 agents, and a screen that shows
//! nothing.

use std::io::Write as _;

use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock, RealSpan};
use trantor_viewer::demo::{Demo, DemoScene};
use trantor_viewer::game_loop::pretend::PretendScreen;
use trantor_viewer::game_loop::{GameLoop, Wake};
use trantor_viewer::source;
use trantor_viewer::state::{ViewerOptions, ViewerState};

use super::{processor_time, quantile};

pub fn pacing(length: RealSpan) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| display, Hz | frames a second | interval p50 | p99 off the period | longest | processor |\n|---|---|---|---|---|---|"
    )?;
    for hertz in [60.0, 75.0, 144.0] {
        let clock = RealClock::new();
        let state = ViewerState::new(
            source::demo(Demo::new(DemoScene::Overview)),
            ViewerOptions::default(),
        );
        let mut game_loop = GameLoop::new(state, PretendScreen::new(hertz), clock);
        let (used, start) = (processor_time(), clock.now());
        let mut parker = Parker::new();
        while clock.now() < start + length {
            if let Wake::At(wake) = game_loop.turn() {
                parker.wait(Some(wake));
            }
        }
        let used = (processor_time() - used).as_secs_f64() / (clock.now() - start).as_secs_f64();
        let intervals: Vec<f64> = game_loop
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
            used * 100.0,
        )?;
    }
    Ok(())
}
