//! What lies on the disk after a kill, looked at as closely as can be.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use trantor_engine::{Engine, EngineConfig};
use trantor_game::journal::{CutShort, Ending};
use trantor_game::{Game, Replay};
use trantor_server::autosave::newest_good;
use trantor_server::replay::{Checked, Outcome, pieces_in, read, verify_all};
use trantor_time::{GameTime, RealSpan, RealTime};

/// What was found; all of it is as it should be.
#[derive(Debug)]
pub(super) struct Aftermath {
    pub(super) pieces: usize,
    pub(super) records: u64,
    pub(super) is_torn: bool,
    pub(super) was_packing: bool,
    pub(super) was_saving: bool,
    pub(super) is_save_ahead: bool,
    /// The game as far as it is on the disk: where the next server has to go on.
    pub(super) end: Game,
    /// Lines that were received before the kill.
    pub(super) lines: usize,
}

/// How far a resumed game is played with every invariant checked, in units: several of its agents' lives.
const UNITS_AFTER: i64 = 2_000;

/// Looks at the journal and the saves of a server that was killed.
pub(super) fn look(journal: &Path, saves: &Path) -> Result<Aftermath> {
    let files = pieces_in(&[journal.to_owned()])?;
    let checked = verify_all(&files, &[], || {})?;
    let (last, before) = checked.split_last().context("a journal has pieces")?;
    let mut records = 0;
    for one in before {
        let (played, ending) = played(one)?;
        records += played;
        ensure!(ending == Ending::Continued, "{}: {ending:?}", one.file.display());
    }
    let (played, ending) = played(last)?;
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
        Ending::Closed => bail!("{}: nothing ended it", last.file.display()),
        Ending::CutOff { why, .. } => bail!("{}: {why}", last.file.display()),
    };

    let newest = newest_save(saves)?.context("there was a save before the kill")?;
    let (game, loaded) = newest_good(saves)?.context("there was a save before the kill")?;
    ensure!(
        loaded == newest,
        "the newest save, {}, does not load",
        newest.display()
    );
    let is_save_ahead = !passes_through(&files, &game)?;
    let end = match is_save_ahead {
        true => game.clone(),
        false => end_of(&files)?,
    };
    go_on(game)?;
    Ok(Aftermath {
        pieces: files.len(),
        records: records + played,
        is_torn,
        was_packing: has_ending(&run_of(last)?, "zst")? || has_ending(&run_of(last)?, "aside")?,
        was_saving: has_ending(saves, "aside")?,
        is_save_ahead,
        end,
        lines: 0,
    })
}

/// Looks at the journals once more, after the game went on from `end` and was ended in order.
pub(super) fn look_again(journal: &Path, end: &Game) -> Result<()> {
    let files = pieces_in(&[journal.to_owned()])?;
    let checked = verify_all(&files, &[], || {})?;
    for one in &checked {
        played(one)?;
    }
    let first = pieces_in(&[journal.join("run-0002")])?;
    let first = first.first().context("the run that went on has a journal")?;
    let mut expected = end.clone();
    expected.release_agents();
    let resumed = Replay::open(read(first)?)?;
    ensure!(
        resumed.game().digest() == expected.digest(),
        "it went on after {} deadlines, and {} were recorded",
        resumed.game().steps(),
        end.steps()
    );
    let last = checked.last().context("the run that went on has a journal")?;
    ensure!(
        played(last)?.1 == Ending::Closed,
        "{} does not end in order",
        last.file.display()
    );
    Ok(())
}

/// The newest save in a folder, good or not.
pub(super) fn newest_save(saves: &Path) -> Result<Option<PathBuf>> {
    let files = match std::fs::read_dir(saves) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        files => files?,
    };
    let mut newest = None;
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|ending| ending == "trs") {
            newest = newest.max(Some(path));
        }
    }
    Ok(newest)
}

/// The game as the journal ends, or at its victory.
fn end_of(files: &[PathBuf]) -> Result<Game> {
    let mut end = None;
    for file in files {
        let mut replay = match Replay::open(read(file)?) {
            Err(error) if error.is_of_begun() => continue,
            opened => opened?,
        };
        while replay.game().winner().is_none() && replay.step(GameTime::from_nanounits(i128::MAX))?.is_some()
        {
            while replay.poll_event().is_some() {}
        }
        let is_won = replay.game().winner().is_some();
        end = Some(replay.game().clone());
        if is_won {
            break;
        }
    }
    end.context("a journal has pieces")
}

fn played(checked: &Checked) -> Result<(u64, Ending)> {
    match &checked.outcome {
        Outcome::Played { played, ending, .. } => Ok((played.records, *ending)),
        Outcome::Begun => Ok((
            0,
            Ending::CutOff {
                whole_bytes: 0,
                why: CutShort::Torn,
            },
        )),
        other => bail!("{}: {other:?}", checked.file.display()),
    }
}

fn run_of(checked: &Checked) -> Result<PathBuf> {
    Ok(checked
        .file
        .parent()
        .context("a piece lies in a folder")?
        .to_owned())
}

fn has_ending(folder: &Path, ending: &str) -> Result<bool> {
    for file in std::fs::read_dir(folder)? {
        if file?.path().extension().is_some_and(|found| found == ending) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the journal passes through the state that was saved. If it goes as far it must; the process may have died
/// after a save and before it wrote the journal of the same pass, and then it does not.
fn passes_through(files: &[PathBuf], saved: &Game) -> Result<bool> {
    let digest = saved.digest();
    let mut goes_past = false;
    for file in files.iter().rev() {
        let mut replay = match Replay::open(read(file)?) {
            Err(error) if error.is_of_begun() => continue,
            opened => opened?,
        };
        let begins_at = replay.game().steps();
        if begins_at > saved.steps() {
            goes_past = true;
            continue;
        }
        while replay.game().steps() <= saved.steps() {
            let game = replay.game();
            if game.steps() == saved.steps() && game.digest() == digest {
                return Ok(true);
            }
            if replay.step(GameTime::from_nanounits(i128::MAX))?.is_none() {
                break;
            }
        }
        goes_past |= replay.game().steps() > saved.steps();
        // A piece may begin amid the inputs between two deadlines, and the save be of those before it.
        if begins_at < saved.steps() {
            ensure!(
                !goes_past,
                "{}: the journal goes past the save, and not through it",
                file.display()
            );
            return Ok(false);
        }
    }
    bail!("the save is older than the journal")
}

/// Goes on with a game as `--resume` does, every part checked after every deadline.
fn go_on(game: Game) -> Result<()> {
    let until = game.now().whole_units() + i128::from(UNITS_AFTER);
    let config = EngineConfig::new(game.config().clone());
    let mut now = RealTime::ZERO;
    let mut engine = Engine::resume(config, game, now);
    engine.start_recording();
    engine.check();
    let mut journal = Vec::new();
    while engine.game_now().whole_units() < until {
        now = engine
            .poll_timeout()
            .unwrap_or(now + RealSpan::from_secs(1))
            .max(now);
        engine.begin_pass(now);
        while engine.fire_next(now).is_some() {
            engine.check();
            engine.game().check();
        }
        journal.extend(engine.poll_journal().map(|taken| taken.bytes));
    }
    journal.extend(engine.stop_recording().into_iter().map(|taken| taken.bytes));
    let replayed = Replay::open(journal.concat())?.verify()?;
    ensure!(
        replayed.game.digest() == engine.game().digest(),
        "the resumed game and its replay differ"
    );
    Ok(())
}
