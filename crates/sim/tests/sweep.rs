//! Sweeps of short runs, and determinism of the simulation.

use trantor_sim::{Coverage, run, sweep_seed};

/// Part of the sweep; four tests run in parallel.
fn sweep(indices: std::ops::Range<u64>) {
    let mut coverage = Coverage::default();
    for index in indices {
        match run(sweep_seed(1, index), None) {
            Ok(outcome) => coverage.add(&outcome.coverage),
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(coverage.is_complete(), "something never happened: {coverage}");
}

/// Client and server in one process on a manual clock with a simulated link between them.
#[test]
fn client_and_server_run_in_one_process_on_a_manual_clock() {
    sweep(0..64);
}

#[test]
fn a_second_quarter_of_the_sweep() {
    sweep(64..128);
}

#[test]
fn a_third_quarter_of_the_sweep() {
    sweep(128..192);
}

#[test]
fn the_last_quarter_of_the_sweep() {
    sweep(192..256);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let outcomes: Vec<_> = (0..12)
        .map(|index| run(sweep_seed(2, index), None).unwrap())
        .collect();
    for (index, outcome) in outcomes.iter().enumerate() {
        assert_eq!(
            run(sweep_seed(2, index as u64), None),
            Ok(outcome.clone()),
            "seed {index}"
        );
    }
    for (index, outcome) in outcomes.iter().enumerate() {
        let is_new = outcomes[..index]
            .iter()
            .all(|other| other.digest != outcome.digest);
        assert!(is_new, "different seeds give different runs");
    }
}
