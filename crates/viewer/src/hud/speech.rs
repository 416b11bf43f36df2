//! Broadcasts as people read them.
//!
//! Most broadcasts are for other programs: numbers and checksums without a space, several a second and team. So the
//! broadcasts of a team without a pause between them are one [`Talk`] with a counter; only text for people is spelled
//! out, and the last few broadcasts are kept as they came, for the tooltip.

use std::collections::VecDeque;

use trantor_client::Who;
use trantor_model::{AgentId, TeamId};
use trantor_protocol::text::printable;

/// Units of silence after which a team's next words are another talk.
const SILENCE_UNITS: i128 = 300;
/// Units for which a talk keeps its place in a list though it goes on: where everybody talks all the time, lines that
/// went to the top with each word could not be read.
const PLACE_UNITS: i128 = 300;
/// Of a talk, what is kept as it was said.
const KEPT_MAX: usize = 6;
/// The longest stretch without a space, in characters, that a person is asked to read: longer words are rare in any
/// language that writes with spaces, and keys and ciphers are mostly longer.
const STRETCH_MAX: usize = 24;

/// Whether words are for people: at least two thirds of their characters, spaces left out, are letters of any script,
/// and no stretch of ASCII without a space is longer than 24. Everything else is for programs.
///
/// It is a guess, and a wrong one does little harm: a code that looks like a word is spelled out, and what is taken
/// for a code is counted and can still be looked at.
pub fn is_for_people(words: &[u8]) -> bool {
    let words = String::from_utf8_lossy(words);
    let (mut letters, mut others) = (0, 0);
    for letter in words.chars().filter(|letter| !letter.is_whitespace()) {
        let count = if letter.is_alphabetic() {
            &mut letters
        } else {
            &mut others
        };
        *count += 1;
    }
    let is_short = |stretch: &str| !stretch.is_ascii() || stretch.len() <= STRETCH_MAX;
    letters > 0 && letters >= 2 * others && words.split_whitespace().all(is_short)
}

/// Words as one line of at most `most` characters, with an ellipsis where that is not all. What would control a screen
/// is left out.
pub fn line(words: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(words);
    let mut letters = printable(&text);
    let mut line: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}

/// What a team says in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Talk {
    /// Who says it.
    pub team: TeamId,
    /// How often somebody of it spoke.
    pub count: u32,
    placed: i128,
    last: i128,
    kept: VecDeque<(AgentId, Box<[u8]>)>,
}

impl Talk {
    /// Begins with somebody's words.
    pub fn new(units: i128, who: Who, words: &[u8]) -> Self {
        Self {
            team: who.team,
            count: 1,
            placed: units,
            last: units,
            kept: VecDeque::from([(who.agent, words.into())]),
        }
    }

    /// In which unit it took its place in its list.
    pub fn placed(&self) -> i128 {
        self.placed
    }

    /// Whether what `team` says in that unit belongs to it.
    pub fn goes_on(&self, units: i128, team: TeamId) -> bool {
        self.team == team && units - self.last <= SILENCE_UNITS
    }

    /// Adds somebody's words; answers whether the line of the talk now goes to the top of its list.
    pub fn add(&mut self, units: i128, who: Who, words: &[u8]) -> bool {
        self.count = self.count.saturating_add(1);
        self.last = units;
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((who.agent, words.into()));
        let is_due = units - self.placed > PLACE_UNITS;
        if is_due {
            self.placed = units;
        }
        is_due
    }

    /// The last things said, as they came, the newest first.
    pub fn kept(&self) -> impl Iterator<Item = (AgentId, &[u8])> {
        self.kept.iter().rev().map(|(agent, words)| (*agent, &**words))
    }

    /// The newest words that are for people, if any of the last few are.
    pub fn for_people(&self) -> Option<(AgentId, &[u8])> {
        self.kept().find(|(_, words)| is_for_people(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_people_are_told_from_codes() {
        for words in [
            "come here",
            "level 4, need two more at my tile",
            "Hilfe!",
            "où es-tu ?",
            "надо еще два",
            "我在这里等你们带着石头过来一起升级需要两个人快来这里",
            "need 100 food",
            "red:incantation:4",
        ] {
            assert!(is_for_people(words.as_bytes()), "{words}");
        }
        for words in [
            "",
            "  ",
            "42",
            "t1.3815615345.7.s.2.19.1.0.0.2.0.0.2877912345",
            "12;7;3|4;0;0",
            "{\"x\":3,\"y\":12}",
            "5f4dcc3b5aa765d61d8327deb882cf99",
            "qpzmxvwkjhgfdsalkjqwertyuiopzmx",
            "say aGVsbG8gdGhlcmUgaG93IGFyZSB5b3U",
        ] {
            assert!(!is_for_people(words.as_bytes()), "{words}");
        }
        assert!(
            is_for_people(b"o\xf9 est-tu"),
            "as servers write that know nothing of Unicode"
        );
        assert!(!is_for_people(&[0xff, 0xfe, b'y', 0x90]));
    }

    #[test]
    fn a_line_is_cut_and_never_controls_the_screen() {
        assert_eq!(line(b"hello", 5), "hello");
        assert_eq!(line(b"hello", 4), "hell…");
        assert_eq!(line(b"a\x07b\nc\x1b", 10), "abc");
        assert_eq!(line(&[0xff, b'x'], 10), "\u{fffd}x");
        assert_eq!(line(&[b'x'; 300], 256).chars().count(), 257);
    }

    #[test]
    fn a_team_talks_until_it_is_silent_and_its_line_seldom_moves() {
        let who = |agent| Who {
            agent: AgentId(agent),
            team: TeamId(1),
        };
        let mut talk = Talk::new(100, who(7), b"hello");
        assert!(!talk.add(110, who(8), b"t1.7.8"));
        assert_eq!(talk.for_people(), Some((AgentId(7), &b"hello"[..])));
        for number in 0..KEPT_MAX {
            assert!(!talk.add(400, who(number as u32), b"t1.7.9"));
        }
        assert_eq!(
            (talk.count, talk.for_people()),
            (8, None),
            "the words are long gone"
        );
        assert_eq!(talk.kept().count(), KEPT_MAX);
        assert_eq!(talk.kept().next(), Some((AgentId(5), &b"t1.7.9"[..])));
        assert!(talk.add(401, who(7), b"t1.7.9"), "it stood long enough");
        assert!(!talk.add(402, who(7), b"t1.7.9"));
        assert!(talk.goes_on(702, TeamId(1)));
        assert!(!talk.goes_on(703, TeamId(1)) && !talk.goes_on(403, TeamId(2)));
    }
}
