//! Text updates of an event: lines in the order of the sheet that viewers were written for.
//!
//! All viewers get the same, so each event is encoded once. The order of lines is the order of the game's
//! events, which is that of the reference server. School 42's sheet, which was Epitech's until 2016, has three
//! things the other way round: an egg hatches before its player is there, and the outcome of an elevation or a
//! push comes before what it did to each. There those lines are held back until the outcome is known.

use std::borrow::Cow;

use trantor_game::{GameEvent, GroundChange, MoveKind};
use trantor_model::{EggId, MapSize};
use trantor_protocol::text::{Dialect, GuiEvent, GuiIds, write_gui_event};

use super::burst::joined;
use crate::config::{EngineConfig, RefillNews};
use crate::session::{Lines, Sessions, Subject};
use trantor_game::Game;

#[derive(Debug)]
pub(crate) struct TextUpdates {
    ids: GuiIds,
    size: MapSize,
    refill_news: RefillNews,
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
            refill_news: config.refill_news,
            is_outcome_first: config.dialect != Dialect::Epitech,
            first_egg: config.first_egg_told(),
            lines: Lines::default(),
            held_back: Lines::default(),
        }
    }

    /// Sends all text viewers `event`; `game` is as it is right after it.
    pub(crate) fn publish(&mut self, sessions: &mut Sessions, game: &Game, event: &GameEvent) {
        if sessions.text_viewers.is_empty() {
            self.held_back.clear();
            return;
        }
        self.lines.clear();
        // A push may break a hundred thousand eggs: their lines go out with the one that follows them.
        let is_egg_broken = matches!(event, GameEvent::EggDestroyed { .. });
        if is_egg_broken || (self.is_outcome_first && is_part_of_an_outcome(event)) {
            std::mem::swap(&mut self.lines, &mut self.held_back);
            self.write_event(game, event);
            std::mem::swap(&mut self.lines, &mut self.held_back);
            return;
        }
        self.write_event(game, event);
        if self.lines.is_empty() {
            return;
        }
        let is_outcome = matches!(event, GameEvent::RitualEnded { .. } | GameEvent::Ejected { .. });
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
        self.write(line);
        sessions.publish_text(&self.lines);
    }

    fn write(&mut self, line: &GuiEvent<'_>) {
        match subject(self.size, line) {
            Some(Subject::Egg(egg)) if egg < self.first_egg => {}
            subject => self.write_about(subject, line),
        }
    }

    fn write_about(&mut self, subject: Option<Subject>, line: &GuiEvent<'_>) {
        self.lines
            .write(subject, |lines| write_gui_event(lines, self.ids, line));
    }

    fn write_event(&mut self, game: &Game, event: &GameEvent) {
        match event {
            GameEvent::Reply { .. }
            | GameEvent::Heard { .. }
            | GameEvent::HeardByAll { .. }
            | GameEvent::Transmitted { .. }
            | GameEvent::PushedFrom { .. }
            | GameEvent::ActionStarted { .. }
            | GameEvent::Refilled => {}
            GameEvent::Joined { agent, egg } => {
                if self.is_outcome_first {
                    self.write(&GuiEvent::EggHatched { egg: *egg });
                }
                self.write(&joined(game, agent));
                self.write(&GuiEvent::Inventory {
                    agent: agent.id,
                    tile: Some(agent.tile),
                    inventory: agent.inventory,
                });
                if !self.is_outcome_first {
                    self.write(&GuiEvent::EggHatched { egg: *egg });
                }
            }
            GameEvent::Died { agent } | GameEvent::Left { agent, .. } => {
                self.write(&GuiEvent::Died { agent: *agent });
            }
            GameEvent::Moved {
                agent, tile, facing, ..
            } => {
                self.write(&GuiEvent::Position {
                    agent: *agent,
                    tile: *tile,
                    facing: *facing,
                });
            }
            GameEvent::Took(carry) | GameEvent::Put(carry) => {
                let (agent, resource) = (carry.agent, carry.resource);
                let what = match event {
                    GameEvent::Took(_) => GuiEvent::Took { agent, resource },
                    _ => GuiEvent::Put { agent, resource },
                };
                self.write(&what);
                self.write(&GuiEvent::Inventory {
                    agent,
                    tile: Some(carry.tile),
                    inventory: carry.inventory,
                });
                self.write(&GuiEvent::Tile {
                    tile: carry.tile,
                    ground: carry.ground,
                });
            }
            GameEvent::Ate {
                agent,
                tile,
                inventory,
            }
            | GameEvent::InventorySet {
                agent,
                tile,
                inventory,
            } => {
                self.write(&GuiEvent::Inventory {
                    agent: *agent,
                    tile: Some(*tile),
                    inventory: *inventory,
                });
            }
            GameEvent::Said { agent, text } => self.write(&GuiEvent::Said { agent: *agent, text }),
            GameEvent::Ejected { agent } => self.write(&GuiEvent::Ejected { agent: *agent }),
            GameEvent::ForkStarted { agent } => self.write(&GuiEvent::ForkStarted { agent: *agent }),
            GameEvent::EggLaid { egg, layer, tile, .. } => {
                self.write(&GuiEvent::EggLaid {
                    egg: *egg,
                    layer: *layer,
                    tile: *tile,
                });
            }
            GameEvent::EggMatured { egg } => self.write(&GuiEvent::EggMatured { egg: *egg }),
            GameEvent::EggDestroyed { egg } => self.write(&GuiEvent::EggDestroyed { egg: *egg }),
            GameEvent::RitualStarted {
                ritual,
                tile,
                level,
                participants,
                ..
            } => {
                let line = GuiEvent::RitualStarted {
                    tile: *tile,
                    level: *level,
                    participants: Cow::Borrowed(&participants[..]),
                };
                self.write_about(Some(Subject::Ritual(*ritual)), &line);
            }
            GameEvent::RitualEnded {
                ritual,
                tile,
                success,
                ..
            } => {
                let line = GuiEvent::RitualEnded {
                    tile: *tile,
                    success: *success,
                };
                self.write_about(Some(Subject::Ritual(*ritual)), &line);
            }
            GameEvent::LevelChanged { agent, level } => {
                self.write(&GuiEvent::Level {
                    agent: *agent,
                    level: *level,
                });
            }
            GameEvent::GroundChanged { tile, ground, why } => {
                if *why != GroundChange::Refill || self.refill_news == RefillNews::Changed {
                    self.write(&GuiEvent::Tile {
                        tile: *tile,
                        ground: *ground,
                    });
                }
            }
            GameEvent::Won { team } => {
                let name = game.config().team_name(*team).as_bytes();
                self.write_about(Some(Subject::Winner), &GuiEvent::Won { team: name });
            }
        }
    }
}

