//! Entries by deadline: a short sorted run for the near future, unordered buckets for the rest.
//!
//! Only what comes next needs to be in order. A heap of a million entries pays for order that nobody will ask
//! for in a while, with a cache miss at each level of each sift. Here the near future is a sorted run that fits
//! the first-level cache; what is later lies in buckets, each with a range of deadlines, in no order within.
//! When the run is used up, the first bucket is halved until a part of it is near, and that part is sorted.
//!
//! ```text
//!   ranges, the latest first                       near, the earliest last
//!  ┌─────────────┬─────────────┬──────────────┐   ┌──────────────────────┐
//!  │ from 400 on │ 240 to 400  │ 100 to 240   │   │ 98 97 97 81 … 23 20  │ ──> taken
//!  └─────────────┴─────────────┴──────────────┘   └──────────────────────┘
//!     bucket        bucket        bucket
//! ```
//!
//! A push finds its range by binary search and appends; a bucket that is full is halved at its median. What a call
//! costs is O(log n) taken together; what a single one may have to move grows with the square root of what is
//! pending, some thousand small entries of a million: none goes through everything (R-000-13). The order is that
//! of (deadline, registration), which is total, so a bucket of equal deadlines can be halved like any other.
//!
//! What an entry stands for, and whether it still stands for anything, is the owner's to know.

use std::cmp::Ordering;
use std::num::NonZeroU64;

/// Number of a registration: unique, and greater for later ones. 64 bits last for centuries at any rate.
pub(crate) type Order = NonZeroU64;

/// A deadline and where to find what is due then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<K> {
    pub(crate) at: K,
    pub(crate) order: Order,
    pub(crate) slot: u32,
}

/// Entries at which a bucket is halved, at first. Larger ones make the list of ranges shorter and each halving
/// dearer; from 512 to 2,048 the difference is a few per cent. Where there are more ranges than this, it is doubled:
/// then both what a halving moves and the list of ranges grow with the square root of what is pending.
const BUCKET_MAX: usize = 1024;

/// Entries at which the near run is cut. Pushing into it moves what is earlier: 3 KiB on average.
const NEAR_MAX: usize = 256;

#[derive(Clone, Debug)]
pub(crate) struct Queue<K> {
    /// All entries before the first range, sorted, the earliest last. Never empty while anything is queued.
    near: Vec<Entry<K>>,
    /// What is later, the first range last: the end of a vector is where taking and adding are cheap.
    ranges: Vec<Range<K>>,
    buckets: Vec<Vec<Entry<K>>>,
    /// Buckets in no range. They keep their memory.
    spare: Vec<u32>,
    /// Entries at which a bucket is halved.
    bucket_max: usize,
    /// The range to be swept next.
    swept: usize,
    len: usize,
}

/// From here until the start of the range that follows in time.
#[derive(Clone, Copy, Debug)]
struct Range<K> {
    at: K,
    order: Order,
    bucket: u32,
}

impl<K: Copy + Ord> Entry<K> {
    fn key(&self) -> (K, Order) {
        (self.at, self.order)
    }
}

impl<K: Copy + Ord> PartialEq for Entry<K> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<K: Copy + Ord> Eq for Entry<K> {}

/// What comes later is less: sorted, the earliest entry is last.
impl<K: Copy + Ord> Ord for Entry<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<K: Copy + Ord> PartialOrd for Entry<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        // Sorting asks this most. Without a branch, since which of two comes first cannot be predicted.
        (other.at < self.at) | ((other.at == self.at) & (other.order < self.order))
    }
}

