//! What one agent or scenario has besides its routines, and the functions of the host that act on it while it runs.

use std::collections::VecDeque;
use std::rc::Rc;

use mlua::{Function, Lua, Table, Value};
use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_model::{
    AgentId, Command, Direction, MapSize, Percept, Resource, Show, Tile, TileMark, Turn, show::shown_text,
};
use trantor_play::minds::Published;
use trantor_strategy::flight::{Flight, IN_FLIGHT_MAX};
use trantor_time::{GameSpan, GameTime};

use crate::data::Data;
use crate::jobs::span;
use crate::limits::{ROUTINES_MAX, SHOWS_MAX, TEXT_BYTES_MAX, TIMERS_MAX};
use crate::vm::Shared;

/// What a script does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptAct {
    Command(Command),
    Join,
    Show(Show),
    /// A line of the operator's console, to be answered by its number.
    Console {
        id: u64,
        line: String,
    },
}

/// A place as an agent counts: from where it was born at 0, 0, with y growing behind it and x to its right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pose {
    pub(crate) x: i32,
    pub(crate) y: i32,
    /// Quarter turns to the right since its birth, `0..4`.
    pub(crate) facing: u8,
}

impl Pose {
    /// One tile on, `quarters` to the right of where it faces.
    fn step(&mut self, quarters: u8) {
        let (dx, dy) = [(0, -1), (1, 0), (0, 1), (-1, 0)][usize::from((self.facing + quarters) % 4)];
        (self.x, self.y) = (self.x.wrapping_add(dx), self.y.wrapping_add(dy));
    }

    /// Pushed by an agent that came from there: 1 is ahead, then counter-clockwise to 8.
    pub(crate) fn pushed_from(&mut self, direction: u8) {
        match direction {
            1 => self.step(2),
            3 => self.step(1),
            5 => self.step(0),
            7 => self.step(3),
            _ => {}
        }
    }
}

/// Where an agent was born. Scripts do not know it: they count tiles from there.
#[derive(Clone, Copy)]
pub(crate) struct Birth {
    pub(crate) tile: Tile,
    pub(crate) direction: Direction,
    pub(crate) map: MapSize,
}

impl Birth {
    /// Tiles of the map along a script's `x` and `y`.
    pub(crate) fn sides(self) -> (u16, u16) {
        match self.direction {
            Direction::North | Direction::South => (self.map.width(), self.map.height()),
            Direction::East | Direction::West => (self.map.height(), self.map.width()),
        }
    }

    /// The tile of the map that a script counts as `x` to the right of its birth and `y` behind it.
    fn on_map(self, x: i32, y: i32) -> Tile {
        let (right, behind) = match self.direction {
            Direction::North => (x, y),
            Direction::East => (-y, x),
            Direction::South => (-x, -y),
            Direction::West => (y, -x),
        };
        let wrap = |from: u16, offset: i32, side: u16| {
            let at = (i64::from(from) + i64::from(offset)).rem_euclid(i64::from(side));
            u16::try_from(at).unwrap_or_default()
        };
        Tile {
            x: wrap(self.tile.x, right, self.map.width()),
            y: wrap(self.tile.y, behind, self.map.height()),
        }
    }
}

pub(crate) struct Timer {
    pub(crate) id: u64,
    name: Option<Box<str>>,
    pub(crate) due: GameTime,
    pub(crate) every: Option<GameSpan>,
    pub(crate) run: Function,
}

/// See the module.
pub(crate) struct State {
    pub(crate) agent: Option<AgentId>,
    pub(crate) team: Box<str>,
    pub(crate) now: GameTime,
    pub(crate) rng: Pcg32,
    /// None of a scenario, which counts tiles as the map does.
    pub(crate) birth: Option<Birth>,
    pub(crate) pose: Pose,
    pub(crate) acts: Vec<ScriptAct>,
    shows: usize,
    flight: Flight,
    /// The tickets of what is in flight.
    tickets: VecDeque<u64>,
    /// Commands of routines that wait until there is room in flight.
    unsent: VecDeque<(u64, Command)>,
    pub(crate) timers: Vec<Timer>,
    pub(crate) handlers: Vec<(Box<str>, Function)>,
    last_id: u64,
    pub(crate) published: Published,
}

impl State {
    pub(crate) fn new(agent: Option<AgentId>, team: &str, birth: Option<Birth>, seed: u64) -> Self {
        Self {
            agent,
            team: team.into(),
            birth,
            now: GameTime::ZERO,
            rng: Pcg32::new(seed, 0x7363_7269_7074),
            pose: Pose::default(),
            acts: Vec::new(),
            shows: 0,
            flight: Flight::default(),
            tickets: VecDeque::new(),
            unsent: VecDeque::new(),
            timers: Vec::new(),
            handlers: Vec::new(),
            last_id: 0,
            published: Published::default(),
        }
    }

