//! Every bound of the server, with its reason.
//!
//! Nothing a peer does can make the engine hold more than these allow, or wait longer. Relations between
//! them are checked when compiling.

use std::net::{IpAddr, Ipv6Addr};

use trantor_model::MapSize;
use trantor_protocol::limits::{
    INBOX_BYTES_MAX, LINE_BYTES_MAX, SNAPSHOT_PART_TILES_MAX, TEXT_FREQUENCY_MAX,
};
use trantor_time::overload::LAG_MAX;
use trantor_time::{Frequency, RealSpan};

/// The bounds that whoever runs a server may choose; the constants below are what they are by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at one time, all together.
    pub connections_max: u32,
    /// Connections at one time from one address of another machine, for IPv6 from one /64; `None`: no more than in all.
    pub connections_per_address_max: Option<u32>,
    /// Connections taken in within a second; more wait with the system.
    pub accepts_per_second: u32,
    /// How long a peer may take to say what it is.
    pub greeting_span: RealSpan,
    /// Longest line or frame taken from a peer, in bytes.
    pub message_bytes_max: usize,
    /// Messages longer than that before a peer is disconnected.
    pub violations_max: u32,
    /// Requests of one peer carried out in a second, besides one for each unit of game time.
    pub requests_per_second: u32,
    /// Messages to other agents that commands may cause in a second, all teams together.
    pub fan_out_per_second: u32,
    /// Bytes an agent may leave unread while it takes nothing for [`FULL_OUTBOX_SPAN`].
    pub agent_outbox_bytes_max: usize,
    /// Bytes a viewer may leave unread; text viewers on top of what describes the map, see
    /// [`Limits::text_viewer_outbox_bytes_max`].
    pub viewer_outbox_bytes_max: usize,
    /// Bytes that may wait for all peers together.
    pub output_bytes_max: usize,
    /// How long a peer may take nothing of what waits for it, once that is more than [`OUTBOX_PAUSE_BYTES`], and a viewer
    /// of ours give no credit for the rest of a snapshot.
    pub stall_span: RealSpan,
    /// How long an agent may say and do nothing; `None`: for ever. Zappy's rules allow it, so somebody has to ask for it.
    pub idle_span: Option<RealSpan>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            connections_per_address_max: Some(CONNECTIONS_PER_ADDRESS_MAX),
            accepts_per_second: ACCEPTS_PER_SECOND,
            greeting_span: GREETING_SPAN,
            message_bytes_max: LINE_BYTES_MAX,
            violations_max: VIOLATIONS_MAX,
            requests_per_second: REQUESTS_PER_SECOND,
            fan_out_per_second: FAN_OUT_PER_SECOND,
            agent_outbox_bytes_max: AGENT_OUTBOX_BYTES_MAX,
            viewer_outbox_bytes_max: VIEWER_OUTBOX_BYTES_MAX,
            output_bytes_max: OUTPUT_BYTES_MAX,
            stall_span: STALL_SPAN,
            idle_span: None,
        }
    }
}

impl Limits {
    /// How many connections `peer`'s address may have at one time.
    ///
    /// Programs on the server's own machine share one address, and could do worse than connect.
    pub fn connections_of(&self, peer: IpAddr) -> u32 {
        match self.connections_per_address_max {
            Some(most) if !peer.to_canonical().is_loopback() => most,
            _ => self.connections_max,
        }
    }

    /// How many connections may play or watch at one time; the rest are for peers that have not said what they are, and
    /// for operators.
    pub fn places_max(&self) -> u32 {
        self.connections_max - OPERATOR_PLACES.min(self.connections_max / OPERATOR_PLACES_PART)
    }

    /// Requests of one peer carried out in a second at this speed. A command that an agent can make use of takes a
    /// unit at least, so that no honest agent is ever held up.
    pub fn requests_per_second_at(&self, speed: Frequency) -> u32 {
        self.requests_per_second.saturating_add(speed.get())
    }

