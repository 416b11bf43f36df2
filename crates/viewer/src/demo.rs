//! Synthetic scenes: small worlds that need no server and are the same each time.
//!
//! Pictures for the gallery and for tests are made of them, and `--demo-scene` shows them in the window. They
//! follow no rules: agents walk along paths drawn beforehand, and a moment of a demo is a function of game time
//! alone, so that any frame can be made again.

mod staging;

use std::sync::Arc;

use clap::ValueEnum;
use glam::Vec2;
use trantor_client::{LinkState, Scene, SceneAction, SceneClock, SceneGround, SceneTeam};
use trantor_model::{CommandKind, Counts, Direction, MapSize, Resource, Tile, Turn};
use trantor_time::GameTime;

use trantor_render::picture::CameraPose;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoScene {
    /// A whole map of ordinary size, with a bit of everything.
    Overview,
    /// Agents of an ordinary map from near.
    Close,
    /// An elevation to the highest level, almost done.
    #[value(alias = "ritual")]
    Elevation,
    /// An agent broadcasts in the middle of a map.
    Broadcast,
    /// A broadcast where messages between agents take time, get lost and have a range.
    Lag,
    /// A team has won.
    Victory,
    /// From near, with what minds show: notes, marks and cards.
    Minds,
    /// A million tiles and ten thousand agents.
    BigWorld,
}

/// A synthetic scene that can be shown at any moment.
#[derive(Debug)]
pub struct Demo {
    which: DemoScene,
    ground: SceneGround,
    paths: Vec<Path>,
}

/// Units a second in demos: the default of servers.
pub const FREQUENCY: u32 = 100;

const TEAMS: [&str; 4] = ["Terminus", "Anacreon", "Siwenna", "Korell"];

impl Demo {
    pub fn new(which: DemoScene) -> Self {
        let (side, agents) = match which {
            DemoScene::Overview | DemoScene::Close | DemoScene::Minds => (20, 36),
            DemoScene::Elevation => (12, 10),
            DemoScene::Broadcast => (20, 24),
            DemoScene::Lag => (24, 30),
            DemoScene::Victory => (12, 16),
            DemoScene::BigWorld => (1_000, 10_000),
        };
        let size = MapSize::new(side, side).expect("the sides above are sides that maps may have");
        let mut rng = Rng(0x7261_6e74_6f72 + u64::from(side));
        Self {
            which,
            ground: scattered(size, &mut rng),
            paths: (0..agents)
                .map(|number| {
                    let home = home(which, number, size, &mut rng);
                    Path::draw(size, home, &mut rng)
                })
                .collect(),
        }
    }

    /// Fills `scene` with the moment `units` after the demo's beginning.
    pub fn scene(&self, units: f64, scene: &mut Scene) {
        let before = scene.clock.game;
        if scene
            .ground
            .as_ref()
            .is_none_or(|ground| ground.size != self.ground.size)
        {
            scene.ground = Some(self.ground.clone());
        }
        scene.agents.clear();
        scene.eggs.clear();
        scene.elevations.clear();
        scene.elevation_participants.clear();
        scene.effects.clear();
        scene.texts.clear();
        scene.shown = Arc::default();
        scene.winner = None;
        scene.lag = None;
        let now = GameTime::from_nanounits((units * 1e9) as i128);
        scene.clock = SceneClock {
            delay_ms: 0,
            game: now,
            frequency: FREQUENCY,
            paused: false,
            unconfirmed: false,
            elapsed_units: ((now - before).as_units_f64() as f32).clamp(0.0, 100.0),
        };
        scene.link = LinkState::Live;
        staging::fill(self.which, &self.paths, self.ground.size, units, scene);
        scene.teams.resize_with(TEAMS.len(), SceneTeam::default);
        for (team, name) in scene.teams.iter_mut().zip(TEAMS) {
            if *team.name != *name {
                team.name = name.into();
            }
        }
        scene.count_teams();
    }

    /// From where it is best seen in a picture of this shape (width by height); `clear` as for
    /// [`CameraPose::overview`].
    pub fn camera(&self, aspect: f32, clear: (Vec2, Vec2)) -> CameraPose {
        let sides = Vec2::new(
            f32::from(self.ground.size.width()),
            f32::from(self.ground.size.height()),
        );
        let near = |target: Vec2, distance: f32, yaw: f32, pitch: f32| CameraPose {
            target,
            distance,
            yaw,
            pitch,
        };
        match self.which {
            DemoScene::Overview | DemoScene::Broadcast | DemoScene::Lag => {
                CameraPose::overview(sides, aspect, clear)
            }
            DemoScene::Close | DemoScene::Minds => near(Vec2::new(9.6, 9.4), 9.5, 0.45, 0.62),
            DemoScene::Elevation => near(staging::ELEVATION + Vec2::new(0.0, -0.9), 9.0, -0.5, 0.5),
            DemoScene::Victory => near(staging::ELEVATION + Vec2::new(0.0, -0.3), 9.5, 0.3, 0.52),
            DemoScene::BigWorld => near(sides / 2.0, 120.0, 0.35, 0.5),
        }
    }
}

