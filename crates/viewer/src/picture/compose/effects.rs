//! What happened lately: waves of words, births, deaths, pushes, things picked up and put down.

use glam::{Vec2, Vec3};
use trantor_client::{EffectKind, SceneEffect};
use trantor_model::{AgentId, Level, Resource};

use super::super::draw_list::{Decal, DecalKind, DrawList, Glow, GlowKind, Instance, Wave};
use super::super::palette::{self, Rgb};
use super::super::shapes::Shape;
use super::agents::{aside, scale_of};
use super::rituals::color_of;
use super::{Frame, grounded, smoothstep};

/// How far a broadcast's ring is drawn at most, in tiles; on smaller maps it goes round half of the torus, where
/// it has met everybody.
const WAVE_TILES_MAX: f32 = 48.0;

/// How strongly each broadcast's ring is drawn: where many speak at once, each is fainter, or nothing else is seen.
pub(super) fn wave_strength(effects: &[SceneEffect]) -> f32 {
    let count = effects
        .iter()
        .filter(|effect| matches!(effect.kind, EffectKind::Broadcast { .. }))
        .count();
    (3.0 / (count as f32).max(3.0)).sqrt()
}

pub(super) fn compose(frame: &Frame<'_>, births: &mut Vec<(AgentId, f32)>, list: &mut DrawList) {
    for effect in &frame.scene.effects {
        if let (EffectKind::Birth, Some((id, _))) = (effect.kind, effect.agent) {
            births.push((id, effect.progress));
        }
        let reach = reach_of(frame, effect);
        let beside = effect.agent.map_or(Vec2::ZERO, |(id, _)| aside(id));
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
        EffectKind::Broadcast { .. } => {
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
    let team = effect
        .agent
        .map_or(Rgb::hex(0xFF_FF_FF), |(_, team)| palette::team(team));
    let progress = effect.progress;
    let fading = 1.0 - progress;
    match effect.kind {
        EffectKind::Broadcast { .. } => {
            let opacity = fading.powf(0.7) * (0.25 + 0.75 * frame.lively()) * frame.wave_strength;
            list.waves.push(Wave {
                position: position.to_array(),
                radius: reach,
                depth: (0.35 + 0.12 * reach).min(1.5),
                color: team.mix(Rgb::hex(0xFF_FF_FF), 0.3).with(opacity),
            });
            spark(position, 0.75, 0.09, 2.5 * fading, team, list);
        }
        EffectKind::Birth => {
            ring(position, 0.9, progress, 0.25, team, fading, list);
            column(position, 0.22, 1.2 * fading, 0.9 * fading, team, frame, list);
            burst(frame, position, progress, 9, 0.55, team, list);
        }
        EffectKind::Death { level, heading } => dead(frame, effect, position, level, heading, list),
        EffectKind::Departure { level, heading } => {
            let lift = smoothstep(0.0, 1.0, progress);
            list.body(
                Shape::Character,
                Instance {
                    position: [position.x, lift * 1.4, position.y],
                    pose: [0.0, 0.0, 2.6 * lift, 0.0],
                    ..Instance::at(position, scale_of(level), team)
                        .facing(heading)
                        .accented(palette::GOLD)
                        .present(1.0 - smoothstep(0.3, 0.95, progress))
                },
            );
            column(
                position,
                0.3,
                2.4,
                0.8 * fading,
                team.mix(Rgb::hex(0xFF_FF_FF), 0.5),
                frame,
                list,
            );
        }
        EffectKind::Push { heading } => {
            let ahead = Vec2::new(heading.sin(), -heading.cos());
            ring(
                position + ahead * 0.35 * progress,
                1.15,
                progress,
                0.35,
                Rgb::hex(0xFF_F0_D8),
                fading,
                list,
            );
            burst(
                frame,
                position + ahead * 0.4,
                progress,
                7,
                0.7,
                Rgb::hex(0xE8_D8_B8),
                list,
            );
        }
        EffectKind::Took { resource } => carried(position, resource, progress, list),
        EffectKind::Put { resource } => carried(position, resource, fading, list),
        EffectKind::Ate => burst(
            frame,
            position,
            progress,
            5,
            0.3,
            palette::resource(Resource::Food),
            list,
        ),
        EffectKind::EggLaid { team } => {
            ring(position, 0.6, progress, 0.3, palette::team(team), fading, list);
        }
        EffectKind::EggBroken { team } => {
            burst(frame, position, progress, 8, 0.5, Rgb::hex(0xF7_EE_DD), list);
            ring(
                position,
                0.5,
                progress,
                0.2,
                palette::team(team),
                fading * 0.6,
                list,
            );
        }
        EffectKind::RitualEnded { level, success } => {
            let color = if success {
                color_of(level)
            } else {
                Rgb::hex(0x8A_93_A8)
            };
            ring(
                position,
                if success { 2.4 } else { 1.2 },
                progress,
                0.22,
                color,
                fading,
                list,
            );
            if success {
                let flash = (1.0 - progress * 2.5).max(0.0);
                column(
                    position,
                    0.45 + 0.5 * progress,
                    4.4,
                    2.2 * fading * fading,
                    color,
                    frame,
                    list,
                );
                list.glow(
                    GlowKind::Halo,
                    Glow {
                        position: [position.x, 0.5, position.y],
                        width: 1.6,
                        height: 1.2,
                        strength: 1.2 * flash,
                        param: 0.0,
                        color: color.with(1.0),
                    },
                );
                burst(frame, position, progress, 16, 1.2, color, list);
            }
        }
        EffectKind::Rose { .. } => {
            column(position, 0.16, 1.5, 1.3 * fading, palette::GOLD, frame, list);
            burst(frame, position, progress, 10, 0.6, palette::GOLD, list);
        }
    }
}

/// Falls over backwards, sinks, and leaves a small light that rises.
fn dead(
    frame: &Frame<'_>,
    effect: &SceneEffect,
    position: Vec2,
    level: Level,
    heading: f32,
    list: &mut DrawList,
) {
    let team = effect
        .agent
        .map_or(Rgb::hex(0xFF_FF_FF), |(_, team)| palette::team(team));
    let progress = effect.progress;
    let fall = smoothstep(0.0, 0.22, progress);
    let grey = team.mix(Rgb::hex(0x70_74_80), 0.75 * fall);
    let presence = 1.0 - smoothstep(0.55, 1.0, progress);
    list.body(
        Shape::Character,
        Instance {
            position: [position.x, -0.12 * smoothstep(0.5, 1.0, progress), position.y],
            pose: [0.0, -1.45 * fall, 0.6 * fall, 0.0],
            ..Instance::at(position, scale_of(level), grey)
                .facing(heading)
                .present(presence)
        },
    );
    list.decal(
        DecalKind::Contact,
        Decal {
            position: position.to_array(),
            reach: 0.4,
            yaw: heading,
            params: [0.0; 2],
            color: [0, 0, 0, (130.0 * presence) as u8],
        },
    );
    let rising = smoothstep(0.15, 1.0, progress);
    let strength = 1.6 * (rising * std::f32::consts::PI).sin();
    let sway = (frame.units * 0.07).sin() * 0.05;
    spark(
        position + Vec2::new(sway, 0.0),
        0.2 + 1.3 * rising,
        0.085,
        strength,
        Rgb::hex(0xDC_EC_FF),
        list,
    );
}

/// Between the ground (0) and an agent's hands (1), on an arc.
fn carried(position: Vec2, resource: Resource, progress: f32, list: &mut DrawList) {
    let height = 0.62 * smoothstep(0.0, 0.8, progress) + 0.1 * (progress * std::f32::consts::PI).sin();
    let scale = 1.15 * (1.0 - smoothstep(0.6, 1.0, progress));
    if scale > 0.02 {
        list.body(
            Shape::of(resource),
            Instance {
                position: [position.x, height, position.y],
                ..Instance::at(position, scale, palette::resource(resource))
                    .facing(progress * 5.0)
                    .glowing(0.35)
            },
        );
    }
}

fn ring(
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

fn spark(position: Vec2, height: f32, size: f32, strength: f32, color: Rgb, list: &mut DrawList) {
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

fn column(
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
fn burst(
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
