//! The program `trantor-bot`: the agents of a team in one thread, with sockets around [`Player`]s, and a [`Roster`].
//!
//! One poll for all connections; nothing blocks, and the loop sleeps while nothing arrives.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::{Events, Poll, Registry, Token};
use slab::Slab;
use trantor_model::{Command, Percept};
use trantor_protocol::text::Dialect;
use trantor_runtime::RealClock;
use trantor_runtime::signals::{Handled, Signals};
use trantor_strategy::{Brain, agent_seed, agents_at_most};
use trantor_time::{Clock, RealSpan, RealTime};

use crate::cli::{Options, resolve};
use crate::dialogue::{Dialogue, Event};
use crate::roster::{Finish, Next, Roster};
use crate::socket::Socket;

/// Readiness taken from the system in one wait; more is reported by the next.
const EVENTS_CAPACITY: usize = 256;

/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;

/// Buffers read from one agent in a turn, so that a fast sender starves neither other agents nor signals. At 16 KiB each
/// it equals the default outbox limit of Trantor's server.
const READS_PER_TURN_MAX: usize = 16;

/// The token of signals; connections count from zero.
const TOKEN_SIGNALS: Token = Token(usize::MAX);

/// One connection and the agent on it.
struct Agent {
    number: u64,
    socket: Socket,
    player: Player,
    /// Of answers, while it plays.
    overdue: Overdue,
    was_greeted: bool,
    /// State last reported to the roster.
    is_playing: bool,
}

/// Result of a turn of reading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exchanged {
    All,
    /// There may be more: edge-triggered readiness is not reported again.
    Some,
    /// The stream has ended.
    Closed,
}

impl Agent {
    /// Reads for one turn and writes the resulting commands.
    fn exchange(&mut self, registry: &Registry) -> io::Result<Exchanged> {
        let mut bytes = [0; READ_BYTES];
        for _ in 0..READS_PER_TURN_MAX {
            let count = self.socket.read(&mut bytes)?;
            match count {
                Some(0) => return Ok(Exchanged::Closed),
                Some(count) => {
                    self.was_greeted = true;
                    self.player.take_in(&bytes[..count]);
                }
                None => {}
            }
            self.socket.flush(self.player.dialogue.unsent(), registry)?;
            if count.is_none() {
                return Ok(Exchanged::All);
            }
        }
        Ok(Exchanged::Some)
    }
}

struct Team<'a> {
    options: &'a Options,
    server: SocketAddr,
    seed: u64,
    poll: Poll,
    signals: Signals,
    agents: Slab<Agent>,
    /// Agents that may have something to read.
    to_read: BTreeSet<usize>,
    roster: Roster,
    passed: TeamUnits,
    clock: RealClock,
    agents_made: u64,
    /// Commands in flight for each agent: the option, or one since the server lost some.
    in_flight_max: usize,
    /// Whether a server has answered at that address.
    was_greeted: bool,
}

/// Why a team could not play or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// The host's name does not resolve, or the roster gave up; the line has the reason.
    #[error("{0}")]
    GaveUp(String),
    /// No server listens at that address.
    #[error("cannot connect to {0}: {1}")]
    Connect(SocketAddr, io::Error),
    /// The system has no poll or signal handler for us.
    #[error("this machine: {0}")]
    System(#[from] io::Error),
}

/// Plays until the game is over, a signal comes, or the roster gives up; returns a summary. Takes over SIGINT and SIGTERM.
///
/// # Errors
/// If there is no server or no place, or the connections break.
pub fn play(options: &Options) -> Result<String, TeamError> {
    Team::new(options)?.play()
}

