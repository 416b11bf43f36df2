//! What single sessions are sent, at once or after their delay, which of them are dirty, and how much waits for all of them.
//!
//! A session is dirty while bytes wait that the shell has not been asked to write. There are two queues: answers go first, since
//! an agent waits for its own; what viewers are sent, and agents because of others, may be a great deal.
//!
//! With a spectator delay (`--spectator-delay`) viewers are sent everything later than it happened, so that players cannot cheat by
//! watching. One queue of turns serves all of them, in the order in which they leave. A turn releases what one viewer alone is
//! sent, which its session holds, or bytes of the log of text viewers. Turns leave on a grid, so that a busy game does not wake
//! the loop for each event.

use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use trantor_protocol::text::LongLook;
use trantor_time::{RealSpan, RealTime};

use super::{OutboxFull, Role, Session, Sessions};
use crate::limits::{
    self, DELAYED_BYTES_PER_VIEWER_MAX, DELAYED_TICKS_BYTES, DELAYED_UPDATES_BYTES, RELEASED_BYTES_PER_TURN,
};
use crate::shell::{CloseReason, ConnId};

impl Sessions {
    /// Takes note of the time.
    pub(crate) fn set_now(&mut self, now: RealTime) {
        self.now = self.now.max(now);
    }

    /// The latest instant that was handed in.
    pub(crate) fn now(&self) -> RealTime {
        self.now
    }

    /// Adds to what a session is sent: now, or after its delay. One that has no room left is disconnected.
    pub(crate) fn push(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.push_reserving(DELAYED_UPDATES_BYTES, conn, write);
    }

    /// As `push`, for a few bytes without which a frame viewer could make no sense of all else.
    pub(crate) fn push_mark(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.push_reserving(0, conn, write);
    }

    fn push_reserving(&mut self, reserve: usize, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        let slot = self.slots.get_mut(conn.slot as usize).and_then(Option::as_mut);
        match slot.filter(|session| session.conn == conn && !session.is_closing) {
            Some(session) if session.delay > RealSpan::ZERO => {
                let mut what = Vec::new();
                write(&mut what);
                if what.is_empty() {
                    return;
                }
                let behind = match session.role {
                    Role::TextViewer => self.text_viewers.log_end(),
                    _ => 0,
                };
                if self.delay.hold(session, self.now, behind, reserve, what).is_err() {
                    self.schedule_close(conn, CloseReason::OutboxFull);
                }
            }
            _ => self.push_at_once(conn, write),
        }
    }

    /// Whether a frame viewer is to be sent so many bytes of changes: it has room for them, and reads.
    pub(crate) fn takes_changes(&self, conn: ConnId, bytes: usize) -> bool {
        self.get(conn).is_some_and(|session| {
            session.outbox.len() <= limits::VIEWER_UPDATES_BYTES_MAX
                && (session.delay == RealSpan::ZERO || self.delay.has_room_for_changes(session, bytes))
        })
    }

    /// Whether a frame viewer that was not has caught up, so that a snapshot of about so many bytes may begin.
    pub(crate) fn takes_snapshot(&self, conn: ConnId, bytes: usize) -> bool {
        self.get(conn).is_some_and(|session| {
            session.outbox.len() <= limits::VIEWER_CAUGHT_UP_BYTES
                && (session.delay == RealSpan::ZERO || self.delay.has_room_for_snapshot(session, bytes))
        })
    }

    /// Adds to a session's outbox now, also if its other updates are delayed.
    pub(crate) fn push_at_once(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.catch_up(conn);
        self.append_output(conn, write);
        if let Some(session) = self.get_mut(conn) {
            session.dirty.has_answer = true;
        }
        self.mark_dirty(conn);
    }

    /// Adds what an agent is sent because of others, which its answers and those of all others go before.
    pub(crate) fn push_message(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.append_output(conn, write);
        self.mark_dirty(conn);
    }

    /// Queues an answer of any length for an agent.
    pub(crate) fn push_look(&mut self, conn: ConnId, look: LongLook) {
        self.add_output(conn, |session, now| {
            session.outbox.push_look(now, look);
            session.dirty.has_answer = true;
            Ok(())
        });
        self.mark_dirty(conn);
    }

    /// Adds to a session's outbox without notifying the shell.
    pub(super) fn append_output(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        let mut exceeds_limit = false;
        self.add_output(conn, |session, now| {
            let (before, limit) = (session.outbox.len(), session.outbox_bytes_max);
            // What an agent is sent comes in bursts that it cannot prevent: beyond its limit only a stall ends its session.
            let is_agent = session.agent().is_some();
            let bytes_max = if is_agent { usize::MAX } else { limit };
            session.outbox.push(now, bytes_max, write)?;
            exceeds_limit = is_agent && before <= limit && limit < session.outbox.len();
            Ok(())
        });
        if exceeds_limit {
            self.backlogged.push(conn);
        }
    }

