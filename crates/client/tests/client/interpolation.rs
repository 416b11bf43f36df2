//! A walking agent as it is shown, frame by frame, through a whole connection.

use crate::support::{MILLI, SECOND, Server, Universe};
use trantor_client::{ControlRequest, LinkState, Scene};
use trantor_model::{AgentId, Direction, MapSize};
use trantor_time::GameTime;

/// One frame of a recording.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// When, in nanoseconds of real time.
    real: i64,
    /// The moment shown.
    game: GameTime,
    /// How far the walker has come since the start, counted on across the seam.
    way: f32,
    delay_ns: i64,
}

const WIDTH: f32 = 10.0;
const HERTZ: i64 = 144;

fn server(frequency: u64) -> Server {
    let mut server = Server::new(MapSize::new(10, 8).unwrap(), frequency);
    server.place(0, 7, 3, Direction::East);
    server
}

/// Joins, and lets the walker make 20 steps from two seconds later, recording from before to after.
/// `meddle` is called before every frame with its number.
fn record(
    mut universe: Universe,
    frames: i64,
    mut meddle: impl FnMut(&mut Universe, i64),
) -> (Vec<Frame>, Vec<GameTime>, Universe) {
    let frequency = universe.server.game.frequency().get();
    let start = GameTime::from_units(2 * i64::from(frequency));
    let ends = universe.server.walk(0, start, 20);
    let mut scene = Scene::default();
    universe.run_until(1_500 * MILLI);
    let mut record: Vec<Frame> = vec![];
    let mut number = 0;
    universe.frames(HERTZ, frames, &mut scene, |universe, scene| {
        meddle(universe, number);
        number += 1;
        assert_eq!(scene.link, LinkState::Live);
        let x = scene.agent(AgentId(0)).unwrap().x;
        let way = match record.last() {
            None => 0.0,
            Some(last) => {
                let here = (x - 7.0) - last.way;
                last.way + here - (here / WIDTH).round() * WIDTH
            }
        };
        record.push(Frame {
            real: universe.now,
            game: scene.clock.game,
            way,
            delay_ns: universe.client.stats(universe.real()).display_delay_ns,
        });
    });
    (record, ends, universe)
}

/// A walk never goes back, moves in every frame, and arrives at its deadlines.
fn check_walk(record: &[Frame], ends: &[GameTime]) {
    let start = GameTime::from_nanounits(ends[0].as_nanounits() - 7_000_000_000);
    for pair in record.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        assert!(b.game >= a.game, "the moment shown never goes back: {a:?} {b:?}");
        assert!(b.way >= a.way - 1e-4, "no step backward: {a:?} {b:?}");
        let is_walking = a.game >= start && b.game <= ends[ends.len() - 1];
        // The anchor of a pause is sent to the microsecond, and followed as closely: that cannot be seen.
        if is_walking && (b.game - a.game).as_units_f64() > 1e-4 {
            assert!(b.way > a.way, "no two equal frames while it moves: {a:?} {b:?}");
        }
    }
    for (step, end) in ends.iter().enumerate() {
        let target = (step + 1) as f32;
        let place = record
            .iter()
            .position(|frame| frame.game >= *end)
            .expect("the recording is long enough");
        let (before, at) = (record[place - 1], record[place]);
        assert!(
            before.way < target,
            "not there before the deadline: {before:?} for {end:?}"
        );
        let a_frame = at.way - before.way;
        assert!(
            at.way >= target - 1e-3 && at.way <= target + a_frame + 1e-3,
            "there at the deadline, give or take a frame: {before:?} {at:?} for {end:?}"
        );
    }
    let arrived = record.last().unwrap().way;
    assert!(
        (arrived - ends.len() as f32).abs() < 1e-4,
        "it stands where it should: {arrived}"
    );
}

#[test]
fn a_walk_is_smooth_and_arrives_at_its_deadlines() {
    for (least, more) in [(0, 0), (2 * MILLI, 3 * MILLI), (40 * MILLI, 20 * MILLI)] {
        let universe = Universe::new(server(100), least, more);
        let (record, ends, universe) = record(universe, 3 * HERTZ, |_, _| {});
        check_walk(&record, &ends);
        // All came in time, so the way is exactly what game time says, with no seam between steps.
        assert_eq!(universe.client.stats(universe.real()).late, 0);
        let start = ends[0].as_units_f64() - 7.0;
        for frame in &record {
            let should = ((frame.game.as_units_f64() - start) / 7.0).clamp(0.0, 20.0);
            assert!(
                (f64::from(frame.way) - should).abs() < 1e-3,
                "{frame:?} should be {should}"
            );
        }
        // The deadline in real time, as late as the display is by intent, give or take a frame and what is
        // unknown of the server's clock.
        let unknown = universe.client.stats(universe.real()).clock.error_bound_ns;
        for end in &ends {
            let deadline = universe.server.game.real_at(*end).unwrap().as_nanos();
            let shown = record.iter().find(|frame| frame.game >= *end).unwrap();
            let off = shown.real - (deadline + shown.delay_ns);
            assert!(
                (-unknown..=unknown + SECOND / HERTZ).contains(&off),
                "shown {off} ns off with {least} + {more}"
            );
        }
    }
}

