//! The commands of the command line: one table for parsing, help and completion.

use trantor_render::gpu::surface::Fault;

use crate::input::Action;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: &'static str,
    arguments: &'static str,
    help: &'static str,
    /// What its arguments can be, in their order, for completion.
    slots: &'static [Slot],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    System,
    Command,
    Action,
    Timer,
    OneOf(&'static [&'static str]),
    Anything,
}

const FIGURES: [&str; 5] = ["frames", "systems", "pending", "connection", "server"];
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
const PACES: [&str; 5] = ["uncapped", "off", "on", "grid", "spacing"];

/// All commands, in the order in which help lists them.
pub const COMMANDS: [Command; 26] = [
    command("help", "[COMMAND]", "all commands, or one", &[Slot::Command]),
    command(
        "speed",
        "UNITS_PER_SECOND | max",
        "the game's speed",
        &[Slot::OneOf(&["max"])],
    ),
    command("pause", "", "stops game time", &[]),
    command("resume", "", "lets game time go on", &[]),
    command(
        "step",
        "[unit | event | action]",
        "while paused: one unit on, to the next event, or to the end of an action",
        &[Slot::OneOf(&["unit", "event", "action"])],
    ),
    command(
        "rate",
        "[SYSTEM [PER_SECOND | uncapped | off | on | grid | spacing]]",
        "how often a system is called; all of them without a name",
        &[Slot::System, Slot::OneOf(&PACES)],
    ),
    command(
        "frames",
        "PER_SECOND | auto",
        "frames to aim at, whatever the display says",
        &[Slot::OneOf(&["auto"])],
    ),
    command(
        "log",
        "[LEVEL [TARGET]]",
        "how much the log says: off, error, warn, info, debug, trace",
        &[
            Slot::OneOf(&LEVELS),
            Slot::OneOf(&[
                "trantor_viewer",
                "trantor_client",
                "trantor_runtime",
                "wgpu_core",
                "wgpu_hal",
            ]),
        ],
    ),
    command(
        "values",
        "[BEGINNING]",
        "the figures of the debugging view",
        &[Slot::OneOf(&FIGURES)],
    ),
    command("timers", "", "what is waited for", &[]),
    command(
        "remind",
        "SECONDS TEXT",
        "shows TEXT after so long",
        &[Slot::Anything],
    ),
    command("cancel", "TIMER", "takes a timer back", &[Slot::Timer]),
    command("keys", "[ACTION]", "which key does what", &[Slot::Action]),
    command(
        "bind",
        "ACTION KEY…",
        "gives an action other keys, and remembers them",
        &[Slot::Action],
    ),
    command(
        "unbind",
        "ACTION",
        "gives an action its usual keys again",
        &[Slot::Action],
    ),
    command("do", "ACTION", "the same as its key", &[Slot::Action]),
    command("goto", "X Y", "looks at a tile", &[Slot::Anything]),
    command(
        "seek",
        "UNITS",
        "moves a recording to that moment",
        &[Slot::Anything],
    ),
    command(
        "record",
        "SECONDS [gif | png] [PER_SECOND]",
        "the pictures of so long into a file that moves, or into numbered files",
        &[Slot::Anything, Slot::OneOf(&["gif", "png"])],
    ),
    command(
        "scale",
        "FACTOR",
        "how large the panels are, remembered",
        &[Slot::Anything],
    ),
    command(
        "quality",
        "swift | fine | auto",
        "how much beauty the picture has, remembered; auto is what the graphics adapter affords",
        &[Slot::OneOf(&["swift", "fine", "auto"])],
    ),
    command(
        "volume",
        "[PERCENT | off | on]",
        "how loud it is, remembered",
        &[Slot::OneOf(&["off", "on"])],
    ),
    command(
        "gpu",
        "lose | lose-surface | outdated | timeout",
        "loses the graphics device, or the window's surface, as a driver that crashes would",
        &[Slot::OneOf(&Fault::NAMES)],
    ),
    command("reconnect", "", "leaves the server and joins again", &[]),
    command("clear", "", "forgets what was said here", &[]),
    command("quit", "", "ends the viewer", &[]),
];

const fn command(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    slots: &'static [Slot],
) -> Command {
    Command {
        name,
        arguments,
        help,
        slots,
    }
}

impl Command {
    /// The command of that name.
    ///
    /// # Errors
    /// If there is none; the text names the one that is spelled much like it.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        COMMANDS
            .iter()
            .find(|command| command.name == name)
            .ok_or_else(|| {
                let names = COMMANDS.iter().map(|command| command.name);
                let near = names
                    .map(|near| (strsim::damerau_levenshtein(near, name), near))
                    .min()
                    .filter(|&(off, near)| off <= 1 + near.len() / 4)
                    .map(|(_, near)| format!(", did you mean {near}?"));
                let near = near.unwrap_or_default();
                format!("there is no command {name:?}{near}; type help for all of them")
            })
    }

    pub fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments).trim_end().to_owned()
    }

    pub fn help_line(&self) -> String {
        format!("{} — {}\n", self.usage(), self.help)
    }
}

/// Names that exist only in the running program.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    pub systems: Vec<&'static str>,
    pub timers: Vec<u64>,
}

/// Completes the last word of `line` as far as it is certain; answers also what it could be, if that is more than one.
pub(super) fn complete(line: &str, vocabulary: &Vocabulary) -> (String, Vec<String>) {
    let begun = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    let before = &line[..line.len() - begun.len()];
    let mut words = before.split_whitespace();
    let mut choices: Vec<String> = match words.next() {
        None => Slot::Command.choices(vocabulary),
        Some(first) => {
            let slot = Command::named(first)
                .ok()
                .and_then(|command| command.slots.get(words.count()));
            slot.map_or_else(Vec::new, |slot| slot.choices(vocabulary))
        }
    };
    choices.retain(|choice| choice.starts_with(begun));
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

impl Slot {
    fn choices(self, vocabulary: &Vocabulary) -> Vec<String> {
        match self {
            Self::System => vocabulary.systems.iter().map(|&name| name.to_owned()).collect(),
            Self::Command => COMMANDS.iter().map(|command| command.name.to_owned()).collect(),
            Self::Action => Action::ALL.iter().map(|action| action.name()).collect(),
            Self::Timer => vocabulary.timers.iter().map(u64::to_string).collect(),
            Self::OneOf(words) => words.iter().map(|&word| word.to_owned()).collect(),
            Self::Anything => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_completed_as_far_as_it_is_certain() {
        let vocabulary = Vocabulary {
            systems: vec!["input", "interpolation", "hud"],
            timers: vec![7],
        };
        for (line, completed) in [
            ("sp", "speed "),
            ("speed m", "speed max "),
            ("rate h", "rate hud "),
            ("rate i", "rate in"),
            ("rate hud unc", "rate hud uncapped "),
            ("cancel ", "cancel 7 "),
            ("values f", "values frames "),
            ("help lo", "help log "),
            ("bind hea", "bind heat-map "),
            ("xyz", "xyz"),
            ("pause ", "pause "),
            ("remind 5 lo", "remind 5 lo"),
            ("speed 1", "speed 1"),
        ] {
            assert_eq!(complete(line, &vocabulary).0, completed, "{line:?}");
        }
        assert_eq!(complete("rate i", &vocabulary).1, ["input", "interpolation"]);
        assert_eq!(complete("", &vocabulary).1.len(), COMMANDS.len(), "nothing typed");
    }
}
