//! Requested timers: any part may ask to be told when a time is over.
//!
//! A *listener* asks a [`TimerServer`], which remembers who asked; the loop fires through its [`TimerManager`], which
//! knows the servers. Nothing is held while a listener is told, so it may request and cancel as it likes. For timers
//! that belong to the loop itself, and repeat, there are those of [`crate::service`].

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;

use trantor_time::{DeadlineHeap, Due, Pace, Pacer, Pacing, Rate, RealSpan, RealTime, TimerId};

/// Requests that one server holds unless told otherwise: far above what parts of a program need, far below what
/// a runaway one would ask for.
pub const REQUESTS_MAX: usize = 65_536;

/// Names a request; numbers of one server are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerNumber(u64);

impl TimerNumber {
    /// The number, for logs and scripts.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// Why a request was refused; the server counts refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefused {
    /// The length was negative.
    #[error("a timer cannot be requested for the past")]
    Negative,
    /// The server holds as many requests as it may.
    #[error("too many timers are requested")]
    Full,
}

/// Takes requests and remembers who asked. Clones are the same server.
///
/// `L` says who a listener is: an id, or a weak reference to it.
pub struct TimerServer<L>(Rc<RefCell<Requests<L>>>);

struct Requests<L> {
    pending: DeadlineHeap<RealTime, (TimerNumber, L)>,
    /// Requests of zero length, which wait for the next pass to begin; by number.
    for_next_pass: VecDeque<(RealTime, TimerNumber, L)>,
    /// Where a request is pending.
    ids: BTreeMap<TimerNumber, TimerId>,
    requests_max: usize,
    next_number: u64,
    refused: u64,
}

impl<L> TimerServer<L> {
    /// A server that holds at most `requests_max` requests.
    pub fn new(requests_max: usize) -> Self {
        Self(Rc::new(RefCell::new(Requests {
            pending: DeadlineHeap::new(),
            for_next_pass: VecDeque::new(),
            ids: BTreeMap::new(),
            requests_max,
            next_number: 0,
            refused: 0,
        })))
    }

    /// Requests that `listener` be told when `length` has passed since `now`, its logical time.
    ///
    /// A length of zero means the next pass, so that a listener that asks again at once cannot hold the loop.
    ///
    /// # Errors
    /// If `length` is negative or too many requests are pending.
    pub fn request(
        &self,
        listener: L,
        length: RealSpan,
        now: RealTime,
    ) -> Result<TimerNumber, RequestRefused> {
        let mut requests = self.0.borrow_mut();
        let refusal = if length < RealSpan::ZERO {
            Some(RequestRefused::Negative)
        } else if requests.len() >= requests.requests_max {
            Some(RequestRefused::Full)
        } else {
            None
        };
        if let Some(refusal) = refusal {
            requests.refused += 1;
            return Err(refusal);
        }
        let number = TimerNumber(requests.next_number);
        requests.next_number += 1;
        if length == RealSpan::ZERO {
            requests.for_next_pass.push_back((now, number, listener));
        } else {
            requests.insert(now.saturating_add(length), number, listener);
        }
        Ok(number)
    }

    /// Takes a request back; answers whether it was pending.
    pub fn cancel(&self, number: TimerNumber) -> bool {
        let cancelled = self.0.borrow_mut().take_back(number);
        // The listener is dropped here, outside the borrow: it may be the last to hold something that asks us again.
        cancelled.is_some()
    }

    /// Takes back all requests of listeners for which `is_gone` holds; answers how many.
    pub fn forget(&self, mut is_gone: impl FnMut(&L) -> bool) -> usize {
        let gone: Vec<TimerNumber> = {
            let requests = self.0.borrow();
            let pending = requests
                .pending
                .in_order()
                .into_iter()
                .map(|(_, item)| (item.0, &item.1));
            let deferred = requests
                .for_next_pass
                .iter()
                .map(|(_, number, listener)| (*number, listener));
            pending
                .chain(deferred)
                .filter(|(_, listener)| is_gone(listener))
                .map(|(number, _)| number)
                .collect()
        };
        gone.into_iter().filter(|&number| self.cancel(number)).count()
    }

    /// The requests pending, those for the next pass first and the others by deadline: for people who look on.
    pub fn pending(&self) -> Vec<(TimerNumber, RealTime, L)>
    where
        L: Clone,
    {
        let requests = self.0.borrow();
        let for_next_pass = requests
            .for_next_pass
            .iter()
            .map(|(at, number, listener)| (*number, *at, listener.clone()));
        let later = requests.pending.in_order().into_iter();
        for_next_pass
            .chain(later.map(|(at, (number, listener))| (*number, at, listener.clone())))
            .collect()
    }

    /// How many requests are pending.
    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests refused so far.
    pub fn refused(&self) -> u64 {
        self.0.borrow().refused
    }

