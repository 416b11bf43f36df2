//! The table of connections: sockets, what is ready on them, and what they are watched for.
//!
//! It moves bytes and knows nothing of their meaning. Outboxes and closing are the engine's, budgets are the loop's.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustix::net::sockopt;
use slab::Slab;
use trantor_engine::ConnId;
use trantor_time::RealSpan;

use crate::wait::Ready;

/// Bytes of one read. A peer with more waits for its next turn (`read_turns`), so that a flood does not delay others;
/// honest peers send a few hundred at a time.
pub(crate) const READ_BYTES_MAX: usize = 1024;

/// On Linux a read that did not fill the buffer has emptied the socket (epoll(7)), and whatever comes later is
/// reported anew. Elsewhere only a read that would block proves it.
const SHORT_READ_MEANS_EMPTY: bool = cfg!(target_os = "linux");

/// Reads from a connection before it is closed at the end: more than a player ever has in flight.
const LAST_READS_MAX: usize = 8;

/// The server's end of a connection: a TCP socket, or a simulated one.
pub trait Socket: Read + Write + Source + fmt::Debug {
    /// Sets its options: no delay, and TCP keep-alive. One that the system refuses is done without.
    fn prepare(&self, keep_alive: Option<KeepAlive>);

    /// # Errors
    /// If the peer is gone, which reading shows.
    fn shut_down_write(&self) -> io::Result<()>;

    /// Whether the peer has closed the connection already.
    fn is_gone(&self) -> bool;

    /// Closing it will reset the connection, which leaves nothing behind, where an end leaves its port in use for a minute.
    fn reset_at_close(&self);
}

impl Socket for TcpStream {
    fn prepare(&self, keep_alive: Option<KeepAlive>) {
        // Without it a reply would wait for the acknowledgement of the one before.
        let no_delay = self.set_nodelay(true);
        let keep_alive = keep_alive.map_or(Ok(()), |keep_alive| {
            sockopt::set_socket_keepalive(self, true)?;
            sockopt::set_tcp_keepidle(self, keep_alive.silence.to_std())?;
            sockopt::set_tcp_keepintvl(self, KEEP_ALIVE_PAUSE.to_std())?;
            sockopt::set_tcp_keepcnt(self, KEEP_ALIVE_PROBES)?;
            let user_timeout_ms = keep_alive.user_timeout().as_millis();
            set_user_timeout(self, u32::try_from(user_timeout_ms).unwrap_or(u32::MAX))
        });
        let options = [no_delay, keep_alive.map_err(io::Error::from)];
        for refused in options.into_iter().filter_map(Result::err) {
            log::debug!("a socket option was refused: {refused}");
        }
    }

    fn shut_down_write(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }

