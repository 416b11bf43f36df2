//! Every limit of the engine, with its reason.
//!
//! No peer can make the engine hold more than these allow, or wait longer. Relations between them are checked when compiling.

use std::net::{IpAddr, Ipv6Addr};

use trantor_model::MapSize;
use trantor_protocol::limits::{
    ANSWER_BYTES_MAX, FRAME_TO_CLIENT_BYTES_MAX, INBOX_BYTES_MAX, LINE_BYTES_MAX, SNAPSHOT_PART_TILES_MAX,
    TEAM_TOTALS_BYTES_MAX,
};
use trantor_time::overload::OVERLOAD_MAX;
use trantor_time::{Frequency, RealSpan, TokenRate};

/// The limits that an operator may choose. The reasons are those of the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at one time. Above any school's year, far below what memory allows: an idle one takes a few KiB.
    pub connections_max: u32,
    /// Connections at one time from one other machine, for IPv6 from one /64; `None`: no limit besides the one for all. A class
    /// behind one router starts its bots at once; more is an attack, and must not keep all others out.
    pub connections_per_address_max: Option<u32>,
    /// Connections accepted in a second, and as many at once after a quiet time; more wait in the kernel. A storm of connections then
    /// takes a fiftieth of a core.
    pub accepts_per_second: u32,
    /// How long a peer may take to identify itself. Enough for a person at a terminal; forgotten connections do not pile up.
    pub greeting_span: RealSpan,
    /// Longest line or frame accepted from a peer, in bytes.
    pub message_bytes_max: usize,
    /// Longer messages before a peer is disconnected. A broken program sends one or two; an attack never stops.
    pub violations_max: u32,
    /// Rate limit of one peer in requests a second, besides one for each unit of game time. A viewer that asks for each tile of a map
    /// gets it in seconds; a hundred that flood take a tenth of a core at most.
    pub requests_per_second: u32,
    /// Messages to other agents that commands may cause in a second; each team has an equal share. A write takes some microseconds,
    /// so all of them are a third of a core.
    pub fan_out_per_second: u32,
    /// Bytes that may wait for an agent while it reads nothing for [`FULL_OUTBOX_SPAN`]: the longest answer that our agents accept.
    pub agent_outbox_bytes_max: usize,
    /// Bytes that may wait for a viewer: many seconds of updates; see also [`Limits::text_viewer_outbox_bytes_max`].
    pub viewer_outbox_bytes_max: usize,
    /// Bytes that may wait for all peers together: a thousand that do not read could take gigabytes under the limits of each.
    pub output_bytes_max: usize,
    /// How long a peer with more than [`OUTBOX_PAUSE_BYTES`] waiting may read nothing, and a frame viewer give no credit for the rest
    /// of a snapshot. A viewer on a laptop that was closed for longer reconnects anyway.
    pub stall_span: RealSpan,
    /// How long an agent may be idle; `None`: no limit, as Zappy's rules allow it.
    pub idle_span: Option<RealSpan>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            connections_per_address_max: Some(1_024),
            accepts_per_second: 500,
            greeting_span: RealSpan::from_secs(60),
            message_bytes_max: LINE_BYTES_MAX,
            violations_max: 32,
            requests_per_second: 1_000,
            fan_out_per_second: 100_000,
            agent_outbox_bytes_max: ANSWER_BYTES_MAX,
            viewer_outbox_bytes_max: VIEWER_OUTBOX_BYTES_MAX,
            output_bytes_max: 512 * 1024 * 1024,
            stall_span: RealSpan::from_secs(60),
            idle_span: None,
        }
    }
}

impl Limits {
    /// Connections that `peer`'s address may have at one time. Programs on the server's own machine share one address.
    pub fn connections_of(&self, peer: IpAddr) -> u32 {
        match self.connections_per_address_max {
            Some(most) if !peer.to_canonical().is_loopback() => most,
            _ => self.connections_max,
        }
    }

    /// Connections that may play or watch at one time; the rest are for unidentified peers and operators.
    pub fn places_max(&self) -> u32 {
        self.connections_max - OPERATOR_PLACES.min(self.connections_max / OPERATOR_PLACES_PART)
    }

    /// Rate limit of one peer at this speed. A command that an agent can use takes at least a unit, so no honest agent is throttled.
    pub fn request_rate_at(&self, speed: Frequency) -> TokenRate {
        saved(self.requests_per_second.saturating_add(speed.get()))
    }

