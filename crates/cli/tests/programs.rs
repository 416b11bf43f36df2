//! The four programs answer a mistake in one way: each option of each of them is misspelt, and given values out of its range.

use std::ffi::OsString;

use clap::{Command, CommandFactory as _};
use trantor_bot::load;
use trantor_cli::{OptionError, Parsed};
use trantor_server::cli::Invocation;
use trantor_server::headless::{SimError, simulate};
use trantor_viewer::options::{self, Cli};

/// A command line: what is printed, or nothing where the program would run.
type Answer = Result<Option<String>, OptionError>;

/// A program, or a command of one that has options of its own.
struct Program {
    name: &'static str,
    ask: fn(&[&str]) -> Answer,
    /// Its options, one at least with a value that is missing otherwise.
    command: Command,
}

fn words<'a>(name: &'a str, line: &'a [&'a str]) -> impl Iterator<Item = OsString> + 'a {
    std::iter::once(name)
        .chain(line.iter().copied())
        .map(OsString::from)
}

fn programs() -> [Program; 5] {
    fn parsed<T>(parsed: Parsed<T>) -> Option<String> {
        match parsed {
            Parsed::Run(_) => None,
            Parsed::Print(text) => Some(text),
        }
    }
    [
        Program {
            name: "trantor-server",
            ask: |line| match trantor_server::cli::parse(words("trantor-server", line), [])? {
                Invocation::Print(text) => Ok(Some(text)),
                _ => Ok(None),
            },
            command: trantor_server::cli::command(),
        },
        Program {
            name: "trantor-server sim",
            ask: |line| match simulate(words("sim", line)) {
                Ok(summary) => Ok(Some(summary)),
                Err(SimError::Refused(mistake)) => Err(mistake),
                Err(different) => panic!("no script is played: {different}"),
            },
            command: trantor_server::headless::command(),
        },
        Program {
            name: "trantor-bot",
            ask: |line| {
                trantor_cli::parse::<trantor_bot::cli::Options>(words("trantor-bot", line)).map(parsed)
            },
            command: trantor_bot::cli::Options::command(),
        },
        Program {
            name: "trantor-load",
            ask: |line| trantor_cli::parse::<load::cli::Options>(words("trantor-load", line)).map(parsed),
            command: load::cli::Options::command(),
        },
        Program {
            name: "trantor-viewer",
            ask: |line| match options::parse(words("trantor-viewer", line))? {
                options::Invocation::Print(text) => Ok(Some(text)),
                options::Invocation::Run(_) => Ok(None),
            },
            command: Cli::command(),
        },
    ]
}

impl Program {
    fn options(&self) -> impl Iterator<Item = &str> {
        self.command.get_arguments().filter_map(|arg| arg.get_long())
    }

    fn mistake(&self, line: &[&str]) -> String {
        let said = match (self.ask)(line) {
            Err(mistake) => mistake.to_string(),
            Ok(answer) => panic!("{} {line:?}: {answer:?}", self.name),
        };
        assert!(
            !said.contains(char::is_control),
            "{} {line:?}: {said:?}",
            self.name
        );
        said
    }

    fn help(&self) -> String {
        match (self.ask)(&["--help"]) {
            Ok(Some(text)) => text,
            other => panic!("{}: {other:?}", self.name),
        }
    }
}

#[test]
fn a_misspelt_option_is_answered_by_the_one_that_was_meant() {
    for program in programs() {
        for name in program.options().filter(|name| name.len() > 2) {
            let (head, tail) = name.split_at(name.len() - 2);
            let misspelt = format!("--{head}{}", tail.chars().rev().collect::<String>());
            if program.options().any(|known| misspelt == format!("--{known}")) {
                continue;
            }
            let said = program.mistake(&[&misspelt, "1"]);
            let meant = format!("{misspelt}: unknown option; did you mean --{name}?");
            // A short one is as near to another.
            let is_other = name.len() < 6 && said.contains("unknown option; did you mean --");
            assert!(said.ends_with(&meant) || is_other, "{}: {said}", program.name);
        }
        let said = program.mistake(&["--zzzzzzzzzz"]);
        assert!(
            said.contains("--zzzzzzzzzz: unknown option; see ") && said.ends_with("--help"),
            "{said}"
        );
    }
}

