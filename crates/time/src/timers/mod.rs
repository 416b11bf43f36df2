//! Named timers over either store: owners, one-shot and repeating work, and all the ways to take it back.
//!
//! The payload is whatever a program wants to be handed: an enum in the server, a boxed callback in a service
//! loop. Nothing is called from here. A run is taken out, done by the caller, and given back:
//!
//! ```text
//! timers.begin_pass();
//! while let Some(mut run) = timers.take_due(now) {     // one at a time: a cancel inside a pass always holds
//!     let outcome = (run.payload)(&mut timers, …);      // may register, move and cancel, itself included
//!     timers.finish(run, took, outcome.is_err());       // a repeating one gets its payload back
//! }
//! ```
//!
//! A repeating timer has its next deadline before it runs, by its late policy ([`crate::late`]); so a failing run cannot stop
//! it, and a run that cancels it leaves nothing behind. Payloads are moved, never copied.

mod names;
mod register;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chain::{self, Links};
use crate::moment::Moment;
use crate::slots::Slots;
use crate::stats::WorkStats;
use crate::store::{DeadlineStore, TimerId};
use crate::units::RealSpan;

use names::{NameIndex, Names};
use register::Repeat;
pub use register::{NAME_BYTES_MAX, NewTimer, RegisterError};

/// Timers that may be registered at a time unless told otherwise: an order of magnitude above what
/// a full server needs, so that a leak is refused while there is still memory to say so.
pub const TIMERS_MAX: usize = 65_536;

/// Named timers in store `S`, owned by `O`, carrying `P`.
#[derive(Debug)]
pub struct Timers<S, O, P>
where
    S: DeadlineStore<TimerId, Moment: Moment>,
{
    store: S,
    timers: Slots<Timer<S::Moment, O, P>>,
    names: Names,
    /// The first timer of each owner that has any.
    owners: BTreeMap<O, TimerId>,
    capacity: usize,
    stats: WorkStats,
}

#[derive(Debug)]
struct Timer<M: Moment, O, P> {
    name: NameIndex,
    owner: Option<O>,
    repeat: Option<Repeat<M>>,
    /// `None` while it runs.
    payload: Option<P>,
    /// Where its deadline is kept.
    pending: TimerId,
    same_name: Links,
    same_owner: Links,
}

/// One run of a timer, to be done by the caller and handed to [`Timers::finish`].
#[derive(Debug)]
#[must_use = "a repeating timer gets its payload back by `finish`; without it, it never runs again"]
pub struct Run<M: Moment, P> {
    /// The timer; stale already if it was a one-shot.
    pub id: TimerId,
    /// Its name.
    pub name: Arc<str>,
    /// The logical time of the run: its nominal deadline, or the instant that its late policy chose.
    pub instant: M,
    /// How long after its deadline it was taken.
    pub lateness: M::Span,
    /// Periods for which nothing runs.
    pub missed: u64,
    /// What was registered.
    pub payload: P,
    name_index: NameIndex,
}

/// What can be seen of a registered timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerView<M: Moment, O> {
    /// By which it can be cancelled or moved.
    pub id: TimerId,
    /// Its name.
    pub name: Arc<str>,
    /// Whose it is.
    pub owner: Option<O>,
    /// Its next deadline.
    pub deadline: M,
    /// `None` for a one-shot.
    pub period: Option<M::Span>,
}

