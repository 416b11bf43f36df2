//! What of a recording is worth a mark on its time-line, gathered while it is played.

use trantor_model::{Level, TeamId};
use trantor_time::{Frequency, GameTime};

use super::Replayed;
use crate::event::GameEvent;
use crate::game::Game;
use crate::history::History;
use crate::input::{GameInput, PaceChange};

/// Something worth a mark on a time-line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it happened.
    pub at: GameTime,
    /// What.
    pub kind: MarkKind,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// An agent of this team died.
    Died(TeamId),
    /// An elevation succeeded: agents of this team (that of the first) reached the level.
    Rose(TeamId, Level),
    /// Another speed, or the one at the beginning.
    Speed(Frequency),
    /// Game time was stopped.
    Paused,
    /// Game time went on.
    Resumed,
    /// A team won.
    Won(TeamId),
}

/// Gathers marks while a piece is played.
pub(super) struct Marker {
    pub(super) marks: Vec<Mark>,
    speed: Option<Frequency>,
    /// For late viewers.
    pub(super) history: History,
}

impl Marker {
    pub(super) fn new(game: &Game) -> Self {
        Self {
            marks: Vec::new(),
            speed: None,
            history: History::of(game),
        }
    }

    pub(super) fn note(&mut self, game: &mut Game, replayed: &Replayed) {
        let at = game.now();
        if let Replayed::Input(GameInput::Pace(change)) = replayed {
            let kind = match *change {
                PaceChange::Frequency(frequency) if self.speed == Some(frequency) => None,
                PaceChange::Frequency(frequency) => Some(MarkKind::Speed(frequency)),
                PaceChange::Paused => Some(MarkKind::Paused),
                PaceChange::Resumed => Some(MarkKind::Resumed),
                PaceChange::Stepped | PaceChange::WaitEnded => None,
            };
            if let Some(MarkKind::Speed(frequency)) = kind {
                self.speed = Some(frequency);
            }
            self.marks.extend(kind.map(|kind| Mark { at, kind }));
        }
        while let Some(event) = game.poll_event() {
            let kind = match &event {
                GameEvent::Died { agent } => self.history.team_of(*agent).map(MarkKind::Died),
                GameEvent::RitualEnded {
                    success: true,
                    participants,
                    level,
                    ..
                } => {
                    let team = participants
                        .first()
                        .and_then(|agent| self.history.team_of(*agent));
                    let risen = team.zip(level.next());
                    risen.map(|(team, level)| MarkKind::Rose(team, level))
                }
                GameEvent::Won { team } => Some(MarkKind::Won(*team)),
                _ => None,
            };
            self.history.note(game, &event);
            self.marks.extend(kind.map(|kind| Mark { at, kind }));
        }
    }
}
