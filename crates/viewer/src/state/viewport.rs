//! The size of the picture, in pixels and in points of the display.

use glam::Vec2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    /// Width and height; neither is zero.
    pub pixels: (u32, u32),
    pub points: egui::Vec2,
}

impl Viewport {
    pub fn new((width, height): (u32, u32), points: egui::Vec2) -> Self {
        Self {
            pixels: (width.max(1), height.max(1)),
            points,
        }
    }

    /// Pixels of a point of the display: 2 on those of high density.
    pub fn pixels_per_point(&self) -> f32 {
        self.pixels.0 as f32 / self.points.x.max(1.0)
    }

    /// Width by height.
    pub fn aspect(&self) -> f32 {
        self.pixels.0 as f32 / self.pixels.1 as f32
    }

    /// A point in pixels as a share of the picture.
    pub fn share(&self, at: Vec2) -> Vec2 {
        at / self.size()
    }

    /// Width and height in pixels.
    pub fn size(&self) -> Vec2 {
        Vec2::new(self.pixels.0 as f32, self.pixels.1 as f32)
    }
}
