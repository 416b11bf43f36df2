//! What is remembered from one start to the next: `viewer.toml` in the user's folder for settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::input::Action;
use crate::options::Theme;

/// Remembered choices. What is missing is as at a first start.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Light or dark.
    pub theme: Option<Theme>,
    /// Width and height of the window, in pixels.
    pub window: Option<(u32, u32)>,
    /// Actions with other keys than the usual ones.
    pub keys: BTreeMap<Action, Vec<String>>,
    #[serde(skip)]
    path: Option<PathBuf>,
}

impl Settings {
    /// Reads the file; a missing one is no mistake, and an unreadable one is named and left alone.
    pub fn load() -> Self {
        let Some(path) = path() else {
            return Self::default();
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => match toml::from_str::<Self>(&text) {
                Ok(settings) => Self {
                    path: Some(path),
                    ..settings
                },
                Err(error) => {
                    log::warn!(
                        "{} is not understood and not used: {}",
                        path.display(),
                        error.message()
                    );
                    Self::default()
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self {
                path: Some(path),
                ..Self::default()
            },
            Err(error) => {
                log::warn!("{} cannot be read: {error}", path.display());
                Self::default()
            }
        }
    }

    /// Writes the file, if it could be read.
    pub fn save(&self) {
        let Some(path) = &self.path else { return };
        let written = toml::to_string(self)
            .map_err(std::io::Error::other)
            .and_then(|text| {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                std::fs::write(path, text)
            });
        if let Err(error) = written {
            log::warn!("{} cannot be written: {error}", path.display());
        }
    }
}

/// `$XDG_CONFIG_HOME/trantor/viewer.toml`, or where that usually is.
fn path() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    Some(folder.join("trantor").join("viewer.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let settings = Settings {
            theme: Some(Theme::Light),
            window: Some((800, 600)),
            keys: BTreeMap::from([(Action::FullScreen, vec!["g".to_owned()])]),
            path: None,
        };
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(toml::from_str::<Settings>("").unwrap(), Settings::default());
        assert!(toml::from_str::<Settings>("colour = 3").is_err());
    }
}
