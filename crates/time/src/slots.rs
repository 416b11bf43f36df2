//! Where pending work lies: a slab whose keys are never given out twice.
//!
//! Both stores keep their items here and only move small entries about, so that an item is moved twice
//! in its life, in and out. Order is no concern of this module.

use std::num::NonZeroU32;

/// Names one piece of pending work, in the store that gave it out.
///
/// An id outlives its work harmlessly: a place is given out again under a new generation, and a place
/// whose generations are used up is retired, so no id ever comes back. The order of ids is
/// total and means nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId {
    slot: u32,
    generation: NonZeroU32,
}

impl TimerId {
    /// The id as one number, unique within its store; for logs and for peers that want integers.
    pub const fn as_u64(self) -> u64 {
        (self.generation.get() as u64) << 32 | self.slot as u64
    }

    /// The id that [`Self::as_u64`] gave, `None` for a number that is none. Nothing says that its work is
    /// still pending.
    pub fn from_u64(number: u64) -> Option<Self> {
        let generation = NonZeroU32::new((number >> 32) as u32)?;
        Some(Self {
            slot: number as u32,
            generation,
        })
    }

    pub(crate) fn slot(self) -> u32 {
        self.slot
    }
}

/// Items by id. Room is kept once taken: in the steady state nothing is allocated.
#[derive(Clone, Debug)]
pub(crate) struct Slots<E> {
    slots: Vec<Slot<E>>,
    /// Free places. The last freed is reused first: it is likely in cache. A stack rather than a chain through the
    /// places, so that the next ones are known before the memory has brought the first. It has room for all places.
    free: Vec<u32>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Slot<E> {
    /// Of the item here, or of the next one to come.
    generation: NonZeroU32,
    entry: Option<E>,
}

impl<E> Slots<E> {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, entry: E) -> TimerId {
        self.insert_with(|_| entry)
    }

    /// Inserts what `make` makes of the id it will have.
    ///
    /// # Panics
    /// If 2³² − 1 places are taken: whoever admits work bounds it far below.
    pub(crate) fn insert_with(&mut self, make: impl FnOnce(TimerId) -> E) -> TimerId {
        self.len += 1;
        let Some(slot) = self.free.pop() else {
            return self.append(make);
        };
        let place = &mut self.slots[slot as usize];
        let id = TimerId {
            slot,
            generation: place.generation,
        };
        place.entry = Some(make(id));
        id
    }

    /// Opens a new place, as none is free.
    fn append(&mut self, make: impl FnOnce(TimerId) -> E) -> TimerId {
        let slot = u32::try_from(self.slots.len()).expect("admission keeps pending work far below 2^32");
        let id = TimerId {
            slot,
            generation: NonZeroU32::MIN,
        };
        let entry = Some(make(id));
        self.slots.push(Slot {
            generation: id.generation,
            entry,
        });
        // Now rather than when it is freed: taking work allocates nothing.
        self.free.reserve(self.slots.len());
        id
    }

    pub(crate) fn remove(&mut self, id: TimerId) -> Option<E> {
        self.get(id)?;
        Some(self.vacate(id.slot).1)
    }

    /// Takes what lies in `slot`, and tells under which id it did.
    ///
    /// # Panics
    /// If the place is free.
    pub(crate) fn vacate(&mut self, slot: u32) -> (TimerId, E) {
        let place = &mut self.slots[slot as usize];
        let id = TimerId {
            slot,
            generation: place.generation,
        };
        let entry = place.entry.take().expect("only taken places are vacated");
        self.len -= 1;
        // A place whose generations are used up is never free again: it costs a few bytes
        // every four billion timers, and in return ids are unique without being wide.
        if let Some(generation) = place.generation.checked_add(1) {
            place.generation = generation;
            self.free.push(slot);
        }
        (id, entry)
    }

    pub(crate) fn get(&self, id: TimerId) -> Option<&E> {
        let place = self.slots.get(id.slot as usize)?;
        place.entry.as_ref().filter(|_| place.generation == id.generation)
    }

    pub(crate) fn get_mut(&mut self, id: TimerId) -> Option<&mut E> {
        let place = self.slots.get_mut(id.slot as usize)?;
        place.entry.as_mut().filter(|_| place.generation == id.generation)
    }

    /// What lies in `slot` now, whatever its generation.
    pub(crate) fn at(&self, slot: u32) -> Option<&E> {
        self.slots.get(slot as usize)?.entry.as_ref()
    }

    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut E> {
        self.slots.get_mut(slot as usize)?.entry.as_mut()
    }

    /// The first id in use whose place is `slot` or after it.
    pub(crate) fn first_from(&self, slot: u32) -> Option<TimerId> {
        let places = self.slots.iter().zip(0_u32..).skip(slot as usize);
        let mut taken = places.filter(|(place, _)| place.entry.is_some());
        taken.next().map(|(place, slot)| TimerId {
            slot,
            generation: place.generation,
        })
    }

    /// Frees every place; all ids become stale.
    pub(crate) fn clear(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            if self.at(slot).is_some() {
                self.vacate(slot);
            }
        }
    }

    /// Everything held, in no meaningful order.
    pub(crate) fn iter_unsorted(&self) -> impl Iterator<Item = &E> {
        self.slots.iter().filter_map(|place| place.entry.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_never_comes_back() {
        let mut slots = Slots::new();
        let first = slots.insert('a');
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert('b');
        assert_eq!(first.slot, second.slot, "the place is used again");
        assert_ne!(first, second);
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&'b'));
    }

    #[test]
    fn a_place_without_generations_left_is_retired() {
        let mut slots = Slots::new();
        let first = slots.insert(1);
        slots.slots[0].generation = NonZeroU32::MAX;
        let last = TimerId {
            slot: 0,
            generation: NonZeroU32::MAX,
        };
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.remove(last), Some(1));
        let next = slots.insert(2);
        assert_eq!(next.slot, 1, "place 0 has no ids left to give");
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn ids_are_integers() {
        let mut slots = Slots::new();
        slots.insert(());
        let id = slots.insert(());
        assert_eq!(TimerId::from_u64(id.as_u64()), Some(id));
        assert_eq!(TimerId::from_u64(7), None, "no id has generation 0");
    }

    #[test]
    fn clearing_makes_every_id_stale() {
        let mut slots = Slots::new();
        let ids: Vec<_> = (0..5).map(|n| slots.insert(n)).collect();
        slots.clear();
        assert_eq!(slots.len(), 0);
        assert_eq!(slots.iter_unsorted().count(), 0);
        let again = slots.insert(9);
        assert!(!ids.contains(&again));
        assert!(ids.iter().all(|&id| slots.get(id).is_none()));
    }
}
