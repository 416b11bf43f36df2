//! The command line of the debugging view: the table of commands, completion, history and output.
//!
//! `game_loop::commands` executes commands; nothing here knows whether they are typed into a window or a terminal.

use std::collections::VecDeque;

use trantor_model::names::did_you_mean_or;

use crate::input::Action;

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
    /// Names of the loop's systems, for completion.
    pub systems: Vec<&'static str>,
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

    /// Whether a command was entered and not yet executed.
    pub fn has_entered(&self) -> bool {
        !self.entered.is_empty()
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
        let (line, choices) = complete(&self.line, &self.systems);
        self.was_replaced |= line != self.line;
        self.line = line;
        if !choices.is_empty() {
            self.print(Output::Answer(choices.join("  ")));
        }
    }

    /// What can follow the line: commands with their meaning, or the choices of its last word.
    pub fn suggestions(&self) -> Vec<Output> {
        let (word, rest) = self.line.split_once(' ').unwrap_or((&self.line, ""));
        let named = Command::all().filter(|command| match rest.is_empty() && !self.line.ends_with(' ') {
            true => command.name.starts_with(word),
            false => command.name == word,
        });
        let mut lines: Vec<_> = named.map(|command| Output::Answer(command.help.into())).collect();
        let (_, choices) = complete(&self.line, &self.systems);
        if self.line.contains(' ') && !choices.is_empty() {
            lines.push(Output::Answer(choices.join("  ")));
        }
        lines
    }

    /// The last command and the answer to it.
    pub fn last_answer(&self) -> impl Iterator<Item = &Output> {
        let is_command = |output: &Output| matches!(output, Output::Command(_));
        let from = self.output.iter().rposition(is_command).unwrap_or_default();
        self.output.iter().skip(from)
    }

    fn print(&mut self, line: Output) {
        if self.output.len() == OUTPUT_MAX {
            self.output.pop_front();
        }
        self.output.push_back(line);
    }
}

/// All commands in the order of `help`: name, arguments, meaning.
///
/// Completion reads the arguments: words in lower case are literal, for names in capitals see
/// [`choices`].
const COMMANDS: [&str; 23] = [
    "help [COMMAND] — list all commands, or one",
    "speed UNITS_PER_SECOND | max — set the game's speed",
    "pause — pause the game",
    "resume — resume the game",
    "step [unit | event | action] — while paused: to the next unit, the next event, or the end of an action",
    "lag [off | radio | noisy | SETTING=VALUE… | TEAM:…] — show or set how messages between agents travel, as in lag speed=2 range=10",
    "rate [SYSTEM [PER_SECOND | uncapped | off | on | grid | spacing]] — show or set how often a system runs",
    "frames PER_SECOND | auto — set the frame rate; auto follows the display",
    "log [LEVEL [TARGET]] — show or set the log level: off, error, warn, info, debug, trace",
    "values [BEGINNING] — list the figures of the debugging view",
    "keys [ACTION] — list the key bindings",
    "bind ACTION KEY… — bind keys to an action; remembered",
    "unbind ACTION — restore the default keys of an action",
    "do ACTION — perform an action, as its key does",
    "goto X Y — look at a tile",
    "seek UNITS — seek in a recording",
    "record SECONDS [gif] [PER_SECOND] — record the window as a WebM, or as an animated GIF",
    "scale FACTOR — set the size of the panels; remembered",
    "quality swift | fine | auto — set the render quality; auto follows the graphics adapter; remembered",
    "gpu lose | lose-surface | outdated | timeout — simulate a failure of the graphics device or the surface",
    "reconnect — reconnect to the server",
    "clear — clear this output",
    "quit — quit the viewer",
];

/// A command, as a line of [`COMMANDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: &'static str,
    pub usage: &'static str,
    pub help: &'static str,
}

impl Command {
    pub fn all() -> impl Iterator<Item = Self> {
        COMMANDS.iter().map(|help| {
            let (usage, _) = help.split_once(" — ").unwrap_or((help, ""));
            let (name, _) = usage.split_once(' ').unwrap_or((usage, ""));
            Self { name, usage, help }
        })
    }

    /// The command of that name.
    ///
    /// # Errors
    /// If there is none; the text names the one with nearly the same letters.
    pub fn named(name: &str) -> Result<Self, String> {
        Self::all().find(|command| command.name == name).ok_or_else(|| {
            let known = Self::all().map(|known| known.name);
            format!(
                "unknown command {name:?}{}",
                did_you_mean_or(name, known, "help lists them all")
            )
        })
    }

