//! The ground's paint: what changed, in bands and slices.

use super::*;

fn ground(version: u64, changed_since: u64, changed: Vec<u32>) -> SceneGround {
    SceneGround {
        size: MapSize::new(4, 3).unwrap(),
        tiles: vec![Counts::ZERO; 12],
        version,
        changed_since,
        changed,
    }
}

#[test]
fn only_changed_bands_are_given_again() {
    let mut paint = GroundPaint::default();
    let mut first = ground(1, 0, Vec::new());
    paint.update(&first, PaintMode::Mixture);
    assert_eq!(paint.take_dirty(), Some(0..3));
    assert_eq!(paint.take_dirty(), None);

    first.tiles[6].add_one(Resource::Food);
    let second = SceneGround {
        tiles: first.tiles,
        ..ground(2, 1, vec![6])
    };
    paint.update(&second, PaintMode::Mixture);
    assert_eq!(paint.take_dirty(), Some(0..3));
    assert_ne!(paint.levels()[0].texels[6], paint.levels()[0].texels[5]);

    paint.update(&second, PaintMode::Mixture);
    assert_eq!(paint.take_dirty(), None, "nothing changed");
    paint.update(&second, PaintMode::Heat(Resource::Food));
    assert_eq!(paint.take_dirty(), Some(0..3));
    let skipped = SceneGround {
        tiles: second.tiles,
        ..ground(9, 8, Vec::new())
    };
    paint.update(&skipped, PaintMode::Heat(Resource::Food));
    assert_eq!(paint.take_dirty(), Some(0..3), "a version was missed");
}

#[test]
fn smaller_copies_are_means_and_bands_take_turns() {
    let size = MapSize::new(5, 40).unwrap();
    let mut one = SceneGround {
        size,
        tiles: vec![Counts::ZERO; size.area()],
        ..ground(1, 0, Vec::new())
    };
    one.tiles[0].add_one(Resource::Food);
    let mut paint = GroundPaint::default();
    paint.update(&one, PaintMode::Mixture);
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

    let changed = |version: u64, place: u32, tiles: Vec<Counts>| SceneGround {
        size,
        tiles,
        ..ground(version, version - 1, vec![place])
    };
    let mut tiles = one.tiles;
    tiles[0].add_one(Resource::Thystame);
    tiles[199].add_one(Resource::Thystame);
    let mut two = changed(2, 0, tiles);
    two.changed.push(199);
    paint.update(&two, PaintMode::Mixture);
    assert_eq!(paint.take_dirty().map(|rows| rows.start), Some(0));
    two.tiles[1].add_one(Resource::Food);
    paint.update(&changed(3, 1, two.tiles), PaintMode::Mixture);
    assert_eq!(
        paint.take_dirty().map(|rows| rows.start),
        Some(32),
        "the other has its turn"
    );
    assert_eq!(paint.take_dirty().map(|rows| rows.start), Some(0));
    assert_eq!(paint.take_dirty(), None);
}

#[test]
fn a_large_map_is_painted_in_slices_which_changes_in_between_do_not_upset() {
    let size = MapSize::new(512, 512).unwrap();
    let mut one = SceneGround {
        size,
        tiles: vec![Counts::ZERO; size.area()],
        ..ground(1, 0, Vec::new())
    };
    let mut paint = GroundPaint::default();
    paint.update(&one, PaintMode::Mixture);
    let painted = |paint: &GroundPaint| {
        let texels = &paint.levels()[0].texels;
        texels.iter().filter(|texel| **texel != [0; 4]).count()
    };
    assert_eq!(painted(&paint), TILES_A_FRAME as usize);
    for place in [3, size.area() - 3] {
        one.tiles[place].add_one(Resource::Food);
    }
    one = SceneGround {
        version: 2,
        changed_since: 1,
        changed: vec![3, size.area() as u32 - 3],
        ..one
    };
    while painted(&paint) < size.area() {
        paint.update(&one, PaintMode::Mixture);
    }
    let mut at_once = GroundPaint::default();
    at_once.update(&one, PaintMode::Mixture);
    at_once.finish(&Scene {
        ground: Some(one),
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
    let size = MapSize::new(20, 20).unwrap();
    let mut one = SceneGround {
        size,
        tiles: vec![Counts::ZERO; size.area()],
        ..ground(1, 0, Vec::new())
    };
    let heat = PaintMode::Heat(Resource::Food);
    let mut paint = GroundPaint::default();
    paint.update(&one, heat);
    assert_eq!(paint.heat_top(), 1, "of nothing");
    let brightest = heat_color(1, 1);
    assert_eq!((heat_color(7, 7), heat_color(40, 7)), (brightest, brightest));
    for tile in &mut one.tiles[..5] {
        tile[Resource::Food] = 3;
    }
    one.tiles[0][Resource::Food] = 90;
    for version in 2..=u64::from(HEAT_UPDATES) {
        (one.version, one.changed_since) = (version, version - 1);
        paint.update(&one, heat);
    }
    assert_eq!(paint.heat_top(), 1, "colours seldom change their meaning");
    (one.version, one.changed_since) = (one.version + 1, one.version);
    paint.update(&one, heat);
    assert_eq!(paint.heat_top(), 3);
    assert_eq!(paint.levels()[0].texels[0], paint.levels()[0].texels[4]);
}
