//! Encoded bytes on their way out of one session.
//!
//! Holds them until the shell has written them, in pieces or as a stream. Decides whether there is room;
//! what happens when there is none is decided by the session's owner. It never writes, and does not know
//! what the bytes mean.

use std::collections::VecDeque;

use trantor_protocol::text::LongLook;
use trantor_time::{RealSpan, RealTime};

use crate::limits;

/// Bytes that wait to be written, oldest first.
///
/// Many agents take one read for one message, so what is meant for them leaves piece by piece, each in a
/// write of its own; a viewer's bytes leave in as few writes as possible.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    /// Written bytes are left in front until all are written or they are the larger part.
    bytes: Vec<u8>,
    written: usize,
    /// Whether bytes leave as one stream.
    is_stream: bool,
    /// Otherwise the lengths of the pieces not yet wholly written, what is left of the first one first.
    pieces: VecDeque<usize>,
    /// When what is encoded was put in, oldest first.
    queued: VecDeque<Queued>,
    /// What comes behind `bytes` while a long look is being written: that look first.
    behind: VecDeque<Behind>,
    /// Memory that this takes.
    behind_bytes: usize,
    /// Messages that were put in, and those that were written: what is pushed at one time is a message.
    messages_queued: u64,
    messages_written: u64,
}

/// Encoded bytes of one instant that are not written.
#[derive(Clone, Copy, Debug)]
struct Queued {
    at: RealTime,
    bytes: usize,
    /// Messages that end in them.
    messages: u64,
}

/// What waits behind the encoded bytes.
#[derive(Clone, Debug)]
enum Behind {
    /// A look of any length, encoded as the peer takes it.
    Look(LongLook),
    Piece(Vec<u8>),
}

impl Behind {
    fn memory_bytes(&self) -> usize {
        match self {
            Self::Look(look) => look.memory_bytes(),
            Self::Piece(piece) => piece.len(),
        }
    }
}

/// Room kept while nothing waits: beyond it, memory grown for one large answer is given back.
const ROOM_KEPT_BYTES: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutboxFull;

impl Outbox {
    /// Adds the piece that `write` appends to the buffer it is given, unless something waits already and more than `bytes_max`
    /// would then: a peer that has read everything gets one piece of any size, which the world bounds. A piece that does not fit
    /// leaves no trace. An empty piece is none.
    pub(crate) fn push(
        &mut self,
        now: RealTime,
        bytes_max: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), OutboxFull> {
        if !self.behind.is_empty() {
            let mut piece = Vec::new();
            write(&mut piece);
            return match self.len() + piece.len() > bytes_max {
                true => Err(OutboxFull),
                false if piece.is_empty() => Ok(()),
                false => {
                    self.push_behind(Behind::Piece(piece));
                    Ok(())
                }
            };
        }
        let (before, has_read_all) = (self.bytes.len(), self.is_empty());
        write(&mut self.bytes);
        debug_assert!(self.bytes.len() >= before, "a piece is appended");
        if self.len() > bytes_max && !has_read_all {
            self.bytes.truncate(before);
            return Err(OutboxFull);
        }
        let messages = u64::from(self.bytes.len() > before);
        self.messages_queued += messages;
        self.note_piece(now, before, messages);
        Ok(())
    }

    /// Adds a look of any length. What is pushed later waits behind it.
    pub(crate) fn push_look(&mut self, now: RealTime, look: LongLook) {
        self.push_behind(Behind::Look(look));
        self.refill(now);
    }

    fn push_behind(&mut self, behind: Behind) {
        self.behind_bytes += behind.memory_bytes();
        self.behind.push_back(behind);
        self.messages_queued += 1;
    }

    /// Encodes more of what waits behind, if little is left of what was encoded.
    fn refill(&mut self, now: RealTime) {
        while self.bytes.len() - self.written < limits::LOOK_PIECE_BYTES
            && let Some(mut first) = self.behind.pop_front()
        {
            self.behind_bytes -= first.memory_bytes();
            let before = self.bytes.len();
            let is_whole = match &mut first {
                Behind::Look(look) => look.write_on(&mut self.bytes, limits::LOOK_PIECE_BYTES),
                Behind::Piece(piece) => {
                    self.bytes.append(piece);
                    true
                }
            };
            self.note_piece(now, before, u64::from(is_whole));
            if !is_whole {
                self.behind_bytes += first.memory_bytes();
                self.behind.push_front(first);
            }
        }
    }

    /// Notes the piece that was appended to the first `before` bytes, and how many messages end in it.
    fn note_piece(&mut self, now: RealTime, before: usize, messages: u64) {
        let piece = self.bytes.len() - before;
        match self.queued.back_mut() {
            Some(last) if last.at == now || piece == 0 => {
                last.bytes += piece;
                last.messages += messages;
            }
            None if piece == 0 => self.messages_written += messages,
            _ => self.queued.push_back(Queued {
                at: now,
                bytes: piece,
                messages,
            }),
        }
        if piece > 0 && !self.is_stream {
            self.pieces.push_back(piece);
        }
    }

