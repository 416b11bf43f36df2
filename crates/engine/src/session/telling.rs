//! What single sessions are told: now, or later if they see the past; and how much waits for all of them.

use trantor_protocol::text::LongLook;
use trantor_time::{RealSpan, RealTime};

use super::delay::{Delay, ENTRY_BYTES, LeftTo, To};
use super::{OutboxFull, Session, Sessions};
use crate::input::ConnId;
use crate::limits;
use crate::output::CloseReason;

impl Sessions {
    /// Takes note of the time.
    pub(crate) fn set_now(&mut self, now: RealTime) {
        self.now = self.now.max(now);
    }

    /// The latest instant that was handed in.
    pub(crate) fn now(&self) -> RealTime {
        self.now
    }

    /// Messages that were meant for sessions that are gone, or on their way out without another word.
    pub(crate) fn undeliverable(&self) -> u64 {
        self.undeliverable
    }

    /// Adds to what a session is owed: now, or later if it is told of the past. One that has no room left is doomed.
    pub(crate) fn push(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.push_leaving(LeftTo::News, conn, write);
    }

    /// The same for a few bytes without which a viewer of ours could make no sense of all else.
    pub(crate) fn push_mark(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.push_leaving(LeftTo::Nobody, conn, write);
    }

    fn push_leaving(&mut self, left: LeftTo, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        let now = self.now;
        let slot = self.slots.get_mut(conn.slot as usize).and_then(Option::as_mut);
        match slot.filter(|session| session.conn == conn && !session.is_doomed) {
            Some(session) if session.delay > RealSpan::ZERO => {
                let mut what = Vec::new();
                write(&mut what);
                if what.is_empty() {
                    return;
                }
                let (delay, own_bytes_max) = (session.delay, delayed_bytes_max(session));
                let held = self.delay.hold(now, delay, conn, own_bytes_max, left, what);
                if held.is_err() {
                    self.doom(conn, CloseReason::OutboxFull);
                }
            }
            _ => self.push_at_once(conn, write),
        }
    }

    /// Whether a viewer of ours is to be told so many bytes of news: it has room for them, and reads.
    pub(crate) fn takes_news(&self, conn: ConnId, bytes: usize) -> bool {
        self.has_room(conn, limits::VIEWER_NEWS_BYTES_MAX, |delay, own_bytes_max| {
            delay.has_room_for_news(conn, own_bytes_max, bytes)
        })
    }

    /// Whether a viewer of ours that was not has caught up, so that a snapshot of about so many bytes may begin.
    pub(crate) fn takes_snapshot(&self, conn: ConnId, bytes: usize) -> bool {
        self.has_room(conn, limits::VIEWER_CAUGHT_UP_BYTES, |delay, own_bytes_max| {
            delay.has_room_for_snapshot(conn, own_bytes_max, bytes)
        })
    }

    /// Whether no more than so many bytes wait for a session, and, if it is told later, there is room among what is delayed.
    fn has_room(
        &self,
        conn: ConnId,
        waiting_bytes_max: usize,
        among_delayed: impl FnOnce(&Delay, usize) -> bool,
    ) -> bool {
        self.get(conn).is_some_and(|session| {
            session.outbox.len() <= waiting_bytes_max
                && (session.delay == RealSpan::ZERO || among_delayed(&self.delay, delayed_bytes_max(session)))
        })
    }

    /// Adds to what a session is owed now, whatever it is otherwise told later.
    pub(crate) fn push_at_once(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.catch_up(conn);
        self.push_quietly(conn, write);
        if let Some(session) = self.get_mut(conn) {
            session.announcement.owes_answer = true;
        }
        self.announce(conn);
    }

    /// Adds what an agent is sent because of others, which its answers and those of all others go before.
    pub(crate) fn push_message(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.push_quietly(conn, write);
        self.announce(conn);
    }

