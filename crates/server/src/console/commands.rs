//! The commands of the console: their names, usage and help, and how a line names one.
//!
//! Names are those that operators know from other servers (`tick`, `tp`, `kick`), and those of the Zappy reference
//! server, which begin with a slash there; here the slash and capitals do not matter. [`super::operate`] carries
//! the commands out.

use trantor_model::names::did_you_mean_or;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub name: &'static str,
    /// What to type instead, if the arguments are wrong.
    pub usage: &'static str,
    pub arguments: Vec<&'a str>,
    /// As `arguments`, as they were typed.
    pub rest: &'a str,
}

/// Finds the command of a line; `None` if the line is empty.
pub fn parse(line: &str) -> Result<Option<Line<'_>>, String> {
    let mut arguments: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = arguments.first() else {
        return Ok(None);
    };
    let word = first.trim_start_matches('/').to_lowercase();
    let two_words = arguments
        .get(1)
        .map(|second| format!("{word} {}", second.to_lowercase()));
    let known = two_words.and_then(|words| Some((find(&words)?, 2)));
    let Some((Command { name, usage, .. }, length)) = known.or_else(|| Some((find(&word)?, 1))) else {
        return Err(unknown(&word, first));
    };
    // `tick` with an argument that is no command of its own: the usage of all of them.
    let usage = match word == "tick" && length == 1 {
        true => TICK_USAGE,
        false => usage,
    };
    arguments.drain(..length);
    let after_word = |rest: &'_ str| rest.find(char::is_whitespace).unwrap_or(rest.len());
    let rest = (0..length).fold(line.trim(), |rest, _| rest[after_word(rest)..].trim_start());
    Ok(Some(Line {
        name,
        usage,
        arguments,
        rest,
    }))
}

fn unknown(word: &str, typed: &str) -> String {
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(name, _)| *name == word) {
        return (*instead).to_owned();
    }
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let longer = |command: &Command| command.name.split(' ').next() == Some(word);
    let longer: Vec<&str> = commands().filter(longer).map(|command| command.usage).collect();
    if !longer.is_empty() {
        return format!("type: {}", longer.join(", or "));
    }
    let known = commands().map(|command| command.name).chain(aliases);
    format!(
        "unknown command {typed:?}{}",
        did_you_mean_or(word, known, "help lists them all")
    )
}

/// The help of one command, or of all that begin with its word.
pub fn help(word: &str) -> Result<String, String> {
    let word = word.trim_start_matches('/').to_lowercase();
    let named = find(&word).map(|command| command.name);
    let fits = |command: &Command| {
        named == Some(command.name) || command.name.split(' ').next() == Some(word.as_str())
    };
    let text: String = commands()
        .filter(fits)
        .map(|command| format!("{}\n", command.line))
        .collect();
    match text.is_empty() {
        true => Err(unknown(&word, &word)),
        false => Ok(text),
    }
}

/// A line of [`HELP`].
struct Command {
    /// One word, or two.
    name: &'static str,
    usage: &'static str,
    line: &'static str,
}

/// Column at which the help of a command begins, after its usage.
const HELP_COLUMN: usize = 39;

