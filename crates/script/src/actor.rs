//! One agent or scenario: its routines, what they wait for, and in which order they are resumed.
//!
//! Everything happens in [`Actor::resume_due`], at one instant of game time: first what was perceived, in its order, then
//! timers and ends of waits in the order of their times, ties in the order in which they were asked for.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, IntoLuaMulti, Lua, Table, Thread, Value};
use trantor_model::{Counts, Level, Percept, Resource, Sight};
use trantor_play::minds::{Act, Mind, Published};
use trantor_time::{GameSpan, GameTime, NANOS};

use crate::data::{Data, number};
use crate::jobs::{self, Job, span};
use crate::limits::{
    ANSWERS_MAX, DATA_VALUE_STEPS, HEARD_MAX, INBOX_MAX, INSTANT_AGENT_STEPS, INSTANT_STEPS, JOBS_MAX,
    RESTART_UNITS, ROUTINES_MAX, SCENARIO_HEARD_MAX, SCENARIO_UNIT_STEPS_MAX, STEPS_MAX, UNIT_STEPS_MAX,
};
use crate::state::{Birth, ScriptAct, State, command_of, text};
use crate::vm::{Ran, ScriptError, Vm};

/// Whom a script is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Agent,
    Scenario,
}

impl Role {
    /// See [`HEARD_MAX`].
    const fn heard_max(self) -> usize {
        match self {
            Self::Agent => HEARD_MAX,
            Self::Scenario => SCENARIO_HEARD_MAX,
        }
    }

    const fn steps_a_unit(self) -> u32 {
        match self {
            Self::Agent => UNIT_STEPS_MAX,
            Self::Scenario => SCENARIO_UNIT_STEPS_MAX,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Scenario => "scenario",
        }
    }
}

/// What was perceived and not taken in yet.
#[derive(Clone, Debug)]
enum Input {
    /// The answer to what has this number.
    Answer(u64, Answer),
    /// What answers nothing: of other agents, or the end of an elevation, `Ko` where it failed.
    Percept(Percept),
    Died,
    Event(Box<str>, Data),
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Percept(Percept),
    /// Of the console: whether the line was carried out, and the answer's lines.
    Console(bool, Box<str>),
}

/// What a routine waits for.
#[derive(Debug)]
enum Waiting {
    Answer(u64),
    /// With the number of the wait, by which ties go.
    Until(GameTime, u64),
    /// For a message, until then at the latest.
    Message(Option<(GameTime, u64)>),
    /// For what comes of a job.
    Job(GameTime, u64, Job),
}

struct Routine {
    thread: Thread,
    waiting: Waiting,
    is_main: bool,
}

/// A token bucket of steps, in game time.
#[derive(Clone, Copy, Default)]
pub(crate) struct StepBucket {
    /// Billionths of steps that were used and are not back yet, at the time below.
    used: i128,
    at: GameTime,
}

impl StepBucket {
    /// With so many steps more; they come back at a rate.
    fn with(self, steps: u32, now: GameTime, steps_a_unit: u32) -> Self {
        // A file that is tried out has no time of its own.
        let at = self.at.max(now);
        let back = (at - self.at).as_nanounits() * i128::from(steps_a_unit);
        let used = (self.used - back).max(0) + i128::from(steps) * i128::from(NANOS);
        Self { used, at }
    }

    /// When a step is left of the most that it holds.
    fn has_room_at(self, most: u32, steps_a_unit: u32) -> GameTime {
        let over = self.used - i128::from(most - 1) * i128::from(NANOS);
        self.at + GameSpan::from_nanounits(over.max(0) / i128::from(steps_a_unit))
    }
}

/// Something that is due by time.
enum Due {
    Timer(usize),
    Routine(usize),
}

