//! Tiles that agents and the server mark: a path as a dashed line with a frame at its end, other tiles tinted.

use glam::Vec2;
use trantor_model::{ShownBy, Tile};

use super::super::draw_list::{Decal, DecalKind, DrawList};
use super::super::palette::Rgb;
use super::marks::{Marks, mark};
use super::{Frame, middle_of};

/// Marked tiles drawn in a frame: as many as a busy match has. The server's come first, then those of the selected agent.
const TILES_MAX: usize = 4_096;
/// Pixels of a tile below which no marks are drawn: a dash would be less than one.
const PIXELS_LEAST: f32 = 4.0;
/// How much is left of the marks of other agents while one is selected.
const FAINT: f32 = 0.35;
/// Dashes from one tile of a path to the next, and their reach in tiles.
const DASHES: [f32; 2] = [0.25, 0.75];
const DASH_REACH: f32 = 0.2;

pub(super) fn compose(frame: &Frame<'_>, marks: &Marks, list: &mut DrawList) {
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

    use trantor_model::{AgentId, Shown, TileMark};

    use super::super::tests::{agent, compose_marked, scene};
    use super::*;

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
