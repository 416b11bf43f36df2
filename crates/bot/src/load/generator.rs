//! The event loop of the load generator: all peers in one poll, in phases.
//!
//! ```text
//! preparing    query the speed; test one to be set, then slow the game down
//! joining      connect viewers, then agents, a bounded number at a time; disconnect the control viewer
//! warming up   agents start, spread over the time of one step, or all at once
//! measuring    answers count
//! checking     query the speed again
//! ```

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Token};
use slab::Slab;
use trantor_runtime::real_clock::processor_time_for_measurement;
use trantor_runtime::signals::{Handled, Signals};
use trantor_runtime::{Parker, RealClock};
use trantor_time::{Clock, Frequency, RealSpan, RealTime};

use super::LoadError;
use super::agent::{AgentState, LoadAgent, span_of};
use super::cli::{Options, Speed};
use super::peer::{Control, Kind, Peer, TextViewer};
use super::report::{Figures, Report};
use crate::cli::resolve;
use crate::socket::Socket;

/// Most pending connections; fewer than a server's listen backlog.
const CONNECTING_MAX: usize = 100;

/// Read buffer, large for viewers of a busy world.
const READ_BYTES: usize = 64 * 1024;

/// The token of signals; peers count from zero.
const TOKEN_SIGNALS: Token = Token(usize::MAX);

/// Pause after [`Phase::Warm`], so that reading the server's metrics there delays no measured answer.
const SETTLE_SPAN: RealSpan = RealSpan::from_millis(100);

/// Pause after the last join, at slow speed so that no agent starves. The system delays acknowledgements of the join lines by
/// up to 200 ms (Linux: mostly 40 ms) and sends them in bursts of half a millisecond. A first command that is read late
/// because of them makes its agent late for the whole run.
const DELAYED_ACKS_SPAN: RealSpan = RealSpan::from_millis(200);

/// Duration of a step and of most commands. Agents start evenly spread over it.
const STEP_UNITS: u16 = 7;

/// Least time between the starts of two agents, so that none is late. If a step is too short for all, they start in several
/// steps.
const START_SPAN: RealSpan = RealSpan::from_micros(50);

/// Wait for the speed at the start; some servers send it only when queried.
const UNASKED_SPAN: RealSpan = RealSpan::from_millis(500);

/// Time limit for restoring the speed after a failed load.
const RESTORE_PATIENCE: RealSpan = RealSpan::from_secs(2);

/// Time limit for the query of the speed at the end; the report states a missing answer.
const CHECK_PATIENCE: RealSpan = RealSpan::from_secs(2);

/// Readiness taken from the system in one wait; more is reported by the next.
const EVENTS_CAPACITY: usize = 4_096;

/// Queued peers read before the next poll for agents: reading the input of a thousand viewers takes longer than an
/// answer.
const WAITING_PER_TURN: usize = 16;

/// Buffers read from one peer in a turn, so that a fast sender starves neither other peers nor signals nor the end of
/// measuring. At 64 KiB each it is a megabyte, a few milliseconds of work.
const READS_PER_TURN_MAX: usize = 16;

/// On Linux a read that did not fill the buffer has emptied the socket (epoll(7)), and later input is reported again.
/// Another read would cost as much as the first.
const SHORT_READ_MEANS_EMPTY: bool = cfg!(target_os = "linux");

/// Phase of a load, for callers that read the server's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All agents have joined, and none has sent a command.
    Joined,
    /// All agents have sent commands, and the warm-up continues. A disturbance from here on delays no first command, which
    /// would make its agent late for the whole run.
    Begun,
    /// The warm-up is over and measuring starts after a pause: the place for slow reads.
    Warm,
    /// Measuring starts. Work here delays the first answers.
    Measuring,
    /// Measuring has ended.
    Measured,
}

/// Runs the load and returns the report. SIGINT and SIGTERM end the measurement early.
///
/// # Errors
/// If there is no server or no place, or nothing was measured.
pub fn run(config: &Options) -> Result<Report, LoadError> {
    run_watched(config, |_| {})
}

