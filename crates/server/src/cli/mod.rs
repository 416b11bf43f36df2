//! The command line: Zappy's flags and our own, with the habits of that world.
//!
//! `-n red blue -c 5` takes names up to the next option; a repeated option's last value wins; `help`, `-help`
//! and `--help` all help. Every mistake is answered by one line that says what is accepted. The flags come
//! from [`crate::options::settings`].

pub mod config;
pub mod manual;
pub mod replay;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use log::LevelFilter;
use trantor_protocol::text::Dialect;

use self::config::ConfigAsked;
use self::manual::ManualAsked;
use crate::console::remote::{self, ConsoleAsked};
use crate::options::origins::Origins;
use crate::options::settings::{find, flags, is_common, must_be, names, nearest_name, set, short};
use crate::options::{OptionError, Options, PROGRAM, first_line, layers};
use crate::playback::PlayAsked;
use crate::replay::ReplayAsked;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Run with these options.
    Run(Box<Resolved>),
    /// Tell every mistake in these files of options.
    CheckConfig(Vec<PathBuf>),
    /// Write completions or manual pages.
    Manual(ManualAsked),
    /// Operate a running server: the first word was `console`.
    Console(ConsoleAsked),
    /// Look at journals instead of running a server: the first word was `replay`.
    Replay(ReplayAsked),
    /// Show a recording instead of a game that is played: the first words were `replay play`.
    Play(Box<PlayAsked>),
    /// Print this and end with status 0: the help text or the version.
    Print(String),
}

/// What is printed where the server's own flags are mistaken, as the tools of the Zappy world do.
const USAGE: &str = "usage: trantor-server -p PORT -x WIDTH -y HEIGHT -n TEAM... -c PLACES -f FREQUENCY
       each may be left out; --help tells of these and of all others";

/// How the server is used, if `mistake` stands in `arguments` (the program's name first), and they are its own and none of
/// its other commands.
pub fn usage(arguments: impl IntoIterator<Item = OsString>, mistake: &OptionError) -> Option<&'static str> {
    let others = [replay::WORD, remote::WORD, config::WORD];
    let first = arguments.into_iter().nth(1);
    let is_other = first.is_some_and(|word| others.iter().chain(&manual::WORDS).any(|other| word == *other));
    (!is_other && !mistake.is_elsewhere()).then_some(USAGE)
}

/// Reads the command line `arguments` (the program's name first), over the environment, over the file.
///
/// # Errors
/// One line about the first mistake found.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Asked, OptionError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // The reference server takes the bare word too; anywhere else it may be a team's name.
    if arguments.get(1).is_some_and(|word| word == "help") {
        return Ok(Asked::Print(command().render_help().to_string()));
    }
    if arguments.get(1).is_some_and(|word| word == replay::WORD) {
        return Ok(match replay::parse(arguments.into_iter().skip(1))? {
            replay::Asked::Look(asked) => Asked::Replay(asked),
            replay::Asked::Play(asked) => Asked::Play(asked),
            replay::Asked::Print(text) => Asked::Print(text),
        });
    }
    if arguments.get(1).is_some_and(|word| word == remote::WORD) {
        let asked = remote::parse(arguments.into_iter().skip(1))
            .map_err(|mistake| OptionError::new(remote::WORD, mistake))?;
        return Ok(asked.map_or_else(Asked::Print, Asked::Console));
    }
    if arguments
        .get(1)
        .is_some_and(|word| manual::WORDS.iter().any(|known| word == known))
    {
        let asked = manual::parse(&arguments[1..])?;
        return Ok(asked.map_or_else(Asked::Print, Asked::Manual));
    }
    if arguments.get(1).is_some_and(|word| word == config::WORD) {
        return Ok(match config::parse(&arguments[1..])? {
            Ok(ConfigAsked::Check { files }) => Asked::CheckConfig(files),
            // What is left behind `config print` are flags of the server.
            Ok(ConfigAsked::Print) => match resolve_by(
                config::print_command(),
                arguments.into_iter().skip(2),
                environment,
            )? {
                Ok(resolved) => Asked::Print(config::print(&resolved)),
                Err(text) => Asked::Print(text),
            },
            Err(text) => Asked::Print(text),
        });
    }
    Ok(match resolve(arguments, environment)? {
        Ok(resolved) => Asked::Run(Box::new(resolved)),
        Err(text) => Asked::Print(text),
    })
}

/// The options of all layers together, and where each was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The options.
    pub options: Options,
    /// Where they were said.
    pub origins: Origins,
    /// The file that was read.
    pub file: Option<PathBuf>,
}

/// Reads the flags in `arguments` (the program's name first), over the environment, over the file. The text of help or
/// version comes back as `Ok(Err(text))`.
///
/// # Errors
/// One line about the first mistake found.
pub fn resolve(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Result<Resolved, String>, OptionError> {
    resolve_by(command(), arguments, environment)
}

fn resolve_by(
    command: Command,
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Result<Resolved, String>, OptionError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = match command.clone().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error)
            if error.kind() == ErrorKind::DisplayHelp && !arguments.iter().any(|word| word == "--help") =>
        {
            return Ok(Err(summary(command).render_help().to_string()));
        }
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(explain(&error)),
    };

    let environment = layers::Environment::read(environment).map_err(OptionError::elsewhere)?;
    let mut options = Options::default();
    let mut origins = Origins::default();
    let file = matches
        .get_one::<PathBuf>(CONFIG)
        .map(PathBuf::as_path)
        .or_else(|| environment.config());
    environment.apply_common(&mut options, &mut origins);
    if let Some(path) = file {
        layers::apply_file(&mut options, &mut origins, path).map_err(OptionError::elsewhere)?;
    }
    environment
        .apply(&mut options, &mut origins)
        .map_err(OptionError::elsewhere)?;
    apply_flags(&mut options, &mut origins, &matches)?;
    if let Err(clash) = options.check_together() {
        let has_flag = clash.names.iter().any(|name| matches.contains_id(name));
        return Err(match has_flag {
            true => clash.error,
            false => clash.elsewhere(&origins),
        });
    }
    Ok(Ok(Resolved {
        options,
        origins,
        file: file.map(Path::to_owned),
    }))
}

