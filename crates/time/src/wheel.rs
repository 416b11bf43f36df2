//! The coarse store: a hashed wheel for masses of timers that need not be exact (R-003-15).
//!
//! Time is cut into steps of the resolution. What is due within a step is given out at the end of that step:
//! never early, late by less than the resolution, and with one wake-up for all of it. Scheduling, cancelling
//! and taking do not depend on how much is pending.
//!
//! ```text
//!             cursor: steps before it are over                    cursor + slots
//!  due         │                                                       │   far
//!  (in order)  ├───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┤   (in order of deadline)
//!  ◄── taken   │ ▪ │   │   │ ▪ │   │   │   │   │ ▪ │   │   │   │   │   │   ──► enters the ring when
//!              └───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┘       its step comes within it
//! ```
//!
//! The ring holds one revolution ahead of the cursor and nothing else, so a slot never mixes revolutions: an
//! occupied slot is a deadline, and the first one is the next (R-003-26). Wheels that leave later revolutions in
//! their slots must guess, and are known for it: a later timer hides an earlier deadline, or the cursor's own
//! slot is reported a revolution late. What lies beyond the ring waits in a queue by deadline and is looked at
//! once. A pause makes the cursor jump from one occupied slot to the next, not walk (R-003-21).
//!
//! A step's entries are put in order when the step is over; so what is due comes out by deadline, then
//! registration, like from the exact store (R-003-28).

use crate::chunks::{Chunks, List};
use crate::queue::{Entry, Order, Queue};
use crate::ring::{Occupied, RING_SLOTS_MAX};
use crate::slots::Slots;
use crate::store::{Taken, TimerId, deadline_store};
use crate::units::{RealSpan, RealTime};

/// The resolution unless told otherwise: fine for time-outs, and at most 125 wake-ups a second for any number.
pub const WHEEL_RESOLUTION: RealSpan = RealSpan::from_millis(8);

/// Slots unless told otherwise: a revolution of about four seconds, within which most timers end.
pub const WHEEL_SLOTS: usize = 512;

/// Pending work by deadline, in steps of a resolution; see [`crate::store`] for the contract.
///
/// [`Self::next_deadline`] and [`Self::take_due`] round a deadline up to the end of its step. All else tells
/// deadlines as they were set. Memory is kept for reuse: turning allocates nothing (R-003-29).
#[derive(Clone, Debug)]
pub struct TimerWheel<T> {
    resolution_ns: i64,
    slots: Slots<Pending<T>>,
    /// The first step that is not over. Steps are counted from the origin of real time.
    cursor: i64,
    ring: Vec<Slot>,
    occupied: Occupied,
    entries: Chunks<Entry<RealTime>>,
    /// Live items in the ring.
    ring_len: usize,
    /// Entries of steps that are over.
    due: Queue<RealTime>,
    /// Entries beyond the ring.
    far: Queue<RealTime>,
    /// Entries that wait for the next pass.
    deferred: Queue<RealTime>,
    next_order: Order,
    /// The last `now` that was asked for, and the end of the last step that was over then.
    sampled: (RealTime, RealTime),
    /// Room for the entries of one slot.
    batch: Vec<Entry<RealTime>>,
    steps: u64,
}

#[derive(Clone, Debug)]
struct Pending<T> {
    at: RealTime,
    /// Tells the entry that speaks for this item from those left over by moves and earlier tenants.
    order: Order,
    is_deferred: bool,
    item: T,
}

/// What falls due in one step.
#[derive(Clone, Copy, Debug)]
struct Slot {
    list: List,
    live: u32,
}

/// Dead entries that are always borne: sweeping a few costs more than it frees.
const DEAD_MIN: usize = 64;

impl<T> TimerWheel<T> {
    /// A wheel of the usual size.
    pub fn new() -> Self {
        Self::with_size(WHEEL_RESOLUTION, WHEEL_SLOTS)
    }

