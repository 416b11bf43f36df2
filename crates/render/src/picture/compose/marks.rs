//! What the person at the screen points at: the selected tile or agent, what an agent sees, trails.

use glam::Vec2;
use trantor_model::{AgentId, Level, Tile};

use super::super::draw_list::{Decal, DecalKind, DrawList};
use super::super::palette::Rgb;
use super::{Frame, grounded, middle_of};

/// Reach of the ring around the selected agent, before its scale: just outside the mark on which it stands. And how far
/// it reaches in pixels at least, so that it is seen from afar.
const RING: f32 = 0.525;
const RING_PIXELS: f32 = 12.0;

/// What is to be marked on the map.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    pub hovered: Option<Tile>,
    pub tile: Option<Tile>,
    /// The selected agent; what it sees is shown too.
    pub agent: Option<AgentId>,
    /// Where agents were lately, as tile positions, each with its team's colour and how old it is (0 new, 1 old).
    pub trail: Vec<TrailPoint>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrailPoint {
    /// As a tile position.
    pub position: Vec2,
    pub heading: f32,
    pub color: Rgb,
    /// 0 new, 1 about to be forgotten.
    pub age: f32,
}

pub(super) fn compose(frame: &Frame<'_>, marks: &Marks, list: &mut DrawList) {
    for point in &marks.trail {
        let color = point.color.with(0.75 * (1.0 - point.age));
        let dash = Decal {
            yaw: point.heading,
            ..Decal::at(point.position, 0.2, color)
        };
        mark(frame, DecalKind::Dash, dash, list);
    }
    let white = Rgb::hex(0xFF_FF_FF);
    if let Some(tile) = marks.hovered {
        let fill = Decal::at(middle_of(tile), 0.5, white.with(0.10));
        mark(frame, DecalKind::TileFill, fill, list);
    }
    if let Some(tile) = marks.tile {
        let outline = Decal::at(middle_of(tile), 0.56, white.with(0.95));
        mark(frame, DecalKind::TileFrame, outline, list);
    }
    let Some(agent) = marks.agent.and_then(|id| frame.scene.agent(id)) else {
        return;
    };
    let color = frame.colors.team(agent.team);
    for (ahead, across) in sight(agent.level) {
        let (dx, dy) = facing(agent.heading);
        let tile = frame
            .size
            .offset(agent.tile, dx * ahead - dy * across, dy * ahead + dx * across);
        let fill = Decal::at(middle_of(tile), 0.47, color.with(0.26));
        mark(frame, DecalKind::TileFill, fill, list);
    }
    for copy in frame.window.copies(Vec2::new(agent.x, agent.y)) {
        let place = frame.places.of(agent, copy, &frame.view);
        let reach = (RING * place.scale).max(RING_PIXELS / place.pixels);
        if frame.view.sees(grounded(place.position), reach + 0.5) {
            let ring = Decal::at(place.position, reach, white.with(1.0));
            list.decal(DecalKind::Selection, ring.with([frame.units * 0.01, 0.0]));
        }
    }
}

/// Draws a mark at all places where its position is seen.
pub(super) fn mark(frame: &Frame<'_>, kind: DecalKind, decal: Decal, list: &mut DrawList) {
    for position in frame.window.copies(decal.position.into()) {
        if frame.view.sees(grounded(position), decal.reach + 0.5) {
            let position = position.to_array();
            list.decal(kind, Decal { position, ..decal });
        }
    }
}

/// The tiles in sight at a level as steps ahead and to the right: `2n + 1` in row `n`, up to row `level`.
fn sight(level: Level) -> impl Iterator<Item = (i32, i32)> {
    (0..=i32::from(level.get())).flat_map(|ahead| (-ahead..=ahead).map(move |across| (ahead, across)))
}

fn facing(heading: f32) -> (i32, i32) {
    match (heading / std::f32::consts::FRAC_PI_2).round() as i32 & 3 {
        0 => (0, -1),
        1 => (1, 0),
        2 => (0, 1),
        _ => (-1, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_of_level_n_sees_n_plus_one_squared_tiles() {
        for level in 1..=8u8 {
            let tiles = sight(Level::new(level).unwrap()).count();
            assert_eq!(tiles, usize::from(level + 1).pow(2));
        }
        assert_eq!(facing(std::f32::consts::TAU - 0.01), (0, -1));
        assert_eq!(facing(std::f32::consts::FRAC_PI_2), (1, 0));
    }
}
