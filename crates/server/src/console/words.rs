//! The commands of the console: their names, arguments and help, and the hint for a wrong one.
//!
//! Names are those that operators know from other servers (`tick`, `tp`, `kick`), and those of the Zappy reference
//! server, which begin with a slash there; here the slash and capitals do not matter. [`super::operate`] carries
//! the commands out.

use trantor_engine::{AdminRequest, ConnId, Step};
use trantor_game::AdminAction;
use trantor_model::{AgentId, Direction, Level, Resource, Tile};
use trantor_time::GameTime;

use crate::nearest::nearest;

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// All words, or one of them.
    Help(Option<String>),
    /// How fast the game goes, and where it is.
    Query,
    /// Time stands still if it moved, and moves if it stood still.
    TogglePause,
    /// What the engine does as it is asked.
    Ask(AdminRequest),
    /// Who is connected; of one team, if it is named.
    Clients(Option<String>),
    /// A picture of the map, or of where one thing lies.
    Map(Option<Resource>),
    /// What lies and stands on a tile.
    Tile(Tile),
    /// Sets how much of one thing lies on a tile.
    Put {
        /// Where.
        tile: Tile,
        /// What.
        resource: Resource,
        /// How much.
        count: u32,
    },
    /// Lays an egg for a team.
    LayEgg {
        /// The team's name.
        team: String,
        /// Where.
        tile: Tile,
    },
    /// Saves the game now.
    Save,
    /// Ends the server in order.
    Quit,
}

