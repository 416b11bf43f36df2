//! One VM a file: the sandbox, the limits of a resumption, compilation, and what an error says.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mlua::chunk::{ChunkMode, Compiler};
use mlua::state::{GcIncParams, GcMode};
use mlua::thread::ThreadStatus;
use mlua::{Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, Thread, Value, VmState};
use trantor_model::show::shown_text;

use crate::actor::StepBucket;
use crate::api;
use crate::jobs::JobWorker;
use crate::limits::{GROWTH_BYTES_MAX, MEMORY_BYTES_MAX, RESUMPTION_STEPS, TEXT_MAX, UNPACK_MAX};
use crate::script::Reports;
use crate::source;
use crate::state::{self, State};

/// What every source is called inside its VM, so that nothing in it depends on where its file is: neither the errors that
/// it catches, nor when the collector runs. Luau orders a key that is stored again by whether the collector ran in between.
const CHUNK: &str = "script";

/// Bytes allocated between two steps of the collector. It runs between resumptions only, so that what a resumption
/// allocates is what its memory grows by.
const COLLECT_STEP_BYTES: usize = 64 << 10;

/// An error in a script: where, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The script's file, as it was loaded.
    pub file: Box<str>,
    /// The line, from 1; 0 if the error has none.
    pub line: u32,
    /// The column, from 1; known for sources that do not compile.
    pub column: Option<u32>,
    /// What is wrong.
    pub message: Box<str>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ScriptError {}

/// A source that was compiled. It may be made on any thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytecode(Vec<u8>);

impl Bytecode {
    /// Compiles a source. `file` is how errors call it.
    pub fn compile(file: &str, source: &[u8]) -> Result<Self, ScriptError> {
        let compiled = source::compile(&compiler(), source);
        compiled.map(Self).map_err(|(line, column, message)| ScriptError {
            file: file.into(),
            line,
            column,
            message: message.into(),
        })
    }
}

/// Ends a resumption that keeps others waiting, where a clock runs. It is asked at every step of a script once `is_awaited`.
pub struct TimeLimit {
    /// Set while somebody waits for the script for longer than they should.
    pub is_awaited: Arc<AtomicBool>,
    /// Whether the script has used more time than it may, given all the steps that it has taken since it was loaded.
    pub is_exceeded: Box<dyn Fn(u64) -> bool>,
}

/// What a script has of its host besides the match.
#[derive(Default)]
pub struct Host {
    /// Where a clock runs.
    pub time_limit: Option<TimeLimit>,
    /// Where there are workers.
    pub job_worker: Option<JobWorker>,
}

/// What the functions of the host reach while a script runs.
pub(crate) struct Shared {
    /// Steps that the resumption has left.
    steps: Cell<u32>,
    /// Steps that it had at its beginning.
    granted: Cell<u32>,
    /// Why it may not go on, once it may not.
    exceeded: Cell<Option<&'static str>>,
    time_limit: Option<TimeLimit>,
    /// Of all agents of the file, at the rate of all of them.
    pub(crate) all_steps: Cell<StepBucket>,
    /// Whom the running script acts for.
    pub(crate) current: RefCell<Option<Box<State>>>,
    pub(crate) reports: Reports,
}

