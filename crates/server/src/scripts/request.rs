//! What passes between the loop and the thread of a script.
//!
//! Who sends what when is [`super::link`]'s to say for the loop, and [`super::worker`]'s for the thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};

use trantor_engine::minds::{Act, Newborn, Percept, Published, ScenarioAct};
use trantor_model::{AgentId, Counts, Direction, Level, MapSize, Sight, Tile};
use trantor_script::{Bytecode, Data, ScriptCounts, ScriptError, ScriptEvent};
use trantor_time::GameTime;

/// What a thread is started for.
pub(super) enum Role {
    Agents,
    Scenario { seed: u64 },
}

/// Something that an agent perceived, on its way to its script.
pub(super) enum Perceived {
    Ok,
    Ko,
    Look(Box<[Sight]>),
    Inventory(Counts),
    Places(u32),
    Message { direction: u8, text: Box<[u8]> },
    Pushed { direction: u8 },
    ElevationUnderway,
    Level(Level),
}

impl From<Percept<'_>> for Perceived {
    fn from(percept: Percept<'_>) -> Self {
        match percept {
            Percept::Ok => Self::Ok,
            Percept::Ko => Self::Ko,
            Percept::Look(sights) => Self::Look(sights.into()),
            Percept::Inventory(counts) => Self::Inventory(*counts),
            Percept::Places(places) => Self::Places(places),
            Percept::Message { direction, text } => Self::Message {
                direction,
                text: text.into(),
            },
            Percept::Pushed { direction } => Self::Pushed { direction },
            Percept::ElevationUnderway => Self::ElevationUnderway,
            Percept::Level(level) => Self::Level(level),
        }
    }
}

impl Perceived {
    pub(super) fn as_percept(&self) -> Percept<'_> {
        match self {
            Self::Ok => Percept::Ok,
            Self::Ko => Percept::Ko,
            Self::Look(sights) => Percept::Look(sights),
            Self::Inventory(counts) => Percept::Inventory(counts),
            Self::Places(places) => Percept::Places(*places),
            Self::Message { direction, text } => Percept::Message {
                direction: *direction,
                text,
            },
            Self::Pushed { direction } => Percept::Pushed {
                direction: *direction,
            },
            Self::ElevationUnderway => Percept::ElevationUnderway,
            Self::Level(level) => Percept::Level(*level),
        }
    }
}

/// A [`Newborn`] on its way.
pub(super) struct Birth {
    pub(super) agent: AgentId,
    pub(super) team: Box<str>,
    pub(super) index: u64,
    pub(super) seed: u64,
    pub(super) places: u32,
    pub(super) tile: Tile,
    pub(super) direction: Direction,
    pub(super) map: MapSize,
}

impl Birth {
    pub(super) fn as_newborn(&self) -> Newborn<'_> {
        Newborn {
            agent: self.agent,
            team: &self.team,
            index: self.index,
            seed: self.seed,
            places: self.places,
            tile: self.tile,
            direction: self.direction,
            map: self.map,
        }
    }
}

/// What a scenario takes in.
pub(super) enum Heard {
    Event(Box<str>, Data),
    Answer { id: u64, answer: Result<String, String> },
}

/// An agent of a script is born or gone.
pub(super) enum Change {
    Born { slot: u32, birth: Birth },
    Gone { slot: u32 },
}

/// What the loop asks of a script's thread. All but `Change` and `Resume` is answered, in order.
pub(super) enum Request {
    Decide {
        slot: u32,
        percepts: Vec<Perceived>,
        published: Published,
        now: GameTime,
    },
    Die {
        slot: u32,
        percepts: Vec<Perceived>,
        now: GameTime,
    },
    Change(Vec<Change>),
    Direct {
        heard: Vec<Heard>,
        published: Published,
        now: GameTime,
    },
    Replace(Bytecode),
    Resume,
}

pub(super) struct Answer {
    pub(super) what: Answered,
    pub(super) counts: ScriptCounts,
    pub(super) is_suspended: bool,
    pub(super) events: Vec<ScriptEvent>,
    pub(super) left_out: LeftOut,
}

pub(super) enum Answered {
    Decided {
        slot: u32,
        acts: Vec<Act>,
        wake_at: Option<GameTime>,
    },
    Directed {
        acts: Vec<ScenarioAct>,
        wake_at: Option<GameTime>,
        handled: Vec<Box<str>>,
    },
    Replaced(Result<(), ScriptError>),
}

/// What a script logged and showed beyond its rates.
#[derive(Clone, Copy, Default)]
pub(super) struct LeftOut {
    pub(super) lines: u64,
    pub(super) shows: u64,
}

impl LeftOut {
    pub(super) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.shows += other.shows;
    }
}

/// Wakes the loop: an answer is there that it does not wait for.
pub type Notify = Arc<dyn Fn() + Send + Sync>;

/// What the loop and the thread of a script share.
pub(super) struct Shared {
    /// Whether the loop has given the present decision up.
    pub(super) is_awaited: Arc<AtomicBool>,
    /// Processor time at which the thread began what it does, in nanoseconds; negative while it does nothing.
    pub(super) began_ns: AtomicI64,
    pub(super) notify: Notify,
}
