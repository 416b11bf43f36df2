//! An operator changes the world: each action is checked, then done at once.
use super::Game;
use crate::input::Handled;
use crate::rules::action::{matures, moved, unripe};
use crate::rules::{World, hatching, hunger, victory};
use trantor_model::control::OPERATOR_COUNT_MAX;
use trantor_model::{
    AdminAction, Change, GameRefusal, GroundChange, InventoryChange, Level, MoveKind, TeamId, Tile,
};

impl Game {
    pub(super) fn operate(&mut self, action: AdminAction) -> Result<Handled, GameRefusal> {
        self.refuse_if_over()?;
        let (world, events) = (&mut self.world, &mut self.events);
        match action {
            AdminAction::Teleport { agent, tile, facing } => {
                world.agents.get(agent).ok_or(GameRefusal::UnknownAgent)?;
                on_map(world, tile)?;
                world.move_agent(agent, tile);
                let agent = &mut world.agents[agent];
                agent.facing = facing.unwrap_or(agent.facing);
                moved(agent, MoveKind::Placed, events);
            }
            AdminAction::SetLevel { agent, level } => {
                let changed = world.agents.get_mut(agent).ok_or(GameRefusal::UnknownAgent)?;
                let before = std::mem::replace(&mut changed.level, level);
                self.ledger.level_changed(world, agent, before, self.now);
                events.push_for_viewers(|| Change::LevelChanged { agent, level });
                if level == Level::LAST {
                    self.check_victory();
                }
            }
            AdminAction::SetInventory {
                agent: id,
                resource,
                count,
            } => {
                let agent = world.agents.get_mut(id).ok_or(GameRefusal::UnknownAgent)?;
                in_bounds(count)?;
                let before = agent.inventory;
                agent.inventory[resource] = count;
                let (team, after) = (agent.team, agent.inventory);
                events.push_for_viewers(|| hunger::inventory_changed(agent, InventoryChange::Set));
                self.starvation.note_food(agent);
                self.ledger
                    .stones_changed(world, team, (&before, &after), None, self.now);
            }
            AdminAction::SetGround { tile, ground } => {
                on_map(world, tile)?;
                ground.0.into_iter().try_for_each(in_bounds)?;
                world.set_ground(tile, ground);
                let why = GroundChange::Admin;
                events.push_for_viewers(|| Change::Ground { tile, ground, why });
                self.ledger.ground_changed(world, self.now);
                self.arm_refill();
            }
            AdminAction::Kill { agent } => self.kill(agent)?,
            AdminAction::LayEgg { team, tile } => {
                world.team(team).ok_or(GameRefusal::UnknownTeam)?;
                on_map(world, tile)?;
                let matures = matures(world, self.now);
                let egg = hatching::lay_another(world, team, tile, None, matures, events);
                self.follow_up(unripe(egg, matures));
                egg.ok_or(GameRefusal::FullOfEggs)?;
            }
            AdminAction::SetHunger { enabled } => self.set_hunger(enabled),
            AdminAction::SetRefill { enabled } => self.set_refill(enabled),
            AdminAction::SetLag { lag } => world.in_flight.set_lag(lag)?,
            AdminAction::SetTeamLag { team, lag } => {
                world.team(team).ok_or(GameRefusal::UnknownTeam)?;
                world.in_flight.set_team_lag(team, lag)?;
            }
            AdminAction::EndMatch => {
                let leader = victory::leader(world);
                self.end(leader);
            }
            AdminAction::OpenTeam { team } | AdminAction::CloseTeam { team } => {
                world.team(team).ok_or(GameRefusal::UnknownTeam)?;
                world.team_mut(team).is_closed = matches!(action, AdminAction::CloseTeam { .. });
            }
            AdminAction::EndMatchWith { winner } => {
                if let Some(team) = winner {
                    world.team(team).ok_or(GameRefusal::UnknownTeam)?;
                }
                self.end(winner.unwrap_or(TeamId::DRAW));
            }
        }
        Ok(Handled::Done)
    }

    /// Stops all digestion, or resumes it with what was left, to the nanounit.
    fn set_hunger(&mut self, enabled: bool) {
        self.world.hunger_enabled = enabled;
        for id in self.world.agents.ids().to_vec() {
            let agent = &mut self.world.agents[id];
            agent.digestion.set_enabled(enabled, self.now);
            match agent.hunger_timer {
                Some(timer) if !enabled => {
                    agent.hunger_timer = None;
                    self.agenda.cancel(timer);
                }
                None if enabled => self.schedule_hunger(id),
                _ => {}
            }
            let food_ends = self.world.agents[id].food_ends();
            self.events
                .push_for_viewers(|| Change::Hunger { agent: id, food_ends });
        }
    }

    fn set_refill(&mut self, enabled: bool) {
        self.world.refill_enabled = enabled;
        if enabled {
            self.arm_refill();
        } else if let Some(timer) = self.refill_timer.take() {
            self.agenda.cancel(timer);
        }
    }
}

fn on_map(world: &World, tile: Tile) -> Result<(), GameRefusal> {
    world.size.contains(tile).then_some(()).ok_or(GameRefusal::OffMap)
}

fn in_bounds(count: u32) -> Result<(), GameRefusal> {
    (count <= OPERATOR_COUNT_MAX)
        .then_some(())
        .ok_or(GameRefusal::TooMany)
}
