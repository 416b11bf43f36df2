//! Elevations: each way to begin, to be held, to succeed and to fail; and winning.

use trantor_game::{AdminAction, GameEvent, GroundChange, Handled, Refusal, Reply};
use trantor_model::{AgentId, Command, CommandKind, Counts, Direction, Level, Resource, Turn};

use crate::arena::{Arena, config, counts, level, tile, units};

const NORTH: Direction = Direction::North;

/// What lies on a tile for the elevation from `from`, exactly.
fn stones_for(from: u8) -> [u32; 7] {
    level(from).requirement().expect("not the last").stones.0
}

fn risen(to: u8) -> Reply {
    Reply::CurrentLevel(level(to))
}

/// So many agents of one level at (5, 5), with exactly the stones they need.
fn gathered(agents: usize, at_level: u8) -> (Arena, Vec<AgentId>) {
    let mut arena = Arena::quiet();
    let agents = (0..agents)
        .map(|_| arena.agent_of(0, 5, 5, NORTH, at_level))
        .collect();
    arena.ground(5, 5, stones_for(at_level));
    arena.take();
    (arena, agents)
}

#[test]
fn r_000_46_an_elevation_from_every_level() {
    for (from, needed) in [(1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 6), (7, 6)] {
        let (mut arena, agents) = gathered(needed, from);
        arena.command(agents[0], Command::Incantation);
        for &agent in &agents {
            assert_eq!(arena.replies(agent), [(0, Reply::ElevationUnderway)]);
        }
        arena.run(299);
        assert!(agents.iter().all(|&agent| arena.answers(agent).len() == 1));
        arena.run(1);
        for &agent in &agents {
            assert_eq!(arena.replies(agent)[1..], [(300, risen(from + 1))], "from {from}");
        }
        assert_eq!(arena.lies(5, 5), Counts::ZERO, "the stones are used up");
    }
}

#[test]
fn what_is_told_of_an_elevation_and_in_which_order() {
    let (mut arena, agents) = gathered(2, 2);
    let other_level = arena.agent_of(1, 5, 5, NORTH, 3);
    let foreign = arena.agent_of(1, 5, 5, NORTH, 2);
    arena.ground(5, 5, [4, 2, 1, 1, 0, 0, 0]);
    arena.take();
    let asker = agents[1];
    arena.command(asker, Command::Incantation);
    let participants = [asker, agents[0], foreign];
    let underway = |agent| GameEvent::Reply {
        agent,
        reply: Reply::ElevationUnderway,
    };
    assert_eq!(
        arena.take(),
        [
            GameEvent::RitualStarted {
                tile: tile(5, 5),
                level: level(2),
                participants: participants.into(),
                end: units(300)
            },
            underway(asker),
            underway(agents[0]),
            underway(foreign),
            GameEvent::ActionStarted {
                agent: asker,
                kind: CommandKind::Incantation,
                start: units(0),
                end: units(300),
                refused: false,
            },
        ]
    );
    arena.run(300);
    let mut expected = Vec::new();
    for agent in participants {
        expected.push(GameEvent::LevelChanged {
            agent,
            level: level(3),
        });
        expected.push(GameEvent::Reply {
            agent,
            reply: risen(3),
        });
    }
    expected.push(GameEvent::RitualEnded {
        tile: tile(5, 5),
        level: level(2),
        success: true,
        participants: participants.into(),
    });
    expected.push(GameEvent::GroundChanged {
        tile: tile(5, 5),
        ground: counts([4, 1, 0, 0, 0, 0, 0]),
        why: GroundChange::Ritual,
    });
    assert_eq!(arena.take(), expected);
    assert_eq!(arena.level(other_level), 3);
}

#[test]
fn r_000_46_a_start_without_the_conditions_is_refused_at_once() {
    // A stone too few, of each stone that is needed.
    for from in 1..=7 {
        for missing in 1..7 {
            let mut stones = stones_for(from);
            if stones[missing] == 0 {
                continue;
            }
            stones[missing] -= 1;
            let (mut arena, agents) = gathered(6, from);
            arena.ground(5, 5, stones);
            arena.take();
            arena.command(agents[0], Command::Incantation);
            let ko = GameEvent::Reply {
                agent: agents[0],
                reply: Reply::Ko,
            };
            assert_eq!(arena.take(), [ko], "from {from} without one of {missing}");
        }
    }
    // An agent too few, though others of other levels stand there.
    for (from, needed) in [(2, 2), (3, 2), (4, 4), (5, 4), (6, 6), (7, 6)] {
        let (mut arena, agents) = gathered(needed - 1, from);
        arena.agent_of(1, 5, 5, NORTH, from - 1);
        arena.agent_of(1, 5, 4, NORTH, from);
        arena.take();
        arena.command(agents[0], Command::Incantation);
        arena.command(agents[0], Command::ConnectNbr);
        assert_eq!(arena.answers(agents[0])[0], Reply::Ko);
        assert!(
            matches!(arena.answers(agents[0])[1], Reply::ConnectNbr(_)),
            "it cost nothing"
        );
    }
    // Nothing is above the last level.
    let mut arena = Arena::quiet();
    let agent = arena.agent_of(0, 5, 5, NORTH, 8);
    arena.ground(5, 5, [9; 7]);
    arena.command(agent, Command::Incantation);
    assert_eq!(arena.answers(agent), [Reply::Ko]);
}

