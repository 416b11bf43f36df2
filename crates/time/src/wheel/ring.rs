//! One revolution of the wheel ahead of its cursor: entries by the step in which they fall due.
//!
//! Steps are numbers here; what they are in time is the wheel's to know. Within a slot entries lie in no order.

use crate::entry::Entry;
use crate::pending::DEAD_MIN;
use crate::units::RealTime;

use super::chunks::{Chunks, List};
use super::occupied::{Occupied, RING_SLOTS_MAX};

#[derive(Clone, Debug)]
pub(super) struct Ring {
    slots: Vec<Slot>,
    occupied: Occupied,
    entries: Chunks<Entry<RealTime>>,
    /// The first step that is not over. Steps are counted from the origin of real time.
    cursor: i64,
    /// Live entries in all slots.
    live: usize,
    /// Steps that the cursor went by.
    steps: u64,
    /// Room for the entries of one slot.
    batch: Vec<Entry<RealTime>>,
}

/// What falls due in one step. It is occupied while anything in it is alive.
#[derive(Clone, Copy, Debug)]
struct Slot {
    list: List,
    live: u32,
}

impl Ring {
    /// A ring of at least so many slots: rounded up to a power of two, from 64 to 4,096.
    pub(super) fn new(slots: usize) -> Self {
        let slots = slots.clamp(64, RING_SLOTS_MAX).next_power_of_two();
        let empty = Slot {
            list: List::EMPTY,
            live: 0,
        };
        Self {
            slots: vec![empty; slots],
            occupied: Occupied::new(slots),
            entries: Chunks::new(),
            cursor: 0,
            live: 0,
            steps: 0,
            batch: Vec::new(),
        }
    }

    pub(super) fn cursor(&self) -> i64 {
        self.cursor
    }

    /// The first step beyond the ring.
    pub(super) fn horizon(&self) -> i64 {
        self.cursor.saturating_add(self.slots.len() as i64)
    }

    /// Whether a step is one of those ahead.
    pub(super) fn holds(&self, step: i64) -> bool {
        (self.cursor..self.horizon()).contains(&step)
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Adds a live entry to a step that the ring holds.
    pub(super) fn push(&mut self, step: i64, entry: Entry<RealTime>) {
        let index = self.slot_of(step);
        let slot = &mut self.slots[index];
        self.entries.push(&mut slot.list, entry);
        slot.live += 1;
        self.live += 1;
        self.occupied.set(index);
    }

    /// The first step with anything alive in it.
    pub(super) fn first_step(&self) -> Option<i64> {
        let here = self.slot_of(self.cursor);
        let slot = self.occupied.first_from(here)?;
        // The ring holds one revolution from the cursor on: a slot before the cursor's is of the next lap.
        Some(self.cursor + (slot as i64 - here as i64).rem_euclid(self.slots.len() as i64))
    }

    /// Empties a step's slot; what was in it, dead entries included, is in `out` then.
    pub(super) fn collect(&mut self, step: i64, out: &mut Vec<Entry<RealTime>>) {
        let index = self.slot_of(step);
        let slot = &mut self.slots[index];
        self.live -= std::mem::take(&mut slot.live) as usize;
        self.entries.drain(&mut slot.list, out);
        self.occupied.unset(index);
    }

    /// Moves the cursor to a step, before which all slots are empty.
    pub(super) fn advance_to(&mut self, step: i64) {
        debug_assert!(
            self.first_step().is_none_or(|first| first >= step),
            "no step is passed over"
        );
        self.steps += step.abs_diff(self.cursor);
        self.cursor = step;
    }

    /// Called when an entry of a step died. A slot keeps a few dead entries, and none once nothing in it is alive.
    pub(super) fn forget(&mut self, step: i64, speaks: impl Fn(&Entry<RealTime>) -> bool) {
        let index = self.slot_of(step);
        let slot = &mut self.slots[index];
        slot.live -= 1;
        self.live -= 1;
        let (live, held) = (slot.live as usize, slot.list.len());
        if live == 0 {
            self.empty(index);
        } else if held > 2 * live + DEAD_MIN {
            self.entries.drain(&mut slot.list, &mut self.batch);
            for entry in self.batch.drain(..).filter(speaks) {
                self.entries.push(&mut slot.list, entry);
            }
        }
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        while let Some(index) = self.occupied.first_from(0) {
            self.slots[index].live = 0;
            self.empty(index);
        }
        self.live = 0;
    }

    /// Entries held, dead ones included.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.slots.iter().map(|slot| slot.list.len()).sum()
    }

    /// Empties a slot that nothing alive is in.
    fn empty(&mut self, index: usize) {
        self.entries.drain(&mut self.slots[index].list, &mut self.batch);
        self.batch.clear();
        self.occupied.unset(index);
    }

    fn slot_of(&self, step: i64) -> usize {
        (step & (self.slots.len() as i64 - 1)) as usize
    }
}
