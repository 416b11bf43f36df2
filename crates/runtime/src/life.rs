//! The life of a loop: start, orderly stop, forced stop, and which thread is the loop's.
//!
//! [`StopSignal`] is how anybody asks a loop to end; the loop looks at it once a pass. [`LoopThread`] runs a loop
//! on a thread of its own. What an orderly stop still has to finish is the loop's to know.

use std::fmt::Display;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::threads::{self, Panicked, Thread};
use crate::wait::Waker;

/// Asks one loop to end; safe from any thread and from inside the loop itself.
#[derive(Clone, Debug)]
pub struct StopSignal {
    request: Arc<AtomicU8>,
    waker: Waker,
}

/// How urgently a loop was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// Not at all.
    None,
    /// Accept nothing new, finish what was accepted, within the loop's limit.
    Orderly,
    /// End with the present pass.
    Forced,
}

impl StopSignal {
    /// A signal for the loop that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self {
            request: Arc::new(AtomicU8::new(StopRequest::None as u8)),
            waker,
        }
    }

    /// Asks for an orderly stop. Asking again changes nothing.
    pub fn request(&self) {
        self.ask(StopRequest::Orderly);
    }

    /// Asks for a stop that waits for nothing.
    pub fn force(&self) {
        self.ask(StopRequest::Forced);
    }

    /// What was asked for so far, the most urgent of it.
    pub fn requested(&self) -> StopRequest {
        match self.request.load(Ordering::Acquire) {
            0 => StopRequest::None,
            1 => StopRequest::Orderly,
            _ => StopRequest::Forced,
        }
    }

    fn ask(&self, request: StopRequest) {
        self.request.fetch_max(request as u8, Ordering::AcqRel);
        self.waker.wake();
    }
}

/// A loop on a thread of its own, from its start to its end.
///
/// `T` is what the loop returns. Dropping it stops the loop in good order.
#[derive(Debug)]
pub struct LoopThread<T> {
    signal: StopSignal,
    id: ThreadId,
    /// What the thread returns is `None` only if it never was a loop's.
    thread: Mutex<Option<Thread<Option<T>>>>,
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

/// Why a stop did not bring the loop's result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopError {
    /// It was called on the loop's own thread, which cannot wait for its own end. The stop is requested all the same.
    #[error("a loop cannot wait for its own end; it was asked to stop")]
    OnLoopThread,
    /// The loop was stopped, and its result taken, before.
    #[error("the loop was stopped before")]
    StoppedBefore,
    /// The loop's thread panicked.
    #[error(transparent)]
    Panicked(#[from] Panicked),
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
            // The starter waits for this; if it is gone, nobody could ever stop the loop.
            made.send(outcome).ok().and(made_loop).map(run)
        })?;
        match is_made.recv() {
            Ok(Ok(signal)) => {
                let id = thread.id();
                Ok(Self {
                    signal,
                    id,
                    thread: Mutex::new(Some(thread)),
                })
            }
            Ok(Err(message)) => {
                thread.join().ok();
                Err(StartError::NotMade(message))
            }
            Err(_) => match thread.join() {
                Err(panicked) => Err(StartError::NotMade(panicked.to_string())),
                Ok(_) => Err(StartError::NotMade(
                    "its thread ended before the loop was made".to_owned(),
                )),
            },
        }
    }

    /// Asks for an orderly stop, waits for the loop's end, and answers its result.
    ///
    /// # Errors
    /// On the loop's own thread this is refused instead of waiting for ever. A second call finds the loop stopped.
    pub fn stop(&self) -> Result<T, StopError> {
        self.signal.request();
        self.join()
    }

    /// As [`Self::stop`], but the loop finishes nothing beyond its present pass.
    ///
    /// # Errors
    /// As [`Self::stop`].
    pub fn force_stop(&self) -> Result<T, StopError> {
        self.signal.force();
        self.join()
    }

    /// Waits for the loop to end by itself.
    ///
    /// # Errors
    /// As [`Self::stop`].
    pub fn join(&self) -> Result<T, StopError> {
        if self.is_current() {
            return Err(StopError::OnLoopThread);
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ran = thread.ok_or(StopError::StoppedBefore)?.join()?;
        Ok(ran.expect("start handed out no loop that was not made and run"))
    }

    /// A handle to ask for a stop with.
    pub fn signal(&self) -> StopSignal {
        self.signal.clone()
    }

    /// Whether the calling thread is the loop's.
    pub fn is_current(&self) -> bool {
        thread::current().id() == self.id
    }
}

