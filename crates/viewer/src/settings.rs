//! Settings that are kept from one start to the next: `viewer.toml` in the user's folder for settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use glam::Vec2;
use trantor_model::MapSize;

use crate::input::Action;
use trantor_render::gpu::Quality;
use trantor_render::picture::CameraPose;
use trantor_render::picture::palette::Theme;

/// Sizes of panels: smaller cannot be read, larger leaves no room for the game.
pub const PANEL_SCALE: std::ops::RangeInclusive<f32> = 0.5..=3.0;

/// Settings; what is missing is as at a first start.
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
    /// Render quality; what the graphics adapter affords if it is missing.
    pub quality: Option<Quality>,
    /// Size of panels, as a multiple of what the display asks for.
    pub scale: Option<f32>,
    /// The volume, in percent.
    pub volume_percent: Option<u8>,
    /// Whether the sound is off.
    #[serde(rename = "muted")]
    pub is_muted: bool,
    /// The camera over a map, once the user moved it.
    pub view: Option<SavedView>,
    /// Actions with other keys than the default ones.
    pub keys: BTreeMap<Action, Vec<String>>,
    #[serde(skip)]
    pub(crate) path: Option<PathBuf>,
    #[serde(skip)]
    pub(crate) mistake: Option<String>,
    /// Whether there was no file.
    #[serde(skip)]
    pub(crate) is_first_start: bool,
}

/// The camera over a map, for maps of the same size.
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
    /// A pose, or the nearest one within the camera's limits.
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

    /// Whether map and camera are within their limits: the file may have been edited.
    fn is_possible(&self) -> bool {
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
    /// Reads the file. Of a file with mistakes the rest is used, and a copy is kept, since the file will be overwritten.
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

    /// What is wrong with the file, for the user.
    pub fn mistake(&self) -> Option<&str> {
        self.mistake.as_deref()
    }

    /// The first value that no command and no hand could have set.
    fn out_of_limits(&self) -> Option<String> {
        let (least, most) = (PANEL_SCALE.start(), PANEL_SCALE.end());
        let is_side = |side| WINDOW_SIDES.contains(&side);
        let is_window = |(width, height)| is_side(width) && is_side(height);
        if self.window.is_some_and(|window| !is_window(window)) {
            return Some("no window is that large".to_owned());
        }
        if let Some(scale) = self.scale.filter(|scale| !PANEL_SCALE.contains(scale)) {
            return Some(format!("a scale is a number from {least} to {most}, not {scale}"));
        }
        if let Some(percent) = self.volume_percent.filter(|&percent| percent > 100) {
            return Some(format!("a volume is a number from 0 to 100, not {percent}"));
        }
        let is_impossible = self.view.is_some_and(|view| !view.is_possible());
        is_impossible.then(|| "no camera can be there".to_owned())
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

/// Sides of a window that can be remembered, in pixels.
const WINDOW_SIDES: std::ops::RangeInclusive<u32> = 16..=8_192;

/// The settings of a file, and what is wrong with those that are left out.
fn read(text: &str) -> (Settings, Vec<String>) {
    let mut table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return (Settings::default(), vec![error.message().to_owned()]),
    };
    let mut mistakes = Vec::new();
    // Each setting and each key alone, so that a mistake costs no other.
    let mut is_good = |name: &str, alone: toml::Table| {
        let mistake = match alone.try_into::<Settings>() {
            Ok(settings) => settings.out_of_limits(),
            // The rest of the message is a long list.
            Err(error) => error.message().split(", expected").next().map(str::to_owned),
        };
        mistakes.extend(mistake.as_ref().map(|mistake| format!("{name}: {mistake}")));
        mistake.is_none()
    };
    let alone = |name: &str, value: &toml::Value| toml::Table::from_iter([(name.to_owned(), value.clone())]);
    if let Some(toml::Value::Table(keys)) = table.get_mut("keys") {
        keys.retain(|action, list| {
            let keys = alone("keys", &alone(action, list).into());
            is_good(&format!("keys: {action}"), keys)
        });
    }
    table.retain(|name, value| is_good(name, alone(name, value)));
    (table.try_into().unwrap_or_default(), mistakes)
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

    const VIEW: &str =
        "[view]\nmap = [20, 30]\ntarget = [3.5, 4.0]\ndistance = 12.0\nyaw = 0.5\npitch = 0.75\n";

    #[test]
    fn what_is_written_is_read_again_wherever_the_camera_is() {
        let size = MapSize::new(20, 30).unwrap();
        let far = CameraPose {
            target: Vec2::new(-40.0, 31.0),
            distance: 1e6,
            yaw: -9.0,
            pitch: 0.1,
        };
        let settings = Settings {
            theme: Some(Theme::Light),
            window: Some((800, 600)),
            place: Some((-5, 40)),
            full_screen: true,
            quality: Some(Quality::Fine),
            scale: Some(1.5),
            volume_percent: Some(30),
            is_muted: true,
            view: Some(SavedView::of(size, &far)),
            keys: BTreeMap::from([(Action::FullScreen, vec!["g".to_owned()])]),
            ..Settings::default()
        };
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(read(&text), (settings.clone(), Vec::new()));
        assert_eq!(read(""), (Settings::default(), Vec::new()));
        let view = settings.view.unwrap();
        assert!(view.is_of(size) && !view.is_of(MapSize::new(20, 20).unwrap()));
    }

    #[test]
    fn values_out_of_their_limits_are_mistakes() {
        assert!(read(VIEW).0.view.is_some());
        for (from, to) in [
            ("distance = 12.0", "distance = 1e30"),
            ("distance = 12.0", "distance = nan"),
            ("pitch = 0.75", "pitch = 3"),
            ("yaw = 0.5", "yaw = nan"),
            ("target = [3.5, 4.0]", "target = [3.5, 1e9]"),
            ("map = [20, 30]", "map = [0, 30]"),
            (VIEW, "scale = nan"),
            (VIEW, "scale = 1e9"),
            (VIEW, "volume_percent = 101"),
            (VIEW, "window = [0, 9]"),
        ] {
            let (settings, mistakes) = read(&VIEW.replace(from, to));
            assert_eq!((settings, mistakes.len()), (Settings::default(), 1), "{to}");
        }
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
            b"theme = \"light\"\nvolume_percent = \"loud\"\ncolour = 3\n[keys]\npause = [\"p\"]\nfly = [\"x\"]\n",
        );
        assert_eq!(some.theme, Some(Theme::Light));
        assert_eq!(some.keys[&Action::Pause], ["p"]);
        let mistake = some.mistake().unwrap();
        for part in ["volume_percent: ", "colour: ", "keys: fly: ", "toml.old"] {
            assert!(mistake.contains(part), "{part}: {mistake}");
        }
        some.save();
        let saved = Settings::load_from(path.clone());
        assert_eq!((saved.mistake(), saved.theme), (None, Some(Theme::Light)));
        let aside = std::fs::read_to_string(folder.join("viewer.toml.old")).unwrap();
        assert!(aside.contains("colour = 3"), "{aside}");
        for broken in [&b"theme = = 3"[..], b"\xff\xfe\x00"] {
            let none = load(broken);
            assert!(none.mistake().is_some() && none.theme.is_none() && !none.is_first_start);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