    /// A wheel with steps of `resolution` and at least `slots` of them in a revolution; the number of slots is
    /// rounded up to a power of two, from 64 to 4,096.
    ///
    /// # Panics
    /// If `resolution` is not positive; settings are checked where they are read.
    pub fn with_size(resolution: RealSpan, slots: usize) -> Self {
        assert!(resolution > RealSpan::ZERO, "a step takes time");
        let slots = slots.clamp(64, RING_SLOTS_MAX).next_power_of_two();
        Self {
            resolution_ns: resolution.as_nanos(),
            slots: Slots::new(),
            cursor: 0,
            ring: vec![
                Slot {
                    list: List::EMPTY,
                    live: 0
                };
                slots
            ],
            occupied: Occupied::new(slots),
            entries: Chunks::new(),
            ring_len: 0,
            due: Queue::new(),
            far: Queue::new(),
            deferred: Queue::new(),
            next_order: Order::MIN,
            sampled: (RealTime::ZERO, RealTime::ZERO),
            batch: Vec::new(),
            steps: 0,
        }
    }

    /// Adds `item`, due from `at` on; a moment already passed is due at once.
    pub fn schedule(&mut self, at: RealTime, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.slots.insert(Pending {
            at,
            order,
            is_deferred: false,
            item,
        });
        self.place(Entry {
            at,
            order,
            slot: id.slot(),
        });
        id
    }

