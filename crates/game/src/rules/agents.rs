//! The living agents, by number.
//!
//! Numbers only grow, and the list is kept in their order, so whoever goes through it goes through it in an
//! order that means something. What an agent does next is `desk.rs`'s; what it can do, the other rules'.

use std::ops::{Index, IndexMut};

use trantor_model::{AgentId, AgentView, CommandKind, Counts, Direction, Level, TeamId, Tile};
use trantor_time::GameTime;

use crate::desk::Desk;
use crate::rules::hunger::Digestion;
use crate::rules::incantation::RitualId;

/// A living agent, as the rules know it.
#[derive(Clone, Debug)]
pub struct Agent {
    pub(crate) id: AgentId,
    pub(crate) team: TeamId,
    pub(crate) tile: Tile,
    pub(crate) facing: Direction,
    pub(crate) level: Level,
    pub(crate) inventory: Counts,
    pub(crate) digestion: Digestion,
    pub(crate) ritual: Option<RitualId>,
    pub(crate) desk: Desk,
}

/// An action under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningAction {
    /// What; a malformed command counts as what it was meant to be.
    pub kind: CommandKind,
    /// When it began, nominally.
    pub start: GameTime,
    /// When it ends. If that is past, it waits for a ritual to end.
    pub end: GameTime,
}

impl Agent {
    /// Its number.
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// Its team.
    pub fn team(&self) -> TeamId {
        self.team
    }

    /// Where it stands.
    pub fn tile(&self) -> Tile {
        self.tile
    }

    /// Where it faces.
    pub fn facing(&self) -> Direction {
        self.facing
    }

    /// Its level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// What it carries; the food being digested is not counted.
    pub fn inventory(&self) -> &Counts {
        &self.inventory
    }

    /// When the food it digests is used up; `None` where an operator has stopped hunger.
    pub fn food_ends(&self) -> Option<GameTime> {
        match self.digestion {
            Digestion::Until(end) => Some(end),
            Digestion::Stopped(_) => None,
        }
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

    /// The ritual that holds it.
    pub fn ritual(&self) -> Option<RitualId> {
        self.ritual
    }

    /// What it is doing.
    pub fn action(&self) -> Option<RunningAction> {
        self.desk.running.as_ref().map(|running| RunningAction {
            kind: running.command.kind().expect("what takes time has a kind"),
            start: running.start,
            end: running.end,
        })
    }

    /// Commands it has sent that are not answered yet, the running one included: at most
    /// [`crate::OUTSTANDING_MAX`].
    pub fn outstanding(&self) -> usize {
        self.desk.outstanding()
    }
}

/// All living agents in ascending order of number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    /// Agents are boxed so that one's leaving moves sixteen bytes for each that came after, not the whole of
    /// them: ten thousand who leave together would otherwise hold the loop for seconds.
    in_order: Vec<(AgentId, Box<Agent>)>,
    next_number: u32,
}

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
        self.in_order.push((agent.id, Box::new(agent)));
    }

    /// The next agent gets `next_number`, the numbers before it having been given out.
    pub(crate) fn skip_to(&mut self, next_number: u32) {
        assert!(next_number >= self.next_number, "numbers only grow");
        self.next_number = next_number;
    }

    pub(crate) fn remove(&mut self, id: AgentId) -> Option<Agent> {
        self.position(id)
            .map(|position| *self.in_order.remove(position).1)
    }

    pub(crate) fn get(&self, id: AgentId) -> Option<&Agent> {
        self.position(id).map(|position| &*self.in_order[position].1)
    }

    pub(crate) fn get_mut(&mut self, id: AgentId) -> Option<&mut Agent> {
        self.position(id).map(|position| &mut *self.in_order[position].1)
    }

    pub(crate) fn len(&self) -> usize {
        self.in_order.len()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Agent> {
        self.in_order.iter().map(|(_, agent)| &**agent)
    }

    pub(crate) fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Agent> {
        self.in_order.iter_mut().map(|(_, agent)| &mut **agent)
    }

    /// Where in the list `id` is.
    ///
    /// Numbers grow by one, so an agent stands as far from either end as the numbers say, less those who died
    /// in between. With nobody dead that is one place, and the search is over before it begins.
    fn position(&self, id: AgentId) -> Option<usize> {
        let (first, last) = (self.in_order.first()?.0.0, self.in_order.last()?.0.0);
        if !(first..=last).contains(&id.0) {
            return None;
        }
        let end = self.in_order.len() - 1;
        let highest = end.min((id.0 - first) as usize);
        let lowest = end.saturating_sub((last - id.0) as usize);
        self.in_order[lowest..=highest]
            .binary_search_by_key(&id, |entry| entry.0)
            .ok()
            .map(|offset| lowest + offset)
    }
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
