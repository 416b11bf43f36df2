//! `replay verify`: every digest of every file, several files at a time.

use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;

use trantor_game::Replay;

use super::outcome::{Checked, Outcome};
use super::parallel::for_each_file;
use super::{Worst, line, piece_file};

/// Plays one piece and compares every digest.
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
    let outcomes = for_each_file(files, |path| match piece_file::read(path) {
        Ok(bytes) => verify_bytes(bytes),
        Err(error) => Outcome::Unreadable(error.to_string()),
    })?;
    let mut checked: Vec<Checked> = Vec::with_capacity(files.len());
    for (file, outcome) in files.iter().cloned().zip(outcomes) {
        let mut one = Checked::new(file, outcome);
        one.look_back(checked.last(), named);
        checked.push(one);
    }
    for place in 0..checked.len() {
        let (until, after) = checked.split_at_mut(place + 1);
        until[place].look_ahead(after.first(), named);
    }
    Ok(checked)
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