/// As `run`; calls `watch` at each phase, outside of the measurement.
///
/// # Errors
/// As [`run`].
pub fn run_watched(config: &Options, watch: impl FnMut(Phase)) -> Result<Report, LoadError> {
    allow_many_connections();
    Generator::new(config)?.run(watch)
}

struct Generator<'a> {
    config: &'a Options,
    server: SocketAddr,
    clock: RealClock,
    poll: Poll,
    /// Sleeps more precisely than a poll.
    pause: Parker,
    signals: Signals,
    peers: Slab<Peer>,
    figures: Figures,
    buffer: Vec<u8>,
    /// Read queue: viewers with input, and agents with more than one turn of it.
    to_read: VecDeque<Token>,
    /// Index of the control viewer. It is disconnected while measuring: sending it all actions of agents costs the server
    /// about half of an answer each.
    control: Option<usize>,
    speed: Option<Frequency>,
    /// Speed before this load changed it.
    speed_before: Option<Frequency>,
    /// Peers opened so far: viewers come first.
    opened: usize,
    connecting: usize,
    joined: usize,
    refused: usize,
    /// Start times of agents, in order.
    starts: VecDeque<(RealTime, usize)>,
    was_interrupted: bool,
}

impl<'a> Generator<'a> {
    fn new(config: &'a Options) -> Result<Self, LoadError> {
        let poll = Poll::new()?;
        let signals = Signals::watch(poll.registry(), TOKEN_SIGNALS, Handled::End)?;
        let speed = match config.speed() {
            Speed::Assumed(speed) => Some(speed),
            Speed::Queried | Speed::Set(_) => None,
        };
        Ok(Self {
            config,
            server: resolve(&config.host, config.port).map_err(LoadError::UnknownHost)?,
            clock: RealClock::new(),
            poll,
            pause: Parker::new(),
            signals,
            peers: Slab::with_capacity(config.agents),
            figures: Figures::new(),
            buffer: vec![0; READ_BYTES],
            to_read: VecDeque::new(),
            control: None,
            speed,
            speed_before: None,
            opened: 0,
            connecting: 0,
            joined: 0,
            refused: 0,
            starts: VecDeque::new(),
            was_interrupted: false,
        })
    }

    fn run(mut self, mut watch: impl FnMut(Phase)) -> Result<Report, LoadError> {
        let speed = match self.warm_up(&mut watch) {
            Ok(speed) => speed,
            Err(error) => {
                self.restore_speed();
                return Err(error);
            }
        };
        watch(Phase::Measuring);
        self.figures.is_measuring = true;
        let begun = self.clock.now();
        let processor_before = processor_time_for_measurement();
        let until = begun.saturating_add(self.config.duration);
        self.turn_until(until, |_| false)?;

        let processor_after = processor_time_for_measurement();
        let ended = self.clock.now();
        let measured = ended.since(begun);
        self.figures.is_measuring = false;
        watch(Phase::Measured);
        // The measurement is reported; another signal ends the query of the speed as well.
        let was_interrupted = std::mem::take(&mut self.was_interrupted);
        for agent in self.peers.iter_mut().filter_map(|(_, peer)| peer.agent_mut()) {
            agent.end_measuring(begun, ended, speed, &mut self.figures);
        }
        if self.figures.counts.commands == 0 {
            if was_interrupted {
                return Err(LoadError::Interrupted);
            }
            let seconds = measured.as_secs_f64();
            return Err(LoadError::NothingAnswered { seconds });
        }
        let living = |peer: &&Peer| !peer.has_ended && peer.agent_state() == Some(AgentState::Ready);
        let at_end = self.peers.iter().map(|(_, peer)| peer).filter(living).count();
        let agents = self.peers.iter().filter_map(|(_, peer)| peer.agent());
        let steady: Vec<_> = agents.filter_map(LoadAgent::steady).collect();
        let mut report = Report::new(self.config, speed, measured, &self.figures, &steady);
        (report.agents, report.agents_refused, report.agents_at_end) = (self.joined, self.refused, at_end);
        report.own_core = processor_after
            .zip(processor_before)
            .map(|(after, before)| (after - before).as_secs_f64() / report.measured_s);
        // Do not query a server that is gone.
        if !report.has_lost_all_agents() {
            report.frequency_at_end = self.query_again().map(Frequency::get);
        }
        report.counts = self.figures.counts.clone();
        Ok(report)
    }

