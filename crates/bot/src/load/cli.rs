//! The command line of `trantor-load`, and the mix of commands that it names.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::{ArgAction, Parser};
use rand_core::Rng;
use trantor_cli::values::{decimal, whole};
use trantor_model::names::did_you_mean_or;
use trantor_model::{Command, Resource, Turn};
use trantor_protocol::text::Dialect;
use trantor_time::{Frequency, RealSpan};

use crate::cli::{dialect, team_name};

/// The usage of `trantor-load`.
pub const USAGE: &str = "[-p PORT] [-h HOST] [-n TEAM...] [-a AGENTS] [-f UNITS] [-d SECONDS] [OPTIONS]";

const EXIT_STATUS: &str = "Exit status: 0 if something was measured, 1 if there is no server or no place, or nothing was answered,\n\
    2 if all agents were lost before the measurement ended, as by a server that is gone (the figures are printed),\n\
    3 if a figure does not meet a --require option (the figures are printed),\n\
    84 for a mistake in the options.";

/// Load generator for Zappy servers: agents with commands always in flight, and viewers; reports the lateness of answers.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "trantor-load", version, disable_help_flag = true, after_help = EXIT_STATUS)]
pub struct Options {
    /// The server's port
    #[arg(short, long, default_value_t = 4242, value_parser = whole::<u16>(1, 65_535))]
    pub port: u16,

    /// The server's name or address
    #[arg(short = 'h', long, default_value = "localhost")]
    pub host: String,

    /// Names of the teams; agents join them in turn
    #[arg(short, long, value_name = "TEAM", num_args = 1.., default_values = ["red", "blue"], value_parser = team_name)]
    pub names: Vec<String>,

    /// Agents in all
    #[arg(short, long, value_name = "N", default_value_t = 12, value_parser = whole::<usize>(1, 100_000))]
    pub agents: usize,

    /// Viewers that speak Zappy text
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>(0, 10_000))]
    pub text_viewers: usize,

    /// Viewers that speak Trantor's frames
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>(0, 10_000))]
    pub frame_viewers: usize,

    /// Commands in flight of each agent
    #[arg(short = 'k', long, value_name = "N", default_value_t = 2, value_parser = whole::<usize>(1, 10))]
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
    #[arg(short, long, value_name = "UNITS", value_parser = speed(), conflicts_with = "assume")]
    pub frequency: Option<Frequency>,

    /// Assume this speed, and open no viewer to query it
    #[arg(long, value_name = "UNITS", value_parser = speed())]
    pub assume: Option<Frequency>,

    /// Seconds of measurement
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = seconds())]
    pub duration: RealSpan,

    /// Seconds of warm-up
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds())]
    pub warm_up: RealSpan,

    /// Time limit for joining, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds())]
    pub join_patience: RealSpan,

    /// Start all agents at one instant instead of spread over the time of a step
    #[arg(long)]
    pub in_step: bool,

    /// Dialect of the server
    #[arg(long, default_value = "epitech", value_parser = dialect())]
    pub dialect: Dialect,

    /// Seed of the random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    pub seed: u64,

    /// Fail if the 99th percentile of lateness is higher, in microseconds, or not valid
    #[arg(long, value_name = "MICROSECONDS", value_parser = decimal(0.0, LATENESS_MICROS_MAX))]
    pub require_p99: Option<f64>,

    /// Fail if achieved/ideal of the worst agent is lower, or not valid
    #[arg(long, value_name = "RATIO", value_parser = decimal(0.0, 1.0))]
    pub require_efficiency: Option<f64>,

    /// Fail if more agents and viewers were refused, died or were disconnected
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0, u64::MAX))]
    pub require_losses: Option<u64>,

    /// Write the report as JSON to this file; "-" prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print this help
    #[arg(long, action = ArgAction::HelpShort)]
    pub help: Option<bool>,
}

/// Source of the game's speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// A text viewer queries it and disconnects before the measurement.
    Queried,
    /// Such a viewer sets it; the game is slowed down during the joins, so that no agent starves.
    Set(Frequency),
    /// The user gives it, and no viewer connects: on very large maps its first burst would be part of the load.
    Assumed(Frequency),
}

