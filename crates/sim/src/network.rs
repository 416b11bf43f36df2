//! The simulated network: byte streams with latency, bandwidth and segments, and the sockets at the server's end of them.
//!
//! As with TCP, bytes are neither lost nor duplicated; a bad network delays, stalls or breaks the connection. Delivery
//! times come from [`trantor_time::link`]. Readiness is reported as by epoll: once for each change, and only what the
//! socket is registered for.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use mio::event::Source;
use mio::{Interest, Registry, Token};
use trantor_server::conn::{KeepAlive, Socket};
use trantor_server::listener::Acceptor;
use trantor_server::wait::Ready;
use trantor_time::{Clock, Delivery, GameTime, Link, LinkSettings, ManualClock, RealTime};

use crate::fault::{Fault, FaultInjector};
use crate::plan::{NetworkFaults, Plan};
use crate::rng::Rng;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Bytes(Vec<u8>),
    /// The sender has shut down writing.
    End,
}

/// One direction of a connection.
#[derive(Debug)]
pub(crate) struct Line {
    link: Link,
    in_flight: VecDeque<(RealTime, Item)>,
    bytes: usize,
    /// No delivery before this: the network stalls, or the receiver does not read.
    held_until: RealTime,
    /// Half open: nothing is delivered any more.
    is_dead: bool,
}

impl Line {
    fn new(settings: LinkSettings, seed: u64, stream: u64) -> Self {
        Self {
            link: Link::new(settings, seed, stream).expect("drawn times are not negative"),
            in_flight: VecDeque::new(),
            bytes: 0,
            held_until: RealTime::ZERO,
            is_dead: false,
        }
    }

    pub(crate) fn send(&mut self, now: RealTime, item: Item) {
        let bytes = match &item {
            Item::Bytes(bytes) => bytes.len(),
            Item::End => 0,
        };
        // The link counts nanounits, which stand for nanoseconds.
        let sent_at = GameTime::from_nanounits(now.as_nanos().into());
        let Delivery::Arrives { at, .. } = self.link.send(sent_at, 0, bytes as u64) else {
            unreachable!("the link has no loss");
        };
        let at = RealTime::from_nanos(i64::try_from(at.as_nanounits()).unwrap_or(i64::MAX));
        self.bytes += bytes;
        self.in_flight.push_back((at, item));
    }

    /// When the next item can be taken.
    pub(crate) fn ready_at(&self) -> Option<RealTime> {
        let (at, _) = self.in_flight.front().filter(|_| !self.is_dead)?;
        Some((*at).max(self.held_until))
    }

    pub(crate) fn take(&mut self, now: RealTime) -> Option<Item> {
        self.ready_at().filter(|at| *at <= now)?;
        let (_, item) = self.in_flight.pop_front()?;
        if let Item::Bytes(bytes) = &item {
            self.bytes -= bytes.len();
        }
        Some(item)
    }

    pub(crate) fn hold_until(&mut self, until: RealTime) {
        self.held_until = self.held_until.max(until);
    }

    /// Delivers everything without delay from now on.
    fn stop_faults(&mut self) {
        self.held_until = RealTime::ZERO;
        self.link
            .set(LinkSettings::PERFECT)
            .expect("zero is not negative");
    }
}

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) up: Line,
    pub(crate) down: Line,
    number: usize,
    /// Bytes that arrived at the server's machine and are unread.
    arrived: VecDeque<u8>,
    /// Why no more can arrive: the end of the stream, or a reset.
    ended: Option<io::Result<()>>,
    /// Something arrived since the last report.
    is_readable: bool,
    /// A write was refused since the last report.
    awaits_room: bool,
    /// What the server's end is registered for; `None` while it is not open.
    registered: Option<(Token, Interest)>,
    window_bytes: usize,
    piece_bytes_max: u32,
    rng: Rng,
    injector: FaultInjector,
}

impl Conn {
    /// The slot of the server's end, while it is open.
    pub(crate) fn slot(&self) -> Option<u32> {
        let (token, _) = self.registered.as_ref()?;
        u32::try_from(token.0).ok()
    }

    /// Nothing is in flight to the server or unread there.
    pub(crate) fn is_idle(&self) -> bool {
        self.up.in_flight.is_empty() && self.down.in_flight.is_empty() && self.arrived.is_empty()
    }

    /// The network reports a broken connection to the server.
    pub(crate) fn reset(&mut self) {
        self.ended = Some(Err(ErrorKind::ConnectionReset.into()));
        self.is_readable = true;
    }

    /// Nothing is delivered any more, in either direction.
    pub(crate) fn die(&mut self) {
        (self.up.is_dead, self.down.is_dead) = (true, true);
    }

    pub(crate) fn room(&self) -> usize {
        self.window_bytes.saturating_sub(self.down.bytes)
    }

