//! A save rolled forward by the journal, as `--resume` does it: to the end of the run that passes through the save.

use trantor_game::journal::Ending;
use trantor_game::replay::RolledForward;
use trantor_game::{Game, Replay, replay};

use super::Keeping;
use crate::actors::CheckResult;

impl Keeping {
    /// The game with which a server goes on from the save `name`.
    pub(super) fn roll_forward(&mut self, name: &str, saved: Game) -> Result<Game, String> {
        if saved.winner().is_some() {
            return Ok(saved);
        }
        let mut has_rot = false;
        for run in (1..=self.run).rev() {
            let folder = format!("run-{run:04}/");
            let mut pieces = self.disk.names(".trj");
            pieces.retain(|piece| piece.starts_with(&folder));
            let is_rotten = pieces.iter().any(|piece| self.rotten.contains(piece));
            // Where the run of the save cannot be read, an earlier run that passes through the same state is played.
            has_rot |= is_rotten;
            match replay::roll_forward(&saved, pieces.len(), |place| self.open(&pieces[place])) {
                Ok(Some(rolled)) => {
                    if rolled.game.winner().is_none() && !is_rotten {
                        self.check_rolled(&rolled, &pieces)?;
                    }
                    let is_ahead = rolled.game.steps() > saved.steps();
                    self.reached.count("saves rolled forward", u64::from(is_ahead));
                    let last = self.open(&pieces[rolled.piece]);
                    let is_over_seam = last.is_some_and(|last| last.game().steps() > saved.steps());
                    self.reached
                        .count("saves rolled forward over pieces", u64::from(is_over_seam));
                    if !has_rot {
                        self.check_synced(name, &rolled.game)?;
                    }
                    return Ok(rolled.game);
                }
                Err(_) if is_rotten => {}
                Err(why) => return Err(format!("{name} is not rolled forward: {why}")),
                Ok(None) if is_rotten || self.saved.get(name).is_none_or(|saved| saved.run != run) => {}
                Ok(None) => {
                    self.check_not_in(&saved, &pieces)?;
                    if !has_rot {
                        self.check_synced(name, &saved)?;
                    }
                }
            }
        }
        Ok(saved)
    }

    /// `None` for a piece whose head was not on the disk.
    fn open(&self, piece: &str) -> Option<Replay> {
        Replay::open(self.disk.read(piece)?).ok()
    }

    /// A save was rolled forward to the end of its run.
    fn check_rolled(&self, rolled: &RolledForward, pieces: &[String]) -> CheckResult {
        let (piece, rolled, ending) = (rolled.piece, &rolled.game, rolled.ending);
        let replay = self.open(&pieces[piece]).ok_or("a save was rolled to nothing")?;
        let next = replay.head().number + 1;
        let mut later = pieces[piece + 1..].iter().filter_map(|piece| self.open(piece));
        if ending == Some(Ending::Continued) && later.any(|later| later.head().number == next) {
            return Err(format!(
                "a save was rolled forward to the end of piece {piece} only"
            ));
        }
        let end = replay.verify().map_err(|error| error.to_string())?.game;
        match end.digest() == rolled.digest() {
            true => Ok(()),
            false => Err(format!(
                "a save was rolled forward to step {}, {} goes to {}",
                rolled.steps(),
                pieces[piece],
                end.steps()
            )),
        }
    }

    /// The game that goes on from a save of the last run has come as far as the journal was synced.
    fn check_synced(&self, name: &str, game: &Game) -> CheckResult {
        let is_of_last_run = self.saved.get(name).is_some_and(|saved| saved.run == self.run);
        match is_of_last_run && game.winner().is_none() && game.steps() < self.synced_steps {
            true => Err(format!(
                "the game goes on from step {} of {name}, and the journal was synced until {}",
                game.steps(),
                self.synced_steps
            )),
            false => Ok(()),
        }
    }

    /// No piece of a run goes past the save, which was made in that run.
    fn check_not_in(&self, saved: &Game, pieces: &[String]) -> CheckResult {
        let is_first_there = pieces.first().is_some_and(|first| self.open(first).is_some());
        for piece in pieces.iter().filter(|_| is_first_there) {
            let Some(replay) = self.open(piece) else { continue };
            let begins = replay.game().steps();
            let ends = replay.verify().map_err(|error| error.to_string())?.end.steps;
            if (begins + 1..ends).contains(&saved.steps()) {
                return Err(format!(
                    "{piece} goes from step {begins} to {ends}, and a save at {} is not in it",
                    saved.steps()
                ));
            }
        }
        Ok(())
    }
}
