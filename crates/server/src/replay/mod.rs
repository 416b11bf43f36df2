//! `trantor-server replay`: journals checked, described, and told event by event, without a server.
//!
//! Files are what `--record` leaves, one piece of a journal each, compressed or not; a directory stands for the
//! pieces in it. The playing itself is [`trantor_game::replay`]'s; showing a recording to viewers is [`crate::playback`]'s.

mod cli;
mod export;
mod info;
mod outcome;
pub(crate) mod parallel;
mod piece_file;
mod verify;

use std::io::Write;
use std::process::ExitCode;

pub(crate) use cli::command;
pub use cli::{Asked, ReplayAsked, WORD, parse};
pub use export::export_bytes;
pub use outcome::{Checked, Outcome};
pub use piece_file::{PieceFileError, pieces_in, read};
pub use verify::{verify_all, verify_bytes};

use trantor_game::journal::{CutShort, Ending};
use trantor_runtime::standard_error;

use crate::options::cli::{EXIT_STATUS_REFUSED, PROGRAM};

/// Exit status of `verify` where everything agrees and a recording has no end mark: its writer was killed, could not write on,
/// or is still at work.
const EXIT_STATUS_UNFINISHED: u8 = 2;

/// Does what was asked. Status 0: everything was read and agrees; 1: something does not agree with what was
/// recorded or is damaged; 2: see [`EXIT_STATUS_UNFINISHED`]; 84: something could not be read at all, or what was found could not be told.
pub fn run(asked: &ReplayAsked) -> ExitCode {
    let files = match pieces_in(asked.files()) {
        Ok(files) => files,
        Err(error) => {
            standard_error::say(format_args!("{PROGRAM}: {error}"));
            return ExitCode::from(EXIT_STATUS_REFUSED);
        }
    };
    let done = match asked {
        ReplayAsked::Verify(look) => verify::run(&files, asked.files(), look.json),
        ReplayAsked::Info(look) => info::run(&files, look.json),
        ReplayAsked::Export { .. } => export::run(&files, asked.files()),
        ReplayAsked::Play { .. } => unreachable!("the server itself plays it"),
    };
    match done {
        Ok(Worst::Unfinished) if !matches!(asked, ReplayAsked::Verify(_)) => ExitCode::SUCCESS,
        Ok(worst) => worst.exit_code(),
        // Whoever reads the lines may have had enough of them: `replay export … | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        // Not 1, which would say that a recording does not agree.
        Err(error) => {
            standard_error::say(format_args!("{PROGRAM}: cannot tell what was found: {error}"));
            ExitCode::from(EXIT_STATUS_REFUSED)
        }
    }
}

/// What is said of a piece whose head was never written whole.
const NOTHING_YET: &str = "nothing was recorded in it yet";

/// How bad the worst of several files is, for the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worst {
    Good,
    /// As far as it goes it agrees, but its end mark is missing.
    Unfinished,
    Different,
    Unreadable,
}

impl Worst {
    /// How bad it is that a piece ends so.
    fn of(ending: Ending) -> Self {
        match ending {
            Ending::Closed | Ending::Continued => Self::Good,
            Ending::CutOff { why, .. } => match why {
                // What a writer leaves that is still at work, or was killed.
                CutShort::Nothing | CutShort::Torn => Self::Unfinished,
                CutShort::Checksum | CutShort::Unreadable | CutShort::Beyond => Self::Different,
            },
        }
    }

    fn exit_code(self) -> ExitCode {
        match self {
            Self::Good => ExitCode::SUCCESS,
            Self::Unfinished => ExitCode::from(EXIT_STATUS_UNFINISHED),
            Self::Different => ExitCode::FAILURE,
            Self::Unreadable => ExitCode::from(EXIT_STATUS_REFUSED),
        }
    }
}

/// Writes one value as one line.
fn line(out: &mut impl Write, value: &serde_json::Value) -> std::io::Result<()> {
    writeln!(out, "{value}")
}
