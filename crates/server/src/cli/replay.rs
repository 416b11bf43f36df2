//! The arguments of `trantor-server replay`.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use super::{apply_named, named_flag};
use crate::options::{OptionError, Options, PROGRAM, first_line};
use crate::playback::{PlayAsked, PlayFrom};
use crate::replay::ReplayAsked;

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
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
struct ReplayCommand {
    #[command(subcommand)]
    asked: ReplayAsked,
}

/// The options of a server that apply to a recording.
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
    let with_settings = |play: clap::Command| play.args(PLAY_SETTINGS.map(named_flag));
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
            let line = first_line(&error);
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
        apply_named(&mut options, matches, name)?;
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
