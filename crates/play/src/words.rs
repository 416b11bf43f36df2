//! Players as words: what `--mind` and the console's `mind add` take, and the groups that come of it; and the names of teams.

use std::path::{Path, PathBuf};

use crate::minds::{MindGroup, MindGroupState, MindKind, MindRate, MindSource};
use trantor_game::GameConfig;
use trantor_model::TeamId;
use trantor_model::names::{did_you_mean_or, nearest};
use trantor_time::GameSpan;

/// How one entry is written.
pub const USAGE: &str = "TEAM=KIND:COUNT[,every=UNITS][,think=UNITS]";

/// The kind that is not built in.
const SCRIPT: &str = "script:FILE";

/// Agents of one entry: as many as a team may have places.
const COUNT_MAX: u32 = 100_000;

/// Shortest and longest time between two decisions, in billionths of a unit: ten decisions a unit are more than any game
/// can tell apart, and a million units are longer than any game.
const EVERY_NANOUNITS: std::ops::RangeInclusive<i128> = 100_000_000..=1_000_000_000_000_000;

/// Longest thinking, in billionths of a unit: an agent that thinks for longer has starved.
const THINK_NANOUNITS_MAX: i128 = 10_000_000_000_000;

/// Makes the minds of the script in a file, or says why it cannot be used.
pub type LoadScript<'a> = dyn FnMut(&Path) -> Result<MindSource, String> + 'a;

/// Entries of `--mind`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MindSpecs(pub Vec<MindSpec>);

/// One entry of `--mind`: agents of a team with minds of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MindSpec {
    /// The name of the team.
    pub team: String,
    kind: Kind,
    count: u32,
    rate: MindRate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    BuiltIn(MindKind),
    Script(PathBuf),
}

/// Reads entries between spaces.
///
/// # Errors
/// What is accepted.
pub fn read_all(text: &str) -> Result<MindSpecs, String> {
    let specs = text.split_whitespace().map(read);
    let specs = MindSpecs(specs.collect::<Result<_, _>>()?);
    match specs.0.is_empty() {
        true => Err(format!("{USAGE}, as in red=team:6")),
        false => Ok(specs),
    }
}

/// Reads one entry.
///
/// # Errors
/// What is accepted.
pub fn read(text: &str) -> Result<MindSpec, String> {
    let usage = || format!("{USAGE}, as in red=team:6");
    let mut parts = text.split(',');
    let (team, what) = parts
        .next()
        .and_then(|first| first.split_once('='))
        .ok_or_else(usage)?;
    let (kind, count) = what.rsplit_once(':').ok_or_else(usage)?;
    let kind = match kind.split_once(':') {
        Some(("script", file)) if !file.is_empty() => Kind::Script(file.into()),
        _ => Kind::BuiltIn(MindKind::named(kind).ok_or_else(|| {
            let known = known_kinds(kind, Some(SCRIPT));
            format!("{USAGE} with one of the kinds {known}")
        })?),
    };
    let count = count.parse().ok().filter(|count| (1..=COUNT_MAX).contains(count));
    let count = count.ok_or_else(|| format!("{USAGE} with a count from 1 to {COUNT_MAX}"))?;
    let mut rate = MindRate::default();
    for part in parts {
        match part.split_once('=') {
            Some(("every", units)) => {
                let every =
                    GameSpan::read(units).filter(|every| EVERY_NANOUNITS.contains(&every.as_nanounits()));
                rate.every = Some(every.ok_or("every=UNITS with 0.1 to 1000000 units")?);
            }
            Some(("think", units)) => {
                let think = GameSpan::read(units).filter(|think| think.as_nanounits() <= THINK_NANOUNITS_MAX);
                rate.think = think.ok_or("think=UNITS with 0 to 10000 units")?;
            }
            _ => return Err(usage()),
        }
    }
    Ok(MindSpec {
        team: team.to_owned(),
        kind,
        count,
        rate,
    })
}

/// The built-in mind of that name.
///
/// # Errors
/// What is accepted.
pub fn built_in(name: &str) -> Result<MindKind, String> {
    MindKind::named(name).ok_or_else(|| format!("must be one of {}", known_kinds(name, None)))
}

/// All kinds, and the one that `unknown` is most like.
fn known_kinds(unknown: &str, script: Option<&'static str>) -> String {
    let known: Vec<_> = MindKind::ALL
        .map(MindKind::name)
        .into_iter()
        .chain(script)
        .collect();
    let word = |kind: &'static str| kind.split(':').next().unwrap_or(kind);
    let unknown = unknown.split(':').next().unwrap_or(unknown).to_ascii_lowercase();
    let meant = nearest(&unknown, known.iter().copied().map(word));
    let meant = meant.and_then(|meant| known.iter().find(|kind| word(kind) == meant));
    let hint = meant.map_or_else(String::new, |kind| format!("; did you mean {kind}?"));
    format!("{}{hint}", known.join(", "))
}

