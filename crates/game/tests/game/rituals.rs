//! Elevations: how they begin and are refused, and whom they hold. How they end is in [`crate::rituals_end`].

use trantor_game::{GameEvent, GroundChange, Handled, Refusal, Reply, RitualId};
use trantor_model::{AgentId, Command, CommandKind, Counts, Direction, Resource, Turn};

use crate::arena::{Arena, counts, level, tile, units};

pub(crate) const NORTH: Direction = Direction::North;

/// What lies on a tile for the elevation from `from`, exactly.
pub(crate) fn stones_for(from: u8) -> [u32; 7] {
    level(from).requirement().expect("not the last").stones.0
}

pub(crate) fn risen(to: u8) -> Reply {
    Reply::CurrentLevel(level(to))
}

/// So many agents of one level at (5, 5), with exactly the stones they need.
pub(crate) fn gathered(agents: usize, at_level: u8) -> (Arena, Vec<AgentId>) {
    let mut arena = Arena::quiet();
    let agents = (0..agents)
        .map(|_| arena.agent_of(0, 5, 5, NORTH, at_level))
        .collect();
    arena.ground(5, 5, stones_for(at_level));
    arena.take();
    (arena, agents)
}

#[test]
fn an_elevation_from_every_level() {
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
                ritual: RitualId(0),
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
        ritual: RitualId(0),
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
fn a_start_without_the_conditions_is_refused_at_once() {
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
