//! Help texts: the range of each option, as its parser states it, and the commands of every program.

use clap::{Arg, Command};

use crate::mistake::accepted;

/// The text of `--help`. Ranges are asked for only now, since to ask all parsers takes a while.
pub(crate) fn of(command: Command) -> String {
    let asked = [command.get_name().to_owned(), "--help".to_owned()];
    let help = complete(command).try_get_matches_from(asked);
    help.expect_err("clap answers a request for help as an error")
        .to_string()
}

/// Adds to the help of a program what its declarations do not say.
pub fn complete(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let words = format!(
        "Completions and manual pages: {name} completions SHELL, {name} man DIR.\n\
         A mistake is reported in one line, with exit status 84."
    );
    let after = command
        .get_after_help()
        .map(|text| format!("{text}\n\n"))
        .unwrap_or_default();
    with_ranges(command).after_help(after + &words)
}

/// Adds the range of each option to its help.
pub fn with_ranges(command: Command) -> Command {
    let ranges: Vec<_> = command
        .get_arguments()
        .filter_map(|arg| Some((arg.get_id().clone(), range(&accepted(&command, arg)?)?)))
        .collect();
    let mut command = command;
    for (id, range) in ranges {
        command = command.mut_arg(id, |arg| add(arg, &range));
    }
    command
}

/// Adds `[note]` to the help of an option.
pub fn add(arg: Arg, note: &str) -> Arg {
    let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    // clap's own notes, as the default, come behind it.
    match text.find(" [default: ") {
        Some(at) => {
            let (before, after) = text.split_at(at);
            arg.help(format!("{before} [{note}]{after}"))
        }
        None => arg.help(format!("{text} [{note}]")),
    }
}

/// What `must be …` says about the range of an option: `1 to 200`; `None` if it has none or the help says it all.
pub fn range(must_be: &str) -> Option<String> {
    let accepted = must_be
        .split_once("must be ")
        .map_or(must_be, |(_, accepted)| accepted);
    let (_, range) = accepted.split_once(" from ")?;
    let end = range.find([',', ';']).unwrap_or(range.len());
    range.contains(" to ").then(|| range[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_what_the_parser_says() {
        for (said, shown) in [
            ("must be a whole number from 1 to 200", Some("1 to 200")),
            ("width must be a whole number from 1 to 1000", Some("1 to 1000")),
            (
                "must be a time from 100ms to 24h, such as 60s",
                Some("100ms to 24h"),
            ),
            ("must be all, or bytes from 64MB, or days from 2d", None),
            ("must be hash, plain or pnw", None),
        ] {
            assert_eq!(range(said).as_deref(), shown, "{said}");
        }
    }
}