/// See the module.
pub(crate) struct Actor {
    pub(crate) vm: Rc<Vm>,
    role: Role,
    /// Lent to the VM while it runs.
    state: Option<Box<State>>,
    /// What the script is given as its first argument.
    me: Option<Table>,
    /// What its file has returned.
    definition: Option<Table>,
    routines: Vec<Routine>,
    heard: VecDeque<Input>,
    inbox: VecDeque<(Arc<[u8]>, u8)>,
    answers: VecDeque<(u64, Answer)>,
    level: Level,
    index: u64,
    is_held: bool,
    /// Of the script that runs.
    epoch: Option<u64>,
    /// When the file or the main function begins, if it should, and the state of the script before.
    begins_at: Option<(GameTime, Value)>,
    steps: StepBucket,
    wake_at: Option<GameTime>,
}

/// Runs a script's file once, for nobody, to find out whether it runs to its end.
pub(crate) fn try_out(vm: &Rc<Vm>, role: Role) -> Result<(), ScriptError> {
    let mut actor = Actor::new(Rc::clone(vm), role, 0, State::new(None, "", None, 0));
    actor.define().map(|_| ())
}

impl Drop for Actor {
    fn drop(&mut self) {
        let agents = &self.vm.shared.reports.agents;
        agents.set(agents.get() - 1);
        if agents.get() == 0 {
            // The next agent may be in another game, with a time of its own.
            self.vm.shared.all_steps.set(StepBucket::default());
            // A file that was tried out never had an agent.
            if let Some(State {
                agent: Some(agent),
                now,
                ..
            }) = self.state.as_deref()
            {
                self.vm.shared.reports.no_agents(Some(*agent), *now);
            }
        }
    }
}

impl Actor {
    pub(crate) fn new(vm: Rc<Vm>, role: Role, index: u64, state: State) -> Self {
        let agents = &vm.shared.reports.agents;
        agents.set(agents.get() + 1);
        Self {
            state: Some(Box::new(state)),
            vm,
            role,
            me: None,
            definition: None,
            routines: Vec::new(),
            heard: VecDeque::new(),
            inbox: VecDeque::new(),
            answers: VecDeque::new(),
            level: Level::FIRST,
            index,
            is_held: false,
            epoch: None,
            begins_at: None,
            steps: StepBucket::default(),
            wake_at: Some(GameTime::ZERO),
        }
    }

    pub(crate) fn state(&mut self) -> &mut State {
        self.state.as_mut().expect("it comes back from every resumption")
    }

    pub(crate) fn handled_events(&self) -> impl Iterator<Item = &str> {
        let handlers = self.state.iter().flat_map(|state| &state.handlers);
        handlers.map(|(event, _)| &**event)
    }

    // What is perceived --------------------------------------------------------------------------------------------

    fn hear(&mut self, heard: Input) {
        if self.heard.len() == self.role.heard_max() {
            self.heard.pop_front();
        }
        self.heard.push_back(heard);
    }

    /// An answer to a command.
    fn answered(&mut self, answer: &Percept) {
        let mut lost = Vec::new();
        let ticket = self.state().answered(answer, &mut lost);
        for ticket in lost {
            self.hear(Input::Answer(ticket, Answer::Percept(Percept::Ko)));
        }
        if let Some(ticket) = ticket {
            self.hear(Input::Answer(ticket, Answer::Percept(answer.clone())));
        }
    }

    fn elevation_ended(&mut self, answer: Percept) {
        self.is_held = false;
        if let Some(ticket) = self.state().elevation_ended() {
            self.hear(Input::Answer(ticket, Answer::Percept(answer)));
        }
    }

    pub(crate) fn console_answered(&mut self, id: u64, answer: Answer) {
        self.hear(Input::Answer(id, answer));
    }

    pub(crate) fn event(&mut self, name: &str, data: Data) {
        self.hear(Input::Event(name.into(), data));
    }

    // Decisions ----------------------------------------------------------------------------------------------------

