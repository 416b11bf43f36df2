//! Marks on the map: what the person at the screen points at (the selected tile or agent, what an agent sees, trails), and
//! the tiles that agents and the server mark.

use glam::Vec2;
use trantor_model::{AgentId, Level, ShownBy, Tile};

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

/// Marked tiles drawn in a frame: as many as a busy match has. The server's come first, then those of the selected agent.
const TILES_MAX: usize = 4_096;
/// Pixels of a tile below which no marks are drawn: a dash would be less than one.
const PIXELS_LEAST: f32 = 4.0;
/// How much is left of the marks of other agents while one is selected.
const FAINT: f32 = 0.35;
/// Dashes from one tile of a path to the next, and their reach in tiles.
const DASHES: [f32; 2] = [0.25, 0.75];
const DASH_REACH: f32 = 0.2;

/// Tiles that agents and the server mark: a path as a dashed line with a frame at its end, other tiles tinted.
pub(super) fn shown(frame: &Frame<'_>, marks: &Marks, list: &mut DrawList) {
    if frame.view.pixels_per_tile(frame.view.target) < PIXELS_LEAST {
        return;
    }
    let shown = &frame.scene.shown;
    let selected = marks.agent.map(ShownBy::Agent);
    let of = |by: ShownBy| shown.get_key_value(&by);
    let first = of(ShownBy::Server).into_iter().chain(selected.and_then(of));
    let is_other = |by: &ShownBy| *by != ShownBy::Server && Some(*by) != selected;
    let others = shown.iter().filter(|(by, _)| is_other(by));
    let mut tiles = 0;
    for (by, shown) in first.chain(others) {
        if !frame.scene.is_there(*by) {
            continue;
        }
        let strength = match selected.is_some() && is_other(by) {
            true => FAINT,
            false => 1.0,
        };
        for (_, shown) in &shown.marks {
            tiles += shown.tiles.len();
            if tiles > TILES_MAX {
                return;
            }
            let color = Rgb(shown.colour);
            match shown.is_path(frame.size) {
                true => path(frame, &shown.tiles, color, strength, list),
                false => area(frame, &shown.tiles, color, strength, list),
            }
        }
    }
}

fn path(frame: &Frame<'_>, tiles: &[Tile], color: Rgb, strength: f32, list: &mut DrawList) {
    for pair in tiles.windows(2) {
        let (dx, dy) = frame.size.shortest(pair[0], pair[1]);
        let step = Vec2::new(dx as f32, dy as f32);
        for part in DASHES {
            let at = middle_of(pair[0]) + step * part;
            let dash = Decal {
                yaw: step.x.atan2(-step.y),
                ..Decal::at(at, DASH_REACH, color.with(strength))
            };
            mark(frame, DecalKind::Dash, dash, list);
        }
    }
    if let Some(end) = tiles.last() {
        let outline = Decal::at(middle_of(*end), 0.5, color.with(strength));
        mark(frame, DecalKind::TileFrame, outline, list);
    }
}

fn area(frame: &Frame<'_>, tiles: &[Tile], color: Rgb, strength: f32, list: &mut DrawList) {
    for tile in tiles {
        let fill = Decal::at(middle_of(*tile), 0.48, color.with(0.36 * strength));
        mark(frame, DecalKind::TileFill, fill, list);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trantor_model::{Shown, TileMark};

    use super::super::tests::{agent, compose_marked, scene};
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

    #[test]
    fn a_path_is_a_dashed_line_over_the_edge_of_the_map_and_other_tiles_are_tinted() {
        let mut scene = scene(10, 10);
        scene.agents.push(agent(3, 5.0, 5.0));
        let mark = |places: &[(u16, u16)]| {
            let tiles = places.iter().map(|&(x, y)| Tile { x, y }).collect();
            let (colour, text) = ([200, 100, 50], "".into());
            ("".into(), TileMark { tiles, colour, text })
        };
        let shown = Arc::new(Shown {
            marks: vec![mark(&[(8, 5), (9, 5), (0, 5), (0, 4)]), mark(&[(2, 2), (4, 4)])],
            ..Shown::default()
        });
        let owners = [3, 4].map(|id| (ShownBy::Agent(AgentId(id)), Arc::clone(&shown)));
        scene.shown = Arc::new(owners.into());
        let drawn = |agent| {
            let list = compose_marked(
                &scene,
                &Marks {
                    agent,
                    ..Marks::default()
                },
            );
            [DecalKind::Dash, DecalKind::TileFrame, DecalKind::TileFill]
                .map(|kind| list.decals[kind as usize].clone())
        };
        let [dashes, frames, fills] = drawn(None);
        // What lies beside an edge is drawn beyond the opposite one too.
        let inside = |decal: &&Decal| decal.position.iter().all(|at| (-0.5..9.5).contains(at));
        let count = |decals: &[Decal]| decals.iter().filter(inside).count();
        assert_eq!(
            [count(&dashes), count(&frames), count(&fills)],
            [6, 1, 2],
            "agent 4 is not there"
        );
        assert!(frames[0].color == [200, 100, 50, 255]);
        let [dashes, ..] = drawn(Some(AgentId(9)));
        assert!(dashes[0].color[3] < 100, "faint beside what another one shows");
    }
}