    /// A number that nothing else of this agent has; ties at one instant go by it.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn begin_decision(&mut self, now: GameTime) {
        self.now = now;
        self.shows = 0;
    }

    /// Sends a command, or keeps it until there is room; answers its ticket.
    pub(crate) fn send(&mut self, command: Command) -> u64 {
        let ticket = self.next_id();
        self.unsent.push_back((ticket, command));
        self.send_waiting();
        ticket
    }

    /// Whether the answer of a ticket is still to come.
    pub(crate) fn is_open(&self, ticket: u64) -> bool {
        let unsent = self.unsent.iter().map(|(ticket, _)| ticket);
        self.tickets.iter().chain(unsent).any(|open| *open == ticket)
    }

    fn has_room(&self) -> bool {
        self.flight.len() + self.unsent.len() < IN_FLIGHT_MAX
    }

    pub(crate) fn send_waiting(&mut self) {
        while self.flight.has_room()
            && let Some((ticket, command)) = self.unsent.pop_front()
        {
            self.flight.sent(command.clone());
            self.tickets.push_back(ticket);
            self.acts.push(ScriptAct::Command(command));
        }
    }

    /// Forgets what no routine waits for any more and was not sent.
    pub(crate) fn forget_unsent(&mut self) {
        self.unsent.clear();
    }

    /// The ticket that an answer belongs to. Those that it has overtaken are lost, and come back first.
    pub(crate) fn answered(&mut self, answer: &Percept, lost: &mut Vec<u64>) -> Option<u64> {
        let before = self.flight.len();
        let command = self.flight.answered(answer)?;
        match (&command, answer) {
            (Command::Forward, Percept::Ok) => self.pose.step(0),
            (Command::Turn(turn), Percept::Ok) => {
                let quarters = if *turn == Turn::Right { 1 } else { 3 };
                self.pose.facing = (self.pose.facing + quarters) % 4;
            }
            _ => {}
        }
        lost.extend(self.tickets.drain(..before - self.flight.len() - 1));
        self.tickets.pop_front()
    }

    /// The ticket of the elevation that has ended, if this agent had asked for it.
    pub(crate) fn elevation_ended(&mut self) -> Option<u64> {
        self.flight.elevation_ended()?;
        self.tickets.pop_front()
    }

    pub(crate) fn handler(&self, event: &str) -> Option<&Function> {
        let found = self.handlers.iter().find(|(name, _)| **name == *event);
        found.map(|(_, run)| run)
    }

    /// A value of the match by its name, as of this decision.
    fn value_of_match(&self, name: &str) -> Option<f64> {
        match name.split_once('.') {
            None => (name == "units").then(|| self.now.as_units_f64()),
            Some(("agents", team)) => self.published.living(team).map(f64::from),
            Some(_) => None,
        }
    }

    fn show(&mut self, act: ScriptAct) {
        if self.shows < SHOWS_MAX {
            self.shows += 1;
            self.acts.push(act);
        }
    }

    /// A tile that the script counts so; viewers leave out one beyond any map.
    fn on_map(&self, x: f64, y: f64) -> Tile {
        let beyond = |at: f64| if at < 0.0 { u16::MAX } else { at as u16 };
        match self.birth {
            Some(birth) => birth.on_map(x as i32, y as i32),
            None => Tile {
                x: beyond(x),
                y: beyond(y),
            },
        }
    }

    /// Sets a timer, in place of the one of its name.
    fn set_timer(
        &mut self,
        units: f64,
        is_repeating: bool,
        run: Function,
        name: Option<Box<str>>,
    ) -> Option<u64> {
        if let Some(name) = &name {
            self.cancel_named(name);
        }
        if self.timers.len() >= TIMERS_MAX {
            return None;
        }
        let (id, period) = (self.next_id(), span(units));
        self.timers.push(Timer {
            id,
            name,
            due: self.now + period,
            every: is_repeating.then_some(period),
            run,
        });
        Some(id)
    }

    /// Cancels the timer of a name; answers whether there was one.
    fn cancel_named(&mut self, name: &str) -> bool {
        let count = self.timers.len();
        self.timers.retain(|timer| timer.name.as_deref() != Some(name));
        self.timers.len() < count
    }
}

/// The command of a request, with its argument checked by the prelude.
pub(crate) fn command_of(request: i32, argument: &Value) -> Option<Command> {
    let resource = || {
        let number = argument
            .as_i64()
            .and_then(|number| usize::try_from(number).ok())?;
        Resource::ALL.get(number).copied()
    };
    Some(match request {
        1 => Command::Forward,
        2 => Command::Turn(Turn::Left),
        3 => Command::Turn(Turn::Right),
        4 => Command::Look,
        5 => Command::Inventory,
        6 => {
            let text = argument.as_string()?.as_bytes();
            // A line of the wire has one end, which no text may contain.
            let text = text.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte });
            Command::Broadcast(text.take(TEXT_BYTES_MAX).collect())
        }
        7 => Command::ConnectNbr,
        8 => Command::Fork,
        9 => Command::Eject,
        10 => Command::Take(resource()?),
        11 => Command::Set(resource()?),
        12 => Command::Incantation,
        _ => return None,
    })
}

