//! The words after `trantor-server sim`.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use trantor_engine::minds::MindKind;
use trantor_game::{GameConfig, Rules};
use trantor_model::MapSize;
use trantor_protocol::check_team_name;
use trantor_time::GameTime;

use super::WORD;
use crate::options::OptionError;
use crate::options::cli::{PROGRAM, first_line};

/// The flag that bounds how teams grow, as `trantor-bot` has it.
const TEAM_SIZE_MAX: &str = "team-size-max";

/// Longest simulation, in units: more than a hundred days at the highest speed, and far from any overflow.
const UNITS_MAX: u64 = 100_000_000_000;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// To play a game.
    Play(Box<Game>),
    /// To print this: a help text.
    Print(String),
}

/// A game to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// What it is made from.
    pub config: GameConfig,
    /// How each team thinks; the last also for the teams behind it.
    pub minds: Vec<MindKind>,
    /// How many agents minds have a team grow to; `None`: as many as they want.
    pub team_size_max: Option<usize>,
    /// When to stop if nobody has won; `None`: when nothing is due any more.
    pub until: Option<GameTime>,
    /// Where to keep its journal.
    pub record: Option<PathBuf>,
}

/// Reads `words`, of which the first is `sim`.
///
/// # Errors
/// One line about the first mistake, with what to say instead.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Asked, OptionError> {
    let words = words.into_iter().enumerate().map(|(place, word)| {
        // As for the server itself.
        let asks_for_help = place == 1 && (word == "help" || word == "-help");
        if asks_for_help { "--help".into() } else { word }
    });
    match command().try_get_matches_from(words) {
        Ok(matches) => game(&matches).map(|game| Asked::Play(Box::new(game))),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Asked::Print(error.to_string())),
        Err(error) => Err(explain(&error)),
    }
}

fn game(matches: &ArgMatches) -> Result<Game, OptionError> {
    let number = |name| *matches.get_one::<u64>(name).expect("it has a default");
    let side = |name| u32::try_from(number(name)).expect("the parser keeps to the range");
    let all = |name| matches.get_many::<String>(name).expect("it has a default");
    let minds: Vec<MindKind> = matches
        .get_many("minds")
        .expect("it has a default")
        .copied()
        .collect();
    let config = GameConfig {
        size: MapSize::new(side("width"), side("height")).expect("the parser keeps to the range"),
        teams: all("teams").cloned().collect(),
        places_per_team: side("clients"),
        seed: number("seed"),
        rules: Rules {
            lock_step: true,
            ..Rules::default()
        },
    };
    let team_size_max = matches.get_one::<u64>(TEAM_SIZE_MAX).copied();
    if minds.len() > config.teams.len() {
        return Err(OptionError::new(
            format!("{WORD}: --minds"),
            format!(
                "{} minds for {} teams: name a mind for each team at most",
                minds.len(),
                config.teams.len()
            ),
        ));
    }
    if let Some(most) = team_size_max
        && most < u64::from(config.places_per_team)
    {
        return Err(OptionError::new(
            format!("{WORD}: --{TEAM_SIZE_MAX} {most}"),
            format!(
                "{} places for each team are all taken at the start",
                config.places_per_team
            ),
        ));
    }
    if let Err(error) = config.check() {
        return Err(OptionError::new(WORD, error.to_string()));
    }
    Ok(Game {
        config,
        minds,
        team_size_max: team_size_max.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
        until: matches.get_one::<Until>("until").expect("it has a default").0,
        record: matches.get_one("record").cloned(),
    })
}

/// A value of `--until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Until(Option<GameTime>);

fn parse_until(written: &str) -> Result<Until, String> {
    if written == "win" {
        return Ok(Until(None));
    }
    written
        .parse()
        .ok()
        .filter(|units| (1..=UNITS_MAX).contains(units))
        .and_then(|units| i64::try_from(units).ok())
        .map(|units| Until(Some(GameTime::from_units(units))))
        .ok_or_else(|| format!("must be win, or a whole number of units from 1 to {UNITS_MAX}"))
}