    /// Resumes what is to be resumed at `now`; answers what was done by it, in order.
    pub(crate) fn resume_due(&mut self, now: GameTime) -> Vec<ScriptAct> {
        self.state().begin_decision(now);
        let reports = &self.vm.shared.reports;
        if reports.is_suspended() {
            self.rest();
        } else if self.epoch != Some(reports.epoch()) {
            self.take_over(now);
        }
        while self.may_run_at() <= now && !self.vm.shared.reports.is_suspended() {
            if let Some((_, old)) = self.begins_at.take_if(|(begin, _)| *begin <= now) {
                self.begin(now, old);
            } else if let Some(heard) = self.heard.pop_front() {
                self.take_in(heard);
            } else if let Some(due) = self.next_due(now) {
                self.take_due(due, now);
            } else {
                break;
            }
        }
        self.state().send_waiting();
        self.wake_at = self.next_wake();
        std::mem::take(&mut self.state().acts)
    }

    /// When the steps allow the next resumption: its own bucket, and the one that all agents of the file share.
    fn may_run_at(&self) -> GameTime {
        let (agents, rate) = (self.vm.shared.reports.agents(), self.role.steps_a_unit());
        let at_once = INSTANT_STEPS.max(agents.saturating_mul(INSTANT_AGENT_STEPS));
        let all = self.vm.shared.all_steps.get();
        let all = all.has_room_at(at_once, rate.saturating_mul(agents));
        self.steps.has_room_at(STEPS_MAX, rate).max(all)
    }

    pub(crate) fn next_decision(&self) -> Option<GameTime> {
        let reports = &self.vm.shared.reports;
        if reports.is_suspended() {
            return None;
        }
        let is_current = self.epoch == Some(reports.epoch());
        if is_current {
            self.wake_at
        } else {
            Some(GameTime::ZERO)
        }
    }

    /// While the script is suspended nothing runs, and nothing is kept but what is known of the agent's place and level.
    fn rest(&mut self) {
        self.clear();
        self.heard.clear();
        self.inbox.clear();
    }

    /// Ends all routines, timers and handlers, for the main function to begin.
    fn clear(&mut self) {
        self.routines.clear();
        self.answers.clear();
        self.begins_at = None;
        let state = self.state();
        state.forget_unsent();
        state.timers.clear();
        state.handlers.clear();
    }

    /// Another source, or the same anew: all that the old one had set up goes, but its `state`, which `migrate` may carry
    /// over. Commands in flight are carried out; nobody waits for their answers.
    fn take_over(&mut self, now: GameTime) {
        self.epoch = Some(self.vm.shared.reports.epoch());
        let old = match (&self.me, &self.definition) {
            (Some(me), Some(_)) => me.raw_get("state").unwrap_or(Value::Nil),
            _ => Value::Nil,
        };
        self.clear();
        (self.me, self.definition) = (None, None);
        self.begins_at = Some((now, old));
    }

    /// Begins the file, or after it the main function; `old` is the state of the script before.
    fn begin(&mut self, now: GameTime, old: Value) {
        self.clear();
        let Some(definition) = self.definition.clone() else {
            match self.define() {
                Ok(definition) => {
                    self.definition = Some(definition);
                    self.begins_at = Some((now, old));
                }
                Err(error) => self.failed(error, true),
            }
            return;
        };
        let me = self.me.clone().map_or_else(|| self.make_me(), Ok);
        let thread = self.vm.lua.create_thread(self.vm.start.clone());
        match me.and_then(|me| Ok((thread?, me))) {
            Ok((thread, me)) => {
                self.me = Some(me.clone());
                self.run(thread, (me, definition, old), true);
            }
            Err(error) => self.failed(self.vm.describe(&error, None), true),
        }
    }

