//! Texts and places of panels, read from the shapes of a laid out frame.

use std::sync::Arc;

use egui::epaint::Shape;
use egui::{Pos2, Rect, vec2};
use glam::Vec2;
use trantor_client::{EffectKind, SceneAgent, SceneTeam, Span};
use trantor_model::totals::{Cause, TurningPoint};
use trantor_model::{AgentId, Level, MatchTotals, Resource, ShownBy, TeamTotals, Tile};
use trantor_render::picture::CameraPose;
use trantor_render::picture::camera::Camera;
use trantor_render::picture::ground::PaintMode;
use trantor_time::{GameSpan, RealSpan};

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::game_loop::pretend::lay_out;
use crate::input::Action;
use crate::intent::Selection;

const USUAL: (f32, f32) = (1280.0, 720.0);
const SIZES: [(f32, f32); 9] = [
    (1920.0, 1080.0),
    USUAL,
    (1000.0, 560.0),
    (900.0, 400.0),
    (800.0, 500.0),
    (640.0, 360.0),
    (560.0, 400.0),
    (480.0, 900.0),
    (320.0, 240.0),
];

struct Fixture {
    state: ViewerState,
    size: egui::Vec2,
    context: egui::Context,
    words: Vec<Words>,
}

#[derive(Debug)]
struct Words {
    text: String,
    rect: Rect,
    clip: Rect,
}

impl Fixture {
    fn new(which: DemoScene, (width, height): (f32, f32)) -> Self {
        let mut state = ViewerState::demo(which);
        Demo::new(which).scene(320.0, &mut state.scene);
        state.resize((width as u32, height as u32), vec2(width, height));
        let pose = CameraPose::overview(Vec2::splat(20.0), width / height, (Vec2::ZERO, Vec2::ONE));
        state.rig.camera = Camera::new(pose);
        Self {
            state,
            size: vec2(width, height),
            context: egui::Context::default(),
            words: Vec::new(),
        }
    }

    /// Lays out some frames, until sizes have settled.
    fn run(&mut self) {
        let state = &mut self.state;
        let ground = state.scene.ground.as_ref().expect("demos have a map");
        state.drawing.paint.update(ground, state.drawing.paint_mode);
        state.compose();
        for frame in 0..6 {
            state.hud.sample(Vec::new(), &state.scene);
            state.scene.clock.game += GameSpan::from_units(20);
            let (size, now) = (
                (self.size.x as u32, self.size.y as u32),
                RealSpan::from_millis(16 * frame),
            );
            let figures = Figures::default();
            let now = RealTime::ZERO + now;
            let mut output = lay_out(state, &self.context, size, &figures, now, Vec::new());
            output.textures_delta.clear();
            self.words.clear();
            for shape in &output.shapes {
                words_in(&shape.shape, shape.clip_rect, &mut self.words);
            }
        }
    }

    fn window(&self) -> Rect {
        Rect::from_min_size(Pos2::ZERO, self.size / self.state.hud.zoom(self.size))
    }

    fn count(&self, text: &str) -> usize {
        self.words.iter().filter(|words| words.text == text).count()
    }

    fn area(&self, name: &'static str) -> Rect {
        let id = egui::Id::unique(name);
        let area = self.context.memory(|memory| memory.area_rect(id));
        area.unwrap_or_else(|| panic!("there is no {name}"))
    }
}

fn words_in(shape: &Shape, clip: Rect, found: &mut Vec<Words>) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| words_in(shape, clip, found)),
        Shape::Text(text) => found.push(Words {
            text: text.galley.rows.iter().map(|row| row.text()).collect(),
            rect: text.galley.rect.translate(text.pos.to_vec2()),
            clip,
        }),
        _ => {}
    }
}

fn team_of_long_name(team: u32) -> SceneTeam {
    SceneTeam {
        name: Arc::from(format!("Team{team}OfAVeryLongNameThatIsCutSomewhere")),
        agents: 2_500,
        by_level: [4, 0, 0, 0, 0, 0, 0, 850],
        eggs: 20,
        carried: [17_498; 7],
    }
}

