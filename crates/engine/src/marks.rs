//! Stream time: the server instant that a viewer attributes to what it reads.
//!
//! A begin mark sets it to the tick's scheduled instant. Between ticks it is sent lazily, just before a
//! message whose stream time would otherwise be wrong. The two must never collide: an event that
//! is processed while a tick is due already, but has not run, is stamped below that tick's instant.

/// The stream time that one viewer holds, in microseconds after its reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamTime {
    told_us: Option<i64>,
}

impl StreamTime {
    /// What to tell the viewer before a message about an event at `event_us`; `None` if it knows already.
    ///
    /// `next_tick_us` is the instant of the next tick that will be marked.
    pub(crate) fn before_event(&mut self, event_us: i64, next_tick_us: i64) -> Option<i64> {
        let instant_us = event_us.min(next_tick_us - 1);
        if self.told_us.is_some_and(|told_us| instant_us <= told_us) {
            return None;
        }
        self.told_us = Some(instant_us);
        Some(instant_us)
    }

    /// The begin mark of a tick at `instant_us` was sent.
    ///
    /// # Panics
    /// If stream time would not increase by it; the clamp above sees to that.
    pub(crate) fn at_tick(&mut self, instant_us: i64) {
        assert!(
            self.told_us.is_none_or(|told_us| told_us < instant_us),
            "stream time increases with every tick"
        );
        self.told_us = Some(instant_us);
    }
}
