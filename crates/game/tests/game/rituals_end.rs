//! Elevations: what counts at their end, whoever came, went, died or took a stone meanwhile.

use crate::arena::{Arena, counts, level, tile};
use crate::rituals::{NORTH, gathered, risen, stones_for};
use trantor_game::{AdminAction, GameEvent, Reply, RitualId};
use trantor_model::{AgentId, Command, Counts, Direction, Resource, Turn};

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
fn stones_missing_at_the_end_fail_it() {
    let (mut arena, agents) = gathered(1, 1);
    arena.command(agents[0], Command::Incantation);
    arena.run(150);
    arena.ground(5, 5, [7, 0, 9, 9, 9, 9, 9]);
    arena.take();
    arena.run(150);
    let ended = GameEvent::RitualEnded {
        ritual: RitualId(0),
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
fn who_was_moved_away_fails_alone_if_enough_are_left() {
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
fn an_eject_by_another_level_fails_it_but_frees_nobody_early() {
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
fn who_was_moved_away_and_back_counts() {
    let (mut arena, agents) = gathered(2, 2);
    arena.command(agents[0], Command::Incantation);
    arena.put(agents[1], 0, 0, NORTH);
    arena.run(100);
    arena.put(agents[1], 5, 5, Direction::South);
    arena.run(200);
    assert_eq!(arena.answers(agents[1])[1..], [risen(3)]);
}

#[test]
fn a_level_changed_by_an_operator_no_longer_counts() {
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
fn a_death_or_a_leave_in_the_middle_ends_it_cleanly() {
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
fn too_few_left_alive_fail() {
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
        ritual: RitualId(0),
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
