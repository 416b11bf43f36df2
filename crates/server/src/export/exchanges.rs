//! The exporter's connections: one request each, and its answer.
//!
//! A peer that takes its answer slowly delays no other: what it does not take waits here. When a connection is closed, and
//! what is answered, is the exporter's to say ([`super`]).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use mio::Registry;
use mio::net::TcpStream;
use trantor_engine::limits::address_group;
use trantor_engine::{CloseCause, ConnId};
use trantor_time::RealTime;

use super::http::{self, Request};
use crate::conn::{Conns, ReadOutcome, WriteOutcome};
use crate::mio_wait::Ready;

/// All connections with their exchanges.
pub(super) struct Exchanges {
    conns: Conns,
    registry: Registry,
    /// Names that this host is asked for by, beside its addresses.
    hosts: Vec<String>,
    /// One for each connection.
    by_conn: BTreeMap<ConnId, Exchange>,
    /// Connections that are to be closed: broken while they were written to, or answered when the peer had ended.
    over: Vec<ConnId>,
}

/// One request and its answer.
struct Exchange {
    /// Order of arrival; the smallest is the oldest.
    number: u64,
    began: RealTime,
    /// The address it counts for.
    group: IpAddr,
    state: ExchangeState,
    /// The peer says no more; it may still be waiting for its answer.
    has_ended: bool,
}

enum ExchangeState {
    /// The head of the request, as far as it has come.
    Asking(Vec<u8>),
    /// The request is whole, and not answered yet.
    Asked,
    /// What is left of the answer.
    Answering(Vec<u8>),
    /// All is written; the peer is to hang up first.
    Answered,
}

impl ExchangeState {
    /// Whether the request has come, and not all of its answer has left.
    fn is_owed(&self) -> bool {
        matches!(self, Self::Asked | Self::Answering(_))
    }
}

/// What a read brought.
pub(super) enum Read {
    /// Not yet, or nothing more of, a request.
    More,
    /// The rest of one.
    Whole(Request),
    /// The end of the connection, and nothing is owed to it.
    Ended,
}

impl Exchanges {
    pub(super) fn new(registry: Registry, hosts: Vec<String>) -> Self {
        Self {
            conns: Conns::default(),
            registry,
            hosts,
            by_conn: BTreeMap::new(),
            over: Vec::new(),
        }
    }

    /// Begins an exchange.
    ///
    /// # Errors
    /// If the system does not let the connection be watched.
    pub(super) fn open(&mut self, socket: TcpStream, peer: IpAddr, now: RealTime) -> io::Result<()> {
        let conn = self.conns.open(socket, &self.registry)?;
        let exchange = Exchange {
            number: self.conns.stats().opened,
            began: now,
            group: address_group(peer),
            state: ExchangeState::Asking(Vec::new()),
            has_ended: false,
        };
        self.by_conn.insert(conn, exchange);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.by_conn.len()
    }

    /// The connection that came first, and when.
    pub(super) fn oldest(&self) -> Option<(ConnId, RealTime)> {
        let oldest = self.by_conn.iter().min_by_key(|(_, exchange)| exchange.number);
        oldest.map(|(&conn, exchange)| (conn, exchange.began))
    }

    /// The connection that makes room for another: one that has its answer, or else the slowest of the address with most.
    pub(super) fn to_evict(&self) -> Option<ConnId> {
        let of_group = |group| self.by_conn.values().filter(|other| other.group == group).count();
        let evicted = self.by_conn.iter().max_by_key(|(_, exchange)| {
            let is_answered = matches!(exchange.state, ExchangeState::Answered);
            let slowness = match exchange.state {
                ExchangeState::Answered | ExchangeState::Answering(_) => 2,
                ExchangeState::Asking(_) => 1,
                ExchangeState::Asked => 0,
            };
            (
                is_answered,
                of_group(exchange.group),
                slowness,
                Reverse(exchange.number),
            )
        });
        evicted.map(|(&conn, _)| conn)
    }

    pub(super) fn note_ready(&mut self, ready: Ready) {
        self.conns.note_ready(ready);
    }

    pub(super) fn has_to_read(&self) -> bool {
        self.conns.has_to_read()
    }

    /// Reads once from the next connection with something to read.
    pub(super) fn read_next(&mut self, buffer: &mut [u8]) -> Option<(ConnId, Read)> {
        let (conn, outcome) = self.conns.read_next(buffer)?;
        let exchange = self.by_conn.get_mut(&conn);
        let exchange = exchange.expect("each connection has its exchange");
        let bytes = match outcome {
            ReadOutcome::Bytes(bytes) => bytes,
            ReadOutcome::Ended(CloseCause::EndOfStream) if exchange.state.is_owed() => {
                exchange.has_ended = true;
                return Some((conn, Read::More));
            }
            ReadOutcome::Ended(_) => return Some((conn, Read::Ended)),
        };
        // What comes after a whole request is not for us.
        let ExchangeState::Asking(head) = &mut exchange.state else {
            return Some((conn, Read::More));
        };
        head.extend_from_slice(bytes);
        let Some(request) = http::parse(head, &self.hosts) else {
            return Some((conn, Read::More));
        };
        exchange.state = ExchangeState::Asked;
        Some((conn, Read::Whole(request)))
    }

    /// Answers an exchange, if it waits for an answer.
    pub(super) fn answer(&mut self, conn: ConnId, answer: Vec<u8>) {
        if let Some(exchange) = self.by_conn.get_mut(&conn)
            && matches!(exchange.state, ExchangeState::Asked)
        {
            exchange.state = ExchangeState::Answering(answer);
            self.write(conn);
        }
    }

    /// Writes on to those who take bytes again.
    pub(super) fn write_on(&mut self) {
        while let Some(conn) = self.conns.next_to_write() {
            self.write(conn);
        }
    }

    /// The next connection that is to be closed.
    pub(super) fn next_over(&mut self) -> Option<ConnId> {
        self.over.pop()
    }

    pub(super) fn update_watch(&mut self) {
        let failed = self.conns.update_watch(&self.registry);
        self.over.extend(failed);
    }

    /// Ends an exchange; answers whether there was one.
    pub(super) fn close(&mut self, conn: ConnId) -> bool {
        let was_there = self.by_conn.remove(&conn).is_some();
        if was_there {
            self.conns.close(conn, &self.registry);
        }
        was_there
    }

    /// Writes the answer, as far as the peer takes it.
    fn write(&mut self, conn: ConnId) {
        let Some(exchange) = self.by_conn.get_mut(&conn) else {
            return;
        };
        let ExchangeState::Answering(rest) = &mut exchange.state else {
            return;
        };
        while !rest.is_empty() {
            match self.conns.write(conn, rest) {
                WriteOutcome::Taken(count) => drop(rest.drain(..count)),
                WriteOutcome::Blocked => return,
                WriteOutcome::Failed => {
                    self.over.push(conn);
                    return;
                }
            }
        }
        exchange.state = ExchangeState::Answered;
        match exchange.has_ended {
            true => self.over.push(conn),
            false => self.conns.shut_down_write(conn),
        }
    }
}
