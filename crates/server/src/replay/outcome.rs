//! What was found in a piece of a journal that was played, and whether it fits the one before it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trantor_game::journal::{Ending, JournalError};
use trantor_game::replay::{Divergence, DivergenceKind, Played};
use trantor_game::{Digest, Stamp};

use super::{NOTHING_YET, Worst};

/// What became of one file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Which.
    pub file: PathBuf,
    /// What was found.
    pub outcome: Outcome,
    /// Whether the piece says that another one follows, and none does.
    pub is_next_missing: bool,
}

/// What was found in a piece of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was written whole was played, and every digest agrees. Its end may yet be damaged.
    Played {
        /// Its place in the journal.
        number: u32,
        /// The state it begins with and the one it ends with, to be compared with its neighbours.
        states: (Digest, Digest),
        /// How much was played.
        played: Played,
        /// The last stamp.
        end: Stamp,
        /// How it ends.
        ending: Ending,
    },
    /// It was played until it was not what was recorded.
    Different(Divergence),
    /// It agrees by itself, but does not begin with the state that the piece before ended with.
    Seam {
        /// The state that the piece before ended with.
        ended: Digest,
        /// The state that this one begins with.
        begins: Digest,
    },
    /// It agrees by itself, but pieces are missing before it.
    Gap {
        /// The number of the one before; `None` if it is the first that there is.
        first: Option<u32>,
        /// Its own.
        second: u32,
    },
    /// It agrees by itself, but the piece before has no orderly end.
    AfterTorn,
    /// Its writer was killed, or is still at it, before its head was whole; nothing is lost with it.
    Begun,
    /// It is no piece of a journal that can be played.
    Unplayable(String),
    /// It could not be read from its file.
    Unreadable(String),
}

impl Checked {
    /// Takes into account which piece was looked at before this one, if any: those of one run, which lie in one directory,
    /// must follow each other and fit together. `named` are the files that somebody asked for one by one, of which none need be
    /// the first of its run.
    pub(super) fn look_back(&mut self, before: Option<&Self>, named: &[PathBuf]) {
        let before = before.filter(|before| before.file.parent() == self.file.parent());
        let misfit = match (before, &self.outcome) {
            (Some(before), here) => seam(&before.outcome, here),
            (
                None,
                &Outcome::Played {
                    number: second @ 1.., ..
                },
            ) if !named.contains(&self.file) => Some(Outcome::Gap { first: None, second }),
            (None, _) => None,
        };
        if let Some(misfit) = misfit {
            self.outcome = misfit;
        }
    }

    /// Takes into account which piece was looked at after this one, if any. The last of a run has its end mark.
    pub(super) fn look_ahead(&mut self, after: Option<&Self>, named: &[PathBuf]) {
        let is_last = after.is_none_or(|after| after.file.parent() != self.file.parent());
        let is_continued = matches!(
            self.outcome,
            Outcome::Played {
                ending: Ending::Continued,
                ..
            }
        );
        self.is_next_missing = is_continued && is_last && !named.contains(&self.file);
    }

    /// How bad it is.
    pub(super) fn worst(&self) -> Worst {
        match self.is_next_missing {
            true => Worst::Unfinished,
            false => self.outcome.worst(),
        }
    }

    /// A line for people, after the file's name.
    pub(super) fn in_words(&self) -> String {
        let words = self.outcome.in_words();
        match self.is_next_missing {
            true => format!("{words}; the piece after it is missing"),
            false => words,
        }
    }
}

/// What is to be said of a piece because of the one before it; `None` if they fit, or are of two runs, as a piece with no
/// greater number is.
fn seam(before: &Outcome, here: &Outcome) -> Option<Outcome> {
    match (before, here) {
        (
            Outcome::Played {
                number: first,
                states: (_, ended),
                ending,
                ..
            },
            &Outcome::Played {
                number: second,
                states: (begins, _),
                ..
            },
        ) if *first < second => {
            if first + 1 != second {
                Some(Outcome::Gap {
                    first: Some(*first),
                    second,
                })
            } else if !ending.is_in_order() {
                Some(Outcome::AfterTorn)
            } else {
                (*ended != begins).then_some(Outcome::Seam {
                    ended: *ended,
                    begins,
                })
            }
        }
        (Outcome::Begun, Outcome::Played { number: 1.., .. } | Outcome::Begun) => Some(Outcome::AfterTorn),
        _ => None,
    }
}