#[test]
fn participants_do_nothing_else_and_their_commands_wait() {
    let (mut arena, agents) = gathered(2, 2);
    let [asker, held] = agents[..] else { unreachable!() };
    arena.command(asker, Command::Incantation);
    arena.command(asker, Command::Forward);
    arena.run(10);
    arena.command(held, Command::Turn(Turn::Right));
    for _ in 0..9 {
        arena.command(held, Command::ConnectNbr);
    }
    let eleventh = arena.try_command(held, Command::ConnectNbr);
    assert_eq!(
        eleventh,
        Handled::Refused(Refusal::QueueFull),
        "the limit is still ten"
    );
    arena.run(289);
    assert_eq!(arena.answers(held), [Reply::ElevationUnderway]);
    arena.run(8);
    assert_eq!(
        arena.replies(asker),
        [(0, Reply::ElevationUnderway), (300, risen(3)), (307, Reply::Ok)]
    );
    let held_replies = arena.replies(held);
    assert_eq!(held_replies[1..3], [(300, risen(3)), (307, Reply::Ok)]);
    assert_eq!(held_replies.len(), 12);
}

#[test]
fn an_action_in_the_middle_runs_on_and_its_effect_comes_right_after_the_end() {
    let (mut arena, agents) = gathered(2, 2);
    let [asker, held] = agents[..] else { unreachable!() };
    arena.command(held, Command::Forward);
    arena.command(held, Command::ConnectNbr);
    arena.run(5);
    arena.command(asker, Command::Incantation);
    arena.run(299);
    assert_eq!(arena.answers(held), [Reply::ElevationUnderway]);
    assert_eq!(arena.place(held), tile(5, 5));
    arena.run(1);
    assert_eq!(arena.place(held), tile(5, 4));
    let moment = 305;
    let replies = arena.replies(held);
    assert_eq!(replies[1..3], [(moment, risen(3)), (moment, Reply::Ok)]);
    assert!(matches!(replies[3], (at, Reply::ConnectNbr(_)) if at == moment));
}

#[test]
fn even_the_longest_action_is_withheld_until_the_end() {
    let (mut arena, agents) = gathered(2, 2);
    let [asker, held] = agents[..] else { unreachable!() };
    let eggs = arena.eggs().len();
    arena.command(held, Command::Fork);
    arena.run(1);
    arena.command(asker, Command::Incantation);
    arena.run(299);
    assert_eq!(
        arena.eggs().len(),
        eggs,
        "an egg whose time is up is still not laid"
    );
    arena.run(1);
    assert_eq!(arena.replies(held)[1..], [(301, risen(3)), (301, Reply::Ok)]);
    assert_eq!(arena.eggs().len(), eggs + 1);
}

#[test]
fn withheld_effects_come_in_the_order_they_fell_due() {
    let mut arena = Arena::quiet();
    let agents: Vec<AgentId> = (0..3).map(|_| arena.agent_of(0, 5, 5, NORTH, 3)).collect();
    arena.ground(5, 5, [0, 2, 0, 1, 0, 2, 1]);
    arena.take();
    // The later number asks first; both would take the one thystame.
    arena.command(agents[2], Command::Take(Resource::Thystame));
    arena.run(1);
    arena.command(agents[1], Command::Take(Resource::Thystame));
    arena.command(agents[0], Command::Incantation);
    arena.run(300);
    assert_eq!(arena.answers(agents[2])[2..], [Reply::Ok]);
    assert_eq!(arena.answers(agents[1])[2..], [Reply::Ko]);
}

#[test]
fn who_arrives_later_is_neither_held_nor_lifted() {
    let (mut arena, agents) = gathered(2, 2);
    arena.command(agents[0], Command::Incantation);
    let late = arena.agent_of(1, 5, 5, NORTH, 2);
    arena.command(late, Command::Turn(Turn::Left));
    arena.run(300);
    assert_eq!(arena.replies(late), [(7, Reply::Ok)]);
    assert_eq!(arena.level(late), 2);
    assert_eq!(arena.level(agents[1]), 3);
}

