//! The one contract of all deadline stores.
//!
//! A store holds items with a deadline each and gives them out when they are due. It knows neither what
//! the items are nor what its moments count: nanoseconds, nanounits, or a tuple that refines either. It
//! reads no clock and runs nothing: a loop asks for one due item at a time and does with it what it likes.
//!
//! # The contract
//!
//! 1. **Never early.** An item is given out only when its deadline is reached. A coarse store may
//!    be late by less than the resolution it states; an exact one is not late at all.
//! 2. **Deadline, then registration.** What is due comes out in order of deadline, and equal deadlines in
//!    the order they were scheduled or last moved, however many passes or turns lie between.
//! 3. **A cancel holds.** A cancelled item is never given out, even if it was due already. An id
//!    never comes back for other work; using an old one does nothing and says so.
//! 4. **The next deadline is at hand**, without a search, and is one of a live item.
//!
//! # Passes and zero delays
//!
//! A loop takes what is due at *one* sample of the clock, then serves its inputs:
//!
//! ```text
//! store.begin_pass();
//! while within_budget && let Some(taken) = store.take_due(now) { run(taken) }   // may schedule more
//! ```
//!
//! What `run` schedules with a deadline that `now` has reached belongs to this pass and comes out in order.
//! A delay of zero is different: it means "after everyone else had a turn", and code that asks for it again
//! and again would hold the pass for ever. [`DeadlineStore::schedule_next_pass`] is that: it counts for the
//! next deadline (so the loop will not sleep over it), but is not given out before the next
//! [`DeadlineStore::begin_pass`]. A loop that cuts its pass short and continues it calls `begin_pass` once.
//!
//! A program whose results must not depend on where passes are cut, as the game's, keeps to
//! [`DeadlineStore::schedule`] and the total order, and lets its budget bound the pass.

pub use crate::slots::TimerId;

/// An item given out because it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken<K, T> {
    /// The id under which it was pending; stale from now on.
    pub id: TimerId,
    /// Its nominal deadline: the logical time of what it does.
    pub at: K,
    /// What was scheduled.
    pub item: T,
}

/// What every deadline store can do; see the [module](self) for what it promises.
pub trait DeadlineStore<T> {
    /// What deadlines are counted in. Greater is later.
    type Moment: Copy + Ord;

    /// Adds `item`, due from `at` on; a moment already passed is due at once. O(log n) or better.
    fn schedule(&mut self, at: Self::Moment, item: T) -> TimerId;

    /// Adds `item`, due from `at` on, but not given out before the next [`Self::begin_pass`].
    fn schedule_next_pass(&mut self, at: Self::Moment, item: T) -> TimerId;

    /// Lets go of what waited for the next pass. It keeps its place in the order of registration.
    fn begin_pass(&mut self);

    /// Takes a pending item back; `None` if `id` is stale.
    fn cancel(&mut self, id: TimerId) -> Option<T>;

    /// Moves a pending item to `at` and behind everything registered so far; its id stays.
    /// Answers whether there was such an item.
    fn reschedule(&mut self, id: TimerId, at: Self::Moment) -> bool;

    /// When to come next: the earliest moment at which something may be taken, in O(1). `None` if nothing
    /// is pending.
    fn next_deadline(&self) -> Option<Self::Moment>;

    /// Gives out the earliest item that is due at `now`, if there is one.
    fn take_due(&mut self, now: Self::Moment) -> Option<Taken<Self::Moment, T>>;

    /// The pending item, `None` if `id` is stale.
    fn get(&self, id: TimerId) -> Option<&T>;

    /// The pending item, to be changed in place.
    fn get_mut(&mut self, id: TimerId) -> Option<&mut T>;

    /// The nominal deadline of a pending item.
    fn deadline_of(&self, id: TimerId) -> Option<Self::Moment>;

    /// How many items are pending.
    fn len(&self) -> usize;

    /// Whether nothing is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops everything pending; all ids become stale, none comes back.
    fn clear(&mut self);

    /// Everything pending by deadline, then registration; for snapshots and digests, O(n log n).
    fn in_order(&self) -> Vec<(Self::Moment, &T)>;

    /// Steps of its resolution that a coarse store went through; 0 for an exact one.
    fn steps(&self) -> u64 {
        0
    }
}

/// Makes a store of a type whose own methods have the names of the trait's, so that a caller who knows the type
/// needs no import to use it. What all stores answer from their `pending` items, they answer here.
macro_rules! deadline_store {
    (<$($bound:ident $(: $first:ident $(+ $more:ident)*)?),+> $store:ty, $item:ty, at $moment:ty $(, $steps:ident)?) => {
        impl<$($bound $(: $first $(+ $more)*)?),+> $store {
            /// The pending item, `None` if `id` is stale.
            pub fn get(&self, id: $crate::store::TimerId) -> Option<&$item> {
                self.pending.get(id)
            }

            /// The pending item, to be changed in place.
            pub fn get_mut(&mut self, id: $crate::store::TimerId) -> Option<&mut $item> {
                self.pending.get_mut(id)
            }

            /// The deadline of a pending item, as it was set.
            pub fn deadline_of(&self, id: $crate::store::TimerId) -> Option<$moment> {
                self.pending.deadline_of(id)
            }

            /// How many items are pending.
            pub fn len(&self) -> usize {
                self.pending.len()
            }

            /// Whether nothing is pending.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Everything pending by deadline, then registration; for snapshots and digests, O(n log n).
            pub fn in_order(&self) -> Vec<($moment, &$item)> {
                self.pending.in_order()
            }
        }

        impl<$($bound $(: $first $(+ $more)*)?),+> $crate::store::DeadlineStore<$item> for $store {
            type Moment = $moment;

            fn schedule(&mut self, at: $moment, item: $item) -> $crate::store::TimerId {
                self.schedule(at, item)
            }

            fn schedule_next_pass(&mut self, at: $moment, item: $item) -> $crate::store::TimerId {
                self.schedule_next_pass(at, item)
            }

            fn begin_pass(&mut self) {
                self.begin_pass();
            }

            fn cancel(&mut self, id: $crate::store::TimerId) -> Option<$item> {
                self.cancel(id)
            }

            fn reschedule(&mut self, id: $crate::store::TimerId, at: $moment) -> bool {
                self.reschedule(id, at)
            }

            fn next_deadline(&self) -> Option<$moment> {
                self.next_deadline()
            }

            fn take_due(&mut self, now: $moment) -> Option<$crate::store::Taken<$moment, $item>> {
                self.take_due(now)
            }

            fn get(&self, id: $crate::store::TimerId) -> Option<&$item> {
                self.get(id)
            }

            fn get_mut(&mut self, id: $crate::store::TimerId) -> Option<&mut $item> {
                self.get_mut(id)
            }

            fn deadline_of(&self, id: $crate::store::TimerId) -> Option<$moment> {
                self.deadline_of(id)
            }

            fn len(&self) -> usize {
                self.len()
            }

            fn clear(&mut self) {
                self.clear();
            }

            fn in_order(&self) -> Vec<($moment, &$item)> {
                self.in_order()
            }

            $(fn $steps(&self) -> u64 {
                self.$steps()
            })?
        }
    };
}

pub(crate) use deadline_store;
