//! Mistakes in options, each in one line.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use trantor_model::names::{did_you_mean, did_you_mean_or, nearest};
use trantor_model::show::is_shown;

use crate::values::listed;

/// Why options cannot be used: what was written, and what is accepted. One line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written}: {accepted}")]
pub struct OptionError {
    written: String,
    accepted: String,
    /// It is in a file, in the environment or in a command of its own: the usage of the program is of no help.
    pub is_elsewhere: bool,
}

fn is_hidden(letter: char) -> bool {
    !is_shown(letter)
}

impl OptionError {
    /// A mistake on the command line.
    pub fn new(written: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self {
            // A control character in what was written would break the promise of one line.
            written: written.into().replace(is_hidden, "?"),
            accepted: accepted.into().replace(is_hidden, " "),
            is_elsewhere: false,
        }
    }

    /// The mistake is in a file of options, at a place in it, or in a command.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.written = format!("{place}: {}", self.written).replace(is_hidden, "?");
        self
    }

    /// The mistake is outside of the program's own flags.
    #[must_use]
    pub fn elsewhere(mut self) -> Self {
        self.is_elsewhere = true;
        self
    }
}

/// Where all options are explained, for a mistake that has no better hint.
pub const SEE_HELP: &str = "see --help";

/// What was written, and why it is not accepted.
#[derive(Debug)]
pub struct Explained {
    /// Empty for the command line as a whole.
    pub written: String,
    /// The rest of the line.
    pub why: String,
    /// The long name of the option without a value, if that is the mistake: its program may know more.
    pub lacks_value: Option<String>,
}

impl Explained {
    fn new(written: impl Into<String>, why: impl Into<String>) -> Self {
        let (written, why) = (written.into(), why.into());
        Self {
            written,
            why,
            lacks_value: None,
        }
    }

    /// The mistake, in the command `word` of its program if there is one.
    pub fn into_error(self, word: Option<&str>) -> OptionError {
        let written = match (word, self.written) {
            (None, written) if written.is_empty() => "the command line".to_owned(),
            (None, written) => written,
            (Some(word), written) if written.is_empty() => word.to_owned(),
            (Some(word), written) => format!("{word}: {written}"),
        };
        OptionError::new(written, self.why)
    }
}

/// Says in one line what clap says in several. `see` is where the options of `command` are explained; `words` are the
/// commands of its program.
pub fn explain(error: &clap::Error, command: &Command, see: &str, words: &[&str]) -> Explained {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    // clap names a flag with its placeholder, "--port <PORT>".
    let shown = context(ContextKind::InvalidArg);
    let flag = shown.split(' ').next().unwrap_or_default();
    let value = context(ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::UnknownArgument if !flag.starts_with('-') => {
            let why = match did_you_mean(&shown, words.iter().copied()) {
                _ if words.contains(&shown.as_str()) => "a command comes before all options".to_owned(),
                meant if meant.is_empty() => format!("is a stray word; an option starts with '-', {see}"),
                meant => format!("unknown command{meant} {see}"),
            };
            Explained::new(format!("'{shown}'"), why)
        }
        ErrorKind::UnknownArgument => {
            let meant = flag
                .strip_prefix("--")
                .and_then(|name| nearest_flag(command, name, &["help", "version"]));
            let why = match meant {
                Some(meant) => format!("unknown option; did you mean --{meant}?"),
                None => format!("unknown option; {see}"),
            };
            Explained::new(flag, why)
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            Explained::new(format!("{flag} {value}"), why)
        }
        ErrorKind::InvalidValue if !valid(error).is_empty() && !value.is_empty() => {
            let flag = flag.trim_start_matches('<').trim_end_matches('>');
            Explained::new(format!("{flag} {value}"), one_of(&value, error))
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            let arg = arg_named(command, flag);
            let is_host = arg.is_some_and(|arg| arg.get_short() == Some('h'));
            let why = match (
                valid(error).is_empty(),
                arg.and_then(|arg| accepted(command, arg)),
            ) {
                (false, _) => one_of("", error),
                (true, Some(accepted)) => accepted,
                (true, None) if is_host => "-h is the host, --help is help".to_owned(),
                (true, None) => format!("it needs one; {see}"),
            };
            Explained {
                lacks_value: Some(flag.trim_start_matches('-').to_owned()),
                ..Explained::new(format!("{flag} without a value"), why)
            }
        }
        kind => {
            let why = match kind {
                ErrorKind::InvalidUtf8 => "it must be valid UTF-8".to_owned(),
                ErrorKind::MissingSubcommand => {
                    format!(
                        "say what: {}",
                        strings(error, ContextKind::ValidSubcommand).join(", ")
                    )
                }
                ErrorKind::InvalidSubcommand => {
                    let unknown = context(ContextKind::InvalidSubcommand);
                    let known = command.get_subcommands().map(Command::get_name);
                    let hint = did_you_mean_or(&unknown, known, see);
                    return Explained::new("", format!("unknown command {unknown:?}{hint}"));
                }
                ErrorKind::MissingRequiredArgument => {
                    let missing = strings(error, ContextKind::InvalidArg).join(", ");
                    return Explained::new(missing, format!("is missing; {see}"));
                }
                ErrorKind::ArgumentConflict => {
                    let others = match error.get(ContextKind::PriorArg) {
                        Some(ContextValue::String(other)) => other.clone(),
                        _ => strings(error, ContextKind::PriorArg).join(", "),
                    };
                    return Explained::new(shown, format!("cannot be used together with {others}"));
                }
                // "error: …" is followed by advice over several lines.
                _ => {
                    let text = error.to_string();
                    let first = text.lines().next().unwrap_or_default();
                    first.trim_start_matches("error: ").to_owned()
                }
            };
            Explained::new("", format!("{why}; {see}"))
        }
    }
}

