//! What the eye sees when things happen in the middle of others, too late, or not at all.

use trantor_model::{AgentView, CommandKind, Counts, Direction, Level, MapSize};
use trantor_protocol::wire::{ActionState, AgentState, SnapshotPart};

use super::*;

/// One agent that walks east from tile 3 between game times 10 and 17.
struct Walk {
    display: Display,
    scene: Scene,
    seen: GameTime,
}

fn units(units: f64) -> GameTime {
    GameTime::from_nanounits((units * 1e9) as i128)
}

fn started(start: f64, refused: bool) -> Change {
    Change::ActionStarted {
        agent: AgentId(0),
        action: ActionState {
            kind: CommandKind::Forward,
            start: units(start),
            end: units(start + 7.0),
            refused,
        },
    }
}

fn moved(x: u16, forced: bool) -> Change {
    Change::Moved {
        agent: AgentId(0),
        tile: Tile { x, y: 2 },
        facing: Direction::East,
        forced,
    }
}

impl Walk {
    fn new() -> Self {
        let mut world = World::new(MapSize::new(10, 8).unwrap(), 1);
        let view = AgentView {
            id: AgentId(0),
            team: TeamId(0),
            tile: Tile { x: 3, y: 2 },
            facing: Direction::East,
            level: Level::FIRST,
            inventory: Counts::ZERO,
        };
        let agent = AgentState {
            view,
            action: None,
            food_ends: Some(units(100.0)),
        };
        world.load(SnapshotPart::Agents(vec![agent])).unwrap();
        Self {
            display: Display::new(world),
            scene: Scene::default(),
            seen: units(0.0),
        }
    }

    /// Shows a moment after changes received with it, and returns how far east the agent is.
    fn show(&mut self, at: f64, changes: &[(f64, Change)]) -> f32 {
        let moment = Moment {
            seen: self.seen,
            next: units(at),
            frequency: Some(Frequency::new(100).unwrap()),
        };
        for (at, change) in changes {
            self.display.apply(units(*at), change, &moment).unwrap();
        }
        self.display.fill(moment.next, moment.next, &mut self.scene);
        self.seen = moment.next;
        self.scene.agents[0].x
    }

    fn settle(&mut self, complete: f64) {
        let moment = Moment {
            seen: self.seen,
            next: self.seen + GameSpan::from_nanounits(1),
            frequency: Some(Frequency::new(100).unwrap()),
        };
        self.display.settle(units(complete), &moment);
    }
}

#[track_caller]
fn assert_near(is: f32, should: f32) {
    assert!((is - should).abs() < 1e-3, "{is} should be {should}");
}

#[test]
fn one_step_follows_another_without_a_seam() {
    let mut walk = Walk::new();
    walk.show(10.0, &[(10.0, started(10.0, false))]);
    assert_near(walk.show(16.5, &[]), 3.0 + 6.5 / 7.0);
    let next = [(17.0, moved(4, false)), (17.0, started(17.0, false))];
    assert_near(walk.show(18.0, &next), 4.0 + 1.0 / 7.0);
    assert_near(walk.show(18.1, &[]), 4.0 + 1.1 / 7.0);
}

#[test]
fn a_display_that_goes_back_shows_nobody_on_the_way_it_made_up() {
    let mut walk = Walk::new();
    walk.show(50.0, &[]);
    let there = walk.show(52.0, &[(40.0, moved(4, false))]);
    assert!(there < 3.9, "changes that came late are blended in: {there}");
    walk.show(90.0, &[]);
    walk.display.end_blends();
    walk.seen = units(53.0);
    assert_near(walk.show(53.0, &[]), 4.0);
}

#[test]
fn a_step_told_late_begins_where_the_agent_stands_and_ends_in_time() {
    let mut walk = Walk::new();
    assert_near(walk.show(15.0, &[]), 3.0);
    let late = [(10.0, started(10.0, false))];
    let at_once = walk.show(15.1, &late);
    assert!((3.0..3.2).contains(&at_once), "no jump: {at_once}");
    assert!(walk.show(16.0, &[]) > at_once);
    assert_near(walk.show(17.0, &[]), 4.0);
}

