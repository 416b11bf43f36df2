//! Requested timers: any part may ask to be told when a time is over (R-001-20 to R-001-25).
//!
//! A *listener* asks a [`TimerServer`], which remembers who asked; the loop fires through its [`TimerManager`], which
//! knows the servers. Nothing is held while a listener is told, so it may request and cancel as it likes. For timers
//! that belong to the loop itself, and repeat, there are those of [`crate::service`].

use std::cell::RefCell;
use std::collections::VecDeque;
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
    /// By number, in rising order: where a request is pending.
    ids: Vec<(TimerNumber, TimerId)>,
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
            ids: Vec::new(),
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

    /// Requests pending.
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
        // Once relayed, a timer is forgotten (R-001-25).
        requests.drop_id(number);
        Some((number, listener))
    }
}

impl<L> Requests<L> {
    fn insert(&mut self, at: RealTime, number: TimerNumber, listener: L) {
        let id = self.pending.schedule(at, (number, listener));
        let place = self.ids.partition_point(|&(known, _)| known < number);
        self.ids.insert(place, (number, id));
    }

    fn take_back(&mut self, number: TimerNumber) -> Option<L> {
        if let Some(place) = self
            .for_next_pass
            .iter()
            .position(|&(_, deferred, _)| deferred == number)
        {
            return self.for_next_pass.remove(place).map(|(_, _, listener)| listener);
        }
        let id = self.drop_id(number)?;
        self.pending.cancel(id).map(|(_, listener)| listener)
    }

