//! Flat-shaded meshes, built from code.
//!
//! A mesh is a list of triangles that share no vertex, since each face has one normal and one paint: that is the
//! whole look. Solids are made from a few generators (turned profiles, balls, boxes) and moved into place.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec3};

/// A corner of a triangle, as the graphics card reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Vertex {
    /// In the mesh's own space, feet at the origin, facing `-z`; tiles.
    pub position: [f32; 3],
    /// Of the face, length 1.
    pub normal: [f32; 3],
    /// Red, green, blue as on a screen, and how much of the instance's colour replaces them (255: all of it).
    pub tint: [u8; 4],
    /// [`Part`], glow (255: shines by itself), which instance colour (0: main, 1: accent), unused.
    pub role: [u8; 4],
}

/// What a triangle belongs to, for the poses that the vertex shader applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    Body = 0,
    /// Swings forward while the right one swings back.
    LeftFoot = 1,
    RightFoot = 2,
    /// Swings against the left foot; is raised.
    LeftArm = 3,
    RightArm = 4,
    Head = 5,
}

/// How the faces of a piece are coloured.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    tint: [u8; 4],
    part: Part,
    glow: u8,
    accent: bool,
}

impl Paint {
    /// A colour of its own, `0xRRGGBB` as on a screen.
    pub fn fixed(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Self {
            tint: [red, green, blue, 0],
            part: Part::Body,
            glow: 0,
            accent: false,
        }
    }

    /// The instance's colour, at `brightness` (1.0: as it is).
    pub fn instance(brightness: f32) -> Self {
        let shade = (brightness * 200.0).clamp(0.0, 255.0) as u8;
        Self {
            tint: [shade, shade, shade, 255],
            part: Part::Body,
            glow: 0,
            accent: false,
        }
    }

    pub fn accent(brightness: f32) -> Self {
        Self {
            accent: true,
            ..Self::instance(brightness)
        }
    }

    pub fn on(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Shines by itself: `0.0` not at all, `1.0` as bright as if the sun stood above it.
    pub fn glowing(self, glow: f32) -> Self {
        Self {
            glow: (glow.clamp(0.0, 1.0) * 255.0) as u8,
            ..self
        }
    }
}

#[derive(Debug, Default)]
pub struct MeshBuilder {
    vertices: Vec<Vertex>,
    place: Mat4,
}

impl MeshBuilder {
    pub fn new() -> Self {
        Self {
            vertices: Vec::new(),
            place: Mat4::IDENTITY,
        }
    }

    /// What follows is moved by `place` first.
    pub fn at(&mut self, place: Mat4) -> &mut Self {
        self.place = place;
        self
    }

    pub fn finish(self) -> Vec<Vertex> {
        self.vertices
    }

    /// A triangle, counter-clockwise as seen from outside. One without area is left out.
    pub fn triangle(&mut self, corners: [Vec3; 3], paint: Paint) -> &mut Self {
        let corners = corners.map(|corner| self.place.transform_point3(corner));
        let across = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
        let Some(normal) = across.try_normalize() else {
            return self;
        };
        self.vertices.extend(corners.map(|corner| Vertex {
            position: corner.to_array(),
            normal: normal.to_array(),
            tint: paint.tint,
            role: [paint.part as u8, paint.glow, u8::from(paint.accent), 0],
        }));
        self
    }

    /// All faces so far are lit as if they looked straight up.
    pub fn light_from_above(&mut self) {
        for vertex in &mut self.vertices {
            vertex.normal = Vec3::Y.to_array();
        }
    }

    /// A flat face of four corners, counter-clockwise as seen from outside.
    pub fn quad(&mut self, corners: [Vec3; 4], paint: Paint) -> &mut Self {
        let [a, b, c, d] = corners;
        self.triangle([a, b, c], paint).triangle([a, c, d], paint)
    }

