//! Elevations under way: a circle of signs, a column of light that grows, sparks that rise around it.

use glam::Vec2;
use trantor_model::Level;

use super::super::draw_list::{DrawList, GlowKind};
use super::super::palette::{self, Rgb};
use super::particles::Particles;
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
            let height = 0.7 + 4.2 * progress;
            let strength = (0.5 + 1.9 * progress * progress) * risen;
            let halo = [1.0 + 0.7 * progress, 0.75 + 0.45 * progress];
            let halo_strength = 0.2 + 0.55 * progress * pulse(frame.units, progress);
            let mut at = Particles {
                frame,
                position,
                list,
            };
            at.rune(
                0.98 * frame.places.enlarged() * (0.6 + 0.4 * risen),
                progress,
                color,
            );
            at.column(0.22 + 0.26 * progress, height, strength, color, 0.02);
            at.light(GlowKind::Halo, 0.3, halo, halo_strength, color);
            sparks(&mut at, progress, height, color);
        }
    }
}

fn sparks(at: &mut Particles<'_>, progress: f32, height: f32, color: Rgb) {
    let units = at.frame.units;
    let color = color.mix(Rgb::hex(0xFF_FF_FF), 0.35);
    let count = (f32::from(SPARKS) * (0.2 + 0.8 * progress) * at.frame.lively()) as u16;
    for spark in 0..count {
        let own = f32::from(spark) * 0.618_034;
        let rise = (own + units * 0.006 * (1.0 + 0.5 * own.fract())).fract();
        let angle = own * std::f32::consts::TAU + units * 0.03;
        let radius = 0.42 * (1.0 - 0.55 * rise) + 0.06 * (own * 7.0).sin();
        let size = 0.034 + 0.026 * own.fract();
        let strength = 2.2 * (rise * std::f32::consts::PI).sin();
        at.beside(Vec2::new(angle.sin(), angle.cos()) * radius).spark(
            0.08 + rise * height * 0.8,
            size,
            strength,
            color,
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
