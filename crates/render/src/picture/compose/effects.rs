//! What happened lately: waves of words, births, deaths, pushes, things picked up and put down.

use glam::Vec2;
use trantor_client::{EffectKind, SceneEffect, Spread};
use trantor_model::{AgentId, Level, Resource};

use super::super::draw_list::{Decal, DecalKind, DrawList, Instance, Wave};
use super::super::palette::{self, Rgb};
use super::super::shapes::Shape;
use super::particles::Particles;
use super::places::scale_of;
use super::rituals::{beam, color_of, stones};
use super::{Frame, grounded, smoothstep};

/// How fast things rise in a column of light.
pub(super) const COLUMN_PACE: f32 = 0.03;
const WHITE: Rgb = Rgb::hex(0xFF_FF_FF);
const BLACK: Rgb = Rgb::hex(0);
/// The mark of a message that was lost: no team has this colour.
const LOST: Rgb = Rgb::hex(0xFF_5A_4A);
/// Pixels from the middle of an agent's light, and of that mark, to its edge at least, so that they are seen from afar.
const HEARD_PIXELS: f32 = 11.0;
const LOST_PIXELS: f32 = 10.0;
/// Tiles of the edge of a broadcast from one dash to the next, and how many dashes it has at least.
const DASH_TILES: f32 = 0.9;
const DASHES_MIN: f32 = 12.0;
/// Recipients that may light up at once at full strength.
const HEARD_PLENTY: f32 = 12.0;
/// How far a broadcast's ring is drawn at most, in tiles; on smaller maps it goes round half of the torus, where
/// it has met everybody.
const WAVE_TILES_MAX: f32 = 48.0;

/// How strongly each broadcast's ring is drawn: where many speak at once, each is fainter, or nothing else is seen.
pub(super) fn wave_strength(effects: &[SceneEffect]) -> f32 {
    strength_among(effects, 3.0, |kind| matches!(kind, EffectKind::Broadcast { .. }))
}

/// The same of the light of each agent that a message reaches.
pub(super) fn heard_strength(effects: &[SceneEffect]) -> f32 {
    strength_among(effects, HEARD_PLENTY, |kind| {
        matches!(kind, EffectKind::Heard { .. })
    })
}

fn strength_among(effects: &[SceneEffect], plenty: f32, is_it: impl Fn(EffectKind) -> bool) -> f32 {
    let count = effects.iter().filter(|effect| is_it(effect.kind)).count();
    (plenty / (count as f32).max(plenty)).sqrt()
}

pub(super) fn compose(frame: &Frame<'_>, births: &mut Vec<(AgentId, f32)>, list: &mut DrawList) {
    for effect in &frame.scene.effects {
        if let (EffectKind::Birth, Some((id, _))) = (effect.kind, effect.agent) {
            births.push((id, effect.progress));
        }
        let reach = reach_of(frame, effect);
        let beside = effect.agent.map_or(Vec2::ZERO, |(id, _)| frame.places.beside(id));
        for position in copies(frame, Vec2::new(effect.x, effect.y), reach) {
            let position = position + beside;
            if frame.view.sees(grounded(position), reach + 1.0) {
                draw(frame, effect, position, reach, list);
            }
        }
    }
}

/// How far from its middle an effect reaches at this moment.
fn reach_of(frame: &Frame<'_>, effect: &SceneEffect) -> f32 {
    match effect.kind {
        EffectKind::Broadcast {
            spread: Some(spread), ..
        } => spread.radius(effect.age_units),
        EffectKind::Broadcast { spread: None, .. } => {
            let farthest = frame.window.half.max_element().min(WAVE_TILES_MAX) + 0.5;
            farthest * effect.progress.powf(0.85)
        }
        _ => 1.5,
    }
}

