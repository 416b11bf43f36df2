//! What happens when a callback fails: contained and counted, or the end of the loop.
//!
//! A callback fails by panicking or by returning an error; both take the same way. The first failure is kept for
//! ever beside the count, so that a later one never hides it. Nothing is swallowed: each is logged.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

/// What a callback answers. Any error will do, also a plain text: it becomes a message in the log at once.
pub type CallbackResult = Result<(), Box<dyn Error>>;

/// What a loop does about a failing callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPolicy {
    /// Count it, log it, go on: for callbacks, handlers and scripts of the program.
    #[default]
    Contain,
    /// End the loop with the failure: for parts whose state could then no longer be trusted.
    FailFast,
}

/// A failure of one callback.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} failed: {message}")]
pub struct Fault {
    /// What failed: the name of a handler, timer, system or job.
    pub place: String,
    /// What it said.
    pub message: String,
}

/// The failures of one loop: how many, and the first and last of them.
#[derive(Debug, Default)]
pub struct Faults {
    policy: FaultPolicy,
    count: u64,
    first: Option<Fault>,
    last: Option<Fault>,
    fatal: bool,
}

impl Faults {
    /// No failures yet, and `policy` for those that come.
    pub fn new(policy: FaultPolicy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }

    /// Runs `callback`, named `place`, and answers its value, or `None` if it failed.
    ///
    /// A panic is caught under both policies; under [`FaultPolicy::FailFast`] the loop ends in good order
    /// afterwards, with [`Self::fatal`] as its reason. State that `callback` left half changed is its owner's to
    /// judge: a program whose state cannot stand that asks for fail fast.
    pub fn guard<T, E: fmt::Display>(
        &mut self,
        place: &str,
        callback: impl FnOnce() -> Result<T, E>,
    ) -> Option<T> {
        caught(callback).map_err(|message| self.note(place, message)).ok()
    }

    /// Counts a failure that was noticed elsewhere, on a worker thread for instance.
    pub fn note(&mut self, place: &str, message: String) {
        let fault = Fault {
            place: place.to_owned(),
            message,
        };
        log::error!("{fault}");
        self.count += 1;
        self.fatal |= self.policy == FaultPolicy::FailFast;
        if self.first.is_none() {
            self.first = Some(fault.clone());
        }
        self.last = Some(fault);
    }

    /// Failures so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first failure.
    pub fn first(&self) -> Option<&Fault> {
        self.first.as_ref()
    }

    /// The latest failure.
    pub fn last(&self) -> Option<&Fault> {
        self.last.as_ref()
    }

    /// The failure that must end the loop, if one did: the first, under [`FaultPolicy::FailFast`].
    pub fn fatal(&self) -> Option<&Fault> {
        self.first.as_ref().filter(|_| self.fatal)
    }
}

/// Runs `callback` and answers its value, or what it said when it failed or panicked.
///
/// # Errors
/// With the message of the error or panic.
pub fn caught<T, E: fmt::Display>(callback: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match panic::catch_unwind(AssertUnwindSafe(callback)) {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(panic) => Err(panic_message(&*panic)),
    }
}

/// What a panic said, as far as it was text.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_never_hidden_by_a_later_one() {
        let mut faults = Faults::new(FaultPolicy::Contain);
        assert_eq!(faults.guard("fine", || Ok::<_, String>(7)), Some(7));
        assert_eq!(faults.guard("hunger", || Err::<(), _>("no food")), None);
        assert_eq!(
            faults.guard("hatch", || -> Result<(), String> { panic!("no {}", "egg") }),
            None
        );
        assert_eq!(faults.count(), 2);
        assert_eq!(faults.first().unwrap().to_string(), "hunger failed: no food");
        assert_eq!(faults.last().unwrap().to_string(), "hatch failed: no egg");
        assert_eq!(faults.fatal(), None);
    }

    #[test]
    fn fail_fast_names_the_failure_that_ends_the_loop() {
        let mut faults = Faults::new(FaultPolicy::FailFast);
        faults.guard("core", || Err::<(), _>("order lost"));
        faults.guard("core", || Err::<(), _>("and again"));
        assert_eq!(faults.fatal().unwrap().message, "order lost");
    }
}
