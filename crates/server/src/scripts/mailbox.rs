//! A bounded queue between two threads of which each waits for the other all the time.
//!
//! A channel of crossbeam yields its core some times before it sleeps. On a machine whose cores are busy each of these yields
//! gives another program its whole slice, which made an exchange between a script and the loop take a third of a millisecond.
//! This one sleeps at once, and the system wakes it as soon as something is sent.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use trantor_time::RealSpan;

/// One end of a mailbox, which is closed once the other is dropped.
pub(super) struct Mailbox<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    has_changed: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    items_max: usize,
    is_closed: bool,
}

/// Why nothing was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nothing {
    /// Nothing came in time.
    Yet,
    /// Nothing is left, and the other end is gone.
    Ever,
}

/// Both ends of a mailbox for `items_max` items.
pub(super) fn mailbox<T>(items_max: usize) -> (Mailbox<T>, Mailbox<T>) {
    let state = State {
        items: VecDeque::new(),
        items_max,
        is_closed: false,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        has_changed: Condvar::new(),
    });
    let other = Arc::clone(&shared);
    (Mailbox { shared }, Mailbox { shared: other })
}

impl<T> Mailbox<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends without waiting.
    ///
    /// # Errors
    /// The item, if there is no room or no other end.
    pub(super) fn send(&self, item: T) -> Result<(), T> {
        let mut state = self.state();
        if state.is_closed || state.items.len() == state.items_max {
            return Err(item);
        }
        state.items.push_back(item);
        drop(state);
        self.shared.has_changed.notify_one();
        Ok(())
    }

    /// What comes next, without waiting.
    pub(super) fn try_receive(&self) -> Option<T> {
        self.state().items.pop_front()
    }

    /// What comes next, within `span` or however long it takes.
    pub(super) fn receive(&self, span: Option<RealSpan>) -> Result<T, Nothing> {
        let mut state = self.state();
        let mut is_late = false;
        loop {
            if let Some(item) = state.items.pop_front() {
                return Ok(item);
            }
            if state.is_closed {
                return Err(Nothing::Ever);
            }
            if is_late {
                return Err(Nothing::Yet);
            }
            let changed = &self.shared.has_changed;
            state = match span {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(span) => {
                    let waited = changed.wait_timeout(state, span.to_std());
                    let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    is_late = timeout.timed_out();
                    state
                }
            };
        }
    }

    pub(super) fn len(&self) -> usize {
        self.state().items.len()
    }
}

impl<T> Drop for Mailbox<T> {
    fn drop(&mut self) {
        self.state().is_closed = true;
        self.shared.has_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_comes_in_order_and_the_end_after_all_of_it() {
        let (ours, theirs) = mailbox(2);
        assert_eq!(theirs.receive(Some(RealSpan::ZERO)), Err(Nothing::Yet));
        assert_eq!([1, 2, 3].map(|item| ours.send(item)), [Ok(()), Ok(()), Err(3)]);
        assert_eq!((theirs.len(), theirs.try_receive()), (2, Some(1)));
        drop(ours);
        assert_eq!(theirs.receive(None), Ok(2));
        assert_eq!(theirs.receive(None), Err(Nothing::Ever));
        assert_eq!(theirs.send(4), Err(4));
    }
}