impl<'a> Team<'a> {
    fn new(options: &'a Options) -> Result<Self, TeamError> {
        let clock = RealClock::new();
        let poll = Poll::new()?;
        let signals = Signals::watch(poll.registry(), TOKEN_SIGNALS, Handled::End)?;
        let size = usize::from(options.team_size);
        let size_max = options.team_size_max.map_or(agents_at_most(size), usize::from);
        let patience = RealSpan::from_secs(i64::from(options.patience));
        // Else a random number, from the seed of the standard library's hash tables.
        let seed = options
            .seed
            .unwrap_or_else(|| RandomState::new().build_hasher().finish());
        log::info!("seed {seed}");
        Ok(Self {
            roster: Roster::new(size, size_max, patience, clock.now()),
            server: resolve(&options.host, options.port).map_err(TeamError::GaveUp)?,
            seed,
            options,
            poll,
            signals,
            agents: Slab::new(),
            to_read: BTreeSet::new(),
            passed: TeamUnits::default(),
            clock,
            agents_made: 0,
            in_flight_max: usize::from(options.in_flight),
            was_greeted: false,
        })
    }

    fn play(&mut self) -> Result<String, TeamError> {
        let mut events = Events::with_capacity(EVENTS_CAPACITY);
        loop {
            let wake_at = match self.roster.next(self.clock.now()) {
                Next::Connect => {
                    self.connect()?;
                    continue;
                }
                Next::Wait(until) => until,
                Next::Finish(finish) => return self.finish(finish),
            };
            let overdue_at = self.ask_again();
            let wake_at = wake_at.into_iter().chain(overdue_at).min();
            let timeout = match self.to_read.is_empty() {
                true => wake_at.map(|at| at.since(self.clock.now()).to_std()),
                false => Some(Duration::ZERO),
            };
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                if event.token() != TOKEN_SIGNALS {
                    self.to_read.insert(event.token().0);
                } else if self.signals.received().is_some() {
                    return Ok(self.interrupted());
                }
            }
            for key in std::mem::take(&mut self.to_read) {
                self.serve(key)?;
            }
        }
    }

    fn interrupted(&self) -> String {
        let playing = self.agents.iter().filter(|(_, agent)| agent.is_playing);
        let mut levels: Vec<u8> = playing
            .map(|(_, agent)| agent.player.brain.level().get())
            .collect();
        levels.sort_unstable_by(|a, b| b.cmp(a));
        let team = &self.options.name;
        format!("team {team}: interrupted; the agents' levels were {levels:?}")
    }

    fn finish(&self, finish: Finish) -> Result<String, TeamError> {
        let (team, server) = (&self.options.name, self.server);
        Err(TeamError::GaveUp(match finish {
            Finish::Closed => return Ok(format!("team {team}: the server closed the connections")),
            Finish::BrokenOff => {
                format!("the connections to {server} broke off: the server was killed, or the network failed")
            }
            Finish::NoPlace => {
                format!("the server has no place for team {team:?}: no such team, or it is full")
            }
            Finish::TurnedAway => format!(
                "{server} closes each connection before it gives a place: it is full, or no server of this game"
            ),
            Finish::NoAnswer => format!(
                "{server} does not answer: a game that waits for its start, or no server of this game"
            ),
            Finish::AllDead => {
                format!("all agents of team {team:?} died, and the server has no place for others")
            }
        }))
    }

    fn connect(&mut self) -> Result<(), TeamError> {
        self.roster.connecting(self.clock.now());
        let number = self.agents_made;
        self.agents_made += 1;
        let Options { name, dialect, .. } = self.options;
        let player = Player::new(name.as_bytes(), *dialect, self.seed, self.in_flight_max);
        let entry = self.agents.vacant_entry();
        let token = Token(entry.key());
        let socket = match Socket::connect(self.server, self.poll.registry(), token) {
            Ok(socket) => socket,
            Err(error) => return self.connection_failed(error),
        };
        entry.insert(Agent {
            number,
            socket,
            player,
            overdue: Overdue::new(self.passed, self.clock.now()),
            was_greeted: false,
            is_playing: false,
        });
        Ok(())
    }

    /// A connection failed or ended before the join. Fails if no server listens; a server that closes one connection may
    /// accept the next.
    fn connection_failed(&mut self, error: io::Error) -> Result<(), TeamError> {
        self.roster.not_joined(false, self.clock.now());
        let was_made = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
        );
        if was_made {
            log::info!("the server closed a connection before it gave a place: {error}");
        } else if self.was_greeted {
            log::warn!("a connection could not be made: {error}");
        } else {
            return Err(TeamError::Connect(self.server, error));
        }
        Ok(())
    }

    /// Handles input of an agent and reports changes of its state.
    fn serve(&mut self, key: usize) -> Result<(), TeamError> {
        let Some(agent) = self.agents.get_mut(key) else {
            return Ok(());
        };
        agent.player.replacement = self.roster.replacement();
        let exchanged = agent.exchange(self.poll.registry());
        self.was_greeted |= agent.was_greeted;
        let now = self.clock.now();
        let state = agent.player.state;
        if !agent.is_playing && matches!(state, PlayerState::Playing | PlayerState::Dead) {
            agent.is_playing = true;
            agent.overdue = Overdue::new(self.passed, now);
            self.roster.joined();
            log::info!("agent {} joined team {}", agent.number, self.options.name);
        }
        match state {
            PlayerState::Joining | PlayerState::Playing => {}
            PlayerState::Dead => {
                log::info!(
                    "agent {} died at level {}",
                    agent.number,
                    agent.player.brain.level().get()
                );
                self.roster.died(now);
                return self.remove(key);
            }
            PlayerState::Refused => {
                log::debug!("agent {} was refused", agent.number);
                self.roster.not_joined(true, now);
                return self.remove(key);
            }
        }
        if let Some(units) = agent.player.answered_units.take() {
            agent.overdue.answered(units, &mut self.passed, now);
        }
        if agent.player.dialogue.has_lost() && self.in_flight_max > 1 {
            log::info!("the server loses commands: one is sent at a time");
            self.in_flight_max = 1;
            for (_, agent) in &mut self.agents {
                agent.player.dialogue.limit_in_flight(1);
            }
        }
        let Some(agent) = self.agents.get_mut(key) else {
            return Ok(());
        };
        if agent.player.brain.take_free_place() {
            self.roster.free_place(now);
        }
        match exchanged {
            Ok(Exchanged::All) => Ok(()),
            Ok(Exchanged::Some) => {
                self.to_read.insert(key);
                Ok(())
            }
            Ok(Exchanged::Closed) => self.lost(key, io::ErrorKind::UnexpectedEof.into()),
            Err(error) => self.lost(key, error),
        }
    }

    /// Has agents with overdue answers ask again; returns the next deadline.
    fn ask_again(&mut self) -> Option<RealTime> {
        let now = self.clock.now();
        let mut next_at = None;
        for (key, agent) in &mut self.agents {
            // A server that does not read cannot answer.
            if !agent.is_playing || !agent.player.is_waiting() || !agent.player.dialogue.unsent().is_empty() {
                continue;
            }
            let awaited = agent.player.dialogue.awaited_units();
            if agent.overdue.is_overdue(awaited, self.passed, now) {
                log::info!("agent {} had no answer for long, and asks again", agent.number);
                agent.player.ask_again();
                agent.overdue.asked_again(self.passed, now);
                self.to_read.insert(key);
            }
            next_at = next_at.into_iter().chain([agent.overdue.at(awaited)]).min();
        }
        next_at
    }

    /// The connection of a living agent ended.
    fn lost(&mut self, key: usize, error: io::Error) -> Result<(), TeamError> {
        if self.agents[key].is_playing {
            log::debug!(
                "agent {}: the server closed the connection: {error}",
                self.agents[key].number
            );
            // A write after a clean close by the server gives a broken pipe.
            let in_order = matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe
            );
            self.roster.closed(in_order, self.clock.now());
            return self.remove(key);
        }
        self.remove(key)?;
        self.connection_failed(error)
    }

    fn remove(&mut self, key: usize) -> Result<(), TeamError> {
        let mut agent = self.agents.remove(key);
        agent.socket.close(self.poll.registry())?;
        Ok(())
    }
}

