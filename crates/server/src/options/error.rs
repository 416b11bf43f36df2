//! Mistakes in the options, each in one line.

use super::settings::Origins;

/// The program's name, which its error lines start with.
pub const PROGRAM: &str = "trantor-server";

/// Exit status for every mistake in the options and every failure to start: the convention of Epitech's tools.
pub const EXIT_STATUS_REFUSED: u8 = 84;

/// Two options that are valid alone and not together.
#[derive(Debug)]
pub(crate) struct Clash {
    /// Their names, the one to change first.
    pub(crate) names: [&'static str; 2],
    /// What is wrong.
    pub(crate) error: OptionError,
}

impl Clash {
    /// The mistake if no flag has a part in it: with the place of what was written.
    pub(crate) fn elsewhere(self, origins: &Origins) -> OptionError {
        let error = match self.names.iter().find_map(|name| origins.place(name)) {
            Some(place) => self.error.within(place),
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
