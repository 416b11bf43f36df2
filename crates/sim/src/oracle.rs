//! Oracle: invariants of the server, recomputed by brute force after each step.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use trantor_engine::Engine;
use trantor_engine::limits::Limits;
use trantor_game::OUTSTANDING_MAX;
use trantor_model::{AgentId, Resource};
use trantor_time::{GameSpan, GameTime};

/// Lifetime of one food.
const FOOD_UNITS: i64 = 126;

/// Steps between two slow checks.
const SLOW_CHECK_STEPS: u64 = 64;

#[derive(Debug)]
pub(crate) struct Oracle {
    game_now: GameTime,
    /// Connections at the last step, in all and by address: a lower limit closes none of them.
    connections: BTreeMap<Option<IpAddr>, u32>,
    /// The limits at the last step, before a reload.
    limits: Limits,
    /// When each agent has used up its food.
    lives: BTreeMap<AgentId, GameTime>,
    /// Agents above level 1.
    elevated: BTreeSet<AgentId>,
}

impl Oracle {
    /// Limits at the start of the server.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            game_now: GameTime::default(),
            connections: BTreeMap::new(),
            limits,
            lives: BTreeMap::new(),
            elevated: BTreeSet::new(),
        }
    }

    /// Checks the server between two passes.
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

    /// Connections stay within the limits, in all and by address; above a lowered limit their number does not grow.
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
            return Err(format!("the limit of connections is exceeded: {counts:?}"));
        }
        self.connections = counts;
        Ok(())
    }

    /// Agents that reached level 2.
    pub(crate) fn elevated(&self) -> u64 {
        self.elevated.len() as u64
    }

    /// Agents starve on time, and lifetimes change by whole foods.
    fn check_lives(&mut self, engine: &Engine) -> Result<(), String> {
        let game = engine.game();
        let mut lives = BTreeMap::new();
        for agent in game.world().agents() {
            let id = agent.id();
            if agent.outstanding() > OUTSTANDING_MAX {
                return Err(format!("{id:?} has {} outstanding commands", agent.outstanding()));
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
                    return Err(format!(
                        "{id:?} gained a fraction of a food: {gained_nu} nanounits"
                    ));
                }
            }
            lives.insert(id, life_ends);
        }
        self.lives = lives;
        Ok(())
    }
}

/// Compares the counters of teams with their agents and eggs.
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

/// Compares the totals of resources with the sums over all tiles.
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
        "the tiles hold {totals:?}, the totals are {:?}",
        world.ground_totals()
    ))
}
