//! One connection to a server: a thread of its own connects and reads, the loop writes.
//!
//! Bytes reach the loop through a bounded channel: while the loop does not keep up, the thread does not read, and so
//! throttles the server. What bytes mean is left to the client, and when to connect again to [`mod@super::live`].

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, never};
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::user_token::user_token;
use trantor_runtime::wait::Waker;
use trantor_time::RealSpan;

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
pub(super) enum NetEvent {
    /// With the token that the server has left for programs of this user.
    Opened(Option<String>),
    Bytes(Vec<u8>),
    /// The connection is closed, or could not be made; the reason. Nothing follows.
    Closed(String),
}

#[derive(Debug)]
pub(super) struct Connection {
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
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub(super) fn start(host: &str, port: u16, waker: Waker) -> io::Result<Self> {
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

    pub(super) fn poll(&self) -> Option<NetEvent> {
        self.events.try_recv().ok()
    }

    pub(super) fn pieces_waiting(&self) -> usize {
        self.events.len()
    }

    /// Writes of `bytes` what the socket takes now, and answers how many that were.
    pub(super) fn write(&self, bytes: &[u8]) -> usize {
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
    pub(super) fn shut(&self) {
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
