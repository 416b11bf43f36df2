//! What is done for each peer when: agents begin at their moments, what is sent is read and answered.

use std::io;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Token};
use trantor_runtime::Wait;
use trantor_time::{Clock, RealTime};

use super::{Generator, TOKEN_SIGNALS};
use crate::load::LoadError;
use crate::load::agent::AgentState;

/// Readiness taken from the system in one wait; more is reported by the next.
const EVENTS_CAPACITY: usize = 4_096;

/// Peers that wait for their turns and are read before agents are looked at again: what a thousand viewers are sent takes
/// longer to read than an answer takes to come.
const WAITING_PER_TURN: usize = 16;

/// Buffers read of one peer before others have their turn, and signals and the end of the measurement theirs: a peer that
/// talks without end is read without end. At 64 KiB each that is a megabyte, a few milliseconds of work.
const READS_PER_TURN_MAX: usize = 16;

/// On Linux a read that did not fill the buffer has emptied the socket (epoll(7)), and what comes later is reported
/// anew. Asking again would cost as much as the read.
const SHORT_READ_MEANS_EMPTY: bool = cfg!(target_os = "linux");

impl Generator<'_> {
    /// Serves all peers until an instant, or until `is_done`.
    pub(super) fn turn_until(
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
            // While agents are beginning it sleeps to the next of their moments, which a poll would round to
            // milliseconds. To wait awake would keep a processor from the server, and what the server reads late
            // is late from then on: an agent's commands follow upon each other.
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
                // What was reported meanwhile is not known: it is read to the end.
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

    /// An agent is read at once, a viewer when it is its turn; so is an agent that was not read to the end.
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

    /// Reads what a peer was sent, all of it if it is not too much for one turn, and answers it. An end or an error is
    /// found only by reading on.
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