/// Why a line was not understood, with what to type instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// No such word.
    #[error("there is no word {word:?}; {hint}")]
    Unknown {
        /// As it was typed.
        word: String,
        /// What it may have been meant for.
        hint: String,
    },
    /// The word is known, what follows is not.
    #[error("type: {0}")]
    Usage(&'static str),
    /// A word of the reference server that has no place here.
    #[error("{0}")]
    Elsewhere(&'static str),
}

/// Parses a line; `None` if it is empty.
///
/// # Errors
/// What was wrong with it.
pub fn parse(line: &str) -> Result<Option<Request>, Mistake> {
    let typed: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = typed.first() else {
        return Ok(None);
    };
    let first = first.trim_start_matches('/').to_lowercase();
    let both = typed
        .get(1)
        .map(|second| format!("{first} {}", second.to_lowercase()));
    let known = both.and_then(|both| Some((find(&both)?, 2)));
    let Some((command, length)) = known.or_else(|| Some((find(&first)?, 1))) else {
        if let Some((_, instead)) = ELSEWHERE.iter().find(|(name, _)| *name == first) {
            return Err(Mistake::Elsewhere(instead));
        }
        let names = commands()
            .map(|command| command.name)
            .chain(ALIASES.iter().map(|(alias, _)| *alias));
        let hint = match nearest(&first, names) {
            Some(name) => format!("did you mean {name:?}? help lists them all"),
            None => "help lists them all".to_owned(),
        };
        let word = typed[0].to_owned();
        return Err(Mistake::Unknown { word, hint });
    };
    let arguments = &typed[length..];
    let request = time_request(command.name, arguments)
        .or_else(|| agent_request(command.name, arguments))
        .or_else(|| server_request(command.name, arguments, after_words(line, length)));
    // `tick` alone is the query, and with an argument that is none of its own the usage of all of them is shown.
    let usage = match first == "tick" && length == 1 {
        true => TICK_USAGE,
        false => command.usage,
    };
    request.map(Some).ok_or(Mistake::Usage(usage))
}

/// The list of all commands, or what is known of one.
///
/// # Errors
/// If there is no such command.
pub fn help(name: Option<&str>) -> Result<String, String> {
    let Some(wanted) = name else {
        return Ok(HELP.to_owned());
    };
    let wanted = wanted.trim_start_matches('/').to_lowercase();
    let aliased = find(&wanted).map(|command| command.name);
    let fits = |command: &Command| {
        aliased == Some(command.name) || command.name.split(' ').next() == Some(wanted.as_str())
    };
    let text: String = commands()
        .filter(fits)
        .map(|command| format!("{}\n", command.line))
        .collect();
    match text.is_empty() {
        true => Err(format!("there is no word {wanted:?}; help lists them all")),
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
const HELP: &str = "\
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
kill AGENT                             kill an agent; it is told that it is dead
kick AGENT | kick connection N, as 3.0 disconnect an agent, or any connection by its number in clients
hunger on|off                          whether agents need food
nofood true|false                      the same inverted, as in the reference server
refill on|off                          whether the ground is refilled
norefill true|false                    the same inverted, as in the reference server
say TEXT                               send a text to all text viewers
start                                  start a game that waits for it (--auto-start off), or for players (--lock-step)
end                                    end the match: the leading team wins
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

/// Units that one line may step: all that they pass over is due at once.
const STEPS_MAX: u32 = 1_000;

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

/// What follows the first `count` words of a line, as it was typed.
fn after_words(line: &str, count: usize) -> &str {
    let skip = |rest: &'_ str| rest.find(char::is_whitespace).map_or(rest.len(), |end| end);
    (0..count).fold(line.trim(), |rest, _| rest[skip(rest)..].trim_start())
}

/// Commands about the speed and the course of time.
fn time_request(name: &str, arguments: &[&str]) -> Option<Request> {
    let request = match (name, arguments) {
        ("tick query", []) => return Some(Request::Query),
        ("pause", []) => return Some(Request::TogglePause),
        ("tick rate", [hertz]) => AdminRequest::SetFrequency(number(hertz)?),
        ("tick freeze", []) => AdminRequest::Pause,
        ("tick unfreeze", []) => AdminRequest::Resume,
        ("tick step", []) => AdminRequest::Step(Step::Units(1)),
        ("tick step", [word]) if word.eq_ignore_ascii_case("event") => AdminRequest::Step(Step::Event),
        ("tick step", [word]) if word.eq_ignore_ascii_case("action") => AdminRequest::Step(Step::Action),
        ("tick step", [units]) => {
            let units = number(units).filter(|units| (1..=STEPS_MAX).contains(units))?;
            AdminRequest::Step(Step::Units(units))
        }
        ("tick sprint", [units]) => AdminRequest::Sprint(number(units)?),
        ("seek", [unit]) => AdminRequest::Seek(GameTime::from_units(i64::from(number::<u32>(unit)?))),
        ("start", []) => AdminRequest::Start,
        ("end", []) => AdminRequest::Act(AdminAction::EndMatch),
        _ => return None,
    };
    Some(Request::Ask(request))
}

/// Commands that change agents and rules.
fn agent_request(name: &str, arguments: &[&str]) -> Option<Request> {
    let action = match (name, arguments) {
        ("tp", [agent, x, y, facing @ ..]) => AdminAction::Teleport {
            agent: agent_id(agent)?,
            tile: tile(x, y)?,
            facing: match facing {
                [] => None,
                [facing] => Some(direction(facing)?),
                _ => return None,
            },
        },
        ("setlevel", [agent, level]) => AdminAction::SetLevel {
            agent: agent_id(agent)?,
            level: Level::new(number(level)?).ok()?,
        },
        ("setinventory", [agent, name, count]) => AdminAction::SetInventory {
            agent: agent_id(agent)?,
            resource: resource(name)?,
            count: number(count)?,
        },
        ("kill", [agent]) => AdminAction::Kill {
            agent: agent_id(agent)?,
        },
        ("hunger", [word]) => AdminAction::SetHunger {
            enabled: switch(word, "on", "off")?,
        },
        ("nofood", [word]) => AdminAction::SetHunger {
            enabled: switch(word, "false", "true")?,
        },
        ("refill", [word]) => AdminAction::SetRefill {
            enabled: switch(word, "on", "off")?,
        },
        ("norefill", [word]) => AdminAction::SetRefill {
            enabled: switch(word, "false", "true")?,
        },
        _ => return None,
    };
    Some(Request::Ask(AdminRequest::Act(action)))
}

/// Commands about connections, the map and the server; `rest` has the arguments as they were typed.
fn server_request(name: &str, arguments: &[&str], rest: &str) -> Option<Request> {
    Some(match (name, arguments) {
        ("help", []) => Request::Help(None),
        ("help", [name]) => Request::Help(Some((*name).to_owned())),
        ("clients", []) => Request::Clients(None),
        ("clients", [team]) => Request::Clients(Some((*team).to_owned())),
        ("map", []) => Request::Map(None),
        ("map", [name]) => Request::Map(Some(resource(name)?)),
        ("tile", [x, y]) => Request::Tile(tile(x, y)?),
        ("settile", [name, count, x, y]) => Request::Put {
            tile: tile(x, y)?,
            resource: resource(name)?,
            count: number(count)?,
        },
        ("egg", [team, x, y]) => Request::LayEgg {
            team: (*team).to_owned(),
            tile: tile(x, y)?,
        },
        ("kick", [agent]) => Request::Ask(AdminRequest::Kick(agent_id(agent)?)),
        ("kick", [word, conn]) if word.eq_ignore_ascii_case("connection") => {
            Request::Ask(AdminRequest::Disconnect(connection(conn)?))
        }
        ("say", [_, ..]) => Request::Ask(AdminRequest::Say(rest.as_bytes().to_vec())),
        ("save", []) => Request::Save,
        ("quit", []) => Request::Quit,
        _ => return None,
    })
}

fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| word.parse().ok())?
}

/// Numbers of agents are written with or without `#`, as viewers do.
fn agent_id(word: &str) -> Option<AgentId> {
    number(word.strip_prefix('#').unwrap_or(word)).map(AgentId)
}

fn tile(x: &str, y: &str) -> Option<Tile> {
    Some(Tile {
        x: number(x)?,
        y: number(y)?,
    })
}

/// By name, or by its number on the wire.
fn resource(word: &str) -> Option<Resource> {
    let by_name = Resource::ALL
        .into_iter()
        .find(|resource| resource.name().eq_ignore_ascii_case(word));
    by_name.or_else(|| Resource::from_index(number(word)?))
}

fn direction(word: &str) -> Option<Direction> {
    match word.to_lowercase().as_str() {
        "n" | "north" => Some(Direction::North),
        "e" | "east" => Some(Direction::East),
        "s" | "south" => Some(Direction::South),
        "w" | "west" => Some(Direction::West),
        _ => None,
    }
}

/// As [`ConnId`] shows itself: `3.0`.
fn connection(word: &str) -> Option<ConnId> {
    let (slot, generation) = word.split_once('.')?;
    Some(ConnId {
        slot: number(slot)?,
        generation: number(generation)?,
    })
}

fn switch(word: &str, yes: &str, no: &str) -> Option<bool> {
    let is = |other: &str| word.eq_ignore_ascii_case(other);
    (is(yes) || is(no)).then(|| is(yes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            let line = help(Some(alias)).unwrap_or_else(|error| panic!("{error}"));
            assert!(line.starts_with(name), "{alias}: {line}");
        }
    }

    #[test]
    fn slashes_capitals_and_blanks_do_not_matter() {
        let kill = Request::Ask(AdminRequest::Act(AdminAction::Kill { agent: AgentId(3) }));
        for line in ["kill 3", "/kill #3", "  KILL\t3 ", "/Kill 3"] {
            assert_eq!(parse(line), Ok(Some(kill.clone())), "{line:?}");
        }
        for line in ["say  two  words ", "/send_guis two  words"] {
            let said = Request::Ask(AdminRequest::Say(b"two  words".to_vec()));
            assert_eq!(parse(line), Ok(Some(said)), "{line:?}");
        }
        for line in ["", " ", "\t"] {
            assert_eq!(parse(line), Ok(None));
        }
    }

    proptest! {
        /// Anything may be typed.
        #[test]
        fn no_line_stops_the_parser(
            words in prop::collection::vec(
                prop_oneof![
                    "\\PC{0,12}",
                    "[0-9]{1,30}",
                    prop::sample::select(commands().map(|command| command.name.to_owned()).collect::<Vec<_>>()),
                ],
                0..6,
            )
        ) {
            let line = words.join(" ");
            let _parsed = parse(&line);
        }
    }
}
