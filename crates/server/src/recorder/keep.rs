//! `--record-keep`: which of the old recordings are removed so that the directory of recordings stays within bounds.
//!
//! Runs that ended go as a whole, the oldest first, so that what is left of others is whole. Of the run being written pieces
//! go, never the last ones ([`PIECES_KEPT`]).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::run;
use crate::options::RecordKeep;

/// Pieces of the run being written that always stay: the one being written, and the one before it, which may be about to be
/// packed.
const PIECES_KEPT: usize = 2;

/// What can be removed at once: a run that ended, or a piece of the one being written.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    bytes: u64,
    /// When something was last written in it.
    written: SystemTime,
    /// Held by a server that records, or needed.
    stays: bool,
}

/// Removes what is too old beside what is written now, or too much, the oldest first; `current` is the run being written.
///
/// # Errors
/// What the system says. What was removed before is gone.
pub(super) fn tidy(keep: RecordKeep, recordings: &Path, current: &Path) -> io::Result<()> {
    // The piece being written is as new as the clock; whether that is right does not matter.
    let Some(now) = pieces_of(current)?.iter().map(|piece| piece.written).max() else {
        return Ok(());
    };
    let mut parts = Vec::new();
    for (_, run) in run::runs_in(recordings)? {
        let pieces = pieces_of(&run)?;
        if run == current {
            let newest = pieces.len().saturating_sub(PIECES_KEPT);
            let places = pieces.into_iter().enumerate();
            parts.extend(places.map(|(place, piece)| Part {
                stays: place >= newest,
                ..piece
            }));
        } else if let Some(written) = pieces.iter().map(|piece| piece.written).max() {
            parts.push(Part {
                bytes: pieces.iter().map(|piece| piece.bytes).sum(),
                written,
                stays: run::is_held(&run),
                path: run,
            });
        }
    }
    let mut bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    for part in parts.iter().filter(|part| !part.stays) {
        let age = now.duration_since(part.written).unwrap_or_default();
        let is_too_old = keep.age.is_some_and(|max| age > max);
        let is_too_much = keep.bytes.is_some_and(|max| bytes > max);
        if !is_too_old && !is_too_much {
            continue;
        }
        remove(&part.path)?;
        bytes -= part.bytes;
        let why = if is_too_old { "age" } else { "bytes" };
        log::info!(
            "{}: removed, beyond the {why} of --record-keep",
            part.path.display()
        );
    }
    Ok(())
}

/// The pieces of a run, in order.
fn pieces_of(run: &Path) -> io::Result<Vec<Part>> {
    let mut pieces = Vec::new();
    for entry in fs::read_dir(run)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() && run::is_piece(&entry.path()) {
            pieces.push(Part {
                path: entry.path(),
                bytes: about.len(),
                written: about.modified()?,
                stays: false,
            });
        }
    }
    pieces.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(pieces)
}

/// Removes a piece, or a run with its pieces and nothing else that somebody put there.
fn remove(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        return fs::remove_file(path);
    }
    for piece in pieces_of(path)? {
        fs::remove_file(piece.path)?;
    }
    let _has_more = fs::remove_dir(path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    #[test]
    fn the_oldest_go_first_and_what_is_written_stays() {
        let folder = std::env::temp_dir().join(format!("trantor-keep-{}", std::process::id()));
        let _none_left = fs::remove_dir_all(&folder);
        let piece = |run: &str, number: u32, bytes: usize| {
            let run = folder.join(run);
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join(format!("piece-{number:05}.trj.zst")), vec![0; bytes]).unwrap();
        };
        piece("run-0001", 0, 40);
        piece("run-0001", 1, 40);
        piece("run-0002", 0, 40);
        for number in 0..4 {
            piece("run-0003", number, 10);
        }
        fs::write(folder.join("run-0001/notes"), "by hand").unwrap();
        fs::write(folder.join("by-hand.trj"), "not a run").unwrap();
        let current = folder.join("run-0003");
        let left = |keep: RecordKeep| {
            tidy(keep, &folder, &current).unwrap();
            ["run-0001", "run-0002", "run-0003"]
                .map(|run| pieces_of(&folder.join(run)).map_or(0, |all| all.len()))
        };
        let bytes = |bytes| RecordKeep {
            bytes: Some(bytes),
            age: None,
        };
        assert_eq!(left(bytes(160)), [2, 1, 4]);
        // One that is held by another server stays, and what comes after it goes.
        let held = crate::store::lock(&folder.join("run-0002")).unwrap();
        assert_eq!(left(bytes(70)), [0, 1, 3]);
        drop(held);
        assert!(folder.join("run-0001/notes").exists() && folder.join("by-hand.trj").exists());
        assert_eq!(left(bytes(0)), [0, 0, 2]);
        assert!(!folder.join("run-0002").exists());

        piece("run-0002", 0, 40);
        piece("run-0003", 4, 10);
        let old = RecordKeep {
            bytes: None,
            age: Some(WEEK),
        };
        assert_eq!(left(old), [0, 1, 3]);
        for piece in ["run-0002/piece-00000.trj.zst", "run-0003/piece-00002.trj.zst"] {
            let file = fs::File::options().write(true).open(folder.join(piece)).unwrap();
            let written = file.metadata().unwrap().modified().unwrap();
            file.set_modified(written - WEEK - WEEK).unwrap();
        }
        assert_eq!(left(old), [0, 0, 2]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
