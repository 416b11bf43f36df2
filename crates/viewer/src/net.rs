//! The socket's thread: connects, reads, connects again.
//!
//! Bytes cross to the loop through a bounded channel (R-002-30, R-002-33): when the loop does not keep up, the
//! thread stops reading, and so the server learns of it. A second thread writes, so that a server that does not read
//! can never hold the loop up. What bytes mean is the client's to say; nothing here looks at them.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use trantor_runtime::threads::{self, Thread};

/// Bytes read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Pieces that may wait for the loop: together 4 MiB, the world of a large map in a few turns of the loop.
const PIECES_MAX: usize = 64;
/// Requests that may wait for the socket: a person makes a few in a second.
const OUTGOING_MAX: usize = 256;
/// From a lost connection to the next try, and from one failed try to the next.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long a server may take to answer a try at all.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// How long a full socket may stay full before the connection is given up.
const WRITE_WITHIN: Duration = Duration::from_secs(10);

/// What the thread tells the loop.
#[derive(Debug)]
pub enum NetEvent {
    /// Connected; what is sent from now on goes to `out`.
    Opened {
        /// Bytes for the server.
        out: Outgoing,
    },
    /// Bytes from the server.
    Bytes(Piece),
    /// The connection is over, or could not be made.
    Closed {
        /// What a person should read.
        reason: String,
    },
}

/// Bytes from the server; give them back with [`Net::give_back`] and their memory is used again.
pub type Piece = Vec<u8>;

/// Where bytes for the server go.
#[derive(Debug)]
pub struct Outgoing(Sender<Vec<u8>>);

/// The loop's end of the thread.
#[derive(Debug)]
pub struct Net {
    events: Receiver<NetEvent>,
    spare: Sender<Piece>,
    /// A word in it ends the wait for the next try; its end ends the thread.
    again: Option<Sender<()>>,
    open: OpenSocket,
    thread: Option<Thread<()>>,
}

/// The socket in use, for whoever wants to end the thread's wait in it.
type OpenSocket = Arc<Mutex<Open>>;

#[derive(Debug, Default)]
struct Open {
    socket: Option<TcpStream>,
    /// No other socket may be opened: nobody would end the wait in it.
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
        let (spare, spares) = bounded(PIECES_MAX);
        let (again, told_again) = bounded(1);
        let open = OpenSocket::default();
        let mut reader = Reader {
            host: host.to_owned(),
            port,
            to_loop,
            spares,
            told_again,
            open: Arc::clone(&open),
            wake: Box::new(wake),
        };
        let thread = threads::spawn("network", move || reader.run())?;
        Ok(Self {
            events,
            spare,
            again: Some(again),
            open,
            thread: Some(thread),
        })
    }

    /// The oldest event that waits.
    pub fn poll(&self) -> Option<NetEvent> {
        self.events.try_recv().ok()
    }

    /// Whether events wait.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// How many events wait.
    pub fn waiting(&self) -> usize {
        self.events.len()
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

    /// Lets the memory of bytes be used again.
    pub fn give_back(&self, mut piece: Piece) {
        piece.clear();
        // With enough spares at hand this one is dropped.
        let _ = self.spare.try_send(piece);
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
        while self.thread.as_ref().is_some_and(|thread| !thread.has_ended()) {
            if matches!(
                self.events.recv_timeout(Duration::from_millis(20)),
                Err(RecvTimeoutError::Disconnected)
            ) {
                break;
            }
        }
        self.thread = None;
    }
}

impl Outgoing {
    /// Puts `bytes` in line.
    ///
    /// # Errors
    /// If the connection is over, or so much waits that the server must be stuck.
    pub fn send(&self, bytes: Vec<u8>) -> Result<(), &'static str> {
        match self.0.try_send(bytes) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err("the server does not read"),
            Err(TrySendError::Disconnected(_)) => Err("the connection is over"),
        }
    }

    /// Whether the line takes more.
    pub fn has_room(&self) -> bool {
        !self.0.is_full()
    }
}

struct Reader {
    host: String,
    port: u16,
    to_loop: Sender<NetEvent>,
    spares: Receiver<Piece>,
    told_again: Receiver<()>,
    open: OpenSocket,
    wake: Box<dyn Fn() + Send>,
}

