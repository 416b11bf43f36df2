//! Panics and errors of callbacks as messages.

use std::any::Any;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

/// A failure of one part of a loop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} failed: {message}")]
pub struct Fault {
    /// What failed.
    pub place: String,
    /// Its error or panic.
    pub message: String,
}

/// Runs `callback` and answers its value, or the message of its error or panic.
///
/// # Errors
/// With that message.
pub fn caught<T, E: fmt::Display>(callback: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match panic::catch_unwind(AssertUnwindSafe(callback)) {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(panic) => Err(panic_message(&*panic)),
    }
}

/// The message of a panic, as far as it was text.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}
