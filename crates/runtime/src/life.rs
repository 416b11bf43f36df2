//! The life of a loop: its start on a thread of its own, and how it is asked to end.
//!
//! What an orderly stop still has to finish is the loop's to know.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use crate::threads::{self, Panicked, Thread};
use crate::wait::Waker;

/// Asks one loop to end, from any thread and from inside the loop itself.
#[derive(Clone, Debug)]
pub struct StopSignal {
    is_requested: Arc<AtomicBool>,
    waker: Waker,
}

impl StopSignal {
    /// A signal for the loop that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self {
            is_requested: Arc::default(),
            waker,
        }
    }

    /// Asks for a stop. Asking again changes nothing.
    pub fn request(&self) {
        self.is_requested.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether a stop was asked for; the loop looks once a pass.
    pub fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Acquire)
    }
}

/// A loop on a thread of its own. `T` is what the loop returns. Dropping it stops the loop in good order.
#[derive(Debug)]
pub struct LoopThread<T> {
    signal: StopSignal,
    /// What the thread returns is `None` only if it never was a loop's.
    thread: Option<Thread<Option<T>>>,
}

/// Why a loop did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The operating system refused a thread.
    #[error("no thread for the loop: {0}")]
    NoThread(#[from] std::io::Error),
    /// The loop could not be made; this is what it said.
    #[error("{0}")]
    NotMade(String),
}

impl<T: Send + 'static> LoopThread<T> {
    /// Starts a thread called `name`, on which `make` makes the loop and `run` runs it.
    ///
    /// The loop is made where it will live, so it may hold what cannot change threads. Start is complete when this
    /// returns: the loop exists, and its signal works.
    ///
    /// # Errors
    /// If there is no thread, or `make` fails.
    pub fn start<L, E: Display>(
        name: &str,
        make: impl FnOnce() -> Result<(L, StopSignal), E> + Send + 'static,
        run: impl FnOnce(L) -> T + Send + 'static,
    ) -> Result<Self, StartError> {
        let (made, is_made) = sync_channel(1);
        let thread = threads::spawn(name, move || {
            let (made_loop, outcome) = match make() {
                Ok((made_loop, signal)) => (Some(made_loop), Ok(signal)),
                Err(error) => (None, Err(error.to_string())),
            };
            // The starter waits for this; if it is gone, nothing could ever stop the loop.
            made.send(outcome).ok().and(made_loop).map(run)
        })?;
        match is_made.recv() {
            Ok(Ok(signal)) => Ok(Self {
                signal,
                thread: Some(thread),
            }),
            Ok(Err(message)) => Err(StartError::NotMade(message)),
            Err(_) => match thread.join() {
                Err(panicked) => Err(StartError::NotMade(panicked.to_string())),
                Ok(_) => unreachable!("a thread that ends in order has sent whether its loop was made"),
            },
        }
    }

    /// Asks for a stop, waits for the loop's end, and answers its result.
    ///
    /// # Errors
    /// If the loop's thread panicked.
    pub fn stop(mut self) -> Result<T, Panicked> {
        self.signal.request();
        let thread = self.thread.take().expect("only a stop takes the thread");
        let ran = thread.join()?;
        Ok(ran.expect("start hands out no loop that was not made"))
    }
}

impl<T> Drop for LoopThread<T> {
    fn drop(&mut self) {
        // The thread joins when it is dropped.
        self.signal.request();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Parker;

    /// The smallest loop there is: it waits until it is asked to end.
    fn sleeper(name: &str) -> Result<LoopThread<u32>, StartError> {
        LoopThread::start(
            name,
            || {
                let parker = Parker::new();
                let signal = StopSignal::new(parker.waker());
                Ok::<_, String>(((parker, signal.clone()), signal))
            },
            |(mut parker, signal)| {
                while !signal.is_requested() {
                    parker.wait(None);
                }
                7
            },
        )
    }

    #[test]
    fn a_loop_ends_at_a_stop_or_when_it_is_dropped() {
        assert_eq!(sleeper("stopped").unwrap().stop(), Ok(7));
        drop(sleeper("dropped").unwrap());
    }

    #[test]
    fn a_loop_that_cannot_be_made_is_an_error_of_its_start() {
        let made = LoopThread::<()>::start("unmade", || Err::<((), StopSignal), _>("port in use"), |()| ());
        assert_eq!(made.unwrap_err().to_string(), "port in use");
        let made = LoopThread::<()>::start(
            "broken",
            || -> Result<((), StopSignal), String> { panic!("oh") },
            |()| (),
        );
        assert_eq!(made.unwrap_err().to_string(), "thread \"broken\" panicked: oh");
    }
}
