//! Invariants: what is always true of a game between two calls.
//!
//! Run after every input and every deadline where debug assertions are on, so that tests and simulation have
//! them and a release build pays nothing. A broken one is our mistake, never a peer's, and stops the program.

use trantor_model::{AgentId, Command, EggId, TeamId};

use crate::agenda::{Agenda, Due, Ticket};
use crate::desk::OUTSTANDING_MAX;
use crate::game::Game;
use crate::rules::hunger::starves_at;
use crate::rules::{Agent, World, spawning};

/// World size up to which every call is checked. A check goes through all of the world, so larger ones are
/// checked at every 1,024th step, or a development build could not keep up with a game at full speed.
const CHECKED_ALWAYS_TILES_MAX: usize = 128;

impl Game {
    /// [`Self::check`] where debug assertions are on.
    pub(crate) fn check_in_debug(&self) {
        if cfg!(debug_assertions)
            && (self.world().size().area() <= CHECKED_ALWAYS_TILES_MAX || self.steps().is_multiple_of(1_024))
        {
            self.check();
        }
    }
}

impl World {
    /// Checks counts, places and numbers.
    ///
    /// # Panics
    /// If the world is inconsistent.
    pub fn check(&self) {
        self.check_ground();
        self.check_places();
        self.check_teams();
        self.check_rituals();
    }

    fn check_ground(&self) {
        let mut totals = self.ground_totals.map(|_| 0);
        for tile in &self.tiles {
            for (resource, count) in tile.ground.iter() {
                totals[resource.index()] += u64::from(count);
            }
        }
        assert_eq!(totals, self.ground_totals, "the totals are those of the tiles");
    }

    /// Everybody stands on the list of one tile, and the same for eggs.
    fn check_places(&self) {
        let (mut agents, mut eggs) = (0, 0);
        for (index, tile) in self.tiles.iter().enumerate() {
            let place = self.size.tile_at(index);
            let (agents_here, eggs_here) = (tile.agents.as_slice(), tile.eggs.as_slice());
            assert!(
                agents_here.is_sorted() && eggs_here.is_sorted(),
                "lists are in order"
            );
            for &id in agents_here {
                assert_eq!(self.agents[id].tile, place, "{id:?} stands where it is listed");
            }
            for id in eggs_here {
                assert_eq!(self.eggs[id].tile, place, "{id:?} lies where it is listed");
            }
            agents += agents_here.len();
            eggs += eggs_here.len();
        }
        assert_eq!(agents, self.agents.len(), "every agent is on one list");
        assert_eq!(eggs, self.eggs.len(), "every egg is on one list");
        let ids: Vec<AgentId> = self.agents.iter().map(|agent| agent.id).collect();
        assert!(
            ids.windows(2).all(|pair| pair[0] < pair[1]),
            "numbers are unique and in order"
        );
        assert!(ids.last().is_none_or(|last| last.0 < self.agents.next_number()));
        assert!(self.eggs.keys().last().is_none_or(|last| last.0 < self.next_egg));
    }

    fn check_teams(&self) {
        for (index, team) in self.teams.iter().enumerate() {
            let id = TeamId(index as u16);
            let living = self.agents.iter().filter(|agent| agent.team == id).count();
            assert_eq!(living, team.living as usize, "{id:?} counts its living");
            let eggs = self.eggs.values().filter(|egg| egg.team == id).count();
            assert_eq!(eggs, team.eggs as usize, "{id:?} counts its eggs");
            let ripe = self
                .eggs
                .values()
                .filter(|egg| egg.team == id && egg.matures.is_none());
            let ripe: Vec<EggId> = ripe.map(|egg| egg.id).collect();
            assert_eq!(ripe, team.hatchable, "{id:?} lists the eggs that can be hatched");
        }
    }

