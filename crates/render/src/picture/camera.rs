//! The eye: turns around a point on the ground, and glides to where it was sent.
//!
//! Input moves the *goal*; [`Camera::update`] lets the pose follow it in real time, each second covering all but
//! a small part of the way, so that the motion looks the same at any frame rate.

use glam::{Mat4, Vec2, Vec3, Vec4};

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CameraPose {
    /// What it looks at, as a tile position.
    pub target: Vec2,
    /// How far from there, in tiles.
    pub distance: f32,
    /// Which way it looks, in radians: 0 to the north, growing clockwise.
    pub yaw: f32,
    /// How far down it looks, in radians: 0 level, π/2 straight down.
    pub pitch: f32,
}

#[derive(Clone, Debug)]
pub struct Camera {
    pub pose: CameraPose,
    pub goal: CameraPose,
}

/// The full angle of view from top to bottom, in radians: narrow, as through a long lens, so that far tiles are
/// not much smaller than near ones.
pub const VIEW_ANGLE: f32 = 0.6;
/// How far down it may look: never level, where the board would be a line, and never quite straight down, where
/// there is no up.
const PITCH: [f32; 2] = [0.3, 1.54];
/// How near and how far it may be, in tiles; the far end is in maps of the longer side.
const DISTANCE_LEAST: f32 = 3.0;
const DISTANCE_MOST_SIDES: f32 = 2.6;
/// What part of the way to the goal is left after a second: the whole feel of the camera.
const LEFT_AFTER_A_SECOND: f32 = 0.000_2;

/// The view of one frame, ready for drawing and for picking.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct View {
    /// Takes world positions to clip space; depth runs from 0 near to 1 far.
    pub clip_from_world: Mat4,
    pub world_from_clip: Mat4,
    pub eye: Vec3,
    /// To the right and up on the screen, in world space; length 1.
    pub right: Vec3,
    pub up: Vec3,
    pub target: Vec3,
    /// Height in pixels of a thing one tile high at a distance of one tile.
    pub pixels_per_tile_at_one: f32,
    planes: [Vec4; 4],
}

impl Camera {
    pub fn new(pose: CameraPose) -> Self {
        Self { pose, goal: pose }
    }

    /// Moves the pose towards the goal; `seconds` since the last call.
    pub fn update(&mut self, seconds: f32) {
        let left = LEFT_AFTER_A_SECOND.powf(seconds.clamp(0.0, 1.0));
        let glide = |from: f32, to: f32| to + (from - to) * left;
        self.pose.target = self.goal.target + (self.pose.target - self.goal.target) * left;
        // A zoom of equal steps looks even, so the logarithm of the distance is what glides.
        self.pose.distance = glide(self.pose.distance.ln(), self.goal.distance.ln()).exp();
        self.pose.yaw = glide(self.pose.yaw, self.goal.yaw);
        self.pose.pitch = glide(self.pose.pitch, self.goal.pitch);
    }

    /// Sends it along the ground by `(right, ahead)` tiles as seen on the screen.
    pub fn pan(&mut self, right: f32, ahead: f32) {
        let (sin, cos) = self.goal.yaw.sin_cos();
        self.goal.target += Vec2::new(right * cos + ahead * sin, right * sin - ahead * cos);
    }

    /// Sends it nearer (`factor` below 1) or further.
    pub fn zoom(&mut self, factor: f32, longer_side: f32) {
        let distance = self.goal.distance * factor;
        self.goal.distance = distance.clamp(DISTANCE_LEAST, distance_most(longer_side));
    }

    /// Sends it around the target and up or down, in radians.
    pub fn orbit(&mut self, yaw: f32, pitch: f32) {
        self.goal.yaw += yaw;
        let [least, most] = PITCH;
        self.goal.pitch = (self.goal.pitch + pitch).clamp(least, most);
    }

    /// Puts both pose and goal `by` tiles on, unseen: for a jump by a whole map.
    pub fn shift(&mut self, by: Vec2) {
        self.pose.target += by;
        self.goal.target += by;
    }
}

/// How far it may be from a map whose longer side has so many tiles.
fn distance_most(longer_side: f32) -> f32 {
    (longer_side * DISTANCE_MOST_SIDES).max(DISTANCE_LEAST * 4.0)
}

impl CameraPose {
    pub fn is_finite(&self) -> bool {
        self.target.is_finite()
            && [self.distance, self.yaw, self.pitch]
                .iter()
                .all(|value| value.is_finite())
    }

    /// The nearest pose that a hand could have brought the camera to over a map with these sides: the same for one that it
    /// could. What is no number stays none.
    pub fn within(self, sides: Vec2) -> Self {
        let [least, most] = PITCH;
        Self {
            target: self.target.clamp(Vec2::splat(-0.5), sides - 0.5),
            distance: self
                .distance
                .clamp(DISTANCE_LEAST, distance_most(sides.max_element())),
            yaw: self.yaw,
            pitch: self.pitch.clamp(least, most),
        }
    }

