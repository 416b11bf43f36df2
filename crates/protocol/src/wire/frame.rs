//! Frames: a length, then one postcard message; and the numbers of messages, which acknowledgements name.
//!
//! ```text
//! +--------------------+----------------------------+
//! | length, u32 LE     | message, `length` bytes    |
//! +--------------------+----------------------------+
//! ```
//!
//! Bytes from a peer never make anything here panic, nor reserve more memory than the cap of their direction.
//!
//! What a viewer sends is numbered from 1 by counting, the hello included, so the number itself never travels.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ToClient, ToServer};
use crate::limits::{FRAME_TO_CLIENT_BYTES_MAX, FRAME_TO_SERVER_BYTES_MAX};

/// Bytes of the length before each message.
const PREFIX_BYTES: usize = 4;

/// A message that travels in frames of a bounded length.
pub trait FrameMessage: Serialize + DeserializeOwned {
    /// The longest frame of this direction, in bytes, without the length.
    const FRAME_BYTES_MAX: usize;
}

impl FrameMessage for ToServer {
    const FRAME_BYTES_MAX: usize = FRAME_TO_SERVER_BYTES_MAX;
}

impl FrameMessage for ToClient {
    const FRAME_BYTES_MAX: usize = FRAME_TO_CLIENT_BYTES_MAX;
}

/// Why bytes from a peer are not frames of ours.
///
/// After any of these the stream can no longer be trusted: the reader ends the connection, sends the
/// reason and counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum FrameError {
    /// The length prefix promises more than is accepted.
    #[error("a frame of {len} bytes was announced, at most {max} are accepted")]
    TooLong { len: u32, max: u32 },
    /// The bytes in the frame are no message of this version.
    #[error("a frame of {len} bytes holds no message that is known")]
    Malformed { len: usize },
    /// The frame holds a message, and then more.
    #[error("{extra} bytes follow the message in a frame")]
    Trailing { extra: usize },
}

/// Appends one message as a frame.
///
/// # Errors
/// [`FrameError::TooLong`] if the message does not fit a frame of its direction; `out` is then as before.
pub fn write_frame<M: FrameMessage>(out: &mut Vec<u8>, message: &M) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    *out = postcard::to_extend(message, std::mem::take(out))
        .expect("messages hold no type that postcard refuses, and memory grows as needed");
    let len = out.len() - start - PREFIX_BYTES;
    if len > M::FRAME_BYTES_MAX {
        out.truncate(start);
        return Err(FrameError::TooLong {
            len: u32::try_from(len).unwrap_or(u32::MAX),
            max: M::FRAME_BYTES_MAX as u32,
        });
    }
    out[start..start + PREFIX_BYTES].copy_from_slice(&(len as u32).to_le_bytes());
    Ok(())
}

/// Reads the message in a frame whose length was taken off.
pub fn read_frame<M: FrameMessage>(frame: &[u8]) -> Result<M, FrameError> {
    let malformed = |_| FrameError::Malformed { len: frame.len() };
    let (message, rest) = postcard::take_from_bytes(frame).map_err(malformed)?;
    if !rest.is_empty() {
        return Err(FrameError::Trailing { extra: rest.len() });
    }
    Ok(message)
}

/// Collects pieces into frames, in bounded memory.
#[derive(Debug)]
pub struct FrameCutter {
    frame_bytes_max: usize,
    /// A frame whose end has not come, with its length; after a cut, the frame that was given out.
    pending: Vec<u8>,
    /// Whether `pending` was given out and goes with the next call.
    spent: bool,
    /// Set once the stream cannot be trusted any more; the error is then repeated.
    broken: Option<FrameError>,
}

impl FrameCutter {
    /// For the frames of messages of kind `M`.
    pub fn new<M: FrameMessage>() -> Self {
        Self::with_max::<M>(M::FRAME_BYTES_MAX)
    }

    /// As `new`, for frames of at most `frame_bytes_max`, which is never more than the cap of their direction.
    pub fn with_max<M: FrameMessage>(frame_bytes_max: usize) -> Self {
        Self {
            frame_bytes_max: frame_bytes_max.min(M::FRAME_BYTES_MAX),
            pending: Vec::new(),
            spent: false,
            broken: None,
        }
    }

