//! A short list of numbers in ascending order: who or what is on one tile.
//!
//! Most tiles hold nobody, and most others one. So the first few numbers lie in the list itself, and walking
//! from tile to tile neither allocates nor leaves the tiles' own memory.

/// Numbers in ascending order, each at most once; up to `FEW` of them without memory of their own.
#[derive(Clone, Debug)]
pub(crate) enum Roster<Id, const FEW: usize> {
    /// The first `count` places are filled.
    Few {
        /// Places filled.
        count: u8,
        /// The numbers, then places that mean nothing.
        ids: [Id; FEW],
    },
    /// Once there were more, memory is kept: where a crowd gathered, it gathers again. Boxed, since a tile
    /// should not be larger for the sake of the few that need this.
    #[expect(
        clippy::box_collection,
        reason = "eight bytes on each tile instead of twenty-four"
    )]
    Many(Box<Vec<Id>>),
}

impl<Id: Copy + Ord + Default, const FEW: usize> Roster<Id, FEW> {
    /// All numbers, in ascending order.
    pub(crate) fn as_slice(&self) -> &[Id] {
        match self {
            Self::Few { count, ids } => &ids[..usize::from(*count)],
            Self::Many(ids) => ids,
        }
    }

    /// Adds a number that is not on the list.
    pub(crate) fn insert(&mut self, id: Id) {
        match self {
            Self::Few { count, ids } if usize::from(*count) < FEW => {
                let mut place = usize::from(*count);
                while place > 0 && ids[place - 1] > id {
                    ids[place] = ids[place - 1];
                    place -= 1;
                }
                ids[place] = id;
                *count += 1;
            }
            Self::Few { ids, .. } => {
                let mut many = Vec::with_capacity(4 * FEW);
                many.extend(*ids);
                insert_sorted(&mut many, id);
                *self = Self::Many(Box::new(many));
            }
            Self::Many(ids) => insert_sorted(ids, id),
        }
    }

    /// Takes a number off the list.
    ///
    /// # Panics
    /// If it is not on it.
    pub(crate) fn remove(&mut self, id: Id) {
        match self {
            Self::Few { count, ids } => {
                let listed = &mut ids[..usize::from(*count)];
                let place = listed.iter().position(|&other| other == id);
                let place = place.expect("what is placed is listed");
                listed.copy_within(place + 1.., place);
                *count -= 1;
            }
            Self::Many(ids) => remove_sorted(ids, id),
        }
    }
}

impl<Id: Copy + Ord + Default, const FEW: usize> Default for Roster<Id, FEW> {
    fn default() -> Self {
        Self::Few {
            count: 0,
            ids: [Id::default(); FEW],
        }
    }
}

/// Puts `id` into its place in an ascending list.
pub(crate) fn insert_sorted<Id: Copy + Ord>(list: &mut Vec<Id>, id: Id) {
    let position = list.partition_point(|&other| other < id);
    list.insert(position, id);
}

/// Takes `id` out of an ascending list.
///
/// # Panics
/// If it is not on it.
pub(crate) fn remove_sorted<Id: Copy + Ord>(list: &mut Vec<Id>, id: Id) {
    let position = list.binary_search(&id).expect("what is placed is listed");
    list.remove(position);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against an ordered set.
        #[test]
        fn a_roster_is_an_ordered_set(steps in prop::collection::vec((0..12u32, any::<bool>()), 0..200)) {
            let mut roster = Roster::<u32, 3>::default();
            let mut model = BTreeSet::new();
            for (id, adds) in steps {
                if adds && model.insert(id) {
                    roster.insert(id);
                } else if !adds && model.remove(&id) {
                    roster.remove(id);
                }
                prop_assert!(roster.as_slice().iter().eq(&model));
            }
        }
    }
}
