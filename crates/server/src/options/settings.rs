//! The options by name: which there are, how one takes a value, and where each value was written: on the command line,
//! or in the layers beneath it, the environment and the file.
//!
//! A name is the long flag, the key in the file, and (in capitals, `_` for `-`, after `TRANTOR_SERVER_`) the
//! environment variable. All of it follows from [`Options`]. The environment and the file are checked whole, also where a
//! flag wins, so that no mistake in them stays hidden.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::{PossibleValue, ValueParser};
use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _};
use serde::Deserialize as _;
use toml::de::{DeTable, ValueDeserializer};
use trantor_cli::help;
use trantor_cli::mistake::nearest_flag;
use trantor_game::GameConfig;
use trantor_model::lag;
use trantor_runtime::files::read_regular_text;

use super::values::{LogFilter, ON_OFF, TRUE_FALSE, team_names_fault};
use super::{OptionError, Options};

/// The options as clap derives them, for parsing one at a time.
static ALL: LazyLock<Command> =
    LazyLock::new(|| Options::augment_args_for_update(Command::new("option").no_binary_name(true)));

/// Every option with its default and its purpose.
pub(crate) const SAMPLE: &str = include_str!("../../../../assets/config/server.toml");

/// The options as the sample has them; those that are off by default are comments there.
pub(super) static DEFAULTS: LazyLock<Options> = LazyLock::new(|| {
    let matches = with_defaults(ALL.clone()).get_matches_from([""; 0]);
    Options::from_arg_matches(&matches).expect("the sample has every option that is not off")
});

/// The words of each default.
static DEFAULT_WORDS: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let sample: toml::Table = SAMPLE.parse().expect("the sample is TOML");
    let words = sample.into_iter().map(|(name, value)| {
        let words = match value {
            toml::Value::Boolean(is_on) if takes(&name, &[ON_OFF]) => {
                Some(vec![if is_on { "on" } else { "off" }.to_owned()])
            }
            value => words_of(&name, &value),
        };
        (name, words.expect("the sample has words, numbers and switches"))
    });
    words.collect()
});

/// The command with the defaults of the options that it has in common with the server.
pub(crate) fn with_defaults(command: Command) -> Command {
    command.mut_args(
        |arg| match arg.get_long().and_then(|name| DEFAULT_WORDS.get(name)) {
            Some(words) => arg
                .required(false)
                .default_values(words.iter().map(String::as_str)),
            None => arg,
        },
    )
}

const TEAMS: &str = "teams";
const LAG: &str = "lag";

/// The option that adds up when it is repeated.
const MIND: &str = "mind";

/// Headings of the help text, with the option that each begins at.
const HEADINGS: [(&str, &str); 10] = [
    ("port", "Network"),
    ("width", "Game"),
    ("display-eggs", "Rules"),
    ("match-duration", "Game"),
    ("frequency", "Time"),
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

pub fn is_common(name: &str) -> bool {
    COMMON.split(' ').any(|common| common == name)
}

pub fn find(name: &str) -> Option<&'static str> {
    let renamed = RENAMED.iter().find(|(before, _)| *before == name);
    let name = renamed.map_or(name, |(_, now)| now);
    names().find(|known| *known == name)
}

/// Options that had another name, which the environment and the file may still use, as flags may.
const RENAMED: [(&str, &str); 4] = [
    ("lag-limit", "overload-limit"),
    ("food-told", "inventory-food"),
    ("places-told", "join-places"),
    ("refill-news", "refill-updates"),
];

fn name_of(arg: &'static Arg) -> &'static str {
    arg.get_long().expect("every option has a long flag")
}

fn arg_of(name: &str) -> Option<&'static Arg> {
    ALL.get_arguments().find(|arg| name_of(arg) == name)
}

