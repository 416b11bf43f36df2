//! Settings that are kept from one start to the next: `viewer.toml` in the user's folder for settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use glam::Vec2;
use trantor_model::MapSize;
use trantor_runtime::files::read_regular;

use crate::input::Action;
use trantor_render::gpu::Quality;
use trantor_render::picture::CameraPose;
use trantor_render::picture::palette::Theme;

/// Sizes of panels: smaller cannot be read, larger leaves no room for the game.
pub const PANEL_SCALE: std::ops::RangeInclusive<f32> = 0.5..=3.0;

/// Largest file read, in bytes: one with a key for every action has a few thousand.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Settings; what is missing is as at a first start.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub theme: Option<Theme>,
    /// Width and height of the window, in pixels.
    pub window: Option<(u32, u32)>,
    /// Where the window was on the screen, in pixels.
    pub place: Option<(i32, i32)>,
    pub full_screen: bool,
    /// Render quality; what the graphics adapter affords if it is missing.
    pub quality: Option<Quality>,
    /// Size of panels, as a multiple of what the display asks for.
    pub scale: Option<f32>,
    /// Whether the director may take the camera where no hand is seen; as `F7` left it.
    pub director: Option<bool>,
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
pub struct SavedView {
    map: (u16, u16),
    #[serde(flatten)]
    pub pose: CameraPose,
}

impl SavedView {
    pub fn new(size: MapSize, pose: CameraPose) -> Self {
        let map = (size.width(), size.height());
        Self { map, pose }
    }

    /// The pose within the camera's limits, if it is over a map of this size.
    pub fn pose_over(&self, size: MapSize) -> Option<CameraPose> {
        let sides = Vec2::new(f32::from(size.width()), f32::from(size.height()));
        (self.map == (size.width(), size.height())).then(|| self.pose.within(sides))
    }
}

impl Settings {
    /// Reads the file. Of a file with mistakes the rest is used, and a copy is kept, since the file will be overwritten.
    pub fn load() -> Self {
        path().map_or_else(Self::default, Self::load_from)
    }

    fn load_from(path: PathBuf) -> Self {
        let text = match read_regular(&path, FILE_BYTES_MAX) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                let is_first_start = error.kind() == std::io::ErrorKind::NotFound;
                let mistake = format!("{} cannot be read: {error}", path.display());
                return Self {
                    path: is_first_start.then_some(path),
                    mistake: (!is_first_start).then_some(mistake),
                    is_first_start,
                    ..Self::default()
                };
            }
        };
        let (mut settings, mistakes) = read(&text);
        if !mistakes.is_empty() {
            let aside = path.with_extension("toml.old");
            let kept = match std::fs::copy(&path, &aside) {
                Ok(_) => format!("as it was: {}", aside.display()),
                Err(error) => format!("it cannot be kept: {error}"),
            };
            settings.mistake = Some(format!("{}: {} ({kept})", path.display(), mistakes.join("; ")));
        }
        settings.path = Some(path);
        settings
    }

    /// The chosen theme, or the usual one.
    pub fn shown_theme(&self) -> Theme {
        self.theme.unwrap_or_default()
    }

    /// What a value must be that is not within its limits.
    fn out_of_limits(&self) -> Option<String> {
        let is_side = |side: u32| SIDES.contains(&side);
        if self
            .window
            .is_some_and(|(width, height)| !is_side(width) || !is_side(height))
        {
            Some(format!(
                "a side takes {} to {} pixels",
                SIDES.start(),
                SIDES.end()
            ))
        } else if self.scale.is_some_and(|scale| !PANEL_SCALE.contains(&scale)) {
            Some(format!("takes {} to {}", PANEL_SCALE.start(), PANEL_SCALE.end()))
        } else {
            let is_finite = self.view.is_none_or(|view| view.pose.is_finite());
            (!is_finite).then(|| "takes finite numbers".to_owned())
        }
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

/// Settings and actions of sound, which earlier viewers had and stored.
const REMOVED_SETTINGS: [&str; 2] = ["volume_percent", "muted"];
const REMOVED_ACTIONS: [&str; 3] = ["mute", "softer", "louder"];

/// The settings of a file, and what is wrong with those that are left out.
fn read(text: &str) -> (Settings, Vec<String>) {
    let mut table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return (Settings::default(), vec![error.message().to_owned()]),
    };
    for name in REMOVED_SETTINGS {
        table.remove(name);
    }
    let mut mistakes = Vec::new();
    let only = |name: &str, value| toml::Table::from_iter([(name.to_owned(), value)]);
    let mut is_good = |name: &str, alone: toml::Table| {
        let mistake = match alone.try_into::<Settings>() {
            Ok(settings) => settings.out_of_limits(),
            // The rest of the message is a long list.
            Err(error) => error.message().split(", expected").next().map(str::to_owned),
        };
        mistakes.extend(mistake.iter().map(|what| format!("{name}: {what}")));
        mistake.is_none()
    };
    // Each setting alone, and each binding, so that a mistake costs no other.
    if let Some(toml::Value::Table(keys)) = table.get_mut("keys") {
        for action in REMOVED_ACTIONS {
            keys.remove(action);
        }
        keys.retain(|action, bound| {
            let binding = toml::Value::Table(only(action, bound.clone()));
            is_good(&format!("keys: {action}"), only("keys", binding))
        });
    }
    table.retain(|name, value| is_good(name, only(name, value.clone())));
    let settings = table.try_into().unwrap_or_default();
    (settings, mistakes)
}