    /// From where a map with these sides is seen as a whole; see [`Self::framing`].
    pub fn overview(sides: Vec2, aspect: f32, clear: (Vec2, Vec2)) -> Self {
        Self::framing(sides / 2.0 - 0.5, sides, aspect, clear)
    }

    /// From where the ground with these sides around `middle` is seen, as large as it can be, in a picture of this shape
    /// (width by height). `clear` is the part of the picture that nothing else covers: least and most, each
    /// `0.0..=1.0` from top left.
    pub fn framing(middle: Vec2, sides: Vec2, aspect: f32, clear: (Vec2, Vec2)) -> Self {
        /// How far down it looks, in radians: bodies are to be seen from their side, and the ground between them.
        const PITCH_LEAST: f32 = 0.78;
        const PITCH_MOST: f32 = 1.06;
        /// Tiles that are shown at least: from nearer, who stands on a map of a few tiles does not fit in the picture.
        const SIDES_LEAST: f32 = 4.0;
        let sides = sides.max(Vec2::splat(SIDES_LEAST));
        let mut pose = Self {
            target: middle,
            distance: sides.max_element() * 8.0,
            yaw: 0.0,
            pitch: 0.9,
        };
        // Nearer makes everything larger, steeper makes it higher, and the target's place follows the middle of what
        // is seen: a few rounds settle all three, and no formula with a perspective in it would be shorter.
        for _ in 0..40 {
            let view = pose.view((aspect * 1000.0) as u32, 1000);
            let mut least = Vec2::INFINITY;
            let mut most = Vec2::NEG_INFINITY;
            for corner in [Vec2::ZERO, Vec2::X, Vec2::Y, Vec2::ONE] {
                // A little more than the map, and who stands at its edge with all of its height.
                let ground = middle + (corner - 0.5) * (sides + 0.4);
                let height = if corner.y > 0.0 { 0.0 } else { 0.6 };
                if let Some(point) = view.project(Vec3::new(ground.x, height, ground.y)) {
                    least = least.min(point);
                    most = most.max(point);
                }
            }
            let share = (most - least) / (clear.1 - clear.0);
            pose.distance *= 1.0 + (share.max_element() - 1.0) * 0.8;
            pose.pitch = (pose.pitch + (share.x - share.y) * 0.4).clamp(PITCH_LEAST, PITCH_MOST);
            let off = (least + most) / 2.0 - (clear.0 + clear.1) / 2.0;
            let tiles = 2.0 * (VIEW_ANGLE / 2.0).tan() * pose.distance;
            pose.target += off * Vec2::new(aspect, 1.0 / pose.pitch.sin()) * tiles * 0.8;
        }
        pose
    }

    /// The view from here in a picture of `width` by `height` pixels.
    pub fn view(&self, width: u32, height: u32) -> View {
        let (width, height) = (width.max(1) as f32, height.max(1) as f32);
        let target = Vec3::new(self.target.x, 0.0, self.target.y);
        let (sin, cos) = self.yaw.sin_cos();
        let ahead = Vec3::new(sin * self.pitch.cos(), -self.pitch.sin(), -cos * self.pitch.cos());
        let eye = target - ahead * self.distance;
        let right = Vec3::new(cos, 0.0, sin);
        let up = right.cross(ahead);
        // The nearest thing worth seeing is an agent's head under a camera at its least distance.
        let near = (self.distance * 0.1).min(0.5);
        let far = self.distance * 6.0 + 40.0;
        let view_from_world = glam::camera::rh::view::look_at_mat4(eye, target, up);
        let clip_from_view =
            glam::camera::rh::proj::directx::perspective(VIEW_ANGLE, width / height, near, far);
        let clip_from_world = clip_from_view * view_from_world;
        let rows = clip_from_world.transpose();
        let planes = [
            rows.w_axis + rows.x_axis,
            rows.w_axis - rows.x_axis,
            rows.w_axis + rows.y_axis,
            rows.w_axis - rows.y_axis,
        ]
        .map(|plane| plane / plane.truncate().length());
        View {
            clip_from_world,
            world_from_clip: clip_from_world.inverse(),
            eye,
            right,
            up,
            target,
            pixels_per_tile_at_one: height / (2.0 * (VIEW_ANGLE / 2.0).tan()),
            planes,
        }
    }
}

impl View {
    /// Whether any of a ball may be seen.
    pub fn sees(&self, middle: Vec3, radius: f32) -> bool {
        self.planes
            .iter()
            .all(|plane| plane.dot(middle.extend(1.0)) > -radius)
    }

