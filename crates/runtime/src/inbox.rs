//! A bounded queue of events into one loop, from any thread (R-002-30 to R-002-35, R-003-12).
//!
//! Three priorities, first in first out within each, and a share for the lowest so that none starves. A full
//! queue tells the producer, who decides whether to wait. What an event means is the loop's to know; actions
//! instead of values go through [`crate::posts`].

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use crossbeam_channel::{Receiver, SendTimeoutError, TrySendError, bounded};
use trantor_time::{RealSpan, RealTime};

use crate::wait::{Wait, Waker, Woken};

/// Events an inbox holds of each priority unless told otherwise: at a thousand events a pass, four passes' worth.
pub const INBOX_EVENTS_MAX: usize = 4_096;

/// One event in so many goes to the lowest priority that has any (R-002-32).
pub const LOWEST_SHARE: u64 = 16;

/// Unprocessed input that one source may have waiting unless told otherwise (R-002-33).
pub const SOURCE_BYTES_MAX: usize = 16 * 1024 * 1024;

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

/// What one source may have waiting in queues, so that a greedy one feels it itself and no other does (R-002-33).
#[derive(Clone)]
pub struct SourceCredit(Arc<CreditState>);

struct CreditState {
    limit_bytes: usize,
    used_bytes: Mutex<usize>,
    released: Condvar,
}

impl SourceCredit {
    /// Room for `limit_bytes` of unprocessed input.
    pub fn new(limit_bytes: usize) -> Self {
        Self(Arc::new(CreditState {
            limit_bytes,
            used_bytes: Mutex::new(0),
            released: Condvar::new(),
        }))
    }

    /// A permit for `bytes`, or `None` if the source must stop reading until an event of its is taken.
    ///
    /// With nothing waiting, one permit is given whatever its size: else it could never be.
    pub fn permit(&self, bytes: usize) -> Option<Permit> {
        self.take_locked(&mut self.lock(), bytes)
    }

    /// As [`Self::permit`], but waits up to `limit`; not for the loop's own thread.
    pub fn permit_waiting(&self, bytes: usize, limit: RealSpan) -> Option<Permit> {
        let no_room = |used: &mut usize| !self.has_room(*used, bytes);
        let (mut used, _) = self
            .0
            .released
            .wait_timeout_while(self.lock(), limit.to_std(), no_room)
            .unwrap_or_else(PoisonError::into_inner);
        self.take_locked(&mut used, bytes)
    }

    /// Bytes under permit now.
    pub fn used_bytes(&self) -> usize {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, usize> {
        self.0.used_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, used: usize, bytes: usize) -> bool {
        used == 0 || used.saturating_add(bytes) <= self.0.limit_bytes
    }

    fn take_locked(&self, used: &mut usize, bytes: usize) -> Option<Permit> {
        self.has_room(*used, bytes).then(|| {
            *used = used.saturating_add(bytes);
            Permit {
                credit: self.clone(),
                bytes,
            }
        })
    }
}

/// Leave for a source to have so much input waiting; given back when dropped.
#[derive(Debug)]
#[must_use = "dropping a permit gives it back"]
pub struct Permit {
    credit: SourceCredit,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.credit.lock() -= self.bytes;
        self.credit.0.released.notify_all();
    }
}