    fn is_gone(&self) -> bool {
        match self.peek(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn reset_at_close(&self) {
        let _closed_otherwise = sockopt::set_socket_linger(self, Some(Duration::ZERO));
    }
}

/// The interval between probes, and how many go unanswered before the connection counts as broken.
const KEEP_ALIVE_PAUSE: RealSpan = RealSpan::from_secs(15);
const KEEP_ALIVE_PROBES: u32 = 4;

/// When a silent peer counts as gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe; in whole seconds, at least one.
    pub silence: RealSpan,
    /// How long a peer may leave its output unread: the system must not close a connection before that.
    pub stall: RealSpan,
}

impl KeepAlive {
    /// How long sent data may stay unacknowledged. Meanwhile the system sends no probes, and by default retransmits for a
    /// quarter of an hour.
    fn user_timeout(self) -> Duration {
        self.silence.max(self.stall).to_std() + KEEP_ALIVE_PAUSE.to_std() * KEEP_ALIVE_PROBES
    }
}

#[cfg(target_os = "linux")]
fn set_user_timeout(socket: &TcpStream, user_timeout_ms: u32) -> rustix::io::Result<()> {
    sockopt::set_tcp_user_timeout(socket, user_timeout_ms)
}

/// Elsewhere a peer that vanishes with output pending is found when the system gives up retransmitting.
#[cfg(not(target_os = "linux"))]
fn set_user_timeout(_socket: &TcpStream, _user_timeout_ms: u32) -> rustix::io::Result<()> {
    Ok(())
}

#[derive(Debug, Default)]
pub(crate) struct Conns {
    /// For connections yet to come; `None`: the system never asks whether a peer is still there.
    pub(crate) keep_alive: Option<KeepAlive>,
    slots: Slab<Conn>,
    /// By slot: how often it was taken before. Longer than the table has ever been, never shrinks.
    generations: Vec<u32>,
    to_read: ReadTurns,
    /// Connections that became writable while bytes waited for that.
    to_write: VecDeque<ConnId>,
    /// Connections whose interest in writing has changed.
    to_watch: Vec<ConnId>,
    /// Connections whose peers do not read at present.
    blocked: usize,
    /// Nothing more is read: the loop is ending.
    reading_ended: bool,
    pub(crate) stats: ConnStats,
}

#[derive(Debug)]
struct Conn {
    id: ConnId,
    socket: Box<dyn Socket>,
    in_read_list: bool,
    /// The system reported an end or an error, which only reading to the end shows.
    hung_up: bool,
    /// It is not read for now: what the peer sends waits with the system.
    is_paused: bool,
    /// The system reported something to read meanwhile, and does not report it again.
    is_ready_while_paused: bool,
    /// The last write was partial: another is pointless until the system reports readiness.
    write_blocked: bool,
    /// What the socket is registered for at present, besides reading.
    watched_for_write: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnStats {
    pub opened: u64,
    pub closed: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub reads: u64,
    pub writes: u64,
    pub writes_blocked: u64,
    pub watches_failed: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome<'a> {
    Bytes(&'a [u8]),
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// So many bytes were taken, at least one. There may be room for more.
    Taken(usize),
    /// The peer's buffers are full; it will be in [`Conns::next_to_write`] when that changes.
    Blocked,
    Failed,
}

impl Conns {
    /// Takes a connection in, watched for reading from now on.
    ///
    /// # Errors
    /// If the system does not let it be watched; the connection is closed then.
    pub fn open(&mut self, mut socket: Box<dyn Socket>, registry: &Registry) -> io::Result<ConnId> {
        socket.prepare(self.keep_alive);
        let entry = self.slots.vacant_entry();
        let slot = entry.key();
        registry.register(&mut socket, Token(slot), Interest::READABLE)?;
        if slot == self.generations.len() {
            self.generations.push(0);
        } else {
            self.generations[slot] = self.generations[slot].wrapping_add(1);
        }
        let id = ConnId {
            slot: u32::try_from(slot).expect("descriptors are fewer than that"),
            generation: self.generations[slot],
        };
        entry.insert(Conn {
            id,
            socket,
            in_read_list: false,
            hung_up: false,
            is_paused: false,
            is_ready_while_paused: false,
            write_blocked: false,
            watched_for_write: false,
        });
        self.stats.opened += 1;
        Ok(id)
    }

    /// Notes what the system reported. A late report about the former connection of a slot is harmless: the new one is
    /// tried, and would block.
    pub fn note_ready(&mut self, ready: Ready) {
        let Some(conn) = self.slots.get_mut(ready.token.0) else {
            return;
        };
        if ready.readable && !self.reading_ended {
            conn.hung_up |= ready.hung_up;
            // The end of a peer is noticed even while it is paused; what it has sent is bounded.
            if conn.is_paused && !conn.hung_up {
                conn.is_ready_while_paused = true;
            } else if !conn.in_read_list {
                conn.in_read_list = true;
                self.to_read.push_fresh(conn.id);
            }
        }
        if ready.writable && conn.write_blocked {
            conn.write_blocked = false;
            self.blocked -= 1;
            self.to_write.push_back(conn.id);
        }
    }

    /// Stops reading this connection, or resumes it.
    pub fn set_reading(&mut self, id: ConnId, is_wanted: bool) {
        let Some(conn) = get(&mut self.slots, id) else {
            return;
        };
        conn.is_paused = !is_wanted;
        if is_wanted && std::mem::take(&mut conn.is_ready_while_paused) && !conn.in_read_list {
            conn.in_read_list = true;
            self.to_read.push_more(id);
        }
    }

    pub fn has_to_read(&self) -> bool {
        !self.to_read.is_empty()
    }

    /// Reads once from the connection whose turn it is. `None` if none has anything to read.
    pub fn read_next<'a>(&mut self, buffer: &'a mut [u8]) -> Option<(ConnId, ReadOutcome<'a>)> {
        let id = self.to_read.pop()?;
        let conn = get(&mut self.slots, id)?;
        conn.in_read_list = false;
        if conn.is_paused && !conn.hung_up {
            // It was put on the list before it was paused.
            conn.is_ready_while_paused = true;
            return None;
        }
        let outcome = loop {
            match conn.socket.read(buffer) {
                Ok(0) => break ReadOutcome::Ended,
                Ok(count) => {
                    let is_empty = SHORT_READ_MEANS_EMPTY && count < buffer.len() && !conn.hung_up;
                    if !is_empty {
                        conn.in_read_list = true;
                        self.to_read.push_more(id);
                    }
                    self.stats.reads += 1;
                    self.stats.bytes_in += count as u64;
                    break ReadOutcome::Bytes(&buffer[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => {
                    log::debug!("connection {id}: reading failed: {error}");
                    break ReadOutcome::Ended;
                }
            }
        };
        Some((id, outcome))
    }

    pub fn next_to_write(&mut self) -> Option<ConnId> {
        self.to_write.pop_front()
    }

    /// Offers `bytes` to the system in one write. Nothing is tried while the write is blocked.
    pub fn write(&mut self, id: ConnId, bytes: &[u8]) -> WriteOutcome {
        let Some(conn) = get(&mut self.slots, id) else {
            return WriteOutcome::Failed;
        };
        if conn.write_blocked {
            return WriteOutcome::Blocked;
        }
        let outcome = loop {
            match conn.socket.write(bytes) {
                Ok(0) => break WriteOutcome::Failed,
                Ok(count) => break WriteOutcome::Taken(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break WriteOutcome::Blocked,
                Err(error) => {
                    log::debug!("connection {id}: writing failed: {error}");
                    break WriteOutcome::Failed;
                }
            }
        };
        match outcome {
            WriteOutcome::Taken(count) => {
                self.stats.writes += 1;
                self.stats.bytes_out += count as u64;
            }
            WriteOutcome::Blocked => {
                self.stats.writes_blocked += 1;
                conn.write_blocked = true;
                self.blocked += 1;
                self.to_watch.push(id);
            }
            WriteOutcome::Failed => {}
        }
        outcome
    }

    /// The outbox of this connection is empty: it is no longer watched for writing.
    pub fn all_written(&mut self, id: ConnId) {
        if let Some(conn) = get(&mut self.slots, id)
            && conn.watched_for_write
        {
            self.to_watch.push(id);
        }
    }

    /// Updates what the system watches: always read readiness, write readiness only where bytes wait. It costs nothing for
    /// connections that did not change. Answers those that cannot be watched, as without memory: they must be closed.
    #[must_use]
    pub fn update_watch(&mut self, registry: &Registry) -> Vec<ConnId> {
        let mut failed = Vec::new();
        for id in self.to_watch.drain(..) {
            let Some(conn) = get(&mut self.slots, id) else {
                continue;
            };
            if conn.watched_for_write == conn.write_blocked {
                continue;
            }
            let interest = match conn.write_blocked {
                true => Interest::READABLE | Interest::WRITABLE,
                false => Interest::READABLE,
            };
            match registry.reregister(&mut conn.socket, Token(id.slot as usize), interest) {
                Ok(()) => conn.watched_for_write = conn.write_blocked,
                Err(error) => {
                    log::warn!("connection {id} cannot be watched and is closed: {error}");
                    self.stats.watches_failed += 1;
                    failed.push(id);
                }
            }
        }
        failed
    }

    pub fn shut_down_write(&mut self, id: ConnId) {
        if let Some(conn) = get(&mut self.slots, id) {
            // It fails only if the peer is gone already, which reading shows.
            let _gone = conn.socket.shut_down_write();
        }
    }

    /// Closes a connection. One that is closed already is left alone.
    pub fn close(&mut self, id: ConnId, registry: &Registry) {
        if get(&mut self.slots, id).is_none() {
            return;
        }
        let mut conn = self.slots.remove(id.slot as usize);
        if let Err(error) = registry.deregister(&mut conn.socket) {
            log::debug!("connection {id}: no longer watched anyway: {error}");
        }
        self.blocked -= usize::from(conn.write_blocked);
        self.stats.closed += 1;
    }

    /// Stops reading for good. What peers have sent stays with the system.
    pub fn stop_reading(&mut self) {
        self.reading_ended = true;
        self.to_read.clear();
    }

    /// Closes every connection so that peers can read the last lines.
    ///
    /// The system resets a connection that is closed with unread input, and a reset discards output; so input is read first,
    /// into `buffer`.
    pub fn close_all(&mut self, buffer: &mut [u8]) {
        for mut conn in self.slots.drain() {
            let _gone = conn.socket.shut_down_write();
            // Bounded, for a peer that sends without end.
            for _ in 0..LAST_READS_MAX {
                if !matches!(conn.socket.read(buffer), Ok(count) if count == buffer.len()) {
                    break;
                }
            }
            self.stats.closed += 1;
        }
        self.blocked = 0;
    }

    /// Connections whose peers do not read at present.
    pub fn blocked(&self) -> usize {
        self.blocked
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }
}

fn get(slots: &mut Slab<Conn>, id: ConnId) -> Option<&mut Conn> {
    slots.get_mut(id.slot as usize).filter(|conn| conn.id == id)
}

/// Fresh connections in a row. Few enough for a large message of an honest peer to be read while thousands play, and enough
/// for floods to cost others no more than an eighth.
const FRESH_IN_A_ROW_MAX: u32 = 8;

/// Connections with something to read. The owner sees to it that each is in it once at most.
#[derive(Debug, Default)]
struct ReadTurns {
    fresh: VecDeque<ConnId>,
    /// Connections with more than one read takes, or that were throttled.
    more: VecDeque<ConnId>,
    /// Turns of fresh connections since the last one of the others.
    fresh_in_a_row: u32,
}

impl ReadTurns {
    fn push_fresh(&mut self, id: ConnId) {
        self.fresh.push_back(id);
    }

    fn push_more(&mut self, id: ConnId) {
        self.more.push_back(id);
    }

    fn pop(&mut self) -> Option<ConnId> {
        if self.fresh_in_a_row < FRESH_IN_A_ROW_MAX
            && let Some(id) = self.fresh.pop_front()
        {
            self.fresh_in_a_row += 1;
            return Some(id);
        }
        self.fresh_in_a_row = 0;
        self.more.pop_front().or_else(|| self.fresh.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.more.is_empty()
    }

    fn clear(&mut self) {
        self.fresh.clear();
        self.more.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::Poll;
    use std::net::Ipv4Addr;

    #[test]
    fn a_connection_that_cannot_be_watched_is_to_be_closed() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let _peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        let poll = Poll::new().unwrap();
        let mut conns = Conns::default();
        let socket = Box::new(TcpStream::from_std(socket));
        let conn = conns.open(socket, poll.registry()).unwrap();
        let unread = vec![0; 1 << 20];
        while conns.write(conn, &unread) != WriteOutcome::Blocked {}
        // The system forgets it, as a stand-in for one that has no memory to change what it watches.
        let socket = &mut conns.slots[0].socket;
        poll.registry().deregister(socket).unwrap();
        assert_eq!(conns.update_watch(poll.registry()), [conn]);
        assert_eq!(conns.stats.watches_failed, 1);
        conns.close(conn, poll.registry());
        assert_eq!((conns.len(), conns.blocked()), (0, 0));
    }
    #[cfg(target_os = "linux")]
    #[test]
    fn a_peer_that_vanished_is_found_within_two_minutes_whatever_it_is_owed() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = |stall| {
            let socket = TcpStream::connect(address).unwrap();
            let silence = RealSpan::from_secs(60);
            socket.prepare(Some(KeepAlive { silence, stall }));
            assert_eq!(sockopt::tcp_keepidle(&socket), Ok(Duration::from_secs(60)));
            sockopt::tcp_user_timeout(&socket).unwrap()
        };
        assert_eq!(asked(RealSpan::from_secs(60)), 120_000);
        // A peer that may read nothing for an hour is not disconnected by the system before that.
        assert_eq!(asked(RealSpan::from_secs(3_600)), 3_660_000);
    }

    fn id(slot: u32) -> ConnId {
        ConnId { slot, generation: 0 }
    }

    #[test]
    fn a_command_does_not_wait_for_floods() {
        let mut turns = ReadTurns::default();
        (0..100).for_each(|flood| turns.push_more(id(flood)));
        turns.push_fresh(id(1_000));
        turns.push_fresh(id(1_001));
        let order: Vec<u32> = (0..4).map(|_| turns.pop().unwrap().slot).collect();
        assert_eq!(order, [1_000, 1_001, 0, 1]);
    }

    #[test]
    fn a_backlog_is_not_starved_by_fresh_data() {
        let mut turns = ReadTurns::default();
        turns.push_more(id(7));
        turns.push_more(id(8));
        let mut seen = Vec::new();
        for player in 0..100 {
            turns.push_fresh(id(1_000 + player));
            turns.push_fresh(id(2_000 + player));
            seen.push(turns.pop().unwrap().slot);
        }
        let places: Vec<_> = [7, 8]
            .map(|flood| seen.iter().position(|&slot| slot == flood))
            .into();
        assert_eq!(places, [Some(8), Some(17)]);
    }
}