/// The long flag most like `name`, or one of `others`; aliases count as the flags that they stand for.
pub fn nearest_flag(command: &Command, name: &str, others: &[&str]) -> Option<String> {
    let flags: Vec<(&str, &str)> = command
        .get_arguments()
        .filter_map(|arg| Some((arg.get_long()?, arg.get_all_aliases().unwrap_or_default())))
        .flat_map(|(long, aliases)| aliases.into_iter().chain([long]).map(move |known| (known, long)))
        .chain(others.iter().map(|other| (*other, *other)))
        .collect();
    let found = nearest(name, flags.iter().map(|(known, _)| *known))?;
    let meant = flags.iter().find(|(known, _)| *known == found);
    meant.map(|(_, long)| (*long).to_owned())
}

/// What an option takes, as the end of a line: its parser says so when it gets an impossible value.
pub(crate) fn accepted(command: &Command, arg: &Arg) -> Option<String> {
    let long = arg.get_long()?;
    let asked = [command.get_name().to_owned(), format!("--{long}={IMPOSSIBLE}")];
    let error = command.clone().try_get_matches_from(asked).err()?;
    match error.kind() {
        ErrorKind::ValueValidation => error.source().map(ToString::to_string),
        ErrorKind::InvalidValue => Some(one_of("", &error)),
        _ => None,
    }
}

/// A value that no option with a range takes.
const IMPOSSIBLE: &str = "\u{7f}";

fn arg_named<'a>(command: &'a Command, flag: &str) -> Option<&'a Arg> {
    let name = flag.trim_start_matches('-');
    command.get_arguments().find(|arg| {
        arg.get_long() == Some(name) || arg.get_short().is_some_and(|short| *name == *short.to_string())
    })
}

/// `must be epitech or 42; did you mean epitech?`
fn one_of(value: &str, error: &clap::Error) -> String {
    let known = valid(error);
    let meant = did_you_mean(value, known.iter().map(String::as_str));
    format!("must be {}{meant}", listed(known.iter().map(String::as_str)))
}

fn valid(error: &clap::Error) -> &[String] {
    strings(error, ContextKind::ValidValue)
}

/// What clap lists in an error.
fn strings(error: &clap::Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::Strings(strings)) => strings,
        _ => &[],
    }
}
