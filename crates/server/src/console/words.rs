//! The console's vocabulary: which words there are, what follows them, and what is typed instead of a wrong one.
//!
//! Words are those that operators know from other servers (`tick`, `tp`, `kick`), and those of the Zappy reference
//! server, which begin with a slash there; here the slash may be left out, and capitals are of no account. What the
//! words do is [`super::operate`]'s.

use std::fmt::Write as _;

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

/// Understands a line; `None` if it is empty.
///
/// # Errors
/// What was wrong with it.
pub fn parse(line: &str) -> Result<Option<Request>, Mistake> {
    let typed: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = typed.first() else {
        return Ok(None);
    };
    let first = first.trim_start_matches('/').to_lowercase();
    let second = typed
        .get(1)
        .map(|word| format!("{first} {}", word.to_lowercase()));
    let known = second
        .as_deref()
        .and_then(|both| Some((find(both)?, 2)))
        .or_else(|| Some((find(&first)?, 1)));
    if let Some((word, length)) = known {
        let arguments = Arguments {
            words: &typed[length..],
            rest: after_words(line, length),
        };
        // `tick` alone is the query, and with a word that is none of its own it is wrong about all of them.
        let usage = if first == "tick" && length == 1 {
            TICK_USAGE
        } else {
            word.usage
        };
        return (word.read)(arguments).map(Some).ok_or(Mistake::Usage(usage));
    }
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(word, _)| *word == first) {
        return Err(Mistake::Elsewhere(instead));
    }
    let names = WORDS
        .iter()
        .flat_map(|word| std::iter::once(word.name).chain(word.aliases.iter().copied()));
    let hint = match nearest(&first, names) {
        Some(name) => format!("did you mean {name:?}? help lists them all"),
        None => "help lists them all".to_owned(),
    };
    Err(Mistake::Unknown {
        word: typed[0].to_owned(),
        hint,
    })
}

/// The list of all words, or what is known of one.
///
/// # Errors
/// If there is no such word.
pub fn help(word: Option<&str>) -> Result<String, String> {
    let mut text = String::new();
    let mut tell = |word: &Word| {
        writeln!(text, "{:38} {}", word.usage, word.help).expect("a text grows as needed");
    };
    match word {
        None => WORDS.iter().for_each(tell),
        Some(wanted) => {
            let wanted = wanted.trim_start_matches('/').to_lowercase();
            let fits = |word: &&Word| {
                word.name == wanted
                    || word.name.starts_with(&format!("{wanted} "))
                    || word.aliases.contains(&&*wanted)
            };
            WORDS.iter().filter(fits).for_each(&mut tell);
            if text.is_empty() {
                return Err(format!("there is no word {wanted:?}; help lists them all"));
            }
        }
    }
    Ok(text)
}

/// One word, or two that belong together.
struct Word {
    name: &'static str,
    /// Other names, those of the reference server among them.
    aliases: &'static [&'static str],
    usage: &'static str,
    help: &'static str,
    /// Understands what follows; `None` if it is not what `usage` says.
    read: fn(Arguments<'_>) -> Option<Request>,
}

/// What follows a word.
#[derive(Clone, Copy)]
struct Arguments<'a> {
    words: &'a [&'a str],
    /// The same, as it was typed.
    rest: &'a str,
}

fn find(name: &str) -> Option<&'static Word> {
    WORDS
        .iter()
        .find(|word| word.name == name || word.aliases.contains(&name))
}

/// What stands behind the first `count` words of a line.
fn after_words(line: &str, count: usize) -> &str {
    let mut rest = line.trim();
    for _ in 0..count {
        rest = rest
            .find(char::is_whitespace)
            .map_or("", |end| rest[end..].trim_start());
    }
    rest
}

