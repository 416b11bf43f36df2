//! What effects are made of: rings, sparks, columns of light.

use glam::{Vec2, Vec3};

use super::super::draw_list::{Decal, DecalKind, DrawList, Glow, GlowKind};
use super::super::palette::Rgb;
use super::{Frame, grounded};

pub(super) struct Particles<'a> {
    pub(super) frame: &'a Frame<'a>,
    pub(super) position: Vec2,
    pub(super) list: &'a mut DrawList,
}

impl Particles<'_> {
    /// The same at a place `off` from this one.
    pub(super) fn beside(&mut self, off: Vec2) -> Particles<'_> {
        Particles {
            frame: self.frame,
            position: self.position + off,
            list: self.list,
        }
    }

    /// So many tiles, or as many as are that many pixels here.
    pub(super) fn at_least(&self, tiles: f32, pixels: f32) -> f32 {
        tiles.max(pixels / self.frame.view.pixels_per_tile(grounded(self.position)).max(1.0))
    }

    /// A ring on the ground that grows to `reach`.
    pub(super) fn ring(&mut self, reach: f32, progress: f32, width: f32, color: Rgb, opacity: f32) {
        let ring = Decal::at(self.position, reach, color.with(opacity)).with([progress.sqrt(), width]);
        self.list.decal(DecalKind::Ring, ring);
    }

    /// A circle of signs that turns slowly.
    pub(super) fn rune(&mut self, reach: f32, progress: f32, color: Rgb) {
        let turn = self.frame.units * 0.012;
        let rune = Decal::at(self.position, reach, color.with(1.0)).with([progress, turn]);
        self.list.decal(DecalKind::Rune, rune);
    }

    pub(super) fn spark(&mut self, height: f32, size: f32, strength: f32, color: Rgb) {
        self.light(GlowKind::Spark, height, [size, size], strength, color);
    }

    pub(super) fn halo(&mut self, width: f32, strength: f32, color: Rgb) {
        self.light(GlowKind::Halo, 0.5, [width, width * 0.75], strength, color);
    }

    /// A light of `[width, height]` so far above the ground.
    pub(super) fn light(&mut self, kind: GlowKind, above: f32, sides: [f32; 2], strength: f32, color: Rgb) {
        let at = grounded(self.position) + Vec3::Y * above;
        self.list.glow(kind, Glow::at(at, sides, strength, color));
    }

    /// A column of light, in which things rise at `pace`.
    pub(super) fn column(&mut self, width: f32, height: f32, strength: f32, color: Rgb, pace: f32) {
        let column = Glow {
            param: self.frame.units * pace,
            ..Glow::at(grounded(self.position), [width, height], strength, color)
        };
        self.list.glow(GlowKind::Column, column);
    }

    /// Sparks thrown up and out that fall again.
    pub(super) fn burst(&mut self, progress: f32, count: u16, reach: f32, color: Rgb) {
        let count = (f32::from(count) * self.frame.lively()) as u16;
        for number in 0..count {
            let own = f32::from(number) * 2.399_963;
            let speed = 0.6 + 0.4 * (own * 3.1).sin();
            let out = reach * speed * (1.0 - (1.0 - progress) * (1.0 - progress));
            let height =
                0.25 + reach * 1.1 * speed * (progress * std::f32::consts::PI).sin() - 0.2 * progress;
            self.beside(Vec2::new(own.sin(), own.cos()) * out).spark(
                height.max(0.03),
                0.034,
                1.8 * (1.0 - progress),
                color,
            );
        }
    }
}
