//! The commands of the command line: one table for parsing, help and completion.

use crate::input::Action;

/// All commands in the order of `help`: name, arguments, meaning.
///
/// Completion reads the arguments: words in lower case are literal, for names in capitals see
/// [`Vocabulary::choices`].
const COMMANDS: [&str; 23] = [
    "help [COMMAND] — list all commands, or one",
    "speed UNITS_PER_SECOND | max — set the game's speed",
    "pause — pause the game",
    "resume — resume the game",
    "step [unit | event | action] — while paused: to the next unit, the next event, or the end of an action",
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
    "record SECONDS [gif] [PER_SECOND] — record the window as an animated GIF",
    "scale FACTOR — set the size of the panels; remembered",
    "quality swift | fine | auto — set the render quality; auto follows the graphics adapter; remembered",
    "volume [PERCENT | off | on] — show or set the volume; remembered",
    "gpu lose | lose-surface | outdated | timeout — simulate a failure of the graphics device or the surface",
    "reconnect — reconnect to the server",
    "clear — clear this output",
    "quit — quit the viewer",
];

/// A command, as a line of [`COMMANDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: &'static str,
    /// Name and arguments.
    pub usage: &'static str,
    /// All of it.
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
    /// If there is none; the text names the one that is spelled much like it.
    pub fn named(name: &str) -> Result<Self, String> {
        Self::all().find(|command| command.name == name).ok_or_else(|| {
            let distances = Self::all().map(|near| (strsim::damerau_levenshtein(near.name, name), near.name));
            let nearest = distances.min().filter(|&(off, near)| off <= 1 + near.len() / 4);
            let near = nearest.map_or_else(String::new, |(_, near)| format!(", did you mean {near}?"));
            format!("there is no command {name:?}{near}; type help for all of them")
        })
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

/// Names that exist only in the running program.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    pub systems: Vec<&'static str>,
}

impl Vocabulary {
    /// The completions for a word of a command's arguments.
    fn choices(&self, word: &'static str) -> Vec<String> {
        let listed = match word {
            "SYSTEM" => &self.systems[..],
            "LEVEL" => &["off", "error", "warn", "info", "debug", "trace"],
            "TARGET" => &[
                "trantor_viewer",
                "trantor_client",
                "trantor_runtime",
                "wgpu_core",
                "wgpu_hal",
            ],
            "BEGINNING" => &["frames", "systems", "pending", "connection", "server"],
            "COMMAND" => return Command::all().map(|command| command.name.to_owned()).collect(),
            "ACTION" => return Action::ALL.iter().map(|action| action.name()).collect(),
            other if other.starts_with(char::is_lowercase) => &[other],
            _ => &[],
        };
        listed.iter().map(|&word| word.to_owned()).collect()
    }
}

/// Completes the last word of `line` as far as it is certain; returns also the choices, if there are several.
pub(super) fn complete(line: &str, vocabulary: &Vocabulary) -> (String, Vec<String>) {
    let begun = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    let before = &line[..line.len() - begun.len()];
    let mut words = before.split_whitespace();
    let slot = match words.next().map(Command::named) {
        None => vec!["COMMAND"],
        Some(command) => {
            let slots = command.map_or_else(|_| Vec::new(), Command::slots);
            slots.into_iter().nth(words.count()).unwrap_or_default()
        }
    };
    let choices = slot.into_iter().flat_map(|word| vocabulary.choices(word));
    let mut choices: Vec<String> = choices.filter(|choice| choice.starts_with(begun)).collect();
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

    #[test]
    fn a_word_is_completed_as_far_as_it_is_certain() {
        let vocabulary = Vocabulary {
            systems: vec!["input", "interpolation", "hud"],
        };
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
        ] {
            assert_eq!(complete(line, &vocabulary).0, completed, "{line:?}");
        }
        assert_eq!(complete("rate i", &vocabulary).1, ["input", "interpolation"]);
        assert_eq!(complete("", &vocabulary).1.len(), COMMANDS.len(), "nothing typed");
        let gpu = Command::named("gpu").unwrap().slots().concat();
        assert_eq!(gpu, Fault::NAMES);
    }
}