    /// Requests in a second that text viewers may share beyond their own.
    pub fn spare_requests_per_second(&self) -> u32 {
        self.requests_per_second.saturating_mul(SPARE_REQUESTS_FACTOR)
    }

    /// Messages to others that one of so many teams may cause in a second: an equal share.
    pub fn fan_out_per_second_of_team(&self, teams: usize) -> u32 {
        let teams = u32::try_from(teams).unwrap_or(u32::MAX).max(1);
        (self.fan_out_per_second / teams).max(1)
    }

    /// Bytes a text viewer may leave unread on a map of this size.
    pub fn text_viewer_outbox_bytes_max(&self, size: MapSize) -> usize {
        self.viewer_outbox_bytes_max + BCT_BYTES * size.area()
    }
}

/// Connections at one time, all together. Above any school's year, far below what memory allows: each idle one
/// takes a few KiB.
pub const CONNECTIONS_MAX: u32 = 16_384;

/// Connections taken in within a second, and as many more at once after a quiet time. A thousand bots that are started
/// together are in after a second, and a storm of connections takes a fiftieth of a core.
pub const ACCEPTS_PER_SECOND: u32 = 500;

/// Connections at one time from one other machine or IPv6 network. A class behind one router starts its bots at once; more is
/// somebody who means harm, and may not keep all others out.
pub const CONNECTIONS_PER_ADDRESS_MAX: u32 = 1_024;

/// Connections kept for operators, who are recognised by their first line only: nobody who plays or watches gets one,
/// and a silent peer leaves it to the next. While 500 silent peers a second come, each has an eighth of a second for
/// that line.
pub const OPERATOR_PLACES: u32 = 64;

/// One connection in so many is kept for operators at most, where there are few.
const OPERATOR_PLACES_PART: u32 = 8;

/// Bits of an IPv6 address that name a network. One host may use all 2⁶⁴ addresses of a /64.
const IPV6_NETWORK_BITS: u32 = 64;

/// Addresses that count as one where peers are counted by address: an IPv4 address however it is written, or an
/// IPv6 network, named by its first address.
pub fn address_group(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX << (u128::BITS - IPV6_NETWORK_BITS);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
        address => address,
    }
}

/// How long a peer may take to say what it is, from the greeting on. Long enough for a person at
/// a terminal, short enough that forgotten connections do not pile up.
pub const GREETING_SPAN: RealSpan = RealSpan::from_secs(60);

/// Wrong answers to the greeting before the connection is closed: the first line, and two more tries for programs that
/// try team names in turn. The head of any HTTP request has more lines.
pub const GREETING_FAILURES_MAX: u32 = 3;

/// Bytes kept undecoded for a peer that speaks before the game was started, or that is held up: it has shut its own side,
/// so that the end must be read, and has said more than may be carried out at once. More closes that peer: a program
/// that waits for its greeting sends nothing at all, and one that goes says little.
pub const HELD_BYTES_MAX: usize = 64 * 1024;

/// Offences (over-long lines) a session may commit before it is disconnected. A broken program commits
/// one or two; an attack never stops.
pub const VIOLATIONS_MAX: u32 = 32;

/// Units of the longest sprint: at the highest speed, more than a day.
pub const SPRINT_UNITS_MAX: u32 = 1_000_000_000;

/// Bytes held for all delayed viewers together: a busy game of a hundred agents for several minutes. On top of it come
/// some descriptions of the map, see [`delayed_bytes_max`]. Releasing something early would tell what the delay is to hide,
/// so that beyond it somebody has to do without, in this order: frame viewers get a fresh snapshot later instead of the
/// news, who comes is disconnected, then text viewers, who are all told the same, and at last frame viewers.
pub const DELAYED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes held for one delayed viewer, or what it may leave unread if that is more, as on a large map: so that one that asks
/// for the whole map again and again costs itself its place and nobody else. Each piece counts with what it takes to keep it.
pub const DELAYED_BYTES_PER_VIEWER_MAX: usize = 16 * 1024 * 1024;

