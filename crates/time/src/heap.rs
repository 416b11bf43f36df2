//! The exact store: a min-heap of small entries over a slab of items.
//!
//! The heap has four children to a node and holds (deadline, order of registration, place in the slab).
//! Cancelling only empties the place; the entry that is left over is dropped when it reaches the top, or
//! with all others of its kind once they outnumber the living. An indexed heap, which would remove it at
//! once, pays for that with a random write to the slab at every step of every sift.
//!
//! The top entry is kept alive at all times, so that the next deadline is a plain read.

use crate::slots::Slots;
use crate::store::{DeadlineStore, Taken, TimerId};

/// Pending work by deadline; see [`crate::store`] for the contract.
///
/// `K` is the moment: `RealTime`, `GameTime`, or any totally ordered key that begins with one. Memory is
/// kept for reuse, so a steady state allocates nothing (R-000-18).
#[derive(Clone, Debug)]
pub struct DeadlineHeap<K, T> {
    slots: Slots<Pending<K, T>>,
    /// Entries that may be taken.
    ready: Vec<Entry<K>>,
    /// Entries that wait for the next pass.
    deferred: Vec<Entry<K>>,
    /// Given to the next registration. 64 bits last for centuries at any rate that can be reached.
    next_order: u64,
}

#[derive(Clone, Debug)]
struct Pending<K, T> {
    at: K,
    /// Tells the entry that speaks for this item from those left over by moves and earlier tenants.
    order: u64,
    item: T,
}

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    at: K,
    order: u64,
    slot: u32,
}

/// Dead entries that are always borne: sweeping tiny heaps costs more than it frees.
const DEAD_MIN: usize = 64;

impl<K: Copy + Ord, T> DeadlineHeap<K, T> {
    /// An empty store; takes memory with the first item.
    pub const fn new() -> Self {
        Self {
            slots: Slots::new(),
            ready: Vec::new(),
            deferred: Vec::new(),
            next_order: 0,
        }
    }

    /// Adds `item`, due from `at` on; a moment already passed is due at once. O(1) on average, O(log n) at worst.
    pub fn schedule(&mut self, at: K, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.slots.insert(Pending { at, order, item });
        push(
            &mut self.ready,
            Entry {
                at,
                order,
                slot: id.slot(),
            },
        );
        id
    }

    /// Adds `item`, due from `at` on, but not given out before the next [`Self::begin_pass`] (R-000-7).
    pub fn schedule_next_pass(&mut self, at: K, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.slots.insert(Pending { at, order, item });
        push(
            &mut self.deferred,
            Entry {
                at,
                order,
                slot: id.slot(),
            },
        );
        id
    }

    /// Lets go of what waited for the next pass. It keeps its place in the order of registration.
    pub fn begin_pass(&mut self) {
        for entry in self.deferred.drain(..) {
            if speaks(&self.slots, &entry) {
                push(&mut self.ready, entry);
            }
        }
    }

    /// Takes a pending item back; `None` if `id` is stale (R-000-9). O(1) on average, amortised.
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
        let order = self.next_order;
        let Some(pending) = self.slots.get_mut(id) else {
            return false;
        };
        let order_before = std::mem::replace(&mut pending.order, order);
        pending.at = at;
        self.next_order += 1;
        push(
            &mut self.ready,
            Entry {
                at,
                order,
                slot: id.slot(),
            },
        );
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