/// One agent of a team, without its socket: events of its dialogue go to its mind, whose commands go to the server.
#[derive(Debug)]
pub(crate) struct Player {
    pub(crate) dialogue: Dialogue,
    team: Vec<u8>,
    seed: u64,
    /// Number of a replacement, in case it joins now: 0 for one of the team's first agents, and another number for each
    /// later one ([`agent_seed`]).
    pub(crate) replacement: u64,
    /// Of the joined agent; a placeholder before.
    pub(crate) brain: Brain,
    pub(crate) state: PlayerState,
    /// The durations of all commands that were answered since it was last taken; `None` if none was.
    pub(crate) answered_units: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlayerState {
    Joining,
    /// The server has no place for it.
    Refused,
    Playing,
    /// It starved.
    Dead,
}

impl Player {
    /// An agent of `team`. Its generator is seeded by `seed`, the first lines from the server and its replacement's number.
    pub(crate) fn new(team: &[u8], dialect: Dialect, seed: u64, in_flight_max: usize) -> Self {
        let mut dialogue = Dialogue::new(team, dialect);
        dialogue.limit_in_flight(in_flight_max);
        Self {
            dialogue,
            team: team.to_vec(),
            seed,
            replacement: 0,
            brain: Brain::new(team, seed),
            state: PlayerState::Joining,
            answered_units: None,
        }
    }