/// Bytes of those for all together that no viewer takes by what it alone is told: who comes when there is no more room is
/// let go, and those who watch already are not.
pub const DELAYED_NEWS_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of those for all together that text viewers leave to the ticks of frame viewers, which must not have gaps: of
/// several viewers for the longest delay, or a hundred for half a minute.
pub const DELAYED_TICKS_BYTES: usize = 8 * 1024 * 1024;

/// Delayed viewers that may come to the largest of maps within the delay; on smaller ones there is room for far more.
const DELAYED_GREETINGS: usize = 4;

/// Bytes held for all delayed viewers together on a map of this size.
pub const fn delayed_bytes_max(map: MapSize) -> usize {
    DELAYED_BYTES_MAX + DELAYED_GREETINGS * BCT_BYTES * map.area()
}

/// Bytes told at one time of what delayed viewers are to know by then; the next pass goes on with the rest. A large map
/// described to one of them is megabytes on each step of the grid on which they are told.
pub const RELEASED_BYTES_PER_TURN: usize = 64 * 1024;

/// Bytes of one tile in a snapshot: seven counts of up to three digits, and room for their neighbours.
const SNAPSHOT_TILE_BYTES: usize = 16;

/// Bytes of a snapshot of such a map, which a delayed viewer is sent all at once.
pub const fn snapshot_bytes_max(size: MapSize) -> usize {
    SNAPSHOT_TILE_BYTES * size.area()
}

/// Lines of operators that may wait for the shell, which takes a few in each pass.
pub const OPERATOR_LINES_MAX: usize = 4 * 1024;

/// Bytes an operator may leave unread: several descriptions of the largest map.
pub const OPERATOR_OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes an agent may leave unread in the server while it takes nothing: the longest answer that agents of ours take. A
/// look at level 8 is usually under 4 KiB and ten requests may be open, so its own answers never come near; what others
/// say may, for as long as one pass takes to write it.
pub const AGENT_OUTBOX_BYTES_MAX: usize = trantor_protocol::limits::ANSWER_BYTES_MAX;

/// Requests of one peer carried out in a second, besides one for each unit of game time. A viewer that asks for each
/// tile of a map by itself gets it in seconds; a hundred that flood take a tenth of a core at most.
pub const REQUESTS_PER_SECOND: u32 = 1_000;

/// Times as many requests that text viewers may make in a second beyond that, all of them together. Many of them ask
/// for the place, the level and the belongings of every agent in every frame: with a hundred agents that is 18,000 in a
/// second, and one that is answered late shows the past. Answering takes a hundredth of a core, and a tenth if all ask
/// for the whole map, however many of them flood.
pub const SPARE_REQUESTS_FACTOR: u32 = 20;

/// Requests that may be made at once by a peer that has been silent: those of so many seconds. A viewer asks for
/// much when it begins.
pub const REQUESTS_SAVED_SECONDS: u32 = 2;

/// Text viewers that are told of each event at once. More are told in turns: what a write costs is for each of them, and
/// with a thousand that would be a thousand writes for each step of an agent.
pub const TEXT_VIEWERS_AT_ONCE_MAX: usize = 16;

/// Text viewers told at one time, when there are more than that: so many writes no player notices.
pub const TEXT_VIEWERS_PER_TURN: usize = 32;

/// Span in which each of many text viewers is told once: that of a tick, which is how often frame viewers are.
pub const TEXT_NEWS_SPAN: RealSpan = RealSpan::from_millis(50);

/// Bytes of news kept for many text viewers until each has had its turn. Far more than happens in that time; if that is not
/// enough, all of them are told at once.
pub const TEXT_NEWS_BYTES_MAX: usize = 1024 * 1024;

/// Bytes from a peer that count as another request, whatever is in them: a line that never ends is work too.
pub const BYTES_PER_REQUEST: usize = 1_024;

/// As how many requests a command counts that makes no sense. It is answered at once, and by a write of its own, which is
/// ten times the work of another; a hundred of them in a second are still heard.
pub const REQUESTS_PER_REFUSAL: u32 = 10;