/// The part of the world that a line is about, if the line contains it.
fn subject(size: MapSize, line: &GuiEvent<'_>) -> Option<Subject> {
    match line {
        GuiEvent::Tile { tile, .. } => Some(Subject::Tile(size.index_of(*tile))),
        GuiEvent::Joined { agent, .. }
        | GuiEvent::Position { agent, .. }
        | GuiEvent::Level { agent, .. }
        | GuiEvent::Inventory { agent, .. }
        | GuiEvent::Ejected { agent }
        | GuiEvent::Said { agent, .. }
        | GuiEvent::ForkStarted { agent }
        | GuiEvent::Put { agent, .. }
        | GuiEvent::Took { agent, .. }
        | GuiEvent::Died { agent } => Some(Subject::Agent(*agent)),
        GuiEvent::EggLaid { egg, .. }
        | GuiEvent::EggMatured { egg }
        | GuiEvent::EggHatched { egg }
        | GuiEvent::EggDestroyed { egg } => Some(Subject::Egg(*egg)),
        GuiEvent::MapSize(_)
        | GuiEvent::Team(_)
        | GuiEvent::Won { .. }
        | GuiEvent::RitualStarted { .. }
        | GuiEvent::RitualEnded { .. }
        | GuiEvent::Frequency(_)
        | GuiEvent::Message(_)
        | GuiEvent::UnknownRequest
        | GuiEvent::BadParameter => None,
    }
}

/// Whether the event is what an elevation or a push did to one of those concerned.
fn is_part_of_an_outcome(event: &GameEvent) -> bool {
    matches!(
        event,
        GameEvent::LevelChanged { .. }
            | GameEvent::Moved {
                how: MoveKind::Pushed,
                ..
            }
    )
}