    /// Handles bytes from the server, and sends commands. It decides after each line, so that cuts of the stream do not
    /// matter.
    pub(crate) fn take_in(&mut self, bytes: &[u8]) {
        self.dialogue.take_in(bytes);
        while let Some(event) = self.dialogue.poll() {
            self.take_event(&event);
            if self.dialogue.has_lost() {
                self.dialogue.limit_in_flight(1);
            }
            self.decide();
        }
    }

    /// Whether it waits for an answer or the end of an elevation.
    pub(crate) fn is_waiting(&self) -> bool {
        self.dialogue.open() > 0 || self.dialogue.is_held()
    }

    /// Nothing was answered for long: asks again.
    pub(crate) fn ask_again(&mut self) {
        if !(self.brain.ask_again() && self.dialogue.ask_again()) {
            self.dialogue.forget();
            self.brain.forget();
            self.decide();
        }
    }

    fn decide(&mut self) {
        while self.state == PlayerState::Playing && self.dialogue.may_send() {
            match self.brain.next_command() {
                Some(command) => self.dialogue.send(command),
                None => break,
            }
        }
    }

    fn take_event(&mut self, event: &Event) {
        let elevation_units = Command::Incantation.duration_units();
        let (units, percept) = match event {
            Event::Joined { places, .. } => {
                let seed = agent_seed(self.seed, &self.team, *places, self.replacement);
                self.brain = Brain::new(&self.team, seed);
                self.state = PlayerState::Playing;
                return;
            }
            Event::Refused => {
                self.state = PlayerState::Refused;
                return;
            }
            Event::Dead => {
                self.state = PlayerState::Dead;
                return;
            }
            Event::Unknown(line) => {
                log::debug!("cannot use {:?}", line.escape_ascii().to_string());
                return;
            }
            Event::Answer(command, answer) => {
                let units = match command {
                    // A refused elevation takes no time; of an accepted one the server sends the end.
                    Command::Incantation => 0,
                    command => command.duration_units(),
                };
                (Some(units), answer)
            }
            Event::Percept(percept) => match percept {
                Percept::Message { .. } | Percept::Pushed { .. } => (None, percept),
                Percept::ElevationUnderway => (Some(0), percept),
                Percept::Level(_) | Percept::Ko => (Some(elevation_units), percept),
                // Of use whenever they come.
                Percept::Inventory { .. } | Percept::Places(_) => (None, percept),
                Percept::Look(_) | Percept::Ok => return,
            },
        };
        if let Some(units) = units {
            let before = self.answered_units.unwrap_or(0);
            self.answered_units = Some(before.saturating_add(u32::from(units)));
        }
        self.brain.perceive(percept);
    }
}

/// Limit in game time: three times the longest command. One is the command itself, and one the delay of other agents'
/// answers.
const OVERDUE_UNITS: u64 = 900;

/// Limit in real time. A server that does not answer a step for so long has lost it, unless its game is slow or paused.
const SILENCE: RealSpan = RealSpan::from_millis(1_500);

/// As `SILENCE`, for long commands and slow games, in durations of the command that is awaited.
const SILENCE_DURATIONS: i64 = 2;

/// Window of the speed estimate; older answers decay, since the speed may change.
const MEMORY_UNITS: u32 = 500;

/// How often an agent asks until the limit doubles each time: once by each request that it may ask.
const ASKED_AT_ONCE: u32 = 3;

/// Most doublings: a game that is paused is asked once every 24 seconds.
const DOUBLINGS_MAX: u32 = 4;

/// Lower bound of the passed game time, from the answers of a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TeamUnits(u64);

/// Wait of one agent, which ends when its answer is overdue.
///
/// Servers lose commands or answer in unknown words; an agent that waits for such an answer starves. A game may also be
/// paused, or wait for others in lock-step, and then no answer is overdue. The two look alike, so an agent that asks again
/// loses nothing by it if it was wrong ([`Player::ask_again`]).
///
/// Waiting is measured in real time, for which the length of a unit is estimated from earlier answers; and in game time, since
/// at a high speed an agent starves within that. Game time is shown by the team's answers: an answered step proves that seven
/// units have passed. It is exact to a command or two, since connections are read at different times.
#[derive(Clone, Debug)]
pub(crate) struct Overdue {
    /// Bound when it joined, and the durations of its own answers since.
    own_units: u64,
    /// Bound at the last answer or exceeded limit.
    since_units: TeamUnits,
    /// As `since_units`, in real time.
    since: RealTime,
    /// Speed estimate: `units` took `span`.
    units: u32,
    span: RealSpan,
    /// How often in a row it has asked again.
    asked: u32,
}

impl Overdue {
    /// Starts at `now` with the default speed of 100 units a second as estimate.
    pub(crate) fn new(passed: TeamUnits, now: RealTime) -> Self {
        Self {
            own_units: passed.0,
            since_units: passed,
            since: now,
            units: 1,
            span: RealSpan::from_millis(10),
            asked: 0,
        }
    }

