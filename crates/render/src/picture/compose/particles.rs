//! What effects are made of: rings, sparks, columns of light.

use glam::{Vec2, Vec3};

use super::super::draw_list::{Decal, DecalKind, DrawList, Glow, GlowKind};
use super::super::palette::Rgb;
use super::Frame;

/// A ring on the ground that grows to `reach`.
pub(super) fn ring(
    position: Vec2,
    reach: f32,
    progress: f32,
    width: f32,
    color: Rgb,
    opacity: f32,
    list: &mut DrawList,
) {
    list.decal(
        DecalKind::Ring,
        Decal {
            position: position.to_array(),
            reach,
            yaw: 0.0,
            params: [progress.sqrt(), width],
            color: color.with(opacity.clamp(0.0, 1.0)),
        },
    );
}

/// One spark.
pub(super) fn spark(position: Vec2, height: f32, size: f32, strength: f32, color: Rgb, list: &mut DrawList) {
    list.glow(
        GlowKind::Spark,
        Glow {
            position: [position.x, height, position.y],
            width: size,
            height: size,
            strength,
            param: 0.0,
            color: color.with(1.0),
        },
    );
}

/// A column of light.
pub(super) fn column(
    position: Vec2,
    width: f32,
    height: f32,
    strength: f32,
    color: Rgb,
    frame: &Frame<'_>,
    list: &mut DrawList,
) {
    list.glow(
        GlowKind::Column,
        Glow {
            position: [position.x, 0.0, position.y],
            width,
            height,
            strength,
            param: frame.units * 0.03,
            color: color.with(1.0),
        },
    );
}

/// Sparks thrown up and out that fall again.
pub(super) fn burst(
    frame: &Frame<'_>,
    position: Vec2,
    progress: f32,
    count: u16,
    reach: f32,
    color: Rgb,
    list: &mut DrawList,
) {
    let count = (f32::from(count) * frame.lively()) as u16;
    for number in 0..count {
        let own = f32::from(number) * 2.399_963;
        let speed = 0.6 + 0.4 * (own * 3.1).sin();
        let out = reach * speed * (1.0 - (1.0 - progress) * (1.0 - progress));
        let height = 0.25 + reach * 1.1 * speed * (progress * std::f32::consts::PI).sin() - 0.2 * progress;
        let at = Vec3::new(
            position.x + own.sin() * out,
            height.max(0.03),
            position.y + own.cos() * out,
        );
        list.glow(
            GlowKind::Spark,
            Glow {
                position: at.to_array(),
                width: 0.034,
                height: 0.034,
                strength: 1.8 * (1.0 - progress),
                param: 0.0,
                color: color.with(1.0),
            },
        );
    }
}

/// A soft light around a place.
pub(super) fn halo(position: Vec2, width: f32, strength: f32, color: Rgb, list: &mut DrawList) {
    list.glow(
        GlowKind::Halo,
        Glow {
            position: [position.x, 0.5, position.y],
            width,
            height: width * 0.75,
            strength,
            param: 0.0,
            color: color.with(1.0),
        },
    );
}
