//! The coarse store: a hashed wheel for masses of timers that need not be exact.
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
//! occupied slot is a deadline, and the first one is the next. Wheels that leave later revolutions in
//! their slots must guess, and are known for it: a later timer hides an earlier deadline, or the cursor's own
//! slot is reported a revolution late. What lies beyond the ring waits in a queue by deadline and is looked at
//! once. A pause makes the cursor jump from one occupied slot to the next, not walk.
//!
//! A step's entries are put in order when the step is over; so what is due comes out by deadline, then
//! registration, like from the exact store.

mod chunks;
mod occupied;
mod ring;

use crate::entry::Entry;
use crate::pending::Pending;
use crate::queue::{NEAR_MAX, Queue};
use crate::store::{Taken, TimerId, deadline_store};
use crate::units::{RealSpan, RealTime};

use ring::Ring;

/// The resolution unless told otherwise: fine for time-outs, and at most 125 wake-ups a second for any number.
pub const WHEEL_RESOLUTION: RealSpan = RealSpan::from_millis(8);

/// Slots unless told otherwise: a revolution of about four seconds, within which most timers end.
pub const WHEEL_SLOTS: usize = 512;

/// Parts into which a step's entries are cut at most before they are put in order. What is left of a larger part is
/// halved when its time comes.
const PARTS_MAX: usize = 256;

