//! A server's game, over one connection after the other: when to connect, and what the user should know of it.
//!
//! Each connection has a thread that connects and reads; the loop writes. Bytes reach the loop through a bounded channel:
//! while the loop does not keep up, the thread does not read, and so throttles the server. What bytes mean is left to the
//! client.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, never};
use trantor_client::{Client, ClientConfig, ClientEvent, Language, LinkState, Scene};
use trantor_model::{AgentId, Control, MapSize, Refusal};
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::user_token::user_token;
use trantor_runtime::wait::Waker;
use trantor_time::{NANOS, RealSpan, RealTime};

use super::Source;

/// From a lost connection to the next try. Each try that fails doubles it.
const RETRY_AFTER: RealSpan = RealSpan::from_secs(1);
/// Longest wait between two tries: a server that comes back is found soon, and one that does not is hardly disturbed.
const RETRY_AFTER_MAX: RealSpan = RealSpan::from_secs(8);
/// After a connection that lasted as long, the first wait is the short one again.
const GOOD_AFTER: RealSpan = RealSpan::from_secs(10);
/// Messages for the user that may wait: each is shown for seconds.
const NOTICES_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Live {
    host: String,
    port: u16,
    waker: Waker,
    address: String,
    language: Language,
    token: Option<String>,
    connection: Option<Connection>,
    /// When the next connection is made while there is none, and how long the wait after the next failure is.
    next_try_at: RealTime,
    retry_after: RealSpan,
    /// Whether the user wants another connection as soon as this one is closed.
    is_reconnect_asked: bool,
    opened_at: RealTime,
    /// The client of the open connection.
    session: Option<Client>,
    /// Shown while there is no session.
    waiting_for: Arc<str>,
    /// Whether the game shown last was won.
    was_won: bool,
    /// The agent whose queued commands the user wants to see.
    watched: Option<AgentId>,
    /// Whether a whole world came since this was asked last.
    is_world_new: bool,
    /// Ticks that the server had run when it was joined last, and by the end of the connection before.
    ticks: u64,
    ticks_before: u64,
    /// Teams and map of the game joined last.
    game: Option<(Vec<String>, MapSize)>,
    /// Whether the next world, or the one that came since this was asked last, is of another run of the server, or of
    /// another server.
    will_be_other_run: bool,
    is_other_run: bool,
    /// Why the client ended a session whose connection is not closed yet.
    ended: Option<String>,
    /// A protocol error of the server, which it would repeat: only the user reconnects.
    given_up: Option<String>,
    notices: VecDeque<String>,
}

