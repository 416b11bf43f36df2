//! Where bodies stand and how large they are: the same for drawing them, pointing at them, and what is written above or
//! drawn around them.
//!
//! Agents that share a tile stand beside each other, each at a place of its own, and those held by an elevation around
//! its circle of signs.

use glam::{Vec2, Vec3};
use trantor_client::{Scene, SceneAgent};
use trantor_model::{AgentId, Level};

use super::super::camera::View;
use super::{grounded, scramble, signed, smoothstep};

/// From a tile's middle to where an agent stands, at most: those who share a tile stand beside each other.
pub(super) const ASIDE: f32 = 0.17;
/// Height of a character's head above its feet, before its scale.
pub(super) const HEAD_HEIGHT: f32 = 0.56;
/// Half-way up a body, before its scale.
pub const MIDDLE_HEIGHT: f32 = HEAD_HEIGHT / 2.0;

/// From a tile's middle to where those held by an elevation stand: around the circle of signs.
const CIRCLE: f32 = 0.4;
/// Part of an elevation that passes until they have taken their places.
const GATHERING: f32 = 0.04;

/// Where those stand who are not where they usually would.
#[derive(Debug, Default)]
pub struct Places {
    /// Agents held by elevations, by number, with where beside the middle of their tiles they stand.
    held: Vec<(AgentId, Vec2)>,
}

/// Where a body is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its feet, as a tile position.
    pub position: Vec2,
    /// Pixels that a tile is high there.
    pub pixels: f32,
    /// How large it is.
    pub scale: f32,
}

impl Place {
    /// The point of the world so far above its feet, in tiles of a body that is not scaled.
    pub fn above(&self, height: f32) -> Vec3 {
        grounded(self.position) + Vec3::Y * height * self.scale
    }
}

impl Places {
    /// Follows a scene.
    pub(super) fn gather(&mut self, scene: &Scene) {
        self.held.clear();
        for ritual in &scene.rituals {
            let participants = scene.participants(ritual);
            let gathered = smoothstep(0.0, GATHERING, ritual.progress);
            for (place, &id) in participants.iter().enumerate() {
                let angle = std::f32::consts::TAU * place as f32 / participants.len() as f32;
                let circle =
                    Vec2::new(angle.sin(), angle.cos()) * if participants.len() > 1 { CIRCLE } else { 0.0 };
                self.held.push((id, aside(id).lerp(circle, gathered)));
            }
        }
        self.held.sort_unstable_by_key(|&(id, _)| id);
    }

    /// Where `agent` is drawn as seen in `view`; `copy` is one of the places that its tile position has on the endless plane.
    pub fn of(&self, agent: &SceneAgent, copy: Vec2, view: &View) -> Place {
        let held = match agent.held {
            true => self.held.binary_search_by_key(&agent.id, |&(id, _)| id).ok(),
            false => None,
        };
        let position = copy + held.map_or_else(|| aside(agent.id), |place| self.held[place].1);
        let pixels = view.pixels_per_tile(grounded(position));
        Place {
            position,
            pixels,
            scale: scale_of(agent.level) * larger_from_afar(pixels),
        }
    }
}

/// Where beside its tile's middle an agent stands: its own place for life, so that nobody jumps when others come.
pub(super) fn aside(id: AgentId) -> Vec2 {
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
    /// No agent is less high than this, unless it would be larger than three.
    const PIXELS_LEAST: f32 = 7.0;
    let grown = 1.0 + 0.4 * (1.0 - smoothstep(TO, FROM, pixels_per_tile));
    grown.max((PIXELS_LEAST / (HEAD_HEIGHT * pixels_per_tile.max(0.1))).min(3.0))
}