/// Over links from perfect to bad, with a clock that is as wrong as clocks of cheap machines are.
#[test]
fn a_walk_stays_smooth_through_changes_of_speed_and_pauses() {
    use ControlRequest::{Pause, Resume, SetFrequency};
    let speeds = [
        (100, SetFrequency(250)),
        (120, SetFrequency(20)),
        (260, SetFrequency(1_000)),
        (270, SetFrequency(60)),
    ];
    // One change comes while the game stands: nothing moves before it goes on.
    let pause = [
        (90, SetFrequency(40)),
        (130, Pause),
        (160, SetFrequency(180)),
        (200, Resume),
        (230, SetFrequency(100)),
    ];
    for (least, more, clock_off_ppm, requests) in [
        (0, 0, 0, &pause[..]),
        (3 * MILLI, 4 * MILLI, 0, &speeds),
        (30 * MILLI, 15 * MILLI, 0, &pause),
        (10 * MILLI, 40 * MILLI, -100, &pause),
        (10 * MILLI, 40 * MILLI, 100, &pause),
    ] {
        let mut universe = Universe::new(server(100), least, more);
        universe.clock_off_ppm = clock_off_ppm;
        let (record, ends, universe) = record(universe, 6 * HERTZ, |universe, frame| {
            if let Some((_, request)) = requests.iter().find(|(at, _)| *at == frame) {
                universe.client.request(*request).unwrap();
            }
        });
        assert_eq!(universe.server.requests.len(), requests.len());
        check_walk(&record, &ends);
        assert_eq!(
            universe.client.stats(universe.real()).late,
            0,
            "{least} + {more}, {clock_off_ppm} ppm"
        );
        if least == 0 {
            let stands = |pair: &&[Frame]| pair[0].way == pair[1].way && (0.1..19.0).contains(&pair[0].way);
            let frozen = record.windows(2).filter(stands).count();
            assert!(
                (65..75).contains(&frozen),
                "as long as the pause was: {frozen} frames"
            );
        }
    }
}

#[test]
fn changes_that_come_late_are_caught_up_with_without_a_jump() {
    let universe = Universe::new(server(100), 5 * MILLI, 0);
    let (record, ends, universe) = record(universe, 4 * HERTZ, |universe, frame| {
        // For a second nothing takes less than a third of a second.
        if frame == 130 {
            universe.down.set_delay(300 * MILLI, 50 * MILLI);
        }
        if frame == 270 {
            universe.down.set_delay(5 * MILLI, 0);
        }
    });
    let stats = universe.client.stats(universe.real());
    assert!(stats.late > 0, "some were late, or this shows nothing");
    let walk = 100.0 / 7.0 / HERTZ as f32;
    for pair in record.windows(2) {
        let moved = pair[1].way - pair[0].way;
        assert!(
            (-1e-4..8.0 * walk).contains(&moved),
            "neither back nor leaping: {moved} in {pair:?}"
        );
    }
    assert!((record.last().unwrap().way - ends.len() as f32).abs() < 1e-4);
    assert!(stats.display_delay_ns < 400 * MILLI);
}

#[test]
fn a_scene_that_showed_another_world_shows_no_ground_of_it() {
    let grown = |scene: &mut Scene, amount: u32| {
        let mut server = server(100);
        server.ground[3].0[0] = amount;
        let mut universe = Universe::new(server, 0, 0);
        universe.run_until(SECOND);
        universe.client.scene(universe.real(), scene);
        let ground = scene.ground.as_ref().unwrap();
        assert_eq!(ground.tiles[3].0[0], amount);
        ground.version
    };
    let mut scene = Scene::default();
    let first = grown(&mut scene, 5);
    let second = grown(&mut scene, 6);
    assert!(second > first, "a drawer that keeps a copy must notice");
    assert_eq!(scene.ground.as_ref().unwrap().changes_since(first), None);
}
