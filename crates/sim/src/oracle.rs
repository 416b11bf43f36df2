//! What must be true of the server at every step, said again in the dullest way.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use trantor_engine::Engine;
use trantor_engine::limits::Limits;
use trantor_game::OUTSTANDING_MAX;
use trantor_model::{AgentId, Resource};
use trantor_time::{GameSpan, GameTime};

/// Units that one food keeps an agent alive.
const FOOD_UNITS: i64 = 126;

/// Steps between two looks at what takes long to count.
const SLOW_CHECK_STEPS: u64 = 64;

/// Remembers what it needs to judge the next step.
#[derive(Debug)]
pub(crate) struct Oracle {
    game_now: GameTime,
    /// Connections at the last step, in all and by address: lower limits send nobody away.
    connections: BTreeMap<Option<IpAddr>, u32>,
    /// The limits at the last step, which held until those of now were put into force.
    limits: Limits,
    /// When each agent's food is all used up.
    lives: BTreeMap<AgentId, GameTime>,
    /// Who was seen above level 1.
    elevated: BTreeSet<AgentId>,
}

impl Oracle {
    /// The judge of a server that begins with these limits.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            game_now: GameTime::default(),
            connections: BTreeMap::new(),
            limits,
            lives: BTreeMap::new(),
            elevated: BTreeSet::new(),
        }
    }

    /// Looks at the server between two passes.
    pub(crate) fn check(&mut self, engine: &Engine, limits: &Limits, step: u64) -> Result<(), String> {
        engine.check();
        self.check_connections(engine, limits)?;
        let game_now = engine.game_now();
        if game_now < self.game_now {
            return Err(format!(
                "game time went from {:?} back to {game_now:?}",
                self.game_now
            ));
        }
        self.game_now = game_now;
        check_teams(engine)?;
        self.check_lives(engine)?;
        if step.is_multiple_of(SLOW_CHECK_STEPS) {
            engine.game().check();
            check_ground(engine)?;
        }
        Ok(())
    }

    /// No more connections than may be, in all and from each address, and nobody came where there were more already.
    fn check_connections(&mut self, engine: &Engine, limits: &Limits) -> Result<(), String> {
        let mut counts = BTreeMap::new();
        for client in engine.clients() {
            *counts.entry(None).or_insert(0) += 1;
            *counts.entry(Some(client.peer)).or_insert(0) += 1;
        }
        let limits_before = std::mem::replace(&mut self.limits, limits.clone());
        let most = |limits: &Limits, peer: Option<IpAddr>| {
            peer.map_or(limits.connections_max, |peer| limits.connections_of(peer))
        };
        let is_within = |(peer, count): (&Option<IpAddr>, &u32)| {
            most(&limits_before, *peer).max(most(limits, *peer)) >= *count
                || self.connections.get(peer) >= Some(count)
        };
        if !counts.iter().all(is_within) {
            return Err(format!("more connections than may be: {counts:?}"));
        }
        self.connections = counts;
        Ok(())
    }

    /// How many agents rose.
    pub(crate) fn elevated(&self) -> u64 {
        self.elevated.len() as u64
    }

    /// Nobody starves late, and food comes and goes in whole pieces.
    fn check_lives(&mut self, engine: &Engine) -> Result<(), String> {
        let game = engine.game();
        let mut lives = BTreeMap::new();
        for agent in game.world().agents() {
            let id = agent.id();
            if agent.outstanding() > OUTSTANDING_MAX {
                return Err(format!("{id:?} has {} commands open", agent.outstanding()));
            }
            if agent.level().get() > 1 {
                self.elevated.insert(id);
            }
            if game.world().winner().is_some() {
                continue;
            }
            let food_ends = agent
                .food_ends()
                .ok_or_else(|| format!("{id:?} is never hungry"))?;
            if food_ends < game.now() {
                return Err(format!(
                    "{id:?} lives on after {food_ends:?}, at {:?}",
                    game.now()
                ));
            }
            let food = i64::from(agent.inventory().0[Resource::Food.index()]);
            let life_ends = food_ends + GameSpan::from_units(food * FOOD_UNITS);
            if let Some(before) = self.lives.get(&id) {
                let gained_nu = (life_ends - *before).as_nanounits();
                if gained_nu % GameSpan::from_units(FOOD_UNITS).as_nanounits() != 0 {
                    return Err(format!("{id:?} gained a part of a food: {gained_nu} nanounits"));
                }
            }
            lives.insert(id, life_ends);
        }
        self.lives = lives;
        Ok(())
    }
}

/// Agents and eggs, counted one by one.
fn check_teams(engine: &Engine) -> Result<(), String> {
    let world = engine.game().world();
    let hatches_at_once = engine.config().game.rules.egg_hatch_units == 0;
    for (index, team) in world.teams().iter().enumerate() {
        let is_its = |team: trantor_model::TeamId| usize::from(team.0) == index;
        let living = world.agents().filter(|agent| is_its(agent.team())).count();
        let eggs = world.eggs().filter(|egg| is_its(egg.team)).count();
        let places = team.places() as usize;
        if living != team.living() as usize {
            return Err(format!(
                "{living} agents of team {} live, of {}",
                team.name(),
                team.living()
            ));
        }
        if places > eggs || (hatches_at_once && places != eggs) {
            return Err(format!(
                "team {} has {places} places and {eggs} eggs",
                team.name()
            ));
        }
    }
    Ok(())
}

/// What lies on all tiles, added up.
fn check_ground(engine: &Engine) -> Result<(), String> {
    let world = engine.game().world();
    let mut totals = [0u64; Resource::COUNT];
    for index in 0..world.size().area() {
        let ground = world.ground(world.size().tile_at(index));
        for (total, count) in totals.iter_mut().zip(ground.0) {
            *total += u64::from(count);
        }
    }
    if totals == *world.ground_totals() {
        return Ok(());
    }
    Err(format!(
        "{totals:?} lie there, {:?} were counted",
        world.ground_totals()
    ))
}
