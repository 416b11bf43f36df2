//! The command line: Zappy's flags and our own, with the conventions of that world.
//!
//! `-n red blue -c 5` takes names up to the next option; the last value of a repeated option wins; `help`, `-help`
//! and `--help` all print help. Every mistake is answered by one line that says what is accepted. The flags come
//! from [`crate::options::settings`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches, Parser};
use log::LevelFilter;
use trantor_cli::help;
use trantor_protocol::text::Dialect;

use crate::console::remote::ConsoleCommand;
use crate::headless;
use crate::options::settings::{
    self, CONFIG, Environment, RUST_LOG, Resolved, SAMPLE, apply_file, find, flags, is_common, names,
};
use crate::options::{COMMANDS, FREQUENCY_MAX, OptionError, PROGRAM, explain, flag_of};
use crate::playback::{PlayCommand, PlayFrom};
use crate::replay::ReplayCommand;

#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    Run(Box<Resolved>),
    CheckConfig(Vec<PathBuf>),
    Types,
    Console(ConsoleCommand),
    Replay(ReplayCommand),
    Play(Box<PlayCommand>),
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
    fn new(error: &clap::Error, command: &Command, word: Option<&str>) -> Self {
        match trantor_cli::is_request(error) {
            true => Self::Print(error.to_string()),
            false => Self::Refused(explain(error, command, word)),
        }
    }
}

/// What is printed below a mistake in the server's own flags, behind the program's name.
const USAGE: &str = "[-p PORT] [-x WIDTH] [-y HEIGHT] [-n TEAM...] [-c PLACES] [-f FREQUENCY] [OPTIONS]";

/// Reports a mistake in `arguments`; the usage follows if it is in the server's own flags.
pub fn refuse(arguments: impl IntoIterator<Item = OsString>, mistake: OptionError) -> ExitCode {
    let first = arguments.into_iter().nth(1);
    let is_other = first.is_some_and(|word| COMMANDS.iter().any(|other| word == *other));
    let mistake = if is_other { mistake.elsewhere() } else { mistake };
    trantor_cli::refuse(PROGRAM, USAGE, &mistake)
}

/// Reads the command line `arguments` (the program's name first), over the environment, over the file.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Invocation, OptionError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let word = |place: usize| {
        arguments
            .get(place)
            .and_then(|word| word.to_str())
            .unwrap_or_default()
    };
    // Elsewhere than in the first place these may be names of teams.
    let asked = match (word(1), word(2)) {
        ("help", _) => Err(Stop::Print(documented(command()).render_help().to_string())),
        ("replay", _) => parse_replay(&arguments[1..]),
        ("console", _) => parse_as(ConsoleCommand::command(), &arguments[1..], "console")
            .map(|(asked, _)| Invocation::Console(asked)),
        ("completions" | "man", _) => trantor_cli::manual::run(&whole_command(), &arguments)
            .map(Invocation::Print)
            .map_err(Stop::from),
        ("types", _) => parse_as(TypesCommand::command(), &arguments[1..], "types")
            .map(|(TypesCommand {}, _)| Invocation::Types),
        ("config", "print") => resolve_by(config_print_command(), &arguments[2..], environment)
            .map(|resolved| Invocation::Print(print_config(&resolved))),
        ("config", _) => parse_as(config_command(), &arguments[1..], "config")
            .map(|(ConfigCommand::Check { files }, _)| Invocation::CheckConfig(files)),
        _ => resolve(arguments, environment).map(|resolved| Invocation::Run(Box::new(resolved))),
    };
    match asked {
        Ok(asked) => Ok(asked),
        Err(Stop::Print(text)) => Ok(Invocation::Print(text)),
        Err(Stop::Refused(error)) => Err(error),
    }
}

/// Reads the arguments of the command `word`, the first of which is not looked at.
fn parse_as<T: FromArgMatches>(
    command: Command,
    arguments: &[OsString],
    word: &str,
) -> Result<(T, ArgMatches), Stop> {
    let command = help::with_ranges(command);
    let parsed = command.clone().try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| Ok((T::from_arg_matches(&matches)?, matches)));
    parsed.map_err(|error| Stop::new(&error, innermost(&command, arguments), Some(word)))
}

/// The command of `command` that `arguments` name, whose options a mistake is about.
fn innermost<'a>(command: &'a Command, arguments: &[OsString]) -> &'a Command {
    let word = arguments
        .get(1)
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    command.find_subcommand(word).unwrap_or(command)
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
            ErrorKind::DisplayHelp if wants_all => Stop::Print(documented(command).render_help().to_string()),
            ErrorKind::DisplayHelp => Stop::Print(summary(documented(command)).render_help().to_string()),
            _ => Stop::new(&error, &command, None),
        }
    })?;

    let environment = Environment::read(environment).map_err(OptionError::elsewhere)?;
    let mut resolved = Resolved::default();
    let file = matches.get_one::<PathBuf>(CONFIG).or(environment.config.as_ref());
    resolved.file = file.cloned();
    if let Some(filter) = &environment.log {
        let accepted = resolved.put("log", vec![filter.clone()], RUST_LOG);
        accepted.expect("a filter that can be read is accepted");
    }
    if let Some(path) = resolved.file.clone()
        && let Err(mistakes) = apply_file(&mut resolved, &path)
        && let Some(first) = mistakes.into_iter().next()
    {
        return Err(first.elsewhere().into());
    }
    environment.apply(&mut resolved).map_err(OptionError::elsewhere)?;
    apply_flags(&mut resolved, &matches)?;
    resolved.check_together(|name| matches.contains_id(name))?;
    Ok(resolved)
}

/// The server's own flags.
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

