//! The words after `trantor-server replay`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::options::cli::{self, PROGRAM};
use crate::options::{OptionError, Options};
use crate::playback::{PlayAsked, PlayFrom};

/// What is asked for by the words after `replay`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To look at journals, and end.
    Look(ReplayAsked),
    /// To show one to viewers.
    Play(Box<PlayAsked>),
    /// To print this: a help text.
    Print(String),
}

/// What is to be done with journals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayAsked {
    /// Play them, and compare every digest.
    Verify {
        /// Files, and directories of files.
        files: Vec<PathBuf>,
        /// A line of JSON for each, instead of one for people.
        json: bool,
    },
    /// Say what they hold, without playing them.
    Info {
        /// Files, and directories of files.
        files: Vec<PathBuf>,
        /// A line of JSON for each, instead of one for people.
        json: bool,
    },
    /// Play them, and tell each event and each input as a line of JSON.
    Export {
        /// Files, and directories of files.
        files: Vec<PathBuf>,
    },
}

impl ReplayAsked {
    /// The files and directories named.
    pub fn files(&self) -> &[PathBuf] {
        match self {
            Self::Verify { files, .. } | Self::Info { files, .. } | Self::Export { files } => files,
        }
    }
}

/// The first word of the command line that asks for it.
pub const WORD: &str = "replay";

/// Reads `words`, of which the first is `replay`.
///
/// # Errors
/// One line about the first mistake.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Asked, OptionError> {
    match command().try_get_matches_from(words) {
        Ok(matches) => match matches.subcommand() {
            Some((PLAY, matches)) => play_asked(matches).map(|asked| Asked::Play(Box::new(asked))),
            _ => Ok(Asked::Look(asked(&matches))),
        },
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Asked::Print(error.to_string())),
        Err(error) => {
            let line = cli::first_line(&error);
            Err(OptionError::new(
                "replay",
                format!("{line}; see {PROGRAM} replay --help"),
            ))
        }
    }
}

fn asked(matches: &ArgMatches) -> ReplayAsked {
    let (name, matches) = matches.subcommand().expect("clap asks for a subcommand");
    let files = matches.get_many(FILES).into_iter().flatten().cloned().collect();
    let json = matches.get_flag(JSON);
    match name {
        "verify" => ReplayAsked::Verify { files, json },
        "info" => ReplayAsked::Info { files, json },
        _ => ReplayAsked::Export { files },
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

fn play_asked(matches: &ArgMatches) -> Result<PlayAsked, OptionError> {
    let mut options = Options::default();
    for name in PLAY_SETTINGS {
        cli::apply_named(&mut options, matches, name)?;
    }
    let at = match matches.get_one::<String>(AT) {
        None => PlayFrom::Thousandths(0),
        Some(text) => PlayFrom::read(text).ok_or_else(|| {
            OptionError::new(
                format!("--{AT} {text}"),
                "must be a moment in units, as 1500 or 1500.5, or a part of the recording, as 40%",
            )
        })?,
    };
    Ok(PlayAsked {
        files: matches.get_many(FILES).into_iter().flatten().cloned().collect(),
        at,
        is_paused: matches.get_flag(PAUSED),
        follows_speed: !matches.contains_id("frequency"),
        options,
    })
}

/// The command as clap knows it.
pub(crate) fn command() -> Command {
    let files = || {
        Arg::new(FILES)
            .value_name("FILE")
            .required(true)
            .num_args(1..)
            .value_parser(clap::value_parser!(PathBuf))
            .help("Pieces of a journal as --record leaves them; a directory stands for all pieces in it")
    };
    let json = |help: &'static str| Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help(help);
    Command::new("trantor-server replay")
        .bin_name("trantor-server replay")
        .about("Checks, describes, tells and shows recorded games.")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("verify")
                .about(
                    "Play journals again and compare every digest; status 0 if all agree, 1 if one does not, 2 if all agree \
                     and a recording has no end mark, as after a kill",
                )
                .args([json("One line of JSON for each file"), files()]),
        )
        .subcommand(
            Command::new("info")
                .about("Say what journals hold, without playing them")
                .args([json("One line of JSON for each file"), files()]),
        )
        .subcommand(
            Command::new("export")
                .about("Play journals and tell all that happens, one event a line")
                .args([
                    json("As lines of JSON, which is also what happens without this flag"),
                    files(),
                ]),
        )
        .subcommand(
            Command::new(PLAY)
                .about(
                    "Show a recording to viewers, who can pause it, step it, change its speed and jump in it",
                )
                .args([
                    files(),
                    Arg::new(AT)
                        .long(AT)
                        .value_name("TIME")
                        .allow_negative_numbers(true)
                        .help("Where to begin, in units (1500) or as a part of the recording (40%)"),
                    Arg::new(PAUSED)
                        .long(PAUSED)
                        .action(ArgAction::SetTrue)
                        .help("Begin with time standing still"),
                ])
                .args(PLAY_SETTINGS.map(cli::named_flag))
                .after_help("Without --frequency it is played at the speeds at which it was recorded."),
        )
}

const PLAY: &str = "play";
const FILES: &str = "files";
const AT: &str = "at";
const PAUSED: &str = "paused";
const JSON: &str = "json";
