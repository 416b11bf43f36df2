//! What an agent knows of itself: level, load, food, where it stands and how to get from there, and how much time has passed.
//!
//! There is no clock. Time is counted by the length of what was carried out, which is all the game time that
//! passes for an agent that is never idle; it is used for patience only, never for exactness.

use std::iter::repeat_n;

use trantor_model::{Command, Counts, Level, Resource, Turn};

/// Units of life in one piece of food.
pub(crate) const FOOD_UNITS: u64 = 126;

/// Units for which an elevation holds its participants.
pub(crate) const ELEVATION_UNITS: u64 = 300;

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
    pub(crate) fn elevation_ended(&mut self) {
        self.is_held = false;
        self.clock += ELEVATION_UNITS;
    }
}

/// A place and heading relative to where the agent stood and faced when it last looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pose {
    /// Tiles ahead of the first place.
    pub(crate) ahead: i32,
    /// Tiles to the right of it.
    pub(crate) right: i32,
    /// Quarter turns to the right since, `0..4`.
    quarter: u8,
}

impl Pose {
    /// One tile, so many quarter turns to the right of ahead.
    pub(crate) fn step(&mut self, quarters: u8) {
        match (self.quarter + quarters) % 4 {
            0 => self.ahead += 1,
            1 => self.right += 1,
            2 => self.ahead -= 1,
            _ => self.right -= 1,
        }
    }

    pub(crate) fn turn(&mut self, turn: Turn) {
        let quarters = if turn == Turn::Right { 1 } else { 3 };
        self.quarter = (self.quarter + quarters) % 4;
    }

    /// The place that lies so many tiles ahead and to the right.
    pub(crate) fn place_of(self, ahead: i32, right: i32) -> (i32, i32) {
        let (da, dr) = match self.quarter {
            0 => (ahead, right),
            1 => (-right, ahead),
            2 => (-ahead, -right),
            _ => (right, -ahead),
        };
        (self.ahead + da, self.right + dr)
    }

    /// The commands that lead to the tile `ahead` and `right` of the origin, and the pose there.
    pub(crate) fn route_to(mut self, ahead: i32, right: i32) -> (Vec<Command>, Pose) {
        let (da, dr) = (ahead - self.ahead, right - self.right);
        // In the agent's own frame.
        let (front, side) = match self.quarter {
            0 => (da, dr),
            1 => (dr, -da),
            2 => (-da, -dr),
            _ => (-dr, da),
        };
        let towards = if side < 0 { Turn::Left } else { Turn::Right };
        // Behind: one more turn the same way if already turned, else about-face.
        let turns_back = if front < 0 { 1 + usize::from(side == 0) } else { 0 };
        let turns_aside = usize::from(side != 0);
        let mut commands = Vec::new();
        for (turns, tiles) in [(0, front), (turns_aside, side.abs()), (turns_back, -front)] {
            (0..turns).for_each(|_| self.turn(towards));
            commands.extend(repeat_n(Command::Turn(towards), turns));
            commands.extend((0..tiles).map(|_| Command::Forward));
        }
        (self.ahead, self.right) = (ahead, right);
        (commands, self)
    }
}

/// The next few commands towards a sound from `direction`, 1 to 8; none for 0, which is here.
///
/// A sound from ahead at a slant is followed straight on until it comes from the side, so that a way of any
/// length needs two turns. `stride` is how many tiles to walk if it is ahead: a message does not
/// contain the distance, so two may be one too many; one never is.
pub(crate) fn towards_sound(direction: u8, stride: usize) -> Vec<Command> {
    let (left, right) = (Command::Turn(Turn::Left), Command::Turn(Turn::Right));
    match direction {
        1 | 2 | 8 => vec![Command::Forward; stride],
        3 | 4 => vec![left, Command::Forward],
        5 => vec![left.clone(), left, Command::Forward],
        6 | 7 => vec![right, Command::Forward],
        _ => vec![],
    }
}

/// Whether a sound from `direction` is ahead, straight or at a slant.
pub(crate) fn is_ahead(direction: u8) -> bool {
    matches!(direction, 1 | 2 | 8)
}

/// Where a sound comes from once the open commands are carried out; `None` if that is unknown, because a
/// step is among them. Turns shift it exactly.
pub(crate) fn direction_after<'a>(direction: u8, open: impl Iterator<Item = &'a Command>) -> Option<u8> {
    let mut direction = direction;
    for command in open {
        match command {
            Command::Forward => return None,
            Command::Turn(turn) if direction > 0 => {
                // Directions count counter-clockwise: after a turn to the left, what was left is ahead.
                let shift = if *turn == Turn::Left { 6 } else { 2 };
                direction = (direction - 1 + shift) % 8 + 1;
            }
            _ => {}
        }
    }
    Some(direction)
}
