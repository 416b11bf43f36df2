//! The words after `trantor-server replay`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::options::OptionError;
use crate::options::cli::PROGRAM;

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

/// Reads `words`, of which the first is `replay`. The help text comes back as `Ok(Err(text))`.
///
/// # Errors
/// One line about the first mistake.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Result<ReplayAsked, String>, OptionError> {
    match command().try_get_matches_from(words) {
        Ok(matches) => Ok(Ok(asked(&matches))),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Err(error.to_string())),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(OptionError::new(
                "replay",
                format!(
                    "{}; see {PROGRAM} replay --help",
                    first.trim_start_matches("error: ")
                ),
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

fn command() -> Command {
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
        .about("Checks, describes and tells recorded games.")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("verify")
                .about(
                    "Play journals again and compare every digest; status 0 if all agree, 1 if one does not",
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
}

const FILES: &str = "files";
const JSON: &str = "json";
