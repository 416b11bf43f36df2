//! Lock-step: the order of arrival does not count.

use proptest::prelude::*;
use trantor_game::{GameEvent, GameInput};
use trantor_model::{AgentId, Command, Direction};
use trantor_time::GameTime;

use crate::arena::{Arena, config};
use crate::random::{command, events_of};

/// What each of four agents sends, and in which order those of one moment arrive.
fn play(commands: &[Vec<Command>], arrivals: &[Vec<usize>]) -> (Vec<(GameTime, GameEvent)>, u64) {
    let mut config = config(8, 8);
    config.rules.lock_step = true;
    let mut arena = Arena::new(config);
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
