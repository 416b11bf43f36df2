//! Who is measured, each behind the same few calls.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{self, CancellableTimerEntry};
use hierarchical_hash_wheel_timer::wheels::quad_wheel;
use tokio::runtime::Runtime;
use tokio::time::Instant;
use tokio_util::time::delay_queue;
use trantor_time::{DeadlineHeap, DeadlineStore, GameTime, RealTime, TimerId, TimerWheel};

const MS: i64 = 1_000_000;

/// A store of deadlines in nanoseconds, each with a number.
pub(crate) trait Subject {
    const NAME: &'static str;
    type Id: Clone;

    fn new() -> Self;
    fn schedule(&mut self, at_ns: i64, item: u64) -> Self::Id;
    /// Takes all that is due at `now_ns`, which never goes back.
    fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>);
    /// `None` if it cannot cancel.
    fn cancel(&mut self, id: &Self::Id) -> Option<bool>;
    /// `None` if it cannot move.
    fn move_to(&mut self, id: &mut Self::Id, at_ns: i64, item: u64) -> Option<()>;
    /// `None` if it cannot tell.
    fn next_ns(&mut self) -> Option<i64>;
}

/// Both of ours, by way of the contract.
pub(crate) struct Ours<S>(S);

pub(crate) type ExactReal = Ours<DeadlineHeap<RealTime, u64>>;
pub(crate) type Wheel = Ours<TimerWheel<u64>>;

macro_rules! ours {
    ($subject:ty, $name:literal) => {
        impl Subject for $subject {
            const NAME: &'static str = $name;
            type Id = TimerId;

            fn new() -> Self {
                Self(Default::default())
            }

            fn schedule(&mut self, at_ns: i64, item: u64) -> TimerId {
                DeadlineStore::schedule(&mut self.0, RealTime::from_nanos(at_ns), item)
            }

            fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>) {
                while let Some(due) = DeadlineStore::take_due(&mut self.0, RealTime::from_nanos(now_ns)) {
                    taken.push((due.at.as_nanos(), due.item));
                }
            }

            fn cancel(&mut self, id: &TimerId) -> Option<bool> {
                Some(DeadlineStore::cancel(&mut self.0, *id).is_some())
            }

            fn move_to(&mut self, id: &mut TimerId, at_ns: i64, _item: u64) -> Option<()> {
                DeadlineStore::reschedule(&mut self.0, *id, RealTime::from_nanos(at_ns)).then_some(())
            }

            fn next_ns(&mut self) -> Option<i64> {
                DeadlineStore::next_deadline(&self.0).map(RealTime::as_nanos)
            }
        }
    };
}

ours!(ExactReal, "DeadlineHeap");
ours!(Wheel, "TimerWheel");

/// The heap as the game uses it: 128 bits to a moment.
pub(crate) struct ExactGame(DeadlineHeap<GameTime, u64>);

impl Subject for ExactGame {
    const NAME: &'static str = "DeadlineHeap, game time";
    type Id = TimerId;

    fn new() -> Self {
        Self(DeadlineHeap::new())
    }

    fn schedule(&mut self, at_ns: i64, item: u64) -> TimerId {
        self.0.schedule(GameTime::from_nanounits(at_ns.into()), item)
    }

    fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>) {
        while let Some(due) = self.0.take_due(GameTime::from_nanounits(now_ns.into())) {
            taken.push((due.at.as_nanounits() as i64, due.item));
        }
    }

    fn cancel(&mut self, id: &TimerId) -> Option<bool> {
        Some(self.0.cancel(*id).is_some())
    }

    fn move_to(&mut self, id: &mut TimerId, at_ns: i64, _item: u64) -> Option<()> {
        self.0
            .reschedule(*id, GameTime::from_nanounits(at_ns.into()))
            .then_some(())
    }

    fn next_ns(&mut self) -> Option<i64> {
        self.0.next_deadline().map(|next| next.as_nanounits() as i64)
    }
}

/// The standard heap, first in first out among equals, with a set of what was cancelled: the least that will do.
/// It cannot tell whether there was something to cancel.
#[derive(Default)]
pub(crate) struct BinaryHeapWithSet {
    heap: BinaryHeap<Reverse<(i64, u64, u64)>>,
    cancelled: HashSet<u64>,
    registered: u64,
}

impl Subject for BinaryHeapWithSet {
    const NAME: &'static str = "std BinaryHeap";
    type Id = u64;

    fn new() -> Self {
        Self::default()
    }

