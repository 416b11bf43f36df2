//! Values by number in ascending order, for numbers that are given one after the other.
//!
//! Agents and eggs are numbered from 0 and no number is used twice, so living ones lie close together: an entry's place
//! is nearly always its distance from the first one. A look-up then takes one comparison, and a scene of
//! a thousand agents half the time that it takes with a B-tree.

/// Removed entries are kept until they are more than this and more than all others together.
const REMOVED_MIN: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    /// Ascending by number; removed entries have no value.
    entries: Vec<(u32, Option<T>)>,
    len: usize,
}

impl<T> Table<T> {
    pub(crate) fn new() -> Self {
        let (entries, len) = (Vec::new(), 0);
        Self { entries, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.entries[self.place(number).ok()?].1.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let place = self.place(number).ok()?;
        self.entries[place].1.as_mut()
    }

    /// Whether `number` was given after all others.
    pub(crate) fn is_next(&self, number: u32) -> bool {
        self.entries.last().is_none_or(|(last, _)| number > *last)
    }

    /// Replaces the value of that number. Takes constant time for the next number, and time in proportion to the table for
    /// a number in between.
    pub(crate) fn insert(&mut self, number: u32, value: T) {
        self.len += usize::from(self.get(number).is_none());
        match self.place(number) {
            Ok(place) => self.entries[place].1 = Some(value),
            Err(place) => self.entries.insert(place, (number, Some(value))),
        }
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let place = self.place(number).ok()?;
        let value = self.entries[place].1.take()?;
        self.len -= 1;
        if self.entries.len() > 2 * self.len + REMOVED_MIN {
            self.entries.retain(|(_, value)| value.is_some());
        }
        Some(value)
    }

    /// All values, by ascending number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flat_map(|(_, value)| value)
    }

    /// See [`Self::iter`].
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().flat_map(|(_, value)| value)
    }

    /// Where the entry of that number is, or where it belongs.
    fn place(&self, number: u32) -> Result<usize, usize> {
        let first = self.entries.first().map_or(number, |entry| entry.0);
        let guess = number.wrapping_sub(first) as usize;
        match self.entries.get(guess) {
            Some(entry) if entry.0 == number => Ok(guess),
            _ => self.entries.binary_search_by_key(&number, |entry| entry.0),
        }
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
        fn a_table_agrees_with_an_ordered_map(steps in prop::collection::vec((0u8..4, 0u32..400), 0..600)) {
            let (mut table, mut map) = (Table::new(), BTreeMap::new());
            let mut next = 1_000;
            for (what, number) in steps {
                let oldest = map.keys().next().copied().unwrap_or(number);
                match what {
                    0 => {
                        next += number % 3;
                        table.insert(next, number);
                        map.insert(next, number);
                    }
                    1 => {
                        table.insert(number, number);
                        map.insert(number, number);
                    }
                    2 => prop_assert_eq!(table.remove(number), map.remove(&number)),
                    _ => prop_assert_eq!(table.remove(oldest), map.remove(&oldest)),
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert!(table.entries.len() <= 2 * table.len() + REMOVED_MIN);
                prop_assert!(map.keys().all(|last| !table.is_next(*last)) && table.is_next(u32::MAX));
                for probe in [number, next, next + 1, u32::MAX] {
                    prop_assert_eq!(table.get(probe), map.get(&probe));
                    prop_assert_eq!(table.get_mut(probe), map.get_mut(&probe));
                }
                prop_assert!(table.iter().eq(map.values()) && table.iter_mut().eq(map.values_mut()));
            }
        }
    }
}
