//! A save rolled forward by the journal that continues it.
//!
//! A run belongs to the save if it passes through the very state that was saved; then the game resumes from the run's end, or
//! from its victory. The caller finds the runs and their pieces.

use trantor_time::GameTime;

use super::Replay;
use crate::game::Game;
use crate::journal::Ending;

/// Everything recorded lies before it.
const END_OF_TIME: GameTime = GameTime::from_nanounits(i128::MAX);

/// A game that was rolled forward.
#[derive(Clone, Debug)]
pub struct RolledForward {
    /// The game to resume.
    pub game: Game,
    /// The place of the last piece that was played.
    pub piece: usize,
    /// How that ended; `None` where a victory was the end.
    pub ending: Option<Ending>,
}

/// The game at the end of a run of `pieces` pieces that `open` opens by their places; `None` if the run does not pass through
/// `saved`. A piece that cannot be opened is `None`, as the last one after a failure of the power: what was in it is lost, and
/// nothing before it.
///
/// # Errors
/// In words for a person, if a piece is played otherwise than it was.
pub fn roll_forward(
    saved: &Game,
    pieces: usize,
    open: impl Fn(usize) -> Option<Replay>,
) -> Result<Option<RolledForward>, String> {
    let Some((mut piece, mut replay)) = find(saved, pieces, &open)? else {
        return Ok(None);
    };
    loop {
        while replay.game.winner().is_none() && step(&mut replay)? {}
        let ending = replay.track.ending().filter(|_| replay.game.winner().is_none());
        let next = match ending {
            Some(Ending::Continued) if piece + 1 < pieces => open(piece + 1),
            _ => None,
        };
        let follows = |next: &Replay| next.head.number == replay.head.number + 1;
        let Some(next) = next.filter(follows) else {
            let game = replay.game.clone();
            return Ok(Some(RolledForward { game, piece, ending }));
        };
        if next.game.snapshot() != replay.game.snapshot() {
            let number = next.head.number;
            return Err(format!(
                "piece {number} begins with another state than the piece before ended with"
            ));
        }
        replay = next;
        piece += 1;
    }
}

/// The piece that passes through `saved`, played up to there.
fn find(
    saved: &Game,
    pieces: usize,
    open: &impl Fn(usize) -> Option<Replay>,
) -> Result<Option<(usize, Replay)>, String> {
    let begins_before = |replay: &Replay| replay.game.steps() <= saved.steps();
    let first = if pieces > 0 { open(0) } else { None };
    if !first.is_some_and(|first| begins_before(&first)) {
        return Ok(None);
    }
    let digest = saved.digest();
    for piece in (0..pieces).rev() {
        let Some(mut replay) = open(piece).filter(begins_before) else {
            continue;
        };
        let is_only_one = replay.game.steps() < saved.steps();
        while replay.game.steps() <= saved.steps() {
            let game = &replay.game;
            if game.steps() == saved.steps() && game.digest() == digest {
                return Ok(Some((piece, replay)));
            }
            if !step(&mut replay)? {
                break;
            }
        }
        // A piece may begin amid the inputs between two deadlines, and the save be of one of those before it.
        if is_only_one {
            break;
        }
    }
    Ok(None)
}

/// Plays the next thing that was recorded, if there is one.
fn step(replay: &mut Replay) -> Result<bool, String> {
    let played = replay.step(END_OF_TIME).map_err(|error| error.to_string())?;
    while replay.game.poll_event().is_some() {}
    Ok(played.is_some())
}
