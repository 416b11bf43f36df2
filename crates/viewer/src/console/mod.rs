//! The command line of the debugging view: the table of commands, completion, history and output.
//!
//! `game_loop::commands` executes commands; nothing here knows whether they are typed into a window or a terminal.

mod commands;

use std::collections::VecDeque;

use self::commands::complete;

pub use self::commands::{Command, Vocabulary};

/// Lines of history: more than a user types in a session.
const HISTORY_MAX: usize = 100;
/// Lines of answers kept: all values, all keys and some before.
const OUTPUT_MAX: usize = 200;
/// Longest command, in bytes: a pasted file is none.
const LINE_BYTES_MAX: usize = 512;

#[derive(Clone, Debug, Default)]
pub struct Console {
    pub line: String,
    /// Whether the line was changed from here, so that the view puts the cursor at its end.
    pub was_replaced: bool,
    history: Vec<String>,
    /// The line of the history that is shown, counted from its end, and the line typed before.
    looking_back: Option<(usize, String)>,
    pub output: VecDeque<Output>,
    entered: VecDeque<String>,
    vocabulary: Vocabulary,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Command(String),
    Answer(String),
    Error(String),
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

    /// The oldest command that was entered and not yet executed.
    pub fn take_entered(&mut self) -> Option<String> {
        self.entered.pop_front()
    }

    pub fn answer(&mut self, line: &str, answer: Result<String, String>) {
        self.print(Output::Command(line.to_owned()));
        let (text, kind): (_, fn(String) -> Output) = match answer {
            Ok(text) => (text, Output::Answer),
            Err(text) => (text, Output::Error),
        };
        text.lines().for_each(|line| self.print(kind(line.to_owned())));
    }

    /// Goes back (`true`) or forward in the history; its end is the line typed before.
    pub fn recall(&mut self, back: bool) {
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

    /// Completes the word being typed, and lists the choices if there are several.
    pub fn complete(&mut self) {
        let (line, choices) = complete(&self.line, &self.vocabulary);
        self.was_replaced |= line != self.line;
        self.line = line;
        if !choices.is_empty() {
            self.print(Output::Answer(choices.join("  ")));
        }
    }

    pub fn set_vocabulary(&mut self, vocabulary: Vocabulary) {
        self.vocabulary = vocabulary;
    }

    fn print(&mut self, line: Output) {
        if self.output.len() == OUTPUT_MAX {
            self.output.pop_front();
        }
        self.output.push_back(line);
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
            console.recall(back);
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
        let refused = |text: &str| Output::Error(text.to_owned());
        assert_eq!(
            console.output,
            [
                Output::Command("fly".into()),
                refused("there is"),
                refused("no such command")
            ]
        );
        for _ in 0..OUTPUT_MAX {
            console.answer("x", Ok("y".into()));
        }
        assert_eq!(console.output.len(), OUTPUT_MAX);
    }
}
