//! What a server sends an agent, read back into values.

use trantor_model::{Counts, Level, Resource, Sight};

use crate::text::ai_reply::AiLine;
use crate::text::dialect::{Dialect, Words};
use crate::text::line::{without_nuls_before, words};
use crate::text::number::parse_number;

/// Understands one line, without its end.
pub fn parse_server_line(dialect: Dialect, line: &[u8]) -> AiLine<'_> {
    let vocabulary = dialect.words();
    let line = without_nuls_before(line);
    let trimmed = line.trim_ascii();
    let known = match trimmed {
        b"ok" => Some(AiLine::Ok),
        b"ko" => Some(AiLine::Ko),
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
        return Some(AiLine::Places(first));
    };
    match (second, numbers.next(), numbers.next()) {
        (Some(second), None, _) => Some(AiLine::Size(first, second)),
        (Some(second), Some(Some(third)), None) => Some(AiLine::PlacesAndSize(first, second, third)),
        _ => None,
    }
}

/// `message K, TEXT`. The one space after the comma is a dialect's or part of the text.
fn message<'a>(vocabulary: &Words, line: &'a [u8]) -> Option<AiLine<'a>> {
    let rest = line.trim_ascii_start().strip_prefix(b"message ")?;
    let comma = rest.iter().position(|&byte| byte == b',')?;
    let direction = direction(&rest[..comma])?;
    let text = &rest[comma + 1..];
    let text = match text.strip_prefix(b" ") {
        Some(stripped) if vocabulary.message_separator == ", " => stripped,
        _ => text,
    };
    Some(AiLine::Message { direction, text })
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
        Level::new(number).ok().map(AiLine::CurrentLevel)
    };
    if let Some(rest) = after("elevation") {
        // Many servers of School 42 send the end on the same line as the beginning.
        let reached = (0..rest.len()).find_map(|at| strip_prefix_any_case(&rest[at..], current_level));
        return reached.and_then(level).or(Some(AiLine::ElevationUnderway));
    }
    if let Some(rest) = after(current_level) {
        return level(rest);
    }
    let rest = after(without_colon(vocabulary.ejected))?;
    direction(after_colon(rest)).map(|direction| AiLine::Ejected { direction })
}

/// `[ … ]` or `{ … }`: an inventory if its items are words with numbers, else what is in sight.
fn list(line: &[u8]) -> Option<AiLine<'static>> {
    let inside = &line[1..];
    match inside.split_last() {
        Some((b']' | b'}', inside)) => look_or_inventory(inside),
        _ => None,
    }
}

/// The same without brackets, as some servers write it: commas between words that are all known.
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
        return Some(AiLine::Look(items(list).map(sight).collect()));
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
    carried.map(|inventory| AiLine::Inventory {
        inventory,
        life_units: inventory[Resource::Food],
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
