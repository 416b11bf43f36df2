//! A recorded game under the user's hand: keys, pointer and command line on the whole loop, with a server that plays it.
//!
//! The screen lays out the panels and makes the lists to draw, and draws nothing: no display and no adapter is needed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Rect, pos2, vec2};
use trantor_render::picture::DecalKind;
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::Parker;
use trantor_server::background::Background;
use trantor_server::cli::{self, Invocation};
use trantor_server::headless;
use trantor_server::start;
use trantor_time::{Clock as _, GameTime, RealSpan};
use trantor_viewer::game_loop::pretend::PretendScreen;
use trantor_viewer::game_loop::{GameLoop, Wake};
use trantor_viewer::input::Input;
use trantor_viewer::settings::Settings;
use trantor_viewer::source;
use trantor_viewer::state::ViewerState;

/// How long anything may take that is waited for.
const PATIENCE: RealSpan = RealSpan::from_secs(30);
const RECORDED_UNITS: i64 = 2_000;

fn words(line: &str) -> impl Iterator<Item = OsString> {
    line.split(' ')
        .map(OsString::from)
        .collect::<Vec<_>>()
        .into_iter()
}

/// A server that plays a recording, which is removed with it.
struct Playing {
    server: Background,
    _recording: TempPath,
}

struct TempPath(PathBuf);

impl Drop for TempPath {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// Records a game of two teams with the server's own minds, and plays it, paused at first; `options` say more of it.
fn play(name: &str, options: &str) -> Playing {
    let file = format!("{name}-{}.trj", std::process::id());
    let recording = TempPath(Path::new(env!("CARGO_TARGET_TMPDIR")).join(file));
    let path = recording.0.display();
    let line = format!("sim --seed 3 -x 12 -y 10 --teams red blue {options} --record {path}");
    headless::simulate(words(&line)).expect("the game is recorded");
    let line = format!("trantor-server replay play {path} -p 0 --paused -f 1000");
    let asked = match cli::parse(words(&line), std::iter::empty()) {
        Ok(Invocation::Play(asked)) => asked,
        other => panic!("{other:?}"),
    };
    let make = move || {
        start::play(&asked)
            .map(|(event_loop, _)| event_loop)
            .map_err(std::io::Error::other)
    };
    Playing {
        server: Background::with_loop(make).expect("a server"),
        _recording: recording,
    }
}

struct Person {
    game_loop: GameLoop<PretendScreen, RealClock>,
    parker: Parker,
    timeline: Option<Rect>,
}

impl Person {
    fn at(port: u16) -> Self {
        let parker = Parker::new();
        let language = trantor_client::Language::Frames;
        let source = source::live("localhost", port, language, None, parker.waker());
        let mut state = ViewerState::new(source.expect("a thread"), Settings::default());
        state.hud().report.is_on = true;
        let mut screen = PretendScreen::new(60.0);
        screen.panels = Some(egui::Context::default());
        Self {
            game_loop: GameLoop::new(state, screen, RealClock::new()),
            parker,
            timeline: None,
        }
    }

    /// A user who sees such a game played from its recording.
    fn watching(name: &str, options: &str) -> (Playing, Self) {
        let playing = play(name, options);
        let mut person = Self::at(playing.server.address().port());
        person.until("the recording", |it| {
            let has_world = it.state().scene().ground.is_some();
            has_world && it.state().source().recording().is_some() && it.timeline.is_some()
        });
        (playing, person)
    }

    fn state(&mut self) -> &mut ViewerState {
        &mut self.game_loop.viewer().state
    }

    fn units(&mut self) -> i128 {
        self.state().scene().clock.game.whole_units()
    }

    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let end = self.game_loop.clock().now() + PATIENCE;
        while !is_so(self) {
            let wake = self.game_loop.turn();
            for line in self.game_loop.viewer().state.hud().report.take_lines() {
                if let Some(place) = line.strip_prefix("widget timeline ") {
                    let sides = place.split(' ').map(|side| side.parse().expect("a number"));
                    let sides: Vec<f32> = sides.collect();
                    let (least, most) = (pos2(sides[0], sides[1]), pos2(sides[2], sides[3]));
                    self.timeline = Some(Rect::from_min_max(least, most));
                }
            }
            let now = self.game_loop.clock().now();
            assert!(now < end, "no {what}, at unit {}", self.units());
            if let Wake::At(wake) = wake {
                self.parker.wait(Some(wake));
            }
        }
    }

    fn frames(&mut self, count: u64) {
        let end = self.game_loop.viewer().pacer.budget.frames() + count;
        self.until("a few frames", |it| {
            it.game_loop.viewer().pacer.budget.frames() >= end
        });
    }

    fn press(&mut self, key: &str) {
        for is_down in [true, false] {
            let input = Input::Key {
                name: key.to_owned(),
                is_down,
                is_repeat: false,
                is_typing: false,
            };
            self.game_loop.event(|viewer, _| viewer.put_input(input));
        }
        self.frames(2);
    }

    /// A key that is the panels' own.
    fn press_in_panels(&mut self, key: Key) {
        let event = |pressed| Event::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        self.game_loop.viewer().screen.pointer = [event(true), event(false)].into();
        self.frames(4);
    }

    fn enter(&mut self, line: &str) {
        let console = &mut self.state().hud().console;
        console.line = line.to_owned();
        console.enter();
        self.frames(2);
    }

    /// Waits until the recording stands at that unit, and nothing is on its way any more.
    fn until_at(&mut self, units: i128) {
        self.until(&format!("unit {units}"), |it| {
            it.has_jumped() && it.state().scene().clock.game == GameTime::from_units(units as i64)
        });
        // The camera and what glides come to rest.
        self.frames(3);
    }