impl MindSpec {
    /// Agents that join at the beginning.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The file of a script.
    pub fn script(&self) -> Option<&Path> {
        match &self.kind {
            Kind::BuiltIn(_) => None,
            Kind::Script(file) => Some(file),
        }
    }

    /// The group of a game; `load` makes the minds of a script's file.
    ///
    /// # Errors
    /// The game has no such team, or the script cannot be used.
    pub fn group(&self, config: &GameConfig, load: &mut LoadScript<'_>) -> Result<MindGroup, String> {
        Ok(MindGroup {
            team: team_named(config, &self.team)?,
            source: match &self.kind {
                Kind::BuiltIn(kind) => MindSource::BuiltIn(*kind),
                Kind::Script(file) => load(file)?,
            },
            count: self.count,
            rate: self.rate,
        })
    }
}

impl MindSpecs {
    /// The groups of a game.
    ///
    /// # Errors
    /// As [`MindSpec::group`].
    pub fn groups(&self, config: &GameConfig, load: &mut LoadScript<'_>) -> Result<Vec<MindGroup>, String> {
        self.0.iter().map(|spec| spec.group(config, load)).collect()
    }
}

/// The team of that name.
///
/// # Errors
/// There is none: which there are, or the nearest name.
pub fn team_named(config: &GameConfig, name: &str) -> Result<TeamId, String> {
    let team = config.team_named(name.as_bytes());
    team.ok_or_else(|| unknown_team(name, &config.teams))
}

/// Says that there is no such team, and which there are or which is meant.
pub fn unknown_team(name: &str, teams: &[String]) -> String {
    let known = teams.iter().map(String::as_str);
    let all = format!("there are {}", teams.join(", "));
    format!("there is no team {name:?}{}", did_you_mean_or(name, known, &all))
}

/// A group as it is asked for: `red=team:6,every=20`.
pub fn shown(config: &GameConfig, group: &MindGroupState) -> String {
    let team = &config.teams[usize::from(group.team.0)];
    let mut text = format!("{team}={}:{}", group.source.name(), group.count);
    if let Some(every) = group.rate.every {
        text += &format!(",every={}", every.as_units_f64());
    }
    if group.rate.think > GameSpan::ZERO {
        text += &format!(",think={}", group.rate.think.as_units_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_mistakes_say_what_is_accepted() {
        let specs = read_all("red=team:6 blue=script:minds/a.luau:2,every=2.5,think=3").unwrap();
        let [red, blue] = &specs.0[..] else {
            panic!("two entries: {specs:?}");
        };
        assert_eq!(
            (red.team.as_str(), red.count, red.rate),
            ("red", 6, MindRate::default())
        );
        assert_eq!(blue.kind, Kind::Script("minds/a.luau".into()));
        assert_eq!(blue.rate.every, Some(GameSpan::from_nanounits(2_500_000_000)));
        assert_eq!(blue.rate.think, GameSpan::from_units(3));
        for mistake in [
            "",
            "red",
            "red=team",
            "red=genius:1",
            "red=script:1",
            "red=team:x:1",
            "red=team:0",
            "red=team:1,often",
            "red=team:1,every=0",
            "red=team:1,every=-1",
            "red=team:1,think=10001",
        ] {
            let accepted = read_all(mistake).unwrap_err();
            assert!(accepted.contains("=UNITS"), "{mistake}: {accepted}");
        }
        for kind in MindKind::ALL {
            let (name, first) = (kind.name(), &kind.name()[1..]);
            assert_eq!(read(&format!("red={name}:1")).unwrap().kind, Kind::BuiltIn(kind));
            let hint = format!("; did you mean {name}?");
            for near in [first, &name.to_uppercase(), &format!("{name}s")] {
                let why = read(&format!("red={near}:1")).unwrap_err();
                assert!(why.ends_with(&hint), "{near}: {why}");
                let why = built_in(near).unwrap_err();
                assert!(why.ends_with(&hint), "{near}: {why}");
            }
        }
        for near in ["script", "scrpt:a.luau", "Script:a.luau"] {
            let why = read(&format!("red={near}:1")).unwrap_err();
            assert!(why.ends_with("; did you mean script:FILE?"), "{near}: {why}");
        }
        assert!(!read("red=genius:1").unwrap_err().contains("mean"));
    }
}
