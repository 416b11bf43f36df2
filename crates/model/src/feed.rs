//! What happened, as a list of events and a time-line say it.

use serde::{Deserialize, Serialize};

use trantor_time::{Frequency, GameTime};

use crate::{AgentId, Change, CommandKind, EggId, EggState, Level, Resource, TeamId, Tile, Who};

/// Bytes of a broadcast that viewers are sent and lists of events keep: neither a picture nor a line has room for more.
pub const SAID_BYTES_MAX: usize = 256;

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
    /// An agent said something; cut after [`SAID_BYTES_MAX`] bytes, and not always UTF-8.
    Said(Who, Box<[u8]>),
    /// An agent pushed the others off its tile.
    Pushed(Who),
    /// An egg was laid, for this team, on this tile.
    EggLaid(EggId, TeamId, Tile),
    /// An egg was broken that belonged to this team.
    EggBroken(EggId, TeamId, Tile),
    /// An elevation began on this tile, from this level, with so many.
    ElevationStarted(Tile, Level, u32),
    /// An elevation ended on this tile, from this level.
    ElevationEnded(Tile, Level, ElevationOutcome),
    /// An agent rose to this level.
    Rose(Who, Level),
    /// A team won.
    Won(TeamId),
    /// The server announced something to those who watch.
    Announced(Box<str>),
}

/// What is known of an agent that a change is about.
#[derive(Clone, Copy, Debug)]
pub struct Concerned {
    /// Its team.
    pub team: TeamId,
    /// Its level before the change.
    pub level: Level,
    /// Where it stands; `None` if it is gone.
    pub tile: Option<Tile>,
}

impl FeedKind {
    /// What a change is in a list of events, if it is worth an entry. `agent` and `egg` say what was known before the change:
    /// without an answer there is no entry.
    pub fn of(
        change: &Change,
        agent: impl Fn(AgentId) -> Option<Concerned>,
        egg: impl Fn(EggId) -> Option<EggState>,
    ) -> Option<Self> {
        let who = |id: AgentId| {
            let team = agent(id)?.team;
            Some(Who { agent: id, team })
        };
        Some(match *change {
            Change::Joined { ref agent, .. } => Self::Joined(Who {
                agent: agent.id,
                team: agent.team,
            }),
            Change::Died { agent: id } => Self::Died(who(id)?, agent(id)?.level),
            Change::Left { agent: id, .. } => Self::Left(who(id)?, agent(id)?.level),
            Change::ActionStarted { agent, action } => match action.refused {
                true => Self::Refused(who(agent)?, action.kind),
                false => Self::Started(who(agent)?, action.kind),
            },
            Change::Carried {
                agent,
                resource,
                taken,
                ..
            } => Self::Carried(who(agent)?, resource, taken),
            Change::Said { agent, ref text } => {
                Self::Said(who(agent)?, text[..text.len().min(SAID_BYTES_MAX)].into())
            }
            Change::Ejected { agent } => Self::Pushed(who(agent)?),
            Change::EggLaid { egg, .. } => Self::EggLaid(egg.egg, egg.team, egg.tile),
            Change::EggDestroyed { egg: id } => {
                let EggState { team, tile, .. } = egg(id)?;
                Self::EggBroken(id, team, tile)
            }
            Change::ElevationStarted(ref elevation) => Self::ElevationStarted(
                elevation.tile,
                elevation.level,
                elevation.participants.len() as u32,
            ),
            Change::ElevationEnded {
                tile,
                level,
                success,
                ref participants,
                ..
            } => {
                let agents = participants.iter().filter_map(|&id| {
                    let known = agent(id)?;
                    Some((id, known.team, known.tile?))
                });
                Self::ElevationEnded(tile, level, ElevationOutcome::new(success, tile, agents))
            }
            Change::LevelChanged { agent, level } => Self::Rose(who(agent)?, level),
            Change::Won { team, .. } => Self::Won(team),
            Change::Moved { .. }
            | Change::Inventory { .. }
            | Change::Hunger { .. }
            | Change::Sent { .. }
            | Change::EggMatured { .. }
            | Change::Ground { .. }
            | Change::Refilled => return None,
        })
    }
}

/// How an elevation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElevationOutcome {
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

impl ElevationOutcome {
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
