//! The layers beneath the command line: the environment, and the file beneath that.
//!
//! Both are checked whole, also where a flag would win, so that a mistake in them does not lie in wait.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::settings::{SETTINGS, find, nearest_name};
use super::written::{Kind, Written};
use super::{OptionError, Options};

/// What the environment variables of this program start with.
pub const ENVIRONMENT_PREFIX: &str = "TRANTOR_SERVER_";

/// The flag and variable that name the file. It is no key of the file itself.
pub const CONFIG: &str = "config";

/// Largest file read, in bytes: the sample with every comment has a few thousand.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The variables meant for this program, sorted by name; all of them known.
#[derive(Debug)]
pub struct Environment {
    values: Vec<(&'static str, String)>,
    config: Option<PathBuf>,
}

impl Environment {
    /// Picks this program's variables out of all.
    ///
    /// # Errors
    /// One that starts with our prefix and is none of ours, or is not UTF-8.
    pub fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self, OptionError> {
        let mut ours = Vec::new();
        for (variable, value) in variables {
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
                environment.values.push((setting.name, value));
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

    /// Puts the values into `options`.
    ///
    /// # Errors
    /// The first value that is not accepted.
    pub fn apply(&self, options: &mut Options) -> Result<(), OptionError> {
        for (name, value) in &self.values {
            let setting = find(name).expect("only known names were kept");
            let words = match setting.kind {
                Kind::TeamNames { .. } => value.split_whitespace().map(str::to_owned).collect(),
                _ => vec![value.clone()],
            };
            setting
                .kind
                .store(options, Written::Words(&words))
                .ok_or_else(|| {
                    let variable = name.to_uppercase().replace('-', "_");
                    OptionError::new(
                        format!("{ENVIRONMENT_PREFIX}{variable}={value}"),
                        setting.must_be(false),
                    )
                })?;
        }
        Ok(())
    }
}

/// Reads the TOML file at `path` into `options`.
///
/// # Errors
/// A file that cannot be read, that is not TOML, or that holds a key or a value that is not accepted.
pub fn apply_file(options: &mut Options, path: &Path) -> Result<(), OptionError> {
    let shown = path.display().to_string();
    let text = read_bounded(path).map_err(|error| OptionError::new(shown.clone(), error))?;
    apply_text(options, &shown, &text)
}

/// Reads TOML `text` into `options`; `source` names it in errors.
///
/// # Errors
/// As [`apply_file`].
pub fn apply_text(options: &mut Options, source: &str, text: &str) -> Result<(), OptionError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error
            .span()
            .map_or("", |span| text.get(..span.start).unwrap_or(text));
        let line = before.matches('\n').count() + 1;
        OptionError::new(format!("{source}: line {line}"), error.message())
    })?;
    if let Some(unknown) = table.keys().find(|key| find(key).is_none()) {
        let hint = match nearest_name(unknown, &[]) {
            Some(nearest) => format!("unknown key; the nearest known one is '{nearest}'"),
            None => "unknown key; the keys are the long names of --help".to_owned(),
        };
        return Err(OptionError::new(format!("{source}: '{unknown}'"), hint));
    }
    for setting in SETTINGS {
        let Some(value) = table.get(setting.name) else {
            continue;
        };
        let written = Written::Toml(value);
        setting.kind.store(options, written).ok_or_else(|| {
            OptionError::new(
                format!("{source}: {} = {written}", setting.name),
                setting.must_be(true),
            )
        })?;
    }
    Ok(())
}

/// The text of a file that a person wrote.
///
/// # Errors
/// In words, if it cannot be read or is far too long.
pub(super) fn read_bounded(path: &Path) -> Result<String, String> {
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
