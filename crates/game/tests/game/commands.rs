//! One command at a time: delays, the queue of ten, chains without gaps.

use crate::arena::{Arena, config, tile, units};
use trantor_game::{AdminAction, Game, GameEvent, GameInput, Handled, LeaveCause, Refusal, Reply};
use trantor_model::{Command, CommandKind, Direction, Resource, TeamId, Turn};
use trantor_time::{GameSpan, GameTime};

fn every_command() -> Vec<(Command, i64)> {
    vec![
        (Command::Forward, 7),
        (Command::Turn(Turn::Right), 7),
        (Command::Turn(Turn::Left), 7),
        (Command::Look, 7),
        (Command::Inventory, 1),
        (Command::Broadcast(b"hi".as_slice().into()), 7),
        (Command::ConnectNbr, 0),
        (Command::Fork, 42),
        (Command::Eject, 7),
        (Command::Take(Resource::Food), 7),
        (Command::Set(Resource::Food), 7),
        (Command::Refused(Some(CommandKind::Forward)), 7),
        (Command::Refused(Some(CommandKind::Inventory)), 1),
        (Command::Refused(Some(CommandKind::Fork)), 0),
        (Command::Refused(Some(CommandKind::Incantation)), 0),
        (Command::Refused(Some(CommandKind::ConnectNbr)), 0),
        (Command::Refused(None), 0),
    ]
}

#[test]
fn every_command_is_answered_once_and_when_its_time_is_over() {
    for (command, duration) in every_command() {
        let mut arena = Arena::quiet();
        let agent = arena.agent_at(5, 5, Direction::North);
        arena.take();
        arena.command(agent, command.clone());
        if duration > 0 {
            arena.run_to(GameTime::from_nanounits(units(duration).as_nanounits() - 1));
            assert_eq!(arena.answers(agent), [], "{command:?} is answered early");
        }
        arena.run_to(units(duration));
        let replies = arena.replies(agent);
        assert_eq!(replies.len(), 1, "{command:?}: {replies:?}");
        assert_eq!(replies[0].0, i128::from(duration), "{command:?}");
        arena.run_to(units(1_000));
        assert_eq!(arena.replies(agent).len(), 1, "{command:?} is answered twice");
    }
}

#[test]
fn a_command_at_an_idle_agent_starts_at_its_stamp() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_at(5, 5, Direction::East);
    let stamp = GameTime::from_nanounits(12_345_678_901);
    arena.run_to(stamp);
    arena.command(agent, Command::Forward);
    let end = stamp + GameSpan::from_units(7);
    let started = arena.told.iter().any(|(_, event)| {
        *event
            == GameEvent::ActionStarted {
                agent,
                kind: CommandKind::Forward,
                start: stamp,
                end,
                refused: false,
            }
    });
    assert!(started, "fractions of a unit are kept");
    assert_eq!(arena.game.next_deadline(), Some(end));
}

#[test]
fn a_refused_line_takes_its_time_and_is_told_as_refused() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_at(5, 5, Direction::East);
    arena.command(agent, Command::Refused(Some(CommandKind::Forward)));
    let running = arena.game.world().agent(agent).unwrap().action().unwrap();
    assert!(running.refused);
    let told = arena.told.iter().any(|(_, event)| {
        *event
            == GameEvent::ActionStarted {
                agent,
                kind: CommandKind::Forward,
                start: running.start,
                end: running.end,
                refused: true,
            }
    });
    assert!(told, "so that nobody draws a step");
    arena.run(7);
    assert_eq!(arena.replies(agent), [(7, Reply::Ko)]);
    assert_eq!(arena.place(agent), tile(5, 5));
}

#[test]
fn a_chain_of_queued_commands_has_no_gap_and_no_drift() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_at(0, 0, Direction::East);
    let start = GameTime::from_nanounits(333_333_333);
    arena.run_to(start);
    // Ten are open at a time; whenever one ends, the next is handed in, up to half a unit later.
    for _ in 0..10 {
        arena.command(agent, Command::Forward);
    }
    for done in 1..=1_000i64 {
        let end = start + GameSpan::from_units(7 * done);
        arena.run_to(end);
        assert_eq!(arena.answers(agent).len(), done as usize);
        assert_eq!(arena.place(agent), tile((done % 10) as u16, 0));
        arena.run_to(end + GameSpan::from_nanounits(i128::from(done) * 500_000));
        arena.command(agent, Command::Forward);
    }
}

#[test]
fn ten_commands_may_be_open_and_the_eleventh_is_dropped_without_an_answer() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_at(0, 0, Direction::East);
    for _ in 0..10 {
        arena.command(agent, Command::Turn(Turn::Right));
    }
    for _ in 0..2 {
        let eleventh = arena.try_command(agent, Command::Turn(Turn::Right));
        assert_eq!(eleventh, Handled::Refused(Refusal::QueueFull));
    }
    arena.run(6);
    assert_eq!(
        arena.try_command(agent, Command::Look),
        Handled::Refused(Refusal::QueueFull)
    );
    arena.run(1);
    arena.command(agent, Command::Look);
    arena.run(1_000);
    let replies = arena.replies(agent);
    let moments: Vec<i128> = replies.iter().map(|(at, _)| *at).collect();
    assert_eq!(moments, (1..=11).map(|done| 7 * done).collect::<Vec<i128>>());
    assert!(matches!(replies[10].1, Reply::Look(_)));
}

