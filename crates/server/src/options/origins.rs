//! Which option was said where, and what was said: for `config print`, and to see what a changed file changes.

use std::collections::BTreeMap;

use super::Options;
use super::layers::Said;
use super::settings::{in_file, names, set, set_toml};

/// The options that somebody wrote, by name. What nobody wrote has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<&'static str, Origin>);

/// What was written for one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The value as the file would have it.
    pub value: String,
    /// Where it was written: a file and a line, a variable, a flag.
    pub place: String,
}

impl Origins {
    /// Notes an accepted value. The last one noted counts, as the layers have it.
    pub(crate) fn note(&mut self, name: &'static str, words: &[String], place: impl Into<String>) {
        self.set(name, in_file(name, words), place);
    }

    /// Notes all that a file says.
    pub(crate) fn note_all(&mut self, said: Vec<Said>) {
        for (name, value, place) in said {
            self.set(name, value.to_string(), place);
        }
    }

    /// Notes a value that is already as the file would have it.
    pub(crate) fn set(&mut self, name: &'static str, value: String, place: impl Into<String>) {
        let place = place.into();
        self.0.insert(name, Origin { value, place });
    }

    /// Takes over what `other` has for an option, or that it has nothing.
    pub(crate) fn copy(&mut self, name: &'static str, other: &Self) {
        match other.of(name) {
            Some(origin) => drop(self.0.insert(name, origin.clone())),
            None => drop(self.0.remove(name)),
        }
    }

    /// What was written for an option.
    pub fn of(&self, name: &str) -> Option<&Origin> {
        self.0.get(name)
    }

    /// The options that have another value in `other`, sorted by name. A default that is written out is no other value.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let mut names: Vec<_> = names()
            .filter(|name| self.alone(name) != other.alone(name))
            .collect();
        names.sort_unstable();
        names
    }

    /// The defaults, with this option as it was written.
    fn alone(&self, name: &str) -> Options {
        let mut options = Options::default();
        if let Some(Origin { value, .. }) = self.of(name) {
            let accepted = match value.parse() {
                Ok(value) => set_toml(&mut options, name, &value),
                // A seed may be larger than a file's numbers.
                Err(_) => set(&mut options, name, std::slice::from_ref(value)),
            };
            debug_assert!(accepted.is_ok(), "{name} = {value} was accepted before");
        }
        options
    }
}
