//! What an operator asks for, and what follows for the deadlines.

use trantor_model::Level;

use super::Game;
use crate::input::{AdminAction, Handled, Refusal};
use crate::rules::{operator, victory};

impl Game {
    pub(super) fn operate(&mut self, action: AdminAction) -> Result<Handled, Refusal> {
        self.refuse_if_over()?;
        let (world, events, now) = (&mut self.world, &mut self.events, self.now);
        match action {
            AdminAction::Teleport { agent, tile, facing } => {
                operator::teleport(world, agent, tile, facing, events)?;
            }
            AdminAction::SetLevel { agent, level } => {
                operator::set_level(world, agent, level, events)?;
                if level == Level::LAST {
                    self.check_victory();
                }
            }
            AdminAction::SetInventory {
                agent,
                resource,
                count,
            } => {
                operator::set_inventory(world, agent, resource, count, events)?;
                self.starvation.note_food(&self.world.agents[agent]);
            }
            AdminAction::SetGround { tile, ground } => {
                operator::set_ground(world, tile, ground, events)?;
                self.arm_refill();
            }
            AdminAction::Kill { agent } => self.kill(agent)?,
            AdminAction::LayEgg { team, tile } => {
                let effect = operator::lay_egg(world, team, tile, now, events)?;
                self.follow_up(effect);
            }
            AdminAction::SetHunger { enabled } => self.set_hunger(enabled),
            AdminAction::SetRefill { enabled } => self.set_refill(enabled),
            AdminAction::SetLag { lag } => world.air.set_lag(lag)?,
            AdminAction::EndMatch => {
                victory::declare_leader(world, events);
                self.end();
            }
        }
        Ok(Handled::Done)
    }

    /// Stops all digestion, or lets it go on with what was left, to the nanounit.
    fn set_hunger(&mut self, enabled: bool) {
        self.world.hunger_enabled = enabled;
        for id in self.world.agents.ids().to_vec() {
            let agent = &mut self.world.agents[id];
            agent.digestion.set_enabled(enabled, self.now);
            match agent.desk.hunger_timer {
                Some(timer) if !enabled => {
                    agent.desk.hunger_timer = None;
                    self.agenda.cancel(timer);
                }
                None if enabled => self.schedule_hunger(id),
                _ => {}
            }
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
