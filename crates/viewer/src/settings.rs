//! What is remembered from one start to the next: `viewer.toml` in the user's folder for settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use trantor_model::MapSize;

use crate::input::Action;
use crate::options::Theme;
use crate::picture::CameraPose;

/// Remembered choices. What is missing is as at a first start.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Light or dark.
    pub theme: Option<Theme>,
    /// Width and height of the window, in pixels.
    pub window: Option<(u32, u32)>,
    /// Where the window was on the screen, in pixels.
    pub place: Option<(i32, i32)>,
    /// Whether it filled the screen.
    pub full_screen: bool,
    /// How large panels are, as a part of what the display asks for.
    pub scale: Option<f32>,
    /// How loud it is, in percent.
    pub volume_percent: Option<u8>,
    /// Whether it is silent all the same.
    #[serde(rename = "muted")]
    pub is_muted: bool,
    /// How a map was looked at, by somebody who moved the camera.
    pub view: Option<SavedView>,
    /// Actions with other keys than the usual ones.
    pub keys: BTreeMap<Action, Vec<String>>,
    #[serde(skip)]
    path: Option<PathBuf>,
    /// Whether there was no file.
    #[serde(skip)]
    is_first_start: bool,
}

/// How a map was looked at: of use on a map of the same size.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedView {
    map: (u16, u16),
    target: (f32, f32),
    distance: f32,
    yaw: f32,
    pitch: f32,
}

impl SavedView {
    /// A camera's pose over a map.
    pub fn of(size: MapSize, pose: &CameraPose) -> Self {
        Self {
            map: (size.width(), size.height()),
            target: pose.target.into(),
            distance: pose.distance,
            yaw: pose.yaw,
            pitch: pose.pitch,
        }
    }

    /// Whether it is of a map of this size, and numbers that a camera can have: the file may have been edited.
    pub fn is_of(&self, size: MapSize) -> bool {
        let numbers = [self.target.0, self.target.1, self.distance, self.yaw, self.pitch];
        self.map == (size.width(), size.height())
            && numbers.iter().all(|number| number.is_finite())
            && self.distance > 0.0
    }

    /// The pose.
    pub fn pose(&self) -> CameraPose {
        CameraPose {
            target: self.target.into(),
            distance: self.distance,
            yaw: self.yaw,
            pitch: self.pitch,
        }
    }
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
                is_first_start: true,
                ..Self::default()
            },
            Err(error) => {
                log::warn!("{} cannot be read: {error}", path.display());
                Self::default()
            }
        }
    }

    /// Whether nothing was ever remembered, so that the user may be told what to do.
    pub fn is_first_start(&self) -> bool {
        self.is_first_start
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
            place: Some((-5, 40)),
            full_screen: true,
            scale: Some(1.5),
            volume_percent: Some(30),
            is_muted: true,
            view: Some(SavedView {
                map: (20, 30),
                target: (3.5, 4.0),
                distance: 12.0,
                yaw: 0.5,
                pitch: 0.75,
            }),
            keys: BTreeMap::from([(Action::FullScreen, vec!["g".to_owned()])]),
            path: None,
            is_first_start: false,
        };
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(toml::from_str::<Settings>("").unwrap(), Settings::default());
        assert!(toml::from_str::<Settings>("colour = 3").is_err());
        let view = settings.view.unwrap();
        assert!(view.is_of(MapSize::new(20, 30).unwrap()) && !view.is_of(MapSize::new(20, 20).unwrap()));
        let broken = SavedView {
            distance: f32::NAN,
            ..view
        };
        assert!(!broken.is_of(MapSize::new(20, 30).unwrap()));
    }
}