impl<K: Copy + Ord> Queue<K> {
    pub(crate) const fn new() -> Self {
        Self {
            near: Vec::new(),
            ranges: Vec::new(),
            buckets: Vec::new(),
            spare: Vec::new(),
            bucket_max: BUCKET_MAX,
            swept: 0,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The earliest entry.
    pub(crate) fn first(&self) -> Option<&Entry<K>> {
        self.near.last()
    }

    pub(crate) fn push(&mut self, entry: Entry<K>) {
        self.len += 1;
        let later = self
            .ranges
            .partition_point(|range| (range.at, range.order) > entry.key());
        match self.ranges.get(later) {
            None => self.push_near(entry),
            Some(range) => {
                let bucket = &mut self.buckets[range.bucket as usize];
                bucket.push(entry);
                if bucket.len() >= self.bucket_max {
                    self.split(later);
                    if self.ranges.len() > self.bucket_max {
                        self.bucket_max *= 2;
                    }
                }
            }
        }
    }

    /// Moves many entries into an empty queue, for less than pushing each.
    ///
    /// # Panics
    /// If the queue is not empty.
    pub(crate) fn fill(&mut self, entries: &mut Vec<Entry<K>>) {
        assert!(self.len == 0, "only an empty queue is filled");
        let Some(first) = entries.iter().max().copied() else {
            return;
        };
        self.len = entries.len();
        let bucket = self.spare_bucket();
        std::mem::swap(&mut self.buckets[bucket as usize], entries);
        self.ranges.push(Range {
            at: first.at,
            order: first.order,
            bucket,
        });
        self.refill_near();
    }

    pub(crate) fn pop(&mut self) -> Option<Entry<K>> {
        let first = self.near.pop()?;
        self.len -= 1;
        if self.near.is_empty() {
            self.refill_near();
        }
        Some(first)
    }

    pub(crate) fn clear(&mut self) {
        self.near.clear();
        for range in self.ranges.drain(..) {
            self.buckets[range.bucket as usize].clear();
            self.spare.push(range.bucket);
        }
        self.len = 0;
    }

    /// Drops the entries of one bucket that are not to be kept, and joins it to its neighbour if little is left.
    /// Called again and again, it goes through all buckets and the near run in turn.
    pub(crate) fn sweep_next(&mut self, is_kept: impl FnMut(&Entry<K>) -> bool) {
        let Some(&Range { bucket, .. }) = self.ranges.get(self.swept) else {
            self.swept = 0;
            let before = self.near.len();
            self.near.retain(is_kept);
            self.len -= before - self.near.len();
            self.refill_near();
            return;
        };
        let entries = &mut self.buckets[bucket as usize];
        let before = entries.len();
        entries.retain(is_kept);
        self.len -= before - entries.len();
        self.join_earlier(self.swept);
        self.swept += 1;
    }

    /// Makes one range of this one and the next earlier one, if one bucket has ample room for both.
    fn join_earlier(&mut self, index: usize) {
        let (Some(later), Some(earlier)) = (self.ranges.get(index), self.ranges.get(index + 1)) else {
            return;
        };
        let (later, earlier) = (later.bucket as usize, earlier.bucket as usize);
        if self.buckets[later].len() + self.buckets[earlier].len() > BUCKET_MAX / 2 {
            return;
        }
        let mut moved = std::mem::take(&mut self.buckets[later]);
        self.buckets[earlier].append(&mut moved);
        self.buckets[later] = moved;
        self.spare.push(later as u32);
        self.ranges.remove(index);
    }

    fn push_near(&mut self, entry: Entry<K>) {
        let place = self.near.partition_point(|near| near.key() > entry.key());
        self.near.insert(place, entry);
        if self.near.len() > NEAR_MAX {
            let later = NEAR_MAX / 2;
            let first = self.near[later - 1];
            let bucket = self.spare_bucket();
            self.buckets[bucket as usize].extend(self.near.drain(..later));
            self.ranges.push(Range {
                at: first.at,
                order: first.order,
                bucket,
            });
        }
    }

    /// Makes two ranges of one: its bucket keeps the later half.
    fn split(&mut self, index: usize) {
        let bucket = self.spare_bucket();
        let mut earlier = std::mem::take(&mut self.buckets[bucket as usize]);
        let range = &mut self.ranges[index];
        let later = &mut self.buckets[range.bucket as usize];
        let middle = later.len() / 2;
        later.select_nth_unstable(middle);
        earlier.extend(later.drain(middle + 1..));
        let first = later[middle];
        let start = std::mem::replace(
            range,
            Range {
                at: first.at,
                order: first.order,
                bucket: range.bucket,
            },
        );
        self.buckets[bucket as usize] = earlier;
        self.ranges.insert(index + 1, Range { bucket, ..start });
    }

    /// Makes the first range the near future, or as much of it as is near.
    fn refill_near(&mut self) {
        while self.near.is_empty()
            && let Some(range) = self.ranges.last()
        {
            if self.buckets[range.bucket as usize].len() > NEAR_MAX {
                self.split(self.ranges.len() - 1);
                continue;
            }
            let bucket = range.bucket;
            self.ranges.pop();
            self.near.append(&mut self.buckets[bucket as usize]);
            self.near.sort_unstable();
            self.spare.push(bucket);
        }
    }

    fn spare_bucket(&mut self) -> u32 {
        self.spare.pop().unwrap_or_else(|| {
            self.buckets.push(Vec::with_capacity(BUCKET_MAX));
            (self.buckets.len() - 1) as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand_core::Rng;
    use rand_pcg::Pcg32;

    use super::*;

    /// Long random histories with thousands of entries, so that buckets are made, halved, joined and used up.
    #[test]
    fn r_000_13_the_queue_agrees_with_a_sorted_set() {
        for (seed, spread) in [(1, 3), (2, 50), (3, 100_000), (4, u32::MAX)] {
            let mut luck = Pcg32::new(seed, 0);
            let (mut queue, mut set) = (Queue::new(), BTreeSet::new());
            let (mut order, mut now) = (Order::MIN, 0);
            for step in 0..300_000_u32 {
                // It grows, shrinks to nothing, and grows again.
                let grows = (step / 40_000) % 2 == 0;
                if luck.next_u32() % 8 < if grows { 5 } else { 2 } {
                    let at = now + u64::from(luck.next_u32() % spread);
                    queue.push(Entry {
                        at,
                        order,
                        slot: step,
                    });
                    set.insert((at, order, step));
                    order = order.checked_add(1).expect("far from the end");
                } else {
                    let popped = queue.pop().map(|entry| (entry.at, entry.order, entry.slot));
                    assert_eq!(popped, set.pop_first());
                    now = popped.map_or(now, |(at, ..)| at);
                }
                if luck.next_u32().is_multiple_of(64) {
                    let doomed = luck.next_u32() % 16;
                    queue.sweep_next(|entry| {
                        let is_kept = entry.slot % 16 != doomed;
                        if !is_kept {
                            assert!(set.remove(&(entry.at, entry.order, entry.slot)));
                        }
                        is_kept
                    });
                }
                assert_eq!(queue.len(), set.len());
                assert_eq!(
                    queue.first().map(|entry| (entry.at, entry.order)),
                    set.first().map(|&(at, order, _)| (at, order))
                );
            }
            let in_use: usize = queue.ranges.len() + queue.spare.len();
            assert_eq!(in_use, queue.buckets.len(), "each bucket is in a range or spare");
        }
    }

    #[test]
    fn r_000_13_equal_deadlines_do_not_make_a_bucket_grow_without_bound() {
        let mut queue = Queue::new();
        let orders = (1..=50_000).filter_map(Order::new);
        orders.clone().for_each(|order| {
            queue.push(Entry {
                at: 7,
                order,
                slot: 0,
            })
        });
        assert!(queue.near.len() <= NEAR_MAX);
        assert!(queue.buckets.iter().all(|bucket| bucket.len() < BUCKET_MAX));
        orders.for_each(|order| assert_eq!(queue.pop().map(|entry| entry.order), Some(order)));
    }

    #[test]
    fn cleared_buckets_are_used_again() {
        let mut queue = Queue::new();
        for _ in 0..3 {
            (1..=10_000).filter_map(Order::new).for_each(|order| {
                queue.push(Entry {
                    at: order,
                    order,
                    slot: 0,
                })
            });
            queue.clear();
            assert_eq!((queue.len(), queue.first()), (0, None));
        }
        assert!(
            queue.buckets.len() < 30,
            "{} buckets for ten thousand entries",
            queue.buckets.len()
        );
    }
}
