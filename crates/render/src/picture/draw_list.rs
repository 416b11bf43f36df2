//! What to draw in one frame, as lists of plain instances.
//!
//! The lists keep their memory from frame to frame, so that a frame allocates nothing once they have grown. The
//! layouts are those that the shaders read; nothing here knows a device.

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};

use super::camera::View;
use super::palette::{Mood, Rgb};
use super::shapes::Shape;
use super::torus::TorusWindow;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Instance {
    /// Where its feet are, in world space.
    pub position: [f32; 3],
    pub scale: f32,
    /// Sine and cosine of the angle it faces: `[0, 1]` to the north, growing clockwise.
    pub facing: [f32; 2],
    /// Height against width: 1 as the mesh is.
    pub stretch: f32,
    /// For characters: swing of the left foot forward, lean forward, raise of the arms, turn of the head; radians.
    pub pose: [f32; 4],
    /// Its colour, as on a screen; the fourth: how much it shines by itself.
    pub color: [u8; 4],
    /// Its second colour; the fourth: how much of it is there, 255 all of it.
    pub accent: [u8; 4],
}

impl Instance {
    /// Stands upright at a tile position, facing north, in one colour.
    pub fn at(position: Vec2, scale: f32, color: Rgb) -> Self {
        Self {
            position: [position.x, 0.0, position.y],
            scale,
            facing: [0.0, 1.0],
            stretch: 1.0,
            pose: [0.0; 4],
            color: color.with(0.0),
            accent: color.with(1.0),
        }
    }

    /// Turned to an angle in radians: 0 to the north, growing clockwise.
    pub fn facing(self, angle: f32) -> Self {
        Self {
            facing: angle.sin_cos().into(),
            ..self
        }
    }

    /// Shines by itself: 0 not at all.
    pub fn glowing(mut self, glow: f32) -> Self {
        self.color[3] = (glow.clamp(0.0, 1.0) * 255.0) as u8;
        self
    }

    pub fn accented(mut self, accent: Rgb) -> Self {
        self.accent[..3].copy_from_slice(&accent.0);
        self
    }

    /// Fades: 1 is all there, 0 nothing.
    pub fn present(mut self, presence: f32) -> Self {
        self.accent[3] = (presence.clamp(0.0, 1.0) * 255.0) as u8;
        self
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Decal {
    /// Its middle, as a tile position.
    pub position: [f32; 2],
    /// From its middle to its edge, in tiles.
    pub reach: f32,
    /// Which way it points, in radians: 0 to the north, growing clockwise.
    pub yaw: f32,
    /// Two numbers whose meaning depends on the kind.
    pub params: [f32; 2],
    /// Its colour as on a screen, and its opacity.
    pub color: [u8; 4],
}

impl Decal {
    /// One that points to the north, without parameters.
    pub fn at(position: Vec2, reach: f32, color: [u8; 4]) -> Self {
        Self {
            position: position.to_array(),
            reach,
            yaw: 0.0,
            params: [0.0; 2],
            color,
        }
    }

    pub fn with(self, params: [f32; 2]) -> Self {
        Self { params, ..self }
    }
}

/// Which mark a [`Decal`] is, in the order in which they cover each other. Numbers are those of the shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum DecalKind {
    /// The soft dark spot under a thing. Params: the thing's height, in tiles; unused.
    Contact = 0,
    /// The ground below a group, in its team's colour. Params: unused.
    Aura = 1,
    /// A filled tile, as seen by an agent. Params: unused.
    TileFill = 2,
    /// The outline of a tile. Params: unused.
    TileFrame = 3,
    /// A step of a trail: a soft dash. Params: unused.
    Dash = 4,
    /// A ring that grows. Params: progress; width as a part of the reach.
    Ring = 5,
    /// A circle of signs under an elevation. Params: progress; turn in radians.
    Rune = 6,
    /// Under an agent: eight segments, as many lit as its level, and a point that shows where it faces.
    /// Params: level; unused.
    Standing = 7,
    /// The ring around what is selected. Params: turn; unused.
    Selection = 8,
    /// A message that was lost here: a cross in a broken ring. Params: progress; unused.
    Lost = 9,
}

impl DecalKind {
    pub const COUNT: usize = 10;
}

/// A ring that travels over the ground, drawn as a band of triangles, since it may cover the whole map.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Wave {
    /// Its middle, as a tile position.
    pub position: [f32; 2],
    /// From the middle to its crest, in tiles.
    pub radius: f32,
    /// From the crest to where it ends inward, in tiles.
    pub depth: f32,
    /// How many dashes it is broken into; 0 for a whole ring.
    pub dashes: f32,
    /// Its colour as on a screen, and its opacity.
    pub color: [u8; 4],
}

