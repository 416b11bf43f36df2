//! `trantor-server config`: checks a file of options, or prints the options as they are, as a file.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _, Parser};

use crate::options::settings::{Resolved, SAMPLE, find};
use crate::options::{OptionError, PROGRAM, layers};

/// What is to be done with files of options, besides printing them.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "config",
    bin_name = "trantor-server config",
    about = "Checks a file of options, or prints the options as they are.",
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub enum ConfigAsked {
    /// Report every mistake in FILE, with its line and what to write instead; status 84 if there is one
    Check {
        /// A file for --config
        #[arg(value_name = "FILE", required = true, num_args = 1..)]
        files: Vec<PathBuf>,
    },
}

pub fn check(path: &Path) -> Vec<OptionError> {
    let mut resolved = Resolved::default();
    if let Err(mistakes) = layers::apply_file(&mut resolved, path) {
        return mistakes;
    }
    let mistake = match resolved.options.check_together() {
        Err(clash) => Some(clash.elsewhere(&resolved.origins)),
        Ok(()) => resolved
            .options
            .token()
            .err()
            .map(|error| error.within(&path.display().to_string())),
    };
    mistake.into_iter().collect()
}

/// The options as a file: the sample, with each option that was written in place of its default, and where.
pub fn print(resolved: &Resolved) -> String {
    let lines = SAMPLE.lines().map(|line| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let name = bare.split_once(" = ").and_then(|(key, _)| find(key));
        let written = name.and_then(|name| resolved.origins.line(name));
        written.unwrap_or_else(|| line.to_owned()) + "\n"
    });
    lines.collect()
}

pub fn command() -> Command {
    ConfigAsked::command().subcommand(print_command())
}

pub(super) fn print_command() -> Command {
    super::command()
        .name("print")
        .bin_name(format!("{PROGRAM} config print"))
        .version(None)
        .about(
            "Print all options as a file, and where each was written; takes the flags of the server itself",
        )
        .after_help(None)
}
