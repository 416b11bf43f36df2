//! The agenda in real time: limits on sessions, ticks, figures, the end of a match.
//!
//! Nothing here depends on the speed of the game, and the speed of the game moves nothing here. What keeps a
//! rhythm lies in an exact store. Limits come in masses, are seldom reached and need not be exact, so they lie in a
//! wheel: setting and lifting one costs the same whoever else is connected, and those of a step share one wake-up.

use trantor_model::AgentId;
use trantor_time::{DeadlineHeap, RealTime, TimerId, TimerWheel};

use crate::input::ConnId;

/// What may be due in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    /// A session has not done in time what its phase allows time for: say what it is, play, read what it is owed,
    /// or hang up.
    SessionLimit(ConnId),
    /// A peer that was held up may go on: it has saved up requests, or taken what it was owed.
    GoOn(ConnId),
    /// An agent leaves whose peer hung up while older work was due.
    Leave(AgentId),
    /// The next of many text viewers hear of what happened.
    TellTextViewers,
    /// All text viewers hear the next piece of the whole map.
    TellMap,
    /// It is to be seen whether a peer to whom much is owed takes anything of it.
    Stall(ConnId),
    /// The next tick; pending only while a viewer of ours is there.
    Tick,
    /// Figures for viewers of ours; pending only while one is there.
    Stats,
    /// The match's time is over.
    MatchEnd,
}

/// Names a limit; no other chore can be mistaken for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitId(TimerId);

/// Real-time deadlines.
#[derive(Debug, Default)]
pub(crate) struct Housekeeping {
    agenda: DeadlineHeap<RealTime, Chore>,
    limits: TimerWheel<Chore>,
}

impl Housekeeping {
    /// Adds a chore that is to be done at `at`.
    pub(crate) fn schedule(&mut self, at: RealTime, chore: Chore) -> TimerId {
        self.agenda.schedule(at, chore)
    }

    /// Takes a chore back, if it is still pending.
    pub(crate) fn cancel(&mut self, timer: TimerId) {
        self.agenda.cancel(timer);
    }

    /// Sets a limit on somebody's time: `chore` is to be done at `at`, or up to a step of the wheel later.
    pub(crate) fn set_limit(&mut self, at: RealTime, chore: Chore) -> LimitId {
        LimitId(self.limits.schedule(at, chore))
    }

    /// Moves a limit to `at`, if it was not reached.
    pub(crate) fn move_limit(&mut self, limit: LimitId, at: RealTime) {
        self.limits.reschedule(limit.0, at);
    }

    /// Lifts a limit, if it was not reached.
    pub(crate) fn lift_limit(&mut self, limit: LimitId) {
        self.limits.cancel(limit.0);
    }

    /// When to come next.
    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        match (self.agenda.next_deadline(), self.limits.next_deadline()) {
            (Some(chore), Some(limit)) => Some(chore.min(limit)),
            (chore, limit) => chore.or(limit),
        }
    }

    /// The earliest chore that is due at `now`, and when it was. For limits that is when their step was over; on a
    /// tie they come last.
    pub(crate) fn take_due(&mut self, now: RealTime) -> Option<(RealTime, Chore)> {
        let limit = self.limits.next_deadline();
        let chore = self.agenda.next_deadline();
        if let Some(limit) = limit
            && chore.is_none_or(|chore| limit < chore)
        {
            let taken = self.limits.take_due(now)?;
            return Some((limit, taken.item));
        }
        self.agenda.take_due(now).map(|taken| (taken.at, taken.item))
    }

    /// How many chores are pending.
    pub(crate) fn len(&self) -> usize {
        self.agenda.len() + self.limits.len()
    }

    /// Steps that the wheel of limits went through.
    pub(crate) fn wheel_steps(&self) -> u64 {
        self.limits.steps()
    }
}
