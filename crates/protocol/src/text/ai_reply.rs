//! What an agent is sent, one value to one line. [`super::client`] reads it back.
//!
//! No line ever holds a carriage return, and none but the text of a broadcast is longer than what is in sight.

use std::borrow::Cow;

use trantor_model::{Counts, Level, MapSize, Resource, Sight};

use super::dialect::{Dialect, Layout, Words};
use super::number::{push_number, push_spaced};

/// One message to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AiLine<'a> {
    /// The server's first line on each connection.
    Welcome,
    /// The agent has a place. These are two lines, and they must leave in one write: many agents read both
    /// at once.
    Accepted {
        /// Places the team has left after this one was taken.
        places: u32,
        /// The map.
        size: MapSize,
    },
    /// It was done.
    Ok,
    /// It was not, or could not be.
    Ko,
    /// What is in sight, nearest row first, each from left to right. The 42 dialects leave the looker out.
    Look(Cow<'a, [Sight]>),
    /// What is carried.
    Inventory {
        /// All seven counts; as it is read from a 42 dialect, with food in units of life.
        inventory: Counts,
        /// What the dialects of School 42 send instead of its food: units of life left, as their subject has it.
        life_units: u32,
    },
    /// Places the team has left.
    Places(u32),
    /// A sound.
    Message {
        /// From where: 0 here, 1 ahead, then counter-clockwise to 8.
        direction: u8,
        /// What was said, byte for byte.
        text: &'a [u8],
    },
    /// The agent was pushed off its tile.
    Ejected {
        /// From where, seen by the agent; 1, 3, 5 or 7 from servers that keep to the protocol.
        direction: u8,
    },
    /// An elevation began, with this agent in it.
    ElevationUnderway,
    /// An elevation succeeded.
    CurrentLevel(Level),
    /// The agent died. The connection ends after this line.
    Dead,
    /// The second line of [`Self::Accepted`] as it is read: the map's width and height.
    Size(u32, u32),
    /// Both of its lines in one, as some servers send them.
    PlacesAndSize(u32, u32, u32),
    /// A line in words of another server's own.
    Unknown(&'a [u8]),
}

/// Appends the bytes of one line, with its end.
pub fn write_ai_line(out: &mut Vec<u8>, dialect: Dialect, line: &AiLine<'_>) {
    let words = dialect.words();
    match *line {
        AiLine::Welcome => push(out, words.greeting),
        AiLine::Accepted { places, size } => {
            push_number(out, places);
            out.push(b'\n');
            let size = AiLine::Size(size.width().into(), size.height().into());
            return write_ai_line(out, dialect, &size);
        }
        AiLine::Ok => push(out, "ok"),
        AiLine::Ko => push(out, "ko"),
        AiLine::Look(ref sights) => {
            push_look(out, words, sights, &mut LookPlace::default(), usize::MAX);
        }
        AiLine::Inventory {
            ref inventory,
            life_units,
        } => push_inventory(out, words, inventory, life_units),
        AiLine::Places(places) => push_number(out, places),
        AiLine::Message { direction, text } => {
            push(out, "message ");
            push_number(out, u32::from(direction));
            push(out, words.message_separator);
            out.extend_from_slice(text);
        }
        AiLine::Ejected { direction } => {
            push(out, words.ejected);
            push_number(out, u32::from(direction));
        }
        AiLine::ElevationUnderway => push(out, words.elevation_underway),
        AiLine::CurrentLevel(level) => {
            push(out, words.current_level);
            push_number(out, u32::from(level.get()));
        }
        AiLine::Dead => push(out, words.dead),
        AiLine::Size(width, height) => {
            push_number(out, width);
            push_spaced(out, height);
        }
        AiLine::PlacesAndSize(places, width, height) => {
            push_number(out, places);
            push_spaced(out, width);
            push_spaced(out, height);
        }
        AiLine::Unknown(line) => out.extend_from_slice(line),
    }
    out.push(b'\n');
}

/// A look that is written piece by piece, since it may be of any length.
#[derive(Clone, Debug)]
pub struct LongLook {
    dialect: Dialect,
    sights: Vec<Sight>,
    place: LookPlace,
}

/// How far a look was written.
#[derive(Clone, Debug, Default)]
struct LookPlace {
    has_begun: bool,
    tile: usize,
    /// Objects of that tile that were written.
    objects: u64,
}

impl LongLook {
    /// One of which nothing was written yet.
    pub fn new(dialect: Dialect, sights: Vec<Sight>) -> Self {
        Self {
            dialect,
            sights,
            place: LookPlace::default(),
        }
    }

    /// Appends the next piece of the line, of so many bytes or one word more; answers whether it was the last.
    pub fn write_on(&mut self, out: &mut Vec<u8>, bytes: usize) -> bool {
        let is_whole = push_look(out, self.dialect.words(), &self.sights, &mut self.place, bytes);
        if is_whole {
            out.push(b'\n');
        }
        is_whole
    }

    /// Bytes that it takes until it is written.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.sights[..])
    }
}

