//! The layers beneath the command line: the environment, and the file beneath that.
//!
//! Both are checked whole, also where a flag would win, so that a mistake in them does not lie in wait.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, ValueDeserializer};

use super::origins::Origins;
use super::settings::{find, must_be, nearest_name, set, set_toml};
use super::{LogFilter, OptionError, Options};

/// What the environment variables of this program start with.
pub const ENVIRONMENT_PREFIX: &str = "TRANTOR_SERVER_";

/// The flag and variable that name the file. It is no key of the file itself.
pub const CONFIG: &str = "config";

/// The variable with which many programs are told what to log.
const RUST_LOG: &str = "RUST_LOG";

/// Largest file read, in bytes: the sample with every comment has a few thousand.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The variables meant for this program, sorted by name; all of them known.
#[derive(Debug)]
pub struct Environment {
    values: Vec<(&'static str, String)>,
    config: Option<PathBuf>,
    log: Option<LogFilter>,
}

impl Environment {
    /// Picks this program's variables out of all.
    ///
    /// # Errors
    /// One that starts with our prefix and is none of ours, or is not UTF-8.
    pub fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self, OptionError> {
        let mut ours = Vec::new();
        let mut log = None;
        for (variable, value) in variables {
            if variable == RUST_LOG {
                // It is for all programs, and what it says to others is no mistake of ours.
                log = value.to_str().and_then(|value| value.parse().ok());
            }
            if let Some(name) = variable
                .to_str()
                .and_then(|name| name.strip_prefix(ENVIRONMENT_PREFIX))
            {
                ours.push((name.to_owned(), value));
            }
        }
        // The system hands them out in any order; the first mistake told should always be the same.
        ours.sort();

        let mut environment = Self {
            values: Vec::new(),
            config: None,
            log,
        };
        for (name, value) in ours {
            let key = name.to_lowercase().replace('_', "-");
            let setting = find(&key).filter(|_| name == name.to_uppercase());
            if name == CONFIG.to_uppercase() {
                environment.config = Some(value.into());
            } else if let Some(setting) = setting {
                let value = value.into_string().map_err(|value| {
                    let shown = value.to_string_lossy();
                    OptionError::new(
                        format!("{ENVIRONMENT_PREFIX}{name}={shown}"),
                        "must be valid UTF-8",
                    )
                })?;
                environment.values.push((setting, value));
            } else {
                let nearest = nearest_name(&key, &[CONFIG]).map(|name| name.to_uppercase().replace('-', "_"));
                let hint = match nearest {
                    Some(nearest) => {
                        format!("unknown variable; the nearest known one is {ENVIRONMENT_PREFIX}{nearest}")
                    }
                    None => "unknown variable; the names are those of --help".to_owned(),
                };
                return Err(OptionError::new(format!("{ENVIRONMENT_PREFIX}{name}"), hint));
            }
        }
        Ok(environment)
    }

    /// The file that the environment names.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Puts what is said to all programs into `options`: it is less than what the file says.
    pub fn apply_common(&self, options: &mut Options, origins: &mut Origins) {
        if let Some(filter) = &self.log {
            options.log = filter.clone();
            origins.set("log", format!("\"{filter}\""), RUST_LOG);
        }
    }

