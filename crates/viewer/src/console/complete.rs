//! Completion: what the word that is being typed could become.

use super::words::{Slot, WORDS};
use crate::input::Action;

/// Names that exist only in the running program.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Names of systems.
    pub systems: Vec<&'static str>,
    /// Numbers of timers.
    pub timers: Vec<u64>,
    /// Names of published values.
    pub values: Vec<String>,
}

/// What became of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The line, completed as far as it is certain.
    pub line: String,
    /// What could stand there, if that is more than one.
    pub choices: Vec<String>,
}

/// Completes the last word of `line`.
pub fn complete(line: &str, vocabulary: &Vocabulary) -> Completion {
    let begun = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    let before = &line[..line.len() - begun.len()];
    let mut words = before.split_whitespace();
    let choices: Vec<String> = match words.next() {
        None => WORDS.iter().map(|word| word.name.to_owned()).collect(),
        Some(first) => {
            let word = WORDS.iter().find(|word| word.name == first);
            let slot = word.and_then(|word| word.slots.get(words.count()));
            slot.map_or_else(Vec::new, |slot| slot.choices(vocabulary))
        }
    };
    let mut fitting: Vec<String> = choices
        .into_iter()
        .filter(|choice| choice.starts_with(begun))
        .collect();
    match fitting.as_slice() {
        [] => Completion {
            line: line.to_owned(),
            choices: Vec::new(),
        },
        [only] => Completion {
            line: format!("{before}{only} "),
            choices: Vec::new(),
        },
        [first, rest @ ..] => {
            let shared = rest.iter().fold(first.len(), |shared, other| {
                let same = first
                    .bytes()
                    .zip(other.bytes())
                    .take_while(|(one, two)| one == two);
                shared.min(same.count())
            });
            let line = format!("{before}{}", first.get(..shared).unwrap_or(begun));
            fitting.sort_unstable();
            Completion {
                line,
                choices: fitting,
            }
        }
    }
}

impl Slot {
    fn choices(self, vocabulary: &Vocabulary) -> Vec<String> {
        match self {
            Self::System => vocabulary.systems.iter().map(|&name| name.to_owned()).collect(),
            Self::Command => WORDS.iter().map(|word| word.name.to_owned()).collect(),
            Self::Action => Action::ALL.iter().map(|action| action.name()).collect(),
            Self::Timer => vocabulary.timers.iter().map(u64::to_string).collect(),
            Self::Value => vocabulary.values.clone(),
            Self::OneOf(words) => words.iter().map(|&word| word.to_owned()).collect(),
            Self::Anything => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str) -> (String, Vec<String>) {
        let vocabulary = Vocabulary {
            systems: vec!["input", "interpolation", "hud"],
            timers: vec![7],
            values: vec!["loop.passes_count".into(), "loop.frames_count".into()],
        };
        let Completion { line, choices } = complete(line, &vocabulary);
        (line, choices)
    }

    #[test]
    fn a_word_is_completed_as_far_as_it_is_certain() {
        assert_eq!(completed("sp"), ("speed ".into(), vec![]));
        assert_eq!(completed("speed m"), ("speed max ".into(), vec![]));
        assert_eq!(completed("rate h"), ("rate hud ".into(), vec![]));
        assert_eq!(
            completed("rate i"),
            ("rate in".into(), vec!["input".into(), "interpolation".into()])
        );
        assert_eq!(completed("rate hud unc"), ("rate hud uncapped ".into(), vec![]));
        assert_eq!(completed("cancel "), ("cancel 7 ".into(), vec![]));
        assert_eq!(completed("values l").0, "values loop.");
        assert_eq!(completed("help lo"), ("help log ".into(), vec![]));
        assert_eq!(completed("bind hea"), ("bind heat-map ".into(), vec![]));
    }

    #[test]
    fn what_cannot_be_completed_stays() {
        for line in ["", "xyz", "pause ", "remind 5 lo", "speed 1"] {
            assert_eq!(completed(line).0, line, "{line:?}");
        }
        assert_eq!(completed("").1.len(), WORDS.len(), "nothing typed: all of them");
    }
}
