//! The timer queue: items with a deadline in real time, handed out when they are due.
//!
//! It knows nothing of its items, reads no clock and runs nothing: a loop takes one due item at a time. No item is handed
//! out early. Due items come in order of deadline, and those of one deadline in the order in which they were scheduled. A
//! cancelled item never comes, even if it was due already.

use std::collections::BTreeMap;

use crate::units::{RealSpan, RealTime};

/// The grid for limits: fine for time-outs, and at most 125 wake-ups a second for any number of them.
const LIMIT_GRID: RealSpan = RealSpan::from_millis(8);

/// The first instant of a grid of 8 ms that is not before `at`. Limits on connections come in masses, are seldom reached
/// and need not be exact; on the grid those of one step share a wake-up.
pub fn round_up(at: RealTime) -> RealTime {
    at.round_up(LIMIT_GRID)
}

/// Names a pending item in the queue that returned it. It is never used again, so an old id names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerId {
    at: RealTime,
    number: u64,
}

/// Pending items in real time; every operation is O(log n).
#[derive(Clone, Debug)]
pub struct TimerQueue<T> {
    pending: BTreeMap<TimerId, T>,
    scheduled: u64,
}

impl<T> TimerQueue<T> {
    /// Adds `item`, due from `at` on; a deadline in the past is due at once.
    pub fn schedule(&mut self, at: RealTime, item: T) -> TimerId {
        let id = TimerId {
            at,
            number: self.scheduled,
        };
        self.scheduled += 1;
        self.pending.insert(id, item);
        id
    }

    /// Removes a pending item; `None` if it was taken or cancelled before.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.pending.remove(&id)
    }

    /// The earliest deadline; `None` if nothing is pending.
    pub fn next_deadline(&self) -> Option<RealTime> {
        self.pending.first_key_value().map(|(id, _)| id.at)
    }

    /// Takes the earliest item with a deadline of at most `now`, with that deadline.
    pub fn take_due(&mut self, now: RealTime) -> Option<(RealTime, T)> {
        let first = self.pending.first_entry()?;
        (first.key().at <= now).then(|| {
            let (id, item) = first.remove_entry();
            (id.at, item)
        })
    }

    /// How many items are pending.
    #[expect(clippy::len_without_is_empty, reason = "it is a figure for metrics")]
    pub fn len(&self) -> usize {
        self.pending.len()
    }
}

impl<T> Default for TimerQueue<T> {
    fn default() -> Self {
        Self {
            pending: BTreeMap::new(),
            scheduled: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> RealTime {
        RealTime::from_nanos(nanos)
    }

    #[test]
    fn items_come_when_due_by_deadline_and_then_in_the_order_scheduled() {
        let mut timers = TimerQueue::default();
        let ids = [5, 3, 5, 3, -7].map(|nanos| timers.schedule(at(nanos), nanos * 10));
        assert_eq!(timers.next_deadline(), Some(at(-7)));
        assert_eq!(timers.take_due(at(2)), Some((at(-7), -70)));
        assert_eq!(timers.take_due(at(2)), None, "nothing is early");
        assert_eq!(timers.cancel(ids[1]), Some(30), "a cancel holds for what is due");
        assert_eq!((timers.cancel(ids[1]), timers.cancel(ids[4])), (None, None));
        timers.schedule(at(5), 51);
        let due: Vec<i64> = std::iter::from_fn(|| Some(timers.take_due(at(5))?.1)).collect();
        assert_eq!(due, [30, 50, 50, 51]);
        assert_eq!(timers.next_deadline(), None);
    }

    #[test]
    fn a_limit_is_rounded_up_to_the_grid() {
        const STEP: i64 = LIMIT_GRID.as_nanos();
        for (nanos, rounded) in [(-1, 0), (0, 0), (1, STEP), (STEP, STEP), (STEP + 1, 2 * STEP)] {
            assert_eq!(round_up(at(nanos)), at(rounded));
        }
        assert_eq!(round_up(RealTime::MAX), RealTime::MAX);
    }
}
