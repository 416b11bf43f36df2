//! Writing a piece of a running game.

use serde::Serialize;
use trantor_time::GameTime;

use super::{FRAME_HEADER_BYTES, Head, JOURNAL_VERSION, MAGIC, Record, Stamp, Written, frame_checksum};
use crate::game::Game;
use crate::input::GameInput;

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
