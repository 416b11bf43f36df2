//! What the shaders are told about a frame; the layout is that of `frame.wgsl`.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec3, Vec4};

use crate::picture::draw_list::FrameLook;

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct FrameUniform {
    clip_from_world: [f32; 16],
    shadow_from_world: [f32; 16],
    eye: [f32; 4],
    right: [f32; 4],
    up: [f32; 4],
    window: [f32; 4],
    map: [f32; 4],
    grid: [f32; 4],
    grid_cells: [f32; 4],
    detail: [f32; 4],
    sun_direction: [f32; 4],
    sun: [f32; 4],
    ambient_above: [f32; 4],
    ambient_below: [f32; 4],
    sky_top: [f32; 4],
    sky_bottom: [f32; 4],
    sky_glow: [f32; 4],
    ground_a: [f32; 4],
    ground_b: [f32; 4],
    ground_patch: [f32; 4],
    seam: [f32; 4],
    rim: [f32; 4],
    viewport: [f32; 4],
}

impl FrameUniform {
    pub(super) fn new(look: &FrameLook, pixels: (u32, u32), shadow_side: u32) -> Self {
        let mood = &look.mood;
        let (width, height) = (pixels.0 as f32, pixels.1 as f32);
        let sides = look.window.sides();
        let fog_end = look.view.eye.distance(look.view.target) * 3.2 + 14.0;
        let color = |color: Vec3| color.extend(0.0).to_array();
        Self {
            clip_from_world: look.view.clip_from_world.to_cols_array(),
            shadow_from_world: shadow_from_world(look).to_cols_array(),
            eye: look.view.eye.extend(look.units).to_array(),
            right: look.view.right.extend(look.paint_everywhere).to_array(),
            up: look.view.up.extend(fog_end).to_array(),
            window: [
                look.window.middle.x,
                look.window.middle.y,
                look.window.half.x,
                look.window.half.y,
            ],
            map: [sides.x, sides.y, look.window.margin, look.window.land],
            grid: [
                look.ground.least.x,
                look.ground.least.y,
                look.ground.cell.x,
                look.ground.cell.y,
            ],
            grid_cells: [look.ground.cells.0 as f32, 0.0, 0.0, 0.0],
            detail: [
                look.detail_until[0],
                look.detail_until[1],
                1.0 / shadow_side as f32,
                look.style_paint,
            ],
            sun_direction: color(mood.sun_direction),
            sun: color(mood.sun),
            ambient_above: color(mood.ambient_above),
            ambient_below: color(mood.ambient_below),
            sky_top: color(mood.sky_top),
            sky_bottom: color(mood.sky_bottom),
            sky_glow: color(mood.sky_glow),
            ground_a: color(mood.ground[0]),
            ground_b: color(mood.ground[1]),
            ground_patch: color(mood.ground_patch),
            seam: color(mood.seam),
            rim: color(mood.rim),
            viewport: [width, height, 1.0 / width, 1.0 / height],
        }
    }

    /// Whether sky and ground are the same in both, whatever light they lie in: the eye has not moved by as much as can
    /// be seen, and nothing else that they show has changed.
    pub(super) fn has_the_background_of(&self, other: &Self) -> bool {
        /// A part of the eye's distance; a fiftieth of a pixel in a picture of usual size.
        const UNSEEN: f32 = 2e-5;
        let eye = |of: &Self| Vec3::new(of.eye[0], of.eye[1], of.eye[2]);
        let unseen = eye(self).y.abs() * UNSEEN;
        let near = |one: &[f32; 4], two: &[f32; 4], most: f32| {
            one.iter()
                .zip(two)
                .take(3)
                .all(|(one, two)| (one - two).abs() <= most)
        };
        near(&self.eye, &other.eye, unseen)
            && near(&self.right, &other.right, UNSEEN)
            && near(&self.up, &other.up, UNSEEN)
            && near(&self.window, &other.window, unseen)
            && self.all_but_the_eye() == other.all_but_the_eye()
    }

    pub(super) fn has_the_light_of(&self, other: &Self) -> bool {
        let light = |of: &Self| {
            [
                of.sun_direction,
                of.sun,
                of.ambient_above,
                of.ambient_below,
                of.sky_top,
                of.sky_bottom,
                of.sky_glow,
            ]
        };
        light(self) == light(other)
    }

