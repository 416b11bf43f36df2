//! Rules that no transcript of the engine shows: what agents leave behind, and who leads when time is over.

use trantor_game::{AdminAction, Handled, Refusal};
use trantor_model::{Direction, TeamId};

use crate::arena::{Arena, config, tile};

const NORTH: Direction = Direction::North;

/// Under all rules about eggs and places.
#[test]
fn released_agents_leave_places_where_they_stood() {
    for (egg_hatch_units, respawn_places) in [(0, false), (600, false), (0, true), (600, true)] {
        let mut config = config(10, 10);
        config.places_per_team = 1;
        config.rules.respawn_places = respawn_places;
        config.rules.egg_hatch_units = egg_hatch_units;
        let mut arena = Arena::new(config);
        for team in 0..2 {
            arena.agent_of(team, 3, 4 + team, NORTH, 1);
        }
        arena.game.release_agents();
        assert_eq!(arena.game.world().agents().count(), 0);
        for team in 0..2 {
            let agent = arena.join(team);
            let born = arena.game.world().agent(agent).expect("it lives");
            assert_eq!(born.tile, tile(3, 4 + team));
            assert_eq!(arena.try_join(team), Handled::Refused(Refusal::NoPlace));
        }
    }
}

#[test]
fn when_time_is_over_the_leading_team_wins() {
    let cases: [(&[(u16, u8)], u16); 5] = [
        (&[], 0),
        (&[(0, 3), (1, 4)], 1),
        (&[(0, 4), (1, 4), (1, 1)], 1),
        (&[(0, 3), (0, 3), (0, 3), (1, 5)], 1),
        (&[(1, 2), (0, 2)], 0),
    ];
    for (agents, winner) in cases {
        let mut arena = Arena::new(config(10, 10));
        for &(team, at_level) in agents {
            arena.agent_of(team, 0, 0, NORTH, at_level);
        }
        arena.admin(AdminAction::EndMatch);
        assert_eq!(arena.game.winner(), Some(TeamId(winner)), "{agents:?}");
    }
}
