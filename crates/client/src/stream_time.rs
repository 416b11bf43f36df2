//! Stream time: the server instant of the point reached in its messages.
//!
//! Tick marks and updates, and every way in which they can be wrong. Instants are those that travel: microseconds after
//! the connection's reference. Our own clock has no part in this.

use crate::error::ProtocolError;

/// Ticks and stream time of one connection.
#[derive(Clone, Debug)]
pub struct StreamTime {
    period_us: i64,
    /// Number of the next tick, and its instant if none is skipped.
    next: (u64, i64),
    /// Stream time; `None` before the first tick or update.
    now_us: Option<i64>,
    /// The tick whose end mark has not come, with its instant.
    open: Option<(u64, i64)>,
    /// Instants at which no tick ran, of all marks seen.
    skipped: u64,
}

impl StreamTime {
    /// As the hello says. `period_us` is positive.
    pub fn new(period_us: u32, last_tick: Option<(u64, i64)>, next_tick_us: i64) -> Self {
        let period_us = i64::from(period_us);
        let next = last_tick.map_or((0, next_tick_us), |(number, us)| {
            (number.saturating_add(1), us.saturating_add(period_us))
        });
        Self {
            period_us,
            next,
            now_us: None,
            open: None,
            skipped: 0,
        }
    }

    /// A tick begins: stream time is its instant, one period after the last one and those skipped.
    ///
    /// # Errors
    /// If the number does not rise by exactly one, anything leaves its range, the tick before has not ended,
    /// or stream time would not increase.
    pub fn begin(&mut self, number: u64, skipped: u64) -> Result<(), ProtocolError> {
        let (expected, unless_skipped_us) = self.next;
        if self.open.is_some() {
            return Err(ProtocolError::TickNotEnded { number });
        }
        if number != expected {
            return Err(ProtocolError::TickNumber { number, expected });
        }
        let ranges = i64::try_from(skipped).ok().and_then(|skipped| {
            let instant_us = skipped
                .checked_mul(self.period_us)?
                .checked_add(unless_skipped_us)?;
            let next = (number.checked_add(1)?, instant_us.checked_add(self.period_us)?);
            Some((instant_us, next))
        });
        let (instant_us, next) = ranges.ok_or(ProtocolError::TickRange)?;
        self.update(instant_us)?;
        self.next = next;
        self.open = Some((number, instant_us));
        self.skipped = self.skipped.saturating_add(skipped);
        Ok(())
    }

    /// The tick is complete. Returns its instant, in microseconds after the reference.
    ///
    /// # Errors
    /// If it is not the one that began.
    pub fn end(&mut self, number: u64) -> Result<i64, ProtocolError> {
        let ended = self.open.take_if(|(open, _)| *open == number);
        ended
            .map(|(_, instant_us)| instant_us)
            .ok_or(ProtocolError::TickNotBegun { number })
    }

    /// The server sent stream time itself.
    ///
    /// # Errors
    /// If it does not increase: an update that changes nothing is not sent.
    pub fn update(&mut self, to_us: i64) -> Result<(), ProtocolError> {
        match self.now_us {
            Some(from_us) if to_us <= from_us => Err(ProtocolError::StreamTimeBack { from_us, to_us }),
            _ => {
                self.now_us = Some(to_us);
                Ok(())
            }
        }
    }

    /// Length of a tick in microseconds.
    pub fn period_us(&self) -> i64 {
        self.period_us
    }

    /// Instants at which no tick ran, since we joined.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}