    /// The peer is gone, which was reported, and all that it sent was read: the server has yet to close its end.
    pub(crate) fn is_over(&self) -> bool {
        self.registered.is_some() && self.ended.is_some() && self.arrived.is_empty() && !self.is_readable
    }

    pub(crate) fn stop_faults(&mut self) {
        self.up.stop_faults();
        self.down.stop_faults();
        if self.up.is_dead {
            // The network reports half-open connections now.
            self.reset();
        }
    }

    /// Takes in what has arrived at the server's machine.
    fn arrive(&mut self, now: RealTime) {
        while let Some(item) = self.up.take(now) {
            self.is_readable = true;
            match item {
                Item::Bytes(bytes) => self.arrived.extend(bytes),
                Item::End => drop(self.ended.get_or_insert(Ok(()))),
            }
        }
    }

    /// When there is something to report.
    fn ready_at(&self, now: RealTime) -> Option<RealTime> {
        let (_, interest) = self.registered.as_ref()?;
        match self.is_readable || self.is_writable(*interest) {
            true => Some(now),
            false => self.up.ready_at(),
        }
    }

    fn is_writable(&self, interest: Interest) -> bool {
        self.awaits_room && interest.is_writable() && self.room() > 0
    }

    fn take_ready(&mut self, now: RealTime) -> Option<Ready> {
        let (token, interest) = self.registered?;
        self.arrive(now);
        let (readable, writable) = (std::mem::take(&mut self.is_readable), self.is_writable(interest));
        self.awaits_room &= !writable;
        let hung_up = readable && self.ended.is_some();
        (readable || writable).then_some(Ready {
            token,
            readable,
            writable,
            hung_up,
        })
    }

    fn read(&mut self, buffer: &mut [u8], now: RealTime) -> io::Result<usize> {
        self.arrive(now);
        let count = self.arrived.read(buffer)?;
        match (count, &self.ended) {
            (0, None) => Err(ErrorKind::WouldBlock.into()),
            (0, Some(_)) if self.injector.is(Fault::LostDisconnect) => Err(ErrorKind::WouldBlock.into()),
            (0, Some(Err(error))) => Err(error.kind().into()),
            _ => Ok(count),
        }
    }

    fn write(&mut self, bytes: &[u8], now: RealTime) -> io::Result<usize> {
        if let Some(Err(error)) = &self.ended {
            return Err(error.kind().into());
        }
        let piece = self.rng.between(1, self.piece_bytes_max.min(1_024) * 64) as usize;
        let count = piece.min(bytes.len()).min(self.room());
        if count == 0 {
            self.awaits_room = true;
            return Err(ErrorKind::WouldBlock.into());
        }
        if !self.injector.injects(Fault::LostWrite) {
            self.down.send(now, Item::Bytes(bytes[..count].to_vec()));
        }
        Ok(count)
    }
}

/// The connections of a run, and those that wait to be accepted.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) conns: Vec<Rc<RefCell<Conn>>>,
    pub(crate) host: Rc<Host>,
    seed: u64,
    faults: NetworkFaults,
    injector: FaultInjector,
}

/// What sockets share.
#[derive(Debug)]
pub(crate) struct Host {
    clock: ManualClock,
    /// Digest of all that happened, in order.
    pub(crate) digest: RefCell<DefaultHasher>,
    /// Connections to be accepted.
    pub(crate) waiting: RefCell<VecDeque<(SimulatedSocket, IpAddr)>>,
    /// The listening socket is registered as this.
    listener: Cell<Option<Token>>,
    /// Since it was last asked for.
    pub(crate) has_written: Cell<bool>,
}

impl Network {
    pub(crate) fn new(clock: ManualClock, plan: &Plan) -> Self {
        let host = Host {
            clock,
            digest: RefCell::default(),
            waiting: RefCell::default(),
            listener: Cell::new(None),
            has_written: Cell::new(false),
        };
        Self {
            conns: Vec::new(),
            host: Rc::new(host),
            seed: plan.seed,
            faults: plan.network_faults,
            injector: plan.injector.clone(),
        }
    }

    pub(crate) fn acceptor(&self) -> Box<dyn Acceptor> {
        Box::new(SimulatedListener(Rc::clone(&self.host)))
    }

    /// Opens a connection to the server; returns its index in [`Self::conns`].
    pub(crate) fn connect(&mut self, is_local: bool, rng: &mut Rng) -> usize {
        let number = self.conns.len();
        let [up, down] = [2 * number, 2 * number + 1].map(|stream| {
            let settings = self.faults.draw_line(rng);
            Line::new(settings, self.seed, 1_000 + stream as u64)
        });
        let conn = Rc::new(RefCell::new(Conn {
            up,
            down,
            number,
            arrived: VecDeque::new(),
            ended: None,
            is_readable: false,
            awaits_room: false,
            registered: None,
            window_bytes: self.faults.window_bytes,
            piece_bytes_max: self.faults.piece_bytes_max,
            rng: Rng::new(self.seed, 100_000 + number as u64),
            injector: self.injector.clone(),
        }));
        let network = if is_local { 127 } else { 10 };
        let socket = SimulatedSocket {
            conn: Rc::clone(&conn),
            host: Rc::clone(&self.host),
        };
        let peer = IpAddr::V4(Ipv4Addr::new(network, 0, 0, 1));
        self.host.waiting.borrow_mut().push_back((socket, peer));
        self.conns.push(conn);
        number
    }

