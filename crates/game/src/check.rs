//! Invariants: what is always true of a game between two calls.
//!
//! Checked after every input and every deadline where debug assertions are on, so that tests and simulation have
//! them and a release build pays nothing; there a broken one is our mistake and stops the program. A snapshot comes
//! from outside, so one that breaks an invariant is refused ([`Game::restore`]).

use std::collections::BTreeSet;

use trantor_model::{AgentId, Command, EggId, TeamId};
use trantor_time::GameTime;

use crate::agenda::Due;
use crate::game::Game;
use crate::rules::hunger::{Digestion, starves_at};
use crate::rules::{Agent, Elevation, OUTSTANDING_MAX, Running, World, spawning};

/// World size up to which every call is checked. A check goes through all of the world, so larger ones are
/// checked at every 1,024th step, or a development build could not keep up with a game at full speed.
const CHECKED_ALWAYS_TILES_MAX: usize = 128;

/// What is wrong, in words, unless the condition holds.
pub(crate) fn ensure(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    holds.then_some(()).ok_or(otherwise)
}

impl Game {
    /// Checks the world, and that the agenda agrees with it: every busy agent has exactly one deadline.
    ///
    /// # Panics
    /// If the game is inconsistent.
    pub fn check(&self) {
        if let Err(what) = self.find_contradiction() {
            panic!("the game contradicts itself: {what}");
        }
    }

    /// [`Self::check`] where debug assertions are on.
    pub(crate) fn check_in_debug(&self) {
        if cfg!(debug_assertions)
            && (self.world().size().area() <= CHECKED_ALWAYS_TILES_MAX || self.steps().is_multiple_of(1_024))
        {
            self.check();
        }
    }

