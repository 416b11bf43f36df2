//! All messages: versions and the shared clock first, what the server sends a viewer of ours, and what a viewer may say.

#![allow(
    missing_docs,
    reason = "a field has a comment where its name and type leave something open"
)]

use serde::{Deserialize, Serialize};
use trantor_model::{
    AgentId, AgentState, Change, CommandKind, Control, Counts, EggState, ElevationState, FeedKind, Lag,
    MapSize, Mark, MatchTotals, Shown, ShownBy, TeamId, World, WorldError,
};
use trantor_time::link::LinkCounts;
use trantor_time::{Frequency, GameSpan, GameTime};

/// The line with which a peer asks to speak frames. No team may have this name.
pub const WIRE_WORD: &str = "TRANTOR";

/// Raised with every change to a message; both sides must have the same.
pub const WIRE_VERSION: u16 = 11;

/// What a viewer says first. Its layout never changes, so that any version can refuse any other in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHello {
    /// See [`WIRE_VERSION`].
    pub version: u16,
    /// Name and version of the program, for logs.
    pub program: String,
}

/// What the server answers to a hello it accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerHello {
    /// See [`WIRE_VERSION`].
    pub version: u16,
    /// Name and version of the program, for logs and the HUD.
    pub program: String,
    /// This connection's reference instant was taken this many microseconds ago, when the hello was read.
    /// All instants on this connection are microseconds after the reference.
    pub since_reference_us: i64,
    /// Length of a tick in microseconds.
    pub tick_period_us: u32,
    /// Number of the last tick that ran, if any did, and its instant in microseconds after the reference.
    pub last_tick: Option<(u64, i64)>,
    /// The next tick's scheduled instant in microseconds after the reference.
    pub next_tick_us: i64,
    /// The map.
    pub size: MapSize,
    /// Team names in the order of their ids.
    pub teams: Vec<String>,
    /// Whether this viewer's requests for speed, pause and step will be listened to.
    pub may_control: bool,
    /// How much later than it happens this viewer is sent the game, in milliseconds; what it is sent first comes
    /// so long after this.
    pub delay_ms: u32,
}

/// One message to a viewer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToClient {
    /// The viewer is welcome.
    Hello(ServerHello),
    /// The viewer, or one of its requests, is not. The connection ends after a refused hello only.
    Refused {
        /// The number of the message refused.
        number: u64,
        reason: String,
    },
    /// Answer to a probe.
    ProbeReply {
        token: u64,
        /// When the probe was read, in microseconds after the reference.
        server_us: i64,
    },
    /// A piece of the world as it was at the tick that follows the last piece.
    Snapshot(SnapshotPart),
    /// All pieces were sent. From here on `Changes` keep the copy up to date.
    SnapshotEnd {
        /// The game time of the snapshot.
        at: GameTime,
    },
    /// A tick begins; everything up to its end mark belongs to it.
    TickBegin {
        /// One more than the last.
        number: u64,
        /// Instants at which no tick ran, since the last one.
        skipped: u64,
    },
    /// The tick is complete, and so is the copy.
    TickEnd { number: u64 },
    /// Stream time, in microseconds after the reference; sent only where it would otherwise be wrong.
    StreamTime {
        /// Greater than any before.
        instant_us: i64,
    },
    /// What happened, in order. Texts of broadcasts are cut after 256 bytes, deliveries of a tick after
    /// [`crate::limits::DELIVERIES_MAX`].
    Changes {
        /// When, in game time; never less than in the message before.
        at: GameTime,
        changes: Vec<Change>,
    },
    /// All messages up to this number were processed, and their effects were sent before.
    Ack {
        /// Greater than any before.
        number: u64,
    },
    /// Game time and speed. Sent with the hello, and at once after every change.
    Clock(ClockAnchor),
    /// Figures for the HUD, once a second.
    Stats(ServerStats),
    /// The server ends the connection, with a reason a person can read.
    Goodbye { reason: String },
    /// What is watched is a recording. Comes once, right after the first clock, and only then.
    Recording(RecordingInfo),
    /// The recording was moved, or another game has begun: from now on game time is that of the anchor, which may lie before what was sent.
    /// The world of that moment follows in pieces, and changes only behind it.
    Sought(ClockAnchor),
    /// The commands of the agent watched that wait behind the one it is doing. Comes with a tick when they have
    /// changed; an agent that is gone has none.
    Waiting {
        /// As in [`ToServer::Watch`].
        agent: AgentId,
        /// In their order; `None` for a line that no command was recognised in. At most
        /// [`crate::limits::COMMANDS_WAITING_MAX`].
        commands: Vec<Option<CommandKind>>,
    },
    /// What happened before the world whose pieces follow.
    History(History),
    /// What owners show beside the game, each in place of what it showed before; one that shows nothing has nothing any more.
    /// At most [`crate::limits::SHOWN_BYTES_MAX`] for all owners together.
    Shown {
        /// Whether nothing stays of what was shown before this message: it comes before the world.
        anew: bool,
        owners: Vec<(ShownBy, Shown)>,
    },
    /// An announcement to those who watch.
    Announced {
        /// At most [`trantor_model::show::SHOWN_TEXT_BYTES_MAX`] bytes.
        text: String,
    },
    /// How messages between agents travel. Sent on joining and with the statistics while they take time, and when that changes.
    Lag(LagState),
    /// The links of the agent watched. Sent with the statistics while messages take time.
    Links {
        /// As in [`ToServer::Watch`].
        agent: AgentId,
        /// Those that carried most, at most [`crate::limits::LINKS_SHOWN_MAX`].
        links: Vec<LinkState>,
    },
}

