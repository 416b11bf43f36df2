//! What an agent knows of itself: level, load, food, and how much time has passed.
//!
//! There is no clock. Time is counted by the length of what was carried out, which is all the game time that
//! passes for an agent that is never idle; it is used for patience only, never for exactness.

use trantor_model::{Command, Counts, Level, Resource};

use crate::steering::Pose;

/// Units of life in one piece of food.
pub(crate) const FOOD_UNITS: u64 = 126;

/// Units for which an elevation holds its participants.
pub(crate) const RITUAL_UNITS: u64 = 300;

/// An agent's own state, as far as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) level: Level,
    /// As last received, and kept up to date by what was taken and put down since.
    carried: Counts,
    /// When `carried` was last received.
    inventory_at: u64,
    /// Units passed since the agent was born, about.
    pub(crate) clock: u64,
    /// Whether it takes part in a running elevation.
    pub(crate) is_held: bool,
    /// Where it stands and faces, from any place and heading that it was set to.
    pub(crate) pose: Pose,
}

impl Body {
    pub(crate) fn newborn() -> Self {
        let mut carried = Counts::ZERO;
        carried[Resource::Food] = 9;
        Self {
            level: Level::FIRST,
            carried,
            inventory_at: 0,
            clock: 0,
            is_held: false,
            pose: Pose::default(),
        }
    }

    /// Food left, in pieces; what was eaten since it was last received is taken off.
    pub(crate) fn food(&self) -> u32 {
        let eaten = (self.clock - self.inventory_at) / FOOD_UNITS;
        self.carried[Resource::Food].saturating_sub(u32::try_from(eaten).unwrap_or(u32::MAX))
    }

    /// Units since the inventory was last received.
    pub(crate) fn inventory_age(&self) -> u64 {
        self.clock - self.inventory_at
    }

    /// Stones carried; the place of food is 0.
    pub(crate) fn stones(&self) -> Counts {
        let mut stones = self.carried;
        stones[Resource::Food] = 0;
        stones
    }

    /// An inventory was received.
    pub(crate) fn set_inventory(&mut self, carried: &Counts) {
        self.carried = *carried;
        self.inventory_at = self.clock;
    }

    /// Applies the answer of a command.
    pub(crate) fn carried_out(&mut self, command: &Command, succeeded: bool) {
        self.clock += u64::from(command.duration_units());
        match (command, succeeded) {
            (Command::Take(resource), true) => self.carried.add_one(*resource),
            (Command::Set(resource), true) => {
                self.carried.take_one(*resource);
            }
            (Command::Set(resource), false) => self.carried[*resource] = 0,
            (Command::Forward, true) => self.pose.step(0),
            (Command::Turn(turn), true) => self.pose.turn(*turn),
            _ => {}
        }
    }

    /// An elevation ended, well or not.
    pub(crate) fn ritual_ended(&mut self) {
        self.is_held = false;
        self.clock += RITUAL_UNITS;
    }
}
