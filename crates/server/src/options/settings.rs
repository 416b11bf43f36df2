//! The options by name: which there are, how one takes a value, and where each value was written.
//!
//! A name is the long flag, the key in the file, and (in capitals, `_` for `-`, after
//! [`super::layers::ENVIRONMENT_PREFIX`]) the environment variable. All of it follows from [`Options`].

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _};
use trantor_game::GameConfig;

use super::Options;
use super::values::{ON_OFF, TRUE_FALSE, team_names_fault};
use crate::names::nearest;

/// The options as clap derives them, for parsing one at a time.
static ALL: LazyLock<Command> =
    LazyLock::new(|| Options::augment_args_for_update(Command::new("option").no_binary_name(true)));

/// Every option with its default and its purpose.
pub(crate) const SAMPLE: &str = include_str!("../../../../assets/config/server.toml");

/// The options as the sample has them; those that are off by default are comments there.
pub(super) static DEFAULTS: LazyLock<Options> = LazyLock::new(|| {
    let sample: toml::Table = SAMPLE.parse().expect("the sample is TOML");
    let flags = sample.iter().flat_map(|(name, value)| {
        let words = words_of(name, value).expect("the sample has words, numbers and switches");
        std::iter::once(format!("--{name}")).chain(words)
    });
    let matches = ALL.clone().get_matches_from(flags);
    Options::from_arg_matches(&matches).expect("the sample has every option that is not off")
});

/// The option that takes several words.
const TEAMS: &str = "teams";

/// The option that adds up when it is repeated.
const MIND: &str = "mind";

/// Headings of the help text, each with its first option.
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

/// The options that `-h` shows, separated by spaces.
const COMMON: &str = "port bind width height teams clients seed match-duration frequency dialect control record save \
                      resume metrics log";

pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.get_arguments().map(name_of)
}

/// Whether `-h` shows the option.
pub fn is_common(name: &str) -> bool {
    COMMON.split(' ').any(|common| common == name)
}

pub fn find(name: &str) -> Option<&'static str> {
    names().find(|known| *known == name)
}

fn name_of(arg: &'static Arg) -> &'static str {
    arg.get_long().expect("every option has a long flag")
}

fn arg_of(name: &str) -> Option<&'static Arg> {
    ALL.get_arguments().find(|arg| name_of(arg) == name)
}

pub(crate) fn short(name: &str) -> Option<char> {
    arg_of(name)?.get_short()
}

/// All options as flags that take any word. [`set`] checks the words later: mistakes in the file are reported first,
/// and help is printed before both.
pub(crate) fn flags() -> impl Iterator<Item = Arg> {
    let mut heading = "";
    ALL.get_arguments().map(move |arg| {
        let name = name_of(arg);
        if let Some((_, begins)) = HEADINGS.iter().find(|(first, _)| *first == name) {
            heading = begins;
        }
        let arg = arg
            .clone()
            .id(name)
            .help_heading(heading)
            .value_parser(ValueParser::string());
        if name == MIND {
            return arg.action(ArgAction::Append);
        }
        arg.action(ArgAction::Set)
            // The last of several counts; clap alone would refuse the second.
            .overrides_with(name)
            // `-f -5` is a wrong number and not a flag.
            .allow_negative_numbers(name != TEAMS)
    })
}

/// Sets an option to the value that these words mean.
///
/// # Errors
/// Why they are not accepted, as the end of an error line; nothing has changed then.
pub(crate) fn set(options: &mut Options, name: &str, words: &[String]) -> Result<(), String> {
    if name == TEAMS {
        if let Some(fault) = team_names_fault(words) {
            return Err(fault);
        }
        options.teams = words.to_vec();
        return Ok(());
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

/// What an option accepts, as the end of an error line about a missing value.
pub(crate) fn must_be(name: &str) -> String {
    if name == TEAMS {
        let most = GameConfig::TEAMS_MAX;
        return format!("teams must be one or more different words, at most {most}");
    }
    let empty = set(&mut Options::default(), name, &[String::new()]);
    empty.expect_err("no option takes an empty word")
}

/// A value of the file as words; `None` for a kind of value that no option takes.
pub(crate) fn words_of(name: &str, value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::String(word) => Some(vec![word.clone()]),
        toml::Value::Integer(_) | toml::Value::Boolean(_) => Some(vec![value.to_string()]),
        toml::Value::Array(words) if [TEAMS, MIND].contains(&name) => words
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

/// An accepted value as the file has it.
fn in_file(name: &str, words: &[String]) -> String {
    let quoted = |word: &str| toml::Value::String(word.to_owned()).to_string();
    if name == TEAMS {
        let names: Vec<String> = words.iter().map(|name| quoted(name)).collect();
        return format!("[{}]", names.join(", "));
    }
    let word = words.join(" ");
    let values = arg_of(name).and_then(Arg::get_value_names).unwrap_or_default();
    let is_switch = values
        .iter()
        .any(|value| [ON_OFF, TRUE_FALSE].contains(&value.as_str()));
    match word.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) if is_switch => (word == "on" || word == "true").to_string(),
        Err(_) => quoted(&word),
    }
}

/// The known name most like `unknown`, if any is similar. Aliases of flags count as the names that they stand for.
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

/// The options of all layers together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    pub options: Options,
    /// Where each was written.
    pub origins: Origins,
    pub file: Option<PathBuf>,
}

impl Resolved {
    /// Sets an option to the value that these words at `place` mean.
    pub(crate) fn put(
        &mut self,
        name: &'static str,
        words: Vec<String>,
        place: impl Into<String>,
    ) -> Result<(), String> {
        set(&mut self.options, name, &words)?;
        self.origins.note(name, words, place);
        Ok(())
    }
}

/// The options that were written somewhere, by name; all others have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<&'static str, Origin>);

/// What was written for one option.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    words: Vec<String>,
    /// A file and a line, a variable, or a flag.
    place: String,
}

impl Origins {
    /// Notes an accepted value, in place of any before.
    pub(crate) fn note(&mut self, name: &'static str, words: Vec<String>, place: impl Into<String>) {
        let place = place.into();
        self.0.insert(name, Origin { words, place });
    }

    /// Copies what `other` has for an option, or that it has nothing.
    pub(crate) fn copy(&mut self, name: &'static str, other: &Self) {
        match other.0.get(name) {
            Some(origin) => drop(self.0.insert(name, origin.clone())),
            None => drop(self.0.remove(name)),
        }
    }

    /// Where an option was written.
    pub(crate) fn place(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|origin| origin.place.as_str())
    }

    /// An option as a line of a file, with the place where it was written.
    pub(crate) fn line(&self, name: &str) -> Option<String> {
        let Origin { words, place } = self.0.get(name)?;
        Some(format!("{name} = {}  # {place}", in_file(name, words)))
    }

    /// The options whose values differ in `other`, sorted by name. A default that is written out makes no difference.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let mut names: Vec<_> = names()
            .filter(|name| self.alone(name) != other.alone(name))
            .collect();
        names.sort_unstable();
        names
    }

    /// The defaults, with this one option as it was written.
    fn alone(&self, name: &str) -> Options {
        let mut options = Options::default();
        if let Some(Origin { words, .. }) = self.0.get(name) {
            let accepted = set(&mut options, name, words);
            debug_assert!(accepted.is_ok(), "{name} = {words:?} was accepted before");
        }
        options
    }
}
