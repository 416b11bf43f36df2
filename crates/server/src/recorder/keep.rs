//! `--record-keep`: which of the old recordings are removed so that the directory of recordings stays within bounds.
//!
//! Runs that ended are removed as a whole, the oldest first, so that what is left of others is whole. Of the run being
//! written pieces are removed, never the last ones ([`PIECES_KEPT`]).

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::run::{self, pieces_of};
use crate::options::RecordKeep;
use crate::store::{Entry, Files};

/// Pieces of the run being written that always stay: the one being written, and the one before it, which may be about to be
/// packed.
const PIECES_KEPT: usize = 2;

/// What can be removed at once: a run that ended, or a piece of the one being written.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    /// Its own path, or those of the pieces of a run.
    pieces: Vec<PathBuf>,
    bytes: u64,
    modified: SystemTime,
    /// Held by a server that records, or needed.
    stays: bool,
}

/// Removes what is too old beside what is written now, or too much, the oldest first; `current` is the run being written.
pub(super) fn tidy(files: &dyn Files, keep: RecordKeep, recordings: &Path, current: &Path) -> io::Result<()> {
    // The piece being written is as new as the clock; whether that is right does not matter.
    let Some(now) = pieces_of(files, current)?
        .iter()
        .map(|piece| piece.modified)
        .max()
    else {
        return Ok(());
    };
    let mut parts = Vec::new();
    for run in run::runs_in(files, recordings)? {
        let pieces = pieces_of(files, &run)?;
        if run == current {
            let newest = pieces.len().saturating_sub(PIECES_KEPT);
            let places = pieces.into_iter().enumerate();
            parts.extend(places.map(|(place, piece)| Part {
                path: piece.path.clone(),
                pieces: vec![piece.path],
                bytes: piece.bytes,
                modified: piece.modified,
                stays: place >= newest,
            }));
        } else if let Some(modified) = pieces.iter().map(|piece| piece.modified).max() {
            parts.push(Part {
                bytes: pieces.iter().map(|piece| piece.bytes).sum(),
                modified,
                stays: run::is_held(files, &run),
                pieces: pieces.into_iter().map(|Entry { path, .. }| path).collect(),
                path: run,
            });
        }
    }
    let mut bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    for part in parts.iter().filter(|part| !part.stays) {
        let age = now.duration_since(part.modified).unwrap_or_default();
        let is_too_old = keep.age.is_some_and(|max| age > max);
        let is_too_much = keep.bytes.is_some_and(|max| bytes > max);
        if !is_too_old && !is_too_much {
            continue;
        }
        for piece in &part.pieces {
            files.remove(piece)?;
        }
        // Other files in it stay, and so does then the directory.
        let _has_more = files.remove_directory(&part.path);
        bytes -= part.bytes;
        let why = if is_too_old { "age" } else { "bytes" };
        log::info!(
            "{}: removed, beyond the {why} of --record-keep",
            part.path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SystemFiles;
    use std::fs;
    use std::time::Duration;

    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    #[test]
    fn the_oldest_go_first_and_what_is_written_stays() {
        let folder = std::env::temp_dir().join(format!("trantor-keep-{}", std::process::id()));
        let _none_left = fs::remove_dir_all(&folder);
        let write = |name: &str, bytes: usize| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![0; bytes]).unwrap();
            path
        };
        let piece =
            |run: u32, number: u32, bytes| write(&format!("run-000{run}/piece-{number:05}.trj.zst"), bytes);
        let by_hand = [write("run-0001/notes", 1), write("by-hand.trj", 1)];
        for (run, number, bytes) in [(1, 0, 40), (1, 1, 40), (2, 0, 40)] {
            piece(run, number, bytes);
        }
        (0..4).for_each(|number| drop(piece(3, number, 10)));
        let left = |bytes: Option<u64>, age: Option<Duration>| {
            let keep = RecordKeep { bytes, age };
            tidy(&SystemFiles, keep, &folder, &folder.join("run-0003")).unwrap();
            ["run-0001", "run-0002", "run-0003"]
                .map(|run| pieces_of(&SystemFiles, &folder.join(run)).map_or(0, |all| all.len()))
        };
        assert_eq!(left(Some(160), None), [2, 1, 4]);
        // One that is held by another server stays, and what comes after it goes.
        let held = crate::store::lock(&SystemFiles, &folder.join("run-0002")).unwrap();
        assert_eq!(left(Some(70), None), [0, 1, 3]);
        drop(held);
        assert!(by_hand.iter().all(|path| path.exists()));
        assert_eq!(left(Some(0), None), [0, 0, 2]);
        assert!(!folder.join("run-0002").exists());

        let old = [piece(2, 0, 40), folder.join("run-0003/piece-00002.trj.zst")];
        piece(3, 4, 10);
        assert_eq!(left(None, Some(WEEK)), [0, 1, 3]);
        for path in old {
            let file = fs::File::options().write(true).open(path).unwrap();
            let written = file.metadata().unwrap().modified().unwrap();
            file.set_modified(written - WEEK - WEEK).unwrap();
        }
        assert_eq!(left(None, Some(WEEK)), [0, 0, 2]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