    /// How many pixels high a thing one tile high is at `position`.
    pub fn pixels_per_tile(&self, position: Vec3) -> f32 {
        self.pixels_per_tile_at_one / self.eye.distance(position).max(0.01)
    }

    /// The tile position on the ground under a point of the picture, `(0, 0)` top left to `(1, 1)` bottom right;
    /// `None` above the horizon.
    pub fn ground_at(&self, point: Vec2) -> Option<Vec2> {
        let clip = Vec2::new(point.x * 2.0 - 1.0, 1.0 - point.y * 2.0);
        let far = self.world_from_clip.project_point3(clip.extend(1.0));
        let ray = far - self.eye;
        if ray.y >= -1e-6 {
            return None;
        }
        let hit = self.eye + ray * (-self.eye.y / ray.y);
        Some(Vec2::new(hit.x, hit.z))
    }

    /// Where a world position is in the picture, `(0, 0)` top left to `(1, 1)` bottom right; `None` behind the eye.
    pub fn project(&self, position: Vec3) -> Option<Vec2> {
        let clip = self.clip_from_world * position.extend(1.0);
        (clip.w > 1e-3).then(|| Vec2::new(clip.x / clip.w * 0.5 + 0.5, 0.5 - clip.y / clip.w * 0.5))
    }

    /// The tiles that may be seen: least and most tile position, within `bounds`.
    pub fn seen_ground(&self, bounds: (Vec2, Vec2)) -> Option<(Vec2, Vec2)> {
        let mut least = Vec2::INFINITY;
        let mut most = Vec2::NEG_INFINITY;
        for corner in [Vec2::ZERO, Vec2::X, Vec2::Y, Vec2::ONE] {
            let Some(ground) = self.ground_at(corner) else {
                // The horizon is in the picture: anything may be.
                return Some(bounds);
            };
            least = least.min(ground);
            most = most.max(ground);
        }
        // Things stand up from the ground, and reach into the picture from below.
        let (least, most) = ((least - 1.5).max(bounds.0), (most + 1.5).min(bounds.1));
        least.cmplt(most).all().then_some((least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glide_does_not_depend_on_the_frame_rate() {
        let ends = [30u8, 144].map(|rate| {
            let mut camera = Camera::new(CameraPose {
                target: Vec2::new(7.0, 4.0),
                distance: 20.0,
                yaw: 0.7,
                pitch: 0.9,
            });
            camera.goal.target += Vec2::new(10.0, -5.0);
            camera.zoom(0.3, 20.0);
            for _ in 0..rate {
                camera.update(1.0 / f32::from(rate));
            }
            camera.pose
        });
        assert!(ends[0].target.distance(ends[1].target) < 1e-3);
        assert!((ends[0].distance - ends[1].distance).abs() < 1e-3);
    }

    #[test]
    fn the_overview_holds_the_whole_map() {
        for (sides, aspect) in [
            (Vec2::new(20.0, 20.0), 16.0 / 9.0),
            (Vec2::new(100.0, 10.0), 16.0 / 9.0),
            (Vec2::new(10.0, 60.0), 0.7),
        ] {
            for clear in [
                (Vec2::ZERO, Vec2::ONE),
                (Vec2::new(0.2, 0.05), Vec2::new(0.7, 0.9)),
            ] {
                let view = CameraPose::overview(sides, aspect, clear).view((1000.0 * aspect) as u32, 1000);
                let mut least = Vec2::ONE;
                let mut most = Vec2::ZERO;
                for corner in [Vec2::ZERO, Vec2::X, Vec2::Y, Vec2::ONE] {
                    let ground = sides * corner - 0.5;
                    let point = view.project(Vec3::new(ground.x, 0.0, ground.y)).unwrap();
                    assert!(
                        point.cmpgt(clear.0).all() && point.cmplt(clear.1).all(),
                        "{sides} at {corner}: {point}"
                    );
                    least = least.min(point);
                    most = most.max(point);
                }
                let filled = ((most - least) / (clear.1 - clear.0)).max_element();
                assert!(filled > 0.88, "{sides} fills only {filled}");
            }
        }
    }

    #[test]
    fn whoever_stands_on_a_tiny_map_has_its_head_in_the_picture() {
        for sides in [Vec2::ONE, Vec2::new(1.0, 3.0)] {
            let clear = (Vec2::new(0.2, 0.05), Vec2::new(0.7, 0.9));
            let view = CameraPose::overview(sides, 16.0 / 9.0, clear).view(1280, 720);
            let feet = sides / 2.0 - 0.5;
            // Twice as high as a body, for its badge and the light of an elevation.
            let above = view.project(Vec3::new(feet.x, 1.8, feet.y)).unwrap();
            assert!(
                above.cmpgt(clear.0).all() && above.cmplt(clear.1).all(),
                "{sides}: {above}"
            );
        }
    }
}
