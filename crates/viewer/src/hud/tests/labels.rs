//! Labels above agents: who has one, and where.

use trantor_client::{EffectKind, SceneAgent};
use trantor_model::Level;

use super::*;

#[test]
fn the_selected_agent_has_its_label_whoever_is_under_the_pointer() {
    let mut bench = Bench::new(DemoScene::Overview, (1280.0, 720.0));
    let (x, y) = (10.0, 10.0);
    for agent in &mut bench.scene.agents {
        (agent.x, agent.y) = (x, y);
    }
    bench.selection = Selection::Agent(AgentId(30));
    let (view, _) = bench.view().unwrap();
    let at = view.project(glam::Vec3::new(x, 0.6, y)).unwrap();
    bench.pointer = Some(egui::pos2(at.x * bench.size.x, at.y * bench.size.y));
    bench.run();
    assert!(bench.words.iter().any(|words| words.text.starts_with("#30 ")));
}

#[test]
fn a_crowd_on_one_tile_takes_the_labels_of_nobody_else() {
    let mut bench = Bench::new(DemoScene::Overview, (1280.0, 720.0));
    let one = bench.scene.agents[0];
    bench.scene.effects.clear();
    bench.scene.agents = (0..200)
        .map(|id| SceneAgent {
            id: AgentId(id),
            level: if id < 190 { Level::LAST } else { Level::FIRST },
            x: if id < 190 { 5.0 } else { 7.0 + (id % 10) as f32 },
            y: 8.0,
            ..one
        })
        .collect();
    bench.run();
    let badges = bench.words.iter().filter(|words| words.text == "1").count();
    assert!(badges >= 10, "{badges}");
}

#[test]
fn those_of_a_team_and_level_on_one_tile_have_one_badge_that_counts_them() {
    let mut bench = Bench::new(DemoScene::Overview, (1280.0, 720.0));
    bench.scene.effects.clear();
    bench.scene.agents.truncate(9);
    for (number, agent) in bench.scene.agents.iter_mut().enumerate() {
        // Six and two on a tile, and one elsewhere.
        agent.level = if number < 6 { Level::LAST } else { Level::FIRST };
        agent.team = trantor_model::TeamId(0);
        agent.tile = trantor_model::Tile {
            x: 9,
            y: if number < 8 { 9 } else { 12 },
        };
        (agent.x, agent.y, agent.held) = (9.0, f32::from(agent.tile.y), false);
    }
    bench.run();
    let count = |text: &str| bench.words.iter().filter(|words| words.text == text).count();
    assert_eq!((count("×6"), count("×2")), (1, 1));
    assert!(!bench.words.iter().any(|words| words.text.contains("×1")));
}

#[test]
fn what_is_said_lies_beside_cards_and_in_the_window() {
    for size in SIZES {
        let mut bench = Bench::new(DemoScene::Overview, size);
        let who = bench.scene.agents[0];
        bench.scene.agents.truncate(1);
        let first = bench.scene.texts.len() as u32;
        bench
            .scene
            .texts
            .extend_from_slice(b"somebody says something here");
        let text = trantor_client::Span { first, len: 28 };
        bench.scene.effects.truncate(1);
        bench.scene.effects[0].kind = EffectKind::Broadcast { text };
        bench.scene.effects[0].agent = Some((who.id, who.team));
        let mut seen = 0;
        for x in 0..20u8 {
            bench.scene.agents[0].x = f32::from(x);
            for y in [2.0, 10.0, 18.0] {
                bench.scene.agents[0].y = y;
                bench.run();
                let Some(words) = bench.says("somebody says something here") else {
                    continue;
                };
                seen += 1;
                assert!(bench.window().contains_rect(words.rect), "{size:?} {words:?}");
                for card in &bench.hud.cards {
                    assert!(!card.intersects(words.rect), "{size:?} {words:?} {card:?}");
                }
            }
        }
        let (view, _) = bench.view().unwrap();
        let has_room = size.0 >= 500.0 && view.pixels_per_tile(view.target) > 24.0;
        assert!(seen >= 5 || !has_room, "{size:?}: only {seen} were said");
    }
}

/// Many speak at once, apart from each other; answers how many labels have their words.
fn spoken(size: (f32, f32), words: &[u8]) -> usize {
    let mut bench = Bench::new(DemoScene::Overview, size);
    let (one, mut effect) = (bench.scene.agents[0], bench.scene.effects[0]);
    let first = bench.scene.texts.len() as u32;
    bench.scene.texts.extend_from_slice(words);
    let len = words.len() as u32;
    effect.kind = EffectKind::Broadcast {
        text: trantor_client::Span { first, len },
    };
    bench.scene.agents.clear();
    bench.scene.effects.clear();
    for id in 0..20u32 {
        let agent = SceneAgent {
            id: AgentId(id),
            x: (id % 2) as f32 * 5.0 + 7.0,
            y: (id / 2) as f32 + 5.0,
            ..one
        };
        bench.scene.agents.push(agent);
        effect.agent = Some((agent.id, agent.team));
        bench.scene.effects.push(effect);
    }
    bench.run();
    let said = String::from_utf8_lossy(words);
    let labels = bench.words.iter().filter(|label| label.text == said);
    labels.count()
}

#[test]
fn of_a_crowd_that_speaks_six_are_read_where_tiles_are_large_enough() {
    let large = (1920.0, 1080.0);
    assert_eq!(spoken(large, b"come here"), 6);
    assert_eq!(spoken(large, b"t1.3815615345.7.s.2"), 0, "codes of bots");
    assert_eq!(spoken((320.0, 240.0), b"come here"), 0, "tiles under 22 pixels");
}
