//! Spectator delay (`--spectator-delay`): what viewers are sent later than it happened, so that players cannot cheat by watching.
//!
//! One queue of turns for all of them, in the order in which they leave. A turn releases what one viewer alone is sent, which
//! its session holds, or bytes of the log of text viewers. Turns leave on a grid, so that a busy game does not wake the loop for
//! each event.

use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use trantor_time::{RealSpan, RealTime};

use super::{OutboxFull, Session};
use crate::limits::{
    DELAYED_BYTES_PER_VIEWER_MAX, DELAYED_TICKS_BYTES, DELAYED_UPDATES_BYTES, RELEASED_BYTES_PER_TURN,
};
use crate::shell::ConnId;

/// The grid on which turns leave: as long as a tick, which is how finely frame viewers see anyway.
const GRID_SPAN: RealSpan = RealSpan::from_millis(50);

/// Bytes that a turn is counted with, besides what it releases.
pub(super) const TURN_BYTES: usize = 96;

/// Shorter pieces are not compared with the last one, to be shared with it.
const SHARED_BYTES_MIN: usize = 256;

/// The turns that wait, and how many bytes wait with them.
#[derive(Debug)]
pub(crate) struct Delay {
    turns: VecDeque<(RealTime, Turn)>,
    bytes: usize,
    bytes_max: usize,
    /// The last long piece for one viewer: the next viewer is often sent the same.
    recent: Weak<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The first piece that a session holds.
    Own(ConnId),
    /// So many bytes of the text log.
    Text(usize),
}

/// Delayed output of one viewer alone.
#[derive(Debug, Default)]
pub(super) struct DelayQueue {
    pieces: VecDeque<Piece>,
    /// Bytes of them, each with [`TURN_BYTES`].
    bytes: usize,
}

#[derive(Debug)]
struct Piece {
    leaves: RealTime,
    /// The end of the text log when it was put in: bytes behind another end are another piece.
    behind: u64,
    bytes: Rc<Vec<u8>>,
}

