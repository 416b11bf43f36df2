//! What panels say of a scene.

use trantor_client::Who;
use trantor_model::{CommandKind, Level, Resource, TeamId};

use super::*;

#[test]
fn scores_are_whole_however_many_digits_they_have() {
    let mut bench = Bench::with_teams(DemoScene::Overview, (1280.0, 720.0), 8);
    for (team, place) in bench.scene.teams.iter_mut().zip(0u32..) {
        team.by_level[7] = if place < 4 { 859 } else { 2_015 - place };
    }
    bench.run();
    let card = bench.area("left");
    let scores: Vec<&Words> = (bench.words.iter())
        .filter(|words| {
            words.rect.left() > 200.0 && words.text.contains('\u{2009}') && card.contains(words.rect.min)
        })
        .filter(|words| !words.text.ends_with('u'))
        .collect();
    assert_eq!(scores.len(), 8, "{scores:?}");
    assert!(bench.says("54 980").is_some(), "{scores:?}");
    for (place, score) in scores.iter().enumerate() {
        assert!(score.is_whole() && card.contains_rect(score.rect), "{score:?}");
        let apart = |other: &&&Words| (other.rect.center().y - score.rect.center().y).abs() > 10.0;
        assert_eq!(
            scores[place + 1..].iter().filter(apart).count(),
            scores.len() - place - 1
        );
    }
}

#[test]
fn a_heat_map_says_of_what_it_is() {
    for size in SIZES {
        let mut bench = Bench::new(DemoScene::Overview, size);
        bench.selection = Selection::Agent(AgentId(7));
        bench.run();
        assert!(bench.says("heat: deraumere").is_none());
        bench.paint_mode = PaintMode::Heat(Resource::Deraumere);
        bench.run();
        let legend = bench.area("legend");
        assert!(bench.window().contains_rect(legend), "{size:?}");
        for text in ["heat: deraumere", "0", "32+"] {
            let mut said = bench.words.iter().filter(|words| words.text == text);
            let is_there = said.any(|words| legend.contains_rect(words.rect) && words.is_whole());
            assert!(is_there, "{size:?}: {text}");
        }
    }
}

#[test]
fn one_who_is_held_by_a_ritual_waits_for_its_end() {
    let mut bench = Bench::new(DemoScene::Ritual, (1280.0, 720.0));
    let held = (bench.scene.agents.iter_mut())
        .find(|agent| agent.held && agent.action.is_none())
        .map(|agent| agent.id);
    let id = held.expect("a ritual has participants that do nothing");
    bench.selection = Selection::Agent(id);
    bench.run();
    assert!(bench.says("held by a ritual").is_some());
    let left = bench.scene.rituals[0].remaining_units;
    let time = format!("{left:.0} u · {:.1} s", left / 100.0);
    assert!(bench.says(&time).is_some(), "{time}: {:?}", bench.words);
}

#[test]
fn the_unit_of_the_rate_stands_beside_it() {
    for frequency in [77, 300, 10_000] {
        let mut bench = Bench::new(DemoScene::Overview, (1280.0, 720.0));
        bench.scene.clock.frequency = frequency;
        bench.run();
        let rate = bench.says(&frequency.to_string()).unwrap();
        let unit = bench.says("units / s").unwrap();
        let gap = unit.rect.left() - rate.rect.right();
        assert!(
            rate.is_whole() && (4.0..16.0).contains(&gap),
            "{frequency}: {gap}"
        );
    }
}

#[test]
fn one_tick_that_was_skipped_is_a_tick() {
    let mut bench = Bench::new(DemoScene::Overview, (1280.0, 720.0));
    for (ticks_skipped, said) in [(1, "1 tick, 0 u"), (2, "2 ticks, 0 u")] {
        let server = trantor_protocol::wire::ServerStats {
            ticks_skipped,
            ..Default::default()
        };
        bench.stats = Some(ClientStats {
            server: Some(server),
            ..ClientStats::default()
        });
        bench.run();
        assert!(bench.says(said).is_some(), "{said}: {:?}", bench.words);
    }
}

