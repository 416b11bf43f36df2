//! A bounded queue of events into one loop, from any thread.
//!
//! Three priorities, first in first out within each, and a share for the lowest so that none starves. A full
//! queue tells the producer, who decides whether to wait; [`credit`] gives each source a limit of its own. What an
//! event means is the loop's to know; actions instead of values go through [`crate::posts`].

pub mod credit;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

use crossbeam_channel::{Receiver, SendTimeoutError, TrySendError, bounded};
use trantor_time::{RealSpan, RealTime};

use crate::wait::{Wait, Waker, Woken};

pub use self::credit::{Permit, SourceCredit};

/// Events an inbox holds of each priority unless told otherwise: at a thousand events a pass, four passes' worth.
pub const INBOX_EVENTS_MAX: usize = 4_096;

/// One event in so many goes to the lowest priority that has any.
pub const LOWEST_SHARE: u64 = 16;

/// How urgent an event is. Earlier variants are taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Orders to the loop itself: stop, change a setting.
    Control,
    /// What peers sent.
    Network,
    /// Finished work and everything else.
    Other,
}

const PRIORITIES: [Priority; 3] = [Priority::Control, Priority::Network, Priority::Other];

/// The loop's end of the queue.
#[derive(Debug)]
pub struct Inbox<T> {
    queues: [Receiver<Event<T>>; 3],
    sender: Sender<T>,
    taken: u64,
    aborted: u64,
}

/// A producer's end of the queue; clone it for every producer.
#[derive(Debug)]
pub struct Sender<T> {
    queues: [crossbeam_channel::Sender<Event<T>>; 3],
    shared: Arc<Shared>,
    waker: Waker,
}

/// Why an event was not put; it comes back to the producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutError<T> {
    /// As many events of this priority wait as may; come again later, or drop it.
    #[error("the inbox is full")]
    Full(T),
    /// The loop has ended.
    #[error("the loop that takes from this inbox has ended")]
    Closed(T),
}

impl<T> Inbox<T> {
    /// An inbox for at most `events_max` events of each priority, whose loop is woken by `waker`.
    ///
    /// Each priority has its own room, so that a flood of one kind cannot keep the others out.
    pub fn new(events_max: usize, waker: Waker) -> Self {
        let (senders, queues): (Vec<_>, Vec<_>) = PRIORITIES.iter().map(|_| bounded(events_max)).unzip();
        let three = "there is one queue for each of three priorities";
        Self {
            queues: queues.try_into().expect(three),
            sender: Sender {
                queues: senders.try_into().expect(three),
                shared: Arc::default(),
                waker,
            },
            taken: 0,
            aborted: 0,
        }
    }

    /// A new producer's end.
    pub fn sender(&self) -> Sender<T> {
        self.sender.clone()
    }

    /// Takes the next event of any priority; `None` if there is none.
    pub fn take(&mut self) -> Option<T> {
        self.take_from(Priority::Other)
    }

    /// Takes the next event of priority `least` or more urgent; aborted events are passed over.
    ///
    /// Its permit is released here, whatever becomes of the event.
    pub fn take_from(&mut self, least: Priority) -> Option<T> {
        self.sender
            .shared
            .loop_thread
            .get_or_init(|| thread::current().id());
        loop {
            let event = self.pick(least)?;
            self.taken += 1;
            if event.abort.is_some_and(|mark| mark.is_set()) {
                self.aborted += 1;
                continue;
            }
            return Some(event.body);
        }
    }

    /// Takes the next event of priority `least` or more urgent, sleeping in `wait` for it until `until` at the latest.
    ///
    /// `None` if the time is over, and also if `wait` reports readiness outside, which the loop must look after.
    pub fn take_waiting(
        &mut self,
        least: Priority,
        until: Option<RealTime>,
        wait: &mut impl Wait,
    ) -> Option<T> {
        loop {
            if let Some(event) = self.take_from(least) {
                return Some(event);
            }
            match wait.wait(until) {
                Woken::Posted => {}
                Woken::Deadline | Woken::Io => return self.take_from(least),
            }
        }
    }

    /// Refuses further events; those accepted can still be taken.
    pub fn close(&mut self) {
        self.sender.shared.is_closed.store(true, Ordering::Release);
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(Receiver::is_empty)
    }

    /// Events waiting, of all priorities.
    pub fn len(&self) -> usize {
        self.queues.iter().map(Receiver::len).sum()
    }

