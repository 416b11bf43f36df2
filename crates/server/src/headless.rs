//! `trantor-server sim`: a whole game in one go, played by minds of our own, with a summary as JSON.
//!
//! No socket is opened and nobody waits: the game leaps from deadline to deadline ([`trantor_engine::leap`]).
//! Only the length of the run is read from a clock, and only to be printed.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, value_parser};
use serde::Serialize;
use trantor_engine::leap::{Ended, Leap, Voice};
use trantor_engine::minds::MindKind;
use trantor_game::{GameConfig, Rules};
use trantor_model::MapSize;
use trantor_runtime::RealClock;
use trantor_time::{Clock, GameTime};

use crate::options::cli::{self, PROGRAM};

/// The word that asks for it, in the place of the first option.
pub const WORD: &str = "sim";

/// Longest simulation, in units: more than a hundred days at the highest speed, and far from any overflow.
const UNITS_MAX: u64 = 100_000_000_000;

/// What became of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Simulated {
    /// Print this, a summary or a help text, and end with status 0.
    Print(String),
    /// Nothing was played: one line that says why.
    Refused(String),
}

/// What is told of a game.
#[derive(Debug, Serialize)]
struct Summary {
    seed: u64,
    width: u32,
    height: u32,
    teams: Vec<String>,
    minds: Vec<&'static str>,
    /// The team that won, if one did.
    winner: Option<String>,
    /// Why it ended: `won`, `time`, or `nothing_due` if nobody was left to do anything.
    ended: &'static str,
    /// Whole units of game time.
    units: i64,
    deadlines: u64,
    actions: u64,
    joins: u64,
    /// Agents alive at the end; if a team has won, they are let go after it.
    living: usize,
    /// One number for the whole state after that, in hexadecimal: that of a server in lock-step with the same
    /// players.
    digest: String,
    wall_ms: f64,
}

/// Plays what `arguments` ask for: the program's name, `sim`, then options.
pub fn simulate(arguments: impl IntoIterator<Item = OsString>) -> Simulated {
    let matches = match command().try_get_matches_from(arguments.into_iter().skip(1)) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => return Simulated::Print(error.to_string()),
        Err(error) => {
            return Simulated::Refused(format!(
                "{WORD}: {}; see {PROGRAM} {WORD} --help",
                cli::first_line(&error)
            ));
        }
    };
    let number = |name| *matches.get_one::<u64>(name).expect("it has a default");
    let teams: Vec<String> = matches
        .get_many::<String>("teams")
        .expect("it has a default")
        .cloned()
        .collect();
    let kinds: Vec<MindKind> = matches
        .get_many::<MindKind>("minds")
        .expect("it has a default")
        .copied()
        .collect();
    if kinds.len() > teams.len() {
        return Simulated::Refused(format!("{} minds for {} teams", kinds.len(), teams.len()));
    }
    let side = |name| u32::try_from(number(name)).expect("the parser keeps to the range");
    let config = GameConfig {
        size: MapSize::new(side("width"), side("height")).expect("the parser keeps to the range"),
        teams,
        places_per_team: side("clients"),
        seed: number("seed"),
        rules: Rules {
            lock_step: true,
            ..Rules::default()
        },
    };
    if let Err(error) = config.check() {
        return Simulated::Refused(error.to_string());
    }
    let until = *matches.get_one::<Until>("until").expect("it has a default");
    let summary = play(config, &kinds, until);
    Simulated::Print(serde_json::to_string(&summary).expect("names and numbers can always be written"))
}

