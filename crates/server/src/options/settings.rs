//! The options by name: which there are, and how one takes a value.
//!
//! A name is the long flag, the key in the file, and (in capitals, `_` for `-`, after
//! [`super::layers::ENVIRONMENT_PREFIX`]) the environment variable. All of it follows from [`Options`].

use std::error::Error as _;
use std::sync::LazyLock;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _};
use trantor_game::GameConfig;

use super::Options;
use super::values::{of_toml, team_names_fault};
use crate::nearest::nearest;

/// The options as clap derives them, each to be given alone.
static ALL: LazyLock<Command> =
    LazyLock::new(|| Options::augment_args_for_update(Command::new("option").no_binary_name(true)));

/// The one option that takes several words.
const TEAMS: &str = "teams";

/// Headings of the help text, each with the option that it begins with.
const HEADINGS: [(&str, &str); 9] = [
    ("port", "Network"),
    ("width", "Game"),
    ("frequency", "Time"),
    ("display-eggs", "Rules"),
    ("dialect", "Protocol"),
    ("control", "Control"),
    ("connections-limit", "Limits"),
    ("record", "Recordings and saves"),
    ("metrics", "Metrics and log"),
];

/// What `-h` shows.
const COMMON: [&str; 16] = [
    "port",
    "bind",
    "width",
    "height",
    "teams",
    "clients",
    "seed",
    "match-duration",
    "frequency",
    "dialect",
    "control",
    "record",
    "save",
    "resume",
    "metrics",
    "log",
];

/// The names of all options, in the order of the help text.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.get_arguments().map(name_of)
}

/// Whether `-h` shows the option.
pub fn is_common(name: &str) -> bool {
    COMMON.contains(&name)
}

/// The option of that name, if there is one.
pub fn find(name: &str) -> Option<&'static str> {
    names().find(|known| *known == name)
}

fn name_of(arg: &'static Arg) -> &'static str {
    arg.get_long().expect("every option has a long flag")
}

/// The option's short flag.
pub(crate) fn short(name: &str) -> Option<char> {
    ALL.get_arguments().find(|arg| name_of(arg) == name)?.get_short()
}

/// All options as flags whose words [`set`] checks later: what is wrong in the file is told first, and help before both.
pub(crate) fn flags() -> impl Iterator<Item = Arg> {
    let mut heading = "";
    ALL.get_arguments().map(move |arg| {
        let name = name_of(arg);
        if let Some((_, begins)) = HEADINGS.iter().find(|(first, _)| *first == name) {
            heading = begins;
        }
        arg.clone()
            .id(name)
            .help_heading(heading)
            .value_parser(ValueParser::string())
            .action(ArgAction::Set)
            // Given twice, the last one counts; clap by itself would refuse.
            .overrides_with(name)
            // `-f -5` is a wrong number and is told so, instead of being taken for a flag.
            .allow_negative_numbers(name != TEAMS)
    })
}

/// Gives an option the value that these words of the command line or of the environment mean.
///
/// # Errors
/// Why it does not take them, as the end of an error line; nothing has changed then.
pub(crate) fn set(options: &mut Options, name: &str, words: &[String]) -> Result<(), String> {
    if name == TEAMS {
        return match team_names_fault(words) {
            Some(fault) => Err(fault),
            None => {
                options.teams = words.to_vec();
                Ok(())
            }
        };
    }
    let given = format!("--{name}={}", words.join(" "));
    let matches = ALL.clone().try_get_matches_from([given]).map_err(|error| {
        let accepted = error.source().map(ToString::to_string);
        format!("{name} must be {}", accepted.unwrap_or_default())
    })?;
    options
        .update_from_arg_matches(&matches)
        .map_err(|error| error.to_string())
}

/// Gives an option a value of the file.
///
/// # Errors
/// As [`set`] has it.
pub(crate) fn set_toml(options: &mut Options, name: &str, value: &toml::Value) -> Result<(), String> {
    if name != TEAMS {
        return set(options, name, &[of_toml(value)]);
    }
    let names = value.as_array().and_then(|names| {
        let names = names.iter().map(|name| name.as_str().map(str::to_owned));
        names.collect::<Option<Vec<String>>>()
    });
    let names = names.ok_or("teams must be a list of different words such as [\"red\", \"blue\"]")?;
    set(options, name, &names)
}

/// What an option accepts from the command line (or, with `in_file`, from the file) where there is no value, as the end
/// of an error line.
pub(crate) fn must_be(name: &str, in_file: bool) -> String {
    let mut unchanged = Options::default();
    let nothing = match in_file {
        true => set_toml(&mut unchanged, name, &toml::Value::String(String::new())),
        false if name == TEAMS => {
            let most = GameConfig::TEAMS_MAX;
            return format!("teams must be one or more different words, at most {most}");
        }
        false => set(&mut unchanged, name, &[String::new()]),
    };
    nothing.expect_err("no option takes an empty word")
}

/// An accepted value as the file would have it: the first way to write it there that means the same.
pub(crate) fn in_file(name: &str, words: &[String]) -> String {
    let quoted = |word: &str| toml::Value::String(word.to_owned()).to_string();
    if name == TEAMS {
        let names: Vec<String> = words.iter().map(|name| quoted(name)).collect();
        return format!("[{}]", names.join(", "));
    }
    let word = words.join(" ");
    // `007` is seven here, and nothing at all in a file.
    let number = match word.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let mut meant = Options::default();
    let _accepted_before = set(&mut meant, name, words);
    let ways = [
        number.to_owned(),
        "true".to_owned(),
        "false".to_owned(),
        quoted(&word),
    ];
    let same = ways.iter().find(|way| {
        let mut options = Options::default();
        let value = way.parse();
        value.is_ok_and(|value| set_toml(&mut options, name, &value).is_ok()) && options == meant
    });
    // A seed may be larger than a file's numbers.
    same.cloned().unwrap_or_else(|| number.to_owned())
}

/// The known name that looks most like `unknown`, if any looks like it at all. Other flags are looked at as well, and
/// lead to the name, which is known in the file and in the environment too.
///
/// `extra` are further names known where `unknown` was written.
pub fn nearest_name(unknown: &str, extra: &[&'static str]) -> Option<&'static str> {
    let unknown = unknown.to_lowercase().replace('_', "-");
    let aliases = |arg: &'static Arg| arg.get_all_aliases().unwrap_or_default();
    let known = ALL
        .get_arguments()
        .flat_map(|arg| std::iter::once(name_of(arg)).chain(aliases(arg)));
    let found = nearest(&unknown, known.chain(extra.iter().copied()))?;
    let meant = ALL.get_arguments().find(|arg| aliases(arg).contains(&found));
    Some(meant.map_or(found, name_of))
}
