//! The exporter: `/metrics` and `/health` over HTTP. Of that it has what a scraper and a browser need: one GET a connection.
//!
//! ```text
//!  peer ─ GET ─> its thread ─ one task at a time ─> server's loop
//!  peer <─ page ─ its thread <──── the metrics ─────────┘
//! ```
//!
//! One thread accepts, and each connection has a thread for its one request; all of them sleep until a peer asks. Every
//! answer shows that the server's loop runs, since that loop collects the metrics itself ([`crate::metrics`]). Connections
//! are bounded in number, rate, time and bytes.

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
        if let Some(request) = parse(&head, &source.hosts) {
            break request;
        }
    };
    let lost = || answer(UNAVAILABLE, "the server's loop does not answer\n");
    let answer = match request {
        Ok(Page::Metrics) => source
            .collect()
            .map_or_else(lost, |table| openmetrics(&table.into_text())),
        Ok(Page::Health) if source.is_healthy() => answer(OK, "ok\n"),
        Ok(Page::Health) => lost(),
        Err(status) => refusal(status),
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

/// Longest head of a request, in bytes: browsers send about one thousand.
const HEAD_BYTES_MAX: usize = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Metrics,
    Health,
}

/// A status line, without the version.
type Status = &'static str;

const OK: Status = "200 OK";
const BAD_REQUEST: Status = "400 Bad Request";
const NOT_FOUND: Status = "404 Not Found";
const METHOD_NOT_ALLOWED: Status = "405 Method Not Allowed";
/// The request was for a host of another name.
const MISDIRECTED: Status = "421 Misdirected Request";
const HEAD_TOO_LARGE: Status = "431 Request Header Fields Too Large";
const UNAVAILABLE: Status = "503 Service Unavailable";

/// Reads the head of a request to a host that is called by its address, `localhost` or one of `hosts`: the page, or why it is
/// refused; `None` while the head is incomplete.
fn parse(head: &[u8], hosts: &[String]) -> Option<Result<Page, Status>> {
    let is_whole = head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n");
    if !is_whole {
        return (head.len() > HEAD_BYTES_MAX).then_some(Err(HEAD_TOO_LARGE));
    }
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let words: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let [method, target, version] = words[..] else {
        return Some(Err(BAD_REQUEST));
    };
    let path = target.split('?').next().unwrap_or_default();
    Some(match (method, path) {
        _ if !version.starts_with("HTTP/1.") => Err(BAD_REQUEST),
        _ if !is_for(hosts, lines) => Err(MISDIRECTED),
        ("GET", "/metrics") => Ok(Page::Metrics),
        ("GET", "/health") => Ok(Page::Health),
        ("GET", _) => Err(NOT_FOUND),
        _ => Err(METHOD_NOT_ALLOWED),
    })
}

/// Whether a request is meant for this host. A browser sends the name that a page has asked for: one that its owner
/// points at this machine (DNS rebinding) is neither an address nor known here. Programs without names send none.
fn is_for<'a>(hosts: &[String], headers: impl Iterator<Item = &'a str>) -> bool {
    let headers = headers.filter_map(|line| line.split_once(':'));
    let mut named = headers.filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"));
    named.all(|(_, host)| is_ours(hosts, host.trim()))
}

fn is_ours(hosts: &[String], host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    literal.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

fn openmetrics(page: &str) -> Vec<u8> {
    whole(OK, "application/openmetrics-text; version=1.0.0", page)
}

fn answer(status: Status, body: &str) -> Vec<u8> {
    whole(status, "text/plain", body)
}

fn whole(status: Status, content_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: {content_type}; charset=utf-8\r\n\
         Content-Length: {length}\r\n\
         Cache-Control: no-store\r\n\
         Connection: close\r\n\
         \r\n\
         {body}"
    )
    .into_bytes()
}

/// The answer to a refused request, with a hint for people.
fn refusal(status: Status) -> Vec<u8> {
    let hint = match status {
        MISDIRECTED => "Ask for this host by its address, or by a name of --metrics-hosts.",
        _ => "There is GET /metrics and GET /health.",
    };
    answer(status, &format!("{}\n{hint}\n", status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_and_those_for_other_hosts_refused() {
        const METRICS: Option<Result<Page, Status>> = Some(Ok(Page::Metrics));
        let refused = |status| Some(Err(status));
        let endless = "x".repeat(HEAD_BYTES_MAX + 1);
        let hosts = ["arena.example".to_owned()];
        for (head, expected) in [
            ("", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", METRICS),
            ("GET /metrics?name=x HTTP/1.0\n\n", METRICS),
            ("GET /health HTTP/1.1\r\n\r\n", Some(Ok(Page::Health))),
            ("GET / HTTP/1.1\r\n\r\n", refused(NOT_FOUND)),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", refused(NOT_FOUND)),
            ("POST /metrics HTTP/1.1\r\n\r\n", refused(METHOD_NOT_ALLOWED)),
            ("GET /metrics SMTP\r\n\r\n", refused(BAD_REQUEST)),
            ("red\n\n", refused(BAD_REQUEST)),
            (&endless, refused(HEAD_TOO_LARGE)),
        ] {
            assert_eq!(parse(head.as_bytes(), &hosts), expected, "{head:?}");
        }
        for (host, expected) in [
            ("Host: 127.0.0.1:9100", METRICS),
            ("host:[2001:db8::1]:9100", METRICS),
            ("Host: LocalHost:9100", METRICS),
            ("HOST: Arena.Example:9100", METRICS),
            ("Accept-Language: en", METRICS),
            ("Host: attacker.example:9100", refused(MISDIRECTED)),
            ("Host: 127.0.0.1.attacker.example", refused(MISDIRECTED)),
            ("Host: ", refused(MISDIRECTED)),
            ("Host: 127.0.0.1\r\nHost: attacker.example", refused(MISDIRECTED)),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\n{host}\r\n\r\n");
            assert_eq!(parse(head.as_bytes(), &hosts), expected, "{host}");
        }
    }
}