impl<S, O, P> Timers<S, O, P>
where
    S: DeadlineStore<TimerId, Moment: Moment>,
    O: Copy + Ord,
{
    /// No timers, in `store`, with room for [`TIMERS_MAX`].
    pub fn new(store: S) -> Self {
        Self::with_capacity(store, TIMERS_MAX)
    }

    /// No timers, in `store`, with room for `capacity`. Memory is taken as it is needed.
    ///
    /// # Panics
    /// If the store is in use: what it holds would be taken for timers.
    pub fn with_capacity(store: S, capacity: usize) -> Self {
        assert!(store.is_empty(), "timers begin with an empty store");
        Self {
            store,
            timers: Slots::new(),
            names: Names::default(),
            owners: BTreeMap::new(),
            capacity,
            stats: WorkStats::default(),
        }
    }

    /// Registers a timer; its delay counts from `now`, the logical time of whoever asks.
    pub fn register(
        &mut self,
        now: S::Moment,
        new: NewTimer<'_, S::Moment, O, P>,
    ) -> Result<TimerId, RegisterError> {
        let admitted = new.deadline(now, self.timers.len(), self.capacity);
        let deadline = admitted.inspect_err(|_| self.stats.refused += 1)?;
        let name = self.names.enter(new.name);
        let (timers, store) = (&mut self.timers, &mut self.store);
        let id = timers.insert_with(|id| Timer {
            name,
            owner: new.owner,
            repeat: new.repeat,
            payload: Some(new.payload),
            pending: store.schedule(deadline, id),
            same_name: Links::default(),
            same_owner: Links::default(),
        });
        chain::join(timers, self.names.first(name).replace(id), id, |timer| {
            &mut timer.same_name
        });
        if let Some(owner) = new.owner {
            chain::join(timers, self.owners.insert(owner, id), id, |timer| {
                &mut timer.same_owner
            });
        }
        for stats in [&mut self.stats, self.names.stats(name)] {
            stats.active += 1;
            stats.registered += 1;
        }
        Ok(id)
    }

    /// Lets go of what waited for the next pass; see [`crate::store`].
    pub fn begin_pass(&mut self) {
        self.store.begin_pass();
    }

    /// Takes the next run that is due at `now`. Do it, then call [`Self::finish`].
    ///
    /// A repeating timer that is due again while its run is still out misses that period.
    pub fn take_due(&mut self, now: S::Moment) -> Option<Run<S::Moment, P>> {
        loop {
            let taken = self.store.take_due(now)?;
            let id = taken.item;
            let timer = self
                .timers
                .get_mut(id)
                .expect("what is pending belongs to a timer");
            let name_index = timer.name;
            let (instant, missed, payload) = match timer.repeat {
                // The run takes over what use the timer made of its name.
                None => (taken.at, 0, self.remove(id).payload),
                Some(repeat) => {
                    self.names.retain(name_index);
                    let repetition = repeat.late_policy.repeat(taken.at, now, repeat.period);
                    timer.pending = self.store.schedule(repetition.next, id);
                    (repetition.instant, repetition.missed, timer.payload.take())
                }
            };
            let skipped = missed + u64::from(payload.is_none());
            self.stats.coalesced += skipped;
            self.names.stats(name_index).coalesced += skipped;
            let Some(payload) = payload else {
                self.names.release(name_index);
                continue;
            };
            let name = self.names.name(name_index);
            let lateness = now.span_since(taken.at);
            return Some(Run {
                id,
                name,
                instant,
                lateness,
                missed,
                payload,
                name_index,
            });
        }
    }

    /// Ends a run that took `took`: counts it and, if the timer repeats and still exists, gives its payload back.
    pub fn finish(&mut self, run: Run<S::Moment, P>, took: RealSpan, failed: bool) {
        let lateness = S::Moment::span_to_nanos(run.lateness).max(0);
        let lateness = u64::try_from(lateness).unwrap_or(u64::MAX);
        let took_ns = took.as_nanos().max(0).unsigned_abs();
        for stats in [&mut self.stats, self.names.stats(run.name_index)] {
            stats.note_run(lateness, took_ns, failed);
        }
        self.names.release(run.name_index);
        if let Some(timer) = self.timers.get_mut(run.id) {
            timer.payload = Some(run.payload);
        }
    }

    /// Cancels one timer; answers whether there was one.
    pub fn cancel(&mut self, id: TimerId) -> bool {
        let found = self.timers.get(id).is_some();
        if found {
            self.cancel_live(id);
        }
        found
    }

    /// Cancels all timers of this name; answers how many there were.
    pub fn cancel_named(&mut self, name: &str) -> usize {
        let Some(index) = self.names.find(name) else {
            return 0;
        };
        let mut cancelled = 0;
        // The name may be forgotten with its last timer, so it is held until the list is empty.
        self.names.retain(index);
        while let Some(id) = *self.names.first(index) {
            self.cancel_live(id);
            cancelled += 1;
        }
        self.names.release(index);
        cancelled
    }

    /// Cancels all timers of an owner that goes away; answers how many there were.
    pub fn cancel_owned(&mut self, owner: O) -> usize {
        let mut cancelled = 0;
        while let Some(&id) = self.owners.get(&owner) {
            self.cancel_live(id);
            cancelled += 1;
        }
        cancelled
    }

    /// Cancels everything, what is due in this pass included; answers how many timers there were.
    pub fn cancel_all(&mut self) -> usize {
        let mut cancelled = 0;
        let mut slot = 0;
        while let Some(id) = self.timers.first_from(slot) {
            self.cancel_live(id);
            cancelled += 1;
            slot = id.slot() + 1;
        }
        cancelled
    }

    /// Moves the next run of a timer to `at`; one that repeats goes on from there. Answers whether there was one.
    pub fn reschedule(&mut self, id: TimerId, at: S::Moment) -> bool {
        self.timers
            .get(id)
            .is_some_and(|timer| self.store.reschedule(timer.pending, at))
    }

    /// The earliest deadline, `None` if there are no timers.
    pub fn next_deadline(&self) -> Option<S::Moment> {
        self.store.next_deadline()
    }

    /// How many timers are registered.
    pub fn len(&self) -> usize {
        self.timers.len()
    }

    /// Whether no timer is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One timer as it stands.
    pub fn view(&self, id: TimerId) -> Option<TimerView<S::Moment, O>> {
        let timer = self.timers.get(id)?;
        Some(TimerView {
            id,
            name: self.names.name(timer.name),
            owner: timer.owner,
            deadline: self
                .store
                .deadline_of(timer.pending)
                .expect("a timer is always pending"),
            period: timer.repeat.map(|repeat| repeat.period),
        })
    }

    /// All timers by deadline, for a debugging view. O(n log n).
    pub fn in_order(&self) -> Vec<TimerView<S::Moment, O>> {
        let pending = self.store.in_order();
        pending.into_iter().filter_map(|(_, &id)| self.view(id)).collect()
    }

    /// Counters of all timers together. Lateness is in billionths of the timers' own time.
    pub fn stats(&self) -> &WorkStats {
        &self.stats
    }

    /// Counters by name, in order of name.
    ///
    /// Of names that are no longer in use, a few hundred are kept.
    pub fn stats_by_name(&self) -> impl Iterator<Item = (&str, &WorkStats)> {
        self.names.iter()
    }

    /// Starts all maxima again at zero.
    pub fn reset_maxima(&mut self) {
        self.stats.reset_maxima();
        self.names.reset_maxima();
    }

    /// The store beneath, for its own counters.
    pub fn store(&self) -> &S {
        &self.store
    }

    fn cancel_live(&mut self, id: TimerId) {
        let timer = self.remove(id);
        self.store.cancel(timer.pending);
        self.stats.cancelled += 1;
        self.names.stats(timer.name).cancelled += 1;
        self.names.release(timer.name);
    }

    /// Takes a timer out of all lists; its deadline is the caller's.
    fn remove(&mut self, id: TimerId) -> Timer<S::Moment, O, P> {
        let timer = self.timers.get(id).expect("only live timers are removed");
        let (name, owner) = (timer.name, timer.owner);
        let first = self.names.first(name);
        *first = chain::leave(&mut self.timers, *first, id, |timer| &mut timer.same_name);
        if let Some(owner) = owner {
            let first = self.owners.get(&owner).copied();
            match chain::leave(&mut self.timers, first, id, |timer| &mut timer.same_owner) {
                Some(first) => self.owners.insert(owner, first),
                None => self.owners.remove(&owner),
            };
        }
        for stats in [&mut self.stats, self.names.stats(name)] {
            stats.active -= 1;
        }
        self.timers.remove(id).expect("it was there a moment ago")
    }
}