    /// All phases before the measurement; returns its speed.
    fn warm_up(&mut self, watch: &mut impl FnMut(Phase)) -> Result<Frequency, LoadError> {
        self.prepare()?;
        self.let_all_join()?;
        watch(Phase::Joined);
        if let Speed::Set(_) = self.config.speed() {
            self.turn_for(DELAYED_ACKS_SPAN)?;
        }
        let speed = self.settle_speed()?;
        self.end_control()?;
        self.schedule_starts(speed);

        let warm_until = self.clock.now().saturating_add(self.config.warm_up);
        self.turn_until(warm_until, |generator| generator.starts.is_empty())?;
        self.heed_interrupt()?;
        watch(Phase::Begun);
        self.turn_until(warm_until, |_| false)?;
        self.heed_interrupt()?;
        watch(Phase::Warm);
        self.turn_for(SETTLE_SPAN)?;
        Ok(speed)
    }

    /// Serves all peers for `span`.
    fn turn_for(&mut self, span: RealSpan) -> Result<(), LoadError> {
        let until = self.clock.now().saturating_add(span);
        self.turn_until(until, |_| false)?;
        self.heed_interrupt()
    }

    fn heed_interrupt(&self) -> Result<(), LoadError> {
        match self.was_interrupted {
            true => Err(LoadError::Interrupted),
            false => Ok(()),
        }
    }

    /// Connects the control viewer; if a speed is to be set, tests it and then sets the lowest.
    fn prepare(&mut self) -> Result<(), LoadError> {
        if let Speed::Assumed(_) = self.config.speed() {
            return Ok(());
        }
        self.speed = self.query(self.patience())?;
        if self.speed.is_none() {
            return Err(LoadError::NoSpeed);
        }
        if let Speed::Set(speed) = self.config.speed() {
            self.speed_before = self.speed;
            // Find a refused speed before agents join.
            self.set_speed(speed)?;
            self.set_speed(Frequency::new(1).expect("1 is a speed"))?;
        }
        Ok(())
    }

    fn let_all_join(&mut self) -> Result<(), LoadError> {
        let until = self.patience();
        loop {
            while self.connecting < CONNECTING_MAX && self.open_next()? {}
            let settled = |generator: &mut Self| {
                generator.joined + generator.refused + generator.figures.counts.connections_lost as usize
                    >= generator.config.agents
                    && generator.connecting == 0
            };
            let has_room = |generator: &mut Self| {
                generator.opened < generator.peers_wanted() && generator.connecting < CONNECTING_MAX
            };
            self.turn_until(until, |generator| settled(generator) || has_room(generator))?;
            self.heed_interrupt()?;
            if settled(self) || self.clock.now() >= until {
                break;
            }
        }
        if self.joined == 0 && self.refused == 0 {
            return Err(LoadError::NoPlaceTold);
        }
        if self.joined == 0 {
            return Err(LoadError::NobodyJoined {
                refused: self.refused,
                teams: self.config.names.join(" "),
                places: self.config.agents.div_ceil(self.config.names.len()),
            });
        }
        Ok(())
    }

    /// The speed of the measurement, set now if requested.
    fn settle_speed(&mut self) -> Result<Frequency, LoadError> {
        if let Speed::Set(speed) = self.config.speed() {
            self.set_speed(speed)?;
        }
        self.speed.ok_or(LoadError::NoSpeed)
    }

