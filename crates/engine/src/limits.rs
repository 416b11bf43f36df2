//! Every bound of the server, with its reason.
//!
//! Nothing a peer does can make the engine hold more than these allow, or wait longer. Relations between
//! them are checked when compiling.

use trantor_model::MapSize;
use trantor_protocol::limits::{SNAPSHOT_PART_TILES_MAX, TEXT_FREQUENCY_MAX};
use trantor_time::RealSpan;

/// How long a peer may take to say what it is, from the greeting on (R-000-28). Long enough for a person at
/// a terminal, short enough that forgotten connections do not pile up.
pub const GREETING_SPAN: RealSpan = RealSpan::from_secs(60);

/// Wrong answers to the greeting before the connection is closed. Some programs try team names in turn, so
/// one is not enough; a peer that never gets it right must not try for ever.
pub const GREETING_FAILURES_MAX: u32 = 20;

/// Bytes kept undecoded for a peer that speaks before the game was started (R-000-27). More closes that
/// peer: a program that waits for its greeting sends nothing at all.
pub const HELD_BYTES_MAX: usize = 64 * 1024;

/// Offences (over-long lines) a session may commit before it is let go (R-003-56). A broken program commits
/// one or two; an attack never stops.
pub const VIOLATIONS_MAX: u32 = 32;

/// Units of the longest sprint: at the highest speed, more than a day.
pub const SPRINT_UNITS_MAX: u32 = 1_000_000_000;

/// Lines of operators that may wait for the shell, which takes them after every read.
pub const OPERATOR_LINES_MAX: usize = 4 * 1024;

/// Bytes an operator may leave unread: several descriptions of the largest map.
pub const OPERATOR_OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes an agent may leave unread in the server (R-002-57). A look at level 8 is under 4 KiB and ten
/// requests may be open, so an agent that reads at all never comes near.
pub const AGENT_OUTBOX_BYTES_MAX: usize = 256 * 1024;

/// Bytes a text viewer may leave unread, besides what answers about the whole map need; see
/// [`text_viewer_outbox_bytes_max`].
pub const TEXT_VIEWER_OUTBOX_BYTES_MIN: usize = 4 * 1024 * 1024;

/// Bytes of the longest ordinary `bct` line: two coordinates of three digits and seven counts of three.
const BCT_BYTES: usize = 40;

/// Bytes a text viewer may leave unread on this map before it is let go: two descriptions of the whole map
/// (the burst, and a request made at once) and room for the news of many seconds.
pub const fn text_viewer_outbox_bytes_max(size: MapSize) -> usize {
    TEXT_VIEWER_OUTBOX_BYTES_MIN + 2 * BCT_BYTES * size.area()
}

/// Bytes waiting for a viewer of ours beyond which it gets no more news, but a fresh snapshot once it has
/// caught up (R-002-57): it must see the present rather than all of the past.
pub const VIEWER_NEWS_BYTES_MAX: usize = 1024 * 1024;

/// Bytes waiting for a viewer of ours below which it counts as having caught up.
pub const VIEWER_CAUGHT_UP_BYTES: usize = 64 * 1024;

/// Bytes a viewer of ours may leave unread in all. What is not news (marks, answers, figures) is a few
/// hundred bytes a second, so that only a peer that stopped reading for hours gets here.
pub const VIEWER_OUTBOX_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Pieces of a snapshot under way to a viewer at one time (R-002-56).
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

/// Bytes of changes after which another message is begun, so that none comes near the cap on frames.
pub const CHANGES_PER_MESSAGE: usize = 512;

/// Bytes of a broadcast that viewers of ours are told; nobody reads more in a picture.
pub const SAID_BYTES_MAX: usize = 256;

/// Bytes of a journal that may wait to be taken by the shell. It takes them every pass; if its disk stands
/// still, recording ends rather than the memory.
pub const JOURNAL_WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes that an ordinary input is counted with: two stamps as differences, a kind, an agent and a command are
/// less.
pub const JOURNAL_ENTRY_BYTES: usize = 64;

/// How long a session that is being closed may take to read what it is still owed.
pub const FLUSH_SPAN: RealSpan = RealSpan::from_secs(5);

/// How long a closed session's input is drained after its last byte was written, so that the kernel does not
/// answer unread input with a reset that eats the last lines.
pub const LINGER_SPAN: RealSpan = RealSpan::from_secs(1);

/// The highest frequency anybody may ask for while the game runs (R-000-35). A unit is then 100 µs, still
/// above the lateness of a wake-up.
pub const FREQUENCY_ASKED_MAX: u32 = TEXT_FREQUENCY_MAX;

/// How often viewers of ours get figures for the HUD.
pub const STATS_PERIOD: RealSpan = RealSpan::from_secs(1);

const _: () = assert!(
    GROUND_TILES_PER_PART <= SNAPSHOT_PART_TILES_MAX,
    "a piece of a snapshot fits a frame"
);

const _: () = assert!(
    VIEWER_CAUGHT_UP_BYTES < VIEWER_NEWS_BYTES_MAX && VIEWER_NEWS_BYTES_MAX < VIEWER_OUTBOX_BYTES_MAX,
    "a viewer is thinned long before it is let go, and has caught up well below that"
);