#[test]
fn r_000_46_stones_missing_at_the_end_fail_it() {
    let (mut arena, agents) = gathered(1, 1);
    arena.command(agents[0], Command::Incantation);
    arena.run(150);
    arena.ground(5, 5, [7, 0, 9, 9, 9, 9, 9]);
    arena.take();
    arena.run(150);
    let ended = GameEvent::RitualEnded {
        tile: tile(5, 5),
        level: level(1),
        success: false,
        participants: [agents[0]].into(),
    };
    assert_eq!(
        arena.take(),
        [
            GameEvent::Reply {
                agent: agents[0],
                reply: Reply::Ko
            },
            ended
        ]
    );
    assert_eq!(
        (arena.level(agents[0]), arena.lies(5, 5).total()),
        (1, 52),
        "the stones stay"
    );
}

#[test]
fn r_000_46_who_was_moved_away_fails_alone_if_enough_are_left() {
    let (mut arena, agents) = gathered(3, 2);
    arena.command(agents[0], Command::Incantation);
    arena.run(100);
    arena.put(agents[2], 5, 6, NORTH);
    arena.run(200);
    assert_eq!(arena.answers(agents[0])[1..], [risen(3)]);
    assert_eq!(arena.answers(agents[1])[1..], [risen(3)]);
    assert_eq!(arena.answers(agents[2])[1..], [Reply::Ko]);
}

#[test]
fn r_000_46_an_eject_by_another_level_fails_it_but_frees_nobody_early() {
    let (mut arena, agents) = gathered(2, 2);
    let bully = arena.agent_of(1, 5, 5, Direction::East, 5);
    arena.take();
    arena.command(agents[0], Command::Incantation);
    arena.command(agents[1], Command::Forward);
    arena.command(bully, Command::Eject);
    arena.run(7);
    assert_eq!(arena.answers(bully), [Reply::Ok]);
    assert!(agents.iter().all(|&agent| arena.place(agent) == tile(6, 5)));
    arena.run(292);
    assert!(
        agents
            .iter()
            .all(|&agent| arena.answers(agent) == [Reply::ElevationUnderway])
    );
    arena.run(8);
    assert_eq!(arena.answers(agents[0])[1..], [Reply::Ko]);
    assert_eq!(
        arena.replies(agents[1])[1..],
        [(300, Reply::Ko), (307, Reply::Ok)]
    );
    let ended = arena
        .take()
        .into_iter()
        .find(|event| matches!(event, GameEvent::RitualEnded { .. }));
    assert!(
        matches!(ended, Some(GameEvent::RitualEnded { tile: at, success: false, .. }) if at == tile(5, 5))
    );
}

#[test]
fn r_000_46_who_was_moved_away_and_back_counts() {
    let (mut arena, agents) = gathered(2, 2);
    arena.command(agents[0], Command::Incantation);
    arena.put(agents[1], 0, 0, NORTH);
    arena.run(100);
    arena.put(agents[1], 5, 5, Direction::South);
    arena.run(200);
    assert_eq!(arena.answers(agents[1])[1..], [risen(3)]);
}

#[test]
fn r_000_46_a_level_changed_by_an_operator_no_longer_counts() {
    let (mut arena, agents) = gathered(2, 2);
    arena.command(agents[0], Command::Incantation);
    arena.admin(AdminAction::SetLevel {
        agent: agents[1],
        level: level(4),
    });
    arena.run(300);
    assert_eq!((arena.level(agents[0]), arena.level(agents[1])), (2, 4));
    assert_eq!(arena.answers(agents[0])[1..], [Reply::Ko]);
}

#[test]
fn r_000_46_a_death_or_a_leave_in_the_middle_ends_it_cleanly() {
    for died in [false, true] {
        // The asker goes: who began it has no special part in how it ends.
        for gone in [0, 1] {
            let (mut arena, agents) = gathered(3, 2);
            arena.command(agents[0], Command::Incantation);
            arena.command(agents[gone], Command::Forward);
            arena.run(100);
            match died {
                true => arena.admin(AdminAction::Kill { agent: agents[gone] }),
                false => arena.leave(agents[gone]),
            }
            arena.run(200);
            for (index, &agent) in agents.iter().enumerate().filter(|(index, _)| *index != gone) {
                assert_eq!(arena.answers(agent)[1..], [risen(3)], "{index} with {gone} gone");
            }
            assert_eq!(arena.answers(agents[gone]), [Reply::ElevationUnderway]);
        }
    }
}