/// Writes a look from a place on, until `bytes` were written or the end; answers whether that was reached.
///
/// `[ player food,, linemate ]` or `{ player food,, linemate}`: a space before each object, a bare comma between tiles.
/// `{food, , linemate}`: a space between objects, a comma and a space between tiles, the looker left out.
fn push_look(
    out: &mut Vec<u8>,
    words: &Words,
    sights: &[Sight],
    place: &mut LookPlace,
    bytes: usize,
) -> bool {
    let (open, between_tiles, close) = match words.layout {
        Layout::Brackets => ("[", ",", " ]"),
        Layout::TightBraces => ("{", ",", "}"),
        Layout::Braces => ("{", ", ", "}"),
    };
    let is_joined = words.layout == Layout::Braces;
    let enough = out.len().saturating_add(bytes);
    if !std::mem::replace(&mut place.has_begun, true) {
        push(out, open);
    }
    while let Some(sight) = sights.get(place.tile) {
        if place.tile > 0 && place.objects == 0 {
            push(out, between_tiles);
        }
        let looker = u32::from(is_joined && place.tile == 0);
        let mut written = place.objects;
        for (word, count) in objects(words, sight, looker) {
            let skipped = written.min(u64::from(count));
            written -= skipped;
            for _ in skipped..u64::from(count) {
                if !is_joined || place.objects > 0 {
                    out.push(b' ');
                }
                push(out, word);
                place.objects += 1;
                if out.len() >= enough {
                    return false;
                }
            }
        }
        place.tile += 1;
        place.objects = 0;
    }
    push(out, close);
    true
}

/// Everything on a tile but so many agents, in the order of the protocol: agents, resources by number, eggs.
fn objects(words: &Words, sight: &Sight, left_out: u32) -> impl Iterator<Item = (&'static str, u32)> {
    let resources = sight.ground.iter();
    std::iter::once((words.player, sight.agents.saturating_sub(left_out)))
        .chain(resources.map(|(resource, count)| (words.resource_word(resource), count)))
        .chain([(words.egg, sight.eggs)])
}

/// `[ food 9, linemate 0, … ]`, `{nourriture 9,linemate 0,…}`, or `{nourriture 1260, linemate 0, …}` with food as life left.
fn push_inventory(out: &mut Vec<u8>, words: &Words, inventory: &Counts, life_units: u32) {
    let (open, between, close) = match words.layout {
        Layout::Brackets => ("[ ", ", ", " ]"),
        Layout::TightBraces => ("{", ",", "}"),
        Layout::Braces => ("{", ", ", "}"),
    };
    push(out, open);
    for (resource, count) in inventory.iter() {
        let shown = match (resource, words.layout) {
            (Resource::Food, Layout::Braces) => life_units,
            _ => count,
        };
        if resource != Resource::ALL[0] {
            push(out, between);
        }
        push(out, words.resource_word(resource));
        push_spaced(out, shown);
    }
    push(out, close);
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_in_pieces_is_the_same_line() {
        let sight = |agents, ground, eggs| Sight {
            agents,
            ground: Counts(ground),
            eggs,
        };
        let sights = [
            sight(3, [2, 0, 1, 0, 0, 0, 0], 1),
            sight(0, [0; 7], 0),
            sight(0, [0, 0, 0, 0, 0, 0, 2], 0),
            sight(0, [0; 7], 0),
        ];
        for dialect in Dialect::ALL {
            let mut whole = Vec::new();
            write_ai_line(&mut whole, dialect, &AiLine::Look(Cow::Borrowed(&sights)));
            for bytes in 1..40 {
                let mut look = LongLook::new(dialect, sights.to_vec());
                let (mut out, mut piece) = (Vec::new(), Vec::new());
                while !look.write_on(&mut piece, bytes) {
                    assert!(piece.len() < bytes + 16, "a piece is as long as it may be");
                    out.append(&mut piece);
                }
                out.append(&mut piece);
                assert_eq!(out, whole);
            }
        }
    }
}
