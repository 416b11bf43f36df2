//! Text updates of a change: lines in the order of the sheet that viewers were written for.
//!
//! All viewers get the same, so each change is encoded once. The order of lines is the order of the game's
//! events, which is that of the reference server. School 42's sheet, which was Epitech's until 2016, has three
//! things the other way round: an egg hatches before its player is there, and the outcome of an elevation or a
//! push comes before what it did to each. There those lines are held back until the outcome is known.

use std::borrow::Cow;

use trantor_game::Game;
use trantor_model::{AgentId, Change, CommandKind, Counts, EggId, GroundChange, MapSize, MoveKind, Tile};
use trantor_protocol::text::{Dialect, GuiEvent, GuiIds, write_gui_event};

use crate::burst::{Lines, Subject, carried, joined};
use crate::config::{EngineConfig, RefillUpdates};
use crate::session::Sessions;

#[derive(Debug)]
pub(crate) struct TextUpdates {
    ids: GuiIds,
    size: MapSize,
    refill_updates: RefillUpdates,
    is_outcome_first: bool,
    first_egg: EggId,
    lines: Lines,
    /// Lines held back until the outcome they belong to.
    held_back: Lines,
}

impl TextUpdates {
    pub(crate) fn new(config: &EngineConfig) -> Self {
        Self {
            ids: config.gui_ids,
            size: config.game.size,
            refill_updates: config.refill_updates,
            is_outcome_first: config.dialect != Dialect::Epitech,
            first_egg: config.first_egg_told(),
            lines: Lines::default(),
            held_back: Lines::default(),
        }
    }

    /// Sends all text viewers `change`; `game` is as it is right after it.
    pub(crate) fn publish(&mut self, sessions: &mut Sessions, game: &Game, change: &Change) {
        if sessions.text_viewers.is_empty() {
            self.held_back.clear();
            return;
        }
        self.lines.clear();
        // A push may break a hundred thousand eggs: their lines go out with the one that follows them.
        let is_egg_broken = matches!(change, Change::EggDestroyed { .. });
        if is_egg_broken || (self.is_outcome_first && is_part_of_an_outcome(change)) {
            std::mem::swap(&mut self.lines, &mut self.held_back);
            self.write_change(game, change);
            std::mem::swap(&mut self.lines, &mut self.held_back);
            return;
        }
        self.write_change(game, change);
        if self.lines.is_empty() {
            return;
        }
        let is_outcome = matches!(change, Change::ElevationEnded { .. } | Change::Ejected { .. });
        if !(self.is_outcome_first && is_outcome) {
            std::mem::swap(&mut self.lines, &mut self.held_back);
        }
        self.lines.append(&mut self.held_back);
        sessions.publish_text(&self.lines);
    }

    /// Sends what was held back for an outcome that did not come. Called when there are no more events.
    pub(crate) fn publish_held_back(&mut self, sessions: &mut Sessions) {
        if !self.held_back.is_empty() {
            sessions.publish_text(&self.held_back);
            self.held_back.clear();
        }
    }

    /// Forgets what was not yet sent of the present moment.
    pub(crate) fn forget_moment(&mut self) {
        self.held_back.clear();
    }

    /// Sends all text viewers a line that is no event of the game.
    pub(crate) fn announce(&mut self, sessions: &mut Sessions, line: &GuiEvent<'_>) {
        self.lines.clear();
        self.write(None, line);
        sessions.publish_text(&self.lines);
    }

    fn write(&mut self, subject: Option<Subject>, line: &GuiEvent<'_>) {
        self.lines
            .write(subject, |lines| write_gui_event(lines, self.ids, line));
    }

    fn write_agent(&mut self, agent: AgentId, line: &GuiEvent<'_>) {
        self.write(Some(Subject::Agent(agent)), line);
    }

    fn write_egg(&mut self, egg: EggId, line: &GuiEvent<'_>) {
        if egg >= self.first_egg {
            self.write(Some(Subject::Egg(egg)), line);
        }
    }

