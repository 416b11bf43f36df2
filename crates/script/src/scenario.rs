//! Scenarios: a script beside the game, which is sent its events and answers as an operator would.

use trantor_game::Game;
use trantor_model::Change;
use trantor_play::minds::{self, Mind as _, Published, ScenarioAct};
use trantor_time::GameTime;

use crate::actor::{Actor, Answer, Role};
use crate::data::Data;
use crate::events::ScenarioEvents;
use crate::script::Script;
use crate::state::{ScriptAct, State};
use crate::vm::{Bytecode, Host, ScriptError};

/// A scenario that runs. Its [`Script`] is reloaded and resumed like one of agents.
pub struct Scenario {
    script: Script,
    actor: Actor,
    events: ScenarioEvents,
    published: Published,
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
        Ok(Self {
            script,
            actor,
            events: ScenarioEvents::default(),
            published: Published::default(),
        })
    }

    /// Its script: events, totals, reload.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Takes in an event: one of `Events` in [`crate::api::DEFINITIONS`] with its data. Decides nothing.
    pub fn event(&mut self, event: &str, data: Data) {
        self.actor.event(event, data);
    }

    /// Takes in the answer of a console line. Decides nothing.
    pub fn answer(&mut self, id: u64, answer: &Result<String, String>) {
        let (Ok(said) | Err(said)) = answer;
        let answer = Answer::Console(answer.is_ok(), said.trim_end().into());
        self.actor.console_answered(id, answer);
    }

    /// Takes in what the match publishes. Decides nothing.
    pub fn publish(&mut self, published: &Published) {
        self.actor.publish(published);
    }

    /// Resumes what is to be resumed at `now`: appends what it does, in order.
    pub fn resume_due(&mut self, now: GameTime, acts: &mut Vec<ScenarioAct>) {
        let act = |act| match act {
            ScriptAct::Console { id, line } => Some(ScenarioAct::Line { id, line }),
            ScriptAct::Show(show) => Some(ScenarioAct::Show(show)),
            ScriptAct::Command(_) | ScriptAct::Join => None,
        };
        acts.extend(self.actor.resume_due(now).into_iter().filter_map(act));
    }

    /// The events that it has handlers for.
    pub fn handled_events(&self) -> impl Iterator<Item = &str> {
        self.actor.handled_events()
    }
}

impl minds::Scenario for Scenario {
    fn begin(&mut self, game: &Game) {
        for (name, data) in self.events.begin(game) {
            self.event(name, data);
        }
    }

    fn perceive(&mut self, game: &Game, change: &Change) {
        if let Some((name, data)) = self.events.read(game, change) {
            self.event(name, data);
        }
    }

    fn decide(&mut self, game: &Game, acts: &mut Vec<ScenarioAct>) {
        self.published.update_from(game);
        self.actor.publish(&self.published);
        self.resume_due(game.now(), acts);
    }

    fn answered(&mut self, act: u64, answer: Result<String, String>) {
        self.answer(act, &answer);
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.actor.next_decision()
    }
}