    /// Requests that text viewers share beyond their own.
    pub fn spare_request_rate(&self) -> TokenRate {
        saved(self.requests_per_second.saturating_mul(SPARE_REQUESTS_FACTOR))
    }

    /// Messages to others that one of so many teams may cause.
    pub fn fan_out_rate_of_team(&self, teams: usize) -> TokenRate {
        let teams = u32::try_from(teams).unwrap_or(u32::MAX).max(1);
        saved((self.fan_out_per_second / teams).max(1))
    }

    /// Bytes that may wait for a text viewer on a map of this size: those of any viewer, and a description of the map.
    pub fn text_viewer_outbox_bytes_max(&self, size: MapSize) -> usize {
        self.viewer_outbox_bytes_max + BCT_BYTES * size.area()
    }
}

/// Addresses that count as one: an IPv4 address however it is written, or an IPv6 /64, since one host may use all of it.
pub fn address_group(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address => address,
    }
}

/// Connections kept for operators, who are recognised by their first line. Unidentified peers are evicted from them: while 500 silent
/// peers a second come, each has an eighth of a second for its first line.
pub const OPERATOR_PLACES: u32 = 64;

/// Where there are few connections, at most one in so many is kept for operators.
const OPERATOR_PLACES_PART: u32 = 8;

/// Wrong first lines before the connection is closed: programs may try team names in turn. The head of any HTTP request has more.
pub const GREETING_FAILURES_MAX: u32 = 3;

/// Bytes kept undecoded for a peer that is throttled or not yet greeted. A program that waits for its greeting sends nothing.
pub const HELD_BYTES_MAX: usize = 64 * 1024;

/// Bytes held for all delayed viewers together, besides [`delayed_bytes_max`]: a busy game of a hundred agents for several minutes.
/// Releasing early would defeat the delay. When full, frame viewers first get a later snapshot instead of changes, then new viewers
/// are refused, then text viewers are disconnected, and at last frame viewers.
pub const DELAYED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes held for one delayed viewer, or its outbox limit if that is more: a viewer that asks for the map again and again loses only
/// its own place. Each piece counts with its overhead.
pub const DELAYED_BYTES_PER_VIEWER_MAX: usize = 16 * 1024 * 1024;

/// Delayed bytes that pieces for single viewers leave to the shared log: when full, new viewers are refused; existing ones stay.
pub const DELAYED_UPDATES_BYTES: usize = 16 * 1024 * 1024;

/// Delayed bytes that the text log leaves to tick marks of frame viewers, which must not have gaps.
pub const DELAYED_TICKS_BYTES: usize = 8 * 1024 * 1024;

/// Delayed viewers that may join on the largest of maps within the delay; far more on smaller ones.
const DELAYED_GREETINGS: usize = 4;

/// Bytes held for all delayed viewers together on a map of this size.
pub const fn delayed_bytes_max(map: MapSize) -> usize {
    DELAYED_BYTES_MAX + DELAYED_GREETINGS * BCT_BYTES * map.area()
}

/// Delayed bytes released in one pass; the next pass continues. A description of a large map is megabytes.
pub const RELEASED_BYTES_PER_TURN: usize = 64 * 1024;

/// Bytes of a snapshot of such a map, sixteen a tile: seven counts of up to three digits, and room for their neighbours.
pub const fn snapshot_bytes_max(size: MapSize) -> usize {
    16 * size.area()
}

/// Operators' lines that may wait for the shell, which takes a few in each pass.
pub const OPERATOR_LINES_MAX: usize = 4 * 1024;

/// Lines of one operator that may wait; it is not read before half of them are answered. One that sends a file has no wait
/// between two lines, and the line of another waits for a few of each.
pub const OPERATOR_LINES_AHEAD_MAX: u32 = 16;

/// Bytes of an operator's line: the longest path and a few words. What is done with a line may take time for each byte.
pub const OPERATOR_LINE_BYTES_MAX: usize = 4 * 1024 + 256;

/// Lines of all operators in a second, and twice as many at once after a quiet time. An ordinary one takes some tens of
/// microseconds, so that all take a twentieth of a core. Long lines and long answers count as several, see
/// [`BYTES_PER_REQUEST`] and [`ANSWER_BYTES_PER_REQUEST`].
pub const OPERATOR_LINE_RATE: TokenRate = saved(1_000);

/// Bytes that may wait for an operator: several descriptions of the largest map.
pub const OPERATOR_OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Times the rate limit of one peer that text viewers share beyond it. Many viewers ask for the place, level and inventory of every
/// agent in every frame: 18,000 requests a second for a hundred agents. Answering takes a hundredth of a core, and a tenth if all ask
/// for the whole map.
pub const SPARE_REQUESTS_FACTOR: u32 = 20;

