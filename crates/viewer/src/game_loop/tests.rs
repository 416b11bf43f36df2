//! The loop on a manual clock, with a screen that shows nothing.

use super::pretend::PretendScreen;
use super::*;
use trantor_client::{FeedEntry, FeedKind, Who};
use trantor_model::{AgentId, TeamId, Tile};
use trantor_render::gpu::Quality;
use trantor_time::GameTime;
use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta};

use crate::demo::{Demo, DemoScene};
use crate::input::Action;
use crate::intent::Selection;
use crate::settings::Settings;
use crate::source::Playing;
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
    let (state, screen) = (ViewerState::demo(DemoScene::Elevation), PretendScreen::new(rate));
    (GameLoop::new(state, screen, clock.clone()), clock)
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

/// The answer to a typed command.
fn said(game_loop: &mut TestLoop, line: &str) -> Result<String, String> {
    game_loop.viewer().run_command(line, RealTime::ZERO)
}

fn type_line(game_loop: &mut TestLoop, line: &str) {
    let console = &mut game_loop.viewer().state.hud().console;
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
    let source = Playing::new(Demo::new(DemoScene::Elevation), take);
    let state = ViewerState::new(Box::new(source), Settings::default());
    let mut screen = PretendScreen::new(60.0);
    screen.work = |_| CLOCK.with(|clock| clock.advance(FRAME));
    let mut game_loop = GameLoop::new(state, screen, clock.clone());
    run(&mut game_loop, &clock, at(10_000));
    let in_events = game_loop.viewer().pacer.time_in_events;
    let share = in_events.as_secs_f64() / 10.0;
    assert!((share - 1.0 / 3.0).abs() < 0.01, "{share} of the time");
    // Back to back, frames of 30 ms would be 33.
    let drawn = game_loop.viewer().screen.drawn.len();
    assert!((219..=225).contains(&drawn), "{drawn} frames");
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
    let before = game_loop.viewer().state.settings.shown_theme();
    game_loop.event(|viewer, _| {
        for name in ["space", "f", "f4"] {
            viewer.put_input(key(name, true));
        }
    });
    run(&mut game_loop, &clock, at(50));
    assert!(!game_loop.viewer().state.scene().clock.paused);
    assert_ne!(
        game_loop.viewer().state.settings.shown_theme(),
        before,
        "a key that is no letter does what it does"
    );
    game_loop.event(|viewer, _| viewer.put_input(key("space", false)));
    assert!(!game_loop.viewer().state.scene().clock.paused);
    run(&mut game_loop, &clock, at(70));
    assert!(
        game_loop.viewer().state.scene().clock.paused,
        "in the frame that follows"
    );
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
    run(&mut game_loop, &clock, at(3_500));
    let rates = &game_loop.viewer().rates;
    for (rate, expected) in [(rates.frames(), 10.0), (rates.calls(4), 60.0)] {
        assert!(
            (rate.unwrap() - expected).abs() < 1.5,
            "{rate:?}, counted once a second"
        );
    }
}

#[test]
fn a_message_goes_after_five_seconds() {
    let (mut game_loop, clock) = test_loop(60.0);
    run(&mut game_loop, &clock, at(2_000));
    game_loop.viewer().state.notice("look north".to_owned());
    for (until, is_shown) in [(2_100, true), (6_900, true), (7_200, false)] {
        run(&mut game_loop, &clock, at(until));
        assert_eq!(game_loop.viewer().state.hud().shown_notice().is_some(), is_shown);
    }
}

#[test]
fn figures_of_the_inside_are_collected_while_the_debugging_view_is_open() {
    let (mut game_loop, clock) = test_loop(60.0);
    let mut after = |is_toggled: bool, millis| {
        if is_toggled {
            game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Debug)));
        }
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
    assert!(names(1).contains(&"interpolation"), "a row for each system");
    assert!(names(2).contains(&"statistics"), "pending");
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
    let shown = |game_loop: &mut TestLoop| game_loop.viewer().state.hud().shown_notice().map(str::to_owned);
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

#[test]
fn events_from_before_a_late_join_stay_in_the_feed() {
    let (mut game_loop, clock) = test_loop(60.0);
    let who = Who {
        agent: AgentId(1),
        team: TeamId(0),
    };
    let mut game = Playing::new(Demo::new(DemoScene::Elevation), |_| false);
    game.feed.push_back(FeedEntry {
        at: GameTime::ZERO,
        kind: FeedKind::Said(who, b"here"[..].into()),
    });
    game_loop.viewer().state = ViewerState::new(Box::new(game), Settings::default());
    run(&mut game_loop, &clock, at(100));
    let hud = game_loop.viewer().state.hud();
    assert_eq!(hud.feed.plain_lines().count(), 1);
}

