//! Text viewers: an append-only log of updates, encoded once, in which each viewer has a position.
//!
//! A few read each event in the pass in which it happens; of many each has its turn now and then (docs/decisions/0093). A
//! spectator delay bounds the position. A viewer that is still being sent the world (it joins) has no position: it is sent
//! updates about what it has been sent already.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use trantor_game::{Game, RitualId};
use trantor_time::RealSpan;

use super::{Answer, AnswerKind, Known, Lines, Sessions, Subject};
use crate::input::ConnId;
use crate::limits;
use crate::output::CloseReason;

/// Viewers in text, in the order they came.
#[derive(Debug, Default)]
pub(crate) struct TextViewers {
    /// Those that are still being sent the world.
    pub(crate) joining: Vec<ConnId>,
    /// Those that have it, and read the log.
    pub(crate) watching: Vec<ConnId>,
    log: TextLog,
    /// So many of `watching` may have unread updates without being dirty, from `next_turn` on and round the end.
    pub(crate) turns_left: usize,
    next_turn: usize,
    /// The longest delay of those that read the log.
    delay: RealSpan,
    /// Running elevations that a viewer of `watching` was not sent, and whose end it is not sent.
    skipped_rituals: Vec<(ConnId, RitualId)>,
    /// What a viewer does not read, since it was sent other lines instead.
    skipped_bytes: Vec<(ConnId, Range<u64>)>,
}

/// Updates that some viewer has yet to read.
#[derive(Debug, Default)]
struct TextLog {
    /// The last one grows up to [`CHUNK_BYTES`].
    chunks: VecDeque<Vec<u8>>,
    /// Position of the first byte kept.
    begin: u64,
    /// Position behind the last byte.
    end: u64,
    /// How far viewers with a delay may read.
    released: u64,
}

/// Bytes of a chunk of the log from which on another one begins.
const CHUNK_BYTES: usize = 64 * 1024;

impl TextLog {
    fn append(&mut self, bytes: &[u8]) {
        match self.chunks.back_mut().filter(|chunk| chunk.len() < CHUNK_BYTES) {
            Some(chunk) => chunk.extend_from_slice(bytes),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK_BYTES.max(bytes.len()));
                chunk.extend_from_slice(bytes);
                self.chunks.push_back(chunk);
            }
        }
        self.end += bytes.len() as u64;
    }

    /// Appends the bytes from one position up to another to `out`, but for those in `skipped`, which are in order.
    fn copy(&self, range: Range<u64>, skipped: &[Range<u64>], out: &mut Vec<u8>) {
        let mut from = range.start;
        for skipped in skipped {
            self.copy_all(from..skipped.start, out);
            from = skipped.end;
        }
        self.copy_all(from..range.end, out);
    }

    fn copy_all(&self, range: Range<u64>, out: &mut Vec<u8>) {
        let mut at = self.begin;
        for chunk in &self.chunks {
            let end = at + chunk.len() as u64;
            if end <= range.start {
                at = end;
                continue;
            }
            let [from, until] =
                [range.start, range.end].map(|position| (position.clamp(at, end) - at) as usize);
            out.extend_from_slice(&chunk[from..until]);
            at = end;
        }
    }

    /// Bytes that viewers may read and some have not. The log may begin behind what is released: a viewer with a delay joins at
    /// its end.
    fn unread(&self) -> usize {
        self.released.saturating_sub(self.begin) as usize
    }

    fn forget_before(&mut self, position: u64) {
        while let Some(first) = self.chunks.front_mut()
            && self.begin + first.len() as u64 <= position
        {
            self.begin += first.len() as u64;
            if self.chunks.len() == 1 {
                // Its room is used again.
                self.chunks[0].clear();
                return;
            }
            self.chunks.pop_front();
        }
    }
}

impl TextViewers {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.joining.len() + self.watching.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn log_end(&self) -> u64 {
        self.log.end
    }

    pub(super) fn add(&mut self, conn: ConnId) {
        self.joining.push(conn);
    }

    fn skip_rituals(&mut self, conn: ConnId, rituals: &[RitualId]) {
        let skipped = rituals.iter().map(|ritual| (conn, *ritual));
        self.skipped_rituals.extend(skipped);
    }

