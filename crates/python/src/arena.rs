//! One game with seats: agents that the caller decides for, next to minds of ours.
//!
//! A seat is held by one agent from its birth to its death and then stays empty, so that a name of an agent is never given twice.
//! What the caller decides goes into the same queue of commands as that of any mind; what a seat sees is read from the world,
//! at no cost of game time, and only what its agent could have seen with a `Look`.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use trantor_game::{Agent, Game, GameConfig};
use trantor_model::{AgentId, Command, Resource, TeamId};
use trantor_play::leap::{Ended, Leap};
use trantor_play::minds::{Act, MindGroup, MindRate, MindSource};
use trantor_play::words::MindSpecs;
use trantor_server::console::operate::scenario_line;
use trantor_server::live::LiveServer;
use trantor_server::options::PROGRAM;
use trantor_server::scripts::Scripts;
use trantor_time::{GameSpan, GameTime, RealSpan};

use crate::actions::{ACTIONS, command, write_mask};
use crate::seats::{MESSAGES_MAX, Seat, Seating, Seats, command_in};
use crate::tally::{Tally, TeamRecord, Teller};
use crate::thinking::Thinking;

/// Tiles in sight at the last level.
pub(crate) const SIGHT_TILES: usize = 81;
/// Figures of a tile in sight: seven resources, agents, eggs.
pub(crate) const TILE_FIGURES: usize = Resource::COUNT + 2;
/// Figures of an agent's own state; [`state_names`] names them.
pub(crate) const STATE_FIGURES: usize = 3 + Resource::COUNT + 3;
/// What the figures of an agent's own state are: three, what it carries, and three more.
pub(crate) fn state_names() -> Vec<&'static str> {
    let carried = Resource::ALL.map(Resource::name);
    [
        &["living", "team", "level"][..],
        &carried,
        &["life_units", "busy_units", "free_places"],
    ]
    .concat()
}

/// What a game is played with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The game; its seed is set for each.
    pub config: GameConfig,
    /// Minds of ours.
    pub opponents: MindSpecs,
    /// The teams with seats.
    pub teams: Vec<SeatTeam>,
    /// How long a step lasts.
    pub every: GameSpan,
    /// When a game without a winner is ended.
    pub until: GameTime,
    /// What is rewarded.
    pub rewards: Rewards,
    /// Rows end when their game does, and not when their agent dies.
    pub ends_together: bool,
    /// How long the scripts of a team may think, in real time; `None`: for ever.
    pub think_max: Option<RealSpan>,
}

/// A team with seats.
#[derive(Clone, Debug)]
pub(crate) struct SeatTeam {
    pub team: TeamId,
    /// Agents at the start.
    pub agents: u32,
    /// Seats: agents that the team may have one after the other.
    pub seats: usize,
    /// Its agents are sent the lines of the text protocol, and send lines.
    pub is_raw: bool,
}

/// What one unit, one level and so on are worth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rewards {
    /// The own team has won.
    pub win: f32,
    /// Another team has won.
    pub lose: f32,
    /// A level was reached.
    pub level: f32,
    /// The agent has died.
    pub death: f32,
    /// A unit was lived.
    pub unit: f32,
    /// Food was picked up, less what was put down and eaten.
    pub food: f32,
    /// As `food`, for a stone; those of an elevation lie on the ground then.
    pub stone: f32,
}

impl Setup {
    /// The journal of a game before its first agent: what viewers see until one begins.
    pub(crate) fn empty_journal(&self) -> Vec<u8> {
        let mut leap = Leap::with_groups(self.config.clone(), Vec::new());
        leap.start_recording(PROGRAM);
        leap.take_journal()
    }

    fn growing(&self) -> Vec<TeamId> {
        let grow = self.teams.iter().filter(|team| team.seats > team.agents as usize);
        grow.map(|team| team.team).collect()
    }

    /// Seats of one game.
    pub(crate) fn seats(&self) -> usize {
        self.teams.iter().map(|team| team.seats).sum()
    }
}

/// Where one game writes what its seats see. Each slice has a row for each seat.
pub(crate) struct Views<'a> {
    pub sight: &'a mut [u8],
    pub state: &'a mut [i32],
    pub messages: &'a mut [u8],
    pub mask: &'a mut [i8],
    pub rewards: &'a mut [f32],
    pub terminations: &'a mut [bool],
    pub truncations: &'a mut [bool],
}

