//! Abusive clients: their own process, so that it can have a lower scheduling class than the measured ones.
//!
//! One thread and one poll drive all of them. Each repeats one kind of abuse at full speed and reconnects after a
//! disconnect. At the end a line for each kind is printed.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::net::sockopt;
use trantor_runtime::RealClock;
use trantor_server::descriptors;
use trantor_time::{Clock, RealSpan, RealTime};

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Address of the server
    #[arg(long)]
    address: SocketAddr,
    /// Duration
    #[arg(long, default_value_t = 10)]
    seconds: i64,
    /// Number of abusers
    #[arg(long, default_value_t = 100)]
    count: usize,
}

/// Bytes written or read at once.
const BLOCK_BYTES: usize = 16 * 1_024;

/// Blocks that a client writes in a turn.
const BLOCKS_PER_TURN: usize = 4;

/// Delay before a client reconnects.
const PAUSE: RealSpan = RealSpan::from_millis(20);

/// Readiness taken from the system in one wait; more is reported by the next.
const EVENTS_CAPACITY: usize = 1_024;

/// One kind of abuse.
pub(super) struct Kind {
    /// Name in the table.
    pub(super) name: &'static str,
    /// Metrics of the server without `trantor_`, each of which must count it.
    pub(super) counted_as: &'static [&'static str],
    /// First lines, used in turn by the clients of a kind.
    greetings: &'static [&'static [u8]],
    then: Then,
}

/// Behaviour after the first line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Repeats this, and reads the answers.
    Repeat(&'static [u8]),
    /// Repeats this, and never reads.
    RepeatDeaf(&'static [u8]),
    /// Sends random bytes, with line feeds except after `TRANTOR`.
    Garbage,
    Nothing,
    LeaveAtOnce,
    /// Resets the connection when the first answer comes.
    LeaveWhenAnswered,
}

/// Abusers join the team `grey`.
pub(super) const KINDS: [Kind; 9] = [
    Kind {
        name: "floods of commands",
        counted_as: &["sessions_throttled_peers_total", "commands_dropped_total"],
        greetings: &[b"grey\n"],
        then: Then::Repeat(b"Forward\nLook\nInventory\n"),
    },
    Kind {
        name: "floods of requests",
        counted_as: &["sessions_throttled_peers_total"],
        greetings: &[b"GRAPHIC\n"],
        then: Then::Repeat(b"bct 1 1\nppo 1\nsgt\npin 999\n"),
    },
    Kind {
        name: "garbage",
        counted_as: &[
            "sessions_closed_total{reason=\"greeting_failures\"}",
            "sessions_closed_total{reason=\"protocol_error\"}",
            "commands_malformed_total",
        ],
        greetings: &[b"grey\n", b"TRANTOR\n", b"nobody\n"],
        then: Then::Garbage,
    },
    Kind {
        name: "endless lines",
        counted_as: &["sessions_closed_total{reason=\"violations\"}"],
        greetings: &[b"grey\n", b"x"],
        then: Then::Repeat(b"x"),
    },
    Kind {
        name: "players that never read",
        counted_as: &["sessions_throttled_peers_total"],
        greetings: &[b"grey\n"],
        then: Then::RepeatDeaf(b"Inventory\nLook\nConnect_nbr\n"),
    },
    Kind {
        name: "viewers that ask for the map and never read",
        counted_as: &[
            "sessions_blocked_peers_total",
            "sessions_closed_total{reason=\"stalled\"}",
        ],
        greetings: &[b"GRAPHIC\n"],
        then: Then::RepeatDeaf(b"mct\n"),
    },
    Kind {
        name: "half-open",
        counted_as: &["sessions_closed_total{reason=\"greeting_timeout\"}"],
        greetings: &[b""],
        then: Then::Nothing,
    },
    Kind {
        name: "connect storms",
        counted_as: &[
            "listener_rate_limited_total",
            "sessions_closed_total{reason=\"by_peer\"}",
        ],
        greetings: &[b""],
        then: Then::LeaveAtOnce,
    },
    Kind {
        name: "resets with ten commands in flight",
        counted_as: &["sessions_closed_total{reason=\"by_peer\"}"],
        greetings: &[b"grey\nRight\nRight\nRight\nRight\nRight\nRight\nRight\nRight\nRight\nRight\n"],
        then: Then::LeaveWhenAnswered,
    },
];

struct Client {
    token: Token,
    then: Then,
    greeting: &'static [u8],
    /// Payload after the first line.
    block: Vec<u8>,
    socket: Option<TcpStream>,
    /// Whether the socket is writable.
    is_writable: bool,
    has_greeted: bool,
    connects_at: RealTime,
    connections: u64,
    disconnected: u64,
    bytes_sent: u64,
}

/// Runs the abuse and prints kind, clients, connections, disconnects by the server, and megabytes sent.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let clock = RealClock::new();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut clients: Vec<Client> = (0..options.count)
        .map(|place| Client::new(place, clock.now(), &mut random))
        .collect();
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(EVENTS_CAPACITY);
    let until = clock.now() + RealSpan::from_secs(options.seconds);
    while clock.now() < until {
        let now = clock.now();
        let mut is_busy = false;
        for client in &mut clients {
            if client.socket.is_none() && client.connects_at <= now {
                client.connect(options.address, poll.registry(), now)?;
            }
            is_busy |= client.write(poll.registry(), now)?;
        }
        let patience = Duration::from_millis(if is_busy { 0 } else { 5 });
        match poll.poll(&mut events, Some(patience)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            let client = &mut clients[event.token().0];
            client.is_writable |= event.is_writable();
            if event.is_readable() || event.is_error() {
                client.read(poll.registry(), now)?;
            }
        }
    }
    for (place, kind) in KINDS.iter().enumerate() {
        let of_kind = || clients.iter().skip(place).step_by(KINDS.len());
        let sum = |count: fn(&Client) -> u64| of_kind().map(count).sum::<u64>();
        println!(
            "{}\t{}\t{}\t{}\t{:.1}",
            kind.name,
            of_kind().count(),
            sum(|client| client.connections),
            sum(|client| client.disconnected),
            sum(|client| client.bytes_sent) as f64 / 1e6
        );
    }
    Ok(())
}

