//! What an agent may ask for, and how long each takes.
//!
//! How a command is written on the wire is the protocol's; what it does is the game's.

use serde::{Deserialize, Serialize};
use trantor_time::GameTime;

use crate::grid::Turn;
use crate::resource::Resource;

/// One request of an agent, understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// One tile in the facing direction.
    Forward,
    /// A quarter turn.
    Turn(Turn),
    /// What is in sight.
    Look,
    /// What is carried.
    Inventory,
    /// Broadcasts a text. The bytes are passed on unchanged, UTF-8 or not.
    Broadcast(Box<[u8]>),
    /// How many places the team has left.
    ConnectNbr,
    /// Lays an egg: one more place for the team.
    Fork,
    /// Pushes everybody else off the tile and destroys the eggs on it.
    Eject,
    /// Picks one up.
    Take(Resource),
    /// Puts one down.
    Set(Resource),
    /// Starts an elevation.
    Incantation,
    /// A line that cannot be carried out. It keeps its place in the queue, takes as long as `kind` would,
    /// or no time if no command was recognised, and is then answered `ko`.
    Refused(Option<CommandKind>),
}

/// A command without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum CommandKind {
    /// See [`Command::Forward`].
    Forward,
    /// See [`Command::Turn`], clockwise.
    Right,
    /// See [`Command::Turn`], counter-clockwise.
    Left,
    /// See [`Command::Look`].
    Look,
    /// See [`Command::Inventory`].
    Inventory,
    /// See [`Command::Broadcast`].
    Broadcast,
    /// See [`Command::ConnectNbr`].
    ConnectNbr,
    /// See [`Command::Fork`].
    Fork,
    /// See [`Command::Eject`].
    Eject,
    /// See [`Command::Take`].
    Take,
    /// See [`Command::Set`].
    Set,
    /// See [`Command::Incantation`].
    Incantation,
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionState {
    /// What; a malformed command counts as what it was meant to be.
    pub kind: CommandKind,
    /// When it began, nominally.
    pub start: GameTime,
    /// When it ends. If that is past, it waits for an elevation to end.
    pub end: GameTime,
    /// Whether the line was refused: it takes as long as what was meant, and nothing but `ko` comes of it.
    pub refused: bool,
}

impl ActionState {
    /// Whether an agent is on its way while it does this.
    pub fn is_motion(&self) -> bool {
        use CommandKind::{Forward, Left, Right};
        matches!(self.kind, Forward | Left | Right) && !self.refused
    }
}

impl Command {
    /// What is asked for, without arguments; `None` for a line in which no command was recognised.
    pub fn kind(&self) -> Option<CommandKind> {
        Some(match self {
            Self::Forward => CommandKind::Forward,
            Self::Turn(Turn::Right) => CommandKind::Right,
            Self::Turn(Turn::Left) => CommandKind::Left,
            Self::Look => CommandKind::Look,
            Self::Inventory => CommandKind::Inventory,
            Self::Broadcast(_) => CommandKind::Broadcast,
            Self::ConnectNbr => CommandKind::ConnectNbr,
            Self::Fork => CommandKind::Fork,
            Self::Eject => CommandKind::Eject,
            Self::Take(_) => CommandKind::Take,
            Self::Set(_) => CommandKind::Set,
            Self::Incantation => CommandKind::Incantation,
            Self::Refused(kind) => return *kind,
        })
    }

    /// Whether it is a line that cannot be carried out.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// How long it takes, in units.
    ///
    /// A line with the right word and the wrong arguments takes as long as the command would, except where
    /// the command has a phase at its start (fork, elevation) or takes no time: those are refused at once.
    pub fn duration_units(&self) -> u16 {
        match self {
            Self::Refused(None | Some(CommandKind::Fork | CommandKind::Incantation)) => 0,
            _ => self.kind().map_or(0, CommandKind::duration_units),
        }
    }
}

impl CommandKind {
    /// All twelve, in the order of declaration.
    pub const ALL: [CommandKind; 12] = [
        Self::Forward,
        Self::Right,
        Self::Left,
        Self::Look,
        Self::Inventory,
        Self::Broadcast,
        Self::ConnectNbr,
        Self::Fork,
        Self::Eject,
        Self::Take,
        Self::Set,
        Self::Incantation,
    ];

    /// How long it takes when it is carried out, in units.
    pub const fn duration_units(self) -> u16 {
        match self {
            Self::Inventory => 1,
            Self::ConnectNbr => 0,
            Self::Fork => 42,
            Self::Incantation => 300,
            Self::Forward
            | Self::Right
            | Self::Left
            | Self::Look
            | Self::Broadcast
            | Self::Eject
            | Self::Take
            | Self::Set => 7,
        }
    }
}
