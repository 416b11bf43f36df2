//! The order of deadlines in real time: a timer wheel for those on a grid of 8 ms, a queue for all others.
//!
//! Limits on connections come in masses, are seldom reached, and need not be exact: they are rounded up to the grid
//! ([`round_up`]). All deadlines of one step then share a slot and a wake-up, and setting or lifting one costs the same
//! whatever else is pending.
//!
//! ```text
//!           cursor: earlier steps are over                      cursor + slots
//!  exact     │                                                       │   far
//!  (queue)   ├───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┤   (queue)
//!  ◄─ taken  │ ▪ │   │   │ ▪ │   │   │   │   │ ▪ │   │   │   │   │   │   ──► enters the ring when
//!            └───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┘       its step comes within it
//! ```
//!
//! The ring holds one revolution ahead of the cursor and nothing else, so a slot is one instant: an occupied slot is a
//! deadline, and the first one is the next. What is due moves to the exact queue and is taken from there, so grid and other
//! deadlines come out in one order. A pause makes the cursor jump from one occupied slot to the next, not walk.

use crate::queue::{DEAD_MIN, Entry, Queue};
use crate::units::{RealSpan, RealTime};

/// The grid: fine for time-outs, and at most 125 wake-ups a second for any number of them.
pub const WHEEL_RESOLUTION: RealSpan = RealSpan::from_millis(8);

const STEP_NS: i64 = WHEEL_RESOLUTION.as_nanos();

/// Slots: a revolution of about four seconds. Later deadlines wait in a queue, and most are cancelled there.
const SLOTS: usize = 512;

/// Entries for which a slot takes memory at first: more than a usual server has in one step.
const SLOT_ENTRIES: usize = 64;

/// Dead entries that a slot always keeps: dropping a few costs more than it frees.
const SLOT_DEAD_MIN: usize = 16;

/// The first instant of the grid that is not before `at`.
pub fn round_up(at: RealTime) -> RealTime {
    let (nanos, rest) = (at.as_nanos(), at.as_nanos().rem_euclid(STEP_NS));
    let up = if rest == 0 { 0 } else { STEP_NS - rest };
    RealTime::from_nanos(nanos.saturating_add(up))
}

/// The order of a [`TimerWheel`](crate::TimerWheel). An entry for which `is_live` answers no is dead: the first one in
/// order never is.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    /// Deadlines between steps, and those of steps that are over.
    exact: Queue,
    slots: Vec<Slot>,
    /// Bit `s % 64` of word `s / 64` says whether anything in slot `s` is alive.
    occupied: [u64; SLOTS / 64],
    /// Deadlines on the grid beyond the ring.
    far: Queue,
    /// The first step that is not over. Steps are counted from the origin of real time.
    cursor: i64,
    /// Live entries in all slots.
    live: usize,
    /// Memory of slots that are empty now.
    spare: Vec<Vec<Entry>>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    entries: Vec<Entry>,
    live: usize,
}

