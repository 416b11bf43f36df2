//! Scenarios: a script beside the game, which is sent its events and answers as an operator would.

use trantor_engine::minds::{Mind as _, Published};
use trantor_model::Show;
use trantor_time::GameTime;

use crate::actor::{Actor, Answer, Role};
use crate::data::Data;
use crate::script::Script;
use crate::state::{Deed, State};
use crate::vm::{Bytecode, Host, ScriptError};

/// A scenario that runs. Its [`Script`] is reloaded and resumed like one of agents.
pub struct Scenario {
    script: Script,
    actor: Actor,
}

/// One thing that a scenario does.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioAct {
    /// A line of the operator's console. The script waits for its answer: [`Scenario::answer`] with the same number.
    Console {
        /// Names the line.
        id: u64,
        /// The line.
        line: String,
    },
    /// Shows something to viewers of ours.
    Show(Show),
}

impl Scenario {
    /// A scenario whose randomness comes from `seed`. `file` is how errors call it.
    pub fn load(file: &str, source: &[u8], seed: u64) -> Result<Self, ScriptError> {
        Self::start(file, &Bytecode::compile(file, source)?, seed, Host::default())
    }

    /// As [`Self::load`], of a source that was compiled; for a host.
    pub fn start(file: &str, bytecode: &Bytecode, seed: u64, host: Host) -> Result<Self, ScriptError> {
        let script = Script::start_as(Role::Scenario, file, bytecode, host)?;
        let vm = std::rc::Rc::clone(&script.vm);
        let actor = Actor::new(vm, Role::Scenario, 0, State::new(None, "", None, seed));
        Ok(Self { script, actor })
    }

    /// Its script: events, totals, reload.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Takes in an event: one of `Events` in [`crate::api::DEFINITIONS`] with its data. Decides nothing.
    pub fn perceive(&mut self, event: &str, data: Data) {
        self.actor.event(event, data);
    }

    /// Takes in the answer of a console line. Decides nothing.
    pub fn answer(&mut self, id: u64, is_done: bool, said: &str) {
        self.actor
            .console_answered(id, Answer::Console(is_done, said.into()));
    }

    /// Takes in what the match publishes. Decides nothing.
    pub fn publish(&mut self, published: &Published) {
        self.actor.publish(published);
    }

    /// Decides at `now`: appends what it does, in order. To be called at the beginning, after it perceived something, and
    /// when [`Self::wake_at`] is due.
    pub fn decide(&mut self, now: GameTime, acts: &mut Vec<ScenarioAct>) {
        let act = |deed| match deed {
            Deed::Console { id, line } => Some(ScenarioAct::Console { id, line }),
            Deed::Show(show) => Some(ScenarioAct::Show(show)),
            Deed::Command(_) | Deed::Join => None,
        };
        acts.extend(self.actor.resume_due(now).into_iter().filter_map(act));
    }

    /// The events that it has handlers for.
    pub fn handled_events(&self) -> impl Iterator<Item = &str> {
        self.actor.handled_events()
    }

    /// When it wants to decide again without having perceived anything.
    pub fn wake_at(&self) -> Option<GameTime> {
        self.actor.next_decision()
    }
}
