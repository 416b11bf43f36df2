//! What a match comes to: counted by the game, the same in a recording and behind a snapshot, and no part of the state.

use std::sync::Arc;

use trantor_game::replay::{IndexedPiece, Recording};
use trantor_game::{EventFilter, Game, GameInput, Handled, Snapshot};
use trantor_model::totals::{Cause, Need, Reason};
use trantor_model::{AdminAction, AgentId, Command, Counts, Direction, LeaveCause, Resource, TeamId};
use trantor_time::GameTime;

use crate::arena::{Arena, config, level, tile, units};
use crate::journals::Recorded;

/// Red rises to level 2 and stands there without a sibur; blue comes later, waits, dies, and wins by an operator's word.
fn played(arena: &mut Arena, mut after: impl FnMut(&mut Arena)) {
    let config = arena.game.config().clone();
    assert_eq!(config.teams.len(), 2);
    let red: Vec<AgentId> = (0..2).map(|_| arena.join(0)).collect();
    for &agent in &red {
        arena.admin(AdminAction::Teleport {
            agent,
            tile: tile(1, 1),
            facing: Some(Direction::North),
        });
        for resource in [Resource::Linemate, Resource::Deraumere] {
            let count = 1;
            arena.admin(AdminAction::SetInventory {
                agent,
                resource,
                count,
            });
        }
    }
    let ground = Counts([0, 1, 0, 0, 0, 0, 0]);
    arena.admin(AdminAction::SetGround {
        tile: tile(1, 1),
        ground,
    });
    after(arena);
    // One rises, and the other is held.
    arena.command(red[0], Command::Incantation);
    arena.run_to(units(300));
    after(arena);
    // A second of a hundred units, of which seven are a command.
    arena.command(red[0], Command::Forward);
    let blue = arena.join(1);
    arena.run_to(units(400));
    after(arena);
    arena.admin(AdminAction::Kill { agent: blue });
    after(arena);
    arena.run_to(units(1_000));
    after(arena);
    arena.admin(AdminAction::EndMatchWith {
        winner: Some(TeamId(1)),
    });
    after(arena);
}

#[test]
fn a_match_counts_its_levels_deaths_and_idle_time_and_says_why() {
    let mut arena = Arena::new(config(9, 9));
    arena.game.set_event_filter(EventFilter::AgentsShared);
    played(&mut arena, |_| {});
    let totals = arena.game.totals();
    assert!(totals.is_whole());
    assert_eq!(totals.until, units(1_000));
    assert_eq!(totals.first_to(level(2)), Some((TeamId(0), units(300))));
    assert_eq!(totals.first_to(level(3)), None);
    let [red, blue] = &totals.teams[..] else { panic!() };
    assert_eq!((red.joined, red.died, blue.joined, blue.died), (2, 0, 1, 1));
    // Both are held for 300 units, and then one walks for 7.
    assert_eq!(red.idle_share(), Some((700.0 + 693.0) / 2_000.0));
    assert_eq!(blue.idle_share(), Some(1.0));
    let why = totals.why(Some(TeamId(1))).unwrap();
    assert_eq!((why.team, why.level), (TeamId(0), level(2)));
    let Reason::Idle(_) = why.reason else {
        panic!("{why:?}")
    };
    let lack = red.stays[1].lack.unwrap();
    // Neither a sibur nor the second agent of that level; the rarer is named.
    assert_eq!(
        (lack.need, lack.most, lack.of),
        (Need::Stone(Resource::Sibur), 0, 1)
    );
    assert_eq!(lack.span, units(1_000) - units(300));
    let causes: Vec<Cause> = totals
        .turning_points
        .iter()
        .map(|turning_point| turning_point.cause)
        .collect();
    let [
        Cause::Stood { .. },
        Cause::Lead {
            team: leader,
            from: None,
        },
        Cause::Died { who, .. },
    ] = causes[..]
    else {
        panic!("{causes:?}");
    };
    assert_eq!((leader, who.team), (TeamId(0), TeamId(1)));
    assert!(
        totals
            .turning_points
            .iter()
            .all(|turning_point| !turning_point.nearby.is_empty())
    );
    // The agents of a match that is over are removed, and nothing is counted of that.
    let digest = arena.game.digest();
    for agent in [0, 1].map(AgentId) {
        let cause = LeaveCause::Dismissed;
        assert_eq!(arena.input(GameInput::Leave { agent, cause }), Handled::Done);
    }
    assert_ne!(arena.game.digest(), digest);
    assert_eq!(arena.game.totals(), totals);
}

