//! Text viewers: an append-only log of updates, encoded once, in which each viewer has a position.
//!
//! A few read each event in the pass in which it happens; of many each has its turn now and then (docs/decisions/0093). A viewer
//! reads as much as its outbox has room for, and is disconnected if it falls too far behind. A spectator delay bounds the
//! position. A viewer that is still being sent the world (it joins) has no position: it is sent updates about what it has been
//! sent already. What all are sent piece by piece is in the log as well: the difference after a seek, and the map after a refill.

use trantor_game::Game;
use trantor_time::{RealSpan, RealTime};

use super::log::Log;
use super::{Session, Sessions};
use crate::burst::{Answer, AnswerKind, Lines};
use crate::limits;
use crate::shell::{CloseReason, ConnId};

/// Viewers in text, in the order they came.
#[derive(Debug, Default)]
pub(crate) struct TextViewers {
    /// Those that are still being sent the world.
    pub(crate) joining: Vec<ConnId>,
    /// Those that have it, and read the log.
    pub(crate) watching: Vec<ConnId>,
    log: Log,
    /// How far viewers with a delay may read.
    released: u64,
    /// What all that watch are sent piece by piece.
    pub(crate) broadcast: Option<Answer>,
    /// A seek has begun or was shown: those that join are sent the rest, or read the log.
    pub(crate) is_joining_resumed: bool,
    /// There was a refill meanwhile: all are sent the map once more.
    is_refilled: bool,
    /// So many of `watching` may have unread updates without being dirty, from `next_turn` on and round the end.
    pub(crate) turns_left: usize,
    next_turn: usize,
    /// The next turn is scheduled.
    pub(crate) is_turn_scheduled: bool,
    /// The next piece of the broadcast is scheduled.
    pub(crate) is_piece_scheduled: bool,
    /// The longest delay of those that read the log.
    delay: RealSpan,
    /// Bytes that were appended since each viewer had its turn.
    unserved: usize,
}

impl TextViewers {
    pub(crate) fn len(&self) -> usize {
        self.joining.len() + self.watching.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn log_end(&self) -> u64 {
        self.log.end
    }

    pub(super) fn add(&mut self, conn: ConnId) {
        self.joining.push(conn);
    }

    /// Whether a seek is being shown: those that watch do not know the whole world.
    pub(crate) fn is_seeking(&self) -> bool {
        let kind = self.broadcast.as_ref().map(|answer| answer.kind);
        kind == Some(AnswerKind::Seek)
    }

    /// What the slowest has yet to read, and up to a chunk more.
    fn unread_bytes(&self) -> usize {
        (self.log.end - self.log.begin) as usize
    }

    /// When the next turn of many is due, if it is to be scheduled now (docs/decisions/0093).
    pub(crate) fn schedule_turn(&mut self, now: RealTime) -> Option<RealTime> {
        if self.turns_left == 0 || std::mem::replace(&mut self.is_turn_scheduled, true) {
            return None;
        }
        let turns = self.len().div_ceil(limits::TEXT_VIEWERS_PER_TURN).max(1);
        let turns = i64::try_from(turns).unwrap_or(i64::MAX);
        let span = RealSpan::from_nanos(limits::TEXT_NEWS_SPAN.as_nanos() / turns);
        Some(now.saturating_add(span))
    }

    /// When the next piece of the broadcast is due, if it is to be scheduled now: the more viewers, the later.
    pub(crate) fn schedule_piece(&mut self, now: RealTime) -> Option<RealTime> {
        let answer = self.broadcast.as_ref().filter(|_| !self.is_piece_scheduled)?;
        let (spacing, viewers_max) = match answer.is_world() {
            true if self.unread_bytes() < limits::SEEK_UNREAD_BYTES => {
                (limits::ANSWER_SPACING, limits::SEEK_VIEWERS_MAX)
            }
            _ => (limits::MAP_UPDATES_SPACING, limits::TEXT_VIEWERS_AT_ONCE_MAX),
        };
        let viewers = i64::try_from(self.len().clamp(1, viewers_max)).unwrap_or(1);
        self.is_piece_scheduled = true;
        Some(now.saturating_add(RealSpan::from_nanos(spacing.as_nanos() * viewers)))
    }

    fn delayed_bytes(&self) -> usize {
        (self.log.end - self.released) as usize
    }
}

impl Sessions {
    pub(super) fn remove_text_viewer(&mut self, conn: ConnId) {
        let viewers = &mut self.text_viewers;
        viewers.joining.retain(|viewer| *viewer != conn);
        let Some(index) = viewers.watching.iter().position(|viewer| *viewer == conn) else {
            return;
        };
        viewers.watching.remove(index);
        viewers.next_turn -= usize::from(index < viewers.next_turn);
        viewers.turns_left = viewers.turns_left.min(viewers.watching.len());
        self.watching_changed();
    }

