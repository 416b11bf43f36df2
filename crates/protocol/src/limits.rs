//! Every bound of the two languages, with its reason. Their relations are checked when compiling.

/// Longest line of text accepted, in bytes, without its line feed and the carriage return before it.
///
/// Public agents encrypt, sign or base64 what they say to each other, so lines of several thousand bytes are
/// normal; 8,192 is the least that must pass. It is also the limit for a message of any kind.
pub const LINE_BYTES_MAX: usize = 16 * 1024;

/// Longest line an agent takes from a server, in bytes without its end: all that is in sight is one line, and in a crowd,
/// or where an operator put much, that is more than anybody may say. As much as a server of ours keeps for an agent.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Longest frame accepted from a viewer of ours, in bytes, without its length prefix.
pub const FRAME_TO_SERVER_BYTES_MAX: usize = 16 * 1024;

/// Longest frame accepted from the server, in bytes, without its length prefix.
///
/// Pieces of a snapshot are the largest: at most [`SNAPSHOT_PART_TILES_MAX`] tiles of seven counts.
pub const FRAME_TO_CLIENT_BYTES_MAX: usize = 1024 * 1024;

/// Tiles in one piece of a snapshot. At five bytes for each of seven counts a piece then fills no more than
/// an eighth of a frame, so that other messages do not wait long behind it.
pub const SNAPSHOT_PART_TILES_MAX: usize = 2_048;

/// Marks on the time-line of a recording: more than a screen has columns for, and an eighth of a frame.
pub const MARKS_MAX: usize = 4_096;

/// The most bytes that a mark takes: a time of 19, a count of 5, and a kind with a team and a speed of 9.
const MARK_BYTES_MAX: usize = 33;

/// Input a session may hold undecoded, in bytes.
pub const INBOX_BYTES_MAX: usize = 64 * 1024;

/// Longest team name, in bytes. Viewers of others read it as one word into buffers of unknown size.
pub const TEAM_NAME_BYTES_MAX: usize = 64;

/// Shortest token, in bytes: 16 random letters cannot be found by trying.
pub const TOKEN_BYTES_MIN: usize = 16;

/// Largest file with a token in its first line that is read, in bytes: notes may stand below it.
pub const TOKEN_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Longest token, in bytes. A token is compared over this length whatever its own, so that the time reveals nothing.
pub const TOKEN_BYTES_MAX: usize = 256;

/// The fastest speed a text viewer may ask for, in units a second; the reference server's own limit.
pub const TEXT_FREQUENCY_MAX: u32 = trantor_model::control::FREQUENCY_ASKED_MAX;

/// Room a line cutter keeps between lines, in bytes: beyond it memory grown for one long line is given back,
/// so that a thousand idle sessions stay small.
pub const LINE_ROOM_KEPT_BYTES: usize = 512;

/// Commands of one agent that a viewer is sent: the ten that an agent may have outstanding.
pub const COMMANDS_WAITING_MAX: usize = 10;

/// Events of a history: as many lines as a viewer's list of events keeps.
pub const HISTORY_EVENTS_MAX: usize = 200;

/// Scores of a history, of all its moments and teams together: 160 KB if each took ten bytes.
pub const HISTORY_SCORES_MAX: usize = 16 * 1024;

/// Recipients of one broadcast whose deliveries a viewer is sent: more lights than a picture shows apart.
pub const DELIVERIES_MAX: usize = 2_048;

/// The most bytes that a delivery takes: an agent of 5, two times of 19, and three tags.
const DELIVERY_BYTES_MAX: usize = 46;

/// The most bytes that the totals of a team take: three counts of 5 and 10, two spans and eight moments of 20, and seven stays of 37.
pub const TEAM_TOTALS_BYTES_MAX: usize = 480;

/// Links of one agent that a viewer is sent: as many as an inspector has room for.
pub const LINKS_SHOWN_MAX: usize = 12;

/// Bytes of all that agents and the server show beside the game, as `Shown::bytes` counts them: half of what may wait for a
/// viewer before it is thinned, since those who join are sent all of it. Notes of ten thousand agents fit.
pub const SHOWN_BYTES_MAX: usize = 512 * 1024;

/// Bytes of a message with what is shown, besides those of its last owner.
pub const SHOWN_MESSAGE_BYTES: usize = 64 * 1024;

const _: () = {
    assert!(
        SHOWN_MESSAGE_BYTES * 8 <= FRAME_TO_CLIENT_BYTES_MAX,
        "what is shown fits a frame with room to spare"
    );
    assert!(
        DELIVERIES_MAX * DELIVERY_BYTES_MAX * 8 <= FRAME_TO_CLIENT_BYTES_MAX,
        "the deliveries of a tick fit a frame with room to spare"
    );
    assert!(
        HISTORY_SCORES_MAX * 10 * 2 + HISTORY_EVENTS_MAX * 512 * 4 <= FRAME_TO_CLIENT_BYTES_MAX,
        "a history fits a frame with room to spare"
    );
    assert!(
        LINE_BYTES_MAX >= 8_192,
        "the text protocol promises lines of 8192 bytes"
    );
    assert!(
        COMMANDS_WAITING_MAX * 2 <= FRAME_TO_CLIENT_BYTES_MAX,
        "the waiting commands of an agent fit a frame"
    );
    assert!(LINE_BYTES_MAX < INBOX_BYTES_MAX, "a full line must fit the inbox");
    assert!(
        FRAME_TO_SERVER_BYTES_MAX + 4 < INBOX_BYTES_MAX,
        "a full frame must fit the inbox"
    );
    assert!(
        SNAPSHOT_PART_TILES_MAX * 7 * 5 * 8 <= FRAME_TO_CLIENT_BYTES_MAX,
        "a piece of a snapshot must fit a frame with room to spare"
    );
    assert!(
        MARKS_MAX * MARK_BYTES_MAX * 7 <= FRAME_TO_CLIENT_BYTES_MAX,
        "all marks of a recording fit a frame with room to spare"
    );
    assert!(
        TEAM_NAME_BYTES_MAX < LINE_BYTES_MAX,
        "a team's name must fit a line"
    );
    assert!(
        TOKEN_BYTES_MIN < TOKEN_BYTES_MAX && TOKEN_BYTES_MAX + 16 < LINE_BYTES_MAX,
        "a token and the word before it must fit a line"
    );
    assert!(
        LINE_ROOM_KEPT_BYTES <= LINE_BYTES_MAX,
        "room kept is part of a line"
    );
    assert!(
        TEXT_FREQUENCY_MAX <= trantor_time::Frequency::MAX,
        "text viewers ask for speeds that exist"
    );
};
