//! Teams of brains play whole matches of the real rules, undisturbed and disturbed.
//!
//! Each prints how many units it took.

mod arena;

use arena::{Outcome, Setup, play};

/// Plays a match that must have a winner within a number of units.
fn won_within(units: i128, setup: Setup) -> Outcome {
    let outcome = play(&setup);
    println!("seed {}: {outcome:?}", setup.seed);
    assert!(outcome.winner.is_some(), "no team won: {outcome:?}");
    assert!(outcome.units <= units, "won late: {outcome:?}");
    outcome
}

#[test]
fn two_teams_of_six_play_to_the_end() {
    for seed in 1..=10 {
        let outcome = won_within(
            6_000,
            Setup {
                seed,
                ..Setup::default()
            },
        );
        assert_eq!(outcome.deaths, 0, "no agent starves where there is food");
    }
}

#[test]
fn the_same_seed_plays_the_same_match() {
    let setup = Setup {
        seed: 4,
        limit_units: 2_000,
        ..Setup::default()
    };
    assert_eq!(play(&setup), play(&setup));
}

#[test]
fn slow_answers_only_slow_a_match_down() {
    won_within(
        8_000,
        Setup {
            delay_units: 10,
            ..Setup::default()
        },
    );
}

#[test]
fn small_and_odd_maps_are_played_too() {
    won_within(
        8_000,
        Setup {
            size: (10, 10),
            ..Setup::default()
        },
    );
    won_within(
        8_000,
        Setup {
            size: (30, 11),
            agents_per_team: 7,
            ..Setup::default()
        },
    );
}

#[test]
fn agents_struck_dead_are_replaced() {
    let mut joins = 0;
    for seed in 1..=5 {
        let setup = Setup {
            kill_every_units: 1_500,
            seed,
            ..Setup::default()
        };
        joins += won_within(20_000, setup).joins;
    }
    assert!(joins > 5 * 12, "places were made and taken");
}

#[test]
fn pushes_and_repeated_messages_do_not_stop_a_team() {
    won_within(
        12_000,
        Setup {
            rogues: 6,
            ..Setup::default()
        },
    );
}
