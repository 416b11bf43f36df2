//! The last moment of a match: the world as it was when a team won, whatever the speed and however slow the frames.

use crate::support::{MILLI, SECOND, Server, Universe, agent, forward};
use trantor_client::{FeedKind, Scene};
use trantor_model::{AgentId, Level, MapSize, TeamId, Tile};
use trantor_protocol::wire::{AgentState, Change, RitualState};
use trantor_time::GameTime;

const RED: TeamId = TeamId(0);
const BLUE: TeamId = TeamId(1);
const TILE: Tile = Tile { x: 5, y: 5 };

/// Six of each team at level 7: red first, and blue will win.
fn agents() -> impl Iterator<Item = AgentState> {
    (0..12).map(|id| {
        let mut agent = agent(id, TILE);
        agent.view.team = if id < 6 { RED } else { BLUE };
        agent.view.level = Level::new(7).unwrap();
        agent
    })
}

fn winners() -> Vec<AgentId> {
    (6..12).map(AgentId).collect()
}

/// Blue's last elevation ends at `at` while one of red walks and another elevation goes on; then all agents are removed.
fn schedule_victory(server: &mut Server, at: GameTime) {
    let level = Level::new(7).unwrap();
    let begun = GameTime::from_nanounits(at.as_nanounits() - 1_000_000_000);
    for participants in [winners(), vec![AgentId(1)]] {
        let started = Change::RitualStarted(RitualState {
            tile: TILE,
            level,
            participants,
            start: begun,
            end: at,
        });
        server.schedule(begun, started);
    }
    server.schedule(begun, forward(AgentId(0), begun, false));
    for agent in winners() {
        let level = Level::LAST;
        server.schedule(at, Change::LevelChanged { agent, level });
    }
    let ended = |participants, success| Change::RitualEnded {
        tile: TILE,
        level,
        success,
        participants,
    };
    server.schedule(at, ended(winners(), true));
    server.schedule(at, Change::Won { team: BLUE });
    for id in 0..12 {
        if id == 1 {
            server.schedule(at, ended(vec![AgentId(1)], false));
        }
        server.schedule(at, Change::Left { agent: AgentId(id) });
    }
}

#[test]
fn the_world_stays_as_it_was_when_a_team_won() {
    for frequency in [1, 10, 100, 1_000, 5_000, 10_000] {
        for frame_us in [100, 6_944, 50_000, 333_000, 700_000] {
            let mut server = Server::new(MapSize::new(10, 10).unwrap(), frequency);
            server.teams = vec!["red".to_owned(), "blue".to_owned()];
            server.agents = agents().map(|agent| (agent.view.id, agent)).collect();
            // Not on the grid of ticks, nor on one of frames.
            let won_at = GameTime::from_nanounits(i128::from(frequency) * 3_012_345_678);
            schedule_victory(&mut server, won_at);
            let mut universe = Universe::new(server, MILLI, 3 * MILLI);
            let mut scene = Scene::default();
            universe.run_until(2_950 * MILLI);
            let mut won = Vec::new();
            let frames = (1_500_000 / frame_us).min(5_000);
            let start = universe.now;
            for frame in 1..=frames {
                universe.run_until(start + frame * frame_us * 1_000);
                universe.client.scene(universe.real(), &mut scene);
                while let Some(entry) = universe.client.poll_feed() {
                    assert!(
                        !matches!(entry.kind, FeedKind::Left(..)),
                        "no agent is seen to leave"
                    );
                    won.extend(matches!(entry.kind, FeedKind::Won(BLUE)).then_some(entry.at));
                }
                let of_level_8: Vec<u32> = scene.teams.iter().map(|team| team.by_level[7]).collect();
                let winner = scene.winner;
                let case = format!("at {frequency}, frame {frame} of {frame_us} µs");
                assert_eq!(scene.agents.len(), 12, "{case}");
                match winner {
                    None => assert!(scene.clock.game <= won_at, "{case}"),
                    Some(team) => {
                        assert_eq!((team, &of_level_8[..]), (BLUE, &[0, 6][..]), "{case}");
                        assert_eq!(scene.clock.game, won_at, "{case}: game time stops");
                        let is_at_rest = |id| {
                            let agent = scene.agent(AgentId(id)).unwrap();
                            !agent.held && agent.action.is_none()
                        };
                        assert!((0..12).all(is_at_rest) && scene.rituals.is_empty(), "{case}");
                    }
                }
            }
            assert_eq!(scene.winner, Some(BLUE), "at {frequency} by {frame_us} µs");
            assert_eq!(won, [won_at], "the victory is an event, and the last");
            let x = scene.agent(AgentId(0)).unwrap().x;
            universe.run_until(universe.now + 60 * SECOND);
            universe.client.scene(universe.real(), &mut scene);
            assert_eq!(scene.agent(AgentId(0)).unwrap().x, x, "no agent moves any more");
            assert!(scene.effects.is_empty() || frequency == 1, "effects fade");
        }
    }
}
