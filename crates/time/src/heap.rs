//! The exact store: a queue of small entries over a slab of items.
//!
//! An entry holds a deadline, the number of its registration, and a place in the slab; `queue` keeps
//! entries in order. Cancelling only empties the place; the entry that is left over is dropped when it comes
//! first, or by a sweep once the dead outnumber the living. Taking it out at once would mean to
//! look for it, and most work that is cancelled is far from being due.
//!
//! The first entry is kept alive at all times, so that the next deadline is a plain read.

use crate::queue::{Entry, Order, Queue};
use crate::slots::Slots;
use crate::store::{Taken, TimerId, deadline_store};

/// Pending work by deadline; see [`crate::store`] for the contract.
///
/// `K` is the moment: `RealTime`, `GameTime`, or any totally ordered key that begins with one. Memory is
/// kept for reuse, so a steady state allocates nothing (R-000-18).
#[derive(Clone, Debug)]
pub struct DeadlineHeap<K, T> {
    slots: Slots<Pending<K, T>>,
    /// Entries that may be taken.
    ready: Queue<K>,
    /// Entries that wait for the next pass.
    deferred: Queue<K>,
    next_order: Order,
}

#[derive(Clone, Debug)]
struct Pending<K, T> {
    at: K,
    /// Tells the entry that speaks for this item from those left over by moves and earlier tenants.
    order: Order,
    item: T,
}

/// Dead entries that are always borne: sweeping a tiny store costs more than it frees.
const DEAD_MIN: usize = 64;

impl<K: Copy + Ord, T> DeadlineHeap<K, T> {
    /// An empty store; takes memory with the first item.
    pub const fn new() -> Self {
        Self {
            slots: Slots::new(),
            ready: Queue::new(),
            deferred: Queue::new(),
            next_order: Order::MIN,
        }
    }

    /// Adds `item`, due from `at` on; a moment already passed is due at once. O(log n).
    pub fn schedule(&mut self, at: K, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.slots.insert(Pending { at, order, item });
        self.ready.push(Entry {
            at,
            order,
            slot: id.slot(),
        });
        id
    }

    /// Adds `item`, due from `at` on, but not given out before the next [`Self::begin_pass`] (R-000-7).
    pub fn schedule_next_pass(&mut self, at: K, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.slots.insert(Pending { at, order, item });
        self.deferred.push(Entry {
            at,
            order,
            slot: id.slot(),
        });
        id
    }

    /// Lets go of what waited for the next pass. It keeps its place in the order of registration.
    pub fn begin_pass(&mut self) {
        while let Some(entry) = self.deferred.pop() {
            if speaks(&self.slots, &entry) {
                self.ready.push(entry);
            }
        }
    }

