//! The store of deadlines in real time: items with a deadline each, given out when they are due.
//!
//! It knows nothing of its items, reads no clock and runs nothing: a loop takes one due item at a time.
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

use crate::queue::Entry;
use crate::units::RealTime;
use crate::wheel::Wheel;

slotmap::new_key_type! {
    /// Names a pending item in the store that gave it out. An old id names nothing.
    pub struct TimerId;
}

/// Pending items in real time, for masses of limits: deadlines on the grid of
/// [`WHEEL_RESOLUTION`](crate::wheel::WHEEL_RESOLUTION) cost O(1), all others O(log n). Memory is kept for reuse.
#[derive(Clone, Debug)]
pub struct TimerWheel<T> {
    items: SlotMap<TimerId, Item<T>>,
    wheel: Wheel,
    next_order: u64,
}

#[derive(Clone, Debug)]
struct Item<T> {
    at: RealTime,
    /// Tells the live entry of this item from those left over by moves.
    order: u64,
    item: T,
}

/// An item given out because it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken<T> {
    /// The id under which it was pending; stale from now on.
    pub id: TimerId,
    /// Its nominal deadline: the logical time of what it does.
    pub at: RealTime,
    /// What was scheduled.
    pub item: T,
}

impl<T> TimerWheel<T> {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            items: SlotMap::with_key(),
            wheel: Wheel::default(),
            next_order: 0,
        }
    }

    /// Adds `item`, due from `at` on; a moment already passed is due at once. O(log n) or better.
    pub fn schedule(&mut self, at: RealTime, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.items.insert(Item { at, order, item });
        self.wheel.push(Entry { at, order, id });
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
    pub fn reschedule(&mut self, id: TimerId, at: RealTime) -> bool {
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
        self.wheel.push(Entry { at, order, id });
        self.forget(dead);
        true
    }

    /// The earliest deadline, `None` if nothing is pending. O(1).
    pub fn next_deadline(&self) -> Option<RealTime> {
        self.wheel.next_deadline()
    }

    /// Gives out the earliest item with a deadline of at most `now`.
    pub fn take_due(&mut self, now: RealTime) -> Option<Taken<T>> {
        let items = &self.items;
        let Entry { at, id, .. } = self.wheel.pop_due(now, |entry| is_live(items, entry))?;
        let item = self.items.remove(id).expect("the first entry is live").item;
        Some(Taken { id, at, item })
    }

    /// How many items are pending.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn forget(&mut self, dead: Entry) {
        let items = &self.items;
        self.wheel
            .forget(&dead, items.len(), |entry| is_live(items, entry));
    }

    fn take_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }
}

impl<T> Default for TimerWheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

fn is_live<T>(items: &SlotMap<TimerId, Item<T>>, entry: &Entry) -> bool {
    items.get(entry.id).is_some_and(|item| item.order == entry.order)
}

#[cfg(test)]
mod tests;