    /// Notes the longest delay of those that read the log; without one nothing of it waits, and without readers nothing is kept.
    fn watching_changed(&mut self) {
        let watching = self.text_viewers.watching.iter();
        let delays = watching.filter_map(|conn| Some(self.get(*conn)?.delay));
        self.text_viewers.delay = delays.max().unwrap_or(RealSpan::ZERO);
        if self.text_viewers.delay == RealSpan::ZERO {
            self.release_text_log();
        }
        if self.text_viewers.watching.is_empty() {
            let viewers = &mut self.text_viewers;
            (viewers.turns_left, viewers.next_turn, viewers.unserved) = (0, 0, 0);
            let seek = viewers
                .broadcast
                .take_if(|answer| answer.kind == AnswerKind::Seek);
            viewers.is_joining_resumed |= seek.is_some();
            viewers.log.forget_before(viewers.log.end);
        }
    }

    /// Nothing of the log waits any more.
    fn release_text_log(&mut self) {
        if self.text_viewers.delayed_bytes() > 0 {
            self.delay.forget_text();
            self.text_viewers.released = self.text_viewers.log.end;
        }
    }

    /// A text viewer has the world: from now on it reads the log.
    pub(crate) fn finish_joining(&mut self, conn: ConnId) {
        let end = self.text_viewers.log.end;
        let Some(session) = self.get_mut(conn) else { return };
        session.text_position = Some(end);
        let viewers = &mut self.text_viewers;
        viewers.joining.retain(|viewer| *viewer != conn);
        viewers.watching.push(conn);
        // It stands between those whose turn is to come and those round the end of the list.
        viewers.turns_left += usize::from(viewers.turns_left > 0);
        self.watching_changed();
    }

    /// Sends all text viewers an update; those that join, as far as it is about what they have.
    pub(crate) fn publish_text(&mut self, lines: &Lines) {
        for index in 0..self.text_viewers.joining.len() {
            let conn = self.text_viewers.joining[index];
            let Some(answer) = self.get(conn).and_then(|session| session.flow.answer.as_ref()) else {
                continue;
            };
            let known = lines.only(|subject| answer.has_sent(subject));
            if !known.is_empty() {
                self.push(conn, |outbox| outbox.extend_from_slice(&known));
            }
        }
        let seek = self.text_viewers.broadcast.as_ref();
        let seek = seek.filter(|answer| answer.is_world());
        let known = seek.map(|answer| lines.only(|subject| answer.has_sent(subject)));
        self.append_text(known.as_deref().unwrap_or(lines.bytes()));
    }

    /// The ground is filled up: all text viewers are sent the map, piece by piece. Answers whether that begins now.
    pub(crate) fn begin_map(&mut self) -> bool {
        let viewers = &mut self.text_viewers;
        viewers.is_refilled = !viewers.is_empty() && viewers.broadcast.is_some();
        if viewers.is_empty() || viewers.is_refilled {
            return false;
        }
        viewers.broadcast = Some(Answer::new(AnswerKind::Map));
        true
    }

    /// Sends all text viewers the next piece of what they are sent piece by piece.
    pub(crate) fn publish_piece(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Answer)) {
        let Some(mut answer) = self.text_viewers.broadcast.take() else {
            return;
        };
        if self.text_viewers.is_empty() {
            return;
        }
        let (mut piece, start) = (Vec::new(), answer.next);
        write(&mut piece, &mut answer);
        if answer.kind == AnswerKind::Map {
            for conn in self.text_viewers.joining.clone() {
                let joining = self.get(conn).and_then(|session| session.flow.answer.as_ref());
                if joining.is_some_and(|joining| joining.has_sent(start)) {
                    self.push(conn, |outbox| outbox.extend_from_slice(&piece));
                }
            }
        }
        self.append_text(&piece);
        let viewers = &mut self.text_viewers;
        if answer.next < answer.until() {
            viewers.broadcast = Some(answer);
            return;
        }
        viewers.is_joining_resumed |= answer.is_world();
        if std::mem::take(&mut viewers.is_refilled) {
            viewers.broadcast = Some(Answer::new(AnswerKind::Map));
        }
    }

    /// Appends to the log, and lets its viewers read on.
    pub(super) fn append_text(&mut self, bytes: &[u8]) {
        let viewers = &mut self.text_viewers;
        if viewers.watching.is_empty() || bytes.is_empty() {
            return;
        }
        viewers.log.append(bytes);
        viewers.unserved += bytes.len();
        if viewers.delay == RealSpan::ZERO {
            viewers.released = viewers.log.end;
        } else {
            let leaves = self.delay.leaves(self.now, viewers.delay);
            if self.delay.hold_text(leaves, bytes.len()).is_err() {
                log::warn!("too much happens for the delay of spectators in text: they are disconnected");
                let is_delayed = |session: &Session| session.delay > RealSpan::ZERO;
                for conn in self.text_viewers.watching.clone() {
                    if self.get(conn).is_some_and(is_delayed) {
                        self.schedule_close(conn, CloseReason::OutboxFull);
                    }
                }
                self.release_text_log();
            }
        }
        self.read_on_text_log();
    }

    /// Lets viewers with a delay read so many bytes further.
    pub(super) fn release_text(&mut self, bytes: usize) {
        self.text_viewers.released += bytes as u64;
        self.read_on_text_log();
    }

