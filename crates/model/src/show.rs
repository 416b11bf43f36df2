//! What agents and the server show to viewers of ours besides the game: notes, marks on the map, cards, announcements.
//!
//! It is no part of the game: no rule reads it, and no journal, save or digest has it. All of it is bounded here, so that
//! neither a script nor a server can show more than a screen has room for.

use serde::{Deserialize, Serialize};

use crate::{AgentId, MapSize, Tile};

/// Bytes of a note, of a mark's label, of a card's value and of an announcement: a line of a panel.
pub const SHOWN_TEXT_BYTES_MAX: usize = 120;

/// Bytes of the key of a mark and of the name of a card: a word or two.
pub const SHOWN_KEY_BYTES_MAX: usize = 32;

/// Marks of one owner: more cannot be told apart.
pub const MARKS_OF_OWNER_MAX: usize = 32;

/// Tiles of one mark: a path across a large map.
pub const MARK_TILES_MAX: usize = 64;

/// Cards of one owner: as many lines as a panel has room for.
pub const CARDS_OF_OWNER_MAX: usize = 16;

/// Who shows something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ShownBy {
    /// The server: its operators and its scenario.
    Server,
    /// An agent, for as long as it lives.
    Agent(AgentId),
}

/// A request to show something. Texts are cut at their limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Show {
    /// What the owner thinks, in place of its last note. An empty text removes it.
    Note(Box<str>),
    /// Marks tiles, in place of the owner's mark with this key. The oldest of too many marks makes room.
    Mark {
        /// Names the mark among those of its owner.
        key: Box<str>,
        /// What it shows.
        mark: TileMark,
    },
    /// Removes the mark with this key.
    Unmark {
        /// As in [`Show::Mark`].
        key: Box<str>,
    },
    /// A named value, in place of the owner's card of that name. An empty value removes it. The oldest of too many cards
    /// makes room.
    Card {
        /// Its name.
        name: Box<str>,
        /// Its value.
        value: Box<str>,
    },
    /// Announces something once.
    Announce(Box<str>),
    /// Removes the owner's note, marks and cards.
    Clear,
}

/// Marked tiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileMark {
    /// Tiles in the order of a path, at most [`MARK_TILES_MAX`].
    pub tiles: Vec<Tile>,
    /// Red, green and blue.
    pub colour: [u8; 3],
    /// Its label; may be empty.
    pub text: Box<str>,
}

impl TileMark {
    /// Whether its tiles are a path: each one step away from the one before.
    pub fn is_path(&self, map: MapSize) -> bool {
        let is_step = |pair: &[Tile]| {
            let (dx, dy) = map.shortest(pair[0], pair[1]);
            dx.abs() + dy.abs() == 1
        };
        self.tiles.len() > 1 && self.tiles.windows(2).all(is_step)
    }

    /// The tile that its label belongs to: the end of a path, or the one in the middle of the list.
    pub fn label_tile(&self, map: MapSize) -> Option<Tile> {
        match self.is_path(map) {
            true => self.tiles.last().copied(),
            false => self.tiles.get(self.tiles.len() / 2).copied(),
        }
    }
}

/// All that one owner shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// What it thinks; empty without a note.
    pub note: Box<str>,
    /// Marks with their keys, oldest first; at most [`MARKS_OF_OWNER_MAX`].
    pub marks: Vec<(Box<str>, TileMark)>,
    /// Names and values, oldest first; at most [`CARDS_OF_OWNER_MAX`].
    pub cards: Vec<(Box<str>, Box<str>)>,
}

impl Shown {
    /// Carries out a request within the limits; tiles off the map are left out. Answers whether anything changed.
    /// Announcements are not kept.
    pub fn apply(&mut self, show: Show, map: MapSize) -> bool {
        match show {
            Show::Note(text) => {
                let text = shown_text(&text, SHOWN_TEXT_BYTES_MAX);
                let changed = self.note != text;
                self.note = text;
                changed
            }
            Show::Mark { key, mut mark } => {
                mark.tiles.retain(|tile| map.contains(*tile));
                mark.tiles.truncate(MARK_TILES_MAX);
                mark.text = shown_text(&mark.text, SHOWN_TEXT_BYTES_MAX);
                put(&mut self.marks, &key, Some(mark), MARKS_OF_OWNER_MAX)
            }
            Show::Unmark { key } => put(&mut self.marks, &key, None, MARKS_OF_OWNER_MAX),
            Show::Card { name, value } => {
                let value = Some(shown_text(&value, SHOWN_TEXT_BYTES_MAX)).filter(|value| !value.is_empty());
                put(&mut self.cards, &name, value, CARDS_OF_OWNER_MAX)
            }
            Show::Announce(_) => false,
            Show::Clear => !std::mem::take(self).is_empty(),
        }
    }

    /// Whether nothing is shown.
    pub fn is_empty(&self) -> bool {
        self.note.is_empty() && self.marks.is_empty() && self.cards.is_empty()
    }

    /// Bytes it takes on a wire, about: those of its texts, and some for each entry and tile.
    pub fn bytes(&self) -> usize {
        let mark =
            |(key, mark): &(Box<str>, TileMark)| 8 + key.len() + mark.text.len() + 4 * mark.tiles.len();
        let card = |(name, value): &(Box<str>, Box<str>)| 2 + name.len() + value.len();
        let marks: usize = self.marks.iter().map(mark).sum();
        8 + self.note.len() + marks + self.cards.iter().map(card).sum::<usize>()
    }

