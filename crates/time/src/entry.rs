//! What stores queue: a deadline, the number of its registration, and where to find the item.
//!
//! The order of entries is that of (deadline, registration), which is total: no two have the same number.

use std::cmp::Ordering;
use std::num::NonZeroU64;

/// Number of a registration: unique, and greater for later ones. 63 bits last for centuries at any rate.
///
/// The lowest bit says that it waits for the next pass. So an item knows which queue its entry lies in, at no cost in
/// memory, and keeps its place among the others when it is let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(NonZeroU64);

impl Order {
    /// The first one.
    pub(crate) const MIN: Self = Self(NonZeroU64::new(2).expect("two is not zero"));

    /// The number after this one.
    pub(crate) fn next(self) -> Self {
        Self(self.0.checked_add(2).expect("63 bits outlast every process"))
    }

    pub(crate) fn is_deferred(self) -> bool {
        self.0.get() & 1 != 0
    }

    /// The same number, waiting for the next pass or not.
    pub(crate) fn deferred(self, is_deferred: bool) -> Self {
        let number = self.0.get() & !1 | u64::from(is_deferred);
        Self(NonZeroU64::new(number).expect("numbers begin with two"))
    }
}

/// A deadline and where to find what is due then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<K> {
    pub(crate) at: K,
    pub(crate) order: Order,
    pub(crate) slot: u32,
}

impl<K: Copy + Ord> Entry<K> {
    pub(crate) fn key(&self) -> (K, Order) {
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
