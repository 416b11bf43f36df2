//! A stage with a demo on it, driven without a window.

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::game_loop::pretend::lay_out;
use crate::source;
use glam::Vec3;
use trantor_client::{FeedEntry, FeedKind, Language};
use trantor_model::{AgentId, Resource, TeamId, Tile};
use trantor_render::picture::compose::MIDDLE_HEIGHT;
use trantor_render::picture::{DecalKind, Shape};
use trantor_runtime::wait::{Parker, Wait as _};

const PIXELS: (u32, u32) = (1280, 720);
const NOW: RealTime = RealTime::ZERO;

fn stage_with(which: DemoScene, options: StageOptions) -> Stage {
    let mut stage = Stage::new(source::demo(Demo::new(which)), options);
    stage.resize(PIXELS, egui::vec2(1280.0, 720.0));
    stage.update(None, NOW);
    stage
}

fn stage(which: DemoScene) -> Stage {
    let options = StageOptions {
        panels: true,
        ..StageOptions::default()
    };
    let mut stage = stage_with(which, options);
    stage.compose();
    stage
}

fn run(stage: &mut Stage, frames: i64) {
    for frame in 1..=frames {
        let step = RealSpan::from_millis(16);
        stage.update(Some(step), NOW + RealSpan::from_millis(16 * frame));
        stage.compose();
    }
}

fn size() -> Vec2 {
    Vec2::new(PIXELS.0 as f32, PIXELS.1 as f32)
}

fn pixel_of(stage: &Stage, x: f32, height: f32, y: f32) -> Vec2 {
    let (view, _) = stage.view().unwrap();
    view.project(Vec3::new(x, height, y)).unwrap() * size()
}

fn intend(stage: &mut Stage, intent: Intent) {
    stage.intend(intent, NOW).unwrap();
}

#[test]
fn a_click_selects_an_agent_before_its_tile() {
    let mut stage = stage(DemoScene::Overview);
    let agent = stage.scene().agents[9];
    stage.click(pixel_of(&stage, agent.x, 0.33, agent.y));
    assert!(matches!(stage.selection, Selection::Agent(_)));
    let empty = pixel_of(&stage, 3.0, 0.0, 15.0);
    stage.click(empty);
    assert_eq!(stage.selection, Selection::Tile(Tile { x: 3, y: 15 }));
    stage.click(empty);
    assert_eq!(stage.selection, Selection::None, "a second click clears it");
}

#[test]
fn agents_that_share_a_tile_are_selected_where_they_are_drawn() {
    let mut stage = stage(DemoScene::Overview);
    for distance in [4.0, 12.0, 60.0] {
        stage.camera.pose.distance = distance;
        let target = stage.camera.pose.target;
        stage.scene.agents.truncate(3);
        stage.scene.effects.clear();
        for agent in &mut stage.scene.agents {
            (agent.x, agent.y, agent.held) = (target.x.round(), target.y.round(), false);
        }
        stage.compose();
        let shapes = [Shape::Character, Shape::Figurine, Shape::Pawn];
        let bodies = shapes.map(|shape| stage.list.bodies[shape as usize].clone());
        let mut selected = Vec::new();
        for body in bodies.concat() {
            let [x, _, y] = body.position;
            stage.click(pixel_of(&stage, x, MIDDLE_HEIGHT * body.scale, y));
            selected.push(stage.selection.agent().expect("an agent is drawn there"));
            stage.compose();
            let ring: Vec2 = stage.list.decals[DecalKind::Selection as usize][0]
                .position
                .into();
            assert!(
                ring.distance(Vec2::new(x, y)) < 1e-4,
                "around the one that was meant"
            );
        }
        selected.sort_unstable();
        selected.dedup();
        assert_eq!(selected.len(), 3, "from {distance} tiles");
    }
}