    fn has_jumped(&mut self) -> bool {
        let recording = self.state().source().recording();
        recording.is_some_and(|recording| recording.target().is_none())
    }

    fn seek(&mut self, units: i128) {
        self.enter(&format!("seek {units}"));
        self.until_at(units);
    }

    /// The pointer goes down on the time-line, over all of these parts of it, and up.
    fn drag(&mut self, parts: &[f32]) {
        let line = self.timeline.expect("a recording has a time-line");
        let at = |part: f32| line.lerp_inside(vec2(part, 0.5));
        let button = |pos: Pos2, pressed| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        let moves = parts.iter().map(|part| Event::PointerMoved(at(*part)));
        let mut events: Vec<_> = moves.collect();
        events.insert(1, button(at(parts[0]), true));
        events.push(button(at(parts[parts.len() - 1]), false));
        let count = events.len() as u64;
        self.game_loop.viewer().screen.pointer = events.into();
        self.frames(count + 2);
    }

    fn picture(&mut self) -> String {
        let state = self.state();
        state.compose();
        format!("{:?}", state.drawing.list())
    }
}

#[test]
fn a_recording_is_moved_stepped_and_repeated_by_hand() {
    let options = format!("-c 4 --minds team random --until {RECORDED_UNITS}");
    let (_playing, mut person) = Person::watching("timeline", &options);
    let known = person.state().source().recording().unwrap().clone();
    let ends = (known.begin().whole_units(), known.end().whole_units());
    assert_eq!(ends, (0, i128::from(RECORDED_UNITS)));
    assert!(
        !known.marks().is_empty(),
        "in {RECORDED_UNITS} units an agent dies or rises"
    );

    // Panels find their places in the first frames.
    person.frames(5);
    // Scrubbing: what counts is where the pointer came to rest.
    person.drag(&[0.1, 0.3, 0.75, 0.6]);
    person.until("a jump", |it| it.has_jumped() && it.units() > 0);
    person.frames(3);
    let scrubbed = person.units();
    assert!(
        (1_190..=1_210).contains(&scrubbed),
        "unit {scrubbed} at three fifths"
    );

    // The same moment is the same picture, from wherever one comes.
    person.seek(700);
    let picture = person.picture();
    person.press("k");
    person.until_at(800);
    assert_ne!(person.picture(), picture);
    person.press("j");
    person.until_at(700);
    assert_eq!(person.picture(), picture);

    // What agents did on the way was not seen, so that no trail leads there.
    let trails = |person: &mut Person| {
        let state = person.state();
        state.compose();
        state.drawing.list().decals[DecalKind::Dash as usize].len()
    };
    person.press("t");
    person.seek(800);
    assert_eq!(trails(&mut person), 0);
    person.press("t");
    person.seek(700);

    // Steps on and back.
    person.press(".");
    person.until_at(701);
    person.press("b");
    person.until_at(700);
    assert_eq!(person.picture(), picture);
    person.press(",");
    person.until("the end of an action", |it| {
        it.state().scene().clock.game > GameTime::from_units(700)
    });

    person.press("space");
    person.enter("speed 2000");
    person.until("the end", |it| it.units() == i128::from(RECORDED_UNITS));
    // The stop comes by itself, perhaps a moment later.
    person.until("time that stands still", |it| it.state().scene().clock.paused);
}

/// After a jump to the end, or on coming to it, the winners are seen, and not the moment that was shown before.
#[test]
fn at_the_end_of_a_recording_the_winners_are_seen() {
    let (playing, mut person) = Person::watching(
        "victory",
        "-c 6 --minds team team --team-size-max 6 --until 100000",
    );
    let standings = |person: &mut Person| {
        let scene = person.state().scene();
        let winner = scene.winner.map(|team| usize::from(team.0));
        let of_level_8 = winner.map(|team| scene.teams[team].by_level[7]);
        (of_level_8, scene.agents.len())
    };
    person.seek(60);
    assert_eq!(standings(&mut person), (None, 12));
    person.enter("seek 999999");
    person.until("the end", |it| it.state().scene().winner.is_some());
    assert_eq!(standings(&mut person), (Some(6), 12));
    let mut late = Person::at(playing.server.address().port());
    late.until("the end", |it| it.state().scene().winner.is_some());
    assert_eq!(standings(&mut late), (Some(6), 12));
    // The story has the turning points of what was not seen, and leads there.
    let end = person.units();
    person.until("the story", |it| it.game_loop.viewer().state.hud().tells_story());
    person.press_in_panels(Key::Num1);
    person.until("a turning point", |it| it.has_jumped() && it.units() < end);
    person.frames(3);
    assert!(!person.state().hud().tells_story());
    person.seek(70);
    assert_eq!(standings(&mut person), (None, 12));
}

/// Each jump back is asked for once: the scene from before it is not taken for one that has come to the end again.
#[test]
fn a_span_that_is_repeated_jumps_once_each_time() {
    let (playing, mut person) = Person::watching("repeat", "-c 2 --minds random random --until 600");
    person.seek(300);
    person.press("]");
    person.seek(200);
    person.press("[");
    person.enter("speed 200");
    person.press("space");
    let (mut before, mut jumps) = (200, 0);
    person.until("three jumps back", |it| {
        let units = it.units();
        // How far beyond its end it comes depends on how soon a busy machine asks for the jump.
        assert!(units >= 199, "unit {units} is before the span");
        jumps += u64::from(units < before);
        before = units;
        jumps == 3
    });
    person.press("\\");
    let ended = playing.server.stop().expect("it was running");
    let asked = 2 + jumps;
    // A machine that is slow may have come to the end of the span once more.
    let seeks = ended.stats.counters.seeks;
    assert!((asked..=asked + 1).contains(&seeks), "{seeks} jumps for {asked}");
}
