//! A scene becomes a draw list: what is worth drawing, where, how it stands and what shines.
//!
//! Everything that moves by itself does so in game time, so that a pause freezes it and speed scales it. Above
//! `CALM_FROM_UNITS` a frame single steps cannot be seen any more; motion then gives way to plain positions
//! instead of turning into noise.

mod agents;
mod effects;
mod marks;
mod places;
mod resources;

use glam::{Vec2, Vec3};
use trantor_client::Scene;
use trantor_model::{AgentId, MapSize, Resource, Tile};

use super::camera::{CameraPose, View};
use super::draw_list::{DrawList, FrameLook, GroundGrid};
use super::palette::{Mood, Rgb, TeamColors};
use super::torus::TorusWindow;

pub use marks::{Marks, TrailPoint};
pub use places::{MIDDLE_HEIGHT, Place, Places};

/// Units a frame from where on motion is simplified, and where all of it is.
const CALM_FROM_UNITS: [f32; 2] = [2.5, 8.0];
/// Seconds in which nearly two thirds of a change of speed are followed: one slow frame is not a fast game.
const CALM_WITHIN_SECONDS: f32 = 0.16;
/// Part of the distance at which details begin to fade from where on the ground's paint begins to show; the same
/// number is in `ground.wgsl`.
const PAINT_FROM: f32 = 0.7;
/// Tiles of a map that has one style all over: that of the tile in the middle of the view. Each such map fits into a
/// window with tiles that show things, and all of its things can be drawn at once; on larger ones they fade with distance.
const ONE_STYLE_TILES_MAX: usize = 64 * 64;
/// Tiles from the eye to what it looks at, up to which the picture is near, and from which on it is an overview.
const AFAR_TILES: [f32; 2] = [12.0, 34.0];
/// Farther from the eye, in tiles, than anything on a map.
const FARTHEST: f32 = 1e6;
/// Units after which looks that repeat begin again, small enough that `f32` stays smooth far beyond a unit.
const UNITS_WRAP: i128 = 1 << 16;

/// How much detail is shown at which size: heights of a tile in pixels from which on something is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Things at all: whole from the second on, and smaller down to the first; below, tiles are patches of colour.
    pub things: [f32; 2],
    /// Resources by their shapes rather than as specks.
    pub pieces: f32,
    /// Resources with all of their triangles.
    pub facets: f32,
    pub characters: f32,
    pub grass: f32,
}

impl Default for Detail {
    fn default() -> Self {
        Self::FINE
    }
}

impl Detail {
    /// For graphics cards, and for pictures that may take their time.
    pub const FINE: Self = Self {
        things: [8.0, 14.0],
        pieces: 16.0,
        facets: 36.0,
        characters: 18.0,
        grass: 30.0,
    };
    /// For drawing by the processor, which feels each triangle.
    pub const SWIFT: Self = Self {
        things: [9.0, 15.0],
        pieces: 18.0,
        facets: 70.0,
        characters: 44.0,
        grass: 60.0,
    };
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The picture's width and height in pixels.
    pub pixels: (u32, u32),
    pub mood: Mood,
    /// Whether the ground's paint shows at any distance (heat maps).
    pub paint_everywhere: bool,
    /// The middle of the map that is shown; `None` for the map as it is numbered.
    pub middle: Option<Vec2>,
    pub detail: Detail,
    pub elapsed_seconds: f32,
}

/// Turns scenes into draw lists. Keeps what it needs from one frame to the next.
#[derive(Debug, Default)]
pub struct Compose {
    /// How much of all motion is left out: 0 none, 1 all; follows the speed with some inertia.
    calm: f32,
    /// Seconds since a team won, as they were shown.
    won_seconds: f32,
    /// Agents being born, by number, with how far along they are.
    births: Vec<(AgentId, f32)>,
    places: Places,
}

/// What the parts of a composition share for one frame.
struct Frame<'a> {
    scene: &'a Scene,
    colors: TeamColors,
    places: &'a Places,
    size: MapSize,
    view: View,
    window: TorusWindow,
    /// Game time in units, wrapped; see [`UNITS_WRAP`].
    units: f32,
    /// Distance from the eye up to which tiles are shown in detail, fading from the first to the second.
    detail_until: [f32; 2],
    /// The style of a map that has one all over: how much detail, and pixels of the tile that decides it.
    style: Option<(f32, f32)>,
    /// Seconds since a team won: game time stands still then.
    won_seconds: f32,
    /// How much of all motion is left out.
    calm: f32,
    detail: Detail,
    /// See [`effects::wave_strength`].
    wave_strength: f32,
    /// See [`effects::heard_strength`].
    heard_strength: f32,
    /// How large resources are: small where the ground shows them, so that they do not hide it.
    thing_scale: f32,
    /// See [`resources::colors`].
    thing_colors: [Rgb; Resource::COUNT],
}