/// Burst of a rate limit: the requests of so many seconds. A viewer asks for much when it begins.
pub const REQUESTS_SAVED_SECONDS: u32 = 2;

const fn saved(per_second: u32) -> TokenRate {
    TokenRate::new(per_second, per_second.saturating_mul(REQUESTS_SAVED_SECONDS))
}

/// Text viewers that are sent each event at once. More are served in turns: with a thousand, each step of an agent would be a thousand
/// writes.
pub const TEXT_VIEWERS_AT_ONCE_MAX: usize = 16;

/// Text viewers served in one turn: writes that no player notices.
pub const TEXT_VIEWERS_PER_TURN: usize = 32;

/// Span in which each of many text viewers is served once: that of a tick, as for frame viewers.
pub const TEXT_NEWS_SPAN: RealSpan = RealSpan::from_millis(50);

/// Bytes of updates kept until each text viewer has had its turn; beyond that all are served at once.
pub const TEXT_UPDATES_BYTES_MAX: usize = 1024 * 1024;

/// Bytes from a peer that count as another request: a line that never ends is work too.
pub const BYTES_PER_REQUEST: usize = 1_024;

/// Requests as which a command without meaning counts. Its answer is a write of its own: ten times the work of another command.
pub const REQUESTS_PER_REFUSAL: u32 = 10;

/// Bytes of a message to others that count as another one: 16 KiB to two thousand agents take 7 ms to copy.
pub const FAN_OUT_BYTES_PER_TOKEN: usize = 512;

/// Bytes of an answer about the whole map that count as another request.
pub const ANSWER_BYTES_PER_REQUEST: usize = 4 * 1024;

/// Bytes of an answer about the whole map that are written at once after a pause: all of an ordinary map.
pub const ANSWER_BYTES_AT_ONCE: usize = 16 * 1024;

/// Bytes of each piece where one follows another, for any peer: players are served between any two.
pub const ANSWER_BYTES_PER_TURN: usize = 4 * 1024;

/// Bytes of a look that its agent's team is not charged for: what agents of the highest level see on ordinary maps, some hundred
/// objects. What is beyond counts as messages to others, see [`Limits::fan_out_per_second`].
pub const LOOK_BYTES_FREE: usize = 2 * 1024;

/// Objects in sight beyond which a look is encoded while the agent reads it, some 16 KiB: a tile may hold hundreds of megabytes.
pub const LOOK_OBJECTS_AT_ONCE: u64 = 2_048;

/// Bytes of each piece of such a look; the next one is encoded when less is left.
pub const LOOK_PIECE_BYTES: usize = ANSWER_BYTES_AT_ONCE;

/// Span between two pieces of answers about the whole map: a dozen viewers that ask for a large map leave two thirds of the time to
/// players, and one gets the largest of maps in half a second.
pub const ANSWER_SPACING: RealSpan = RealSpan::from_micros(100);

/// Span between two pieces of the map after a refill (`--refill-updates all`), for each of up to
/// [`TEXT_VIEWERS_AT_ONCE_MAX`] viewers: four megabytes a second, which any link to a viewer takes. A map of 24 x 24 is one piece.
pub const MAP_UPDATES_SPACING: RealSpan = RealSpan::from_millis(4);

/// Bytes that a viewer has yet to read of the log from which on pieces after a seek come as slowly as those of a refill: a viewer that
/// reads a megabyte a second keeps up with a recording that is moved again and again, and one that reads nothing stops no other.
pub const SEEK_UNREAD_BYTES: usize = 256 * 1024;

/// Text viewers that have pieces of the difference after a seek come later; with more of them the pieces are copied up to 250 megabytes
/// a second.
pub const SEEK_VIEWERS_MAX: usize = 160;

/// Bytes waiting for a peer above which it is not read: its requests would only add to them.
pub const OUTBOX_PAUSE_BYTES: usize = 64 * 1024;

/// Bytes waiting for a peer at which it is read again.
pub const OUTBOX_RESUME_BYTES: usize = 16 * 1024;

/// How long an agent may read nothing while more than [`Limits::agent_outbox_bytes_max`] waits for it. Long enough for
/// a program that was stopped, or a link that was down, to recover.
pub const FULL_OUTBOX_SPAN: RealSpan = RealSpan::from_secs(10);

