//! Mutates inputs: ranges of bytes are inserted, replaced, removed, repeated, or spliced from other inputs.

use std::ops::Range;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Longest input: room for several lines or frames of the greatest length.
const INPUT_BYTES_MAX: usize = 64 * 1_024;

/// Most mutations of an input; more would leave nothing valid.
const MUTATIONS_MAX: usize = 8;

/// Mutated inputs kept in the pool for further mutation.
const POOL_INPUTS_MAX: usize = 256;

/// Bytes with a meaning in one of the formats: line ends, signs, limits of numbers.
const SPECIAL_BYTES: [u8; 14] = [
    0, 1, b'\n', b'\r', b' ', b'#', b'-', b'0', b'9', 0x7f, 0x80, 0xfe, 0xff, b'"',
];

/// Generates inputs for one target, deterministically from a seed.
#[derive(Debug)]
pub struct Mutator {
    random: Pcg64Mcg,
    seeds: usize,
    pool: Vec<Vec<u8>>,
}

impl Mutator {
    /// With a corpus of valid inputs, to which an empty one is added.
    pub fn new(seed: u64, mut inputs: Vec<Vec<u8>>) -> Self {
        inputs.push(Vec::new());
        Self {
            random: Pcg64Mcg::seed_from_u64(seed),
            seeds: inputs.len(),
            pool: inputs,
        }
    }

    /// A mutated input from the pool.
    pub fn next_input(&mut self) -> Vec<u8> {
        let from = self.below(self.pool.len());
        let mut input = self.pool[from].clone();
        for _ in 0..=self.below(MUTATIONS_MAX) {
            self.mutate(&mut input);
        }
        input.truncate(INPUT_BYTES_MAX);
        // One in eight enters the pool.
        if self.below(8) == 0 {
            let place = self.seeds + self.below(POOL_INPUTS_MAX);
            match self.pool.get_mut(place) {
                Some(older) => older.clone_from(&input),
                None => self.pool.push(input.clone()),
            }
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input.len());
        let here = range.start..range.start;
        let (replaced, bytes) = match self.below(9) {
            0 => (here, self.random_bytes()),
            1 => (range, Vec::new()),
            2 => (range.start..input.len(), Vec::new()),
            3 => {
                let special = SPECIAL_BYTES[self.below(SPECIAL_BYTES.len())];
                (range.clone(), vec![special; range.len()])
            }
            4 | 5 => {
                let mut bytes = input[range.clone()].to_vec();
                if let Some(first) = bytes.first_mut() {
                    *first = match self.below(2) {
                        0 => *first ^ (1 << self.below(8)),
                        _ => first.wrapping_add(self.below(5) as u8).wrapping_sub(2),
                    };
                }
                (range, bytes)
            }
            6 | 7 => {
                let most = INPUT_BYTES_MAX / range.len().max(1);
                let times = [1, 1, 2, 20, 400][self.below(5)].min(most);
                let at = self.below(input.len() + 1);
                (at..at, input[range].repeat(times))
            }
            _ => {
                let other = self.below(self.pool.len());
                let length = self.pool[other].len();
                let piece = self.range(length);
                (here, self.pool[other][piece].to_vec())
            }
        };
        input.splice(replaced, bytes);
    }

    fn random_bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.below(16) + 1];
        self.random.fill_bytes(&mut bytes);
        bytes
    }

    /// A range within `len`, mostly a short one; empty if `len` is 0.
    fn range(&mut self, len: usize) -> Range<usize> {
        let from = self.below(len.max(1));
        let most = (len - from).min(if self.below(4) == 0 { usize::MAX } else { 16 });
        from..from + self.below(most + 1)
    }

    /// A number in `0..count`; `count` is not 0.
    fn below(&mut self, count: usize) -> usize {
        (self.random.next_u64() % count as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_they_differ() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, vec![b"Forward\n".to_vec()]);
            (0..2_000).map(|_| mutator.next_input()).collect::<Vec<_>>()
        };
        let first = inputs(1);
        assert_eq!(first, inputs(1));
        assert_ne!(first, inputs(2));
        assert!(first.iter().all(|input| input.len() <= INPUT_BYTES_MAX));
        let different: std::collections::BTreeSet<_> = first.iter().collect();
        assert!(different.len() > 1_500, "only {} are distinct", different.len());
    }
}
