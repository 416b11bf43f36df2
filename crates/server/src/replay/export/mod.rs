//! `replay export`: all that happened, an event a line, as JSON with flat fields for tables (`pandas.read_json(…,
//! lines=True)`).
//!
//! The names of fields and events are a promise to scripts, kept in `docs/replay-events.md`: they change with a line in the
//! changelog.

mod values;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use trantor_game::replay::Replayed;
use trantor_game::{Replay, Stamp};
use trantor_runtime::standard_error;
use trantor_time::GameTime;

use self::values::{event_value, input_value};
use super::outcome::{Checked, Outcome};
use super::{Worst, line, piece_file};
use crate::options::PROGRAM;
use crate::store::PIECE;

/// Everything recorded lies before it.
const END_OF_TIME: GameTime = GameTime::from_nanounits(i128::MAX);

/// Tells all `files`, of which some were `named` one by one. What `verify` would say of one that is not whole and good is
/// said on standard error.
pub(super) fn run(files: &[PathBuf], named: &[PathBuf]) -> io::Result<Worst> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut worst = Worst::Good;
    let mut before: Option<Checked> = None;
    for file in files {
        let outcome = match piece_file::read(file) {
            Ok(bytes) => tell(bytes, &run_of(file), &mut out)?,
            Err(error) => Outcome::Unreadable(error.to_string()),
        };
        let mut checked = Checked::new(file.clone(), outcome);
        checked.look_back(before.as_ref(), named);
        worst = worst.max(checked.outcome.worst());
        if !checked.outcome.is_whole() {
            let what = checked.outcome.in_words();
            standard_error::say(format_args!("{PROGRAM}: {}: {what}", file.display()));
        }
        before = Some(checked);
    }
    out.flush()?;
    Ok(worst)
}

/// What the lines of a file have as their run: the directory of its pieces, or the file itself.
fn run_of(file: &Path) -> String {
    let is_piece = file
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(PIECE));
    let run = match file.parent() {
        Some(run) if is_piece && run != Path::new("") => run,
        _ => file,
    };
    run.to_string_lossy().into_owned()
}

/// Tells the piece in `bytes`, as far as it can be played.
pub fn export_bytes(bytes: impl Into<Arc<[u8]>>, out: &mut impl Write) -> io::Result<()> {
    tell(bytes, "", out).map(drop)
}

fn tell(bytes: impl Into<Arc<[u8]>>, run: &str, out: &mut impl Write) -> io::Result<Outcome> {
    let mut replay = match Replay::open(bytes) {
        Ok(replay) => replay,
        Err(error) => return Ok(Outcome::of_unopened(&error)),
    };
    let begins = replay.game.snapshot().digest();
    loop {
        let replayed = match replay.step(END_OF_TIME) {
            Ok(Some(replayed)) => replayed,
            Ok(None) => return Ok(Outcome::of_rest(replay, begins)),
            Err(divergence) => return Ok(Outcome::Different(divergence)),
        };
        let stamp = Stamp {
            steps: replay.game.steps(),
            at: replay.game.now(),
        };
        if let Replayed::Input(input) = &replayed {
            let value = input_value(&replay.game, input);
            line(out, &stamped(value, stamp, run))?;
        }
        while let Some(event) = replay.game.poll_event() {
            let value = event_value(&replay.game, &event);
            line(out, &stamped(value, stamp, run))?;
        }
    }
}

fn stamped(mut value: Value, stamp: Stamp, run: &str) -> Value {
    value["units"] = stamp.at.as_units_f64().into();
    value["deadlines"] = stamp.steps.into();
    value["run"] = run.into();
    value
}
