//! `replay play`: the pieces of a recording read, played once, and put together for the engine to show.
//!
//! All of it is held in memory, so that any moment is near and no disk is waited for in the loop.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{anyhow, bail, ensure};
use trantor_game::replay::{IndexedPiece, Recording, RecordingEnd};
use trantor_time::{GameSpan, GameTime, NANOS, read_decimal};

use crate::options::Options;
use crate::replay::{for_each_file, pieces_in, read};

/// The most bytes of one recording, unpacked. They are held in memory, with states of [`STATES_BYTES_MAX`] bytes or of
/// twice as many if that is more. At a thousand commands a second it is four days.
const RECORDING_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// Bytes of states that any recording may have: a short one of the largest world has states as near to each other as one
/// of a small world. Pieces share them evenly.
const STATES_BYTES_MAX: usize = 1024 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayCommand {
    pub files: Vec<PathBuf>,
    pub at: PlayFrom,
    pub is_paused: bool,
    /// Whether it is played at the recorded speeds; else at that of the options.
    pub follows_speed: bool,
    /// Where to listen, who may control it, and what else applies to a recording.
    pub options: Options,
}

/// A moment of a recording, as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlayFrom {
    /// Game time, in nanounits.
    Moment(GameTime),
    /// So many thousandths of its length.
    Thousandths(u32),
}

impl Eq for PlayFrom {}

impl PlayFrom {
    /// Reads `1500`, `1500.25` or `40%`; `None` if it is none of these.
    pub fn read(text: &str) -> Option<Self> {
        if let Some(percent) = text.strip_suffix('%') {
            let thousandths = u32::try_from(read_decimal(percent, 1)?).ok()?;
            return (thousandths <= 1_000).then_some(Self::Thousandths(thousandths));
        }
        Some(Self::Moment(GameTime::ZERO + GameSpan::read(text)?))
    }

    /// The time in this recording; one outside is clamped.
    pub fn of(self, recording: &Recording) -> GameTime {
        let (begin, end) = (recording.begin(), recording.end());
        match self {
            Self::Moment(at) => at.clamp(begin, end),
            Self::Thousandths(part) => {
                let length_nu = (end - begin).as_nanounits();
                begin + GameSpan::from_nanounits(length_nu * i128::from(part) / 1_000)
            }
        }
    }
}

/// Reads the recording that `paths` stand for: files of one run, or its directory.
pub fn load(paths: &[PathBuf]) -> anyhow::Result<Arc<Recording>> {
    let files = pieces_in(paths)?;
    check_one_run(&files)?;
    let bytes_read = AtomicU64::new(0);
    let states_bytes_max = STATES_BYTES_MAX / files.len().max(1);
    let pieces = for_each_file(&files, move |path| {
        read_piece(path, &bytes_read, states_bytes_max)
    })?;
    let pieces = in_order(&files, pieces)?;
    let recording =
        Recording::join(pieces).map_err(|error| anyhow!("{error}; see trantor-server replay verify"))?;
    match recording.ends() {
        RecordingEnd::Closed => {}
        RecordingEnd::CutOff(why) => log::info!("the recording ends after its last whole record: {why}"),
        RecordingEnd::Different(divergence) => {
            log::warn!("the recording is shown up to where playing it gives something else: {divergence}");
        }
    }
    Ok(Arc::new(recording))
}

/// A piece, unless it was only begun when its writer was killed.
fn read_piece(
    path: &Path,
    bytes_read: &AtomicU64,
    states_bytes_max: usize,
) -> anyhow::Result<Option<IndexedPiece>> {
    let shown = path.display();
    let bytes = read(path).map_err(|error| anyhow!("{shown}: {error}"))?;
    let before = bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    ensure!(
        before + bytes.len() as u64 <= RECORDING_BYTES_MAX,
        "the recording has more than {RECORDING_BYTES_MAX} bytes; name fewer of its files, which follow each other"
    );
    match IndexedPiece::new(bytes, states_bytes_max) {
        Ok(piece) => Ok(Some(piece)),
        Err(error) if error.is_of_begun() => Ok(None),
        Err(error) => bail!("{shown}: {error}"),
    }
}

/// The pieces, if all can be played; only the last may be one that was only begun.
fn in_order(
    files: &[PathBuf],
    mut pieces: Vec<anyhow::Result<Option<IndexedPiece>>>,
) -> anyhow::Result<Vec<IndexedPiece>> {
    pieces.pop_if(|last| matches!(last, Ok(None)));
    let pieces = pieces.into_iter().zip(files);
    let begun = |file: &Path| anyhow!("{}: nothing was recorded in it", file.display());
    pieces
        .map(|(piece, file)| piece?.ok_or_else(|| begun(file)))
        .collect()
}

/// Each run has a directory of its own; pieces of two do not follow each other.
fn check_one_run(files: &[PathBuf]) -> anyhow::Result<()> {
    let mut runs: Vec<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    runs.dedup();
    if let [_, .., newest] = runs[..] {
        let count = runs.len();
        bail!("these are {count} recordings; name one, as {}", newest.display());
    }
    Ok(())
}

pub(crate) fn described(recording: &Recording) -> String {
    let config = recording.config();
    let units = |at: GameTime| at.as_nanounits() as f64 / NANOS as f64;
    format!(
        "{}x{}, teams {}, units {:.0} to {:.0}, {} marks, seed {}",
        config.size.width(),
        config.size.height(),
        config.teams.join(" "),
        units(recording.begin()),
        units(recording.end()),
        recording.marks().len(),
        config.seed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_units_or_as_a_part() {
        let moment = |nanounits| Some(PlayFrom::Moment(GameTime::from_nanounits(nanounits)));
        assert_eq!(PlayFrom::read("1500"), moment(1_500_000_000_000));
        assert_eq!(PlayFrom::read("0.25"), moment(250_000_000));
        assert_eq!(PlayFrom::read("40%"), Some(PlayFrom::Thousandths(400)));
        assert_eq!(PlayFrom::read("99.9%"), Some(PlayFrom::Thousandths(999)));
        // Beyond any recording there is an end.
        let trillions = moment(99_999_999_999_999_000_000_000);
        assert_eq!(PlayFrom::read("99999999999999"), trillions);
        for wrong in [
            "",
            "-1",
            "1e3",
            "101%",
            "%",
            "1.",
            ".5",
            "1.0000000001",
            "9999999999999999999999999999999999999999",
            "12s",
        ] {
            assert_eq!(PlayFrom::read(wrong), None, "{wrong:?}");
        }
    }
}
