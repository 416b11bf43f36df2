//! The loop on a manual clock, with a screen that shows nothing.

use super::pretend::PretendScreen;
use super::*;
use trantor_client::feed::FeedKind;
use trantor_client::{ControlRequest, FeedEntry, Scene, SceneClock, Who};
use trantor_model::{AgentId, TeamId};
use trantor_time::GameTime;

use crate::demo::{Demo, DemoScene};
use crate::input::Action;
use crate::source::{self, Source};
use crate::stage::StageOptions;
use trantor_time::{ManualClock, RealSpan};

type TestLoop = GameLoop<PretendScreen, ManualClock>;

fn hertz(rate: f64) -> Rate {
    Rate::per_second(rate).unwrap()
}

fn at(millis: i64) -> RealTime {
    RealTime::ZERO + RealSpan::from_millis(millis)
}

fn test_loop(rate: f64) -> (TestLoop, ManualClock) {
    let clock = ManualClock::default();
    let stage = Stage::new(
        source::demo(Demo::new(DemoScene::Ritual)),
        StageOptions::default(),
    );
    let screen = PretendScreen::new(rate);
    (
        GameLoop::new(stage, screen, Settings::default(), clock.clone()),
        clock,
    )
}

/// Turns until `until`, sleeping exactly as asked.
fn run(game_loop: &mut TestLoop, clock: &ManualClock, until: RealTime) {
    while clock.now() < until {
        if let Wake::At(wake) = game_loop.turn() {
            clock.advance_to(wake.min(until));
        }
    }
}

fn calls(game_loop: &mut TestLoop, name: &str) -> u64 {
    game_loop
        .viewer()
        .schedule
        .system_mut(name)
        .unwrap()
        .pacer
        .calls()
}

fn type_line(game_loop: &mut TestLoop, line: &str) {
    let console = &mut game_loop.viewer().stage.hud().console;
    console.line = line.to_owned();
    console.enter();
}

#[test]
fn frames_follow_the_display_and_its_change() {
    let (mut game_loop, clock) = test_loop(144.0);
    run(&mut game_loop, &clock, at(1_000));
    let drawn = game_loop.viewer().screen.drawn.len();
    assert!((143..=145).contains(&drawn), "{drawn} frames in a second");
    game_loop.viewer().screen.rate = hertz(75.0);
    run(&mut game_loop, &clock, at(2_000));
    let later = game_loop.viewer().screen.drawn.len() - drawn;
    assert!((74..=76).contains(&later), "{later} frames in the next");
}

#[test]
fn a_flood_of_events_does_not_delay_a_frame() {
    let (mut game_loop, clock) = test_loop(60.0);
    run(&mut game_loop, &clock, at(100));
    // The platform is never quiet: the pointer moves ten thousand times a second, and handling that takes half of it.
    while clock.now() < at(1_100) {
        game_loop.event(|viewer, _| {
            viewer.put_input(Input::Pinch(0.0));
            clock.advance(RealSpan::from_micros(50));
        });
        clock.advance(RealSpan::from_micros(50));
    }
    let worst = game_loop.viewer().screen.intervals().max().unwrap();
    assert!(worst < RealSpan::from_micros(16_667 + 101), "{worst:?}");
    let in_events = game_loop.viewer().pacer.time_in_events;
    assert!(
        in_events >= RealSpan::from_millis(450),
        "the time of events is counted"
    );
}

#[test]
fn a_flood_from_the_network_gets_a_third_of_the_time_beside_slow_frames() {
    /// What drawing takes here; the screen cannot be given a clock.
    const FRAME: RealSpan = RealSpan::from_millis(30);
    const PIECE: RealSpan = RealSpan::from_micros(100);
    thread_local! {
        static CLOCK: ManualClock = ManualClock::default();
    }
    let clock = CLOCK.with(ManualClock::clone);
    let take = |_| {
        CLOCK.with(|clock| clock.advance(PIECE));
        true
    };
    let stage = Stage::new(
        source::demo_with_network(Demo::new(DemoScene::Ritual), take),
        StageOptions::default(),
    );
    let mut screen = PretendScreen::new(60.0);
    screen.work = |_| CLOCK.with(|clock| clock.advance(FRAME));
    let mut game_loop = GameLoop::new(stage, screen, Settings::default(), clock.clone());
    run(&mut game_loop, &clock, at(10_000));
    let in_events = game_loop.viewer().pacer.time_in_events;
    let share = in_events.as_secs_f64() / 10.0;
    assert!((share - 1.0 / 3.0).abs() < 0.01, "{share} of the time");
    // Back to back, frames of 30 ms would be 33.
    let drawn = game_loop.viewer().screen.drawn.len();
    assert!((219..=225).contains(&drawn), "{drawn} frames");
}

