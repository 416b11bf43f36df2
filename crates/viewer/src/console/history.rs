//! The line being typed, the lines typed before, and the answers.

use std::collections::VecDeque;

use super::Vocabulary;
use super::commands::complete;

/// Lines of history: more than a user types in a session.
const HISTORY_MAX: usize = 100;
/// Lines of answers kept: all values, all keys and some before.
const SAID_MAX: usize = 200;
/// Longest command, in bytes: a pasted file is none.
const LINE_BYTES_MAX: usize = 512;

#[derive(Clone, Debug, Default)]
pub struct Console {
    pub line: String,
    /// Whether the line was changed from here, so that the view puts the cursor at its end.
    pub was_replaced: bool,
    history: Vec<String>,
    /// The place in the history that is shown, counted from its end; and what was typed before that.
    looking_back: Option<(usize, String)>,
    said: VecDeque<Said>,
    entered: VecDeque<String>,
    vocabulary: Vocabulary,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Asked(String),
    Answered(String),
    /// In answer to what could not be done.
    Refused(String),
}

impl Console {
    pub fn enter(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.looking_back = None;
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if self.history.last().is_none_or(|last| last != line) {
            if self.history.len() == HISTORY_MAX {
                self.history.remove(0);
            }
            self.history.push(line.to_owned());
        }
        let end = line.floor_char_boundary(LINE_BYTES_MAX);
        self.entered.push_back(line[..end].to_owned());
    }

    /// The oldest command that was entered and not yet carried out.
    pub fn take_entered(&mut self) -> Option<String> {
        self.entered.pop_front()
    }

    pub fn answer(&mut self, line: &str, answer: Result<String, String>) {
        self.say(Said::Asked(line.to_owned()));
        let (text, said): (_, fn(String) -> Said) = match answer {
            Ok(text) => (text, Said::Answered),
            Err(text) => (text, Said::Refused),
        };
        text.lines().for_each(|line| self.say(said(line.to_owned())));
    }

    pub fn said(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.said.iter()
    }

    pub fn clear(&mut self) {
        self.said.clear();
    }

    /// Goes back (`true`) or forward in the history; what was being typed comes back at its end.
    pub fn look(&mut self, back: bool) {
        let place = self.looking_back.as_ref().map_or(0, |(place, _)| *place);
        let place = match back {
            true => (place + 1).min(self.history.len()),
            false => place.saturating_sub(1),
        };
        let typed = self.looking_back.take().map(|(_, typed)| typed);
        if place == 0 {
            self.line = typed.unwrap_or_else(|| std::mem::take(&mut self.line));
        } else {
            let line = self.history[self.history.len() - place].clone();
            let typed_now = std::mem::replace(&mut self.line, line);
            self.looking_back = Some((place, typed.unwrap_or(typed_now)));
        }
        self.was_replaced = true;
    }

    /// Completes the word being typed, and says what it could be if that is more than one.
    pub fn complete(&mut self) {
        let (line, choices) = complete(&self.line, &self.vocabulary);
        self.was_replaced |= line != self.line;
        self.line = line;
        if !choices.is_empty() {
            self.say(Said::Answered(choices.join("  ")));
        }
    }

    pub fn set_vocabulary(&mut self, vocabulary: Vocabulary) {
        self.vocabulary = vocabulary;
    }

    fn say(&mut self, said: Said) {
        if self.said.len() == SAID_MAX {
            self.said.pop_front();
        }
        self.said.push_back(said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(lines: &[&str]) -> Console {
        let mut console = Console::default();
        for line in lines {
            console.line = (*line).to_owned();
            console.enter();
        }
        console
    }

    #[test]
    fn the_history_is_walked_and_left_again() {
        let mut console = entered(&["pause", "  ", "step", "step", "speed 5"]);
        console.line = "ra".to_owned();
        let mut walked = Vec::new();
        for back in [true, true, true, true, false, false, false, false] {
            console.look(back);
            walked.push(console.line.clone());
        }
        assert_eq!(
            walked,
            ["speed 5", "step", "pause", "pause", "step", "speed 5", "ra", "ra"]
        );
        let commands: Vec<String> = std::iter::from_fn(|| console.take_entered()).collect();
        assert_eq!(commands, ["pause", "step", "step", "speed 5"]);
    }

    #[test]
    fn answers_lines_and_their_length_are_bounded() {
        let mut console = entered(&["ö".repeat(LINE_BYTES_MAX).as_str()]);
        assert!(console.entered[0].len() <= LINE_BYTES_MAX);
        console.answer("fly", Err("there is\nno such command".to_owned()));
        let refused = |text: &str| Said::Refused(text.to_owned());
        assert_eq!(
            console.said,
            [
                Said::Asked("fly".into()),
                refused("there is"),
                refused("no such command")
            ]
        );
        for _ in 0..SAID_MAX {
            console.answer("x", Ok("y".into()));
        }
        assert_eq!(console.said.len(), SAID_MAX);
    }
}
