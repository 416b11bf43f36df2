//! Where bodies stand and how large they are: the same for drawing them, pointing at them, and what is written above or
//! drawn around them.
//!
//! Agents that share a tile stand in two rows, shoulder to shoulder, smaller the more they are, and those held by an elevation
//! around its circle of signs. Agents give way to one that comes: places depend on nothing but where all of them are, and
//! none jumps. From afar all of that is larger than in truth.

use glam::{Vec2, Vec3};
use trantor_client::{Scene, SceneAgent};
use trantor_model::{AgentId, Level, MapSize, TeamId, Tile};

use super::super::camera::View;
use super::{grounded, scramble, signed, smoothstep};

/// From a tile's middle to where an agent stands that has it for itself, at most.
pub(super) const ASIDE: f32 = 0.17;
/// From the first to the last of a row of those who share a tile, at most.
const ROW: f32 = 0.78;
/// From one of them to the next, at most: more room would not make them larger.
const APART: f32 = 0.44;
/// How wide a body is, before its scale, with a little room beside it.
const ACROSS: f32 = 0.36;
/// The scale below which none is made smaller, before all is enlarged, however many share a tile: half of that of one by itself.
/// Smaller ones would look like another kind, and rather cover each other.
const SCALE_LEAST: f32 = 0.6;
/// Height of a character's head above its feet, before its scale.
pub(super) const HEAD_HEIGHT: f32 = 0.56;
/// Half-way up a body, before its scale.
pub const MIDDLE_HEIGHT: f32 = HEAD_HEIGHT / 2.0;

/// From a tile's middle to where those held by an elevation stand: around the circle of signs.
const CIRCLE: f32 = 0.45;
/// Part of an elevation that passes until they have taken their places.
const GATHERING: f32 = 0.04;

/// Where those stand who are not where they usually would.
#[derive(Debug, Default)]
pub struct Places {
    /// Those who share a tile or are held by an elevation, by number.
    shared: Vec<(AgentId, Shared)>,
    /// Those who share a tile, by tile and team: their places in the scene.
    members: Vec<(usize, TeamId, usize)>,
    groups: Vec<Group>,
    /// How much larger than in truth agents are drawn.
    enlarged: f32,
    /// For each agent the tile it is on, and how much it is.
    on: Vec<(usize, f32)>,
    /// For each tile how many are on it, and how many of those were gone through; nothing between two scenes.
    tiles: Vec<[f32; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Shared {
    beside: Vec2,
    /// The scale for which there is room.
    scale_most: f32,
    /// How many are on the tile, itself among them.
    count: f32,
}

/// Agents of one team on one tile, two at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) tile: Tile,
    pub(super) team: TeamId,
    pub(super) count: usize,
    /// How much of the second has come, up to 1: what marks the group grows with it.
    pub(super) gathered: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its feet, as a tile position.
    pub position: Vec2,
    pub pixels: f32,
    pub scale: f32,
    pub is_shared: bool,
}

impl Place {
    /// The point of the world so far above its feet, in tiles of a body that is not scaled.
    pub fn above(&self, height: f32) -> Vec3 {
        grounded(self.position) + Vec3::Y * height * self.scale
    }
}

impl Places {
    /// `enlarged`: how much larger than in truth agents are drawn.
    pub fn gather(&mut self, scene: &Scene, enlarged: f32) {
        self.shared.clear();
        self.members.clear();
        self.enlarged = enlarged;
        let Some(ground) = &scene.ground else { return };
        self.tiles.resize(ground.size.area(), [0.0; 2]);
        self.on.clear();
        self.on
            .extend(scene.agents.iter().map(|agent| tile_of(agent, ground.size)));
        for &(tile, presence) in &self.on {
            self.tiles[tile][0] += presence;
        }
        for (at, (agent, &(tile, presence))) in scene.agents.iter().zip(&self.on).enumerate() {
            let [count, before] = &mut self.tiles[tile];
            let others = *count - presence;
            if others > OTHERS_LEAST || agent.held {
                let gap = gap_of(*count) * enlarged;
                let given_way = presence * smoothstep(0.0, 1.0, others);
                let shared = Shared {
                    beside: aside(agent.id).lerp(in_rows(*before, *count) * gap, given_way),
                    scale_most: scale_with(gap, enlarged),
                    count: *count,
                };
                self.shared.push((agent.id, shared));
                self.members.push((tile, agent.team, at));
            }
            *before += presence;
        }
        for &(tile, _) in &self.on {
            // Of a large map most tiles are never touched.
            self.tiles[tile] = [0.0; 2];
        }
        self.gather_elevations(scene);
        self.gather_groups(ground.size);
    }

