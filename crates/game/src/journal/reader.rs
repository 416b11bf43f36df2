//! Reading a piece, whole or cut off, honest or not.
//!
//! The reader shares the bytes, so that a place in a piece can be kept and gone on from. It holds no more than one
//! entry and never panics: unreadable bytes end the piece, with their position and the reason.

use std::ops::Range;
use std::sync::Arc;

use trantor_time::{GameSpan, GameTime};

use super::{
    AT_MAX, Entry, FRAME_HEADER_BYTES, Head, JOURNAL_VERSION, JournalError, MAGIC, Record, Stamp, Written,
    frame_checksum,
};
use crate::save::{SaveError, Snapshot};

/// A piece whose head is whole.
#[derive(Clone, Debug)]
pub struct Piece {
    head: Head,
    snapshot: Range<usize>,
    frames: Frames,
}

/// The entries of a piece, in order.
#[derive(Clone, Debug)]
pub struct Entries {
    frames: Frames,
    /// What is left of the frame at hand.
    frame: Range<usize>,
    last: Stamp,
    ending: Option<Ending>,
}

/// How a piece ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In order, as the last piece of its journal.
    Closed,
    /// In order; another piece follows.
    Continued,
    /// After the last whole frame, at this byte. A journal that is still being written ends so, and one whose
    /// writer was killed.
    CutOff {
        /// Bytes of the piece that were whole.
        whole_bytes: usize,
        /// What comes there instead of a frame.
        why: CutShort,
    },
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CutShort {
    /// There is none.
    #[error("nothing follows")]
    Nothing,
    /// The bytes end in the middle of it.
    #[error("the last record was not written whole")]
    Torn,
    /// Its checksum does not fit.
    #[error("a record is damaged")]
    Checksum,
    /// Its checksum fits, but its content has no such shape.
    #[error("a record cannot be read")]
    Unreadable,
    /// The piece has ended before.
    #[error("something follows the end")]
    Beyond,
}

impl Ending {
    /// Whether nothing is missing at the end of the piece.
    pub fn is_in_order(self) -> bool {
        matches!(self, Self::Closed | Self::Continued)
    }
}

impl Piece {
    /// Reads the head.
    ///
    /// # Errors
    /// If there is none, or it is of another version; see [`JournalError::is_of_begun`].
    pub fn open(bytes: impl Into<Arc<[u8]>>) -> Result<Self, JournalError> {
        let bytes = bytes.into();
        let begun = match bytes.is_empty() {
            true => JournalError::Head(CutShort::Nothing),
            false => JournalError::Head(CutShort::Torn),
        };
        if MAGIC.starts_with(&bytes) {
            return Err(begun);
        }
        let rest = bytes.strip_prefix(&MAGIC).ok_or(JournalError::NotAJournal)?;
        let Some((&version, _)) = rest.split_first_chunk::<2>() else {
            return Err(begun);
        };
        let found = u16::from_le_bytes(version);
        if found != JOURNAL_VERSION {
            return Err(JournalError::Version { found });
        }
        let at = MAGIC.len() + version.len();
        let mut frames = Frames {
            bytes,
            at,
            checksum: 0,
        };
        let head = frames.next_frame().map_err(JournalError::Head)?;
        let head = match postcard::take_from_bytes::<Head>(&frames.bytes[head]) {
            Ok((head, [])) if (GameTime::ZERO..=AT_MAX).contains(&head.begin.at) => head,
            _ => return Err(JournalError::Head(CutShort::Unreadable)),
        };
        let snapshot = frames.next_frame().map_err(JournalError::Head)?;
        Ok(Self {
            head,
            snapshot,
            frames,
        })
    }

    /// The metadata of the piece.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The game as the piece begins.
    ///
    /// # Errors
    /// If it is of another version, or damaged in a way that no checksum of the journal detects.
    pub fn snapshot(&self) -> Result<Snapshot, SaveError> {
        Snapshot::decode(&self.frames.bytes[self.snapshot.clone()])
    }