    fn write_tile(&mut self, tile: Tile, ground: Counts) {
        let subject = Subject::Tile(self.size.index_of(tile));
        self.write(Some(subject), &GuiEvent::Tile { tile, ground });
    }

    fn write_change(&mut self, game: &Game, change: &Change) {
        match *change {
            Change::Sent { .. } | Change::Hunger { .. } | Change::Refilled => {}
            Change::Joined { ref agent, egg, .. } => {
                let hatched = GuiEvent::EggHatched { egg };
                if self.is_outcome_first {
                    self.write_egg(egg, &hatched);
                }
                self.write_agent(agent.id, &joined(game, agent));
                self.write_agent(agent.id, &carried(agent.id, agent.tile, agent.inventory));
                if !self.is_outcome_first {
                    self.write_egg(egg, &hatched);
                }
            }
            Change::Died { agent } | Change::Left { agent, .. } => {
                self.write_agent(agent, &GuiEvent::Died { agent });
            }
            Change::ActionStarted { agent, action } => {
                if action.kind == CommandKind::Fork && !action.refused {
                    self.write_agent(agent, &GuiEvent::ForkStarted { agent });
                }
            }
            Change::Moved {
                agent, tile, facing, ..
            } => self.write_agent(agent, &GuiEvent::Position { agent, tile, facing }),
            Change::Carried {
                agent,
                resource,
                taken,
                tile,
                inventory,
                ground,
            } => {
                let line = match taken {
                    true => GuiEvent::Took { agent, resource },
                    false => GuiEvent::Put { agent, resource },
                };
                self.write_agent(agent, &line);
                self.write_agent(agent, &carried(agent, tile, inventory));
                self.write_tile(tile, ground);
            }
            Change::Inventory {
                agent,
                tile,
                inventory,
                ..
            } => self.write_agent(agent, &carried(agent, tile, inventory)),
            Change::Said { agent, ref text } => self.write_agent(agent, &GuiEvent::Said { agent, text }),
            Change::Ejected { agent } => self.write_agent(agent, &GuiEvent::Ejected { agent }),
            Change::EggLaid { egg, layer } => {
                let (egg, tile) = (egg.egg, egg.tile);
                self.write_egg(egg, &GuiEvent::EggLaid { egg, layer, tile });
            }
            Change::EggMatured { egg } => self.write_egg(egg, &GuiEvent::EggMatured { egg }),
            Change::EggDestroyed { egg } => self.write_egg(egg, &GuiEvent::EggDestroyed { egg }),
            Change::ElevationStarted(ref elevation) => {
                let line = GuiEvent::ElevationStarted {
                    tile: elevation.tile,
                    level: elevation.level,
                    participants: Cow::Borrowed(&elevation.participants[..]),
                };
                self.write(Some(Subject::Elevation(elevation.elevation)), &line);
            }
            Change::ElevationEnded {
                elevation,
                tile,
                success,
                ..
            } => {
                let line = GuiEvent::ElevationEnded { tile, success };
                self.write(Some(Subject::Elevation(elevation)), &line);
            }
            Change::LevelChanged { agent, level } => {
                self.write_agent(agent, &GuiEvent::Level { agent, level });
            }
            Change::Ground { tile, ground, why } => {
                if why != GroundChange::Refill || self.refill_updates == RefillUpdates::Changed {
                    self.write_tile(tile, ground);
                }
            }
            Change::Won { team, .. } => {
                let team = game.config().team_name(team).as_bytes();
                self.write(Some(Subject::Winner), &GuiEvent::Won { team });
            }
        }
    }
}

/// Whether the change is what an elevation or a push did to one of those concerned.
fn is_part_of_an_outcome(change: &Change) -> bool {
    matches!(
        change,
        Change::LevelChanged { .. }
            | Change::Moved {
                how: MoveKind::Pushed,
                ..
            }
    )
}
