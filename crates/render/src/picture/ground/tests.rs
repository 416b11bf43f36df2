//! The ground's paint: what changed, in bands and slices.

use super::*;
use crate::picture::compose::tests::scene;

fn bare(width: u32, height: u32) -> SceneGround {
    scene(width, height).ground.unwrap()
}

/// The next version, in which these places changed.
fn change(ground: &mut SceneGround, places: &[u32]) {
    (ground.changed_since, ground.version) = (ground.version, ground.version + 1);
    ground.changed = places.to_vec();
}

#[test]
fn only_changed_bands_are_given_again() {
    let (mut paint, mut ground) = (GroundPaint::default(), bare(4, 3));
    paint.update(&ground, PaintMode::Mixture);
    assert_eq!(paint.take_dirty(), Some(0..3));
    assert_eq!(paint.take_dirty(), None);

    ground.tiles[6].add_one(Resource::Food);
    change(&mut ground, &[6]);
    paint.update(&ground, PaintMode::Mixture);
    assert_eq!(paint.take_dirty(), Some(0..3));
    assert_ne!(paint.levels()[0].texels[6], paint.levels()[0].texels[5]);

    paint.update(&ground, PaintMode::Mixture);
    assert_eq!(paint.take_dirty(), None, "nothing changed");
    paint.update(&ground, PaintMode::Heat(Resource::Food));
    assert_eq!(paint.take_dirty(), Some(0..3));
    ground.version += 7;
    change(&mut ground, &[]);
    paint.update(&ground, PaintMode::Heat(Resource::Food));
    assert_eq!(paint.take_dirty(), Some(0..3), "a version was missed");
}

#[test]
fn smaller_copies_are_means_and_bands_take_turns() {
    let (mut paint, mut ground) = (GroundPaint::default(), bare(5, 40));
    ground.tiles[0].add_one(Resource::Food);
    paint.update(&ground, PaintMode::Mixture);
    let given: Vec<_> = std::iter::from_fn(|| paint.take_dirty()).collect();
    assert_eq!(given, [0..16, 16..32, 32..40]);
    let sides: Vec<(u32, u32)> = paint
        .levels()
        .iter()
        .map(|level| (level.width, level.height))
        .collect();
    assert_eq!(sides, [(5, 40), (2, 20), (1, 10)]);
    let [food, bare] = [0, 1].map(|place| paint.levels()[0].texels[place].map(u32::from));
    assert!(food[1] > bare[1], "food is green");
    let mean = std::array::from_fn(|of| ((food[of] + 3 * bare[of]) / 4) as u8);
    assert_eq!(paint.levels()[1].texels[0], mean);
    assert_eq!(paint.levels()[1].texels[1].map(u32::from), bare);

    for place in [0, 199] {
        ground.tiles[place].add_one(Resource::Thystame);
    }
    change(&mut ground, &[0, 199]);
    paint.update(&ground, PaintMode::Mixture);
    let next = |paint: &mut GroundPaint| paint.take_dirty().map(|rows| rows.start);
    assert_eq!(next(&mut paint), Some(0));
    ground.tiles[1].add_one(Resource::Food);
    change(&mut ground, &[1]);
    paint.update(&ground, PaintMode::Mixture);
    assert_eq!(next(&mut paint), Some(32), "the other has its turn");
    assert_eq!(next(&mut paint), Some(0));
    assert_eq!(next(&mut paint), None);
}

#[test]
fn a_large_map_is_painted_in_slices_which_changes_in_between_do_not_upset() {
    let (mut paint, mut ground) = (GroundPaint::default(), bare(512, 512));
    let area = ground.size.area();
    paint.update(&ground, PaintMode::Mixture);
    let painted = |paint: &GroundPaint| {
        let texels = &paint.levels()[0].texels;
        texels.iter().filter(|texel| **texel != [0; 4]).count()
    };
    assert_eq!(painted(&paint), TILES_A_FRAME as usize);
    for place in [3, area - 3] {
        ground.tiles[place].add_one(Resource::Food);
    }
    change(&mut ground, &[3, area as u32 - 3]);
    while painted(&paint) < area {
        paint.update(&ground, PaintMode::Mixture);
    }
    let mut at_once = GroundPaint::default();
    at_once.update(&ground, PaintMode::Mixture);
    at_once.finish(&Scene {
        ground: Some(ground),
        ..Scene::default()
    });
    for (sliced, whole) in paint.levels().iter().zip(at_once.levels()) {
        assert!(sliced.texels == whole.texels);
    }
    assert_eq!(at_once.take_budget(), usize::MAX);
    assert_eq!(at_once.take_budget(), BANDS_A_FRAME);
}

#[test]
fn a_heat_map_is_scaled_to_all_but_the_highest_heaps_and_follows_the_game() {
    let (mut paint, mut ground) = (GroundPaint::default(), bare(20, 20));
    let heat = PaintMode::Heat(Resource::Food);
    paint.update(&ground, heat);
    assert_eq!(paint.heat_top(), 1, "of nothing");
    let brightest = heat_color(1, 1);
    assert_eq!((heat_color(7, 7), heat_color(40, 7)), (brightest, brightest));
    for tile in &mut ground.tiles[..5] {
        tile[Resource::Food] = 3;
    }
    ground.tiles[0][Resource::Food] = 90;
    while ground.version < u64::from(HEAT_UPDATES) {
        change(&mut ground, &[]);
        paint.update(&ground, heat);
    }
    assert_eq!(paint.heat_top(), 1, "colours seldom change their meaning");
    change(&mut ground, &[]);
    paint.update(&ground, heat);
    assert_eq!(paint.heat_top(), 3);
    assert_eq!(paint.levels()[0].texels[0], paint.levels()[0].texels[4]);
}
