//! Elevations under way: a circle of signs in the team's colour, a beam that is seen from afar, stones that rise around it.

use glam::Vec2;
use trantor_model::Level;

use super::super::draw_list::{DrawList, GlowKind, Instance};
use super::super::palette::{self, Rgb};
use super::super::shapes::Shape;
use super::particles::Particles;
use super::{Frame, grounded, middle_of, smoothstep};

/// Sparks around a column at its end.
const SPARKS: u16 = 34;

const WHITE: Rgb = Rgb::hex(0xFF_FF_FF);
/// Half of a beam's width in pixels at least, and its height for each level: it is seen from an overview.
const BEAM_PIXELS: f32 = 12.0;
const BEAM_LEVEL_PIXELS: f32 = 26.0;

pub(super) fn compose(frame: &Frame<'_>, list: &mut DrawList) {
    for ritual in &frame.scene.rituals {
        let participants = frame.scene.participants(ritual);
        let team = participants.first().and_then(|id| frame.scene.agent(*id));
        let light = color_of(ritual.level);
        let color = team.map_or(light, |agent| frame.colors.team(agent.team));
        let progress = ritual.progress;
        for position in frame.window.copies(middle_of(ritual.tile)) {
            if !frame.view.sees(grounded(position), 5.0) {
                continue;
            }
            let risen = smoothstep(0.0, 0.08, progress);
            let mut at = Particles {
                frame,
                position,
                list,
            };
            let [width, height] = beam(&at, ritual.level);
            let [width, height] = [
                width * (0.6 + 0.4 * progress),
                height * (0.55 + 0.45 * progress) * risen,
            ];
            let strength = (1.3 + 1.7 * progress * progress) * risen;
            let halo =
                [1.0 + 0.7 * progress, 0.75 + 0.45 * progress].map(|side| side * frame.places.enlarged());
            let halo_strength = 0.2 + 0.55 * progress * pulse(frame.units, progress);
            at.rune(
                0.98 * frame.places.enlarged() * (0.6 + 0.4 * risen),
                progress,
                color.mix(light, 0.25),
            );
            at.column(width, height, strength, color.mix(WHITE, 0.3), 0.02);
            at.column(
                width * 0.3,
                height * 0.9,
                strength * (0.3 + 0.7 * progress),
                light,
                0.02,
            );
            at.light(GlowKind::Halo, 0.3, halo, halo_strength, color);
            sparks(&mut at, progress, height, light);
            stones(&mut at, ritual.level, progress, 1.0);
        }
    }
}

/// Width and height of the beam of an elevation from this level, in tiles: higher for a higher level, and as many pixels from
/// afar as it takes to be seen.
pub(super) fn beam(at: &Particles<'_>, level: Level) -> [f32; 2] {
    let level = f32::from(level.get());
    let pixels = 110.0 + BEAM_LEVEL_PIXELS * level;
    [
        at.at_least(0.26 + 0.03 * level, BEAM_PIXELS + level),
        at.at_least(1.4 + 0.55 * level, pixels),
    ]
}

/// The stones that an elevation takes rise from the ground and circle, a ring for each kind; `aloft` is how much of their
/// height they have. At the end they are drawn in.
pub(super) fn stones(at: &mut Particles<'_>, level: Level, progress: f32, aloft: f32) {
    let Some(needs) = level.requirement() else { return };
    let frame = at.frame;
    let large = frame.places.enlarged();
    let drawn_in = 1.0 - smoothstep(0.94, 1.0, progress);
    let risen = smoothstep(0.02, 0.25, progress) * aloft;
    for (ring, (resource, count)) in needs.stones.iter().filter(|&(_, count)| count > 0).enumerate() {
        let turn = if ring % 2 == 0 { 1.0 } else { -1.0 };
        for stone in 0..count {
            let share = stone as f32 / count as f32 + 0.13 * ring as f32;
            let angle = (share + turn * frame.units * 0.004 * (1.0 + progress)) * std::f32::consts::TAU;
            let reach = (0.42 + 0.1 * ring as f32) * large * drawn_in;
            let place = at.position + Vec2::new(angle.sin(), angle.cos()) * reach;
            let height = (0.45 + 0.22 * ring as f32) * large * risen;
            let stone = Instance {
                position: [place.x, height, place.y],
                ..Instance::at(place, large.sqrt(), palette::resource(resource))
                    .facing(angle)
                    .glowing(0.15 * risen)
            };
            at.list.body(Shape::of(resource), stone);
        }
    }
}

fn sparks(at: &mut Particles<'_>, progress: f32, height: f32, color: Rgb) {
    let units = at.frame.units;
    let color = color.mix(WHITE, 0.35);
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
