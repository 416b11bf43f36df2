//! What is remembered from one start to the next: `viewer.toml` in the user's folder for settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use glam::Vec2;
use trantor_model::MapSize;

use crate::input::Action;
use trantor_render::gpu::Quality;
use trantor_render::picture::CameraPose;
use trantor_render::picture::palette::Theme;

/// How large panels can be: smaller cannot be read, larger leaves no room for the game.
pub const PANEL_SCALE: std::ops::RangeInclusive<f32> = 0.5..=3.0;

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
    /// How much beauty is paid for; as much as the graphics adapter affords, if nothing is said.
    pub quality: Option<Quality>,
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
    #[serde(skip)]
    mistake: Option<String>,
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
    /// A camera's pose over a map, or the nearest that is within the camera's limits.
    pub fn of(size: MapSize, pose: &CameraPose) -> Self {
        let pose = pose.within(sides(size));
        Self {
            map: (size.width(), size.height()),
            target: pose.target.into(),
            distance: pose.distance,
            yaw: pose.yaw,
            pitch: pose.pitch,
        }
    }

    /// Whether it is of a map of this size.
    pub fn is_of(&self, size: MapSize) -> bool {
        self.map == (size.width(), size.height())
    }

    /// Whether it is of a map that can be, and within the camera's limits: the file may have been edited.
    fn can_be(&self) -> bool {
        let size = MapSize::new(self.map.0.into(), self.map.1.into());
        let is_within = |size| self.pose().within(sides(size)) == self.pose() && self.yaw.is_finite();
        size.is_ok_and(is_within)
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

fn sides(size: MapSize) -> Vec2 {
    Vec2::new(f32::from(size.width()), f32::from(size.height()))
}

impl Settings {
    /// Reads the file. A missing one is no mistake; of one with mistakes the rest is used, and it is kept aside as it was,
    /// since this one will be written anew.
    pub fn load() -> Self {
        path().map_or_else(Self::default, Self::load_from)
    }

    fn load_from(path: PathBuf) -> Self {
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Self {
                    path: Some(path),
                    is_first_start: true,
                    ..Self::default()
                };
            }
            Err(error) => {
                return Self {
                    mistake: Some(format!("{} cannot be read: {error}", path.display())),
                    ..Self::default()
                };
            }
        };
        let (settings, mistakes) = read(&text);
        let mistake = (!mistakes.is_empty()).then(|| {
            let aside = path.with_extension("toml.old");
            let kept = match std::fs::copy(&path, &aside) {
                Ok(_) => format!("as it was: {}", aside.display()),
                Err(error) => format!("it cannot be kept: {error}"),
            };
            format!("{}: {} ({kept})", path.display(), mistakes.join("; "))
        });
        Self {
            path: Some(path),
            mistake,
            ..settings
        }
    }

    /// What is wrong with the file, if something is; for the user.
    pub fn mistake(&self) -> Option<&str> {
        self.mistake.as_deref()
    }

    /// Whether nothing was ever remembered, so that the user may be told what to do.
    pub fn is_first_start(&self) -> bool {
        self.is_first_start
    }

    /// Writes the file, if it could be read; whole or not at all.
    pub fn save(&self) {
        let Some(path) = &self.path else { return };
        let written = toml::to_string(self)
            .map_err(std::io::Error::other)
            .and_then(|text| {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                let fresh = path.with_extension(format!("toml.{}", std::process::id()));
                std::fs::write(&fresh, text)?;
                std::fs::rename(&fresh, path)
            });
        if let Err(error) = written {
            log::warn!("{} cannot be written: {error}", path.display());
        }
    }
}

/// Sides of a window that can be remembered, in pixels: others are a mistake in the file.
const WINDOW_SIDES: std::ops::RangeInclusive<u32> = 16..=8_192;

/// What can be used of a file, and what is wrong with the rest of it.
fn read(text: &str) -> (Settings, Vec<String>) {
    let mut mistakes = Vec::new();
    let mut table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return (Settings::default(), vec![error.message().to_owned()]),
    };
    let keys = table.remove("keys");
    let mut good = toml::Table::new();
    for (name, value) in table {
        let alone = toml::Table::from_iter([(name.clone(), value.clone())]);
        match alone.try_into::<Settings>() {
            Ok(settings) => match out_of_limits(&settings) {
                None => {
                    good.insert(name, value);
                }
                Some(mistake) => mistakes.push(format!("{name}: {mistake}")),
            },
            Err(error) => mistakes.push(format!("{name}: {}", first_line(error.message()))),
        }
    }
    let mut settings: Settings = good.try_into().unwrap_or_default();
    match keys {
        Some(toml::Value::Table(keys)) => {
            for (name, keys) in keys {
                match (Action::named(&name), keys.try_into()) {
                    (Some(action), Ok(keys)) => {
                        settings.keys.insert(action, keys);
                    }
                    (None, _) => mistakes.push(format!("keys: there is no action {name:?}")),
                    (_, Err(_)) => mistakes.push(format!("keys: {name} is no list of keys")),
                }
            }
        }
        Some(_) => mistakes.push("keys: a table of actions is expected".to_owned()),
        None => {}
    }
    (settings, mistakes)
}