#[test]
fn dragging_keeps_the_ground_under_the_pointer() {
    let mut stage = stage(DemoScene::Overview);
    stage.camera.pose.distance = 15.0;
    stage.camera.goal.distance = 15.0;
    let (from, to) = (Vec2::new(600.0, 400.0), Vec2::new(660.0, 370.0));
    let ground_at = |stage: &Stage, pixel: Vec2| stage.view().unwrap().0.ground_at(pixel / size()).unwrap();
    let held = ground_at(&stage, from);
    stage.drag(from, to);
    let now = ground_at(&stage, to);
    assert!(held.distance(now) < 0.05, "{held} went to {now}");
}

#[test]
fn the_camera_cannot_be_lost() {
    let mut stage = stage(DemoScene::Overview);
    for key in [
        Action::PanNorth,
        Action::ZoomOut,
        Action::TiltUp,
        Action::TurnLeft,
    ] {
        stage.hold(key, true);
    }
    run(&mut stage, 2_000);
    stage.release_all();
    let pose = stage.camera.pose;
    assert!(
        (-1.0..21.0).contains(&pose.target.x) && (-1.0..21.0).contains(&pose.target.y),
        "{pose:?}"
    );
    assert!(pose.distance < 60.0 && pose.pitch > 0.2, "{pose:?}");
    stage.act(Action::Overview, NOW);
    run(&mut stage, 200);
    assert!(stage.camera.pose.target.distance(Vec2::splat(9.5)) < 3.0);
}

#[test]
fn larger_panels_are_made_room_for_unless_the_user_moved_the_camera() {
    let mut stage = stage(DemoScene::Overview);
    stage.act(Action::Overview, NOW);
    for (key, distance_grows) in [(Action::Console, true), (Action::TurnLeft, false)] {
        stage.hold(key, true);
        run(&mut stage, 2);
        stage.release_all();
        let before = stage.camera.goal;
        stage.hud().scale += 0.25;
        run(&mut stage, 2);
        let after = stage.camera.goal;
        assert_eq!(after.distance > before.distance, distance_grows, "{key:?}");
        assert_eq!(after != before, distance_grows, "{key:?}");
    }
}

#[test]
fn following_goes_over_the_seam_without_a_jump() {
    let mut stage = stage(DemoScene::Overview);
    stage.select(Selection::Agent(AgentId(29)));
    stage.act(Action::Follow, NOW);
    assert!(stage.follows);
    run(&mut stage, 60);
    let mut before = stage.camera.pose.target;
    let mut seams = 0;
    let mut tile = stage.scene().agent(AgentId(29)).unwrap().tile;
    for frame in 61..4_000 {
        let now = NOW + RealSpan::from_millis(16 * frame);
        stage.update(Some(RealSpan::from_millis(16)), now);
        let after = stage.camera.pose.target;
        assert!(before.distance(after) < 0.4, "{before} to {after}");
        before = after;
        let agent = stage.scene().agent(AgentId(29)).unwrap();
        if agent.tile.x.abs_diff(tile.x) > 1 || agent.tile.y.abs_diff(tile.y) > 1 {
            seams += 1;
        }
        tile = agent.tile;
    }
    assert!(seams > 0, "the path goes round the torus at least once");
    stage.act(Action::Follow, NOW);
    assert!(!stage.follows);
    let target = stage.camera.pose.target;
    assert!((-0.5..19.5).contains(&target.x), "back on the map as numbered");
}

#[test]
fn keys_of_one_frame_go_on_from_each_other() {
    let mut stage = stage(DemoScene::Overview);
    for action in [Action::Faster, Action::Faster, Action::Faster, Action::Pause] {
        stage.act(action, NOW);
    }
    let clock = stage.scene().clock;
    assert_eq!((clock.frequency, clock.paused), (338, true));
    run(&mut stage, 2);
    let stood = stage.scene().clock.game;
    run(&mut stage, 10);
    assert_eq!(stage.scene().clock.game, stood);
    stage.act(Action::StepUnit, NOW);
    run(&mut stage, 1);
    assert_eq!(stage.scene().clock.game.whole_units(), stood.whole_units() + 1);
    stage.act(Action::Pause, NOW);
    assert!(!stage.scene().clock.paused);
}