    /// Takes the next frame off the front of `piece`, or all of `piece` if no frame ends in it.
    ///
    /// Call it until it answers `Ok(None)`; `piece` is then empty. The frame comes without its length. A frame
    /// that lies whole in the piece is not copied.
    ///
    /// # Errors
    /// [`FrameError::TooLong`] as soon as a length is announced that is not accepted, and from then on.
    pub fn next<'s, 'p: 's>(&'s mut self, piece: &mut &'p [u8]) -> Result<Option<&'s [u8]>, FrameError> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        if self.spent {
            self.spent = false;
            self.pending.clear();
            self.pending.shrink_to(FRAME_ROOM_KEPT_BYTES);
        }
        if self.pending.is_empty()
            && let Some((&prefix, rest)) = piece.split_first_chunk()
            && let Some((frame, rest)) = rest.split_at_checked(self.announced(prefix)?)
        {
            *piece = rest;
            return Ok(Some(frame));
        }
        self.collect(piece, PREFIX_BYTES);
        let Some(&prefix) = self.pending.first_chunk() else {
            return Ok(None);
        };
        let whole = PREFIX_BYTES + self.announced(prefix)?;
        self.collect(piece, whole);
        if self.pending.len() < whole {
            return Ok(None);
        }
        self.spent = true;
        Ok(Some(&self.pending[PREFIX_BYTES..]))
    }

    /// Bytes held of a frame whose end has not come.
    pub fn pending_bytes(&self) -> usize {
        if self.spent { 0 } else { self.pending.len() }
    }

    /// Moves bytes from `piece` until `wanted` are pending.
    fn collect(&mut self, piece: &mut &[u8], wanted: usize) {
        let missing = wanted.saturating_sub(self.pending.len()).min(piece.len());
        let (taken, rest) = piece.split_at(missing);
        self.pending.extend_from_slice(taken);
        *piece = rest;
    }

    fn announced(&mut self, prefix: [u8; PREFIX_BYTES]) -> Result<usize, FrameError> {
        let len = u32::from_le_bytes(prefix);
        if len as usize > self.frame_bytes_max {
            let max = self.frame_bytes_max as u32;
            let error = FrameError::TooLong { len, max };
            self.broken = Some(error);
            return Err(error);
        }
        Ok(len as usize)
    }
}

/// Room a frame cutter keeps between frames, in bytes: beyond it memory grown for one large frame goes back.
const FRAME_ROOM_KEPT_BYTES: usize = 64 * 1024;

/// The viewer's side: what it sent, and how much of that was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentNumbers {
    sent: u64,
    acked: u64,
}

/// The server's side: what it received and processed, and how much of that it owes an acknowledgement for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedNumbers {
    received: u64,
    acked: u64,
}

/// Why an acknowledgement, or a number, cannot be right. It ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum SeqError {
    /// The number does not lie above the last one acknowledged.
    #[error("message {number} was acknowledged after message {last} already had been")]
    NotGreater { number: u64, last: u64 },
    /// The number lies above the last one sent.
    #[error("message {number} was acknowledged, but only {sent} were sent")]
    NotSent { number: u64, sent: u64 },
}

impl SentNumbers {
    /// Counts a message that is being sent, and answers its number.
    pub fn send(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    /// Takes note that everything up to `number` was processed.
    ///
    /// # Errors
    /// If the number is not greater than the last, or greater than what was sent.
    pub fn ack(&mut self, number: u64) -> Result<(), SeqError> {
        let Self { sent, acked: last } = *self;
        if number <= last {
            return Err(SeqError::NotGreater { number, last });
        }
        if number > sent {
            return Err(SeqError::NotSent { number, sent });
        }
        self.acked = number;
        Ok(())
    }

    /// Messages sent and not yet acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.acked
    }
}

impl ReceivedNumbers {
    /// Counts a message that was processed, and answers its number.
    pub fn receive(&mut self) -> u64 {
        self.received += 1;
        self.received
    }

    /// The acknowledgement owed, if any, after the effects of the message were sent. Several messages of one
    /// pass may share one.
    pub fn take_ack(&mut self) -> Option<u64> {
        let acked = std::mem::replace(&mut self.acked, self.received);
        (acked < self.received).then_some(self.received)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::{ClientHello, WIRE_VERSION};
    use trantor_model::{Control, Step};

    fn hello(program: &str) -> ToServer {
        let (version, program) = (WIRE_VERSION, program.to_owned());
        ToServer::Hello(ClientHello { version, program })
    }

    /// All frames of a stream that comes in `pieces`, and the error that ended it.
    fn cut_all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Option<FrameError>) {
        let mut cutter = FrameCutter::new::<ToServer>();
        let mut frames = Vec::new();
        for mut piece in pieces {
            loop {
                match cutter.next(&mut piece) {
                    Ok(Some(frame)) => frames.push(frame.to_vec()),
                    Ok(None) => break,
                    Err(error) => return (frames, Some(error)),
                }
            }
            assert!(piece.is_empty(), "all of a piece is taken");
            assert!(cutter.pending_bytes() < PREFIX_BYTES + FRAME_TO_SERVER_BYTES_MAX);
        }
        (frames, None)
    }