impl<'a> Views<'a> {
    /// Cuts them into pieces of so many rows, at least one; the last piece has what is left.
    pub(crate) fn split(self, rows: usize) -> impl Iterator<Item = Views<'a>> {
        let mut sight = self.sight.chunks_mut(rows * SIGHT_TILES * TILE_FIGURES);
        let mut state = self.state.chunks_mut(rows * STATE_FIGURES);
        let mut messages = self.messages.chunks_mut(rows * MESSAGES_MAX * 2);
        let mut mask = self.mask.chunks_mut(rows * ACTIONS);
        let mut rewards = self.rewards.chunks_mut(rows);
        let mut terminations = self.terminations.chunks_mut(rows);
        let mut truncations = self.truncations.chunks_mut(rows);
        std::iter::from_fn(move || {
            Some(Views {
                sight: sight.next()?,
                state: state.next()?,
                messages: messages.next()?,
                mask: mask.next()?,
                rewards: rewards.next()?,
                terminations: terminations.next()?,
                truncations: truncations.next()?,
            })
        })
    }
}

/// Why a game stopped for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The agent of that seat can act.
    Acts(usize),
    /// The time was reached.
    TimeReached,
    /// The scripts of that team have thought for longer than they may.
    Slow(TeamId),
    /// Nothing more happens.
    Over,
}

/// One game with seats.
pub(crate) struct Arena {
    leap: Leap,
    scripts: Scripts,
    seats: Seats,
    /// By seat: of which team.
    teams: Vec<TeamId>,
    /// Tiles in sight that were written last, by seat; those behind are zero.
    seen: Vec<usize>,
    /// The teams with more seats than agents at the start.
    grows: Vec<TeamId>,
    every: GameSpan,
    until: GameTime,
    rewards: Rewards,
    ends_together: bool,
    /// Of the scripts among its minds, and how long those of a team may think.
    thinking: Vec<Thinking>,
    think_max: Option<RealSpan>,
    /// What its teams did, if it is a match.
    tally: Option<Tally>,
    /// When the seats saw something last.
    written_at: GameTime,
    is_over: bool,
    /// The journal so far, and how much of it is shown; nothing of a game that viewers cannot see.
    journal: Vec<u8>,
    shown_bytes: usize,
}

impl Arena {
    /// A game from this seed, at its beginning.
    ///
    /// # Errors
    /// In one line: a script cannot be used, or a team is none of the game's.
    pub(crate) fn new(setup: &Setup, seed: u64, records: bool) -> Result<Self, String> {
        Self::begun(setup, seed, records, false)
    }

