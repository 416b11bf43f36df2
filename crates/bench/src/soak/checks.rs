//! How things stood after each round of a soak, and whether later ones are as earlier ones were.

use anyhow::{Result, ensure};

use super::Kind;

/// A round, and the server once everybody had left.
pub(super) struct Round {
    pub(super) kind: Kind,
    /// What was done to the server before it.
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

/// Memory of the last quarter of the rounds, of that of the second quarter: what is above it grows.
const GROWTH_MAX: f64 = 1.1;

/// Descriptors of what the server does by itself at any time: a save, a piece of the journal being packed or synced.
const DESCRIPTORS_UNDER_WAY_MAX: usize = 3;

/// What a calm round must achieve of the ideal.
const ACHIEVED_MIN: f64 = 0.999;

impl Round {
    /// Its cells in the table.
    pub(super) fn cells(&self, number: usize) -> Vec<String> {
        let what = format!("{:?} {}", self.kind, self.trouble);
        vec![
            number.to_string(),
            what.trim_end().to_owned(),
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

/// Fails if something grows, stays open, or got worse.
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
    let quarter = rounds.len() / 4;
    if quarter > 0 {
        let memory = |rounds: &[Round]| median(rounds.iter().map(|round| round.memory_bytes as f64));
        let early = memory(&rounds[quarter..2 * quarter]);
        let late = memory(&rounds[rounds.len() - quarter..]);
        println!(
            "memory: {:.1} MB in the second quarter, {:.1} MB in the last",
            early / 1e6,
            late / 1e6
        );
        ensure!(
            late <= early * GROWTH_MAX,
            "memory grows: {:.2} times as much at the end",
            late / early
        );
    }
    Ok(())
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
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
    fn r_x_44_memory_that_grows_is_found() {
        assert!(compare(&rounds((0..16).map(|_| 12))).is_ok());
        assert!(compare(&rounds((0..16).map(|number| 12 + number))).is_err());
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