    fn schedule(&mut self, at_ns: i64, item: u64) -> u64 {
        self.registered += 1;
        self.heap.push(Reverse((at_ns, self.registered, item)));
        self.registered
    }

    fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>) {
        while self
            .heap
            .peek()
            .is_some_and(|Reverse((at_ns, ..))| *at_ns <= now_ns)
        {
            let Some(Reverse((at_ns, id, item))) = self.heap.pop() else {
                break;
            };
            if self.cancelled.is_empty() || !self.cancelled.remove(&id) {
                taken.push((at_ns, item));
            }
        }
    }

    fn cancel(&mut self, id: &u64) -> Option<bool> {
        Some(self.cancelled.insert(*id))
    }

    fn move_to(&mut self, id: &mut u64, at_ns: i64, item: u64) -> Option<()> {
        self.cancelled.insert(*id);
        *id = self.schedule(at_ns, item);
        Some(())
    }

    fn next_ns(&mut self) -> Option<i64> {
        while let Some(Reverse((at_ns, id, _))) = self.heap.peek() {
            if self.cancelled.is_empty() || !self.cancelled.remove(id) {
                return Some(*at_ns);
            }
            self.heap.pop();
        }
        None
    }
}

/// The standard tree, by deadline and registration.
#[derive(Default)]
pub(crate) struct Tree {
    tree: BTreeMap<(i64, u64), u64>,
    registered: u64,
}

impl Subject for Tree {
    const NAME: &'static str = "std BTreeMap";
    type Id = (i64, u64);

    fn new() -> Self {
        Self::default()
    }

    fn schedule(&mut self, at_ns: i64, item: u64) -> Self::Id {
        self.registered += 1;
        let id = (at_ns, self.registered);
        self.tree.insert(id, item);
        id
    }

    fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>) {
        while let Some(first) = self.tree.first_entry().filter(|first| first.key().0 <= now_ns) {
            let ((at_ns, _), item) = first.remove_entry();
            taken.push((at_ns, item));
        }
    }

    fn cancel(&mut self, id: &Self::Id) -> Option<bool> {
        Some(self.tree.remove(id).is_some())
    }

    fn move_to(&mut self, id: &mut Self::Id, at_ns: i64, item: u64) -> Option<()> {
        self.tree.remove(id);
        *id = self.schedule(at_ns, item);
        Some(())
    }

    fn next_ns(&mut self) -> Option<i64> {
        self.tree.first_key_value().map(|((at_ns, _), _)| *at_ns)
    }
}

/// Tokio's queue, on its own paused clock. No order among equal milliseconds.
pub(crate) struct DelayQueue {
    // The queue goes before the runtime that it belongs to.
    queue: tokio_util::time::DelayQueue<(i64, u64)>,
    runtime: Runtime,
    origin: Instant,
    now_ns: i64,
}

impl DelayQueue {
    fn instant(&self, at_ns: i64) -> Instant {
        self.origin + Duration::from_nanos(at_ns.unsigned_abs())
    }
}

impl Subject for DelayQueue {
    const NAME: &'static str = "tokio DelayQueue";
    type Id = delay_queue::Key;

    fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O");
        let guard = runtime.enter();
        let (queue, origin) = (tokio_util::time::DelayQueue::new(), Instant::now());
        drop(guard);
        Self {
            queue,
            runtime,
            origin,
            now_ns: 0,
        }
    }

    fn schedule(&mut self, at_ns: i64, item: u64) -> Self::Id {
        let at = self.instant(at_ns);
        let _guard = self.runtime.enter();
        self.queue.insert_at((at_ns, item), at)
    }

    fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>) {
        let step = Duration::from_nanos((now_ns - self.now_ns).unsigned_abs());
        self.now_ns = now_ns;
        let queue = &mut self.queue;
        self.runtime.block_on(async {
            tokio::time::advance(step).await;
            poll_fn(|context| {
                while let Poll::Ready(Some(expired)) = queue.poll_expired(context) {
                    taken.push(expired.into_inner());
                }
                Poll::Ready(())
            })
            .await;
        });
    }

    fn cancel(&mut self, id: &Self::Id) -> Option<bool> {
        let _guard = self.runtime.enter();
        Some(self.queue.try_remove(id).is_some())
    }

    fn move_to(&mut self, id: &mut Self::Id, at_ns: i64, _item: u64) -> Option<()> {
        let at = self.instant(at_ns);
        let _guard = self.runtime.enter();
        self.queue.reset_at(id, at);
        Some(())
    }

    fn next_ns(&mut self) -> Option<i64> {
        let key = self.queue.peek()?;
        let deadline = self.queue.deadline(&key).duration_since(self.origin);
        i64::try_from(deadline.as_nanos()).ok()
    }
}

