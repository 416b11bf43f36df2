//! `trantor-server sim`: a whole game in one go, played by minds of our own, with a summary as JSON.
//!
//! No socket is opened and nothing waits: the game leaps from deadline to deadline ([`trantor_play::leap`]).
//! Only the length of the run is read from a clock, and only to be printed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{ArgAction, Command, CommandFactory as _, FromArgMatches as _, Parser};
use serde::Serialize;
use trantor_cli::help;
use trantor_cli::values::whole;
use trantor_game::GameConfig;
use trantor_game::journal::MAGIC;
use trantor_model::lag::LagChange;
use trantor_model::{Control, Level, MatchTotals, TeamId, TeamTotals};
use trantor_play::leap::{Ended, Leap};
use trantor_play::minds::{MindGroup, MindKind};
use trantor_play::words;
use trantor_runtime::files::check_overwrite;
use trantor_runtime::{RealClock, standard_error};
use trantor_time::{Clock, GameSpan, GameTime};

use crate::console::operate::{lag_actions, scenario_line};
use crate::options::{GameOptions, OptionError, PROGRAM, explain, settings};
use crate::replay::progress_bar;
use crate::scripts::Scripts;
use crate::twins::{self, Difference};

/// The word that asks for it, in the place of the first option.
pub const WORD: &str = "sim";

/// Longest simulation, in units: more than a hundred days at the highest speed, and far from any overflow.
const UNITS_MAX: u64 = 100_000_000_000;

#[derive(Clone, Debug, PartialEq, Parser)]
#[command(
    name = WORD,
    bin_name = "trantor-server sim",
    about = "Plays a whole game without connections and without waiting, and prints a summary as JSON.",
    after_help = "The same seed, map, teams and minds give the same digest, at any time and on any machine: options of \
                  the server in the environment (TRANTOR_SERVER_SEED=7) or in a file are not heeded.",
    args_override_self = true,
    allow_negative_numbers = true
)]
pub(crate) struct SimCommand {
    #[command(flatten)]
    game: GameOptions,
    /// Agents that a mind has its team grow to at most [default: twice the places, at least 24]
    #[arg(long, value_name = "NUMBER", value_parser = whole::<usize>(1, 100_000))]
    team_size_max: Option<usize>,
    /// Who plays each team, from weak to strong: trivial, random, solo, duo, quartet, sextet or team; the last also plays
    /// the teams behind it; not together with --mind
    #[arg(long, value_name = "MIND", num_args = 1.., action = ArgAction::Set)]
    #[arg(default_value = "team", conflicts_with = "mind", value_parser = words::built_in)]
    minds: Vec<MindKind>,
    /// Stop at this game time if no team has won
    #[arg(long, value_name = "UNITS|win", default_value = "win", value_parser = until)]
    until: Until,
    /// Keep a journal of the game, for trantor-server replay
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Run each script twice, in two VMs, and fail with status 1 where they do not decide the same
    #[arg(long)]
    check_scripts: bool,
}

/// A value of `--until`; `None`: until nothing is due any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Until(Option<GameTime>);

fn until(word: &str) -> Result<Until, String> {
    if word == "win" {
        return Ok(Until(None));
    }
    let units = word.parse().ok().filter(|units| (1..=UNITS_MAX).contains(units));
    let units = units.and_then(|units| i64::try_from(units).ok());
    let at = units.map(|units| Until(Some(GameTime::from_units(units))));
    at.ok_or_else(|| format!("must be win, or a whole number of units from 1 to {UNITS_MAX}"))
}

/// How far a game is played between two updates of the progress bar: milliseconds, even with a thousand agents.
const STRIDE: GameSpan = GameSpan::from_units(50);