    /// What to write next: the rest of the oldest piece, or all there is of a stream. Empty if nothing waits.
    pub(crate) fn unsent(&self) -> &[u8] {
        let rest = &self.bytes[self.written..];
        match self.is_stream {
            true => rest,
            false => &rest[..self.pieces.front().copied().unwrap_or(0)],
        }
    }

    /// Removes the first `count` bytes of [`Self::unsent`], written at `now`; returns how long the oldest
    /// of them had waited.
    ///
    /// # Panics
    /// If that is more than there was to write.
    pub(crate) fn sent(&mut self, now: RealTime, count: usize) -> RealSpan {
        assert!(
            count <= self.unsent().len(),
            "no more is written than was handed out"
        );
        self.written += count;
        if let Some(first) = self.pieces.front_mut() {
            *first -= count;
            self.pieces.pop_front_if(|first| *first == 0);
        }
        let waited = self.age(now);
        self.forget_queued(count);
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(ROOM_KEPT_BYTES);
            self.written = 0;
        } else if self.written > self.bytes.len() / 2 {
            // Each byte is moved at most once for every byte written, so a slow reader costs no more than a
            // fast one.
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        self.refill(now);
        waited
    }

    /// From now on bytes leave as a stream; those that wait join it.
    pub(crate) fn make_stream(&mut self) {
        self.is_stream = true;
        self.pieces.clear();
    }

    /// Bytes that wait, the memory of what is not encoded yet included.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.written + self.behind_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Messages that were put in so far.
    pub(crate) fn messages_queued(&self) -> u64 {
        self.messages_queued
    }

    /// Messages that wait: those of one instant leave together, with the last byte of them.
    pub(crate) fn messages_waiting(&self) -> u64 {
        self.messages_queued - self.messages_written
    }

    /// How long the oldest byte has waited at `now`; no time if none waits.
    pub(crate) fn age(&self, now: RealTime) -> RealSpan {
        let oldest = self.queued.front();
        oldest.map_or(RealSpan::ZERO, |oldest| now.since(oldest.at))
    }

    fn forget_queued(&mut self, mut count: usize) {
        while count > 0
            && let Some(oldest) = self.queued.front_mut()
        {
            let gone = count.min(oldest.bytes);
            oldest.bytes -= gone;
            count -= gone;
            if oldest.bytes == 0 {
                self.messages_written += oldest.messages;
                self.queued.pop_front();
            }
        }
    }

    /// Pieces, instants and bytes agree.
    pub(crate) fn check(&self) {
        let queued: usize = self.queued.iter().map(|queued| queued.bytes).sum();
        let encoded = self.bytes.len() - self.written;
        assert_eq!(queued, encoded, "each byte was put in at some instant");
        let behind: usize = self.behind.iter().map(Behind::memory_bytes).sum();
        assert_eq!(behind, self.behind_bytes, "what waits behind is counted");
        let messages: u64 = self.queued.iter().map(|queued| queued.messages).sum();
        assert_eq!(
            messages + self.behind.len() as u64,
            self.messages_waiting(),
            "each message ends in some bytes"
        );
        assert!(
            behind == 0 || encoded > 0,
            "more is encoded as soon as there is nothing to write"
        );
        if !self.is_stream {
            assert_eq!(
                self.pieces.iter().sum::<usize>(),
                encoded,
                "pieces cover the bytes"
            );
            assert!(self.pieces.iter().all(|&piece| piece > 0), "no piece is empty");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    fn push(outbox: &mut Outbox, piece: &[u8]) {
        outbox
            .push(ms(0), usize::MAX, |buffer| buffer.extend_from_slice(piece))
            .unwrap();
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(Vec<u8>),
        Sent(usize),
        MakeStream,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => prop::collection::vec(any::<u8>(), 0..20).prop_map(Step::Push),
            6 => (0usize..30).prop_map(Step::Sent),
            1 => Just(Step::MakeStream),
        ];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        /// Against a plain list of pieces.
        #[test]
        fn agrees_with_a_list_of_pieces(steps in steps()) {
            let mut outbox = Outbox::default();
            let mut model: VecDeque<Vec<u8>> = VecDeque::new();
            let (mut stream, mut pushed) = (false, 0);
            for step in steps {
                match step {
                    Step::Push(piece) => {
                        push(&mut outbox, &piece);
                        if !piece.is_empty() {
                            model.push_back(piece);
                            pushed += 1;
                        }
                    }
                    Step::Sent(count) => {
                        let count = count.min(outbox.unsent().len());
                        outbox.sent(ms(0), count);
                        for _ in 0..count {
                            let first = model.front_mut().unwrap();
                            first.remove(0);
                            if first.is_empty() {
                                model.pop_front();
                            }
                        }
                    }
                    Step::MakeStream => {
                        stream = true;
                        outbox.make_stream();
                    }
                }
                outbox.check();
                let all: Vec<u8> = model.iter().flatten().copied().collect();
                prop_assert_eq!(outbox.len(), all.len());
                prop_assert_eq!(outbox.messages_queued(), pushed);
                // All are of one instant, and leave with its last byte.
                prop_assert_eq!(outbox.messages_waiting() == 0, all.is_empty());
                let next = if stream { all } else { model.front().cloned().unwrap_or_default() };
                prop_assert_eq!(outbox.unsent(), next.as_slice());
            }
        }
    }
}
