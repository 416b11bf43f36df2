//! The one loop of the load generator: all peers in one poll, and what is done when.
//!
//! ```text
//! preparing    the speed is asked for; one to be set is tried, then the game is slowed down
//! joining      viewers, then agents, a bounded number at a time; the viewer that asked for the speed leaves
//! warming up   agents begin, spread over the time of one step, or all at once
//! measuring    only now answers count
//! checking     the speed is asked for again
//! ```

mod control;
mod serving;

use std::collections::VecDeque;
use std::net::SocketAddr;

use mio::{Poll, Token};
use slab::Slab;
use trantor_runtime::real_clock::processor_time_for_measurement;
use trantor_runtime::signals::{Handled, Signals};
use trantor_runtime::{Parker, RealClock};
use trantor_time::{Clock, Frequency, RealSpan, RealTime};

use super::agent::{AgentState, LoadAgent, span_of};
use super::cli::Options;
use super::peer::{Kind, Peer};
use super::report::{self, Figures, Report, Run};
use super::viewer::TextViewer;
use super::{LoadError, Speed};
use crate::cli::resolve;
use crate::socket::Socket;

/// Connections being opened at one time: fewer than a server's queue of connections holds.
const CONNECTING_MAX: usize = 100;

/// Bytes read at once: viewers of a busy world are sent a lot.
const READ_BYTES: usize = 64 * 1024;

/// The token of signals; peers count from zero.
const TOKEN_SIGNALS: Token = Token(usize::MAX);

/// A pause after [`Phase::Warm`], so that reading the server's figures there delays no answer that counts.
const SETTLE_SPAN: RealSpan = RealSpan::from_millis(100);

/// Waited after the last join, while the game is still slow: at full speed agents could starve meanwhile. A system delays the
/// acknowledgements of what joining peers were sent by up to 200 ms (Linux: 40 ms for most), then sends them in bursts of half a
/// millisecond. A first command that is read late because of them makes its agent late for as long as it plays.
const DELAYED_ACKS_SPAN: RealSpan = RealSpan::from_millis(200);

/// Units of one step, which most commands take. Agents begin at different moments of it, evenly.
const STEP_UNITS: u16 = 7;

/// What is left to one agent to begin, so that none of them is late for its moment. Where a step is too short for all,
/// they begin in several steps.
const START_SPAN: RealSpan = RealSpan::from_micros(50);

/// How far a load has come, for a caller that reads the server's figures meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All agents have their places, and none has asked for anything.
    Joined,
    /// All have asked for something, and the warm-up continues. What comes now finds them playing: a first command that is
    /// read late makes its agent late for as long as it plays.
    Begun,
    /// The warm-up is over; a moment later it is measured, so that what takes longer to look at is seen now.
    Warm,
    /// From now on answers count. What is done here makes the first of them late.
    Measuring,
    /// They count no more.
    Measured,
}

/// Makes the load and answers what was found. SIGINT and SIGTERM end the measurement early.
///
/// # Errors
/// If there is no server, no place in it, or nothing was measured.
pub fn run(config: &Options) -> Result<Report, LoadError> {
    run_watched(config, |_| {})
}

/// The same; calls `watch` at each phase, outside of what is measured.
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
    /// Sleeps until an instant, more exactly than the poll can.
    pause: Parker,
    signals: Signals,
    peers: Slab<Peer>,
    figures: Figures,
    buffer: Vec<u8>,
    /// Viewers with something to read, and agents with more than one turn's worth of it, in the order of their turns.
    to_read: VecDeque<Token>,
    /// Where the viewer that asks for the speed is. It is not there while it is measured: it would receive all that
    /// agents do, which costs the server about half as much again as an answer, and no viewer was asked for.
    control: Option<usize>,
    speed: Option<Frequency>,
    /// The speed before this load set another.
    speed_before: Option<Frequency>,
    /// Peers opened so far: viewers come first.
    opened: usize,
    connecting: usize,
    joined: usize,
    refused: usize,
    /// Agents that are to begin, and when, in order.
    starts: VecDeque<(RealTime, usize)>,
    was_interrupted: bool,
}

impl<'a> Generator<'a> {
    fn new(config: &'a Options) -> Result<Self, LoadError> {
        let poll = Poll::new()?;
        let signals = Signals::watch(poll.registry(), TOKEN_SIGNALS, Handled::End)?;
        let speed = match config.speed() {
            Speed::Assumed(speed) => Some(speed),
            Speed::Asked | Speed::Set(_) => None,
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
                self.set_back();
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
        // What was measured is reported; another signal ends the question for the speed as well.
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
        let are_all_lost = report::are_all_lost(self.joined, self.figures.counts.deaths, at_end);
        let run = Run {
            config: self.config,
            speed,
            at_end,
            // A server that is gone is not asked.
            speed_at_end: if are_all_lost { None } else { self.ask_again() },
            joined: self.joined,
            refused: self.refused,
            measured,
            processor: processor_after
                .zip(processor_before)
                .map(|(after, before)| after - before),
        };
        let agents = self.peers.iter().filter_map(|(_, peer)| peer.agent());
        let steady = agents.filter_map(LoadAgent::steady);
        Ok(Report::new(&run, &self.figures, steady))
    }

    /// All that comes before the measurement; answers at which speed it is to be made.
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

    /// Serves all peers for so long.
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

    /// Connects the viewer that asks for the speed; a speed to be set is first set to the lowest.
    fn prepare(&mut self) -> Result<(), LoadError> {
        if let Speed::Assumed(_) = self.config.speed() {
            return Ok(());
        }
        self.speed = self.ask(self.patience())?;
        if self.speed.is_none() {
            return Err(LoadError::NoSpeed);
        }
        if let Speed::Set(speed) = self.config.speed() {
            self.speed_before = self.speed;
            // A speed that is refused is known before anybody takes a place.
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

    /// The speed at which is measured; set only now if it is to be set.
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

    /// Opens the next peer, viewers first; answers whether there was one left.
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
            Kind::Agent(Box::new(LoadAgent::new(team, self.config.dialect.into(), seed)))
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
}

/// In how many rounds of `step` so many agents begin, evenly: enough to leave each of them its span.
///
/// A number without a common factor brings no two to the same moment of the step.
fn start_rounds(agents: usize, step: RealSpan) -> i64 {
    let agents = agents as i64;
    let least = 1 + agents * START_SPAN.as_nanos() / step.as_nanos();
    (least..)
        .find(|&rounds| greatest_common_factor(rounds, agents) == 1)
        .expect("prime numbers go on for ever")
}

fn greatest_common_factor(a: i64, b: i64) -> i64 {
    if b == 0 {
        a
    } else {
        greatest_common_factor(b, a % b)
    }
}

/// Raises the number of descriptors this process may have to what the system allows; if it does not let us, the
/// first connection that fails will say so.
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
