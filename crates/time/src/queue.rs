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
//! A push finds its range by binary search and appends; a bucket that is full is cut about its median. What a call
//! costs is O(log n) taken together; what a single one may have to move grows with the square root of what is
//! pending, some thousand small entries of a million: none goes through everything. The order is that
//! of (deadline, registration), which is total, so a bucket of equal deadlines can be halved like any other.
//!
//! What an entry stands for, and whether it still stands for anything, is the owner's to know.

use std::cmp::Ordering;

use crate::deadlines::TimerId;
use crate::units::RealTime;

/// A deadline, the number of its registration, and the item that is due then. The order of entries is that of
/// (deadline, registration), which is total: no two have the same number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) at: RealTime,
    pub(crate) order: u64,
    pub(crate) id: TimerId,
}

/// Dead entries that are always kept: sweeping a few costs more than it frees.
pub(crate) const DEAD_MIN: usize = 64;

/// Entries at which a bucket is halved, at first. Larger ones make the list of ranges shorter and each halving
/// dearer; from 512 to 2,048 the difference is a few per cent. Where there are more ranges than this, it is doubled:
/// then both what a halving moves and the list of ranges grow with the square root of what is pending.
const BUCKET_MAX: usize = 1024;

/// Entries at which the near run is cut. Pushing into it moves what is earlier: 3 KiB on average.
const NEAR_MAX: usize = 256;

/// Entries among which a median is guessed: within a quarter of the middle in 96 of 100 cases.
const SAMPLE: usize = 15;

/// Deadlines that are not in the ring of a wheel.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// All entries before the first range, sorted, the earliest last. Never empty while anything is queued.
    near: Vec<Entry>,
    /// What is later, the first range last: the end of a vector is where taking and adding are cheap.
    ranges: Vec<Range>,
    buckets: Vec<Vec<Entry>>,
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
struct Range {
    at: RealTime,
    order: u64,
    bucket: u32,
}

