//! The journal: every input of a game with its stamp, so that the game can be had again.
//!
//! A journal is written in *pieces*. Each stands alone: it begins with a snapshot, so a replay can begin at any
//! of them, and a piece that is lost takes no other with it. A piece is bytes in order:
//!
//! ```text
//! magic "TRANTORJ", version u16
//! frame: head          program version, number of the piece, stamp
//! frame: snapshot      as `Snapshot::encode` writes it
//! frame: entries       any number of such frames, each with any number of entries
//! ...
//! frame := length u32, checksum u32, content
//! ```
//!
//! The checksum is the CRC-32 of the content, begun with that of the frame before: a frame that is missing or
//! in another's place does not fit. All fixed numbers are little-endian; heads and entries are in postcard's encoding. An entry carries its
//! stamp as the difference to the one before: deadlines carried out, and nanounits of game time. What a crash
//! cuts off is never more than the last frame that was not written whole.
//!
//! Neither files nor compression are known here: bytes go in and out. Reading never panics, and holds no more than one
//! entry: unreadable bytes end the piece, with their position and the reason.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trantor_time::{GameSpan, GameTime};

use crate::digest::Digest;
use crate::game::Game;
use crate::input::GameInput;
use crate::save::{SaveError, Snapshot};

/// What every piece begins with.
pub const MAGIC: [u8; 8] = *b"TRANTORJ";

/// The version of the format. It rises with every change; see `docs/replay-format.md`. What entries hold is
/// part of it, and so are the rules: a change of either makes old journals replay differently.
pub const JOURNAL_VERSION: u16 = 3;

/// Length and checksum of a frame.
const FRAME_HEADER_BYTES: usize = 2 * size_of::<u32>();

/// The latest moment that a stamp may name: 10¹³ years at the highest frequency. Adding to it cannot overflow.
const AT_MAX: GameTime = GameTime::from_nanounits(1 << 100);

/// Where in the one order of events something happened: after so many deadlines, at this moment.
///
/// Game time alone would not do: an input may come before or between the deadlines of its own instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// Deadlines carried out before it.
    pub steps: u64,
    /// The time of the game.
    pub at: GameTime,
}

/// The metadata of a piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Name and version of the program that wrote it, for people.
    pub program: String,
    /// Its place in the journal, from 0.
    pub number: u32,
    /// Where it begins.
    pub begin: Stamp,
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub stamp: Stamp,
    /// What.
    pub record: Record,
}

/// What a journal holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// Something came in from outside.
    Input(GameInput),
    /// What the state was then, to be compared with.
    Digest(Digest),
    /// The piece ends here in order, in this state; another one follows.
    PieceEnd(Digest),
    /// The journal ends here in order, in this state.
    End(Digest),
    /// The game had come so far before anything later was sent. Without it a replay of a journal that was cut off would stop at
    /// the last input, and leave out what deadlines did after it.
    Progress,
}

/// An entry as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    steps_since: u64,
    nanounits_since: u128,
    record: Record,
}

/// The checksum of a frame after one with checksum `before`, 0 for the first.
fn frame_checksum(before: u32, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(content);
    hasher.finalize()
}

/// Why bytes are not a piece of a journal. The caller reports it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// They do not begin as a piece does.
    #[error("this is not a journal of a game")]
    NotAJournal,
    /// They are of a version that this program does not know.
    #[error("the journal has format {found}, this program reads format {JOURNAL_VERSION}")]
    Version {
        /// The version found.
        found: u16,
    },
    /// Even the head is not whole.
    #[error("the journal is cut off or damaged before its first entry: {0}")]
    Head(CutShort),
    /// The snapshot it begins with cannot be used.
    #[error("the journal's snapshot is of no use: {0}")]
    Snapshot(#[from] SaveError),
}

impl JournalError {
    /// Whether this is all that a writer leaves that was killed before the piece's head was whole. Nothing is lost with
    /// it: the piece before holds all that happened until then.
    pub fn is_of_begun(&self) -> bool {
        matches!(self, Self::Head(CutShort::Nothing | CutShort::Torn))
    }
}

/// Steps between two digests, at least. A digest costs time in proportion to the world, so larger worlds have
/// them further apart; see [`digest_steps`].
const DIGEST_STEPS_MIN: u64 = 1_000;

/// Writes one piece of a journal.
///
/// The driver of the game notes each input that the game has taken, and each deadline after it. It takes the
/// bytes at least once a pass; they end with a whole frame, so that all that was written before a crash can be
/// read.
#[derive(Clone, Debug)]
pub struct PieceWriter {
    /// Whole frames, then the room for the header of the open one and its content so far.
    bytes: Vec<u8>,
    open_frame: usize,
    /// Of the previous frame; that of the next continues it.
    checksum: u32,
    last: Stamp,
    digest_due_steps: u64,
}

impl PieceWriter {
    /// Begins a piece with the game as it is now. `program` is information for people.
    pub fn new(game: &Game, program: &str, number: u32) -> Self {
        Self::with_state(game, &game.snapshot().encode(), program, number)
    }

