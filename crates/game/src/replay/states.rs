//! Which states of a piece are kept while it is played once: so many that any moment is near one, and no more than there
//! is room for.

use trantor_time::GameTime;

use super::Track;
use crate::history::History;

/// Deadlines and records between two states that are kept, at least: what is played in a few milliseconds.
const INTERVAL_STEPS_MIN: u64 = 10_000;

/// Bytes of a state for each step until the next is kept. In the largest world a state has seven million bytes and a step
/// takes some microseconds, so that a jump plays a third of a second; and to capture the states takes no longer than to
/// play what is between them.
const STATE_BYTES_PER_STEP: u64 = 64;

/// A state that was kept, and the place in the journal where it was.
#[derive(Clone, Debug)]
pub(super) struct KeptState {
    pub(super) at: GameTime,
    pub(super) track: Track,
    /// A snapshot as it is written.
    pub(super) bytes: Vec<u8>,
    /// What happened until then.
    pub(super) history: History,
}

impl KeptState {
    fn bytes(&self) -> usize {
        self.bytes.len() + self.history.bytes()
    }
}

/// The states kept so far. Where they become too many, every second one goes, and the next come half as often.
#[derive(Debug)]
pub(super) struct States {
    /// In order; the first is the beginning, and stays.
    kept: Vec<KeptState>,
    bytes: usize,
    bytes_max: usize,
    interval_steps: u64,
    steps_since: u64,
}

impl States {
    pub(super) fn new(first: KeptState, bytes_max: usize) -> Self {
        let mut states = Self {
            kept: Vec::new(),
            bytes: 0,
            bytes_max,
            interval_steps: INTERVAL_STEPS_MIN,
            steps_since: 0,
        };
        states.keep(first);
        states
    }

    /// Notes that a deadline or a record was played. Returns whether to keep the state now.
    pub(super) fn is_due_after_step(&mut self) -> bool {
        self.steps_since += 1;
        self.steps_since >= self.interval_steps
    }

    pub(super) fn keep(&mut self, state: KeptState) {
        self.bytes += state.bytes();
        self.interval_steps = self
            .interval_steps
            .max(state.bytes.len() as u64 / STATE_BYTES_PER_STEP);
        self.steps_since = 0;
        self.kept.push(state);
        while self.bytes > self.bytes_max && self.kept.len() > 1 {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        if self.kept.len().is_multiple_of(2) {
            // The last one goes, and what is played is as far from the one before.
            self.steps_since += self.interval_steps;
        }
        self.kept = std::mem::take(&mut self.kept).into_iter().step_by(2).collect();
        self.bytes = self.kept.iter().map(KeptState::bytes).sum();
        self.interval_steps *= 2;
    }

    /// The kept states, in order; the first is the beginning.
    pub(super) fn kept(self) -> Vec<KeptState> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GameConfig, Rules};
    use crate::game::Game;
    use crate::journal::{Piece, PieceWriter};
    use trantor_model::MapSize;

    fn state(at: u64, length: usize) -> KeptState {
        let game = Game::new(GameConfig {
            size: MapSize::new(3, 3).expect("a size of a map"),
            teams: vec!["red".to_owned()],
            places_per_team: 1,
            seed: 1,
            rules: Rules::default(),
        });
        let bytes = PieceWriter::new(&game, "test 0.0", 0).close(&game);
        KeptState {
            at: GameTime::from_units(at as i64),
            track: Track::new(&Piece::open(bytes).expect("it was written just now")),
            // The history is counted as well.
            bytes: vec![0; length.saturating_sub(History::of(&game).bytes())],
            history: History::of(&game),
        }
    }

    /// The steps at which states of so many bytes are kept, of a piece of so many steps.
    fn kept(length: usize, bytes_max: usize, steps: u64) -> Vec<u64> {
        let mut states = States::new(state(0, length), bytes_max);
        for step in 1..=steps {
            if states.is_due_after_step() {
                states.keep(state(step, length));
            }
        }
        let kept = states.kept();
        kept.iter().map(|state| state.at.whole_units() as u64).collect()
    }

    #[test]
    fn a_jump_plays_little_however_large_the_world() {
        assert_eq!(kept(10, 1_000, 35_000), [0, 10_000, 20_000, 30_000]);
        let largest = kept(7_000_000, 1_000_000_000, 1_000_000);
        assert_eq!(largest.len(), 10, "{largest:?}");
    }

    #[test]
    fn states_take_no_more_room_than_there_is_and_stay_evenly_apart() {
        for states_max in 1..10 {
            for steps in [0, 9_999, 10_000, 200_000, 470_000] {
                let kept = kept(100, 100 * states_max, steps);
                assert!(kept.len() <= states_max, "{kept:?}");
                assert_eq!(kept[0], 0);
                let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1] - pair[0]).collect();
                assert!(gaps.windows(2).all(|pair| pair[0] == pair[1]), "{kept:?}");
                let gap = gaps.first().copied().unwrap_or(steps);
                assert!(steps - kept[kept.len() - 1] <= gap, "{kept:?} of {steps}");
                let is_needed = 10_000.max(2 * steps / states_max as u64);
                assert!(states_max == 1 || gap <= is_needed, "{kept:?} of {steps}");
            }
        }
    }
}
