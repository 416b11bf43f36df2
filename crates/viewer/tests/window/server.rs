//! A server in this process, and a second connection that asks it what came of a click.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use trantor_server::background::Background;
use trantor_server::options::Options;

use trantor_runtime::real_clock::RealClock;
use trantor_time::Clock as _;

use crate::{LINES_MAX, PATIENCE};

/// A server on a thread of this process.
pub(crate) fn start_server() -> Background {
    let options = Options::default();
    let listen = SocketAddr::new(options.bind, 0);
    Background::start(listen, options.engine_config(7)).unwrap()
}

/// A text viewer that asks for the speed.
pub(crate) struct Asker {
    socket: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Asker {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE.to_std())).unwrap();
        let lines = BufReader::new(socket.try_clone().unwrap());
        let mut asker = Self { socket, lines };
        asker.send("GRAPHIC");
        // The burst tells the speed once.
        asker.next_frequency();
        asker
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.socket.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn frequency(&mut self) -> u32 {
        self.send("sgt");
        self.next_frequency()
    }

    /// Reads changes as they are told until one fits.
    pub(crate) fn wait_for_frequency(&mut self, fits: impl Fn(u32) -> bool) -> u32 {
        for _ in 0..LINES_MAX {
            let frequency = self.next_frequency();
            if fits(frequency) {
                // A drag passes many values; the last is the one the server keeps.
                return self.settled(frequency);
            }
        }
        panic!("no such frequency came");
    }

    pub(crate) fn settled(&mut self, mut frequency: u32) -> u32 {
        self.socket
            .set_read_timeout(Some(Duration::from_millis(700)))
            .unwrap();
        while let Some(next) = self.try_next_frequency() {
            frequency = next;
        }
        self.socket.set_read_timeout(Some(PATIENCE.to_std())).unwrap();
        frequency
    }

    pub(crate) fn next_frequency(&mut self) -> u32 {
        self.try_next_frequency()
            .expect("the server tells a frequency in time")
    }

    pub(crate) fn try_next_frequency(&mut self) -> Option<u32> {
        let since = RealClock::new().now();
        // Other news keep coming; what is waited for must come in time all the same.
        while RealClock::new().now() - since < PATIENCE {
            let mut line = String::new();
            self.lines.read_line(&mut line).ok()?;
            if let Some(frequency) = line.strip_prefix("sgt ") {
                return frequency.trim().parse().ok();
            }
        }
        None
    }
}
