//! The command line of `trantor-bot`: Zappy's three flags and more. What `trantor-load` shares with it is here as well.
//!
//! `-h` is the host, as everywhere in Zappy, so help is `--help` only. Each mistake gives one line.

use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Command, Parser, ValueEnum};
use clap_complete::Shell;
use trantor_protocol::text::Dialect;
use trantor_protocol::{TeamNameError, check_team_name};
use trantor_runtime::{standard_error, standard_output};

/// Exit status for every mistake in the options: the convention of Epitech's tools.
pub const EXIT_STATUS_USAGE: u8 = 84;

/// A parsed command line.
#[derive(Debug)]
pub enum Parsed<T> {
    /// Run with these options.
    Run(T),
    /// Print this and end with status 0.
    Print(String),
}

/// Format of `--generate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Manual {
    /// The manual page.
    Man,
    /// Completions of bash.
    CompleteBash,
    /// Completions of zsh.
    CompleteZsh,
    /// Completions of fish.
    CompleteFish,
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

    /// Most agents, where the team needs more to win or to replace losses [default: twice the team size, at least 24]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=400))]
    pub team_size_max: Option<u16>,

    /// Most outstanding commands of an agent; 1 for servers that read one command per packet
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10))]
    pub in_flight: u16,

    /// How long to keep trying to join while no agent plays
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub patience: u32,

    /// Dialect of the server
    #[arg(long, default_value = "epitech", value_parser = dialect())]
    pub dialect: Dialect,

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
pub(crate) fn dialect() -> impl TypedValueParser<Value = Dialect> {
    let named = [
        ("epitech", "Forward, Look, …"),
        (
            "epitech-2016",
            "avance, voir, …, as Epitech's servers spoke until 2016",
        ),
        ("42", "avance, voir, …"),
        ("42en", "advance, see, …"),
    ];
    PossibleValuesParser::new(named.map(|(name, help)| PossibleValue::new(name).help(help))).map(|name| {
        match &*name {
            "epitech-2016" => Dialect::Epitech2016,
            "42" => Dialect::French42,
            "42en" => Dialect::English42,
            _ => Dialect::Epitech,
        }
    })
}

/// Reads a command line, the program's name first.
///
/// # Errors
/// One line about the mistake.
pub fn parse<T: Parser>(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed<T>, String> {
    let matches = T::command().try_get_matches_from(arguments);
    let parsed = matches.and_then(|matches| match matches.get_one("generate") {
        Some(what) => Ok(Parsed::Print(manual(T::command(), *what))),
        None => T::from_arg_matches(&matches).map(Parsed::Run),
    });
    parsed.or_else(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Parsed::Print(error.to_string())),
        _ => Err(in_one_line(&error)),
    })
}

fn manual(mut command: Command, what: Manual) -> String {
    let mut text = Vec::new();
    let shell = match what {
        Manual::Man => None,
        Manual::CompleteBash => Some(Shell::Bash),
        Manual::CompleteZsh => Some(Shell::Zsh),
        Manual::CompleteFish => Some(Shell::Fish),
    };
    match shell {
        Some(shell) => {
            let name = command.get_name().to_owned();
            clap_complete::generate(shell, &mut command, name, &mut text);
        }
        None => clap_mangen::Man::new(command)
            .render(&mut text)
            .expect("memory takes what is written to it"),
    }
    String::from_utf8(text).expect("names of options are text")
}

/// Prints text, or an error line of `program` with its status.
pub fn end(program: &str, ended: Result<String, (String, u8)>) -> ExitCode {
    let printed = ended.and_then(|text| match text.trim_end() {
        "" => Ok(()),
        text => standard_output::print(text).map_err(|line| (line, EXIT_STATUS_USAGE)),
    });
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err((line, status)) => {
            standard_error::say(format_args!("{program}: {line}"));
            ExitCode::from(status)
        }
    }
}

impl Options {
    /// What no single option shows.
    ///
    /// # Errors
    /// One line about the mistake.
    pub fn check(&self) -> Result<(), String> {
        match self.team_size_max {
            Some(most) if most < self.team_size => {
                let size = self.team_size;
                Err(format!("--team-size-max {most} is less than --team-size {size}"))
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

/// Clap's message with its tips, without the usage.
fn in_one_line(error: &clap::Error) -> String {
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
            let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
            let said = first.strip_prefix("error: ").unwrap_or(first).to_owned();
            tips.fold(said, |said, tip| format!("{said}; {tip}"))
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
    use clap::CommandFactory;

    use super::*;
    use crate::load;

    fn options(line: &str) -> Result<Options, String> {
        match parse(line.split(' ').map(OsString::from))? {
            Parsed::Run(options) => Ok(options),
            Parsed::Print(text) => panic!("{text}"),
        }
    }

    #[test]
    fn zappys_flags_and_ours() {
        let given = options("bot -p 4000 -n red -h help --team-size 6 --seed 3 --dialect 42").unwrap();
        let rest = (given.team_size, given.seed, given.dialect);
        assert_eq!(rest, (6, Some(3), Dialect::French42));
        assert_eq!((given.port, &*given.name, &*given.host), (4000, "red", "help"));
        let plain = options("bot -n red").unwrap();
        assert_eq!(
            (plain.port, &*plain.host, plain.team_size),
            (4242, "localhost", 1)
        );
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
                "\"german\" is none of epitech, epitech-2016, 42, 42en",
            ),
            ("bot -n GRAPHIC", "GRAPHIC"),
            ("bot -n ", "team"),
            ("bot -n red extra", "extra"),
            ("load -a 0", "1..=100000"),
            ("load -f 0", "-f"),
            ("load -m walk=1", "walk"),
            ("load -d x", "86400"),
            ("load -f 1 --assume 1", "--assume"),
        ] {
            let words = line.split(' ').map(OsString::from);
            let error = match line.starts_with("load") {
                true => parse::<load::cli::Options>(words).unwrap_err(),
                false => options(line).unwrap_err(),
            };
            assert!(error.contains(part) && !error.contains('\n'), "{line}: {error}");
        }
    }

    /// Every option of both programs is in each of their texts.
    #[test]
    fn manuals_and_completions_have_every_option() {
        for command in [Options::command(), load::cli::Options::command()] {
            for &what in Manual::value_variants() {
                let text = manual(command.clone(), what);
                for option in command.get_arguments().filter_map(|option| option.get_long()) {
                    // A manual page escapes hyphens.
                    let name = match what {
                        Manual::Man => option.replace('-', "\\-"),
                        _ => option.to_owned(),
                    };
                    assert!(text.contains(&name), "{}, {what:?}: {name}", command.get_name());
                }
            }
        }
        let words = ["bot", "--generate", "man"].map(OsString::from);
        assert!(matches!(parse::<Options>(words), Ok(Parsed::Print(text)) if text.contains(".TH")));
    }
}