    /// What a viewer that reads up to `until` does not read.
    fn take_skipped(&mut self, conn: ConnId, until: u64) -> Vec<Range<u64>> {
        let skipped = &mut self.skipped_bytes;
        if skipped.is_empty() {
            return Vec::new();
        }
        let skipped = skipped.extract_if(.., |(viewer, range)| *viewer == conn && range.end <= until);
        skipped.map(|(_, range)| range).collect()
    }

    fn delayed_bytes(&self) -> usize {
        (self.log.end - self.log.released) as usize
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
        viewers.skipped_rituals.retain(|(viewer, _)| *viewer != conn);
        viewers.skipped_bytes.retain(|(viewer, _)| *viewer != conn);
        viewers.next_turn -= usize::from(index < viewers.next_turn);
        viewers.turns_left = viewers.turns_left.min(viewers.watching.len());
        self.watching_changed();
    }

    /// Notes the longest delay of those that read the log; without one nothing of it waits, and without readers nothing is kept.
    fn watching_changed(&mut self) {
        let watching = self.text_viewers.watching.iter();
        let delays = watching
            .filter_map(|conn| self.get(*conn))
            .map(|session| session.delay);
        self.text_viewers.delay = delays.max().unwrap_or(RealSpan::ZERO);
        if self.text_viewers.delay == RealSpan::ZERO {
            self.release_text_log();
        }
        if self.text_viewers.watching.is_empty() {
            let viewers = &mut self.text_viewers;
            (viewers.turns_left, viewers.next_turn) = (0, 0);
            viewers.skipped_rituals.clear();
            viewers.log.forget_before(viewers.log.end);
        }
    }

    /// Nothing of the log waits any more.
    fn release_text_log(&mut self) {
        if self.text_viewers.delayed_bytes() > 0 {
            self.delay.forget_text();
            self.text_viewers.log.released = self.text_viewers.log.end;
        }
    }

    /// A text viewer has the world, but for these elevations: from now on it reads the log.
    pub(crate) fn finish_joining(&mut self, conn: ConnId, skipped: &[RitualId]) {
        let end = self.text_viewers.log.end;
        let Some(session) = self.get_mut(conn) else { return };
        session.text_position = Some(end);
        let viewers = &mut self.text_viewers;
        viewers.joining.retain(|viewer| *viewer != conn);
        viewers.watching.push(conn);
        viewers.skip_rituals(conn, skipped);
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
        if !self.text_viewers.skipped_rituals.is_empty() {
            self.push_without_skipped(lines);
        }
        self.append_text(lines.bytes());
    }

    /// Viewers that were not sent an elevation that ends with these lines are sent the others alone, and do not read these.
    fn push_without_skipped(&mut self, lines: &Lines) {
        let skipped = &mut self.text_viewers.skipped_rituals;
        let is_over = |(_, ritual): &mut (ConnId, RitualId)| lines.mention(Subject::Ritual(*ritual));
        let over: Vec<_> = skipped.extract_if(.., is_over).collect();
        let mut conns: Vec<ConnId> = over.iter().map(|(conn, _)| *conn).collect();
        conns.sort_unstable();
        conns.dedup();
        let end = self.text_viewers.log.end;
        for conn in conns {
            let others = lines.only(|subject| match subject {
                Subject::Ritual(ritual) => !over.contains(&(conn, ritual)),
                _ => true,
            });
            self.push(conn, |outbox| outbox.extend_from_slice(&others));
            let behind = end + lines.bytes().len() as u64;
            self.text_viewers.skipped_bytes.push((conn, end..behind));
        }
    }