fn play(config: GameConfig, kinds: &[MindKind], until: Until) -> Summary {
    let clock = RealClock::new();
    let began = clock.now();
    let mut leap = Leap::new(config, kinds, Voice::Values);
    let ended = leap.run(until.0);
    let wall = clock.now().since(began);
    let living = leap.game().world().agents().len();
    if let Ended::Won(_) = ended {
        leap.dismiss_agents();
    }
    let game = leap.game();
    let config = game.config();
    Summary {
        seed: config.seed,
        width: u32::from(config.size.width()),
        height: u32::from(config.size.height()),
        teams: config.teams.clone(),
        minds: kinds.iter().map(|kind| kind.name()).collect(),
        winner: game
            .winner()
            .map(|team| config.teams[usize::from(team.0)].clone()),
        ended: match ended {
            Ended::Won(_) => "won",
            Ended::TimeReached => "time",
            Ended::NothingDue => "nothing_due",
        },
        units: i64::try_from(game.now().whole_units()).unwrap_or(i64::MAX),
        deadlines: game.steps(),
        actions: leap.actions(),
        joins: leap.joins(),
        living,
        digest: format!("{:016x}", game.digest()),
        wall_ms: wall.as_millis_f64(),
    }
}

/// When to stop if nobody has won; `None`: when nothing is due any more.
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
        .ok_or_else(|| format!("it must be win, or a whole number of units from 1 to {UNITS_MAX}"))
}

/// The command as clap knows it.
pub(crate) fn command() -> Command {
    let whole = |name: &'static str, default: &'static str, from: u64, to: u64| {
        Arg::new(name)
            .long(name)
            .value_name("NUMBER")
            .default_value(default)
            .overrides_with(name)
            .value_parser(value_parser!(u64).range(from..=to))
    };
    let words = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .num_args(1..)
            .action(ArgAction::Set)
            .overrides_with(name)
    };
    Command::new("trantor-server sim")
        .bin_name("trantor-server sim")
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
            words("teams")
                .short('n')
                .value_name("NAME")
                .default_values(["red", "blue"])
                .help("Team names"),
        )
        .arg(
            words("minds")
                .value_name("MIND")
                .default_values(["team"])
                .value_parser(|word: &str| word.parse::<MindKind>())
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
                .value_parser(parse_until)
                .help("Stop at this game time if nobody has won"),
        )
        .after_help(
            "The same seed, map, teams and minds give the same digest, at any time and on any machine.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Simulated {
        simulate(line.split(' ').map(OsString::from))
    }

    /// The fields of a summary, but not how long it took.
    fn fields(line: &str) -> serde_json::Map<String, serde_json::Value> {
        let Simulated::Print(text) = call(line) else {
            panic!("{line} is refused");
        };
        let mut fields: serde_json::Map<_, _> = serde_json::from_str(&text).unwrap();
        assert!(fields.remove("wall_ms").unwrap().is_number());
        fields
    }

    #[test]
    fn the_same_call_gives_the_same_summary() {
        const CALL: &str =
            "p sim --seed 7 --teams red blue --minds team random --until 300 --x 8 --y 9 --clients 2";
        let first = fields(CALL);
        assert_eq!(first, fields(CALL));
        assert_eq!(first["units"], 300);
        assert_eq!(first["ended"], "time");
        assert_eq!((&first["width"], &first["height"]), (&8.into(), &9.into()));
        assert_ne!(first["digest"], fields(&CALL.replace("7", "8"))["digest"]);
    }

    #[test]
    fn a_game_without_anybody_left_ends() {
        let fields = fields("p sim --minds trivial -x 5 -y 5 -c 1");
        assert_eq!(fields["ended"], "nothing_due");
        assert_eq!(fields["living"], 0);
        assert_eq!(fields["winner"], serde_json::Value::Null);
    }

    #[test]
    fn mistakes_are_told_in_one_line() {
        for line in [
            "p sim --minds clever",
            "p sim --until never",
            "p sim --until 0",
            "p sim --x 0",
            "p sim --teams a a",
            "p sim --teams a --minds team team",
            "p sim --frequency 5",
        ] {
            match call(line) {
                Simulated::Refused(text) => {
                    assert!(!text.is_empty() && !text.contains('\n'), "{line}: {text}")
                }
                Simulated::Print(text) => panic!("{line} prints {text}"),
            }
        }
    }
}