    /// Whether all of it is within its limits and on the map.
    pub fn is_valid(&self, map: MapSize) -> bool {
        let fits = |text: &str| text.len() <= SHOWN_TEXT_BYTES_MAX;
        let is_key = |key: &str| key.len() <= SHOWN_KEY_BYTES_MAX;
        let is_mark = |(key, mark): &(Box<str>, TileMark)| {
            is_key(key)
                && fits(&mark.text)
                && mark.tiles.len() <= MARK_TILES_MAX
                && mark.tiles.iter().all(|tile| map.contains(*tile))
        };
        fits(&self.note)
            && self.marks.len() <= MARKS_OF_OWNER_MAX
            && self.marks.iter().all(is_mark)
            && self.cards.len() <= CARDS_OF_OWNER_MAX
            && self.cards.iter().all(|(name, value)| is_key(name) && fits(value))
    }
}

/// A text as it may be shown: [`is_shown`] characters, and cut between characters.
pub fn shown_text(text: &str, bytes_max: usize) -> Box<str> {
    let whole = &text[..text.floor_char_boundary(bytes_max)];
    if whole.chars().all(is_shown) {
        return whole.into();
    }
    // Characters of one byte or more become a space of one: no text grows.
    let printable = whole.chars().map(|char| if is_shown(char) { char } else { ' ' });
    printable.collect()
}

/// Whether a character of somebody else's text may be printed, in a terminal, a log or a report: none that controls a
/// terminal, turns the direction of what stands around it, begins a line, or is nothing but a hidden mark.
pub const fn is_shown(char: char) -> bool {
    !matches!(char,
        // Control characters of ASCII and of ISO 6429.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Marks, embeddings, overrides and isolates of direction, and their deprecated relatives.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        // Ends of lines and paragraphs.
        | '\u{2028}' | '\u{2029}'
        // The byte order mark, annotations, and tags.
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Sets or removes an entry; answers whether anything changed.
fn put<T: PartialEq>(
    entries: &mut Vec<(Box<str>, T)>,
    key: &str,
    value: Option<T>,
    entries_max: usize,
) -> bool {
    let key = shown_text(key, SHOWN_KEY_BYTES_MAX);
    let place = entries.iter().position(|(other, _)| *other == key);
    match (place, value) {
        (Some(place), Some(value)) => {
            let changed = entries[place].1 != value;
            entries[place].1 = value;
            changed
        }
        (Some(place), None) => {
            entries.remove(place);
            true
        }
        (None, Some(value)) => {
            if entries.len() == entries_max {
                entries.remove(0);
            }
            entries.push((key, value));
            true
        }
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(key: &str, tiles: impl IntoIterator<Item = (u16, u16)>) -> Show {
        let tiles = tiles.into_iter().map(|(x, y)| Tile { x, y });
        Show::Mark {
            key: key.into(),
            mark: TileMark {
                tiles: tiles.collect(),
                colour: [255, 0, 0],
                text: "here".into(),
            },
        }
    }

    #[test]
    fn what_an_owner_shows_stays_within_its_limits_and_on_the_map() {
        let map = MapSize::new(10, 5).unwrap();
        let mut shown = Shown::default();
        assert!(shown.apply(Show::Note("é\n".repeat(100).into()), map));
        assert_eq!(
            *shown.note,
            "é ".repeat(SHOWN_TEXT_BYTES_MAX / 3),
            "cut between characters"
        );
        assert!(shown.apply(mark("path", (0..100).map(|x| (x % 12, 1))), map));
        assert_eq!(shown.marks[0].1.tiles.len(), MARK_TILES_MAX);
        for number in 0..MARKS_OF_OWNER_MAX {
            shown.apply(mark(&number.to_string(), [(9, 4)]), map);
            let (name, value) = (number.to_string().repeat(40).into(), "1".into());
            shown.apply(Show::Card { name, value }, map);
        }
        assert_eq!((shown.marks.len(), &*shown.marks[0].0), (MARKS_OF_OWNER_MAX, "0"));
        assert_eq!(shown.cards.len(), CARDS_OF_OWNER_MAX);
        assert!(shown.is_valid(map) && !shown.is_valid(MapSize::new(9, 5).unwrap()));
    }

    #[test]
    fn what_controls_a_terminal_or_turns_a_text_is_not_shown() {
        let hostile = "\x1b[2J\u{9b}2J\r\n\u{202e}gnp\u{2066}a\u{2069}\u{200f}b\u{2028}\u{feff}\u{e0041}";
        assert_eq!(&*shown_text(hostile, 100), " [2J 2J   gnp a  b   ");
        // What languages and pictures need stays.
        for text in ["é ñ ß", "שלום", "نمی\u{200c}خواهم", "👩\u{200d}🚀", "日本"] {
            assert_eq!(&*shown_text(text, 100), text);
        }
    }

    #[test]
    fn a_change_is_noticed_and_what_is_removed_is_gone() {
        let map = MapSize::new(10, 5).unwrap();
        let mut shown = Shown::default();
        let card = |value: &str| Show::Card {
            name: "food".into(),
            value: value.into(),
        };
        assert!(shown.apply(card("3"), map) && !shown.apply(card("3"), map) && shown.apply(card("4"), map));
        assert!(shown.apply(mark("a", [(1, 1)]), map) && !shown.apply(mark("a", [(1, 1)]), map));
        assert!(shown.apply(Show::Unmark { key: "a".into() }, map) && shown.apply(card(""), map));
        assert!(shown.is_empty() && !shown.apply(Show::Clear, map));
        assert!(shown.apply(Show::Note("hungry".into()), map) && shown.apply(Show::Clear, map));
        assert!(shown.is_empty());
    }
}