    fn schedule_starts(&mut self, speed: Frequency) {
        let begin = self.clock.now();
        let ready = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.agent_state() == Some(AgentState::Ready));
        let keys: Vec<usize> = ready.map(|(key, _)| key).collect();
        let step = span_of(STEP_UNITS, speed);
        let rounds = if self.config.in_step {
            0
        } else {
            start_rounds(keys.len(), step)
        };
        for (nth, &key) in keys.iter().enumerate() {
            let offset = step.as_nanos() * rounds * nth as i64 / keys.len() as i64;
            self.starts
                .push_back((begin.saturating_add(RealSpan::from_nanos(offset)), key));
        }
    }

    /// Opens the next peer, viewers first; returns whether there was one.
    fn open_next(&mut self) -> Result<bool, LoadError> {
        if self.opened >= self.peers_wanted() {
            return Ok(false);
        }
        let nth = self.opened;
        self.opened += 1;
        let viewers = self.config.text_viewers + self.config.frame_viewers;
        let kind = if nth < self.config.text_viewers {
            Kind::Text(TextViewer::default())
        } else if nth < viewers {
            Kind::Frames(Box::default())
        } else {
            let nth = nth - viewers;
            let team = &self.config.names[nth % self.config.names.len()];
            let seed = self.config.seed.wrapping_add(nth as u64);
            Kind::Agent(Box::new(LoadAgent::new(team, self.config.dialect, seed)))
        };
        self.open(kind)?;
        Ok(true)
    }

    fn peers_wanted(&self) -> usize {
        self.config.text_viewers + self.config.frame_viewers + self.config.agents
    }

    fn open(&mut self, kind: Kind) -> Result<usize, LoadError> {
        let server = self.server;
        let entry = self.peers.vacant_entry();
        let key = entry.key();
        let socket = Socket::connect(server, self.poll.registry(), Token(key))
            .map_err(|error| LoadError::Connect { server, error })?;
        entry.insert(Peer::new(socket, kind));
        self.connecting += 1;
        Ok(key)
    }

    fn patience(&self) -> RealTime {
        self.clock.now().saturating_add(self.config.join_patience)
    }

    /// Queries the speed with a control viewer, which stays until [`Self::end_control`]; `None` if it does not come in time.
    fn query(&mut self, until: RealTime) -> Result<Option<Frequency>, LoadError> {
        self.control = Some(self.open(Kind::Control(Control::default()))?);
        let unasked_until = until.min(self.clock.now().saturating_add(UNASKED_SPAN));
        if !self.control(unasked_until, |_| {}, |control| control.speed.is_some())? {
            self.control(until, Control::query, |control| control.speed.is_some())?;
        }
        Ok(self.peers[self.control.expect("it was opened")]
            .control()
            .and_then(|control| control.speed))
    }

    /// Lets the control viewer send something, and serves all peers until it has an answer or until an instant. Returns
    /// whether the answer came.
    fn control(
        &mut self,
        until: RealTime,
        send: impl FnOnce(&mut Control),
        is_received: impl Fn(&Control) -> bool,
    ) -> Result<bool, LoadError> {
        let key = self.control.ok_or(LoadError::NoSpeed)?;
        let peer = &mut self.peers[key];
        if peer.has_ended {
            return Err(LoadError::Closed);
        }
        send(peer.control().ok_or(LoadError::NoSpeed)?);
        peer.flush(self.poll.registry())?;
        let mut received = false;
        self.turn_until(until, |generator| {
            let peer = &mut generator.peers[key];
            received = peer.control().is_some_and(|control| is_received(control));
            received || peer.has_ended
        })?;
        if self.peers[key].has_ended && !received {
            return Err(LoadError::Closed);
        }
        self.heed_interrupt()?;
        Ok(received)
    }

    /// The speed after the measurement, which another client may have changed. A missing answer does not lose the
    /// measurement.
    fn query_again(&mut self) -> Option<Frequency> {
        if let Speed::Assumed(_) = self.config.speed() {
            return None;
        }
        let until = self.clock.now().saturating_add(CHECK_PATIENCE);
        self.query(until).unwrap_or_else(|error| {
            log::warn!("cannot query the speed again: {error}");
            None
        })
    }

    /// Restores the speed after a failed load, so that the game does not stay slow. An interrupted load waits for this; a
    /// second interrupt ends it at once.
    fn restore_speed(&mut self) {
        let Some(speed) = self.speed_before else { return };
        self.was_interrupted = false;
        let until = self.clock.now().saturating_add(RESTORE_PATIENCE);
        if let Err(error) = self.try_to_restore(speed, until) {
            log::warn!("cannot restore the speed of {speed} units a second: {error}");
        }
    }

    fn try_to_restore(&mut self, speed: Frequency, until: RealTime) -> Result<(), LoadError> {
        if self.control.is_none_or(|key| self.peers[key].has_ended) {
            self.query(until)?;
        }
        // An older speed may be known or in flight, and some servers send it only when queried.
        let send = |control: &mut Control| {
            control.speed = None;
            control.set(speed);
            control.query();
        };
        match self.control(until, send, |control| control.speed == Some(speed))? {
            true => Ok(()),
            false => Err(LoadError::NoSpeed),
        }
    }

    fn end_control(&mut self) -> Result<(), LoadError> {
        if let Some(key) = self.control.take() {
            self.peers[key].end(self.poll.registry())?;
        }
        Ok(())
    }

    /// Sets the speed and waits for the confirmation.
    fn set_speed(&mut self, speed: Frequency) -> Result<(), LoadError> {
        let until = self.patience();
        let mut was_refused = std::cell::Cell::new(false);
        let is_received = |control: &Control| {
            was_refused.set(control.was_refused);
            control.was_refused || control.speed == Some(speed)
        };
        if !self.control(until, |control| control.set(speed), is_received)? {
            return Err(LoadError::NoSpeed);
        }
        if *was_refused.get_mut() {
            return Err(LoadError::SpeedRefused(speed));
        }
        self.speed = Some(speed);
        Ok(())
    }

    /// Serves all peers until an instant, or until `is_done`.
    fn turn_until(
        &mut self,
        until: RealTime,
        mut is_done: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), LoadError> {
        let mut events = Events::with_capacity(EVENTS_CAPACITY);
        loop {
            self.start_due()?;
            let now = self.clock.now();
            if now >= until || is_done(self) || self.was_interrupted {
                return Ok(());
            }
            // While agents start, sleep until the next start, since a poll would round it to milliseconds. Spinning would
            // take a core from the server, and a command that the server reads late delays all later ones of its agent.
            let timeout = if let Some(&(at, _)) = self.starts.front() {
                self.pause.wait(Some(at));
                Duration::ZERO
            } else if self.to_read.is_empty() {
                until.since(now).to_std()
            } else {
                Duration::ZERO
            };
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                if event.token() == TOKEN_SIGNALS {
                    self.was_interrupted |= self.signals.received().is_some();
                } else {
                    self.ready(event)?;
                }
            }
            for _ in 0..WAITING_PER_TURN {
                let Some(token) = self.to_read.pop_front() else {
                    break;
                };
                self.peers[token.0].is_to_read = false;
                // Readiness reported meanwhile is unknown: read until it would block.
                self.read(token, true)?;
            }
        }
    }

    fn start_due(&mut self) -> Result<(), LoadError> {
        let Some(speed) = self.speed else { return Ok(()) };
        while let Some(&(at, key)) = self.starts.front() {
            let now = self.clock.now();
            if at > now {
                break;
            }
            self.starts.pop_front();
            if let Some(peer) = self.peers.get_mut(key) {
                peer.has_begun = true;
                peer.fill(self.config, speed, now);
                peer.flush(self.poll.registry())?;
            }
        }
        Ok(())
    }

    /// Reads an agent at once; viewers and agents with more input enter the read queue.
    fn ready(&mut self, event: &Event) -> Result<(), LoadError> {
        let token = event.token();
        let peer = &mut self.peers[token.0];
        if !peer.is_viewer() && !peer.is_to_read {
            return self.read(token, event.is_read_closed() || event.is_error());
        }
        self.read_later(token);
        Ok(())
    }

    fn read_later(&mut self, token: Token) {
        if !std::mem::replace(&mut self.peers[token.0].is_to_read, true) {
            self.to_read.push_back(token);
        }
    }

    /// Reads a peer for one turn and sends its commands. Only reading on detects an end or an error.
    fn read(&mut self, token: Token, is_end: bool) -> Result<(), LoadError> {
        let peer = &mut self.peers[token.0];
        if peer.has_ended {
            return Ok(());
        }
        let state_before = peer.agent_state();
        let mut reads = 0;
        let alive = loop {
            if reads == READS_PER_TURN_MAX {
                break true;
            }
            reads += 1;
            match peer.read(&mut self.buffer) {
                Ok(Some(0)) => break false,
                Ok(Some(count)) => {
                    let now = self.clock.now();
                    if !peer.take_in(&self.buffer[..count], now, &mut self.figures) {
                        break false;
                    }
                    if let (true, Some(speed)) = (peer.has_begun, self.speed) {
                        peer.fill(self.config, speed, now);
                    }
                    if peer.flush(self.poll.registry()).is_err() {
                        break false;
                    }
                    if SHORT_READ_MEANS_EMPTY && count < self.buffer.len() && !is_end {
                        break true;
                    }
                }
                Ok(None) => break peer.flush(self.poll.registry()).is_ok(),
                Err(error) if peer.is_connecting && self.joined == 0 => {
                    let server = self.server;
                    return Err(LoadError::Connect { server, error });
                }
                Err(_) => break false,
            }
        };
        let state = peer.agent_state();
        let has_settled = match state {
            None => true,
            Some(state) => matches!(state, AgentState::Ready | AgentState::Refused | AgentState::Dead),
        };
        if peer.is_connecting && (has_settled || !alive) {
            peer.is_connecting = false;
            self.connecting -= 1;
        }
        if state_before != state {
            self.joined += usize::from(state == Some(AgentState::Ready));
            self.refused += usize::from(state == Some(AgentState::Refused));
        }
        let is_over = matches!(state, Some(AgentState::Refused | AgentState::Dead));
        if is_over || !alive {
            self.figures.counts.connections_lost += u64::from(!is_over && peer.control().is_none());
            peer.end(self.poll.registry())?;
        } else if reads == READS_PER_TURN_MAX {
            self.read_later(token);
        }
        Ok(())
    }
}

