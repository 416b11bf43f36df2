//! What single sessions are sent, at once or after their delay, which of them are dirty, and how much waits for all of them.
//!
//! A session is dirty while bytes wait that the shell has not been asked to write. There are two queues: answers go first, since
//! an agent waits for its own; what viewers are sent, and agents because of others, may be a great deal.

use std::collections::VecDeque;

use trantor_protocol::text::LongLook;
use trantor_time::{RealSpan, RealTime};

use super::delay::{TURN_BYTES, Turn};
use super::{OutboxFull, Role, Sessions};
use crate::limits;
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
        self.push_reserving(limits::DELAYED_UPDATES_BYTES, conn, write);
    }

    /// The same for a few bytes without which a frame viewer could make no sense of all else.
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
        let now = self.now;
        let Some(session) = self.get_mut(conn).filter(|session| !session.is_closing) else {
            self.undeliverable += 1;
            return;
        };
        let before = session.outbox.len();
        session.outbox.push_look(now, look);
        let after = session.outbox.len();
        session.dirty.has_answer = true;
        self.outbox_bytes += after - before;
        if after >= limits::OUTBOX_PAUSE_BYTES {
            self.watch_backlog(conn);
        }
        self.mark_dirty(conn);
    }

    /// The same, without notifying the shell.
    pub(super) fn append_output(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        let now = self.now;
        let Some(session) = self.get_mut(conn).filter(|session| !session.is_closing) else {
            self.undeliverable += 1;
            return;
        };
        let before = session.outbox.len();
        // What an agent is sent comes in bursts that it cannot prevent: beyond its limit only a stall ends its session.
        let (limit, is_agent) = (session.outbox_bytes_max, session.agent().is_some());
        let bytes_max = if is_agent { usize::MAX } else { limit };
        match session.outbox.push(now, bytes_max, write) {
            Ok(()) => {
                let after = session.outbox.len();
                self.outbox_bytes += after - before;
                if after >= limits::OUTBOX_PAUSE_BYTES {
                    self.watch_backlog(conn);
                }
                if is_agent && before <= limit && limit < after {
                    self.backlogged.push(conn);
                }
            }
            Err(OutboxFull) => self.schedule_close(conn, CloseReason::OutboxFull),
        }
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
        let now = self.now;
        let session = self.get_mut(conn)?;
        let before = session.outbox.len();
        let waited = session.outbox.sent(now, count);
        let after = session.outbox.len();
        session.dirty.has_answer &= !session.outbox.is_empty();
        // More may have been encoded of a long look.
        self.outbox_bytes = self.outbox_bytes - before + after;
        if after >= limits::OUTBOX_PAUSE_BYTES {
            self.watch_backlog(conn);
        }
        if after <= limits::OUTBOX_RESUME_BYTES && self.get(conn).is_some_and(|session| session.is_behind_log)
        {
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
        while sent < limits::RELEASED_BYTES_PER_TURN
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

    /// The same, those with answers only.
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

    /// The same, the others only.
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

    /// The same, before all others of its kind: the shell has written a part.
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
