//! The exporter: `/metrics` and `/health` over HTTP, and the log line of `--metrics-log`.
//!
//! ```text
//!  peer ─ GET ─> exporter's thread ─ one task at a time ─> server's loop
//!  peer <─ page ─ exporter's thread <──── its metrics ────┘
//! ```
//!
//! It has a thread and a loop of its own, which sleep until a peer asks or a log line is due. Every answer shows that the
//! server's loop runs, since that loop collects the metrics itself ([`crate::metrics`]). Connections are bounded in
//! number, rate, time and bytes; each carries one request.

mod http;

use std::cmp::Reverse;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};

use crossbeam_channel::{Receiver, Sender, bounded};
use mio::net::TcpStream;
use mio::{Interest, Token};
use slab::Slab;
use trantor_engine::limits::address_group;
use trantor_runtime::life::{LoopThread, StartError, StopSignal};
use trantor_runtime::{RealClock, Wait as _, Waker};
use trantor_time::{Clock, RealSpan, RealTime};

use self::http::{Page, Request, Status};
use crate::listener::{Door, Listener};
use crate::metrics::{self, Table};
use crate::options::MetricsOptions;
use crate::shell::Shell;
use crate::shell::tasks::TaskSender;
use crate::wait::MioWait;

/// Connections at one time; a new one evicts another. A few scrapers stay far below, and a peer that opens thousands
/// takes descriptors from nobody.
const CONNECTIONS_MAX: usize = 32;

/// Connections accepted within a second. Collecting takes some microseconds of the server's loop, and each connection
/// has an eighth of a second at least before it can be evicted.
const CONNECTIONS_PER_SECOND: u32 = 200;

/// Connections that may wait for that: the oldest has waited for a second then.
const WAITING_MAX: usize = 256;

/// Connections accepted in a pass, so that those that are open have their turn.
const ACCEPTS_PER_PASS_MAX: usize = 32;

/// How long a connection may take from its first byte to its end.
const CONNECTION_SPAN: RealSpan = RealSpan::from_secs(5);

/// How long the server's loop may take to answer. Its longest pass is far below.
const ANSWER_SPAN: RealSpan = RealSpan::from_secs(1);

/// How long an answer of the loop counts for `/health`: however often that is asked, the loop is asked four times a second.
const HEALTH_FRESH_SPAN: RealSpan = RealSpan::from_millis(250);

/// Bytes of one read: most requests are shorter.
const READ_BYTES: usize = 1024;

/// Reads from a connection, after its request, each time it is ready: what comes then is dropped.
const READS_MAX: usize = 16;

const TOKEN_LISTENER: Token = Token(usize::MAX - 16);

/// A running exporter; dropping it ends it.
pub struct Exporter {
    address: Option<SocketAddr>,
    _thread: LoopThread<()>,
}

impl Exporter {
    /// Starts serving the metrics of the loop behind `tasks`, as `options` say.
    ///
    /// # Errors
    /// If the address cannot be listened on, or there is no thread. One line.
    pub fn start(options: &MetricsOptions, tasks: TaskSender) -> Result<Self, StartError> {
        let listener = options.address.map(|address| {
            let cannot = |error| StartError::NotMade(format!("no metrics on {address}: {error}"));
            Listener::open(Door::Address(address)).map_err(cannot)
        });
        let listener = listener.transpose()?;
        let address = listener.as_ref().map(Listener::address);
        let options = options.clone();
        let make = move || {
            let exporter = ExportLoop::new(options, listener, tasks)?;
            let signal = exporter.stop.clone();
            Ok::<_, io::Error>((exporter, signal))
        };
        let thread = LoopThread::start("metrics", make, ExportLoop::run)?;
        Ok(Self {
            address,
            _thread: thread,
        })
    }

