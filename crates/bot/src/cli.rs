//! The command line of `trantor-bot`: Zappy's three flags and more. What `trantor-load` shares with it is here as well.
//!
//! `-h` is the host, as everywhere in Zappy, so help is `--help` only. Mistakes, help and completions are those of
//! [`trantor_cli`].

use std::net::{SocketAddr, ToSocketAddrs};

use clap::builder::TypedValueParser;
use clap::{ArgAction, Parser};
use trantor_cli::OptionError;
use trantor_cli::values::{explained_choice, whole};
use trantor_protocol::text::Dialect;
use trantor_protocol::{TeamNameError, check_team_name};

/// The usage of `trantor-bot`.
pub const USAGE: &str = "-n TEAM [-p PORT] [-h HOST] [OPTIONS]";

/// Plays a Zappy game to win: forages, meets its team by broadcasts, and elevates to the last level.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "trantor-bot", version, disable_help_flag = true)]
pub struct Options {
    /// The server's port
    #[arg(short, long, default_value_t = 4242, value_parser = whole::<u16>(1, 65_535))]
    pub port: u16,

    /// The team to play in
    #[arg(short, long, value_name = "TEAM", value_parser = team_name)]
    pub name: String,

    /// The server's name or address
    #[arg(short = 'h', long, default_value = "localhost")]
    pub host: String,

    /// Agents to keep in the game, each with its own connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u16>(1, 200))]
    pub team_size: u16,

    /// Most agents, where the team needs more to win or to replace losses [default: twice the team size, at least 24]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1, 400))]
    pub team_size_max: Option<u16>,

    /// Most outstanding commands of an agent; 1 for servers that read one command per packet
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u16>(1, 10))]
    pub in_flight: u16,

    /// How long to keep trying to join while no agent plays
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = whole::<u32>(0, 86_400))]
    pub patience: u32,

    /// Dialect of the server
    #[arg(long, default_value = "epitech", value_parser = dialect())]
    pub dialect: Dialect,

    /// Seed of the random numbers [default: random; -v prints it]
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u64>(0, u64::MAX))]
    pub seed: Option<u64>,

    /// Log more: -v the seed and the agents' joins and losses, -vv everything
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Print this help
    #[arg(long, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

/// Names of the dialects, as on the server's command line.
pub(crate) fn dialect() -> impl TypedValueParser<Value = Dialect> {
    explained_choice([
        ("epitech", "Forward, Look, …", Dialect::Epitech),
        (
            "epitech-2016",
            "avance, voir, …, as Epitech's servers spoke until 2016",
            Dialect::Epitech2016,
        ),
        ("42", "avance, voir, …", Dialect::French42),
        ("42en", "advance, see, …", Dialect::English42),
    ])
}

impl Options {
    /// What no single option shows.
    ///
    /// # Errors
    /// The mistake.
    pub fn check(&self) -> Result<(), OptionError> {
        match self.team_size_max {
            Some(most) if most < self.team_size => {
                let why = format!("must be at least --team-size {}", self.team_size);
                Err(OptionError::new(format!("--team-size-max {most}"), why))
            }
            _ => Ok(()),
        }
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use trantor_cli::{Parsed, parse};

    use super::*;

    #[test]
    fn zappys_flags_and_ours() {
        let options = |line: &str| match parse::<Options>(line.split(' ').map(OsString::from)) {
            Ok(Parsed::Run((options, _))) => options,
            other => panic!("{line}: {other:?}"),
        };
        let given = options("bot -p 4000 -n red -h help --team-size 6 --seed 3 --dialect 42");
        let rest = (given.team_size, given.seed, given.dialect);
        assert_eq!(rest, (6, Some(3), Dialect::French42));
        assert_eq!((given.port, &*given.name, &*given.host), (4000, "red", "help"));
        let plain = options("bot -n red");
        assert_eq!(
            (plain.port, &*plain.host, plain.team_size),
            (4242, "localhost", 1)
        );
        let few = options("bot -n red --team-size 6 --team-size-max 5")
            .check()
            .unwrap_err();
        assert_eq!(
            few.to_string(),
            "--team-size-max 5: must be at least --team-size 6"
        );
    }
}