    /// Adds an answer of any length to what an agent is owed.
    pub(crate) fn push_look(&mut self, conn: ConnId, look: LongLook) {
        let now = self.now;
        let Some(session) = self.get_mut(conn).filter(|session| !session.is_doomed) else {
            self.undeliverable += 1;
            return;
        };
        let before = session.outbox.len();
        session.outbox.push_look(now, look);
        let after = session.outbox.len();
        session.announcement.owes_answer = true;
        self.owed_bytes += after - before;
        if after >= limits::OUTBOX_PAUSE_BYTES {
            self.look_after(conn);
        }
        self.announce(conn);
    }

    /// The same, without telling the shell.
    pub(super) fn push_quietly(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        let now = self.now;
        let Some(session) = self.get_mut(conn).filter(|session| !session.is_doomed) else {
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
                self.owed_bytes += after - before;
                if after >= limits::OUTBOX_PAUSE_BYTES {
                    self.look_after(conn);
                }
                if is_agent && before <= limit && limit < after {
                    self.filling.push(conn);
                }
            }
            Err(OutboxFull) => self.doom(conn, CloseReason::OutboxFull),
        }
    }

    /// Notes that it is to be seen whether a session takes what it is owed.
    pub(crate) fn look_after(&mut self, conn: ConnId) {
        if let Some(session) = self.get_mut(conn)
            && !std::mem::replace(&mut session.flow.is_filling, true)
        {
            self.filling.push(conn);
        }
    }

    /// Notes that the first `count` bytes of what a session is owed were written; answers how long the oldest of them
    /// had waited, and nothing if there is no such session.
    ///
    /// # Panics
    /// If that is more than there were.
    pub(crate) fn sent(&mut self, conn: ConnId, count: usize) -> Option<RealSpan> {
        let now = self.now;
        let session = self.get_mut(conn)?;
        let before = session.outbox.len();
        let waited = session.outbox.sent(now, count);
        let after = session.outbox.len();
        session.announcement.owes_answer &= !session.outbox.is_empty();
        // More may have been encoded of a long look.
        self.owed_bytes = self.owed_bytes - before + after;
        if after >= limits::OUTBOX_PAUSE_BYTES {
            self.look_after(conn);
        }
        Some(waited)
    }

    /// Bytes that wait in all outboxes together.
    pub(crate) fn owed_bytes(&self) -> usize {
        self.owed_bytes
    }

    /// The session to which most is owed, of those that are not on their way out.
    pub(crate) fn most_owed(&self) -> Option<ConnId> {
        let staying = self.iter().filter(|session| !session.is_doomed);
        staying
            .max_by_key(|session| session.outbox.len())
            .map(|session| session.conn)
    }

    /// Tells viewers what they are to know by now, or as much of it as is told at one time; answers whether there was anything.
    pub(crate) fn release(&mut self, now: RealTime) -> bool {
        let mut told = 0;
        while told < limits::RELEASED_BYTES_PER_TURN
            && let Some((to, what)) = self.delay.take_due(now)
        {
            told += ENTRY_BYTES;
            let Some(what) = what else { continue };
            match to {
                To::One(conn) => {
                    told += what.len();
                    self.tell_past(conn, &what);
                    self.announce(conn);
                }
                To::Several(conns) => {
                    told += what.len() * conns.len();
                    conns.iter().for_each(|conn| self.tell_past(*conn, &what));
                    if conns.len() <= limits::TEXT_VIEWERS_AT_ONCE_MAX {
                        conns.iter().for_each(|conn| self.announce(*conn));
                    } else {
                        self.text_viewers.begin_round();
                    }
                }
            }
        }
        told > 0
    }

    /// When [`Self::release`] has something to do.
    pub(crate) fn next_release(&self) -> Option<RealTime> {
        Some(self.delay.next_deadline()?.max(self.now))
    }

    fn tell_past(&mut self, conn: ConnId, what: &[u8]) {
        if self.get(conn).is_some_and(|session| !session.is_going()) {
            self.push_quietly(conn, |outbox| outbox.extend_from_slice(what));
        }
    }
}

/// Bytes that may be held for a session that is told of the past.
fn delayed_bytes_max(session: &Session) -> usize {
    limits::DELAYED_BYTES_PER_VIEWER_MAX.max(session.outbox_bytes_max)
}
