//! What happened, as a list of events and a time-line say it.

use serde::{Deserialize, Serialize};

use trantor_time::{Frequency, GameTime};

use crate::{AgentId, CommandKind, EggId, Level, Resource, TeamId, Tile};

/// What happened. An agent is named with its team, since it may be gone when the entry is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedKind {
    /// An agent hatched.
    Joined(Who),
    /// An agent died, at this level.
    Died(Who, Level),
    /// An agent left, at this level.
    Left(Who, Level),
    /// An agent began something.
    Started(Who, CommandKind),
    /// An agent sent a line like this that the server refused; it takes as long, and nothing comes of it.
    Refused(Who, CommandKind),
    /// An agent picked up (`true`) or put down one of these.
    Carried(Who, Resource, bool),
    /// An agent said something; cut after 256 bytes, and not always UTF-8.
    Said(Who, Box<[u8]>),
    /// An agent pushed the others off its tile.
    Pushed(Who),
    /// An egg was laid, for this team, on this tile.
    EggLaid(EggId, TeamId, Tile),
    /// An egg was broken that belonged to this team.
    EggBroken(EggId, TeamId, Tile),
    /// An elevation began on this tile, from this level, with so many.
    RitualStarted(Tile, Level, u32),
    /// An elevation ended on this tile, from this level.
    RitualEnded(Tile, Level, RitualOutcome),
    /// An agent rose to this level.
    Rose(Who, Level),
    /// A team won.
    Won(TeamId),
    /// The server announced something to those who watch.
    Announced(Box<str>),
}

/// How an elevation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RitualOutcome {
    /// Its participants rose.
    Succeeded,
    /// Nobody rose.
    Broke {
        /// The team of the participant that is named first; `None` if none lives.
        team: Option<TeamId>,
        /// The first participant that was no longer on the tile: it was pushed away.
        pushed_away: Option<AgentId>,
    },
}

impl RitualOutcome {
    /// Of an elevation on `tile` with the living participants as they are at its end.
    pub fn new(
        success: bool,
        tile: Tile,
        mut participants: impl Iterator<Item = (AgentId, TeamId, Tile)>,
    ) -> Self {
        if success {
            return Self::Succeeded;
        }
        let first = participants.next();
        let mut all = first.into_iter().chain(participants);
        Self::Broke {
            team: first.map(|(_, team, _)| team),
            pushed_away: all.find(|(_, _, at)| *at != tile).map(|(agent, ..)| agent),
        }
    }
}

/// An agent and its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Its number.
    pub agent: AgentId,
    /// Its team.
    pub team: TeamId,
}

/// Something worth a mark on the time-line of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When it happened.
    pub at: GameTime,
    /// How often the same happened until shortly after, this one included: a long recording has more entries than
    /// a time-line can show. At least 1.
    pub count: u32,
    /// What happened.
    pub kind: MarkKind,
}

/// What a mark on a time-line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum MarkKind {
    /// An agent of this team died.
    Died { team: TeamId },
    /// An elevation succeeded: agents of this team (that of the first) reached the level.
    Rose { team: TeamId, level: Level },
    /// Another speed, or the one at the beginning.
    Speed { frequency: Frequency },
    /// Game time was stopped.
    Paused,
    /// Game time went on.
    Resumed,
    /// A team won.
    Won { team: TeamId },
}
