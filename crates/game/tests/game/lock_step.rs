//! Lock-step: time waits for idle agents, and the order of arrival does not count.

use proptest::prelude::*;
use trantor_game::{AdminAction, GameConfig, GameEvent, GameInput};
use trantor_model::{AgentId, Command, Direction, Resource, Turn};
use trantor_time::GameTime;

use crate::arena::{Arena, config};
use crate::random::events_of;

fn lock_step() -> GameConfig {
    let mut config = config(8, 8);
    config.rules.lock_step = true;
    config
}

fn idle(arena: &Arena) -> Vec<AgentId> {
    arena.game.idle_agents().collect()
}

#[test]
fn idle_agents_have_nothing_to_do() {
    let mut arena = Arena::bare(lock_step());
    let (a, b) = (
        arena.agent_of(0, 5, 5, Direction::North, 2),
        arena.agent_of(0, 5, 5, Direction::North, 2),
    );
    assert_eq!(idle(&arena), [a, b]);
    arena.command(b, Command::Turn(Turn::Left));
    assert_eq!(idle(&arena), [a], "one with a waiting command is not idle");
    arena.run(0);
    assert_eq!(idle(&arena), [a], "nor is one in the middle of a turn");
    arena.ground(5, 5, [0, 1, 1, 1, 0, 0, 0]);
    arena.command(a, Command::Incantation);
    arena.run(0);
    assert_eq!(idle(&arena), [], "nor one that elevates");
    arena.run(299);
    assert_eq!(
        idle(&arena),
        [],
        "a held agent is not idle, though its turn is over"
    );
    arena.run(1);
    assert_eq!(idle(&arena), [a, b]);
    arena.command(a, Command::ConnectNbr);
    assert_eq!(
        idle(&arena),
        [b],
        "also a command that takes no time waits for its start"
    );
    arena.run(0);
    assert_eq!(
        idle(&arena),
        [a, b],
        "and then it is idle again at the same moment"
    );
    arena.leave(a);
    assert_eq!(idle(&arena), [b]);
    arena.admin(AdminAction::EndMatch);
    assert_eq!(idle(&arena), []);
}

/// What each of four agents sends, and in which order those of one moment arrive.
fn play(commands: &[Vec<Command>], arrivals: &[Vec<usize>]) -> (Vec<(GameTime, GameEvent)>, u64) {
    let mut arena = Arena::new(lock_step());
    for number in 0..4 {
        arena.agent_of(number % 2, 3, 3, Direction::East, 2);
    }
    let Arena { mut game, .. } = arena;
    let mut events = Vec::new();
    let mut left: Vec<_> = commands.iter().map(|commands| commands.iter()).collect();
    for round in 0.. {
        let mut order = arrivals[round % arrivals.len()].clone();
        order.retain(|&agent| game.idle_agents().any(|idle| idle.0 as usize == agent));
        let mut sent = 0;
        for agent in order {
            if let Some(command) = left[agent].next() {
                let input = GameInput::Command {
                    agent: AgentId(agent as u32),
                    command: command.clone(),
                };
                let _ = game.handle(input, game.now());
                sent += 1;
            }
        }
        // Everything of this moment, and if no agent had anything to send, up to the next.
        let mut until = game.now();
        if sent == 0 {
            let Some(next) = game
                .next_deadline()
                .filter(|next| *next < GameTime::from_units(900))
            else {
                break;
            };
            until = next;
        }
        while game.fire_next(until).is_some() {
            events.extend(events_of(&mut game).into_iter().map(|event| (until, event)));
        }
    }
    (events, game.digest())
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Forward),
        Just(Command::Turn(Turn::Left)),
        Just(Command::Eject),
        Just(Command::Take(Resource::Food)),
        Just(Command::Set(Resource::Food)),
        Just(Command::Incantation),
        Just(Command::ConnectNbr),
        Just(Command::Broadcast(b"here".as_slice().into())),
        Just(Command::Fork),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same commands, in whichever order they arrive: the same game.
    #[test]
    fn in_lock_step_the_order_of_arrival_does_not_count(
        commands in prop::collection::vec(prop::collection::vec(command(), 0..12), 4),
        arrivals in prop::collection::vec(Just(vec![0, 1, 2, 3]).prop_shuffle(), 1..6),
    ) {
        let in_order = play(&commands, &[vec![0, 1, 2, 3]]);
        prop_assert_eq!(in_order, play(&commands, &arrivals));
    }
}
