//! The viewer's state with a demo, driven without a window.

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::game_loop::pretend::lay_out;
use crate::state::hud::NOTICE_FOR;
use glam::Vec3;
use trantor_client::{FeedEntry, FeedKind};
use trantor_model::{AgentId, Level, Resource, TeamId, Tile};
use trantor_render::picture::compose::MIDDLE_HEIGHT;
use trantor_render::picture::ground::PaintMode;
use trantor_render::picture::{DecalKind, Shape};

const PIXELS: (u32, u32) = (1280, 720);
const NOW: RealTime = RealTime::ZERO;

fn state_with(which: DemoScene, settings: Settings) -> ViewerState {
    let mut state = ViewerState::new(source::demo(Demo::new(which)), settings);
    state.resize(PIXELS, egui::vec2(1280.0, 720.0));
    state.update(None, NOW);
    state.compose();
    state
}

fn state(which: DemoScene) -> ViewerState {
    state_with(which, Settings::default())
}

fn run(state: &mut ViewerState, frames: i64) {
    for frame in 1..=frames {
        let step = RealSpan::from_millis(16);
        state.update(Some(step), NOW + RealSpan::from_millis(16 * frame));
        state.compose();
    }
}

fn size() -> Vec2 {
    Vec2::new(PIXELS.0 as f32, PIXELS.1 as f32)
}

fn pixel_of(state: &ViewerState, x: f32, height: f32, y: f32) -> Vec2 {
    let (view, _) = state.view().unwrap();
    view.project(Vec3::new(x, height, y)).unwrap() * size()
}

fn intend(state: &mut ViewerState, intent: Intent) {
    state.intend(intent, NOW).unwrap();
}

#[test]
fn a_click_selects_an_agent_before_its_tile() {
    let mut state = state(DemoScene::Overview);
    let agent = state.scene().agents[9];
    state.click(pixel_of(&state, agent.x, 0.33, agent.y));
    assert!(matches!(state.selection, Selection::Agent(_)));
    let empty = pixel_of(&state, 3.0, 0.0, 15.0);
    state.click(empty);
    assert_eq!(state.selection, Selection::Tile(Tile { x: 3, y: 15 }));
    state.click(empty);
    assert_eq!(state.selection, Selection::None, "a second click clears it");
}

#[test]
fn at_the_win_the_camera_goes_to_the_winners_over_the_edge_of_the_map_and_escape_leads_back() {
    let mut state = state(DemoScene::Overview);
    let before = state.rig.camera.goal;
    state.scene.agents.truncate(7);
    for (number, agent) in state.scene.agents.iter_mut().enumerate() {
        agent.team = TeamId(u16::from(number == 6));
        agent.level = Level::LAST;
        // Three on each side of the edge, and one of another team elsewhere.
        (agent.x, agent.y) = if number < 3 { (19.0, 4.0) } else { (0.0, 4.0) };
    }
    state.scene.winner = Some(TeamId(0));
    state.follow_world();
    let off = rig::whole_map(&state.scene)
        .unwrap()
        .shortest(state.rig.camera.goal.target, Vec2::new(19.5, 4.0));
    assert!(off.length() < 0.01 && state.rig.camera.goal.distance < 12.0);
    state.act(Action::Clear, NOW);
    assert_eq!(state.rig.camera.goal, before);
}

/// Beyond the map's edge only a part of what is there is drawn.
#[test]
fn the_camera_does_not_go_to_the_winners_over_the_edge_of_the_map() {
    let mut state = state(DemoScene::Overview);
    state.rig.camera.goal.target = Vec2::new(10.0, 1.0);
    state.scene.agents.truncate(6);
    for agent in &mut state.scene.agents {
        (agent.team, agent.level) = (TeamId(0), Level::LAST);
        (agent.x, agent.y) = (10.0, 18.0);
    }
    state.scene.winner = Some(TeamId(0));
    state.follow_world();
    assert!(state.rig.camera.goal.target.distance(Vec2::new(10.0, 18.0)) < 0.01);
}

