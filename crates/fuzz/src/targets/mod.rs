//! All targets, and what each is about.

mod config;
mod frames;
mod lines;
mod recordings;
mod sessions;

/// Something that reads bytes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The word by which it is chosen; the same in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Reads any bytes.
    ///
    /// # Panics
    /// If something is wrong with what reads them.
    pub run: fn(&[u8]),
    /// Inputs that make sense.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 9] = [
    Target {
        name: "line_cutter",
        about: "lines out of a stream, however it is cut",
        run: lines::cut,
        seeds: lines::seeds,
    },
    Target {
        name: "command_parser",
        about: "what players, text viewers and the greeting are told",
        run: lines::parse,
        seeds: lines::seeds,
    },
    Target {
        name: "client_parser",
        about: "what bots and viewers of text are told by a server",
        run: lines::parse_as_client,
        seeds: lines::server_seeds,
    },
    Target {
        name: "frame_decoder",
        about: "frames out of a stream, however it is cut, and the messages in them",
        run: frames::decode,
        seeds: frames::seeds,
    },
    Target {
        name: "journal_reader",
        about: "a piece of a journal, replayed",
        run: recordings::read_journal,
        seeds: recordings::journal_seeds,
    },
    Target {
        name: "journal_content",
        about: "the same behind checksums that fit",
        run: recordings::read_sealed_journal,
        seeds: recordings::journal_seeds,
    },
    Target {
        name: "snapshot_reader",
        about: "a saved game behind a checksum that fits, restored and played on",
        run: recordings::read_snapshot,
        seeds: recordings::snapshot_seeds,
    },
    Target {
        name: "config_file",
        about: "the server's file of options",
        run: config::read,
        seeds: config::seeds,
    },
    Target {
        name: "sessions",
        about: "several peers that say anything at any time, to a whole engine that checks itself",
        run: sessions::play,
        seeds: sessions::seeds,
    },
];