/// A text of a script for people; bytes that are no UTF-8 are replaced. It costs no more for a long one.
pub(crate) fn text(value: &mlua::LuaString) -> Box<str> {
    let bytes = value.as_bytes();
    let first = &bytes[..bytes.len().min(TEXT_BYTES_MAX + char::MAX_LEN_UTF8)];
    shown_text(&String::from_utf8_lossy(first), TEXT_BYTES_MAX)
}

/// The table of functions that the prelude is given. None of them waits.
pub(crate) fn host_functions(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    // A function on the state of whom the running script acts for.
    macro_rules! host {
        ($name:literal, |$state:ident, $args:tt: $kinds:ty| $body:expr) => {
            let reach = Rc::clone(shared);
            let run = move |_: &Lua, $args: $kinds| {
                let mut current = reach.current.borrow_mut();
                let $state = current
                    .as_deref_mut()
                    .ok_or_else(|| mlua::Error::runtime("not while the file is read"))?;
                Ok($body)
            };
            host.raw_set($name, lua.create_function(run)?)?;
        };
    }
    host!("now", |state, (): ()| state.now.as_units_f64());
    host!("random", |state, (): ()| {
        f64::from(state.rng.next_u32()) / (f64::from(u32::MAX) + 1.0)
    });
    host!("position", |state, (): ()| (
        state.pose.x,
        state.pose.y,
        state.pose.facing
    ));
    host!("send", |state, (request, argument): (i32, Value)| {
        let command = command_of(request, &argument).filter(|_| state.has_room());
        command.map(|command| state.send(command))
    });
    host!("join", |state, (): ()| state.show(ScriptAct::Join));
    host!("timer", |state,
                    (units, is_repeating, run, name): (
        f64,
        bool,
        Function,
        Option<mlua::LuaString>
    )| {
        state.set_timer(units, is_repeating, run, name.as_ref().map(text))
    });
    host!("cancel", |state, id: f64| {
        let count = state.timers.len();
        state.timers.retain(|timer| timer.id as f64 != id);
        state.timers.len() < count
    });
    host!("cancel_named", |state, name: mlua::LuaString| {
        state.cancel_named(&text(&name))
    });
    host!(
        "on",
        |state, (event, run): (mlua::LuaString, Option<Function>)| {
            let event = text(&event);
            state.handlers.retain(|(name, _)| *name != event);
            // The prelude knows fewer events than that.
            if let Some(run) = run.filter(|_| state.handlers.len() < ROUTINES_MAX) {
                state.handlers.push((event, run));
            }
        }
    );
    host!("note", |state, note: mlua::LuaString| {
        state.show(ScriptAct::Show(Show::Note(text(&note))));
    });
    host!("mark", |state,
                   (key, flat, colour, label): (
        mlua::LuaString,
        Vec<f64>,
        u32,
        mlua::LuaString
    )| {
        let [_, colour @ ..] = colour.to_be_bytes();
        let tiles = flat.chunks_exact(2).map(|tile| state.on_map(tile[0], tile[1]));
        let mark = TileMark {
            tiles: tiles.collect(),
            colour,
            text: text(&label),
        };
        let key = text(&key);
        state.show(ScriptAct::Show(Show::Mark { key, mark }));
    });
    host!("unmark", |state, key: mlua::LuaString| {
        state.show(ScriptAct::Show(Show::Unmark { key: text(&key) }));
    });
    host!(
        "card",
        |state, (name, value): (mlua::LuaString, mlua::LuaString)| {
            let (name, value) = (text(&name), text(&value));
            state.show(ScriptAct::Show(Show::Card { name, value }));
        }
    );
    host!("announce", |state, line: mlua::LuaString| {
        state.show(ScriptAct::Show(Show::Announce(text(&line))));
    });
    let reach = Rc::clone(shared);
    host!("log", |state, line: mlua::LuaString| {
        reach.reports.log(state.agent, state.now, text(&line));
    });
    let reach = Rc::clone(shared);
    host!("publish", |state, (name, value): (mlua::LuaString, Value)| {
        // What is no data, or too long, is not published.
        let value = Data::read(&value).0;
        value.is_ok_and(|value| reach.reports.publish(&state.team, text(&name), value))
    });
    let reach = Rc::clone(shared);
    let read = move |lua: &Lua, name: mlua::LuaString| {
        let current = reach.current.borrow();
        let team = current.as_ref().map_or("", |state| &*state.team);
        reach.reports.value(team, &text(&name)).write(lua)
    };
    host.raw_set("read", lua.create_function(read)?)?;
    host!("match_value", |state, name: mlua::LuaString| {
        state.value_of_match(&text(&name))
    });
    let reach = Rc::clone(shared);
    let charge = move |_: &Lua, steps: f64| reach.charge(steps as u32);
    host.raw_set("charge", lua.create_function(charge)?)?;
    host.raw_set("scenario_events", crate::api::scenario_events())?;
    Ok(host)
}