#[test]
fn what_is_as_bright_or_as_dim_as_its_card_has_a_line_around() {
    let (light, dark) = (Colors::of(Theme::Light), Colors::of(Theme::Dark));
    let [blue, white, indigo] = [1, 6, 7].map(|team| light.team(TeamId(team)));
    assert!(light.rim(white).width > 0.0);
    assert_eq!(light.rim(blue), egui::Stroke::NONE);
    assert_eq!(light.rim(indigo), egui::Stroke::NONE);
    assert!(dark.rim(indigo).width > 0.0);
    assert_eq!(dark.rim(white), egui::Stroke::NONE);
    assert_eq!(dark.rim(blue), egui::Stroke::NONE);
    for colors in [light, dark] {
        assert_eq!(colors.upper_card().fill.a(), u8::MAX);
    }
}

#[test]
fn a_tile_tells_of_its_ritual_in_letters_that_the_font_has() {
    let mut bench = Bench::new(DemoScene::Ritual, (1280.0, 720.0));
    let ritual = bench.scene.rituals[0];
    bench.selection = Selection::Tile(ritual.tile);
    bench.run();
    let said = bench
        .words
        .iter()
        .find(|words| words.text.starts_with("ritual of level 7 to 8"));
    assert!(said.is_some_and(Words::is_whole), "{:?}", bench.words);
}

#[test]
fn what_agents_did_before_a_jump_is_not_what_they_did_last() {
    let mut hud = Hud::new(false);
    let who = Who {
        agent: AgentId(7),
        team: TeamId(0),
    };
    let kind = trantor_client::FeedKind::Started(who, CommandKind::Forward);
    let at = GameTime::from_units(5);
    hud.tell(FeedEntry { at, kind }, &Scene::default());
    assert_eq!(hud.doings.of(who.agent, true).count(), 1);
    hud.begin_anew();
    assert_eq!(hud.doings.of(who.agent, true).count(), 0);
}

#[test]
fn what_an_elevation_takes_stands_below_what_is_carried() {
    let mut bench = Bench::new(DemoScene::Close, (1280.0, 900.0));
    let agent = bench
        .scene
        .agents
        .iter()
        .find(|agent| agent.level == Level::new(2).unwrap());
    bench.selection = Selection::Agent(agent.expect("somebody is of level 2").id);
    bench.run();
    let card = bench.area("right");
    let heading = bench.says("FOR LEVEL 3").expect("it can rise").rect;
    let inside = |words: &&Words| card.contains_rect(words.rect);
    let is_count = |words: &&Words| words.text.chars().all(|letter| letter.is_ascii_digit());
    let above: Vec<f32> = (bench.words.iter().filter(inside).filter(is_count))
        .filter(|words| (heading.top() - 90.0..heading.top()).contains(&words.rect.top()))
        .map(|words| words.rect.center().x)
        .collect();
    assert_eq!(above.len(), Resource::COUNT, "{:?}", bench.words);
    let needed: Vec<&Words> = (bench.words.iter().filter(inside))
        .filter(|words| words.text.contains('/') && words.rect.top() > heading.top())
        .collect();
    // Two agents, and a linemate, a deraumere and a sibur.
    assert_eq!(needed.len(), 4, "{needed:?}");
    for (place, words) in needed.iter().enumerate() {
        assert!(
            (words.rect.center().x - above[place]).abs() < 1.5,
            "{words:?} below {above:?}"
        );
    }
}

#[test]
fn values_stand_above_the_times_of_the_score() {
    for teams in [2, 8] {
        let mut bench = Bench::with_teams(DemoScene::Overview, (1280.0, 720.0), teams);
        bench.run();
        let time = bench
            .words
            .iter()
            .filter(|words| words.text.ends_with(" u") && words.rect.top() > 200.0);
        let first = time.map(|words| words.rect.top()).fold(f32::INFINITY, f32::min);
        let values: Vec<&Words> = (bench.words.iter())
            .filter(|words| words.text.replace('\u{2009}', "") == "54404")
            .collect();
        assert_eq!(values.len(), teams);
        for value in values {
            assert!(
                value.rect.center().y < first,
                "{teams} teams: {value:?} beside {first}"
            );
        }
    }
}

#[test]
fn who_won_has_a_crown_before_its_name() {
    let before = |which, said: &str| {
        let mut bench = Bench::new(which, (1280.0, 720.0));
        bench.scene.clock.paused = true;
        bench.run();
        bench.says(said).expect("it is told").rect.left() - bench.area("banner").left()
    };
    let crown = before(DemoScene::Victory, "Anacreon wins") - before(DemoScene::Overview, "paused");
    assert!((20.0..40.0).contains(&crown), "{crown}");
}
