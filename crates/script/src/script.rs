//! A script as the host handles it: load, reload, suspend, and what it reports.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use trantor_model::AgentId;
use trantor_play::minds::{Mind, MindFactory, Newborn};
use trantor_time::{GameSpan, GameTime};

use crate::actor::{self, Actor, Role};
use crate::data::Data;
use crate::limits::{ERROR_WINDOW_UNITS, ERRORS_MAX, EVENTS_MAX, VALUES_MAX};
use crate::state::{Birth, State};
use crate::vm::{Bytecode, Host, ScriptError, Vm};

/// Something that people should know of.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptEvent {
    /// The agent whose routine it was; `None` for a scenario.
    pub agent: Option<AgentId>,
    /// When.
    pub at: GameTime,
    /// What.
    pub news: ScriptNews,
}

/// What happened in a script.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptNews {
    /// It logged a line.
    Log(Box<str>),
    /// A routine failed, and has ended.
    Failed(ScriptError),
    /// It failed too often or kept the match waiting, and rests until it is resumed.
    Suspended,
    /// The last of its agents is gone.
    NoAgents,
}

/// Totals since a script was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptCounts {
    /// Resumptions of its routines.
    pub resumptions: u64,
    /// Steps that they took.
    pub steps: u64,
    /// Routines that failed.
    pub errors: u64,
    /// Events that were not kept, since the host did not take them.
    pub dropped_events: u64,
    /// Bytes that its VM uses now.
    pub memory_bytes: usize,
    /// Agents that it decides for now.
    pub agents: usize,
}

type Values = BTreeMap<Box<str>, Data>;

/// What the agents of a script have in common besides its VM.
#[derive(Default)]
pub(crate) struct Reports {
    events: RefCell<VecDeque<ScriptEvent>>,
    /// By team, then by name.
    values: RefCell<BTreeMap<Box<str>, Values>>,
    /// When the last errors came.
    errors: RefCell<VecDeque<GameTime>>,
    is_suspended: Cell<bool>,
    /// The next error is one too many.
    suspends_at_error: Cell<bool>,
    /// Rises when all agents should begin anew.
    epoch: Cell<u64>,
    resumptions: Cell<u64>,
    steps: Cell<u64>,
    error_count: Cell<u64>,
    dropped_events: Cell<u64>,
    pub(crate) agents: Cell<usize>,
}

impl Reports {
    pub(crate) fn resumed(&self, steps: u32) {
        self.resumptions.set(self.resumptions.get() + 1);
        self.steps.set(self.steps.get() + u64::from(steps));
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    pub(crate) fn suspend_after_next_error(&self) {
        self.suspends_at_error.set(true);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.is_suspended.get()
    }

    /// Every agent begins anew when it next decides.
    fn begin_anew(&self) {
        self.epoch.set(self.epoch.get() + 1);
        self.is_suspended.set(false);
        self.errors.borrow_mut().clear();
    }

    pub(crate) fn agents(&self) -> u32 {
        u32::try_from(self.agents.get()).unwrap_or(u32::MAX)
    }

    fn push(&self, event: ScriptEvent) {
        let mut events = self.events.borrow_mut();
        if events.len() < EVENTS_MAX {
            events.push_back(event);
        } else {
            self.dropped_events.set(self.dropped_events.get() + 1);
        }
    }

    pub(crate) fn log(&self, agent: Option<AgentId>, at: GameTime, line: Box<str>) {
        let news = ScriptNews::Log(line);
        self.push(ScriptEvent { agent, at, news });
    }

    /// A routine failed; suspends the script if it was one too many.
    pub(crate) fn failed(&self, agent: Option<AgentId>, at: GameTime, error: ScriptError) {
        self.error_count.set(self.error_count.get() + 1);
        let news = ScriptNews::Failed(error);
        self.push(ScriptEvent { agent, at, news });
        let mut errors = self.errors.borrow_mut();
        errors.push_back(at);
        while errors
            .front()
            .is_some_and(|first| at - *first > GameSpan::from_units(ERROR_WINDOW_UNITS))
        {
            errors.pop_front();
        }
        let is_too_many = self.suspends_at_error.take() || errors.len() >= ERRORS_MAX;
        if is_too_many && !self.is_suspended.replace(true) {
            let news = ScriptNews::Suspended;
            self.push(ScriptEvent { agent, at, news });
        }
    }

    pub(crate) fn no_agents(&self, agent: Option<AgentId>, at: GameTime) {
        let news = ScriptNews::NoAgents;
        self.push(ScriptEvent { agent, at, news });
    }

    /// Answers whether there was room.
    pub(crate) fn publish(&self, team: &str, name: Box<str>, value: Data) -> bool {
        let mut teams = self.values.borrow_mut();
        let values = teams.entry(team.into()).or_default();
        if value == Data::Nil {
            values.remove(&name);
        } else if values.len() >= VALUES_MAX && !values.contains_key(&name) {
            return false;
        } else {
            values.insert(name, value);
        }
        true
    }

    pub(crate) fn value(&self, team: &str, name: &str) -> Data {
        let teams = self.values.borrow();
        let found = teams.get(team).and_then(|values| values.get(name));
        found.cloned().unwrap_or(Data::Nil)
    }
}

/// One file of agents or of a scenario in a VM of its own; a cheap handle.
#[derive(Clone)]
pub struct Script {
    pub(crate) vm: Rc<Vm>,
    role: Role,
}

impl Script {
    /// A script whose minds play. `file` is how errors call it.
    pub fn load(file: &str, source: &[u8]) -> Result<Self, ScriptError> {
        Self::start(file, &Bytecode::compile(file, source)?, Host::default())
    }

