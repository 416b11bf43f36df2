//! The command line: Zappy's flags and our own, with the conventions of that world.
//!
//! `-n red blue -c 5` takes names up to the next option; the last value of a repeated option wins; `help`, `-help`
//! and `--help` all print help. Every mistake is answered by one line that says what is accepted. The flags come
//! from [`crate::options::settings`].

pub mod config;
pub mod manual;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches};
use log::LevelFilter;
use trantor_protocol::text::Dialect;

use self::config::ConfigAsked;
use self::manual::ManualAsked;
use crate::console::remote::ConsoleAsked;
use crate::options::layers::{self, CONFIG};
use crate::options::settings::{Resolved, flags, is_common, names};
use crate::options::{COMMANDS, OptionError, PROGRAM, explain, spelt};
use crate::playback::{PlayAsked, PlayFrom};
use crate::replay::ReplayAsked;

#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Run(Box<Resolved>),
    CheckConfig(Vec<PathBuf>),
    Manual(ManualAsked),
    Console(ConsoleAsked),
    Replay(ReplayAsked),
    Play(Box<PlayAsked>),
    /// Print this and end with status 0: the help text or the version.
    Print(String),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    Print(String),
    Refused(OptionError),
}

impl From<OptionError> for Stop {
    fn from(error: OptionError) -> Self {
        Self::Refused(error)
    }
}

impl Stop {
    /// `word` is the command, or none for the server's own flags.
    fn new(error: &clap::Error, word: Option<&str>) -> Self {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Self::Print(error.to_string()),
            _ => Self::Refused(explain(error, word)),
        }
    }
}

/// What is printed beside a mistake in the server's own flags, as by the tools of the Zappy world.
const USAGE: &str = "usage: trantor-server -p PORT -x WIDTH -y HEIGHT -n TEAM... -c PLACES -f FREQUENCY
       each may be left out; --help tells of these and of all others";

/// The usage to print beside `mistake`, if it is in the server's own flags.
pub fn usage(arguments: impl IntoIterator<Item = OsString>, mistake: &OptionError) -> Option<&'static str> {
    let first = arguments.into_iter().nth(1);
    let is_other = first.is_some_and(|word| COMMANDS.iter().any(|other| word == *other));
    (!is_other && !mistake.is_elsewhere).then_some(USAGE)
}

/// Reads the command line `arguments` (the program's name first), over the environment, over the file.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Asked, OptionError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let word = |place: usize| {
        arguments
            .get(place)
            .and_then(|word| word.to_str())
            .unwrap_or_default()
    };
    // Elsewhere than in the first place these may be names of teams.
    let asked = match (word(1), word(2)) {
        ("help", _) => Err(Stop::Print(command().render_help().to_string())),
        ("replay", _) => parse_replay(&arguments[1..]),
        ("console", _) => parse_as(ConsoleAsked::command(), &arguments[1..], "console")
            .map(|(asked, _)| Asked::Console(asked)),
        (first @ ("completions" | "man" | "types"), _) => {
            parse_as(ManualAsked::command(), &arguments, first).map(|(asked, _)| Asked::Manual(asked))
        }
        ("config", "print") => resolve_by(config::print_command(), &arguments[2..], environment)
            .map(|resolved| Asked::Print(config::print(&resolved))),
        ("config", _) => parse_as(config::command(), &arguments[1..], "config")
            .map(|(ConfigAsked::Check { files }, _)| Asked::CheckConfig(files)),
        _ => resolve(arguments, environment).map(|resolved| Asked::Run(Box::new(resolved))),
    };
    match asked {
        Ok(asked) => Ok(asked),
        Err(Stop::Print(text)) => Ok(Asked::Print(text)),
        Err(Stop::Refused(error)) => Err(error),
    }
}

/// Reads the arguments of the command `word`, the first of which is not looked at.
fn parse_as<T: FromArgMatches>(
    command: Command,
    arguments: &[OsString],
    word: &str,
) -> Result<(T, ArgMatches), Stop> {
    let parsed = command.try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| Ok((T::from_arg_matches(&matches)?, matches)));
    parsed.map_err(|error| Stop::new(&error, Some(word)))
}

/// Reads the flags in `arguments` (the program's name first), over the environment, over the file.
pub fn resolve(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Resolved, Stop> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    resolve_by(command(), &arguments, environment)
}

