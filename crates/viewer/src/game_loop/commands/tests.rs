//! Commands to a loop with a screen that shows nothing.

use super::*;
use crate::demo::DemoScene;
use crate::game_loop::GameLoop;
use crate::game_loop::pretend::PretendScreen;
use crate::state::ViewerState;
use trantor_render::gpu::Quality;
use trantor_time::ManualClock;

const NOW: RealTime = RealTime::ZERO;

struct Bench(GameLoop<PretendScreen, ManualClock>);

impl Bench {
    fn new() -> Self {
        let mut state = ViewerState::demo(DemoScene::Overview);
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
fn commands_answer_as_in_the_transcript() {
    let transcript = include_str!("transcript.txt");
    let (mut bench, mut said) = (Bench::new(), String::new());
    for line in transcript.lines() {
        match line.strip_prefix("> ").map(|command| bench.run(command)) {
            Some(Ok(answer)) => said += &format!("{line}\n{}\n", answer.trim_end()),
            Some(Err(mistake)) => said += &format!("{line}\n! {mistake}\n"),
            None if line.is_empty() || line.starts_with("-- ") => said += &format!("{line}\n"),
            None => {}
        }
    }
    assert!(said == transcript, "it is now:\n{said}");
}

#[test]
fn commands_reach_the_game_the_settings_and_what_draws() {
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
    bench.said("bind pause p");
    let viewer = bench.viewer();
    assert_eq!(viewer.state.settings.keys[&Action::Pause], ["p"]);
    assert_eq!(viewer.state.bindings().action_of("p"), Some(Action::Pause));
    bench.said("frames 30");
    let target = bench.viewer().pacer.budget.rate().as_per_second();
    assert_eq!((target, bench.viewer().fixed_rate), (30.0, true));
    bench.said("quality swift");
    let state = &mut bench.viewer().state;
    assert_eq!(state.settings.quality, Some(Quality::Swift));
    assert_eq!(
        state.poll_host_request(),
        Some(Intent::Quality(Some(Quality::Swift)))
    );
    bench.said("quit");
    assert!(bench.0.is_over());
}