    /// Lets go of what waited for this pass.
    fn begin_pass(&self) {
        let mut requests = self.0.borrow_mut();
        while let Some((at, number, listener)) = requests.for_next_pass.pop_front() {
            requests.insert(at, number, listener);
        }
    }

    /// When the next of those may fire that do not wait for a pass to begin.
    fn next_ready(&self) -> Option<RealTime> {
        self.0.borrow().pending.next_deadline()
    }

    fn next_deadline(&self) -> Option<RealTime> {
        let deferred = self.0.borrow().for_next_pass.front().map(|&(at, ..)| at);
        self.next_ready().into_iter().chain(deferred).min()
    }

    fn take_due(&self, now: RealTime) -> Option<(TimerNumber, L)> {
        let mut requests = self.0.borrow_mut();
        let (number, listener) = requests.pending.take_due(now)?.item;
        // Once relayed, a timer is forgotten.
        requests.ids.remove(&number);
        Some((number, listener))
    }
}

impl<L> Requests<L> {
    fn insert(&mut self, at: RealTime, number: TimerNumber, listener: L) {
        let id = self.pending.schedule(at, (number, listener));
        self.ids.insert(number, id);
    }

    fn take_back(&mut self, number: TimerNumber) -> Option<L> {
        if let Some(place) = self
            .for_next_pass
            .iter()
            .position(|&(_, deferred, _)| deferred == number)
        {
            return self.for_next_pass.remove(place).map(|(_, _, listener)| listener);
        }
        let id = self.ids.remove(&number)?;
        self.pending.cancel(id).map(|(_, listener)| listener)
    }

    fn len(&self) -> usize {
        self.pending.len() + self.for_next_pass.len()
    }
}

impl<L> Clone for TimerServer<L> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<L> fmt::Debug for TimerServer<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerServer")
            .field("pending", &self.len())
            .field("refused", &self.refused())
            .finish()
    }
}

/// The loop's side: fires what is due, of all servers registered with it.
#[derive(Debug)]
pub struct TimerManager<L> {
    servers: Vec<TimerServer<L>>,
    pacer: Pacer,
    fired: u64,
}

impl<L> TimerManager<L> {
    /// A manager without servers, that fires whenever a timer is due.
    pub fn new() -> Self {
        Self {
            servers: Vec::new(),
            pacer: Pacer::new(Pace::Uncapped, Pacing::Spacing),
            fired: 0,
        }
    }

    /// Looks after `server` from now on; registering it again changes nothing.
    pub fn register(&mut self, server: &TimerServer<L>) {
        if !self.servers.iter().any(|known| Rc::ptr_eq(&known.0, &server.0)) {
            self.servers.push(server.clone());
        }
    }

    /// Fires at most at this rate, so that timers are fired in blocks; `None` for whenever one is due.
    pub fn set_rate(&mut self, rate: Option<Rate>) {
        self.pacer.set_pace(rate.map_or(Pace::Uncapped, Pace::At));
    }

    /// When to come next; `None` if nothing is requested.
    pub fn next_deadline(&self) -> Option<RealTime> {
        let earliest = self.servers.iter().filter_map(TimerServer::next_deadline).min()?;
        Some(match self.pacer.due() {
            Due::At(allowed) => earliest.max(allowed),
            Due::Now | Due::Never => earliest,
        })
    }

    /// Fires all that is due at `now`: by deadline, then order of request; between servers, order of registration.
    ///
    /// `tell` is given the number and the listener. Answers how many were fired.
    pub fn fire_due(&mut self, now: RealTime, mut tell: impl FnMut(TimerNumber, L)) -> usize {
        let before = self.fired;
        if self.may_fire(now) {
            while let Some((number, listener)) = self.take_due(now) {
                tell(number, listener);
            }
        }
        (self.fired - before) as usize
    }

    /// Begins a pass at `now`: answers whether something is due and the rate allows firing it. Then
    /// [`Self::take_due`], one by one.
    pub fn may_fire(&mut self, now: RealTime) -> bool {
        self.servers.iter().for_each(TimerServer::begin_pass);
        self.is_due(now) && self.pacer.call(now).is_some()
    }

    /// Whether there is something to take at `now`.
    pub fn is_due(&self, now: RealTime) -> bool {
        self.servers
            .iter()
            .filter_map(TimerServer::next_ready)
            .any(|ready| ready <= now)
    }

    /// Takes the next timer that is due at `now`, to tell its listener.
    pub fn take_due(&mut self, now: RealTime) -> Option<(TimerNumber, L)> {
        let deadlines = self
            .servers
            .iter()
            .filter_map(|server| Some((server.next_ready()?, server)));
        // `min_by_key` takes the first of equals, which is the server registered first.
        let (_, server) = deadlines.min_by_key(|&(deadline, _)| deadline)?;
        let taken = server.take_due(now)?;
        self.fired += 1;
        Some(taken)
    }

    /// Timers fired so far.
    pub fn fired(&self) -> u64 {
        self.fired
    }
}

impl<L> Default for TimerManager<L> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