    /// Runs the file in an environment of its own; what it returns is the definition.
    fn define(&mut self) -> Result<Table, ScriptError> {
        let thread = self
            .vm
            .fresh_chunk()
            .map_err(|error| self.vm.describe(&error, None))?;
        let mut steps = STEPS_MAX;
        let ran = self.vm.resume(&thread, (), &mut self.state, &mut steps);
        self.pay(STEPS_MAX - steps);
        let role = self.role.name();
        match ran? {
            Ran::Invocation(..) => Err(self
                .vm
                .error("a file may not wait outside of its agent's function")),
            Ran::Returned(Value::Table(table))
                if table.raw_get::<String>("kind").is_ok_and(|kind| kind == role) =>
            {
                Ok(table)
            }
            Ran::Returned(value) => {
                let kind = value
                    .as_table()
                    .and_then(|table| table.raw_get::<String>("kind").ok());
                let message = match kind.as_deref() {
                    Some("agent") => {
                        "the file has minds of agents: run it with --mind TEAM=script:FILE:COUNT"
                    }
                    Some("scenario") => "the file has a scenario: run it with --scenario FILE",
                    _ => &format!("the file does not end with `return trantor.{role}(function … end)`"),
                };
                Err(self.vm.error(message))
            }
        }
    }

    fn make_me(&mut self) -> mlua::Result<Table> {
        let me = self.vm.lua.create_table_with_capacity(0, 6)?;
        if self.role == Role::Agent {
            me.raw_set("team", &*self.state().team)?;
            me.raw_set("level", self.level.get())?;
            me.raw_set("index", self.index)?;
            let (width, height) = self.state().birth.map_or((0, 0), Birth::sides);
            me.raw_set("width", width)?;
            me.raw_set("height", height)?;
            me.set_metatable(Some(self.vm.agent_meta.clone()))?;
        } else {
            me.set_metatable(Some(self.vm.scenario_meta.clone()))?;
        }
        me.raw_set("state", self.vm.lua.create_table()?)?;
        Ok(me)
    }

    // Routines -----------------------------------------------------------------------------------------------------

    /// Begins another routine, of a handler or a timer.
    fn spawn(&mut self, run: &Function, arguments: impl IntoLuaMulti) {
        if self.routines.len() >= ROUTINES_MAX {
            let mut error = self
                .vm
                .error("too many handlers and timers of this agent wait for something");
            error.line = run
                .info()
                .line_defined
                .and_then(|line| line.try_into().ok())
                .unwrap_or(0);
            return self.failed(error, false);
        }
        match self.vm.lua.create_thread(run.clone()) {
            Ok(thread) => self.run(thread, arguments, false),
            Err(error) => self.failed(self.vm.describe(&error, None), false),
        }
    }

    /// Resumes a routine, and keeps it if it waits for something then.
    fn run(&mut self, thread: Thread, arguments: impl IntoLuaMulti, is_main: bool) {
        let mut steps = STEPS_MAX;
        let mut ran = self.vm.resume(&thread, arguments, &mut self.state, &mut steps);
        // What needs no time is answered at once, within the same steps.
        let waiting = loop {
            let Ok(Ran::Invocation(request, first, second)) = &ran else {
                break None;
            };
            match self.request(*request, first, second) {
                Ok(waiting) => break Some(waiting),
                Err(answer) => ran = self.vm.resume(&thread, answer, &mut self.state, &mut steps),
            }
        };
        self.pay(STEPS_MAX - steps);
        match (ran, waiting) {
            (Err(error), _) => self.failed(error, is_main),
            (Ok(_), Some(waiting)) => self.routines.push(Routine {
                thread,
                waiting,
                is_main,
            }),
            (Ok(_), None) => {}
        }
    }

    /// Takes steps off what it may use, and off what all agents of the file may.
    fn pay(&mut self, steps: u32) {
        let (now, rate) = (self.state().now, self.role.steps_a_unit());
        self.steps = self.steps.with(steps, now, rate);
        let shared = &self.vm.shared;
        let all_rate = rate.saturating_mul(shared.reports.agents());
        let all_steps = shared.all_steps.get().with(steps, now, all_rate);
        shared.all_steps.set(all_steps);
    }

