//! The words of the command line: one table for understanding, help and completion.

use trantor_render::gpu::surface::Forced;

/// A word that begins a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// What may follow it.
    pub follows: &'static str,
    /// What it does.
    pub does: &'static str,
    /// What the words after it can be, in their order, for completion.
    pub(super) slots: &'static [Slot],
}

/// What can stand in a place of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    System,
    Command,
    Action,
    Timer,
    Value,
    OneOf(&'static [&'static str]),
    Anything,
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
const PACES: [&str; 5] = ["uncapped", "off", "on", "grid", "spacing"];

/// All words, in the order in which help lists them.
pub const WORDS: [Word; 27] = [
    word("help", "[COMMAND]", "all commands, or one", &[Slot::Command]),
    word(
        "speed",
        "UNITS_PER_SECOND | max",
        "the game's speed",
        &[Slot::OneOf(&["max"])],
    ),
    word("pause", "", "stops game time", &[]),
    word("resume", "", "lets game time go on", &[]),
    word(
        "step",
        "[unit | event | action]",
        "while paused: one unit on, to the next event, or to the end of an action",
        &[Slot::OneOf(&["unit", "event", "action"])],
    ),
    word(
        "rate",
        "[SYSTEM [PER_SECOND | uncapped | off | on | grid | spacing]]",
        "how often a system is called; all of them without a name",
        &[Slot::System, Slot::OneOf(&PACES)],
    ),
    word(
        "frames",
        "PER_SECOND | auto",
        "frames to aim at, whatever the display says",
        &[Slot::OneOf(&["auto"])],
    ),
    word(
        "lag",
        "[MS [JITTER_MS] | off]",
        "makes the way to the server longer, both ways",
        &[Slot::OneOf(&["off"])],
    ),
    word(
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
    word("values", "[BEGINNING]", "published values", &[Slot::Value]),
    word("timers", "", "what is waited for", &[]),
    word(
        "remind",
        "SECONDS TEXT",
        "shows TEXT after so long",
        &[Slot::Anything],
    ),
    word("cancel", "TIMER", "takes a timer back", &[Slot::Timer]),
    word("keys", "[ACTION]", "which key does what", &[Slot::Action]),
    word(
        "bind",
        "ACTION KEY…",
        "gives an action other keys, and remembers them",
        &[Slot::Action],
    ),
    word(
        "unbind",
        "ACTION",
        "gives an action its usual keys again",
        &[Slot::Action],
    ),
    word("do", "ACTION", "the same as its key", &[Slot::Action]),
    word("goto", "X Y", "looks at a tile", &[Slot::Anything]),
    word(
        "seek",
        "UNITS",
        "moves a recording to that moment",
        &[Slot::Anything],
    ),
    word(
        "record",
        "SECONDS [gif | png] [PER_SECOND]",
        "the pictures of so long into a file that moves, or into numbered files",
        &[Slot::Anything, Slot::OneOf(&["gif", "png"])],
    ),
    word(
        "scale",
        "FACTOR",
        "how large the panels are, remembered",
        &[Slot::Anything],
    ),
    word(
        "quality",
        "swift | fine | auto",
        "how much beauty the picture has, remembered; auto is what the graphics adapter affords",
        &[Slot::OneOf(&["swift", "fine", "auto"])],
    ),
    word(
        "volume",
        "[PERCENT | off | on]",
        "how loud it is, remembered",
        &[Slot::OneOf(&["off", "on"])],
    ),
    word(
        "gpu",
        "lose | lose-surface | outdated | timeout",
        "loses the graphics device, or the window's surface, as a driver that crashes would",
        &[Slot::OneOf(&Forced::NAMES)],
    ),
    word("reconnect", "", "leaves the server and joins again", &[]),
    word("clear", "", "forgets what was said here", &[]),
    word("quit", "", "ends the viewer", &[]),
];

const fn word(name: &'static str, follows: &'static str, does: &'static str, slots: &'static [Slot]) -> Word {
    Word {
        name,
        follows,
        does,
        slots,
    }
}

/// A word with what may follow it.
pub fn usage_of(word: &Word) -> String {
    match word.follows {
        "" => word.name.to_owned(),
        follows => format!("{} {follows}", word.name),
    }
}