/// The command as clap knows it.
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
        .help("Log more: -v what is decided, -vv everything");
    Command::new(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .about("The arena's server: Zappy players and viewers connect to it.")
        .args([file, speed_or_duration, verbose])
        .args(flags())
        .after_help(
            "Each option with a long name may also stand in the file (port = 4242) and in the environment\n\
             (TRANTOR_SERVER_PORT=4242). A mistake is told in one line, and the exit status is then 84.\n\n\
             Files of options: trantor-server config check FILE, trantor-server config print [OPTIONS].\n\
             A running server: trantor-server console; see trantor-server console --help.\n\
             Recorded games: trantor-server replay verify|info|export|play FILE...; see trantor-server replay --help.\n\
             Whole games without connections: see trantor-server sim --help.\n\
             Completions and manual pages: trantor-server completions SHELL, trantor-server man DIR.",
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

const CONFIG: &str = layers::CONFIG;
const VERBOSE: &str = "verbose";
const SPEED_OR_DURATION: &str = "t";
/// Names that are flags only, so that a misspelt flag can be told its nearest.
const FLAGS_ONLY: [&str; 4] = [CONFIG, VERBOSE, "help", "version"];

/// The flag of the setting of this name, for other commands that take it.
pub(crate) fn named_flag(name: &'static str) -> Arg {
    let flag = flags().find(|flag| flag.get_id() == name);
    flag.expect("it is an option")
}

/// Checks the words given to that flag, if it was given.
///
/// # Errors
/// One line that says what is accepted.
pub(crate) fn apply_named(
    options: &mut Options,
    matches: &ArgMatches,
    name: &'static str,
) -> Result<(), OptionError> {
    let mut unseen = Origins::default();
    apply_flag(options, &mut unseen, matches, name, name)
}

fn apply_flags(
    options: &mut Options,
    origins: &mut Origins,
    matches: &ArgMatches,
) -> Result<(), OptionError> {
    for name in names() {
        apply_flag(options, origins, matches, name, name)?;
    }
    // After the table, since the dialect decides what it means.
    let meant = match options.dialect {
        Dialect::Epitech => "match-duration",
        Dialect::Epitech2016 | Dialect::French42 | Dialect::English42 => "frequency",
    };
    // Of the two flags that say it, the one given last counts.
    if matches.index_of(SPEED_OR_DURATION) > matches.index_of(meant) {
        apply_flag(options, origins, matches, SPEED_OR_DURATION, meant)?;
    }
    let (level, spelt) = match matches.get_count(VERBOSE) {
        0 => return Ok(()),
        1 => (LevelFilter::Debug, "-v"),
        _ => (LevelFilter::Trace, "-vv"),
    };
    options.log = options.log.clone().at_least(level);
    origins.set("log", format!("\"{}\"", options.log), spelt);
    Ok(())
}

/// Checks the words given to the flag `id`, if it was given, as a value of the option `name`.
fn apply_flag(
    options: &mut Options,
    origins: &mut Origins,
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
    set(options, name, &words)
        .map_err(|why| OptionError::new(format!("{spelt} {}", words.join(" ")), why))?;
    origins.note(name, &words, spelt);
    Ok(())
}

/// The shorter of an option's flags, as scripts mostly use it.
fn spelt(name: &str) -> String {
    match short(name) {
        Some(short) => format!("-{short}"),
        None => format!("--{name}"),
    }
}

/// Says in one line what clap says in several.
fn explain(error: &clap::Error) -> OptionError {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    // clap names a flag with its placeholder, "--port <PORT>"; the flag is the first word.
    let shown = context(ContextKind::InvalidArg);
    let flag = shown.split(' ').next().unwrap_or_default();
    let name = flag.trim_start_matches('-');
    match error.kind() {
        ErrorKind::UnknownArgument if !flag.starts_with('-') => OptionError::new(
            format!("'{shown}'"),
            "is a stray word; an option starts with '-', see --help",
        ),
        ErrorKind::UnknownArgument => {
            let hint = match nearest_name(name, &FLAGS_ONLY).filter(|_| flag.starts_with("--")) {
                Some(nearest) => format!("unknown option; the nearest known one is --{nearest}"),
                None => "unknown option; see --help".to_owned(),
            };
            OptionError::new(flag, hint)
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            let (flag, must_be) = match find(name) {
                Some(name) => (spelt(name), must_be(name, false)),
                None if flag == "-t" => (flag.to_owned(), "the value must be a whole number".to_owned()),
                None => (flag.to_owned(), "the value must be the path of a file".to_owned()),
            };
            OptionError::new(format!("{flag} without a value"), must_be)
        }
        ErrorKind::InvalidUtf8 => OptionError::new("the command line", "must be valid UTF-8"),
        _ => OptionError::new("the command line", first_line(error)),
    }
}