    /// Adds `item`, due from `at` on, but not given out before the next [`Self::begin_pass`] (R-000-7).
    pub fn schedule_next_pass(&mut self, at: RealTime, item: T) -> TimerId {
        let order = self.take_order();
        let id = self.slots.insert(Pending {
            at,
            order,
            is_deferred: true,
            item,
        });
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
            if let Some(pending) = self.slots.at_mut(entry.slot)
                && pending.order == entry.order
            {
                pending.is_deferred = false;
                self.place(entry);
            }
        }
    }

    /// Takes a pending item back; `None` if `id` is stale (R-000-9). O(1), amortised.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        let Pending {
            at,
            order,
            is_deferred,
            item,
        } = self.slots.remove(id)?;
        self.forget(at, order, is_deferred);
        Some(item)
    }

    /// Moves a pending item to `at` and behind everything registered so far; its id stays (R-000-12).
    ///
    /// Answers whether there was such an item. It may be taken in this pass if `at` is reached, even
    /// if it waited for the next one.
    pub fn reschedule(&mut self, id: TimerId, at: RealTime) -> bool {
        let order = self.take_order();
        let Some(pending) = self.slots.get_mut(id) else {
            return false;
        };
        let before = (pending.at, pending.order, pending.is_deferred);
        (pending.at, pending.order, pending.is_deferred) = (at, order, false);
        self.place(Entry {
            at,
            order,
            slot: id.slot(),
        });
        self.forget(before.0, before.1, before.2);
        true
    }

    /// When to come next: the end of the step of the earliest deadline; `None` if nothing is pending (R-003-26).
    pub fn next_deadline(&self) -> Option<RealTime> {
        let ready = if let Some(first) = self.due.first() {
            Some(self.ready_at(first.at))
        } else if let Some(step) = self.first_occupied_step() {
            Some(self.end_of(step))
        } else {
            self.far.first().map(|first| self.ready_at(first.at))
        };
        let deferred = self.deferred.first().map(|first| self.ready_at(first.at));
        match (ready, deferred) {
            (Some(ready), Some(deferred)) => Some(ready.min(deferred)),
            (one, other) => one.or(other),
        }
    }

    /// Gives out the earliest item whose step is over at `now`; by deadline, then registration.
    pub fn take_due(&mut self, now: RealTime) -> Option<Taken<RealTime, T>> {
        if self.sampled.0 != now {
            let step = now.as_nanos().div_euclid(self.resolution_ns);
            self.sampled = (now, self.end_of(step));
        }
        let steps_end = self.sampled.1;
        if self.due.first().is_none() {
            self.turn_to(steps_end);
        }
        if self.due.first()?.at > steps_end {
            return None;
        }
        let first = self.due.pop()?;
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

    /// The deadline of a pending item, as it was set.
    pub fn deadline_of(&self, id: TimerId) -> Option<RealTime> {
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
        for queue in [&mut self.due, &mut self.far, &mut self.deferred] {
            queue.clear();
        }
        while let Some(slot) = self.occupied.first_from(0) {
            self.empty(slot);
        }
        self.ring_len = 0;
    }

    /// Everything pending by deadline, then registration; for snapshots and digests, O(n log n).
    pub fn in_order(&self) -> Vec<(RealTime, &T)> {
        let mut pending: Vec<_> = self.slots.iter_unsorted().collect();
        pending.sort_unstable_by_key(|pending| (pending.at, pending.order));
        pending
            .into_iter()
            .map(|pending| (pending.at, &pending.item))
            .collect()
    }

    /// From when on an item with deadline `at` is given out: `at` rounded up to the end of a step.
    pub fn ready_at(&self, at: RealTime) -> RealTime {
        self.end_of(self.step_of(at))
    }

    /// The length of a step.
    pub fn resolution(&self) -> RealSpan {
        RealSpan::from_nanos(self.resolution_ns)
    }

    /// Steps that went by so far, looked at or not (R-003-59).
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The step at whose end `at` is given out: the number of whole and begun steps up to it.
    fn step_of(&self, at: RealTime) -> i64 {
        let (nanos, step_ns) = (at.as_nanos(), self.resolution_ns);
        nanos.div_euclid(step_ns) + i64::from(nanos.rem_euclid(step_ns) != 0)
    }

    fn end_of(&self, step: i64) -> RealTime {
        RealTime::from_nanos(step.saturating_mul(self.resolution_ns))
    }

    fn slot_of(&self, step: i64) -> usize {
        (step & (self.ring.len() as i64 - 1)) as usize
    }

    fn horizon(&self) -> i64 {
        self.cursor.saturating_add(self.ring.len() as i64)
    }

    fn first_occupied_step(&self) -> Option<i64> {
        let here = self.slot_of(self.cursor);
        let slot = self.occupied.first_from(here)?;
        // The ring holds one revolution from the cursor on: a slot before the cursor's is of the next lap.
        Some(self.cursor + (slot as i64 - here as i64).rem_euclid(self.ring.len() as i64))
    }

    /// Puts an entry where its step belongs.
    fn place(&mut self, entry: Entry<RealTime>) {
        let step = self.step_of(entry.at);
        if step < self.cursor {
            self.due.push(entry);
        } else if step < self.horizon() {
            let index = self.slot_of(step);
            let slot = &mut self.ring[index];
            self.entries.push(&mut slot.list, entry);
            slot.live += 1;
            self.ring_len += 1;
            self.occupied.set(index);
        } else {
            self.far.push(entry);
        }
    }

    /// Turns the wheel until something is due or all steps up to `steps_end` are over.
    fn turn_to(&mut self, steps_end: RealTime) {
        let over = (steps_end.as_nanos() / self.resolution_ns).saturating_add(1);
        while self.due.first().is_none() && self.cursor < over {
            match self.first_occupied_step() {
                Some(step) if step < over => {
                    self.collect(step);
                    self.move_cursor(step + 1);
                }
                // What is far and due comes into the ring first: its order is that of all else.
                None if self
                    .far
                    .first()
                    .is_some_and(|first| self.step_of(first.at) < over) =>
                {
                    let step = self.far.first().map_or(over, |first| self.step_of(first.at));
                    self.move_cursor(step);
                }
                _ => self.move_cursor(over),
            }
        }
    }

    /// Moves the cursor on, and lets in what is no longer far.
    fn move_cursor(&mut self, cursor: i64) {
        self.steps += cursor.abs_diff(self.cursor);
        self.cursor = cursor;
        let horizon = self.horizon();
        while let Some(first) = self.far.first()
            && self.step_of(first.at) < horizon
        {
            let Some(entry) = self.far.pop() else { break };
            if speaks(&self.slots, &entry) {
                self.place(entry);
            }
        }
        self.drop_dead_firsts();
    }

    /// Makes the entries of a step that is over due.
    fn collect(&mut self, step: i64) {
        let index = self.slot_of(step);
        let slot = &mut self.ring[index];
        let live = std::mem::take(&mut slot.live) as usize;
        self.ring_len -= live;
        self.occupied.unset(index);
        self.entries.drain(&mut slot.list, &mut self.batch);
        if self.batch.len() > live {
            self.batch.retain(|entry| speaks(&self.slots, entry));
        }
        self.due.fill(&mut self.batch);
    }

    /// Empties a slot of the ring that nothing alive is in.
    fn empty(&mut self, index: usize) {
        self.ring[index].live = 0;
        self.entries.drain(&mut self.ring[index].list, &mut self.batch);
        self.batch.clear();
        self.occupied.unset(index);
    }

    /// Called when the entry numbered `order`, with deadline `at`, no longer speaks for anything.
    fn forget(&mut self, at: RealTime, order: Order, is_deferred: bool) {
        let step = self.step_of(at);
        if !is_deferred && (self.cursor..self.horizon()).contains(&step) {
            self.forget_in_ring(self.slot_of(step));
            return;
        }
        let is_first = |queue: &Queue<RealTime>| queue.first().is_some_and(|first| first.order == order);
        if is_first(&self.due) || is_first(&self.far) || is_first(&self.deferred) {
            self.drop_dead_firsts();
        }
        if self.dead_in_queues() > self.len().max(DEAD_MIN) {
            // A part only, so that no call goes through everything; it is asked for again as long as need be.
            for queue in [&mut self.due, &mut self.far, &mut self.deferred] {
                queue.sweep_next(|entry| speaks(&self.slots, entry));
            }
        }
    }

    fn forget_in_ring(&mut self, index: usize) {
        let slot = &mut self.ring[index];
        slot.live -= 1;
        self.ring_len -= 1;
        let (live, held) = (slot.live as usize, slot.list.len());
        if live == 0 {
            self.empty(index);
        } else if held > 2 * live + DEAD_MIN {
            self.entries.drain(&mut self.ring[index].list, &mut self.batch);
            for entry in self.batch.drain(..) {
                if speaks(&self.slots, &entry) {
                    self.entries.push(&mut self.ring[index].list, entry);
                }
            }
        }
    }

    fn dead_in_queues(&self) -> usize {
        self.due.len() + self.far.len() + self.deferred.len() + self.ring_len - self.len()
    }

    fn drop_dead_firsts(&mut self) {
        if self.dead_in_queues() == 0 {
            return;
        }
        for queue in [&mut self.due, &mut self.far, &mut self.deferred] {
            while queue.first().is_some_and(|first| !speaks(&self.slots, first)) {
                queue.pop();
            }
        }
    }

    fn take_order(&mut self) -> Order {
        let order = self.next_order;
        self.next_order = order.checked_add(1).expect("64 bits outlast every process");
        order
    }
}

