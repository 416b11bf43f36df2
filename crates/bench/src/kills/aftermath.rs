//! Checks of the journal and the saves after a kill.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use trantor_game::journal::{CutShort, Ending};
use trantor_game::replay::roll_forward;
use trantor_game::{Game, Replay};
use trantor_server::autosave::newest_good;
use trantor_server::replay::{Checked, Outcome, pieces_in, read, verify_all};
use trantor_server::store::SystemFiles;
use trantor_time::GameTime;

/// Result of the checks.
#[derive(Debug)]
pub(super) struct Aftermath {
    pub(super) pieces: usize,
    pub(super) records: u64,
    pub(super) is_torn: bool,
    pub(super) is_save_ahead: bool,
    /// Last state on the disk, from which the next server must resume.
    pub(super) end: Game,
}

/// Checks the journal and the saves of a killed server.
pub(super) fn look(journal: &Path, saves: &Path) -> Result<Aftermath> {
    let files = pieces_in(&[journal.to_owned()])?;
    let (mut records, mut last) = (0, None::<(Ending, PathBuf)>);
    for one in verify_all(&files, &[])? {
        if let Some((ending, file)) = last {
            ensure!(ending == Ending::Continued, "{}: {ending:?}", file.display());
        }
        let (played, ending) = played(&one)?;
        records += played;
        last = Some((ending, one.file));
    }
    let (ending, last) = last.context("a journal has pieces")?;
    let is_torn = match ending {
        // It died between two pieces.
        Ending::Continued
        | Ending::CutOff {
            why: CutShort::Nothing,
            ..
        } => false,
        Ending::CutOff {
            why: CutShort::Torn, ..
        } => true,
        Ending::Closed => bail!("{}: it was not ended in order", last.display()),
        Ending::CutOff { why, .. } => bail!("{}: {why}", last.display()),
    };
    let newest = newest_save(saves)?.context("there was a save before the kill")?;
    let (game, loaded) = newest_good(&SystemFiles, saves)?.context("there was a save before the kill")?;
    ensure!(
        loaded == newest,
        "the newest save, {}, does not load",
        newest.display()
    );
    let end = end_of(&files)?;
    // A journal that reaches the save must pass through its state. The process may have died after a save and before it
    // wrote the journal of the same pass.
    let open = |piece: usize| Replay::open(read(&files[piece]).ok()?).ok();
    let rolled = roll_forward(&game, files.len(), open).map_err(anyhow::Error::msg)?;
    if let Some(rolled) = &rolled {
        let is_end = rolled.game.digest() == end.digest();
        ensure!(is_end, "the save rolled forward is not the end of the journal");
    } else {
        let is_ahead = game.steps() >= end.steps();
        ensure!(is_ahead, "the journal passes the save without its state");
    }
    Ok(Aftermath {
        pieces: files.len(),
        records,
        is_torn,
        is_save_ahead: rolled.is_none(),
        end: if rolled.is_some() { end } else { game },
    })
}

/// Checks the journals again after a server resumed from `end` and shut down cleanly.
pub(super) fn look_again(journal: &Path, end: &Game) -> Result<()> {
    let mut last = None;
    for one in verify_all(&pieces_in(&[journal.to_owned()])?, &[])? {
        last = Some((played(&one)?.1, one.file));
    }
    let (ending, file) = last.context("the run that went on has a journal")?;
    ensure!(
        ending == Ending::Closed,
        "{} does not end in order",
        file.display()
    );
    let second = pieces_in(&[journal.join("run-0002")])?;
    let first = second.first().context("the run that went on has a journal")?;
    let mut expected = end.clone();
    expected.release_agents();
    let resumed = Replay::open(read(first)?)?;
    ensure!(
        resumed.game().digest() == expected.digest(),
        "it went on after {} deadlines, and {} were recorded",
        resumed.game().steps(),
        end.steps()
    );
    Ok(())
}

/// The newest save in a folder, valid or not.
pub(super) fn newest_save(saves: &Path) -> Result<Option<PathBuf>> {
    let files = match std::fs::read_dir(saves) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        files => files?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?,
    };
    let is_save = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "trs");
    Ok(files.into_iter().filter(is_save).max())
}

/// Replays of pieces, in order, without empty ones.
pub(super) fn replays(files: &[PathBuf]) -> impl Iterator<Item = Result<Replay>> {
    files
        .iter()
        .filter_map(|file| match read(file).map(Replay::open) {
            Ok(Err(error)) if error.is_of_begun() => None,
            Ok(opened) => Some(opened.map_err(Into::into)),
            Err(error) => Some(Err(error.into())),
        })
}

/// Replays the next deadline; returns whether there was one.
pub(super) fn next_deadline(replay: &mut Replay) -> Result<bool> {
    Ok(replay.step(GameTime::from_nanounits(i128::MAX))?.is_some())
}

/// The game at the end of the journal or at its victory.
fn end_of(files: &[PathBuf]) -> Result<Game> {
    let mut end: Option<Game> = None;
    for replay in replays(files) {
        let mut replay = replay?;
        while replay.game().winner().is_none() && next_deadline(&mut replay)? {
            while replay.poll_event().is_some() {}
        }
        end = Some(replay.game().clone());
        if replay.game().winner().is_some() {
            break;
        }
    }
    end.context("a journal has pieces")
}

/// Records of a piece, and how it ends.
fn played(checked: &Checked) -> Result<(u64, Ending)> {
    let torn = Ending::CutOff {
        whole_bytes: 0,
        why: CutShort::Torn,
    };
    match &checked.outcome {
        Outcome::Played { played, ending, .. } => Ok((played.records, *ending)),
        Outcome::Begun => Ok((0, torn)),
        other => bail!("{}: {other:?}", checked.file.display()),
    }
}
