//! One connected peer: its phase, input limits and output.
//!
//! Transport (the boxes for bytes, the limit on time) and role (what the peer is in the game) are kept
//! apart. What a request leads to is decided by the engine; a session only understands it.

mod inbox;
mod log;
mod observer;
mod outbox;
mod send;
mod table;
#[cfg(test)]
mod tests;
mod text_viewers;

use std::net::IpAddr;

use trantor_model::{AgentId, Command};
use trantor_time::{RealSpan, RealTime, TimerId, TokenBucket, TokenRate};

pub(crate) use inbox::{Inbox, Request};
pub(crate) use log::Log;
pub(crate) use observer::{Feed, Observer, Watched};
pub(crate) use outbox::{Outbox, OutboxFull};
pub(crate) use table::Sessions;

use send::{DelayQueue, DirtyState};

use crate::burst::Answer;
use crate::limits::{self, Limits};
use crate::shell::{CloseReason, ConnId};

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) conn: ConnId,
    pub(crate) peer: IpAddr,
    /// Order of arrival; the smallest came first.
    pub(crate) arrival: u64,
    pub(crate) role: Role,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    /// Bytes that may wait in the outbox; by role.
    pub(crate) outbox_bytes_max: usize,
    /// The limit on the present phase, where it has one.
    pub(crate) limit: Option<TimerId>,
    /// When it last sent something, or was seen to be busy.
    pub(crate) last_read_at: RealTime,
    /// What it has shown of the server's token.
    pub(crate) token: TokenShown,
    /// Its spectator delay; zero for agents and peers that may control.
    pub(crate) delay: RealSpan,
    /// Its position in the log of text viewers, if it reads that.
    text_position: Option<u64>,
    /// Its outbox had no room for all of the log: it reads on when it has.
    pub(crate) is_behind_log: bool,
    /// What waits for its delay.
    delayed: DelayQueue,
    /// Whether its agent has nothing to do and could do something, as of its last answer or command.
    pub(crate) is_idle: bool,
    pub(crate) flow: Flow,
    /// Offences so far.
    pub(crate) violations: u32,
    /// Where it stands among those with bytes to write.
    dirty: DirtyState,
    /// Whether the engine will close it before it returns.
    is_closing: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenShown {
    /// Nothing, or the server asks for none.
    #[default]
    Nothing,
    /// The token.
    Right,
    /// Something else.
    Wrong,
}

#[derive(Debug)]
pub(crate) enum Role {
    /// Waits for its greeting until the game is started; its input is kept unread.
    Ungreeted {
        /// Its first line is complete and not an operator's.
        has_first_line: bool,
    },
    /// Greeted, but not identified.
    Greeted {
        /// Wrong answers so far.
        failures: u32,
    },
    /// Has a reserved place of the start, in lock-step; its input until it is born is kept unread.
    Seated,
    Agent(AgentId),
    /// Watches in Zappy text.
    TextViewer,
    /// Watches in frames.
    Viewer(Box<Observer>),
    /// Operates the server: its lines are the console's.
    Operator,
    /// Is being closed: its outbox is written, its input ignored.
    Leaving {
        reason: CloseReason,
        /// Whether the shell was asked to shut down the writing half.
        is_write_shut: bool,
    },
}

impl Role {
    /// Whether its input is kept until the game is started, or begins.
    pub(crate) fn waits_for_start(&self) -> bool {
        matches!(self, Self::Ungreeted { .. } | Self::Seated)
    }

    pub(crate) fn is_unidentified(&self) -> bool {
        matches!(self, Self::Ungreeted { .. } | Self::Greeted { .. })
    }
}

impl Session {
    /// A session that is yet to be greeted.
    pub(crate) fn new(
        conn: ConnId,
        peer: IpAddr,
        arrival: u64,
        now: RealTime,
        limits: &Limits,
        request_rate: TokenRate,
    ) -> Self {
        Self {
            conn,
            peer,
            arrival,
            role: Role::Ungreeted {
                has_first_line: false,
            },
            inbox: Inbox::lines(limits),
            outbox: Outbox::default(),
            outbox_bytes_max: limits.agent_outbox_bytes_max,
            limit: None,
            last_read_at: RealTime::ZERO,
            token: TokenShown::default(),
            delay: RealSpan::ZERO,
            text_position: None,
            is_behind_log: false,
            delayed: DelayQueue::default(),
            is_idle: false,
            flow: Flow::new(now, request_rate),
            violations: 0,
            dirty: DirtyState::default(),
            is_closing: false,
        }
    }

    pub(crate) fn agent(&self) -> Option<AgentId> {
        match self.role {
            Role::Agent(agent) => Some(agent),
            _ => None,
        }
    }

    pub(crate) fn observer(&self) -> Option<&Observer> {
        match &self.role {
            Role::Viewer(observer) => Some(observer),
            _ => None,
        }
    }

    pub(crate) fn observer_mut(&mut self) -> Option<&mut Observer> {
        match &mut self.role {
            Role::Viewer(observer) => Some(observer),
            _ => None,
        }
    }

    /// Whether it is leaving, so that its input is ignored.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_closing || matches!(self.role, Role::Leaving { .. })
    }
}

/// The flow of one session's requests.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) bucket: TokenBucket,
    /// Read, and not carried out yet. Only while the peer is not read, or waits for the start.
    pub(crate) unread: Vec<u8>,
    /// An agent's command that waits for its team's limit on fan-out; it comes before what is unread.
    pub(crate) throttled_command: Option<Command>,
    /// Fan-out that was charged for commands which are not carried out yet, in tokens.
    pub(crate) prepaid_tokens: u32,
    /// Whether the agent's last look had more than [`limits::LOOK_BYTES_FREE`].
    pub(crate) sees_much: bool,
    /// Whether the shell is to read what the peer sends.
    pub(crate) is_read: bool,
    /// Pending until the peer resumes, if that is a matter of time.
    pub(crate) resume: Option<TimerId>,
    /// Lines of an operator that wait to be carried out.
    pub(crate) lines_waiting: u32,
    /// An answer about the whole world or map, while one is under way: requests wait for its end.
    pub(crate) answer: Option<Answer>,
    /// When the peer last read something of its backlog, or the backlog began.
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
    /// The fan-out limit of its team; when its command may be accepted.
    FanOut(RealTime),
    /// It does not read its output.
    Output,
    /// Its last request is still being answered.
    Answer,
    /// What became due by its last step is not done, and the next one begins where that leads to.
    Step,
    /// As many of its lines as may are yet to be carried out.
    Lines,
    /// Game deadlines from before it came are yet to be carried out.
    OlderWork,
}

impl Flow {
    /// Nothing is throttled.
    pub(crate) fn new(now: RealTime, request_rate: TokenRate) -> Self {
        Self {
            bucket: TokenBucket::full(now, request_rate),
            unread: Vec::new(),
            throttled_command: None,
            prepaid_tokens: 0,
            sees_much: false,
            is_read: true,
            lines_waiting: 0,
            resume: None,
            answer: None,
            taken_at: now,
            stall: None,
            is_backlogged: false,
            was_throttled: false,
            was_blocked: false,
        }
    }

    /// Whether an operator that is not read resumes once more of its lines are done.
    pub(crate) fn waits_for_lines(&self) -> bool {
        !self.is_read && self.lines_waiting > limits::OPERATOR_LINES_AHEAD_MAX / 2
    }

    /// Whether the peer resumes when its outbox has room.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.resume.is_none() && !self.waits_for_lines() && (!self.is_read || self.answer.is_some())
    }
}
