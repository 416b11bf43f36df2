//! What lies on the ground, and the grass between.
//!
//! Each resource has its own place on the tile, so that a tile of many things is a pattern one learns to read. A
//! heap shows at most [`PIECES_MAX`] pieces and then grows.

use glam::Vec2;
use trantor_client::SceneGround;
use trantor_model::{Counts, Resource, Tile};

use super::super::draw_list::{DecalKind, DrawList, Instance};
use super::super::palette::{self, Rgb};
use super::super::shapes::Shape;
use super::agents::contact;
use super::{Frame, grounded, lot, signed};

/// Pieces of one resource drawn on a tile; more of it makes them larger instead.
const PIECES_MAX: u32 = 3;
/// How much smaller than the tile in the middle of the view one may be whose pieces are of the same kind.
const BEHIND_MOST: f32 = 2.0;
/// From a tile's middle to where resources lie: outside of where agents walk.
const SLOT_RADIUS: f32 = 0.31;

/// Colours of the resources: pale in an overview, all of `afar`, where agents are to be seen first.
pub(super) fn colors(afar: f32) -> [Rgb; Resource::COUNT] {
    Resource::ALL.map(|resource| palette::resource(resource).mix(PALE, PALENESS * afar))
}

pub(super) fn compose(frame: &Frame<'_>, ground: &SceneGround, list: &mut DrawList) {
    // Of a million tiles only those are looked at that are near enough to show things.
    let height = frame.view.eye.y;
    let farthest = frame.detail_until[1];
    if farthest <= height {
        return;
    }
    let reach = (farthest * farthest - height * height).sqrt();
    let under = Vec2::new(frame.view.eye.x, frame.view.eye.z);
    let bounds = frame.window.bounds();
    let bounds = (bounds.0.max(under - reach), bounds.1.min(under + reach));
    let Some((least, most)) = frame.view.seen_ground(bounds) else {
        return;
    };
    for row in least.y.round() as i32..=most.y.round() as i32 {
        for column in least.x.round() as i32..=most.x.round() as i32 {
            let position = Vec2::new(column as f32, row as f32);
            let middle = grounded(position);
            if !frame.view.sees(middle, 0.9) {
                continue;
            }
            let detail = frame.detail_at(middle);
            if detail <= 0.0 {
                continue;
            }
            let tile = frame.size.offset(Tile { x: 0, y: 0 }, column, row);
            if let Some(counts) = ground.at(tile) {
                tile_things(frame, tile, position, counts, detail, list);
            }
        }
    }
}

fn tile_things(
    frame: &Frame<'_>,
    tile: Tile,
    position: Vec2,
    counts: &Counts,
    detail: f32,
    list: &mut DrawList,
) {
    let pixels = frame.view.pixels_per_tile(grounded(position));
    // A board of one style has one kind of pieces, but for tiles far behind the middle of a view that is nearly level: there
    // they look alike, and a processor would draw thousands.
    let style_pixels = match frame.style {
        Some((_, of_middle)) => of_middle.min(pixels * BEHIND_MOST),
        None => pixels,
    };
    if pixels > frame.detail.grass {
        grass(tile, position, list);
    }
    for (resource, count) in counts.iter().filter(|&(_, count)| count > 0) {
        let lots = lot(tile, resource as u32 + 1);
        let angle = std::f32::consts::TAU * (resource.index() as f32 / Resource::COUNT as f32) + 0.4;
        let slot = position
            + Vec2::new(angle.sin(), -angle.cos()) * SLOT_RADIUS
            + Vec2::new(signed(lots, 0), signed(lots, 8)) * 0.045;
        let pieces = count.min(PIECES_MAX);
        let heap = 1.0 + 0.13 * (count as f32 / PIECES_MAX as f32).max(1.0).log2().min(4.0);
        let color = frame.thing_colors[resource.index()];
        let reach = if pieces > 1 { 0.23 } else { 0.17 } * heap;
        list.decal(
            DecalKind::Contact,
            contact(slot, reach * frame.thing_scale, 0.16 * heap, 105.0 * detail),
        );
        for piece in 0..pieces {
            let lots = lot(tile, resource as u32 + 8 * (piece + 1));
            // Pieces of a heap stand around its middle; a single one stands on it.
            let around = signed(lots, 16) * 0.5 + piece as f32 * std::f32::consts::TAU / 3.0;
            let apart = if pieces > 1 { 0.105 * heap } else { 0.0 };
            let place = slot + Vec2::new(around.sin(), around.cos()) * apart;
            let crowded = if pieces > 1 { 0.8 } else { 1.0 };
            let size = (1.18 + 0.1 * signed(lots, 24)) * heap * crowded * frame.thing_scale;
            let shape = match Shape::of(resource) {
                shape if pixels > frame.detail.facets => shape,
                shape if style_pixels > frame.detail.pieces => shape.plain(),
                _ => Shape::Speck,
            };
            list.body(
                shape,
                Instance::at(place, size * detail, color)
                    .facing(signed(lots, 8) * std::f32::consts::PI)
                    .glowing(0.03),
            );
        }
    }
}

fn grass(tile: Tile, position: Vec2, list: &mut DrawList) {
    let lots = lot(tile, 99);
    // About every other tile has some; its colour is the ground's own, a little brighter. Some of it is in bloom.
    let tufts = (lots & 7).saturating_sub(3);
    for tuft in 0..tufts {
        let lots = lot(tile, 100 + tuft);
        let place = position + Vec2::new(signed(lots, 0), signed(lots, 8)) * 0.44;
        let shape = if lots & 7 == 0 { Shape::Flower } else { Shape::Tuft };
        let green = TUFT.mix(DRY_TUFT, 0.5 + 0.5 * signed(lots, 12));
        list.body(
            shape,
            Instance::at(place, 0.8 + 0.25 * signed(lots, 24), green)
                .facing(signed(lots, 16) * std::f32::consts::PI)
                .accented(PETALS[(lots >> 3) as usize % PETALS.len()]),
        );
    }
    if lots >> 28 == 3 {
        let place = position + Vec2::new(signed(lots, 8), signed(lots, 16)) * 0.42;
        list.body(
            Shape::Pebble,
            Instance::at(place, 0.9 + 0.3 * signed(lots, 12), PEBBLE)
                .facing(signed(lots, 4) * std::f32::consts::PI),
        );
    }
}

/// What resources tend to in an overview, and how much.
const PALE: Rgb = Rgb::hex(0x9E_AA_9A);
const PALENESS: f32 = 0.35;
const TUFT: Rgb = Rgb::hex(0x5E_9E_66);
const DRY_TUFT: Rgb = Rgb::hex(0x9A_B8_6A);
/// Pale, so that no flower is taken for a stone.
const PETALS: [Rgb; 3] = [Rgb::hex(0xE9_E4_D2), Rgb::hex(0xD9_D3_E6), Rgb::hex(0xE8_DC_B0)];
const PEBBLE: Rgb = Rgb::hex(0x7C_8A_8F);
