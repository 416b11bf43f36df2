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
//! Neither files nor compression are known here: bytes go in and out.

mod reader;
mod writer;

use serde::{Deserialize, Serialize};
use trantor_time::GameTime;

use crate::digest::Digest;
use crate::input::GameInput;
use crate::save::SaveError;

pub use reader::{CutShort, Ending, Entries, Piece};
pub use writer::PieceWriter;
pub(crate) use writer::digest_steps;

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