    /// Where it listens, if it does, with the port that the system chose if it was asked to.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

/// The exporter's loop.
struct ExportLoop {
    wait: MioWait,
    stop: StopSignal,
    options: MetricsOptions,
    listener: Option<Listener>,
    peers: Slab<Peer>,
    /// When the next log line is due, if any is wanted.
    log_at: Option<RealTime>,
    server: Question,
}

/// The question to the server's loop; one at a time.
struct Question {
    tasks: TaskSender,
    asked_at: Option<RealTime>,
    answered_at: Option<RealTime>,
    is_for_log: bool,
    answers: Receiver<Table>,
    to_answer: Sender<Table>,
    waker: Waker,
}

/// A connection with its one request.
struct Peer {
    socket: TcpStream,
    /// The address it counts for.
    group: IpAddr,
    began: RealTime,
    state: PeerState,
    /// The peer has ended its side; it may still wait for its answer.
    has_ended: bool,
}

enum PeerState {
    /// The head of the request, as far as it has come.
    Asking(Vec<u8>),
    /// The request waits for the server's loop.
    Waiting(Page),
    /// What is left of the answer.
    Answering(Vec<u8>),
    /// All is written; the peer is to close first, or the system might drop the answer.
    Answered,
    /// To be closed.
    Over,
}

impl ExportLoop {
    fn new(options: MetricsOptions, mut listener: Option<Listener>, tasks: TaskSender) -> io::Result<Self> {
        let wait = MioWait::new()?;
        if let Some(listener) = &mut listener {
            listener.watch(wait.registry(), TOKEN_LISTENER)?;
            listener.limit_rate(CONNECTIONS_PER_SECOND);
            listener.set_waiting_max(WAITING_MAX);
        }
        let (to_answer, answers) = bounded(1);
        let is_logged = options.log.to_level().is_some();
        Ok(Self {
            stop: StopSignal::new(wait.waker()),
            listener,
            peers: Slab::with_capacity(CONNECTIONS_MAX),
            log_at: is_logged.then(|| RealClock::new().now() + options.every),
            server: Question {
                tasks,
                asked_at: None,
                answered_at: None,
                is_for_log: false,
                answers,
                to_answer,
                waker: wait.waker(),
            },
            options,
            wait,
        })
    }

    /// Runs until it is asked to stop.
    fn run(mut self) {
        let clock = RealClock::new();
        while !self.stop.is_requested() {
            self.wait.wait(self.next_wake());
            self.pass(clock.now());
        }
    }

    /// When there is something to do, if nothing comes; `None` for never.
    fn next_wake(&self) -> Option<RealTime> {
        let oldest = self.peers.iter().map(|(_, peer)| peer.began).min();
        let next = [
            self.listener.as_ref().and_then(Listener::next_try),
            oldest.map(|began| began + CONNECTION_SPAN),
            self.server
                .asked_at
                .filter(|_| self.is_awaited())
                .map(|at| at + ANSWER_SPAN),
            self.log_at,
        ];
        next.into_iter().flatten().min()
    }

    fn pass(&mut self, now: RealTime) {
        while let Some(ready) = self.wait.next_ready() {
            match ready.token {
                TOKEN_LISTENER => self.listener.iter_mut().for_each(Listener::note_ready),
                Token(key) => {
                    if let Some(peer) = self.peers.get_mut(key) {
                        peer.proceed(&self.options.hosts);
                    }
                }
            }
        }
        for _ in 0..ACCEPTS_PER_PASS_MAX {
            self.accept_one(now);
        }
        if self.log_at.is_some_and(|at| at <= now) {
            self.log_at = Some(now + self.options.every);
            self.server.is_for_log = true;
        }
        self.ask_and_answer(now);
        let is_over =
            |peer: &Peer| matches!(peer.state, PeerState::Over) || peer.began + CONNECTION_SPAN <= now;
        let open = self.peers.len();
        self.peers.retain(|_, peer| !is_over(peer));
        if self.peers.len() < open {
            self.listener.iter_mut().for_each(Listener::room_was_made);
        }
    }

    fn accept_one(&mut self, now: RealTime) {
        let listener = self.listener.as_mut();
        let Some(listener) = listener.filter(|listener| listener.has_pending(now)) else {
            return;
        };
        let Some((mut socket, address)) = listener.accept(now) else {
            return;
        };
        if self.peers.len() == CONNECTIONS_MAX
            && let Some(key) = self.to_evict()
        {
            self.peers.remove(key);
        }
        let entry = self.peers.vacant_entry();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let watched = self
            .wait
            .registry()
            .register(&mut socket, Token(entry.key()), interest);
        match watched {
            Ok(()) => drop(entry.insert(Peer {
                socket,
                group: address_group(address),
                began: now,
                state: PeerState::Asking(Vec::new()),
                has_ended: false,
            })),
            Err(error) => log::warn!("a connection to the metrics cannot be watched: {error}"),
        }
    }

    /// The connection that makes room for another: one that has its answer, or else the oldest of the address with most.
    fn to_evict(&self) -> Option<usize> {
        let of_group = |group| {
            self.peers
                .iter()
                .filter(|(_, other)| other.group == group)
                .count()
        };
        let evicted = self.peers.iter().max_by_key(|(_, peer)| {
            let is_answered = matches!(peer.state, PeerState::Answered);
            (is_answered, of_group(peer.group), Reverse(peer.began))
        });
        evicted.map(|(key, _)| key)
    }

