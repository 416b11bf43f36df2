//! Routes over tiles: to a tile in sight, and towards the source of a message.

use trantor_model::{Command, Turn};

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
    pub(crate) fn route_to(self, ahead: i32, right: i32) -> (Vec<Command>, Pose) {
        let (da, dr) = (ahead - self.ahead, right - self.right);
        // In the agent's own frame.
        let (front, side) = match self.quarter {
            0 => (da, dr),
            1 => (dr, -da),
            2 => (-da, -dr),
            _ => (-dr, da),
        };
        let mut walk = Walk::from(self);
        let towards = if side < 0 { Turn::Left } else { Turn::Right };
        if front > 0 {
            walk.forward(front);
        }
        if side != 0 {
            walk.turn(towards);
            walk.forward(side.abs());
        }
        if front < 0 {
            // Behind: one more turn the same way if already turned, else about-face.
            walk.turn(towards);
            if side == 0 {
                walk.turn(towards);
            }
            walk.forward(-front);
        }
        walk.pose.ahead = ahead;
        walk.pose.right = right;
        (walk.commands, walk.pose)
    }
}

/// A way as it grows. Only its heading is kept; the caller knows its place.
struct Walk {
    commands: Vec<Command>,
    pose: Pose,
}

impl Walk {
    fn from(pose: Pose) -> Self {
        Self {
            commands: Vec::new(),
            pose,
        }
    }

    fn forward(&mut self, tiles: i32) {
        self.commands.extend((0..tiles).map(|_| Command::Forward));
    }

    fn turn(&mut self, turn: Turn) {
        self.pose.turn(turn);
        self.commands.push(Command::Turn(turn));
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
