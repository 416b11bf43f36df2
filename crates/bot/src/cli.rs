//! The command line of `trantor-bot`: Zappy's three flags and more.
//!
//! `-h` is the host, as everywhere in Zappy, so help is `--help` only. Each mistake gives one line.

use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, CommandFactory, Parser, ValueEnum};
use trantor_protocol::text::Dialect;
use trantor_protocol::{TeamNameError, check_team_name};

use crate::manual::{self, Manual};

/// Exit status for every mistake in the options: the convention of Epitech's tools.
pub const EXIT_STATUS_USAGE: u8 = 84;

/// The parsed command line.
#[derive(Debug)]
pub enum Asked {
    /// Play with these options.
    Play(Options),
    /// Print this and end with status 0.
    Print(String),
}

/// Plays a Zappy game to win: forages, meets its team by broadcasts, and elevates to the last level.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "trantor-bot", version, disable_help_flag = true)]
pub struct Options {
    /// The server's port
    #[arg(short, long, default_value_t = 4242)]
    pub port: u16,

    /// The team to play in
    #[arg(short, long, value_name = "TEAM", value_parser = team_name)]
    pub name: String,

    /// The server's name or address
    #[arg(short = 'h', long, default_value = "localhost")]
    pub host: String,

    /// Agents to keep in the game, each with its own connection (at most 200)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=200))]
    pub team_size: u16,

    /// Most agents, where the team needs more to win or to replace losses [default: twice the team size, at least 9]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=400))]
    pub team_size_max: Option<u16>,

    /// Most outstanding commands of an agent; 1 for servers that read one command per packet
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10))]
    pub in_flight: u16,

    /// How long to keep trying to join while no agent plays
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub patience: u32,

    /// Dialect of the server
    #[arg(long, value_enum, default_value_t = DialectName::Epitech)]
    pub dialect: DialectName,

    /// Seed of the random numbers [default: random; -v prints it]
    #[arg(long)]
    pub seed: Option<u64>,

    /// Log more: -v the seed and the agents' joins and losses, -vv everything
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Print the manual page or shell completions
    #[arg(long, value_name = "WHAT", value_enum, exclusive = true)]
    generate: Option<Manual>,

    /// Print this help
    #[arg(long, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

/// Names of the dialects, as on the server's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DialectName {
    /// Forward, Look, …
    Epitech,
    /// avance, voir, …, as Epitech's servers spoke until 2016
    #[value(name = "epitech-2016")]
    Epitech2016,
    /// avance, voir, …
    #[value(name = "42")]
    French42,
    /// advance, see, …
    #[value(name = "42en")]
    English42,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Dialect {
        match name {
            DialectName::Epitech => Dialect::Epitech,
            DialectName::Epitech2016 => Dialect::Epitech2016,
            DialectName::French42 => Dialect::French42,
            DialectName::English42 => Dialect::English42,
        }
    }
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
        Ok(options) => match options.team_size_max {
            Some(most) if most < options.team_size => Err(format!(
                "--team-size-max {most} is less than --team-size {}",
                options.team_size
            )),
            _ => Ok(Asked::Play(options)),
        },
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Asked::Print(error.to_string())),
            _ => Err(in_one_line(&error)),
        },
    }
}

/// A valid team name.
pub(crate) fn team_name(name: &str) -> Result<String, TeamNameError> {
    check_team_name(name).map(|()| name.to_owned())
}

/// The first address of a host.
///
/// # Errors
/// One line if the name does not resolve.
pub fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let found = (host, port).to_socket_addrs();
    let mut addresses = found.map_err(|error| format!("host {host:?} is not known: {error}"))?;
    // Servers of this game listen on IPv4; "localhost" may name both.
    let first = addresses.next();
    let address = addresses.chain(first).find(SocketAddr::is_ipv4).or(first);
    address.ok_or_else(|| format!("host {host:?} has no address"))
}

/// Clap's message without the usage.
pub fn in_one_line(error: &clap::Error) -> String {
    let context = |kind| error.get(kind).map(ToString::to_string);
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let missing = context(ContextKind::InvalidArg).unwrap_or_default();
            format!("{missing} is missing")
        }
        ErrorKind::InvalidValue if !accepted(error).is_empty() => {
            let flag = context(ContextKind::InvalidArg).unwrap_or_default();
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            let flag = flag.split(' ').next().unwrap_or_default();
            format!("{flag} {value:?} is none of {}", accepted(error))
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.strip_prefix("error: ").unwrap_or(first).to_owned()
        }
    }
}

/// The accepted values.
fn accepted(error: &clap::Error) -> String {
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(words)) => words.join(", "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn options(line: &str) -> Options {
        match asked(line) {
            Ok(Asked::Play(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn zappys_flags_and_ours() {
        let given = options("bot -p 4000 -n red -h example.org --team-size 6 --seed 3 --dialect 42");
        assert_eq!(
            (given.port, given.name.as_str(), given.host.as_str()),
            (4000, "red", "example.org")
        );
        assert_eq!(
            (given.team_size, given.seed, given.dialect),
            (6, Some(3), DialectName::French42)
        );
        let dialect = options("bot -n red --dialect epitech-2016").dialect;
        assert_eq!(Dialect::from(dialect), Dialect::Epitech2016);
        let plain = options("bot -n red");
        assert_eq!(
            (plain.port, plain.host.as_str(), plain.team_size),
            (4242, "localhost", 1)
        );
    }

    #[test]
    fn help_is_help_and_h_is_the_host() {
        assert!(matches!(asked("bot --help"), Ok(Asked::Print(text)) if text.contains("--team-size")));
        assert_eq!(options("bot -n red -h help").host, "help");
    }

    #[test]
    fn every_mistake_is_one_line() {
        for (line, part) in [
            ("bot", "--name"),
            ("bot -n", "--name"),
            ("bot -n red -p 70000", "70000"),
            ("bot -n red -p x", "'x'"),
            ("bot -n red --team-size 0", "1..=200"),
            ("bot -n red --in-flight 11", "1..=10"),
            (
                "bot -n red --dialect german",
                "--dialect \"german\" is none of epitech, epitech-2016, 42, 42en",
            ),
            ("bot -n red --dialect", "--dialect"),
            ("bot -n GRAPHIC", "GRAPHIC"),
            (
                "bot -n red --team-size 6 --team-size-max 3",
                "3 is less than --team-size 6",
            ),
            ("bot -n red extra", "extra"),
            ("bot -n red --tem-size 3", "--tem-size"),
        ] {
            let error = asked(line).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{line}: {error}");
        }
        for name in ["", "a b", "GRAPHIC"] {
            let error = parse(["bot", "-n", name].map(OsString::from)).unwrap_err();
            assert!(!error.contains('\n'), "{name}: {error}");
        }
    }
}
