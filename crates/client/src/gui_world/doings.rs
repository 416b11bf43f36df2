//! What agents do, told when it is over: each with the beginning that the server did not tell.

use trantor_model::{AgentId, CommandKind, Direction, Level, Resource, Tile, Turn};
use trantor_protocol::wire::{ActionState, Change, RitualState};
use trantor_time::{GameSpan, GameTime};

use super::{GuiWorld, Present};

/// Elevations of one level on one tile are the same if they begin within this time: who could begin another one there
/// would have been in the first.
const TOLD_WITHIN: GameSpan = GameSpan::from_units(7);

impl GuiWorld {
    pub(super) fn position(&mut self, agent: AgentId, tile: Tile, facing: Direction, present: &Present) {
        let Some(&view) = self.view(agent) else {
            self.ignored += 1;
            return;
        };
        if (view.tile, view.facing) == (tile, facing) {
            return;
        }
        let size = self.latest.size();
        let kind = if facing == view.facing && tile == size.step(view.tile, facing) {
            Some(CommandKind::Forward)
        } else if tile != view.tile {
            None
        } else if facing == view.facing.turned(Turn::Right) {
            Some(CommandKind::Right)
        } else if facing == view.facing.turned(Turn::Left) {
            Some(CommandKind::Left)
        } else {
            None
        };
        if let Some(kind) = kind {
            self.late_start(agent, kind, present);
        }
        self.since.insert(agent, present.at);
        self.apply(
            present.at,
            Change::Moved {
                agent,
                tile,
                facing,
                forced: kind.is_none(),
            },
        );
    }

    /// The counts are told again right after; here they are what they must have become.
    pub(super) fn carried(&mut self, agent: AgentId, resource: Resource, taken: bool, present: &Present) {
        let Some(&view) = self.view(agent) else {
            self.ignored += 1;
            return;
        };
        let kind = if taken {
            CommandKind::Take
        } else {
            CommandKind::Set
        };
        self.late_start(agent, kind, present);
        let mut ground = self.latest.ground()[self.latest.size().index_of(view.tile)];
        let mut inventory = view.inventory;
        let (from, to) = match taken {
            true => (&mut ground, &mut inventory),
            false => (&mut inventory, &mut ground),
        };
        from[resource] = from[resource].saturating_sub(1);
        to[resource] = to[resource].saturating_add(1);
        self.apply(
            present.at,
            Change::Carried {
                agent,
                resource,
                taken,
                inventory,
                ground,
            },
        );
    }

    pub(super) fn ritual_started(
        &mut self,
        tile: Tile,
        level: Level,
        participants: &[AgentId],
        at: GameTime,
    ) {
        let mut free: Vec<AgentId> = Vec::new();
        for &participant in participants {
            let agent = self.latest.agent(participant);
            if agent.is_some_and(|agent| agent.held_by.is_none()) && !free.contains(&participant) {
                free.push(participant);
            }
        }
        // Some servers tell the same once for each participant.
        if free.is_empty() && !participants.is_empty() && self.rituals_on(tile).next().is_some() {
            return;
        }
        if let Some(&first) = free.first() {
            self.started(first, CommandKind::Incantation, at);
        }
        let end = at + units(CommandKind::Incantation);
        self.apply(
            at,
            Change::RitualStarted(RitualState {
                tile,
                level,
                participants: free,
                start: at,
                end,
            }),
        );
    }

    /// The line says neither who took part nor from which level: the oldest elevation there is meant, and those that
    /// were told with it, as some servers do for each participant.
    pub(super) fn ritual_ended(&mut self, tile: Tile, success: bool, at: GameTime) {
        let Some(oldest) = self.rituals_on(tile).next() else {
            self.ignored += 1;
            return;
        };
        let (level, told_until) = (oldest.level, oldest.start + TOLD_WITHIN);
        let is_meant = |ritual: &&RitualState| ritual.level == level && ritual.start <= told_until;
        let ended: Vec<RitualState> = self.rituals_on(tile).filter(is_meant).cloned().collect();
        for ritual in ended {
            self.apply(
                at,
                Change::RitualEnded {
                    tile,
                    level,
                    success,
                    participants: ritual.participants,
                },
            );
        }
    }

    fn rituals_on(&self, tile: Tile) -> impl Iterator<Item = &RitualState> {
        let rituals = self.latest.rituals().iter();
        rituals
            .map(|ritual| &ritual.state)
            .filter(move |ritual| ritual.tile == tile)
    }

    /// An agent begins something now.
    pub(super) fn started(&mut self, agent: AgentId, kind: CommandKind, at: GameTime) {
        self.apply(at, action_started(agent, kind, at, at + units(kind)));
    }

    /// An agent ends something now, which it must have begun before.
    pub(super) fn late_start(&mut self, agent: AgentId, kind: CommandKind, present: &Present) {
        if self.view(agent).is_none() {
            return;
        }
        let end = present.at;
        let earliest = self.since.get(&agent).copied().unwrap_or(end);
        let start = (end - present.action).max(earliest);
        if let Err(error) = self.show(start, action_started(agent, kind, start, end)) {
            log::debug!("left out what the server said: {error}");
            self.ignored += 1;
        }
    }
}

/// Text tells nothing of actions of which nothing will come.
fn action_started(agent: AgentId, kind: CommandKind, start: GameTime, end: GameTime) -> Change {
    Change::ActionStarted {
        agent,
        action: ActionState {
            kind,
            start,
            end,
            refused: false,
        },
    }
}

fn units(kind: CommandKind) -> GameSpan {
    GameSpan::from_units(i64::from(kind.duration_units()))
}