    /// Puts the values into `options`, and where they stood into `origins`.
    ///
    /// # Errors
    /// The first value that is not accepted.
    pub fn apply(&self, options: &mut Options, origins: &mut Origins) -> Result<(), OptionError> {
        for (name, value) in &self.values {
            let words: Vec<String> = match *name {
                "teams" => value.split_whitespace().map(str::to_owned).collect(),
                _ => vec![value.clone()],
            };
            let variable = format!("{ENVIRONMENT_PREFIX}{}", name.to_uppercase().replace('-', "_"));
            set(options, name, &words).map_err(|why| OptionError::new(format!("{variable}={value}"), why))?;
            origins.note(name, &words, variable);
        }
        Ok(())
    }
}

/// Reads the TOML file at `path` into `options`, and where each value stood into `origins`.
///
/// # Errors
/// A file that cannot be read, that is not TOML, or that holds a key or a value that is not accepted.
pub fn apply_file(options: &mut Options, origins: &mut Origins, path: &Path) -> Result<(), OptionError> {
    let source = path.display().to_string();
    let text = read_bounded(path).map_err(|error| OptionError::new(source.clone(), error))?;
    match read_text(options, &source, &text) {
        Ok(said) => {
            origins.note_all(said);
            Ok(())
        }
        Err(mistakes) => Err(first(mistakes)),
    }
}

/// Reads TOML `text` into `options`; `source` names it in errors.
///
/// # Errors
/// The first mistake; nothing has changed then.
pub fn apply_text(options: &mut Options, source: &str, text: &str) -> Result<(), OptionError> {
    read_text(options, source, text).map(drop).map_err(first)
}

fn first(mistakes: Vec<OptionError>) -> OptionError {
    mistakes
        .into_iter()
        .next()
        .expect("a file that is refused has a mistake")
}

/// What a text says of one option: which, its value, and where it stands.
pub(crate) type Said = (&'static str, toml::Value, String);

/// Reads TOML `text` into `options`; answers what it said.
///
/// # Errors
/// All mistakes in it, in the order of its lines; nothing has changed then.
pub fn read_text(options: &mut Options, source: &str, text: &str) -> Result<Vec<Said>, Vec<OptionError>> {
    let at = |offset: Option<usize>| {
        let before = text.get(..offset.unwrap_or(0)).unwrap_or(text);
        format!("{source}:{}", before.matches('\n').count() + 1)
    };
    let (table, broken) = DeTable::parse_recoverable(text);
    if !broken.is_empty() {
        let tell = |error: &toml::de::Error| {
            OptionError::new(at(error.span().map(|span| span.start)), error.message())
        };
        return Err(broken.iter().map(tell).collect());
    }
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.span().start);

    let mut changed = options.clone();
    let mut said = Vec::new();
    let mut mistakes = Vec::new();
    for (key, value) in entries {
        let place = at(Some(key.span().start));
        let key = key.get_ref().as_ref();
        let Some(name) = find(key) else {
            let hint = match nearest_name(key, &[]) {
                Some(nearest) => format!("unknown key; the nearest known one is '{nearest}'"),
                None => "unknown key; the keys are the long names of --help".to_owned(),
            };
            mistakes.push(OptionError::new(format!("{place}: '{key}'"), hint));
            continue;
        };
        let span = value.span();
        let Ok(value) = toml::Value::deserialize(ValueDeserializer::from(value)) else {
            // TOML has larger numbers than there are values.
            let what = format!("{place}: {key} = {}", text.get(span).unwrap_or_default());
            mistakes.push(OptionError::new(what, must_be(name, true)));
            continue;
        };
        match set_toml(&mut changed, name, &value) {
            Ok(()) => said.push((name, value, place)),
            Err(why) => mistakes.push(OptionError::new(format!("{place}: {key} = {value}"), why)),
        }
    }
    if mistakes.is_empty() {
        *options = changed;
        Ok(said)
    } else {
        Err(mistakes)
    }
}

/// Refuses what can be read once only, or that waits for somebody to write: a pipe, as shells make of `<(…)`.
///
/// # Errors
/// If it is no regular file. What is not there is told when it is read.
pub(crate) fn check_can_be_read_again(path: &Path) -> Result<(), OptionError> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(OptionError::new(
            path.display().to_string(),
            "only a regular file can be read again",
        )),
        _ => Ok(()),
    }
}

/// The text of a file that a person wrote.
///
/// # Errors
/// In words, if it cannot be read or is far too long.
pub(crate) fn read_bounded(path: &Path) -> Result<String, String> {
    use std::io::Read;

    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let mut text = String::new();
    let mut file = std::fs::File::open(path)
        .map_err(cannot)?
        .take(FILE_BYTES_MAX + 1);
    file.read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("has more than the {FILE_BYTES_MAX} bytes that are read"));
    }
    Ok(text)
}