#[test]
fn panels_on_a_new_device_have_all_their_textures() {
    let mut stage = stage(DemoScene::Overview);
    for _ in 0..2 {
        stage.hud().forget_context();
        let context = egui::Context::default();
        let mut known = std::collections::BTreeSet::new();
        for frame in 1..=4 {
            let now = NOW + RealSpan::from_millis(16 * frame);
            let mut output = lay_out(&mut stage, &context, PIXELS, &Figures::default(), now, Vec::new());
            known.extend(output.textures_delta.set.keys().copied());
            output.textures_delta.clear();
            for drawn in context.tessellate(output.shapes, output.pixels_per_point) {
                if let egui::epaint::Primitive::Mesh(mesh) = drawn.primitive {
                    assert!(known.contains(&mesh.texture_id), "{:?}", mesh.texture_id);
                }
            }
        }
        assert!(known.len() > 1, "letters, and the map in the corner");
    }
}

#[test]
fn a_paused_game_looks_the_same_until_the_user_does_something() {
    for scene in [DemoScene::Overview, DemoScene::Ritual] {
        let mut stage = stage(scene);
        run(&mut stage, 2);
        assert!(!stage.is_as_before(), "{scene:?} moves");
        stage.act(Action::Pause, NOW);
        // The camera comes to rest, and what is left of all motion at this speed.
        run(&mut stage, 200);
        for _ in 0..10 {
            run(&mut stage, 1);
            assert!(stage.is_as_before(), "{scene:?}");
        }
        stage.hover(Some(Vec2::new(600.0, 400.0)));
        run(&mut stage, 1);
        assert!(!stage.is_as_before(), "{scene:?} with the pointer over it");
        run(&mut stage, 1);
        assert!(stage.is_as_before(), "{scene:?}");
        // Of another resource only the ground is painted otherwise.
        intend(&mut stage, Intent::Paint(PaintMode::Heat(Resource::Food)));
        run(&mut stage, 2);
        while stage.drawing().1.take_dirty().is_some() {}
        intend(&mut stage, Intent::Paint(PaintMode::Heat(Resource::Sibur)));
        run(&mut stage, 2);
        assert!(!stage.is_as_before(), "{scene:?} is painted anew");
    }
}

#[test]
fn first_words_wait_for_a_world() {
    let options = || {
        let mut options = StageOptions::default();
        options.settings.is_first_start = true;
        options
    };
    // No server: port 0 is none.
    let waker = Parker::new().waker();
    let none = source::live("127.0.0.1", 0, Language::Frames, None, waker).unwrap();
    let mut waiting = Stage::new(none, options());
    waiting.update(None, NOW);
    assert_eq!(waiting.hud().shown_notice(), None);
    let mut stage = stage_with(DemoScene::Overview, options());
    assert_eq!(stage.hud().shown_notice(), Some(FIRST_STEPS));
    assert!(stage.hud().take_new_notice(), "for as long as any message");
    stage.hud().forget_notice();
    run(&mut stage, 2);
    assert_eq!(stage.hud().shown_notice(), None, "once");
}

#[test]
fn a_match_after_one_that_was_won_has_events_of_its_own() {
    let mut stage = stage(DemoScene::Overview);
    let won = FeedEntry {
        at: stage.scene.clock.game,
        kind: FeedKind::Won(TeamId(0)),
    };
    stage.scene.winner = Some(TeamId(0));
    stage.hud.add_event(&won, &stage.scene);
    stage.follow_world();
    assert_eq!(stage.scene_and_feed().1.plain_lines(&[]).count(), 1);
    stage.scene.winner = None;
    stage.follow_world();
    assert_eq!(stage.scene_and_feed().1.plain_lines(&[]).count(), 0);
}

/// Another match begins in the same world, as after a victory.
fn next_match(stage: &mut Stage) {
    stage.scene.winner = Some(TeamId(0));
    stage.follow_world();
    stage.scene.winner = None;
    stage.follow_world();
    run(stage, 80);
}

