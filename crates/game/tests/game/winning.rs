//! Winning: six of a team at the last level, or the lead when time is over.

use crate::arena::{Arena, config, tile};
use crate::rituals::{NORTH, risen, stones_for};
use trantor_game::{AdminAction, GameEvent, Handled, Refusal};
use trantor_model::{AgentId, Command, Level};

#[test]
fn six_of_a_team_at_the_last_level_win_and_the_game_is_over() {
    let mut arena = Arena::quiet();
    let mut agents: Vec<AgentId> = (0..6).map(|_| arena.agent_of(1, 5, 5, NORTH, 7)).collect();
    agents.push(arena.agent_of(0, 5, 5, NORTH, 7));
    let bystander = arena.agent_of(0, 1, 1, NORTH, 1);
    arena.admin(AdminAction::SetHunger { enabled: true });
    arena.ground(5, 5, stones_for(7));
    arena.command(bystander, Command::Look);
    arena.take();
    arena.command(agents[0], Command::Incantation);
    arena.run(299);
    arena.command(agents[1], Command::Forward);
    arena.command(bystander, Command::Fork);
    arena.take();
    arena.run(1);
    let told = arena.take();
    for &agent in &agents {
        assert!(told.contains(&GameEvent::Reply {
            agent,
            reply: risen(8)
        }));
    }
    assert!(matches!(told[told.len() - 2], GameEvent::GroundChanged { .. }));
    assert_eq!(
        told[told.len() - 1],
        GameEvent::Won {
            team: trantor_model::TeamId(1)
        }
    );
    assert_eq!(arena.game.winner(), Some(trantor_model::TeamId(1)));
    assert_eq!(arena.game.next_deadline(), None, "nothing more happens by itself");
    assert_eq!(arena.try_join(0), Handled::Refused(Refusal::GameOver));
    assert_eq!(
        arena.try_command(bystander, Command::Look),
        Handled::Refused(Refusal::GameOver)
    );
    arena.leave(agents[0]);
    assert!(matches!(arena.take()[..], [GameEvent::Left { .. }]));
}

#[test]
fn five_are_not_enough_and_the_dead_do_not_count() {
    let mut arena = Arena::quiet();
    let agents: Vec<AgentId> = (0..5).map(|_| arena.agent_of(0, 0, 0, NORTH, 8)).collect();
    arena.agent_of(1, 0, 0, NORTH, 8);
    assert_eq!(arena.game.winner(), None);
    arena.admin(AdminAction::Kill { agent: agents[0] });
    arena.agent_of(0, 0, 0, NORTH, 8);
    assert_eq!(arena.game.winner(), None);
    arena.agent_of(0, 0, 0, NORTH, 8);
    assert_eq!(arena.game.winner(), Some(trantor_model::TeamId(0)));
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
        let mut arena = Arena::quiet();
        for &(team, at_level) in agents {
            arena.agent_of(team, 0, 0, NORTH, at_level);
        }
        arena.admin(AdminAction::EndMatch);
        assert_eq!(
            arena.game.winner(),
            Some(trantor_model::TeamId(winner)),
            "{agents:?}"
        );
    }
}

#[test]
fn two_teams_lifted_at_once() {
    let mut config = config(10, 10);
    config.teams = vec!["a".into(), "b".into(), "c".into()];
    let mut arena = Arena::bare(config);
    for team in [1, 2] {
        for _ in 0..6 {
            arena.agent_of(team, 5, 5, NORTH, 7);
        }
    }
    arena.ground(5, 5, stones_for(7));
    arena.agent_of(2, 0, 0, NORTH, 5);
    let asker = AgentId(0);
    arena.command(asker, Command::Incantation);
    arena.run(300);
    assert_eq!(arena.level(asker), Level::LAST.get());
    assert_eq!(
        arena.game.winner(),
        Some(trantor_model::TeamId(2)),
        "it has one more of a lower level"
    );
}

/// Elsewhere they leave eggs, and whoever comes back is born from those: nobody is any more.
#[test]
fn agents_that_nobody_plays_any_more_stay_once_a_team_has_won() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_of(0, 2, 3, NORTH, 1);
    arena.admin(AdminAction::EndMatch);
    let won = arena.game.digest();
    arena.game.release_agents();
    assert_eq!(arena.game.digest(), won);
    assert_eq!(arena.place(agent), tile(2, 3));
}
