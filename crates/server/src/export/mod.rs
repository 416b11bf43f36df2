//! The exporter: `/metrics` and `/health` over HTTP, and the log line of `--metrics-log`.
//!
//! ```text
//!  peer ─ GET ─> its thread ─ one task at a time ─> server's loop
//!  peer <─ page ─ its thread <──── the metrics ─────────┘
//! ```
//!
//! One thread accepts, one thread writes the log line, and each connection has a thread for its one request; all of them
//! sleep until a peer asks or a line is due. Every answer shows that the server's loop runs, since that loop collects the
//! metrics itself ([`crate::metrics`]). Connections are bounded in number, rate, time and bytes.

mod http;
mod stop_pair;

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use trantor_engine::limits::address_group;
use trantor_runtime::RealClock;
use trantor_runtime::threads::{self, Thread};
use trantor_time::{Clock, RealSpan, RealTime};

use self::http::{OK, Page, UNAVAILABLE};
use self::stop_pair::Stop;
use crate::metrics::{self, Table};
use crate::options::MetricsOptions;
use crate::shell::Shell;
use crate::shell::tasks::TaskSender;

/// Connections at one time; a new one evicts another. A few scrapers stay far below, and a peer that opens thousands
/// takes no descriptors from players.
const CONNECTIONS_MAX: usize = 32;

/// Threads of connections, with those that were evicted and wait for the server's loop.
const THREADS_MAX: usize = 2 * CONNECTIONS_MAX;

/// Pause after each connection. Collecting takes some microseconds of the server's loop, and each connection has an eighth
/// of a second at least before it can be evicted.
const ACCEPT_PAUSE: RealSpan = RealSpan::from_millis(5);

/// How long a connection may take from its first byte to its end.
const CONNECTION_SPAN: RealSpan = RealSpan::from_secs(5);

/// How long the server's loop may take to answer. Its longest pass is far below.
const ANSWER_SPAN: RealSpan = RealSpan::from_secs(1);

/// How long an answer of the loop counts for `/health`: however often that is asked, the loop is asked four times a second.
const HEALTH_FRESH_SPAN: RealSpan = RealSpan::from_millis(250);

/// Bytes of one read: most requests are shorter.
const READ_BYTES: usize = 1024;

/// Reads after the request: what comes then is dropped.
const LAST_READS_MAX: usize = 16;

/// A running exporter; dropping it ends it.
pub struct Exporter {
    address: Option<SocketAddr>,
    /// Closed first, it ends the threads, which are then joined.
    _stop: Stop,
    _threads: Vec<Thread<()>>,
}

impl Exporter {
    /// Starts serving the metrics of the loop behind `tasks`, as `options` say.
    pub fn start(options: &MetricsOptions, tasks: TaskSender) -> io::Result<Self> {
        let (stop, stopped) = stop_pair::pair()?;
        let source = Arc::new(Source {
            tasks,
            hosts: options.hosts.clone().unwrap_or_default(),
            state: Mutex::default(),
        });
        let (mut address, mut threads) = (None, Vec::new());
        if let Some(wanted) = options.address {
            let cannot =
                |error: io::Error| io::Error::new(error.kind(), format!("no metrics on {wanted}: {error}"));
            let listener = TcpListener::bind(wanted).map_err(cannot)?;
            listener.set_nonblocking(true)?;
            address = Some(listener.local_addr()?);
            let (stopped, source) = (stopped.try_clone()?, Arc::clone(&source));
            let serve = move || accept(&listener, &stopped, &source);
            threads.push(threads::spawn("metrics", serve)?);
        }
        if let Some(level) = options.log.to_level() {
            let every = options.every;
            let write_lines = move || {
                while !is_stopped(&stopped, None, Some(every)) {
                    if let Some(table) = source.collect() {
                        log::log!(level, "metrics: {}", table.to_log_line());
                    }
                }
            };
            threads.push(threads::spawn("metrics log", write_lines)?);
        }
        Ok(Self {
            address,
            _stop: stop,
            _threads: threads,
        })
    }