    /// A box around the origin with these half sides.
    pub fn cuboid(&mut self, half: Vec3, paint: Paint) -> &mut Self {
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut out = Vec3::ZERO;
                out[axis] = sign;
                let mut along = Vec3::ZERO;
                along[(axis + 1) % 3] = 1.0;
                let up = out.cross(along);
                let corner = |a: f32, b: f32| (out + along * a + up * b) * half;
                self.quad(
                    [
                        corner(-1.0, -1.0),
                        corner(1.0, -1.0),
                        corner(1.0, 1.0),
                        corner(-1.0, 1.0),
                    ],
                    paint,
                );
            }
        }
        self
    }

    /// A profile of `(radius, height)` pairs from bottom to top, turned around the `y` axis in `sides` flat
    /// faces. `paints` are of the rings from bottom to top; the last one is also of those above. Ends with a radius
    /// above 0 are closed.
    pub fn turned(&mut self, sides: u32, profile: &[(f32, f32)], paints: &[Paint]) -> &mut Self {
        let paint = |ring: usize| paints[ring.min(paints.len() - 1)];
        let rim = |radius: f32, height: f32, side: u32| {
            let angle = std::f32::consts::TAU * (side as f32 + 0.5) / sides as f32;
            Vec3::new(radius * angle.sin(), height, -radius * angle.cos())
        };
        for (ring, pair) in profile.windows(2).enumerate() {
            let [(low, bottom), (high, top)] = [pair[0], pair[1]];
            for side in 0..sides {
                self.quad(
                    [
                        rim(low, bottom, side + 1),
                        rim(low, bottom, side),
                        rim(high, top, side),
                        rim(high, top, side + 1),
                    ],
                    paint(ring),
                );
            }
        }
        if let (Some(&(first, bottom)), Some(&(last, top))) = (profile.first(), profile.last()) {
            for side in 0..sides {
                self.triangle(
                    [
                        Vec3::Y * bottom,
                        rim(first, bottom, side),
                        rim(first, bottom, side + 1),
                    ],
                    paint(0),
                );
                self.triangle(
                    [Vec3::Y * top, rim(last, top, side + 1), rim(last, top, side)],
                    paint(profile.len() - 2),
                );
            }
        }
        self
    }

    /// A ball of radius 1 around the origin: 20 faces, or 80 when `round`. `paint` gets the middle of each face.
    pub fn ball(&mut self, round: bool, paint: impl Fn(Vec3) -> Paint) -> &mut Self {
        for face in icosahedron() {
            if round {
                let middles = [
                    (face[0] + face[1]).normalize(),
                    (face[1] + face[2]).normalize(),
                    (face[2] + face[0]).normalize(),
                ];
                for part in [
                    [face[0], middles[0], middles[2]],
                    [middles[0], face[1], middles[1]],
                    [middles[2], middles[1], face[2]],
                    middles,
                ] {
                    self.triangle(part, paint((part[0] + part[1] + part[2]) / 3.0));
                }
            } else {
                self.triangle(face, paint((face[0] + face[1] + face[2]) / 3.0));
            }
        }
        self
    }
}

/// The 20 faces of an icosahedron of radius 1, counter-clockwise as seen from outside.
fn icosahedron() -> [[Vec3; 3]; 20] {
    // Two poles and two rings of five, at the latitude of ±atan(1/2).
    let ring = |step: f32, height: f32| {
        let angle = step * std::f32::consts::TAU / 5.0;
        let radius = (1.0 - height * height).sqrt();
        Vec3::new(radius * angle.sin(), height, radius * angle.cos())
    };
    let latitude = 1.0 / 5f32.sqrt();
    let mut faces = [[Vec3::ZERO; 3]; 20];
    for side in 0..5 {
        let step = side as f32;
        let [upper, upper_next] = [ring(step, latitude), ring(step + 1.0, latitude)];
        let [lower, lower_next] = [ring(step + 0.5, -latitude), ring(step + 1.5, -latitude)];
        faces[side * 4] = [Vec3::Y, upper, upper_next];
        faces[side * 4 + 1] = [upper, lower, upper_next];
        faces[side * 4 + 2] = [lower, lower_next, upper_next];
        faces[side * 4 + 3] = [Vec3::NEG_Y, lower_next, lower];
    }
    faces
}