/// The command with the values and the default of each option in its help.
fn documented(command: Command) -> Command {
    settings::notes().fold(command, |command, (name, note)| {
        let is_known = command.get_arguments().any(|arg| arg.get_id() == name);
        match is_known {
            true => command.mut_arg(name, |arg| help::add(arg, &note)),
            false => command,
        }
    })
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
    let (level, flag) = match matches.get_count(VERBOSE) {
        0 => return Ok(()),
        1 => (LevelFilter::Debug, "-v"),
        _ => (LevelFilter::Trace, "-vv"),
    };
    let log = resolved.options.log.clone().at_least(level);
    let accepted = resolved.put("log", vec![log.to_string()], flag);
    accepted.expect("a filter is accepted as it is shown");
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
    let flag = match id {
        SPEED_OR_DURATION => "-t".to_owned(),
        _ => flag_of(name),
    };
    let written = format!("{flag} {}", words.join(" "));
    resolved
        .put(name, words, flag)
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
    "overload-limit",
    "metrics",
    "metrics-log",
    "metrics-every",
    "log",
];

fn replay_command() -> Command {
    let flags = flags().filter(|flag| PLAY_OPTIONS.contains(&flag.get_id().as_str()));
    let speed = format!("Units of game time per second [1 to {FREQUENCY_MAX}] [default: as recorded]");
    ReplayCommand::command().mut_subcommand("play", |play| {
        documented(play.args(flags)).mut_arg("frequency", |arg| arg.help(speed))
    })
}

fn parse_replay(words: &[OsString]) -> Result<Invocation, Stop> {
    let (asked, matches) = parse_as(replay_command(), words, "replay")?;
    let ReplayCommand::Play {
        files,
        at,
        paused,
        recorded_speed,
    } = asked
    else {
        return Ok(Invocation::Replay(asked));
    };
    let (_, matches) = matches.subcommand().expect("it is play");
    let mut resolved = Resolved::default();
    for name in PLAY_OPTIONS {
        apply_flag(&mut resolved, matches, name, name)?;
    }
    let at = at.as_deref().unwrap_or("0%");
    let must_be = "must be a time in units, as 1500 or 1500.5, or a part of the recording, as 40%";
    let at = PlayFrom::read(at).ok_or_else(|| OptionError::new(format!("--at {at}"), must_be))?;
    Ok(Invocation::Play(Box::new(PlayCommand {
        files: files.files,
        at,
        is_paused: paused,
        follows_speed: recorded_speed,
        options: resolved.options,
    })))
}

/// What is to be done with files of options, besides printing them.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "config",
    bin_name = "trantor-server config",
    about = "Checks a file of options, or prints the options as they are.",
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub enum ConfigCommand {
    /// Report every mistake in FILE, with its line and what to write instead; status 84 if there is one
    Check {
        /// A file for --config
        #[arg(value_name = "FILE", required = true, num_args = 1..)]
        files: Vec<PathBuf>,
    },
}

pub fn check_config(path: &Path) -> Vec<OptionError> {
    let mut resolved = Resolved::default();
    if let Err(mistakes) = apply_file(&mut resolved, path) {
        return mistakes;
    }
    let in_file = |error: OptionError| error.within(&path.display().to_string());
    let checked = resolved.check_together(|_| false);
    let checked = checked.and_then(|()| resolved.options.token().map_err(in_file));
    checked.err().into_iter().collect()
}

/// The options as a file: the sample, with each option that was written in place of its default, and where.
fn print_config(resolved: &Resolved) -> String {
    let lines = SAMPLE.lines().map(|line| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let name = bare.split_once(" = ").and_then(|(key, _)| find(key));
        let written = name.and_then(|name| resolved.line(name));
        written.unwrap_or_else(|| line.to_owned()) + "\n"
    });
    lines.collect()
}

fn config_command() -> Command {
    ConfigCommand::command().subcommand(config_print_command())
}

fn config_print_command() -> Command {
    command()
        .name("print")
        .bin_name(format!("{PROGRAM} config print"))
        .version(None)
        .about(
            "Print all options as a file, and where each was written; takes the flags of the server itself",
        )
        .after_help(None)
}

#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "types",
    bin_name = "trantor-server types",
    about = "Write the types of what scripts may call to standard output, for editors."
)]
struct TypesCommand {}

/// The program with all its commands. Only for documentation: [`parse`] tells commands by their first word.
fn whole_command() -> Command {
    let others = [
        config_command(),
        ConsoleCommand::command(),
        replay_command().name("replay"),
        help::with_ranges(headless::command()),
        TypesCommand::command(),
    ];
    documented(command()).subcommands(others)
}

#[cfg(test)]
mod tests {
    use clap::Subcommand as _;
    use trantor_cli::ManualCommand;
    use trantor_cli::manual::write_pages;

    use super::*;

    #[test]
    fn there_is_a_page_for_every_command_with_every_option() {
        let directory = std::env::temp_dir().join(format!("trantor-man-{}", std::process::id()));
        let whole = ManualCommand::augment_subcommands(whole_command());
        let pages = write_pages(whole, &directory).unwrap();
        assert_eq!(pages, std::fs::read_dir(&directory).unwrap().count());
        let page = |name: &str| std::fs::read_to_string(directory.join(format!("{name}.1"))).unwrap();
        for name in [
            "sim",
            "config-check",
            "config-print",
            "replay-verify",
            "replay-play",
        ] {
            let name = format!("trantor-server-{name}");
            assert!(page(&name).contains(&format!("\n.TH {name} 1 ")), "{name}");
        }
        for name in names() {
            // A hyphen that may be copied is escaped.
            assert!(
                page("trantor-server").contains(&name.replace('-', "\\-")),
                "{name}"
            );
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