/// What the team needs lies on the tile where it puts its stones down, or somebody carries it.
#[test]
fn a_stone_that_a_team_has_is_not_lacking() {
    let mut arena = Arena::new(config(9, 9));
    let agent = arena.agent_of(0, 3, 3, Direction::North, 2);
    let set = |arena: &mut Arena, resource, count| {
        arena.admin(AdminAction::SetInventory {
            agent,
            resource,
            count,
        });
    };
    for resource in [Resource::Linemate, Resource::Deraumere] {
        set(&mut arena, resource, 1);
    }
    let lack = |arena: &Arena| arena.game.totals().teams[0].stays[1].lack.unwrap();
    arena.run_to(units(100));
    assert_eq!(
        (lack(&arena).need, lack(&arena).most),
        (Need::Stone(Resource::Sibur), 0)
    );
    set(&mut arena, Resource::Sibur, 1);
    arena.command(agent, Command::Set(Resource::Sibur));
    arena.run_to(units(400));
    assert_eq!(lack(&arena).span, units(400) - GameTime::ZERO);
    assert_eq!(
        (lack(&arena).need, lack(&arena).most, lack(&arena).of),
        (Need::Agents, 1, 2)
    );
    let totals = arena.game.totals();
    let name = |_| "red".to_owned();
    arena.admin(AdminAction::SetHunger { enabled: false });
    assert_eq!(
        totals.why_text(None, name).unwrap(),
        "red stood at level 2 for 4 s: its agents were idle 98 % of the time"
    );
}

#[test]
fn a_resumed_match_has_its_totals_and_an_older_snapshot_has_those_of_its_rest() {
    let (mut whole, mut resumed) = (Arena::new(config(9, 9)), Arena::new(config(9, 9)));
    played(&mut whole, |_| {});
    played(&mut resumed, |arena| {
        let bytes = arena.game.snapshot().encode();
        arena.game = Game::restore(Snapshot::decode(&bytes).unwrap()).unwrap();
    });
    assert_eq!(resumed.game.totals(), whole.game.totals());
    assert_eq!(resumed.game.digest(), whole.game.digest());
}

/// Recorded in pieces and shown from anywhere, it is the same match.
#[test]
fn a_recording_has_the_totals_of_its_match() {
    let mut recorded = Recorded::new(config(9, 9));
    let agents = [recorded.join(0), recorded.join(1)];
    let mut pieces = Vec::new();
    for (number, (at, agent)) in (1..).zip([(3, agents[0]), (50, agents[1]), (90, agents[0])]) {
        recorded.run_to(units(at));
        let command = Command::Look;
        let _ = recorded.input(GameInput::Command { agent, command });
        pieces.push(recorded.next_piece(number));
    }
    // Both starve.
    recorded.run_to(units(5_000));
    let totals = recorded.game.totals();
    assert_eq!(totals.teams.iter().map(|team| team.died).sum::<u32>(), 2);
    pieces.push(recorded.close().0);
    let pieces = pieces
        .iter()
        .map(|piece| IndexedPiece::new(&piece[..], 0).unwrap());
    let recording = Arc::new(Recording::join(pieces.collect()).unwrap());
    let (shown, _) = recording.seek(units(5_000)).unwrap();
    assert_eq!(shown.totals().teams, totals.teams);
    let (early, _) = recording.seek(units(70)).unwrap();
    assert_eq!(early.totals().teams[1].idle.as_units_f64(), 63.0);
}