    /// Appends to the log, and lets its viewers read on.
    pub(super) fn append_text(&mut self, bytes: &[u8]) {
        let viewers = &mut self.text_viewers;
        if viewers.watching.is_empty() || bytes.is_empty() {
            return;
        }
        viewers.log.append(bytes);
        if viewers.delay == RealSpan::ZERO {
            viewers.log.released = viewers.log.end;
        } else {
            let leaves = self.delay.leaves(self.now, viewers.delay);
            if self.delay.hold_text(leaves, bytes.len()).is_err() {
                log::warn!("too much happens for the delay of spectators in text: they are disconnected");
                for conn in self.text_viewers.watching.clone() {
                    if self
                        .get(conn)
                        .is_some_and(|session| session.delay > RealSpan::ZERO)
                    {
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
        self.text_viewers.log.released += bytes as u64;
        self.read_on_text_log();
    }

    /// Lets a few viewers read on at once, and each of many in its turn.
    fn read_on_text_log(&mut self) {
        let viewers = &mut self.text_viewers;
        let unread = viewers.log.unread();
        if viewers.watching.len() > limits::TEXT_VIEWERS_AT_ONCE_MAX
            && unread <= limits::TEXT_UPDATES_BYTES_MAX
        {
            viewers.turns_left = viewers.watching.len();
            return;
        }
        for index in 0..self.text_viewers.watching.len() {
            let conn = self.text_viewers.watching[index];
            self.catch_up(conn);
            self.mark_dirty(conn);
        }
        match self.text_viewers.delay == RealSpan::ZERO {
            true => self.text_viewers.log.forget_before(self.text_viewers.log.end),
            false => self.trim_text_log(),
        }
    }

    /// The world is another than `before`: all text viewers are sent the difference, as if they joined.
    pub(crate) fn rejoin_all(&mut self, before: &Game) {
        for index in 0..self.text_viewers.joining.len() {
            let session = self.get_mut(self.text_viewers.joining[index]);
            if let Some(answer) = session.and_then(|session| session.flow.answer.as_mut()) {
                answer.restart(before);
            }
        }
        let known = Rc::new(Known::all(before));
        for conn in std::mem::take(&mut self.text_viewers.watching) {
            self.catch_up(conn);
            self.mark_dirty(conn);
            // What waits for a delay leaves before the world that follows.
            let position = self
                .get_mut(conn)
                .and_then(|session| session.text_position.take());
            let end = self.text_viewers.log.end;
            let skipped = self.text_viewers.take_skipped(conn, end);
            let mut delayed = Vec::new();
            let unread = position.unwrap_or(end)..end;
            self.text_viewers.log.copy(unread, &skipped, &mut delayed);
            if !delayed.is_empty() {
                self.push(conn, |outbox| outbox.append(&mut delayed));
            }
            if let Some(session) = self.get_mut(conn) {
                let mut answer = Answer::new(AnswerKind::Jump);
                answer.known = Rc::clone(&known);
                session.flow.answer = Some(answer);
                self.text_viewers.joining.push(conn);
            }
        }
        self.watching_changed();
    }

    /// Puts what a text viewer may read and has not into its outbox.
    pub(super) fn catch_up(&mut self, conn: ConnId) {
        let (end, released) = (self.text_viewers.log.end, self.text_viewers.log.released);
        let Some(session) = self.get_mut(conn) else { return };
        let until = if session.delay > RealSpan::ZERO {
            released
        } else {
            end
        };
        let Some(position) = session
            .text_position
            .as_mut()
            .filter(|position| **position < until)
        else {
            return;
        };
        let from = std::mem::replace(position, until);
        let skipped = self.text_viewers.take_skipped(conn, until);
        let log = std::mem::take(&mut self.text_viewers.log);
        self.append_output(conn, |outbox| log.copy(from..until, &skipped, outbox));
        self.text_viewers.log = log;
    }

    /// Lets the next `count` of the viewers that wait for their turn read on.
    pub(crate) fn serve_turns(&mut self, count: usize) {
        let count = count.min(self.text_viewers.turns_left);
        self.text_viewers.turns_left -= count;
        for _ in 0..count {
            if self.text_viewers.next_turn >= self.text_viewers.watching.len() {
                self.text_viewers.next_turn = 0;
                self.trim_text_log();
            }
            if let Some(&conn) = self.text_viewers.watching.get(self.text_viewers.next_turn) {
                self.catch_up(conn);
                self.mark_dirty(conn);
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

    /// The log is bounded, no viewer has missed any of it, and what waits for the delay is counted.
    pub(crate) fn check_text_log(&self) {
        let TextViewers {
            watching,
            log,
            next_turn,
            ..
        } = &self.text_viewers;
        assert!(*next_turn <= watching.len(), "the next turn is a viewer's");
        assert!(
            log.unread() <= limits::TEXT_UPDATES_BYTES_MAX + CHUNK_BYTES,
            "what waits for turns is bounded"
        );
        for position in watching.iter().filter_map(|conn| self.get(*conn)?.text_position) {
            assert!(
                (log.begin..=log.end).contains(&position),
                "no viewer misses updates"
            );
        }
        let held = self.iter().map(|session| &session.delayed);
        self.delay.check(held, self.text_viewers.delayed_bytes());
    }
}