#[test]
fn input_is_sampled_in_the_first_system_of_a_frame() {
    let (mut game_loop, clock) = test_loop(60.0);
    run(&mut game_loop, &clock, at(100));
    game_loop.event(|viewer, _| {
        viewer.put_input(Input::Act(Action::Pause));
        viewer.put_input(Input::Act(Action::Theme));
        assert!(!viewer.stage.scene().clock.paused);
    });
    run(&mut game_loop, &clock, at(120));
    assert!(
        game_loop.viewer().stage.scene().clock.paused,
        "in the frame that follows"
    );
    assert_eq!(game_loop.viewer().inputs.take(), None);
}

#[test]
fn letters_that_are_typed_are_no_keys() {
    let (mut game_loop, clock) = test_loop(60.0);
    let key = |name: &str, is_typing| Input::Key {
        name: name.to_owned(),
        is_down: true,
        is_repeat: false,
        is_typing,
    };
    let before = game_loop.viewer().stage.theme();
    game_loop.event(|viewer, _| {
        for name in ["space", "f", "f4"] {
            viewer.put_input(key(name, true));
        }
    });
    run(&mut game_loop, &clock, at(50));
    assert!(!game_loop.viewer().stage.scene().clock.paused);
    assert_ne!(
        game_loop.viewer().stage.theme(),
        before,
        "a key that is no letter does what it does"
    );
    game_loop.event(|viewer, _| viewer.put_input(key("space", false)));
    run(&mut game_loop, &clock, at(100));
    assert!(game_loop.viewer().stage.scene().clock.paused);
}

#[test]
fn a_system_is_slowed_down_by_a_command_and_the_others_keep_their_rates() {
    let (mut game_loop, clock) = test_loop(60.0);
    run(&mut game_loop, &clock, at(50));
    type_line(&mut game_loop, "rate graphics 10");
    run(&mut game_loop, &clock, at(1_050));
    assert!((60..=65).contains(&calls(&mut game_loop, "hud")));
    let graphics = calls(&mut game_loop, "graphics");
    assert!((11..=15).contains(&graphics), "{graphics}");
    assert!(calls(&mut game_loop, "statistics") <= 3);
}

#[test]
fn a_message_goes_when_its_timer_is_done_and_a_reminder_comes() {
    let (mut game_loop, clock) = test_loop(60.0);
    let shown = |game_loop: &mut TestLoop| game_loop.viewer().stage.hud().shown_notice().map(str::to_owned);
    type_line(&mut game_loop, "remind 2 look north");
    run(&mut game_loop, &clock, at(1_900));
    assert_eq!(shown(&mut game_loop), None);
    run(&mut game_loop, &clock, at(2_100));
    assert_eq!(shown(&mut game_loop).as_deref(), Some("look north"));
    run(&mut game_loop, &clock, at(6_900));
    assert!(shown(&mut game_loop).is_some());
    run(&mut game_loop, &clock, at(7_200));
    assert_eq!(shown(&mut game_loop), None);
    assert!(game_loop.viewer().timers.running().is_empty());
}

#[test]
fn rates_are_counted_once_a_second() {
    let (mut game_loop, clock) = test_loop(60.0);
    run(&mut game_loop, &clock, at(3_000));
    let rates = &game_loop.viewer().rates;
    let of_hud = rates.calls(4);
    for rate in [rates.frames(), of_hud].map(Option::unwrap) {
        assert!((59.0..=61.0).contains(&rate), "{rate}");
    }
}

#[test]
fn figures_of_the_inside_are_collected_while_the_debugging_view_is_open() {
    let (mut game_loop, clock) = test_loop(60.0);
    let mut after = |is_toggled: bool, millis| {
        if is_toggled {
            game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Debug)));
        }
        type_line(&mut game_loop, "remind 60 tea");
        run(&mut game_loop, &clock, at(millis));
        game_loop.viewer().figures.clone()
    };
    assert_eq!(after(false, 1_500), Figures::default(), "closed");
    let open = after(true, 1_600);
    let names = |group: usize| -> Vec<&str> {
        let rows = &open.groups[group].rows;
        rows.iter().map(|row| row.name.as_str()).collect()
    };
    let titles: Vec<_> = open.groups.iter().map(|group| group.title).collect();
    assert_eq!(titles, ["Frames", "Systems", "Pending", "Connection", "Server"]);
    assert!(names(1).contains(&"interpolation"), "time by stage");
    let pending = names(2);
    assert!(
        pending.contains(&"statistics") && pending.contains(&"#0 “tea”"),
        "{pending:?}"
    );
    assert!(open.frame_ms.len() > 80 && open.period_ms > 16.0);
    let later = after(false, 1_620);
    assert_ne!(open, later, "new in each frame");
    assert_eq!(after(true, 1_700), later, "closed again");
}