impl Reader {
    fn run(&mut self) {
        loop {
            let reason = match self.connect() {
                Ok(socket) => self.serve(socket),
                Err(error) => error.to_string(),
            };
            lock(&self.open).socket = None;
            if self.tell(NetEvent::Closed { reason }).is_err() {
                return;
            }
            if !self.wait_for_next_try() {
                return;
            }
        }
    }

    /// Answers whether there is a next try.
    fn wait_for_next_try(&self) -> bool {
        loop {
            match self.told_again.recv_timeout(RETRY_AFTER) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if lock(&self.open).held => {}
                Err(RecvTimeoutError::Timeout) => return true,
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

    /// Reads until the end, and says why it came.
    fn serve(&self, socket: TcpStream) -> String {
        match self.serve_until_error(socket) {
            Ok(()) => "the server closed the connection".to_owned(),
            Err(error) => error.to_string(),
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
        let (out, outgoing) = bounded(OUTGOING_MAX);
        let (open, ended) = bounded::<()>(0);
        let for_writing = socket.try_clone()?;
        let writer = threads::spawn("network-out", move || write_all(&for_writing, &outgoing, &ended))?;
        let result = if self.tell(NetEvent::Opened { out: Outgoing(out) }).is_ok() {
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
        loop {
            let mut piece = self.spares.try_recv().unwrap_or_default();
            piece.resize(PIECE_BYTES, 0);
            let count = match socket.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            piece.truncate(count);
            if self.tell(NetEvent::Bytes(piece)).is_err() {
                return Ok(());
            }
        }
    }

    /// Fails when nobody listens any more.
    fn tell(&self, event: NetEvent) -> Result<(), ()> {
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
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn wait_for(net: &Net) -> NetEvent {
        net.events
            .recv_timeout(Duration::from_secs(20))
            .expect("the thread tells what happens")
    }

    #[test]
    fn bytes_cross_both_ways_and_a_lost_server_is_found_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let net = Net::start("127.0.0.1", port, || {}).unwrap();
        for round in 0..2u8 {
            let (mut server, _) = listener.accept().unwrap();
            let NetEvent::Opened { out } = wait_for(&net) else {
                panic!("opened first")
            };
            server.write_all(&[round; 3]).unwrap();
            let NetEvent::Bytes(piece) = wait_for(&net) else {
                panic!("bytes next")
            };
            assert_eq!(piece, [round; 3]);
            net.give_back(piece);
            out.send(b"hello".to_vec()).unwrap();
            let mut heard = [0; 5];
            server.read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"hello");
            drop(server);
            let NetEvent::Closed { .. } = wait_for(&net) else {
                panic!("closed last")
            };
        }
    }

    #[test]
    fn without_a_server_it_says_so_and_ends_when_told() {
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let net = Net::start("127.0.0.1", port, || {}).unwrap();
        let NetEvent::Closed { reason } = wait_for(&net) else {
            panic!("nobody listens")
        };
        assert!(reason.contains("refused"), "{reason}");
        drop(net);
    }

    #[test]
    fn a_connection_that_was_hung_up_waits_for_a_word() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let net = Net::start("127.0.0.1", port, || {}).unwrap();
        assert!(matches!(wait_for(&net), NetEvent::Opened { .. }));
        net.hang_up();
        assert!(matches!(wait_for(&net), NetEvent::Closed { .. }));
        // Longer than from one try to the next.
        let quiet = net.events.recv_timeout(RETRY_AFTER * 3 / 2);
        assert!(quiet.is_err(), "{quiet:?}");
        net.connect_again();
        assert!(matches!(wait_for(&net), NetEvent::Opened { .. }));
    }

    #[test]
    fn a_full_line_of_events_does_not_hold_up_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let net = Net::start("127.0.0.1", port, || {}).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        // More than the line and the system's buffers hold; nobody reads.
        let piece = vec![7; PIECE_BYTES];
        for _ in 0..PIECES_MAX * 4 {
            let _ = server.write(&piece);
        }
        drop(net);
    }
}
