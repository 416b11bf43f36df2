//! The living agents, by number.
//!
//! Numbers only grow, and the list is kept in their order, so iteration is in order
//! of birth. Each has a queue of commands, the running one and the waiting ones, ten together; when the next one starts is
//! decided in `game.rs`, and what it does, in the other rules.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};
use trantor_model::{
    ActionState, AgentId, AgentView, Command, Counts, Direction, ElevationId, Level, TeamId, Tile,
};
use trantor_time::GameTime;

use crate::agenda::Ticket;
use crate::rules::hunger::{self, Digestion};

/// A living agent. What is serialized is part of the snapshot format.
///
/// In this order in memory: a meal reads and writes neighbours. Thousands of agents eat at one instant, and what such a meal
/// costs is cache misses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Agent {
    /// Its number.
    pub id: AgentId,
    /// Its team.
    pub team: TeamId,
    /// Where it stands.
    pub tile: Tile,
    /// Where it faces.
    pub facing: Direction,
    /// Its level.
    pub level: Level,
    /// What it carries; the food being digested is not counted.
    pub inventory: Counts,
    pub(crate) digestion: Digestion,
    /// The deadline of the food it digests.
    #[serde(skip)]
    pub(crate) hunger_timer: Option<Ticket>,
    /// The elevation that holds it.
    pub elevation: Option<ElevationId>,
    #[serde(skip)]
    pub(crate) commands: CommandQueue,
    /// Whether the totals count it as idle.
    #[serde(skip)]
    pub(crate) counts_as_idle: bool,
}

/// Commands of one agent that may be open at a time, the running one included; the text protocol promises
/// ten. Further ones are dropped.
pub const OUTSTANDING_MAX: usize = 10;

/// The commands of one agent. What is serialized is part of the snapshot format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandQueue {
    /// The running action. An elevation counts as one for its asker.
    pub(crate) running: Option<Running>,
    pub(crate) waiting: VecDeque<Command>,
    /// The agent's one deadline for its actions: the end of the running one, or the start of the next.
    #[serde(skip)]
    pub(crate) timer: Option<Ticket>,
}

/// A running action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) command: Command,
    pub(crate) start: GameTime,
    pub(crate) end: GameTime,
    /// Its time is up, but an elevation holds the agent: effect and answer come when that ends.
    pub(crate) withheld: bool,
}

impl CommandQueue {
    /// Whether no further command may be added.
    pub(crate) fn is_full(&self) -> bool {
        self.outstanding() >= OUTSTANDING_MAX
    }

    /// Whether a command waits and no other one keeps it from starting.
    pub(crate) fn can_start(&self) -> bool {
        self.running.is_none() && self.timer.is_none() && !self.waiting.is_empty()
    }

    /// Commands not answered yet.
    pub(crate) fn outstanding(&self) -> usize {
        self.waiting.len() + usize::from(self.running.is_some())
    }
}

impl Agent {
    /// The commands that wait behind the one it is doing, in their order.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Command> {
        self.commands.waiting.iter()
    }

    /// When the food it digests is used up; `None` where an operator has stopped hunger.
    pub fn food_ends(&self) -> Option<GameTime> {
        match self.digestion {
            Digestion::Until(end) => Some(end),
            Digestion::Stopped(_) => None,
        }
    }

    /// Units of life left with what it carries, rounded up.
    pub fn life_units(&self, now: GameTime) -> u32 {
        hunger::life_units(self, now)
    }

    /// What a viewer may know of it.
    pub fn view(&self) -> AgentView {
        AgentView {
            id: self.id,
            team: self.team,
            tile: self.tile,
            facing: self.facing,
            level: self.level,
            inventory: self.inventory,
        }
    }

    /// Itself and its commands as a snapshot keeps them: apart, and without timers, which follow from the rest.
    pub(crate) fn saved(&self) -> (Self, CommandQueue) {
        let mut agent = self.clone();
        let commands = std::mem::take(&mut agent.commands);
        agent.hunger_timer = None;
        agent.counts_as_idle = false;
        (
            agent,
            CommandQueue {
                timer: None,
                ..commands
            },
        )
    }

    /// What it is doing.
    pub fn action(&self) -> Option<ActionState> {
        self.commands.running.as_ref().map(|running| ActionState {
            kind: running.command.kind().expect("what takes time has a kind"),
            start: running.start,
            end: running.end,
            refused: running.command.is_refused(),
        })
    }

    /// Whether none of its commands runs or waits and no elevation holds it: in lock-step, time waits for it.
    pub fn is_idle(&self) -> bool {
        self.elevation.is_none() && self.commands.outstanding() == 0
    }

    /// Commands it has sent that are not answered yet, the running one included: at most
    /// [`crate::OUTSTANDING_MAX`].
    pub fn outstanding(&self) -> usize {
        self.commands.outstanding()
    }
}

/// All living agents.
///
/// Numbers are looked up several times per action, so an agent is found without a search: its number says in
/// which page and where on it. Pages without living agents are dropped; what is left of four billion births
/// is 128 MB of empty places for pages, and of ten thousand, half a kilobyte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    pages: Vec<Option<Box<Page>>>,
    /// Their numbers in ascending order, for iteration.
    living: Vec<AgentId>,
    next_number: u32,
}

