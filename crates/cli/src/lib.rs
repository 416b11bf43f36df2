//! What the command lines of all our programs have in common.
//!
//! - A mistake is one line on standard error: what was written, what is accepted, and the nearest known name ([`mistake`]).
//!   The usage follows it, and the exit status is [`EXIT_STATUS_REFUSED`].
//! - `--help` says the default and the range of each option; the ranges come from the parsers themselves ([`help`]).
//! - `completions SHELL` and `man DIR` as the first word print completions and write manual pages ([`manual`]).
//! - Files are checked before the work whose results go into them ([`check_writable`]).
//!
//! Which options there are is each program's own. Nothing here knows the game.

pub mod help;
pub mod manual;
pub mod mistake;
pub mod values;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Parser};
use trantor_runtime::{standard_error, standard_output};

pub use manual::ManualCommand;
pub use mistake::{Explained, OptionError, SEE_HELP, explain};

/// Exit status for every mistake in the options and every failure to start: the convention of Epitech's tools.
pub const EXIT_STATUS_REFUSED: u8 = 84;

/// A parsed command line.
#[derive(Debug)]
pub enum Parsed<T> {
    /// Run with these options.
    Run(T),
    /// Print this and end with status 0.
    Print(String),
}

/// Reads a command line, the program's name first; answers the options, and how they were given.
///
/// # Errors
/// The first mistake.
pub fn parse<T: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Parsed<(T, ArgMatches)>, OptionError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Elsewhere than in the first place the word may be a value.
    let first = arguments
        .get(1)
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    if matches!(first, "help" | "-help") {
        return Ok(Parsed::Print(help::of(T::command())));
    }
    if manual::WORDS.contains(&first) {
        return manual::run(&help::complete(T::command()), &arguments).map(Parsed::Print);
    }
    let command = T::command().mut_args(|arg| match arg.get_action().takes_values() {
        true => {
            // `-p -5` is a wrong number and not a flag.
            let is_one_value = arg.get_num_args().is_none();
            let arg = arg.allow_negative_numbers(is_one_value);
            // The last of several counts.
            let id = arg.get_id().clone();
            arg.overrides_with(id)
        }
        false => arg,
    });
    let matches = command.clone().try_get_matches_from(&arguments);
    match matches.and_then(|matches| Ok((T::from_arg_matches(&matches)?, matches))) {
        Ok(parsed) => Ok(Parsed::Run(parsed)),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Parsed::Print(help::of(T::command()))),
        Err(error) if is_request(&error) => Ok(Parsed::Print(error.to_string())),
        Err(error) => Err(explain(&error, &command, SEE_HELP, &manual::WORDS).into_error(None)),
    }
}

/// Whether clap's "error" is the text of `--help` or `--version`.
pub fn is_request(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

/// Ends `program` with what it has to print. `usage` is of the program, in one line.
pub fn end(program: &str, usage: &str, ended: Result<String, End>) -> ExitCode {
    let printed = ended.and_then(|text| match text.trim_end() {
        "" => Ok(()),
        text => standard_output::print(text).map_err(|line| End::Failed(line, EXIT_STATUS_REFUSED)),
    });
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Mistake(mistake)) => refuse(program, usage, &mistake),
        Err(End::Failed(line, status)) => {
            standard_error::say(format_args!("{program}: {line}"));
            ExitCode::from(status)
        }
    }
}

/// Why a program ends without success.
#[derive(Debug)]
pub enum End {
    /// Its options cannot be used.
    Mistake(OptionError),
    /// A line for the user, and the exit status.
    Failed(String, u8),
}

impl From<OptionError> for End {
    fn from(mistake: OptionError) -> Self {
        Self::Mistake(mistake)
    }
}

/// Reports a mistake on standard error, with the usage below it if it is on the command line.
pub fn refuse(program: &str, usage: &str, mistake: &OptionError) -> ExitCode {
    standard_error::say(format_args!("{program}: {mistake}"));
    if !mistake.is_elsewhere {
        standard_error::say(format_args!(
            "usage: {program} {usage}; --help explains all options"
        ));
    }
    ExitCode::from(EXIT_STATUS_REFUSED)
}

/// Finds out now whether results can be written into `file`, and not after the work for them. Leaves the file as it is.
///
/// # Errors
/// If they cannot; the text names the file.
pub fn check_writable(file: &Path) -> Result<(), String> {
    let checked = match File::create_new(file) {
        Ok(_) => fs::remove_file(file),
        // Anything else that is there, a pipe for instance, would notice.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match file.metadata() {
            Ok(found) if found.is_file() => File::options().write(true).open(file).map(drop),
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    checked.map_err(|error| format!("cannot write {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_checked_before_and_left_as_it_is() {
        let folder = std::env::temp_dir().join(format!("trantor-writable-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("report.json");
        assert_eq!(check_writable(&file), Ok(()));
        assert!(!file.exists());
        fs::write(&file, "old").unwrap();
        assert_eq!(check_writable(&file), Ok(()));
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        for cannot in [
            folder.clone(),
            file.join("below"),
            folder.join("none/report.json"),
        ] {
            let said = check_writable(&cannot).unwrap_err();
            assert!(
                said.starts_with(&format!("cannot write {}: ", cannot.display())),
                "{said}"
            );
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
