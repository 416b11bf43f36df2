//! What a recorder and a saver cost.

use criterion::{Criterion, criterion_group, criterion_main};
use trantor_game::{AdminAction, Game, GameConfig, GameInput, Handled, Rules, Snapshot};
use trantor_model::{MapSize, TeamId};
use trantor_time::GameTime;

/// A world with so many agents in it, none of them hungry.
fn crowd(side: u32, agents: u32) -> Game {
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
    for number in 0..agents {
        let team = TeamId(number as u16 % 2);
        let joined = game.handle(GameInput::Join { team }, GameTime::ZERO);
        assert!(matches!(joined, Handled::Joined(_)), "{joined:?}");
    }
    game
}

/// The digest of a whole state, a snapshot, its bytes, and the way back.
fn states(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("state");
    for (side, count) in [(20, 12), (100, 1_000)] {
        let game = crowd(side, count);
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
                let snapshot = Snapshot::decode(&bytes).expect("it was just written");
                Game::restore(snapshot).expect("it was just taken")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, states);
criterion_main!(benches);