    /// The entries, from the first on.
    pub fn entries(&self) -> Entries {
        Entries {
            frames: self.frames.clone(),
            frame: 0..0,
            last: self.head.begin,
            ending: None,
        }
    }
}

impl Entries {
    /// How the piece ends, once there is no further entry.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Reads the next entry of the frame at hand.
    fn read(&mut self) -> Option<Entry> {
        let frame = &self.frames.bytes[self.frame.clone()];
        let (written, rest) = postcard::take_from_bytes::<Written>(frame).ok()?;
        let rest = self.frame.end - rest.len()..self.frame.end;
        let steps = self.last.steps.checked_add(written.steps_since)?;
        let nanounits_since = i128::try_from(written.nanounits_since).ok()?;
        let room = (AT_MAX - self.last.at).as_nanounits();
        if nanounits_since > room {
            return None;
        }
        let at = self.last.at + GameSpan::from_nanounits(nanounits_since);
        self.frame = rest;
        self.last = Stamp { steps, at };
        Some(Entry {
            stamp: self.last,
            record: written.record,
        })
    }

    /// Continues with `more`, which the writer gave after the bytes there were. What was read is forgotten.
    pub(crate) fn extend(&mut self, more: &[u8]) {
        let frames = &mut self.frames;
        let unread = &frames.bytes[frames.at - self.frame.len()..];
        frames.bytes = [unread, more].concat().into();
        self.frame = 0..self.frame.len();
        frames.at = self.frame.end;
        self.ending.take_if(|ending| !ending.is_in_order());
    }

    fn end(&mut self, ending: Ending) {
        self.frame = 0..0;
        self.ending = Some(ending);
    }
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.ending.is_some() {
            return None;
        }
        let mut frame_at = self.frames.at;
        while self.frame.is_empty() {
            frame_at = self.frames.at;
            match self.frames.next_frame() {
                Ok(frame) => self.frame = frame,
                Err(why) => {
                    let whole_bytes = frame_at;
                    self.end(Ending::CutOff { whole_bytes, why });
                    return None;
                }
            }
        }
        let Some(entry) = self.read() else {
            let why = CutShort::Unreadable;
            self.end(Ending::CutOff {
                whole_bytes: frame_at,
                why,
            });
            return None;
        };
        let ending = match entry.record {
            Record::End(_) => Some(Ending::Closed),
            Record::PieceEnd(_) => Some(Ending::Continued),
            Record::Input(_) | Record::Digest(_) | Record::Progress => None,
        };
        if let Some(ending) = ending {
            let end_at = self.frames.at - self.frame.len();
            self.end(match end_at == self.frames.bytes.len() {
                true => ending,
                false => Ending::CutOff {
                    whole_bytes: end_at,
                    why: CutShort::Beyond,
                },
            });
        }
        Some(entry)
    }
}

/// Cuts frames off bytes.
#[derive(Clone, Debug)]
struct Frames {
    bytes: Arc<[u8]>,
    at: usize,
    /// Of the frame before.
    checksum: u32,
}

impl Frames {
    /// Where the content of the next frame lies.
    fn next_frame(&mut self) -> Result<Range<usize>, CutShort> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Err(CutShort::Nothing);
        }
        let (header, rest) = rest.split_at_checked(FRAME_HEADER_BYTES).ok_or(CutShort::Torn)?;
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0u32, |number, &byte| number << 8 | u32::from(byte))
        };
        let (length, written) = header.split_at(size_of::<u32>());
        let length = usize::try_from(number(length)).map_err(|_too_long| CutShort::Torn)?;
        let content = rest.get(..length).ok_or(CutShort::Torn)?;
        let checksum = frame_checksum(self.checksum, content);
        if checksum != number(written) {
            return Err(CutShort::Checksum);
        }
        let begin = self.at + FRAME_HEADER_BYTES;
        self.checksum = checksum;
        self.at = begin + length;
        Ok(begin..self.at)
    }
}
