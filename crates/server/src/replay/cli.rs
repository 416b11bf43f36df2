//! The arguments of `trantor-server replay`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::options::cli::{self, PROGRAM};
use crate::options::{OptionError, Options};
use crate::playback::{PlayAsked, PlayFrom};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To look at journals, and end.
    Look(ReplayAsked),
    /// To show one to viewers.
    Play(Box<PlayAsked>),
    /// To print this: a help text.
    Print(String),
}

/// The first word of the command line that asks for it.
pub const WORD: &str = "replay";

#[derive(Parser)]
#[command(
    name = "trantor-server replay",
    bin_name = "trantor-server replay",
    about = "Checks, describes, tells and shows recorded games.",
    disable_help_subcommand = true
)]
struct ReplayCommand {
    #[command(subcommand)]
    asked: ReplayAsked,
}

/// What is to be done with journals.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum ReplayAsked {
    /// Play journals again and compare every digest; status 0 if all agree, 1 if one does not, 2 if all agree
    /// and a recording has no end mark, as after a kill
    Verify(Look),
    /// Say what journals hold, without playing them
    Info(Look),
    /// Play journals and tell all that happens, one event a line
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
    /// The files and directories named.
    pub fn files(&self) -> &[PathBuf] {
        let (Self::Verify(Look { files, .. })
        | Self::Info(Look { files, .. })
        | Self::Export { files, .. }
        | Self::Play { files, .. }) = self;
        &files.files
    }
}

/// The options of a server that mean something where nobody plays.
const PLAY_SETTINGS: [&str; 13] = [
    "port",
    "bind",
    "frequency",
    "control",
    "token-file",
    "gui-ids",
    "dialect",
    "console",
    "lag-limit",
    "metrics",
    "metrics-log",
    "metrics-every",
    "log",
];

/// The command as clap knows it.
pub(crate) fn command() -> clap::Command {
    let with_settings = |play: clap::Command| play.args(PLAY_SETTINGS.map(cli::named_flag));
    ReplayCommand::command().mut_subcommand("play", with_settings)
}

/// Reads `words`, of which the first is `replay`.
///
/// # Errors
/// One line about the first mistake.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Asked, OptionError> {
    let matches = match command().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => return Ok(Asked::Print(error.to_string())),
        Err(error) => {
            let line = cli::first_line(&error);
            return Err(OptionError::new(
                WORD,
                format!("{line}; see {PROGRAM} {WORD} --help"),
            ));
        }
    };
    let command = ReplayCommand::from_arg_matches(&matches).expect("the matches are those of its command");
    let (at, paused) = match &command.asked {
        ReplayAsked::Play { at, paused, .. } => (at, *paused),
        _ => return Ok(Asked::Look(command.asked)),
    };
    let (_, matches) = matches.subcommand().expect("it is play");
    let mut options = Options::default();
    for name in PLAY_SETTINGS {
        cli::apply_named(&mut options, matches, name)?;
    }
    let at = at.as_deref().unwrap_or("0%");
    let must_be = "must be a moment in units, as 1500 or 1500.5, or a part of the recording, as 40%";
    let at = PlayFrom::read(at).ok_or_else(|| OptionError::new(format!("--at {at}"), must_be))?;
    Ok(Asked::Play(Box::new(PlayAsked {
        files: command.asked.files().to_vec(),
        at,
        is_paused: paused,
        follows_speed: !matches.contains_id("frequency"),
        options,
    })))
}
