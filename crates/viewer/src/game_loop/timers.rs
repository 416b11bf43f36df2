//! Timers that the panels and the user ask for.

use trantor_time::{RealSpan, RealTime};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The message on the screen has been there long enough.
    Notice,
    /// The user wants to read this then.
    Reminder(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    pub at: RealTime,
    /// Its number, which no other timer gets.
    pub number: u64,
    pub purpose: Purpose,
}

/// Timers that may run at once; the user's are the only ones that could be many.
const TIMERS_MAX: usize = 256;

#[derive(Debug, Default)]
pub struct Timers {
    running: Vec<Timer>,
    next_number: u64,
}

impl Timers {
    /// Starts a timer that is due when `after` has passed since `now`, and answers its number; `None` if too many run.
    pub fn start(&mut self, purpose: Purpose, after: RealSpan, now: RealTime) -> Option<u64> {
        if self.running.len() == TIMERS_MAX {
            return None;
        }
        let (at, number) = (now.saturating_add(after), self.next_number);
        self.next_number += 1;
        let place = self.running.partition_point(|timer| timer.at <= at);
        self.running.insert(place, Timer { at, number, purpose });
        Some(number)
    }

    pub fn cancel(&mut self, number: u64) -> Option<Timer> {
        let place = self.running.iter().position(|timer| timer.number == number)?;
        Some(self.running.remove(place))
    }

    pub fn cancel_all(&mut self, purpose: &Purpose) {
        self.running.retain(|timer| timer.purpose != *purpose);
    }

    /// Removes the earliest timer that is due at `now`.
    pub fn take_due(&mut self, now: RealTime) -> Option<Timer> {
        let is_due = self.running.first().is_some_and(|timer| timer.at <= now);
        is_due.then(|| self.running.remove(0))
    }

    pub fn running(&self) -> &[Timer] {
        &self.running
    }
}

impl Timer {
    pub fn title(&self) -> String {
        match &self.purpose {
            Purpose::Notice => format!("#{} message goes", self.number),
            Purpose::Reminder(text) => format!("#{} “{text}”", self.number),
        }
    }
}
