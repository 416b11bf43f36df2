//! Rules broken on purpose, to see that the simulation finds them.
//!
//! Nothing in the server or the client is changed: what passes between them and the world is tampered with here,
//! as a mistake in them would. Only the feature `faults` lets anybody ask for it.

/// What is broken in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One answer to an agent is not sent.
    DroppedReply,
    /// One acknowledgement of a viewer's message is not sent, and none after it.
    DroppedAck,
    /// One message of changes to a viewer is not sent.
    DroppedDelta,
    /// One line about the ground to a viewer in text is not sent.
    DroppedLine,
    /// Two runs of the journal are kept in the wrong order.
    JournalOutOfOrder,
    /// The server once sleeps longer than to its next deadline.
    LostWakeUp,
    /// The rules are others: nobody is hungry.
    NoHunger,
    /// Saves are given their names before they are on the disk.
    HastySave,
    /// The limits that were asked for do not hold.
    IgnoredLimits,
    /// The server is not told that a connection has ended.
    LostHangUp,
    /// One line to a viewer in text is not sent, where there are so many that they take turns.
    DroppedLateLine,
    /// One line about a broadcast to a viewer in text is not sent.
    DroppedSaid,
    /// One piece of a snapshot of several is not sent.
    DroppedPiece,
    /// A save has the state of the one before.
    StaleSave,
    /// The game goes on from an older save than the newest.
    OlderSave,
    /// What the disk refuses counts as recorded.
    UnnoticedRefusal,
    /// The end of the journal is not written.
    ShortJournal,
    /// Only that piece of the journal is synced that is being written.
    OneSyncedPiece,
    /// Pieces are packed, and the plain ones removed, before the packed ones are on the disk.
    HastyPack,
    /// The name of a save is not forced to the disk.
    UnlistedSave,
    /// The name of a run is not forced to the disk.
    UnlistedRun,
    /// What was written of a record that the disk refused is not taken back.
    TornRun,
    /// A run that was removed is written on.
    UnnoticedRemoval,
    /// A reload leaves it to the last token to say who may control the server.
    OldToken,
}

/// A fault that strikes at the third opportunity: not in the very beginning, where much is special.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sabotage {
    fault: Option<Fault>,
    opportunities: u32,
}

impl Sabotage {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            opportunities: 0,
        }
    }

    /// Whether this fault is the one of this run, at all.
    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Whether the fault strikes now, at an opportunity for it. It does so once.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        if !self.is(fault) {
            return false;
        }
        self.opportunities += 1;
        self.opportunities == 3
    }

    /// Whether it has struck.
    pub(crate) fn has_struck(&self) -> bool {
        self.opportunities >= 3
    }
}
