//! The socket's thread: connects, reads, connects again.
//!
//! Bytes cross to the loop through a bounded channel: when the loop does not keep up, the
//! thread stops reading, and so the server learns of it. A second thread writes, so that a server that does not read
//! can never hold the loop up. What bytes mean is the client's to say; nothing here looks at them.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::user_token::user_token;
use trantor_time::{Clock as _, RealSpan};

const PIECE_BYTES: usize = 64 * 1024;
/// Pieces that may wait for the loop: together 4 MiB, the world of a large map in a few turns of the loop.
const PIECES_MAX: usize = 64;
/// Requests that may wait for the socket: a person makes a few in a second.
const OUTGOING_MAX: usize = 256;
/// From a lost connection to the next try. Each try that fails doubles it.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Between two tries at most: a server that comes back is seen soon, and one that does not is hardly asked.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(8);
/// How long the end of the program waits for the thread.
const END_WITHIN: RealSpan = RealSpan::from_millis(500);
/// A connection that lasted as long was a good one; the next one is not waited for longer.
const GOOD_AFTER: RealSpan = RealSpan::from_secs(10);
/// How long a server may take to answer a try at all.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// How long a full socket may stay full before the connection is given up.
const WRITE_WITHIN: Duration = Duration::from_secs(10);

/// What the thread sends to the loop.
#[derive(Debug)]
pub enum NetEvent {
    Opened {
        out: Sender<Vec<u8>>,
        /// The token that the server has left for programs of this user.
        token: Option<String>,
    },
    Bytes(Vec<u8>),
    /// The connection is over, or could not be made.
    Closed {
        reason: String,
        /// How long the next try waits, unless there is none before the user asks.
        again_in: Duration,
    },
}

#[derive(Debug)]
pub struct Net {
    events: Receiver<NetEvent>,
    /// Send `()` to connect now; drop to stop the thread.
    again: Option<Sender<()>>,
    open: OpenSocket,
    thread: Option<Thread<()>>,
}

/// The socket in use, to end the thread's wait in it.
type OpenSocket = Arc<Mutex<Open>>;

#[derive(Debug, Default)]
struct Open {
    socket: Option<TcpStream>,
    /// No other socket may be opened: its wait could not be ended.
    ending: bool,
    /// The next try waits for a word, however long: the server would only make the same mistake again.
    held: bool,
}

impl Net {
    /// Starts the thread. `wake` is called after each event, from the thread.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn start(host: &str, port: u16, wake: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (to_loop, events) = bounded(PIECES_MAX);
        let (again, asked) = bounded(1);
        let open = OpenSocket::default();
        let mut reader = Reader {
            host: host.to_owned(),
            port,
            to_loop,
            asked,
            open: Arc::clone(&open),
            wake: Box::new(wake),
        };
        let thread = threads::spawn("network", move || reader.run())?;
        Ok(Self {
            events,
            again: Some(again),
            open,
            thread: Some(thread),
        })
    }

    pub fn poll(&self) -> Option<NetEvent> {
        self.events.try_recv().ok()
    }

    pub fn waiting(&self) -> usize {
        self.events.len()
    }

    /// Ends the connection; the next is made in time.
    pub fn drop_connection(&self) {
        shut(&mut lock(&self.open));
    }

    /// Ends the connection; there is no other before [`Self::connect_again`].
    pub fn hang_up(&self) {
        let mut open = lock(&self.open);
        open.held = true;
        shut(&mut open);
    }

    /// Ends the connection, if there is one, and makes the next without waiting.
    pub fn connect_again(&self) {
        let mut open = lock(&self.open);
        open.held = false;
        shut(&mut open);
        if let Some(again) = &self.again {
            // A word that waits already is as good as two.
            let _ = again.try_send(());
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.again = None;
        {
            let mut open = lock(&self.open);
            open.ending = true;
            shut(&mut open);
        }
        // The thread may wait for room among the events; with the receiver drained it goes on and sees the stop.
        let clock = RealClock::new();
        let end = clock.now() + END_WITHIN;
        let Some(thread) = self.thread.take() else { return };
        while !thread.has_ended() {
            if clock.now() >= end {
                // It looks a name up, or waits for an address that does not answer; that cannot be ended.
                return thread.abandon();
            }
            // Whether something came or not, the thread is looked at again.
            let _ = self.events.recv_timeout(Duration::from_millis(20));
        }
    }
}

