//! The agenda in real time: limits on sessions, ticks, figures, the end of a match.
//!
//! Nothing here depends on the speed of the game, and the speed of the game moves nothing here (R-X-4).

use trantor_time::{DeadlineHeap, RealTime, TimerId};

use crate::input::ConnId;

/// What may be due in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    /// A session has not done in time what its phase allows time for: say what it is, read what it is owed,
    /// or hang up.
    SessionLimit(ConnId),
    /// A peer that was held up may go on: it has saved up requests, or taken what it was owed.
    GoOn(ConnId),
    /// It is to be seen whether a peer to whom much is owed takes anything of it.
    Stall(ConnId),
    /// The next tick (§13); pending only while a viewer of ours is there.
    Tick,
    /// Figures for viewers of ours; pending only while one is there.
    Stats,
    /// The match's time is over.
    MatchEnd,
}

/// Real-time deadlines.
#[derive(Debug)]
pub(crate) struct Housekeeping {
    agenda: DeadlineHeap<RealTime, Chore>,
}

impl Housekeeping {
    pub(crate) fn new() -> Self {
        Self {
            agenda: DeadlineHeap::new(),
        }
    }

    /// Adds a chore.
    pub(crate) fn schedule(&mut self, at: RealTime, chore: Chore) -> TimerId {
        self.agenda.schedule(at, chore)
    }

    /// Takes a chore back, if it is still pending.
    pub(crate) fn cancel(&mut self, timer: TimerId) {
        self.agenda.cancel(timer);
    }

    /// When to come next.
    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        self.agenda.next_deadline()
    }

    /// The earliest chore that is due at `now`, and when it was.
    pub(crate) fn take_due(&mut self, now: RealTime) -> Option<(RealTime, Chore)> {
        self.agenda.take_due(now).map(|taken| (taken.at, taken.item))
    }

    /// How many chores are pending.
    pub(crate) fn len(&self) -> usize {
        self.agenda.len()
    }
}