    /// What the background depends on besides the eye and the light, and what follows from where the eye is.
    fn all_but_the_eye(&self) -> [[f32; 4]; 8] {
        [
            [self.right[3], self.window[3], self.detail[3], 0.0],
            self.map,
            self.ground_a,
            self.ground_b,
            self.ground_patch,
            self.seam,
            self.rim,
            self.viewport,
        ]
    }
}

/// The sun's own camera: parallel rays over a square around what is looked at.
///
/// The square moves in whole steps of the map of shadows, since edges would crawl otherwise while the eye moves.
fn shadow_from_world(look: &FrameLook) -> Mat4 {
    let reach = look.shadow_reach;
    let towards = look.mood.sun_direction;
    let turn = Mat4::look_to_rh_like(towards);
    let step = reach * 2.0 / 1024.0;
    let middle = turn.transform_point3(look.view.target);
    let middle = Vec3::new(
        (middle.x / step).round() * step,
        (middle.y / step).round() * step,
        middle.z,
    );
    // Depth runs from 0 towards the sun to 1 away from it; a few tiles of height are all there is, but the ground
    // slants through the whole square.
    let depth = reach * 1.5 + 3.0;
    Mat4::from_cols(
        Vec4::new(1.0 / reach, 0.0, 0.0, 0.0),
        Vec4::new(0.0, 1.0 / reach, 0.0, 0.0),
        Vec4::new(0.0, 0.0, -0.5 / depth, 0.0),
        Vec4::new(
            -middle.x / reach,
            -middle.y / reach,
            0.5 + 0.5 * middle.z / depth,
            1.0,
        ),
    ) * turn
}

/// A turn of the world in which `z` points to the sun.
trait SunTurn {
    fn look_to_rh_like(towards: Vec3) -> Mat4;
}

impl SunTurn for Mat4 {
    fn look_to_rh_like(towards: Vec3) -> Mat4 {
        let z = towards.normalize();
        let x = Vec3::Y.cross(z).normalize();
        let y = z.cross(x);
        Mat4::from_cols(x.extend(0.0), y.extend(0.0), z.extend(0.0), Vec4::W).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::draw_list::GroundGrid;
    use crate::picture::palette::Mood;
    use crate::picture::{CameraPose, TorusWindow};
    use glam::Vec2;

    #[test]
    fn the_sun_s_square_holds_what_is_looked_at_and_higher_is_nearer() {
        let pose = CameraPose {
            target: Vec2::new(30.0, -7.0),
            distance: 15.0,
            yaw: 0.3,
            pitch: 0.8,
        };
        let look = FrameLook {
            view: pose.view(640, 360),
            window: TorusWindow::whole(trantor_model::MapSize::new(50, 50).unwrap()),
            mood: Mood::dusk(),
            units: 0.0,
            detail_until: [10.0, 20.0],
            paint_everywhere: 0.0,
            style_paint: 0.0,
            paint_shows: false,
            shadow_reach: 9.0,
            ground: GroundGrid::default(),
        };
        let matrix = shadow_from_world(&look);
        let target = matrix.project_point3(Vec3::new(30.0, 0.0, -7.0));
        assert!(target.x.abs() < 0.01 && target.y.abs() < 0.01, "{target}");
        assert!((0.3..0.7).contains(&target.z), "{target}");
        let head = matrix.project_point3(Vec3::new(30.0, 0.6, -7.0));
        assert!(head.z < target.z);
        let shaded = Vec3::new(30.0, 0.6, -7.0) - look.mood.sun_direction * (0.6 / look.mood.sun_direction.y);
        let shaded = matrix.project_point3(shaded);
        assert!(
            (shaded.x - head.x).abs() < 1e-4 && shaded.z > head.z,
            "a shadow falls along the ray"
        );
        for corner in [Vec2::new(6.0, 6.0), Vec2::new(-6.0, 6.0), Vec2::new(6.0, -6.0)] {
            let at = matrix.project_point3(Vec3::new(30.0 + corner.x, 0.0, -7.0 + corner.y));
            assert!(
                at.x.abs() <= 1.0 && at.y.abs() <= 1.0 && (0.0..1.0).contains(&at.z),
                "{at}"
            );
        }
    }
}
