//! What can be registered as a timer, and why it may be refused.

use crate::late::LatePolicy;
use crate::moment::Moment;

/// Longest name in bytes. Names are labels in logs and metrics, and may come from scripts.
pub const NAME_BYTES_MAX: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Repeat<M: Moment> {
    pub(super) period: M::Span,
    pub(super) late_policy: LatePolicy,
}

/// A timer to be registered.
#[derive(Clone, Debug)]
pub struct NewTimer<'a, M: Moment, O, P> {
    pub(super) name: &'a str,
    pub(super) owner: Option<O>,
    first_delay: M::Span,
    pub(super) repeat: Option<Repeat<M>>,
    pub(super) payload: P,
}

/// Why a timer was not registered. A refusal leaves no trace but a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The name is empty.
    #[error("a timer needs a name")]
    NameEmpty,
    /// The name is too long.
    #[error("a timer's name has at most {NAME_BYTES_MAX} bytes, not {len}")]
    NameTooLong {
        /// Bytes in the name.
        len: usize,
    },
    /// A period or delay is zero or negative.
    #[error("a timer's period and delay are positive")]
    NotPositive,
    /// The deadline lies beyond what can be counted.
    #[error("the deadline is out of range")]
    OutOfRange,
    /// As many timers are registered as may be.
    #[error("all {capacity} timers are taken")]
    Full {
        /// How many may be registered.
        capacity: usize,
    },
}

impl<'a, M: Moment, O, P> NewTimer<'a, M, O, P> {
    /// A timer that runs once, after `delay`.
    pub fn once(name: &'a str, delay: M::Span, payload: P) -> Self {
        Self {
            name,
            owner: None,
            first_delay: delay,
            repeat: None,
            payload,
        }
    }

    /// A timer that runs every `period`, first after one period, and coalesces what it misses.
    pub fn every(name: &'a str, period: M::Span, payload: P) -> Self {
        let repeat = Some(Repeat {
            period,
            late_policy: LatePolicy::default(),
        });
        Self {
            name,
            owner: None,
            first_delay: period,
            repeat,
            payload,
        }
    }

    /// The same, with its first run after `delay`; later ones follow by the period.
    pub fn first_after(self, delay: M::Span) -> Self {
        Self {
            first_delay: delay,
            ..self
        }
    }

    /// The same, with another way to make up for missed periods. A one-shot has none to miss.
    pub fn when_late(self, late_policy: LatePolicy) -> Self {
        Self {
            repeat: self.repeat.map(|repeat| Repeat {
                late_policy,
                ..repeat
            }),
            ..self
        }
    }

    /// The same, cancelled when `owner` goes.
    pub fn owned_by(self, owner: O) -> Self {
        Self {
            owner: Some(owner),
            ..self
        }
    }

    /// Its first deadline, counted from `now`, if it may be registered beside `registered` others.
    pub(super) fn deadline(&self, now: M, registered: usize, capacity: usize) -> Result<M, RegisterError> {
        let is_positive = |span| M::span_to_nanos(span) > 0;
        if self.name.is_empty() {
            return Err(RegisterError::NameEmpty);
        }
        if self.name.len() > NAME_BYTES_MAX {
            return Err(RegisterError::NameTooLong { len: self.name.len() });
        }
        if !is_positive(self.first_delay) || self.repeat.is_some_and(|repeat| !is_positive(repeat.period)) {
            return Err(RegisterError::NotPositive);
        }
        if registered >= capacity {
            return Err(RegisterError::Full { capacity });
        }
        now.checked_add(self.first_delay).ok_or(RegisterError::OutOfRange)
    }
}
