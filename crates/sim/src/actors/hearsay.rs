//! What a viewer in text was told, line by line and without the client's help, to be compared with the world.
//!
//! A line that does not fit what was told before is false by itself: nobody is told of an agent or an egg that it does
//! not know, and nobody is told twice that somebody came.

use std::collections::{BTreeMap, BTreeSet};

use trantor_model::{AgentId, Counts, Direction, EggId, Level, MapSize, Tile};
use trantor_protocol::text::client::parse_gui_event;
use trantor_protocol::text::{Cut, GuiEvent, LineCutter};

use super::Verdict;
use crate::fault::{Fault, Sabotage};
use crate::picture::Picture;
use crate::replayed::Received;

/// See the module.
#[derive(Default)]
pub(crate) struct Hearsay {
    cutter: LineCutter,
    is_greeted: bool,
    size: Option<MapSize>,
    /// By place in the row-by-row list; `None` for what was not told yet.
    ground: Vec<Option<Counts>>,
    agents: BTreeMap<AgentId, Known>,
    eggs: BTreeMap<EggId, Tile>,
    has_winner: bool,
    /// Of whom it was told everything since they were born: they say that they begin to lay before they have laid.
    followed: BTreeSet<AgentId>,
    /// Those of them that began to lay.
    laying: BTreeSet<AgentId>,
    has_jumped: bool,
    /// Whether it was compared, so that who comes from now on is followed.
    is_compared: bool,
    /// Lines to be compared with a replay of the journal.
    pub(super) received: Option<Received>,
}

/// An agent, as told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    tile: Tile,
    facing: Direction,
    level: Level,
    /// The schools of the 42 do not tell it of those who are there already.
    inventory: Option<Counts>,
}

impl Hearsay {
    /// Takes bytes from the server, of which a fault may drop a line.
    pub(crate) fn hear(&mut self, mut bytes: &[u8], fault: Fault, sabotage: &mut Sabotage) -> Verdict {
        let mut cutter = std::mem::take(&mut self.cutter);
        let mut verdict = Ok(());
        while verdict.is_ok()
            && let Some(cut) = cutter.next(&mut bytes)
        {
            verdict = match cut {
                Cut::Line(_) if !std::mem::replace(&mut self.is_greeted, true) => Ok(()),
                Cut::Line(line) if is_ground(line) && sabotage.strikes(fault) => Ok(()),
                Cut::Line(line) if is_said(line) && sabotage.strikes(Fault::DroppedSaid) => Ok(()),
                Cut::Line(line) => self.line(line),
                Cut::TooLong => Err("the server sent a line without end".to_owned()),
            };
        }
        self.cutter = cutter;
        verdict
    }

    /// Whether every tile was told, and so everything else.
    pub(crate) fn is_whole(&self) -> bool {
        self.size.is_some() && self.ground.iter().all(Option::is_some)
    }

    /// A recording was moved: nobody was followed since his birth, and a victory is not taken back.
    pub(crate) fn jumped(&mut self) {
        self.has_jumped = true;
        self.is_compared = false;
        self.followed.clear();
    }

    /// Compares all of it with the world as it was when the last of it was said.
    pub(crate) fn compare(&mut self, truth: &Picture, first_egg: EggId) -> Verdict {
        self.is_compared = true;
        let ground = truth.ground().iter().copied().map(Some);
        if !self.ground.iter().copied().eq(ground) {
            return Err("a viewer in text was told otherwise of the ground".to_owned());
        }
        let agents: BTreeMap<_, _> = truth
            .agents()
            .map(|view| {
                let told = self.agents.get(&view.id);
                let known = Known {
                    tile: view.tile,
                    facing: view.facing,
                    level: view.level,
                    inventory: told
                        .is_none_or(|told| told.inventory.is_some())
                        .then_some(view.inventory),
                };
                (view.id, known)
            })
            .collect();
        if agents != self.agents && !truth.is_over() {
            return Err(format!(
                "a viewer in text was told of agents {:?}, there are {agents:?}",
                self.agents
            ));
        }
        let eggs: BTreeMap<_, _> = truth.eggs_from(first_egg).collect();
        if eggs != self.eggs {
            return Err(format!(
                "a viewer in text was told of eggs {:?}, there are {eggs:?}",
                self.eggs
            ));
        }
        match self.has_jumped || self.has_winner == truth.has_winner() {
            true => Ok(()),
            false => Err("a viewer in text was told otherwise of the victory".to_owned()),
        }
    }