/// How messages between agents travel, and what became of them so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LagState {
    /// Of all teams without settings of their own; `None` if their messages arrive at once.
    pub settings: Option<Lag>,
    /// The settings of teams that have their own, in the order of their ids.
    pub teams: Vec<(TeamId, Option<Lag>)>,
    pub totals: LinkTotals,
}

/// What became of the messages on a link, or on all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkTotals {
    pub counts: LinkCounts,
    /// From sending to arrival: half of the messages took no longer, and 99 in 100.
    pub delay_p50: GameSpan,
    pub delay_p99: GameSpan,
}

/// The two links between an agent and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkState {
    pub other: AgentId,
    /// From the agent to the other.
    pub to: LinkTotals,
    /// From the other to the agent.
    pub from: LinkTotals,
}

/// What happened until a viewer came, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// How the score went, in order of time; at most [`crate::limits::HISTORY_SCORES_MAX`] scores in all.
    pub scores: Vec<ScorePoint>,
    /// The last events, and before them the first of each team to reach each level, oldest first; at most
    /// [`crate::limits::HISTORY_EVENTS_MAX`].
    pub events: Vec<FeedEntry>,
}

/// The score at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScorePoint {
    pub at: GameTime,
    /// [`Level::score`] of each team, in the order of the teams' ids.
    pub scores: Vec<u64>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedEntry {
    pub at: GameTime,
    pub kind: FeedKind,
}

/// How long a recording is, and what happened in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingInfo {
    /// Where it begins.
    pub begin: GameTime,
    /// Where it ends, not before it begins.
    pub end: GameTime,
    /// The speed at which it was recorded, at its beginning; `None` if that was not recorded.
    pub recorded: Option<Frequency>,
    /// What is worth a mark on its time-line, in order of time; at most [`crate::limits::MARKS_MAX`].
    pub marks: Vec<Mark>,
}

/// Game time as a function of real time: at `real_us` it was `game`, and it moves at `frequency` units a second.
///
/// Exact: the real instant is a whole microsecond, and the game time at it is given to the billionth of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockAnchor {
    /// Microseconds after the connection's reference.
    pub real_us: i64,
    /// What the game clock showed then.
    pub game: GameTime,
    /// Units a second, also while paused.
    pub frequency: Frequency,
    /// Whether game time stands still.
    pub paused: bool,
}

/// A piece of the world. Each costs the receiver one credit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SnapshotPart {
    /// What lies on a run of tiles.
    Ground {
        /// The first tile's place in the row-by-row list of all tiles.
        first: u32,
        /// Counts of as many tiles as there are entries.
        tiles: Vec<Counts>,
    },
    /// Agents, with what each is doing.
    Agents(Vec<AgentState>),
    Eggs(Vec<EggState>),
    /// Elevations under way.
    Elevations(Vec<ElevationState>),
    /// The team that won, if one has, and what the match came to; see [`Change::Won`].
    Winner {
        team: TeamId,
        totals: Option<Box<MatchTotals>>,
    },
}

impl SnapshotPart {
    /// Adds this piece to a world.
    ///
    /// # Errors
    /// If it does not fit the world; the piece may then be there in part.
    pub fn load_into<T: Default>(self, world: &mut World<T>) -> Result<(), WorldError> {
        match self {
            Self::Ground { first, tiles } => world.add_ground(first, &tiles),
            Self::Agents(agents) => agents.into_iter().try_for_each(|agent| world.add_agent(agent)),
            Self::Eggs(eggs) => eggs.into_iter().try_for_each(|egg| world.add_egg(egg)),
            Self::Elevations(elevations) => elevations
                .into_iter()
                .try_for_each(|elevation| world.add_elevation(elevation)),
            Self::Winner { team, totals } => world.win(team, totals.as_deref()),
        }
    }
}

/// Figures for the HUD. Times are in the unit of their name; counters count since the server started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerStats {
    /// Time since the server started, sleeping included.
    pub uptime_ms: u64,
    /// Turns of the server's loop.
    pub passes: u64,
    /// Game deadlines fired.
    pub deadlines_fired: u64,
    /// How late deadlines of the last second fired, 99 in 100.
    pub lateness_p99_ns: u64,
    /// The latest of the last second.
    pub lateness_max_ns: u64,
    /// Units really passed in the last second, in thousandths.
    pub effective_frequency_milli: u64,
    /// Game time given up because the machine could not keep pace, in units.
    pub slipped_units: u64,
    /// Tick instants at which no tick ran.
    pub ticks_skipped: u64,
    /// Connections of every kind.
    pub connections: u32,
    /// Viewers of either kind.
    pub viewers: u32,
    /// By team, in the order of their ids.
    pub teams: Vec<TeamStats>,
}

/// Figures of one team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TeamStats {
    pub agents: u32,
    /// Places left, that is eggs that can be hatched.
    pub places: u32,
}

/// One message from a viewer. Messages are numbered from 1 by counting, the hello included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToServer {
    /// The first message, and only the first.
    Hello(ClientHello),
    /// Asks for the server's clock; `token` comes back with the answer.
    Probe {
        /// Chosen by the viewer.
        token: u64,
    },
    /// Gives back credit for this many pieces of bulk data that were processed.
    Credit {
        /// At most as many as were received and not yet credited.
        items: u32,
    },
    /// The viewer leaves in order.
    Goodbye,
    /// Subscribes to the commands of an agent that wait for their turn; in place of the agent asked for
    /// before.
    Watch {
        /// Which; `None` for no agent any more.
        agent: Option<AgentId>,
    },
    /// Asks for something about the match, of a server that lets this viewer control it.
    Control(Control),
}
