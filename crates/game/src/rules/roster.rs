//! Short lists of numbers in ascending order: the agents or the eggs on one tile, the eggs of a team.
//!
//! Most tiles hold no agent, and most others one. So the first few numbers lie in the list itself, and walking
//! from tile to tile neither allocates nor leaves the tiles' own memory.

use smallvec::{Array, SmallVec};

/// Adds a number that is not on the list.
pub(crate) fn insert_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, id: A::Item) {
    let place = list.partition_point(|&other| other < id);
    list.insert(place, id);
}

/// Adds numbers that are not on the list, in ascending order.
pub(crate) fn insert_all_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, added: SmallVec<A>) {
    list.extend(added);
    // Two runs in order, which a stable sort merges.
    list.sort();
}

/// Removes a number from the list.
///
/// # Panics
/// If it is not on it.
pub(crate) fn remove_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, id: A::Item) {
    let place = list.binary_search(&id).expect("what is placed is listed");
    list.remove(place);
}

/// Removes `gone`, in ascending order, from the list. Each run between two of them is moved once, so that the
/// cost is that of one pass through the list however many are gone.
///
/// # Panics
/// If one of them is not on it.
pub(crate) fn remove_all_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, gone: &[A::Item]) {
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
        /// Against an ordered set.
        #[test]
        fn a_list_is_an_ordered_set(
            steps in prop::collection::vec((0..12u32, any::<bool>()), 0..200),
            many in 0..9u32,
            gone in prop::collection::btree_set(0..30u32, 0..20),
        ) {
            let mut list = SmallVec::<[u32; 3]>::new();
            let mut model = BTreeSet::new();
            for (id, adds) in steps {
                if adds && model.insert(id) {
                    insert_sorted(&mut list, id);
                } else if !adds && model.remove(&id) {
                    remove_sorted(&mut list, id);
                }
                prop_assert!(list.iter().eq(&model));
            }
            insert_all_sorted(&mut list, (20..20 + many).collect());
            model.extend(20..20 + many);
            prop_assert!(list.iter().eq(&model));
            let gone: Vec<u32> = gone.intersection(&model).copied().collect();
            remove_all_sorted(&mut list, &gone);
            prop_assert!(list.iter().eq(model.iter().filter(|id| !gone.contains(id))));
        }
    }
}
