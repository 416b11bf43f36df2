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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_time_is_sent_once_and_only_if_it_changes() {
        let mut stream = StreamTime::default();
        assert_eq!(stream.before_event(100, 50_000), Some(100));
        assert_eq!(stream.before_event(100, 50_000), None);
        assert_eq!(stream.before_event(99, 50_000), None);
        assert_eq!(stream.before_event(101, 50_000), Some(101));
        stream.at_tick(50_000);
        assert_eq!(stream.before_event(50_000, 100_000), None);
        assert_eq!(stream.before_event(50_001, 100_000), Some(50_001));
    }

    #[test]
    fn events_before_a_late_tick_stay_below_it() {
        let mut stream = StreamTime::default();
        stream.at_tick(50_000);
        assert_eq!(stream.before_event(180_000, 100_000), Some(99_999));
        assert_eq!(stream.before_event(190_000, 100_000), None);
        stream.at_tick(150_000);
        assert_eq!(stream.before_event(190_000, 200_000), Some(190_000));
    }
}