    fn check_rituals(&self) {
        for ritual in self.rituals.iter() {
            for &id in &ritual.participants {
                assert_eq!(self.agents[id].ritual, Some(ritual.id), "participants are held");
            }
            for id in &ritual.withheld {
                assert!(
                    ritual.participants.contains(id),
                    "only participants have effects withheld"
                );
                let running = self.agents[*id].desk.running.as_ref();
                assert!(
                    running.is_some_and(|running| running.withheld),
                    "{id:?} has one withheld"
                );
            }
        }
        for agent in self.agents.iter() {
            let ritual = agent
                .ritual
                .map(|ritual| self.rituals.get(ritual).expect("it is under way"));
            assert!(ritual.is_none_or(|ritual| ritual.participants.contains(&agent.id)));
            let withheld = agent
                .desk
                .running
                .as_ref()
                .is_some_and(|running| running.withheld);
            assert_eq!(
                withheld,
                ritual.is_some_and(|ritual| ritual.withheld.contains(&agent.id)),
                "a withheld effect is noted at its ritual"
            );
        }
    }
}

impl Game {
    /// Checks the world, and that the agenda agrees with it: every busy agent has exactly one deadline.
    ///
    /// # Panics
    /// If the game is inconsistent.
    pub fn check(&self) {
        self.world().check();
        let agenda = &self.agenda;
        assert!(
            agenda.next_deadline().is_none_or(|next| next >= self.now()),
            "nothing due lies in the past"
        );
        let is_refilled = self.world.refill_enabled && self.winner().is_none();
        assert!(
            !is_refilled || self.refill_timer.is_some() || !spawning::is_short(&self.world),
            "what is short will be topped up"
        );
        let mut expected = usize::from(self.refill_timer.is_some());
        for agent in self.world().agents() {
            expected += self.check_agent(agenda, agent);
        }
        for egg in self.world().eggs().filter(|egg| egg.matures.is_some()) {
            assert!(
                self.winner().is_some() || count(agenda, Due::Hatch(egg.id)) == 1,
                "an unripe egg matures once"
            );
            expected += usize::from(self.winner().is_none());
        }
        for message in self.world().air.messages() {
            assert!(
                self.world().agent(message.to).is_some(),
                "what is under way is so to somebody"
            );
            expected += 1;
        }
        assert_eq!(
            self.delivery_timers.len(),
            self.world().air.messages().len(),
            "each message arrives"
        );
        for ritual in self.world().rituals() {
            assert_eq!(count(agenda, Due::end_of(ritual)), 1, "a ritual ends once");
            expected += 1;
        }
        assert_eq!(agenda.len(), expected, "nothing else is on the agenda");
        if self.winner().is_some() {
            assert!(agenda.len() == 0, "after the end nothing is due");
        }
    }

    /// Checks one agent's deadlines and answers how many it has.
    fn check_agent(&self, agenda: &Agenda, agent: &Agent) -> usize {
        let desk = &agent.desk;
        assert!(
            desk.outstanding() <= OUTSTANDING_MAX,
            "{:?} has at most ten open",
            agent.id
        );
        let due =
            |timer: Option<Ticket>| timer.map(|timer| agenda.get(timer).expect("a noted timer is pending"));
        let at_desk = due(desk.timer);
        match &desk.running {
            Some(running) if running.command == Command::Incantation => {
                assert!(
                    agent.ritual.is_some() && at_desk.is_none(),
                    "the ritual's deadline ends it"
                );
            }
            Some(running) if running.withheld => assert!(at_desk.is_none(), "it is over and waits"),
            Some(_) => assert_eq!(at_desk, Some(Due::Action(agent.id)), "what runs has an end"),
            None if agent.ritual.is_some() || desk.waiting().len() == 0 => assert!(at_desk.is_none()),
            None => assert_eq!(
                at_desk,
                Some(Due::Start(agent.id)),
                "nobody free lets a command wait"
            ),
        }
        let hunger = due(desk.hunger_timer);
        let is_hungry = self.world().hunger_enabled && self.winner().is_none();
        assert_eq!(
            hunger,
            is_hungry.then_some(Due::Hunger(agent.id)),
            "the living digest"
        );
        assert!(
            starves_at(agent).is_none_or(|at| self.starvation.get().is_some_and(|bound| bound <= at)),
            "no agent starves before the bound"
        );
        usize::from(at_desk.is_some()) + usize::from(hunger.is_some())
    }
}

fn count(agenda: &Agenda, due: Due) -> usize {
    agenda.in_order().filter(|pending| *pending == due).count()
}