impl Live {
    pub(super) fn new(
        host: &str,
        port: u16,
        language: Language,
        token: Option<String>,
        waker: Waker,
    ) -> io::Result<Self> {
        // IPv6 addresses are written in brackets before a port, and looked up without them.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        Ok(Self {
            connection: Some(Connection::start(host, port, waker.clone())?),
            host: host.to_owned(),
            port,
            waker,
            waiting_for: format!("waiting for a server at {address} …").into(),
            address,
            language,
            token,
            next_try_at: RealTime::ZERO,
            retry_after: RETRY_AFTER,
            is_reconnect_asked: false,
            opened_at: RealTime::ZERO,
            session: None,
            was_won: false,
            watched: None,
            is_world_new: false,
            ticks: 0,
            ticks_before: 0,
            game: None,
            will_be_other_run: false,
            is_other_run: false,
            ended: None,
            given_up: None,
            notices: VecDeque::new(),
        })
    }

    fn opened(&mut self, token: Option<String>, now: RealTime) {
        // Servers of other kinds know no token, and text viewers may change the speed without one.
        let left = token.filter(|_| self.language == Language::Frames);
        let config = ClientConfig {
            language: self.language,
            token: self.token.clone().or(left),
            program: concat!("trantor-viewer ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        self.session = Some(Client::new(config, now));
        self.opened_at = now;
    }

    fn closed(&mut self, reason: String, now: RealTime) {
        self.connection = None;
        let session = self.session.take();
        if let Some(client) = &session {
            self.ticks_before = self.ticks.saturating_add(client.stats(now).ticks);
            if now.since(self.opened_at) >= GOOD_AFTER {
                self.retry_after = RETRY_AFTER;
            }
        }
        let because = match (self.ended.take(), session) {
            (Some(ended), _) => ended,
            (None, Some(mut client)) => {
                client.closed(&reason, now);
                last_words(&mut client).unwrap_or(reason)
            }
            (None, None) => reason,
        };
        if std::mem::take(&mut self.is_reconnect_asked) {
            self.next_try_at = now;
            return;
        }
        self.waiting_for = match &self.given_up {
            Some(mistake) => format!("{mistake} — {} was left; F5 joins it again", self.address),
            None => format!(
                "waiting for a server at {}, retrying after {} s: {because}",
                self.address,
                self.retry_after.as_secs_f64()
            ),
        }
        .into();
        self.next_try_at = now.saturating_add(self.retry_after);
        self.retry_after = (self.retry_after + self.retry_after).min(RETRY_AFTER_MAX);
    }

    /// Sends what the socket takes. The client ends a connection for which too much stays unsent.
    fn send(&mut self) {
        if let (Some(connection), Some(client)) = (&self.connection, &mut self.session)
            && !client.unsent().is_empty()
        {
            let count = connection.write(client.unsent());
            client.sent(count);
        }
    }
}

impl Source for Live {
    fn name(&self) -> &str {
        &self.address
    }

    fn client(&self) -> Option<&Client> {
        self.session.as_ref()
    }

    fn client_mut(&mut self) -> Option<&mut Client> {
        self.session.as_mut()
    }

    fn take_network(&mut self, now: RealTime) -> bool {
        let Some(event) = self.connection.as_ref().and_then(Connection::poll) else {
            return false;
        };
        match event {
            NetEvent::Opened(token) => self.opened(token, now),
            NetEvent::Bytes(piece) => {
                if let Some(client) = self.client_mut() {
                    client.handle(&piece, now);
                }
            }
            NetEvent::Closed(reason) => self.closed(reason, now),
        }
        self.tend(now);
        true
    }

    fn pieces_waiting(&self) -> usize {
        self.connection.as_ref().map_or(0, Connection::pieces_waiting)
    }

    fn next_timeout(&self) -> Option<RealTime> {
        match &self.connection {
            Some(_) => self.client()?.next_timeout(),
            None => self.given_up.is_none().then_some(self.next_try_at),
        }
    }

    fn reconnect(&mut self) -> Result<(), String> {
        self.given_up = None;
        self.retry_after = RETRY_AFTER;
        self.next_try_at = RealTime::ZERO;
        self.waiting_for = format!("joining {} …", self.address).into();
        // Without a session the next connection is being made already.
        if let (Some(connection), Some(_)) = (&self.connection, &self.session) {
            self.is_reconnect_asked = true;
            connection.shut();
        }
        Ok(())
    }

    fn leave(&mut self) {
        if let Some(client) = &mut self.session {
            client.leave();
            self.send();
        }
    }

    fn poll_notice(&mut self) -> Option<String> {
        self.notices.pop_front()
    }

    fn watch(&mut self, agent: Option<AgentId>) {
        // A server that is joined later is asked then.
        self.watched = agent;
        if let Some(client) = self.client_mut()
            && let Err(error) = client.watch(agent)
        {
            log::debug!("the server is not asked for the commands of an agent: {error}");
        }
    }

    fn take_new_world(&mut self) -> bool {
        std::mem::take(&mut self.is_world_new)
    }

    fn take_other_run(&mut self) -> bool {
        std::mem::take(&mut self.is_other_run)
    }

    fn tend(&mut self, now: RealTime) {
        if self.connection.is_none() && self.given_up.is_none() && now >= self.next_try_at {
            match Connection::start(&self.host, self.port, self.waker.clone()) {
                Ok(connection) => self.connection = Some(connection),
                Err(error) => self.closed(error.to_string(), now),
            }
        }
        let Some(client) = &mut self.session else {
            return;
        };
        if client.next_timeout().is_some_and(|due| due <= now) {
            client.handle_timeout(now);
        }
        while let Some(event) = client.poll_event() {
            let notice = match event {
                ClientEvent::Refused { reason } => format!("The server says: {reason}"),
                ClientEvent::Welcome {
                    teams,
                    size,
                    may_control,
                    ticks,
                    ..
                } => {
                    let before = self.game.replace((teams, size));
                    let is_other_game = before.is_some() && before != self.game;
                    self.will_be_other_run |= is_other_game || ticks < self.ticks_before;
                    self.ticks = ticks;
                    if may_control {
                        continue;
                    }
                    "This server does not let viewers control its time".to_owned()
                }
                ClientEvent::Message { text } => text,
                ClientEvent::Ended { reason, error } => {
                    // Between two matches.
                    let is_expected = self.was_won && error.is_none();
                    match error.is_some_and(|error| !error.may_pass()) {
                        true => self.given_up = Some(reason.clone()),
                        false => self.ended = Some(reason.clone()),
                    }
                    if let Some(connection) = &self.connection {
                        connection.shut();
                    }
                    if is_expected {
                        continue;
                    }
                    reason
                }
                ClientEvent::Live => {
                    // Also after a jump in a recording, and in a game that was joined again.
                    self.is_world_new = true;
                    self.is_other_run |= std::mem::take(&mut self.will_be_other_run);
                    if let Err(error) = client.watch(self.watched) {
                        log::debug!("the server is not asked for the commands of an agent: {error}");
                    }
                    continue;
                }
            };
            if self.notices.len() == NOTICES_MAX {
                self.notices.pop_front();
            }
            self.notices.push_back(notice);
        }
        self.send();
    }

    fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let Some(client) = &mut self.session else {
            let reason = match self.was_won && self.given_up.is_none() {
                true => {
                    let left = (self.next_try_at - now).max(RealSpan::ZERO).as_nanos();
                    let secs = (left + NANOS - 1) / NANOS;
                    format!("the match is over: asking for the next one in {secs} s").into()
                }
                false => Arc::clone(&self.waiting_for),
            };
            scene.link = LinkState::Ended { reason };
            return;
        };
        match client.link(now) {
            // The last world stays until there is a newer one.
            link @ (LinkState::Connecting
            | LinkState::Greeting
            | LinkState::Delayed { .. }
            | LinkState::Loading { .. }) => scene.link = link,
            _ => {
                client.scene(now, scene);
                self.was_won = scene.winner.is_some();
            }
        }
    }

    fn request(&mut self, request: Control, now: RealTime) -> Result<(), Refusal> {
        let Some(client) = &mut self.session else {
            return Err(match self.was_won {
                true => Refusal::MatchOver,
                false => Refusal::NotConnected,
            });
        };
        client.request(request)?;
        self.tend(now);
        Ok(())
    }
}