#[test]
fn agents_that_share_a_tile_are_selected_where_they_are_drawn() {
    let mut state = state(DemoScene::Overview);
    state.scene.agents.truncate(3);
    state.scene.effects.clear();
    let target = state.rig.camera.pose.target.round();
    for agent in &mut state.scene.agents {
        (agent.x, agent.y, agent.held) = (target.x, target.y, false);
    }
    for distance in [4.0, 12.0, 60.0] {
        state.rig.camera.pose.distance = distance;
        state.compose();
        let shapes = [Shape::Character, Shape::Figurine, Shape::Pawn];
        let bodies = shapes.map(|shape| state.drawing.list().bodies[shape as usize].clone());
        let mut selected = std::collections::BTreeSet::new();
        for body in bodies.concat() {
            let [x, _, y] = body.position;
            state.click(pixel_of(&state, x, MIDDLE_HEIGHT * body.scale, y));
            selected.insert(state.selection.agent().expect("an agent is drawn there"));
            state.compose();
            let ring = &state.drawing.list().decals[DecalKind::Selection as usize][0];
            let off = Vec2::from(ring.position).distance(Vec2::new(x, y));
            assert!(off < 1e-4, "around the one that was meant");
        }
        assert_eq!(selected.len(), 3, "from {distance} tiles");
    }
}

#[test]
fn dragging_keeps_the_ground_under_the_pointer() {
    let mut state = state(DemoScene::Overview);
    state.rig.camera.pose.distance = 15.0;
    state.rig.camera.goal.distance = 15.0;
    let (from, to) = (Vec2::new(600.0, 400.0), Vec2::new(660.0, 370.0));
    let ground_at =
        |state: &ViewerState, pixel: Vec2| state.view().unwrap().0.ground_at(pixel / size()).unwrap();
    let held = ground_at(&state, from);
    state.move_camera(CameraMove::Drag(from, to));
    let now = ground_at(&state, to);
    assert!(held.distance(now) < 0.05, "{held} went to {now}");
}

#[test]
fn the_camera_cannot_be_lost() {
    let mut state = state(DemoScene::Overview);
    let keys = [
        Action::PanNorth,
        Action::ZoomOut,
        Action::TiltUp,
        Action::TurnLeft,
    ];
    keys.iter().for_each(|&key| state.keys.hold(key, true));
    run(&mut state, 500);
    state.keys.release_all();
    let pose = state.rig.camera.pose;
    let is_on_map = |at: Vec2| at.cmpgt(Vec2::splat(-1.0)).all() && at.cmplt(Vec2::splat(21.0)).all();
    assert!(
        is_on_map(pose.target) && pose.distance < 60.0 && pose.pitch > 0.2,
        "{pose:?}"
    );
    state.act(Action::Overview, NOW);
    run(&mut state, 200);
    assert!(state.rig.camera.pose.target.distance(Vec2::splat(9.5)) < 3.0);
}

#[test]
fn larger_panels_are_made_room_for_unless_the_user_moved_the_camera() {
    let mut state = state(DemoScene::Overview);
    state.act(Action::Overview, NOW);
    for (key, distance_grows) in [(Action::Console, true), (Action::TurnLeft, false)] {
        state.keys.hold(key, true);
        run(&mut state, 2);
        state.keys.release_all();
        let before = state.rig.camera.goal;
        state.hud().scale += 0.25;
        run(&mut state, 2);
        let after = state.rig.camera.goal;
        assert_eq!(after.distance > before.distance, distance_grows, "{key:?}");
        assert_eq!(after != before, distance_grows, "{key:?}");
    }
}

