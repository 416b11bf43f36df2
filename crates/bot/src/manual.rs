//! `--generate`: manual page and shell completions, generated from the options.

use std::ffi::OsString;

use clap::{Command, Parser, ValueEnum};
use clap_complete::Shell;

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Manual {
    /// The manual page.
    Man,
    /// Completions of bash.
    CompleteBash,
    /// Completions of zsh.
    CompleteZsh,
    /// Completions of fish.
    CompleteFish,
}

/// The option alone, without options that are required otherwise.
#[derive(Parser)]
#[command(disable_help_flag = true, disable_version_flag = true)]
struct Alone {
    #[arg(long)]
    generate: Manual,
}

/// The requested format, if the command line has only this option.
pub(crate) fn asked(command: Command, arguments: &[OsString]) -> Option<String> {
    let alone = Alone::try_parse_from(arguments).ok()?;
    Some(written(command, alone.generate))
}

fn written(mut command: Command, what: Manual) -> String {
    let shell = match what {
        Manual::Man => return page(command),
        Manual::CompleteBash => Shell::Bash,
        Manual::CompleteZsh => Shell::Zsh,
        Manual::CompleteFish => Shell::Fish,
    };
    let name = command.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut text);
    as_text(text)
}

fn page(command: Command) -> String {
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut text)
        .expect("memory takes what is written to it");
    as_text(text)
}

fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("names of options are text")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Every option of both programs is in each of their texts.
    #[test]
    fn every_option_is_in_each() {
        for command in [
            crate::cli::Options::command(),
            crate::load::cli::Options::command(),
        ] {
            for &what in Manual::value_variants() {
                let text = written(command.clone(), what);
                for option in command.get_arguments().filter_map(|option| option.get_long()) {
                    // A manual page escapes hyphens.
                    let name = match what {
                        Manual::Man => option.replace('-', "\\-"),
                        _ => option.to_owned(),
                    };
                    assert!(text.contains(&name), "{}, {what:?}: {name}", command.get_name());
                }
            }
        }
    }
}