/// The command as clap knows it.
pub(crate) fn command() -> Command {
    let number = |name: &'static str, from: u64, to: u64| {
        Arg::new(name)
            .long(name)
            .value_name("NUMBER")
            .overrides_with(name)
            .allow_negative_numbers(true)
            .value_parser(move |word: &str| {
                let number = word.parse().ok().filter(|number| (from..=to).contains(number));
                number.ok_or_else(|| format!("must be a whole number from {from} to {to}"))
            })
    };
    let whole = |name, default: &'static str, from, to| number(name, from, to).default_value(default);
    let words = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .num_args(1..)
            .action(ArgAction::Set)
            .overrides_with(name)
    };
    Command::new(WORD)
        .bin_name(format!("{PROGRAM} {WORD}"))
        .about("Plays a whole game without connections and without waiting, and prints a summary as JSON.")
        .arg(whole("seed", "1", 0, u64::MAX).help("What all chance is drawn from"))
        .arg(
            whole("width", "20", 1, 1_000)
                .short('x')
                .visible_alias("x")
                .help("Columns of the map"),
        )
        .arg(
            whole("height", "20", 1, 1_000)
                .short('y')
                .visible_alias("y")
                .help("Rows of the map"),
        )
        .arg(
            whole("clients", "6", 1, 100_000)
                .short('c')
                .help("Places each team starts with; all are taken"),
        )
        .arg(
            number(TEAM_SIZE_MAX, 1, 100_000).help(
                "Agents that a mind has its team grow to at most [default: twice the places, at least 9]",
            ),
        )
        .arg(
            words("teams")
                .short('n')
                .value_name("NAME")
                .default_values(["red", "blue"])
                .value_parser(|name: &str| check_team_name(name).map(|()| name.to_owned()))
                .help("Team names"),
        )
        .arg(
            words("minds")
                .value_name("MIND")
                .default_values(["team"])
                .value_parser(|word: &str| {
                    let names = MindKind::ALL.map(MindKind::name).join(", ");
                    word.parse::<MindKind>()
                        .map_err(|_| format!("must be one of {names}"))
                })
                .help(
                    "Who plays each team: trivial, random or team; the last also plays the teams behind it",
                ),
        )
        .arg(
            Arg::new("until")
                .long("until")
                .value_name("UNITS|win")
                .default_value("win")
                .overrides_with("until")
                .allow_negative_numbers(true)
                .value_parser(parse_until)
                .help("Stop at this game time if nobody has won"),
        )
        .arg(
            Arg::new("record")
                .long("record")
                .value_name("FILE")
                .overrides_with("record")
                .value_parser(value_parser!(PathBuf))
                .help("Keep a journal of the game, for trantor-server replay"),
        )
        .after_help(
            "The same seed, map, teams and minds give the same digest, at any time and on any machine: options of the server in \
             the environment (TRANTOR_SERVER_SEED=7) or in a file are not heeded.",
        )
}

/// Says in one line what clap says in several.
fn explain(error: &clap::Error) -> OptionError {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    // clap names a flag with its placeholder, "--seed <NUMBER>"; the flag is the first word.
    let shown = context(ContextKind::InvalidArg);
    let flag = shown.split(' ').next().unwrap_or_default();
    let see = format!("see {PROGRAM} {WORD} --help");
    match error.kind() {
        ErrorKind::UnknownArgument if !flag.starts_with('-') => OptionError::new(
            format!("{WORD}: '{shown}'"),
            format!("is a stray word; an option starts with '-', {see}"),
        ),
        ErrorKind::UnknownArgument => {
            let hint = match error.get(ContextKind::SuggestedArg) {
                Some(nearest) => format!("unknown option; the nearest known one is {nearest}"),
                None => format!("unknown option; {see}"),
            };
            OptionError::new(format!("{WORD}: {flag}"), hint)
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            let value = context(ContextKind::InvalidValue);
            OptionError::new(format!("{WORD}: {flag} {value}"), why)
        }
        ErrorKind::InvalidValue => OptionError::new(
            format!("{WORD}: {flag} without a value"),
            format!("it needs one; {see}"),
        ),
        _ => OptionError::new(WORD, format!("{}; {see}", first_line(error))),
    }
}