/// All commands: usage, which begins with the name in small letters, and what the command does.
pub(super) const HELP: &str = "\
help [WORD]                            list the commands, or explain one
tick query                             show the speed and the game time
tick rate UNITS (1 to 10000 a second)  change the speed
tick freeze                            pause the game
tick unfreeze                          resume the game
pause                                  toggle pause
tick step [UNITS to 1000|event|action] advance a paused game by a unit, by several, to the next event, or to the end of an action
tick sprint UNITS                      run so many units at 10000 a second, then return to the previous speed
seek UNIT                              move a recording to that moment, forwards or back
clients [TEAM]                         list the connections: address, kind, agent
map [RESOURCE]                         draw the map, or where one resource lies
tile X Y                               show what lies and stands on a tile
settile RESOURCE COUNT X Y             set how much of a resource lies on a tile
tp AGENT X Y [north|east|south|west]   move an agent
setlevel AGENT LEVEL (1 to 8)          set the level of an agent
setinventory AGENT RESOURCE COUNT      set how much of a resource an agent carries
egg TEAM X Y                           lay an egg: one place more for a team
kill AGENT                             kill an agent, and send it dead
kick AGENT | kick connection N, as 3.0 disconnect an agent, or any connection by its number in clients
hunger on|off                          whether agents need food
nofood true|false                      the same inverted, as in the reference server
refill on|off                          whether the ground is refilled
norefill true|false                    the same inverted, as in the reference server
mind add TEAM=KIND:COUNT[,every=UNITS] add agents without a connection, as in mind add red=team:6; docs/minds.md
mind remove TEAM [COUNT]               remove the youngest of them, or all
mind list                              list their groups: how many live, and how often they have decided
lag [[TEAM:]off|radio|noisy|SETTINGS]  show or set how broadcasts travel, as in: lag speed=2 latency=5 range=10 loss=5%
lag links [AGENT]                      list the links of an agent, or the busiest: messages sent, lost, delayed
say TEXT                               send a text to all viewers
start                                  start a game that waits for it (--auto-start off), or for players (--lock-step)
team open|close TEAM                   whether a team has free places: a closed one has none, its agents play on
end [TEAM|draw]                        end the match: the leading team wins, or that one, or none
script list                            list the scripts that run, and what is wrong with changed ones
script resume FILE                     run a script again that is suspended
script reload FILE                     read a script again; changed files are read by themselves
timer list                             list the server's timers: period, next run, runs, skipped periods, longest and latest run, errors
timer remove NAME                      stop a timer; timer every sets it again
timer every NAME PERIOD (100ms to 24h) run a timer at another period, as in: timer every db_save 30s
metrics [WORD]                         show the loop's own figures, or those of /metrics with WORD in their names
save                                   save the game now (--save DIR)
quit                                   end the server in order
";

/// Other names of commands, those of the reference server among them.
const ALIASES: [(&str, &str); 19] = [
    ("?", "help"),
    ("tick", "tick query"),
    ("setfreq", "tick rate"),
    ("sst", "tick rate"),
    ("rate", "tick rate"),
    ("freeze", "tick freeze"),
    ("unfreeze", "tick unfreeze"),
    ("resume", "tick unfreeze"),
    ("step", "tick step"),
    ("sprint", "tick sprint"),
    ("who", "clients"),
    ("list", "clients"),
    ("teleport", "tp"),
    ("give", "setinventory"),
    ("fork", "egg"),
    ("send_guis", "say"),
    ("endmatch", "end"),
    ("stop", "quit"),
    ("exit", "quit"),
];

/// Words of the reference server that have no place here, and what to do instead.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "send_ais",
        "agents hear only what their protocol has; say TEXT tells viewers",
    ),
    (
        "broadcast",
        "only agents broadcast; let one do it, or say TEXT tells viewers",
    ),
    (
        "setclientsnb",
        "places are eggs; type: egg TEAM X Y for each place more",
    ),
    (
        "incantate",
        "only agents elevate; type: settile RESOURCE COUNT X Y for the stones, or setlevel AGENT LEVEL",
    ),
    ("clear", "clear is your terminal's; Ctrl-L mostly does it"),
];

const TICK_USAGE: &str = "tick query|rate UNITS|freeze|unfreeze|step [UNITS|event|action]|sprint UNITS";

fn commands() -> impl Iterator<Item = Command> {
    HELP.lines().map(|line| {
        let usage = line[..HELP_COLUMN].trim_end();
        let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
        let length: usize = usage
            .split(' ')
            .take_while(is_name)
            .map(|word| word.len() + 1)
            .sum();
        let name = &usage[..length - 1];
        Command { name, usage, line }
    })
}

fn find(name: &str) -> Option<Command> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| *name);
    commands().find(|command| command.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_unique_and_listed_by_help() {
        let names = commands().map(|command| command.name);
        let other = ALIASES.iter().chain(ELSEWHERE).map(|(name, _)| *name);
        let mut names: Vec<&str> = names.chain(other).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for (alias, name) in ALIASES {
            let line = help(alias).unwrap_or_else(|error| panic!("{error}"));
            assert!(line.starts_with(name), "{alias}: {line}");
        }
    }

    #[test]
    fn slashes_capitals_and_blanks_do_not_matter() {
        for line in ["kill #3", "/kill #3", "  KILL\t#3 ", "/Kill #3"] {
            let parsed = parse(line).unwrap().unwrap();
            assert_eq!(
                (parsed.name, &parsed.arguments[..]),
                ("kill", &["#3"][..]),
                "{line:?}"
            );
        }
        for line in ["say  two  words ", "/send_guis two  words"] {
            let parsed = parse(line).unwrap().unwrap();
            assert_eq!((parsed.name, parsed.rest), ("say", "two  words"), "{line:?}");
        }
        for line in ["", " ", "\t"] {
            assert_eq!(parse(line), Ok(None));
        }
    }
}