impl Delay {
    /// No turns, with room for so many bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            turns: VecDeque::new(),
            bytes: 0,
            bytes_max,
            recent: Weak::new(),
        }
    }

    /// Holds bytes for one viewer, if `reserve` bytes of room are left for others. Short pieces in a row, as in a tick in which
    /// nothing happens, are one. `behind` is the end of the text log, for those that read it.
    pub(super) fn hold(
        &mut self,
        session: &mut Session,
        now: RealTime,
        behind: u64,
        reserve: usize,
        what: Vec<u8>,
    ) -> Result<(), OutboxFull> {
        let bytes = TURN_BYTES + what.len();
        if session.delayed.bytes + bytes > held_bytes_max(session) || !self.has_room(bytes, reserve) {
            return Err(OutboxFull);
        }
        let leaves = self.leaves(now, session.delay);
        let (conn, held) = (session.conn, &mut session.delayed);
        let is_long = what.len() >= SHARED_BYTES_MIN;
        if !is_long
            && let Some(last) = held.pieces.back_mut()
            && (last.leaves, last.behind) == (leaves, behind)
            && let Some(so_far) = Rc::get_mut(&mut last.bytes)
            && so_far.len() < RELEASED_BYTES_PER_TURN
        {
            so_far.extend_from_slice(&what);
            self.bytes += what.len();
            held.bytes += what.len();
            return Ok(());
        }
        let same = self.recent.upgrade().filter(|recent| **recent == what);
        let what = same.unwrap_or_else(|| {
            self.bytes += what.len();
            Rc::new(what)
        });
        if is_long {
            self.recent = Rc::downgrade(&what);
        }
        self.bytes += TURN_BYTES;
        self.turns.push_back((leaves, Turn::Own(conn)));
        held.bytes += bytes;
        held.pieces.push_back(Piece {
            leaves,
            behind,
            bytes: what,
        });
        Ok(())
    }

    /// Has so many bytes that were appended to the text log leave.
    pub(super) fn hold_text(&mut self, leaves: RealTime, bytes: usize) -> Result<(), OutboxFull> {
        if !self.has_room(TURN_BYTES + bytes, DELAYED_TICKS_BYTES) {
            return Err(OutboxFull);
        }
        self.bytes += bytes;
        match self.turns.back_mut() {
            // What is more than is released at one time leaves in several turns.
            Some((last, Turn::Text(so_far))) if *last == leaves && *so_far < RELEASED_BYTES_PER_TURN => {
                *so_far += bytes;
            }
            _ => {
                self.bytes += TURN_BYTES;
                self.turns.push_back((leaves, Turn::Text(bytes)));
            }
        }
        Ok(())
    }

    pub(super) fn take_due(&mut self, now: RealTime) -> Option<Turn> {
        let (_, turn) = self.turns.pop_front_if(|(leaves, _)| *leaves <= now)?;
        self.bytes -= TURN_BYTES;
        if let Turn::Text(bytes) = turn {
            self.bytes -= bytes;
        }
        Some(turn)
    }

    pub(super) fn take_piece(&mut self, held: &mut DelayQueue) -> Option<Rc<Vec<u8>>> {
        let Piece { bytes, .. } = held.pieces.pop_front()?;
        held.bytes -= TURN_BYTES + bytes.len();
        // Of several viewers with the same bytes the first brings them and the last takes them.
        if Rc::strong_count(&bytes) == 1 {
            self.bytes -= bytes.len();
        }
        Some(bytes)
    }

    pub(super) fn next_deadline(&self) -> Option<RealTime> {
        self.turns.front().map(|(leaves, _)| *leaves)
    }

    /// Takes back what a session holds: it is gone. Its turns release nothing.
    pub(super) fn forget(&mut self, held: &mut DelayQueue) {
        while self.take_piece(held).is_some() {}
    }

    /// Takes back the turns of the text log.
    pub(super) fn forget_text(&mut self) {
        self.turns.retain(|(_, turn)| match turn {
            Turn::Own(_) => true,
            Turn::Text(bytes) => {
                self.bytes -= TURN_BYTES + bytes;
                false
            }
        });
    }

    /// Whether a frame viewer may be sent so many bytes of changes: it is well below its limit, and others may come.
    pub(super) fn has_room_for_changes(&self, session: &Session, bytes: usize) -> bool {
        let bytes = TURN_BYTES + bytes;
        session.delayed.bytes + bytes <= held_bytes_max(session) / 4 * 3
            && self.has_room(bytes + DELAYED_UPDATES_BYTES, DELAYED_UPDATES_BYTES)
    }

    /// Whether it may get a fresh snapshot of about so many bytes instead: so much has left that it will not soon be too much
    /// once more.
    pub(super) fn has_room_for_snapshot(&self, session: &Session, bytes: usize) -> bool {
        let spare = held_bytes_max(session) / 4;
        session.delayed.bytes <= spare
            && self.has_room(bytes + spare + DELAYED_UPDATES_BYTES, DELAYED_UPDATES_BYTES)
    }

    fn has_room(&self, bytes: usize, reserve: usize) -> bool {
        self.bytes + bytes + reserve <= self.bytes_max
    }

    /// When something leaves that is put in at `now`: no earlier than what was put in before, also if the delay has become
    /// shorter since.
    pub(super) fn leaves(&self, now: RealTime, delay: RealSpan) -> RealTime {
        let on_grid = now.saturating_add(delay).round_up(GRID_SPAN);
        let last = self.turns.back().map(|(leaves, _)| *leaves);
        last.map_or(on_grid, |last| last.max(on_grid))
    }

    /// What is counted is what waits, of these sessions and `text` bytes of the text log: shared bytes once, and so much for
    /// each turn.
    pub(super) fn check<'a>(&self, held: impl Iterator<Item = &'a DelayQueue>, text: usize) {
        let mut counted = self.turns.len() * TURN_BYTES + text;
        let mut shared = std::collections::BTreeSet::new();
        for held in held {
            let pieces = held.pieces.iter().map(|piece| &piece.bytes);
            let own = pieces.clone().map(|bytes| TURN_BYTES + bytes.len());
            assert_eq!(held.bytes, own.sum::<usize>(), "what a viewer holds is counted");
            let new = pieces.filter(|bytes| shared.insert(Rc::as_ptr(bytes)));
            counted += new.map(|bytes| bytes.len()).sum::<usize>();
        }
        assert_eq!(self.bytes, counted, "what is delayed is counted");
        assert!(self.bytes <= self.bytes_max, "what is delayed is bounded");
        assert!(
            self.turns.iter().is_sorted_by_key(|(leaves, _)| *leaves),
            "turns leave in order"
        );
    }
}

/// Bytes that a viewer with a delay may hold.
fn held_bytes_max(session: &Session) -> usize {
    DELAYED_BYTES_PER_VIEWER_MAX.max(session.outbox_bytes_max)
}
