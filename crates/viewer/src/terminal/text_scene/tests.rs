//! Pictures of small worlds, character by character; and any world on any page.

use trantor_client::{
    FeedEntry, FeedKind, SceneAgent, SceneEgg, SceneGround, SceneRitual, SceneTeam, Span, Who,
};
use trantor_model::{AgentId, Counts, EggId, Level};

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::terminal::tty::Abilities;

fn agent(team: u16, x: f32, y: f32, heading: f32, level: u8) -> SceneAgent {
    SceneAgent {
        id: AgentId(0),
        team: TeamId(team),
        level: Level::new(level).unwrap(),
        tile: Tile { x: 0, y: 0 },
        x,
        y,
        heading,
        inventory: Counts::ZERO,
        action: None,
        held: false,
        food_left_units: None,
    }
}

fn scene(width: u32, height: u32) -> Scene {
    let size = MapSize::new(width, height).unwrap();
    let team = |name: &str, agents| SceneTeam {
        name: name.into(),
        agents,
        by_level: [agents, 0, 12, 0, 0, 0, 0, 1],
        eggs: 2,
        carried: [34, 0, 0, 0, 0, 0, 0],
    };
    let mut scene = Scene {
        ground: Some(SceneGround {
            size,
            tiles: vec![Counts::ZERO; size.area()],
            version: 1,
            changed_since: 1,
            changed: vec![],
        }),
        teams: vec![team("red", 3), team("blue", 0)],
        link: LinkState::Live,
        ..Scene::default()
    };
    scene.clock.game = trantor_time::GameTime::from_units(1_234);
    scene.clock.frequency = 100;
    scene.clock.paused = true;
    scene
}

fn view(columns: usize, rows: usize) -> TextView<'static> {
    TextView {
        columns,
        rows,
        scale: TextScale::Close,
        center: Tile { x: 0, y: 0 },
        footer: "q quits",
    }
}

fn drawn(scene: &Scene, view: &TextView<'_>) -> String {
    let mut feed = EventFeed::default();
    let who = Who {
        agent: AgentId(7),
        team: TeamId(0),
    };
    let kind = FeedKind::Said(who, b"food at \xff home".as_slice().into());
    let at = scene.clock.game;
    feed.add(&FeedEntry { at, kind }, &scene.teams);
    let abilities = Abilities {
        is_live: true,
        is_colored: false,
        is_unicode: true,
    };
    let mut page = Canvas::default();
    page.clear(view.columns, view.rows);
    draw(scene, view, &feed, &mut page);
    page.lines(abilities).join("\n")
}

fn small() -> Scene {
    let mut scene = scene(4, 3);
    let ground = scene.ground.as_mut().unwrap();
    ground.tiles[0] = Counts([2, 0, 0, 0, 0, 0, 0]);
    ground.tiles[5] = Counts([1, 1, 0, 0, 0, 0, 1]);
    scene.agents = vec![
        agent(0, 0.0, 0.0, 0.0, 3),
        // Across the seam.
        agent(0, -0.8, 0.1, 4.71, 8),
        agent(1, 1.0, 2.0, 1.6, 1),
        agent(0, 1.0, 2.0, 1.6, 2),
    ];
    let (id, team) = (EggId(0), TeamId(0));
    let tile = Tile { x: 2, y: 1 };
    scene.eggs = vec![SceneEgg { id, team, tile }];
    scene.rituals = vec![SceneRitual {
        tile: Tile { x: 0, y: 2 },
        level: Level::FIRST,
        progress: 0.72,
        remaining_units: 80.0,
        participants: Span::default(),
    }];
    scene
}

#[test]
fn a_small_map_is_drawn_close_up() {
    assert_eq!(
        drawn(&small(), &view(80, 8)),
        "trantor live | unit 1234.0 at 100/s, paused | 4x3, 4 agents\n\
         f▲3·  ·  ·◄8                               red             3 3.+....1 o2   f34\n\
         ·  t  ·o ·                                 blue            0 ..+....1 o2   f34\n\
         ·*7·&2·  ·\n\
         \u{20}                                             1234 red #7 “food at ? home”\n\
         \n\
         \n\
         q quits"
    );
}

#[test]
fn a_line_that_does_not_fit_ends_with_an_ellipsis() {
    let out = drawn(&small(), &view(28, 14));
    assert!(out.contains("   1234 red #7 “food at ? h…\n"), "{out}");
}

#[test]
fn a_large_map_scrolls_round_the_torus() {
    let mut scene = scene(100, 100);
    scene.agents = vec![agent(0, 99.0, 50.0, 0.0, 5)];
    let center = Tile { x: 1, y: 50 };
    let out = drawn(
        &scene,
        &TextView {
            center,
            ..view(30, 12)
        },
    );
    let row = out.lines().nth(4).unwrap();
    let column = row.chars().position(|char| char == '▲');
    assert_eq!(
        column,
        Some(10),
        "two tiles left of the middle, over the seam: {out}"
    );
}

#[test]
fn from_afar_the_whole_map_is_seen() {
    let mut scene = scene(1_000, 500);
    let ground = scene.ground.as_mut().unwrap();
    let scale = TextScale::whole(ground.size, 80, 24);
    assert_eq!(scale, TextScale::Blocks(24));
    ground.tiles.fill(Counts([1, 1, 0, 0, 0, 0, 0]));
    scene.agents = vec![agent(0, 999.0, 499.0, 0.0, 1); 12];
    let out = drawn(
        &scene,
        &TextView {
            scale,
            ..view(80, 24)
        },
    );
    let rows: Vec<&str> = out.lines().skip(1).take(11).collect();
    assert!(rows[0].starts_with(&"=".repeat(42)), "{out}");
    assert_eq!(rows[10].find('&'), Some(41), "{out}");
}

/// As many rows as there are, and none too long.
#[test]
fn any_picture_fits_any_page() {
    let mut scenes = vec![small()];
    for which in [DemoScene::Overview, DemoScene::BigWorld] {
        let mut scene = Scene::default();
        Demo::new(which).scene(320.0, &mut scene);
        scene.teams[0].name = "é漢\u{301}🦀 of a long name".into();
        scenes.push(scene);
    }
    let pages = [
        (0, 0),
        (0, 5),
        (5, 0),
        (1, 1),
        (7, 3),
        (29, 14),
        (74, 10),
        (119, 49),
    ];
    for (scene, (columns, rows)) in scenes.iter().flat_map(|scene| pages.map(|page| (scene, page))) {
        for blocks in 0..9u16 {
            let (x, y) = (blocks * 999, u16::MAX);
            let page = TextView {
                scale: match blocks {
                    0 => TextScale::Close,
                    blocks => TextScale::Blocks(blocks),
                },
                center: Tile { x, y },
                ..view(columns, rows)
            };
            let out = drawn(scene, &page);
            let height = if columns == 0 { 0 } else { rows };
            assert_eq!(out.split('\n').count(), height.max(1), "{page:?}");
            let longest = out.lines().map(|line| line.chars().count()).max();
            assert!(
                longest.is_none_or(|longest| longest <= columns),
                "{page:?}: {out}"
            );
        }
    }
}
