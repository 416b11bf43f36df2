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

impl<Id: Copy + Ord + Default, const FEW: usize> Roster<Id, FEW> {
    /// Adds numbers that are not on the list, in ascending order.
    pub(crate) fn insert_all(&mut self, added: Vec<Id>) {
        if added.len() <= FEW {
            added.into_iter().for_each(|id| self.insert(id));
            return;
        }
        let mut all = self.take_all();
        all.extend(added);
        // Two runs in order, which a stable sort merges.
        all.sort();
        *self = Self::Many(Box::new(all));
    }

    /// Takes everything off the list, and answers what was on it in ascending order.
    pub(crate) fn take_all(&mut self) -> Vec<Id> {
        match std::mem::take(self) {
            Self::Few { count, ids } => ids[..usize::from(count)].to_vec(),
            Self::Many(ids) => *ids,
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

/// Takes `gone`, in ascending order, out of an ascending list. Each run between two of them is moved once, so that the
/// cost is that of one pass through the list however many are gone.
///
/// # Panics
/// If one of them is not on it.
pub(crate) fn remove_all_sorted<Id: Copy + Ord>(list: &mut Vec<Id>, gone: &[Id]) {
    let mut kept = 0;
    let mut run_begin = 0;
    for id in gone {
        // Those that go often lie side by side.
        let place = match list.get(run_begin) == Some(id) {
            true => 0,
            false => list[run_begin..]
                .binary_search(id)
                .expect("what is placed is listed"),
        };
        let run_end = run_begin + place;
        list.copy_within(run_begin..run_end, kept);
        kept += run_end - run_begin;
        run_begin = run_end + 1;
    }
    list.copy_within(run_begin.., kept);
    list.truncate(kept + list.len() - run_begin);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn many_are_removed_as_one_by_one(list in prop::collection::btree_set(0..60u32, 0..40), gone in prop::collection::btree_set(0..60u32, 0..40)) {
            let gone: Vec<u32> = gone.intersection(&list).copied().collect();
            let mut listed: Vec<u32> = list.iter().copied().collect();
            remove_all_sorted(&mut listed, &gone);
            prop_assert!(listed.iter().eq(list.iter().filter(|id| !gone.contains(id))));
        }

        /// Against an ordered set.
        #[test]
        fn a_roster_is_an_ordered_set(steps in prop::collection::vec((0..12u32, any::<bool>()), 0..200), many in 0..9u32) {
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
            roster.insert_all((20..20 + many).collect());
            model.extend(20..20 + many);
            prop_assert!(roster.as_slice().iter().eq(&model));
            prop_assert!(roster.take_all().iter().eq(&model));
            prop_assert!(roster.as_slice().is_empty());
        }
    }
}
