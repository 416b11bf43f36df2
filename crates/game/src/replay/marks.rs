//! What of a recording is worth a mark on its time-line, gathered while it is played.

use trantor_model::{Mark, MarkKind, TeamId};
use trantor_time::Frequency;

use super::Replayed;
use crate::event::GameEvent;
use crate::game::Game;
use crate::history::History;
use crate::input::{GameInput, PaceChange};

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
        if let Replayed::Input(GameInput::Pace(change)) = replayed {
            let kind = match *change {
                PaceChange::Frequency(frequency) if self.speed == Some(frequency) => None,
                PaceChange::Frequency(frequency) => Some(MarkKind::Speed { frequency }),
                PaceChange::Paused => Some(MarkKind::Paused),
                PaceChange::Resumed => Some(MarkKind::Resumed),
                PaceChange::Stepped | PaceChange::WaitEnded => None,
            };
            if let Some(MarkKind::Speed { frequency }) = kind {
                self.speed = Some(frequency);
            }
            self.mark(game, kind);
        }
        let died = |team: TeamId| MarkKind::Died { team };
        while let Some(event) = game.poll_event() {
            let kind = match &event {
                GameEvent::Died { agent } => self.history.team_of(*agent).map(died),
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
                    risen.map(|(team, level)| MarkKind::Rose { team, level })
                }
                GameEvent::Won { team } => Some(MarkKind::Won { team: *team }),
                _ => None,
            };
            self.history.note(game, &event);
            self.mark(game, kind);
        }
    }

    fn mark(&mut self, game: &Game, kind: Option<MarkKind>) {
        let (at, count) = (game.now(), 1);
        self.marks.extend(kind.map(|kind| Mark { at, count, kind }));
    }
}