fn resolve_by(
    command: Command,
    arguments: &[OsString],
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Resolved, Stop> {
    let matches = command.clone().try_get_matches_from(arguments).map_err(|error| {
        let wants_all = arguments.iter().any(|word| word == "--help");
        match error.kind() {
            ErrorKind::DisplayHelp if !wants_all => Stop::Print(summary(command).render_help().to_string()),
            _ => Stop::new(&error, None),
        }
    })?;

    let environment = layers::Environment::read(environment).map_err(OptionError::elsewhere)?;
    let mut resolved = Resolved::default();
    let file = matches.get_one::<PathBuf>(CONFIG).map(PathBuf::as_path);
    resolved.file = file.or_else(|| environment.config()).map(Path::to_owned);
    environment.apply_common(&mut resolved);
    if let Some(path) = resolved.file.clone()
        && let Err(mistakes) = layers::apply_file(&mut resolved, &path)
        && let Some(first) = mistakes.into_iter().next()
    {
        return Err(first.elsewhere().into());
    }
    environment.apply(&mut resolved).map_err(OptionError::elsewhere)?;
    apply_flags(&mut resolved, &matches)?;
    if let Err(clash) = resolved.options.check_together() {
        let has_flag = clash.names.iter().any(|name| matches.contains_id(name));
        let error = match has_flag {
            true => clash.error,
            false => clash.elsewhere(&resolved.origins),
        };
        return Err(error.into());
    }
    Ok(resolved)
}

pub fn command() -> Command {
    let file = Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .overrides_with(CONFIG)
        .help("Read options from a TOML file; flags win over it");
    let speed_or_duration = Arg::new(SPEED_OR_DURATION)
        .short('t')
        .value_name("NUMBER")
        .allow_negative_numbers(true)
        .overrides_with(SPEED_OR_DURATION)
        .help_heading("Time")
        .help("Same as --match-duration; in all dialects but epitech, same as --frequency");
    let verbose = Arg::new(VERBOSE)
        .short('v')
        .long(VERBOSE)
        .action(ArgAction::Count)
        .help("Log more: -v decisions, -vv everything");
    Command::new(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .about("The arena's server: Zappy players and viewers connect to it.")
        .args([file, speed_or_duration, verbose])
        .args(flags())
        .after_help(
            "Each option with a long name may also be set in the file (port = 4242) and in the environment\n\
             (TRANTOR_SERVER_PORT=4242). A mistake is reported in one line, with exit status 84.\n\n\
             Files of options: trantor-server config check FILE, trantor-server config print [OPTIONS].\n\
             A running server: trantor-server console; see trantor-server console --help.\n\
             Recorded games: trantor-server replay verify|info|export|play FILE...; see trantor-server replay --help.\n\
             Whole games without connections: see trantor-server sim --help.\n\
             Completions and manual pages: trantor-server completions SHELL, trantor-server man DIR.\n\
             Types for editors of scripts: trantor-server types.",
        )
}

/// The command with the options that people use most, for `-h`.
fn summary(command: Command) -> Command {
    let is_shown = |name: &str| is_common(name) || [CONFIG, VERBOSE].contains(&name);
    command
        .mut_args(|arg| {
            let is_hidden = !is_shown(arg.get_id().as_str());
            arg.hide(is_hidden).help_heading(Resettable::Reset)
        })
        .after_help("--help has all options, and the other commands.")
}

const VERBOSE: &str = "verbose";
const SPEED_OR_DURATION: &str = "t";

fn apply_flags(resolved: &mut Resolved, matches: &ArgMatches) -> Result<(), OptionError> {
    for name in names() {
        apply_flag(resolved, matches, name, name)?;
    }
    // Last, since the dialect decides what it means.
    let meant = match resolved.options.dialect {
        Dialect::Epitech => "match-duration",
        Dialect::Epitech2016 | Dialect::French42 | Dialect::English42 => "frequency",
    };
    // The last of two flags for one option counts.
    if matches.index_of(SPEED_OR_DURATION) > matches.index_of(meant) {
        apply_flag(resolved, matches, SPEED_OR_DURATION, meant)?;
    }
    let (level, spelt) = match matches.get_count(VERBOSE) {
        0 => return Ok(()),
        1 => (LevelFilter::Debug, "-v"),
        _ => (LevelFilter::Trace, "-vv"),
    };
    let log = resolved.options.log.clone().at_least(level);
    let accepted = resolved.put("log", vec![log.to_string()], spelt);
    debug_assert!(accepted.is_ok(), "a filter is accepted as it is shown");
    Ok(())
}

/// Sets the option `name` to the words given to the flag `id`, if it was given.
fn apply_flag(
    resolved: &mut Resolved,
    matches: &ArgMatches,
    id: &str,
    name: &'static str,
) -> Result<(), OptionError> {
    let Some(words) = matches.get_many::<String>(id) else {
        return Ok(());
    };
    let words: Vec<String> = words.cloned().collect();
    let spelt = match id {
        SPEED_OR_DURATION => "-t".to_owned(),
        _ => spelt(name),
    };
    let written = format!("{spelt} {}", words.join(" "));
    resolved
        .put(name, words, spelt)
        .map_err(|why| OptionError::new(written, why))
}

/// The options of a server that apply to a recording.
const PLAY_OPTIONS: &[&str] = &[
    "port",
    "bind",
    "frequency",
    "control",
    "token-file",
    "gui-ids",
    "dialect",
    "console",
    "lag-limit",
    "metrics",
    "metrics-log",
    "metrics-every",
    "log",
];

fn replay_command() -> Command {
    let flags = flags().filter(|flag| PLAY_OPTIONS.contains(&flag.get_id().as_str()));
    ReplayAsked::command().mut_subcommand("play", |play| play.args(flags))
}

fn parse_replay(words: &[OsString]) -> Result<Asked, Stop> {
    let (asked, matches) = parse_as(replay_command(), words, "replay")?;
    let ReplayAsked::Play { files, at, paused } = asked else {
        return Ok(Asked::Replay(asked));
    };
    let (_, matches) = matches.subcommand().expect("it is play");
    let mut resolved = Resolved::default();
    for name in PLAY_OPTIONS {
        apply_flag(&mut resolved, matches, name, name)?;
    }
    let at = at.as_deref().unwrap_or("0%");
    let must_be = "must be a time in units, as 1500 or 1500.5, or a part of the recording, as 40%";
    let at = PlayFrom::read(at).ok_or_else(|| OptionError::new(format!("--at {at}"), must_be))?;
    Ok(Asked::Play(Box::new(PlayAsked {
        files: files.files,
        at,
        is_paused: paused,
        follows_speed: !matches.contains_id("frequency"),
        options: resolved.options,
    })))
}