/// As [`super::TorusWindow::copies`], for a thing that reaches far: also from outside the window into it.
fn copies(frame: &Frame<'_>, position: Vec2, reach: f32) -> impl Iterator<Item = Vec2> {
    let sides = frame.window.sides();
    let home = frame.window.home(position);
    let (least, most) = frame.window.bounds();
    (-1..=1).flat_map(move |down: i8| {
        (-1..=1).filter_map(move |right: i8| {
            let copy = home + Vec2::new(f32::from(right), f32::from(down)) * sides;
            (copy.cmpgt(least - reach).all() && copy.cmplt(most + reach).all()).then_some(copy)
        })
    })
}

fn draw(frame: &Frame<'_>, effect: &SceneEffect, position: Vec2, reach: f32, list: &mut DrawList) {
    let team = team_color(frame, effect);
    let progress = effect.progress;
    let fading = 1.0 - progress;
    let at = &mut Particles {
        frame,
        position,
        list,
    };
    match effect.kind {
        EffectKind::Broadcast {
            spread: Some(spread), ..
        } => spreading(at, &spread, effect.age_units, team),
        EffectKind::Heard { team } => heard(at, progress, frame.colors.team(team)),
        EffectKind::Lost => lost(at, progress),
        EffectKind::Broadcast { spread: None, .. } => {
            let opacity = fading.powf(0.7) * (0.25 + 0.75 * frame.lively()) * frame.wave_strength;
            at.list.waves.push(Wave {
                position: position.to_array(),
                radius: reach,
                depth: (0.35 + 0.12 * reach).min(1.5),
                dashes: 0.0,
                color: team.mix(WHITE, 0.3).with(opacity),
            });
            at.spark(0.75, 0.09, 2.5 * fading, team);
        }
        EffectKind::Birth => {
            at.ring(0.9, progress, 0.25, team, fading);
            at.column(0.22, 1.2 * fading, 0.9 * fading, team, COLUMN_PACE);
            at.burst(progress, 9, 0.55, team);
        }
        EffectKind::Death { level, heading } => dead(at, effect, level, heading),
        EffectKind::Departure { level, heading } => {
            let lift = smoothstep(0.0, 1.0, progress);
            let body = Instance {
                position: [position.x, lift * 1.4, position.y],
                pose: [0.0, 0.0, 2.6 * lift, 0.0],
                ..Instance::at(position, scale_of(level) * frame.places.enlarged(), team)
                    .facing(heading)
                    .accented(palette::GOLD)
                    .present(1.0 - smoothstep(0.3, 0.95, progress))
            };
            at.list.body(Shape::Character, body);
            at.column(0.3, 2.4, 0.8 * fading, team.mix(WHITE, 0.5), COLUMN_PACE);
        }
        EffectKind::Push { heading } => {
            let ahead = Vec2::new(heading.sin(), -heading.cos());
            at.beside(ahead * 0.35 * progress)
                .ring(0.8, progress, 0.35, Rgb::hex(0xFF_F0_D8), fading);
            at.beside(ahead * 0.4)
                .burst(progress, 7, 0.7, Rgb::hex(0xE8_D8_B8));
        }
        EffectKind::Took { resource } => carried(at, resource, progress),
        EffectKind::Put { resource } => carried(at, resource, fading),
        EffectKind::Ate => at.burst(progress, 5, 0.3, palette::resource(Resource::Food)),
        EffectKind::EggLaid { team } => at.ring(0.6, progress, 0.3, frame.colors.team(team), fading),
        EffectKind::EggBroken { team } => {
            at.burst(progress, 8, 0.5, Rgb::hex(0xF7_EE_DD));
            at.ring(0.5, progress, 0.2, frame.colors.team(team), fading * 0.6);
        }
        EffectKind::RitualEnded { level, success: true } => succeeded(at, level, progress),
        EffectKind::RitualEnded {
            level,
            success: false,
        } => failed(at, level, progress),
        EffectKind::Rose { level } => {
            let (sparks, height) = match level {
                Level::LAST => (26, 2.6),
                _ => (10, 1.5),
            };
            at.column(0.16, height, 1.3 * fading, palette::GOLD, COLUMN_PACE);
            at.burst(progress, sparks, 0.25 * height, palette::GOLD);
        }
    }
}