/// Agents of [`PAGE_NUMBERS`] consecutive numbers.
type Page = [Option<Box<Agent>>; PAGE_NUMBERS];

/// Numbers on a page. If every page has one survivor only, this is what it costs to keep it, times eight bytes.
const PAGE_NUMBERS: usize = 256;

impl Agents {
    /// The number that the next agent gets; `None` when all are used up, after four billion births.
    pub(crate) fn next_id(&self) -> Option<AgentId> {
        (self.next_number < u32::MAX).then_some(AgentId(self.next_number))
    }

    /// The number that comes next, used up or not; for snapshots.
    pub(crate) fn next_number(&self) -> u32 {
        self.next_number
    }

    /// Adds an agent whose number is [`Self::next_id`] or, as a world is restored, a later one.
    pub(crate) fn insert(&mut self, agent: Agent) {
        assert!(agent.id.0 >= self.next_number, "numbers only grow");
        self.skip_to(agent.id.0 + 1);
        self.living.push(agent.id);
        let (page, place) = page_and_place(agent.id);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new([const { None }; PAGE_NUMBERS]));
        page[place] = Some(Box::new(agent));
    }

    /// The next agent gets `next_number`, the numbers before it having been given out.
    pub(crate) fn skip_to(&mut self, next_number: u32) {
        assert!(next_number >= self.next_number, "numbers only grow");
        self.next_number = next_number;
    }

    pub(crate) fn remove(&mut self, id: AgentId) -> Option<Agent> {
        let (number, place) = page_and_place(id);
        let page = self.pages.get_mut(number)?.as_mut()?;
        let agent = page[place].take()?;
        if page.iter().all(Option::is_none) {
            self.pages[number] = None;
        }
        let listed = self.living.binary_search(&id);
        self.living.remove(listed.expect("a living agent is listed"));
        Some(*agent)
    }

    pub(crate) fn get(&self, id: AgentId) -> Option<&Agent> {
        let (page, place) = page_and_place(id);
        self.pages.get(page)?.as_ref()?[place].as_deref()
    }

    pub(crate) fn get_mut(&mut self, id: AgentId) -> Option<&mut Agent> {
        let (page, place) = page_and_place(id);
        self.pages.get_mut(page)?.as_mut()?[place].as_deref_mut()
    }

    /// How many are alive.
    pub(crate) fn len(&self) -> usize {
        self.living.len()
    }

    /// The numbers of all, in ascending order.
    pub(crate) fn ids(&self) -> &[AgentId] {
        &self.living
    }

    /// All, in ascending order of number.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Agent> {
        self.living.iter().map(|&id| &self[id])
    }

    /// Those with this number or a higher one.
    pub(crate) fn iter_from(&self, id: AgentId) -> impl Iterator<Item = &Agent> {
        let first = self.living.partition_point(|&living| living < id);
        self.living[first..].iter().map(|&id| &self[id])
    }
}

fn page_and_place(id: AgentId) -> (usize, usize) {
    let number = id.0 as usize;
    (number / PAGE_NUMBERS, number % PAGE_NUMBERS)
}

impl Index<AgentId> for Agents {
    type Output = Agent;
    fn index(&self, id: AgentId) -> &Agent {
        self.get(id).expect("the caller knows that the agent lives")
    }
}

impl IndexMut<AgentId> for Agents {
    fn index_mut(&mut self, id: AgentId) -> &mut Agent {
        self.get_mut(id).expect("the caller knows that the agent lives")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(number: u32) -> Agent {
        Agent {
            id: AgentId(number),
            team: TeamId(0),
            tile: Tile { x: 0, y: 0 },
            facing: Direction::North,
            level: Level::FIRST,
            inventory: Counts::ZERO,
            digestion: Digestion::begin(true, GameTime::ZERO),
            elevation: None,
            hunger_timer: None,
            commands: CommandQueue::default(),
            counts_as_idle: false,
        }
    }

    /// Survivors of many births, spread over pages, are found, and no other agent is.
    #[test]
    fn the_living_are_found_and_listed_in_order() {
        let mut agents = Agents::default();
        (0..3_000).for_each(|number| agents.insert(agent(number)));
        let survivors = [3, 703, 1_403, 2_103, 2_803].map(AgentId);
        for id in (0..3_000).map(AgentId).rev().filter(|id| !survivors.contains(id)) {
            let removed = [agents.remove(id), agents.remove(id)];
            assert_eq!(removed.map(|agent| agent.map(|agent| agent.id)), [Some(id), None]);
        }
        assert_eq!(agents.ids(), survivors);
        let pages = agents.pages.iter().flatten().count();
        assert_eq!(pages, survivors.len(), "the other pages are dropped");
        for id in (0..3_100).chain([u32::MAX]).map(AgentId) {
            assert_eq!(agents.get(id).is_some(), survivors.contains(&id));
        }
        assert_eq!(agents.next_id(), Some(AgentId(3_000)));
    }
}