    /// As [`Self::load`], of a source that was compiled; for a host.
    pub fn start(file: &str, bytecode: &Bytecode, host: Host) -> Result<Self, ScriptError> {
        Self::start_as(Role::Agent, file, bytecode, host)
    }

    pub(crate) fn start_as(
        role: Role,
        file: &str,
        bytecode: &Bytecode,
        host: Host,
    ) -> Result<Self, ScriptError> {
        let vm = Rc::new(Vm::new(file, bytecode, host)?);
        actor::try_out(&vm, role)?;
        Ok(Self { vm, role })
    }

    /// Has another source take over: each agent begins anew when it next decides, so the minds should be asked then. A
    /// source that does not compile, or whose file does not run to its end, changes nothing.
    pub fn reload(&self, source: &[u8]) -> Result<(), ScriptError> {
        self.replace(&Bytecode::compile(self.file(), source)?)
    }

    /// As [`Self::reload`], of a source that was compiled.
    pub fn replace(&self, bytecode: &Bytecode) -> Result<(), ScriptError> {
        self.vm
            .replace(bytecode, || actor::try_out(&self.vm, self.role))?;
        self.resume();
        Ok(())
    }

    /// Suspends it for a reason that its host has, which is reported as an error at `at`.
    pub fn suspend(&self, at: GameTime, reason: &str) {
        let reports = &self.vm.shared.reports;
        reports.suspend_after_next_error();
        reports.failed(None, at, self.vm.error(reason));
    }

    /// Has all agents of a suspended script begin anew when they next decide.
    pub fn resume(&self) {
        self.vm.shared.reports.begin_anew();
    }

    /// Whether it failed too often, and rests.
    pub fn is_suspended(&self) -> bool {
        self.vm.shared.reports.is_suspended()
    }

    /// The oldest event that was not taken yet.
    pub fn next_event(&self) -> Option<ScriptEvent> {
        self.vm.shared.reports.events.borrow_mut().pop_front()
    }

    /// Its totals.
    pub fn counts(&self) -> ScriptCounts {
        let reports = &self.vm.shared.reports;
        ScriptCounts {
            resumptions: reports.resumptions.get(),
            steps: reports.steps.get(),
            errors: reports.error_count.get(),
            dropped_events: reports.dropped_events.get(),
            memory_bytes: self.vm.lua.used_memory(),
            agents: reports.agents.get(),
        }
    }

    /// The file, as it was loaded.
    pub fn file(&self) -> &str {
        &self.vm.file
    }
}

impl MindFactory for Script {
    fn awaken(&mut self, born: &Newborn) -> Box<dyn Mind> {
        let birth = Birth {
            tile: born.tile,
            direction: born.direction,
            map: born.map,
        };
        let state = State::new(Some(born.agent), &born.team, Some(birth), born.seed);
        Box::new(Actor::new(Rc::clone(&self.vm), Role::Agent, born.index, state))
    }
}