/// Why a connection ended, in the client's words, which know more than the socket's.
fn last_words(client: &mut Client) -> Option<String> {
    std::iter::from_fn(|| client.poll_event()).find_map(|event| match event {
        ClientEvent::Ended { reason, .. } => Some(reason),
        _ => None,
    })
}

const PIECE_BYTES: usize = 64 * 1024;
/// Pieces that may wait for the loop: together 4 MiB, the world of a large map in a few turns of the loop.
const PIECES_MAX: usize = 64;
/// How long the loop waits for the thread's end; a name look-up or a connect cannot be cut short.
const END_WITHIN: RealSpan = RealSpan::from_millis(500);
/// How long a server may take to accept.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// How long a full socket may delay the loop; what it does not take stays with the client. A person's requests fill none.
const WRITE_WITHIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
enum NetEvent {
    /// With the token that the server has left for programs of this user.
    Opened(Option<String>),
    Bytes(Vec<u8>),
    /// The connection is closed, or could not be made; the reason. Nothing follows.
    Closed(String),
}

#[derive(Debug)]
struct Connection {
    events: Receiver<NetEvent>,
    socket: Arc<Socket>,
    thread: Option<Thread<()>>,
}

/// The socket, once there is one, and whether the loop wants it closed.
#[derive(Debug, Default)]
struct Socket {
    stream: OnceLock<TcpStream>,
    is_shut: AtomicBool,
}

impl Connection {
    /// Connects; `waker` is called after each event.
    fn start(host: &str, port: u16, waker: Waker) -> io::Result<Self> {
        let (to_loop, events) = bounded(PIECES_MAX);
        let socket = Arc::<Socket>::default();
        let worker = Worker {
            to_loop,
            socket: Arc::clone(&socket),
            waker,
        };
        let host = host.to_owned();
        Ok(Self {
            events,
            socket,
            thread: Some(threads::spawn("network", move || worker.run(&host, port))?),
        })
    }

    fn poll(&self) -> Option<NetEvent> {
        self.events.try_recv().ok()
    }

    fn pieces_waiting(&self) -> usize {
        self.events.len()
    }

    /// Writes of `bytes` what the socket takes now, and answers how many that were.
    fn write(&self, bytes: &[u8]) -> usize {
        let Some(mut stream) = self.socket.stream.get() else {
            return 0;
        };
        stream.write(bytes).unwrap_or_else(|error| {
            use ErrorKind::{Interrupted, TimedOut, WouldBlock};
            if !matches!(error.kind(), Interrupted | TimedOut | WouldBlock) {
                log::info!("sending failed: {error}");
                // The thread then ends, and reports that.
                self.shut();
            }
            0
        })
    }

    /// Closes the connection; [`NetEvent::Closed`] follows.
    fn shut(&self) {
        self.socket.is_shut.store(true, Ordering::SeqCst);
        if let Some(stream) = self.socket.stream.get() {
            // A socket that is closed already need not be shut.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shut();
        // A thread that waits for room among the events ends with their receiver.
        self.events = never();
        if let Some(thread) = self.thread.take()
            && let Err(thread) = thread.join_within(END_WITHIN)
        {
            thread.abandon();
        }
    }
}

struct Worker {
    to_loop: Sender<NetEvent>,
    socket: Arc<Socket>,
    waker: Waker,
}

impl Worker {
    fn run(&self, host: &str, port: u16) {
        let closed = connect(host, port).and_then(|stream| self.serve(stream));
        let reason = match closed.map_err(|error| error.to_string()) {
            Ok(()) => "the server closed the connection".to_owned(),
            // The system's number does not help the user.
            Err(text) => text.split(" (os error ").next().unwrap_or_default().to_owned(),
        };
        self.send(NetEvent::Closed(reason));
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_WITHIN))?;
        let token = user_token(stream.local_addr()?, stream.peer_addr()?);
        let stream = self.socket.stream.get_or_init(|| stream);
        if self.socket.is_shut.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.send(NetEvent::Opened(token));
        let result = self.read_all(stream);
        // A socket that is closed already need not be shut.
        let _ = stream.shutdown(Shutdown::Both);
        result
    }

    fn read_all(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) if !self.send(NetEvent::Bytes(buffer[..count].to_vec())) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Answers whether the loop is still there.
    fn send(&self, event: NetEvent) -> bool {
        let is_sent = self.to_loop.send(event).is_ok();
        self.waker.wake();
        is_sent
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