fn speaks<T>(slots: &Slots<Pending<T>>, entry: &Entry<RealTime>) -> bool {
    slots
        .at(entry.slot)
        .is_some_and(|pending| pending.order == entry.order)
}

impl<T> Default for TimerWheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

deadline_store!(<T> TimerWheel<T>, T, at RealTime, steps);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_x_44_garbage_of_cancels_and_moves_stays_bounded() {
        let mut wheel = TimerWheel::new();
        let ids: Vec<_> = (0..1_000)
            .map(|item| wheel.schedule(RealTime::from_nanos(item), item))
            .collect();
        let mut held_max = 0;
        for round in 0..1_000_000_i64 {
            // By turns into the ring, into one slot of it, and far beyond it.
            let ahead_ns =
                [4_000_000 * (round % 1_000), 4_000_000_000, 60_000_000_000 + round][round as usize % 3];
            let at = RealTime::from_nanos(ahead_ns);
            assert!(wheel.reschedule(ids[(round * 7919 % 1_000) as usize], at));
            let doomed = wheel.schedule(at, 0);
            assert_eq!(wheel.cancel(doomed), Some(0));
            if round % 97 == 0 {
                let in_ring: usize = wheel.ring.iter().map(|slot| slot.list.len()).sum();
                held_max = held_max.max(in_ring + wheel.far.len() + wheel.due.len());
            }
        }
        // Each of 512 slots may keep a few dead entries.
        assert!(
            held_max < 1_000 * 4 + 512 * 64,
            "{held_max} entries for a thousand items"
        );
        assert_eq!(wheel.in_order().len(), 1_000);
    }
}
