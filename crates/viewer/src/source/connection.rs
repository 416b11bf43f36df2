//! One connection to a server, on threads of its own: connects, reads and writes.
//!
//! Bytes reach the loop through a bounded channel: while the loop does not keep up, the thread does not read, and so
//! throttles the server. A second thread writes, so that a server that does not read cannot block the loop. What bytes mean
//! is left to the client, and when to connect again to [`mod@super::live`].

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, never};
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::user_token::user_token;
use trantor_runtime::wait::Waker;
use trantor_time::RealSpan;

const PIECE_BYTES: usize = 64 * 1024;
/// Pieces that may wait for the loop: together 4 MiB, the world of a large map in a few turns of the loop.
const PIECES_MAX: usize = 64;
/// Requests that may wait for the socket: a person makes a few in a second.
const OUTGOING_MAX: usize = 256;
/// How long the loop waits for the thread's end; a name look-up or a connect cannot be cut short.
const END_WITHIN: RealSpan = RealSpan::from_millis(500);
/// How long a server may take to accept.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// How long a full socket may stay full before the connection is closed.
const WRITE_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) enum NetEvent {
    Opened {
        out: Sender<Vec<u8>>,
        /// The token that the server has left for programs of this user.
        token: Option<String>,
    },
    Bytes(Vec<u8>),
    /// The connection is closed, or could not be made; the reason. Nothing follows.
    Closed(String),
}

#[derive(Debug)]
pub(super) struct Connection {
    events: Receiver<NetEvent>,
    socket: Arc<Mutex<Socket>>,
    thread: Option<Thread<()>>,
}

#[derive(Debug, Default)]
enum Socket {
    #[default]
    Connecting,
    Open(TcpStream),
    Shut,
}

impl Connection {
    /// Connects; `waker` is called after each event.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub(super) fn start(host: &str, port: u16, waker: Waker) -> io::Result<Self> {
        let (to_loop, events) = bounded(PIECES_MAX);
        let socket = Arc::default();
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

    /// Closes the connection; [`NetEvent::Closed`] follows.
    pub(super) fn shut(&self) {
        if let Socket::Open(socket) = std::mem::replace(&mut *lock(&self.socket), Socket::Shut) {
            // A socket that is closed already need not be shut.
            let _ = socket.shutdown(Shutdown::Both);
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

fn lock(socket: &Mutex<Socket>) -> std::sync::MutexGuard<'_, Socket> {
    socket.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Worker {
    to_loop: Sender<NetEvent>,
    socket: Arc<Mutex<Socket>>,
    waker: Waker,
}

impl Worker {
    fn run(&self, host: &str, port: u16) {
        let closed = connect(host, port).and_then(|socket| self.serve(socket));
        let reason = match closed.map_err(|error| error.to_string()) {
            Ok(()) => "the server closed the connection".to_owned(),
            // The system's number does not help the user.
            Err(text) => text.split(" (os error ").next().unwrap_or_default().to_owned(),
        };
        self.send(NetEvent::Closed(reason));
    }

    fn serve(&self, mut socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_WITHIN))?;
        {
            let mut shared = lock(&self.socket);
            if matches!(*shared, Socket::Shut) {
                return Ok(());
            }
            *shared = Socket::Open(socket.try_clone()?);
        }
        let token = user_token(socket.local_addr()?, socket.peer_addr()?);
        let (out, outgoing) = bounded(OUTGOING_MAX);
        let (open, ended) = bounded::<()>(0);
        let for_writing = socket.try_clone()?;
        let writer = threads::spawn("network-out", move || write_all(&for_writing, &outgoing, &ended))?;
        self.send(NetEvent::Opened { out, token });
        let result = self.read_all(&mut socket);
        // A socket that is closed already need not be shut.
        let _ = socket.shutdown(Shutdown::Both);
        drop(open);
        writer.join().map_err(io::Error::other)?;
        result
    }

    fn read_all(&self, socket: &mut TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            match socket.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) if !self.send(NetEvent::Bytes(buffer[..count].to_vec())) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
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
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Writes outgoing bytes until their channel or the connection ends.
fn write_all(mut socket: &TcpStream, outgoing: &Receiver<Vec<u8>>, ended: &Receiver<()>) {
    loop {
        crossbeam_channel::select! {
            recv(outgoing) -> bytes => {
                let Ok(bytes) = bytes else { return };
                if let Err(error) = socket.write_all(&bytes) {
                    log::info!("sending failed: {error}");
                    // The reading side then ends, and the loop learns of it.
                    let _ = socket.shutdown(Shutdown::Both);
                    return;
                }
            }
            recv(ended) -> _ => return,
        }
    }
}
