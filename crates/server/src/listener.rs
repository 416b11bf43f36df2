//! The listening socket: accepts connections, hands them on at a limited rate and fairly by address, and backs off when
//! the system has no descriptors.
//!
//! The system's backlog is emptied as fast as it fills, since it is first in, first out for all addresses together.
//! Connections over the rate wait in a [`FairQueue`], or are reset.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use mio::event::Source;
use mio::net::TcpListener;
use mio::{Interest, Registry, Token};
use trantor_engine::limits::address_group;
use trantor_time::{NANOS, RealSpan, RealTime};

use crate::conn::Socket;

/// How long no connection is accepted after the system had no descriptor for one. Connections of ours that close end it
/// early; another program may hold the descriptors.
const BACK_OFF_SPAN: RealSpan = RealSpan::from_secs(1);

/// Between two warnings about it: it may begin anew hundreds of times a second.
const LOG_SPAN: RealSpan = RealSpan::from_secs(10);

/// Connections that may wait to be accepted. The usual 128 overflow when a class starts its bots all at once, and late
/// peers then retry after a second. The system may allow fewer.
const BACKLOG_MAX: i32 = 4_096;

/// Accepted connections that may wait for the rate: eight seconds at the default rate, after which few peers still wait.
/// Each takes a descriptor and some KiB of the system's buffers.
pub(crate) const WAITING_MAX: usize = 4_096;

/// The burst: connections of so long a quiet time may be accepted at once.
const SAVED_UP_SPAN: RealSpan = RealSpan::from_secs(1);

/// Shortest wait once the bucket is empty: thousands of connections a second shall not be as many wake-ups, nor delay
/// players.
const WAIT_SPAN_MIN: RealSpan = RealSpan::from_millis(2);

/// What accepts connections: the listening socket, or a simulated one.
pub trait Acceptor: Source + fmt::Debug {
    /// The next connection, and the address that it comes from.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` if no connection waits.
    fn accept(&self) -> io::Result<(Box<dyn Socket>, IpAddr)>;
}

impl Acceptor for TcpListener {
    fn accept(&self) -> io::Result<(Box<dyn Socket>, IpAddr)> {
        let (socket, peer) = Self::accept(self)?;
        let peer = origin(peer.ip(), socket.local_addr().ok());
        Ok((Box::new(socket), peer))
    }
}

#[derive(Debug)]
pub(crate) struct Listener {
    socket: Box<dyn Acceptor>,
    address: SocketAddr,
    /// The time in which one connection becomes allowed; zero without a rate limit.
    accept_span: RealSpan,
    /// The token bucket: time until then is spent; what has passed since allows more.
    spent_until: RealTime,
    /// The bucket is empty: no connection is handed on before that.
    slowed_until: Option<RealTime>,
    /// Accepted, and not handed on yet.
    waiting: FairQueue<Accepted>,
    /// The system reported connections that were not all accepted yet.
    pending: bool,
    backing_off_until: Option<RealTime>,
    logged_at: Option<RealTime>,
    pub(crate) stats: ListenerStats,
}

#[derive(Debug)]
struct Accepted {
    socket: Box<dyn Socket>,
    peer: IpAddr,
    at: RealTime,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListenerStats {
    pub accepted: u64,
    pub back_offs: u64,
    pub aborted: u64,
    pub refused: u64,
    pub slowed: u64,
}

impl Listener {
    /// Accepts the connections of `socket`, some of which may wait already.
    pub fn new(socket: std::net::TcpListener) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let socket = TcpListener::from_std(socket);
        // Listening again only changes how many may wait, which the standard library cannot set.
        rustix::net::listen(&socket, BACKLOG_MAX)?;
        let address = socket.local_addr()?;
        Ok(Self::of(Box::new(socket), address))
    }

    pub(crate) fn of(socket: Box<dyn Acceptor>, address: SocketAddr) -> Self {
        Self {
            socket,
            address,
            accept_span: RealSpan::ZERO,
            spent_until: RealTime::from_nanos(i64::MIN),
            slowed_until: None,
            waiting: FairQueue::new(WAITING_MAX),
            pending: false,
            backing_off_until: None,
            logged_at: None,
            stats: ListenerStats::default(),
        }
    }

    /// Sets the rate, and a burst of as many connections after a quiet second; more wait.
    pub fn limit_rate(&mut self, accepts_per_second: u32) {
        self.accept_span = RealSpan::from_nanos(NANOS / i64::from(accepts_per_second.max(1)));
    }