    /// The first invariant that does not hold, in words.
    pub(crate) fn find_contradiction(&self) -> Result<(), &'static str> {
        let world = &self.world;
        world.check_ground()?;
        world.check_places()?;
        world.check_teams()?;
        ensure(
            world.looks_kept.are_exact(world),
            "a look is kept that is no longer true",
        )?;
        for elevation in world.elevations() {
            world.check_elevation(elevation)?;
        }
        let held: usize = world
            .elevations()
            .map(|elevation| elevation.participants.len())
            .sum();
        let claimed = world.agents().filter(|agent| agent.elevation.is_some()).count();
        ensure(
            claimed == held,
            "an agent is held by an elevation that does not know it",
        )?;
        for agent in world.agents() {
            self.check_agent(agent)?;
        }
        if let Some(winner) = world.winner {
            let is_known = winner == TeamId::DRAW || world.team(winner).is_some();
            ensure(is_known, "there is no such winner")?;
            ensure(world.elevations().len() == 0, "an elevation runs after the end")?;
            let is_silent = world.in_flight.messages().len() == 0;
            ensure(is_silent, "a message is under way after the end")?;
        }
        let mut messages = world.in_flight.messages();
        let has_recipient = messages.all(|message| world.agent(message.to).is_some());
        ensure(has_recipient, "a message in flight has no recipient")?;
        self.ledger.check(world)?;
        self.check_agenda()
    }

    fn check_agent(&self, agent: &Agent) -> Result<(), &'static str> {
        let commands = &agent.commands;
        let is_within = commands.outstanding() <= OUTSTANDING_MAX;
        ensure(is_within, "an agent has too many commands")?;
        if let Some(running) = &commands.running {
            self.check_running(running, agent.elevation.is_some())?;
        }
        let is_idle = agent.elevation.is_none() && commands.outstanding() == 0;
        let is_over = self.world.winner.is_some();
        ensure(is_idle || !is_over, "an agent is busy after the end")?;
        let digests = matches!(agent.digestion, Digestion::Until(_));
        ensure(
            digests == self.world.hunger_enabled,
            "an agent digests where hunger is off, or does not where it is on",
        )?;
        let bound = self.starvation.get();
        let is_bound = starves_at(agent).is_none_or(|at| bound.is_some_and(|bound| bound <= at));
        ensure(is_bound, "an agent starves before the bound")
    }

    fn check_running(&self, running: &Running, is_held: bool) -> Result<(), &'static str> {
        let takes_time = running.command.duration_units() > 0;
        ensure(takes_time, "an action that takes no time is under way")?;
        let has_begun = running.start <= self.now;
        ensure(has_begun, "an action under way has not begun")?;
        let is_elevation = running.command == Command::Incantation;
        ensure(
            is_held || !is_elevation,
            "an agent elevates outside of an elevation",
        )?;
        let may_be_withheld = is_held && !is_elevation && running.end <= self.now;
        let is_fine = !running.withheld || may_be_withheld;
        ensure(is_fine, "an effect is withheld for no reason")
    }

    /// What is due follows from the rest, and the timers name it.
    fn check_agenda(&self) -> Result<(), &'static str> {
        let refill_at = self.refill_timer.map(|timer| timer.at);
        let expected = self.pending(refill_at);
        let mut listed: Vec<(Due, GameTime)> = self
            .agenda
            .in_order()
            .map(|(ticket, due)| (due, ticket.at))
            .collect();
        listed.sort_unstable();
        ensure(listed == expected, "what is due does not follow from the rest")?;
        let is_ahead = expected.iter().all(|(_, at)| *at >= self.now);
        ensure(is_ahead, "a deadline lies in the past")?;
        let is_refilled = self.world.refill_enabled && self.world.winner.is_none();
        ensure(
            !is_refilled || refill_at.is_some() || !spawning::is_short(&self.world),
            "the ground is short and no refill is due",
        )?;
        let mut timed = 0;
        for (ticket, due) in self.agenda.in_order() {
            let agent = |id| self.world.agent(id);
            let timer = match due {
                Due::Action(id) | Due::Start(id) => agent(id).and_then(|agent| agent.commands.timer),
                Due::Hunger(id) => agent(id).and_then(|agent| agent.hunger_timer),
                Due::Hatch(egg) => self.hatch_timers.get(&egg).copied(),
                Due::Delivery { message, .. } => self.delivery_timers.get(&message).copied(),
                Due::Refill => self.refill_timer,
                // It cannot be cancelled, and needs none.
                Due::Elevation { .. } => continue,
            };
            ensure(timer == Some(ticket), "a timer is not its deadline")?;
            timed += 1;
        }
        let of_agents = self.world.agents().map(|agent| {
            usize::from(agent.commands.timer.is_some()) + usize::from(agent.hunger_timer.is_some())
        });
        let others = self.hatch_timers.len() + self.delivery_timers.len() + usize::from(refill_at.is_some());
        ensure(
            timed == of_agents.sum::<usize>() + others,
            "a timer belongs to nothing that is due",
        )
    }

    /// Everything that must be pending, and when; sorted.
    pub(crate) fn pending(&self, refill_at: Option<GameTime>) -> Vec<(Due, GameTime)> {
        let mut pending = Vec::new();
        let world = &self.world;
        if world.winner.is_some() {
            return pending;
        }
        for agent in world.agents() {
            if let Digestion::Until(end) = agent.digestion {
                pending.push((Due::Hunger(agent.id), end));
            }
            match &agent.commands.running {
                // The elevation's deadline ends both.
                Some(running) if running.withheld || running.command == Command::Incantation => {}
                Some(running) => {
                    pending.push((Due::Action(agent.id), running.end));
                }
                None if agent.elevation.is_none() && !agent.commands.waiting.is_empty() => {
                    pending.push((Due::Start(agent.id), self.now));
                }
                None => {}
            }
        }
        let unripe = world.eggs().filter_map(|egg| Some((egg.id, egg.matures?)));
        pending.extend(unripe.map(|(egg, matures)| (Due::Hatch(egg), matures)));
        pending.extend(
            world
                .elevations()
                .map(|elevation| (elevation.due(), elevation.end)),
        );
        pending.extend(
            world
                .in_flight
                .messages()
                .map(|message| (message.due(), message.at)),
        );
        pending.extend(refill_at.map(|at| (Due::Refill, at)));
        pending.sort_unstable();
        pending
    }
}

