//! `trantor-server sim`: a whole game in one go, played by minds of our own, with a summary as JSON.
//!
//! No socket is opened and nobody waits: the game leaps from deadline to deadline ([`trantor_engine::leap`]).
//! Only the length of the run is read from a clock, and only to be printed.

mod cli;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use trantor_engine::leap::{Ended, Leap, Voice};
use trantor_runtime::RealClock;
use trantor_time::{Clock, GameSpan};

pub(crate) use self::cli::command;
use self::cli::{Asked, Game};
use crate::options::cli::PROGRAM;

/// The word that asks for it, in the place of the first option.
pub const WORD: &str = "sim";

/// How far a game is played between two looks at its progress: milliseconds, even with a thousand agents.
const STRIDE: GameSpan = GameSpan::from_units(50);

/// What became of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Simulated {
    /// Print this, a summary or a help text, and end with status 0.
    Print(String),
    /// Nothing was played, or not to its end: one line that says why.
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
    /// The highest level in each team at the end, 0 if nobody is left.
    levels: Vec<u8>,
    /// One number for the whole state after that, in hexadecimal: that of a server in lock-step with the same
    /// players.
    digest: String,
    wall_ms: f64,
    actions_per_second: f64,
}

/// Plays what `arguments` ask for: the program's name, `sim`, then options.
pub fn simulate(arguments: impl IntoIterator<Item = OsString>) -> Simulated {
    let asked = match cli::parse(arguments.into_iter().skip(1)) {
        Ok(Asked::Play(asked)) => asked,
        Ok(Asked::Print(text)) => return Simulated::Print(text),
        Err(error) => return Simulated::Refused(error.to_string()),
    };
    match play(&asked) {
        Ok(summary) => Simulated::Print(
            serde_json::to_string(&summary).expect("names and numbers can always be written"),
        ),
        Err(error) => {
            let file = asked.record.unwrap_or_default();
            Simulated::Refused(format!("{WORD}: cannot record in {}: {error}", file.display()))
        }
    }
}

/// # Errors
/// If the journal cannot be written.
fn play(asked: &Game) -> io::Result<Summary> {
    let mut journal = asked.record.as_ref().map(File::create).transpose()?;
    let clock = RealClock::new();
    let began = clock.now();
    let mut leap = Leap::new(asked.config.clone(), &asked.minds, Voice::Values);
    if let Some(most) = asked.team_size_max {
        leap.limit_agents(most);
    }
    if journal.is_some() {
        leap.start_recording(PROGRAM);
    }
    let progress = progress(asked);
    let ended = loop {
        let next = leap.game().now() + STRIDE;
        let ended = leap.run(Some(asked.until.map_or(next, |until| until.min(next))));
        if let Some(journal) = &mut journal {
            journal.write_all(&leap.take_journal())?;
        }
        progress.set_position(u64::try_from(leap.game().now().whole_units()).unwrap_or(u64::MAX));
        if ended != Ended::TimeReached || asked.until.is_some_and(|until| leap.game().now() >= until) {
            break ended;
        }
    };
    let wall = clock.now().since(began);
    progress.finish_and_clear();
    let living = leap.game().world().agents().len();
    let levels = levels(&leap);
    if let Ended::Won(_) = ended {
        leap.dismiss_agents();
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
        minds: asked.minds.iter().map(|kind| kind.name()).collect(),
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
        levels,
        digest: format!("{:016x}", game.digest()),
        wall_ms: wall.as_millis_f64(),
        actions_per_second: leap.actions() as f64 / (wall.as_millis_f64() / 1_000.0).max(1e-9),
    })
}

fn levels(leap: &Leap) -> Vec<u8> {
    let world = leap.game().world();
    let mut levels = vec![0; world.teams().len()];
    for agent in world.agents() {
        let highest = &mut levels[usize::from(agent.team().0)];
        *highest = agent.level().get().max(*highest);
    }
    levels
}

/// A line on standard error that says how far the game is, if a person looks at it.
fn progress(asked: &Game) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match asked.until {
        Some(until) => {
            let units = u64::try_from(until.whole_units()).unwrap_or(u64::MAX);
            (
                ProgressBar::new(units),
                "{bar:40} {human_pos} of {human_len} units, {eta} left at most",
            )
        }
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {human_pos} units, {per_sec} units/s",
        ),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("the template is well formed"))
}

