//! The only place that starts threads: every one has a name and is joined.
//!
//! Which work a thread does, and how it is told to end, is its starter's to say; see [`crate::life`] for loops.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use trantor_time::RealSpan;

/// Starts a thread called `name`, which must not be empty: it is what debuggers, logs and panics show.
///
/// # Errors
/// If the operating system refuses another thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<T>> {
    assert!(
        !name.is_empty(),
        "a thread without a name cannot be found in a debugger"
    );
    let ending = Arc::new(Ending {
        result: Mutex::new(None),
        ended: Condvar::new(),
    });
    let seen_by_thread = Arc::clone(&ending);
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where threads are started"
    )]
    let handle = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let result = panic::catch_unwind(AssertUnwindSafe(body));
        // Unwind safety: the closure is gone, and what it shared with others they guard themselves.
        *seen_by_thread
            .result
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(result);
        seen_by_thread.ended.notify_all();
    })?;
    Ok(Thread {
        name: name.to_owned(),
        handle: Some(handle),
        ending,
    })
}

/// A thread that was started, and will be joined: at the latest when this value is dropped.
///
/// Dropping it waits for the thread, so tell the thread to end first.
#[derive(Debug)]
pub struct Thread<T> {
    name: String,
    handle: Option<thread::JoinHandle<()>>,
    ending: Arc<Ending<T>>,
}

/// What a thread that panicked said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("thread {name:?} panicked: {message}")]
pub struct Panicked {
    /// The thread's name.
    pub name: String,
    /// The message of its panic.
    pub message: String,
}

impl<T> Thread<T> {
    /// Waits until the thread has ended, and answers what it returned.
    ///
    /// # Errors
    /// If it panicked.
    ///
    /// # Panics
    /// If called on the thread itself, which could never return.
    pub fn join(mut self) -> Result<T, Panicked> {
        self.join_system_thread();
        self.take_result()
    }

    /// As [`Self::join`], but waits no longer than `limit` and then gives the thread back.
    ///
    /// # Errors
    /// `Err(self)` if the thread has not ended by then.
    pub fn join_within(self, limit: RealSpan) -> Result<Result<T, Panicked>, Self> {
        {
            let result = self.ending.result.lock().unwrap_or_else(PoisonError::into_inner);
            let (result, _) = self
                .ending
                .ended
                .wait_timeout_while(result, limit.to_std(), |result| result.is_none())
                .unwrap_or_else(PoisonError::into_inner);
            if result.is_none() {
                drop(result);
                return Err(self);
            }
        }
        Ok(self.join())
    }

    /// Lets the thread run on unjoined: only for one that was told to end, did not, and must not hold up an exit.
    pub fn abandon(mut self) {
        log::warn!("thread {:?} did not end in time and is left behind", self.name);
        self.handle = None;
    }

    /// The name it was started with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The system's identity of the thread, to compare with [`thread::current`].
    pub fn id(&self) -> ThreadId {
        self.handle
            .as_ref()
            .expect("a thread keeps its handle until it is joined")
            .thread()
            .id()
    }

    /// Whether it has ended, so that joining would not wait.
    pub fn has_ended(&self) -> bool {
        self.ending
            .result
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn join_system_thread(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        assert!(
            handle.thread().id() != thread::current().id(),
            "a thread cannot wait for its own end"
        );
        if handle.join().is_err() {
            // The body's panic was caught; only a panic while storing its result could come here.
            log::error!("thread {:?} failed outside its body", self.name);
        }
    }

    fn take_result(&mut self) -> Result<T, Panicked> {
        let result = self
            .ending
            .result
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match result {
            Some(Ok(value)) => Ok(value),
            Some(Err(panic)) => Err(Panicked {
                name: self.name.clone(),
                message: crate::fault::panic_message(&*panic),
            }),
            None => Err(Panicked {
                name: self.name.clone(),
                message: "no result was stored".to_owned(),
            }),
        }
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        let unjoined = self.handle.is_some();
        self.join_system_thread();
        if unjoined && let Err(panicked) = self.take_result() {
            log::error!("{panicked}");
        }
    }
}

#[derive(Debug)]
struct Ending<T> {
    result: Mutex<Option<thread::Result<T>>>,
    ended: Condvar,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_name_and_gives_back_its_result() {
        let thread = spawn("answerer", || thread::current().name().map(str::to_owned)).unwrap();
        assert_eq!(thread.join().unwrap().as_deref(), Some("answerer"));
    }

    #[test]
    fn a_panic_is_an_error_with_the_thread_s_name() {
        let thread = spawn("unlucky", || -> u8 { panic!("no luck today") }).unwrap();
        let panicked = thread.join().unwrap_err();
        assert_eq!(panicked.to_string(), "thread \"unlucky\" panicked: no luck today");
    }

    #[test]
    fn joining_within_a_limit_gives_a_slow_thread_back() {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let of_thread = Arc::clone(&gate);
        let thread = spawn("slow", move || {
            let open = of_thread.0.lock().unwrap();
            drop(of_thread.1.wait_while(open, |open| !*open).unwrap());
        })
        .unwrap();
        let thread = thread
            .join_within(RealSpan::from_millis(1))
            .expect_err("the gate is still shut");
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        thread.join().unwrap();
    }
}