    /// Asks the server's loop if a peer or the log waits for it, and passes its answer on.
    fn ask_and_answer(&mut self, now: RealTime) {
        if let Ok(table) = self.server.answers.try_recv() {
            self.server.asked_at = None;
            self.server.answered_at = Some(now);
            if std::mem::take(&mut self.server.is_for_log)
                && let Some(level) = self.options.log.to_level()
            {
                log::log!(level, "metrics: {}", table.to_log_line());
            }
            let text = table.into_text();
            self.answer(|page| match page {
                Page::Metrics => http::metrics(&text),
                Page::Health => http::answer(Status::Ok, "ok\n"),
            });
        }
        if self
            .server
            .answered_at
            .is_some_and(|at| now < at + HEALTH_FRESH_SPAN)
        {
            let healthy = |peer: &&mut Peer| matches!(peer.state, PeerState::Waiting(Page::Health));
            let peers = self.peers.iter_mut().map(|(_, peer)| peer);
            peers
                .filter(healthy)
                .for_each(|peer| peer.answer(http::answer(Status::Ok, "ok\n")));
        }
        if !self.is_awaited() {
            return;
        }
        let is_lost = match self.server.asked_at {
            Some(at) => at + ANSWER_SPAN <= now,
            None => !self.server.ask(now),
        };
        if is_lost {
            self.server.is_for_log = false;
            let refusal = http::answer(Status::Unavailable, "the server's loop does not answer\n");
            self.answer(|_| refusal.clone());
        }
    }
    /// Whether a peer or the log waits for the server's loop.
    fn is_awaited(&self) -> bool {
        let waits = |(_, peer): (usize, &Peer)| matches!(peer.state, PeerState::Waiting(_));
        self.server.is_for_log || self.peers.iter().any(waits)
    }

    /// Answers every peer that waits for the server's loop.
    fn answer(&mut self, answer: impl Fn(Page) -> Vec<u8>) {
        for (_, peer) in &mut self.peers {
            if let PeerState::Waiting(page) = peer.state {
                peer.answer(answer(page));
            }
        }
    }
}

impl Question {
    /// Has the loop collect its metrics. Answers whether it accepts that.
    fn ask(&mut self, now: RealTime) -> bool {
        let (to_answer, waker) = (self.to_answer.clone(), self.waker.clone());
        let collect = move |shell: &mut Shell| {
            // There is room for the only one, unless the exporter has ended.
            let _ended = to_answer.try_send(metrics::collect(shell));
            waker.wake();
        };
        let is_asked = self.tasks.send("metrics", collect).is_ok();
        self.asked_at = is_asked.then_some(now);
        is_asked
    }
}

impl Peer {
    /// Reads and writes as far as the system lets it.
    fn proceed(&mut self, hosts: &[String]) {
        let mut buffer = [0; READ_BYTES];
        while let PeerState::Asking(head) = &mut self.state {
            match self.socket.read(&mut buffer) {
                Ok(0) => self.state = PeerState::Over,
                Ok(count) => {
                    head.extend_from_slice(&buffer[..count]);
                    match http::parse(head, hosts) {
                        None => {}
                        Some(Request::Page(page)) => self.state = PeerState::Waiting(page),
                        Some(Request::Refused(status)) => self.answer(http::refusal(status)),
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.state = PeerState::Over,
            }
        }
        self.write();
        self.drop_input();
    }

    fn answer(&mut self, answer: Vec<u8>) {
        self.state = PeerState::Answering(answer);
        self.write();
        self.drop_input();
    }

    fn write(&mut self) {
        while let PeerState::Answering(rest) = &mut self.state {
            match self.socket.write(rest) {
                Ok(count) if count == rest.len() => {
                    self.state = PeerState::Answered;
                    // It fails only where the peer is gone, which reading shows.
                    let _gone = self.socket.shutdown(Shutdown::Write);
                }
                Ok(count) if count > 0 => drop(rest.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => self.state = PeerState::Over,
            }
        }
    }

    /// Drops what comes after the request, and notes the end.
    fn drop_input(&mut self) {
        if matches!(self.state, PeerState::Asking(_) | PeerState::Over) {
            return;
        }
        let mut buffer = [0; READ_BYTES];
        for _ in 0..READS_MAX {
            match self.socket.read(&mut buffer) {
                Ok(0) => self.has_ended = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() != ErrorKind::Interrupted => self.state = PeerState::Over,
                Ok(_) | Err(_) => continue,
            }
            break;
        }
        if self.has_ended && matches!(self.state, PeerState::Answered) {
            self.state = PeerState::Over;
        }
    }
}
