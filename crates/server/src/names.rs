//! Names that people write: teams, and what they may have meant by a misspelt word.

use trantor_game::GameConfig;
use trantor_model::TeamId;

pub(crate) fn team_named(config: &GameConfig, name: &str) -> Result<TeamId, String> {
    let team = config.team_named(name.as_bytes());
    team.ok_or_else(|| unknown_team(name, &config.teams))
}

pub(crate) fn unknown_team(name: &str, teams: &[String]) -> String {
    format!("there is no team {name:?}; there are {}", teams.join(", "))
}

/// The name most like `unknown`, if any is similar; of equals the first in the alphabet.
pub fn nearest<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // As many edits at least as one has more letters than the other: a line of kilobytes is not compared.
    let letters = unknown.chars().count();
    let may_be_near = |name: &&str| {
        let edits_min = letters.abs_diff(name.chars().count());
        edits_min * 2 <= name.len().max(unknown.len())
    };
    names
        .into_iter()
        .filter(may_be_near)
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        // More than half of it wrong is no slip of the finger, and to suggest something would mislead.
        .filter(|(edits, name)| *edits * 2 <= name.len().max(unknown.len()))
        .min()
        .map(|(_, name)| name)
}
