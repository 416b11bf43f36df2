//! The exact store: everything pending in one queue by deadline.
//!
//! The first entry is kept alive at all times, so that the next deadline is a plain read.

use crate::pending::Pending;
use crate::queue::Queue;
use crate::store::{Taken, TimerId, deadline_store};

/// Pending work by deadline; see [`crate::store`] for the contract.
///
/// `K` is the moment: `RealTime`, `GameTime`, or any totally ordered key that begins with one. Memory is
/// kept for reuse, so a steady state allocates nothing.
#[derive(Clone, Debug)]
pub struct DeadlineHeap<K, T> {
    pending: Pending<K, T>,
    /// Entries that may be taken.
    ready: Queue<K>,
}

impl<K: Copy + Ord, T> DeadlineHeap<K, T> {
    /// An empty store; takes memory with the first item.
    pub const fn new() -> Self {
        Self {
            pending: Pending::new(),
            ready: Queue::new(),
        }
    }

    /// Adds `item`, due from `at` on; a moment already passed is due at once. O(log n).
    pub fn schedule(&mut self, at: K, item: T) -> TimerId {
        let (id, entry) = self.pending.add(at, item);
        self.ready.push(entry);
        id
    }

    /// Adds `item`, due from `at` on, but not given out before the next [`Self::begin_pass`].
    pub fn schedule_next_pass(&mut self, at: K, item: T) -> TimerId {
        self.pending.add_deferred(at, item)
    }

    /// Lets go of what waited for the next pass. It keeps its place in the order of registration.
    pub fn begin_pass(&mut self) {
        while let Some(entry) = self.pending.release() {
            self.ready.push(entry);
        }
    }

    /// Takes a pending item back; `None` if `id` is stale. O(1), amortised.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        let (dead, item) = self.pending.remove(id)?;
        self.pending.forget(dead.order, [&mut self.ready], 0);
        Some(item)
    }

    /// Moves a pending item to `at` and behind everything registered so far; its id stays.
    ///
    /// Answers whether there was such an item. It may be taken in this pass if `at` is reached, even
    /// if it waited for the next one.
    pub fn reschedule(&mut self, id: TimerId, at: K) -> bool {
        let Some((dead, entry)) = self.pending.move_to(id, at) else {
            return false;
        };
        self.ready.push(entry);
        self.pending.forget(dead.order, [&mut self.ready], 0);
        true
    }

    /// The earliest deadline, `None` if nothing is pending. O(1).
    pub fn next_deadline(&self) -> Option<K> {
        let ready = self.ready.first().map(|entry| entry.at);
        self.pending.next_deadline(ready, |at| at)
    }

    /// What [`Self::take_due`] would give out next, and its deadline; what waits for the next pass is not counted.
    pub fn first(&self) -> Option<(K, &T)> {
        let first = self.ready.first()?;
        Some((first.at, self.pending.of(first)?))
    }

    /// Gives out the earliest item with a deadline of at most `now`; equal deadlines in order of registration.
    pub fn take_due(&mut self, now: K) -> Option<Taken<K, T>> {
        if self.ready.first()?.at > now {
            return None;
        }
        let first = self.ready.pop(|entry| self.pending.speaks(entry))?;
        Some(self.pending.take(first))
    }

    /// Drops everything pending; all ids become stale, none comes back.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.ready.clear();
    }
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
    fn garbage_of_cancels_and_moves_stays_bounded() {
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