/// Pending work by deadline, in steps of a resolution; see [`crate::store`] for the contract.
///
/// [`Self::next_deadline`] and [`Self::take_due`] round a deadline up to the end of its step. All else tells
/// deadlines as they were set. Memory is kept for reuse: turning allocates nothing.
#[derive(Clone, Debug)]
pub struct TimerWheel<T> {
    resolution_ns: i64,
    pending: Pending<RealTime, T>,
    /// Entries of the steps ahead, as far as it reaches.
    ring: Ring,
    /// Entries of steps that are over.
    due: Queue<RealTime>,
    /// Entries beyond the ring.
    far: Queue<RealTime>,
    /// The last `now` that was asked for, and the end of the last step that was over then.
    sampled: (RealTime, RealTime),
    /// Room for the entries of one step.
    batch: Vec<Entry<RealTime>>,
}

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
        Self {
            resolution_ns: resolution.as_nanos(),
            pending: Pending::new(),
            ring: Ring::new(slots),
            due: Queue::new(),
            far: Queue::new(),
            sampled: (RealTime::ZERO, RealTime::ZERO),
            batch: Vec::new(),
        }
    }

    /// Adds `item`, due from `at` on; a moment already passed is due at once. O(1), amortised, within the ring.
    pub fn schedule(&mut self, at: RealTime, item: T) -> TimerId {
        let (id, entry) = self.pending.add(at, item);
        self.place(entry);
        id
    }

    /// Adds `item`, due from `at` on, but not given out before the next [`Self::begin_pass`].
    pub fn schedule_next_pass(&mut self, at: RealTime, item: T) -> TimerId {
        self.pending.add_deferred(at, item)
    }

    /// Lets go of what waited for the next pass. It keeps its place in the order of registration.
    pub fn begin_pass(&mut self) {
        while let Some(entry) = self.pending.release() {
            self.place(entry);
        }
    }

    /// Takes a pending item back; `None` if `id` is stale. O(1), amortised.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        let (dead, item) = self.pending.remove(id)?;
        self.forget(&dead);
        Some(item)
    }

    /// Moves a pending item to `at` and behind everything registered so far; its id stays.
    ///
    /// Answers whether there was such an item. It may be taken in this pass if `at` is reached, even
    /// if it waited for the next one.
    pub fn reschedule(&mut self, id: TimerId, at: RealTime) -> bool {
        let Some((dead, entry)) = self.pending.move_to(id, at) else {
            return false;
        };
        self.place(entry);
        self.forget(&dead);
        true
    }

    /// When to come next: the end of the step of the earliest deadline; `None` if nothing is pending.
    pub fn next_deadline(&self) -> Option<RealTime> {
        let ready = if let Some(first) = self.due.first() {
            Some(self.ready_at(first.at))
        } else if let Some(step) = self.ring.first_step() {
            Some(self.end_of(step))
        } else {
            self.far.first().map(|first| self.ready_at(first.at))
        };
        self.pending.next_deadline(ready, |at| self.ready_at(at))
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
        let first = self.due.pop(|entry| self.pending.speaks(entry))?;
        Some(self.pending.take(first))
    }

    /// Drops everything pending; all ids become stale, none comes back.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.ring.clear();
        self.due.clear();
        self.far.clear();
    }

    /// From when on an item with deadline `at` is given out: `at` rounded up to the end of a step.
    pub fn ready_at(&self, at: RealTime) -> RealTime {
        self.end_of(self.step_of(at))
    }

    /// The length of a step.
    pub fn resolution(&self) -> RealSpan {
        RealSpan::from_nanos(self.resolution_ns)
    }

    /// Steps that went by so far, looked at or not.
    pub fn steps(&self) -> u64 {
        self.ring.steps()
    }

    /// The step at whose end `at` is given out: the number of whole and begun steps up to it.
    fn step_of(&self, at: RealTime) -> i64 {
        let (nanos, step_ns) = (at.as_nanos(), self.resolution_ns);
        nanos.div_euclid(step_ns) + i64::from(nanos.rem_euclid(step_ns) != 0)
    }

    fn end_of(&self, step: i64) -> RealTime {
        RealTime::from_nanos(step.saturating_mul(self.resolution_ns))
    }

    /// Puts an entry where its step belongs.
    fn place(&mut self, entry: Entry<RealTime>) {
        let step = self.step_of(entry.at);
        if step < self.ring.cursor() {
            self.due.push(entry);
        } else if step < self.ring.horizon() {
            self.ring.push(step, entry);
        } else {
            self.far.push(entry);
        }
    }

    /// Turns the wheel until something is due or all steps up to `steps_end` are over.
    fn turn_to(&mut self, steps_end: RealTime) {
        let over = (steps_end.as_nanos() / self.resolution_ns).saturating_add(1);
        while self.due.first().is_none() && self.ring.cursor() < over {
            match self.ring.first_step() {
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
        self.ring.advance_to(cursor);
        let horizon = self.ring.horizon();
        while let Some(first) = self.far.first()
            && self.step_of(first.at) < horizon
        {
            let Some(entry) = self.far.pop(|entry| self.pending.speaks(entry)) else {
                break;
            };
            self.place(entry);
        }
    }

    /// Makes the entries of a step that is over due.
    ///
    /// They are dealt out to parts of the step, so that each part is near when its time comes, and is put in order then.
    fn collect(&mut self, step: i64) {
        self.ring.collect(step, &mut self.batch);
        let parts = self.batch.len().div_ceil(NEAR_MAX / 2).clamp(1, PARTS_MAX);
        let shift = (self.resolution_ns.ilog2() + 1).saturating_sub(parts.ilog2());
        let parts = (self.resolution_ns >> shift) as usize + 1;
        let start_ns = self.end_of(step).as_nanos().saturating_sub(self.resolution_ns);
        let part_of = |entry: &Entry<RealTime>| {
            let into_step_ns = entry.at.as_nanos().saturating_sub(start_ns);
            (into_step_ns >> shift).clamp(0, parts as i64 - 1) as usize
        };
        let Self {
            due, pending, batch, ..
        } = self;
        due.fill(batch, parts, part_of, |entry| pending.speaks(entry));
    }

    /// Called when an entry no longer speaks for anything.
    fn forget(&mut self, dead: &Entry<RealTime>) {
        let step = self.step_of(dead.at);
        if !dead.order.is_deferred() && self.ring.holds(step) {
            self.ring.forget(step, |entry| self.pending.speaks(entry));
        } else {
            let queues = [&mut self.due, &mut self.far];
            self.pending.forget(dead.order, queues, self.ring.live());
        }
    }
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
    fn garbage_of_cancels_and_moves_stays_bounded() {
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
                held_max = held_max.max(wheel.ring.held() + wheel.far.len() + wheel.due.len());
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