#[test]
fn the_first_frame_updates_nothing_and_the_second_counts_from_it() {
    let (mut game_loop, clock) = test_loop(60.0);
    game_loop.turn();
    assert_eq!(game_loop.viewer().screen.drawn.len(), 1);
    assert!(game_loop.viewer().state.scene().ground.is_none());
    clock.advance(RealSpan::from_millis(20));
    game_loop.turn();
    let scene = game_loop.viewer().state.scene();
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

/// The camera's distance and the selected tile after these gestures, on a display of this density.
fn after_gestures(pixels_per_point: f32, gestures: &[Input]) -> (f32, Option<Tile>) {
    let (mut game_loop, clock) = test_loop(60.0);
    game_loop.viewer().screen.pixels_per_point = pixels_per_point;
    run(&mut game_loop, &clock, at(100));
    game_loop.event(|viewer, _| {
        gestures.iter().for_each(|input| viewer.put_input(input.clone()));
        // The pose is saved only after an input moved the camera.
        viewer.put_input(Input::Pinch(0.0));
    });
    run(&mut game_loop, &clock, at(200));
    let tile = match game_loop.viewer().state.selection() {
        Selection::Tile(tile) => Some(tile),
        _ => None,
    };
    let view = game_loop.viewer().state.settings.view;
    (view.unwrap().pose.distance, tile)
}

/// The left button goes down, the pointer moves so far, and it goes up unless the window loses the keyboard first.
fn is_click(pixels_per_point: f32, moved: f64, loses_focus: bool) -> bool {
    let to = |x| Input::Moved {
        to: PhysicalPosition::new(x, 500.0),
        is_over_panel: false,
    };
    let button = |state| Input::Button {
        button: MouseButton::Left,
        state,
        is_over_panel: false,
    };
    let mut gestures = vec![to(640.0), button(ElementState::Pressed), to(640.0 + moved)];
    gestures.extend(loses_focus.then_some(Input::FocusLost));
    gestures.push(button(ElementState::Released));
    after_gestures(pixels_per_point, &gestures).1.is_some()
}

#[test]
fn gestures_move_the_camera_as_far_on_a_display_of_any_density() {
    let far = after_gestures(1.0, &[]).0;
    let after =
        |density, inputs: &[Input]| after_gestures(density, inputs).0 / after_gestures(density, &[]).0;
    let pinched = after(1.0, &[Input::Pinch(0.25), Input::Pinch(0.25)]);
    assert!(pinched < 0.9 && (pinched - after(1.0, &[Input::Pinch(0.5)])).abs() < 0.01);
    let back = after_gestures(1.0, &[Input::Pinch(0.25), Input::Pinch(-0.25)]).0;
    assert!((back - far).abs() < far * 0.01, "{far} {back}");
    let wheel = |pixels: f64| Input::Wheel(MouseScrollDelta::PixelDelta(PhysicalPosition::new(0.0, pixels)));
    let (plain, dense) = (after(1.0, &[wheel(60.0)]), after(2.0, &[wheel(120.0)]));
    assert!(plain < 1.0 && (plain - dense).abs() < 0.01, "{plain} {dense}");
    // Six pixels are a drag, unless two of them are a point: then a hand that is not quite still has clicked.
    assert!(!is_click(1.0, 6.0, false) && is_click(2.0, 6.0, false));
    assert!(
        is_click(1.0, 0.0, false) && !is_click(1.0, 0.0, true),
        "a press ends with the focus"
    );
}

/// A loop whose demo is playing.
fn loop_over_a_demo() -> TestLoop {
    let mut state = ViewerState::demo(DemoScene::Overview);
    state.update(None, RealTime::ZERO);
    GameLoop::new(state, PretendScreen::new(60.0), ManualClock::default())
}

#[test]
fn commands_answer_as_in_the_transcript() {
    let transcript = include_str!("commands/transcript.txt");
    let (mut game_loop, mut now) = (loop_over_a_demo(), String::new());
    for line in transcript.lines() {
        match line
            .strip_prefix("> ")
            .map(|command| said(&mut game_loop, command))
        {
            Some(Ok(answer)) => now += &format!("{line}\n{}\n", answer.trim_end()),
            Some(Err(mistake)) => now += &format!("{line}\n! {mistake}\n"),
            None if line.is_empty() || line.starts_with("-- ") => now += &format!("{line}\n"),
            None => {}
        }
    }
    assert!(now == transcript, "it is now:\n{now}");
}

#[test]
fn commands_reach_the_game_the_settings_and_what_draws() {
    let mut game_loop = loop_over_a_demo();
    let mut after = |line: &str| {
        said(&mut game_loop, line).unwrap_or_else(|mistake| panic!("{line}: {mistake}"));
        let state = &mut game_loop.viewer().state;
        state.update(Some(RealSpan::ZERO), RealTime::ZERO);
        state.scene().clock
    };
    after("  speed   250 ");
    let paused = after("pause");
    assert_eq!((paused.frequency, paused.paused), (250, true));
    after("   ");
    let stepped = after("step unit").game.whole_units();
    assert_eq!(stepped, paused.game.whole_units() + 1);
    assert!(!after("resume").paused);
    for line in ["bind pause p", "frames 30", "quality swift"] {
        after(line);
    }
    let viewer = game_loop.viewer();
    let state = &mut viewer.state;
    assert_eq!(state.settings.keys[&Action::Pause], ["p"]);
    assert_eq!(state.keys.bindings.action_of("p"), Some(Action::Pause));
    assert_eq!(state.settings.quality, Some(Quality::Swift));
    assert_eq!(
        state.poll_host_request(),
        Some(Intent::Quality(Some(Quality::Swift)))
    );
    let target = viewer.pacer.budget.rate().as_per_second();
    assert_eq!((target, viewer.fixed_rate), (30.0, true));
    said(&mut game_loop, "quit").unwrap();
    assert!(game_loop.is_over());
}