impl Compose {
    /// Fills `list` with what `scene` looks like from `pose`. Nothing but the background if there is no map.
    pub fn compose(
        &mut self,
        scene: &Scene,
        pose: &CameraPose,
        options: &Options,
        marks: &Marks,
        list: &mut DrawList,
    ) {
        list.clear();
        let Some(ground) = &scene.ground else { return };
        let (width, height) = options.pixels;
        let whole = TorusWindow::whole(ground.size);
        let window = options.middle.map_or(whole, |middle| whole.around(middle));
        let view = pose.view(width, height);
        self.follow_speed(scene, options.elapsed_seconds);
        let won_seconds = (self.won_seconds + options.elapsed_seconds).min(effects::VICTORY_SECONDS);
        self.won_seconds = scene.winner.map_or(0.0, |_| won_seconds);
        let [near, far] = AFAR_TILES;
        let afar = smoothstep(near, far, view.eye.distance(view.target));
        let enlarged = places::enlarged_from(afar, ground.size);
        self.places.gather(scene, enlarged);

        let things = options.detail.things;
        let style = (ground.size.area() <= ONE_STYLE_TILES_MAX).then(|| {
            let pixels = view.pixels_per_tile(view.target);
            (smoothstep(things[0], things[1], pixels), pixels)
        });
        let detail_until = match style {
            // Either no distance is too far, or each is.
            Some((detail, _)) if detail > 0.0 => [FARTHEST, 2.0 * FARTHEST],
            Some(_) => [-2.0, -1.0],
            None => [things[1], things[0]].map(|pixels| view.pixels_per_tile_at_one / pixels),
        };
        let style_paint = style.map_or(0.0, |(detail, _)| 1.0 - detail);
        let bounds = window.land_bounds();
        let (least, most) = view.seen_ground(bounds).unwrap_or(bounds);
        let farthest = [
            least,
            most,
            Vec2::new(least.x, most.y),
            Vec2::new(most.x, least.y),
        ]
        .map(|corner| view.eye.distance(grounded(corner)))
        .into_iter()
        .fold(0.0, f32::max);
        let frame = Frame {
            scene,
            colors: TeamColors::of(&scene.teams),
            places: &self.places,
            size: ground.size,
            view,
            window,
            units: (scene.clock.game.whole_units().rem_euclid(UNITS_WRAP)) as f32
                + scene.clock.game.unit_fraction_nu() as f32 / 1e9,
            detail_until,
            style,
            won_seconds: self.won_seconds,
            calm: self.calm,
            detail: options.detail,
            wave_strength: effects::wave_strength(&scene.effects),
            heard_strength: effects::heard_strength(&scene.effects),
            thing_scale: if options.paint_everywhere {
                0.6
            } else {
                1.0 - 0.3 * afar
            },
            thing_colors: resources::colors(if options.paint_everywhere { 0.0 } else { afar }),
        };
        list.frame = Some(FrameLook {
            view,
            window,
            mood: options.mood,
            units: frame.units,
            detail_until: frame.detail_until,
            paint_everywhere: if options.paint_everywhere { 1.0 } else { 0.0 },
            style_paint,
            paint_shows: options.paint_everywhere
                || style_paint > 0.0
                || farthest > detail_until[0] * PAINT_FROM,
            // In a picture of a few pixels no detail reaches as far as the least shadow.
            shadow_reach: (pose.distance * 0.75)
                .min(view.pixels_per_tile_at_one / things[0])
                .max(4.0)
                .min(whole.half.length() + 1.0),
            ground: GroundGrid::cover(least, most),
        });
        marks::shown(&frame, marks, list);
        marks::compose(&frame, marks, list);
        resources::compose(&frame, ground, list);
        self.births.clear();
        effects::compose(&frame, &mut self.births, list);
        self.births.sort_unstable_by_key(|&(id, _)| id);
        agents::compose(&frame, &self.births, list);
        effects::elevations(&frame, list);
        effects::victory(&frame, list);
    }

    /// Where the agents of the last picture stand in it.
    pub fn places(&self) -> &Places {
        &self.places
    }

    fn follow_speed(&mut self, scene: &Scene, seconds: f32) {
        let [from, to] = CALM_FROM_UNITS;
        let wanted = ((scene.clock.elapsed_units - from) / (to - from)).clamp(0.0, 1.0);
        self.calm += (wanted - self.calm) * (1.0 - (-seconds / CALM_WITHIN_SECONDS).exp());
    }
}

impl Frame<'_> {
    /// How much detail a thing at a world position deserves: 1 all, 0 none.
    fn detail_at(&self, position: Vec3) -> f32 {
        if let Some((detail, _)) = self.style {
            return detail;
        }
        let [begin, end] = self.detail_until;
        1.0 - smoothstep(begin, end, self.view.eye.distance(position))
    }

    fn lively(&self) -> f32 {
        1.0 - self.calm
    }
}

/// From 0 at `from` to 1 at `to`, without a corner at either end.
fn smoothstep(from: f32, to: f32, at: f32) -> f32 {
    let share = ((at - from) / (to - from)).clamp(0.0, 1.0);
    share * share * (3.0 - 2.0 * share)
}

/// A number that looks drawn by lot but belongs to `(tile, salt)` for ever, so that things lie where they lay.
fn lot(tile: Tile, salt: u32) -> u32 {
    scramble((u32::from(tile.x) << 16 | u32::from(tile.y)) ^ salt.wrapping_mul(0x9E37_79B9))
}

/// Mixes all bits of `value` into each of the answer's.
fn scramble(value: u32) -> u32 {
    let mut mixed = value.wrapping_add(0x7F4A_7C15);
    mixed = (mixed ^ (mixed >> 16)).wrapping_mul(0x85EB_CA6B);
    mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xC2B2_AE35);
    mixed ^ (mixed >> 16)
}

/// The part of a lot's bits from `bit` on as `-1.0..1.0`.
fn signed(lot: u32, bit: u32) -> f32 {
    ((lot >> bit) & 0xff) as f32 / 127.5 - 1.0
}

fn middle_of(tile: Tile) -> Vec2 {
    Vec2::new(f32::from(tile.x), f32::from(tile.y))
}

fn grounded(position: Vec2) -> Vec3 {
    Vec3::new(position.x, 0.0, position.y)
}

#[cfg(test)]
pub(super) mod tests;
