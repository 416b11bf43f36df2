//! Scheduling of peers: starts agents on time, reads input and sends commands.

use std::io;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Token};
use trantor_time::{Clock, RealTime};

use super::{Generator, TOKEN_SIGNALS};
use crate::load::LoadError;
use crate::load::agent::AgentState;

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