impl<T> Drop for LoopThread<T> {
    fn drop(&mut self) {
        // The thread joins when it is dropped; it must have been told to end.
        self.signal.request();
    }
}

/// Remembers which thread is a loop's, to refuse calls from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopHome(ThreadId);

impl LoopHome {
    /// The calling thread is the loop's.
    pub fn here() -> Self {
        Self(thread::current().id())
    }

    /// Whether the calling thread is the loop's.
    pub fn is_current(self) -> bool {
        thread::current().id() == self.0
    }

    /// In checked builds, stops a call that changes the loop's state from another thread.
    ///
    /// # Panics
    /// If debug assertions are on and the calling thread is not the loop's.
    #[track_caller]
    pub fn assert_current(self) {
        debug_assert!(
            self.is_current(),
            "only the loop's own thread may change its state: post an action instead"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::{Parker, Wait};

    /// The smallest loop there is: it waits until it is told to end.
    fn sleeper(name: &str) -> Result<LoopThread<u32>, StartError> {
        LoopThread::start(
            name,
            || {
                let parker = Parker::new();
                let signal = StopSignal::new(parker.waker());
                Ok::<_, String>(((parker, signal.clone()), signal))
            },
            |(mut parker, signal)| {
                while signal.requested() == StopRequest::None {
                    parker.wait(None);
                }
                7
            },
        )
    }

    #[test]
    fn a_stop_joins_and_a_second_is_harmless() {
        let sleeper = sleeper("sleeper").unwrap();
        assert_eq!(sleeper.stop(), Ok(7));
        assert_eq!(sleeper.stop(), Err(StopError::StoppedBefore));
    }

    #[test]
    fn a_dropped_loop_is_stopped() {
        let before = threads::running();
        drop(sleeper("dropped").unwrap());
        assert!(
            threads::running() <= before + 1,
            "other tests may run threads of their own, this one is gone"
        );
    }

    #[test]
    fn a_stop_on_the_loop_thread_is_refused_and_not_a_deadlock() {
        let (hand_over, handed_over) = sync_channel::<Arc<LoopThread<Result<u32, StopError>>>>(1);
        let a_loop = LoopThread::start(
            "self-stopper",
            move || {
                let signal = StopSignal::new(Parker::new().waker());
                Ok::<_, String>((handed_over, signal))
            },
            |handed_over| match handed_over.recv().unwrap().stop() {
                Ok(inner) => inner,
                Err(refused) => Err(refused),
            },
        );
        let a_loop = Arc::new(a_loop.unwrap());
        hand_over.send(Arc::clone(&a_loop)).unwrap();
        assert_eq!(a_loop.join(), Ok(Err(StopError::OnLoopThread)));
        assert_eq!(a_loop.signal().requested(), StopRequest::Orderly);
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

    #[test]
    fn any_thread_can_ask_whether_it_is_the_loop_s() {
        let home = LoopHome::here();
        assert!(home.is_current());
        assert!(
            !threads::spawn("elsewhere", move || home.is_current())
                .unwrap()
                .join()
                .unwrap()
        );
        let refused = threads::spawn("intruder", move || home.assert_current())
            .unwrap()
            .join();
        assert_eq!(refused.is_err(), cfg!(debug_assertions));
    }

    #[test]
    fn a_forced_stop_outranks_an_orderly_one() {
        let signal = StopSignal::new(Parker::new().waker());
        assert_eq!(signal.requested(), StopRequest::None);
        signal.force();
        signal.request();
        assert_eq!(signal.requested(), StopRequest::Forced);
    }
}