impl Options {
    /// Source of the game's speed.
    pub fn speed(&self) -> Speed {
        match (self.frequency, self.assume) {
            (Some(speed), _) => Speed::Set(speed),
            (None, Some(speed)) => Speed::Assumed(speed),
            (None, None) => Speed::Queried,
        }
    }
}

fn speed() -> impl TypedValueParser<Value = Frequency> {
    let hertz = whole::<u64>(1, Frequency::MAX.into());
    hertz.map(|hertz| Frequency::new(hertz).expect("the range lies within a frequency's"))
}

/// The longest phase of a load, in seconds: a day.
pub const SECONDS_MAX: u32 = 86_400;

/// The largest bound of lateness: a day, in microseconds.
const LATENESS_MICROS_MAX: f64 = SECONDS_MAX as f64 * 1e6;

fn seconds() -> impl TypedValueParser<Value = RealSpan> {
    let seconds = decimal(0.0, SECONDS_MAX.into());
    seconds.map(|seconds: f64| RealSpan::from_nanos((seconds * 1e9) as i64))
}

/// Commands with their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    weights: Vec<(Command, u32)>,
    total: u32,
}

/// Largest weight, so that the sum cannot overflow.
const WEIGHT_MAX: u32 = 1_000_000;

impl Mix {
    /// The next command.
    pub fn draw(&self, rng: &mut impl Rng) -> Command {
        let mut ticket = rng.next_u32() % self.total;
        for (command, weight) in &self.weights {
            if ticket < *weight {
                return command.clone();
            }
            ticket -= weight;
        }
        unreachable!("a ticket below the total falls into some weight")
    }
}

impl FromStr for Mix {
    type Err = String;

    /// `forward=4,take=4,look=1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let wrong = || format!("{part:?} is not a command and its weight, as in forward=4");
            let (word, weight) = part.split_once('=').ok_or_else(wrong)?;
            let weight = weight.trim().parse().ok().filter(|weight| *weight <= WEIGHT_MAX);
            Ok((command(word)?, weight.ok_or_else(wrong)?))
        };
        let weights: Vec<_> = text.split(',').map(part).collect::<Result<_, String>>()?;
        match weights.iter().map(|(_, weight)| weight).sum() {
            0 => Err("a mix needs a weight above 0".to_owned()),
            total => Ok(Self { weights, total }),
        }
    }
}

/// Fork and incantation are left out: eggs would fill the world, and an elevation suspends answers. `take` and `set` are of
/// food: agents that walk and take survive.
const WORDS: [&str; 10] = [
    "forward",
    "right",
    "left",
    "look",
    "inventory",
    "broadcast",
    "connect_nbr",
    "eject",
    "take",
    "set",
];

fn command(word: &str) -> Result<Command, String> {
    Ok(match word.trim() {
        "forward" => Command::Forward,
        "right" => Command::Turn(Turn::Right),
        "left" => Command::Turn(Turn::Left),
        "look" => Command::Look,
        "inventory" => Command::Inventory,
        "broadcast" => Command::Broadcast(b"load".to_vec().into()),
        "connect_nbr" => Command::ConnectNbr,
        "eject" => Command::Eject,
        "take" => Command::Take(Resource::Food),
        "set" => Command::Set(Resource::Food),
        word => {
            let all = format!("there are {}", WORDS.join(", "));
            return Err(format!(
                "{word:?} is no command for a mix{}",
                did_you_mean_or(word, WORDS, &all)
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg32;

    use super::*;

    #[test]
    fn a_mix_is_drawn_by_its_weights() {
        let mix: Mix = "forward=3, look=1,eject=0".parse().unwrap();
        let mut rng = Pcg32::new(1, 1);
        let drawn: Vec<_> = (0..4_000).map(|_| mix.draw(&mut rng)).collect();
        let looks = drawn.iter().filter(|command| **command == Command::Look).count();
        assert!((900..1_100).contains(&looks), "{looks} of 4000");
        assert!(!drawn.contains(&Command::Eject));
    }

    #[test]
    fn mistakes_are_errors() {
        for (text, part) in [
            ("forward", "forward=4"),
            ("forward=x", "forward=x"),
            ("forward=5000000", "5000000"),
            ("fork=1", "\"fork\""),
            ("look=0", "above 0"),
        ] {
            let error = text.parse::<Mix>().unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