/// All words, in the order of `help`.
const WORDS: &[Word] = &[
    Word {
        name: "help",
        aliases: &["?"],
        usage: "help [WORD]",
        help: "these lines, or those about one word",
        read: |it| match it.words {
            [] => Some(Request::Help(None)),
            [word] => Some(Request::Help(Some((*word).to_owned()))),
            _ => None,
        },
    },
    Word {
        name: "tick query",
        aliases: &["tick"],
        usage: "tick query",
        help: "how fast the game goes, and where it is",
        read: |it| it.words.is_empty().then_some(Request::Query),
    },
    Word {
        name: "tick rate",
        aliases: &["setfreq", "sst", "rate"],
        usage: "tick rate UNITS (1 to 10000 a second)",
        help: "another speed",
        read: |it| match it.words {
            [hertz] => Some(Request::Ask(AdminRequest::SetFrequency(number(hertz)?))),
            _ => None,
        },
    },
    Word {
        name: "tick freeze",
        aliases: &["freeze"],
        usage: "tick freeze",
        help: "time stands still",
        read: |it| alone(it, AdminRequest::Pause),
    },
    Word {
        name: "tick unfreeze",
        aliases: &["unfreeze", "resume"],
        usage: "tick unfreeze",
        help: "time goes on",
        read: |it| alone(it, AdminRequest::Resume),
    },
    Word {
        name: "pause",
        aliases: &[],
        usage: "pause",
        help: "the one or the other of the two",
        read: |it| it.words.is_empty().then_some(Request::TogglePause),
    },
    Word {
        name: "tick step",
        aliases: &["step"],
        usage: "tick step [UNITS to 1000|event|action]",
        help: "frozen time moves on by a unit, by several, to the next event, to the end of an action",
        read: |it| match it.words {
            [] => Some(Request::Ask(AdminRequest::Step(Step::Units(1)))),
            [word] if word.eq_ignore_ascii_case("event") => {
                Some(Request::Ask(AdminRequest::Step(Step::Event)))
            }
            [word] if word.eq_ignore_ascii_case("action") => {
                Some(Request::Ask(AdminRequest::Step(Step::Action)))
            }
            [units] => number(units)
                .filter(|units| (1..=STEPS_MAX).contains(units))
                .map(|units| Request::Ask(AdminRequest::Step(Step::Units(units)))),
            _ => None,
        },
    },
    Word {
        name: "tick sprint",
        aliases: &["sprint"],
        usage: "tick sprint UNITS",
        help: "so many units at 10000 a second, then on at the speed of before",
        read: |it| match it.words {
            [units] => Some(Request::Ask(AdminRequest::Sprint(number(units)?))),
            _ => None,
        },
    },
    Word {
        name: "seek",
        aliases: &[],
        usage: "seek UNIT",
        help: "a recording goes to that moment, forwards or back",
        read: |it| match it.words {
            [unit] => {
                let unit: u32 = number(unit)?;
                Some(Request::Ask(AdminRequest::Seek(GameTime::from_units(i64::from(
                    unit,
                )))))
            }
            _ => None,
        },
    },
    Word {
        name: "clients",
        aliases: &["who", "list"],
        usage: "clients [TEAM]",
        help: "who is connected, from where, as what",
        read: |it| match it.words {
            [] => Some(Request::Clients(None)),
            [team] => Some(Request::Clients(Some((*team).to_owned()))),
            _ => None,
        },
    },
    Word {
        name: "map",
        aliases: &[],
        usage: "map [RESOURCE]",
        help: "a picture of the map, or of where one thing lies",
        read: |it| match it.words {
            [] => Some(Request::Map(None)),
            [name] => Some(Request::Map(Some(resource(name)?))),
            _ => None,
        },
    },
    Word {
        name: "tile",
        aliases: &[],
        usage: "tile X Y",
        help: "what lies and stands there",
        read: |it| match it.words {
            [x, y] => Some(Request::Tile(tile(x, y)?)),
            _ => None,
        },
    },
    Word {
        name: "settile",
        aliases: &[],
        usage: "settile RESOURCE COUNT X Y",
        help: "so much of one thing lies there",
        read: |it| match it.words {
            [name, count, x, y] => Some(Request::Put {
                tile: tile(x, y)?,
                resource: resource(name)?,
                count: number(count)?,
            }),
            _ => None,
        },
    },
    Word {
        name: "tp",
        aliases: &["teleport"],
        usage: "tp AGENT X Y [north|east|south|west]",
        help: "puts an agent there",
        read: |it| {
            let (agent, x, y, facing) = match it.words {
                [agent, x, y] => (agent, x, y, None),
                [agent, x, y, facing] => (agent, x, y, Some(direction(facing)?)),
                _ => return None,
            };
            act(AdminAction::Teleport {
                agent: agent_id(agent)?,
                tile: tile(x, y)?,
                facing,
            })
        },
    },
    Word {
        name: "setlevel",
        aliases: &[],
        usage: "setlevel AGENT LEVEL (1 to 8)",
        help: "gives an agent a level",
        read: |it| match it.words {
            [agent, level] => act(AdminAction::SetLevel {
                agent: agent_id(agent)?,
                level: Level::new(number(level)?).ok()?,
            }),
            _ => None,
        },
    },
    Word {
        name: "setinventory",
        aliases: &["give"],
        usage: "setinventory AGENT RESOURCE COUNT",
        help: "an agent carries so much of one thing",
        read: |it| match it.words {
            [agent, name, count] => act(AdminAction::SetInventory {
                agent: agent_id(agent)?,
                resource: resource(name)?,
                count: number(count)?,
            }),
            _ => None,
        },
    },
    Word {
        name: "egg",
        aliases: &["fork"],
        usage: "egg TEAM X Y",
        help: "lays an egg: one place more for a team",
        read: |it| match it.words {
            [team, x, y] => Some(Request::LayEgg {
                team: (*team).to_owned(),
                tile: tile(x, y)?,
            }),
            _ => None,
        },
    },
    Word {
        name: "kill",
        aliases: &[],
        usage: "kill AGENT",
        help: "ends an agent's life; it is told that it is dead",
        read: |it| match it.words {
            [agent] => act(AdminAction::Kill {
                agent: agent_id(agent)?,
            }),
            _ => None,
        },
    },
    Word {
        name: "kick",
        aliases: &[],
        usage: "kick AGENT | kick connection N, as 3.0",
        help: "lets an agent go, or any connection, by its number in clients",
        read: |it| match it.words {
            [agent] => Some(Request::Ask(AdminRequest::Kick(agent_id(agent)?))),
            [word, conn] if word.eq_ignore_ascii_case("connection") => {
                Some(Request::Ask(AdminRequest::Disconnect(connection(conn)?)))
            }
            _ => None,
        },
    },
    Word {
        name: "hunger",
        aliases: &[],
        usage: "hunger on|off",
        help: "whether agents need food",
        read: |it| switch(it, "on", "off").and_then(|enabled| act(AdminAction::SetHunger { enabled })),
    },
    Word {
        name: "nofood",
        aliases: &[],
        usage: "nofood true|false",
        help: "the same the other way round, as the reference server has it",
        read: |it| switch(it, "false", "true").and_then(|enabled| act(AdminAction::SetHunger { enabled })),
    },
    Word {
        name: "refill",
        aliases: &[],
        usage: "refill on|off",
        help: "whether the ground is refilled",
        read: |it| switch(it, "on", "off").and_then(|enabled| act(AdminAction::SetRefill { enabled })),
    },
    Word {
        name: "norefill",
        aliases: &[],
        usage: "norefill true|false",
        help: "the same the other way round, as the reference server has it",
        read: |it| switch(it, "false", "true").and_then(|enabled| act(AdminAction::SetRefill { enabled })),
    },
    Word {
        name: "say",
        aliases: &["send_guis"],
        usage: "say TEXT",
        help: "tells all text viewers something",
        read: |it| {
            (!it.rest.is_empty()).then(|| Request::Ask(AdminRequest::Say(it.rest.as_bytes().to_vec())))
        },
    },
    Word {
        name: "start",
        aliases: &[],
        usage: "start",
        help: "starts a game that waits for it (--auto-start off), or for players (--lock-step)",
        read: |it| alone(it, AdminRequest::Start),
    },
    Word {
        name: "end",
        aliases: &["endmatch"],
        usage: "end",
        help: "ends the match: the leading team wins",
        read: |it| it.words.is_empty().then(|| act(AdminAction::EndMatch))?,
    },
    Word {
        name: "save",
        aliases: &[],
        usage: "save",
        help: "saves the game now (--save DIR)",
        read: |it| it.words.is_empty().then_some(Request::Save),
    },
    Word {
        name: "quit",
        aliases: &["stop", "exit"],
        usage: "quit",
        help: "ends the server in order",
        read: |it| it.words.is_empty().then_some(Request::Quit),
    },
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

fn alone(it: Arguments<'_>, request: AdminRequest) -> Option<Request> {
    it.words.is_empty().then_some(Request::Ask(request))
}

fn act(action: AdminAction) -> Option<Request> {
    Some(Request::Ask(AdminRequest::Act(action)))
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

fn switch(it: Arguments<'_>, yes: &str, no: &str) -> Option<bool> {
    match it.words {
        [word] if word.eq_ignore_ascii_case(yes) => Some(true),
        [word] if word.eq_ignore_ascii_case(no) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_word_has_one_meaning_and_its_usage_begins_with_it() {
        let mut names: Vec<&str> = WORDS
            .iter()
            .flat_map(|word| std::iter::once(word.name).chain(word.aliases.iter().copied()))
            .chain(ELSEWHERE.iter().map(|(word, _)| *word))
            .collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for word in WORDS {
            assert!(word.usage.starts_with(word.name), "{}", word.usage);
            assert!(help(Some(word.name)).is_ok_and(|text| text.contains(word.help)));
        }
    }

    #[test]
    fn slashes_capitals_and_blanks_are_of_no_account() {
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
                    prop::sample::select(WORDS.iter().map(|word| word.name.to_owned()).collect::<Vec<_>>()),
                ],
                0..6,
            )
        ) {
            let line = words.join(" ");
            let _understood = parse(&line);
        }
    }
}
