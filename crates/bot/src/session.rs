//! A blocking session for simple bots.
//!
//! Up to ten commands may be outstanding. Events that answer none wait in a queue.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use trantor_model::{Command, Percept};
use trantor_protocol::text::Dialect;

use crate::dialogue::{Dialogue, Event};

/// Length of the event queue; the oldest are dropped. A team that broadcasts fills it in seconds.
const EVENTS_MAX: usize = 1_024;

/// Bytes read at once: more than the longest look.
const READ_BYTES: usize = 16 * 1024;

/// An agent in a game.
#[derive(Debug)]
pub struct Session {
    stream: TcpStream,
    dialogue: Dialogue,
    answers: VecDeque<(Command, Percept)>,
    events: VecDeque<Event>,
    /// Free places and map size, received at the join.
    joined: Option<(u32, (u32, u32))>,
    is_dead: bool,
}

/// All but [`SessionError::Full`] end the session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The connection failed or broke.
    #[error("connection to the server: {0}")]
    Io(#[from] io::Error),
    /// No such team, or no free place.
    #[error("the server has no place for team {0:?}")]
    Refused(String),
    /// The agent starved.
    #[error("the agent died")]
    Dead,
    /// The server closed the connection, as servers do at the end of a game.
    #[error("the server closed the connection")]
    Closed,
    /// Ten commands are open; wait for an answer first.
    #[error("ten commands are open already")]
    Full,
    /// No command is outstanding.
    #[error("no command is open")]
    NothingOpen,
}

impl Session {
    /// Connects and joins a team, in Epitech's dialect.
    pub fn join(server: impl ToSocketAddrs, team: &str) -> Result<Self, SessionError> {
        Self::join_in(Dialect::Epitech, server, team)
    }

    /// Connects and joins a team in this dialect.
    pub fn join_in(dialect: Dialect, server: impl ToSocketAddrs, team: &str) -> Result<Self, SessionError> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        let mut session = Self {
            stream,
            dialogue: Dialogue::new(team.as_bytes(), dialect),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            joined: None,
            is_dead: false,
        };
        while session.joined.is_none() {
            session.receive()?;
            if session.events.contains(&Event::Refused) {
                return Err(SessionError::Refused(team.to_owned()));
            }
        }
        Ok(session)
    }

    /// Free places of the team when this agent joined.
    pub fn places_left(&self) -> u32 {
        self.joined.map_or(0, |(places, _)| places)
    }

    /// The map's width and height, in tiles.
    pub fn map_size(&self) -> (u32, u32) {
        self.joined.map_or((0, 0), |(_, size)| size)
    }

    /// Sends one command and waits for its answer. Answers to earlier commands are dropped.
    pub fn ask(&mut self, command: Command) -> Result<Percept, SessionError> {
        self.send(command)?;
        loop {
            let (_, answer) = self.wait()?;
            if self.dialogue.open() == 0 && self.answers.is_empty() {
                return Ok(answer);
            }
        }
    }

    /// Sends a command without waiting. Up to ten may be outstanding.
    pub fn send(&mut self, command: Command) -> Result<(), SessionError> {
        if !self.dialogue.may_send() {
            return Err(SessionError::Full);
        }
        self.dialogue.send(command);
        self.flush()
    }

    /// Waits for the answer to the oldest outstanding command.
    pub fn wait(&mut self) -> Result<(Command, Percept), SessionError> {
        loop {
            if let Some(answered) = self.answers.pop_front() {
                return Ok(answered);
            }
            if self.dialogue.open() == 0 {
                return Err(SessionError::NothingOpen);
            }
            self.receive()?;
        }
    }

    /// The oldest event that is queued; does not wait.
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Waits for bytes and queues their events.
    fn receive(&mut self) -> Result<(), SessionError> {
        if self.is_dead {
            return Err(SessionError::Dead);
        }
        let mut bytes = [0; READ_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(SessionError::Closed),
            Ok(count) => self.dialogue.take_in(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        while let Some(event) = self.dialogue.poll() {
            match event {
                Event::Joined { places, size } => self.joined = Some((places, size)),
                Event::Answer(command, answer) => self.answers.push_back((command, answer)),
                Event::Dead => self.is_dead = true,
                event => {
                    if self.events.len() == EVENTS_MAX {
                        self.events.pop_front();
                    }
                    self.events.push_back(event);
                }
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), SessionError> {
        self.stream.write_all(self.dialogue.unsent())?;
        self.dialogue.unsent().clear();
        Ok(())
    }
}
