//! The only place that starts threads: every one has a name and is joined.
//!
//! Which work a thread does, and how it is asked to end, is its starter's to say.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;

use trantor_time::RealSpan;

/// Starts a thread called `name`, which must not be empty: debuggers, logs and panics show it.
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
    let (running, ended) = sync_channel(0);
    let body = move || {
        // Dropped at the end, also by a panic: that is what a join with a limit waits for.
        let _running = running;
        body()
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where threads are started"
    )]
    let handle = thread::Builder::new().name(name.to_owned()).spawn(body)?;
    Ok(Thread {
        name: name.to_owned(),
        handle: Some(handle),
        ended,
    })
}

/// A thread that was started, and will be joined: at the latest when this value is dropped.
///
/// Dropping it waits for the thread, so ask the thread to end first.
#[derive(Debug)]
pub struct Thread<T> {
    name: String,
    handle: Option<thread::JoinHandle<T>>,
    /// Nothing is ever sent; the thread drops the other end.
    ended: Receiver<()>,
}

/// The panic of a thread.
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
        let handle = self.handle.take();
        self.join_handle(handle.expect("only a join takes the handle"))
    }

    /// As [`Self::join`], but waits no longer than `limit` and then gives the thread back.
    ///
    /// # Errors
    /// `Err(self)` if the thread has not ended by then.
    pub fn join_within(self, limit: RealSpan) -> Result<Result<T, Panicked>, Self> {
        match self.ended.recv_timeout(limit.to_std()) {
            Err(RecvTimeoutError::Timeout) => Err(self),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(self.join()),
        }
    }

    /// Lets the thread run on unjoined: only for one that was asked to end, did not, and must not delay an exit.
    pub fn abandon(mut self) {
        log::warn!("thread {:?} did not end in time and is left behind", self.name);
        self.handle = None;
    }

    /// Whether it has ended, so that joining would not wait.
    pub fn has_ended(&self) -> bool {
        self.handle.as_ref().is_none_or(thread::JoinHandle::is_finished)
    }

    fn join_handle(&self, handle: thread::JoinHandle<T>) -> Result<T, Panicked> {
        assert!(
            handle.thread().id() != thread::current().id(),
            "a thread cannot wait for its own end"
        );
        handle.join().map_err(|panic| Panicked {
            name: self.name.clone(),
            message: crate::fault::panic_message(&*panic),
        })
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && let Err(panicked) = self.join_handle(handle)
        {
            log::error!("{panicked}");
        }
    }
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
        let (open, gate) = sync_channel::<()>(0);
        let thread = spawn("slow", move || {
            let _opened = gate.recv();
        })
        .unwrap();
        let thread = thread.join_within(RealSpan::from_millis(1));
        let thread = thread.expect_err("the gate is still shut");
        drop(open);
        assert_eq!(thread.join_within(RealSpan::from_secs(60)).unwrap(), Ok(()));
    }
}