    /// Where it listens, if it does, with the port that the system chose for port 0.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

/// Waits for a connection, for `limit` or for the end. Answers whether the exporter ends.
fn is_stopped(stopped: &Stop, listener: Option<&TcpListener>, limit: Option<RealSpan>) -> bool {
    let limit = limit.map(|limit| Timespec::try_from(limit.to_std()).expect("a span is in range"));
    let mut watched = vec![PollFd::new(stopped, PollFlags::IN)];
    watched.extend(listener.map(|listener| PollFd::new(listener, PollFlags::IN)));
    // An interruption by a signal only makes the wait shorter.
    let _ready = poll(&mut watched, limit.as_ref());
    !watched[0].revents().is_empty()
}

/// An open connection, or one whose thread is about to end.
struct Peer {
    socket: Arc<TcpStream>,
    /// The address that it counts for.
    group: IpAddr,
    is_evicted: bool,
    thread: Thread<()>,
}

fn accept(listener: &TcpListener, stopped: &Stop, source: &Arc<Source>) {
    let mut peers: Vec<Peer> = Vec::with_capacity(CONNECTIONS_MAX);
    while !is_stopped(stopped, Some(listener), None) {
        peers.retain(|peer| !peer.thread.has_ended());
        match listener.accept() {
            Ok((socket, from)) if peers.len() < THREADS_MAX => {
                evict(&mut peers);
                match start(socket, from.ip(), source) {
                    Ok(peer) => peers.push(peer),
                    Err(error) => log::warn!("a connection to the metrics is closed: {error}"),
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => log::debug!("no connection to the metrics: {error}"),
        }
        if is_stopped(stopped, None, Some(ACCEPT_PAUSE)) {
            break;
        }
    }
    for peer in &peers {
        let _gone = peer.socket.shutdown(Shutdown::Both);
    }
}

/// Makes room for a connection, if there is none: closes the oldest of the address with most.
fn evict(peers: &mut [Peer]) {
    let open: Vec<(usize, IpAddr)> = peers
        .iter()
        .enumerate()
        .filter(|(_, peer)| !peer.is_evicted)
        .map(|(place, peer)| (place, peer.group))
        .collect();
    if open.len() < CONNECTIONS_MAX {
        return;
    }
    let of_group = |group| open.iter().filter(|(_, other)| *other == group).count();
    // The maximum is the last of equals.
    let evicted = open.iter().rev().max_by_key(|(_, group)| of_group(*group));
    if let Some((place, _)) = evicted {
        peers[*place].is_evicted = true;
        let _gone = peers[*place].socket.shutdown(Shutdown::Both);
    }
}

fn start(socket: TcpStream, from: IpAddr, source: &Arc<Source>) -> io::Result<Peer> {
    socket.set_nonblocking(false)?;
    let socket = Arc::new(socket);
    let (of_thread, source) = (Arc::clone(&socket), Arc::clone(source));
    let serve = move || {
        // A peer that is gone or too slow is no matter for the log.
        let _gone = serve(&of_thread, &source);
    };
    Ok(Peer {
        thread: threads::spawn("scrape", serve)?,
        group: address_group(from),
        is_evicted: false,
        socket,
    })
}

fn serve(mut socket: &TcpStream, source: &Source) -> io::Result<()> {
    let end = RealClock::new().now() + CONNECTION_SPAN;
    let mut buffer = [0; READ_BYTES];
    let mut reader = socket;
    let mut read = |buffer: &mut [u8]| {
        let rest = (end - RealClock::new().now()).max(RealSpan::from_nanos(1));
        socket.set_read_timeout(Some(rest.to_std()))?;
        reader.read(buffer)
    };
    let mut head = Vec::new();
    let request = loop {
        match read(&mut buffer)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&buffer[..count]),
        }
        if let Some(request) = http::parse(&head, &source.hosts) {
            break request;
        }
    };
    let lost = || http::answer(UNAVAILABLE, "the server's loop does not answer\n");
    let answer = match request {
        Ok(Page::Metrics) => source
            .collect()
            .map_or_else(lost, |table| http::metrics(&table.into_text())),
        Ok(Page::Health) if source.is_healthy() => http::answer(OK, "ok\n"),
        Ok(Page::Health) => lost(),
        Err(status) => http::refusal(status),
    };
    socket.set_write_timeout(Some(CONNECTION_SPAN.to_std()))?;
    socket.write_all(&answer)?;
    socket.shutdown(Shutdown::Write)?;
    // The peer closes first: the system drops an answer if a connection is closed with input unread.
    for _ in 0..LAST_READS_MAX {
        if read(&mut buffer)? == 0 {
            break;
        }
    }
    Ok(())
}

/// The server's loop, for all connections.
struct Source {
    tasks: TaskSender,
    hosts: Vec<String>,
    /// Held while the loop is asked, so that it has one question at a time.
    state: Mutex<SourceState>,
}

#[derive(Default)]
struct SourceState {
    pending: Option<Receiver<Table>>,
    answered_at: Option<RealTime>,
}

impl Source {
    /// The metrics; `None` if the loop does not answer in time.
    fn collect(&self) -> Option<Table> {
        self.ask(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the loop answers, or has just done so.
    fn is_healthy(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = RealClock::new().now();
        let is_fresh = state.answered_at.is_some_and(|at| now < at + HEALTH_FRESH_SPAN);
        is_fresh || self.ask(&mut state).is_some()
    }

    fn ask(&self, state: &mut SourceState) -> Option<Table> {
        let answers = match state.pending.take() {
            Some(pending) => pending,
            None => {
                let (answer, answers) = bounded(1);
                let collect = move |shell: &mut Shell| {
                    let _exporter_ended = answer.send(metrics::collect(shell));
                };
                self.tasks.send("metrics", collect).ok()?;
                answers
            }
        };
        match answers.recv_timeout(ANSWER_SPAN.to_std()) {
            Ok(table) => {
                state.answered_at = Some(RealClock::new().now());
                Some(table)
            }
            Err(RecvTimeoutError::Timeout) => {
                state.pending = Some(answers);
                None
            }
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }
}
