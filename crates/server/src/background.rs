//! A server on a thread of its own, for programs that do other things too: environments, tests and measurements.
//!
//! `trantor-server` runs the [`crate::event_loop`] on its main thread instead.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::sync_channel;

use trantor_engine::{Engine, EngineConfig};
use trantor_runtime::StopSignal;
use trantor_runtime::threads::{self, Panicked, Thread};

use crate::event_loop::{Ended, EventLoop};
use crate::shell::tasks::TaskSender;

/// A server that runs in the background. Dropping it ends it in order.
pub struct Background {
    address: SocketAddr,
    tasks: TaskSender,
    stop: StopSignal,
    /// What the thread returns is `None` only if its loop could not be made.
    thread: Option<Thread<Option<Ended>>>,
}

impl Background {
    /// Starts a server that listens on `address`; port 0 lets the system choose one. It listens when this returns.
    pub fn start(address: SocketAddr, config: EngineConfig) -> io::Result<Self> {
        Self::with_loop(move || {
            EventLoop::new(TcpListener::bind(address)?, |now| Ok(Engine::new(config, now)))
        })
    }

    /// Starts the loop that `make` makes, on the thread where it was made.
    pub fn with_loop(make: impl FnOnce() -> io::Result<EventLoop> + Send + 'static) -> io::Result<Self> {
        let (made, is_made) = sync_channel(1);
        let run = move || {
            let (event_loop, handles) = match make() {
                Ok(event_loop) => {
                    let handles = (event_loop.address(), event_loop.tasks(), event_loop.stop_signal());
                    (Some(event_loop), Ok(handles))
                }
                Err(error) => (None, Err(error)),
            };
            // The starter waits for this; if it is gone, nothing could ever stop the loop.
            made.send(handles).ok().and(event_loop).map(EventLoop::run)
        };
        let thread = threads::spawn("server", run)
            .map_err(|error| io::Error::new(error.kind(), format!("no thread for the loop: {error}")))?;
        let Ok(handles) = is_made.recv() else {
            let panicked = thread.join().err();
            return Err(io::Error::other(
                panicked.expect("otherwise it has sent whether its loop was made"),
            ));
        };
        let (address, tasks, stop) = handles?;
        Ok(Self {
            address,
            tasks,
            stop,
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn tasks(&self) -> &TaskSender {
        &self.tasks
    }

    /// Ends the loop in order, and returns how it ended.
    pub fn stop(mut self) -> Result<Ended, Panicked> {
        self.stop.request();
        let thread = self.thread.take().expect("only a stop takes the thread");
        Ok(thread.join()?.expect("a loop that was made returns how it ended"))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // The thread joins when it is dropped.
        self.stop.request();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_cannot_be_made_is_an_error_of_its_start() {
        let error =
            |make: fn() -> io::Result<EventLoop>| Background::with_loop(make).err().map(|it| it.to_string());
        let refused = error(|| Err(io::Error::other("port in use")));
        assert_eq!(refused.as_deref(), Some("port in use"));
        let panicked = error(|| panic!("oh"));
        assert_eq!(panicked.as_deref(), Some("thread \"server\" panicked: oh"));
    }
}