    fn line(&mut self, line: &[u8]) -> Verdict {
        if let Some(received) = &mut self.received {
            received.push(line);
        }
        let event = parse_gui_event(line).ok_or_else(|| {
            format!(
                "{:?} is no line for a viewer in text",
                String::from_utf8_lossy(line)
            )
        })?;
        self.take(&event).map_err(|reason| format!("{event:?}: {reason}"))
    }

    fn take(&mut self, event: &GuiEvent<'_>) -> Result<(), &'static str> {
        match *event {
            GuiEvent::MapSize(size) => {
                if *self.size.get_or_insert(size) != size {
                    return Err("the map has another size");
                }
                self.ground.resize(size.area(), None);
            }
            GuiEvent::Tile { tile, ground } => {
                let index = self.index(tile)?;
                self.ground[index] = Some(ground);
            }
            GuiEvent::Joined {
                agent,
                tile,
                facing,
                level,
                ..
            } => {
                self.index(tile)?;
                let known = Known {
                    tile,
                    facing,
                    level,
                    inventory: None,
                };
                if self.agents.insert(agent, known).is_some() {
                    return Err("it was there already");
                }
                if self.is_compared {
                    self.followed.insert(agent);
                }
            }
            GuiEvent::Position { agent, tile, facing } => {
                self.index(tile)?;
                let known = self.agent(agent)?;
                (known.tile, known.facing) = (tile, facing);
            }
            GuiEvent::Level { agent, level } => self.agent(agent)?.level = level,
            GuiEvent::Inventory {
                agent,
                tile,
                inventory,
            } => {
                let known = self.agent(agent)?;
                if Some(known.tile) != tile {
                    return Err("it is somewhere else");
                }
                known.inventory = Some(inventory);
            }
            GuiEvent::ForkStarted { agent } => {
                self.agent(agent)?;
                self.laying.insert(agent);
            }
            GuiEvent::Died { agent } => {
                self.agents.remove(&agent).ok_or(UNKNOWN)?;
                self.followed.remove(&agent);
                self.laying.remove(&agent);
            }
            GuiEvent::Ejected { agent }
            | GuiEvent::Said { agent, .. }
            | GuiEvent::Put { agent, .. }
            | GuiEvent::Took { agent, .. } => {
                self.agent(agent)?;
            }
            GuiEvent::EggLaid { egg, layer, tile } => {
                self.index(tile)?;
                if let Some(layer) = layer
                    && !self.laying.remove(&layer)
                    && self.followed.contains(&layer)
                {
                    return Err("its layer has not begun to lay");
                }
                if self.eggs.insert(egg, tile).is_some() {
                    return Err("it was there already");
                }
            }
            GuiEvent::EggMatured { egg } => {
                self.eggs.get(&egg).ok_or(UNKNOWN)?;
            }
            GuiEvent::EggHatched { egg } | GuiEvent::EggDestroyed { egg } => {
                self.eggs.remove(&egg).ok_or(UNKNOWN)?;
            }
            GuiEvent::Won { .. } => self.has_winner = true,
            GuiEvent::UnknownRequest | GuiEvent::BadParameter => return Err("nothing wrong was asked"),
            GuiEvent::Team(_) if !self.is_whole() => return Err("the map comes first, and all of it"),
            GuiEvent::Team(_)
            | GuiEvent::RitualStarted { .. }
            | GuiEvent::RitualEnded { .. }
            | GuiEvent::Frequency(_)
            | GuiEvent::Message(_) => {}
        }
        Ok(())
    }

    fn agent(&mut self, agent: AgentId) -> Result<&mut Known, &'static str> {
        self.agents.get_mut(&agent).ok_or(UNKNOWN)
    }

    fn index(&self, tile: Tile) -> Result<usize, &'static str> {
        let size = self.size.ok_or("nothing was told of the map")?;
        size.contains(tile)
            .then(|| size.index_of(tile))
            .ok_or("that is not on the map")
    }
}

const UNKNOWN: &str = "nothing was told of it before";

fn is_said(line: &[u8]) -> bool {
    line.starts_with(b"pbc ")
}

fn is_ground(line: &[u8]) -> bool {
    line.starts_with(b"bct ")
}