    /// What a routine waits for that asks so, or what it is answered at once.
    fn request(&mut self, request: i32, first: &Value, second: &Value) -> Result<Waiting, (Value, Value)> {
        let now = self.state().now;
        Ok(match request {
            20 => Waiting::Until(now + span(number(first).unwrap_or(0.0)), self.state().next_id()),
            21 => match self.inbox.pop_front() {
                Some((text, direction)) => return Err((self.message_value(&text, direction), Value::Nil)),
                None => {
                    let limit = number(first).map(|units| (now + span(units), self.state().next_id()));
                    Waiting::Message(limit)
                }
            },
            22 => {
                let ticket = number(first).unwrap_or(0.0) as u64;
                match self.answers.iter().position(|(other, _)| *other == ticket) {
                    Some(place) => {
                        let answer = self.answers.remove(place).map(|(_, answer)| answer);
                        return Err((self.answer_value(answer.as_ref()), Value::Nil));
                    }
                    None if !self.state().is_open(ticket) => return Err((Value::Nil, Value::Nil)),
                    None => Waiting::Answer(ticket),
                }
            }
            23 => match self.ask_job(first, second) {
                Ok(waiting) => waiting,
                Err(refusal) => return Err((Value::Nil, string(&self.vm.lua, refusal))),
            },
            24 => {
                let line = first.as_string().map(text).unwrap_or_default().into();
                let id = self.state().next_id();
                self.state().acts.push(ScriptAct::Console { id, line });
                Waiting::Answer(id)
            }
            _ => match command_of(request, first) {
                Some(command) => Waiting::Answer(self.state().send(command)),
                // Only the functions of the host ask, and they ask for nothing else.
                None => return Err((Value::Nil, Value::Nil)),
            },
        })
    }

