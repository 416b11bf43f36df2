//! A recording in the place of a game that is played.
//!
//! The engine shows a game to its viewers; whether its inputs come from connections or from a journal makes little
//! difference to it. Here is what that difference is: where the next thing comes from, jumps, and the end.

use std::sync::Arc;

use trantor_game::replay::{Cursor, Divergence, Recording, Replayed};
use trantor_game::{Game, GameInput, History, PaceChange};
use trantor_protocol::wire::RecordingInfo;
use trantor_time::{Frequency, GameTime};

use crate::replicate::recording_info;

/// Why a recording was not moved. The text is meant for the person who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeekRefusal {
    /// What is shown is being played just now.
    #[error("this is a game that is being played, not a recording")]
    NotARecording,
    /// The recording can no longer be played there, although it could when it was opened.
    #[error("the recording cannot be played there; the server's log says why")]
    Unplayable,
}

/// How a recording begins to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaybackStart {
    /// At which moment; the nearer end for one outside.
    pub at: GameTime,
    /// At the speeds at which it was recorded, until somebody asks for another; else at that of the configuration.
    pub follows_speed: bool,
    /// With time standing still.
    pub is_paused: bool,
}

/// What is played back, and how far that has come.
#[derive(Debug)]
pub(crate) struct Playback {
    cursor: Cursor,
    /// As sent to viewers.
    pub(crate) info: RecordingInfo,
    /// Whether speeds are those of the recording; until an operator or viewer asks for another.
    pub(crate) follows_speed: bool,
    /// Whether game time stands still because the recording is over, and for no other reason.
    pub(crate) is_stopped_at_end: bool,
    /// Whether nothing can be played from here on.
    is_broken: bool,
}

impl Playback {
    /// Plays as `start` says; answers the game of that moment too.
    ///
    /// # Errors
    /// If the recording is not what it was when it was opened.
    pub(crate) fn new(recording: &Arc<Recording>, start: PlaybackStart) -> Result<(Game, Self), Divergence> {
        let (game, cursor) = recording.seek(start.at)?;
        let playback = Self {
            cursor,
            info: recording_info(recording),
            follows_speed: start.follows_speed,
            is_stopped_at_end: false,
            is_broken: false,
        };
        Ok((game, playback))
    }

    /// What had happened until the moment that was sought last.
    pub(crate) fn history(&self) -> &History {
        self.cursor.history()
    }

    /// When something happens next; `None` at the end.
    pub(crate) fn next_time(&self, game: &Game) -> Option<GameTime> {
        self.cursor.next_time(game).filter(|_| !self.is_broken)
    }

    /// Plays the next deadline or record, if it lies no later than `until`. What was played once and cannot be played
    /// again, as on a broken machine, is the end.
    pub(crate) fn step(&mut self, game: &mut Game, until: GameTime) -> Option<Replayed> {
        self.cursor.step(game, until).unwrap_or_else(|divergence| {
            log::error!("the recording ends here, although it was played before: {divergence}");
            self.is_broken = true;
            None
        })
    }

    /// Goes to another moment; answers the game as it was there.
    ///
    /// # Errors
    /// As [`Self::new`]. Nothing has changed then.
    pub(crate) fn seek(&mut self, to: GameTime) -> Result<Game, Divergence> {
        let (game, cursor) = self.cursor.recording().seek(to)?;
        self.cursor = cursor;
        self.is_broken = false;
        Ok(game)
    }

    /// The recorded speed at a moment, as far as it is to be followed.
    pub(crate) fn speed_at(&self, at: GameTime) -> Option<Frequency> {
        self.cursor
            .recording()
            .speed_at(at)
            .filter(|_| self.follows_speed)
    }

    /// The speed that was set with this record, if it was one and is to be followed.
    pub(crate) fn speed_set(&self, replayed: &Replayed) -> Option<Frequency> {
        match replayed {
            Replayed::Input(GameInput::Pace(PaceChange::Frequency(frequency))) if self.follows_speed => {
                Some(*frequency)
            }
            _ => None,
        }
    }
}