    /// Ends the piece in order and begins the next one with the game as it is now; returns the last bytes of this one.
    /// Of a large world that takes half as long as [`Self::close`] and [`Self::new`].
    pub fn follow(&mut self, game: &Game, program: &str, number: u32) -> Vec<u8> {
        let (state, digest) = game.snapshot().encode_with_digest();
        let next = Self::with_state(game, &state, program, number);
        std::mem::replace(self, next).end(game, Record::PieceEnd(digest))
    }

    fn with_state(game: &Game, state: &[u8], program: &str, number: u32) -> Self {
        let begin = stamp(game, game.now());
        let mut bytes = MAGIC.to_vec();
        bytes.extend(JOURNAL_VERSION.to_le_bytes());
        let mut writer = Self {
            open_frame: bytes.len(),
            bytes,
            checksum: 0,
            last: begin,
            digest_due_steps: game.steps() + digest_steps(game),
        };
        let head = Head {
            program: program.to_owned(),
            number,
            begin,
        };
        writer.open();
        writer.append(&head);
        writer.seal();
        writer.bytes.extend_from_slice(state);
        writer.seal();
        writer
    }

    /// Notes an input that the game has taken at `at`. What it refuses need not be noted: it changes nothing.
    pub fn input(&mut self, game: &Game, input: &GameInput, at: GameTime) {
        self.entry(stamp(game, at), Record::Input(input.clone()));
    }

    /// Notes that the game has carried out a deadline; at intervals, what its state is.
    pub fn stepped(&mut self, game: &Game) {
        if game.steps() >= self.digest_due_steps {
            self.digest_due_steps = game.steps() + digest_steps(game);
            self.entry(stamp(game, game.now()), Record::Digest(game.snapshot().digest()));
        }
    }

    /// Whether deadlines were carried out since the last record.
    pub fn is_behind(&self, game: &Game) -> bool {
        game.steps() > self.last.steps
    }

    /// Notes the progress of the game, if no record contains it: a replay then reaches it.
    pub fn progress(&mut self, game: &Game) {
        if self.is_behind(game) {
            self.reached(game);
        }
    }

    /// Notes how far the game has come, also where only time has passed: a replay of a journal that grows reaches it.
    pub fn reached(&mut self, game: &Game) {
        self.entry(stamp(game, game.now()), Record::Progress);
    }

    /// The bytes written since the last call, ending with a whole frame; empty if there are none.
    pub fn take(&mut self) -> Vec<u8> {
        if self.bytes.len() > self.open_frame + FRAME_HEADER_BYTES {
            self.seal();
        }
        let open = self.bytes.split_off(self.open_frame);
        self.open_frame = 0;
        std::mem::replace(&mut self.bytes, open)
    }

    /// Ends the journal in order, with the game as it is now, and returns its last bytes.
    pub fn close(self, game: &Game) -> Vec<u8> {
        let digest = game.snapshot().digest();
        self.end(game, Record::End(digest))
    }

    fn end(mut self, game: &Game, record: Record) -> Vec<u8> {
        self.entry(stamp(game, game.now()), record);
        self.take()
    }

    fn entry(&mut self, stamp: Stamp, record: Record) {
        let nanounits_since = (stamp.at - self.last.at).as_nanounits();
        self.append(&Written {
            steps_since: stamp.steps - self.last.steps,
            nanounits_since: u128::try_from(nanounits_since).expect("game time never goes back"),
            record,
        });
        self.last = stamp;
    }

    fn append<T: Serialize>(&mut self, content: &T) {
        let bytes = postcard::to_extend(content, std::mem::take(&mut self.bytes));
        self.bytes = bytes.expect("plain data in memory can be written");
    }

    /// Leaves room for the header of a frame.
    fn open(&mut self) {
        self.open_frame = self.bytes.len();
        self.bytes.extend([0; FRAME_HEADER_BYTES]);
    }

    /// Ends the open frame and opens the next.
    fn seal(&mut self) {
        let (header, content) = self.bytes[self.open_frame..].split_at_mut(FRAME_HEADER_BYTES);
        let length = u32::try_from(content.len()).expect("frames are taken long before four gigabytes");
        let (length_bytes, checksum) = header.split_at_mut(size_of::<u32>());
        length_bytes.copy_from_slice(&length.to_le_bytes());
        self.checksum = frame_checksum(self.checksum, content);
        checksum.copy_from_slice(&self.checksum.to_le_bytes());
        self.open();
    }
}

fn stamp(game: &Game, at: GameTime) -> Stamp {
    Stamp {
        steps: game.steps(),
        at,
    }
}

/// Steps until the next digest: so many that it costs a step a few nanoseconds, whatever the size of the world.
pub(crate) fn digest_steps(game: &Game) -> u64 {
    let world = game.world();
    (world.size().area() as u64 + 16 * world.agents().len() as u64).max(DIGEST_STEPS_MIN)
}

/// A piece whose head is whole. It shares the bytes, so that a place in it can be kept and continued from.
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