    fn add_output(
        &mut self,
        conn: ConnId,
        add: impl FnOnce(&mut Session, RealTime) -> Result<(), OutboxFull>,
    ) {
        let is_there = |session: &&Session| !session.is_closing;
        if self.get(conn).filter(is_there).is_none() {
            self.undeliverable += 1;
        } else if self.change_outbox(conn, add) == Some(Err(OutboxFull)) {
            self.schedule_close(conn, CloseReason::OutboxFull);
        }
    }

    /// Changes the outbox of a session, and counts what waits in it then.
    fn change_outbox<T>(
        &mut self,
        conn: ConnId,
        change: impl FnOnce(&mut Session, RealTime) -> T,
    ) -> Option<T> {
        let now = self.now;
        let session = self.get_mut(conn)?;
        let (before, queued, waiting) = outbox_counts(session);
        let changed = change(session, now);
        let (after, queued_after, waiting_after) = outbox_counts(session);
        self.outbox_bytes = self.outbox_bytes - before + after;
        self.messages_queued += queued_after - queued;
        self.messages_waiting = self.messages_waiting - waiting + waiting_after;
        if after >= limits::OUTBOX_PAUSE_BYTES {
            self.watch_backlog(conn);
        }
        Some(changed)
    }

    /// Starts to check whether a session reads its backlog.
    pub(crate) fn watch_backlog(&mut self, conn: ConnId) {
        if let Some(session) = self.get_mut(conn)
            && !std::mem::replace(&mut session.flow.is_backlogged, true)
        {
            self.backlogged.push(conn);
        }
    }

    /// Removes `count` written bytes from an outbox; returns how long the oldest of them had waited, `None` without such
    /// a session.
    ///
    /// # Panics
    /// If that is more than there were.
    pub(crate) fn sent(&mut self, conn: ConnId, count: usize) -> Option<RealSpan> {
        // More may be encoded of a long look.
        let waited = self.change_outbox(conn, |session, now| {
            let waited = session.outbox.sent(now, count);
            session.dirty.has_answer &= !session.outbox.is_empty();
            waited
        })?;
        let reads_on =
            |session: &Session| session.is_behind_log && session.outbox.len() <= limits::OUTBOX_RESUME_BYTES;
        if self.get(conn).is_some_and(reads_on) {
            self.read_text_log(conn);
        }
        Some(waited)
    }

    /// The session with the largest backlog, of those not leaving.
    pub(crate) fn largest_backlog(&self) -> Option<ConnId> {
        let staying = self.iter().filter(|session| !session.is_closing);
        staying
            .max_by_key(|session| session.outbox.len())
            .map(|session| session.conn)
    }

    /// Releases delayed output due at `now`, up to the limit of one pass; returns whether there was any.
    pub(crate) fn release(&mut self, now: RealTime) -> bool {
        let mut sent = 0;
        while sent < RELEASED_BYTES_PER_TURN
            && let Some(turn) = self.delay.take_due(now)
        {
            sent += TURN_BYTES;
            match turn {
                Turn::Own(conn) => sent += self.release_own(conn),
                Turn::Text(bytes) => {
                    sent += bytes * self.text_viewers.watching.len();
                    self.release_text(bytes);
                }
            }
        }
        sent > 0
    }

    /// When [`Self::release`] has something to do.
    pub(crate) fn next_release(&self) -> Option<RealTime> {
        Some(self.delay.next_deadline()?.max(self.now))
    }

    /// Sends a session its first delayed piece, unless it is gone; returns its size in bytes.
    fn release_own(&mut self, conn: ConnId) -> usize {
        let slot = self.slots.get_mut(conn.slot as usize).and_then(Option::as_mut);
        let Some(session) = slot.filter(|session| session.conn == conn) else {
            return 0;
        };
        let Some(bytes) = self.delay.take_piece(&mut session.delayed) else {
            return 0;
        };
        if !session.is_leaving() {
            self.catch_up(conn);
            self.append_output(conn, |outbox| outbox.extend_from_slice(&bytes));
            self.mark_dirty(conn);
        }
        bytes.len()
    }
}

/// Bytes that wait in an outbox, messages that were put in, and messages that wait.
fn outbox_counts(session: &Session) -> (usize, u64, u64) {
    let outbox = &session.outbox;
    (outbox.len(), outbox.messages_queued(), outbox.messages_waiting())
}

/// Sessions with bytes that the shell has not been asked to write. Each stands in each queue once at most.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    answers: VecDeque<ConnId>,
    messages: VecDeque<ConnId>,
}

/// In which queues a session stands, and to which it belongs.
#[derive(Debug, Default)]
pub(super) struct DirtyState {
    among_answers: bool,
    among_messages: bool,
    /// Whether an answer has come since nothing waited.
    has_answer: bool,
}

