//! Mistakes in the options, each in one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::origins::Origins;

/// The program's name, which its error lines start with.
pub const PROGRAM: &str = "trantor-server";

/// Exit status for every mistake in the options and every failure to start: the convention of Epitech's tools.
pub const EXIT_STATUS_REFUSED: u8 = 84;

/// Two options of which each may be as it is, but not beside the other.
#[derive(Debug)]
pub(crate) struct Clash {
    /// Their names, the one to be mended first.
    pub(crate) names: [&'static str; 2],
    /// What is wrong.
    pub(crate) error: OptionError,
}

impl Clash {
    /// The mistake where no flag has a part in it: with the place of what was written.
    pub(crate) fn elsewhere(self, origins: &Origins) -> OptionError {
        let error = match self.names.iter().find_map(|name| origins.of(name)) {
            Some(origin) => self.error.within(&origin.place),
            None => self.error,
        };
        error.elsewhere()
    }
}

/// Why the options cannot be used: what was written, and what is accepted. One line.
///
/// The program prints it and exits with status 84, which the tools of the Zappy world look for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written}: {accepted}")]
pub struct OptionError {
    written: String,
    accepted: String,
    is_elsewhere: bool,
}

impl OptionError {
    /// The same in a file of options, or at a place in it.
    pub(crate) fn within(self, place: &str) -> Self {
        Self {
            is_elsewhere: self.is_elsewhere,
            ..Self::new(format!("{place}: {}", self.written), self.accepted)
        }
    }

    /// The same as no mistake of the command line.
    pub(crate) fn elsewhere(self) -> Self {
        Self {
            is_elsewhere: true,
            ..self
        }
    }

    /// Whether it stands in the file of options or in the environment, and not on the command line.
    pub fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    pub(crate) fn new(written: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self {
            // A control character in what was written would break the promise of one line.
            written: written.into().replace(char::is_control, "?"),
            accepted: accepted.into().replace(char::is_control, " "),
            is_elsewhere: false,
        }
    }
}

/// The line of clap's that says what is wrong: "error: the argument … cannot …" is followed by advice over several.
pub fn first_line(error: &clap::Error) -> String {
    let names = |kind| match error.get(kind) {
        Some(ContextValue::Strings(names)) => names.join(", "),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::MissingSubcommand => return format!("say what: {}", names(ContextKind::ValidSubcommand)),
        ErrorKind::InvalidValue => {
            let valid = names(ContextKind::ValidValue);
            let value = error.get(ContextKind::InvalidValue).map(ToString::to_string);
            if let (false, Some(value)) = (valid.is_empty(), value) {
                return format!("{value:?} is none of {valid}");
            }
        }
        ErrorKind::MissingRequiredArgument => {
            return format!("{} is missing", names(ContextKind::InvalidArg));
        }
        _ => {}
    }
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.trim_start_matches("error: ").to_owned()
}
