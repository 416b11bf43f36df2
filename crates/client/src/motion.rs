//! Where an agent is drawn at a moment of the game.
//!
//! A step or a turn is known from its start: when it began and when it will end. So a *pose* is a pure
//! function of what was received and of game time, and a pause or a change of speed needs nothing here. Where
//! what is received contradicts what was shown (a push, or a late change) a *blend* leads from the one to
//! the other, in game time as well.

use std::f32::consts::{FRAC_PI_2, PI, TAU};

use trantor_model::world::Agent;
use trantor_model::{ActionState, CommandKind, Direction, MapSize, World};
use trantor_time::{GameSpan, GameTime};

/// Larger differences than this, in tiles, are no motion but a new place: the agent is simply there.
const BLEND_TILES_MAX: f32 = 2.5;

/// Differences too small to be seen, in tiles and radians.
const BLEND_MIN: f32 = 1e-3;

/// Position in tiles and heading in radians, as in [`crate::scene`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    pub x: f32,
    pub y: f32,
    pub heading: f32,
}

/// The world with the way on which each agent is led to where it is.
pub type ShownWorld = World<Blend>;

/// An agent of it.
pub type ShownAgent = Agent<Blend>;

/// A way from where an agent was shown to where it should be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blend {
    dx: f32,
    dy: f32,
    turn: f32,
    start: GameTime,
    end: GameTime,
}

impl Pose {
    /// Where `agent` is at `now` without any blend.
    pub fn exact(agent: &ShownAgent, now: GameTime) -> Self {
        let mut pose = Self {
            x: f32::from(agent.view.tile.x),
            y: f32::from(agent.view.tile.y),
            heading: heading_of(agent.view.facing),
        };
        if let Some(action) = agent.action.filter(ActionState::is_motion) {
            let progress = progress(action.start, action.end, now);
            match action.kind {
                CommandKind::Forward => {
                    let (dx, dy) = agent.view.facing.vector();
                    pose.x += dx as f32 * progress;
                    pose.y += dy as f32 * progress;
                }
                CommandKind::Right => pose.heading += FRAC_PI_2 * progress,
                _ => pose.heading -= FRAC_PI_2 * progress,
            }
            pose.heading = wrapped_heading(pose.heading);
        }
        pose
    }

    /// This pose on its way along `blend`.
    pub fn blended(self, blend: &Blend, now: GameTime) -> Self {
        if now >= blend.end {
            return self;
        }
        let left = 1.0 - progress(blend.start, blend.end, now);
        Self {
            x: self.x + blend.dx * left,
            y: self.y + blend.dy * left,
            heading: wrapped_heading(self.heading + blend.turn * left),
        }
    }
}

impl Blend {
    /// The way from `from` to `to` that begins at `now` and takes `span`; `None` if there is nothing to see,
    /// or too much.
    pub fn between(size: MapSize, from: Pose, to: Pose, now: GameTime, span: GameSpan) -> Option<Self> {
        let dx = shorter_way(from.x - to.x, f32::from(size.width()));
        let dy = shorter_way(from.y - to.y, f32::from(size.height()));
        let turn = shorter_way(from.heading - to.heading, TAU);
        let is_seen = dx.abs() > BLEND_MIN || dy.abs() > BLEND_MIN || turn.abs() > BLEND_MIN;
        let is_near = dx.abs() < BLEND_TILES_MAX && dy.abs() < BLEND_TILES_MAX;
        (is_seen && is_near && span > GameSpan::ZERO).then(|| Self {
            dx,
            dy,
            turn,
            start: now,
            end: now + span,
        })
    }
}

/// How much of `start..end` has passed at `now`, `0.0..=1.0`; all of it if it takes no time.
pub fn progress(start: GameTime, end: GameTime, now: GameTime) -> f32 {
    if now >= end {
        return 1.0;
    }
    if now <= start {
        return 0.0;
    }
    (nanounits(now - start) / nanounits(end - start)) as f32
}

/// A span as a float. Spans of actions fit 64 bits, which are converted many times as fast as 128.
pub fn nanounits(span: GameSpan) -> f64 {
    match i64::try_from(span.as_nanounits()) {
        Ok(nanounits) => nanounits as f64,
        Err(_) => span.as_nanounits() as f64,
    }
}

pub fn heading_of(facing: Direction) -> f32 {
    match facing {
        Direction::North => 0.0,
        Direction::East => FRAC_PI_2,
        Direction::South => PI,
        Direction::West => 3.0 * FRAC_PI_2,
    }
}

/// The same heading in `0..2π`.
fn wrapped_heading(heading: f32) -> f32 {
    let wrapped = heading.rem_euclid(TAU);
    // A tiny negative heading is rounded up to a whole turn.
    if wrapped < TAU { wrapped } else { 0.0 }
}

/// The same difference on a ring that long, `-ring / 2..=ring / 2`.
fn shorter_way(difference: f32, ring: f32) -> f32 {
    difference - (difference / ring).round() * ring
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, AgentView, Counts, Level, TeamId, Tile, Turn};

    use super::*;

    fn agent(x: u16, facing: Direction, kind: CommandKind) -> ShownAgent {
        ShownAgent {
            view: AgentView {
                id: AgentId(0),
                team: TeamId(0),
                tile: Tile { x, y: 4 },
                facing,
                level: Level::FIRST,
                inventory: Counts::ZERO,
            },
            action: Some(ActionState {
                kind,
                start: GameTime::from_units(10),
                end: GameTime::from_units(17),
                refused: false,
            }),
            food_ends: None,
            held_by: None,
            kept: Blend::default(),
        }
    }

    #[test]
    fn a_turn_goes_the_short_way_round() {
        for facing in Direction::ALL {
            for kind in [CommandKind::Left, CommandKind::Right] {
                let done = Pose::exact(&agent(3, facing, kind), GameTime::from_units(17)).heading;
                let turn = match kind {
                    CommandKind::Left => Turn::Left,
                    _ => Turn::Right,
                };
                assert!(
                    (done - heading_of(facing.turned(turn))).abs() < 1e-6,
                    "{facing:?} {kind:?}"
                );
                assert!((0.0..TAU).contains(&done));
            }
        }
    }

    #[test]
    fn a_blend_takes_the_short_way_and_ends() {
        let size = MapSize::new(10, 8).unwrap();
        let pose = |x, heading| Pose { x, y: 0.0, heading };
        let now = GameTime::from_units(100);
        let span = GameSpan::from_units(4);
        let blend = Blend::between(size, pose(9.5, 0.1), pose(0.5, TAU - 0.1), now, span).unwrap();
        let shown = |units| pose(0.5, TAU - 0.1).blended(&blend, GameTime::from_units(units));
        assert!((shown(100).x - -0.5).abs() < 1e-5, "one tile, not nine");
        assert!((shown(100).heading - 0.1).abs() < 1e-5);
        assert!((shown(102).x - 0.0).abs() < 1e-5);
        assert_eq!(shown(104), pose(0.5, TAU - 0.1));
        let far = Blend::between(size, pose(0.0, 0.0), pose(4.0, 0.0), now, span);
        assert!(far.is_none(), "no slide across half the map");
        let same = Blend::between(size, pose(10.0, 0.0), pose(0.0, TAU), now, span);
        assert!(same.is_none(), "round the torus these are the same");
    }
}
