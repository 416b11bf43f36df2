//! Plays many matches and prints a table: how often a team wins, and how many units that takes.
//!
//! `cargo run --release --example matches -p trantor-strategy -- 20` plays 20 seeds of each kind.

#[path = "../tests/arena/mod.rs"]
mod arena;

use arena::{Setup, play};

fn main() {
    let seeds = std::env::args()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(10);
    let usual = Setup::default;
    let kinds = [
        ("20x20, 2 teams of 6", usual()),
        (
            "answers after 10 units",
            Setup {
                delay_units: 10,
                ..usual()
            },
        ),
        (
            "10x10",
            Setup {
                size: (10, 10),
                ..usual()
            },
        ),
        (
            "42x42",
            Setup {
                size: (42, 42),
                ..usual()
            },
        ),
        (
            "3 teams of 8",
            Setup {
                teams: 3,
                agents_per_team: 8,
                ..usual()
            },
        ),
        ("6 rogues", Setup { rogues: 6, ..usual() }),
        (
            "a death every 1500 units",
            Setup {
                kill_every_units: 1_500,
                ..usual()
            },
        ),
        (
            "a death every 900 units",
            Setup {
                kill_every_units: 900,
                ..usual()
            },
        ),
    ];
    println!(
        "{:26} {:>6} {:>8} {:>8} {:>8} {:>7}",
        "match", "won", "least", "median", "most", "deaths"
    );
    for (name, setup) in kinds {
        let mut units = Vec::new();
        let mut deaths = 0;
        for seed in 1..=seeds {
            let outcome = play(&Setup {
                seed,
                ..setup.clone()
            });
            deaths += outcome.deaths;
            units.extend(outcome.winner.map(|_| outcome.units));
        }
        units.sort_unstable();
        let at = |part: usize| {
            units
                .get(units.len().saturating_sub(1) * part / 2)
                .map_or(-1, |&units| units)
        };
        println!(
            "{name:26} {:>3}/{seeds:<2} {:>8} {:>8} {:>8} {deaths:>7}",
            units.len(),
            at(0),
            at(1),
            at(2)
        );
    }
}
