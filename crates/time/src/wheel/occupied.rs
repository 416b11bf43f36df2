//! Slots in a ring, and which of them hold anything.
//!
//! Two levels of bits answer "the first occupied slot from here on, once round" with a few instructions,
//! however many slots there are.

/// Most slots a ring can have: one word of 64 bits says which words of 64 bits are not zero.
pub(crate) const RING_SLOTS_MAX: usize = 64 * 64;

/// Which slots of a ring of `64..=4096` slots, a power of two, are occupied.
#[derive(Clone, Debug)]
pub(crate) struct Occupied {
    words: Vec<u64>,
    /// Bit `w` tells whether `words[w]` is not zero.
    summary: u64,
}

impl Occupied {
    pub(crate) fn new(slots: usize) -> Self {
        assert!(
            slots.is_power_of_two() && (64..=RING_SLOTS_MAX).contains(&slots),
            "checked where it was set"
        );
        Self {
            words: vec![0; slots / 64],
            summary: 0,
        }
    }

    pub(crate) fn set(&mut self, slot: usize) {
        self.words[slot / 64] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64);
    }

    pub(crate) fn unset(&mut self, slot: usize) {
        let word = &mut self.words[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.summary &= !(1 << (slot / 64));
        }
    }

    /// The first occupied slot at `from` or after it, going round.
    pub(crate) fn first_from(&self, from: usize) -> Option<usize> {
        // What is left in the word of `from`, the words after it, and then all words from the start.
        let here = self.words[from / 64] & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(from / 64 * 64 + here.trailing_zeros() as usize);
        }
        let after = self.summary & u64::MAX.checked_shl(from as u32 / 64 + 1).unwrap_or(0);
        let words = if after != 0 { after } else { self.summary };
        let word = (words != 0).then(|| words.trailing_zeros() as usize)?;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small space walked whole: every pair of occupied slots, from every place.
    #[test]
    fn the_first_occupied_slot_is_found_from_anywhere() {
        for slots in [64, 128, 256] {
            for one in (0..slots).step_by(5) {
                for other in (0..slots).step_by(7) {
                    let mut occupied = Occupied::new(slots);
                    occupied.set(one);
                    occupied.set(other);
                    for from in 0..slots {
                        let round = |slot: usize| (slot + slots - from) % slots;
                        let expected = if round(one) <= round(other) { one } else { other };
                        assert_eq!(
                            occupied.first_from(from),
                            Some(expected),
                            "{slots}: {one}, {other} from {from}"
                        );
                    }
                    occupied.unset(one);
                    occupied.unset(other);
                    assert_eq!(occupied.first_from(one), None);
                }
            }
        }
    }
}
