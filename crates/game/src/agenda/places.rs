//! Room for pending deadlines, used again and again.

use trantor_time::TimerId;

use super::Due;

/// One deadline and its neighbours in the row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) due: Due,
    pub(super) row: TimerId,
    pub(super) before: Option<u32>,
    /// In a free place: the next free one.
    pub(super) after: Option<u32>,
}

/// Room for deadlines. Places are used again, the last freed first, as it is likely in cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    places: Vec<Pending>,
    first_free: Option<u32>,
    taken: usize,
}

impl Places {
    /// How many places are taken.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// The place that is filled next.
    pub(super) fn next_place(&self) -> u32 {
        let after_last =
            || u32::try_from(self.places.len()).expect("agents and eggs are numbered with 32 bits");
        self.first_free.unwrap_or_else(after_last)
    }

    /// Fills the next place, between these two of its row.
    pub(super) fn fill(&mut self, due: Due, row: TimerId, before: Option<u32>, after: Option<u32>) {
        self.taken += 1;
        match self.first_free {
            // Field by field: a whole deadline, just put together, would have to wait for its parts before it
            // can be copied, and that shows in a game that leaps.
            Some(place) => {
                let pending = self.at_mut(place);
                let next_free = std::mem::replace(&mut pending.after, after);
                pending.due = due;
                pending.row = row;
                pending.before = before;
                self.first_free = next_free;
            }
            None => self.places.push(Pending {
                due,
                row,
                before,
                after,
            }),
        }
    }

    /// Frees a place, and gives what was in it.
    pub(super) fn free(&mut self, place: u32) -> Pending {
        let next_free = self.first_free.replace(place);
        let pending = self.at_mut(place);
        let freed = *pending;
        pending.after = next_free;
        self.taken -= 1;
        freed
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.first_free = None;
        self.taken = 0;
    }

    pub(super) fn at(&self, place: u32) -> &Pending {
        &self.places[place as usize]
    }

    pub(super) fn at_mut(&mut self, place: u32) -> &mut Pending {
        &mut self.places[place as usize]
    }
}