    /// Takes a pending item back; `None` if `id` is stale (R-000-9). O(1), amortised.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        let pending = self.slots.remove(id)?;
        self.forget(pending.order);
        Some(pending.item)
    }

    /// Moves a pending item to `at` and behind everything registered so far; its id stays (R-000-12).
    ///
    /// Answers whether there was such an item. It may be taken in this pass if `at` is reached, even
    /// if it waited for the next one.
    pub fn reschedule(&mut self, id: TimerId, at: K) -> bool {
        let order = self.take_order();
        let Some(pending) = self.slots.get_mut(id) else {
            return false;
        };
        pending.at = at;
        let order_before = std::mem::replace(&mut pending.order, order);
        self.ready.push(Entry {
            at,
            order,
            slot: id.slot(),
        });
        self.forget(order_before);
        true
    }

    /// The earliest deadline, `None` if nothing is pending (R-000-8). O(1).
    pub fn next_deadline(&self) -> Option<K> {
        let ready = self.ready.first().map(|entry| entry.at);
        let deferred = self.deferred.first().map(|entry| entry.at);
        match (ready, deferred) {
            (Some(ready), Some(deferred)) => Some(ready.min(deferred)),
            (one, other) => one.or(other),
        }
    }

    /// What [`Self::take_due`] would give out next, and its deadline; what waits for the next pass is not counted.
    pub fn first(&self) -> Option<(K, &T)> {
        let first = self.ready.first()?;
        let pending = self.slots.at(first.slot)?;
        Some((first.at, &pending.item))
    }

    /// Gives out the earliest item with a deadline of at most `now`; equal deadlines in order of registration.
    pub fn take_due(&mut self, now: K) -> Option<Taken<K, T>> {
        if self.ready.first()?.at > now {
            return None;
        }
        let first = self.ready.pop()?;
        let (id, pending) = self.slots.vacate(first.slot);
        self.drop_dead_firsts();
        Some(Taken {
            id,
            at: first.at,
            item: pending.item,
        })
    }

    /// The pending item, `None` if `id` is stale.
    pub fn get(&self, id: TimerId) -> Option<&T> {
        self.slots.get(id).map(|pending| &pending.item)
    }

    /// The pending item, to be changed in place.
    pub fn get_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.slots.get_mut(id).map(|pending| &mut pending.item)
    }

    /// The deadline of a pending item.
    pub fn deadline_of(&self, id: TimerId) -> Option<K> {
        self.slots.get(id).map(|pending| pending.at)
    }

    /// How many items are pending.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops everything pending; all ids become stale, none comes back.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.ready.clear();
        self.deferred.clear();
    }

    /// Everything pending by deadline, then registration; for snapshots and digests, O(n log n).
    pub fn in_order(&self) -> Vec<(K, &T)> {
        let mut pending: Vec<_> = self.slots.iter_unsorted().collect();
        pending.sort_unstable_by_key(|pending| (pending.at, pending.order));
        pending
            .into_iter()
            .map(|pending| (pending.at, &pending.item))
            .collect()
    }

    fn take_order(&mut self) -> Order {
        let order = self.next_order;
        self.next_order = order.checked_add(1).expect("64 bits outlast every process");
        order
    }

    /// Called when the entry numbered `order` no longer speaks for anything.
    fn forget(&mut self, order: Order) {
        let is_first = |queue: &Queue<K>| queue.first().is_some_and(|first| first.order == order);
        if is_first(&self.ready) || is_first(&self.deferred) {
            self.drop_dead_firsts();
        }
        if self.dead() > self.slots.len().max(DEAD_MIN) {
            // A part only, so that no call goes through everything; it is asked for again as long as need be.
            for queue in [&mut self.ready, &mut self.deferred] {
                queue.sweep_next(|entry| speaks(&self.slots, entry));
            }
        }
    }

    fn dead(&self) -> usize {
        self.ready.len() + self.deferred.len() - self.slots.len()
    }

    fn drop_dead_firsts(&mut self) {
        if self.dead() == 0 {
            return;
        }
        for queue in [&mut self.ready, &mut self.deferred] {
            while queue.first().is_some_and(|first| !speaks(&self.slots, first)) {
                queue.pop();
            }
        }
    }
}

fn speaks<K, T>(slots: &Slots<Pending<K, T>>, entry: &Entry<K>) -> bool {
    slots
        .at(entry.slot)
        .is_some_and(|pending| pending.order == entry.order)
}

impl<K: Copy + Ord, T> Default for DeadlineHeap<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

deadline_store!(<K: Copy + Ord, T> DeadlineHeap<K, T>, T, at K);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_x_44_garbage_of_cancels_and_moves_stays_bounded() {
        let mut heap = DeadlineHeap::new();
        let ids: Vec<_> = (0..1_000_u64)
            .map(|item| heap.schedule(item * 1_000, item))
            .collect();
        let mut held_max = 0;
        for round in 0..1_000_000_u64 {
            // Time-outs that are put off again and again, and work that never comes to be.
            let id = ids[(round * 7919 % 1_000) as usize];
            assert!(heap.reschedule(id, 1_000_000 + round));
            let doomed = heap.schedule(2_000_000 + round, 0);
            assert_eq!(heap.cancel(doomed), Some(0));
            held_max = held_max.max(heap.ready.len());
        }
        assert!(held_max < 4_000, "{held_max} entries for a thousand items");
        assert_eq!(heap.in_order().len(), 1_000);
    }
}
