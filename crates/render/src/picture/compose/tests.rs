//! Compositions are looked at as lists: who is drawn, how often, in how much detail.

use trantor_client::{SceneAgent, SceneGround};
use trantor_model::{Counts, Level, Resource, TeamId};

use super::*;
use crate::picture::Shape;

pub(crate) fn scene(width: u32, height: u32) -> Scene {
    let size = MapSize::new(width, height).unwrap();
    Scene {
        ground: Some(SceneGround {
            size,
            tiles: vec![Counts::ZERO; size.area()],
            version: 1,
            changed_since: 0,
            changed: Vec::new(),
        }),
        ..Scene::default()
    }
}

pub(crate) fn agent(id: u32, x: f32, y: f32) -> SceneAgent {
    SceneAgent {
        id: AgentId(id),
        team: TeamId(0),
        level: Level::FIRST,
        tile: Tile {
            x: x as u16,
            y: y as u16,
        },
        x,
        y,
        heading: 0.0,
        inventory: Counts::ZERO,
        action: None,
        held: false,
        food_left_units: None,
    }
}

fn options(pixels: (u32, u32), mood: Mood) -> Options {
    Options {
        pixels,
        mood,
        paint_everywhere: false,
        middle: None,
        detail: Detail::FINE,
        elapsed_seconds: 1.0 / 60.0,
    }
}

fn compose(scene: &Scene, pose: &CameraPose) -> DrawList {
    compose_with(scene, pose, &Marks::default())
}

/// The whole map with marks.
pub(super) fn compose_marked(scene: &Scene, marks: &Marks) -> DrawList {
    compose_with(scene, &overview(scene), marks)
}

fn compose_with(scene: &Scene, pose: &CameraPose, marks: &Marks) -> DrawList {
    let mut list = DrawList::default();
    let options = options((1280, 720), Mood::dusk());
    Compose::default().compose(scene, pose, &options, marks, &mut list);
    list
}

fn overview(scene: &Scene) -> CameraPose {
    let size = scene.ground.as_ref().unwrap().size;
    CameraPose::overview(
        Vec2::new(f32::from(size.width()), f32::from(size.height())),
        16.0 / 9.0,
        (Vec2::ZERO, Vec2::ONE),
    )
}

#[test]
fn the_smallest_pictures_are_composed_as_well() {
    let mut world = scene(20, 20);
    world.agents = vec![agent(0, 10.0, 10.0)];
    let mut list = DrawList::default();
    let sides = 0..=40u32;
    for (width, height) in sides
        .clone()
        .flat_map(|width| sides.clone().map(move |height| (width, height)))
    {
        for detail in [Detail::FINE, Detail::SWIFT] {
            let options = Options {
                detail,
                ..options((width, height), Mood::day())
            };
            Compose::default().compose(&world, &overview(&world), &options, &Marks::default(), &mut list);
            let reach = list.frame.unwrap().shadow_reach;
            assert!(reach.is_finite() && reach > 0.0, "{width} x {height}: {reach}");
        }
    }
}

#[test]
fn far_tiles_cost_nothing() {
    let mut world = scene(1_000, 1_000);
    for counts in &mut world.ground.as_mut().unwrap().tiles {
        counts[Resource::Food] = 1;
    }
    let far = compose(&world, &overview(&world));
    assert_eq!(
        far.instances(),
        0,
        "a million things, none large enough to be seen"
    );
    let near = CameraPose {
        distance: 12.0,
        ..overview(&world)
    };
    let list = compose(&world, &near);
    assert!((50..20_000).contains(&list.instances()), "{}", list.instances());
}

#[test]
fn a_board_has_one_style_all_over() {
    for side in [20u8, 30, 42, 50, 64] {
        let mut world = scene(side.into(), side.into());
        for counts in &mut world.ground.as_mut().unwrap().tiles {
            counts[Resource::Food] = 1;
        }
        // Seen level, tiles in front are much larger than those behind.
        for (pitch, farther) in [(0.4, 2.0), (0.9, 1.4), (1.5, 1.6), (0.9, 1.0)] {
            let whole = overview(&world);
            let pose = CameraPose {
                pitch: whole.pitch.min(pitch),
                distance: whole.distance * farther,
                ..whole
            };
            let list = compose(&world, &pose);
            let is_on_map = |at: &f32| (-0.5..f32::from(side) - 0.5).contains(at);
            let drawn = |shape: Shape| {
                let places = list.bodies[shape as usize].iter().map(|thing| thing.position);
                places.filter(|[x, _, y]| is_on_map(x) && is_on_map(y)).count()
            };
            let counts = [Shape::Speck, Shape::FoodPlain].map(drawn);
            let near = drawn(Shape::Food);
            let all = usize::from(side).pow(2);
            let one_style = [[0, 0], [all, 0], [0, all - near]];
            assert!(
                one_style.contains(&counts),
                "{side} at {pitch}: {counts:?} and {near}"
            );
            if farther == 1.0 && side <= 42 {
                assert_eq!(
                    counts.iter().sum::<usize>() + near,
                    all,
                    "things are seen on a map of {side}"
                );
            }
        }
    }
}

#[test]
fn motion_gives_way_in_the_same_time_at_any_frame_rate() {
    let mut world = scene(5, 5);
    world.clock.elapsed_units = 50.0;
    let calm = [30u8, 144].map(|rate| {
        let (mut composer, mut list) = (Compose::default(), DrawList::default());
        let options = Options {
            elapsed_seconds: 1.0 / f32::from(rate),
            ..options((800, 600), Mood::day())
        };
        for _ in 0..rate / 6 {
            composer.compose(&world, &overview(&world), &options, &Marks::default(), &mut list);
        }
        composer.calm
    });
    assert!((calm[0] - calm[1]).abs() < 1e-3, "{calm:?}");
    assert!((0.5..0.8).contains(&calm[0]), "{calm:?}");
}

#[test]
fn where_time_rushes_bodies_stand_still() {
    let mut world = scene(5, 5);
    let mut walker = agent(0, 2.0, 2.0);
    walker.action = Some(trantor_client::SceneAction {
        kind: trantor_model::CommandKind::Forward,
        progress: 0.12,
        remaining_units: 6.0,
        refused: false,
    });
    world.agents = vec![walker];
    let mut composer = Compose::default();
    let mut list = DrawList::default();
    let options = options((800, 600), Mood::day());
    let swing = |list: &DrawList| list.bodies[Shape::Character as usize][0].pose[0].abs();
    composer.compose(&world, &overview(&world), &options, &Marks::default(), &mut list);
    assert!(swing(&list) > 0.3);
    world.clock.elapsed_units = 50.0;
    for _ in 0..100 {
        composer.compose(&world, &overview(&world), &options, &Marks::default(), &mut list);
    }
    assert!(swing(&list) < 0.01);
}