#[test]
fn a_command_that_takes_no_time_keeps_its_place() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_at(0, 0, Direction::East);
    arena.command(agent, Command::Forward);
    arena.command(agent, Command::ConnectNbr);
    arena.command(agent, Command::Refused(None));
    arena.command(agent, Command::Forward);
    arena.command(agent, Command::ConnectNbr);
    arena.run(100);
    let expected = [
        (7, Reply::Ok),
        (7, Reply::ConnectNbr(19)),
        (7, Reply::Ko),
        (14, Reply::Ok),
        (14, Reply::ConnectNbr(19)),
    ];
    assert_eq!(arena.replies(agent), expected);
}

#[test]
fn who_is_gone_is_owed_nothing() {
    let mut arena = Arena::quiet();
    let (gone, stays) = (
        arena.agent_at(0, 0, Direction::East),
        arena.agent_at(0, 0, Direction::East),
    );
    for agent in [gone, stays] {
        for _ in 0..10 {
            arena.command(agent, Command::Fork);
        }
    }
    arena.run(20);
    let eggs = arena.eggs().len();
    arena.leave(gone);
    assert_eq!(
        arena.try_command(gone, Command::Look),
        Handled::Refused(Refusal::UnknownAgent)
    );
    let again = arena.input(GameInput::Leave {
        agent: gone,
        cause: LeaveCause::Dismissed,
    });
    assert_eq!(again, Handled::Refused(Refusal::UnknownAgent));
    arena.run(1_000);
    assert_eq!(arena.answers(gone), []);
    assert_eq!(arena.answers(stays).len(), 10);
    assert_eq!(arena.eggs().len(), eggs + 10);
}

#[test]
fn a_world_in_which_nothing_can_change_has_no_deadline() {
    let mut arena = Arena::new(config(10, 10));
    assert_eq!(arena.game.next_deadline(), None, "full ground, nobody there");
    let agent = arena.join(0);
    assert_eq!(
        arena.game.next_deadline(),
        Some(units(126)),
        "hunger, and nothing else"
    );
    arena.leave(agent);
    assert_eq!(arena.game.next_deadline(), None);
}

#[test]
fn numbers_are_never_given_twice() {
    let mut arena = Arena::quiet();
    let first = arena.join(0);
    arena.leave(first);
    let second = arena.join(1);
    arena.admin(AdminAction::Kill { agent: second });
    let third = arena.join(0);
    assert_eq!([first.0, second.0, third.0], [0, 1, 2]);
}

#[test]
fn an_input_that_names_nobody_changes_nothing() {
    let mut arena = Arena::quiet();
    assert_eq!(
        arena.input(GameInput::Join { team: TeamId(2) }),
        Handled::Refused(Refusal::UnknownTeam)
    );
    let nobody = trantor_model::AgentId(7);
    for action in [
        AdminAction::Kill { agent: nobody },
        AdminAction::Teleport {
            agent: nobody,
            tile: tile(1, 1),
            facing: None,
        },
        AdminAction::SetInventory {
            agent: nobody,
            resource: Resource::Food,
            count: 1,
        },
    ] {
        assert_eq!(
            arena.input(GameInput::Admin(action)),
            Handled::Refused(Refusal::UnknownAgent)
        );
    }
    let agent = arena.join(0);
    arena.take();
    let off_map = AdminAction::Teleport {
        agent,
        tile: tile(10, 0),
        facing: None,
    };
    assert_eq!(
        arena.input(GameInput::Admin(off_map)),
        Handled::Refused(Refusal::OffMap)
    );
    assert_eq!(arena.take(), []);
}

/// What a game of four hungry agents tells, its events taken by `take` after every step.
fn told_by(mut take: impl FnMut(&mut Game, &mut Vec<GameEvent>)) -> Vec<GameEvent> {
    let mut game = Game::new(config(5, 5));
    let mut told = Vec::new();
    for team in [0, 1, 0, 1] {
        let _ = game.handle(GameInput::Join { team: TeamId(team) }, GameTime::ZERO);
        take(&mut game, &mut told);
    }
    while let Some(next) = game.next_deadline() {
        game.fire_next(next);
        take(&mut game, &mut told);
    }
    told.extend(std::iter::from_fn(|| game.poll_event()));
    told
}

/// Polled one by one, some left over, or exchanged as a whole: each event comes once and in order.
#[test]
fn no_event_is_lost_however_they_are_taken() {
    let polled = told_by(|game, told| told.extend(std::iter::from_fn(|| game.poll_event())));
    let left_over = told_by(|game, told| told.extend(game.poll_event()));
    let mut turn = 0;
    let exchanged = told_by(|game, told| {
        turn += 1;
        match turn % 3 {
            0 => {}
            1 => told.extend(game.poll_event()),
            _ => {
                let mut buffer = Vec::new();
                game.swap_events(&mut buffer);
                told.append(&mut buffer);
            }
        }
    });
    assert_eq!(polled, left_over);
    assert_eq!(polled, exchanged);
    assert_eq!(polled.len(), 44, "four births, thirty-six meals, four deaths");
}
