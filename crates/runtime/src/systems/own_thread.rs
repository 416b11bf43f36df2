//! A system with a thread of its own: its call notes the request and returns at once.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use trantor_time::RealSpan;

use crate::life::{StopRequest, StopSignal};
use crate::threads::{self, Thread};
use crate::wait::{Parker, Wait, Waker};

/// What the thread is told: all calls since it last looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Calls noted together.
    pub calls: u64,
    /// Their elapsed time together, so that none is lost when the thread is slower than the loop.
    pub elapsed: RealSpan,
}

/// The loop's side of such a system. Dropping it ends the thread.
#[derive(Debug)]
pub struct OwnThread {
    note: Arc<Mutex<Note>>,
    waker: Waker,
    stop: StopSignal,
    _thread: Thread<()>,
}

impl OwnThread {
    /// Starts a thread called `name` that runs `work` for each note.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn start(name: &str, mut work: impl FnMut(Note) + Send + 'static) -> io::Result<Self> {
        let note = Arc::new(Mutex::new(Note::default()));
        let mut parker = Parker::new();
        let (waker, stop) = (parker.waker(), StopSignal::new(parker.waker()));
        let (noted, stopped) = (Arc::clone(&note), stop.clone());
        let thread = threads::spawn(name, move || {
            while stopped.requested() == StopRequest::None {
                let note = std::mem::take(&mut *noted.lock().unwrap_or_else(PoisonError::into_inner));
                if note.calls > 0 {
                    work(note);
                } else {
                    parker.wait(None);
                }
            }
        })?;
        Ok(Self {
            note,
            waker,
            stop,
            _thread: thread,
        })
    }

    /// Notes a call; what a system's function does that has such a thread.
    pub fn call(&self, elapsed: RealSpan) {
        {
            let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
            note.calls += 1;
            note.elapsed += elapsed;
        }
        self.waker.wake();
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        self.stop.request();
    }
}