#[derive(Debug, Serialize)]
struct Summary {
    seed: u64,
    width: u32,
    height: u32,
    teams: Vec<String>,
    minds: Vec<String>,
    winner: Option<String>,
    /// Why it ended: `won`, `time`, or `nothing_due` if no agent was left.
    ended: &'static str,
    units: i64,
    deadlines: u64,
    actions: u64,
    joins: u64,
    /// Agents alive at the end; after a win they are removed.
    living: usize,
    /// The highest level in each team at the end, 0 if none is left.
    levels: Vec<u8>,
    /// Of each team: agents that died, and the part of their time in which its agents were free and had no command.
    deaths: Vec<u32>,
    idle: Vec<Option<f64>>,
    /// The team that was first to have an agent of each level from 2 on, and when.
    first_to: BTreeMap<u8, First>,
    /// Why the best of the other teams did not win.
    why: Option<String>,
    /// One number for the whole state after that, in hexadecimal: that of a server in lock-step with the same
    /// players.
    digest: String,
    wall_ms: f64,
    actions_per_second: f64,
}

#[derive(Debug, Serialize)]
struct First {
    team: String,
    units: i64,
}

/// The scripts of a game, and the same once more where they are checked.
#[derive(Default)]
struct Cast {
    scripts: Scripts,
    twins: Option<(Scripts, Difference)>,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// What was asked for cannot be played.
    #[error(transparent)]
    Refused(#[from] OptionError),
    /// A script that is checked did not decide the same twice.
    #[error("{WORD}: {0}")]
    Different(String),
}

/// The options of a simulation. Those that it shares with the server have the same defaults, but for the seed.
pub fn command() -> Command {
    settings::with_defaults(SimCommand::command())
        .mut_arg("seed", |arg| arg.default_value("1"))
        .mut_arg("width", |arg| arg.visible_alias("x"))
        .mut_arg("height", |arg| arg.visible_alias("y"))
}

/// Plays what `arguments` ask for, of which the first is `sim`. Answers the summary, or a help text.
pub fn simulate(arguments: impl IntoIterator<Item = OsString>) -> Result<String, SimError> {
    let words = arguments.into_iter().enumerate().map(|(place, word)| {
        // As for the server itself.
        let asks_for_help = place == 1 && (word == "help" || word == "-help");
        if asks_for_help { "--help".into() } else { word }
    });
    let command = help::with_ranges(command());
    let matches = command.clone().try_get_matches_from(words);
    let asked = match matches.and_then(|matches| SimCommand::from_arg_matches(&matches)) {
        Ok(asked) => asked,
        Err(error) if trantor_cli::is_request(&error) => return Ok(error.to_string()),
        Err(error) => return Err(explain(&error, &command, Some(WORD)).into()),
    };
    let mut cast = Cast {
        twins: asked.check_scripts.then(Default::default),
        ..Cast::default()
    };
    let leap = asked.leap(&mut cast)?;
    let summary = play(&asked, leap, &mut cast).map_err(|error| {
        let file = asked.record.clone().unwrap_or_default();
        OptionError::new(
            format!("{WORD}: cannot record in {}", file.display()),
            error.to_string(),
        )
    })?;
    if let Some(found) = cast.twins.and_then(|(_, difference)| difference.found()) {
        return Err(SimError::Different(found));
    }
    Ok(serde_json::to_string(&summary).expect("names and numbers can always be written"))
}

impl SimCommand {
    fn leap(&self, cast: &mut Cast) -> Result<Leap, OptionError> {
        let refused = |option: &'static str| move |why| OptionError::new(format!("{WORD}: {option}"), why);
        let lag = self.game.lag().map_err(|error| error.within(WORD))?;
        let mut config = self.game.config(self.game.seed.expect("it has a default"), &lag);
        config.rules.lock_step = true;
        let (minds, teams) = (self.minds.len(), config.teams.len());
        if minds > teams {
            let why = format!("{minds} minds for {teams} teams: name a mind for each team at most");
            return Err(OptionError::new(format!("{WORD}: --minds"), why));
        }
        if let Some(most) = self
            .team_size_max
            .filter(|most| *most < config.places_per_team as usize)
        {
            let why = format!(
                "{} places for each team are all taken at the start",
                config.places_per_team
            );
            return Err(OptionError::new(format!("{WORD}: --team-size-max {most}"), why));
        }
        config
            .check()
            .map_err(|error| OptionError::new(WORD, error.to_string()))?;
        let actions = lag_actions(&config, &LagChange { all: None, ..lag }).map_err(refused("--lag"))?;
        let scenario = |scripts: &mut Scripts| {
            let scenario = self.game.scenario.as_ref();
            let scenario = scenario.map(|file| scripts.scenario(file, config.seed));
            scenario.transpose().map_err(refused("--scenario"))
        };
        let groups = |scripts: &mut Scripts| -> Result<Vec<MindGroup>, String> {
            self.game
                .minds()
                .map(|mind| mind.group(&config, &mut |file| scripts.minds(file)))
                .collect()
        };
        let mut scenario_of_all = scenario(&mut cast.scripts)?;
        let mut groups_of_all = groups(&mut cast.scripts);
        if let Some((scripts, difference)) = &mut cast.twins {
            scenario_of_all = (scenario_of_all.zip(scenario(scripts)?))
                .map(|(one, other)| twins::pair_scenarios(one, other, difference));
            groups_of_all = groups_of_all.and_then(|ones| {
                let pairs = ones.into_iter().zip(groups(scripts)?);
                let pair = |(one, other): (MindGroup, MindGroup)| MindGroup {
                    source: twins::pair(one.source, other.source, difference),
                    ..one
                };
                Ok(pairs.map(pair).collect())
            });
            if scripts.is_empty() && groups_of_all.is_ok() {
                return Err(OptionError::new(
                    format!("{WORD}: --check-scripts"),
                    "no script plays",
                ));
            }
        }
        let (scenario, groups) = (scenario_of_all, groups_of_all);
        let mut leap = match groups.map_err(refused("--mind"))? {
            groups if groups.is_empty() => Leap::new(config, &self.minds),
            groups => Leap::with_groups(config, groups),
        };
        if let Some(scenario) = scenario {
            leap.direct(scenario, scenario_line);
        }
        if let Some(most) = self.team_size_max {
            leap.limit_agents(most);
        }
        if self.record.is_some() {
            leap.start_recording(PROGRAM);
        }
        for action in actions {
            let done = leap.control(Control::Act(action));
            debug_assert_eq!(done, Ok(()), "it was checked with the options");
        }
        Ok(leap)
    }
}

fn play(asked: &SimCommand, mut leap: Leap, cast: &mut Cast) -> io::Result<Summary> {
    let create =
        |path: &PathBuf| check_overwrite(path, "a recording", &[&MAGIC]).and_then(|()| File::create(path));
    let mut journal = asked.record.as_ref().map(create).transpose()?;
    let clock = RealClock::new();
    let began = clock.now();
    let units = |at: GameTime| u64::try_from(at.whole_units()).unwrap_or(u64::MAX);
    let progress = match asked.until.0.map(units) {
        None => progress_bar(None, "{spinner} {human_pos} units, {per_sec} units/s"),
        most => progress_bar(
            most,
            "{bar:40} {human_pos} of {human_len} units, {eta} left at most",
        ),
    };
    let ended = loop {
        let next = leap.game().now() + STRIDE;
        let ended = leap.run(Some(asked.until.0.map_or(next, |until| until.min(next))));
        if let Some(journal) = &mut journal {
            journal.write_all(&leap.take_journal())?;
        }
        let reports = cast.scripts.reports(false);
        if let Some((scripts, difference)) = &mut cast.twins {
            difference.compare(&reports, &scripts.reports(false), || {
                "what was reported".to_owned()
            });
        }
        for report in reports {
            standard_error::say(format_args!("{WORD}: {}", report.text));
        }
        progress.set_position(units(leap.game().now()));
        let is_different = |(_, difference): &(Scripts, Difference)| difference.found().is_some();
        if cast.twins.as_ref().is_some_and(is_different) {
            break ended;
        }
        if ended != Ended::TimeReached || asked.until.0.is_some_and(|until| leap.game().now() >= until) {
            break ended;
        }
    };
    let wall = clock.now().since(began);
    progress.finish_and_clear();
    let living = leap.game().world().agents().len();
    let levels = leap.highest_levels();
    let totals = leap.game().totals();
    if let Ended::Won(_) = ended {
        leap.remove_agents();
    }
    if let Some(journal) = &mut journal {
        journal.write_all(&leap.stop_recording())?;
    }
    let game = leap.game();
    let config = game.config();
    Ok(Summary {
        seed: config.seed,
        width: u32::from(config.size.width()),
        height: u32::from(config.size.height()),
        teams: config.teams.clone(),
        minds: minds_of(asked, &leap),
        winner: game
            .winner()
            .filter(|team| *team != TeamId::DRAW)
            .map(|team| config.team_name(team).to_owned()),
        ended: match ended {
            Ended::Won(TeamId::DRAW) => "draw",
            Ended::Won(_) => "won",
            Ended::TimeReached => "time",
            Ended::NothingDue => "nothing_due",
        },
        units: i64::try_from(game.now().whole_units()).unwrap_or(i64::MAX),
        deadlines: game.steps(),
        actions: leap.actions(),
        joins: leap.joins(),
        living,
        levels,
        deaths: totals.teams.iter().map(|team| team.died).collect(),
        idle: totals.teams.iter().map(TeamTotals::idle_share).collect(),
        first_to: first_to(&totals, config),
        why: totals.why_text(game.winner(), |team| config.team_name(team).to_owned()),
        digest: format!("{:016x}", game.digest()),
        wall_ms: wall.as_millis_f64(),
        actions_per_second: leap.actions() as f64 / (wall.as_millis_f64() / 1_000.0).max(1e-9),
    })
}

fn first_to(totals: &MatchTotals, config: &GameConfig) -> BTreeMap<u8, First> {
    let levels = (2..=Level::LAST.get()).filter_map(|level| Level::new(level).ok());
    let first = levels.filter_map(|level| Some((level.get(), totals.first_to(level)?)));
    let named = first.map(|(level, (team, at))| {
        let first = First {
            team: config.team_name(team).to_owned(),
            units: i64::try_from(at.whole_units()).unwrap_or(i64::MAX),
        };
        (level, first)
    });
    named.collect()
}

/// Kinds by team, or groups as they were asked for with what they did.
fn minds_of(asked: &SimCommand, leap: &Leap) -> Vec<String> {
    match asked.game.mind.is_empty() {
        true => asked.minds.iter().map(|kind| kind.name().to_owned()).collect(),
        false => leap
            .mind_groups()
            .map(|group| words::shown(leap.game().config(), group))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use trantor_game::Replay;

    use super::*;
    use crate::replay::export_bytes;

    fn call(line: &str) -> Result<String, String> {
        simulate(line.split(' ').map(OsString::from)).map_err(|error| error.to_string())
    }

    /// The fields of a summary, but not how long it took.
    fn fields(line: &str) -> serde_json::Map<String, serde_json::Value> {
        let mut fields: serde_json::Map<_, _> = serde_json::from_str(&call(line).unwrap()).unwrap();
        for measured in ["wall_ms", "actions_per_second"] {
            assert!(fields.remove(measured).unwrap().is_number());
        }
        fields
    }

    #[test]
    fn the_same_call_gives_the_same_summary() {
        const CALL: &str =
            "sim --seed 7 --teams red blue --minds team random --until 300 --x 8 --y 9 --clients 2";
        let first = fields(CALL);
        assert_eq!(first, fields(CALL));
        assert_eq!(first["units"], 300);
        assert_eq!(first["ended"], "time");
        assert_eq!((&first["width"], &first["height"]), (&8.into(), &9.into()));
        for other in [CALL.replace("7", "8"), format!("{CALL} --egg-hatch 600")] {
            assert_ne!(first["digest"], fields(&other)["digest"], "{other}");
        }
    }

    /// Whoever plays the journal of a match again counts what the match counted.
    #[test]
    fn a_recording_of_a_match_has_its_totals() {
        let file = std::env::temp_dir().join(format!("trantor-totals-{}.trj", std::process::id()));
        let line = "sim --seed 3 -x 12 -y 12 --teams red blue horde --minds team trivial random --until 2000";
        let summary = fields(&format!("{line} --record {}", file.display()));
        let played = Replay::open(std::fs::read(&file).unwrap())
            .unwrap()
            .verify()
            .unwrap();
        std::fs::remove_file(&file).unwrap();
        let (totals, config) = (played.game.totals(), played.game.config());
        let deaths: Vec<u32> = totals.teams.iter().map(|team| team.died).collect();
        assert_eq!(summary["deaths"], serde_json::json!(deaths));
        assert!(deaths.iter().sum::<u32>() > 0);
        let idle: Vec<_> = totals.teams.iter().map(TeamTotals::idle_share).collect();
        assert_eq!(summary["idle"], serde_json::json!(idle));
        assert_eq!(summary["first_to"], serde_json::json!(first_to(&totals, config)));
        assert!(summary["first_to"]["2"]["team"].is_string());
        let name = |team| config.team_name(team).to_owned();
        assert_eq!(summary["why"], serde_json::json!(totals.why_text(None, name)));
    }

    #[test]
    fn lag_off_is_the_game_without() {
        const CALL: &str = "sim --seed 2 -x 8 -y 8 --until 900";
        let without = fields(CALL);
        let with = |lag: &str| fields(&format!("{CALL} --lag {lag}"));
        assert_eq!(with("off"), without);
        assert_eq!(with("off red:same"), without);
        for lag in ["radio", "off red:latency=9", "radio red:off"] {
            assert_ne!(with(lag)["digest"], without["digest"], "{lag}");
        }
    }

    /// Whatever is delivered plays the same in two VMs; what is no script cannot be checked.
    #[cfg(feature = "script")]
    #[test]
    fn delivered_scripts_decide_the_same_in_two_vms() {
        let files = |folder: &str| {
            let files = std::fs::read_dir(format!("../../assets/{folder}")).unwrap();
            let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
            files.retain(|file| {
                file.extension().is_some_and(|end| end == "luau") && !file.ends_with("trantor.d.luau")
            });
            files.sort();
            files
        };
        let (minds, scenarios) = (files("minds"), files("scenarios"));
        assert!(minds.len() >= 6 && scenarios.len() >= 3);
        for (number, mind) in minds.iter().enumerate() {
            let (mind, other) = (mind.display(), minds[(number + 1) % minds.len()].display());
            let scenario = scenarios[number % scenarios.len()].display();
            let line = format!(
                "sim --seed {number} --until 1500 --check-scripts --mind red=script:{mind}:6 --mind blue=script:{other}:6 \
                 --scenario {scenario}"
            );
            let checked = fields(&line);
            assert_eq!(checked, fields(&line.replace(" --check-scripts", "")), "{mind}");
        }
        assert!(
            call("sim --check-scripts --mind red=team:1")
                .unwrap_err()
                .contains("no script plays")
        );
    }

    #[cfg(feature = "script")]
    #[test]
    fn the_scenarios_play_to_their_end_and_are_recorded_as_an_operator_is() {
        let file = std::env::temp_dir().join(format!("trantor-scenario-{}.trj", std::process::id()));
        for (scenario, recorded) in [
            ("famine", r#""action":"close_team""#),
            ("king_of_the_hill", r#""action":"end_match_with""#),
            ("tutorial", r#""event":"frequency""#),
        ] {
            let script = format!("../../assets/scenarios/{scenario}.luau");
            let line = format!(
                "sim --seed 2 --until 20000 --record {} --scenario {script}",
                file.display()
            );
            let summary = fields(&line);
            assert!(
                ["won", "draw"].contains(&summary["ended"].as_str().unwrap()),
                "{summary:?}"
            );
            let journal = std::fs::read(&file).unwrap();
            let mut events = Vec::new();
            export_bytes(journal.clone(), &mut events).unwrap();
            let events = String::from_utf8(events).unwrap();
            assert!(events.contains(recorded), "{scenario}: no {recorded}");
            let verified = Replay::open(journal).unwrap().verify().unwrap();
            assert_eq!(summary["digest"], format!("{:016x}", verified.game.digest()));
        }
        std::fs::remove_file(&file).unwrap();
    }
}