    #[test]
    fn messages_come_back_from_any_pieces() {
        let messages = [
            hello("viewer 1"),
            ToServer::Control(Control::Pause),
            ToServer::Control(Control::Step(Step::Event)),
            ToServer::Goodbye,
        ];
        let mut stream = Vec::new();
        for message in &messages {
            write_frame(&mut stream, message).unwrap();
        }
        for size in 1..=stream.len() {
            let (frames, error) = cut_all(stream.chunks(size));
            assert_eq!(error, None);
            let read: Vec<ToServer> = frames.iter().map(|frame| read_frame(frame).unwrap()).collect();
            assert_eq!(read, messages, "in pieces of {size}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_is_collected() {
        let max = FRAME_TO_SERVER_BYTES_MAX as u32;
        let error = FrameError::TooLong { len: max + 1, max };
        let prefix = (max + 1).to_le_bytes();
        assert_eq!(cut_all([&prefix[..]]), (vec![], Some(error)));
        assert_eq!(cut_all([&prefix[..2], &prefix[2..]]), (vec![], Some(error)));

        let mut cutter = FrameCutter::new::<ToServer>();
        let mut piece = &u32::MAX.to_le_bytes()[..];
        assert!(cutter.next(&mut piece).is_err());
        let mut piece = &[0, 0, 0, 0][..];
        assert!(
            cutter.next(&mut piece).is_err(),
            "and nothing after it is trusted"
        );
    }

    #[test]
    fn a_message_too_long_or_with_bytes_behind_it_is_refused() {
        let mut out = b"before".to_vec();
        let too_long = hello(&"x".repeat(FRAME_TO_SERVER_BYTES_MAX));
        let refused = write_frame(&mut out, &too_long);
        assert!(matches!(refused, Err(FrameError::TooLong { .. })));
        assert_eq!(out, b"before");
        let goodbye = postcard::to_stdvec(&ToServer::Goodbye).unwrap();
        let read = |frame: &[u8]| read_frame::<ToServer>(frame);
        assert_eq!(read(&goodbye), Ok(ToServer::Goodbye));
        assert_eq!(
            read(&[&goodbye[..], b"!"].concat()),
            Err(FrameError::Trailing { extra: 1 })
        );
        assert_eq!(read(b""), Err(FrameError::Malformed { len: 0 }));
    }

    #[test]
    fn values_that_cannot_be_are_not_read() {
        use trantor_model::{Level, MapSize};
        use trantor_time::Frequency;
        assert!(postcard::from_bytes::<MapSize>(&[0, 5]).is_err());
        assert!(postcard::from_bytes::<Level>(&[9]).is_err());
        assert!(postcard::from_bytes::<Frequency>(&[0]).is_err());
        assert_eq!(postcard::from_bytes(&[7, 5]), Ok(MapSize::new(7, 5).unwrap()));
    }

    #[test]
    fn an_ack_covers_all_before_it_and_one_that_cannot_be_right_is_an_error() {
        let (mut sent, mut received) = (SentNumbers::default(), ReceivedNumbers::default());
        assert_eq!(received.take_ack(), None);
        for number in 1..=3 {
            assert_eq!((sent.send(), received.receive()), (number, number));
        }
        assert_eq!([received.take_ack(), received.take_ack()], [Some(3), None]);
        let not_greater = |number, last| Err(SeqError::NotGreater { number, last });
        for (number, result, in_flight) in [
            (0, not_greater(0, 0), 3),
            (2, Ok(()), 1),
            (2, not_greater(2, 2), 1),
            (4, Err(SeqError::NotSent { number: 4, sent: 3 }), 1),
            (3, Ok(()), 0),
        ] {
            assert_eq!((sent.ack(number), sent.in_flight()), (result, in_flight));
        }
    }

    proptest! {
        /// Any bytes, in any pieces: the same frames and the same end, and no panic, also when they are read.
        #[test]
        fn hostile_bytes_give_errors(
            bytes in prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => 0u8..20, 1 => any::<u8>()], 0..300),
            size in 1usize..20,
        ) {
            let whole = cut_all([&bytes[..]]);
            let pieces = cut_all(bytes.chunks(size));
            prop_assert_eq!(&whole, &pieces);
            for frame in whole.0 {
                let _ = read_frame::<ToServer>(&frame);
                let _ = read_frame::<ToClient>(&frame);
            }
        }
    }
}
