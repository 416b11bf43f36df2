//! What text viewers are told of an event: lines in the order of the sheet they were written for.
//!
//! All of them hear the same, so each event is encoded once. The order of lines is the order of the game's
//! events, which is that of the reference server. School 42's sheet has three things the other way round: an
//! egg hatches before its player is there, and the outcome of an elevation or a push comes before what it did
//! to each. There those lines are held back until the outcome is known.

use std::borrow::Cow;

use trantor_game::{GameEvent, GroundChange, MoveKind};
use trantor_model::{AgentView, MapSize};
use trantor_protocol::text::{Dialect, GuiEvent, GuiIds, write_gui_event};

use super::burst::write_map;
use crate::config::{EngineConfig, RefillNews};
use crate::session::Sessions;
use trantor_game::Game;

/// Encodes events for text viewers.
#[derive(Debug)]
pub(crate) struct TextNews {
    ids: GuiIds,
    size: MapSize,
    refill_news: RefillNews,
    is_outcome_first: bool,
    /// Lines of the event being told.
    lines: Vec<u8>,
    /// Lines held back until the outcome they belong to.
    held_back: Vec<u8>,
}

impl TextNews {
    pub(crate) fn new(config: &EngineConfig) -> Self {
        Self {
            ids: config.gui_ids,
            size: config.game.size,
            refill_news: config.refill_news,
            is_outcome_first: config.dialect != Dialect::Epitech,
            lines: Vec::new(),
            held_back: Vec::new(),
        }
    }

    /// Tells all text viewers of `event`; `game` is as it is right after it.
    pub(crate) fn tell(&mut self, sessions: &mut Sessions, game: &Game, event: &GameEvent) {
        if sessions.text_viewers().is_empty() {
            self.held_back.clear();
            return;
        }
        self.tell_coming(sessions, event);
        self.lines.clear();
        if self.is_outcome_first && is_part_of_an_outcome(event) {
            std::mem::swap(&mut self.lines, &mut self.held_back);
            self.write_event(game, event);
            std::mem::swap(&mut self.lines, &mut self.held_back);
            return;
        }
        self.write_event(game, event);
        if self.lines.is_empty() {
            return;
        }
        if !matches!(event, GameEvent::RitualEnded { .. } | GameEvent::Ejected { .. }) {
            std::mem::swap(&mut self.lines, &mut self.held_back);
        }
        self.lines.append(&mut self.held_back);
        sessions.push_to_text_viewers(&self.lines);
    }

    /// Viewers that are still being told how the world is hear of the tiles they were told of, and will know the rest as
    /// it is by then.
    fn tell_coming(&mut self, sessions: &mut Sessions, event: &GameEvent) {
        if sessions.text_viewers().coming().is_empty() {
            return;
        }
        let (tile, ground) = match event {
            GameEvent::Took(carry) | GameEvent::Put(carry) => (carry.tile, carry.ground),
            GameEvent::GroundChanged { tile, ground, .. } => (*tile, *ground),
            _ => return,
        };
        self.lines.clear();
        self.write(&GuiEvent::Tile { tile, ground });
        sessions.push_to_coming(Some(self.size.index_of(tile)), &self.lines);
    }

    /// Tells what was held back for an outcome that did not come. Called when there are no more events.
    pub(crate) fn tell_held_back(&mut self, sessions: &mut Sessions) {
        if !self.held_back.is_empty() {
            sessions.push_to_text_viewers(&self.held_back);
            self.held_back.clear();
        }
    }

    /// Forgets what was held back: the moment it belonged to is left.
    pub(crate) fn forget_held_back(&mut self) {
        self.held_back.clear();
    }

    /// Tells all text viewers something that is no event of the game.
    pub(crate) fn announce(&mut self, sessions: &mut Sessions, line: &GuiEvent<'_>) {
        self.lines.clear();
        self.write(line);
        sessions.push_to_text_viewers(&self.lines);
        sessions.push_to_coming(None, &self.lines);
    }

    fn write(&mut self, line: &GuiEvent<'_>) {
        write_gui_event(&mut self.lines, self.ids, line);
    }

    fn write_event(&mut self, game: &Game, event: &GameEvent) {
        match event {
            GameEvent::Reply { .. }
            | GameEvent::Heard { .. }
            | GameEvent::PushedFrom { .. }
            | GameEvent::ActionStarted { .. } => {}
            GameEvent::Joined { agent, egg } => {
                if self.is_outcome_first {
                    self.write(&GuiEvent::EggHatched { egg: *egg });
                }
                self.write_birth(game, agent);
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
                    tile: carry.tile,
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
                    tile: *tile,
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
                tile,
                level,
                participants,
                ..
            } => {
                let participants = Cow::Borrowed(&participants[..]);
                self.write(&GuiEvent::RitualStarted {
                    tile: *tile,
                    level: *level,
                    participants,
                });
            }
            GameEvent::RitualEnded { tile, success, .. } => {
                self.write(&GuiEvent::RitualEnded {
                    tile: *tile,
                    success: *success,
                });
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
            GameEvent::Refilled => {
                if self.refill_news == RefillNews::All {
                    write_map(&mut self.lines, self.ids, game);
                }
            }
            GameEvent::Won { team } => {
                let name = game.config().teams[usize::from(team.0)].as_bytes();
                self.write(&GuiEvent::Won { team: name });
            }
        }
    }

    fn write_birth(&mut self, game: &Game, agent: &AgentView) {
        let AgentView {
            id,
            team,
            tile,
            facing,
            level,
            inventory,
        } = *agent;
        let team = game.config().teams[usize::from(team.0)].as_bytes();
        self.write(&GuiEvent::Joined {
            agent: id,
            tile,
            facing,
            level,
            team,
        });
        self.write(&GuiEvent::Inventory {
            agent: id,
            tile,
            inventory,
        });
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
            | GameEvent::EggDestroyed { .. }
    )
}
