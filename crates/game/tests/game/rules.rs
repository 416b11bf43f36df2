//! Rules that no transcript of the engine shows: what agents leave behind, and who leads when time is over.

use trantor_game::Handled;
use trantor_model::{AdminAction, CommandKind, Direction, GameRefusal, Level, TeamId};

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
            assert_eq!(arena.try_join(team), Handled::Refused(GameRefusal::NoPlace));
        }
    }
}

#[test]
fn when_time_is_over_the_leading_team_wins() {
    let cases: [(&[(u16, u8)], u16); 6] = [
        (&[], 0),
        (&[(0, 3), (1, 4)], 1),
        (&[(0, 4), (1, 4), (1, 1)], 1),
        // The race has the sum of levels.
        (&[(1, 3), (1, 3), (1, 3), (0, 5)], 1),
        (&[(0, 3), (0, 3), (1, 5), (1, 1)], 1),
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

/// The rows of the table in docs/rules.md whose head begins with `head`.
fn table_of_the_rules(head: &str) -> Vec<Vec<&'static str>> {
    let page = include_str!("../../../../docs/rules.md");
    let table = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn the_page_of_the_rules_has_the_games_numbers() {
    let elevations: Vec<Vec<u32>> = table_of_the_rules("| From level |")
        .iter()
        .map(|row| row.iter().map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    let levels = (1..Level::LAST.get()).map(|level| Level::new(level).expect("in range"));
    let played: Vec<Vec<u32>> = levels
        .map(|level| {
            let needed = level.requirement().expect("not the last level");
            let mut row = vec![u32::from(level.get()), u32::from(level.get()) + 1, needed.agents];
            row.extend(&needed.stones.0[1..]);
            row
        })
        .collect();
    assert_eq!(elevations, played);

    let mut actions: Vec<(String, u16)> = table_of_the_rules("| Command |")
        .iter()
        .map(|row| {
            (
                row[0].replace(['`', '_'], "").to_lowercase(),
                row[1].parse().expect("units"),
            )
        })
        .collect();
    let mut durations: Vec<(String, u16)> = CommandKind::ALL
        .iter()
        .map(|kind| (format!("{kind:?}").to_lowercase(), kind.duration_units()))
        .collect();
    actions.sort();
    durations.sort();
    assert_eq!(actions, durations);
}