impl Default for Queue {
    fn default() -> Self {
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
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The earliest entry.
    pub(crate) fn first(&self) -> Option<&Entry> {
        self.near.last()
    }

    /// Takes the earliest entry. Those for which `is_kept` answers no are dead: none of them is first afterwards.
    pub(crate) fn pop(&mut self, is_kept: impl FnMut(&Entry) -> bool) -> Option<Entry> {
        let first = self.near.pop()?;
        self.len -= 1;
        self.drop_dead_firsts(is_kept);
        Some(first)
    }

    /// Drops `dead` if it comes first, and what is dead behind it.
    pub(crate) fn drop_if_first(&mut self, dead: &Entry, is_kept: impl FnMut(&Entry) -> bool) {
        if self.first().is_some_and(|first| first.order == dead.order) {
            self.drop_dead_firsts(is_kept);
        }
    }

    fn drop_dead_firsts(&mut self, mut is_kept: impl FnMut(&Entry) -> bool) {
        while self.near.pop_if(|first| !is_kept(first)).is_some() {
            self.len -= 1;
        }
        self.refill_near(is_kept);
    }

    /// Drops the entries of one bucket that are not to be kept, and joins it to its neighbour if little is left.
    /// Called again and again, it goes through all buckets and the near run in turn.
    pub(crate) fn sweep_next(&mut self, mut is_kept: impl FnMut(&Entry) -> bool) {
        let Some(&Range { bucket, .. }) = self.ranges.get(self.swept) else {
            self.swept = 0;
            let before = self.near.len();
            self.near.retain(&mut is_kept);
            self.len -= before - self.near.len();
            self.refill_near(is_kept);
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

    fn push_near(&mut self, entry: Entry) {
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

    /// Makes two ranges of one. `cut` moves earlier entries from the first vector to the second, which is empty, and
    /// answers which of those left is the first.
    fn split(&mut self, index: usize, cut: impl FnOnce(&mut Vec<Entry>, &mut Vec<Entry>) -> Entry) {
        let bucket = self.spare_bucket();
        let mut earlier = std::mem::take(&mut self.buckets[bucket as usize]);
        let range = &mut self.ranges[index];
        let start = Range { bucket, ..*range };
        let first = cut(&mut self.buckets[range.bucket as usize], &mut earlier);
        (range.at, range.order) = first.key();
        self.buckets[bucket as usize] = earlier;
        self.ranges.insert(index + 1, start);
    }

    /// If nothing is near, makes the first range the near future, or as much of it as is near.
    ///
    /// The dead are dropped here rather than when they come first: to look up a whole run at once lets the memory
    /// answer many questions at a time. Asked for one by one they would be waited for one by one.
    fn refill_near(&mut self, mut is_kept: impl FnMut(&Entry) -> bool) {
        while self.near.is_empty()
            && let Some(range) = self.ranges.last()
        {
            if self.buckets[range.bucket as usize].len() > NEAR_MAX {
                self.split(self.ranges.len() - 1, cut_about_median);
                continue;
            }
            let bucket = range.bucket;
            self.ranges.pop();
            self.near.append(&mut self.buckets[bucket as usize]);
            let before = self.near.len();
            self.near.retain(&mut is_kept);
            self.len -= before - self.near.len();
            self.near.sort_unstable();
            self.spare.push(bucket);
        }
    }

    /// A bucket in no range. When there is none, an eighth more are made, as a vector grows: how many are in use goes up
    /// and down by chance, and a new highest number now and then is no reason to ask for memory.
    fn spare_bucket(&mut self) -> u32 {
        if self.spare.is_empty() {
            let (held, more) = (self.buckets.len(), self.buckets.len() / 8 + 1);
            self.buckets
                .extend((0..more).map(|_| Vec::with_capacity(BUCKET_MAX)));
            self.spare.reserve(self.buckets.len());
            self.spare
                .extend((held..held + more).rev().map(|bucket| bucket as u32));
        }
        self.spare.pop().expect("some were made")
    }
}

impl Queue {
    pub(crate) fn push(&mut self, entry: Entry) {
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
                    self.split(later, cut_about_median);
                    if self.ranges.len() > self.bucket_max {
                        self.bucket_max *= 2;
                    }
                }
            }
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        self.first().map(|first| first.at)
    }

    pub(crate) fn pop_due(&mut self, now: RealTime, is_live: impl Fn(&Entry) -> bool) -> Option<Entry> {
        if self.first()?.at > now {
            return None;
        }
        self.pop(is_live)
    }
}

impl Entry {
    fn key(&self) -> (RealTime, u64) {
        (self.at, self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

/// What comes later is less: sorted, the earliest entry is last.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        // Sorting asks this most. Without a branch, since which of two comes first cannot be predicted.
        (other.at < self.at) | ((other.at == self.at) & (other.order < self.order))
    }
}

/// Moves the earlier half away.
fn cut_at_median(entries: &mut Vec<Entry>, earlier: &mut Vec<Entry>) -> Entry {
    let middle = entries.len() / 2;
    entries.select_nth_unstable(middle);
    earlier.extend(entries.drain(middle + 1..));
    entries[middle]
}

/// Moves about the earlier half away, in one pass. Any part between an eighth and seven of them will do.
fn cut_about_median(entries: &mut Vec<Entry>, earlier: &mut Vec<Entry>) -> Entry {
    let len = entries.len();
    let mut sample: [_; SAMPLE] = std::array::from_fn(|index| entries[index * len / SAMPLE]);
    sample.sort_unstable();
    let first = sample[SAMPLE / 2];
    earlier.resize(len, first);
    let (mut kept, mut moved) = (0, 0);
    for index in 0..len {
        // Written to both sides and counted on one: a branch would be guessed wrong every other time.
        let entry = entries[index];
        (entries[kept], earlier[moved]) = (entry, entry);
        let is_earlier = first < entry;
        kept += usize::from(!is_earlier);
        moved += usize::from(is_earlier);
    }
    entries.truncate(kept);
    earlier.truncate(moved);
    if kept.min(moved) < len / 8 {
        // The sample was a bad one. Where such a thing repeats itself, exactness bounds what it costs.
        entries.append(earlier);
        return cut_at_median(entries, earlier);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_guessed_badly_is_taken_exactly() {
        let len = 1_000;
        let mut entries: Vec<_> = (0..len as u64)
            .map(|order| Entry {
                at: RealTime::ZERO,
                order,
                id: TimerId::default(),
            })
            .collect();
        // The sample holds the latest of all.
        for index in 0..SAMPLE {
            entries[index * len / SAMPLE].at = RealTime::from_nanos(1);
        }
        let mut earlier = Vec::new();
        let first = cut_about_median(&mut entries, &mut earlier);
        assert_eq!((entries.len(), earlier.len()), (501, 499));
        assert_eq!(entries.iter().max(), Some(&first));
        assert!(earlier.iter().all(|entry| *entry > first));
    }

    #[test]
    fn buckets_stay_small_and_are_used_again() {
        let mut queue = Queue::default();
        for at in [7, 8, 9] {
            (0..50_000).for_each(|order| {
                queue.push(Entry {
                    at: RealTime::from_nanos(at),
                    order,
                    id: TimerId::default(),
                })
            });
            assert!(queue.near.len() <= NEAR_MAX);
            assert!(queue.buckets.iter().all(|bucket| bucket.len() < BUCKET_MAX));
            assert!(queue.buckets.len() < 150, "{} buckets", queue.buckets.len());
            while queue.pop_due(RealTime::MAX, |_| true).is_some() {}
            assert_eq!((queue.len(), queue.first()), (0, None));
        }
    }
}
