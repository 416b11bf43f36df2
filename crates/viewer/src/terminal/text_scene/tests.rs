//! Pages of demos as they are drawn, in `pages.txt`; and any world on any page.

use clap::ValueEnum as _;
use trantor_client::{FeedEntry, FeedKind, Who};
use trantor_model::AgentId;

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::terminal::tty::Abilities;

fn scene(which: DemoScene, units: f64) -> Scene {
    let mut scene = Scene::default();
    Demo::new(which).scene(units, &mut scene);
    scene
}

/// A page with the closest scale (0) or one of so many tiles.
fn drawn(scene: &Scene, (columns, rows): (usize, usize), tiles: u16, center: Tile) -> String {
    let mut feed = EventFeed::default();
    let who = Who {
        agent: AgentId(7),
        team: TeamId(0),
    };
    let kind = FeedKind::Said(who, b"food at \xff home".as_slice().into());
    let at = scene.clock.game;
    feed.add(&FeedEntry { at, kind }, &scene.teams);
    let scale = match tiles {
        0 => TextScale::Close,
        tiles => TextScale::Blocks(tiles),
    };
    let view = TextView {
        columns,
        rows,
        scale,
        center,
        footer: "q quits",
    };
    let abilities = Abilities {
        is_live: true,
        is_colored: false,
        is_unicode: true,
    };
    let mut page = Canvas::default();
    page.clear(columns, rows);
    draw(scene, &view, &feed, &mut page);
    page.lines(abilities).join("\n")
}

#[test]
fn pages_of_demos_are_as_in_the_file() {
    let pages = include_str!("pages.txt");
    let head = pages.find("== ").unwrap_or_default();
    let mut now = pages[..head].to_owned();
    for line in pages.lines().filter(|line| line.starts_with("== ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<u16>().unwrap();
        let which = DemoScene::from_str(words[1], false).unwrap();
        let size = (number(3).into(), number(4).into());
        let (x, y) = (number(6), number(7));
        let page = drawn(&scene(which, number(2).into()), size, number(5), Tile { x, y });
        now += &format!("{line}\n{page}\n");
    }
    assert!(now == pages, "it is now:\n{now}");
}

#[test]
fn the_whole_map_is_shown_at_the_closest_scale_that_holds_it() {
    for (sides, page, scale) in [
        ((14, 22), (80, 24), TextScale::Close),
        ((15, 22), (80, 24), TextScale::Blocks(1)),
        ((1_000, 500), (80, 24), TextScale::Blocks(24)),
    ] {
        let size = MapSize::new(sides.0, sides.1).unwrap();
        assert_eq!(TextScale::whole(size, page.0, page.1), scale, "{sides:?}");
    }
}

/// As many rows as there are, and none too long.
#[test]
fn any_picture_fits_any_page() {
    for which in [DemoScene::Overview, DemoScene::BigWorld] {
        let mut scene = scene(which, 320.0);
        scene.teams[0].name = "é漢\u{301}🦀 of a long name".into();
        for size in [
            (0, 0),
            (0, 5),
            (5, 0),
            (1, 1),
            (7, 3),
            (29, 14),
            (74, 10),
            (119, 49),
        ] {
            for tiles in 0..9u16 {
                let (x, y) = (tiles * 999, u16::MAX);
                let page = drawn(&scene, size, tiles, Tile { x, y });
                let height = if size.0 == 0 { 1 } else { size.1.max(1) };
                assert_eq!(page.split('\n').count(), height, "{size:?}");
                let is_narrow = |line: &str| line.chars().count() <= size.0;
                assert!(page.lines().all(is_narrow), "{size:?}: {page}");
            }
        }
    }
}
