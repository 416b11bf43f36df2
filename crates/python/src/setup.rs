//! What Python asks for, read and checked.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trantor_game::{GameConfig, Rules};
use trantor_model::{MapSize, lag};
use trantor_play::words::{self, MindSpecs};
use trantor_protocol::check_team_name;
use trantor_time::{GameSpan, GameTime, RealSpan};

use crate::arena::{Rewards, SeatTeam, Setup};
use crate::scene::DRAW;

/// Seats of one game: enough for any training, and a bound for what a mistake may ask.
pub(crate) const SEATS_MAX: usize = 4_096;
/// Longest step and longest game, in units.
pub(crate) const UNITS_MAX: u32 = 10_000_000;

/// What Python passes: a dictionary, which `trantor/_setup.py` and `trantor/matches.py` fill.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Fields {
    map: (u32, u32),
    /// By team: its name, agents at the start, seats, whether they are raw.
    teams: Vec<(String, u32, usize, bool)>,
    /// The order of the teams; those that are not in it follow.
    order: Vec<String>,
    opponents: Vec<String>,
    every: u32,
    max_units: u32,
    lag: String,
    rewards: Vec<(String, f32)>,
    ends_together: bool,
    /// Of the scripts of a team; none: for ever.
    think_seconds: Option<f64>,
}

/// Checks the name of a team: as the server does, and a match without a winner must not seem to be won by it.
///
/// Raises:
///     ValueError: why it cannot be one.
#[pyfunction]
pub(crate) fn check_team(name: &str) -> PyResult<()> {
    team_name(name).map_err(PyValueError::new_err)
}

fn team_name(name: &str) -> Result<(), String> {
    check_team_name(name).map_err(|error| error.to_string())?;
    match name == DRAW {
        true => Err(format!(
            "{DRAW:?} cannot be a team's name: so a match without a winner ends"
        )),
        false => Ok(()),
    }
}

/// Reads a setup.
///
/// # Errors
/// `ValueError`: what is wrong, and what is accepted.
pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<Setup> {
    let fields: Fields = given.extract()?;
    checked(fields).map_err(PyValueError::new_err)
}

fn checked(fields: Fields) -> Result<Setup, String> {
    let (width, height) = fields.map;
    let size = MapSize::new(width, height).map_err(|error| format!("map: {error}"))?;
    let specs = fields.opponents.iter().map(|spec| words::read(spec));
    let specs = specs.collect::<Result<Vec<_>, _>>();
    let opponents = MindSpecs(specs.map_err(|accepted| format!("opponents: {accepted}"))?);
    let mut names = fields.order;
    let seated = fields.teams.iter().map(|team| &team.0);
    for name in seated.chain(opponents.0.iter().map(|spec| &spec.team)) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let counts = opponents.0.iter().map(words::MindSpec::count);
    let places = fields.teams.iter().map(|team| team.1).chain(counts).max();
    let lag = lag::read_change(&fields.lag).map_err(|error| format!("lag: {error}"))?;
    if !lag.teams.is_empty() {
        return Err("lag: the settings of all teams; one team cannot have its own here".to_owned());
    }
    let config = GameConfig {
        size,
        teams: names,
        places_per_team: places.unwrap_or(0),
        seed: 0,
        rules: Rules {
            lock_step: true,
            lag: lag.all.flatten(),
            ..Rules::default()
        },
    };
    if config.teams.is_empty() {
        return Err("no players: agents={'red': 6}, or players such as 'blue=team:6'".to_owned());
    }
    for name in &config.teams {
        team_name(name)?;
    }
    let mut all_seats = 0_usize;
    for (name, agents, seats, _) in &fields.teams {
        all_seats = all_seats.saturating_add(*seats);
        if *agents == 0 || *seats < *agents as usize || all_seats > SEATS_MAX {
            let most = format!("most_agents from so many up; together at most {SEATS_MAX}");
            return Err(format!("agents of {name}: at least 1, and {most}"));
        }
    }
    config.check().map_err(|error| error.to_string())?;
    let teams = fields.teams.iter().map(|(name, agents, seats, is_raw)| SeatTeam {
        team: config.team_named(name.as_bytes()).expect("it was named above"),
        agents: *agents,
        seats: *seats,
        is_raw: *is_raw,
    });
    let teams = teams.collect();
    let range = |name: &str, value: u32| match (1..=UNITS_MAX).contains(&value) {
        true => Ok(i64::from(value)),
        false => Err(format!("{name} must be 1 to {UNITS_MAX} units, not {value}")),
    };
    Ok(Setup {
        opponents,
        teams,
        every: GameSpan::from_units(range("every", fields.every)?),
        until: GameTime::from_units(range("max_units", fields.max_units)?),
        rewards: rewards(&fields.rewards)?,
        ends_together: fields.ends_together,
        think_max: fields.think_seconds.map(think_max).transpose()?,
        config,
    })
}

fn think_max(seconds: f64) -> Result<RealSpan, String> {
    let span = Duration::try_from_secs_f64(seconds).map(RealSpan::from_std);
    span.map_err(|error| format!("think_seconds: {error}"))
}

fn rewards(given: &[(String, f32)]) -> Result<Rewards, String> {
    const NAMES: [&str; 7] = ["win", "lose", "level", "death", "unit", "food", "stone"];
    let mut worths = [0.0; NAMES.len()];
    for (name, worth) in given {
        let place = NAMES.iter().position(|known| known == name);
        let place = place.ok_or_else(|| format!("rewards: {name:?} is not one of {}", NAMES.join(", ")))?;
        if !worth.is_finite() {
            return Err(format!("rewards: {name} must be a finite number, not {worth}"));
        }
        worths[place] = *worth;
    }
    let [win, lose, level, death, unit, food, stone] = worths;
    Ok(Rewards {
        win,
        lose,
        level,
        death,
        unit,
        food,
        stone,
    })
}
