//! Teams of brains play whole matches of the real rules, undisturbed and disturbed.
//!
//! Each prints how many units it took.

mod arena;

use arena::{Outcome, Setup, play};

/// Plays a match that differs from the usual one by `change`, and must have a winner within a number of units.
fn won_within(units: i128, change: impl FnOnce(&mut Setup)) -> Outcome {
    let setup = Setup::with(change);
    let outcome = play(&setup);
    println!("seed {}: {outcome:?}", setup.seed);
    assert!(outcome.winner.is_some(), "no team won: {outcome:?}");
    assert!(outcome.units <= units, "won late: {outcome:?}");
    outcome
}

#[test]
fn two_teams_of_six_play_to_the_end() {
    for seed in 1..=10 {
        let outcome = won_within(6_000, |setup| setup.seed = seed);
        assert_eq!(outcome.deaths, 0, "no agent starves where there is food");
    }
}

#[test]
fn the_same_seed_plays_the_same_match() {
    let setup = Setup::with(|setup| (setup.seed, setup.limit_units) = (4, 2_000));
    assert_eq!(play(&setup), play(&setup));
}

#[test]
fn slow_answers_only_slow_a_match_down() {
    won_within(8_000, |setup| setup.delay_units = 10);
}

#[test]
fn small_and_odd_maps_are_played_too() {
    won_within(8_000, |setup| setup.size = (10, 10));
    won_within(8_000, |setup| (setup.size, setup.agents_per_team) = ((30, 11), 7));
}

#[test]
fn agents_struck_dead_are_replaced() {
    let joins = (1..=5).map(|seed| {
        won_within(20_000, |setup| {
            (setup.kill_every_units, setup.seed) = (1_500, seed)
        })
        .joins
    });
    assert!(joins.sum::<u32>() > 5 * 12, "places were made and taken");
}

#[test]
fn pushes_and_repeated_messages_do_not_stop_a_team() {
    won_within(12_000, |setup| setup.rogues = 6);
}