    /// What happened so far.
    pub fn stats(&self) -> InboxStats {
        InboxStats {
            taken: self.taken - self.aborted,
            aborted: self.aborted,
            refused: self.sender.shared.refused.load(Ordering::Relaxed),
            waited: self.sender.shared.waited.load(Ordering::Relaxed),
            depth: self.len() as u64,
        }
    }

    /// The most urgent event, or every sixteenth time the least urgent one.
    fn pick(&mut self, least: Priority) -> Option<Event<T>> {
        let allowed = &self.queues[..=least as usize];
        if self.taken % LOWEST_SHARE == LOWEST_SHARE - 1 {
            allowed.iter().rev().find_map(|queue| queue.try_recv().ok())
        } else {
            allowed.iter().find_map(|queue| queue.try_recv().ok())
        }
    }
}

/// Counts of an [`Inbox`], all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InboxStats {
    /// Events taken to be handled.
    pub taken: u64,
    /// Events passed over because of their abort mark.
    pub aborted: u64,
    /// Events that producers could not put because the inbox was full.
    pub refused: u64,
    /// Times that a producer waited for room.
    pub waited: u64,
    /// Events waiting now.
    pub depth: u64,
}

impl<T> Sender<T> {
    /// Puts an event and wakes the loop. Never blocks.
    ///
    /// # Errors
    /// Gives the event back if there is no room, or no loop any more.
    pub fn put(&self, priority: Priority, event: impl Into<Event<T>>) -> Result<(), PutError<Event<T>>> {
        self.try_put(priority, event.into()).inspect_err(|error| {
            let is_full = matches!(error, PutError::Full(_));
            self.shared.refused.fetch_add(is_full.into(), Ordering::Relaxed);
        })
    }

    /// As [`Self::put`], but waits up to `limit` for room. On the loop's own thread it does not wait: it alone makes room.
    ///
    /// # Errors
    /// Gives the event back if there was no room in that time, or no loop any more.
    pub fn put_waiting(
        &self,
        priority: Priority,
        event: impl Into<Event<T>>,
        limit: RealSpan,
    ) -> Result<(), PutError<Event<T>>> {
        let event = match self.try_put(priority, event.into()) {
            Err(PutError::Full(event)) => event,
            done => return done,
        };
        if self.shared.loop_thread.get() == Some(&thread::current().id()) {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            return Err(PutError::Full(event));
        }
        self.shared.waited.fetch_add(1, Ordering::Relaxed);
        match self.queues[priority as usize].send_timeout(event, limit.to_std()) {
            Ok(()) => {
                self.waker.wake();
                Ok(())
            }
            Err(SendTimeoutError::Timeout(event)) => {
                self.shared.refused.fetch_add(1, Ordering::Relaxed);
                Err(PutError::Full(event))
            }
            Err(SendTimeoutError::Disconnected(event)) => Err(PutError::Closed(event)),
        }
    }

    fn try_put(&self, priority: Priority, event: Event<T>) -> Result<(), PutError<Event<T>>> {
        if self.shared.is_closed.load(Ordering::Acquire) {
            return Err(PutError::Closed(event));
        }
        match self.queues[priority as usize].try_send(event) {
            Ok(()) => {
                self.waker.wake();
                Ok(())
            }
            Err(TrySendError::Full(event)) => Err(PutError::Full(event)),
            Err(TrySendError::Disconnected(event)) => Err(PutError::Closed(event)),
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self {
            queues: self.queues.clone(),
            shared: Arc::clone(&self.shared),
            waker: self.waker.clone(),
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    refused: AtomicU64,
    waited: AtomicU64,
    is_closed: AtomicBool,
    loop_thread: OnceLock<ThreadId>,
}

/// A value on its way into a loop, with what it may carry besides.
#[derive(Debug)]
pub struct Event<T> {
    /// The value.
    pub body: T,
    permit: Option<Permit>,
    abort: Option<AbortMark>,
}

impl<T> Event<T> {
    /// Lets the event hold `permit` until it is taken.
    pub fn with_permit(mut self, permit: Permit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// Lets the event be passed over if `mark` is set before it is taken.
    pub fn with_abort(mut self, mark: &AbortMark) -> Self {
        self.abort = Some(mark.clone());
        self
    }
}

impl<T> From<T> for Event<T> {
    fn from(body: T) -> Self {
        Self {
            body,
            permit: None,
            abort: None,
        }
    }
}

/// Calls back everything that carries it: set it when a session ends and its events no longer matter.
#[derive(Clone, Debug, Default)]
pub struct AbortMark(Arc<AtomicBool>);

impl AbortMark {
    /// A mark that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the mark, for good.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests;
