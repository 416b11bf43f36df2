//! Throttling of one session: by its rate limit, and by its unread output.
//!
//! No request is lost while the peer stays connected. What was read and is not carried out yet waits here, bounded; the rest waits
//! in the socket.

use trantor_model::Command;
use trantor_time::{RealTime, TimerId};

use super::answer::Answer;
use super::token_bucket::TokenBucket;

/// The flow of one session's requests.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) bucket: TokenBucket,
    /// Read, and not carried out yet. Only while the peer is not read.
    pub(crate) unread: Vec<u8>,
    /// An agent's command that waits for its team's limit on fan-out; it comes before what is unread.
    pub(crate) throttled_command: Option<Command>,
    /// Fan-out that was charged for commands which are not carried out yet, in tokens.
    pub(crate) prepaid_tokens: u32,
    /// Whether the shell is to read what the peer sends.
    pub(crate) is_read: bool,
    /// Pending until the peer resumes, if that is a matter of time.
    pub(crate) resume: Option<TimerId>,
    /// An answer about the whole world or map, while one is under way: requests wait for its end.
    pub(crate) answer: Option<Answer>,
    /// When the peer last took something of what waits for it, or began to let too much wait.
    pub(crate) taken_at: RealTime,
    /// Pending while it is looked after whether the peer takes anything at all.
    pub(crate) stall: Option<TimerId>,
    /// Whether that is or is about to be so.
    pub(crate) is_backlogged: bool,
    /// Whether it was ever beyond its rate, so that peers can be counted.
    pub(crate) was_throttled: bool,
    /// See `was_throttled`.
    pub(crate) was_blocked: bool,
}

/// Why the next request of a peer has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Throttle {
    /// It is beyond its rate limit; when it may resume.
    Rate(RealTime),
    /// Its team has sent too much to others; when its command may be accepted.
    FanOut(RealTime),
    /// It does not read what it is owed.
    Output,
    /// Its last request is still being answered.
    Answer,
    /// What became due by its last step is not done, and the next one begins where that leads to.
    Step,
    /// Game deadlines from before it came are yet to be carried out.
    OlderWork,
}

impl Flow {
    /// Nothing is throttled.
    pub(crate) fn new(now: RealTime, requests_per_second: u32) -> Self {
        Self {
            bucket: TokenBucket::full(now, requests_per_second),
            unread: Vec::new(),
            throttled_command: None,
            prepaid_tokens: 0,
            is_read: true,
            resume: None,
            answer: None,
            taken_at: now,
            stall: None,
            is_backlogged: false,
            was_throttled: false,
            was_blocked: false,
        }
    }

    /// Whether the peer resumes when its outbox has room.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.resume.is_none() && (!self.is_read || self.answer.is_some())
    }
}