struct Reader {
    host: String,
    port: u16,
    to_loop: Sender<NetEvent>,
    asked: Receiver<()>,
    open: OpenSocket,
    wake: Box<dyn Fn() + Send>,
}

/// What the system says, without its number, which does not help the user.
fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

impl Reader {
    fn run(&mut self) {
        let clock = RealClock::new();
        let mut again_in = RETRY_AFTER;
        loop {
            let since = clock.now();
            let reason = match self.connect() {
                Ok(socket) => {
                    let reason = self.serve(socket);
                    if clock.now() - since >= GOOD_AFTER {
                        again_in = RETRY_AFTER;
                    }
                    reason
                }
                Err(error) => in_words(&error),
            };
            lock(&self.open).socket = None;
            if self.send(NetEvent::Closed { reason, again_in }).is_err() {
                return;
            }
            match self.wait_for_next_try(again_in) {
                Some(true) => again_in = RETRY_AFTER,
                Some(false) => again_in = (again_in * 2).min(RETRY_AFTER_MAX),
                None => return,
            }
        }
    }

    /// Whether the user asked for the next try; `None` if there is none.
    fn wait_for_next_try(&self, again_in: Duration) -> Option<bool> {
        loop {
            match self.asked.recv_timeout(again_in) {
                Ok(()) => return Some(true),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if lock(&self.open).held => {}
                Err(RecvTimeoutError::Timeout) => return Some(false),
            }
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn serve(&self, socket: TcpStream) -> String {
        match self.serve_until_error(socket) {
            Ok(()) => "the server closed the connection".to_owned(),
            Err(error) => in_words(&error),
        }
    }

    fn serve_until_error(&self, mut socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_WITHIN))?;
        {
            let mut open = lock(&self.open);
            if open.ending {
                return Ok(());
            }
            open.socket = Some(socket.try_clone()?);
        }
        let token = user_token(socket.local_addr()?, socket.peer_addr()?);
        let (out, outgoing) = bounded(OUTGOING_MAX);
        let (open, ended) = bounded::<()>(0);
        let for_writing = socket.try_clone()?;
        let writer = threads::spawn("network-out", move || write_all(&for_writing, &outgoing, &ended))?;
        let result = if self.send(NetEvent::Opened { out, token }).is_ok() {
            self.read_all(&mut socket)
        } else {
            Ok(())
        };
        // What is shut already cannot be shut again, and need not be.
        let _ = socket.shutdown(Shutdown::Both);
        drop(open);
        writer.join().map_err(io::Error::other)?;
        result
    }

    fn read_all(&self, socket: &mut TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let count = match socket.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if self.send(NetEvent::Bytes(buffer[..count].to_vec())).is_err() {
                return Ok(());
            }
        }
    }

    /// Fails once the loop is gone.
    fn send(&self, event: NetEvent) -> Result<(), ()> {
        self.to_loop.send(event).map_err(drop)?;
        (self.wake)();
        Ok(())
    }
}

/// Writes what is put in line, until the line or the connection ends.
fn write_all(mut socket: &TcpStream, outgoing: &Receiver<Vec<u8>>, ended: &Receiver<()>) {
    loop {
        crossbeam_channel::select! {
            recv(outgoing) -> bytes => {
                let Ok(bytes) = bytes else { return };
                if let Err(error) = socket.write_all(&bytes) {
                    log::info!("sending failed: {error}");
                    // The reading side hears of it this way, and tells the loop.
                    let _ = socket.shutdown(Shutdown::Both);
                    return;
                }
            }
            recv(ended) -> _ => return,
        }
    }
}

/// Ends the wait in a socket, if one is open.
fn shut(open: &mut Open) {
    if let Some(socket) = open.socket.take() {
        // A socket that is gone already needs no shutting.
        let _ = socket.shutdown(Shutdown::Both);
    }
}

fn lock(open: &OpenSocket) -> std::sync::MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