impl fmt::Debug for SourceCredit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SourceCredit({} of {} bytes)",
            self.used_bytes(),
            self.0.limit_bytes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::{ManualWait, Parker};
    use trantor_time::{Clock, ManualClock};

    fn inbox_of<T>(events_max: usize) -> (Inbox<T>, Sender<T>) {
        let inbox = Inbox::new(events_max, ManualWait::new(&ManualClock::default()).waker());
        let sender = inbox.sender();
        (inbox, sender)
    }

    #[test]
    fn r_002_31_the_most_urgent_first_and_first_in_first_out_within_a_priority() {
        let (mut inbox, sender) = inbox_of(8);
        sender.put(Priority::Other, "o1").unwrap();
        sender.put(Priority::Network, "n1").unwrap();
        sender.put(Priority::Network, "n2").unwrap();
        sender.put(Priority::Control, "c1").unwrap();
        assert_eq!(inbox.take_from(Priority::Network), Some("c1"));
        assert_eq!(inbox.take_from(Priority::Network), Some("n1"));
        assert_eq!(inbox.take_from(Priority::Network), Some("n2"));
        assert_eq!(
            inbox.take_from(Priority::Network),
            None,
            "less urgent than asked for"
        );
        assert_eq!(inbox.take(), Some("o1"));
    }

    #[test]
    fn r_002_31_a_receiver_may_name_a_time_limit() {
        let clock = ManualClock::default();
        let mut wait = ManualWait::new(&clock);
        let mut inbox = Inbox::new(4, wait.waker());
        let sender = inbox.sender();
        wait.at(RealTime::from_nanos(5), move |_| {
            sender.put(Priority::Other, 'x').unwrap();
            None
        });
        let ten = Some(RealTime::from_nanos(10));
        assert_eq!(inbox.take_waiting(Priority::Network, ten, &mut wait), None);
        assert_eq!(
            clock.now(),
            RealTime::from_nanos(10),
            "less urgent events do not end the wait"
        );
        assert_eq!(inbox.take_waiting(Priority::Other, ten, &mut wait), Some('x'));
    }

    #[test]
    fn r_002_32_one_in_sixteen_goes_to_the_lowest() {
        let (mut inbox, sender) = inbox_of(200);
        for number in 0..160 {
            sender.put(Priority::Control, ("control", number)).unwrap();
            sender.put(Priority::Other, ("other", number)).unwrap();
        }
        let taken: Vec<_> = (0..160).map(|_| inbox.take().unwrap()).collect();
        let low: Vec<_> = taken
            .iter()
            .filter(|(from, _)| *from == "other")
            .map(|&(_, n)| n)
            .collect();
        assert_eq!(low, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn r_002_33_an_abort_mark_is_tested_when_the_event_is_taken() {
        let (mut inbox, sender) = inbox_of(8);
        let mark = AbortMark::new();
        sender
            .put(Priority::Network, Event::from(1).with_abort(&mark))
            .unwrap();
        sender.put(Priority::Network, 2).unwrap();
        mark.set();
        assert_eq!(inbox.take(), Some(2));
        assert_eq!(
            inbox.stats(),
            InboxStats {
                taken: 1,
                aborted: 1,
                ..InboxStats::default()
            }
        );
    }

    #[test]
    fn r_002_33_a_permit_is_released_when_the_event_is_taken() {
        let (mut inbox, sender) = inbox_of(8);
        let credit = SourceCredit::new(100);
        let event = |bytes| Event::from(bytes).with_permit(credit.permit(bytes).unwrap());
        sender.put(Priority::Network, event(60)).unwrap();
        sender.put(Priority::Network, event(40)).unwrap();
        assert!(credit.permit(1).is_none(), "this source must stop reading");
        assert_eq!(inbox.take(), Some(60));
        assert_eq!(credit.used_bytes(), 40);
        assert!(credit.permit(61).is_none());
        assert!(credit.permit(60).is_some());
        assert_eq!(inbox.take(), Some(40));
        assert!(
            credit.permit(1_000).is_some(),
            "too large for the limit, but alone"
        );
    }

    #[test]
    fn r_002_33_a_source_can_wait_for_its_permit() {
        let (mut inbox, sender) = inbox_of::<()>(8);
        let credit = SourceCredit::new(10);
        let permit = credit.permit(10).unwrap();
        sender
            .put(Priority::Network, Event::from(()).with_permit(permit))
            .unwrap();
        let of_source = credit.clone();
        let source = crate::threads::spawn("source", move || {
            of_source.permit_waiting(5, RealSpan::from_secs(60)).is_some()
        });
        inbox.take().unwrap();
        assert!(source.unwrap().join().unwrap());
        assert_eq!(credit.used_bytes(), 0);
    }

    #[test]
    fn r_003_12_a_full_inbox_refuses_and_counts() {
        let (inbox, sender) = inbox_of(1);
        sender.put(Priority::Other, 1).unwrap();
        assert!(matches!(
            sender.put(Priority::Other, 2),
            Err(PutError::Full(Event { body: 2, .. }))
        ));
        sender
            .put(Priority::Control, 3)
            .expect("other priorities have their own room");
        assert_eq!(inbox.stats().refused, 1);
        drop(inbox);
        assert!(matches!(sender.put(Priority::Other, 4), Err(PutError::Closed(_))));
    }

    #[test]
    fn r_003_10_a_closed_inbox_refuses_and_gives_out_what_it_accepted() {
        let (mut inbox, sender) = inbox_of(8);
        sender.put(Priority::Other, 1).unwrap();
        inbox.close();
        assert!(matches!(
            sender.put(Priority::Control, 2),
            Err(PutError::Closed(_))
        ));
        assert_eq!((inbox.take(), inbox.take()), (Some(1), None));
    }

    #[test]
    fn r_002_30_putting_never_blocks_the_loop_thread() {
        let (mut inbox, sender) = inbox_of(1);
        assert_eq!(inbox.take(), None); // this thread is now known to be the loop's
        sender.put(Priority::Other, 0).unwrap();
        let hour = RealSpan::from_secs(3_600);
        assert!(matches!(sender.put(Priority::Other, 1), Err(PutError::Full(_))));
        assert!(matches!(
            sender.put_waiting(Priority::Other, 1, hour),
            Err(PutError::Full(_))
        ));
        assert_eq!(inbox.stats().refused, 2);
    }

    #[test]
    fn r_003_12_a_producer_may_wait_for_room() {
        let mut parker = Parker::new();
        let mut inbox = Inbox::new(1, parker.waker());
        let sender = inbox.sender();
        let minute = RealSpan::from_secs(60);
        sender.put(Priority::Other, 0).unwrap();
        let producer = crate::threads::spawn("producer", move || {
            (1..100)
                .try_for_each(|n| sender.put_waiting(Priority::Other, n, minute))
                .is_ok()
        })
        .unwrap();
        for expected in 0..100 {
            assert_eq!(
                inbox.take_waiting(Priority::Other, None, &mut parker),
                Some(expected)
            );
        }
        assert!(producer.join().unwrap());
    }

    #[test]
    fn r_002_35_no_wake_up_is_lost() {
        const PRODUCERS: u64 = 8;
        const EVENTS_EACH: u64 = 20_000;
        let mut parker = Parker::new();
        let mut inbox = Inbox::new(64, parker.waker());
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|_| {
                let sender = inbox.sender();
                crate::threads::spawn("producer", move || {
                    for event in 0..EVENTS_EACH {
                        sender
                            .put_waiting(Priority::Network, event, RealSpan::from_secs(60))
                            .unwrap();
                    }
                })
                .unwrap()
            })
            .collect();
        // The loop sleeps without limit whenever it finds nothing: one lost wake-up and the test never ends.
        let mut sum = 0;
        for _ in 0..PRODUCERS * EVENTS_EACH {
            sum += inbox.take_waiting(Priority::Other, None, &mut parker).unwrap();
        }
        assert_eq!(sum, PRODUCERS * EVENTS_EACH * (EVENTS_EACH - 1) / 2);
        assert!(inbox.is_empty());
        for producer in producers {
            producer.join().unwrap();
        }
    }
}
