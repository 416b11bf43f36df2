//! What passes between the loop and the thread of a script.
//!
//! Who sends what when is [`super::link`]'s to say for the loop, and [`super::worker`]'s for the thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};

use trantor_play::minds::{Act, Newborn, Percept, Published, ScenarioAct};
use trantor_script::{Bytecode, Data, ScriptCounts, ScriptError, ScriptEvent};
use trantor_time::GameTime;

/// What a thread is started for.
pub(super) enum Role {
    Agents,
    Scenario { seed: u64 },
}

/// What a scenario takes in.
pub(super) enum ScenarioInput {
    Event(Box<str>, Data),
    Answer { id: u64, answer: Result<String, String> },
}

/// An agent of a script is born or gone.
pub(super) enum Member {
    Born { slot: u32, born: Newborn },
    Gone { slot: u32 },
}

/// What the loop asks of a script's thread. All but `Members` and `Resume` is answered, in order.
pub(super) enum Request {
    Decide {
        slot: u32,
        percepts: Vec<Percept>,
        published: Published,
        now: GameTime,
    },
    Die {
        slot: u32,
        percepts: Vec<Percept>,
        now: GameTime,
    },
    Members(Vec<Member>),
    Direct {
        heard: Vec<ScenarioInput>,
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
