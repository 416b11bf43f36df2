//! Completions and manual pages, which a program prints or writes itself.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand as _};
use clap_complete::Shell;

use crate::is_request;
use crate::mistake::{OptionError, explain};

/// The first words that ask for it.
pub const WORDS: [&str; 2] = ["completions", "man"];

/// What is asked for with one of [`WORDS`].
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(disable_help_subcommand = true)]
pub enum ManualCommand {
    /// Write the completions of a shell to standard output.
    Completions {
        /// Which shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Write the manual pages.
    Man {
        /// Where to, as man/man1 of a prefix
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Does what the first of `arguments` asks of a program with no other commands.
///
/// # Errors
/// A mistake, or why the pages cannot be written.
pub fn run(program: &Command, arguments: &[OsString]) -> Result<String, OptionError> {
    let name = program.get_name().to_owned();
    let command = ManualCommand::command().bin_name(name);
    let whole = ManualCommand::augment_subcommands(program.clone());
    let asked = command.clone().try_get_matches_from(arguments);
    match asked.and_then(|matches| ManualCommand::from_arg_matches(&matches)) {
        Ok(asked) => asked.carry_out(whole),
        Err(error) if is_request(&error) => Ok(error.to_string()),
        Err(error) => {
            let word = arguments
                .get(1)
                .and_then(|word| word.to_str())
                .unwrap_or_default();
            let of_word = command.find_subcommand(word).unwrap_or(&command);
            let see = format!("see {} {word} --help", program.get_name());
            Err(explain(&error, of_word, &see, &[])
                .into_error(Some(word))
                .elsewhere())
        }
    }
}

impl ManualCommand {
    /// The completions of `program`, or a word about its pages.
    ///
    /// # Errors
    /// Why the pages cannot be written.
    pub fn carry_out(&self, mut program: Command) -> Result<String, OptionError> {
        match self {
            Self::Completions { shell } => {
                let (name, mut text) = (program.get_name().to_owned(), Vec::new());
                clap_complete::generate(*shell, &mut program, name.as_str(), &mut text);
                let text = String::from_utf8(text).expect("names of options are text");
                // Its function for bash has two labels for a command of a program with a hyphen in its name, and finds none.
                let [looked_for, written] = ["__", "__subcmd__"].map(|hyphen| name.replace('-', hyphen));
                Ok(text.replace(&written, &looked_for))
            }
            Self::Man { directory } => {
                let shown = directory.display().to_string();
                let pages = write_pages(program, directory).map_err(|error| {
                    OptionError::new(format!("man {shown}"), error.to_string()).elsewhere()
                })?;
                Ok(format!("{shown}: {pages} pages"))
            }
        }
    }
}

/// Writes a page for the program and one for each of its commands, and theirs; answers how many.
///
/// # Errors
/// If a page cannot be written.
pub fn write_pages(program: Command, directory: &Path) -> io::Result<usize> {
    std::fs::create_dir_all(directory)?;
    let pages = commands_in(&program);
    clap_mangen::generate_to(program, directory)?;
    Ok(pages)
}

fn commands_in(command: &Command) -> usize {
    1 + command.get_subcommands().map(commands_in).sum::<usize>()
}