    fn drop_id(&mut self, number: TimerNumber) -> Option<TimerId> {
        let place = self
            .ids
            .binary_search_by_key(&number, |&(number, _)| number)
            .ok()?;
        Some(self.ids.remove(place).1)
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

    /// Fires at most at this rate, so that timers are fired in blocks; `None` for whenever one is due (R-001-23).
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn ms(millis: i64) -> RealTime {
        RealTime::from_nanos(millis * 1_000_000)
    }

    fn span(millis: i64) -> RealSpan {
        RealSpan::from_millis(millis)
    }

    fn fire(manager: &mut TimerManager<&'static str>, now: RealTime) -> Vec<&'static str> {
        let mut told = Vec::new();
        manager.fire_due(now, |_, listener| told.push(listener));
        told
    }

    #[test]
    fn r_001_20_a_listener_is_told_once_by_the_server_it_asked() {
        let (door, lamp) = (TimerServer::new(8), TimerServer::new(8));
        let mut manager = TimerManager::new();
        manager.register(&door);
        manager.register(&lamp);
        manager.register(&door.clone());
        lamp.request("lamp", span(10), ms(0)).unwrap();
        door.request("door", span(10), ms(0)).unwrap();
        door.request("later", span(11), ms(0)).unwrap();
        assert_eq!(manager.next_deadline(), Some(ms(10)));
        assert_eq!(
            fire(&mut manager, ms(10)),
            ["door", "lamp"],
            "equal times by order of servers"
        );
        assert_eq!(fire(&mut manager, ms(11)), ["later"]);
        assert_eq!((door.len(), lamp.len(), manager.fired()), (0, 0, 3));
    }

    #[test]
    fn r_001_21_never_early_and_again_from_the_callback() {
        let server = TimerServer::new(8);
        let mut manager = TimerManager::new();
        manager.register(&server);
        server.request(3_u32, span(5), ms(0)).unwrap();
        let mut told_at = Vec::new();
        for millis in 0..20 {
            manager.fire_due(ms(millis), |_, rounds_left| {
                told_at.push(millis);
                if rounds_left > 0 {
                    server.request(rounds_left - 1, span(5), ms(millis)).unwrap();
                }
            });
        }
        assert_eq!(told_at, [5, 10, 15]);
        assert_eq!(server.len(), 1);
    }

    #[test]
    fn r_001_21_a_zero_length_waits_for_the_next_pass() {
        let server = TimerServer::new(8);
        let mut manager = TimerManager::new();
        manager.register(&server);
        server.request((), RealSpan::ZERO, ms(0)).unwrap();
        for pass in 1..4 {
            let again = server.clone();
            let fired = manager.fire_due(ms(0), |_, ()| {
                again.request((), RealSpan::ZERO, ms(0)).unwrap();
            });
            assert_eq!(fired, 1, "in pass {pass}");
        }
    }

    #[test]
    fn r_001_22_at_sixty_passes_a_second_it_is_one_pass_late_at_most() {
        let server = TimerServer::new(1_000);
        let mut manager = TimerManager::new();
        manager.register(&server);
        for number in 0..1_000_i64 {
            server.request(ms(number * 7), span(number * 7), ms(0)).unwrap();
        }
        let pass = RealSpan::from_nanos(16_666_667);
        let (mut now, mut lateness_max, mut lateness_sum) = (ms(0), 0, 0);
        while !server.is_empty() {
            now += pass;
            manager.fire_due(now, |_, deadline| {
                lateness_max = lateness_max.max(now.since(deadline).as_nanos());
                lateness_sum += now.since(deadline).as_nanos();
            });
        }
        assert!(lateness_max <= pass.as_nanos(), "{lateness_max} ns");
        assert!(
            lateness_sum / 1_000 <= 15_000_000,
            "{} ns on average",
            lateness_sum / 1_000
        );
    }

    #[test]
    fn r_001_23_firing_can_be_limited_to_a_rate() {
        let server = TimerServer::new(100);
        let mut manager = TimerManager::new();
        manager.register(&server);
        manager.set_rate(Some(Rate::per_second(10.0).unwrap()));
        for number in 1..=50 {
            server.request("x", span(number * 4), ms(0)).unwrap();
        }
        assert_eq!(fire(&mut manager, ms(4)).len(), 1);
        assert_eq!(manager.next_deadline(), Some(ms(104)));
        assert_eq!(fire(&mut manager, ms(50)).len(), 0);
        assert_eq!(fire(&mut manager, ms(104)).len(), 25, "a block");
    }

    #[test]
    fn r_001_25_refusals_are_reported_and_numbers_not_used_again() {
        let server = TimerServer::new(1);
        assert_eq!(
            server.request("a", span(-1), ms(0)),
            Err(RequestRefused::Negative)
        );
        let first = server.request("a", span(1), ms(0)).unwrap();
        assert_eq!(server.request("b", span(1), ms(0)), Err(RequestRefused::Full));
        assert!(server.cancel(first) && !server.cancel(first));
        let second = server.request("c", span(1), ms(0)).unwrap();
        assert!(second > first && server.refused() == 2);
        let mut manager = TimerManager::new();
        manager.register(&server);
        assert_eq!(fire(&mut manager, ms(1)), ["c"]);
        assert!(!server.cancel(second), "a relayed timer is forgotten");
    }

    #[test]
    fn r_001_24_a_listener_that_disappears_is_not_told() {
        let server = TimerServer::new(8);
        let mut manager = TimerManager::new();
        manager.register(&server);
        let listener = Rc::new("listener");
        server.request(Rc::downgrade(&listener), span(1), ms(0)).unwrap();
        server.request(Rc::downgrade(&listener), span(2), ms(0)).unwrap();
        let mut told = 0;
        manager.fire_due(ms(1), |_, listener| {
            told += usize::from(listener.upgrade().is_some())
        });
        drop(listener);
        manager.fire_due(ms(2), |_, listener| {
            told += usize::from(listener.upgrade().is_some())
        });
        assert_eq!(told, 1);
        server.request(std::rc::Weak::new(), span(2), ms(0)).unwrap();
        assert_eq!(server.forget(|listener| listener.strong_count() == 0), 1);
    }

    #[test]
    fn r_001_24_a_cancel_from_a_callback_holds_in_the_same_pass() {
        let servers = [TimerServer::new(8), TimerServer::new(8)];
        let mut manager = TimerManager::new();
        servers.iter().for_each(|server| manager.register(server));
        let victim = servers[1].request("victim", span(2), ms(0)).unwrap();
        servers[0].request("killer", span(1), ms(0)).unwrap();
        servers[1].request("bystander", span(2), ms(0)).unwrap();
        let mut told = Vec::new();
        manager.fire_due(ms(5), |_, listener| {
            told.push(listener);
            if listener == "killer" {
                assert!(servers[1].cancel(victim));
                servers[0].request("next pass", RealSpan::ZERO, ms(5)).unwrap();
                servers[1].request("already due", span(1), ms(1)).unwrap();
            }
        });
        assert_eq!(told, ["killer", "bystander", "already due"]);
        assert_eq!(fire(&mut manager, ms(5)), ["next pass"]);
    }

    proptest! {
        /// Requests and cancels at several servers, against a sorted list.
        #[test]
        fn r_001_24_random_requests_and_cancels_match_a_model(
            steps in proptest::collection::vec((0..3_usize, 0..30_i64, any::<bool>(), 0..10_u64), 1..120),
        ) {
            let servers: Vec<TimerServer<()>> = (0..3).map(|_| TimerServer::new(64)).collect();
            let mut manager = TimerManager::new();
            servers.iter().for_each(|server| manager.register(server));
            let mut model: BTreeMap<(RealTime, usize, TimerNumber), ()> = BTreeMap::new();
            let mut now = ms(0);
            for (which, millis, cancels, number) in steps {
                if cancels {
                    let number = TimerNumber(number);
                    let expected = model.keys().find(|key| (key.1, key.2) == (which, number)).copied();
                    prop_assert_eq!(servers[which].cancel(number), expected.is_some());
                    if let Some(key) = expected { model.remove(&key); }
                } else if let Ok(number) = servers[which].request((), span(millis), now) {
                    model.insert((now + span(millis), which, number), ());
                }
                now += span(millis % 4);
                let mut fired = Vec::new();
                manager.fire_due(now, |number, ()| fired.push(number));
                let due: Vec<_> = model.keys().take_while(|key| key.0 <= now).copied().collect();
                for key in &due { model.remove(key); }
                prop_assert_eq!(fired, due.iter().map(|key| key.2).collect::<Vec<_>>());
                prop_assert_eq!(manager.next_deadline(), model.keys().next().map(|key| key.0));
            }
        }
    }
}