impl Shared {
    /// Takes steps off the resumption; says no once none are left.
    pub(crate) fn charge(&self, steps: u32) -> mlua::Result<()> {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or(0));
        if left.is_none() {
            return Err(self.exceed(STEPS_EXCEEDED));
        }
        match &self.time_limit {
            Some(limit) if limit.is_awaited.load(Ordering::Relaxed) && self.has_used_up(limit) => {
                Err(self.exceed(TIME_EXCEEDED))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn has_used_up(&self, limit: &TimeLimit) -> bool {
        let steps = u64::from(self.granted.get() - self.steps.get());
        (limit.is_exceeded)(self.reports.steps() + steps)
    }

    fn exceed(&self, reason: &'static str) -> mlua::Error {
        self.steps.set(0);
        if self.exceeded.get().is_none() {
            self.exceeded.set(Some(reason));
        }
        mlua::Error::runtime(reason)
    }
}

const STEPS_EXCEEDED: &str = "the routine ran for more steps than it may between two waits";

/// A script that errs so is suspended at once.
const TIME_EXCEEDED: &str = "the routine kept the match waiting for longer than a script may";

/// What a resumption came to.
pub(crate) enum Ran {
    /// It asks for something, with two arguments.
    Invocation(i32, Value, Value),
    /// It returned; the first value.
    Returned(Value),
}

/// A file's VM, and the chunk that each of its agents runs.
pub(crate) struct Vm {
    pub(crate) lua: Lua,
    pub(crate) shared: Rc<Shared>,
    /// Computes jobs; they are computed here without one.
    pub(crate) job_worker: Option<JobWorker>,
    chunk: RefCell<Function>,
    /// The first function of a main routine.
    pub(crate) start: Function,
    /// Where a thread has stopped, as `file:line:`.
    place_of: Function,
    environment_meta: Table,
    /// Metatables of agents and scenarios.
    pub(crate) agent_meta: Table,
    pub(crate) scenario_meta: Table,
    collect_at: Cell<usize>,
    pub(crate) file: Box<str>,
}

impl Vm {
    /// A VM that runs a source that was compiled.
    pub(crate) fn new(file: &str, bytecode: &Bytecode, host: Host) -> Result<Self, ScriptError> {
        Self::assemble(file, bytecode, host).map_err(|error| ScriptError {
            file: file.into(),
            line: 0,
            column: None,
            message: error.to_string().into(),
        })
    }

    fn assemble(file: &str, bytecode: &Bytecode, host: Host) -> mlua::Result<Self> {
        let Host {
            time_limit,
            job_worker,
        } = host;
        let libraries =
            StdLib::COROUTINE | StdLib::TABLE | StdLib::STRING | StdLib::BIT | StdLib::MATH | StdLib::DEBUG;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        let shared = Rc::new(Shared {
            steps: Cell::new(u32::MAX),
            granted: Cell::new(u32::MAX),
            exceeded: Cell::new(None),
            time_limit,
            all_steps: Cell::default(),
            current: RefCell::new(None),
            reports: Reports::default(),
        });
        let globals = lua.globals();
        let debug: Table = globals.get("debug")?;
        let coroutine: Table = globals.get("coroutine")?;
        let host = state::host_functions(&lua, &shared)?;
        host.raw_set("text_max", TEXT_MAX)?;
        host.raw_set("unpack_max", UNPACK_MAX)?;
        let ask: Function = coroutine.get("yield")?;
        let built: Table = (lua.load(include_str!("prelude.luau")))
            .set_name("=[trantor]")
            .call((host, ask, debug.get::<Function>("info")?))?;
        let classes = api::register(&lua, &built)?;
        // What the prelude does not list is no global.
        let base: Table = built.get("base")?;
        let kept: Table = built.get("kept")?;
        for pair in globals.clone().pairs::<String, Value>() {
            let (name, _) = pair?;
            match base.raw_get::<Value>(&*name)? {
                Value::Table(entry) if entry == kept => {}
                entry => globals.raw_set(name, entry)?,
            }
        }
        globals.raw_set("require", classes.require)?;
        lua.sandbox(true)?;
        let environment_meta = lua.create_table()?;
        environment_meta.raw_set("__index", lua.globals())?;
        environment_meta.set_readonly(true);
        let counter = Rc::clone(&shared);
        lua.set_interrupt(move |_| counter.charge(1).map(|()| VmState::Continue));
        lua.gc_set_mode(GcMode::Incremental(
            GcIncParams::default().step_size(COLLECT_STEP_BYTES as i32 >> 10),
        ));
        lua.gc_collect()?;
        lua.gc_stop();
        let chunk = load(&lua, bytecode)?;
        Ok(Self {
            start: built.get("start")?,
            place_of: built.get("place_of")?,
            environment_meta,
            agent_meta: classes.agent,
            scenario_meta: classes.scenario,
            collect_at: Cell::new(2 * lua.used_memory()),
            file: file.into(),
            chunk: RefCell::new(chunk),
            job_worker,
            shared,
            lua,
        })
    }

    /// Has another source run from the next environment on, if it compiles and `try_out` accepts it.
    pub(crate) fn replace(
        &self,
        bytecode: &Bytecode,
        try_out: impl FnOnce() -> Result<(), ScriptError>,
    ) -> Result<(), ScriptError> {
        let chunk = load(&self.lua, bytecode).map_err(|error| self.describe(&error, None))?;
        let before = self.chunk.replace(chunk);
        try_out().inspect_err(|_| {
            self.chunk.replace(before);
        })
    }

    /// The chunk in an environment of its own, as a thread that was not resumed yet.
    pub(crate) fn fresh_chunk(&self) -> mlua::Result<Thread> {
        let environment = self.lua.create_table()?;
        environment.set_metatable(Some(self.environment_meta.clone()))?;
        environment.set_safeenv(true);
        let chunk = self.chunk.borrow().deep_clone()?;
        chunk.set_environment(environment)?;
        self.lua.create_thread(chunk)
    }

    /// Resumes a routine within its limits, on behalf of `state`; takes what it uses off `steps`.
    pub(crate) fn resume(
        &self,
        thread: &Thread,
        arguments: impl IntoLuaMulti,
        state: &mut Option<Box<State>>,
        steps: &mut u32,
    ) -> Result<Ran, ScriptError> {
        let steps_before = *steps;
        self.shared.granted.set(steps_before);
        self.shared.steps.set(steps.saturating_sub(RESUMPTION_STEPS));
        self.shared.exceeded.set(None);
        *self.shared.current.borrow_mut() = state.take();
        let before = self.lua.used_memory();
        let limit = MEMORY_BYTES_MAX.min(before + GROWTH_BYTES_MAX);
        // Only scripts are limited: what the host allocates is bounded by what it allocates for.
        let _ = self.lua.set_memory_limit(limit);
        let resumed = thread.resume::<(Value, Value, Value)>(arguments);
        let _ = self.lua.set_memory_limit(0);
        *steps = self.shared.steps.replace(u32::MAX);
        self.shared.granted.set(u32::MAX);
        *state = self.shared.current.borrow_mut().take();
        self.shared.reports.resumed(steps_before - *steps);
        let exceeded = self.shared.exceeded.get();
        if exceeded == Some(TIME_EXCEEDED) {
            self.shared.reports.suspend_after_next_error();
        }
        let ran = match (exceeded, resumed) {
            // An error that the script has caught ends it all the same.
            (Some(reason), _) => Err(self.describe(&mlua::Error::runtime(reason), Some(thread))),
            (None, resumed) => match resumed {
                Err(error) => Err(self.describe(&error, Some(thread))),
                Ok((first, second, third)) if thread.status() == ThreadStatus::Resumable => {
                    Ok(Ran::Invocation(first.as_i32().unwrap_or(0), second, third))
                }
                Ok((first, ..)) => Ok(Ran::Returned(first)),
            },
        };
        if ran.is_err() {
            // A call that found no memory for its frame leaves a stack that the collector should not see.
            let _ = thread.reset(self.start.clone());
        }
        self.collect();
        ran
    }

    /// Lets the collector keep up with what was allocated.
    fn collect(&self) {
        let used = self.lua.used_memory();
        let Some(behind) = used.checked_sub(self.collect_at.get()) else {
            return;
        };
        // Twice what is in use begins the next round, unless the limit comes first.
        let next_round = |used: usize| (2 * used).min(used + MEMORY_BYTES_MAX.saturating_sub(used) / 2);
        self.collect_at.set(used + COLLECT_STEP_BYTES);
        for _ in 0..=behind / COLLECT_STEP_BYTES {
            // Only finalizers could fail, and there are none.
            if self.lua.gc_step().unwrap_or(true) {
                self.collect_at.set(next_round(self.lua.used_memory()));
                break;
            }
        }
        self.lua.gc_stop();
    }

    /// What an error says, and where the thread that it ended has stopped.
    pub(crate) fn describe(&self, error: &mlua::Error, thread: Option<&Thread>) -> ScriptError {
        let mut error = error;
        while let mlua::Error::CallbackError { cause, .. } = error {
            error = cause;
        }
        let said = match error {
            mlua::Error::RuntimeError(message) | mlua::Error::MemoryError(message) => message.clone(),
            other => other.to_string(),
        };
        let first = said.split("\nstack traceback:").next().unwrap_or_default();
        let placed = split_place(first);
        let placed = placed.or_else(|| {
            let place: String = self.place_of.call(thread?).ok()?;
            let (line, _) = split_place(&place)?;
            Some((line, first))
        });
        let (line, message) = placed.unwrap_or((0, first));
        // What the library refuses was called by the prelude.
        let message = match message
            .strip_prefix("[trantor]:")
            .and_then(|rest| rest.split_once(": "))
        {
            Some((_, message)) => message,
            None => message,
        };
        // An error that is no text is shown with its address, which differs from process to process.
        let message = match kind_with_address(message) {
            Some(kind) => &format!("an error that is a {kind}"),
            None => message,
        };
        ScriptError {
            file: self.file.clone(),
            line,
            column: None,
            message: shown_text(message, 400),
        }
    }

    /// An error of the script as a whole.
    pub(crate) fn error(&self, message: &str) -> ScriptError {
        ScriptError {
            file: self.file.clone(),
            line: 0,
            column: None,
            message: message.into(),
        }
    }
}

fn load(lua: &Lua, bytecode: &Bytecode) -> mlua::Result<Function> {
    lua.load(&bytecode.0[..])
        .set_name(format!("={CHUNK}"))
        .set_mode(ChunkMode::Binary)
        .into_function()
}

/// The kind of a value that is shown as `kind: 0x…` or `<kind 0x…>`.
fn kind_with_address(shown: &str) -> Option<&str> {
    let bare = shown.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let (kind, address) = bare.unwrap_or(shown).split_once(" 0x")?;
    let is_address = address.bytes().all(|digit| digit.is_ascii_hexdigit());
    let kind = kind.strip_suffix(':').unwrap_or(kind);
    (is_address && kind.bytes().all(|letter| letter.is_ascii_alphabetic())).then_some(kind)
}

/// The line and the rest of `script:line: rest`.
fn split_place(said: &str) -> Option<(u32, &str)> {
    let (line, message) = said.strip_prefix(CHUNK)?.strip_prefix(':')?.split_once(':')?;
    Some((line.parse().ok()?, message.trim_start()))
}

fn compiler() -> Compiler {
    Compiler::new()
        .set_optimization_level(1)
        .set_debug_level(1)
        // Fast calls go past the prelude. What it replaces and these do not name has a fast call for the cases alone in
        // which it would do the same at the same cost: one byte, some signs, a value at the end of a list, a plain value.
        .set_disabled_builtins(["setmetatable", "rawset", "table.unpack", "unpack", "tonumber"])
}