    /// Lets a few viewers read on at once, and each of many in its turn.
    fn read_on_text_log(&mut self) {
        let viewers = &mut self.text_viewers;
        if viewers.watching.len() > limits::TEXT_VIEWERS_AT_ONCE_MAX
            && viewers.unserved <= limits::TEXT_UPDATES_BYTES_MAX
        {
            viewers.turns_left = viewers.watching.len();
            return;
        }
        viewers.unserved = 0;
        for index in 0..self.text_viewers.watching.len() {
            self.read_text_log(self.text_viewers.watching[index]);
        }
        self.trim_text_log();
    }

    /// The world is another than `before`: all text viewers are sent the difference, those that join as if they began anew.
    pub(crate) fn show_seek(&mut self, before: &Game) {
        for index in 0..self.text_viewers.joining.len() {
            let session = self.get_mut(self.text_viewers.joining[index]);
            if let Some(answer) = session.and_then(|session| session.flow.answer.as_mut()) {
                answer.restart(before);
            }
        }
        let viewers = &mut self.text_viewers;
        (viewers.is_refilled, viewers.is_joining_resumed) = (false, true);
        match &mut viewers.broadcast {
            Some(answer) if answer.is_world() => answer.restart(before),
            broadcast => {
                *broadcast = (!viewers.watching.is_empty()).then(|| Answer::seek(before));
            }
        }
    }

    /// Lets a viewer read as much as its outbox has room for. One that is too far behind is disconnected.
    pub(super) fn read_text_log(&mut self, conn: ConnId) {
        let room = self.get(conn).map_or(0, |session| {
            limits::OUTBOX_PAUSE_BYTES.saturating_sub(session.outbox.len())
        });
        let behind = self.copy_text_log(conn, room as u64);
        if let Some(session) = self.get_mut(conn) {
            session.is_behind_log = behind > 0;
            if behind > 0 && behind as usize + session.outbox.len() > session.outbox_bytes_max {
                self.schedule_close(conn, CloseReason::OutboxFull);
            }
        }
        self.mark_dirty(conn);
    }

    /// Puts all that a text viewer may read and has not into its outbox: something of its own follows.
    pub(super) fn catch_up(&mut self, conn: ConnId) {
        self.copy_text_log(conn, u64::MAX);
    }

    /// Puts up to so many bytes into the outbox of a viewer; answers how many more it may read.
    fn copy_text_log(&mut self, conn: ConnId, bytes: u64) -> u64 {
        let (end, released) = (self.text_viewers.log.end, self.text_viewers.released);
        let Some(session) = self.get_mut(conn) else {
            return 0;
        };
        let until = match session.delay > RealSpan::ZERO {
            true => released,
            false => end,
        };
        let Some(from) = session.text_position.filter(|position| *position < until) else {
            return 0;
        };
        let to = until.min(from.saturating_add(bytes));
        session.text_position = Some(to);
        let log = std::mem::take(&mut self.text_viewers.log);
        self.append_output(conn, |outbox| log.copy(from..to, outbox));
        self.text_viewers.log = log;
        until - to
    }

    /// Lets the next `count` of the viewers that wait for their turn read on.
    pub(crate) fn serve_turns(&mut self, count: usize) {
        let count = count.min(self.text_viewers.turns_left);
        self.text_viewers.turns_left -= count;
        for _ in 0..count {
            if self.text_viewers.next_turn >= self.text_viewers.watching.len() {
                self.text_viewers.next_turn = 0;
                self.text_viewers.unserved = 0;
                self.trim_text_log();
            }
            if let Some(&conn) = self.text_viewers.watching.get(self.text_viewers.next_turn) {
                self.read_text_log(conn);
            }
            self.text_viewers.next_turn += 1;
        }
        if self.text_viewers.turns_left == 0 {
            self.trim_text_log();
        }
    }

    /// Forgets what all have read.
    fn trim_text_log(&mut self) {
        let watching = self.text_viewers.watching.iter();
        let read = watching.filter_map(|conn| self.get(*conn)?.text_position).min();
        let log = &mut self.text_viewers.log;
        log.forget_before(read.unwrap_or(log.end));
    }

    /// No viewer has missed any of the log, and what waits for the delay is counted.
    pub(crate) fn check_text_log(&self) {
        let viewers = &self.text_viewers;
        let (watching, log) = (&viewers.watching, &viewers.log);
        assert!(viewers.next_turn <= watching.len(), "the next turn is a viewer's");
        for session in watching.iter().filter_map(|conn| self.get(*conn)) {
            assert!(
                session
                    .text_position
                    .is_some_and(|position| (log.begin..=log.end).contains(&position)),
                "no viewer misses updates"
            );
            assert!(
                !session.is_behind_log || session.outbox.len() > limits::OUTBOX_RESUME_BYTES,
                "a viewer that is behind reads on when it has room"
            );
        }
        let held = self.iter().map(|session| &session.delayed);
        self.delay.check(held, viewers.delayed_bytes());
    }
}