impl World {
    fn check_ground(&self) -> Result<(), &'static str> {
        let mut totals = self.ground_totals.map(|_| 0);
        for tile in &self.tiles {
            for (resource, count) in tile.ground.iter() {
                totals[resource.index()] += u64::from(count);
            }
        }
        ensure(
            totals == self.ground_totals,
            "the totals are not those of the tiles",
        )
    }

    /// Every agent is on the list of one tile, and the same for eggs.
    fn check_places(&self) -> Result<(), &'static str> {
        let (mut agents, mut eggs) = (0, 0);
        for (index, tile) in self.tiles.iter().enumerate() {
            let place = self.size.tile_at(index);
            let (agents_here, eggs_here) = (&tile.agents, &tile.eggs);
            ensure(
                agents_here.is_sorted() && eggs_here.is_sorted(),
                "a tile's list is not in order",
            )?;
            let stands_here = |&id: &AgentId| self.agent(id).is_some_and(|agent| agent.tile == place);
            let lies_here = |&id: &EggId| self.egg(id).is_some_and(|egg| egg.tile == place);
            ensure(
                agents_here.iter().all(stands_here) && eggs_here.iter().all(lies_here),
                "a tile lists what is elsewhere",
            )?;
            agents += agents_here.len();
            eggs += eggs_here.len();
        }
        ensure(
            agents == self.agents.len() && eggs == self.eggs.len(),
            "an agent or an egg is not on one list",
        )?;
        let ids = self.agents.ids();
        let last_egg = self.eggs.keys().last();
        ensure(
            ids.windows(2).all(|pair| pair[0] < pair[1])
                && ids.last().is_none_or(|last| last.0 < self.agents.next_number())
                && last_egg.is_none_or(|last| last.0 < self.next_egg),
            "an agent or an egg has a number to come",
        )
    }

    fn check_teams(&self) -> Result<(), &'static str> {
        for (index, team) in self.teams.iter().enumerate() {
            let id = TeamId(index as u16);
            let living = self.agents.iter().filter(|agent| agent.team == id).count();
            let eggs = || self.eggs.values().filter(|egg| egg.team == id);
            let ripe = eggs().filter(|egg| egg.matures.is_none()).map(|egg| egg.id);
            ensure(
                living == team.living as usize
                    && eggs().count() == team.eggs as usize
                    && ripe.eq(team.hatchable.iter().copied()),
                "a team counts other agents or eggs than it has",
            )?;
        }
        Ok(())
    }

    fn check_elevation(&self, elevation: &Elevation) -> Result<(), &'static str> {
        ensure(
            elevation.id.0 < self.elevations.next_id(),
            "an elevation has a number to come",
        )?;
        ensure(self.size.contains(elevation.tile), "an elevation is off the map")?;
        ensure(
            elevation.level.next().is_some(),
            "an elevation is above the last level",
        )?;
        let unique: BTreeSet<AgentId> = elevation.participants.iter().copied().collect();
        let is_held = |&id: &AgentId| {
            self.agent(id)
                .is_some_and(|agent| agent.elevation == Some(elevation.id))
        };
        ensure(
            unique.len() == elevation.participants.len() && unique.iter().all(is_held),
            "an elevation holds an agent twice, or not at all",
        )?;
        let running = |&id: &AgentId| self.agent(id)?.commands.running.as_ref();
        let elevates = |id| running(id).is_some_and(|running| running.command == Command::Incantation);
        let is_askers = self.agent(elevation.asker).is_none() || unique.contains(&elevation.asker);
        ensure(
            is_askers && unique.iter().all(|id| elevates(id) == (*id == elevation.asker)),
            "an elevation is not its asker's",
        )?;
        let is_withheld = |id: &AgentId| running(id).is_some_and(|running| running.withheld);
        let withheld: BTreeSet<AgentId> = elevation.withheld.iter().copied().collect();
        ensure(
            withheld.len() == elevation.withheld.len()
                && unique
                    .iter()
                    .copied()
                    .filter(is_withheld)
                    .eq(withheld.iter().copied()),
            "an elevation withholds other effects than its participants have",
        )
    }
}