/// Sides of a window that can be remembered, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 16..=8_192;

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

    const WHOLE: &str = "theme = \"light\"\nwindow = [800, 600]\nplace = [-5, 40]\nfull_screen = true\n\
        quality = \"fine\"\nscale = 1.5\ndirector = false\n\n\
        [view]\nmap = [20, 30]\ntarget = [3.5, 4.0]\ndistance = 12.0\nyaw = 0.5\npitch = 0.75\n\n\
        [keys]\nfull-screen = [\"g\"]\n";

    #[test]
    fn what_is_written_is_read_again_and_values_out_of_limits_are_mistakes() {
        let (settings, mistakes) = read(WHOLE);
        assert_eq!(
            (toml::to_string(&settings).unwrap(), mistakes.len()),
            (WHOLE.to_owned(), 0)
        );
        let (view, size) = (settings.view.unwrap(), MapSize::new(20, 30).unwrap());
        assert_eq!(view.pose_over(MapSize::new(20, 20).unwrap()), None);
        assert_eq!(view.pose_over(size).unwrap().target, Vec2::new(3.5, 4.0));
        for (from, to) in [
            ("[800, 600]", "[0, 9]"),
            ("scale = 1.5", "scale = nan"),
            ("yaw = 0.5", "yaw = nan"),
        ] {
            let (settings, mistakes) = read(&WHOLE.replace(from, to));
            let text = toml::to_string(&settings).unwrap();
            assert!(text.len() < WHOLE.len() && !text.contains(to), "{text}");
            assert!(
                mistakes.len() == 1 && mistakes[0].contains("takes"),
                "{mistakes:?}"
            );
        }
        let far = read(&WHOLE.replace("3.5", "1e9")).0.view.unwrap();
        assert!(far.pose_over(size).unwrap().target.x < 20.0);
    }

    #[test]
    fn settings_of_sound_in_an_earlier_file_are_read_without_a_mistake() {
        let earlier =
            "theme = \"light\"\nvolume_percent = 30\nmuted = true\n[keys]\nmute = [\"v\"]\npause = [\"p\"]\n";
        let (settings, mistakes) = read(earlier);
        assert_eq!((settings.theme, mistakes), (Some(Theme::Light), Vec::new()));
        assert_eq!(
            settings.keys,
            BTreeMap::from([(Action::Pause, vec!["p".to_owned()])])
        );
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
            b"theme = \"light\"\nscale = \"large\"\ncolour = 3\n\
            [keys]\nfly = [\"x\"]\nquit = 3\npause = [\"p\"]\n",
        );
        let mistake = some.mistake.as_deref().unwrap();
        for part in ["scale: ", "colour: ", "keys: fly: ", "keys: quit: ", "toml.old"] {
            assert!(mistake.contains(part), "{part}: {mistake}");
        }
        assert_eq!(some.keys, BTreeMap::from([(Action::Pause, vec!["p".to_owned()])]));
        some.save();
        let saved = Settings::load_from(path.clone());
        assert_eq!((saved.mistake, saved.theme), (None, Some(Theme::Light)));
        let aside = std::fs::read_to_string(folder.join("viewer.toml.old")).unwrap();
        assert!(aside.contains("colour = 3"), "{aside}");
        for broken in [&b"theme = = 3"[..], b"\xff\xfe\x00"] {
            let none = load(broken);
            assert!(none.mistake.is_some() && none.theme.is_none() && !none.is_first_start);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
