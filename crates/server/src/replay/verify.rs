//! `replay verify`: every digest of every file, several files at a time.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use trantor_game::journal::Ending;
use trantor_game::replay::{Divergence, DivergenceKind, Played};
use trantor_game::{Digest, Replay, Stamp};

use super::parallel::{for_each_file, progress_bar};
use super::{NOTHING_YET, Worst, line, piece_file};

/// What became of one file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Which.
    pub file: PathBuf,
    /// What was found.
    pub outcome: Outcome,
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
        /// The number of the one before.
        first: u32,
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

/// Plays one piece and compares every digest.
pub fn verify_bytes(bytes: impl Into<Arc<[u8]>>) -> Outcome {
    let replay = match Replay::open(bytes) {
        Ok(replay) => replay,
        Err(error) if error.is_of_begun() => return Outcome::Begun,
        Err(error) => return Outcome::Unplayable(error.to_string()),
    };
    let (number, begin) = (replay.head().number, replay.game().snapshot().digest());
    match replay.verify() {
        Ok(verified) => Outcome::Played {
            number,
            states: (begin, verified.game.snapshot().digest()),
            played: verified.played,
            end: verified.end,
            ending: verified.ending,
        },
        Err(divergence) => Outcome::Different(divergence),
    }
}

/// Plays all `files` on as many threads as there are processors; `done` is told after each.
///
/// # Errors
/// If the system refuses a thread.
pub fn verify_all(files: &[PathBuf], done: impl Fn() + Send + Sync + 'static) -> io::Result<Vec<Checked>> {
    let outcomes = for_each_file(files, move |path| {
        let outcome = match piece_file::read(path) {
            Ok(bytes) => verify_bytes(bytes),
            Err(error) => Outcome::Unreadable(error.why()),
        };
        done();
        outcome
    })?;
    let mut checked: Vec<Checked> = files
        .iter()
        .cloned()
        .zip(outcomes)
        .map(|(file, outcome)| Checked { file, outcome })
        .collect();
    check_seams(&mut checked);
    Ok(checked)
}

/// Pieces of one run, which lie in one directory, must follow each other and fit together.
fn check_seams(checked: &mut [Checked]) {
    for place in 1..checked.len() {
        let (before, here) = (&checked[place - 1], &checked[place]);
        if before.file.parent() == here.file.parent()
            && let Some(outcome) = seam(&before.outcome, &here.outcome)
        {
            checked[place].outcome = outcome;
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
                    first: *first,
                    second,
                })
            } else if *ending != Ending::Closed {
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

/// Checks `files` and prints a line about each.
pub(super) fn run(files: &[PathBuf], as_json: bool) -> io::Result<Worst> {
    let bar = progress_bar(files.len());
    let of_threads = bar.clone();
    let checked = verify_all(files, move || of_threads.inc(1))?;
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    for one in &checked {
        match as_json {
            true => line(&mut out, &one.to_json())?,
            false => writeln!(out, "{}: {}", one.file.display(), one.outcome.in_words())?,
        }
    }
    if checked.len() > 1 && !as_json {
        let count = |worst| checked.iter().filter(|one| one.outcome.worst() == worst).count();
        let (good, different) = (count(Worst::Good), count(Worst::Different));
        let unreadable = count(Worst::Unreadable);
        let files = checked.len();
        writeln!(
            out,
            "{files} files: {good} agree, {different} differ or are damaged, {unreadable} cannot be played"
        )?;
    }
    Ok(checked
        .iter()
        .map(|one| one.outcome.worst())
        .max()
        .unwrap_or(Worst::Good))
}

impl Checked {
    fn to_json(&self) -> Value {
        let file = file_name(&self.file);
        let is_good = self.outcome.worst() == Worst::Good;
        let mut value = json!({ "file": file, "ok": is_good, "what": self.outcome.in_words() });
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
                "closed": *ending == Ending::Closed,
                "whole_bytes": match ending {
                    Ending::Closed => None,
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
    fn worst(&self) -> Worst {
        match self {
            Self::Played { ending, .. } => Worst::of(*ending),
            Self::Begun => Worst::Good,
            Self::Different(_) | Self::Seam { .. } | Self::Gap { .. } | Self::AfterTorn => Worst::Different,
            Self::Unplayable(_) | Self::Unreadable(_) => Worst::Unreadable,
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::Played {
                played, end, ending, ..
            } => {
                let end_of = match ending {
                    Ending::Closed => "to its end".to_owned(),
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
            Self::Gap { first, second } => format!("DIFFERENT: piece {second} does not follow piece {first}"),
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
