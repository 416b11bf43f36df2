//! Files for the pictures and films that the user takes: in the pictures folder, named after match and moment.

use std::io;
use std::path::{Path, PathBuf};

use trantor_client::Scene;

use crate::film;

/// Teams in a name; a folder of files with longer ones cannot be read.
const TEAMS_MAX: usize = 4;
/// Characters of a team in a name: file systems end at 255 bytes.
const TEAM_CHARS_MAX: usize = 12;
/// Files of one match and moment: more come from a key that is held.
const SAME_MAX: u32 = 1_000;

/// The absolute path of a file that does not exist yet. Its folder does.
///
/// # Errors
/// If the folder cannot be made, or has too many files of this moment.
pub fn new_file(scene: &Scene, ending: &str) -> io::Result<PathBuf> {
    Ok(new_file_in(&folder()?, scene, &[ending])?.with_extension(ending))
}

/// A new file for a film, without its ending.
///
/// # Errors
/// As of [`new_file`].
pub fn new_film(scene: &Scene) -> io::Result<PathBuf> {
    new_file_in(&folder()?, scene, &film::ENDINGS)
}

fn folder() -> io::Result<PathBuf> {
    let folder = match (dirs::picture_dir(), dirs::home_dir()) {
        (Some(pictures), _) => pictures.join("Trantor"),
        (None, Some(home)) => home.join("Pictures").join("Trantor"),
        (None, None) => std::env::current_dir()?,
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
    Ok(folder)
}

/// A path without an ending, where no file has one of these.
fn new_file_in(folder: &Path, scene: &Scene, endings: &[&str]) -> io::Result<PathBuf> {
    let name = name(scene);
    let names = (1..=SAME_MAX).map(|number| match number {
        1 => name.clone(),
        _ => format!("{name}-{number}"),
    });
    let mut files = names.map(|name| folder.join(name));
    let is_free = |file: &PathBuf| endings.iter().all(|ending| !file.with_extension(ending).exists());
    files.find(is_free).ok_or_else(|| {
        let text = format!("{} has too many files of {name}", folder.display());
        io::Error::new(io::ErrorKind::AlreadyExists, text)
    })
}

/// The teams, and the unit that is shown: `red-vs-blue-u3590`.
fn name(scene: &Scene) -> String {
    let letter = |letter: char| if letter.is_alphanumeric() { letter } else { '_' };
    let shown = scene.teams.iter().take(TEAMS_MAX);
    let mut teams: Vec<String> = shown
        .map(|team| team.name.chars().take(TEAM_CHARS_MAX).map(letter).collect())
        .collect();
    let more = scene.teams.len().saturating_sub(TEAMS_MAX);
    teams.extend((more > 0).then(|| format!("{more}-more")));
    let teams = if teams.is_empty() {
        "trantor".to_owned()
    } else {
        teams.join("-vs-")
    };
    format!("{teams}-u{}", scene.clock.game.whole_units())
}

#[cfg(test)]
mod tests {
    use trantor_client::SceneTeam;
    use trantor_time::GameTime;

    use super::*;

    #[test]
    fn a_file_is_named_after_match_and_moment_and_replaces_none() {
        let mut scene = Scene::default();
        assert_eq!(name(&scene), "trantor-u0");
        for team in ["red", "../é", "c", "d", "e", "f"] {
            scene.teams.push(SceneTeam {
                name: team.into(),
                ..SceneTeam::default()
            });
        }
        assert_eq!(name(&scene), "red-vs-___é-vs-c-vs-d-vs-2-more-u0");
        scene.teams.truncate(1);
        scene.clock.game = GameTime::from_units(3_590);
        let folder = std::env::temp_dir().join(format!("trantor-pictures-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (expected, ending) in [
            ("red-u3590", "gif"),
            ("red-u3590-2", "webm"),
            ("red-u3590-3", "png"),
        ] {
            let file = new_file_in(&folder, &scene, &["png", "gif", "webm"]).unwrap();
            assert_eq!(file, folder.join(expected));
            std::fs::write(file.with_extension(ending), "").unwrap();
        }
        assert_eq!(
            new_file_in(&folder, &scene, &["txt"]).unwrap(),
            folder.join("red-u3590")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