    fn ask_job(&mut self, name: &Value, data: &Value) -> Result<Waiting, &'static str> {
        let is_job = |routine: &&Routine| matches!(routine.waiting, Waiting::Job(..));
        if self.routines.iter().filter(is_job).count() >= JOBS_MAX {
            return Err("too many jobs at a time");
        }
        let name = name.as_string().map(text).unwrap_or_default();
        let (read, values) = Data::read(data);
        self.pay(DATA_VALUE_STEPS * values);
        let job = jobs::begin(&name, read, self.vm.job_worker.as_ref());
        let state = self.state();
        Ok(Waiting::Job(state.now + job.length, state.next_id(), job))
    }

    /// Ends the routine that failed; an agent's main function begins again later.
    fn failed(&mut self, error: ScriptError, is_main: bool) {
        let state = self.state.as_ref().expect("it comes back from every resumption");
        let (agent, now) = (state.agent, state.now);
        self.vm.shared.reports.failed(agent, now, error);
        if is_main {
            self.begins_at = Some((now + GameSpan::from_units(RESTART_UNITS), Value::Nil));
        }
    }

    /// Resumes the routine at `place` with what it waited for.
    fn resume(&mut self, place: usize, values: impl IntoLuaMulti) {
        let routine = self.routines.remove(place);
        self.run(routine.thread, values, routine.is_main);
    }

    /// Resumes the routine at `place` after its wait: with what came of a job, if it waited for one.
    fn resume_waited(&mut self, place: usize) {
        let routine = self.routines.remove(place);
        let value = match routine.waiting {
            Waiting::Job(_, _, job) => match job.finish() {
                Ok((result, steps)) => {
                    self.pay(steps);
                    result.write(&self.vm.lua).unwrap_or(Value::Nil)
                }
                Err(refusal) => {
                    let refusal = string(&self.vm.lua, &refusal);
                    return self.run(routine.thread, (Value::Nil, refusal), routine.is_main);
                }
            },
            _ => Value::Nil,
        };
        self.run(routine.thread, value, routine.is_main);
    }

    // What is taken in ---------------------------------------------------------------------------------------------

    fn take_in(&mut self, heard: Input) {
        match heard {
            Input::Answer(ticket, answer) => self.take_answer(ticket, answer),
            Input::Percept(percept) => match percept {
                Percept::Message { direction, text } => self.take_message(text, direction),
                Percept::Pushed { direction } => self.handle("ejected", Value::Integer(direction.into())),
                Percept::Level(level) => {
                    if let Some(me) = &self.me {
                        // Fails only without memory, and then the next level sets it.
                        let _ = me.raw_set("level", level.get());
                    }
                    self.handle("elevation", Value::Integer(level.get().into()));
                }
                _ => self.handle("elevation", Value::Nil),
            },
            Input::Died => self.handle("death", Value::Nil),
            Input::Event(name, data) => match data.write(&self.vm.lua) {
                Ok(value) => self.handle(&name, value),
                Err(error) => self.failed(self.vm.describe(&error, None), false),
            },
        }
    }

    fn handle(&mut self, event: &str, value: Value) {
        if let Some(run) = self.state().handler(event).cloned() {
            self.spawn(&run, value);
        }
    }

    fn take_answer(&mut self, ticket: u64, answer: Answer) {
        self.state().send_waiting();
        let waits =
            |routine: &Routine| matches!(routine.waiting, Waiting::Answer(waited) if waited == ticket);
        match self.routines.iter().position(waits) {
            Some(place) => {
                let value = self.answer_value(Some(&answer));
                match &answer {
                    Answer::Console(_, said) => {
                        let said = string(&self.vm.lua, said);
                        self.resume(place, (value, said));
                    }
                    _ => self.resume(place, value),
                }
            }
            None => {
                if self.answers.len() == ANSWERS_MAX {
                    self.answers.pop_front();
                }
                self.answers.push_back((ticket, answer));
            }
        }
    }

    fn take_message(&mut self, text: Arc<[u8]>, direction: u8) {
        let waits = |routine: &Routine| matches!(routine.waiting, Waiting::Message(_));
        if let Some(run) = self.state().handler("message").cloned() {
            let value = self.message_value(&text, direction);
            self.spawn(&run, value);
        } else if let Some(place) = self.routines.iter().position(waits) {
            let value = self.message_value(&text, direction);
            self.resume(place, value);
        } else {
            if self.inbox.len() == INBOX_MAX {
                self.inbox.pop_front();
            }
            self.inbox.push_back((text, direction));
        }
    }

    /// What the host makes for a script is bounded, so only a machine without memory fails here.
    fn message_value(&self, text: &[u8], direction: u8) -> Value {
        let make = || -> mlua::Result<Value> {
            let table = self.vm.lua.create_table_with_capacity(0, 2)?;
            table.raw_set("text", self.vm.lua.create_string(text)?)?;
            table.raw_set("direction", direction)?;
            Ok(Value::Table(table))
        };
        make().unwrap_or(Value::Nil)
    }

    fn answer_value(&self, answer: Option<&Answer>) -> Value {
        let lua = &self.vm.lua;
        let table = |counts: &Counts| -> mlua::Result<Value> {
            let table = lua.create_table_with_capacity(0, Resource::COUNT)?;
            for resource in Resource::ALL {
                table.raw_set(resource.name(), counts[resource])?;
            }
            Ok(Value::Table(table))
        };
        let percept = match answer {
            None => return Value::Nil,
            Some(Answer::Console(is_done, _)) => return Value::Boolean(*is_done),
            Some(Answer::Percept(percept)) => percept,
        };
        match percept {
            Percept::Look(sights) => lua
                .create_string(packed(sights))
                .map_or(Value::Nil, Value::String),
            Percept::Inventory { inventory, .. } => table(inventory).unwrap_or(Value::Nil),
            Percept::Places(places) => Value::Integer((*places).into()),
            percept => Value::Boolean(*percept != Percept::Ko),
        }
    }

    // Time ---------------------------------------------------------------------------------------------------------

    /// What is due first at `now`, if anything is.
    fn next_due(&self, now: GameTime) -> Option<Due> {
        let timers = self
            .state
            .iter()
            .flat_map(|state| state.timers.iter().enumerate());
        let timers = timers.map(|(place, timer)| ((timer.due, timer.id), Due::Timer(place)));
        let routines = self.routines.iter().enumerate();
        let routines = routines.filter_map(|(place, routine)| Some((routine.due()?, Due::Routine(place))));
        let (key, due) = timers.chain(routines).min_by_key(|(key, _)| *key)?;
        (key.0 <= now).then_some(due)
    }

    fn take_due(&mut self, due: Due, now: GameTime) {
        match due {
            Due::Timer(place) => {
                let timer = &mut self.state().timers[place];
                let run = timer.run.clone();
                match timer.every {
                    // At its period, however late it comes: from the time it was due.
                    Some(period) => {
                        let period = period.as_nanounits();
                        let missed = (now - timer.due).as_nanounits() / period;
                        timer.due += GameSpan::from_nanounits(period * (missed + 1));
                    }
                    None => drop(self.state().timers.remove(place)),
                }
                self.spawn(&run, ());
            }
            Due::Routine(place) => self.resume_waited(place),
        }
    }

    fn next_wake(&self) -> Option<GameTime> {
        let timers = self
            .state
            .iter()
            .flat_map(|state| &state.timers)
            .map(|timer| timer.due);
        let routines = self.routines.iter().filter_map(|routine| routine.due());
        let heard = self.heard.front().map(|_| GameTime::ZERO);
        let begins_at = self.begins_at.as_ref().map(|(begin, _)| *begin);
        let next = timers.chain(routines.map(|(due, _)| due)).chain(heard);
        // What is put off goes on once there are steps for it.
        let next = next.chain(begins_at).min();
        next.map(|next| next.max(self.may_run_at()))
    }
}

