//! A server on a thread of its own, for programs that do other things too: environments, tests and measurements.
//!
//! `trantor-server` runs the [`crate::event_loop`] on its main thread instead.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::sync_channel;

use trantor_engine::{Engine, EngineConfig};
use trantor_runtime::life::{LoopThread, StartError};
use trantor_time::RealTime;

use crate::event_loop::{Ended, EventLoop};
use crate::shell::tasks::TaskSender;

/// A server that runs in the background. Dropping it ends it in order.
pub struct Background {
    address: SocketAddr,
    tasks: TaskSender,
    _thread: LoopThread<Ended>,
}

impl Background {
    /// Starts a server that listens on `address`; port 0 lets the system choose one. It listens when this returns.
    ///
    /// # Errors
    /// If there is no thread, the address cannot be listened on, or [`EventLoop::new`] fails.
    pub fn start(address: SocketAddr, config: EngineConfig) -> Result<Self, StartError> {
        Self::with_engine(
            move || TcpListener::bind(address),
            move |now| Ok(Engine::new(config, now)),
        )
    }

    /// Starts a server around the engine that `make` makes, on the socket that `listen` opens.
    ///
    /// # Errors
    /// As [`Self::start`], and if `make` fails.
    pub(crate) fn with_engine(
        listen: impl FnOnce() -> io::Result<TcpListener> + Send + 'static,
        make: impl FnOnce(RealTime) -> io::Result<Engine> + Send + 'static,
    ) -> Result<Self, StartError> {
        let (send, sent) = sync_channel(1);
        let make = move || {
            let event_loop = EventLoop::new(listen()?, make)?;
            let signal = event_loop.stop_signal();
            send.send((event_loop.address(), event_loop.tasks()))
                .expect("the starter keeps the other end until the loop is made");
            Ok::<_, io::Error>((event_loop, signal))
        };
        let thread = LoopThread::start("server", make, EventLoop::run)?;
        let (address, tasks) = sent.recv().expect("a loop that was made has sent its address");
        Ok(Self {
            address,
            tasks,
            _thread: thread,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn tasks(&self) -> &TaskSender {
        &self.tasks
    }
}