#[test]
fn a_system_that_fails_in_each_frame_is_said_once_and_called_less_and_less() {
    let (mut game_loop, clock) = test_loop(60.0);
    game_loop.viewer().screen.work = |_| panic!("the renderer broke");
    run(&mut game_loop, &clock, at(50));
    let shown = |game_loop: &mut TestLoop| game_loop.viewer().stage.hud().shown_notice().map(str::to_owned);
    assert_eq!(
        shown(&mut game_loop).as_deref(),
        Some("graphics failed, and is tried again: the renderer broke")
    );
    run(&mut game_loop, &clock, at(60_000));
    assert_eq!(shown(&mut game_loop), None, "not said again");
    let failed = calls(&mut game_loop, "graphics");
    assert!(failed < 15, "it failed {failed} times in a minute");
    assert!(calls(&mut game_loop, "hud") > 3_500, "the loop goes on");
    let failures = game_loop.viewer().schedule.failures();
    assert_eq!(failures.1, Some("graphics failed: the renderer broke"));
    // It works again, and draws each frame.
    game_loop.viewer().screen = PretendScreen::new(60.0);
    run(&mut game_loop, &clock, at(71_000));
    assert!(game_loop.viewer().screen.drawn.len() > 50);
}

/// A game joined late: what happened before comes with its first world.
#[derive(Debug)]
struct JoinedLate {
    game: Box<dyn Source>,
    past: Option<FeedEntry>,
}

impl Source for JoinedLate {
    fn name(&self) -> &str {
        self.game.name()
    }

    fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        self.game.scene(now, scene);
    }

    fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String> {
        self.game.request(request, now)
    }

    fn fill_speed(&self, clock: &mut SceneClock) {
        self.game.fill_speed(clock);
    }

    fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.past.take()
    }
}

#[test]
fn events_from_before_a_late_join_stay_in_the_feed() {
    let clock = ManualClock::default();
    let who = Who {
        agent: AgentId(1),
        team: TeamId(0),
    };
    let game = JoinedLate {
        game: source::demo(Demo::new(DemoScene::Ritual)),
        past: Some(FeedEntry {
            at: GameTime::ZERO,
            kind: FeedKind::Said(who, b"here"[..].into()),
        }),
    };
    let stage = Stage::new(Box::new(game), StageOptions::default());
    let screen = PretendScreen::new(60.0);
    let mut game_loop = GameLoop::new(stage, screen, Settings::default(), clock.clone());
    run(&mut game_loop, &clock, at(100));
    let hud = game_loop.viewer().stage.hud();
    assert_eq!(hud.feed.plain_lines(&[]).count(), 1);
}

#[test]
fn the_first_frame_updates_nothing_and_the_second_counts_from_it() {
    let (mut game_loop, clock) = test_loop(60.0);
    game_loop.turn();
    assert_eq!(game_loop.viewer().screen.drawn.len(), 1);
    assert!(game_loop.viewer().stage.scene().ground.is_none());
    clock.advance(RealSpan::from_millis(20));
    game_loop.turn();
    let scene = game_loop.viewer().stage.scene();
    assert!(scene.ground.is_some(), "brought to the second frame's instant");
}

#[test]
fn what_only_the_program_can_do_is_asked_of_it_and_quitting_ends_the_loop() {
    let (mut game_loop, clock) = test_loop(60.0);
    game_loop.event(|viewer, _| {
        for action in [Action::Screenshot, Action::FullScreen, Action::Quit] {
            viewer.put_input(Input::Act(action));
        }
    });
    run(&mut game_loop, &clock, at(100));
    assert_eq!(
        game_loop.viewer().screen.asked,
        [Intent::Do(Action::Screenshot), Intent::Do(Action::FullScreen)]
    );
    assert!(game_loop.is_over());
}

