//! What an agent is sent: one value, one line, written by a server and read by an agent.
//!
//! No line ever holds a carriage return, and none but the text of a broadcast is longer than what is in sight.

use std::sync::Arc;

use trantor_model::{Counts, Level, MapSize, Percept, Resource, Sight};

use super::dialect::{Dialect, Layout, Words};
use super::line::{parse_number, push_number, push_spaced, without_nuls_before, words};

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
    /// What it perceives. As they are read: a look from a 42 dialect may lack the looker, and of an inventory both numbers
    /// are the food that was sent, which in these dialects is units of life. The number of places is
    /// also the first line of an accepted agent, and `ko` is what a refused one gets.
    Percept(Percept),
    /// The agent died. The connection ends after this line.
    Dead,
    /// The second line of [`Self::Accepted`] as it is read: the map's width and height.
    Size(u32, u32),
    /// Both of its lines in one, as some servers send them.
    PlacesAndSize(u32, u32, u32),
    /// A line in words of another server's own.
    Unknown(&'a [u8]),
}

impl From<Percept> for AiLine<'_> {
    fn from(percept: Percept) -> Self {
        Self::Percept(percept)
    }
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
        AiLine::Percept(ref percept) => return write_percept(out, dialect, percept),
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

/// Appends the line in which an agent is sent what it perceives, with its end.
pub fn write_percept(out: &mut Vec<u8>, dialect: Dialect, percept: &Percept) {
    let words = dialect.words();
    match *percept {
        Percept::Ok => push(out, "ok"),
        Percept::Ko => push(out, "ko"),
        Percept::Look(ref sights) => {
            push_look(out, words, sights, &mut LookPlace::default(), usize::MAX);
        }
        Percept::Inventory {
            ref inventory,
            life_units,
        } => push_inventory(out, words, inventory, life_units),
        Percept::Places(places) => push_number(out, places),
        Percept::Message { direction, ref text } => {
            push(out, "message ");
            push_number(out, u32::from(direction));
            push(out, words.message_separator);
            out.extend_from_slice(text);
        }
        Percept::Pushed { direction } => {
            push(out, words.ejected);
            push_number(out, u32::from(direction));
        }
        Percept::ElevationUnderway => push(out, words.elevation_underway),
        Percept::Level(level) => {
            push(out, words.current_level);
            push_number(out, u32::from(level.get()));
        }
    }
    out.push(b'\n');
}

/// A look that is written piece by piece, since it may be of any length.
#[derive(Clone, Debug)]
pub struct LongLook {
    dialect: Dialect,
    /// Shared by all that see the same.
    sights: Arc<[Sight]>,
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
    pub fn new(dialect: Dialect, sights: Arc<[Sight]>) -> Self {
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

/// Understands one line, without its end.
pub fn parse_server_line(dialect: Dialect, line: &[u8]) -> AiLine<'_> {
    let vocabulary = dialect.words();
    let line = without_nuls_before(line);
    let trimmed = line.trim_ascii();
    let known = match trimmed {
        b"ok" => Some(AiLine::Percept(Percept::Ok)),
        b"ko" => Some(AiLine::Percept(Percept::Ko)),
        [b'[' | b'{', ..] => list(trimmed),
        [b'0'..=b'9', ..] => numbers(trimmed),
        _ if trimmed.starts_with(b"message ") => message(vocabulary, line),
        _ => sentence(vocabulary, trimmed),
    };
    known
        .or_else(|| bare_list(trimmed))
        .unwrap_or(AiLine::Unknown(line))
}

/// `9` or `10 10`, or both as one line.
fn numbers(line: &[u8]) -> Option<AiLine<'static>> {
    let mut numbers = words(line).map(parse_number);
    let first = numbers.next()??;
    let Some(second) = numbers.next() else {
        return Some(Percept::Places(first).into());
    };
    match (second, numbers.next(), numbers.next()) {
        (Some(second), None, _) => Some(AiLine::Size(first, second)),
        (Some(second), Some(Some(third)), None) => Some(AiLine::PlacesAndSize(first, second, third)),
        _ => None,
    }
}

/// `message K, TEXT`. The one space after the comma is a dialect's or part of the text.
fn message(vocabulary: &Words, line: &[u8]) -> Option<AiLine<'static>> {
    let rest = line.trim_ascii_start().strip_prefix(b"message ")?;
    let comma = rest.iter().position(|&byte| byte == b',')?;
    let direction = direction(&rest[..comma])?;
    let text = &rest[comma + 1..];
    let text = match text.strip_prefix(b" ") {
        Some(stripped) if vocabulary.message_separator == ", " => stripped,
        _ => text,
    };
    let text = text.into();
    Some(Percept::Message { direction, text }.into())
}