#[test]
fn following_goes_over_the_seam_without_a_jump() {
    let mut state = state(DemoScene::Overview);
    let followed = AgentId(29);
    state.select(Selection::Agent(followed));
    state.act(Action::Follow, NOW);
    assert!(state.rig.follows);
    run(&mut state, 60);
    let tile = |state: &ViewerState| state.scene().agent(followed).unwrap().tile;
    let (mut before, mut tile_before, mut seams) = (state.rig.camera.pose.target, tile(&state), 0);
    for frame in 61..4_000 {
        let now = NOW + RealSpan::from_millis(16 * frame);
        state.update(Some(RealSpan::from_millis(16)), now);
        let (after, tile_after) = (state.rig.camera.pose.target, tile(&state));
        assert!(before.distance(after) < 0.4, "{before} to {after}");
        let (x, y) = (
            tile_after.x.abs_diff(tile_before.x),
            tile_after.y.abs_diff(tile_before.y),
        );
        seams += u32::from(x.max(y) > 1);
        (before, tile_before) = (after, tile_after);
    }
    assert!(seams > 0, "the path goes round the torus at least once");
    state.act(Action::Follow, NOW);
    assert!(!state.rig.follows);
    let target = state.rig.camera.pose.target;
    assert!((-0.5..19.5).contains(&target.x), "back on the map as numbered");
}

#[test]
fn keys_of_one_frame_go_on_from_each_other() {
    let mut state = state(DemoScene::Overview);
    for action in [Action::Faster, Action::Faster, Action::Faster, Action::Pause] {
        state.act(action, NOW);
    }
    let clock = state.scene().clock;
    assert_eq!((clock.frequency, clock.paused), (338, true));
    run(&mut state, 2);
    let stood = state.scene().clock.game;
    run(&mut state, 10);
    assert_eq!(state.scene().clock.game, stood);
    state.act(Action::StepUnit, NOW);
    run(&mut state, 1);
    assert_eq!(state.scene().clock.game.whole_units(), stood.whole_units() + 1);
    state.act(Action::Pause, NOW);
    assert!(!state.scene().clock.paused);
}