/// Steps over which this many agents start evenly, so that each has its own slot.
///
/// A coprime number gives each agent its own phase within a step.
fn start_rounds(agents: usize, step: RealSpan) -> i64 {
    let agents = agents as i64;
    let least = 1 + agents * START_SPAN.as_nanos() / step.as_nanos();
    (least..)
        .find(|&rounds| greatest_common_factor(rounds, agents) == 1)
        .expect("there are infinitely many primes")
}

fn greatest_common_factor(a: i64, b: i64) -> i64 {
    if b == 0 {
        a
    } else {
        greatest_common_factor(b, a % b)
    }
}

/// Raises the limit of open files to the hard limit; without it the first failed connection reports the error.
fn allow_many_connections() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            log::warn!("the limit of open files stays at {:?}: {error}", limit.current);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn agents_begin_at_different_moments_of_a_step_and_none_in_a_hurry() {
        for (agents, step_us) in [(1, 700), (100, 70_000), (5_000, 70_000), (100, 700), (997, 100)] {
            let rounds = start_rounds(agents, RealSpan::from_micros(step_us));
            let agents = agents as i64;
            assert!(rounds * step_us >= agents * START_SPAN.as_nanos() / 1_000);
            let moments: BTreeSet<_> = (0..agents).map(|nth| rounds * nth % agents).collect();
            assert_eq!(moments.len() as i64, agents, "{agents} in {step_us} µs");
        }
    }
}
