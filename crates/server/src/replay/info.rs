//! `replay info`: the head of a piece, and what can be counted without playing it.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use trantor_game::journal::{Ending, Piece, Record};

use super::{NOTHING_YET, Worst, line, piece_file};

pub(super) fn run(files: &[PathBuf], as_json: bool) -> io::Result<Worst> {
    let mut worst = Worst::Good;
    let mut out = io::stdout().lock();
    for file in files {
        let shown = file.to_string_lossy();
        let described = piece_file::read(file)
            .map_err(|error| error.to_string())
            .and_then(|bytes| describe(&bytes));
        let how = described.as_ref().map_or(Worst::Unreadable, |(_, how)| *how);
        worst = worst.max(how);
        match described {
            Ok((mut value, _)) if as_json => {
                value["file"] = shown.into();
                line(&mut out, &value)?;
            }
            Ok((Value::Object(fields), _)) => {
                writeln!(out, "{shown}")?;
                for (name, value) in fields {
                    writeln!(out, "  {name}: {value}")?;
                }
            }
            Ok(_) => {}
            Err(error) => match as_json {
                true => line(&mut out, &json!({ "file": shown, "error": error }))?,
                false => writeln!(out, "{shown}: {error}")?,
            },
        }
    }
    Ok(worst)
}

/// The contents of a piece, and how bad its ending is.
fn describe(bytes: &[u8]) -> Result<(Value, Worst), String> {
    let piece = match Piece::open(bytes) {
        Ok(piece) => piece,
        Err(error) if error.is_of_begun() => {
            let value = json!({ "bytes": bytes.len(), "ending": NOTHING_YET });
            return Ok((value, Worst::Unfinished));
        }
        Err(error) => return Err(error.to_string()),
    };
    let snapshot = piece.snapshot().map_err(|error| error.to_string())?;
    let (mut inputs, mut digests) = (0u64, 0u64);
    let mut end = piece.head().begin;
    let mut entries = piece.entries();
    for entry in entries.by_ref() {
        end = entry.stamp;
        match entry.record {
            Record::Input(_) => inputs += 1,
            Record::Digest(_) | Record::PieceEnd(_) | Record::End(_) => digests += 1,
            Record::Progress => {}
        }
    }
    let ending = entries.ending().expect("the entries are used up");
    let how = Worst::of(ending);
    let ending = match ending {
        Ending::Closed => "closed".to_owned(),
        Ending::Continued => "closed, another piece follows".to_owned(),
        Ending::CutOff { whole_bytes, why } => format!("at byte {whole_bytes}: {why}"),
    };
    let (head, config) = (piece.head(), snapshot.config());
    let value = json!({
        "program": head.program,
        "piece": head.number,
        "begins_units": head.begin.at.as_units_f64(),
        "ends_units": end.at.as_units_f64(),
        "begins_deadlines": head.begin.steps,
        "ends_deadlines": end.steps,
        "width": config.size.width(),
        "height": config.size.height(),
        "teams": config.teams,
        "seed": config.seed,
        "inputs": inputs,
        "digests": digests,
        "bytes": bytes.len(),
        "ending": ending,
    });
    Ok((value, how))
}