    fn gather_groups(&mut self, size: MapSize) {
        self.groups.clear();
        self.members.sort_unstable();
        for members in self
            .members
            .chunk_by(|one, other| (one.0, one.1) == (other.0, other.1))
        {
            let &[(tile, team, _), _, ..] = members else {
                continue;
            };
            let presence = members.iter().map(|&(.., at)| self.on[at].1).sum();
            self.groups.push(Group {
                tile: size.tile_at(tile),
                team,
                count: members.len(),
                gathered: smoothstep(1.0, 2.0, presence),
            });
        }
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// How much larger than in truth agents are drawn.
    pub fn enlarged(&self) -> f32 {
        self.enlarged
    }

    fn gather_elevations(&mut self, scene: &Scene) {
        for elevation in &scene.elevations {
            let participants = scene.participants(elevation);
            let gathered = smoothstep(0.0, GATHERING, elevation.progress);
            let count = participants.len() as f32;
            let circle = CIRCLE * self.enlarged;
            let radius = if participants.len() > 1 { circle } else { 0.0 };
            for (place, &id) in participants.iter().enumerate() {
                let Ok(at) = self.shared.binary_search_by_key(&id, |&(id, _)| id) else {
                    continue;
                };
                let angle = std::f32::consts::TAU * place as f32 / count;
                let around = Vec2::new(angle.cos(), angle.sin()) * radius;
                let apart = 2.0 * circle * (std::f32::consts::PI / count.max(2.0)).sin();
                let shared = &mut self.shared[at].1;
                shared.beside = shared.beside.lerp(around, gathered);
                shared.scale_most += (scale_with(apart, self.enlarged) - shared.scale_most) * gathered;
            }
        }
    }

    pub(super) fn beside(&self, id: AgentId) -> Vec2 {
        self.shared_by(id).beside
    }

    fn shared_by(&self, id: AgentId) -> Shared {
        match self.shared.binary_search_by_key(&id, |&(id, _)| id) {
            Ok(place) => self.shared[place].1,
            Err(_) => Shared {
                beside: aside(id),
                scale_most: f32::INFINITY,
                count: 1.0,
            },
        }
    }

    /// Where `agent` is drawn as seen in `view`; `copy` is one of the places that its tile position has on the endless plane.
    pub fn of(&self, agent: &SceneAgent, copy: Vec2, view: &View) -> Place {
        let shared = self.shared_by(agent.id);
        let position = copy + shared.beside;
        let pixels = view.pixels_per_tile(grounded(position));
        let scale = (scale_of(agent.level) * self.enlarged).max(least_from_afar(pixels));
        Place {
            position,
            pixels,
            scale: scale.min(shared.scale_most.max(least_from_afar(pixels))),
            is_shared: shared.count > 1.5,
        }
    }
}

/// Others on a tile that count as none.
const OTHERS_LEAST: f32 = 1e-3;

/// The place of the tile that an agent is on, and how much it is on it: nothing on its edge, so that others make room
/// little by little for an agent that goes from one to the next.
fn tile_of(agent: &SceneAgent, size: MapSize) -> (usize, f32) {
    let middle = Vec2::new(agent.x, agent.y).round();
    let off = (Vec2::new(agent.x, agent.y) - middle).abs().max_element();
    let tile = size.offset(Tile { x: 0, y: 0 }, middle.x as i32, middle.y as i32);
    (size.index_of(tile), 1.0 - smoothstep(0.1, 0.5, off))
}

/// Where the one stands that comes after `before` of `count`, as a multiple of the distance from one to the next: along
/// the front row and back along the other. An odd one stands where the way turns.
fn in_rows(before: f32, count: f32) -> Vec2 {
    /// How far aside of the rows the one in the turn stands.
    const TURN: f32 = 0.35;
    let front = columns(count);
    let back = (count - front).max(0.0);
    let turned = smoothstep(front - 1.0, front, before);
    let ahead = before.min(front - 1.0) - (front - 1.0) / 2.0;
    let behind = (back - 1.0).max(0.0) / 2.0 - (before - front).max(0.0);
    let aside = TURN * 4.0 * turned * (1.0 - turned);
    let row = (turned - 0.5) * back.min(1.0);
    Vec2::new(ahead + (behind - ahead) * turned + aside, -row)
}

/// How many of so many stand in the front row, in passing from one number to the next too.
fn columns(count: f32) -> f32 {
    (count / 2.0).max(count.min(2.0))
}

/// From one in a row to the next, before all is enlarged.
fn gap_of(count: f32) -> f32 {
    (ROW / (columns(count) - 1.0).max(1.0)).min(APART)
}

/// The scale at which those do not cover each other who are so far apart. The one in the turn is a little nearer.
fn scale_with(apart: f32, enlarged: f32) -> f32 {
    (0.98 * apart / ACROSS).max(SCALE_LEAST * enlarged)
}

/// Where beside the middle of a tile that it has for itself an agent stands: its own place for life.
fn aside(id: AgentId) -> Vec2 {
    let lots = scramble(id.0);
    // The golden angle keeps neighbours in number well apart.
    let angle = id.0 as f32 * 2.399_963;
    Vec2::new(angle.sin(), angle.cos()) * ASIDE * (0.72 + 0.28 * signed(lots, 0))
}

/// How large an agent of a level is: seen at once, yet never so large that it hides its tile.
pub(super) fn scale_of(level: Level) -> f32 {
    1.18 + 0.045 * f32::from(level.get() - Level::FIRST.get())
}

/// How much larger than in truth agents are drawn, of what `afar` is of the way from near to far: who plays is seen
/// before what lies there, most of all on the maps of usual matches.
pub(super) fn enlarged_from(afar: f32, size: MapSize) -> f32 {
    /// Tiles of the longer side up to which it is the most, and from which on the least.
    const SIDES: [f32; 2] = [30.0, 60.0];
    const MOST: f32 = 2.4;
    const LEAST: f32 = 1.4;
    let side = f32::from(size.width().max(size.height()));
    let large = smoothstep(SIDES[0], SIDES[1], side);
    1.0 + afar * (MOST + (LEAST - MOST) * large - 1.0)
}

/// The scale below which a body would be too low to be seen where a tile has so many pixels.
fn least_from_afar(pixels_per_tile: f32) -> f32 {
    /// No agent is less high than this, unless it would be larger than three.
    const PIXELS_LEAST: f32 = 7.0;
    (PIXELS_LEAST / (HEAD_HEIGHT * pixels_per_tile.max(0.1))).min(3.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::compose::tests::{agent, scene};

    /// A scene in which so many agents stand on one tile.
    fn crowd(count: u32) -> Scene {
        let mut scene = scene(20, 20);
        scene.agents = (0..count).map(|id| agent(id, 5.0, 5.0)).collect();
        scene
    }

    fn gathered(scene: &Scene) -> Places {
        let mut places = Places::default();
        places.gather(scene, 1.0);
        places
    }

    #[test]
    fn those_who_share_a_tile_do_not_cover_each_other() {
        for count in 2..=9 {
            let scene = crowd(count);
            let places = gathered(&scene);
            for (number, one) in scene.agents.iter().enumerate() {
                let one = places.shared_by(one.id);
                let width = ACROSS * one.scale_most;
                assert!(one.scale_most > SCALE_LEAST, "{count} find room");
                for other in &scene.agents[..number] {
                    let apart = one.beside.distance(places.beside(other.id));
                    assert!(apart > width - 1e-4, "{apart} of {width}, of {count}");
                }
            }
        }
        let alone = crowd(1);
        let id = alone.agents[0].id;
        assert_eq!(gathered(&alone).beside(id), aside(id));
    }

    /// From afar too, where one by itself is much larger than in truth.
    #[test]
    fn a_crowd_is_at_least_half_as_large_as_one_by_itself() {
        for enlarged in [1.0, 1.4, 2.4] {
            for count in [2, 12, 100] {
                let mut places = Places::default();
                let scene = crowd(count);
                places.gather(&scene, enlarged);
                let one = places.shared_by(scene.agents[0].id);
                let alone = scale_of(Level::FIRST) * enlarged;
                assert!(one.scale_most > 0.5 * alone, "{count} at {enlarged}: {one:?}");
            }
        }
    }

    #[test]
    fn whoever_comes_is_given_way_to_without_a_jump() {
        let mut scene = crowd(4);
        let (mut before, mut way): (Option<Vec<Vec2>>, f32) = (None, 0.0);
        for step in 0..=200_u8 {
            // From one neighbour to the other.
            scene.agents[1].x = 4.0 + f32::from(step) / 100.0;
            let places = gathered(&scene);
            let feet: Vec<Vec2> = scene
                .agents
                .iter()
                .map(|agent| Vec2::new(agent.x, agent.y) + places.beside(agent.id))
                .collect();
            for (now, before) in feet.iter().zip(before.iter().flatten()) {
                assert!(now.distance(*before) < 0.06, "{before} to {now} at step {step}");
                way += now.distance(*before);
            }
            before = Some(feet);
        }
        assert!(way > 2.5, "the others gave way");
    }
}
