//! Input of a peer, split into requests and parsed.
//!
//! Nothing but the beginning of one line or frame is ever kept: whole ones are carried out as they come, and
//! those an agent may not yet have carried out wait in the game's queue of ten.

use trantor_game::GameConfig;
use trantor_model::{AgentId, Command, TeamId};
use trantor_protocol::FrameError;
use trantor_protocol::greeting::{Greeting, TLS_HELLO, read_greeting};
use trantor_protocol::text::{Cut, GuiRefusal, GuiRequest, LineCutter, parse_command, parse_gui_request};
use trantor_protocol::wire::{FrameCutter, ToServer, read_frame};

use super::{Role, Session};
use crate::config::EngineConfig;
use crate::limits::{self, Limits};

/// Bytes that arrived and are not yet a whole request.
#[derive(Debug)]
pub(crate) enum Inbox {
    Lines(LineCutter),
    Frames(FrameCutter),
}

/// One request, understood as far as that is possible without knowing the world.
#[derive(Debug)]
pub(crate) enum Request {
    /// A peer asks for a place in a team; `None` if there is no such team, or its line is no name.
    Join(Option<TeamId>),
    /// A peer wants to watch in text, and may show a token.
    WatchText(Option<Vec<u8>>),
    /// A peer wants to watch in frames, and may show a token.
    WatchFrames(Option<Vec<u8>>),
    /// A peer wants to operate the server.
    Operate {
        /// The token it shows, if it does.
        token: Option<Vec<u8>>,
        /// What it sent behind that line.
        rest: Vec<u8>,
    },
    /// A line of an operator for the console; `None` if it was too long.
    OperatorLine(Option<String>),
    /// A command of an agent, or a line that is none.
    Command(AgentId, Command),
    /// A text viewer asks for something.
    Gui(Result<GuiRequest, GuiRefusal>),
    /// A frame viewer asks for something.
    Message(ToServer),
    /// A frame viewer sent what is no frame.
    Broken(FrameError),
    /// A peer before its greeting sent more than is kept for it.
    InboxFull,
    /// The violation limit was exceeded.
    TooManyViolations,
    /// An unidentified peer sends HTTP.
    Http,
    /// An unidentified peer begins TLS.
    Tls,
}

impl Inbox {
    pub(crate) fn lines(limits: &Limits) -> Self {
        Self::lines_of(limits.message_bytes_max)
    }

    /// Lines of at most so many bytes.
    pub(crate) fn lines_of(bytes_max: usize) -> Self {
        Self::Lines(LineCutter::with_max(bytes_max))
    }

    pub(crate) fn frames(limits: &Limits) -> Self {
        Self::Frames(FrameCutter::with_max::<ToServer>(limits.message_bytes_max))
    }

    pub(crate) fn pending_bytes(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.pending_bytes(),
            Self::Frames(frames) => frames.pending_bytes(),
        }
    }
}

impl Session {
    /// Takes the next request off the front of `bytes`; `None` once all of `bytes` is taken.
    pub(crate) fn next_request(&mut self, bytes: &mut &[u8], config: &EngineConfig) -> Option<Request> {
        if self.is_leaving() {
            *bytes = &[];
            return None;
        }
        if self.role.waits_for_start() {
            let (taken, held) = (std::mem::take(bytes), &mut self.flow.unread);
            if held.len() + taken.len() > limits::HELD_BYTES_MAX {
                return Some(Request::InboxFull);
            }
            held.extend_from_slice(taken);
            return match &mut self.role {
                Role::Ungreeted { .. } if held.starts_with(TLS_HELLO) => Some(Request::Tls),
                Role::Ungreeted { has_first_line } if !*has_first_line && taken.contains(&b'\n') => {
                    *has_first_line = true;
                    early_request(held, &config.game)
                }
                _ => None,
            };
        }
        let cut = match &mut self.inbox {
            Inbox::Lines(lines)
                if matches!(self.role, Role::Greeted { .. }) && lines.begins_with(bytes, TLS_HELLO) =>
            {
                return Some(Request::Tls);
            }
            Inbox::Lines(lines) => match lines.next(bytes) {
                Some(cut) => cut,
                None => {
                    // A line without an end is reported as too long once, and counts as a violation.
                    let max = &config.limits;
                    let borne = max.message_bytes_max.saturating_mul(max.violations_max as usize);
                    return (lines.discarded_bytes() > borne).then_some(Request::TooManyViolations);
                }
            },
            Inbox::Frames(frames) => {
                return match frames
                    .next(bytes)
                    .and_then(|frame| frame.map(read_frame::<ToServer>).transpose())
                {
                    Ok(message) => message.map(Request::Message),
                    Err(error) => Some(Request::Broken(error)),
                };
            }
        };
        let line = match cut {
            Cut::Line(line) => Some(line),
            Cut::TooLong => {
                self.violations += 1;
                if self.violations >= config.limits.violations_max {
                    return Some(Request::TooManyViolations);
                }
                None
            }
        };
        // A line that is too long is answered as one that makes no sense, in its place.
        Some(match self.role {
            Role::Greeted { failures } => first_line(line.unwrap_or_default(), failures == 0, &config.game),
            Role::Agent(agent) => Request::Command(
                agent,
                line.map_or(Command::Refused(None), |line| parse_command(config.dialect, line)),
            ),
            Role::Operator => {
                Request::OperatorLine(line.map(|line| String::from_utf8_lossy(line).into_owned()))
            }
            Role::TextViewer => Request::Gui(line.map_or(Err(GuiRefusal::Unknown), parse_gui_request)),
            Role::Ungreeted { .. } | Role::Seated | Role::Viewer(_) | Role::Leaving { .. } => {
                unreachable!("held bytes stay whole, our viewers send frames, and leaving peers are not read")
            }
        })
    }
}

/// What a line of a peer that was greeted asks for, the first one or another try.
fn first_line(line: &[u8], is_first: bool, game: &GameConfig) -> Request {
    let owned = |token: Option<&[u8]>| token.map(<[u8]>::to_vec);
    match read_greeting(line, is_first, |name| game.team_named(name).is_some()) {
        Greeting::Player(name) => Request::Join(game.team_named(name)),
        Greeting::TextViewer(token) => Request::WatchText(owned(token)),
        Greeting::Frames(token) => Request::WatchFrames(owned(token)),
        Greeting::Operator(token) => Request::Operate {
            token: owned(token),
            rest: Vec::new(),
        },
        Greeting::Unknown => Request::Join(None),
        Greeting::Http => Request::Http,
    }
}

/// A first line that does not wait for the start: an operator's, who would otherwise wait for itself, and HTTP.
fn early_request(held: &mut Vec<u8>, game: &GameConfig) -> Option<Request> {
    let end = held.iter().position(|byte| *byte == b'\n')?;
    match first_line(held[..end].trim_ascii_end(), true, game) {
        Request::Operate { token, .. } => {
            let rest = held.split_off(end + 1);
            held.clear();
            Some(Request::Operate { token, rest })
        }
        Request::Http => Some(Request::Http),
        _ => None,
    }
}