    /// As `new`, with a count of what each team does.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn counted(setup: &Setup, seed: u64, records: bool) -> Result<Self, String> {
        Self::begun(setup, seed, records, true)
    }

    fn begun(setup: &Setup, seed: u64, records: bool, counts: bool) -> Result<Self, String> {
        let config = GameConfig {
            seed,
            ..setup.config.clone()
        };
        let mut scripts = Scripts::default();
        let minds = setup.opponents.groups(&config, &mut |file| scripts.minds(file))?;
        let (mut groups, thinking): (Vec<_>, Vec<_>) = minds.into_iter().map(Thinking::measure).unzip();
        let seats = Rc::new(RefCell::new(vec![Seat::default(); setup.seats()]));
        let (mut teams, mut first) = (Vec::new(), 0);
        for team in &setup.teams {
            let left = first..first + team.seats;
            first = left.end;
            teams.extend(left.clone().map(|_| team.team));
            groups.push(MindGroup {
                team: team.team,
                source: MindSource::Made {
                    name: "env".to_owned(),
                    factory: Box::new(Seating {
                        seats: seats.clone(),
                        left,
                        is_raw: team.is_raw,
                    }),
                },
                count: team.agents,
                rate: MindRate::default(),
            });
        }
        let mut leap = Leap::with_groups(config, groups);
        let tally = counts.then(Tally::default);
        if let Some(tally) = &tally {
            leap.direct(Box::new(Teller(tally.clone())), scenario_line);
        }
        if records {
            leap.start_recording(PROGRAM);
        }
        leap.begin();
        if let Some(tally) = &tally {
            tally.borrow_mut().begin(leap.game());
        }
        Ok(Self {
            leap,
            scripts,
            // Whatever the game before has left there.
            seen: vec![SIGHT_TILES; teams.len()],
            seats,
            teams,
            grows: setup.growing(),
            every: setup.every,
            until: setup.until,
            rewards: setup.rewards,
            ends_together: setup.ends_together,
            thinking: thinking.into_iter().flatten().collect(),
            think_max: setup.think_max,
            tally,
            written_at: GameTime::ZERO,
            is_over: false,
            journal: Vec::new(),
            shown_bytes: 0,
        })
    }

    /// The game.
    pub(crate) fn game(&self) -> &Game {
        self.leap.game()
    }

    /// The game and its minds.
    pub(crate) fn leap(&mut self) -> &mut Leap {
        &mut self.leap
    }

    /// The scripts of its minds.
    pub(crate) fn scripts(&mut self) -> &mut Scripts {
        &mut self.scripts
    }

    /// Whether the agent of a seat has lived and is gone.
    pub(crate) fn is_gone(&self, seat: usize) -> bool {
        self.seats.borrow()[seat].is_gone
    }

    /// The lines that the agent of a raw seat was sent since it last did something.
    pub(crate) fn text(&self, seat: usize) -> Vec<u8> {
        self.seats.borrow()[seat].text.clone().unwrap_or_default()
    }

    /// The lines that the agent of a raw seat was sent since the last call.
    pub(crate) fn take_text(&mut self, seat: usize) -> Vec<u8> {
        let seat = &mut self.seats.borrow_mut()[seat];
        seat.text.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Hands in a line of one seat, without its end. Answers whether it begins with a command.
    pub(crate) fn say(&mut self, seat: usize, line: &[u8]) -> bool {
        let command = command_in(line);
        let is_known = command != Command::Refused(None);
        let agent = self.seats.borrow()[seat].agent;
        if let Some(agent) = agent {
            self.leap.act(agent, Act::Command(command));
        }
        is_known
    }

    /// The agent of a seat leaves the game, if it lives. Answers its team then.
    pub(crate) fn leave(&mut self, seat: usize) -> Option<TeamId> {
        let agent = self.seats.borrow()[seat].agent?;
        self.remove(agent);
        Some(self.teams[seat])
    }

    /// All agents of a team leave the game. Answers how many.
    pub(crate) fn leave_all(&mut self, team: TeamId) -> u32 {
        let agents = self.game().world().agents().filter(|agent| agent.team == team);
        let agents: Vec<_> = agents.map(|agent| agent.id).collect();
        for agent in &agents {
            self.remove(*agent);
        }
        u32::try_from(agents.len()).expect("a game has far fewer")
    }

    fn remove(&mut self, agent: AgentId) {
        // A scenario is sent no events before the first step.
        if let Some(tally) = &self.tally {
            tally.borrow_mut().gone(agent, self.leap.game().now());
        }
        self.leap.leave(agent);
    }

    /// How long its scripts have thought.
    pub(crate) fn thinking(&self) -> &[Thinking] {
        &self.thinking
    }

    /// What each team has done, if that is counted.
    pub(crate) fn deeds(&self) -> Vec<TeamRecord> {
        let now = self.game().now();
        self.tally
            .as_ref()
            .map_or_else(Vec::new, |tally| tally.borrow_mut().at_end(now))
    }

    /// Whether nothing more happens in it.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Hands in an action for each seat and plays one step. A seat that is empty or busy does nothing.
    pub(crate) fn step(&mut self, actions: &[u8]) {
        self.fill_places();
        for (seat, action) in actions.iter().enumerate() {
            let agent = {
                let seat = &mut self.seats.borrow_mut()[seat];
                seat.forget_text();
                seat.agent
            };
            let agent = agent.and_then(|agent| self.leap.game().world().agent(agent));
            let idle = agent.filter(|agent| agent.is_idle()).map(|agent| agent.id);
            if let Some((agent, command)) = idle.zip(command(usize::from(*action))) {
                self.leap.act(agent, Act::Command(command));
            }
        }
        let until = (self.leap.game().now() + self.every).min(self.until);
        self.run(until);
        // Nobody is left to decide for, and nobody is born to a team without an agent.
        let is_alone = || self.seats.borrow().iter().all(|seat| seat.agent.is_none());
        self.is_over |= self.ends_together && is_alone();
    }

    /// Writes what each seat sees now, what the last step was worth, and what may be done next.
    pub(crate) fn write(&mut self, views: Views<'_>) {
        let now = self.game().now();
        let units = (now - std::mem::replace(&mut self.written_at, now)).as_units_f64() as f32;
        for (index, row) in views.split(1).enumerate() {
            self.write_seat(index, row, units);
        }
    }

    /// As `write`, for one seat, so many units after the last time.
    pub(crate) fn write_seat(&mut self, index: usize, row: Views<'_>, units: f32) {
        let game = self.leap.game();
        let world = game.world();
        let now = game.now();
        let has_ended = self.is_over && now < self.until;
        let seat = &mut self.seats.borrow_mut()[index];
        let Views {
            sight,
            state,
            messages,
            mask,
            ..
        } = row;
        let team = self.teams[index];
        let agent = seat.agent.and_then(|id| world.agent(id));
        let mut reward = 0.0;
        let was_there = seat.level > 0;
        let has_died = agent.is_none() && was_there;
        messages.fill(0);
        for (place, (direction, word)) in seat.heard.drain(..).enumerate() {
            messages[2 * place] = direction;
            messages[2 * place + 1] = word;
        }
        let written = match agent {
            Some(agent) => write_sight(sight, world.sights(agent)),
            None => 0,
        };
        if written < self.seen[index] {
            sight[written * TILE_FIGURES..self.seen[index] * TILE_FIGURES].fill(0);
        }
        self.seen[index] = written;
        mask.fill(0);
        mask[0] = 1;
        if let Some(agent) = agent {
            // A participant of an elevation has no command of its own.
            let elevation = agent.elevation.and_then(|elevation| world.elevation(elevation));
            let end = elevation.map(|elevation| elevation.end).into_iter();
            let end = end.chain(agent.action().map(|action| action.end)).max();
            let carried = &agent.inventory;
            state[0] = 1;
            state[1] = i32::from(team.0);
            state[2] = i32::from(agent.level.get());
            for (figure, count) in state[3..10].iter_mut().zip(carried.0) {
                *figure = i32::try_from(count).unwrap_or(i32::MAX);
            }
            let food = carried[Resource::Food];
            state[10] = i32::try_from(agent.life_units(now)).unwrap_or(i32::MAX);
            state[11] = end.map_or(0, |end| units_left(now, end));
            let places = world.team(team).map_or(0, |team| team.places());
            state[12] = i32::try_from(places).unwrap_or(i32::MAX);
            if agent.is_idle() {
                write_mask(mask, agent, world);
            }
            let stones = u32::try_from(carried.total()).unwrap_or(u32::MAX) - food;
            let level = agent.level.get();
            if was_there {
                reward += self.rewards.level * f32::from(level.saturating_sub(seat.level));
                reward += self.rewards.food * (food as f32 - seat.food as f32);
                reward += self.rewards.stone * (stones as f32 - seat.stones as f32);
                reward += self.rewards.unit * units;
            }
            (seat.level, seat.food, seat.stones) = (level, food, stones);
        } else {
            state.fill(0);
            state[1] = i32::from(team.0);
            if has_died {
                reward += self.rewards.death;
                seat.level = 0;
            }
        }
        match game.winner() {
            Some(TeamId::DRAW) | None => {}
            Some(winner) if was_there && winner == team => reward += self.rewards.win,
            Some(_) if was_there => reward += self.rewards.lose,
            Some(_) => {}
        }
        row.rewards[0] = reward;
        let is_gone = agent.is_none() && seat.is_gone;
        let ends = self.is_over || !self.ends_together;
        row.terminations[0] = ends && (is_gone || has_ended);
        row.truncations[0] = self.is_over && !has_ended && !is_gone;
    }

    /// Hands in an action of one seat. It can act again when the action has ended, and no earlier than after the time of a
    /// step: some commands are refused at once.
    pub(crate) fn act(&mut self, seat: usize, action: u8) {
        let agent = {
            let seat = &mut self.seats.borrow_mut()[seat];
            seat.waits_until = self.leap.game().now() + self.every;
            seat.forget_text();
            seat.agent
        };
        if let Some((agent, command)) = agent.zip(command(usize::from(action))) {
            self.leap.act(agent, Act::Command(command));
        }
    }

    /// Plays until an agent can act, but no further than `until`. As on a server in lock-step, agents act once all is done that
    /// ends at an instant, and before anything starts at it.
    pub(crate) fn advance(&mut self, until: GameTime) -> Pause {
        let until = until.min(self.until);
        while !self.is_over {
            if let Some(team) = self.slow_team() {
                return Pause::Slow(team);
            }
            let mut next = until;
            let has_ended = self.game().winner().is_some() || self.game().now() >= self.until;
            if self.leap.awaits_commands() && !has_ended {
                self.fill_places();
                let game = self.leap.game();
                for (index, seat) in self.seats.borrow().iter().enumerate() {
                    let agent = seat.agent.and_then(|agent| game.world().agent(agent));
                    if agent.is_some_and(Agent::is_idle) {
                        if seat.waits_until <= game.now() {
                            return Pause::Acts(index);
                        }
                        next = next.min(seat.waits_until);
                    }
                }
            }
            match self.leap.step(Some(next)) {
                None => {}
                Some(Ended::TimeReached) if next < until => {}
                Some(Ended::TimeReached) if until < self.until => return Pause::TimeReached,
                Some(_) => self.is_over = true,
            }
        }
        Pause::Over
    }

    /// A team with agents whose scripts have thought for too long.
    fn slow_team(&self) -> Option<TeamId> {
        let most = self.think_max?;
        let slow = |thinking: &&Thinking| thinking.spans().total > most;
        let slow = self.thinking.iter().filter(slow).map(|thinking| thinking.team);
        let world = self.leap.game().world();
        slow.into_iter()
            .find(|team| world.agents().any(|agent| agent.team == *team))
    }

    fn run(&mut self, until: GameTime) {
        let ended = self.leap.run(Some(until));
        self.is_over = ended != Ended::TimeReached || until >= self.until;
    }

    /// The game so far as a recording, if it is recorded. Its length is bounded by the last unit of the game.
    pub(crate) fn recording(&self) -> Vec<u8> {
        [&self.journal[..], &self.leap.journal_so_far()].concat()
    }

    /// Shows viewers what they have not seen yet.
    ///
    /// # Errors
    /// If the server has failed.
    pub(crate) fn show(&mut self, live: &mut LiveServer) -> io::Result<()> {
        if !live.is_watched() {
            self.shown_bytes = 0;
            return Ok(());
        }
        self.leap.record_time();
        self.journal.extend(self.leap.take_journal());
        live.show(&self.journal, self.shown_bytes, self.game().now())?;
        self.shown_bytes = self.journal.len();
        Ok(())
    }

    /// Has newborns take the places that forks have made, while their team has seats that were never taken.
    fn fill_places(&mut self) {
        for team in self.grows.clone() {
            let world = self.leap.game().world();
            let has_place = world.team(team).is_some_and(|team| team.places() > 0);
            let parent = |seat: (&Seat, &TeamId)| seat.0.agent.filter(|_| *seat.1 == team);
            let seats = self.seats.borrow();
            let is_free = |(seat, of): (&Seat, &TeamId)| *of == team && seat.agent.is_none() && !seat.is_gone;
            let has_seat = seats.iter().zip(&self.teams).any(is_free);
            let parent = seats.iter().zip(&self.teams).find_map(parent);
            drop(seats);
            if let Some(parent) = parent.filter(|_| has_place && has_seat) {
                self.leap.act(parent, Act::Join);
            }
        }
    }
}

/// Units until `end`, rounded up.
fn units_left(now: GameTime, end: GameTime) -> i32 {
    let left = (end - now).as_units_f64().ceil();
    left.clamp(0.0, f64::from(i32::MAX)) as i32
}

fn write_sight(out: &mut [u8], sights: impl Iterator<Item = trantor_model::Sight>) -> usize {
    let mut written = 0;
    for (tile, sight) in out.chunks_exact_mut(TILE_FIGURES).zip(sights) {
        for (figure, count) in tile.iter_mut().zip(sight.ground.0) {
            *figure = count.min(255) as u8;
        }
        tile[Resource::COUNT] = sight.agents.min(255) as u8;
        tile[Resource::COUNT + 1] = sight.eggs.min(255) as u8;
        written += 1;
    }
    written
}