    /// The connection of an index.
    pub(crate) fn conn(&self, index: usize) -> RefMut<'_, Conn> {
        self.conns[index].borrow_mut()
    }

    /// When there is something to report to the server.
    pub(crate) fn ready_at(&self) -> Option<RealTime> {
        let now = self.host.clock.now();
        let accepts = (!self.host.waiting.borrow().is_empty()).then_some(now);
        let conns = self.conns.iter().filter_map(|conn| conn.borrow().ready_at(now));
        conns.chain(accepts).min()
    }

    pub(crate) fn take_ready(&mut self) -> Vec<Ready> {
        let now = self.host.clock.now();
        let listener = self.host.listener.get();
        let accepts = listener.filter(|_| !self.host.waiting.borrow().is_empty());
        let accepts = accepts.map(|token| Ready {
            token,
            readable: true,
            writable: false,
            hung_up: false,
        });
        let conns = self
            .conns
            .iter()
            .filter_map(|conn| conn.borrow_mut().take_ready(now));
        accepts.into_iter().chain(conns).collect()
    }

    /// All peers are gone: bytes that still arrive make their machines reset the connection.
    pub(crate) fn reset_unread(&mut self) {
        for conn in &self.conns {
            let mut conn = conn.borrow_mut();
            if conn.registered.is_some() && conn.down.bytes > 0 {
                conn.reset();
            }
        }
    }
}

impl Host {
    /// Adds an event to the digest.
    pub(crate) fn note(&self, kind: u8, number: usize, bytes: &[u8]) {
        (self.clock.now().as_nanos(), kind, number, bytes).hash(&mut *self.digest.borrow_mut());
    }
}

#[derive(Debug)]
struct SimulatedListener(Rc<Host>);

impl Acceptor for SimulatedListener {
    fn accept(&self) -> io::Result<(Box<dyn Socket>, IpAddr)> {
        let (socket, peer) = self
            .0
            .waiting
            .borrow_mut()
            .pop_front()
            .ok_or(ErrorKind::WouldBlock)?;
        Ok((Box::new(socket), peer))
    }
}

impl Source for SimulatedListener {
    fn register(&mut self, _: &Registry, token: Token, _: Interest) -> io::Result<()> {
        self.0.listener.set(Some(token));
        Ok(())
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        self.register(registry, token, interest)
    }

    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        self.0.listener.set(None);
        Ok(())
    }
}

/// The server's end of a connection.
#[derive(Debug)]
pub(crate) struct SimulatedSocket {
    conn: Rc<RefCell<Conn>>,
    host: Rc<Host>,
}

impl Socket for SimulatedSocket {
    fn prepare(&self, _: Option<KeepAlive>) {}

    fn shut_down_write(&self) -> io::Result<()> {
        let now = self.host.clock.now();
        self.conn.borrow_mut().down.send(now, Item::End);
        Ok(())
    }

    fn is_gone(&self) -> bool {
        let mut conn = self.conn.borrow_mut();
        conn.arrive(self.host.clock.now());
        conn.ended.is_some() && conn.arrived.is_empty()
    }

    fn reset_at_close(&self) {}
}

impl Read for SimulatedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut conn = self.conn.borrow_mut();
        let count = conn.read(buffer, self.host.clock.now())?;
        self.host.note(b'<', conn.number, &buffer[..count]);
        Ok(count)
    }
}

impl Write for SimulatedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut conn = self.conn.borrow_mut();
        let count = conn.write(bytes, self.host.clock.now())?;
        self.host.note(b'>', conn.number, &bytes[..count]);
        self.host.has_written.set(true);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for SimulatedSocket {
    fn register(&mut self, _: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        self.conn.borrow_mut().registered = Some((token, interest));
        Ok(())
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        let is_forgotten = self.conn.borrow().injector.is(Fault::ForgottenInterest);
        match is_forgotten {
            true => Ok(()),
            false => self.register(registry, token, interest),
        }
    }

    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        self.conn.borrow_mut().registered = None;
        Ok(())
    }
}

impl Drop for SimulatedSocket {
    fn drop(&mut self) {
        let mut conn = self.conn.borrow_mut();
        conn.registered = None;
        self.host.note(b'x', conn.number, &[]);
        conn.down.send(self.host.clock.now(), Item::End);
    }
}
