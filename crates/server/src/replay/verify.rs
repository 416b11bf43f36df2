//! `replay verify`: every digest of every file, several files at a time.

use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use trantor_game::journal::{Ending, JournalError};
use trantor_game::replay::{Divergence, DivergenceKind, Played};
use trantor_game::{Digest, Replay, Stamp};

use super::files::{self, for_each_file};
use super::{NOTHING_YET, Worst, line};

pub fn verify_bytes(bytes: impl Into<Arc<[u8]>>) -> Outcome {
    let replay = match Replay::open(bytes) {
        Ok(replay) => replay,
        Err(error) => return Outcome::of_unopened(&error),
    };
    let begins = replay.game.snapshot().digest();
    Outcome::of_rest(replay, begins)
}

/// Plays all `files` on as many threads as there are processors. Those that were `named` one by one need not be the first of
/// their run.
pub fn verify_all(files: &[PathBuf], named: &[PathBuf]) -> io::Result<Vec<Checked>> {
    let outcomes = for_each_file(files, |path| match files::read(path) {
        Ok(bytes) => verify_bytes(bytes),
        Err(error) => Outcome::Unreadable(error.to_string()),
    })?;
    Ok(in_their_runs(files.iter().cloned().zip(outcomes), named))
}

/// Compares pieces that were played one by one with those before and after them in their runs. Those that were `named` need
/// not be the first of their run.
pub fn in_their_runs(
    outcomes: impl IntoIterator<Item = (PathBuf, Outcome)>,
    named: &[PathBuf],
) -> Vec<Checked> {
    let mut checked: Vec<Checked> = Vec::new();
    for (file, outcome) in outcomes {
        let mut one = Checked::new(file, outcome);
        one.look_back(checked.last(), named);
        checked.push(one);
    }
    for place in 0..checked.len() {
        let (until, after) = checked.split_at_mut(place + 1);
        until[place].look_ahead(after.first(), named);
    }
    checked
}

/// Checks `files` and prints a line about each. The reader of the lines may stop early; the result counts all the same.
pub(super) fn run(files: &[PathBuf], named: &[PathBuf], as_json: bool) -> io::Result<Worst> {
    let checked = verify_all(files, named)?;
    match tell(&checked, as_json) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(checked.iter().map(Checked::worst).max().unwrap_or(Worst::Good)),
    }
}

