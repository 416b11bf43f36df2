//! What both stores keep of their items: where they lie, their deadlines, and which entries still speak for them.
//!
//! A store queues small entries and leaves the items here. Cancelling or moving an item only changes its number of
//! registration; the entry that is left over is dead, and is dropped when it becomes near, when it comes first, or by a
//! sweep once the dead outnumber the living. Taking it out at once would mean to look for it, and most work that is
//! cancelled is far from being due.
//!
//! Where entries lie, and in what order they become due, is the store's to know.

use crate::entry::{Entry, Order};
use crate::queue::Queue;
use crate::slots::Slots;
use crate::store::{Taken, TimerId};

/// Items by id, and the entries of those that wait for the next pass.
#[derive(Clone, Debug)]
pub(crate) struct Pending<K, T> {
    items: Slots<Item<K, T>>,
    deferred: Queue<K>,
    next_order: Order,
}

#[derive(Clone, Debug)]
struct Item<K, T> {
    at: K,
    /// Tells the entry that speaks for this item from those left over by moves and earlier tenants.
    order: Order,
    item: T,
}

/// Dead entries that are always borne: sweeping a few costs more than it frees.
pub(crate) const DEAD_MIN: usize = 64;

impl<K: Copy + Ord, T> Pending<K, T> {
    pub(crate) const fn new() -> Self {
        Self {
            items: Slots::new(),
            deferred: Queue::new(),
            next_order: Order::MIN,
        }
    }

    /// Adds an item; the entry answered speaks for it, and is to be queued.
    pub(crate) fn add(&mut self, at: K, item: T) -> (TimerId, Entry<K>) {
        let order = self.take_order();
        let id = self.items.insert(Item { at, order, item });
        let slot = id.slot();
        (id, Entry { at, order, slot })
    }

    /// Adds an item whose entry is kept here until [`Self::release`] gives it out.
    pub(crate) fn add_deferred(&mut self, at: K, item: T) -> TimerId {
        let order = self.take_order().deferred(true);
        let id = self.items.insert(Item { at, order, item });
        let slot = id.slot();
        self.deferred.push(Entry { at, order, slot });
        id
    }

    /// The next entry that waited for this pass; to be queued. It keeps its place in the order of registration.
    pub(crate) fn release(&mut self) -> Option<Entry<K>> {
        let Self { items, deferred, .. } = self;
        let mut entry = deferred.pop(|entry| speaks(items, entry))?;
        let item = items.at_mut(entry.slot).expect("the first entry speaks");
        item.order = item.order.deferred(false);
        entry.order = item.order;
        Some(entry)
    }

    /// Takes an item back, `None` if `id` is stale. The entry answered is dead now; see [`Self::forget`].
    pub(crate) fn remove(&mut self, id: TimerId) -> Option<(Entry<K>, T)> {
        let Item { at, order, item } = self.items.remove(id)?;
        let slot = id.slot();
        Some((Entry { at, order, slot }, item))
    }

    /// Moves an item behind everything registered so far; `None` if `id` is stale.
    ///
    /// Of the entries answered the first is dead now, see [`Self::forget`], and the second is to be queued.
    pub(crate) fn move_to(&mut self, id: TimerId, at: K) -> Option<(Entry<K>, Entry<K>)> {
        let order = self.take_order();
        let item = self.items.get_mut(id)?;
        let slot = id.slot();
        let (at_before, order_before) = (item.at, item.order);
        (item.at, item.order) = (at, order);
        let before = Entry {
            at: at_before,
            order: order_before,
            slot,
        };
        Some((before, Entry { at, order, slot }))
    }

    /// Takes the item that `entry` speaks for.
    ///
    /// # Panics
    /// If it speaks for none.
    pub(crate) fn take(&mut self, entry: Entry<K>) -> Taken<K, T> {
        let (id, Item { item, .. }) = self.items.vacate(entry.slot);
        Taken {
            id,
            at: entry.at,
            item,
        }
    }

    /// Whether an entry is not dead.
    pub(crate) fn speaks(&self, entry: &Entry<K>) -> bool {
        speaks(&self.items, entry)
    }

    /// Called when the entry numbered `order` died, after its successor, if any, was queued. `queues` are the store's;
    /// `elsewhere` says how many live entries lie in none of them.
    pub(crate) fn forget<const N: usize>(
        &mut self,
        order: Order,
        mut queues: [&mut Queue<K>; N],
        elsewhere: usize,
    ) {
        let Self { items, deferred, .. } = self;
        let speaks = |entry: &Entry<K>| speaks(items, entry);
        let mut entries = elsewhere;
        for queue in queues
            .iter_mut()
            .map(|queue| &mut **queue)
            .chain([&mut *deferred])
        {
            if queue.first().is_some_and(|first| first.order == order) {
                queue.drop_dead_firsts(speaks);
            }
            entries += queue.len();
        }
        if entries - items.len() > items.len().max(DEAD_MIN) {
            // A part only, so that no call goes through everything; it is asked for again as long as need be.
            for queue in queues.into_iter().chain([deferred]) {
                queue.sweep_next(speaks);
            }
        }
    }

    /// The item that an entry speaks for, if it is not dead.
    pub(crate) fn of(&self, entry: &Entry<K>) -> Option<&T> {
        self.items.at(entry.slot).map(|item| &item.item)
    }

    /// The earlier of `ready`, when the store's own next entry may be taken, and the first of those that wait for the
    /// next pass, which its `ready_at` tells of a deadline.
    pub(crate) fn next_deadline(&self, ready: Option<K>, ready_at: impl FnOnce(K) -> K) -> Option<K> {
        match (ready, self.deferred.first()) {
            (Some(ready), Some(deferred)) => Some(ready.min(ready_at(deferred.at))),
            (ready, None) => ready,
            (None, Some(deferred)) => Some(ready_at(deferred.at)),
        }
    }

    pub(crate) fn get(&self, id: TimerId) -> Option<&T> {
        self.items.get(id).map(|item| &item.item)
    }

    pub(crate) fn get_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.items.get_mut(id).map(|item| &mut item.item)
    }

    pub(crate) fn deadline_of(&self, id: TimerId) -> Option<K> {
        self.items.get(id).map(|item| item.at)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Drops everything; the store empties its own queues.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.deferred.clear();
    }

    pub(crate) fn in_order(&self) -> Vec<(K, &T)> {
        let mut items: Vec<_> = self.items.iter_unsorted().collect();
        items.sort_unstable_by_key(|item| (item.at, item.order));
        items.into_iter().map(|item| (item.at, &item.item)).collect()
    }

    fn take_order(&mut self) -> Order {
        let next = self.next_order.next();
        std::mem::replace(&mut self.next_order, next)
    }
}

fn speaks<K: Copy + Ord, T>(items: &Slots<Item<K, T>>, entry: &Entry<K>) -> bool {
    items.at(entry.slot).is_some_and(|item| item.order == entry.order)
}
