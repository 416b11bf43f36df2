//! One option's value as somebody wrote it, and the kinds of value there are.
//!
//! A kind checks a value wherever it comes from, and says in one line what it accepts. Which options exist
//! is [`super::settings`]' to say.

use std::collections::BTreeSet;
use std::net::IpAddr;

use trantor_game::GameConfig;
use trantor_protocol::check_team_name;

use super::Options;

/// A value as written, not yet checked.
#[derive(Clone, Copy, Debug)]
pub enum Written<'a> {
    /// Words of the command line or of an environment variable.
    Words(&'a [String]),
    /// A value of the file.
    Toml(&'a toml::Value),
}

/// What an option takes, and where it puts it.
///
/// The range is checked here; `store` may rely on it.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A whole number in `from..=to`.
    Whole {
        /// Least value accepted.
        from: u64,
        /// Greatest value accepted.
        to: u64,
        /// Where it goes.
        store: fn(&mut Options, u64),
    },
    /// Yes or no; `words` are what the command line accepts for them, the file takes booleans.
    Switch {
        /// The word for yes, then the word for no.
        words: [&'static str; 2],
        /// Where it goes.
        store: fn(&mut Options, bool),
    },
    /// One word of a list. `store` is given its place in the list.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// Where it goes.
        store: fn(&mut Options, usize),
    },
    /// One or more different names that a peer can join under: see [`check_team_name`].
    TeamNames {
        /// Where they go.
        store: fn(&mut Options, Vec<String>),
    },
    /// An address of this machine.
    Address {
        /// Where it goes.
        store: fn(&mut Options, IpAddr),
    },
    /// Anything that `store` understands; it answers whether it did.
    Text {
        /// What it understands, to go after "must be".
        accepts: &'static str,
        /// Checks and keeps it.
        store: fn(&mut Options, &str) -> bool,
    },
}

impl Kind {
    /// Checks `written` and puts it into `options`. `None` if it is not accepted; nothing changes then.
    pub fn store(self, options: &mut Options, written: Written<'_>) -> Option<()> {
        match self {
            Self::Whole { from, to, store } => {
                let number = written.whole().filter(|number| (from..=to).contains(number))?;
                store(options, number);
            }
            Self::Switch { words, store } => store(options, written.switch(words)?),
            Self::Choice { words, store } => {
                let word = written.text()?;
                store(options, words.iter().position(|known| *known == word)?);
            }
            Self::TeamNames { store } => {
                let names = written
                    .names()
                    .filter(|names| team_names_fault(names).is_none())?;
                store(options, names);
            }
            Self::Address { store } => store(options, written.text()?.parse().ok()?),
            Self::Text { store, .. } => {
                if !store(options, written.text()?) {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Whether the file has it as text.
    pub fn is_quoted_in_file(self) -> bool {
        matches!(
            self,
            Self::Choice { .. } | Self::Address { .. } | Self::Text { .. }
        )
    }

    /// What is wrong with this very value, where more can be said than what is accepted.
    pub fn fault(self, written: Written<'_>) -> Option<String> {
        match self {
            Self::TeamNames { .. } => team_names_fault(&written.names()?),
            _ => None,
        }
    }

    /// What is accepted from the command line (or, with `in_file`, from the file), to go after "must be".
    pub fn accepts(self, in_file: bool) -> String {
        match self {
            // A file's numbers are signed.
            Self::Whole { from, to, .. } if in_file => {
                format!(
                    "a whole number from {from} to {}",
                    to.min(i64::MAX.unsigned_abs())
                )
            }
            Self::Whole { from, to, .. } => format!("a whole number from {from} to {to}"),
            Self::Switch { .. } if in_file => "true or false".to_owned(),
            Self::Switch { words, .. } => either(&words),
            Self::Choice { words, .. } => either(words),
            Self::TeamNames { .. } if in_file => {
                "a list of different words such as [\"red\", \"blue\"]".to_owned()
            }
            Self::TeamNames { .. } => {
                format!("one or more different words, at most {}", GameConfig::TEAMS_MAX)
            }
            Self::Address { .. } => {
                "an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1".to_owned()
            }
            Self::Text { accepts, .. } => accepts.to_owned(),
        }
    }
}

impl<'a> Written<'a> {
    fn text(self) -> Option<&'a str> {
        match self {
            Self::Words([word]) => Some(word),
            Self::Words(_) => None,
            Self::Toml(value) => value.as_str(),
        }
    }

    /// Digits only: a sign, a space or a fraction is somebody's mistake and is better told than guessed at.
    fn whole(self) -> Option<u64> {
        match self {
            Self::Words(_) => {
                let digits = self.text()?;
                digits
                    .bytes()
                    .all(|byte| byte.is_ascii_digit())
                    .then(|| digits.parse().ok())?
            }
            Self::Toml(value) => u64::try_from(value.as_integer()?).ok(),
        }
    }

    fn switch(self, [yes, no]: [&str; 2]) -> Option<bool> {
        match self {
            Self::Words(_) => {
                let word = self.text()?;
                (word == yes || word == no).then_some(word == yes)
            }
            Self::Toml(value) => value.as_bool(),
        }
    }

    fn names(self) -> Option<Vec<String>> {
        match self {
            Self::Words(words) => Some(words.to_vec()),
            Self::Toml(value) => value
                .as_array()?
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect(),
        }
    }
}

/// The value as it was written, for an error message.
impl std::fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Words(words) => f.write_str(&words.join(" ")),
            Self::Toml(value) => value.fmt(f),
        }
    }
}

/// What is wrong with teams of these names, if anything is.
fn team_names_fault(names: &[String]) -> Option<String> {
    if !(1..=GameConfig::TEAMS_MAX).contains(&names.len()) {
        return Some(format!(
            "there are 1 to {} teams, not {}",
            GameConfig::TEAMS_MAX,
            names.len()
        ));
    }
    if let Some(fault) = names.iter().find_map(|name| check_team_name(name).err()) {
        return Some(fault.to_string());
    }
    let mut seen = BTreeSet::new();
    let twice = names.iter().find(|name| !seen.insert(*name))?;
    Some(format!(
        "teams have different names, and {twice:?} stands there twice"
    ))
}

/// `a`, `a or b`, `a, b or c`.
fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
