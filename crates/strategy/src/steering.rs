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
        let quarters = if turn == Turn::Right { 1 } else { 3 };
        self.pose.quarter = (self.pose.quarter + quarters) % 4;
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

#[cfg(test)]
mod tests {
    use trantor_model::{Direction, MapSize, Tile};

    use super::*;

    /// Carries commands out on a map large enough not to wrap.
    fn walk(commands: &[Command], mut at: Tile, mut facing: Direction) -> (Tile, Direction) {
        let size = MapSize::new(1_000, 1_000).unwrap();
        for command in commands {
            match command {
                Command::Forward => at = size.step(at, facing),
                Command::Turn(turn) => facing = facing.turned(*turn),
                other => panic!("{other:?} is no step"),
            }
        }
        (at, facing)
    }

    /// Every place within five tiles, by way of another one, so that every heading is met.
    #[test]
    fn routes_arrive_and_are_short() {
        let (start, facing) = (Tile { x: 500, y: 500 }, Direction::North);
        let place = |ahead: i32, right: i32| Tile {
            x: (500 + right) as u16,
            y: (500 - ahead) as u16,
        };
        for first in [(0, 0), (2, 0), (0, 3), (0, -3), (-1, 0), (-2, 1)] {
            let (there, pose) = Pose::default().route_to(first.0, first.1);
            for ahead in -5..=5 {
                for right in -5i32..=5 {
                    let (on, _) = pose.route_to(ahead, right);
                    let all: Vec<Command> = there.iter().chain(&on).cloned().collect();
                    assert_eq!(walk(&all, start, facing).0, place(ahead, right));
                    let steps = (ahead - first.0).abs() + (right - first.1).abs();
                    assert!(on.len() as i32 <= steps + 2, "at most two turns");
                }
            }
        }
    }

    #[test]
    fn following_a_sound_arrives() {
        // The sector of 45 degrees, counted counter-clockwise from ahead.
        let direction_of = |ahead: i32, left: i32| match (ahead, left) {
            (0, 0) => 0,
            _ => {
                let degrees = f64::from(left).atan2(f64::from(ahead)).to_degrees();
                ((degrees / 45.0).round() as i32).rem_euclid(8) as u8 + 1
            }
        };
        for x in -9i32..=9 {
            for y in -9i32..=9 {
                let goal = (500 + x, 500 + y);
                let (mut at, mut facing) = (Tile { x: 500, y: 500 }, Direction::North);
                let (mut commands, mut stride) = (0, 1);
                loop {
                    let (dx, dy) = (goal.0 - i32::from(at.x), goal.1 - i32::from(at.y));
                    let (fx, fy) = facing.vector();
                    let (ahead, left) = (dx * fx + dy * fy, dx * fy - dy * fx);
                    let direction = direction_of(ahead, left);
                    let next = towards_sound(direction, stride);
                    if next.is_empty() {
                        break;
                    }
                    stride = if is_ahead(direction) { 2 } else { 1 };
                    commands += next.len() as i32;
                    assert!(commands <= x.abs() + y.abs() + 12, "no way round to {goal:?}");
                    (at, facing) = walk(&next, at, facing);
                }
                assert_eq!((i32::from(at.x), i32::from(at.y)), goal);
            }
        }
    }

    #[test]
    fn turns_that_are_open_shift_a_sound() {
        let (left, right) = (Command::Turn(Turn::Left), Command::Turn(Turn::Right));
        assert_eq!(direction_after(3, [&left].into_iter()), Some(1));
        assert_eq!(direction_after(1, [&left].into_iter()), Some(7));
        assert_eq!(direction_after(7, [&right].into_iter()), Some(1));
        assert_eq!(direction_after(1, [&right, &right].into_iter()), Some(5));
        assert_eq!(direction_after(0, [&right].into_iter()), Some(0));
        assert_eq!(
            direction_after(0, [&Command::Forward].into_iter()),
            None,
            "about to step off it"
        );
    }
}