    pub(crate) fn set_waiting_max(&mut self, waiting_max: usize) {
        self.waiting.len_max = waiting_max;
    }

    /// Has the system report new connections as `token`.
    pub fn watch(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.socket, token, Interest::READABLE)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn note_ready(&mut self) {
        self.pending = true;
    }

    /// Whether it is worth calling [`Self::accept`] at `now`.
    pub fn has_pending(&self, now: RealTime) -> bool {
        self.next_try().is_some_and(|at| at <= now)
    }

    /// When to call [`Self::accept`] next, at once if that is past; `None` if no connection waits.
    pub fn next_try(&self) -> Option<RealTime> {
        let at_once = RealTime::from_nanos(i64::MIN);
        let accepting = self.pending.then_some(at_once);
        let handing_on = (!self.waiting.is_empty()).then(|| self.slowed_until.unwrap_or(at_once));
        let next = accepting.into_iter().chain(handing_on).min()?;
        Some(next.max(self.backing_off_until.unwrap_or(at_once)))
    }

    /// Accepts a connection if the system has one. Answers the next in turn with its address, if the rate allows one.
    pub fn accept(&mut self, now: RealTime) -> Option<(Box<dyn Socket>, IpAddr)> {
        if self.backing_off_until.is_some_and(|until| until > now) {
            return None;
        }
        if self.pending {
            self.accept_one(now);
        }
        if self.slowed_until.is_some_and(|until| until > now) {
            return None;
        }
        let Accepted { socket, peer, at } = self.waiting.pop()?;
        if at < now && socket.is_gone() {
            self.stats.aborted += 1;
            return None;
        }
        self.note_handed_on(now);
        Some((socket, peer))
    }

    /// A connection was closed: there is a descriptor again.
    pub fn room_was_made(&mut self) {
        self.backing_off_until = None;
    }

    fn accept_one(&mut self, now: RealTime) {
        match self.socket.accept() {
            Ok((socket, peer)) => {
                self.backing_off_until = None;
                self.stats.accepted += 1;
                let accepted = Accepted {
                    socket,
                    peer,
                    at: now,
                };
                if let Err(Accepted { socket, .. }) = self.waiting.push(peer, accepted) {
                    self.stats.refused += 1;
                    socket.reset_at_close();
                }
            }
            Err(error) => self.refused(&error, now),
        }
    }

    fn note_handed_on(&mut self, now: RealTime) {
        self.spent_until = self.spent_until.max(now - SAVED_UP_SPAN) + self.accept_span;
        let next_at = self.spent_until + self.accept_span;
        let is_too_early = next_at > now;
        self.slowed_until = is_too_early.then(|| next_at.max(now + WAIT_SPAN_MIN));
        self.stats.slowed += u64::from(is_too_early);
    }

    fn refused(&mut self, error: &io::Error, now: RealTime) {
        match error.kind() {
            io::ErrorKind::WouldBlock => self.pending = false,
            io::ErrorKind::Interrupted => {}
            // The peer is gone already; the next one may be there.
            io::ErrorKind::ConnectionAborted => self.stats.aborted += 1,
            // No descriptor, no memory: the same would come at once for the next one too.
            _ => self.back_off(error, now),
        }
    }

    /// Accepts no connection for a while, or until one is closed; new ones wait with the system.
    pub fn back_off(&mut self, why: impl fmt::Display, now: RealTime) {
        // Where connections come and go at the limit it begins anew each time.
        if self.logged_at.is_none_or(|at| now >= at + LOG_SPAN) {
            self.logged_at = Some(now);
            log::warn!("cannot accept connections for now: {why}");
        }
        self.stats.back_offs += 1;
        self.backing_off_until = Some(now + BACK_OFF_SPAN);
    }
}

/// The address of a peer: loopback if both ends have the same address, since the connection then never left this machine.
fn origin(peer: IpAddr, local: Option<SocketAddr>) -> IpAddr {
    match local {
        Some(local) if local.ip() == peer && !peer.to_canonical().is_loopback() => Ipv4Addr::LOCALHOST.into(),
        _ => peer,
    }
}

/// Of so many turns of an address one is for its oldest item, the others for its newest: behind a flood from its own
/// address, one newcomer in two would otherwise wait for all of it. What was overtaken is served all the same.
const OLDEST_TURN: u32 = 4;