/// Whether the help calls the value of an option so.
fn takes(name: &str, placeholders: &[&str]) -> bool {
    let values = arg_of(name).and_then(Arg::get_value_names).unwrap_or_default();
    values.iter().any(|value| placeholders.contains(&value.as_str()))
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

/// What the help says of each option besides its purpose: its values and its default.
pub(crate) fn notes() -> impl Iterator<Item = (&'static str, String)> {
    ALL.get_arguments().flat_map(|arg| {
        let name = name_of(arg);
        let default = match (DEFAULT_WORDS.get(name), name) {
            (Some(words), _) => words.join(" "),
            (None, "seed") => "random".to_owned(),
            (None, "metrics") => "off".to_owned(),
            (None, _) => "none".to_owned(),
        };
        let values = listed_values(arg).or_else(|| help::range(&must_be(name)));
        values
            .into_iter()
            .chain([format!("default: {default}")])
            .map(move |note| (name, note))
    })
}

/// The words of a choice, where its placeholder does not list them.
fn listed_values(arg: &Arg) -> Option<String> {
    let values = arg.get_possible_values();
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    let placeholder = arg.get_value_names().unwrap_or_default();
    let is_known = names.is_empty()
        || placeholder
            .iter()
            .any(|placeholder| **placeholder == *names.join("|"));
    (!is_known).then(|| format!("possible values: {}", names.join(", ")))
}

/// Sets an option to the value that these words mean.
///
/// # Errors
/// Why they are not accepted, as the end of an error line; nothing has changed then.
pub(crate) fn set(options: &mut Options, name: &str, words: &[String]) -> Result<(), String> {
    let joined = words.join(" ");
    match name {
        TEAMS => {
            if let Some(fault) = team_names_fault(words) {
                return Err(fault);
            }
            options.game.teams = words.to_vec();
            return Ok(());
        }
        LAG => {
            lag::read_change(&joined).map_err(|error| format!("lag must be valid: {error}"))?;
            options.game.lag = vec![joined];
            return Ok(());
        }
        _ => {}
    }
    let given = format!("--{name}={joined}");
    let matches = ALL.clone().try_get_matches_from([given]).map_err(|error| {
        let why = trantor_cli::explain(&error, &ALL, "", &[]).why;
        format!("{name} must be {}", why.strip_prefix("must be ").unwrap_or(&why))
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
    let is_switch = takes(name, &[ON_OFF, TRUE_FALSE]);
    match word.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) if is_switch => (word == "on" || word == "true").to_string(),
        Err(_) => quoted(&word),
    }
}

/// The end of a line about an unknown key or variable; `shown` makes a name what is written there.
fn meant(unknown: &str, others: &[&str], shown: impl Fn(&str) -> String) -> Option<String> {
    let named = nearest_flag(&ALL, unknown, others);
    named.map(|name| format!("did you mean {}?", shown(&name)))
}

/// The options of all layers together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    pub options: Options,
    /// The options that were written somewhere, by name; all others have their defaults.
    origins: BTreeMap<&'static str, Origin>,
    pub file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    words: Vec<String>,
    /// A file and a line, a variable, or a flag.
    place: String,
}

impl Resolved {
    /// Sets an option to the value that these words at `place` mean. An error is that of [`set`].
    pub(crate) fn put(
        &mut self,
        name: &'static str,
        words: Vec<String>,
        place: impl Into<String>,
    ) -> Result<(), String> {
        set(&mut self.options, name, &words)?;
        let place = place.into();
        self.origins.insert(name, Origin { words, place });
        Ok(())
    }

    /// Checks options that depend on each other. A mistake in which no flag has a part says where it was written.
    pub(crate) fn check_together(&self, is_flag: impl Fn(&str) -> bool) -> Result<(), OptionError> {
        self.options.check_together().map_err(|(names, error)| {
            if names.into_iter().any(is_flag) {
                return error;
            }
            let error = match names.iter().find_map(|name| self.origins.get(name)) {
                Some(origin) => error.within(&origin.place),
                None => error,
            };
            error.elsewhere()
        })
    }

    /// An option that was written as a line of a file, with the place where it was written.
    pub(crate) fn line(&self, name: &str) -> Option<String> {
        let Origin { words, place } = self.origins.get(name)?;
        Some(format!("{name} = {}  # {place}", in_file(name, words)))
    }

    /// Notes what `other` has for an option, or that it has nothing.
    pub(crate) fn copy_origin(&mut self, name: &'static str, other: &Self) {
        match other.origins.get(name) {
            Some(origin) => drop(self.origins.insert(name, origin.clone())),
            None => drop(self.origins.remove(name)),
        }
    }

    /// The options whose values differ in `other`, sorted by name. A default that is written out makes no difference.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let mut names: Vec<_> = names()
            .filter(|name| self.alone(name) != other.alone(name))
            .collect();
        names.sort_unstable();
        names
    }

    /// The defaults, with this one option as it was written.
    fn alone(&self, name: &str) -> Options {
        let mut options = Options::default();
        if let Some(Origin { words, .. }) = self.origins.get(name) {
            set(&mut options, name, words).expect("it was accepted before");
        }
        options
    }
}

/// Prefix of the environment variables of this program.
const ENVIRONMENT_PREFIX: &str = "TRANTOR_SERVER_";

/// The flag and variable that name the file. It is no key of the file itself.
pub(crate) const CONFIG: &str = "config";

/// The variable that sets the log of many programs.
pub(crate) const RUST_LOG: &str = "RUST_LOG";

/// Largest file read, in bytes: the sample with every comment has a few thousand.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The variables of this program, sorted by name; all of them known.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    values: Vec<(&'static str, String)>,
    pub(crate) config: Option<PathBuf>,
    /// Set for all programs: the file wins over it.
    pub(crate) log: Option<String>,
}

