//! `trantor-server replay`: journals verified, described, and exported event by event, without a server.
//!
//! Files are what `--record` leaves, one piece of a journal each, compressed or not; a directory stands for the
//! pieces in it. The playing itself is [`trantor_game::replay`]'s; showing a recording to viewers is [`crate::playback`]'s.

mod export;
mod info;
mod outcome;
pub(crate) mod parallel;
mod piece_file;
mod verify;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};

pub use export::export_bytes;
pub use outcome::{Checked, Outcome};
pub use piece_file::{pieces_in, read, read_from};
pub use verify::{verify_all, verify_bytes};

use trantor_game::journal::{CutShort, Ending};
use trantor_runtime::standard_error;

use crate::options::{EXIT_STATUS_REFUSED, PROGRAM};

/// What is to be done with journals.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "trantor-server replay",
    bin_name = "trantor-server replay",
    about = "Checks, describes, exports and shows recorded games.",
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub enum ReplayAsked {
    /// Play journals again and compare every digest; status 0 if all agree, 1 if one does not, 2 if all agree
    /// and a recording has no end mark, as after a kill
    Verify(Look),
    /// Say what journals hold, without playing them
    Info(Look),
    /// Play journals and print all that happens, one event a line
    Export {
        /// As lines of JSON, which is also what happens without this flag
        #[arg(long)]
        json: bool,
        /// Which.
        #[command(flatten)]
        files: Files,
    },
    /// Show a recording to viewers, who can pause it, step it, change its speed and jump in it
    #[command(after_help = "Without --frequency it is played at the speeds at which it was recorded.")]
    Play {
        /// Which.
        #[command(flatten)]
        files: Files,
        /// Where to begin, in units (1500) or as a part of the recording (40%)
        #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
        at: Option<String>,
        /// Begin with time standing still
        #[arg(long)]
        paused: bool,
    },
}

/// Files to look at.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Look {
    /// One line of JSON for each file
    #[arg(long)]
    pub json: bool,
    /// Which.
    #[command(flatten)]
    pub files: Files,
}

/// The files and directories named.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Files {
    /// Pieces of a journal as --record leaves them; a directory stands for all pieces in it
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub files: Vec<PathBuf>,
}

impl ReplayAsked {
    pub fn files(&self) -> &[PathBuf] {
        let (Self::Verify(Look { files, .. })
        | Self::Info(Look { files, .. })
        | Self::Export { files, .. }
        | Self::Play { files, .. }) = self;
        &files.files
    }
}

/// Exit status of `verify` where everything agrees and a recording has no end mark: its writer was killed, could not write on,
/// or is still at work.
const EXIT_STATUS_UNFINISHED: u8 = 2;

/// Does what was asked. Status 0: everything was read and agrees; 1: something does not agree with what was
/// recorded or is damaged; 2: see [`EXIT_STATUS_UNFINISHED`]; 84: something could not be read, or the results could not be written.
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
        // The reader may stop early: `replay export … | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        // Not 1, which would say that a recording does not agree.
        Err(error) => {
            standard_error::say(format_args!("{PROGRAM}: cannot write the results: {error}"));
            ExitCode::from(EXIT_STATUS_REFUSED)
        }
    }
}

/// The ending of a piece whose head was never written whole.
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
    /// How bad it is if a piece ends so.
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

fn line(out: &mut impl Write, value: &serde_json::Value) -> std::io::Result<()> {
    writeln!(out, "{value}")
}
