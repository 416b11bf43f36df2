//! A frame allocates nothing once its lists have grown: the scene, the lists to draw, and the ground's colours.

#[path = "../benches/view/walkers.rs"]
mod walkers;

use glam::Vec2;
use trantor_render::picture::compose::{Detail, Marks};
use trantor_render::picture::ground::{GroundPaint, PaintMode};
use trantor_render::picture::palette::Mood;
use trantor_render::picture::{CameraPose, Compose, DrawList, Options};
use walkers::Walkers;

#[test]
fn frames_of_a_busy_world_allocate_nothing() {
    const SIDE: u16 = 100;
    let mut walkers = Walkers::new(u32::from(SIDE), 500);
    let mut composer = Compose::default();
    let mut list = DrawList::default();
    let mut paint = GroundPaint::default();
    let options = Options {
        pixels: (1280, 720),
        mood: Mood::dusk(),
        paint_everywhere: false,
        middle: None,
        detail: Detail::SWIFT,
        elapsed_seconds: 1.0 / 60.0,
    };
    let whole = CameraPose::overview(Vec2::splat(f32::from(SIDE)), 16.0 / 9.0, (Vec2::ZERO, Vec2::ONE));
    let mut frame = |number: u16| {
        walkers.advance();
        // From far to near and back, so that all lists are used.
        let nearer = 0.1 + 0.9 * (f32::from(number % 60) / 30.0 - 1.0).abs();
        let pose = CameraPose {
            distance: whole.distance * nearer,
            ..whole
        };
        composer.compose(&walkers.scene, &pose, &options, &Marks::default(), &mut list);
        if let Some(ground) = &walkers.scene.ground {
            paint.update(ground, PaintMode::Mixture);
            paint.follow_agents(ground.size, &walkers.scene);
            while paint.take_dirty().is_some() {}
        }
        assert!(list.instances() > 0);
    };
    (0..300).for_each(&mut frame);
    let busy = allocation_counter::measure(|| (300..600).for_each(&mut frame));
    assert_eq!(busy.count_total, 0, "{busy:?}");
}
