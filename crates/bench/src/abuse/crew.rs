//! A crew of abusers: a program of its own, so that it may be given less of the machine than those who are measured.
//!
//! One thread and one poll drive all of them. Each does one bad thing as fast as it is let, and comes again when it was
//! let go. What they did is printed at the end, a line for each kind.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::net::sockopt;
use trantor_runtime::RealClock;
use trantor_server::descriptors;
use trantor_time::{Clock, RealSpan, RealTime};

use super::kinds::Kind;

/// What the crew is told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the server listens
    #[arg(long)]
    address: SocketAddr,
    /// How long they go on
    #[arg(long, default_value_t = 10)]
    seconds: i64,
    /// How many there are
    #[arg(long, default_value_t = 100)]
    count: usize,
}

/// Bytes written or read at once.
const BLOCK_BYTES: usize = 16 * 1_024;

/// Blocks that one abuser writes before it is another's turn.
const BLOCKS_PER_TURN: usize = 4;

/// How long an abuser that was let go waits before it comes again.
const PAUSE: RealSpan = RealSpan::from_millis(20);

/// Readiness taken from the system in one wait; more is reported by the next.
const EVENTS_CAPACITY: usize = 1_024;

/// The crew at work.
struct Crew {
    address: SocketAddr,
    poll: Poll,
    clock: RealClock,
    random: Pcg64Mcg,
    abusers: Vec<Abuser>,
    block: Vec<u8>,
}

struct Abuser {
    kind: Kind,
    /// Its place among those of its kind.
    nth: usize,
    socket: Option<TcpStream>,
    /// The system may have room for more.
    may_write: bool,
    has_greeted: bool,
    comes_at: RealTime,
    deeds: Deeds,
}

/// What was done, all from zero.
#[derive(Clone, Copy, Default)]
struct Deeds {
    connections: u64,
    let_go: u64,
    bytes_sent: u64,
}

/// Lets a crew loose, and prints what it did: kind, abusers, connections, times let go, bytes sent.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let mut crew = Crew::new(options)?;
    let until = crew.clock.now() + RealSpan::from_secs(options.seconds);
    crew.work(until)?;
    for kind in Kind::ALL {
        let of_kind = crew.abusers.iter().filter(|abuser| abuser.kind == kind);
        let (mut count, mut sum) = (0, Deeds::default());
        for abuser in of_kind {
            count += 1;
            sum.connections += abuser.deeds.connections;
            sum.let_go += abuser.deeds.let_go;
            sum.bytes_sent += abuser.deeds.bytes_sent;
        }
        println!(
            "{}\t{count}\t{}\t{}\t{}",
            kind.name(),
            sum.connections,
            sum.let_go,
            sum.bytes_sent
        );
    }
    Ok(())
}

impl Crew {
    fn new(options: &Options) -> Result<Self> {
        let clock = RealClock::new();
        let now = clock.now();
        let abuser = |place: usize| Abuser {
            kind: Kind::ALL[place % Kind::ALL.len()],
            nth: place / Kind::ALL.len(),
            socket: None,
            may_write: false,
            has_greeted: false,
            comes_at: now,
            deeds: Deeds::default(),
        };
        Ok(Self {
            address: options.address,
            poll: Poll::new()?,
            clock,
            random: Pcg64Mcg::seed_from_u64(1),
            abusers: (0..options.count).map(abuser).collect(),
            block: vec![0; BLOCK_BYTES],
        })
    }

    fn work(&mut self, until: RealTime) -> Result<()> {
        let mut events = Events::with_capacity(EVENTS_CAPACITY);
        loop {
            let now = self.clock.now();
            if now >= until {
                return Ok(());
            }
            let mut is_busy = false;
            for place in 0..self.abusers.len() {
                if self.abusers[place].socket.is_none() && self.abusers[place].comes_at <= now {
                    self.connect(place)?;
                }
                is_busy |= self.write(place)?;
            }
            let patience = if is_busy {
                Duration::ZERO
            } else {
                Duration::from_millis(5)
            };
            match self.poll.poll(&mut events, Some(patience)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                let place = event.token().0;
                self.abusers[place].may_write |= event.is_writable();
                if event.is_readable() || event.is_error() {
                    self.read(place)?;
                }
            }
        }
    }

    fn connect(&mut self, place: usize) -> Result<()> {
        let abuser = &mut self.abusers[place];
        let Ok(mut socket) = TcpStream::connect(self.address) else {
            // No port or descriptor is free: that is the end of its own means, not the server's.
            abuser.comes_at = self.clock.now() + PAUSE;
            return Ok(());
        };
        // Its ends are resets: nothing is left behind on this side, however often it comes.
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll
            .registry()
            .register(&mut socket, Token(place), interest)?;
        abuser.socket = Some(socket);
        abuser.may_write = false;
        abuser.has_greeted = false;
        abuser.deeds.connections += 1;
        Ok(())
    }

    /// Writes what its kind writes, as much as the system takes; answers whether it could go on at once.
    fn write(&mut self, place: usize) -> Result<bool> {
        let abuser = &mut self.abusers[place];
        if !abuser.may_write {
            return Ok(false);
        }
        if abuser.kind == Kind::Storm {
            self.leave(place)?;
            return Ok(true);
        }
        for _ in 0..BLOCKS_PER_TURN {
            let abuser = &mut self.abusers[place];
            let Some(socket) = &mut abuser.socket else {
                return Ok(false);
            };
            let random = &mut self.random;
            let bytes = if abuser.has_greeted {
                abuser
                    .kind
                    .fill(abuser.nth, &mut self.block, || random.next_u64())
            } else {
                abuser.kind.greeting(abuser.nth)
            };
            if bytes.is_empty() {
                abuser.may_write = false;
                abuser.has_greeted = true;
                return Ok(false);
            }
            match socket.write(bytes) {
                Ok(count) => {
                    abuser.has_greeted = true;
                    abuser.deeds.bytes_sent += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    abuser.may_write = false;
                    return Ok(false);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.was_let_go(place)?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn read(&mut self, place: usize) -> Result<()> {
        loop {
            let abuser = &mut self.abusers[place];
            let Some(socket) = &mut abuser.socket else {
                return Ok(());
            };
            if abuser.kind.is_deaf() && abuser.has_greeted {
                // Only the end of it is of interest, which writing tells as well.
                return match socket.take_error()? {
                    Some(_) => self.was_let_go(place),
                    None => Ok(()),
                };
            }
            match socket.read(&mut self.block) {
                Ok(0) => return self.was_let_go(place),
                Ok(_) if abuser.kind == Kind::Reset && abuser.has_greeted => return self.leave(place),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.was_let_go(place),
            }
        }
    }

    fn was_let_go(&mut self, place: usize) -> Result<()> {
        self.abusers[place].deeds.let_go += 1;
        self.leave(place)
    }

    /// Ends the connection with a reset; the abuser comes again.
    fn leave(&mut self, place: usize) -> Result<()> {
        let now = self.clock.now();
        let abuser = &mut self.abusers[place];
        if let Some(mut socket) = abuser.socket.take() {
            self.poll.registry().deregister(&mut socket)?;
        }
        abuser.may_write = false;
        abuser.comes_at = match abuser.kind {
            Kind::Storm => now,
            _ => now + PAUSE,
        };
        Ok(())
    }
}