/// Where an agent sets out: anywhere, but in the big world most of a team do where others of it do.
fn home(which: DemoScene, number: u32, size: MapSize, rng: &mut Rng) -> Tile {
    /// Places where many of a team are.
    const TOWNS: u32 = 5;
    let anywhere = size.tile_at(rng.below(size.area() as u32) as usize);
    if which != DemoScene::BigWorld || rng.below(100) < 25 {
        return anywhere;
    }
    let town = rng.below(TOWNS) * TEAMS.len() as u32 + number % TEAMS.len() as u32;
    let mut there = Rng(u64::from(town) * 0x5851_F42D);
    let middle = size.tile_at(there.below(size.area() as u32) as usize);
    // The sum of three draws is near the middle more often than far from it.
    let mut off = |reach: u32| (0..3).map(|_| rng.below(reach) as i32).sum::<i32>() - reach as i32 * 3 / 2;
    let reach = 30 + there.below(70);
    size.offset(middle, off(reach), off(reach))
}

/// Resources in a server's densities, but each with regions in which it is rather found, so that a far view has
/// something to tell.
fn scattered(size: MapSize, rng: &mut Rng) -> SceneGround {
    const PER_THOUSAND_TILES: [u32; Resource::COUNT] = [500, 300, 150, 100, 100, 80, 50];
    /// Places looked at for each; the likeliest is taken.
    const TRIES: usize = 3;
    let mut ground = SceneGround {
        size,
        tiles: vec![Counts::ZERO; size.area()],
        version: 1,
        changed_since: 0,
        changed: Vec::new(),
    };
    for resource in Resource::ALL {
        let count = size.area() * PER_THOUSAND_TILES[resource.index()] as usize / 1_000;
        for _ in 0..count.max(1) {
            let places: [usize; TRIES] = std::array::from_fn(|_| rng.below(size.area() as u32) as usize);
            let likeliest = places
                .into_iter()
                .max_by(|&one, &other| {
                    let likely = |place| likely(size, resource, place);
                    likely(one).total_cmp(&likely(other))
                })
                .expect("more than one place was looked at");
            ground.tiles[likeliest].add_one(resource);
        }
    }
    ground
}

/// Tiles from one region of a resource to the next, about.
const WAVE_TILES: f32 = 33.0;

/// Regions of a resource along a side at most: more could not be distinguished from afar.
const WAVES_MAX: f32 = 9.0;

/// How likely a resource is found at a place, compared with others: broad waves that go round with the map, each
/// resource's its own.
fn likely(size: MapSize, resource: Resource, place: usize) -> f32 {
    let tile = size.tile_at(place);
    let turn = |at: u16, side: u16| std::f32::consts::TAU * f32::from(at) / f32::from(side);
    let waves = |side: u16| (f32::from(side) / WAVE_TILES).round().clamp(1.0, WAVES_MAX);
    let (x, y) = (turn(tile.x, size.width()), turn(tile.y, size.height()));
    let (across, down) = (waves(size.width()), waves(size.height()));
    let own = resource.index() as f32 * 2.4;
    (x * across + own + (y * down).sin() * 1.4).sin() + (y * down + own * 1.7 + (x * across).sin()).sin()
}

/// Actions of a path before it ends where it began and is walked again.
const ACTIONS: usize = 192;
/// Units an action takes; all that a demo's agents do takes as long.
const ACTION_UNITS: f64 = 7.0;

/// What an agent does, one action after the other, for ever.
#[derive(Clone, Debug)]
struct Path {
    actions: Vec<Step>,
    /// How far ahead of the demo's time this path is, in actions: agents do not act in step.
    ahead: f64,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    kind: CommandKind,
    tile: Tile,
    facing: Direction,
    /// What is taken or put, where something is.
    resource: Resource,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    tile: Tile,
    x: f32,
    y: f32,
    heading: f32,
    action: SceneAction,
}

impl Path {
    /// One that begins at `tile`.
    fn draw(size: MapSize, tile: Tile, rng: &mut Rng) -> Self {
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
    fn at(&self, units: f64) -> Moment {
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
    fn ended(&self, now: f64, units: f64) -> impl Iterator<Item = (Step, f64)> {
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

/// Random numbers from a fixed seed (SplitMix64).
#[derive(Debug)]
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u64::from((mixed >> 32) as u32) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_walk_without_a_jump() {
        let demo = Demo::new(DemoScene::Overview);
        let mut scene = Scene::default();
        demo.scene(0.0, &mut scene);
        let mut before: Vec<Vec2> = Vec::new();
        for step in 0..2_000u16 {
            demo.scene(f64::from(step) * 0.25, &mut scene);
            let now: Vec<Vec2> = scene
                .agents
                .iter()
                .map(|agent| Vec2::new(agent.x, agent.y))
                .collect();
            for (was, is) in before.iter().zip(&now) {
                let window = trantor_render::picture::TorusWindow::whole(demo.ground.size);
                let moved = window.shortest(*was, *is).length();
                assert!(
                    moved < 0.05,
                    "{moved} tiles in a quarter of a unit, at step {step}"
                );
            }
            before = now;
        }
    }
}