#[test]
fn r_000_46_too_few_left_alive_fail() {
    let (mut arena, agents) = gathered(2, 2);
    arena.command(agents[0], Command::Incantation);
    arena.run(50);
    arena.leave(agents[0]);
    arena.run(250);
    assert_eq!(arena.answers(agents[1])[1..], [Reply::Ko]);
    assert_eq!(arena.lies(5, 5), counts(stones_for(2)));
}

#[test]
fn everybody_gone_from_a_ritual_still_ends_it_when_it_is_due() {
    let (mut arena, agents) = gathered(1, 1);
    arena.command(agents[0], Command::Incantation);
    arena.run(50);
    arena.leave(agents[0]);
    assert_eq!(arena.game.world().rituals().count(), 1);
    arena.take();
    arena.run(250);
    let ended = GameEvent::RitualEnded {
        tile: tile(5, 5),
        level: level(1),
        success: false,
        participants: [].into(),
    };
    assert_eq!(arena.take(), [ended]);
    assert_eq!(arena.game.world().rituals().count(), 0);
}

#[test]
fn hunger_goes_on_in_a_ritual_and_kills() {
    let (mut arena, agents) = gathered(2, 2);
    arena.give(agents[1], Resource::Food, 1);
    arena.admin(AdminAction::SetHunger { enabled: true });
    arena.command(agents[0], Command::Incantation);
    arena.run(252);
    assert!(!arena.is_alive(agents[1]));
    arena.run(48);
    assert_eq!(arena.answers(agents[0])[1..], [Reply::Ko]);
}

#[test]
fn a_ritual_that_ends_as_a_participant_would_starve_lifts_it_first() {
    let (mut arena, agents) = gathered(1, 1);
    arena.give(agents[0], Resource::Food, 0);
    arena.admin(AdminAction::SetHunger { enabled: true });
    arena.run(1);
    arena.admin(AdminAction::SetHunger { enabled: false });
    arena.command(agents[0], Command::Incantation);
    arena.run(175);
    arena.admin(AdminAction::SetHunger { enabled: true });
    arena.take();
    arena.run(125);
    let told = arena.take();
    assert!(told.contains(&GameEvent::Reply {
        agent: agents[0],
        reply: risen(2)
    }));
    assert_eq!(told.last(), Some(&GameEvent::Died { agent: agents[0] }));
}

#[test]
fn two_rituals_on_one_tile_share_the_stones_and_the_first_to_end_takes_them() {
    let mut arena = Arena::quiet();
    let pair: Vec<AgentId> = (0..2).map(|_| arena.agent_of(0, 5, 5, NORTH, 2)).collect();
    let single = arena.agent_of(1, 5, 5, NORTH, 1);
    arena.ground(5, 5, [0, 1, 1, 1, 0, 0, 0]);
    arena.take();
    arena.command(pair[0], Command::Incantation);
    arena.run(1);
    arena.command(single, Command::Incantation);
    assert_eq!(arena.game.world().rituals().count(), 2);
    arena.run(300);
    assert_eq!(arena.answers(pair[0])[1..], [risen(3)]);
    assert_eq!(arena.answers(single), [Reply::ElevationUnderway, Reply::Ko]);
    assert_eq!(arena.lies(5, 5), Counts::ZERO);
}

#[test]
fn newcomers_of_the_same_level_may_begin_their_own() {
    let (mut arena, agents) = gathered(2, 2);
    arena.command(agents[0], Command::Incantation);
    let late = arena.agent_of(1, 5, 5, NORTH, 2);
    arena.command(late, Command::Incantation);
    assert_eq!(
        arena.answers(late),
        [Reply::Ko],
        "those who are held do not count for it"
    );
    let other = arena.agent_of(1, 5, 5, NORTH, 2);
    arena.command(late, Command::Incantation);
    assert_eq!(arena.answers(other), [Reply::ElevationUnderway]);
}

/// Both are free at one instant and both want to begin. The first draws the other in, whose own request then
/// waits, and is judged when the elevation is over.
#[test]
fn a_request_overtaken_by_anothers_ritual_waits_for_its_end() {
    let (mut arena, agents) = gathered(2, 2);
    for &agent in &agents {
        arena.command(agent, Command::Turn(Turn::Left));
        arena.command(agent, Command::Incantation);
    }
    arena.run(7);
    assert_eq!(arena.game.world().rituals().count(), 1);
    assert_eq!(arena.answers(agents[1]), [Reply::Ok, Reply::ElevationUnderway]);
    arena.run(300);
    assert_eq!(arena.replies(agents[1])[2..], [(307, risen(3)), (307, Reply::Ko)]);
}

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