/// The totals of a match with that many teams.
fn totals(teams: usize) -> MatchTotals {
    let team = TeamTotals {
        joined: 9,
        died: 3,
        score: 30,
        lived: GameSpan::from_units(100),
        idle: GameSpan::from_units(44),
        ..TeamTotals::default()
    };
    let turning_point = TurningPoint {
        at: GameTime::from_units(400),
        tile: Tile { x: 2, y: 2 },
        cause: Cause::LastStep { team: TeamId(0) },
        nearby: vec![(Tile { x: 3, y: 2 }, TeamId(0))],
    };
    MatchTotals {
        teams: vec![team; teams],
        turning_points: vec![turning_point; 3],
        ..MatchTotals::default()
    }
}

/// However a match is seen, its figures are its own; what the server does not say is not made up.
#[test]
fn the_story_has_the_figures_of_the_match_or_none() {
    let mut scene = Scene {
        teams: vec![SceneTeam::default(); 2],
        ..Scene::default()
    };
    let mut known = totals(2);
    for (level, at) in [(1, 10), (2, 20), (3, 30), (6, 70)] {
        known.teams[1].first_at[level] = Some(GameTime::from_units(at));
    }
    known.teams[0].first_at[3] = Some(GameTime::from_units(31));
    scene.totals = Some(Arc::new(known.clone()));
    assert_eq!(story::figures(&scene, 1), ["5.0", "3", "44 %", "2–4 7"]);
    assert_eq!(story::figures(&scene, 0), ["5.0", "3", "44 %", ""]);
    known.since = GameTime::from_units(1);
    scene.totals = Some(Arc::new(known));
    assert_eq!(story::figures(&scene, 1), ["5.0", "–", "–", "–"]);
    scene.totals = None;
    assert_eq!(story::figures(&scene, 1), ["0.0", "–", "–", "–"]);
}

fn assert_apart(fixture: &Fixture, case: &str) {
    let cards = &fixture.state.hud.cards;
    for (place, card) in cards.iter().enumerate() {
        assert!(fixture.window().contains_rect(*card), "{case}: {card:?}");
        let overlaps = cards[place + 1..].iter().any(|other| other.intersects(*card));
        assert!(!overlaps, "{case}: {cards:?}");
    }
}

#[test]
fn cards_stay_in_the_window_and_apart() {
    for size in SIZES {
        for teams in [0, 1, 4, 8, 12, 1_000] {
            for selection in [Selection::None, Selection::Agent(AgentId(7))] {
                let is_free = selection == Selection::None;
                let scene = if is_free {
                    DemoScene::Victory
                } else {
                    DemoScene::Minds
                };
                let mut fixture = Fixture::new(scene, size);
                fixture.state.selection = selection;
                fixture.state.hud.panels.stage = teams == 4 && size.0 >= 480.0;
                fixture.state.hud.panels.film = teams == 8;
                fixture.state.drawing.paint_mode = PaintMode::Heat(Resource::Food);
                fixture.state.scene.teams = (0..teams).map(team_of_long_name).collect();
                fixture.run();
                let case = format!("{size:?}, {teams} teams, {selection:?}");
                assert_apart(&fixture, &case);
                let cards = &fixture.state.hud.cards;
                let has_banner = || cards.contains(&fixture.area("banner"));
                assert!(!is_free || has_banner(), "{case}: who won");
                let (least, most) = fixture.state.hud.clear_part(fixture.size, false, teams as usize);
                assert!(least.cmplt(most).all(), "{case}: nothing is clear");
            }
        }
    }
}