    /// An answer to a command of this duration, after all earlier answers.
    pub(crate) fn answered(&mut self, units: u32, passed: &mut TeamUnits, now: RealTime) {
        self.own_units = self.own_units.saturating_add(u64::from(units));
        passed.0 = passed.0.max(self.own_units);
        self.since_units = *passed;
        self.units = self.units.saturating_add(units);
        self.span += now.since(self.since);
        while self.units > MEMORY_UNITS {
            self.units /= 2;
            self.span = RealSpan::from_nanos(self.span.as_nanos() / 2);
        }
        self.since = now;
        self.asked = 0;
    }

    /// Whether an answer to a command of this duration is overdue.
    pub(crate) fn is_overdue(&self, units: u16, passed: TeamUnits, now: RealTime) -> bool {
        passed.0 - self.since_units.0 >= OVERDUE_UNITS || self.at(units) <= now
    }

    /// When the real-time limit ends.
    pub(crate) fn at(&self, units: u16) -> RealTime {
        let unit_ns = self.span.as_nanos() / i64::from(self.units);
        let span_ns = unit_ns.saturating_mul(i64::from(units) * SILENCE_DURATIONS);
        let span_ns = span_ns.max(SILENCE.as_nanos());
        let doublings = self.asked.saturating_sub(ASKED_AT_ONCE).min(DOUBLINGS_MAX);
        let doubled = RealSpan::from_nanos(span_ns.saturating_mul(1 << doublings));
        self.since.saturating_add(doubled)
    }

    /// The limit was exceeded, and the agent has asked again at `now`.
    pub(crate) fn asked_again(&mut self, passed: TeamUnits, now: RealTime) {
        self.since_units = passed;
        self.since = now;
        self.asked = self.asked.saturating_add(1);
    }
}
