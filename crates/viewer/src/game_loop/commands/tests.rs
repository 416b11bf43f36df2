//! Commands to a loop with a screen that shows nothing.

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::game_loop::GameLoop;
use crate::game_loop::pretend::PretendScreen;
use crate::settings::Settings;
use crate::source::Source;
use crate::stage::{Stage, StageOptions};
use trantor_render::gpu::Quality;
use trantor_time::ManualClock;

const NOW: RealTime = RealTime::ZERO;

struct Bench(GameLoop<PretendScreen, ManualClock>);

impl Bench {
    fn new() -> Self {
        let mut stage = Stage::new(
            Source::demo(Demo::new(DemoScene::Overview)),
            StageOptions::default(),
        );
        stage.update(None, NOW);
        let screen = PretendScreen::new(Rate::per_second(60.0).unwrap());
        Self(GameLoop::new(
            stage,
            screen,
            Settings::default(),
            ManualClock::default(),
        ))
    }

    fn viewer(&mut self) -> &mut Viewer<PretendScreen> {
        self.0.viewer()
    }

    fn run(&mut self, line: &str) -> Result<String, String> {
        self.viewer().run_command(line, NOW)
    }

    fn said(&mut self, line: &str) -> String {
        self.run(line)
            .unwrap_or_else(|mistake| panic!("{line}: {mistake}"))
    }

    fn clock(&mut self) -> trantor_client::SceneClock {
        let stage = &mut self.viewer().stage;
        stage.update(Some(RealSpan::ZERO), NOW);
        stage.scene().clock
    }
}

#[test]
fn speed_pause_and_step_reach_the_game() {
    let mut bench = Bench::new();
    bench.said("speed 250");
    bench.said("pause");
    assert_eq!((bench.clock().frequency, bench.clock().paused), (250, true));
    let before = bench.clock().game.whole_units();
    bench.said("step unit");
    assert_eq!(bench.clock().game.whole_units(), before + 1);
    bench.said("resume");
    assert!(!bench.clock().paused);
}

#[test]
fn rates_of_systems_and_frames_are_changed() {
    let mut bench = Bench::new();
    assert_eq!(bench.said("rate hud 10"), "hud: 10 a second\n");
    assert_eq!(bench.said("rate hud uncapped"), "hud: uncapped: each frame\n");
    assert_eq!(bench.said("rate statistics off"), "statistics: off\n");
    assert_eq!(bench.said("rate").lines().count(), 8);
    assert!(bench.run("rate hud off").unwrap_err().contains("type rate hud 5"));
    assert!(
        bench
            .run("rate noise 5")
            .unwrap_err()
            .contains("there are input, network, mirror")
    );
    bench.said("frames 30");
    assert_eq!(
        (
            bench.viewer().pacer.target().as_per_second(),
            bench.viewer().fixed_rate
        ),
        (30.0, true)
    );
    bench.said("frames auto");
    assert!(!bench.viewer().fixed_rate);
}

#[test]
fn timers_are_listed_and_cancelled() {
    let mut bench = Bench::new();
    assert_eq!(bench.said("timers"), "nothing is waited for");
    assert_eq!(bench.said("remind 90 look north"), "timer #0");
    assert_eq!(bench.said("timers"), "#0 “look north” in 90.0 s\n");
    assert!(bench.run("cancel 7").unwrap_err().contains("type timers"));
    assert!(bench.said("cancel #0").contains("is cancelled"));
    assert_eq!(bench.said("timers"), "nothing is waited for");
    for _ in 0..256 {
        bench.said("remind 1 x");
    }
    assert_eq!(
        bench.run("remind 1 x").unwrap_err(),
        "too many timers are requested"
    );
}

#[test]
fn a_lag_needs_a_connection() {
    let mut bench = Bench::new();
    assert_eq!(bench.said("lag"), "no lag on purpose");
    assert!(bench.run("lag 100 20").unwrap_err().contains("connection"));
}

#[test]
fn keys_are_changed_remembered_and_never_all_lost() {
    let mut bench = Bench::new();
    let pressed = |bench: &mut Bench, key: &str| bench.viewer().stage.bindings().action_of(key);
    bench.said("bind pause p");
    assert_eq!(pressed(&mut bench, "p"), Some(Action::Pause));
    assert_eq!(bench.viewer().settings.keys[&Action::Pause], ["p"]);
    assert_eq!(bench.said("keys pause"), "pause: p — pause, go on\n");
    bench.said("unbind pause");
    assert_eq!(pressed(&mut bench, "p"), None);
    assert!(bench.viewer().settings.keys.is_empty());
    let refused = bench.run("bind overview f3").unwrap_err();
    assert!(refused.contains("debug would have no key"), "{refused}");
}

#[test]
fn the_render_quality_is_changed_and_remembered() {
    let mut bench = Bench::new();
    bench.said("quality swift");
    assert_eq!(bench.viewer().settings.quality, Some(Quality::Swift));
    bench.said("quality auto");
    assert_eq!(bench.viewer().settings.quality, None);
    let asked: Vec<_> = std::iter::from_fn(|| bench.viewer().stage.poll_host_request()).collect();
    let wanted = [Some(Quality::Swift), None].map(Intent::Quality);
    assert_eq!(asked, wanted, "of what draws");
}

#[test]
fn help_names_every_command_and_values_are_listed_by_their_beginning() {
    let mut bench = Bench::new();
    assert_eq!(bench.said("help").lines().count(), WORDS.len());
    assert_eq!(
        bench.said("help step"),
        "step [unit | event | action] — while paused: one unit on, to the next event, or to the end of an action\n"
    );
    bench.0.turn();
    let values = bench.said("values loop");
    assert!(
        values.starts_with("loop.frames_count 1.000\nloop.passes_count 1.000\n"),
        "{values}"
    );
    assert!(bench.run("values x").is_err());
    bench.said("quit");
    assert!(bench.0.is_over());
}