#[test]
fn the_game_is_heard_as_it_is_shown_held_by_a_pause_and_silent_when_asked() {
    let (mut game_loop, clock) = test_loop(60.0);
    game_loop.viewer().stage = Stage::new(
        source::demo(Demo::new(DemoScene::Overview)),
        StageOptions::default(),
    );
    // Tones that began, whether they are paused, and the volume.
    let heard = std::rc::Rc::new(std::cell::Cell::new((0, false, 0.0)));
    let speaker = std::rc::Rc::clone(&heard);
    game_loop.viewer().sound.open(Box::new(move |mix| {
        speaker.set((speaker.get().0 + mix.voices.len(), mix.is_paused, mix.volume));
    }));
    run(&mut game_loop, &clock, at(4_000));
    let (played, ..) = heard.get();
    assert!(played >= 3, "{played} tones in four seconds of a demo");
    game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Pause)));
    run(&mut game_loop, &clock, at(6_000));
    assert_eq!(heard.get(), (played, true, 0.6));
    game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Pause)));
    type_line(&mut game_loop, "volume off");
    run(&mut game_loop, &clock, at(9_000));
    assert_eq!(heard.get(), (played, false, 0.0));
    type_line(&mut game_loop, "volume 50");
    run(&mut game_loop, &clock, at(12_000));
    assert!(heard.get().0 > played && heard.get().2 == 0.5);
}

/// What a person sees of a map after doing this, at a density.
fn after_gestures(pixels_per_point: f32, gestures: &[Input]) -> (f32, Option<trantor_model::Tile>) {
    let (mut game_loop, clock) = test_loop(60.0);
    game_loop.viewer().screen.pixels_per_point = pixels_per_point;
    run(&mut game_loop, &clock, at(100));
    game_loop.event(|viewer, _| {
        gestures.iter().for_each(|input| viewer.put_input(input.clone()));
        // The pose is remembered only after an input moved the camera.
        viewer.put_input(Input::Pinch(0.0));
    });
    run(&mut game_loop, &clock, at(2_000));
    let tile = match game_loop.viewer().stage.selection() {
        crate::intent::Selection::Tile(tile) => Some(tile),
        _ => None,
    };
    let mut settings = Settings::default();
    game_loop.viewer().stage.remember(&mut settings);
    (settings.view.unwrap().pose().distance, tile)
}

#[test]
fn fingers_on_a_touchpad_zoom_by_as_much_as_they_spread() {
    let (far, _) = after_gestures(1.0, &[]);
    let (near, _) = after_gestures(1.0, &[Input::Pinch(0.25), Input::Pinch(0.25)]);
    let (at_once, _) = after_gestures(1.0, &[Input::Pinch(0.5)]);
    assert!(
        near < far * 0.9 && (near - at_once).abs() < far * 0.01,
        "{far} {near} {at_once}"
    );
    let (back, _) = after_gestures(1.0, &[Input::Pinch(0.25), Input::Pinch(-0.25)]);
    assert!((back - far).abs() < far * 0.01, "{far} {back}");
}

/// The pointer moves to a place of a row, and the left button goes down or up there.
fn moved(x: f64) -> Input {
    Input::Moved {
        to: winit::dpi::PhysicalPosition::new(x, 500.0),
        is_over_panel: false,
    }
}

fn button(is_down: bool) -> Input {
    use winit::event::{ElementState, MouseButton};
    Input::Button {
        button: MouseButton::Left,
        state: if is_down {
            ElementState::Pressed
        } else {
            ElementState::Released
        },
        is_over_panel: false,
    }
}

#[test]
fn a_hand_moves_as_far_on_a_display_of_any_density() {
    use winit::dpi::PhysicalPosition;
    use winit::event::MouseScrollDelta;
    let scrolled =
        |pixels: f64| Input::Wheel(MouseScrollDelta::PixelDelta(PhysicalPosition::new(0.0, pixels)));
    let (plain, _) = after_gestures(1.0, &[scrolled(60.0)]);
    let (dense, _) = after_gestures(2.0, &[scrolled(120.0)]);
    let (far, _) = after_gestures(1.0, &[]);
    assert!(plain < far && (plain / far - dense / after_gestures(2.0, &[]).0).abs() < 0.01);
    // Six pixels are a drag, unless two of them are a point: then a hand that is not quite still has clicked.
    let gestures = [moved(640.0), button(true), moved(646.0), button(false)];
    assert_eq!(after_gestures(1.0, &gestures).1, None);
    assert!(after_gestures(2.0, &gestures).1.is_some());
}

#[test]
fn a_press_ends_with_the_focus() {
    let clicked = |gestures: &[Input]| after_gestures(1.0, gestures).1.is_some();
    assert!(clicked(&[moved(640.0), button(true), button(false)]));
    assert!(!clicked(&[
        moved(640.0),
        button(true),
        Input::FocusLost,
        button(false)
    ]));
}