#[test]
fn panels_on_a_new_device_have_all_their_textures() {
    let mut state = state(DemoScene::Overview);
    for _ in 0..2 {
        state.hud().forget_context();
        let context = egui::Context::default();
        let mut known = std::collections::BTreeSet::new();
        for frame in 1..=4 {
            let now = NOW + RealSpan::from_millis(16 * frame);
            let mut output = lay_out(&mut state, &context, PIXELS, &Figures::default(), now, Vec::new());
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
    for scene in [DemoScene::Overview, DemoScene::Elevation] {
        let mut state = state(scene);
        run(&mut state, 2);
        assert!(!state.drawing.is_as_before(), "{scene:?} moves");
        state.act(Action::Pause, NOW);
        // The camera comes to rest, and what is left of all motion at this speed.
        run(&mut state, 200);
        for _ in 0..10 {
            run(&mut state, 1);
            assert!(state.drawing.is_as_before(), "{scene:?}");
        }
        state.hover(Some(Vec2::new(600.0, 400.0)));
        run(&mut state, 1);
        assert!(
            !state.drawing.is_as_before(),
            "{scene:?} with the pointer over it"
        );
        run(&mut state, 1);
        assert!(state.drawing.is_as_before(), "{scene:?}");
        // Of another resource only the ground is painted otherwise.
        intend(&mut state, Intent::Paint(PaintMode::Heat(Resource::Food)));
        run(&mut state, 2);
        while state.drawing.paint.take_dirty().is_some() {}
        intend(&mut state, Intent::Paint(PaintMode::Heat(Resource::Sibur)));
        run(&mut state, 2);
        assert!(!state.drawing.is_as_before(), "{scene:?} is painted anew");
    }
}

#[test]
fn first_words_come_once_there_is_a_world() {
    let mut state = ViewerState::demo(DemoScene::Overview);
    state.settings.is_first_start = true;
    assert_eq!(state.hud().shown_notice(), None);
    state.update(None, NOW);
    assert_eq!(state.hud().shown_notice(), Some(FIRST_STEPS));
    state.hud().follow_notice(NOW);
    state.hud().follow_notice(NOW + NOTICE_FOR);
    run(&mut state, 2);
    assert_eq!(state.hud().shown_notice(), None, "once");
}

fn zoom(notches: f32, x: f32, y: f32) -> CameraMove {
    let at = Vec2::new(x, y);
    CameraMove::Zoom { notches, at }
}

/// Another match begins in the same world, as after a victory.
fn next_match(state: &mut ViewerState) {
    let won = FeedEntry {
        at: state.scene.clock.game,
        kind: FeedKind::Won(TeamId(0)),
    };
    state.scene.winner = Some(TeamId(0));
    state.hud.add_event(&won, &state.scene);
    state.follow_world();
    assert_ne!(state.scene_and_feed().1.plain_lines().count(), 0);
    state.scene.winner = None;
    state.follow_world();
    assert_eq!(state.scene_and_feed().1.plain_lines().count(), 0);
    run(state, 80);
}

#[test]
fn a_match_begins_with_the_whole_map_or_the_view_that_the_user_chose_in_the_match_before() {
    let mut state = state(DemoScene::Overview);
    run(&mut state, 1);
    let whole = state.rig.camera.goal;
    let agent = state.scene.agents[3];
    let follow = |state: &mut ViewerState| {
        state.act(Action::NextAgent, NOW);
        state.act(Action::Follow, NOW);
        run(state, 20);
        state.move_camera(zoom(3.0, 640.0, 360.0));
    };
    let search = |state: &mut ViewerState| {
        intend(state, Intent::Visit(Selection::Agent(agent.id)));
    };
    for flight in [&follow as &dyn Fn(&mut ViewerState), &search] {
        flight(&mut state);
        run(&mut state, 20);
        assert_ne!(state.rig.camera.goal.target, whole.target);
        assert_eq!(state.settings.view, None, "the user did not choose it");
        next_match(&mut state);
        assert_eq!(state.rig.camera.goal, whole);
        let off = state.rig.camera.pose.target.distance(whole.target);
        assert!(off < 0.1, "and not a map away: {off}");
    }

    state.move_camera(zoom(4.0, 700.0, 300.0));
    let chosen = state.rig.camera.goal;
    let saved = state.settings.view.expect("the user chose a view");
    search(&mut state);
    let view = state.settings.view;
    assert_eq!(view, Some(saved), "a flight afterwards changes nothing");
    next_match(&mut state);
    assert_eq!(state.rig.camera.goal, chosen);
    next_match(&mut state);
    assert_eq!(
        state.rig.camera.goal, whole,
        "the user did not move it in that match"
    );
    assert_eq!(state.settings.view, Some(saved), "it is still the last choice");

    let mut again = state_with(DemoScene::Overview, state.settings.clone());
    assert_eq!(again.rig.camera.pose, chosen, "a start begins with it");
    again.act(Action::Overview, NOW);
    assert_eq!(again.settings.view, None, "the whole map is a choice as well");
}

#[test]
fn the_camera_comes_near_enough_to_see_an_agent_and_no_nearer_than_it_is() {
    let mut near = state(DemoScene::Overview);
    let before = near.rig.camera.goal.distance;
    near.select(Selection::Agent(AgentId(9)));
    near.act(Action::Follow, NOW);
    assert_eq!(near.rig.camera.goal.distance, before);

    let mut state = state(DemoScene::BigWorld);
    let tile_pixels = |state: &ViewerState| {
        let view = state.rig.camera.goal.view(PIXELS.0, PIXELS.1);
        view.pixels_per_tile(view.target)
    };
    state.act(Action::Overview, NOW);
    run(&mut state, 1);
    let agent = *state.scene().agent(AgentId(9_000)).unwrap();
    let place = Vec2::new(agent.x, agent.y);
    state.select(Selection::Agent(agent.id));
    intend(&mut state, Intent::LookAt(place));
    assert!(
        tile_pixels(&state) < 2.0,
        "a place is looked at from the same distance"
    );
    // The camera is there, and the agent's ring is large enough to be seen.
    state.rig.camera.pose = state.rig.camera.goal;
    state.compose();
    let ring = &state.drawing.list().decals[DecalKind::Selection as usize][0];
    assert!(ring.reach * tile_pixels(&state) > 10.0, "{}", ring.reach);
    intend(&mut state, Intent::Visit(Selection::Agent(agent.id)));
    assert!(tile_pixels(&state) > 20.0);
    state.act(Action::Overview, NOW);
    run(&mut state, 1);
    state.act(Action::Follow, NOW);
    assert!(tile_pixels(&state) > 20.0);
}
