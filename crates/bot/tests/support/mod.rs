//! A server of ours on a thread of the test.

use std::net::SocketAddr;

use trantor_runtime::life::LoopThread;

use trantor_server::event_loop::{Ended, EventLoop};
use trantor_server::options::Options;

/// A server, ended in order when it is dropped.
pub struct Server {
    pub address: SocketAddr,
    _thread: LoopThread<Ended>,
}

impl Server {
    /// A server on a port of its choice, with a fixed seed.
    pub fn start(options: &Options) -> Self {
        let (told, made) = std::sync::mpsc::sync_channel(1);
        let (listen, config) = (SocketAddr::new(options.bind, 0), options.engine_config(7));
        let make = move || {
            let event_loop = EventLoop::new(listen, config)?;
            told.send(event_loop.address()).expect("the test waits for it");
            let signal = event_loop.stop_signal();
            Ok::<_, std::io::Error>((event_loop, signal))
        };
        let thread = LoopThread::start("server", make, |event_loop| event_loop.run())
            .expect("a thread, and a port on loopback");
        Self {
            address: made.recv().expect("the loop tells its address first"),
            _thread: thread,
        }
    }
}