/// A ring that is where the message is. Where it ends before it has met all, its edge is left there in dashes.
fn spreading(at: &mut Particles<'_>, spread: &Spread, age: f32, team: Rgb) {
    let lively = 0.25 + 0.75 * at.frame.lively();
    let strength = lively * at.frame.wave_strength;
    let (radius, faded) = (spread.radius(age), spread.faded(age));
    let light = team.mix(WHITE, 0.3);
    if radius == 0.0 {
        // It is about to leave.
        let gathered = (age / spread.latency_units.max(1.0)).min(1.0);
        at.ring(0.55, 1.0 - 0.6 * gathered, 0.2, team, 0.9 * strength);
        return at.spark(0.75, 0.09, 1.5 * gathered, team);
    }
    let mut wave = Wave {
        position: at.position.to_array(),
        radius,
        depth: (0.5 + 0.14 * radius).min(1.8),
        dashes: 0.0,
        color: [0; 4],
    };
    let gone = radius / spread.edge.max(1.0);
    let going = (1.0 - 0.3 * gone) * (1.0 - smoothstep(0.0, 0.35, faded));
    if going > 0.0 {
        wave.color = light.with(going * strength);
        at.list.waves.push(wave);
    }
    if faded > 0.0 && spread.ends_before_all {
        wave.depth = 0.35;
        wave.dashes = (std::f32::consts::TAU * radius / DASH_TILES)
            .round()
            .max(DASHES_MIN);
        let opacity = smoothstep(0.0, 0.15, faded) * (1.0 - faded * faded);
        wave.color = light.with(opacity * strength);
        at.list.waves.push(wave);
    }
    at.spark(0.75, 0.09, 2.0 * (1.0 - gone), team);
}

/// A light in the sender's colour that flares up and goes.
fn heard(at: &mut Particles<'_>, progress: f32, color: Rgb) {
    let reach = at.at_least(0.8, HEARD_PIXELS);
    let strength = (0.3 + 0.7 * at.frame.lively()) * at.frame.heard_strength;
    let fading = (1.0 - progress) * strength;
    let light = color.mix(WHITE, 0.3);
    at.ring(reach, progress, 0.5, light, fading);
    at.halo(reach, 1.5 * fading, light);
    at.column(0.22, 1.3 * (1.0 - progress), 1.1 * fading, light, COLUMN_PACE);
}

fn lost(at: &mut Particles<'_>, progress: f32) {
    let reach = at.at_least(0.55, LOST_PIXELS);
    let opacity = (1.0 - progress * progress) * (0.3 + 0.7 * at.frame.lively());
    let mark = Decal::at(at.position, reach, LOST.with(opacity)).with([progress, 0.0]);
    at.list.decal(DecalKind::Lost, mark);
}

fn team_color(frame: &Frame<'_>, effect: &SceneEffect) -> Rgb {
    effect.agent.map_or(WHITE, |(_, team)| frame.colors.team(team))
}

/// The light of an elevation breaks out of its circle, and a wave goes through the grass: farther, and with more sparks, the
/// higher the level.
fn succeeded(at: &mut Particles<'_>, level: Level, progress: f32) {
    let color = color_of(level);
    let high = f32::from(level.get()) / 7.0;
    let fading = 1.0 - progress;
    let large = at.frame.places.enlarged();
    let farthest = at.frame.window.half.max_element().min(WAVE_TILES_MAX);
    let reach = farthest * high * progress.powf(0.7);
    at.list.waves.push(Wave {
        position: at.position.to_array(),
        radius: reach,
        depth: (0.3 + 0.25 * reach).min(2.5),
        dashes: 0.0,
        color: color.with(fading.powf(0.7) * (0.4 + 0.6 * high)),
    });
    at.ring((2.0 + 0.8 * high) * large, progress, 0.22, color, fading);
    let second = (progress * 1.6 - 0.3).clamp(0.0, 1.0);
    if second > 0.0 {
        at.ring(
            (1.4 + 0.6 * high) * large,
            second,
            0.3,
            palette::GOLD,
            1.0 - second,
        );
    }
    at.rune(
        (1.0 + 0.35 * progress) * large,
        1.0,
        BLACK.mix(color, fading * fading),
    );
    let [width, height] = beam(at, level);
    let strength = 2.2 * fading * fading;
    at.column(
        width * (1.0 + progress),
        height * (1.0 + 0.3 * progress),
        strength,
        color,
        COLUMN_PACE,
    );
    let flash = (1.0 - progress * 2.5).max(0.0);
    at.halo((1.6 + 0.6 * high) * large, 1.2 * flash, color);
    let sparks = 12 + 4 * u16::from(level.get());
    at.burst(progress, sparks, (1.0 + 0.5 * high) * large, color);
    at.burst(second, sparks / 2, 0.6 * large, palette::GOLD);
}