/// What of these settings is read but cannot be, in the words of the command line where it has some.
fn out_of_limits(settings: &Settings) -> Option<String> {
    let (least, most) = (PANEL_SCALE.start(), PANEL_SCALE.end());
    let is_side = |side| WINDOW_SIDES.contains(&side);
    if settings
        .window
        .is_some_and(|(width, height)| !is_side(width) || !is_side(height))
    {
        Some("no window is that large".to_owned())
    } else if let Some(scale) = settings.scale.filter(|scale| !PANEL_SCALE.contains(scale)) {
        Some(format!("a scale is a number from {least} to {most}, not {scale}"))
    } else if let Some(percent) = settings.volume_percent.filter(|&percent| percent > 100) {
        Some(format!("a volume is a number from 0 to 100, not {percent}"))
    } else if settings.view.is_some_and(|view| !view.can_be()) {
        Some("no camera can be there".to_owned())
    } else {
        None
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
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
            quality: Some(Quality::Fine),
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
            mistake: None,
            is_first_start: false,
        };
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(toml::from_str::<Settings>("").unwrap(), Settings::default());
        assert_eq!(read(&text), (settings.clone(), Vec::new()));
        let view = settings.view.unwrap();
        assert!(view.is_of(MapSize::new(20, 30).unwrap()) && !view.is_of(MapSize::new(20, 20).unwrap()));
    }

    #[test]
    fn numbers_that_no_command_and_no_hand_could_give_are_mistakes() {
        let view = "[view]\nmap = [20, 30]\ntarget = [3.5, 4.0]\ndistance = 12.0\nyaw = 0.5\npitch = 0.75\n";
        assert!(read(view).0.view.is_some());
        let changed = [
            ("distance = 12.0", "distance = 1e30"),
            ("distance = 12.0", "distance = 0.1"),
            ("distance = 12.0", "distance = nan"),
            ("pitch = 0.75", "pitch = 3"),
            ("pitch = 0.75", "pitch = -inf"),
            ("yaw = 0.5", "yaw = nan"),
            ("target = [3.5, 4.0]", "target = [3.5, 1e9]"),
            ("map = [20, 30]", "map = [0, 30]"),
        ]
        .map(|(from, to)| (view.replace(from, to), "view"));
        let others = ["scale = nan", "scale = 0.0", "scale = 1e9"].map(|line| (line.to_owned(), "scale"));
        let loud = ("volume_percent = 101".to_owned(), "volume_percent");
        for (text, name) in changed.into_iter().chain(others).chain([loud]) {
            let (settings, mistakes) = read(&text);
            assert_eq!(settings, Settings::default(), "{text}");
            assert!(
                mistakes.len() == 1 && mistakes[0].starts_with(&format!("{name}: ")),
                "{text}: {mistakes:?}"
            );
        }
    }

    #[test]
    fn wherever_the_camera_is_it_can_be_saved() {
        let size = MapSize::new(20, 30).unwrap();
        let far = CameraPose {
            target: Vec2::new(-40.0, 31.0),
            distance: 1e6,
            yaw: -9.0,
            pitch: 0.1,
        };
        let view = SavedView::of(size, &far);
        let settings = Settings {
            view: Some(view),
            ..Settings::default()
        };
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(read(&text), (settings, Vec::new()));
    }

    #[test]
    fn of_a_file_with_mistakes_the_rest_is_used_and_it_is_kept_aside() {
        let folder = std::env::temp_dir().join(format!("trantor-settings-test-{}", std::process::id()));
        let path = folder.join("viewer.toml");
        std::fs::create_dir_all(&folder).unwrap();
        let load = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            Settings::load_from(path.clone())
        };
        let some = load(
            b"theme = \"light\"\nvolume_percent = \"loud\"\ncolour = 3\nwindow = [0, 9]\n[keys]\npause = [\"p\"]\nfly = [\"x\"]\n",
        );
        assert_eq!((some.theme, some.window), (Some(Theme::Light), None));
        assert_eq!(some.keys[&Action::Pause], ["p"]);
        let told = some.mistake().unwrap();
        for part in [
            "volume_percent: ",
            "colour: ",
            "no window is that large",
            "\"fly\"",
            "toml.old",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        some.save();
        let saved = Settings::load_from(path.clone());
        assert_eq!((saved.mistake(), saved.theme), (None, Some(Theme::Light)));
        let aside = std::fs::read_to_string(folder.join("viewer.toml.old")).unwrap();
        assert!(aside.contains("colour = 3"), "{aside}");
        for broken in [&b"theme = = 3"[..], b"\xff\xfe\x00", b"theme = {{{"] {
            let none = load(broken);
            assert!(none.mistake().is_some() && none.theme.is_none() && !none.is_first_start());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