/// Light without a body, facing the eye.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Glow {
    /// Its middle, or its foot for a column; in world space.
    pub position: [f32; 3],
    /// Half of its width, in tiles.
    pub width: f32,
    /// Half of its height, or all of it for a column; in tiles.
    pub height: f32,
    /// How bright; 1 as bright as a sunlit white.
    pub strength: f32,
    /// A number whose meaning depends on the kind.
    pub param: f32,
    pub color: [u8; 4],
}

impl Glow {
    /// One of `[width, height]`, without a parameter.
    pub fn at(position: Vec3, [width, height]: [f32; 2], strength: f32, color: Rgb) -> Self {
        Self {
            position: position.to_array(),
            width,
            height,
            strength,
            param: 0.0,
            color: color.with(1.0),
        }
    }
}

/// Which form a [`Glow`] has. Numbers are those of the shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum GlowKind {
    Spark = 0,
    /// A column of light that stands on the ground. Param: phase of what rises in it.
    Column = 1,
    Halo = 2,
}

impl GlowKind {
    pub const COUNT: usize = 3;
}

/// All that one frame shows, except the HUD.
#[derive(Debug, Default, PartialEq)]
pub struct DrawList {
    /// Copies of each mesh, by [`Shape`].
    pub bodies: [Vec<Instance>; Shape::COUNT],
    /// Marks on the ground, by [`DecalKind`].
    pub decals: [Vec<Decal>; DecalKind::COUNT],
    pub waves: Vec<Wave>,
    /// Lights, by [`GlowKind`].
    pub glows: [Vec<Glow>; GlowKind::COUNT],
    /// What holds for the whole frame; `None` while there is no map.
    pub frame: Option<FrameLook>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameLook {
    pub view: View,
    /// Which part of the endless plane is shown.
    pub window: TorusWindow,
    pub mood: Mood,
    /// Game time in units, for what moves by itself; wraps far from zero, so only for looks.
    pub units: f32,
    /// From where on tiles are shown as patches of colour only: distance from the eye in tiles, begin and end of
    /// the change.
    pub detail_until: [f32; 2],
    /// How strongly the ground's paint covers it: 0 only far away, 1 everywhere (heat maps).
    pub paint_everywhere: f32,
    /// How strongly it covers a map that has one style all over, on which no distance is far away.
    pub style_paint: f32,
    /// Whether any of the paint can be seen.
    pub paint_shows: bool,
    /// Radius around the target within which things cast shadows, in tiles.
    pub shadow_reach: f32,
    pub ground: GroundGrid,
}

/// The ground that is drawn, as a grid of cells, row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroundGrid {
    /// The corner with the least coordinates, as a tile position.
    pub least: Vec2,
    /// Sides of a cell, in tiles.
    pub cell: Vec2,
    pub cells: (u32, u32),
}

impl GroundGrid {
    /// Cells a row and rows at most: one for each two or three tiles of what is usually seen.
    const CELLS_MAX: f32 = 40.0;

    /// Covers the ground from `least` to `most`.
    pub fn cover(least: Vec2, most: Vec2) -> Self {
        let sides = most - least;
        let cells = (sides / 2.0)
            .ceil()
            .clamp(Vec2::ONE, Vec2::splat(Self::CELLS_MAX));
        Self {
            least,
            cell: sides / cells,
            cells: (cells.x as u32, cells.y as u32),
        }
    }
}

impl DrawList {
    /// Empties all lists and keeps their memory.
    pub fn clear(&mut self) {
        self.bodies.iter_mut().for_each(Vec::clear);
        self.decals.iter_mut().for_each(Vec::clear);
        self.waves.clear();
        self.glows.iter_mut().for_each(Vec::clear);
        self.frame = None;
    }

    pub fn body(&mut self, shape: Shape, instance: Instance) {
        self.bodies[shape as usize].push(instance);
    }

    pub fn decal(&mut self, kind: DecalKind, decal: Decal) {
        self.decals[kind as usize].push(decal);
    }

    pub fn glow(&mut self, kind: GlowKind, glow: Glow) {
        self.glows[kind as usize].push(glow);
    }

    /// How many instances of all kinds there are.
    pub fn instances(&self) -> usize {
        fn all<T>(lists: &[Vec<T>]) -> usize {
            lists.iter().map(Vec::len).sum()
        }
        all(&self.bodies) + all(&self.decals) + self.waves.len() + all(&self.glows)
    }
}
