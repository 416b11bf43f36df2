//! Messages between agents that take time, get lost, or are out of range.

use std::num::NonZeroU64;

use trantor_game::{AdminAction, ConfigError, GameInput, Handled, Lag, LagError, Refusal};
use trantor_model::{AgentId, Command, Direction};
use trantor_time::link::LinkError;
use trantor_time::{GameSpan, GameTime};

use crate::arena::{Arena, config, units};

const NORTH: Direction = Direction::North;

/// Sound that covers so many tiles a unit.
fn with_speed(tiles: u64) -> Lag {
    Lag {
        speed: NonZeroU64::new(tiles * 1_000),
        ..Lag::perfect(GameSpan::ZERO)
    }
}

fn with(lag: Lag) -> Arena {
    let mut config = config(30, 30);
    config.rules.lag = Some(lag);
    Arena::bare(config)
}

fn say(arena: &mut Arena, agent: AgentId, text: &[u8]) {
    arena.command(agent, Command::Broadcast(text.into()));
}

/// When an agent first received a message since the last time everything was taken.
fn first_received(arena: &Arena, by: AgentId) -> Option<GameTime> {
    arena.events.iter().find_map(|(at, event)| match event {
        trantor_game::GameEvent::Heard { agent, .. } if *agent == by => Some(*at),
        _ => None,
    })
}

#[test]
fn a_message_takes_as_long_as_its_way() {
    let mut lag = with_speed(2);
    lag.latency = GameSpan::from_nanounits(250_000_000);
    let mut arena = with(lag);
    let speaker = arena.agent_of(0, 5, 5, NORTH, 1);
    let here = arena.agent_of(0, 5, 5, NORTH, 1);
    let near = arena.agent_of(0, 8, 9, NORTH, 1);
    let round_the_edge = arena.agent_of(0, 5, 29, NORTH, 1);
    arena.take();
    say(&mut arena, speaker, b"hello");
    arena.run(30);
    let after = |nanounits| Some(units(7) + GameSpan::from_nanounits(nanounits));
    assert_eq!(first_received(&arena, here), after(250_000_000));
    assert_eq!(
        first_received(&arena, near),
        after(2_750_000_000),
        "3 and 4 tiles are 5 as the crow flies"
    );
    assert_eq!(
        first_received(&arena, round_the_edge),
        after(3_250_000_000),
        "6 tiles over the edge, not 24"
    );
    assert_eq!(arena.answers(speaker), [trantor_game::Reply::Ok]);
    assert_eq!(arena.received(speaker), []);
}

#[test]
fn distance_is_that_when_it_was_said_and_direction_that_when_it_arrives() {
    let mut arena = with(with_speed(1));
    let speaker = arena.agent_of(0, 5, 5, NORTH, 1);
    let hearer = arena.agent_of(0, 5, 15, NORTH, 1);
    arena.take();
    say(&mut arena, speaker, b"hello");
    arena.run(8);
    arena.put(speaker, 20, 20, NORTH);
    arena.put(hearer, 2, 5, NORTH);
    arena.run_to(units(16));
    assert_eq!(arena.received(hearer), []);
    arena.run_to(units(17));
    assert_eq!(
        arena.received(hearer),
        [(7, b"hello".to_vec())],
        "it comes from where it was said, to the right"
    );
}

#[test]
fn off_by_default_and_changed_while_running() {
    let mut arena = Arena::quiet();
    let (speaker, hearer) = (
        arena.agent_of(0, 0, 0, NORTH, 1),
        arena.agent_of(0, 5, 0, NORTH, 1),
    );
    assert_eq!(arena.game.world().lag(), None);
    say(&mut arena, speaker, b"at once");
    arena.run(7);
    assert_eq!(arena.received(hearer).len(), 1);
    arena.admin(AdminAction::SetLag {
        lag: Some(with_speed(1)),
    });
    say(&mut arena, speaker, b"in five units");
    arena.run(7);
    assert_eq!(arena.received(hearer).len(), 1);
    arena.admin(AdminAction::SetLag { lag: None });
    say(&mut arena, speaker, b"at once again");
    arena.run(4);
    assert_eq!(arena.received(hearer).len(), 1);
    arena.run(1);
    assert_eq!(
        arena.received(hearer).len(),
        2,
        "messages in flight keep their time"
    );
    arena.run(2);
    assert_eq!(arena.received(hearer).len(), 3);
}

#[test]
fn delivery_is_a_deadline() {
    let mut arena = with(with_speed(1));
    let (speaker, hearer) = (
        arena.agent_of(0, 0, 0, NORTH, 1),
        arena.agent_of(0, 9, 0, NORTH, 1),
    );
    say(&mut arena, speaker, b"hello");
    arena.run(7);
    assert_eq!(arena.game.next_deadline(), Some(units(16)));
    arena.leave(hearer);
    assert_eq!(
        arena.game.next_deadline(),
        None,
        "messages without a recipient are removed"
    );
    let hearer = arena.agent_of(0, 9, 0, NORTH, 1);
    say(&mut arena, speaker, b"my last words");
    arena.run(7);
    arena.leave(speaker);
    arena.run(9);
    assert_eq!(
        arena.received(hearer).len(),
        1,
        "messages of the dead still arrive"
    );
}

#[test]
fn a_lag_that_cannot_be_is_refused() {
    let too_long = Lag {
        latency: GameSpan::from_units(1_000_001),
        ..Lag::perfect(GameSpan::ZERO)
    };
    let negative = Lag {
        latency: GameSpan::from_units(-1),
        ..Lag::perfect(GameSpan::ZERO)
    };
    let mut arena = Arena::quiet();
    for (lag, error) in [
        (too_long, LagError::TooLong),
        (negative, LagError::Link(LinkError::NegativeTime)),
    ] {
        let mut config = config(3, 3);
        config.rules.lag = Some(lag);
        assert_eq!(config.check(), Err(ConfigError::Lag(error)));
        let refused = arena.input(GameInput::Admin(AdminAction::SetLag { lag: Some(lag) }));
        assert_eq!(refused, Handled::Refused(Refusal::Lag(error)));
    }
}
