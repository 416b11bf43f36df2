//! Where bodies stand and how large they are: the same for drawing them, pointing at them, and what is written above or
//! drawn around them.
//!
//! Agents that share a tile stand in a ring, smaller the more they are, and those held by an elevation around its circle
//! of signs. Agents give way to one that comes: places depend on nothing but where all of them are, and none jumps.

use glam::{Vec2, Vec3};
use trantor_client::{Scene, SceneAgent};
use trantor_model::{AgentId, Level, MapSize, Tile};

use super::super::camera::View;
use super::{grounded, scramble, signed, smoothstep};

/// From a tile's middle to where an agent stands that has it for itself, at most.
pub(super) const ASIDE: f32 = 0.17;
/// And to where those stand who share it.
const RING: f32 = 0.37;
/// How wide a body is, before its scale, with a little room beside it.
const ACROSS: f32 = 0.36;
/// The scale below which none is made smaller, however many share a tile: they would no longer be seen.
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
    pub fn gather(&mut self, scene: &Scene) {
        self.shared.clear();
        let Some(ground) = &scene.ground else { return };
        self.tiles.resize(ground.size.area(), [0.0; 2]);
        self.on.clear();
        self.on
            .extend(scene.agents.iter().map(|agent| tile_of(agent, ground.size)));
        for &(tile, presence) in &self.on {
            self.tiles[tile][0] += presence;
        }
        for (agent, &(tile, presence)) in scene.agents.iter().zip(&self.on) {
            let [count, before] = &mut self.tiles[tile];
            let others = *count - presence;
            if others > OTHERS_LEAST || agent.held {
                let angle = std::f32::consts::TAU * *before / *count;
                let ring = Vec2::new(angle.cos(), angle.sin()) * RING;
                let given_way = presence * smoothstep(0.0, 1.0, others);
                let shared = Shared {
                    beside: aside(agent.id).lerp(ring, given_way),
                    scale_most: room_of(RING, *count),
                    count: *count,
                };
                self.shared.push((agent.id, shared));
            }
            *before += presence;
        }
        for &(tile, _) in &self.on {
            // Of a large map most tiles are never touched.
            self.tiles[tile] = [0.0; 2];
        }
        self.gather_rituals(scene);
    }

    fn gather_rituals(&mut self, scene: &Scene) {
        for ritual in &scene.rituals {
            let participants = scene.participants(ritual);
            let gathered = smoothstep(0.0, GATHERING, ritual.progress);
            let count = participants.len() as f32;
            let radius = if participants.len() > 1 { CIRCLE } else { 0.0 };
            for (place, &id) in participants.iter().enumerate() {
                let Ok(at) = self.shared.binary_search_by_key(&id, |&(id, _)| id) else {
                    continue;
                };
                let angle = std::f32::consts::TAU * place as f32 / count;
                let circle = Vec2::new(angle.cos(), angle.sin()) * radius;
                let shared = &mut self.shared[at].1;
                shared.beside = shared.beside.lerp(circle, gathered);
                shared.scale_most += (room_of(CIRCLE, count) - shared.scale_most) * gathered;
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
        let scale = scale_of(agent.level) * larger_from_afar(pixels);
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

/// The scale at which so many stand in a ring without covering each other.
fn room_of(radius: f32, count: f32) -> f32 {
    let apart = 2.0 * radius * (std::f32::consts::PI / count.max(2.0)).sin();
    (apart / ACROSS).max(SCALE_LEAST)
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

/// How much larger than in truth an agent is drawn where a tile has so many pixels: who plays is still seen where
/// what lies there is not.
fn larger_from_afar(pixels_per_tile: f32) -> f32 {
    /// Pixels of a tile at which agents begin to be enlarged, and at which they are half again as large.
    const FROM: f32 = 52.0;
    const TO: f32 = 22.0;
    let grown = 1.0 + 0.4 * (1.0 - smoothstep(TO, FROM, pixels_per_tile));
    grown.max(least_from_afar(pixels_per_tile))
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
        places.gather(scene);
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