#[test]
fn a_push_slides_while_the_step_goes_on() {
    let mut walk = Walk::new();
    walk.show(10.0, &[(10.0, started(10.0, false))]);
    assert_near(walk.show(13.0, &[]), 3.0 + 3.0 / 7.0);
    // Pushed ahead by one at 13, in the middle of its own step, which ends one tile further.
    let pushed = walk.show(13.5, &[(13.0, moved(4, true))]);
    assert!((3.43..3.8).contains(&pushed), "{pushed}");
    assert_eq!(walk.scene.agents[0].action.unwrap().kind, CommandKind::Forward);
    assert_near(walk.show(17.0, &[]), 5.0);
    assert_near(walk.show(17.5, &[(17.0, moved(5, false))]), 5.0);
}

#[test]
fn a_push_at_the_very_end_of_a_step_does_not_end_it() {
    let mut walk = Walk::new();
    walk.show(10.0, &[(10.0, started(10.0, false))]);
    walk.show(16.9, &[]);
    walk.show(17.0, &[(17.0, moved(4, true))]);
    let at_end = walk.display.shown(AgentId(0), units(21.0)).unwrap();
    assert_near(at_end.x, 5.0);
    assert_near(walk.show(21.0, &[(17.0, moved(5, false))]), 5.0);
}

#[test]
fn who_is_put_somewhere_far_is_simply_there() {
    let mut walk = Walk::new();
    walk.show(10.0, &[]);
    assert_near(walk.show(10.1, &[(10.1, moved(8, true))]), 8.0);
}

#[test]
fn in_a_game_that_stands_still_a_push_is_shown_at_once() {
    let mut walk = Walk::new();
    walk.show(10.0, &[]);
    assert_near(walk.show(10.0, &[(10.0, moved(4, true))]), 4.0);
}

#[test]
fn a_step_that_came_to_nothing_is_taken_back_once_that_is_known() {
    let mut walk = Walk::new();
    walk.show(10.0, &[(10.0, started(10.0, false))]);
    assert_near(walk.show(18.0, &[]), 4.0);
    walk.settle(17.0);
    assert_near(walk.show(18.1, &[]), 4.0);
    walk.settle(17.1);
    let back = walk.show(20.0, &[]);
    assert!((3.1..3.95).contains(&back), "not at once: {back}");
    assert_near(walk.show(40.0, &[]), 3.0);
}

#[test]
fn a_step_that_the_server_refused_is_not_drawn() {
    let mut walk = Walk::new();
    walk.show(10.0, &[(10.0, started(10.0, true))]);
    assert_near(walk.show(16.0, &[]), 3.0);
}

#[test]
fn food_is_told_as_time_that_is_left() {
    let mut walk = Walk::new();
    walk.show(10.0, &[]);
    assert_near(walk.scene.agents[0].food_left_units.unwrap(), 90.0);
    let inventory = Counts([2, 0, 0, 0, 0, 0, 0]);
    let ate = Change::Inventory {
        agent: AgentId(0),
        inventory,
        food_ends: Some(units(140.0)),
    };
    walk.show(20.0, &[(14.0, ate)]);
    assert_near(walk.scene.agents[0].food_left_units.unwrap(), 120.0 + 2.0 * 126.0);
}

#[test]
fn effects_age_in_game_time_and_go() {
    let mut walk = Walk::new();
    let said = Change::Said {
        agent: AgentId(0),
        text: b"hello".to_vec(),
    };
    walk.show(
        30.0,
        &[(20.0, said), (25.0, Change::Ejected { agent: AgentId(0) })],
    );
    let [said, pushed] = &walk.scene.effects[..] else {
        panic!("two: {:?}", walk.scene.effects);
    };
    let EffectKind::Broadcast { text } = said.kind else {
        panic!("first what was first: {said:?}");
    };
    assert_eq!(walk.scene.text(text), b"hello");
    assert_eq!((said.age_units, pushed.age_units), (10.0, 5.0));
    assert_near(said.progress, 10.0 / 60.0);
    walk.show(30.0, &[]);
    assert_eq!(walk.scene.effects[0].age_units, 10.0, "a pause freezes them");
    walk.show(79.9, &[]);
    assert_eq!(walk.scene.effects.len(), 1);
    walk.show(80.0, &[]);
    assert!(walk.scene.effects.is_empty() && walk.scene.texts.is_empty());
}