#[test]
fn a_match_begins_with_the_whole_map_or_the_view_that_the_user_chose_in_the_match_before() {
    let mut stage = stage(DemoScene::Overview);
    run(&mut stage, 1);
    let whole = stage.camera.goal;
    let agent = stage.scene.agents[3];
    let place = Vec2::new(agent.x, agent.y);
    let follow = |stage: &mut Stage| {
        stage.act(Action::NextAgent, NOW);
        stage.act(Action::Follow, NOW);
        run(stage, 20);
        stage.zoom(3.0, Vec2::new(640.0, 360.0));
    };
    let search = |stage: &mut Stage| {
        intend(stage, Intent::Select(Selection::Agent(agent.id)));
        intend(stage, Intent::Visit(place));
    };
    for flight in [&follow as &dyn Fn(&mut Stage), &search] {
        flight(&mut stage);
        run(&mut stage, 20);
        assert_ne!(stage.camera.goal.target, whole.target);
        assert_eq!(stage.settings.view, None, "the user did not choose it");
        next_match(&mut stage);
        assert_eq!(stage.camera.goal, whole);
        let off = stage.camera.pose.target.distance(whole.target);
        assert!(off < 0.1, "and not a map away: {off}");
    }

    stage.zoom(4.0, Vec2::new(700.0, 300.0));
    let chosen = stage.camera.goal;
    let saved = stage.settings.view.expect("the user chose a view");
    search(&mut stage);
    assert_eq!(
        stage.settings.view,
        Some(saved),
        "a flight afterwards changes nothing"
    );
    next_match(&mut stage);
    assert_eq!(stage.camera.goal, chosen);
    next_match(&mut stage);
    assert_eq!(stage.camera.goal, whole, "the user did not move it in that match");
    assert_eq!(stage.settings.view, Some(saved), "it is still the last choice");

    let options = StageOptions {
        settings: stage.settings.clone(),
        panels: true,
        ..StageOptions::default()
    };
    let mut again = stage_with(DemoScene::Overview, options);
    assert_eq!(again.camera.pose, chosen, "a start begins with it");
    again.act(Action::Overview, NOW);
    assert_eq!(again.settings.view, None, "the whole map is a choice as well");
}

#[test]
fn the_camera_comes_near_enough_to_see_an_agent_and_no_nearer_than_it_is() {
    let mut near = stage(DemoScene::Overview);
    let before = near.camera.goal.distance;
    near.select(Selection::Agent(AgentId(9)));
    near.act(Action::Follow, NOW);
    assert_eq!(near.camera.goal.distance, before);

    let mut stage = stage(DemoScene::BigWorld);
    let tile_pixels = |stage: &Stage| {
        let view = stage.camera.goal.view(PIXELS.0, PIXELS.1);
        view.pixels_per_tile(view.target)
    };
    let whole = |stage: &mut Stage| {
        stage.act(Action::Overview, NOW);
        run(stage, 1);
        assert!(tile_pixels(stage) < 2.0);
    };
    whole(&mut stage);
    let agent = *stage.scene().agent(AgentId(9_000)).unwrap();
    let place = Vec2::new(agent.x, agent.y);
    stage.select(Selection::Agent(agent.id));
    intend(&mut stage, Intent::LookAt(place));
    assert!(
        tile_pixels(&stage) < 2.0,
        "a place is looked at from the same distance"
    );
    // The camera is there, and the agent's ring is large enough to be seen.
    stage.camera.pose = stage.camera.goal;
    stage.compose();
    let ring = &stage.list.decals[DecalKind::Selection as usize][0];
    assert!(ring.reach * tile_pixels(&stage) > 10.0, "{}", ring.reach);
    intend(&mut stage, Intent::Visit(place));
    assert!(tile_pixels(&stage) > 20.0);
    whole(&mut stage);
    stage.act(Action::Follow, NOW);
    assert!(tile_pixels(&stage) > 20.0);
}
