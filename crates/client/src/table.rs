//! Values by number, in ascending order, for numbers that are given one after the other.
//!
//! Agents and eggs are numbered from 0 and no number comes twice, so those alive lie close together: nearly
//! always a number's place is its distance from the first one, and looking it up takes one comparison. Where
//! it is not (after many have gone) a binary search finds it. Nothing here knows what the values are.

/// Entries that are gone may take this much room before it is used again, or as much as all others together.
const GONE_MIN: usize = 64;

/// Values in ascending order of their numbers.
#[derive(Clone, Debug)]
pub struct Table<T> {
    /// Ascending; those that are gone stay until [`Self::squeeze`].
    numbers: Vec<u32>,
    /// As many as numbers; `None` for those that are gone.
    values: Vec<Option<T>>,
    len: usize,
}

impl<T> Table<T> {
    /// Nothing in it.
    pub fn new() -> Self {
        Self {
            numbers: Vec::new(),
            values: Vec::new(),
            len: 0,
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The value with that number.
    pub fn get(&self, number: u32) -> Option<&T> {
        let place = self.place(number).ok()?;
        self.values[place].as_ref()
    }

    /// The value with that number, to be changed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let place = self.place(number).ok()?;
        self.values[place].as_mut()
    }

    /// Whether that number lies above all others.
    pub fn is_next(&self, number: u32) -> bool {
        self.numbers.last().is_none_or(|last| number > *last)
    }

    /// Puts a value there, and answers the one it replaces. Takes constant time for a number above all others,
    /// and time in proportion to the table for one in between.
    pub fn insert(&mut self, number: u32, value: T) -> Option<T> {
        let before = match self.place(number) {
            Ok(place) => self.values[place].replace(value),
            Err(place) => {
                self.numbers.insert(place, number);
                self.values.insert(place, Some(value));
                None
            }
        };
        self.len += usize::from(before.is_none());
        before
    }

    /// Takes the value with that number out.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let place = self.place(number).ok()?;
        let value = self.values[place].take()?;
        self.len -= 1;
        if self.numbers.len() > 2 * self.len + GONE_MIN {
            self.squeeze();
        }
        Some(value)
    }

    /// All values in ascending order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter().flatten()
    }

    /// All values in ascending order of their numbers, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().flatten()
    }

    /// Where that number is, or where it would have to be.
    fn place(&self, number: u32) -> Result<usize, usize> {
        let Some((&first, &last)) = self.numbers.first().zip(self.numbers.last()) else {
            return Err(0);
        };
        if number > last {
            return Err(self.numbers.len());
        }
        let guess = number.wrapping_sub(first) as usize;
        if self.numbers.get(guess) == Some(&number) {
            return Ok(guess);
        }
        self.numbers.binary_search(&number)
    }

    /// Uses the room of those that are gone again.
    fn squeeze(&mut self) {
        let mut place = 0;
        self.numbers.retain(|_| {
            place += 1;
            self.values[place - 1].is_some()
        });
        self.values.retain(Option::is_some);
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Mostly ascending numbers and mostly the oldest removed, as with agents; and anything else.
        #[test]
        fn agrees_with_an_ordered_map(steps in prop::collection::vec((0u8..4, 0u32..400), 0..600)) {
            let mut table = Table::new();
            let mut map = BTreeMap::new();
            let mut next = 1_000;
            for (what, number) in steps {
                match what {
                    0 => {
                        next += number % 3;
                        prop_assert_eq!(table.insert(next, number), map.insert(next, number));
                    }
                    1 => prop_assert_eq!(table.insert(number, number), map.insert(number, number)),
                    2 => prop_assert_eq!(table.remove(number), map.remove(&number)),
                    _ => {
                        let oldest = map.keys().next().copied().unwrap_or(number);
                        prop_assert_eq!(table.remove(oldest), map.remove(&oldest));
                    }
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert!(table.numbers.len() <= 2 * table.len() + GONE_MIN);
                for probe in [number, next, next + 1, u32::MAX] {
                    prop_assert_eq!(table.get(probe), map.get(&probe));
                    prop_assert_eq!(table.get_mut(probe), map.get_mut(&probe));
                }
                prop_assert!(table.iter().eq(map.values()));
                prop_assert!(table.iter_mut().eq(map.values_mut()));
            }
        }
    }
}
