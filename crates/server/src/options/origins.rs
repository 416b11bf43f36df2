//! Which option was said where, and what was said: for `config print`, and to see what a changed file changes.

use std::collections::BTreeMap;

use super::Options;
use super::layers::Said;
use super::settings::{Setting, settings};
use super::written::{Kind, Written};

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
    pub(super) fn note(&mut self, setting: &Setting, written: Written<'_>, place: impl Into<String>) {
        self.set(setting.name, in_file(setting.kind, written), place);
    }

    /// Notes all that a file says.
    pub(super) fn note_all(&mut self, said: Vec<Said>) {
        for (setting, value, place) in said {
            self.note(setting, Written::Toml(&value), place);
        }
    }

    /// Notes a value that is already as the file would have it.
    pub(super) fn set(&mut self, name: &'static str, value: String, place: impl Into<String>) {
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
        let differ = settings().filter(|setting| self.alone(setting) != other.alone(setting));
        let mut names: Vec<_> = differ.map(|setting| setting.name).collect();
        names.sort_unstable();
        names
    }

    /// The defaults, with this option as it was written.
    fn alone(&self, setting: &Setting) -> Options {
        let mut options = Options::default();
        if let Some(Origin { value, .. }) = self.of(setting.name) {
            let stored = match setting.kind {
                // A seed may be larger than a file's numbers.
                Kind::Whole { .. } => {
                    let words = [value.clone()];
                    setting.kind.store(&mut options, Written::Words(&words))
                }
                _ => value
                    .parse()
                    .ok()
                    .and_then(|value| setting.kind.store(&mut options, Written::Toml(&value))),
            };
            debug_assert!(stored.is_some(), "{} = {value} was accepted before", setting.name);
        }
        options
    }
}

/// An accepted value as the file would have it.
fn in_file(kind: Kind, written: Written<'_>) -> String {
    let words = match written {
        Written::Toml(value) => return value.to_string(),
        Written::Words(words) => words,
    };
    let word = words.first().map(String::as_str).unwrap_or_default();
    let quoted = |word: &str| toml::Value::String(word.to_owned()).to_string();
    match kind {
        // `007` is seven here, and nothing at all in a file.
        Kind::Whole { .. } => match word.trim_start_matches('0') {
            "" => "0".to_owned(),
            digits => digits.to_owned(),
        },
        Kind::Switch { words: [yes, _], .. } => (word == yes).to_string(),
        Kind::TeamNames { .. } => {
            let names: Vec<String> = words.iter().map(|name| quoted(name)).collect();
            format!("[{}]", names.join(", "))
        }
        Kind::Choice { .. } | Kind::Address { .. } | Kind::Text { .. } => quoted(word),
    }
}