impl Sessions {
    /// The next dirty session; those with answers first.
    pub(crate) fn take_dirty(&mut self) -> Option<ConnId> {
        self.take_dirty_answer().or_else(|| self.take_dirty_message())
    }

    /// Whether [`Self::take_dirty`] may have one.
    pub(crate) fn has_dirty(&self) -> bool {
        !self.dirty.answers.is_empty() || !self.dirty.messages.is_empty()
    }

    /// As `has_dirty`, those with answers only.
    pub(crate) fn take_dirty_answer(&mut self) -> Option<ConnId> {
        while let Some(conn) = self.dirty.answers.pop_front() {
            if let Some(session) = self.get_mut(conn) {
                session.dirty.among_answers = false;
                if !session.outbox.is_empty() {
                    return Some(conn);
                }
            }
        }
        None
    }

    /// As `take_dirty_answer`, the others only.
    pub(crate) fn take_dirty_message(&mut self) -> Option<ConnId> {
        while let Some(conn) = self.dirty.messages.pop_front() {
            if let Some(session) = self.get_mut(conn) {
                session.dirty.among_messages = false;
                if !session.outbox.is_empty() && !session.dirty.among_answers {
                    return Some(conn);
                }
            }
        }
        None
    }

    /// A session is dirty, unless it is already or nothing waits for it.
    pub(crate) fn mark_dirty(&mut self, conn: ConnId) {
        if let Some(queue) = self.queue_to_join(conn) {
            queue.push_back(conn);
        }
    }

    /// As `mark_dirty`, before all others of its kind: the shell has written a part.
    pub(crate) fn mark_dirty_first(&mut self, conn: ConnId) {
        if let Some(queue) = self.queue_to_join(conn) {
            queue.push_front(conn);
        }
    }

    /// The queue in which a session is to stand from now on, if bytes wait for it and it does not yet. One that was sent messages
    /// and is then answered joins the first one too.
    fn queue_to_join(&mut self, conn: ConnId) -> Option<&mut VecDeque<ConnId>> {
        let session = self.get_mut(conn)?;
        let is_viewer = matches!(session.role, Role::TextViewer | Role::Viewer(_));
        let dirty = &mut session.dirty;
        if session.outbox.is_empty() || dirty.among_answers {
            return None;
        }
        if dirty.has_answer && !is_viewer {
            dirty.among_answers = true;
            return Some(&mut self.dirty.answers);
        }
        if dirty.among_messages {
            return None;
        }
        dirty.among_messages = true;
        Some(&mut self.dirty.messages)
    }
}

/// The grid on which turns leave: as long as a tick, which is how finely frame viewers see anyway.
const GRID_SPAN: RealSpan = RealSpan::from_millis(50);

/// Bytes that a turn is counted with, besides what it releases.
const TURN_BYTES: usize = 96;

/// Shorter pieces are not compared with the last one, to be shared with it.
const SHARED_BYTES_MIN: usize = 256;

/// The turns that wait, and how many bytes wait with them.
#[derive(Debug)]
pub(super) struct Delay {
    turns: VecDeque<(RealTime, Turn)>,
    bytes: usize,
    bytes_max: usize,
    /// The last long piece for one viewer: the next viewer is often sent the same.
    recent: Weak<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
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
    fn hold(
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

    fn take_due(&mut self, now: RealTime) -> Option<Turn> {
        let (_, turn) = self.turns.pop_front_if(|(leaves, _)| *leaves <= now)?;
        self.bytes -= TURN_BYTES;
        if let Turn::Text(bytes) = turn {
            self.bytes -= bytes;
        }
        Some(turn)
    }

    fn take_piece(&mut self, held: &mut DelayQueue) -> Option<Rc<Vec<u8>>> {
        let Piece { bytes, .. } = held.pieces.pop_front()?;
        held.bytes -= TURN_BYTES + bytes.len();
        // Of several viewers with the same bytes the first brings them and the last takes them.
        if Rc::strong_count(&bytes) == 1 {
            self.bytes -= bytes.len();
        }
        Some(bytes)
    }

    fn next_deadline(&self) -> Option<RealTime> {
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
    fn has_room_for_changes(&self, session: &Session, bytes: usize) -> bool {
        let bytes = TURN_BYTES + bytes;
        session.delayed.bytes + bytes <= held_bytes_max(session) / 4 * 3
            && self.has_room(bytes + DELAYED_UPDATES_BYTES, DELAYED_UPDATES_BYTES)
    }

    /// Whether it may get a fresh snapshot of about so many bytes instead: so much has left that it will not soon be too much
    /// once more.
    fn has_room_for_snapshot(&self, session: &Session, bytes: usize) -> bool {
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