/// The lines that are words: greeting, elevation, level, push, death. Case and colons vary between servers.
fn sentence(vocabulary: &Words, line: &[u8]) -> Option<AiLine<'static>> {
    let after = |prefix: &str| strip_prefix_any_case(line, prefix.trim_end());
    if line == vocabulary.greeting.as_bytes() {
        return Some(AiLine::Welcome);
    }
    if line.eq_ignore_ascii_case(vocabulary.dead.as_bytes()) {
        return Some(AiLine::Dead);
    }
    let current_level = without_colon(vocabulary.current_level);
    let level = |rest| {
        let number = parse_number(after_colon(rest)).and_then(|level| u8::try_from(level).ok())?;
        Level::new(number).ok().map(|level| Percept::Level(level).into())
    };
    if let Some(rest) = after("elevation") {
        // Many servers of School 42 send the end on the same line as the beginning.
        let reached = (0..rest.len()).find_map(|at| strip_prefix_any_case(&rest[at..], current_level));
        return reached
            .and_then(level)
            .or(Some(Percept::ElevationUnderway.into()));
    }
    if let Some(rest) = after(current_level) {
        return level(rest);
    }
    let rest = after(without_colon(vocabulary.ejected))?;
    direction(after_colon(rest)).map(|direction| Percept::Pushed { direction }.into())
}

/// `[ … ]` or `{ … }`: an inventory if its items are words with numbers, else what is in sight.
fn list(line: &[u8]) -> Option<AiLine<'static>> {
    let inside = &line[1..];
    match inside.split_last() {
        Some((b']' | b'}', inside)) => look_or_inventory(inside),
        _ => None,
    }
}

/// As `list`, without brackets, as some servers write it: commas between words that are all known.
fn bare_list(line: &[u8]) -> Option<AiLine<'static>> {
    let is_known =
        |word| is_player(word) || is_egg(word) || resource(word).is_some() || parse_number(word).is_some();
    let is_list = line.contains(&b',') && items(line).all(|item| names(item).all(is_known));
    is_list.then(|| look_or_inventory(line)).flatten()
}

/// `None` for an inventory in which no name is known: an agent that took it for an empty one would think it starves.
fn look_or_inventory(list: &[u8]) -> Option<AiLine<'static>> {
    let is_inventory = items(list).any(|item| names(item).any(|word| parse_number(word).is_some()));
    if !is_inventory {
        return Some(Percept::Look(items(list).map(sight).collect()).into());
    }
    let mut carried = None;
    for item in items(list) {
        let mut pair = names(item);
        if let (Some(name), Some(count), None) = (pair.next(), pair.next(), pair.next())
            && let (Some(resource), Some(count)) = (resource(name), parse_number(count))
        {
            carried.get_or_insert(Counts::ZERO)[resource] = count;
        }
    }
    carried.map(|inventory| {
        let life_units = inventory[Resource::Food];
        AiLine::Percept(Percept::Inventory {
            inventory,
            life_units,
        })
    })
}

fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b',')
}

/// The words of an item, and its numbers; some servers write colons between them.
fn names(item: &[u8]) -> impl Iterator<Item = &[u8]> {
    item.split(|&byte| byte == b':').flat_map(words)
}

fn is_player(word: &[u8]) -> bool {
    any_dialect().any(|vocabulary| vocabulary.player.as_bytes() == word)
}

fn is_egg(word: &[u8]) -> bool {
    any_dialect().any(|vocabulary| vocabulary.egg.as_bytes() == word)
}

fn resource(word: &[u8]) -> Option<Resource> {
    any_dialect().find_map(|vocabulary| vocabulary.resource(word))
}

/// Things are known by their names in every dialect: some servers mix them.
fn any_dialect() -> impl Iterator<Item = &'static Words> {
    Dialect::ALL.into_iter().map(Dialect::words)
}

/// What is named on one tile; words that are not known are left out.
fn sight(item: &[u8]) -> Sight {
    let mut sight = Sight::default();
    for word in names(item) {
        if is_player(word) {
            sight.agents = sight.agents.saturating_add(1);
        } else if is_egg(word) {
            sight.eggs = sight.eggs.saturating_add(1);
        } else if let Some(resource) = resource(word) {
            let count: &mut u32 = &mut sight.ground[resource];
            *count = count.saturating_add(1);
        }
    }
    sight
}

/// A direction of arrival, 0 to 8.
fn direction(digits: &[u8]) -> Option<u8> {
    let number = parse_number(digits.trim_ascii())?;
    u8::try_from(number).ok().filter(|&direction| direction <= 8)
}

fn without_colon(words: &str) -> &str {
    words.trim_end_matches([' ', ':'])
}

/// What follows an optional colon, without the spaces around it.
fn after_colon(rest: &[u8]) -> &[u8] {
    let rest = rest.trim_ascii();
    rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start()
}

fn strip_prefix_any_case<'a>(line: &'a [u8], prefix: &str) -> Option<&'a [u8]> {
    let (head, rest) = line.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix.as_bytes()).then_some(rest)
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
            write_percept(&mut whole, dialect, &Percept::Look(sights.into()));
            for bytes in 1..40 {
                let mut look = LongLook::new(dialect, sights[..].into());
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