impl Routine {
    fn due(&self) -> Option<(GameTime, u64)> {
        match &self.waiting {
            Waiting::Until(at, id) | Waiting::Message(Some((at, id))) | Waiting::Job(at, id, _) => {
                Some((*at, *id))
            }
            Waiting::Answer(_) | Waiting::Message(None) => None,
        }
    }
}

impl Mind for Actor {
    fn perceive(&mut self, percept: &Percept) {
        match percept {
            Percept::Ko if self.is_held => {
                self.elevation_ended(Percept::Ko);
                self.hear(Input::Percept(Percept::Ko));
            }
            Percept::Pushed { direction } => {
                self.state().pose.pushed_from(*direction);
                self.hear(Input::Percept(percept.clone()));
            }
            Percept::Message { .. } => self.hear(Input::Percept(percept.clone())),
            Percept::ElevationUnderway => self.is_held = true,
            Percept::Level(level) => {
                self.level = *level;
                // First, so that `me.level` is right once the command is answered.
                self.hear(Input::Percept(percept.clone()));
                self.elevation_ended(percept.clone());
            }
            answer => self.answered(answer),
        }
    }

    fn publish(&mut self, published: &Published) {
        self.state().published = published.clone();
    }

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        let act = |act| match act {
            ScriptAct::Command(command) => Some(Act::Command(command)),
            ScriptAct::Join => Some(Act::Join),
            ScriptAct::Show(show) => Some(Act::Show(show)),
            ScriptAct::Console { .. } => None,
        };
        acts.extend(self.resume_due(now).into_iter().filter_map(act));
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.next_decision()
    }

    fn died(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        self.hear(Input::Died);
        self.decide(now, acts);
    }
}

/// What the host says is short, so only a machine without memory fails here.
fn string(lua: &Lua, said: &str) -> Value {
    lua.create_string(said).map_or(Value::Nil, Value::String)
}

/// A sight as the prelude reads it: nine numbers a tile, each as a byte; more than 255 of anything look like 255.
fn packed(sights: &[Sight]) -> Box<[u8]> {
    let byte = |count: u32| u8::try_from(count).unwrap_or(u8::MAX);
    let tile = |sight: &Sight| {
        let ground = Resource::ALL.map(|resource| byte(sight.ground[resource]));
        [byte(sight.agents), byte(sight.eggs)].into_iter().chain(ground)
    };
    sights.iter().flat_map(tile).collect()
}
