//! Random numbers, all derived from the seed of the run. Each user has its own stream, so that one more draw here
//! changes no draw elsewhere.

use rand_core::Rng as _;
use rand_pcg::Pcg32;
use trantor_time::RealSpan;

#[derive(Clone, Debug)]
pub(crate) struct Rng {
    generator: Pcg32,
}

impl Rng {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self {
            generator: Pcg32::new(seed, stream),
        }
    }

    /// A number in `0..bound`; `bound` is not 0. The bias is below one in a million for the bounds used here.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let wide = u64::from(self.generator.next_u32()) * u64::from(bound);
        (wide >> u32::BITS) as u32
    }

    /// A number in `least..=most`.
    pub(crate) fn between(&mut self, least: u32, most: u32) -> u32 {
        least + self.below(most - least + 1)
    }

    /// A number of milliseconds in `least..=most`.
    pub(crate) fn millis(&mut self, least: u32, most: u32) -> RealSpan {
        RealSpan::from_millis(i64::from(self.between(least, most)))
    }

    /// True with probability `1 / times`; never for 0.
    pub(crate) fn one_in(&mut self, times: u32) -> bool {
        times > 0 && self.below(times) == 0
    }

    /// An element of `choices`, which is not empty.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let count = u32::try_from(choices.len()).expect("few choices");
        &choices[self.below(count) as usize]
    }

    pub(crate) fn bytes(&mut self, count: u32) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}
