//! `trantor-server config`: checks a file of options, or prints the options as they are, as a file.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser};

use super::Resolved;
use crate::options::origins::Origins;
use crate::options::settings::find;
use crate::options::{OptionError, Options, PROGRAM, first_line, layers};

/// The first word of the command line that asks for it.
pub const WORD: &str = "config";

/// Every option with its default and what it is for.
const SAMPLE: &str = include_str!("../../../../assets/config/server.toml");

/// What is to be done with files of options.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "config",
    bin_name = "trantor-server config",
    about = "Checks a file of options, or prints the options as they are.",
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub enum ConfigAsked {
    /// Tell every mistake in FILE, with its line and what to write instead; status 84 if there is one
    Check {
        /// A file for --config
        #[arg(value_name = "FILE", required = true, num_args = 1..)]
        files: Vec<PathBuf>,
    },
    /// Print all options as the rest of the command line, the environment and the file make them.
    #[command(skip)]
    Print,
}

/// Reads `words`, of which the first is `config`. The help text comes back as `Ok(Err(text))`. The flags behind `print`
/// are left for [`super::resolve`].
///
/// # Errors
/// One line about the first mistake.
pub fn parse(words: &[OsString]) -> Result<Result<ConfigAsked, String>, OptionError> {
    if words.get(1).is_some_and(|word| word == "print") {
        return Ok(Ok(ConfigAsked::Print));
    }
    let parsed = command().try_get_matches_from(words);
    match parsed.and_then(|matches| ConfigAsked::from_arg_matches(&matches)) {
        Ok(asked) => Ok(Ok(asked)),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Err(error.to_string())),
        Err(error) => Err(OptionError::new(
            WORD,
            format!("{}; see {PROGRAM} {WORD} --help", first_line(&error)),
        )),
    }
}

/// What is wrong with a file, a line for each mistake; none if it can be used as it is.
pub fn check(path: &std::path::Path) -> Vec<OptionError> {
    let source = path.display().to_string();
    let text = match layers::read_bounded(path) {
        Ok(text) => text,
        Err(error) => return vec![OptionError::new(source, error)],
    };
    let (mut options, mut origins) = (Options::default(), Origins::default());
    match layers::read_text(&mut options, &source, &text) {
        Ok(said) => origins.note_all(said),
        Err(mistakes) => return mistakes,
    }
    let mistake = match options.check_together() {
        Err(clash) => Some(clash.elsewhere(&origins)),
        Ok(()) => options.token().err().map(|error| error.within(&source)),
    };
    mistake.into_iter().collect()
}

/// The options as a file: the sample, with what was said in place of its defaults, and where it was said.
pub fn print(resolved: &Resolved) -> String {
    let mut text = String::new();
    for line in SAMPLE.lines() {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let said = bare
            .split_once(" = ")
            .and_then(|(key, _)| find(key))
            .and_then(|name| Some((name, resolved.origins.of(name)?)));
        match said {
            // A file's numbers are signed; a seed may be larger than that.
            Some((name, origin)) if format!("v = {}", origin.value).parse::<toml::Table>().is_err() => {
                text += &format!(
                    "# {name} = {}  # {}; too large for a file\n",
                    origin.value, origin.place
                );
            }
            Some((name, origin)) => {
                text += &format!("{name} = {}  # {}\n", origin.value, origin.place);
            }
            None => {
                text += line;
                text.push('\n');
            }
        }
    }
    text
}

/// The command as clap knows it.
pub fn command() -> Command {
    ConfigAsked::command().subcommand(print_command())
}

/// The command behind `config print`.
pub(super) fn print_command() -> Command {
    super::command()
        .name("print")
        .bin_name(format!("{PROGRAM} {WORD} print"))
        .version(None)
        .about("Print all options as a file, and where each was said; takes the flags of the server itself")
        .after_help(None)
}