fn variable_of(name: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", name.to_uppercase().replace('-', "_"))
}

/// The option that a variable sets.
fn option_of(variable: &str) -> Option<&'static str> {
    let name = variable.strip_prefix(ENVIRONMENT_PREFIX)?;
    let is_upper_case = !name.contains(|letter: char| letter.is_lowercase() || letter == '-');
    find(&name.to_lowercase().replace('_', "-")).filter(|_| is_upper_case)
}

impl Environment {
    /// Picks this program's variables out of all. Refuses one that has our prefix and an unknown name, or is not UTF-8.
    pub(crate) fn read(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, OptionError> {
        // Sorted, so that the first mistake is always the same one.
        let mut variables: Vec<_> = variables.into_iter().collect();
        variables.sort();
        let mut environment = Self::default();
        for (variable, value) in variables {
            let Some(variable) = variable.to_str() else {
                continue;
            };
            if variable == RUST_LOG {
                // What this program does not understand in it is no mistake.
                let log = value.into_string().ok();
                environment.log = log.filter(|log| LogFilter::read(log).is_some());
            } else if variable == variable_of(CONFIG) {
                environment.config = Some(value.into());
            } else if let Some(name) = option_of(variable) {
                let value = value.into_string().map_err(|value| {
                    let written = format!("{variable}={}", value.to_string_lossy());
                    OptionError::new(written, "must be valid UTF-8")
                })?;
                environment.values.push((name, value));
            } else if let Some(unknown) = variable.strip_prefix(ENVIRONMENT_PREFIX) {
                let hint = meant(unknown, &[CONFIG], variable_of);
                let hint = hint.unwrap_or_else(|| "the names are those of --help".to_owned());
                return Err(OptionError::new(variable, format!("unknown variable; {hint}")));
            }
        }
        Ok(environment)
    }

    /// Applies the variables of this program, up to the first value that is not accepted.
    pub(crate) fn apply(&self, resolved: &mut Resolved) -> Result<(), OptionError> {
        for (name, value) in &self.values {
            let words: Vec<String> = match *name {
                TEAMS => value.split_whitespace().map(str::to_owned).collect(),
                _ => vec![value.clone()],
            };
            let variable = variable_of(name);
            resolved
                .put(name, words, variable.clone())
                .map_err(|why| OptionError::new(format!("{variable}={value}"), why))?;
        }
        Ok(())
    }
}

/// Reads the TOML file at `path`.
///
/// # Errors
/// All mistakes, in the order of its lines, at least one; the options have not changed then.
pub(crate) fn apply_file(resolved: &mut Resolved, path: &Path) -> Result<(), Vec<OptionError>> {
    let source = path.display().to_string();
    match read_regular_text(path, FILE_BYTES_MAX) {
        Ok(text) => apply_text(resolved, &source, &text),
        Err(error) => Err(vec![OptionError::new(source, format!("cannot be read: {error}"))]),
    }
}

/// Reads TOML `text`; `source` names it.
pub fn apply_text(resolved: &mut Resolved, source: &str, text: &str) -> Result<(), Vec<OptionError>> {
    let at = |offset: usize| {
        let before = text.get(..offset).unwrap_or(text);
        format!("{source}:{}", before.matches('\n').count() + 1)
    };
    let (table, broken) = DeTable::parse_recoverable(text);
    if !broken.is_empty() {
        let mistake = |error: &toml::de::Error| {
            OptionError::new(at(error.span().map_or(0, |span| span.start)), error.message())
        };
        return Err(broken.iter().map(mistake).collect());
    }
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.span().start);

    let (mut changed, mut mistakes) = (resolved.clone(), Vec::new());
    for (key, value) in entries {
        let place = at(key.span().start);
        let key = key.get_ref().as_ref();
        let Some(name) = find(key) else {
            let hint = meant(key, &[], |name| format!("'{name}'"));
            let hint = hint.unwrap_or_else(|| "the keys are the long names of --help".to_owned());
            mistakes.push(OptionError::new(
                format!("{place}: '{key}'"),
                format!("unknown key; {hint}"),
            ));
            continue;
        };
        let written = text.get(value.span()).unwrap_or_default();
        // TOML has larger numbers than `toml::Value`.
        let value = toml::Value::deserialize(ValueDeserializer::from(value)).ok();
        let accepted = match value.and_then(|value| words_of(name, &value)) {
            Some(words) => changed.put(name, words, place.clone()),
            None => Err(must_be(name)),
        };
        if let Err(why) = accepted {
            mistakes.push(OptionError::new(format!("{place}: {key} = {written}"), why));
        }
    }
    if mistakes.is_empty() {
        *resolved = changed;
        Ok(())
    } else {
        Err(mistakes)
    }
}