/// What the hashed wheels hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    id: u64,
    at_ns: i64,
    item: u64,
}

impl CancellableTimerEntry for Held {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.id
    }
}

/// The wheel of four bytes with a hash map for cancelling, in steps of a millisecond. No order within a step.
pub(crate) struct CancellableWheel {
    wheel: cancellable::QuadWheelWithOverflow<Held>,
    tick: i64,
    registered: u64,
}

impl Subject for CancellableWheel {
    const NAME: &'static str = "hashed wheel, cancellable";
    type Id = u64;

    fn new() -> Self {
        Self {
            wheel: cancellable::QuadWheelWithOverflow::new(),
            tick: 0,
            registered: 0,
        }
    }

    fn schedule(&mut self, at_ns: i64, item: u64) -> u64 {
        self.registered += 1;
        let held = Rc::new(Held {
            id: self.registered,
            at_ns,
            item,
        });
        let delay = delay_from(self.tick, at_ns);
        assert!(
            self.wheel.insert_ref_with_delay(held, delay).is_ok(),
            "the delay is not zero"
        );
        self.registered
    }

    fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>) {
        while self.tick < now_ns / MS {
            if let Some(skipped) = skip(self.wheel.can_skip(), now_ns / MS - self.tick) {
                self.wheel.skip(skipped);
                self.tick += i64::from(skipped);
                continue;
            }
            self.tick += 1;
            taken.extend(self.wheel.tick().into_iter().map(|held| (held.at_ns, held.item)));
        }
    }

    fn cancel(&mut self, id: &u64) -> Option<bool> {
        Some(self.wheel.cancel(id).is_ok())
    }

    fn move_to(&mut self, id: &mut u64, at_ns: i64, item: u64) -> Option<()> {
        assert!(self.wheel.cancel(id).is_ok(), "it was scheduled");
        *id = self.schedule(at_ns, item);
        Some(())
    }

    fn next_ns(&mut self) -> Option<i64> {
        None
    }
}

/// The same without the map: it cannot cancel, and is here as the least that a wheel can cost.
pub(crate) struct PlainWheel {
    wheel: quad_wheel::QuadWheelWithOverflow<Held>,
    tick: i64,
}

impl Subject for PlainWheel {
    const NAME: &'static str = "hashed wheel, plain (no cancel)";
    type Id = ();

    fn new() -> Self {
        Self {
            wheel: quad_wheel::QuadWheelWithOverflow::default(),
            tick: 0,
        }
    }

    fn schedule(&mut self, at_ns: i64, item: u64) {
        let delay = delay_from(self.tick, at_ns);
        let inserted = self.wheel.insert_with_delay(Held { id: 0, at_ns, item }, delay);
        assert!(inserted.is_ok(), "the delay is not zero");
    }

    fn take_due(&mut self, now_ns: i64, taken: &mut Vec<(i64, u64)>) {
        while self.tick < now_ns / MS {
            if let Some(skipped) = skip(self.wheel.can_skip(), now_ns / MS - self.tick) {
                self.wheel.skip(skipped);
                self.tick += i64::from(skipped);
                continue;
            }
            self.tick += 1;
            taken.extend(self.wheel.tick().into_iter().map(|held| (held.at_ns, held.item)));
        }
    }

    fn cancel(&mut self, _id: &()) -> Option<bool> {
        None
    }

    fn move_to(&mut self, _id: &mut (), _at_ns: i64, _item: u64) -> Option<()> {
        None
    }

    fn next_ns(&mut self) -> Option<i64> {
        None
    }
}

fn delay_from(tick: i64, at_ns: i64) -> Duration {
    let millis = (at_ns.unsigned_abs()).div_ceil(MS.unsigned_abs()) as i64 - tick;
    Duration::from_millis(millis.max(1).unsigned_abs())
}

/// How many ticks a wheel may leave out, of at most `left`.
fn skip(can_skip: Skip, left: i64) -> Option<u32> {
    let most = u32::try_from(left).unwrap_or(u32::MAX);
    match can_skip {
        Skip::None => None,
        Skip::Millis(millis) => Some(millis.min(most)),
        Skip::Empty => Some(most),
    }
    .filter(|&skipped| skipped > 0)
}
