//! All targets, and what each is about.

mod config;
mod frames;
mod lines;
mod recordings;
mod sessions;

/// Something that reads bytes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The word by which it is chosen; the same in `fuzz/Cargo.toml`.
    pub name: &'static str,
    /// Reads any bytes.
    ///
    /// # Panics
    /// If something is wrong with what reads them.
    pub run: fn(&[u8]),
    /// Inputs that make sense.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

const fn target(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds }
}

/// All of them.
pub const TARGETS: [Target; 9] = [
    // Lines out of a stream, however it is cut.
    target("line_cutter", lines::cut, lines::seeds),
    // What players, text viewers and the greeting are told.
    target("command_parser", lines::parse, lines::seeds),
    // What bots and viewers of text are told by a server.
    target("client_parser", lines::parse_as_client, lines::server_seeds),
    // Frames out of a stream, however it is cut, and the messages in them.
    target("frame_decoder", frames::decode, frames::seeds),
    // A piece of a journal, replayed.
    target(
        "journal_reader",
        recordings::read_journal,
        recordings::journal_seeds,
    ),
    // The same behind checksums that fit.
    target(
        "journal_content",
        recordings::read_sealed_journal,
        recordings::journal_seeds,
    ),
    // A saved game behind a checksum that fits, restored and played on.
    target(
        "snapshot_reader",
        recordings::read_snapshot,
        recordings::snapshot_seeds,
    ),
    // The server's file of options.
    target("config_file", config::read, config::seeds),
    // Several peers that say anything at any time, to a whole engine that checks itself.
    target("sessions", sessions::play, sessions::seeds),
];
