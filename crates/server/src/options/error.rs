//! Mistakes in the options and on the command line, each in one line.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::settings::{CONFIG, find, must_be, nearest_name, short};
use crate::names::nearest;

pub const PROGRAM: &str = "trantor-server";

/// The other commands, which are known by the first word of the command line.
pub(crate) const COMMANDS: [&str; 7] = [
    "completions",
    "config",
    "console",
    "man",
    "replay",
    "sim",
    "types",
];

/// Exit status for every mistake in the options and every failure to start: the convention of Epitech's tools.
pub const EXIT_STATUS_REFUSED: u8 = 84;

/// Why the options cannot be used: what was written, and what is accepted. One line.
///
/// The program prints it and exits with status 84, which the tools of the Zappy world look for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written}: {accepted}")]
pub struct OptionError {
    written: String,
    accepted: String,
    /// It is in the file of options or in the environment, and not on the command line.
    pub(crate) is_elsewhere: bool,
}

impl OptionError {
    pub(crate) fn new(written: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self {
            // A control character in what was written would break the promise of one line.
            written: written.into().replace(char::is_control, "?"),
            accepted: accepted.into().replace(char::is_control, " "),
            is_elsewhere: false,
        }
    }

    /// The same in a file of options, or at a place in it.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.written = format!("{place}: {}", self.written).replace(char::is_control, "?");
        self
    }

    /// The same outside of the command line.
    pub(crate) fn elsewhere(mut self) -> Self {
        self.is_elsewhere = true;
        self
    }
}

/// Flags that are no options, as suggestions for a misspelt flag.
const FLAGS_ONLY: [&str; 4] = [CONFIG, "verbose", "help", "version"];

/// The shorter of an option's flags, as in most scripts.
pub(crate) fn spelt(name: &str) -> String {
    match short(name) {
        Some(short) => format!("-{short}"),
        None => format!("--{name}"),
    }
}

/// Says in one line what clap says in several. `word` is the command, or none for the server's own flags.
pub(crate) fn explain(error: &clap::Error, word: Option<&str>) -> OptionError {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (prefix, see) = match word {
        Some(word) => (format!("{word}: "), format!("see {PROGRAM} {word} --help")),
        None => (String::new(), "see --help".to_owned()),
    };
    // clap names a flag with its placeholder, "--port <PORT>".
    let shown = context(ContextKind::InvalidArg);
    let flag = shown.split(' ').next().unwrap_or_default();
    let name = flag.trim_start_matches('-');
    let valid = strings(error, ContextKind::ValidValue);
    let (written, why) = match error.kind() {
        ErrorKind::UnknownArgument if !flag.starts_with('-') => {
            let command = nearest(&shown, COMMANDS).filter(|_| word.is_none());
            let why = match command {
                Some(command) => format!("unknown command; did you mean {command}? {see}"),
                None => format!("is a stray word; an option starts with '-', {see}"),
            };
            (format!("'{shown}'"), why)
        }
        ErrorKind::UnknownArgument => {
            let nearest = match word {
                Some(_) => error.get(ContextKind::SuggestedArg).map(ToString::to_string),
                None if flag.starts_with("--") => {
                    nearest_name(name, &FLAGS_ONLY).map(|name| format!("--{name}"))
                }
                None => None,
            };
            let hint = nearest.map_or(see, |nearest| format!("the nearest known one is {nearest}"));
            (flag.to_owned(), format!("unknown option; {hint}"))
        }
        ErrorKind::ValueValidation => (
            format!("{flag} {}", context(ContextKind::InvalidValue)),
            error.source().map(ToString::to_string).unwrap_or_default(),
        ),
        ErrorKind::InvalidValue if !valid.is_empty() => {
            let value = context(ContextKind::InvalidValue);
            let word = word.unwrap_or(PROGRAM);
            return OptionError::new(word, format!("{value:?} is none of {valid}"));
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            let (flag, must_be) = match find(name).filter(|_| word.is_none()) {
                Some(name) => (spelt(name), must_be(name)),
                None => (flag.to_owned(), format!("it needs one; {see}")),
            };
            (format!("{flag} without a value"), must_be)
        }
        kind => {
            let why = match kind {
                ErrorKind::InvalidUtf8 => "it must be valid UTF-8".to_owned(),
                ErrorKind::MissingSubcommand => {
                    format!("say what: {}", strings(error, ContextKind::ValidSubcommand))
                }
                ErrorKind::InvalidSubcommand => {
                    let meant = strings(error, ContextKind::SuggestedSubcommand);
                    let hint = if meant.is_empty() {
                        meant
                    } else {
                        format!("; did you mean {meant}")
                    };
                    format!(
                        "unknown command {:?}{hint}",
                        context(ContextKind::InvalidSubcommand)
                    )
                }
                ErrorKind::MissingRequiredArgument => {
                    format!("{} is missing", strings(error, ContextKind::InvalidArg))
                }
                // "error: …" is followed by advice over several lines.
                _ => {
                    let text = error.to_string();
                    let first = text.lines().next().unwrap_or_default();
                    first.trim_start_matches("error: ").to_owned()
                }
            };
            return OptionError::new(word.unwrap_or("the command line"), format!("{why}; {see}"));
        }
    };
    OptionError::new(prefix + &written, why)
}

/// What clap lists in an error, separated by commas.
fn strings(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::Strings(strings)) => strings.join(", "),
        _ => String::new(),
    }
}