/// The beam snaps, the stones fall, and what is left of the circle goes out.
fn failed(at: &mut Particles<'_>, level: Level, progress: f32) {
    /// Part of the effect after which the beam has broken.
    const SNAP: f32 = 0.12;
    let ash = Rgb::hex(0x8A_93_A8);
    let fading = 1.0 - progress;
    let large = at.frame.places.enlarged();
    at.rune(0.98 * large, fading, BLACK.mix(ash, fading * fading));
    let left = (1.0 - progress / SNAP).max(0.0);
    if left > 0.0 {
        let [width, height] = beam(at, level);
        at.column(width * left, height, 2.4, LOST, COLUMN_PACE);
    }
    let fallen = smoothstep(0.0, 0.3, progress);
    if fallen < 1.0 {
        stones(at, level, 0.5, 1.0 - fallen * fallen);
    }
    at.halo(1.4 * large, 1.4 * (1.0 - progress * 4.0).max(0.0), LOST);
    at.burst((progress * 1.5).min(1.0), 16, 0.9 * large, LOST);
    at.ring(1.2 * large, progress, 0.4, LOST.mix(ash, progress), 0.8 * fading);
}

/// Falls over backwards, sinks, and leaves a small light that rises.
fn dead(at: &mut Particles<'_>, effect: &SceneEffect, level: Level, heading: f32) {
    let position = at.position;
    let progress = effect.progress;
    let fall = smoothstep(0.0, 0.22, progress);
    let grey = team_color(at.frame, effect).mix(Rgb::hex(0x70_74_80), 0.75 * fall);
    let presence = 1.0 - smoothstep(0.55, 1.0, progress);
    let body = Instance {
        position: [position.x, -0.12 * smoothstep(0.5, 1.0, progress), position.y],
        pose: [0.0, -1.45 * fall, 0.6 * fall, 0.0],
        ..Instance::at(position, scale_of(level) * at.frame.places.enlarged(), grey)
            .facing(heading)
            .present(presence)
    };
    at.list.body(Shape::Character, body);
    let shadow = Decal::at(position, 0.4, [0, 0, 0, (130.0 * presence) as u8]);
    at.list.decal(
        DecalKind::Contact,
        Decal {
            yaw: heading,
            ..shadow
        },
    );
    let rising = smoothstep(0.15, 1.0, progress);
    let strength = 1.6 * (rising * std::f32::consts::PI).sin();
    let sway = (at.frame.units * 0.07).sin() * 0.05;
    at.beside(Vec2::new(sway, 0.0))
        .spark(0.2 + 1.3 * rising, 0.085, strength, Rgb::hex(0xDC_EC_FF));
}

/// Between the ground (0) and an agent's hands (1), on an arc.
fn carried(at: &mut Particles<'_>, resource: Resource, progress: f32) {
    let position = at.position;
    let height = 0.62 * smoothstep(0.0, 0.8, progress) + 0.1 * (progress * std::f32::consts::PI).sin();
    let scale = 1.15 * (1.0 - smoothstep(0.6, 1.0, progress));
    if scale > 0.02 {
        let thing = Instance {
            position: [position.x, height, position.y],
            ..Instance::at(position, scale, palette::resource(resource))
                .facing(progress * 5.0)
                .glowing(0.35)
        };
        at.list.body(Shape::of(resource), thing);
    }
}
