//! Mutates inputs: flips bits, replaces bytes, and removes, repeats or splices ranges.

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
            if self.pool.len() < self.seeds + POOL_INPUTS_MAX {
                self.pool.push(input.clone());
            } else {
                let place = self.seeds + self.below(POOL_INPUTS_MAX);
                self.pool[place] = input.clone();
            }
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let kind = if input.is_empty() { 0 } else { self.below(9) };
        match kind {
            0 => {
                let count = self.below(16) + 1;
                let at = self.below(input.len() + 1);
                let bytes: Vec<u8> = (0..count).map(|_| self.random.next_u32() as u8).collect();
                input.splice(at..at, bytes);
            }
            1 => {
                let at = self.below(input.len());
                input[at] ^= 1 << self.below(8);
            }
            2 => {
                let at = self.below(input.len());
                input[at] = SPECIAL_BYTES[self.below(SPECIAL_BYTES.len())];
            }
            3 => {
                let at = self.below(input.len());
                input[at] = input[at].wrapping_add(self.below(5) as u8).wrapping_sub(2);
            }
            4 => drop(input.drain(self.range(input.len()))),
            5 => input.truncate(self.below(input.len()) + 1),
            6 => {
                let piece = input[self.range(input.len())].to_vec();
                let at = self.below(input.len() + 1);
                let times = [1, 1, 2, 20, 400][self.below(5)];
                if piece.len() * times <= INPUT_BYTES_MAX {
                    input.splice(at..at, piece.repeat(times));
                }
            }
            7 => {
                let other = self.below(self.pool.len());
                let other = self.pool[other].clone();
                if !other.is_empty() {
                    let piece = other[self.range(other.len())].to_vec();
                    let at = self.below(input.len() + 1);
                    input.splice(at..at, piece);
                }
            }
            _ => {
                let range = self.range(input.len());
                let fill = SPECIAL_BYTES[self.below(SPECIAL_BYTES.len())];
                input[range].fill(fill);
            }
        }
    }

    /// A range within `len`, mostly a short one.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let from = self.below(len);
        let most = (len - from).min(if self.below(4) == 0 { usize::MAX } else { 16 });
        from..from + 1 + self.below(most)
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
