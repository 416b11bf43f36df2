//! Lock-step: places by number, and saved games that go on. How it begins, waits and is held is in the transcripts; that programs
//! play the game of a leap is shown with processes (`crates/bot/tests/lock_step.rs`).

use trantor_engine::{Engine, EngineConfig};
use trantor_game::{AdminAction, Game, GameConfig};
use trantor_time::RealSpan;

use crate::harness::{Bench, game_config};

fn lock_step(places: u32, seed: u64) -> EngineConfig {
    let mut game = GameConfig {
        seed,
        ..game_config(8, 8, places)
    };
    game.rules.lock_step = true;
    EngineConfig {
        lock_step: Some(RealSpan::from_secs(5)),
        ..EngineConfig::new(game)
    }
}

/// The same number is the same agent, in whichever order the connections come about, and although some go again.
#[test]
fn places_are_taken_by_number() {
    let births = |order: &[&str]| {
        let mut bench = Bench::new(lock_step(2, 1));
        for team in order {
            let peer = bench.join(team, team.trim_start_matches('-'));
            if team.starts_with('-') {
                bench.close(peer);
            }
        }
        assert_eq!(bench.engine.game().world().agents().len(), 4);
        bench.engine.game().digest()
    };
    let in_turn = births(&["a", "b", "a", "b"]);
    assert_eq!(births(&["b", "b", "a", "a"]), in_turn);
    assert_eq!(births(&["b", "-a", "-b", "a", "b", "a"]), in_turn);
}

#[test]
fn a_saved_game_gathers_its_players_again() {
    let mut bench = Bench::new(lock_step(1, 1));
    let agents = [bench.join("A", "a"), bench.join("B", "b")];
    for _ in 0..3 {
        for agent in agents {
            bench.send(agent, b"Forward\n");
        }
    }
    let game = bench.engine.game().clone();
    let mut again = Bench::around(Engine::resume(lock_step(1, 1), game, bench.now), bench.now);
    let state = |bench: &Bench| {
        let game = bench.engine.game();
        (game.world().agents().len(), game.now().whole_units())
    };
    assert_eq!(state(&again), (0, 21));
    let blue = again.join("B", "b");
    again.send(blue, b"Forward\n");
    assert_eq!(state(&again), (0, 21));
    let red = again.join("A", "a");
    assert_eq!(state(&again), (2, 21));
    again.send(red, b"Forward\n");
    assert_eq!(state(&again), (2, 28));
}

#[test]
fn a_saved_game_that_was_won_gathers_no_players() {
    let mut bench = Bench::new(lock_step(1, 1));
    bench.join("A", "a");
    bench.join("B", "b");
    bench.engine.expect_saves();
    bench.act(AdminAction::EndMatch);
    assert_eq!(bench.engine.game().world().agents().len(), 0);
    let victory = bench.engine.state_to_save();
    let game = Game::restore((*victory).clone()).expect("a whole save");
    let mut again = Bench::around(Engine::resume(lock_step(1, 1), game, bench.now), bench.now);
    let late = again.join("A", "a");
    assert_eq!(again.lines(late), ["WELCOME", "ko"]);
    let agents = again.engine.game().world().agents().len();
    assert_eq!(agents, 2, "they stand where they stood");
}
