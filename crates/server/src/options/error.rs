//! Mistakes in the options and on the command line, each in one line.

use clap::Command;
use trantor_cli::{Explained, SEE_HELP};

use super::settings::{find, must_be, short};

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

/// Why the options cannot be used: what was written, and what is accepted. One line.
///
/// The program prints it and exits with status 84, which the tools of the Zappy world look for.
pub use trantor_cli::{EXIT_STATUS_REFUSED, OptionError};

/// The shorter of an option's flags, as in most scripts.
pub(crate) fn flag_of(name: &str) -> String {
    match short(name) {
        Some(short) => format!("-{short}"),
        None => format!("--{name}"),
    }
}

/// Says in one line what clap says in several. `word` is the command, or none for the server's own flags.
pub(crate) fn explain(error: &clap::Error, command: &Command, word: Option<&str>) -> OptionError {
    let (see, words) = match word {
        Some(word) => (format!("see {PROGRAM} {word} --help"), &[][..]),
        None => (SEE_HELP.to_owned(), &COMMANDS[..]),
    };
    let explained = trantor_cli::explain(error, command, &see, words);
    // The server's own flags take any word at first, so that clap does not know what they accept.
    let own = explained
        .lacks_value
        .as_deref()
        .filter(|_| word.is_none())
        .and_then(find);
    let explained = match own {
        Some(name) => Explained {
            written: format!("{} without a value", flag_of(name)),
            why: must_be(name),
            lacks_value: None,
        },
        None => explained,
    };
    explained.into_error(word)
}
