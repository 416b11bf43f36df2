//! What of a recording is worth a mark on its time-line, gathered while it is played.

use std::collections::BTreeMap;

use trantor_model::{AgentId, Level, TeamId};
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
    /// For those who come late.
    pub(super) history: History,
    /// Those who live: one that has died can no longer be asked.
    teams: BTreeMap<AgentId, TeamId>,
}

impl Marker {
    pub(super) fn new(game: &Game) -> Self {
        Self {
            marks: Vec::new(),
            speed: None,
            history: History::of(game),
            teams: game
                .world()
                .agents()
                .map(|agent| (agent.id(), agent.team()))
                .collect(),
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
            self.history.note(game, &event);
            let kind = match event {
                GameEvent::Joined { agent, .. } => {
                    self.teams.insert(agent.id, agent.team);
                    None
                }
                GameEvent::Left { agent, .. } => {
                    self.teams.remove(&agent);
                    None
                }
                GameEvent::Died { agent } => self.teams.remove(&agent).map(MarkKind::Died),
                GameEvent::RitualEnded {
                    success: true,
                    ref participants,
                    level,
                    ..
                } => {
                    let team = participants.first().and_then(|agent| self.teams.get(agent));
                    team.copied()
                        .zip(level.next())
                        .map(|(team, level)| MarkKind::Rose(team, level))
                }
                GameEvent::Won { team } => Some(MarkKind::Won(team)),
                _ => None,
            };
            self.marks.extend(kind.map(|kind| Mark { at, kind }));
        }
    }
}
