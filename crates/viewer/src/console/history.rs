//! The line being typed, the lines typed before, and what was said to them.

use std::collections::VecDeque;

use super::Vocabulary;
use super::commands::complete;

/// Lines that can be gone back to: more than a user types in a session.
const HISTORY_MAX: usize = 100;
/// Lines of answers kept: all values and all keys, and what was said before.
const SAID_MAX: usize = 200;
/// Longest line that is taken, in bytes: a pasted file is not a command.
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
        let mut end = line.len().min(LINE_BYTES_MAX);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        self.entered.push_back(line[..end].to_owned());
    }

    /// The oldest command that was entered and not yet carried out.
    pub fn take_entered(&mut self) -> Option<String> {
        self.entered.pop_front()
    }

    pub fn answer(&mut self, line: &str, answer: Result<String, String>) {
        self.say(Said::Asked(line.to_owned()));
        let (text, said): (String, fn(String) -> Said) = match answer {
            Ok(text) => (text, Said::Answered),
            Err(text) => (text, Said::Refused),
        };
        for line in text.lines() {
            self.say(said(line.to_owned()));
        }
    }

    pub fn said(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.said.iter()
    }

    pub fn clear(&mut self) {
        self.said.clear();
    }

    /// Goes back (`true`) or forward in the history; what was being typed comes back at its end.
    pub fn look(&mut self, back: bool) {
        let (place, typed) = match (&self.looking_back, back) {
            (None, true) if !self.history.is_empty() => (1, self.line.clone()),
            (Some((place, typed)), true) => ((place + 1).min(self.history.len()), typed.clone()),
            (Some((1, typed)), false) => {
                self.line = typed.clone();
                self.was_replaced = true;
                self.looking_back = None;
                return;
            }
            (Some((place, typed)), false) => (place - 1, typed.clone()),
            (None, _) => return,
        };
        self.line = self.history[self.history.len() - place].clone();
        self.was_replaced = true;
        self.looking_back = Some((place, typed));
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
    fn answers_and_refusals_are_told_apart_and_bounded() {
        let mut console = Console::default();
        console.answer("pause", Ok(String::new()));
        console.answer("fly", Err("there is\nno such command".to_owned()));
        let said: Vec<&Said> = console.said().collect();
        assert_eq!(said[0], &Said::Asked("pause".into()));
        assert_eq!(said[3], &Said::Refused("no such command".into()));
        for _ in 0..SAID_MAX {
            console.answer("x", Ok("y".into()));
        }
        assert_eq!(console.said().count(), SAID_MAX);
        console.clear();
        assert_eq!(console.said().count(), 0);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let console = entered(&["ö".repeat(LINE_BYTES_MAX).as_str()]);
        assert!(console.entered[0].len() <= LINE_BYTES_MAX);
    }
}