    /// Gives out the earliest item with a deadline of at most `now`; equal deadlines in order of registration.
    pub fn take_due(&mut self, now: K) -> Option<Taken<K, T>> {
        let first = *self.ready.first()?;
        if first.at > now {
            return None;
        }
        pop(&mut self.ready);
        let (id, pending) = self.slots.vacate(first.slot);
        self.drop_dead_tops();
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

    fn take_order(&mut self) -> u64 {
        let order = self.next_order;
        self.next_order += 1;
        order
    }

    /// Called when the entry numbered `order` no longer speaks for anything.
    fn forget(&mut self, order: u64) {
        let is_top = |heap: &[Entry<K>]| heap.first().is_some_and(|top| top.order == order);
        if is_top(&self.ready) || is_top(&self.deferred) {
            self.drop_dead_tops();
        }
        if self.dead() > self.slots.len().max(DEAD_MIN) {
            self.sweep();
        }
    }

    fn dead(&self) -> usize {
        self.ready.len() + self.deferred.len() - self.slots.len()
    }

    fn drop_dead_tops(&mut self) {
        if self.dead() == 0 {
            return;
        }
        for heap in [&mut self.ready, &mut self.deferred] {
            while heap.first().is_some_and(|top| !speaks(&self.slots, top)) {
                pop(heap);
            }
        }
    }

    /// Removes all dead entries. As many cancels or moves paid for it beforehand.
    fn sweep(&mut self) {
        for heap in [&mut self.ready, &mut self.deferred] {
            heap.retain(|entry| speaks(&self.slots, entry));
            heapify(heap);
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

impl<K: Copy + Ord, T> DeadlineStore<T> for DeadlineHeap<K, T> {
    type Moment = K;

    fn schedule(&mut self, at: K, item: T) -> TimerId {
        self.schedule(at, item)
    }

    fn schedule_next_pass(&mut self, at: K, item: T) -> TimerId {
        self.schedule_next_pass(at, item)
    }

    fn begin_pass(&mut self) {
        self.begin_pass();
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.cancel(id)
    }

    fn reschedule(&mut self, id: TimerId, at: K) -> bool {
        self.reschedule(id, at)
    }

    fn next_deadline(&self) -> Option<K> {
        self.next_deadline()
    }

    fn take_due(&mut self, now: K) -> Option<Taken<K, T>> {
        self.take_due(now)
    }

    fn get(&self, id: TimerId) -> Option<&T> {
        self.get(id)
    }

    fn get_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.get_mut(id)
    }

    fn deadline_of(&self, id: TimerId) -> Option<K> {
        self.deadline_of(id)
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn in_order(&self) -> Vec<(K, &T)> {
        self.in_order()
    }
}

/// Children of a node: four entries lie in two neighbouring cache lines, and the tree is half as high as
/// a binary one.
const ARITY: usize = 4;

impl<K: Copy + Ord> Entry<K> {
    fn is_before(&self, other: &Self) -> bool {
        (self.at, self.order) < (other.at, other.order)
    }
}

fn push<K: Copy + Ord>(heap: &mut Vec<Entry<K>>, entry: Entry<K>) {
    let hole = heap.len();
    heap.push(entry);
    sift_up(heap, hole, entry);
}

/// Removes the top, if there is one.
fn pop<K: Copy + Ord>(heap: &mut Vec<Entry<K>>) {
    if let Some(last) = heap.pop()
        && !heap.is_empty()
    {
        let leaf = sink_hole(heap, 0);
        sift_up(heap, leaf, last);
    }
}

/// Puts `entry` into the hole or as far above it as it belongs.
fn sift_up<K: Copy + Ord>(heap: &mut [Entry<K>], mut hole: usize, entry: Entry<K>) {
    while hole > 0 {
        let parent = (hole - 1) / ARITY;
        if !entry.is_before(&heap[parent]) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = entry;
}

/// Moves the hole down to a leaf, drawing the earliest child up each time.
///
/// The entry that will fill it came from the end of the heap and nearly always belongs near the leaves;
/// going all the way down spares comparing with it at each level.
fn sink_hole<K: Copy + Ord>(heap: &mut [Entry<K>], mut hole: usize) -> usize {
    while let Some(child) = earliest_child(heap, hole) {
        heap[hole] = heap[child];
        hole = child;
    }
    hole
}

fn earliest_child<K: Copy + Ord>(heap: &[Entry<K>], parent: usize) -> Option<usize> {
    let first = parent * ARITY + 1;
    let children = heap.get(first..heap.len().min(first + ARITY))?;
    let mut earliest = 0;
    for candidate in 1..children.len() {
        if children[candidate].is_before(&children[earliest]) {
            earliest = candidate;
        }
    }
    (!children.is_empty()).then_some(first + earliest)
}

fn heapify<K: Copy + Ord>(heap: &mut [Entry<K>]) {
    for start in (0..heap.len().div_ceil(ARITY)).rev() {
        let entry = heap[start];
        let mut hole = start;
        while let Some(child) = earliest_child(heap, hole)
            && heap[child].is_before(&entry)
        {
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = entry;
    }
}
