//! Random numbers: seeded generators, one for each purpose.
//!
//! Separate streams keep one purpose from disturbing another: an egg more or less does not change where the
//! next stone falls. The generator is fixed for good (PCG XSL-RR 128/64), and so is the way numbers are drawn
//! from it, since journals of old games must replay.

use rand_core::Rng as _;
use rand_pcg::Pcg64;

/// What a generator is for; the number is its stream and must never change.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Which egg hatches and where the newborn faces.
    Birth = 1,
    /// Where the eggs of the start lie.
    Egg = 2,
    /// Where resources fall.
    Refill = 3,
}

/// A stream of random numbers. It is determined by its seed, its purpose and how often it was drawn from, and that is
/// how it is saved: no bytes from outside ever become the state of a generator.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    generator: Pcg64,
    drawn: u64,
}

impl Rng {
    /// The stream for one purpose in a game of that seed.
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        // Neighbouring seeds must not give neighbouring states, so the seed is scrambled first.
        let state = u128::from(scramble(seed)) << 64 | u128::from(scramble(!seed));
        Self {
            generator: Pcg64::new(state, purpose as u128),
            drawn: 0,
        }
    }

    /// That stream after so many draws; the generator jumps there at once.
    pub(crate) fn resume(seed: u64, purpose: Purpose, drawn: u64) -> Self {
        let mut rng = Self::new(seed, purpose);
        rng.generator.advance(u128::from(drawn));
        rng.drawn = drawn;
        rng
    }

    /// How often it was drawn from.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// A number from `0..bound`, each equally likely.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "nothing to choose from");
        // The high half of a 64-bit product is the number, the low half identifies the few draws that would
        // bias it; those are rejected.
        let reject_below = bound.wrapping_neg() % bound;
        loop {
            // Centuries of drawing do not wrap 64 bits, but a damaged snapshot may claim them.
            self.drawn = self.drawn.wrapping_add(1);
            let product = u64::from(self.generator.next_u32()) * u64::from(bound);
            if product as u32 >= reject_below {
                return (product >> 32) as u32;
            }
        }
    }
}

/// A bijection of 64-bit numbers without visible pattern (the finaliser of SplitMix64).
fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These numbers are in old journals: if this fails, the generator changed and must change back.
    #[test]
    fn the_stream_of_a_seed_is_fixed_for_ever() {
        let mut rng = Rng::new(42, Purpose::Refill);
        let drawn: Vec<u32> = (0..8).map(|_| rng.below(1_000)).collect();
        assert_eq!(drawn, [284, 234, 832, 200, 939, 422, 256, 419]);
    }

    #[test]
    fn a_resumed_stream_continues() {
        let mut rng = Rng::new(9, Purpose::Birth);
        for _ in 0..1_000 {
            let mut resumed = Rng::resume(9, Purpose::Birth, rng.drawn());
            // Numbers just above half the range are drawn again about every second time.
            assert_eq!(rng.below(0x8000_0001), resumed.below(0x8000_0001));
            assert_eq!(rng.drawn(), resumed.drawn());
        }
        assert!((1_500..2_500).contains(&rng.drawn()));
    }
}