#[test]
fn the_story_follows_the_win_fits_every_window_and_escape_leads_back_to_the_board() {
    const BACK: &str = "Esc: back to the board";
    for size in SIZES {
        for teams in [0, 4, 1_000] {
            let mut fixture = Fixture::new(DemoScene::Victory, size);
            let scene = &mut fixture.state.scene;
            scene.totals = Some(Arc::new(totals(teams as usize)));
            scene.teams = (0..teams).map(team_of_long_name).collect();
            let case = format!("{size:?}, {teams} teams");
            let mut after = |seconds| {
                let now = RealTime::ZERO + RealSpan::from_secs(seconds);
                fixture.state.hud.follow_story(&fixture.state.scene, now);
                fixture.run();
                (fixture.count(BACK), fixture.count("TURNING POINTS"))
            };
            let opened = [after(0), after(2), after(3)].map(|(back, _)| back);
            assert_eq!(opened, [0, 0, 1], "{case}");
            assert_apart(&fixture, &case);
            if size.1 >= 480.0 {
                assert_eq!(fixture.count("TURNING POINTS"), 1, "{case}");
                let shown = fixture.count("44 %");
                assert!(shown >= (teams as usize).min(6), "{case}: only {shown} are shown");
            }
            if size.0 >= 560.0 {
                let (least, most) = fixture.state.hud.clear_part(fixture.size, false, teams as usize);
                let card = fixture.area("story");
                assert!(
                    most.x * fixture.window().width() <= card.left(),
                    "{case}: no room for the winners"
                );
                assert!(most.x - least.x > 0.3, "{case}: no room for the winners");
            }
            let hud = &mut fixture.state.hud;
            assert!(
                !hud.close_top() && hud.close_story() && !hud.close_story(),
                "{case}"
            );
            fixture.run();
            assert_eq!(fixture.count(BACK), 0, "{case}");
        }
    }
}

#[test]
fn help_and_debugging_view_fit_every_window() {
    for size in SIZES {
        let mut fixture = Fixture::new(DemoScene::Overview, size);
        (fixture.state.hud.panels.help, fixture.state.hud.panels.debug) = (true, true);
        fixture.run();
        for name in ["help", "debug"] {
            let area = fixture.area(name);
            assert!(fixture.window().contains_rect(area), "{size:?}: {name} {area:?}");
        }
        if size.0 >= 800.0 && size.1 >= 500.0 {
            for action in Action::ALL {
                let meaning = help::meaning(*action);
                let mut lines = fixture.words.iter().filter(|words| words.text == meaning);
                let is_whole = lines.any(|words| words.clip.expand(1.0).contains_rect(words.rect));
                assert!(is_whole, "{size:?}: {meaning}");
            }
        }
    }
}

#[test]
fn the_command_line_opens_by_itself_with_what_can_follow() {
    let mut fixture = Fixture::new(DemoScene::Overview, USUAL);
    for line in ["spe", "rate ", "xyz"] {
        fixture.state.hud.open_console();
        fixture.state.hud.console.line = line.to_owned();
        fixture.run();
        assert!(
            fixture.context.memory(|memory| memory.focused().is_some()),
            "{line}"
        );
        let is_shown = |begins: &str| fixture.words.iter().any(|words| words.text.starts_with(begins));
        let shown = ["speed UNITS", "rate [SYSTEM", "Frame times"].map(is_shown);
        assert_eq!(shown, [line == "spe", line == "rate ", false], "{line}");
        assert!(fixture.state.hud.close_top() && fixture.state.hud.console.line.is_empty());
        fixture.run();
    }
}

#[test]
fn agents_of_a_team_on_one_tile_have_one_banner() {
    let mut fixture = Fixture::new(DemoScene::Overview, USUAL);
    fixture.state.scene.effects.clear();
    fixture.state.scene.agents.truncate(9);
    for (number, agent) in fixture.state.scene.agents.iter_mut().enumerate() {
        // Six and two on a tile, and one elsewhere.
        agent.level = if number < 6 { Level::LAST } else { Level::FIRST };
        agent.team = TeamId(0);
        let y = if number < 8 { 9 } else { 12 };
        agent.tile = Tile { x: 9, y };
        (agent.x, agent.y, agent.held) = (9.0, f32::from(y), false);
    }
    fixture.run();
    let team = fixture.state.scene.teams[0].name.clone();
    let banners = [(6, ""), (8, " · levels 1–8")].map(|(count, levels)| format!("{team} ×{count}{levels}"));
    assert_eq!(banners.map(|text| fixture.count(&text)), [0, 1]);
}