impl Wheel {
    /// Entries held, dead ones included.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        let in_slots: usize = self.slots.iter().map(|slot| slot.entries.len()).sum();
        in_slots + self.exact.len() + self.far.len()
    }

    fn horizon(&self) -> i64 {
        self.cursor + SLOTS as i64
    }

    /// The first step of the ring with anything alive in it.
    fn first_step(&self) -> Option<i64> {
        let here = slot_of(self.cursor);
        let words = self.occupied.len();
        // The word of the cursor is looked at first for the slots from it on, and last for those before it.
        let found = (0..=words).find_map(|turn| {
            let word = (here / 64 + turn) % words;
            let bits = self.occupied[word]
                & if turn == 0 {
                    u64::MAX << (here % 64)
                } else {
                    u64::MAX
                };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })?;
        Some(self.cursor + (found as i64 - here as i64).rem_euclid(SLOTS as i64))
    }

    fn push_into_slot(&mut self, step: i64, entry: Entry) {
        let index = slot_of(step);
        let slot = &mut self.slots[index];
        if slot.live == 0 {
            let entries = self.spare.pop();
            slot.entries = entries.unwrap_or_else(|| Vec::with_capacity(SLOT_ENTRIES));
            self.occupied[index / 64] |= 1 << (index % 64);
        }
        slot.entries.push(entry);
        slot.live += 1;
        self.live += 1;
    }

    /// Empties a slot; answers what was in it, dead entries included.
    fn empty_slot(&mut self, index: usize) -> Vec<Entry> {
        let slot = std::mem::take(&mut self.slots[index]);
        self.live -= slot.live;
        self.occupied[index / 64] &= !(1 << (index % 64));
        slot.entries
    }

    /// Ends all steps before `cursor`, and lets in what is no longer far.
    fn advance_to(&mut self, cursor: i64, is_live: impl Fn(&Entry) -> bool) {
        while let Some(step) = self.first_step().filter(|&step| step < cursor) {
            let mut entries = self.empty_slot(slot_of(step));
            for entry in entries.drain(..).rev().filter(&is_live) {
                self.exact.push(entry);
            }
            self.spare.push(entries);
        }
        self.cursor = cursor;
        while self
            .far
            .first()
            .is_some_and(|first| first.at.as_nanos() / STEP_NS < self.horizon())
        {
            if let Some(entry) = self.far.pop(&is_live) {
                self.push(entry);
            }
        }
    }

    /// Called when an entry in the slot of `step` died. A slot keeps a few dead entries, and none once nothing in it is
    /// alive.
    fn forget_in_slot(&mut self, step: i64, is_live: impl Fn(&Entry) -> bool) {
        let index = slot_of(step);
        let slot = &mut self.slots[index];
        if slot.live == 1 {
            let mut entries = self.empty_slot(index);
            entries.clear();
            self.spare.push(entries);
            return;
        }
        slot.live -= 1;
        self.live -= 1;
        if slot.entries.len() > 2 * slot.live + SLOT_DEAD_MIN {
            slot.entries.retain(is_live);
        }
    }
}

impl Wheel {
    /// Adds a live entry.
    pub(crate) fn push(&mut self, entry: Entry) {
        match step_of(entry.at) {
            Some(step) if step >= self.horizon() => self.far.push(entry),
            Some(step) if step >= self.cursor => self.push_into_slot(step, entry),
            _ => self.exact.push(entry),
        }
    }

    /// The deadline of the first entry.
    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        let exact = self.exact.next_deadline();
        let on_grid = match self.first_step() {
            Some(step) => Some(RealTime::from_nanos(step * STEP_NS)),
            None => self.far.next_deadline(),
        };
        exact.into_iter().chain(on_grid).min()
    }

    /// Takes the first entry if its deadline is at most `now`.
    pub(crate) fn pop_due(&mut self, now: RealTime, is_live: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let reached = now.as_nanos().div_euclid(STEP_NS);
        if reached >= self.cursor {
            self.advance_to(reached + 1, &is_live);
        }
        self.exact.pop_due(now, is_live)
    }

    /// Called when `dead` died, after its successor, if any, was pushed; so many `items` are left.
    pub(crate) fn forget(&mut self, dead: &Entry, items: usize, is_live: impl Fn(&Entry) -> bool) {
        match step_of(dead.at) {
            Some(step) if step >= self.horizon() => self.far.drop_if_first(dead, &is_live),
            Some(step) if step >= self.cursor => self.forget_in_slot(step, &is_live),
            _ => self.exact.drop_if_first(dead, &is_live),
        }
        let queued = self.exact.len() + self.far.len();
        let queued_live = items - self.live;
        if queued - queued_live > items.max(DEAD_MIN) {
            self.exact.sweep_next(&is_live);
            self.far.sweep_next(is_live);
        }
    }
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            exact: Queue::default(),
            slots: vec![Slot::default(); SLOTS],
            occupied: [0; SLOTS / 64],
            far: Queue::default(),
            cursor: 0,
            live: 0,
            spare: Vec::new(),
        }
    }
}

/// The step of a deadline on the grid, `None` for one between two steps.
fn step_of(at: RealTime) -> Option<i64> {
    (at.as_nanos() % STEP_NS == 0).then(|| at.as_nanos() / STEP_NS)
}

fn slot_of(step: i64) -> usize {
    step.rem_euclid(SLOTS as i64) as usize
}