/// What a help text says of an option: its line, and those before the next option.
fn about(help: &str, name: &str) -> Option<String> {
    let flag = |line: &str| {
        let mut words = line
            .split([' ', ',', '=', '[', '.'])
            .filter(|word| !word.is_empty());
        let first = words
            .next()
            .filter(|first| first.len() > 1 && first.starts_with('-'))?;
        match first.strip_prefix("--") {
            Some(long) => Some(long.to_owned()),
            None => words.next()?.strip_prefix("--").map(str::to_owned),
        }
    };
    let lines = help
        .lines()
        .skip_while(|line| flag(line).as_deref() != Some(name));
    let more = |(place, line): &(usize, &str)| *place == 0 || flag(line).is_none();
    let lines: Vec<&str> = lines.enumerate().take_while(more).map(|(_, line)| line).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

/// `[1 to 200]` behind an option in the help is what its parser keeps to.
#[test]
fn ranges_and_defaults_are_in_the_help_and_in_the_answer_to_a_wrong_value() {
    for program in programs() {
        let help = program.help();
        let mut ranges = 0;
        for name in program.options() {
            let about = about(&help, name).unwrap_or_else(|| panic!("{}: {name}", program.name));
            let range = about.split(['[', ']']).find_map(|note| {
                let (from, to) = note.split_once(" to ")?;
                Some((from.parse::<f64>().ok()?, to.parse::<f64>().ok()?))
            });
            let Some((from, to)) = range else { continue };
            ranges += 1;
            let beyond = (to < u64::MAX as f64).then(|| format!("{}", to + 1.0));
            for wrong in ["x", "-1"].map(str::to_owned).into_iter().chain(beyond) {
                let said = program.mistake(&[&format!("--{name}"), &wrong]);
                let is_range = said.contains(" must be ") && said.contains(&format!(" from {from} to "));
                assert!(is_range && said.contains(&wrong), "{}: {said}", program.name);
            }
        }
        assert!(ranges >= 4, "{}: {ranges} ranges in {help}", program.name);
        assert!(
            help.matches("[default: ").count() >= 5,
            "{}: {help}",
            program.name
        );
    }
}

#[test]
fn the_last_of_several_values_counts() {
    for program in programs() {
        let option = if program.name.ends_with("sim") {
            "--width"
        } else {
            "--port"
        };
        let said = program.mistake(&[option, "7", option, "0x"]);
        assert!(
            said.contains(" 0x: ") && said.contains("whole number"),
            "{}: {said}",
            program.name
        );
    }
}

/// A word of a choice with its last letter doubled.
#[test]
fn a_misspelt_value_is_answered_by_the_one_that_was_meant() {
    for program in programs() {
        for arg in program.command.get_arguments() {
            let Some(name) = arg.get_long() else { continue };
            for value in arg.get_possible_values() {
                let value = value.get_name();
                if !arg.get_action().takes_values() || value.len() < 3 {
                    continue;
                }
                let misspelt = format!("{value}{}", &value[value.len() - 1..]);
                let said = program.mistake(&[&format!("--{name}"), &misspelt]);
                let (must_be, meant) = (" must be ", format!("; did you mean {value}?"));
                assert!(
                    said.contains(must_be) && said.ends_with(&meant),
                    "{}: {said}",
                    program.name
                );
            }
        }
    }
    let server = &programs()[0];
    for (line, meant) in [
        (["--lag", "radoi"], "did you mean radio?"),
        (["--lag", "red:nosy"], "did you mean noisy?"),
        (["--lag", "sped=2"], "did you mean speed?"),
        (["--dialect", "epitec"], "did you mean epitech?"),
        (["--control", "evryone"], "did you mean everyone?"),
        (["--auto-start", "of"], "did you mean off?"),
        (["--log", "warn,mio=dbeug"], "did you mean debug?"),
        (["--mind", "rad=team:1"], "did you mean red?"),
    ] {
        let said = server.mistake(&line);
        assert!(said.contains(meant), "{line:?}: {said}");
    }
}

#[test]
fn completions_and_words_are_the_same_in_all() {
    for program in programs().iter().filter(|program| !program.name.contains(' ')) {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let text = (program.ask)(&["completions", shell]).unwrap().unwrap();
            for name in program.options() {
                assert!(text.contains(name), "{} {shell}: {name}", program.name);
            }
            let of_shells = format!("{}__subcmd__completions)", program.name.replace('-', "__"));
            assert_eq!(text.contains(&of_shells), shell == "bash", "{}", program.name);
            assert!(
                text.contains("completions") && text.contains("man"),
                "{} {shell}",
                program.name
            );
        }
        assert_eq!(
            (program.ask)(&["help"]).unwrap(),
            Some(program.help()),
            "{}",
            program.name
        );
        for (line, said) in [
            (&["completions"][..], "completions: <SHELL>: is missing; see "),
            (&["completions", "bahs"], "did you mean bash?"),
            (
                &["completoins"],
                "unknown command; did you mean completions? see --help",
            ),
            (
                &["xyzzy"],
                "'xyzzy': is a stray word; an option starts with '-', see --help",
            ),
        ] {
            let mistake = program.mistake(line);
            assert!(mistake.contains(said), "{}: {mistake}", program.name);
        }
    }
}