impl Client {
    fn new(place: usize, now: RealTime, random: &mut Pcg64Mcg) -> Self {
        let kind = &KINDS[place % KINDS.len()];
        let greeting = kind.greetings[place / KINDS.len() % kind.greetings.len()];
        let block = match kind.then {
            Then::Repeat(text) | Then::RepeatDeaf(text) => text.repeat(BLOCK_BYTES / text.len()),
            Then::Garbage => {
                let mut block = vec![0; BLOCK_BYTES];
                random.fill_bytes(&mut block);
                if greeting != b"TRANTOR\n" {
                    block.iter_mut().step_by(61).for_each(|byte| *byte = b'\n');
                }
                block
            }
            Then::Nothing | Then::LeaveAtOnce | Then::LeaveWhenAnswered => Vec::new(),
        };
        Self {
            token: Token(place),
            then: kind.then,
            greeting,
            block,
            socket: None,
            is_writable: false,
            has_greeted: false,
            connects_at: now,
            connections: 0,
            disconnected: 0,
            bytes_sent: 0,
        }
    }

    fn connect(&mut self, address: SocketAddr, registry: &Registry, now: RealTime) -> Result<()> {
        let Ok(mut socket) = TcpStream::connect(address) else {
            // This machine has no free port or descriptor; not the server's fault.
            self.connects_at = now + PAUSE;
            return Ok(());
        };
        // Close by a reset, so that no TIME_WAIT sockets pile up here.
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        registry.register(&mut socket, self.token, Interest::READABLE | Interest::WRITABLE)?;
        self.socket = Some(socket);
        (self.is_writable, self.has_greeted) = (false, false);
        self.connections += 1;
        Ok(())
    }

    /// Writes for a turn; returns whether the socket is still writable.
    fn write(&mut self, registry: &Registry, now: RealTime) -> Result<bool> {
        if self.is_writable && self.then == Then::LeaveAtOnce {
            self.leave(registry, now)?;
            return Ok(true);
        }
        for _ in 0..BLOCKS_PER_TURN {
            let (true, Some(socket)) = (self.is_writable, &mut self.socket) else {
                return Ok(false);
            };
            let bytes = if self.has_greeted {
                &self.block
            } else {
                self.greeting
            };
            if bytes.is_empty() {
                (self.is_writable, self.has_greeted) = (false, true);
                return Ok(false);
            }
            match socket.write(bytes) {
                Ok(count) => {
                    self.has_greeted = true;
                    self.bytes_sent += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.is_writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.was_disconnected(registry, now)?,
            }
        }
        Ok(true)
    }

    fn read(&mut self, registry: &Registry, now: RealTime) -> Result<()> {
        let mut buffer = [0; BLOCK_BYTES];
        while let Some(socket) = &mut self.socket {
            if matches!(self.then, Then::RepeatDeaf(_)) && self.has_greeted {
                // Only the end of the stream matters, and a write finds it as well.
                return match socket.take_error()? {
                    Some(_) => self.was_disconnected(registry, now),
                    None => Ok(()),
                };
            }
            match socket.read(&mut buffer) {
                Ok(0) => self.was_disconnected(registry, now)?,
                Ok(_) if self.then == Then::LeaveWhenAnswered && self.has_greeted => {
                    self.leave(registry, now)?;
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.was_disconnected(registry, now)?,
            }
        }
        Ok(())
    }

    fn was_disconnected(&mut self, registry: &Registry, now: RealTime) -> Result<()> {
        self.disconnected += 1;
        self.leave(registry, now)
    }

    /// Ends the connection with a reset.
    fn leave(&mut self, registry: &Registry, now: RealTime) -> Result<()> {
        if let Some(mut socket) = self.socket.take() {
            registry.deregister(&mut socket)?;
        }
        self.is_writable = false;
        self.connects_at = match self.then {
            Then::LeaveAtOnce => now,
            _ => now + PAUSE,
        };
        Ok(())
    }
}
