//! Checks of a soak: compares the server's state after each round with earlier rounds.

use anyhow::{Result, ensure};

use super::Kind;
use crate::figures::Runs;

/// A round, and the server once all clients had left.
pub(super) struct Round {
    pub(super) kind: Kind,
    /// Fault injected before the round.
    pub(super) trouble: &'static str,
    pub(super) agents: usize,
    pub(super) viewers: usize,
    pub(super) commands: u64,
    pub(super) late_p99_us: f64,
    pub(super) achieved: f64,
    pub(super) lost: u64,
    pub(super) memory_bytes: u64,
    pub(super) descriptors: usize,
    pub(super) journal_bytes: f64,
}

/// Allowed growth of memory in the second half of the rounds, as a share. A server allocates on first need; steady growth
/// after that is a leak. Twenty minutes show a leak of a few bytes for each connection.
const GROWTH_MAX: f64 = 0.05;

/// Rounds in the second half that an estimate of growth needs: each kind twice.
const ROUNDS_MIN: usize = 8;

/// Descriptors of background jobs: a save, a piece of the journal being packed or synced.
const DESCRIPTORS_UNDER_WAY_MAX: usize = 3;

/// Least achieved/ideal of a calm round.
const ACHIEVED_MIN: f64 = 0.999;

impl Round {
    /// Its cells in the table.
    pub(super) fn cells(&self, number: usize) -> Vec<String> {
        vec![
            number.to_string(),
            format!("{:?}{}", self.kind, self.trouble),
            self.agents.to_string(),
            self.viewers.to_string(),
            self.commands.to_string(),
            format!("{:.0}", self.late_p99_us),
            format!("{:.4}", self.achieved),
            format!("{:.1}", self.memory_bytes as f64 / 1e6),
            self.descriptors.to_string(),
            format!("{:.1}", self.journal_bytes / 1e6),
        ]
    }
}

/// Fails if memory grows, descriptors leak, or lateness got worse.
pub(super) fn compare(rounds: &[Round]) -> Result<()> {
    for (number, round) in rounds.iter().enumerate() {
        ensure!(
            round.lost == 0,
            "round {number}: {} honest peers were lost",
            round.lost
        );
        ensure!(
            round.descriptors <= rounds[0].descriptors + DESCRIPTORS_UNDER_WAY_MAX,
            "round {number}: {} descriptors stay open, {} before",
            round.descriptors,
            rounds[0].descriptors
        );
        if round.kind == Kind::Calm {
            ensure!(
                round.achieved >= ACHIEVED_MIN,
                "round {number}: a calm one achieved {:.4} of the ideal",
                round.achieved
            );
        }
    }
    compare_memory(&rounds[rounds.len() / 2..])
}

/// Fails if memory grows over `rounds`, those after the warm-up.
fn compare_memory(rounds: &[Round]) -> Result<()> {
    let Some(growth) = growth_per_round(rounds) else {
        return Ok(());
    };
    let level = rounds
        .iter()
        .map(|round| round.memory_bytes as f64)
        .collect::<Runs>()
        .median();
    let part = growth * rounds.len() as f64 / level;
    println!(
        "memory, second half: {:.1} MB, and {:+.0} KB with each round: {:+.1} % in {} rounds",
        level / 1e6,
        growth / 1e3,
        part * 100.0,
        rounds.len()
    );
    ensure!(
        rounds.len() < ROUNDS_MIN || part <= GROWTH_MAX,
        "memory grows (at most {:.0} %)",
        GROWTH_MAX * 100.0
    );
    Ok(())
}

/// Growth of memory per round in bytes: the median slope over all pairs of rounds of the same kind (Theil-Sen), robust
/// against single rounds and the alternation. `None` if no kind came twice.
fn growth_per_round(rounds: &[Round]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (late, round) in rounds.iter().enumerate() {
        for (early, before) in rounds[..late].iter().enumerate() {
            if before.kind == round.kind {
                let grown = round.memory_bytes as f64 - before.memory_bytes as f64;
                slopes.push(grown / (late - early) as f64);
            }
        }
    }
    (!slopes.is_empty()).then(|| slopes.into_iter().collect::<Runs>().median())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(megabytes: impl Iterator<Item = u64>) -> Vec<Round> {
        let round = |megabytes| Round {
            kind: Kind::Calm,
            trouble: "",
            agents: 1,
            viewers: 0,
            commands: 1,
            late_p99_us: 1.0,
            achieved: 1.0,
            lost: 0,
            memory_bytes: megabytes * 1_000_000,
            descriptors: 9,
            journal_bytes: 0.0,
        };
        megabytes.map(round).collect()
    }

    #[test]
    fn memory_that_grows_is_found() {
        assert!(compare(&rounds((0..32).map(|_| 12))).is_ok());
        assert!(compare(&rounds((0..32).map(|number| 12 + number))).is_err());
        let warm_up = (0..32).map(|number| 12 + u64::min(number, 12));
        assert!(compare(&rounds(warm_up)).is_ok(), "it ends with the warm-up");
        let one_odd = (0..32).map(|number| if number == 30 { 40 } else { 12 });
        assert!(compare(&rounds(one_odd)).is_ok());
    }

    #[test]
    fn what_stays_open_is_late_or_lost_is_found() {
        let with = |change: fn(&mut Round)| {
            let mut rounds = rounds((0..8).map(|_| 12));
            change(&mut rounds[7]);
            compare(&rounds)
        };
        assert!(with(|_| {}).is_ok());
        assert!(with(|round| round.descriptors = 13).is_err());
        assert!(with(|round| round.achieved = 0.9).is_err());
        assert!(with(|round| round.lost = 1).is_err());
        assert!(with(|round| (round.kind, round.achieved) = (Kind::Fast, 0.9)).is_ok());
    }
}
