//! `trantor-server replay`: journals verified, described, and exported event by event, without a server.
//!
//! Files are what `--record` leaves, one piece of a journal each, compressed or not; a directory stands for the
//! pieces in it. The playing itself is [`trantor_game::replay`]'s; showing a recording to viewers is [`crate::playback`]'s.

mod export;
mod files;
mod verify;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use serde_json::{Value, json};
use trantor_game::journal::{CutShort, Ending, Piece, Record};
use trantor_model::show::is_shown;
use trantor_runtime::standard_error;

pub use self::export::export_bytes;
pub(crate) use self::files::{for_each_file, progress_bar};
pub use self::files::{pieces_in, read, read_from};
pub use self::verify::{Checked, Outcome, in_their_runs, verify_all, verify_bytes};
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
pub enum ReplayCommand {
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
        /// Play at the speeds at which it was recorded, instead of at --frequency
        #[arg(long, conflicts_with = "frequency")]
        recorded_speed: bool,
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

impl ReplayCommand {
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
pub fn run(asked: &ReplayCommand) -> ExitCode {
    let files = match pieces_in(asked.files()) {
        Ok(files) => files,
        Err(error) => {
            standard_error::say(format_args!("{PROGRAM}: {error}"));
            return ExitCode::from(EXIT_STATUS_REFUSED);
        }
    };
    let done = match asked {
        ReplayCommand::Verify(look) => verify::run(&files, asked.files(), look.json),
        ReplayCommand::Info(look) => info(&files, look.json),
        ReplayCommand::Export { .. } => export::run(&files, asked.files()),
        ReplayCommand::Play { .. } => unreachable!("the server itself plays it"),
    };
    match done {
        Ok(Worst::Unfinished) if !matches!(asked, ReplayCommand::Verify(_)) => ExitCode::SUCCESS,
        Ok(worst) => worst.exit_code(),
        // The reader may stop early: `replay export … | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
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

fn line(out: &mut impl Write, value: &Value) -> io::Result<()> {
    writeln!(out, "{}", escaped(value.to_string()))
}

/// JSON in which characters are escaped that are not to be printed, beyond those that JSON escapes anyway: a recording
/// may come from anybody, and agents say what they like.
fn escaped(json: String) -> String {
    if json.is_ascii() || json.chars().all(is_shown) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if is_shown(letter) {
            escaped.push(letter);
            continue;
        }
        for half in letter.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{half:04x}"));
        }
    }
    escaped
}

/// `replay info`: the head of a piece, and what can be counted without playing it.
fn info(files: &[PathBuf], as_json: bool) -> io::Result<Worst> {
    let mut worst = Worst::Good;
    let mut out = io::stdout().lock();
    for file in files {
        let shown = file.to_string_lossy();
        let described = files::read(file)
            .map_err(|error| error.to_string())
            .and_then(|bytes| describe(&bytes));
        let how = described.as_ref().map_or(Worst::Unreadable, |(_, how)| *how);
        worst = worst.max(how);
        match described {
            Ok((mut value, _)) if as_json => {
                value["file"] = shown.into();
                line(&mut out, &value)?;
            }
            Ok((Value::Object(fields), _)) => {
                writeln!(out, "{shown}")?;
                for (name, value) in fields {
                    writeln!(out, "  {name}: {}", escaped(value.to_string()))?;
                }
            }
            Ok(_) => {}
            Err(error) => match as_json {
                true => line(&mut out, &json!({ "file": shown, "error": error }))?,
                false => writeln!(out, "{shown}: {error}")?,
            },
        }
    }
    Ok(worst)
}

fn describe(bytes: &[u8]) -> Result<(Value, Worst), String> {
    let piece = match Piece::open(bytes) {
        Ok(piece) => piece,
        Err(error) if error.is_of_begun() => {
            let value = json!({ "bytes": bytes.len(), "ending": NOTHING_YET });
            return Ok((value, Worst::Unfinished));
        }
        Err(error) => return Err(error.to_string()),
    };
    let snapshot = piece.snapshot().map_err(|error| error.to_string())?;
    let (mut inputs, mut digests) = (0u64, 0u64);
    let mut end = piece.head().begin;
    let mut entries = piece.entries();
    for entry in entries.by_ref() {
        end = entry.stamp;
        match entry.record {
            Record::Input(_) => inputs += 1,
            Record::Digest(_) | Record::PieceEnd(_) | Record::End(_) => digests += 1,
            Record::Progress => {}
        }
    }
    let ending = entries.ending().expect("the entries are used up");
    let how = Worst::of(ending);
    let ending = match ending {
        Ending::Closed => "closed".to_owned(),
        Ending::Continued => "closed, another piece follows".to_owned(),
        Ending::CutOff { whole_bytes, why } => format!("at byte {whole_bytes}: {why}"),
    };
    let (head, config) = (piece.head(), snapshot.config());
    let value = json!({
        "program": head.program,
        "piece": head.number,
        "begins_units": head.begin.at.as_units_f64(),
        "ends_units": end.at.as_units_f64(),
        "begins_deadlines": head.begin.steps,
        "ends_deadlines": end.steps,
        "width": config.size.width(),
        "height": config.size.height(),
        "teams": config.teams,
        "seed": config.seed,
        "inputs": inputs,
        "digests": digests,
        "bytes": bytes.len(),
        "ending": ending,
    });
    Ok((value, how))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_said_controls_no_terminal_that_shows_it() {
        let said = json!({ "said": "\u{9b}2J\u{202e}é\u{e0041}\u{1b}" });
        let shown = escaped(said.to_string());
        assert!(shown.chars().all(is_shown), "{shown:?}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), said);
    }
}
