//! Elevations under way: a circle of signs, a column of light that grows, sparks that rise around it.

use glam::Vec2;
use trantor_model::Level;

use super::super::draw_list::{Decal, DecalKind, DrawList, Glow, GlowKind};
use super::super::palette::{self, Rgb};
use super::{Frame, grounded, middle_of, smoothstep};

/// Sparks around a column at its end.
const SPARKS: u16 = 34;

pub(super) fn compose(frame: &Frame<'_>, list: &mut DrawList) {
    for ritual in &frame.scene.rituals {
        let color = color_of(ritual.level);
        let progress = ritual.progress;
        for position in frame.window.copies(middle_of(ritual.tile)) {
            if !frame.view.sees(grounded(position), 5.0) {
                continue;
            }
            let risen = smoothstep(0.0, 0.08, progress);
            list.decal(
                DecalKind::Rune,
                Decal {
                    position: position.to_array(),
                    reach: 0.98 * (0.6 + 0.4 * risen),
                    yaw: 0.0,
                    params: [progress, frame.units * 0.012],
                    color: color.with(1.0),
                },
            );
            let height = 0.7 + 4.2 * progress;
            list.glow(
                GlowKind::Column,
                Glow {
                    position: grounded(position).to_array(),
                    width: 0.22 + 0.26 * progress,
                    height,
                    strength: (0.5 + 1.9 * progress * progress) * risen,
                    param: frame.units * 0.02,
                    color: color.with(1.0),
                },
            );
            list.glow(
                GlowKind::Halo,
                Glow {
                    position: (grounded(position) + glam::Vec3::Y * 0.3).to_array(),
                    width: 1.0 + 0.7 * progress,
                    height: 0.75 + 0.45 * progress,
                    strength: 0.2 + 0.55 * progress * pulse(frame.units, progress),
                    param: 0.0,
                    color: color.with(1.0),
                },
            );
            sparks(frame, position, progress, height, color, list);
        }
    }
}

fn sparks(frame: &Frame<'_>, position: Vec2, progress: f32, height: f32, color: Rgb, list: &mut DrawList) {
    let count = (f32::from(SPARKS) * (0.2 + 0.8 * progress) * frame.lively()) as u16;
    for spark in 0..count {
        let own = f32::from(spark) * 0.618_034;
        let rise = (own + frame.units * 0.006 * (1.0 + 0.5 * own.fract())).fract();
        let angle = own * std::f32::consts::TAU + frame.units * 0.03;
        let radius = 0.42 * (1.0 - 0.55 * rise) + 0.06 * (own * 7.0).sin();
        let size = 0.034 + 0.026 * own.fract();
        let fade = (rise * std::f32::consts::PI).sin();
        list.glow(
            GlowKind::Spark,
            Glow {
                position: [
                    position.x + angle.sin() * radius,
                    0.08 + rise * height * 0.8,
                    position.y + angle.cos() * radius,
                ],
                width: size,
                height: size,
                strength: 2.2 * fade,
                param: 0.0,
                color: color.mix(Rgb::hex(0xFF_FF_FF), 0.35).with(1.0),
            },
        );
    }
}

/// A heartbeat that quickens towards the end: from 0.75 to 1.
fn pulse(units: f32, progress: f32) -> f32 {
    let beat = (units * (0.1 + 0.12 * progress)).sin() * 0.5 + 0.5;
    0.75 + 0.25 * beat * beat
}

/// From a cool light for the first elevation to gold for the last.
pub(super) fn color_of(level: Level) -> Rgb {
    let share = f32::from(level.get() - 1) / 6.0;
    Rgb::hex(0x5C_C8_FF).mix(palette::GOLD, share.min(1.0))
}
