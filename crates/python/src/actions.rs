//! What the agent of a seat can do, as numbers: the actions of environments and policies.

use trantor_game::{Agent, World};
use trantor_model::{Command, Resource, Turn};

/// Words of the messages that seats send each other.
pub(crate) const WORDS: usize = 16;
/// A message that is none of these words.
const OTHER_WORD: u8 = u8::MAX;
/// The first byte of a message of seats; the word follows as a letter.
const WORD_MARK: u8 = b'#';
/// Actions of a seat: waiting, the commands, and one broadcast for each word.
pub(crate) const ACTIONS: usize = BROADCAST + WORDS;

const FORWARD: usize = 1;
const RIGHT: usize = 2;
const LEFT: usize = 3;
const TAKE: usize = 4;
const SET: usize = TAKE + Resource::COUNT;
const EJECT: usize = SET + Resource::COUNT;
const FORK: usize = EJECT + 1;
const INCANTATION: usize = FORK + 1;
const BROADCAST: usize = INCANTATION + 1;

/// What actions are called, in their order.
pub(crate) fn action_names() -> Vec<String> {
    let of_resources =
        |verb: &'static str| Resource::ALL.map(|resource| format!("{verb} {}", resource.name()));
    let mut names: Vec<String> = ["wait", "forward", "right", "left"].map(String::from).into();
    names.extend(of_resources("take"));
    names.extend(of_resources("set"));
    names.extend(["eject", "fork", "incantation"].map(String::from));
    names.extend((0..WORDS).map(|word| format!("broadcast {word}")));
    names
}

/// The command of an action; `None`: to wait.
pub(crate) fn command(action: usize) -> Option<Command> {
    Some(match action {
        FORWARD => Command::Forward,
        RIGHT => Command::Turn(Turn::Right),
        LEFT => Command::Turn(Turn::Left),
        TAKE..SET => Command::Take(Resource::ALL[action - TAKE]),
        SET..EJECT => Command::Set(Resource::ALL[action - SET]),
        EJECT => Command::Eject,
        FORK => Command::Fork,
        INCANTATION => Command::Incantation,
        BROADCAST..ACTIONS => {
            let word = u8::try_from(action - BROADCAST).expect("there are few words");
            Command::Broadcast([WORD_MARK, b'a' + word].into())
        }
        _ => return None,
    })
}

/// The word of a message, counted from 1.
pub(crate) fn word(text: &[u8]) -> u8 {
    match text {
        [WORD_MARK, letter] => match letter.checked_sub(b'a') {
            Some(word) if usize::from(word) < WORDS => word + 1,
            _ => OTHER_WORD,
        },
        _ => OTHER_WORD,
    }
}

/// What an idle agent may do: what could only be answered `ko` is left out.
pub(crate) fn write_mask(mask: &mut [i8], agent: &Agent, world: &World) {
    mask[FORWARD..TAKE].fill(1);
    let ground = world.ground(agent.tile);
    for resource in Resource::ALL {
        mask[TAKE + resource.index()] = i8::from(ground[resource] > 0);
        mask[SET + resource.index()] = i8::from(agent.inventory[resource] > 0);
    }
    mask[EJECT] = 1;
    mask[FORK] = 1;
    mask[INCANTATION] = i8::from(world.can_elevate(agent));
    mask[BROADCAST..].fill(1);
}
