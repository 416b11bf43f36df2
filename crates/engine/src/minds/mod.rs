//! Minds: what decides for an agent inside the process that runs the game.
//!
//! A [`Mind`] perceives what a server would send its agent, in the same order, and answers with commands; it has
//! no other way to know the world. The minds built in are three: [`MindKind`]. How a team plays to win is
//! [`trantor_strategy`]'s; when a mind is asked, [`crate::leap`]'s.

mod built_in;

use std::str::FromStr;

pub use trantor_strategy::Percept;
use trantor_strategy::{Brain, Signal, SignalCodec};

use trantor_game::Reply;
use trantor_model::Command;

use built_in::{Dabbler, Walker};

/// Decides for one agent.
pub trait Mind {
    /// Takes in one thing that the agent was sent.
    fn perceive(&mut self, percept: Percept<'_>);

    /// The next command, if one should be sent now; it counts as sent. Asked until it answers `None`, at birth
    /// and again whenever something was perceived. Commands beyond [`trantor_game::OUTSTANDING_MAX`] are lost,
    /// as they are on a server.
    fn next_command(&mut self) -> Option<Command>;

    /// Takes in a message decoded by the team's [`SignalCodec`]. Minds without a codec get none.
    fn receive(&mut self, _signal: &Signal, _direction: u8) {}

    /// Whether an agent should take a place that the mind knows to be free in its team; asking clears it.
    fn take_free_place(&mut self) -> bool {
        false
    }
}

/// The percept of the game's answer to a command.
pub fn percept_of(reply: &Reply) -> Percept<'_> {
    match reply {
        Reply::Ok => Percept::Ok,
        Reply::Ko => Percept::Ko,
        Reply::Look(sights) => Percept::Look(sights),
        Reply::Inventory { inventory, .. } => Percept::Inventory(inventory),
        Reply::ConnectNbr(places) => Percept::Places(*places),
        Reply::ElevationUnderway => Percept::ElevationUnderway,
        Reply::CurrentLevel(level) => Percept::Level(*level),
    }
}

/// The minds built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MindKind {
    /// Walks in one direction for ever, and starves.
    Trivial,
    /// Asks for anything at random, one command at a time.
    Random,
    /// Plays to win, with its team.
    Team,
}

impl MindKind {
    /// All of them, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Trivial, Self::Random, Self::Team];

    /// The word by which it is asked for.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Random => "random",
            Self::Team => "team",
        }
    }

    /// The codec of minds of this kind in the team with that name; `None` if they ignore messages.
    pub fn codec(self, team: &[u8]) -> Option<SignalCodec> {
        match self {
            Self::Trivial | Self::Random => None,
            Self::Team => Some(SignalCodec::new(team)),
        }
    }

    /// The mind of a newborn agent of the team with that name. All its chance grows from `seed`, which should
    /// differ between agents.
    pub fn awaken(self, team: &[u8], seed: u64) -> Box<dyn Mind> {
        match self {
            Self::Trivial => Box::new(Walker::default()),
            Self::Random => Box::new(Dabbler::new(seed)),
            Self::Team => Box::new(Brain::new(team, seed)),
        }
    }
}

/// No mind is called that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mind is one of trivial, random and team")]
pub struct UnknownMind;

impl FromStr for MindKind {
    type Err = UnknownMind;

    fn from_str(name: &str) -> Result<Self, UnknownMind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or(UnknownMind)
    }
}

impl Mind for Brain {
    fn perceive(&mut self, percept: Percept<'_>) {
        Self::perceive(self, percept);
    }

    fn receive(&mut self, signal: &Signal, direction: u8) {
        Self::receive(self, signal, direction);
    }

    fn next_command(&mut self) -> Option<Command> {
        Self::next_command(self)
    }

    fn take_free_place(&mut self) -> bool {
        Self::take_free_place(self)
    }
}
