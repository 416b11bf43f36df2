//! What is drawn of a walking agent, frame by frame: from a server without rules to the list that the graphics card is given.
//!
//! How the moments shown follow the server's is tested with the client; here it is that nothing on the way to the
//! picture loses any of it.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

#[path = "../../client/tests/client/support.rs"]
#[allow(dead_code, reason = "the tests of the client use more of it")]
mod support;

use glam::Vec2;
use support::{MILLI, SECOND, Server, Universe};
use trantor_client::{ControlRequest, Scene};
use trantor_model::{Direction, MapSize};
use trantor_render::picture::compose::Marks;
use trantor_render::picture::palette::Mood;
use trantor_render::picture::{CameraPose, Compose, Detail, DrawList, Options, Shape};
use trantor_time::GameTime;

const WIDTH: u16 = 10;
const HEIGHT: u16 = 8;
const HERTZ: i64 = 144;
const STEPS: u32 = 20;

#[derive(Clone, Copy, Debug)]
struct Drawn {
    game: GameTime,
    /// How far east the body's feet are from where it set out, counted on across the seam.
    way: f32,
}

/// Walks twenty tiles east at 100 units a second, over a link of 20 ms more or less, while the user changes the speed,
/// pauses and resumes; answers what each frame drew, and when each step ends.
fn record(detail: Detail) -> (Vec<Drawn>, Vec<GameTime>) {
    let mut server = Server::new(MapSize::new(u32::from(WIDTH), u32::from(HEIGHT)).unwrap(), 100);
    server.place(0, 7, 3, Direction::East);
    let mut universe = Universe::new(server, 10 * MILLI, 40 * MILLI);
    universe.clock_off_ppm = 50;
    let ends = universe.server.walk(0, GameTime::from_units(200), STEPS);
    universe.run_until(3 * SECOND / 2);
    let map = Vec2::new(f32::from(WIDTH), f32::from(HEIGHT));
    let pose = CameraPose::overview(map, 16.0 / 9.0, (Vec2::ZERO, Vec2::ONE));
    let options = Options {
        pixels: (1280, 720),
        mood: Mood::dusk(),
        paint_everywhere: false,
        middle: None,
        detail,
        elapsed_seconds: 1.0 / HERTZ as f32,
    };
    let (mut composer, mut list) = (Compose::default(), DrawList::default());
    let mut scene = Scene::default();
    let mut drawn: Vec<Drawn> = Vec::new();
    let mut start = None;
    let mut frame = 0;
    universe.frames(HERTZ, 6 * HERTZ, &mut scene, |universe, scene| {
        frame += 1;
        match frame {
            100 => universe.client.request(ControlRequest::SetFrequency(60)).unwrap(),
            150 => universe.client.request(ControlRequest::Pause).unwrap(),
            220 => universe.client.request(ControlRequest::Resume).unwrap(),
            250 => universe
                .client
                .request(ControlRequest::SetFrequency(140))
                .unwrap(),
            _ => {}
        }
        composer.compose(scene, &pose, &options, &Marks::default(), &mut list);
        let bodies =
            [Shape::Character, Shape::Figurine, Shape::Pawn].map(|shape| &list.bodies[shape as usize]);
        let body = bodies
            .into_iter()
            .flatten()
            .next()
            .expect("the walker is in the picture");
        let here = body.position[0] - *start.get_or_insert(body.position[0]);
        let last = drawn.last().map_or(0.0, |last| last.way);
        let moved = here - last;
        let way = last + moved - (moved / map.x).round() * map.x;
        drawn.push(Drawn {
            game: scene.clock.game,
            way,
        });
    });
    (drawn, ends)
}

#[test]
fn no_two_frames_of_a_walk_are_drawn_alike_and_none_goes_back() {
    for detail in [Detail::FINE, Detail::SWIFT] {
        let (drawn, ends) = record(detail);
        let (first, last) = (GameTime::from_units(200), *ends.last().unwrap());
        for pair in drawn.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            assert!(b.way >= a.way - 1e-4, "back: {a:?} {b:?}");
            // A pause is come to ever more slowly, to the microsecond of the wire.
            let moves = a.game >= first && b.game <= last && (b.game - a.game).as_units_f64() > 1e-4;
            assert!(!moves || b.way > a.way, "drawn alike: {a:?} {b:?}");
        }
        for (step, end) in ends.iter().enumerate() {
            let there = (step + 1) as f32;
            let arrived = drawn.iter().position(|frame| frame.game >= *end).unwrap();
            let (before, at) = (drawn[arrived - 1], drawn[arrived]);
            assert!(before.way < there, "before its deadline: {before:?}");
            let a_frame = at.way - before.way;
            let late = at.way - there;
            assert!(
                (-1e-3..=a_frame + 1e-3).contains(&late),
                "not at {end:?}: {before:?} {at:?}"
            );
        }
        assert!((drawn.last().unwrap().way - STEPS as f32).abs() < 1e-3);
    }
}