#[test]
fn of_a_crowd_that_speaks_six_are_read_beside_the_cards() {
    let spoken = |text: &[u8]| {
        let mut fixture = Fixture::new(DemoScene::Overview, SIZES[0]);
        let scene = &mut fixture.state.scene;
        let (agent, mut effect) = (scene.agents[0], scene.effects[0]);
        let first = scene.texts.len() as u32;
        scene.texts.extend_from_slice(text);
        let len = text.len() as u32;
        let text_span = Span { first, len };
        effect.kind = EffectKind::Broadcast {
            text: text_span,
            spread: None,
        };
        scene.agents.clear();
        scene.effects.clear();
        for id in 0..20u32 {
            let (x, y) = ((id % 2) as f32 * 5.0 + 7.0, (id / 2) as f32 + 5.0);
            let agent = SceneAgent {
                id: AgentId(id),
                x,
                y,
                ..agent
            };
            scene.agents.push(agent);
            effect.agent = Some((agent.id, agent.team));
            scene.effects.push(effect);
        }
        fixture.run();
        let text = String::from_utf8_lossy(text);
        let labels: Vec<&Words> = (fixture.words.iter())
            .filter(|words| words.text == text)
            .collect();
        for card in &fixture.state.hud.cards {
            let is_covered = labels.iter().any(|label| label.rect.intersects(*card));
            assert!(!is_covered, "{labels:?} {card:?}");
        }
        labels.len()
    };
    assert_eq!(spoken(b"come here"), 6);
    assert_eq!(spoken(b"t1.3815615345.7.s.2"), 0, "codes of bots");
}

#[test]
fn an_agent_in_an_elevation_waits_for_its_end() {
    let mut fixture = Fixture::new(DemoScene::Elevation, USUAL);
    let mut agents = fixture.state.scene.agents.iter();
    let held = agents.find(|agent| agent.held && agent.action.is_none());
    fixture.state.selection = Selection::Agent(held.expect("an elevation has participants").id);
    fixture.run();
    assert_eq!(fixture.count("in an elevation"), 1);
    let left = fixture.state.scene.elevations[0].remaining_units;
    let time = format!("{left:.0} u · {:.1} s", left / 100.0);
    assert_eq!(fixture.count(&time), 1, "{time}: {:?}", fixture.words);
}

#[test]
fn what_minds_show_is_in_the_inspector_on_labels_and_on_a_card() {
    let mut fixture = Fixture::new(DemoScene::Minds, USUAL);
    let shown = Arc::clone(&fixture.state.scene.shown);
    let (by, agent) = shown.iter().find(|(by, _)| **by != ShownBy::Server).unwrap();
    let ShownBy::Agent(id) = *by else { unreachable!() };
    let of_server = &shown[&ShownBy::Server];
    fixture.run();
    let (name, value) = &of_server.cards[0];
    assert_eq!(
        [&*of_server.note, &**name, &**value].map(|text| fixture.count(text)),
        [1; 3]
    );
    assert_eq!(
        [&*agent.note, "the hill"].map(|text| fixture.count(text)),
        [0, 1],
        "notes are for near views"
    );
    fixture.state.selection = Selection::Agent(id);
    fixture.state.rig.camera =
        Camera::new(Demo::new(DemoScene::Minds).camera(16.0 / 9.0, (Vec2::ZERO, Vec2::ONE)));
    fixture.run();
    assert_eq!(
        fixture.count(&agent.note),
        2,
        "inspector and label: {:?}",
        fixture.words
    );
    let (name, value) = &agent.cards[0];
    assert_eq!([name, value].map(|text| fixture.count(text)), [1; 2]);
    fixture.state.scene.shown = Arc::default();
    fixture.run();
    assert_eq!(
        [&*agent.note, "the hill", "Scenario"].map(|text| fixture.count(text)),
        [0; 3]
    );
}

#[test]
fn a_lag_is_shown_in_every_window_also_without_panels() {
    for size in SIZES {
        for has_panels in [true, false] {
            let mut fixture = Fixture::new(DemoScene::Lag, size);
            fixture.state.hud.panels.any = has_panels;
            fixture.run();
            let mut shown = fixture.words.iter();
            let chip = shown.find(|words| words.text.starts_with("LAG") && words.text.ends_with("loss=20%"));
            let chip = chip.unwrap_or_else(|| panic!("{size:?}: {:?}", fixture.words));
            assert!(fixture.window().contains_rect(chip.rect), "{size:?}: {chip:?}");
            assert!(chip.clip.contains_rect(chip.rect), "{size:?}: {chip:?}");
        }
    }
    let mut fixture = Fixture::new(DemoScene::Broadcast, USUAL);
    fixture.run();
    assert!(!fixture.words.iter().any(|words| words.text.starts_with("LAG")));
}
