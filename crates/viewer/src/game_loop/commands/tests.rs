//! Commands to a loop with a screen that shows nothing.

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::game_loop::GameLoop;
use crate::game_loop::pretend::PretendScreen;
use crate::source;
use crate::state::{ViewerOptions, ViewerState};
use trantor_render::gpu::Quality;
use trantor_time::ManualClock;

const NOW: RealTime = RealTime::ZERO;

struct Bench(GameLoop<PretendScreen, ManualClock>);

impl Bench {
    fn new() -> Self {
        let mut state = ViewerState::new(
            source::demo(Demo::new(DemoScene::Overview)),
            ViewerOptions::default(),
        );
        state.update(None, NOW);
        let screen = PretendScreen::new(60.0);
        Self(GameLoop::new(state, screen, ManualClock::default()))
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
        let state = &mut self.viewer().state;
        state.update(Some(RealSpan::ZERO), NOW);
        state.scene().clock
    }
}

#[test]
fn speed_pause_and_step_reach_the_game() {
    let mut bench = Bench::new();
    bench.said("  speed   250 ");
    bench.said("pause");
    bench.said("   ");
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
    for (line, answer) in [
        ("rate hud 10", "hud: 10 a second\n"),
        ("rate hud -1", "hud: uncapped: each frame\n"),
        ("rate hud grid", "hud: uncapped: each frame\n"),
        ("rate statistics off", "statistics: off\n"),
        ("rate statistics on", "statistics: 1 a second\n"),
        ("frames 30", "30 frames a second"),
    ] {
        assert_eq!(bench.said(line), answer, "{line}");
    }
    assert_eq!(bench.said("rate").lines().count(), 8);
    let target = bench.viewer().pacer.target().as_per_second();
    assert_eq!((target, bench.viewer().fixed_rate), (30.0, true));
    bench.said("frames auto");
    assert!(!bench.viewer().fixed_rate);
}

#[test]
fn a_mistake_says_what_to_type() {
    let mut bench = Bench::new();
    for (line, wanted) in [
        (
            "spede 100",
            "there is no command \"spede\", did you mean speed?; type help for all of them",
        ),
        (
            "xyzzy",
            "there is no command \"xyzzy\"; type help for all of them",
        ),
        (
            "speed fast",
            "a speed is a whole number from 1 to 10000, not \"fast\"; type speed UNITS_PER_SECOND | max",
        ),
        ("speed", "something is missing; type speed UNITS_PER_SECOND | max"),
        ("pause now", "\"now\" does not fit here; type pause"),
        ("rate hud 0", "type rate [SYSTEM"),
        ("rate hud often", "\"often\" is no rate; type rate"),
        ("rate hud off", "type rate hud 5 for a slow one"),
        ("rate noise 5", "there are input, network, interpolation"),
        ("log loud", "\"loud\" is no level; type log [LEVEL [TARGET]]"),
        (
            "record 5 gif 60",
            "1 to 50 pictures a second, not \"60\"; type record SECONDS",
        ),
        (
            "record 5 mpg",
            "1 to 50 pictures a second, not \"mpg\"; type record SECONDS",
        ),
        ("record 5 gif 20 x", "type record SECONDS"),
        ("volume 101", "from 0 to 100, not \"101\"; type volume [PERCENT"),
        ("scale 9", "from 0.5 to 3, not \"9\"; type scale FACTOR"),
        ("frames nan", "a number from 1 to 1000, not \"nan\"; type frames"),
        (
            "bind fly x",
            "there is no action \"fly\"; type keys for all of them",
        ),
        (
            "quality best",
            "\"best\" does not fit here; type quality swift | fine | auto",
        ),
        ("gpu explode", "\"explode\" does not fit here; type gpu lose"),
        ("goto a b", "are no tile; type goto X Y"),
        ("goto 40 0", "tiles go from 0 0 to 19 19"),
        ("help me", "there is no command \"me\""),
        ("reconnect", "there is no server to join"),
        ("seek 5", "this is no recording"),
        ("values x", "type values for all of them"),
    ] {
        let said = bench.run(line).unwrap_err();
        assert!(said.contains(wanted), "{line}: {said}");
    }
}

#[test]
fn keys_are_changed_remembered_and_never_all_lost() {
    let mut bench = Bench::new();
    let pressed = |bench: &mut Bench, key: &str| bench.viewer().state.bindings().action_of(key);
    bench.said("bind pause p");
    assert_eq!(pressed(&mut bench, "p"), Some(Action::Pause));
    assert_eq!(bench.viewer().state.settings.keys[&Action::Pause], ["p"]);
    assert_eq!(bench.said("keys pause"), "pause: p — pause, go on\n");
    bench.said("unbind pause");
    assert_eq!(pressed(&mut bench, "p"), None);
    assert!(bench.viewer().state.settings.keys.is_empty());
    let refused = bench.run("bind overview f3").unwrap_err();
    assert!(refused.contains("debug would have no key"), "{refused}");
}

#[test]
fn the_render_quality_is_changed_and_remembered() {
    let mut bench = Bench::new();
    bench.said("quality swift");
    assert_eq!(bench.viewer().state.settings.quality, Some(Quality::Swift));
    bench.said("quality auto");
    assert_eq!(bench.viewer().state.settings.quality, None);
    let asked: Vec<_> = std::iter::from_fn(|| bench.viewer().state.poll_host_request()).collect();
    let wanted = [Some(Quality::Swift), None].map(Intent::Quality);
    assert_eq!(asked, wanted, "of what draws");
}

#[test]
fn help_names_every_command_and_values_are_listed_by_their_beginning() {
    let mut bench = Bench::new();
    assert_eq!(bench.said("help").lines().count(), Command::all().count());
    assert_eq!(
        bench.said("help step"),
        "step [unit | event | action] — while paused: to the next unit, the next event, or the end of an action\n"
    );
    bench.0.turn();
    let values = bench.said("values frames.took");
    assert_eq!(values, "frames.took-p50 0.00 ms\nframes.took-p99 0.00 ms\n");
    bench.said("quit");
    assert!(bench.0.is_over());
}
