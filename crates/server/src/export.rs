//! The exporter: `/metrics` and `/health` over HTTP ([`crate::http`]), one GET a connection.
//!
//! ```text
//!  peer ─ GET ─> its thread ─ one task at a time ─> server's loop
//!  peer <─ page ─ its thread <──── the metrics ─────────┘
//! ```
//!
//! One thread accepts, and each connection has a thread for its one request; all of them sleep until a peer asks. Every
//! answer shows that the server's loop runs, since that loop collects the metrics itself ([`crate::metrics`]); a loop that hangs
//! is answered for with 503 (decision 132). Connections are bounded in number, rate, time and bytes.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use mio::net::TcpListener;
use mio::{Interest, Token};
use trantor_engine::limits::address_group;
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::{RealClock, StopSignal};
use trantor_time::{Clock, RealSpan, RealTime};

use crate::http::{self, Page, Status};
use crate::metrics::{self, Table};
use crate::shell::Shell;
use crate::shell::tasks::TaskSender;
use crate::wait::MioWait;

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
    address: SocketAddr,
    stop: StopSignal,
    _thread: Thread<()>,
}

impl Exporter {
    /// Serves the metrics of the loop behind `tasks` on `address`, to requests for an address of this host or for one of
    /// `hosts`.
    pub fn start(address: SocketAddr, hosts: Vec<String>, tasks: TaskSender) -> io::Result<Self> {
        let cannot = |error: io::Error| io::Error::other(format!("no metrics on {address}: {error}"));
        let mut listener = TcpListener::bind(address).map_err(cannot)?;
        let address = listener.local_addr()?;
        let wait = MioWait::new()?;
        wait.registry()
            .register(&mut listener, Token(0), Interest::READABLE)?;
        let stop = StopSignal::new(wait.waker());
        let source = Source {
            tasks,
            hosts,
            state: Mutex::default(),
        };
        let acceptor = Acceptor {
            listener,
            wait,
            stop: stop.clone(),
            source: Arc::new(source),
        };
        Ok(Self {
            address,
            stop,
            _thread: threads::spawn("metrics", || acceptor.run())?,
        })
    }

    /// Where it listens, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // The thread joins when it is dropped.
        self.stop.request();
    }
}

struct Acceptor {
    listener: TcpListener,
    wait: MioWait,
    stop: StopSignal,
    source: Arc<Source>,
}

/// An open connection, or one whose thread is about to end.
struct Peer {
    socket: Arc<TcpStream>,
    /// The address that it counts for.
    group: IpAddr,
    is_evicted: bool,
    thread: Thread<()>,
}

impl Acceptor {
    fn run(mut self) {
        let mut peers: Vec<Peer> = Vec::with_capacity(CONNECTIONS_MAX);
        while !self.stop.is_requested() {
            peers.retain(|peer| !peer.thread.has_ended());
            match self.listener.accept() {
                Ok((socket, from)) if peers.len() < THREADS_MAX => {
                    evict(&mut peers);
                    match start(socket.into(), from.ip(), &self.source) {
                        Ok(peer) => peers.push(peer),
                        Err(error) => log::warn!("a connection to the metrics is closed: {error}"),
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait.wait(None);
                    continue;
                }
                Err(error) => log::debug!("no connection to the metrics: {error}"),
            }
            self.pause();
        }
        for peer in &peers {
            let _gone = peer.socket.shutdown(Shutdown::Both);
        }
    }

    fn pause(&mut self) {
        let clock = RealClock::new();
        let until = clock.now() + ACCEPT_PAUSE;
        while !self.stop.is_requested() && clock.now() < until {
            self.wait.wait(Some(until));
        }
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
        if let Some(request) = http::read_get(&head, &source.hosts) {
            break request;
        }
    };
    let page = request.and_then(|path| source.page(&path));
    socket.set_write_timeout(Some(CONNECTION_SPAN.to_std()))?;
    socket.write_all(&page.unwrap_or_else(refusal).to_bytes())?;
    socket.shutdown(Shutdown::Write)?;
    // The peer closes first: the system drops an answer if a connection is closed with input unread.
    for _ in 0..LAST_READS_MAX {
        if read(&mut buffer)? == 0 {
            break;
        }
    }
    Ok(())
}

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
    /// # Errors
    /// The status, if there is no such page.
    fn page(&self, path: &str) -> Result<Page, Status> {
        let page = match path {
            "/metrics" => self.collect().map(|table| Page {
                status: http::OK,
                content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
                body: table.into_text(),
            }),
            "/health" => self.is_healthy().then(|| Page::plain(http::OK, "ok\n")),
            _ => return Err(http::NOT_FOUND),
        };
        Ok(page.unwrap_or_else(|| Page::plain(http::UNAVAILABLE, "the server's loop does not answer\n")))
    }

    /// The metrics; `None` if the loop does not answer in time.
    fn collect(&self) -> Option<Table> {
        self.ask(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

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

/// The answer to a refused request, with a hint for people.
fn refusal(status: Status) -> Page {
    let hint = match status {
        http::MISDIRECTED => "Ask for this host by its address, or by a name of --metrics-hosts.",
        _ => "There is GET /metrics and GET /health.",
    };
    Page::plain(status, format!("{status}\n{hint}\n"))
}
