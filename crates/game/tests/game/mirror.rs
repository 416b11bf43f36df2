//! A copy of a world made from its events alone, with the invariants of each event.
//!
//! It shows that a viewer needs nothing but the events, and that nothing appears or vanishes without one.

use std::collections::BTreeMap;

use trantor_game::{Carry, GameEvent, GroundChange, Rules, World};
use trantor_model::{AgentId, AgentView, Counts, EggId, Resource, TeamId, Tile};

#[derive(Debug, PartialEq)]
pub(crate) struct Mirror {
    ground: BTreeMap<Tile, Counts>,
    agents: BTreeMap<AgentId, AgentView>,
    /// Of which team, where, and whether it can be hatched.
    eggs: BTreeMap<EggId, (TeamId, Tile, bool)>,
    rituals: usize,
    /// Whether laid eggs mature later.
    are_laid_unripe: bool,
}

impl Mirror {
    pub(crate) fn of(world: &World, rules: &Rules) -> Self {
        let tiles = (0..world.size().area()).map(|index| world.size().tile_at(index));
        Self {
            ground: tiles.map(|tile| (tile, *world.ground(tile))).collect(),
            agents: world.agents().map(|agent| (agent.id(), agent.view())).collect(),
            eggs: world
                .eggs()
                .map(|egg| (egg.id, (egg.team, egg.tile, egg.matures.is_none())))
                .collect(),
            rituals: world.rituals().count(),
            are_laid_unripe: rules.egg_hatch_units > 0,
        }
    }

    /// # Panics
    /// If the copy is not the world.
    pub(crate) fn assert_is(&self, world: &World, rules: &Rules) {
        assert_eq!(*self, Self::of(world, rules));
    }

    pub(crate) fn apply(&mut self, event: &GameEvent) {
        match event {
            GameEvent::Joined { agent, egg } => {
                let egg = self.eggs.remove(egg);
                assert_eq!(
                    egg,
                    Some((agent.team, agent.tile, true)),
                    "one hatches from an egg"
                );
                assert!(
                    self.agents.insert(agent.id, *agent).is_none(),
                    "numbers are unique"
                );
            }
            GameEvent::Died { agent } | GameEvent::Left { agent, .. } => {
                assert!(self.agents.remove(agent).is_some(), "one is gone once");
            }
            GameEvent::Moved {
                agent, tile, facing, ..
            } => {
                let agent = self.agents.get_mut(agent).expect("the living move");
                (agent.tile, agent.facing) = (*tile, *facing);
            }
            GameEvent::Took(carry) => self.carried(carry, 1),
            GameEvent::Put(carry) => self.carried(carry, -1),
            GameEvent::Ate { agent, inventory, .. } => {
                let agent = self.agents.get_mut(agent).expect("the living eat");
                assert!(agent.inventory.take_one(Resource::Food));
                assert_eq!(agent.inventory, *inventory);
            }
            GameEvent::InventorySet { agent, inventory, .. } => {
                self.agents.get_mut(agent).expect("the living carry").inventory = *inventory;
            }
            GameEvent::EggLaid { egg, team, tile, .. } => {
                let egg = self.eggs.insert(*egg, (*team, *tile, !self.are_laid_unripe));
                assert!(egg.is_none(), "numbers are unique");
            }
            GameEvent::EggMatured { egg } => {
                let (.., is_ripe) = self.eggs.get_mut(egg).expect("an egg that is there matures");
                assert!(!std::mem::replace(is_ripe, true), "it matures once");
            }
            GameEvent::EggDestroyed { egg } => {
                assert!(self.eggs.remove(egg).is_some(), "an egg breaks once");
            }
            GameEvent::LevelChanged { agent, level } => {
                self.agents.get_mut(agent).expect("the living rise").level = *level;
            }
            GameEvent::GroundChanged { tile, ground, why } => self.ground_changed(*tile, *ground, *why),
            GameEvent::RitualStarted { .. } => self.rituals += 1,
            GameEvent::RitualEnded { .. } => self.rituals -= 1,
            GameEvent::Reply { .. }
            | GameEvent::Heard { .. }
            | GameEvent::PushedFrom { .. }
            | GameEvent::ActionStarted { .. }
            | GameEvent::Said { .. }
            | GameEvent::Ejected { .. }
            | GameEvent::ForkStarted { .. }
            | GameEvent::Refilled
            | GameEvent::Won { .. } => {}
        }
    }

    /// One thing moves between tile and hand; nothing is made or lost.
    fn carried(&mut self, carry: &Carry, taken: i64) {
        let agent = self.agents.get_mut(&carry.agent).expect("the living carry");
        let ground = self.ground.get_mut(&carry.tile).expect("on the map");
        assert_eq!(agent.tile, carry.tile);
        for (resource, held) in carry.inventory.iter() {
            let moved = if resource == carry.resource { taken } else { 0 };
            assert_eq!(i64::from(held) - i64::from(agent.inventory[resource]), moved);
            assert_eq!(
                i64::from(ground[resource]) - i64::from(carry.ground[resource]),
                moved
            );
        }
        agent.inventory = carry.inventory;
        *ground = carry.ground;
    }

    /// A refill only adds; a ritual only uses up.
    fn ground_changed(&mut self, tile: Tile, ground: Counts, why: GroundChange) {
        let before = self.ground.insert(tile, ground).expect("on the map");
        match why {
            GroundChange::Refill => assert!(ground.covers(&before) && ground != before),
            GroundChange::Ritual => assert!(before.covers(&ground) && ground != before),
            GroundChange::Admin => {}
        }
    }
}
