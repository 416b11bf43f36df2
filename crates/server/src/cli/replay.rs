//! The arguments of `trantor-server replay`.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser};

use super::{Asked, Stop, flags_of, options_of, parse_as};
use crate::options::OptionError;
use crate::playback::{PlayAsked, PlayFrom};
use crate::replay::ReplayAsked;

#[derive(Parser)]
#[command(
    name = "trantor-server replay",
    bin_name = "trantor-server replay",
    about = "Checks, describes, exports and shows recorded games.",
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
struct ReplayCommand {
    #[command(subcommand)]
    asked: ReplayAsked,
}

/// The options of a server that apply to a recording.
const PLAY_OPTIONS: &[&str] = &[
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

pub(crate) fn command() -> clap::Command {
    ReplayCommand::command().mut_subcommand("play", |play| play.args(flags_of(PLAY_OPTIONS)))
}

pub(super) fn parse(words: &[OsString]) -> Result<Asked, Stop> {
    let (ReplayCommand { asked }, matches) = parse_as(command(), words, "replay")?;
    let ReplayAsked::Play { files, at, paused } = asked else {
        return Ok(Asked::Replay(asked));
    };
    let (_, matches) = matches.subcommand().expect("it is play");
    let options = options_of(matches, PLAY_OPTIONS)?;
    let at = at.as_deref().unwrap_or("0%");
    let must_be = "must be a time in units, as 1500 or 1500.5, or a part of the recording, as 40%";
    let at = PlayFrom::read(at).ok_or_else(|| OptionError::new(format!("--at {at}"), must_be))?;
    Ok(Asked::Play(Box::new(PlayAsked {
        files: files.files,
        at,
        is_paused: paused,
        follows_speed: !matches.contains_id("frequency"),
        options,
    })))
}
