//! The command line of `trantor-load`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser as Count;
use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, Parser};
use trantor_time::{Frequency, RealSpan};

use super::{Mix, Speed};
use crate::cli::{DialectName, in_one_line, team_name};
use crate::manual::{self, Manual};

const EXIT_STATUS: &str = "Exit status: 0 if something was measured, 1 if there is no server or no place, or nothing was answered,\n\
    2 if all agents were lost before the measurement ended, as by a server that is gone (the figures are printed),\n\
    84 for a mistake in the options.";

/// Load generator for Zappy servers: agents with commands always in flight, and viewers; reports the lateness of answers.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "trantor-load", version, disable_help_flag = true, after_help = EXIT_STATUS)]
pub struct Options {
    /// The server's port
    #[arg(short, long, default_value_t = 4242)]
    pub port: u16,

    /// The server's name or address
    #[arg(short = 'h', long, default_value = "localhost")]
    pub host: String,

    /// Names of the teams; agents join them in turn
    #[arg(short, long, value_name = "TEAM", num_args = 1.., default_values = ["red", "blue"], value_parser = team_name)]
    pub names: Vec<String>,

    /// Agents in all
    #[arg(short, long, value_name = "N", default_value_t = 12, value_parser = Count::<usize>::new().range(1..=100_000))]
    pub agents: usize,

    /// Viewers that speak Zappy text
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = Count::<usize>::new().range(0..=10_000))]
    pub text_viewers: usize,

    /// Viewers that speak Trantor's frames
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = Count::<usize>::new().range(0..=10_000))]
    pub frame_viewers: usize,

    /// Commands in flight of each agent
    #[arg(short = 'k', long, value_name = "N", default_value_t = 2, value_parser = Count::<usize>::new().range(1..=10))]
    pub in_flight: usize,

    /// Commands with weights; agents that do not walk and take starve after 1260 units
    #[arg(
        short,
        long,
        value_name = "MIX",
        default_value = "forward=4,take=4,right=1,look=1"
    )]
    pub mix: Mix,

    /// Set the game's speed, in units a second [default: query it]
    #[arg(short, long, value_name = "UNITS", value_parser = speed, conflicts_with = "assume")]
    pub frequency: Option<Frequency>,

    /// Assume this speed, and open no viewer to query it
    #[arg(long, value_name = "UNITS", value_parser = speed)]
    pub assume: Option<Frequency>,

    /// Seconds of measurement
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub duration: RealSpan,

    /// Seconds of warm-up
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub warm_up: RealSpan,

    /// Time limit for joining, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub join_patience: RealSpan,

    /// Start all agents at one instant instead of spread over the time of a step
    #[arg(long)]
    pub in_step: bool,

    /// Dialect of the server
    #[arg(long, value_enum, default_value_t = DialectName::Epitech)]
    pub dialect: DialectName,

    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Write the report as JSON to this file; "-" prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print the manual page or shell completions
    #[arg(long, value_name = "WHAT", value_enum, exclusive = true)]
    pub generate: Option<Manual>,

    /// Print this help
    #[arg(long, action = ArgAction::HelpShort)]
    pub help: Option<bool>,
}

/// The parsed command line.
#[derive(Debug)]
pub enum Asked {
    /// Run the load with these options.
    Load(Box<Options>),
    /// Print this and end with status 0.
    Print(String),
}

/// Reads a command line, the program's name first.
///
/// # Errors
/// One line about the mistake.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(text) = manual::asked(Options::command(), &arguments) {
        return Ok(Asked::Print(text));
    }
    match Options::try_parse_from(arguments) {
        Ok(options) => Ok(Asked::Load(Box::new(options))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Asked::Print(error.to_string())),
            _ => Err(in_one_line(&error)),
        },
    }
}

impl Options {
    /// Source of the game's speed.
    pub fn speed(&self) -> Speed {
        match (self.frequency, self.assume) {
            (Some(speed), _) => Speed::Set(speed),
            (None, Some(speed)) => Speed::Assumed(speed),
            (None, None) => Speed::Asked,
        }
    }
}

fn speed(text: &str) -> Result<Frequency, String> {
    let hertz: u64 = text
        .parse()
        .map_err(|_| "a speed is a whole number of units a second".to_owned())?;
    Frequency::new(hertz).map_err(|error| error.to_string())
}

/// The longest phase of a load: a day.
pub const SECONDS_MAX: u32 = 86_400;

fn seconds(text: &str) -> Result<RealSpan, String> {
    let seconds = text
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..=f64::from(SECONDS_MAX)).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("a time is 0 to {SECONDS_MAX} seconds"))?;
    Ok(RealSpan::from_nanos((seconds * 1e9) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_become_a_load() {
        let line = "load -n a b c -a 90 -k 10 -f 1000 -m look=1 -d 2.5 --in-step";
        let Ok(Asked::Load(given)) = asked(line) else {
            panic!("{line}");
        };
        assert_eq!((given.agents, given.names.len(), given.in_flight), (90, 3, 10));
        assert_eq!(given.speed(), Speed::Set(Frequency::new(1_000).unwrap()));
        assert_eq!(given.duration, RealSpan::from_millis(2_500));
        assert!(given.in_step);
    }

    #[test]
    fn every_mistake_is_one_line() {
        for (line, part) in [
            ("load -a 0", "1..=100000"),
            ("load -k 11", "1..=10"),
            ("load -f 0", "-f"),
            ("load -m walk=1", "walk"),
            ("load -d x", "86400"),
            ("load -f 1 --assume 1", "--assume"),
        ] {
            let error = asked(line).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{line}: {error}");
        }
    }
}
