//! How fast the game alone can go, without clock or sockets.
//!
//! `leap` stands for a training run: a 100 x 100 map with 1,000 agents that do nothing but walk and turn
//! at random, each handing in its next command when the last is answered. Good is above ten million actions a
//! second on one core (one action is one command, from arrival to answer).

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use trantor_game::{AdminAction, Game, GameConfig, GameEvent, GameInput, Handled, Reply, Rules};
use trantor_model::{AgentId, Command, MapSize, TeamId, Tile, Turn};
use trantor_time::GameTime;

/// A world with so many agents in it, none of them hungry.
fn crowd(side: u32, agents: u32) -> (Game, Vec<AgentId>) {
    let mut game = Game::new(GameConfig {
        size: MapSize::new(side, side).expect("benches ask for maps that exist"),
        teams: vec!["a".to_owned(), "b".to_owned()],
        places_per_team: agents,
        seed: 1,
        rules: Rules::default(),
    });
    let _ = game.handle(
        GameInput::Admin(AdminAction::SetHunger { enabled: false }),
        GameTime::ZERO,
    );
    let join = |number| match game.handle(
        GameInput::Join {
            team: TeamId(number as u16 % 2),
        },
        GameTime::ZERO,
    ) {
        Handled::Joined(agent) => agent,
        refused => panic!("{refused:?}"),
    };
    let agents = (0..agents).map(join).collect();
    while game.poll_event().is_some() {}
    (game, agents)
}

/// What a mind without any thought asks for next.
fn whim(state: &mut u32) -> Command {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    match *state >> 29 {
        0 => Command::Turn(Turn::Left),
        1 => Command::Turn(Turn::Right),
        _ => Command::Forward,
    }
}

/// Lets the game go on until so many commands are answered, each answer followed by the next command.
fn run(game: &mut Game, actions: u32, mut next: impl FnMut(AgentId) -> Command) {
    let mut answered = 0;
    let mut events = Vec::new();
    while answered < actions {
        let deadline = game.next_deadline().expect("everybody is busy");
        game.fire_next(deadline);
        game.swap_events(&mut events);
        for event in black_box(&events) {
            if let GameEvent::Reply {
                agent,
                reply: Reply::Ok,
            } = event
            {
                answered += 1;
                let input = GameInput::Command {
                    agent: *agent,
                    command: next(*agent),
                };
                let _ = game.handle(input, game.now());
            }
        }
        events.clear();
    }
}

fn leap(criterion: &mut Criterion) {
    const ACTIONS: u32 = 100_000;
    let mut group = criterion.benchmark_group("leap");
    group.throughput(Throughput::Elements(u64::from(ACTIONS)));
    for (side, count) in [(10, 2), (20, 12), (100, 1_000)] {
        let (mut game, agents) = crowd(side, count);
        let mut state = 1;
        for agent in agents {
            let _ = game.handle(
                GameInput::Command {
                    agent,
                    command: whim(&mut state),
                },
                GameTime::ZERO,
            );
        }
        group.bench_function(format!("{side} x {side}, {count} agents"), |bench| {
            bench.iter(|| run(&mut game, ACTIONS, |_| whim(&mut state)));
        });
    }
    group.finish();
}

/// One `Eject` on a tile where everything lies: each row should take a few milliseconds, since no other agent is served
/// meanwhile.
fn crowded_ejects(criterion: &mut Criterion) {
    const TEAMS: u16 = 10;
    let mut group = criterion.benchmark_group("eject");
    group.sample_size(10);
    for (name, places, unripe, agents) in [
        ("100,000 eggs", 10_000, 0, 1),
        ("100,000 eggs, 20,000 of them not mature", 8_000, 20_000, 1),
        ("10,000 agents", 1_000, 0, 10_000),
    ] {
        let mut game = Game::new(GameConfig {
            size: MapSize::new(1, 1).expect("a size of a map"),
            teams: (0..TEAMS).map(|team| team.to_string()).collect(),
            places_per_team: places,
            seed: 1,
            rules: Rules {
                egg_hatch_units: 600,
                ..Rules::default()
            },
        });
        let mut handle = |input| game.handle(input, GameTime::ZERO);
        for number in 0..unripe {
            let (team, tile) = (TeamId(number % TEAMS), Tile { x: 0, y: 0 });
            let laid = handle(GameInput::Admin(AdminAction::LayEgg { team, tile }));
            assert_eq!(laid, Handled::Done);
        }
        for number in 0..agents {
            let _ = handle(GameInput::Join {
                team: TeamId(number % TEAMS),
            });
        }
        let _ = handle(GameInput::Command {
            agent: AgentId(0),
            command: Command::Eject,
        });
        while game.poll_event().is_some() {}
        group.bench_function(name, |bench| {
            bench.iter_batched_ref(
                || game.clone(),
                |game| game.fire_next(GameTime::from_units(7)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// What a recorder and a saver cost: the number of a whole state, a snapshot, and its bytes.
fn states(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("state");
    for (side, count) in [(20, 12), (100, 1_000)] {
        let (game, _) = crowd(side, count);
        group.bench_function(format!("snapshot of {side} x {side}"), |bench| {
            bench.iter(|| game.snapshot())
        });
        group.bench_function(format!("digest of {side} x {side}"), |bench| {
            bench.iter(|| game.digest())
        });
        let snapshot = game.snapshot();
        group.bench_function(format!("encode {side} x {side}"), |bench| {
            bench.iter(|| snapshot.encode())
        });
        let bytes = snapshot.encode();
        group.bench_function(format!("restore {side} x {side}"), |bench| {
            bench.iter(|| {
                let snapshot = trantor_game::Snapshot::decode(&bytes).expect("it was just written");
                Game::restore(snapshot).expect("it was just taken")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, leap, crowded_ejects, states);
criterion_main!(benches);