impl Checked {
    /// A line for scripts.
    pub(super) fn to_json(&self) -> Value {
        let file = file_name(&self.file);
        let is_good = self.worst() <= Worst::Unfinished;
        let mut value = json!({ "file": file, "ok": is_good, "what": self.in_words() });
        let more = match &self.outcome {
            Outcome::Played {
                number,
                played,
                end,
                ending,
                states: (_, state),
            } => json!({
                "piece": number,
                "records": played.records,
                "inputs": played.inputs,
                "digests": played.digests,
                "deadlines": end.steps,
                "units": end.at.as_units_f64(),
                "state": hex(state.whole),
                "closed": ending.is_in_order(),
                "finished": self.worst() != Worst::Unfinished,
                "whole_bytes": match ending {
                    Ending::Closed | Ending::Continued => None,
                    Ending::CutOff { whole_bytes, .. } => Some(whole_bytes),
                },
            }),
            Outcome::Different(divergence) => {
                let mut more = json!({
                    "record": divergence.record,
                    "agreed_records": divergence.agreed,
                    "deadlines": divergence.stamp.steps,
                    "units": divergence.stamp.at.as_units_f64(),
                });
                if let DivergenceKind::Digest {
                    recorded,
                    replayed,
                    parts,
                } = &divergence.kind
                {
                    more["recorded"] = hex(*recorded).into();
                    more["replayed"] = hex(*replayed).into();
                    more["parts"] = parts.iter().map(|part| format!("{part:?}")).collect();
                }
                more
            }
            Outcome::Seam { ended, begins } => json!({
                "recorded": hex(begins.whole),
                "replayed": hex(ended.whole),
                "parts": ended.differing(begins).iter().map(|part| format!("{part:?}")).collect::<Vec<_>>(),
            }),
            Outcome::Gap { .. } | Outcome::AfterTorn => json!({}),
            Outcome::Begun | Outcome::Unplayable(_) | Outcome::Unreadable(_) => json!({}),
        };
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value
    }
}

impl Outcome {
    /// What is to be said of a piece that cannot be opened.
    pub(super) fn of_unopened(error: &JournalError) -> Self {
        match error.is_of_begun() {
            true => Self::Begun,
            false => Self::Unplayable(error.to_string()),
        }
    }

    /// Whether nothing is to be said: all of it was played, to its end.
    pub(super) fn is_whole(&self) -> bool {
        let Self::Played { ending, .. } = self else {
            return false;
        };
        ending.is_in_order()
    }

    /// How bad it is.
    pub(super) fn worst(&self) -> Worst {
        match self {
            Self::Played { ending, .. } => Worst::of(*ending),
            Self::Begun => Worst::Unfinished,
            Self::Different(_) | Self::Seam { .. } | Self::Gap { .. } | Self::AfterTorn => Worst::Different,
            Self::Unplayable(_) | Self::Unreadable(_) => Worst::Unreadable,
        }
    }

    /// A line for people, after the file's name.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Played {
                played, end, ending, ..
            } => {
                let end_of = match ending {
                    Ending::Closed | Ending::Continued => "to its end".to_owned(),
                    Ending::CutOff { whole_bytes, why } => {
                        format!("to its last whole record, at byte {whole_bytes}, where {why}")
                    }
                };
                format!(
                    "agrees {end_of}: {} inputs, {} deadlines, {} digests, {:?}",
                    played.inputs, end.steps, played.digests, end.at
                )
            }
            Self::Different(divergence) => format!("DIFFERENT: {divergence}"),
            Self::Seam { ended, begins } => format!(
                "DIFFERENT: it begins with state {}, the piece before ended with {}; different: {:?}",
                hex(begins.whole),
                hex(ended.whole),
                ended.differing(begins)
            ),
            Self::Gap {
                first: Some(first),
                second,
            } => format!("DIFFERENT: piece {second} does not follow piece {first}"),
            Self::Gap { first: None, second } => {
                format!("DIFFERENT: piece {second} is the first that there is of its run")
            }
            Self::AfterTorn => "DIFFERENT: the piece before is not whole".to_owned(),
            Self::Begun => NOTHING_YET.to_owned(),
            Self::Unplayable(why) => format!("UNPLAYABLE: {why}"),
            Self::Unreadable(why) => format!("UNREADABLE: {why}"),
        }
    }
}

fn file_name(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}