    /// The words that may be typed behind the command as they are.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let is_word = |word: &&str| word.starts_with(char::is_lowercase);
        self.slots().into_iter().flatten().filter(is_word)
    }

    /// The alternatives of each argument, in order.
    fn slots(self) -> Vec<Vec<&'static str>> {
        let mut slots: Vec<Vec<_>> = Vec::new();
        let mut is_alternative = false;
        for word in self
            .usage
            .split([' ', '[', ']'])
            .filter(|word| !word.is_empty())
            .skip(1)
        {
            match slots.last_mut() {
                _ if word == "|" => {}
                Some(slot) if is_alternative => slot.push(word),
                _ => slots.push(vec![word]),
            }
            is_alternative = word == "|";
        }
        slots
    }
}

/// Levels of the log.
pub const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The completions for a word of a command's arguments.
fn choices(word: &'static str, systems: &[&'static str]) -> Vec<String> {
    let listed = match word {
        "SYSTEM" => systems,
        "LEVEL" => &LEVELS,
        "TARGET" => &[
            "trantor_viewer",
            "trantor_client",
            "trantor_runtime",
            "wgpu_core",
            "wgpu_hal",
        ],
        "BEGINNING" => &["frames", "systems", "pending", "connection", "server", "messages"],
        "COMMAND" => return Command::all().map(|command| command.name.to_owned()).collect(),
        "ACTION" => return Action::ALL.iter().map(|action| action.name()).collect(),
        other if other.starts_with(char::is_lowercase) => &[other],
        _ => &[],
    };
    listed.iter().map(|&word| word.to_owned()).collect()
}

/// Completes the last word of `line` as far as it is certain; returns also the choices, if there are several.
fn complete(line: &str, systems: &[&'static str]) -> (String, Vec<String>) {
    let partial = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    let before = &line[..line.len() - partial.len()];
    let mut words = before.split_whitespace();
    let slot = match words.next().map(Command::named) {
        None => vec!["COMMAND"],
        Some(command) => {
            let slots = command.map_or_else(|_| Vec::new(), Command::slots);
            slots.into_iter().nth(words.count()).unwrap_or_default()
        }
    };
    let choices = slot.into_iter().flat_map(|word| choices(word, systems));
    let mut choices: Vec<String> = choices.filter(|choice| choice.starts_with(partial)).collect();
    choices.sort_unstable();
    match choices.as_slice() {
        [] => (line.to_owned(), Vec::new()),
        [only] => (format!("{before}{only} "), Vec::new()),
        [first, .., last] => {
            // What the first and the last share in sorted order, all share.
            let pairs = first.char_indices().zip(last.chars());
            let shared = pairs.take_while(|((_, one), other)| one == other).last();
            let end = shared.map_or(0, |((at, letter), _)| at + letter.len_utf8());
            (format!("{before}{}", &first[..end]), choices)
        }
    }
}

#[cfg(test)]
mod tests {
    use trantor_render::gpu::surface::Fault;

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
        let [first, second] = ["there is", "no such command"].map(|text| Output::Error(text.to_owned()));
        assert_eq!(console.output, [Output::Command("fly".into()), first, second]);
        (0..OUTPUT_MAX).for_each(|_| console.answer("x", Ok("y".into())));
        assert_eq!(console.output.len(), OUTPUT_MAX);
    }

    #[test]
    fn a_word_is_completed_as_far_as_it_is_certain() {
        let systems = ["input", "interpolation", "hud"];
        for (line, completed) in [
            ("sp", "speed "),
            ("speed m", "speed max "),
            ("rate h", "rate hud "),
            ("rate i", "rate in"),
            ("rate hud unc", "rate hud uncapped "),
            ("values f", "values frames "),
            ("help lo", "help log "),
            ("bind hea", "bind heat-map "),
            ("xyz", "xyz"),
            ("pause ", "pause "),
            ("speed 1", "speed 1"),
            ("record 10 g", "record 10 gif "),
            ("lag r", "lag radio "),
        ] {
            assert_eq!(complete(line, &systems).0, completed, "{line:?}");
        }
        assert_eq!(complete("rate i", &systems).1, ["input", "interpolation"]);
        assert_eq!(complete("", &systems).1.len(), COMMANDS.len(), "nothing typed");
        let gpu = Command::named("gpu").unwrap().slots().concat();
        assert_eq!(gpu, Fault::NAMES);
    }
}
