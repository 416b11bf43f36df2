//! The layers beneath the command line: the environment, and the file beneath that.
//!
//! Both are checked whole, also where a flag wins, so that no mistake in them stays hidden.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, ValueDeserializer};

use super::settings::{Resolved, find, must_be, nearest_name, words_of};
use super::{LogFilter, OptionError};

/// Prefix of the environment variables of this program.
pub const ENVIRONMENT_PREFIX: &str = "TRANTOR_SERVER_";

/// The flag and variable that name the file. It is no key of the file itself.
pub const CONFIG: &str = "config";

/// The variable that sets the log of many programs.
const RUST_LOG: &str = "RUST_LOG";

/// Largest file read, in bytes: the sample with every comment has a few thousand.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The variables of this program, sorted by name; all of them known.
#[derive(Debug, Default)]
pub struct Environment {
    values: Vec<(&'static str, String)>,
    config: Option<PathBuf>,
    log: Option<String>,
}

fn variable_of(name: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", name.to_uppercase().replace('-', "_"))
}

impl Environment {
    /// Picks this program's variables out of all.
    pub fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self, OptionError> {
        // Sorted, so that the first mistake is always the same one.
        let mut variables: Vec<_> = variables.into_iter().collect();
        variables.sort();
        let mut environment = Self::default();
        for (variable, value) in variables {
            let Some(variable) = variable.to_str() else {
                continue;
            };
            if variable == RUST_LOG {
                // It is for all programs: what this one does not understand is no mistake.
                environment.log = value
                    .into_string()
                    .ok()
                    .filter(|it| LogFilter::read(it).is_some());
                continue;
            }
            let Some(name) = variable.strip_prefix(ENVIRONMENT_PREFIX) else {
                continue;
            };
            let key = name.to_lowercase().replace('_', "-");
            if variable == variable_of(CONFIG) {
                environment.config = Some(value.into());
            } else if let Some(setting) = find(&key).filter(|name| variable == variable_of(name)) {
                let value = value.into_string().map_err(|value| {
                    OptionError::new(
                        format!("{variable}={}", value.to_string_lossy()),
                        "must be valid UTF-8",
                    )
                })?;
                environment.values.push((setting, value));
            } else {
                let hint = match nearest_name(&key, &[CONFIG]).map(variable_of) {
                    Some(nearest) => format!("unknown variable; the nearest known one is {nearest}"),
                    None => "unknown variable; the names are those of --help".to_owned(),
                };
                return Err(OptionError::new(variable, hint));
            }
        }
        Ok(environment)
    }

    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Applies what is set for all programs: the file wins over it.
    pub fn apply_common(&self, resolved: &mut Resolved) {
        if let Some(filter) = &self.log {
            let accepted = resolved.put("log", vec![filter.clone()], RUST_LOG);
            debug_assert!(accepted.is_ok(), "a filter that can be read is accepted");
        }
    }

    /// Applies the variables of this program.
    pub fn apply(&self, resolved: &mut Resolved) -> Result<(), OptionError> {
        for (name, value) in &self.values {
            let words: Vec<String> = match *name {
                "teams" => value.split_whitespace().map(str::to_owned).collect(),
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
pub fn apply_file(resolved: &mut Resolved, path: &Path) -> Result<(), Vec<OptionError>> {
    let source = path.display().to_string();
    match read_bounded(path) {
        Ok(text) => apply_text(resolved, &source, &text),
        Err(error) => Err(vec![OptionError::new(source, error)]),
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
            let hint = match nearest_name(key, &[]) {
                Some(nearest) => format!("unknown key; the nearest known one is '{nearest}'"),
                None => "unknown key; the keys are the long names of --help".to_owned(),
            };
            mistakes.push(OptionError::new(format!("{place}: '{key}'"), hint));
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

/// Refuses what can be read only once or may block, as a pipe that shells make of `<(…)`.
///
/// # Errors
/// If it is no regular file. One that does not exist is reported when it is read.
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