/// Items by the address they come from, for IPv6 by network.
#[derive(Debug)]
struct FairQueue<T> {
    /// Looked up, never gone through; none is empty.
    by_group: HashMap<IpAddr, Group<T>>,
    /// Groups with items, each once, in the order in which they are served.
    turns: VecDeque<IpAddr>,
    len: usize,
    /// Those that are beyond it when it is lowered stay.
    len_max: usize,
}

/// What comes from one address, oldest first.
#[derive(Debug)]
struct Group<T> {
    items: VecDeque<T>,
    /// Turns since the last one of the oldest.
    turns: u32,
}

impl<T> FairQueue<T> {
    fn new(len_max: usize) -> Self {
        Self {
            by_group: HashMap::new(),
            turns: VecDeque::new(),
            len: 0,
            len_max,
        }
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an item. An address may have as many as there is room left for (a dynamic threshold, Choudhury and Hahne): one
    /// that floods takes half, and the next finds as much.
    ///
    /// # Errors
    /// The item, if its address has its share or there is no room.
    fn push(&mut self, peer: IpAddr, item: T) -> Result<(), T> {
        let group = address_group(peer);
        let room = self.len_max.saturating_sub(self.len);
        let items = self.by_group.get(&group).map_or(0, |group| group.items.len());
        if items >= room {
            return Err(item);
        }
        if items == 0 {
            self.turns.push_back(group);
        }
        let new = || Group {
            items: VecDeque::new(),
            turns: 0,
        };
        self.by_group
            .entry(group)
            .or_insert_with(new)
            .items
            .push_back(item);
        self.len += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<T> {
        let address = self.turns.pop_front()?;
        let group = self.by_group.get_mut(&address)?;
        group.turns = (group.turns + 1) % OLDEST_TURN;
        let item = match group.turns {
            0 => group.items.pop_front(),
            _ => group.items.pop_back(),
        };
        let item = item?;
        match group.items.is_empty() {
            true => drop(self.by_group.remove(&address)),
            false => self.turns.push_back(address),
        }
        self.len -= 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net;
    use std::net::SocketAddrV4;
    use std::os::fd::OwnedFd;

    #[test]
    fn a_peer_with_an_address_of_this_machine_is_local() {
        for (peer, local, expected) in [
            ("192.168.1.2", "192.168.1.2:4242", "127.0.0.1"),
            ("2001:db8::2", "[2001:db8::2]:4242", "127.0.0.1"),
            ("::ffff:10.0.0.1", "[::ffff:10.0.0.1]:4242", "127.0.0.1"),
            ("192.168.1.3", "192.168.1.2:4242", "192.168.1.3"),
            ("::1", "[::1]:4242", "::1"),
            ("127.0.0.1", "127.0.0.2:4242", "127.0.0.1"),
        ] {
            let [peer, expected] = [peer, expected].map(|address| address.parse().unwrap());
            assert_eq!(origin(peer, local.parse().ok()), expected, "{peer} {local}");
        }
        let peer = IpAddr::from([10, 0, 0, 1]);
        assert_eq!(origin(peer, None), peer);
    }

    fn on_loopback() -> Listener {
        Listener::new(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).unwrap()
    }

    fn connect_from(host: u8, port: u16) -> OwnedFd {
        let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
        let [own, server] =
            [(host, 0), (1, port)].map(|(host, port)| SocketAddrV4::new([127, 0, 0, host].into(), port));
        net::bind(&socket, &own).unwrap();
        net::connect(&socket, &server).unwrap();
        socket
    }

    /// All that is handed on at this time, by address.
    fn accept_all(listener: &mut Listener, at: RealTime) -> Vec<String> {
        listener.note_ready();
        let mut peers = Vec::new();
        while listener.has_pending(at) {
            peers.extend(listener.accept(at).map(|(_, peer)| peer.to_string()));
        }
        peers
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_newcomer_is_handed_on_before_the_flood_of_another_address() {
        let mut listener = on_loopback();
        listener.limit_rate(2);
        listener.set_waiting_max(20);
        let port = listener.address().port();
        let now = RealTime::ZERO + RealSpan::from_secs(5);
        let _flood: Vec<_> = (0..40).map(|_| connect_from(2, port)).collect();
        assert_eq!(accept_all(&mut listener, now), ["127.0.0.2", "127.0.0.2"]);
        assert_eq!((listener.stats.accepted, listener.stats.refused), (40, 28));
        let allowed_at = now + RealSpan::from_millis(500);
        assert_eq!(listener.next_try(), Some(allowed_at));
        assert!(listener.accept(allowed_at - RealSpan::from_nanos(1)).is_none());
        let _newcomer = connect_from(3, port);
        let peers = accept_all(&mut listener, now + RealSpan::from_secs(1));
        assert_eq!(peers, ["127.0.0.2", "127.0.0.3"]);
    }

    #[test]
    fn a_peer_that_has_hung_up_takes_nothing_of_the_rate() {
        let mut listener = on_loopback();
        listener.limit_rate(1);
        let port = listener.address().port();
        let now = RealTime::ZERO + RealSpan::from_secs(5);
        let _first = connect_from(1, port);
        let storm: Vec<_> = (0..10).map(|_| connect_from(1, port)).collect();
        assert_eq!(accept_all(&mut listener, now).len(), 1);
        drop(storm);
        let _last = connect_from(1, port);
        assert_eq!(accept_all(&mut listener, now + RealSpan::from_secs(1)).len(), 1);
        assert_eq!(accept_all(&mut listener, now + RealSpan::from_secs(2)).len(), 0);
        assert_eq!(listener.stats.aborted, 10);
        assert_eq!(listener.next_try(), None, "no connection waits");
    }

    /// Beyond any storm of connections, for a minute, whatever the rate.
    #[test]
    fn the_rate_is_the_one_that_was_asked_for() {
        for rate in [1, 3, 10, 499, 501, 1_000, 7_777, 100_000] {
            let mut listener = on_loopback();
            listener.limit_rate(rate);
            let began = RealTime::ZERO + RealSpan::from_secs(5);
            let (mut now, mut accepted, mut waits) = (began, 0_u32, 0_u32);
            while now < began + RealSpan::from_secs(60) {
                match listener.slowed_until.filter(|at| *at > now) {
                    Some(at) => (now, waits) = (at, waits + 1),
                    None => {
                        listener.note_handed_on(now);
                        accepted += 1;
                    }
                }
            }
            // At once, and then for a minute.
            let expected = rate * 61;
            assert!(
                accepted.abs_diff(expected) <= 1 + rate / 500,
                "{accepted} at {rate} a second"
            );
            assert!(waits <= 60 * 500, "{waits} waits at {rate} a second");
        }
    }

    /// A few more connections come from one address than the rate allows, for two minutes at the default rate.
    #[test]
    fn a_newcomer_from_the_address_of_a_flood_is_mostly_served_at_once_and_always_in_the_end() {
        #[derive(Clone, Copy, PartialEq)]
        enum Who {
            Flood,
            Newcomer(usize),
        }
        let mut queue = FairQueue::new(WAITING_MAX);
        let address = IpAddr::from([192, 0, 2, 1]);
        let (mut waits, mut served) = (Vec::new(), Vec::new());
        for turn in 0..60_000 {
            let _full = queue.push(address, Who::Flood);
            if turn % 50 == 0 {
                let _full = queue.push(address, Who::Flood);
            }
            if turn % 97 == 0 && turn < 40_000 && queue.push(address, Who::Newcomer(turn)).is_ok() {
                waits.push(turn);
            }
            if let Some(Who::Newcomer(came)) = queue.pop() {
                served.push(turn - came);
            }
        }
        while let Some(who) = queue.pop() {
            served.extend(matches!(who, Who::Newcomer(_)).then_some(usize::MAX));
        }
        assert_eq!(served.len(), waits.len());
        served.sort_unstable();
        assert!(
            waits.len() > 400 && served[served.len() / 2] <= 8,
            "{}: {served:?}",
            waits.len()
        );
        assert!(
            served[served.len() - 1] < usize::MAX,
            "all came in while it lasted"
        );
    }

    #[test]
    fn a_flood_leaves_room_for_other_addresses() {
        let mut queue = FairQueue::new(100);
        let taken = |queue: &mut FairQueue<()>, peer: &str| {
            let peer = peer.parse().unwrap();
            (0..1_000).filter(|_| queue.push(peer, ()).is_ok()).count()
        };
        assert_eq!(taken(&mut queue, "192.0.2.1"), 50);
        assert_eq!(taken(&mut queue, "2001:db8::1"), 25);
        assert_eq!(taken(&mut queue, "2001:db8::ffff:1"), 0, "it is the same network");
        assert_eq!(taken(&mut queue, "::ffff:192.0.2.1"), 0, "it is the same address");
        assert_eq!(queue.push("192.0.2.3".parse().unwrap(), ()), Ok(()));
        while queue.pop().is_some() {}
        assert!(queue.is_empty());
        assert_eq!(taken(&mut queue, "192.0.2.1"), 50);
    }
}
