//! The path of one agent of a demo: what it does, one action after the other, for ever.

use trantor_client::SceneAction;
use trantor_model::{CommandKind, Direction, MapSize, Resource, Tile, Turn};

use super::Rng;

/// Actions of a path before it ends where it began and is walked again.
const ACTIONS: usize = 192;
/// Units an action takes; all that a demo's agents do takes as long.
pub(super) const ACTION_UNITS: f64 = 7.0;

#[derive(Clone, Debug)]
pub(super) struct Path {
    actions: Vec<Step>,
    /// How far ahead of the demo's time this path is, in actions: agents do not act in step.
    ahead: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kind: CommandKind,
    pub(super) tile: Tile,
    pub(super) facing: Direction,
    /// What is taken or put, where something is.
    pub(super) resource: Resource,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) tile: Tile,
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) heading: f32,
    pub(super) action: SceneAction,
}

impl Path {
    /// One that begins at `tile`.
    pub(super) fn draw(size: MapSize, tile: Tile, rng: &mut Rng) -> Self {
        let mut walk = Walk {
            size,
            tile,
            facing: Direction::ALL[rng.below(4) as usize],
            actions: Vec::with_capacity(ACTIONS),
        };
        while walk.actions.len() < ACTIONS {
            let kind = match rng.below(100) {
                0..58 => CommandKind::Forward,
                58..66 => CommandKind::Left,
                66..74 => CommandKind::Right,
                74..86 => CommandKind::Take,
                86..90 => CommandKind::Set,
                90..95 => CommandKind::Look,
                95..99 => CommandKind::Inventory,
                _ => CommandKind::Broadcast,
            };
            walk.push(kind, Resource::ALL[rng.below(7) as usize]);
        }
        // Home, so that the path can begin again without a jump.
        let (dx, dy) = size.shortest(walk.tile, tile);
        let across = if dx > 0 { Direction::East } else { Direction::West };
        let down = if dy > 0 {
            Direction::South
        } else {
            Direction::North
        };
        for (direction, count) in [(across, dx.abs()), (down, dy.abs())] {
            for _ in 0..count {
                walk.face(direction);
                walk.push(CommandKind::Forward, Resource::Food);
            }
        }
        walk.face(walk.actions[0].facing);
        let ahead = f64::from(rng.below(1_000)) / 10.0;
        Self {
            actions: walk.actions,
            ahead,
        }
    }

    /// The action under way at `units`, counted from the demo's beginning, and how much of it is done.
    pub(super) fn at(&self, units: f64) -> Moment {
        let along = units / ACTION_UNITS + self.ahead;
        let step = self.step(along.floor() as i64);
        let progress = along.fract() as f32;
        let (dx, dy) = if step.kind == CommandKind::Forward {
            step.facing.vector()
        } else {
            (0, 0)
        };
        let turned = match step.kind {
            CommandKind::Right => progress,
            CommandKind::Left => -progress,
            _ => 0.0,
        };
        let quarter = std::f32::consts::FRAC_PI_2;
        Moment {
            tile: step.tile,
            x: f32::from(step.tile.x) + dx as f32 * progress,
            y: f32::from(step.tile.y) + dy as f32 * progress,
            heading: ((f32::from(step.facing.number() - 1) + turned) * quarter)
                .rem_euclid(std::f32::consts::TAU),
            action: SceneAction {
                kind: step.kind,
                progress,
                remaining_units: (1.0 - progress) * ACTION_UNITS as f32,
                refused: false,
            },
        }
    }

    /// Actions that ended within the last `units`, latest first, each with the units since.
    pub(super) fn ended(&self, now: f64, units: f64) -> impl Iterator<Item = (Step, f64)> {
        let along = now / ACTION_UNITS + self.ahead;
        let last = along.floor();
        let age_of_last = (along - last) * ACTION_UNITS;
        (0..)
            .map(move |back| (back, age_of_last + f64::from(back) * ACTION_UNITS))
            .take_while(move |&(_, age)| age < units)
            .map(move |(back, age)| (self.step(last as i64 - 1 - i64::from(back)), age))
    }

    fn step(&self, number: i64) -> Step {
        self.actions[number.rem_euclid(self.actions.len() as i64) as usize]
    }
}

struct Walk {
    size: MapSize,
    tile: Tile,
    facing: Direction,
    actions: Vec<Step>,
}

impl Walk {
    fn push(&mut self, kind: CommandKind, resource: Resource) {
        self.actions.push(Step {
            kind,
            tile: self.tile,
            facing: self.facing,
            resource,
        });
        match kind {
            CommandKind::Forward => self.tile = self.size.step(self.tile, self.facing),
            CommandKind::Left => self.facing = self.facing.turned(Turn::Left),
            CommandKind::Right => self.facing = self.facing.turned(Turn::Right),
            _ => {}
        }
    }

    fn face(&mut self, direction: Direction) {
        while self.facing != direction {
            self.push(CommandKind::Right, Resource::Food);
        }
    }
}
