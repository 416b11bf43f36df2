//! Deadline stores: items with a deadline each, given out when they are due.
//!
//! A store knows neither what the items are nor what its moments count: nanoseconds, nanounits, or a tuple that
//! refines either. It reads no clock and runs nothing: a loop takes one due item at a time. There are two, with one
//! contract: [`DeadlineHeap`] for any moments, [`TimerWheel`] for real time.
//!
//! 1. **Never early.** An item is given out when its deadline is reached, and not before.
//! 2. **Deadline, then registration.** What is due comes out in order of deadline, and equal deadlines in the order
//!    in which they were scheduled or last moved, however many passes lie between.
//! 3. **A cancel holds.** A cancelled item is never given out, even if it was due already. Using an old id does
//!    nothing and says so.
//! 4. **The next deadline is at hand**, without a search, and is one of a live item.
//!
//! Items lie in a slot map, and small entries that name them in a queue. Cancelling or moving an item only changes its
//! order of registration; the entry that is left over is dead, and is dropped when it comes first, or by a sweep once the dead
//! outnumber the living. Taking it out at once would mean to look for it, and most cancelled work is far from due.

use slotmap::SlotMap;

use crate::queue::{Entry, EntryQueue, Queue};
use crate::units::RealTime;
use crate::wheel::Wheel;

slotmap::new_key_type! {
    /// Names a pending item in the store that gave it out. An old id names nothing.
    pub struct TimerId;
}

/// Pending items by deadline, in one queue: exact, for moments of any type.
pub type DeadlineHeap<K, T> = Deadlines<K, T, Queue<K>>;

/// Pending items in real time, for masses of limits: deadlines on the grid of
/// [`WHEEL_RESOLUTION`](crate::wheel::WHEEL_RESOLUTION) cost O(1), all others what they cost in the heap.
pub type TimerWheel<T> = Deadlines<RealTime, T, Wheel>;

/// Pending items with deadlines `K`, whose order `Q` keeps. Memory is kept for reuse.
#[derive(Clone, Debug)]
pub struct Deadlines<K, T, Q> {
    items: SlotMap<TimerId, Item<K, T>>,
    queue: Q,
    next_order: u64,
}

#[derive(Clone, Debug)]
struct Item<K, T> {
    at: K,
    /// Tells the live entry of this item from those left over by moves.
    order: u64,
    item: T,
}

/// An item given out because it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken<K, T> {
    /// The id under which it was pending; stale from now on.
    pub id: TimerId,
    /// Its nominal deadline: the logical time of what it does.
    pub at: K,
    /// What was scheduled.
    pub item: T,
}

impl<K: Copy + Ord, T, Q: EntryQueue<K>> Deadlines<K, T, Q> {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            items: SlotMap::with_key(),
            queue: Q::default(),
            next_order: 0,
        }
    }

    /// Adds `item`, due from `at` on; a moment already passed is due at once. O(log n) or better.
    pub fn schedule(&mut self, at: K, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.items.insert(Item { at, order, item });
        self.queue.push(Entry { at, order, id });
        id
    }

    /// Takes a pending item back; `None` if `id` is stale. O(1), amortised.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        let Item { at, order, item } = self.items.remove(id)?;
        self.forget(Entry { at, order, id });
        Some(item)
    }

    /// Moves a pending item to `at` and behind everything registered so far; its id stays. Answers whether there was
    /// such an item.
    pub fn reschedule(&mut self, id: TimerId, at: K) -> bool {
        let order = self.take_order();
        let Some(item) = self.items.get_mut(id) else {
            return false;
        };
        let dead = Entry {
            at: item.at,
            order: item.order,
            id,
        };
        (item.at, item.order) = (at, order);
        self.queue.push(Entry { at, order, id });
        self.forget(dead);
        true
    }

    /// The earliest deadline, `None` if nothing is pending. O(1).
    pub fn next_deadline(&self) -> Option<K> {
        self.queue.next_deadline()
    }

    /// Gives out the earliest item with a deadline of at most `now`.
    pub fn take_due(&mut self, now: K) -> Option<Taken<K, T>> {
        let items = &self.items;
        let Entry { at, id, .. } = self.queue.pop_due(now, |entry| is_live(items, entry))?;
        let item = self.items.remove(id).expect("the first entry is live").item;
        Some(Taken { id, at, item })
    }

    /// The pending item, to be changed in place; `None` if `id` is stale.
    pub fn get_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.items.get_mut(id).map(|item| &mut item.item)
    }

    /// The deadline of a pending item.
    pub fn deadline_of(&self, id: TimerId) -> Option<K> {
        self.items.get(id).map(|item| item.at)
    }

    /// How many items are pending.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops everything pending.
    pub fn clear(&mut self) {
        self.items.clear();
        self.queue.clear();
    }

    /// Everything pending by deadline, then registration; for snapshots and lists, O(n log n).
    pub fn in_order(&self) -> Vec<(K, &T)> {
        let mut items: Vec<_> = self.items.values().collect();
        items.sort_unstable_by_key(|item| (item.at, item.order));
        items.into_iter().map(|item| (item.at, &item.item)).collect()
    }

    fn forget(&mut self, dead: Entry<K>) {
        let items = &self.items;
        self.queue
            .forget(&dead, items.len(), |entry| is_live(items, entry));
    }

    fn take_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }
}

impl<K: Copy + Ord, T> DeadlineHeap<K, T> {
    /// What [`Self::take_due`] would give out next, and its deadline.
    pub fn first(&self) -> Option<(K, &T)> {
        let first = self.queue.first()?;
        Some((first.at, &self.items.get(first.id)?.item))
    }
}

impl<K: Copy + Ord, T, Q: EntryQueue<K>> Default for Deadlines<K, T, Q> {
    fn default() -> Self {
        Self::new()
    }
}

fn is_live<K, T>(items: &SlotMap<TimerId, Item<K, T>>, entry: &Entry<K>) -> bool {
    items.get(entry.id).is_some_and(|item| item.order == entry.order)
}

#[cfg(test)]
mod tests;