#[cfg(test)]
mod tests {
    use trantor_game::{GameEvent, Replay};
    use trantor_time::GameTime;

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
        for measured in ["wall_ms", "actions_per_second"] {
            assert!(fields.remove(measured).unwrap().is_number());
        }
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
    fn mistakes_are_told_in_one_line_with_what_to_say_instead() {
        for (line, told) in [
            (
                "p sim --minds clever",
                "sim: --minds clever: must be one of trivial, random, team",
            ),
            (
                "p sim --until never",
                "sim: --until never: must be win, or a whole number of units from 1 to 100000000000",
            ),
            (
                "p sim --until -1",
                "sim: --until -1: must be win, or a whole number of units from 1 to 100000000000",
            ),
            (
                "p sim -x -1",
                "sim: --width -1: must be a whole number from 1 to 1000",
            ),
            (
                "p sim -x 0",
                "sim: --width 0: must be a whole number from 1 to 1000",
            ),
            (
                "p sim --seed",
                "sim: --seed without a value: it needs one; see trantor-server sim --help",
            ),
            (
                "p sim --mind team",
                "sim: --mind: unknown option; the nearest known one is --minds",
            ),
            (
                "p sim -n GRAPHIC b",
                "sim: --teams GRAPHIC: \"GRAPHIC\" cannot be a team's name: as a first line it means something else",
            ),
            (
                "p sim --lag 5",
                "sim: --lag: unknown option; see trantor-server sim --help",
            ),
            (
                "p sim red",
                "sim: 'red': is a stray word; an option starts with '-', see trantor-server sim --help",
            ),
            (
                "p sim --team-size-max 3",
                "sim: --team-size-max 3: 6 places for each team are all taken at the start",
            ),
            (
                "p sim --teams a --minds team team",
                "sim: --minds: 2 minds for 1 teams: name a mind for each team at most",
            ),
        ] {
            assert_eq!(call(line), Simulated::Refused(told.to_owned()), "{line}");
        }
        assert!(matches!(call("p sim --teams a a"), Simulated::Refused(_)));
        for line in ["p sim --help", "p sim help"] {
            assert!(
                matches!(call(line), Simulated::Print(text) if text.contains("Usage: trantor-server sim"))
            );
        }
    }

    /// How many agents are born in a journal.
    fn joins_in(journal: Vec<u8>) -> u64 {
        let mut replay = Replay::open(journal).unwrap();
        let mut joins = 0;
        while replay
            .step(GameTime::from_nanounits(i128::MAX))
            .unwrap()
            .is_some()
        {
            while let Some(event) = replay.poll_event() {
                joins += u64::from(matches!(event, GameEvent::Joined { .. }));
            }
        }
        joins
    }

    #[test]
    fn a_team_grows_as_far_as_it_may() {
        const CALL: &str = "p sim --seed 1 -c 2 --until 1500";
        let bounded = format!("{CALL} --team-size-max 2");
        assert_eq!(fields(&bounded)["joins"], 4);
        assert!(fields(CALL)["joins"].as_u64() > Some(4));
    }

    #[test]
    fn what_is_recorded_verifies_and_ends_in_the_same_state() {
        let file = std::env::temp_dir().join(format!("trantor-sim-{}.trj", std::process::id()));
        let line = format!("p sim --seed 3 -x 8 -y 8 --until 900 --record {}", file.display());
        let summary = fields(&line);
        let journal = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let verified = Replay::open(journal.clone()).unwrap().verify().unwrap();
        assert_eq!(summary["digest"], format!("{:016x}", verified.game.digest()));
        assert_eq!(summary["joins"], joins_in(journal), "the first ones too");
        assert_eq!(
            summary["digest"],
            fields(&line.replace(" --record", " --seed 3 --record"))["digest"]
        );
        std::fs::remove_file(&file).unwrap();
        let nowhere = "p sim --until 1 --record /dev/null/journal.trj";
        assert!(
            matches!(call(nowhere), Simulated::Refused(text) if text.starts_with("sim: cannot record in"))
        );
    }
}
