//! Commands at a bench: all that one may move, with nothing around it.

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::game_loop::Listener;
use crate::input::Action;
use crate::options::QualityChoice;
use crate::settings::Settings;
use crate::sound::Sound;
use crate::source::Source;
use crate::stage::{Stage, StageOptions};
use trantor_runtime::frames::{FramePacer, target_rate};
use trantor_runtime::listeners::TimerServer;
use trantor_runtime::publish::Published;
use trantor_runtime::systems::{SystemSpec, Systems};
use trantor_time::{Pace, RealSpan, RealTime};

/// All that a command may move, with nothing around it.
struct Bench {
    stage: Stage,
    systems: Systems<()>,
    pacer: FramePacer,
    fixed_rate: bool,
    timers: TimerServer<Listener>,
    published: Published,
    settings: Settings,
    sound: Sound,
    now: RealTime,
}

impl Bench {
    fn new() -> Self {
        let now = RealTime::ZERO;
        let mut stage = Stage::new(
            Source::demo(Demo::new(DemoScene::Overview)),
            StageOptions::default(),
        );
        stage.update(None, now);
        Self {
            stage,
            systems: ["input", "hud", "statistics"]
                .into_iter()
                .fold(Systems::new(now), |systems, name| {
                    systems.add(SystemSpec::new(name, Pace::Uncapped), |(), _| Ok(()))
                }),
            pacer: FramePacer::new(target_rate([]), now),
            fixed_rate: false,
            timers: TimerServer::new(4),
            published: Published::new(),
            settings: Settings::default(),
            sound: Sound::new(&Settings::default()),
            now,
        }
    }

    fn run(&mut self, line: &str) -> Result<String, String> {
        let mut levers = Levers {
            stage: &mut self.stage,
            control: self.systems.control(),
            pacer: &mut self.pacer,
            fixed_rate: &mut self.fixed_rate,
            timers: &self.timers,
            published: &self.published,
            settings: &mut self.settings,
            sound: &mut self.sound,
            now: self.now,
        };
        run(line, &mut levers)
    }

    fn said(&mut self, line: &str) -> String {
        self.run(line)
            .unwrap_or_else(|mistake| panic!("{line}: {mistake}"))
    }

    fn clock(&mut self) -> trantor_client::SceneClock {
        self.stage.update(Some(RealSpan::ZERO), self.now);
        self.stage.scene().clock
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
    assert_eq!(
        bench.systems.control().pace_of("hud"),
        Some(Pace::from_setting(10.0).unwrap())
    );
    assert_eq!(bench.said("rate statistics off"), "statistics: off\n");
    assert_eq!(bench.said("rate").lines().count(), 3);
    assert!(bench.run("rate hud off").unwrap_err().contains("type rate hud 5"));
    assert!(
        bench
            .run("rate noise 5")
            .unwrap_err()
            .contains("there are input, hud, statistics")
    );
    bench.said("frames 30");
    assert_eq!(
        (bench.pacer.target().as_per_second(), bench.fixed_rate),
        (30.0, true)
    );
    bench.said("frames auto");
    assert!(!bench.fixed_rate);
}

#[test]
fn timers_are_listed_and_cancelled() {
    let mut bench = Bench::new();
    assert_eq!(bench.said("timers"), "nothing is waited for");
    assert_eq!(bench.said("remind 90 look north"), "timer #0");
    assert_eq!(bench.said("timers"), "#0 “look north” in 90.0 s\n");
    assert!(bench.run("cancel 7").unwrap_err().contains("type timers"));
    assert!(bench.said("cancel #0").contains("is cancelled"));
    assert!(bench.timers.is_empty());
    for _ in 0..4 {
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
    let pressed = |bench: &Bench, key: &str| bench.stage.bindings().action_of(key);
    bench.said("bind pause p");
    assert_eq!(pressed(&bench, "p"), Some(Action::Pause));
    assert_eq!(bench.settings.keys[&Action::Pause], ["p"]);
    assert_eq!(bench.said("keys pause"), "pause: p — pause, go on\n");
    bench.said("unbind pause");
    assert_eq!(pressed(&bench, "p"), None);
    assert!(bench.settings.keys.is_empty());
    let refused = bench.run("bind overview f3").unwrap_err();
    assert!(refused.contains("debug would have no key"), "{refused}");
}

#[test]
fn the_render_quality_is_changed_and_remembered() {
    let mut bench = Bench::new();
    bench.said("quality swift");
    assert_eq!(bench.settings.quality, Some(QualityChoice::Swift));
    bench.said("quality auto");
    assert_eq!(bench.settings.quality, None);
    let asked: Vec<_> = std::iter::from_fn(|| bench.stage.poll_outside()).collect();
    let wanted = [Some(QualityChoice::Swift), None].map(Outside::Quality);
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
    bench.published.set("loop.passes_count", 3.0);
    bench.published.set("frame.took_p50_ms", 1.25);
    assert_eq!(bench.said("values loop"), "loop.passes_count 3.000\n");
    assert!(bench.run("values x").is_err());
    bench.said("quit");
    assert!(bench.systems.control().is_shutdown_requested());
}
