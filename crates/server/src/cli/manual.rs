//! `trantor-server completions`, `trantor-server man` and `trantor-server types`: what a shell, `man` and editors of scripts know
//! of the program.
//!
//! The first two are generated from the commands that the program itself parses, the last by the crate of scripts.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _, Parser, Subcommand as _};
use clap_complete::Shell;

use super::{command, config, replay_command};
use crate::console::remote::ConsoleAsked;
use crate::headless::SimAsked;
use crate::options::PROGRAM;

#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = PROGRAM, bin_name = PROGRAM)]
pub enum ManualAsked {
    /// Write the completions of a shell to standard output.
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write the manual pages.
    Man {
        /// Where to, as man/man1 of a prefix
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Write the types of what scripts may call to standard output, for editors.
    Types,
}

pub fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut whole_command(), PROGRAM, &mut text);
    String::from_utf8(text).expect("names of options are text")
}

/// Writes a page for the program and one for each of its commands, and theirs, into `directory`; answers how many.
pub fn man(directory: &Path) -> io::Result<usize> {
    std::fs::create_dir_all(directory)?;
    let command = whole_command();
    let pages = commands_in(&command);
    clap_mangen::generate_to(command, directory)?;
    Ok(pages)
}

fn commands_in(command: &Command) -> usize {
    1 + command.get_subcommands().map(commands_in).sum::<usize>()
}

/// The program with all its commands. Only for documentation: [`super::parse`] tells commands by their first word.
fn whole_command() -> Command {
    let others = [
        config::command(),
        ConsoleAsked::command(),
        replay_command().name("replay"),
        SimAsked::command(),
    ];
    ManualAsked::augment_subcommands(command().subcommands(others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::settings::names;

    #[test]
    fn there_is_a_page_for_every_command_with_every_option() {
        let directory = std::env::temp_dir().join(format!("trantor-man-{}", std::process::id()));
        let pages = man(&directory).unwrap();
        assert_eq!(pages, std::fs::read_dir(&directory).unwrap().count());
        let page = |name: &str| std::fs::read_to_string(directory.join(format!("{name}.1"))).unwrap();
        for name in [
            "sim",
            "config-check",
            "config-print",
            "replay-verify",
            "replay-play",
        ] {
            let name = format!("trantor-server-{name}");
            assert!(page(&name).contains(&format!("\n.TH {name} 1 ")), "{name}");
        }
        for name in names() {
            // A hyphen that may be copied is escaped.
            assert!(
                page("trantor-server").contains(&name.replace('-', "\\-")),
                "{name}"
            );
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