fn tell(checked: &[Checked], as_json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for one in checked {
        match as_json {
            true => line(&mut out, &one.to_json())?,
            false => writeln!(out, "{}: {}", one.file.display(), one.in_words())?,
        }
    }
    if checked.len() > 1 && !as_json {
        let count = |worst| checked.iter().filter(|one| one.worst() == worst).count();
        let (unfinished, different) = (count(Worst::Unfinished), count(Worst::Different));
        let (good, unreadable) = (count(Worst::Good) + unfinished, count(Worst::Unreadable));
        let end_marks = match unfinished {
            0 => String::new(),
            _ => format!(" ({unfinished} without an end mark)"),
        };
        let files = checked.len();
        writeln!(
            out,
            "{files} files: {good} agree{end_marks}, {different} differ or are damaged, {unreadable} cannot be played"
        )?;
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub struct Checked {
    pub file: PathBuf,
    pub outcome: Outcome,
    /// Whether the piece says that another one follows, and none does.
    pub is_next_missing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was written whole was played, and every digest agrees. Its end may yet be damaged.
    Played {
        /// Its place in the journal.
        number: u32,
        states: (Digest, Digest),
        played: Played,
        end: Stamp,
        ending: Ending,
    },
    /// It was played until it was not what was recorded.
    Different(Divergence),
    /// It agrees by itself, but does not follow the piece before: why, and the state at the end of that piece and at the
    /// beginning of this one if they differ.
    Misfit(String, Option<(Digest, Digest)>),
    /// Its writer was killed, or is at work, before its head was whole; nothing is lost with it.
    Begun,
    /// It is no piece of a journal that can be played.
    Unplayable(String),
    Unreadable(String),
}

impl Checked {
    pub(super) fn new(file: PathBuf, outcome: Outcome) -> Self {
        Self {
            file,
            outcome,
            is_next_missing: false,
        }
    }

    /// Compares with the piece checked before, if any: the pieces of a run, which are in one directory, must follow each
    /// other. Files that were `named` one by one need not begin with the first of a run.
    pub(super) fn look_back(&mut self, before: Option<&Self>, named: &[PathBuf]) {
        let misfit = match (before.filter(|before| before.is_beside(self)), &self.outcome) {
            (Some(before), here) => misfit(&before.outcome, here),
            (
                None,
                Outcome::Played {
                    number: number @ 1.., ..
                },
            ) if !named.contains(&self.file) => {
                let why = format!("piece {number} is the first that there is of its run");
                Some(Outcome::Misfit(why, None))
            }
            (None, _) => None,
        };
        if let Some(misfit) = misfit {
            self.outcome = misfit;
        }
    }

    /// Notes whether the piece after this one is missing: the last of a run has its end mark.
    pub(super) fn look_ahead(&mut self, after: Option<&Self>, named: &[PathBuf]) {
        let is_last = after.is_none_or(|after| !after.is_beside(self));
        let ending = match &self.outcome {
            Outcome::Played { ending, .. } => Some(*ending),
            _ => None,
        };
        self.is_next_missing = ending == Some(Ending::Continued) && is_last && !named.contains(&self.file);
    }

    fn is_beside(&self, other: &Self) -> bool {
        self.file.parent() == other.file.parent()
    }

    pub(super) fn worst(&self) -> Worst {
        match self.is_next_missing {
            true => Worst::Unfinished,
            false => self.outcome.worst(),
        }
    }

    /// A line for people, after the file's name.
    pub fn in_words(&self) -> String {
        let words = self.outcome.in_words();
        match self.is_next_missing {
            true => format!("{words}; the piece after it is missing"),
            false => words,
        }
    }

    /// A line for scripts.
    pub(super) fn to_json(&self) -> Value {
        let mut value = match &self.outcome {
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
            Outcome::Different(divergence) => json!({
                "record": divergence.record,
                "agreed_records": divergence.agreed,
                "deadlines": divergence.stamp.steps,
                "units": divergence.stamp.at.as_units_f64(),
            }),
            _ => json!({}),
        };
        let digests = match &self.outcome {
            Outcome::Different(Divergence {
                kind:
                    DivergenceKind::Digest {
                        recorded,
                        replayed,
                        parts,
                    },
                ..
            }) => Some((*recorded, *replayed, parts.clone())),
            Outcome::Misfit(_, Some((ended, begins))) => {
                Some((begins.whole, ended.whole, ended.differing(begins)))
            }
            _ => None,
        };
        if let Some((recorded, replayed, parts)) = digests {
            value["recorded"] = hex(recorded).into();
            value["replayed"] = hex(replayed).into();
            value["parts"] = parts.iter().map(|part| format!("{part:?}")).collect();
        }
        value["file"] = self.file.to_string_lossy().into();
        value["ok"] = (self.worst() <= Worst::Unfinished).into();
        value["what"] = self.in_words().into();
        value
    }
}

/// Why a piece does not follow the one before; `None` if it does, or is of another run, as a piece with no greater number
/// is.
fn misfit(before: &Outcome, here: &Outcome) -> Option<Outcome> {
    let torn = || Outcome::Misfit("the piece before is not whole".to_owned(), None);
    match (before, here) {
        (
            Outcome::Played {
                number: first,
                states: (_, ended),
                ending,
                ..
            },
            Outcome::Played {
                number: second,
                states: (begins, _),
                ..
            },
        ) if first < second => {
            if first + 1 != *second {
                let why = format!("piece {second} does not follow piece {first}");
                Some(Outcome::Misfit(why, None))
            } else if !ending.is_in_order() {
                Some(torn())
            } else if ended != begins {
                let why = format!(
                    "it begins with state {}, the piece before ended with {}; different: {:?}",
                    hex(begins.whole),
                    hex(ended.whole),
                    ended.differing(begins)
                );
                Some(Outcome::Misfit(why, Some((*ended, *begins))))
            } else {
                None
            }
        }
        (Outcome::Begun, Outcome::Played { number: 1.., .. } | Outcome::Begun) => Some(torn()),
        _ => None,
    }
}

impl Outcome {
    pub(super) fn of_unopened(error: &JournalError) -> Self {
        match error.is_of_begun() {
            true => Self::Begun,
            false => Self::Unplayable(error.to_string()),
        }
    }

    /// Plays what is left of a piece that began with the state `begins`.
    pub(super) fn of_rest(replay: Replay, begins: Digest) -> Self {
        let number = replay.head.number;
        match replay.verify() {
            Ok(verified) => Self::Played {
                number,
                states: (begins, verified.game.snapshot().digest()),
                played: verified.played,
                end: verified.end,
                ending: verified.ending,
            },
            Err(divergence) => Self::Different(divergence),
        }
    }

    /// Whether all of it was played, to its end.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Played { ending, .. } if ending.is_in_order())
    }

    pub(super) fn worst(&self) -> Worst {
        match self {
            Self::Played { ending, .. } => Worst::of(*ending),
            Self::Begun => Worst::Unfinished,
            Self::Different(_) | Self::Misfit(..) => Worst::Different,
            Self::Unplayable(_) | Self::Unreadable(_) => Worst::Unreadable,
        }
    }

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
            Self::Misfit(why, _) => format!("DIFFERENT: {why}"),
            Self::Begun => NOTHING_YET.to_owned(),
            Self::Unplayable(why) => format!("UNPLAYABLE: {why}"),
            Self::Unreadable(why) => format!("UNREADABLE: {why}"),
        }
    }
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}