/// Messages to other agents that commands may cause in a second, all teams together, each of which has an equal share: a write
/// takes some microseconds, so that all of it is a third of a core. A hundred agents in four teams may say a thousand things in a
/// second, and twice as many at once after a quiet time.
pub const FAN_OUT_PER_SECOND: u32 = 100_000;

/// Bytes of a message to others that count as another one. It is copied for each receiver before anybody else is served: 16 KiB to
/// two thousand take 7 ms, and so often as this allows they are a hundredth of the time.
pub const FAN_OUT_BYTES_PER_TOKEN: usize = 512;

/// Bytes of an answer that count as another request: whoever asks for the whole map pays for what it takes.
pub const ANSWER_BYTES_PER_REQUEST: usize = 4 * 1024;

/// Bytes of an answer about the whole map that are written at once where none was written for a while: all of an ordinary map,
/// and with what it takes to send them less work than anybody who plays would notice now and then.
pub const ANSWER_BYTES_AT_ONCE: usize = 16 * 1024;

/// Bytes of each piece where one follows upon another, whoever gets them: so little work that those who play are served
/// between any two.
pub const ANSWER_BYTES_PER_TURN: usize = 4 * 1024;

/// Objects in sight beyond which a look is encoded as the agent reads it: some 16 KiB. What lies on a tile has no bound, so
/// that the line may have hundreds of megabytes.
pub const LOOK_OBJECTS_AT_ONCE: u64 = 2_048;

/// Bytes of each piece of such a look, and below which the next one is encoded: as many as are written for anybody at a time.
pub const LOOK_PIECE_BYTES: usize = ANSWER_BYTES_AT_ONCE;

/// Span between two such pieces: a dozen viewers that ask for a large map at once leave two thirds of the time to those who
/// play, and one gets the largest of maps in half a second.
pub const ANSWER_SPACING: RealSpan = RealSpan::from_micros(100);

/// Span between two pieces of the whole map that every text viewer is told after a refill (`--refill-news all`), for each
/// of up to [`TEXT_VIEWERS_AT_ONCE_MAX`] of them: four megabytes a second, which any link to a viewer takes. A map of
/// 24 x 24 is one piece, told at once.
pub const MAP_NEWS_SPACING: RealSpan = RealSpan::from_millis(4);

/// Bytes waiting for a peer above which nothing more is read from it: what it asks for would only be added.
pub const OUTBOX_PAUSE_BYTES: usize = 64 * 1024;

/// Bytes waiting for a peer from which on down it is read again.
pub const OUTBOX_RESUME_BYTES: usize = 16 * 1024;

/// Bytes that may wait for all peers together: with the bounds of each alone a thousand that do not read could take
/// gigabytes. Room for some viewers that join on the largest of maps.
pub const OUTPUT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// How long a peer may take nothing of what waits for it, once that is more than [`OUTBOX_PAUSE_BYTES`], and a viewer
/// of ours give no credit for the rest of a snapshot. A viewer on a laptop that was closed for longer connects again anyway.
pub const STALL_SPAN: RealSpan = RealSpan::from_secs(60);

/// How long an agent may take nothing while more waits for it than [`Limits::agent_outbox_bytes_max`]. A program that was stopped
/// for a moment, or a link that was down, is back by then; what others say in that time is bounded by [`FAN_OUT_PER_SECOND`], and
/// all of it together by [`Limits::output_bytes_max`].
pub const FULL_OUTBOX_SPAN: RealSpan = RealSpan::from_secs(10);

/// Bytes of the longest ordinary `bct` line: two coordinates of three digits and seven counts of three.
const BCT_BYTES: usize = 40;

/// Bytes waiting for a frame viewer beyond which it gets no more news, but a fresh snapshot once it has
/// caught up: it must see the present rather than all of the past.
pub const VIEWER_NEWS_BYTES_MAX: usize = 1024 * 1024;

/// Bytes waiting for a frame viewer below which it counts as having caught up.
pub const VIEWER_CAUGHT_UP_BYTES: usize = 64 * 1024;