/// Bytes of the longest ordinary `bct` line: two coordinates of three digits and seven counts of three.
const BCT_BYTES: usize = 40;

/// Bytes waiting for a frame viewer beyond which it gets no changes, and a fresh snapshot once it has caught up.
pub const VIEWER_UPDATES_BYTES_MAX: usize = 1024 * 1024;

/// Bytes waiting for a frame viewer below which it has caught up.
pub const VIEWER_CAUGHT_UP_BYTES: usize = 64 * 1024;

/// Default of [`Limits::viewer_outbox_bytes_max`]. A frame viewer is sent a few hundred bytes a second besides changes, so that it
/// reaches this only after hours without reading.
const VIEWER_OUTBOX_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Pieces of a snapshot in flight to a viewer at one time.
pub const SNAPSHOT_CREDIT: u32 = 20;

/// Tiles in one piece of a snapshot. All pieces in flight then stay well below what makes a viewer count as slow.
pub const GROUND_TILES_PER_PART: usize = 1024;

/// Agents, eggs or elevations in one piece of a snapshot.
pub const ENTRIES_PER_PART: usize = 256;

/// Participants after which a piece with elevations is full.
pub const ELEVATION_AGENTS_PER_PART: usize = 2048;

/// Changes between two ticks beyond which frame viewers get a snapshot, which is then shorter.
pub const CHANGES_PER_TICK_MAX: usize = 64 * 1024;

/// Changes in one message, so that none comes near the limit on frames.
pub const CHANGES_PER_MESSAGE: usize = 512;

/// Bytes of a journal that may wait for the shell. If its disk stands still, recording ends before memory does.
pub const JOURNAL_WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a journal that the shell takes in the same pass although nothing is sent. Long speeches reach
/// [`JOURNAL_WAITING_BYTES_MAX`] within tens of milliseconds.
pub const JOURNAL_PRESSING_BYTES: usize = 64 * 1024;

/// Bytes that an ordinary input counts in a journal: two differences of stamps, a kind, an agent and a command are less.
pub const JOURNAL_ENTRY_BYTES: usize = 64;

/// How long a session that is being closed may take to read what waits for it.
pub const FLUSH_SPAN: RealSpan = RealSpan::from_secs(5);

/// How long a session's input is drained after its last byte was written: the kernel answers unread input with a reset that eats the
/// last lines.
pub const LINGER_SPAN: RealSpan = RealSpan::from_secs(1);

/// The longest that a timer waits for a game that lags: as long as a game lags by default.
pub const TIMER_WAIT_MAX: RealSpan = OVERLOAD_MAX;

/// How often frame viewers get figures for the HUD.
pub const STATS_PERIOD: RealSpan = RealSpan::from_secs(1);

/// Meals of one instant that are one deadline of a pass: agents born together eat together, and each by itself would take three
/// times as long. A pass then has a thousand at most.
pub const MEALS_AT_ONCE: u32 = 16;

/// Groups of minds in a game: as many as teams at least, and few enough to be gone through.
pub const MIND_GROUPS_MAX: usize = 4 * 1024;

const _: () = assert!(
    trantor_game::GameConfig::TEAMS_MAX * TEAM_TOTALS_BYTES_MAX * 2 <= FRAME_TO_CLIENT_BYTES_MAX,
    "the totals of a match fit a frame with room to spare"
);
const _: () = assert!(
    GROUND_TILES_PER_PART <= SNAPSHOT_PART_TILES_MAX && LINE_BYTES_MAX < INBOX_BYTES_MAX,
    "a piece of a snapshot fits a frame, and the longest message fits an inbox"
);
const _: () = assert!(
    OUTBOX_RESUME_BYTES < OUTBOX_PAUSE_BYTES && OUTBOX_PAUSE_BYTES < ANSWER_BYTES_MAX,
    "a peer is throttled long before it is disconnected, and resumes well below that"
);
const _: () = assert!(
    DELAYED_TICKS_BYTES < DELAYED_UPDATES_BYTES && 3 * DELAYED_UPDATES_BYTES < DELAYED_BYTES_MAX,
    "of delayed viewers new ones are refused first, then text viewers are disconnected, then frame viewers"
);
const _: () = assert!(
    VIEWER_CAUGHT_UP_BYTES < VIEWER_UPDATES_BYTES_MAX && VIEWER_UPDATES_BYTES_MAX < VIEWER_OUTBOX_BYTES_MAX,
    "a viewer is thinned long before it is disconnected, and has caught up well below that"
);
