//! Names of teams that people write.

use trantor_game::GameConfig;
use trantor_model::TeamId;
use trantor_model::names::did_you_mean_or;

pub(crate) fn team_named(config: &GameConfig, name: &str) -> Result<TeamId, String> {
    let team = config.team_named(name.as_bytes());
    team.ok_or_else(|| unknown_team(name, &config.teams))
}

pub(crate) fn unknown_team(name: &str, teams: &[String]) -> String {
    let known = teams.iter().map(String::as_str);
    let all = format!("there are {}", teams.join(", "));
    format!("there is no team {name:?}{}", did_you_mean_or(name, known, &all))
}