/// Bytes a viewer may leave unread in all. For text viewers that is the news of many seconds. For frame viewers what
/// is not news (marks, answers, figures) is a few hundred bytes a second, so that only a peer that stopped reading for
/// hours gets here.
pub const VIEWER_OUTBOX_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Pieces of a snapshot under way to a viewer at one time.
pub const SNAPSHOT_CREDIT: u32 = 20;

/// Tiles in one piece of a snapshot. All pieces under way at once then stay well below what makes a viewer
/// count as slow.
pub const GROUND_TILES_PER_PART: usize = 1024;

/// Agents, eggs or elevations in one piece of a snapshot. An elevation names its participants, who are
/// agents on one tile; see [`RITUAL_AGENTS_PER_PART`].
pub const ENTRIES_PER_PART: usize = 256;

/// Participants after which a piece with elevations is full.
pub const RITUAL_AGENTS_PER_PART: usize = 2048;

/// Changes noted between two ticks. Beyond this the viewers get a snapshot instead, which is then the
/// shorter way to say it.
pub const CHANGES_PER_TICK_MAX: usize = 64 * 1024;

/// Changes after which another message is begun, so that none comes near the cap on frames.
pub const CHANGES_PER_MESSAGE: usize = 512;

/// Bytes of a broadcast that frame viewers receive; a picture has no room for more.
pub const SAID_BYTES_MAX: usize = 256;

/// Bytes of a journal that may wait to be taken by the shell. If its disk stands still, recording ends rather than the memory.
pub const JOURNAL_WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a journal from which on the shell takes them in the same pass although nothing is sent: few beside
/// [`JOURNAL_WAITING_BYTES_MAX`], which long speeches reach within tens of milliseconds.
pub const JOURNAL_PRESSING_BYTES: usize = 64 * 1024;

/// Bytes that an ordinary input is counted with: two stamps as differences, a kind, an agent and a command are
/// less.
pub const JOURNAL_ENTRY_BYTES: usize = 64;

/// How long a session that is being closed may take to read what it is still owed.
pub const FLUSH_SPAN: RealSpan = RealSpan::from_secs(5);

/// How long a closed session's input is drained after its last byte was written, so that the kernel does not
/// answer unread input with a reset that eats the last lines.
pub const LINGER_SPAN: RealSpan = RealSpan::from_secs(1);

/// The longest that a timer (a tick, the end of a pause, a limit of a session) waits for a game that lags: as far as a game may lag
/// where nothing else is said.
pub const TIMER_WAIT_MAX: RealSpan = LAG_MAX;

/// The highest frequency anybody may ask for while the game runs. A unit is then 100 µs, still
/// above the lateness of a wake-up.
pub const FREQUENCY_ASKED_MAX: u32 = TEXT_FREQUENCY_MAX;

/// How often frame viewers get figures for the HUD.
pub const STATS_PERIOD: RealSpan = RealSpan::from_secs(1);

const _: () = assert!(
    GROUND_TILES_PER_PART <= SNAPSHOT_PART_TILES_MAX,
    "a piece of a snapshot fits a frame"
);

const _: () = assert!(
    OUTBOX_RESUME_BYTES < OUTBOX_PAUSE_BYTES && OUTBOX_PAUSE_BYTES < AGENT_OUTBOX_BYTES_MAX,
    "a peer is read no more long before it is let go, and again well below that"
);

const _: () = assert!(
    DELAYED_TICKS_BYTES < DELAYED_NEWS_BYTES && 3 * DELAYED_NEWS_BYTES < DELAYED_BYTES_MAX,
    "of those who are told later, text viewers are let go before viewers of ours, and who comes before both"
);

const _: () = assert!(
    LINE_BYTES_MAX < INBOX_BYTES_MAX,
    "the longest message fits what is kept of a peer that is not read"
);

const _: () = assert!(
    VIEWER_CAUGHT_UP_BYTES < VIEWER_NEWS_BYTES_MAX && VIEWER_NEWS_BYTES_MAX < VIEWER_OUTBOX_BYTES_MAX,
    "a viewer is thinned long before it is let go, and has caught up well below that"
);
