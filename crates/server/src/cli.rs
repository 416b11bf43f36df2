//! The command line: Zappy's flags and our own, with the conventions of that world.
//!
//! `-n red blue -c 5` takes names up to the next option; the last value of a repeated option wins; `help`, `-help`
//! and `--help` all print help. Every mistake is answered by one line that says what is accepted. The flags come
//! from [`crate::options::settings`].

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{
    Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches, Parser, Subcommand as _,
};
use clap_complete::Shell;
use log::LevelFilter;
use trantor_protocol::text::Dialect;

use crate::console::remote::ConsoleAsked;
use crate::headless::SimAsked;
use crate::options::settings::{
    CONFIG, Environment, RUST_LOG, Resolved, SAMPLE, apply_file, find, flags, is_common, names,
};
use crate::options::{COMMANDS, OptionError, PROGRAM, explain, spelt};
use crate::playback::{PlayAsked, PlayFrom};
use crate::replay::ReplayAsked;
use crate::scripts::Scripts;

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
        ("config", "print") => resolve_by(config_print_command(), &arguments[2..], environment)
            .map(|resolved| Asked::Print(print_config(&resolved))),
        ("config", _) => parse_as(config_command(), &arguments[1..], "config")
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

fn command() -> Command {
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

/// What is to be done with files of options, besides printing them.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "config",
    bin_name = "trantor-server config",
    about = "Checks a file of options, or prints the options as they are.",
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub enum ConfigAsked {
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
    ConfigAsked::command().subcommand(config_print_command())
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
#[command(name = PROGRAM, bin_name = PROGRAM)]
pub enum ManualAsked {
    /// Write the completions of a shell to standard output.
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write the manual pages.
    Man {
        /// Where to, as man/man1 of a prefix
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Write the types of what scripts may call to standard output, for editors.
    Types,
}

pub fn manual(asked: &ManualAsked) -> Result<String, String> {
    match asked {
        ManualAsked::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut whole_command(), PROGRAM, &mut text);
            Ok(String::from_utf8(text).expect("names of options are text"))
        }
        ManualAsked::Man { directory } => {
            let written = write_pages(directory);
            let shown = directory.display();
            let pages = written.map_err(|error| format!("{shown}: {error}"))?;
            Ok(format!("{shown}: {pages} pages"))
        }
        ManualAsked::Types => Scripts::definitions(),
    }
}

/// Writes a page for the program and one for each of its commands, and theirs; answers how many.
fn write_pages(directory: &Path) -> io::Result<usize> {
    std::fs::create_dir_all(directory)?;
    let command = whole_command();
    let pages = commands_in(&command);
    clap_mangen::generate_to(command, directory)?;
    Ok(pages)
}

fn commands_in(command: &Command) -> usize {
    1 + command.get_subcommands().map(commands_in).sum::<usize>()
}

/// The program with all its commands. Only for documentation: [`parse`] tells commands by their first word.
fn whole_command() -> Command {
    let others = [
        config_command(),
        ConsoleAsked::command(),
        replay_command().name("replay"),
        SimAsked::command(),
    ];
    ManualAsked::augment_subcommands(command().subcommands(others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_every_command_with_every_option() {
        let directory = std::env::temp_dir().join(format!("trantor-man-{}", std::process::id()));
        let pages = write_pages(&directory).unwrap();
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
