//! Back-pressure of one source: how much it may have waiting in the queues into a loop.
//!
//! A source takes a permit for what it puts; the permit travels with the event and is given back when that is taken.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use trantor_time::RealSpan;

/// Unprocessed input that one source may have waiting unless told otherwise.
pub const SOURCE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What one source may have waiting in queues, so that a greedy one feels it itself and no other does.
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

    fn lock(&self) -> MutexGuard<'_, usize> {
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
