//! Fault injection: shows that the checks of the simulation detect bugs.
//!
//! Server and client stay unchanged; the simulation tampers with their inputs and outputs as a bug would. Only the feature
//! `faults` exposes it.

use std::cell::Cell;

/// A fault to inject into a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An answer to an agent is dropped.
    DroppedReply,
    /// An acknowledgement of a viewer's request is dropped, and all after it.
    DroppedAck,
    /// A `Changes` message to a viewer is dropped.
    DroppedDelta,
    /// A `bct` line to a text viewer is dropped.
    DroppedLine,
    /// Two appends to the journal are swapped.
    JournalOutOfOrder,
    /// The server once sleeps past its next deadline.
    LostWakeUp,
    /// A save is renamed before it is synced.
    UnsyncedSave,
    /// The configured limits are not enforced.
    IgnoredLimits,
    /// The end of a connection is not reported to the engine.
    LostDisconnect,
    /// A `bct` line to a text viewer that is served in rotation is dropped.
    DroppedRotatedLine,
    /// A `pbc` line to a text viewer is dropped.
    DroppedBroadcast,
    /// A part of a snapshot is dropped.
    DroppedSnapshotPart,
    /// A save holds the state of the previous one.
    StaleSave,
    /// The server resumes from an older save than the newest.
    OlderSave,
    /// A failed write counts as recorded.
    IgnoredWriteError,
    /// The end of the journal is missing.
    TruncatedJournal,
    /// Only the newest piece of the journal is synced.
    UnsyncedEarlierPieces,
    /// A plain piece is removed before its packed copy is synced.
    UnsyncedPack,
    /// The directory of saves is not synced.
    UnsyncedSaveName,
    /// The directory of recordings is not synced.
    UnsyncedRunName,
    /// A partly written record is not truncated.
    TornRecord,
    /// The recorder keeps writing to a removed run.
    IgnoredRemoval,
    /// A reload keeps the old token.
    StaleToken,
    /// Bytes that the socket took are lost.
    LostWrite,
    /// The system is not asked to report when a socket takes bytes again.
    ForgottenInterest,
    /// The wake-up limiter adds no tokens.
    NoTokens,
    /// Stages ignore their budgets.
    IgnoredBudgets,
}

/// Injects a fault at the third opportunity: the first ones lie in the start phase, which is special.
#[derive(Clone, Debug)]
pub(crate) struct FaultInjector {
    fault: Option<Fault>,
    opportunities: Cell<u32>,
}

impl FaultInjector {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            opportunities: Cell::new(0),
        }
    }

    /// Whether this is the fault of the run.
    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Counts an opportunity; `true` once, when the fault shall happen.
    pub(crate) fn injects(&self, fault: Fault) -> bool {
        if !self.is(fault) {
            return false;
        }
        self.opportunities.update(|opportunities| opportunities + 1);
        self.opportunities.get() == 3
    }

    /// Counts an opportunity; `true` when the fault shall happen, and for every one after it.
    pub(crate) fn injects_from_then_on(&self, fault: Fault) -> bool {
        self.injects(fault) || (self.is(fault) && self.opportunities.get() > 3)
    }
}
