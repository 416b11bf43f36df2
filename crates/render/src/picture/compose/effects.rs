//! What passes and what shines: waves of words, births, deaths, pushes, things picked up and put down; elevations under way;
//! and what is seen once a team has won.

use glam::{Vec2, Vec3};
use trantor_client::{EffectKind, SceneEffect, Spread};
use trantor_model::{AgentId, Level, Resource};

use super::super::draw_list::{Decal, DecalKind, DrawList, Glow, GlowKind, Instance, Wave};
use super::super::palette::{self, Rgb};
use super::super::shapes::Shape;
use super::places::scale_of;
use super::{Frame, grounded, middle_of, scramble, signed, smoothstep};

/// How fast things rise in a column of light.
const COLUMN_PACE: f32 = 0.03;
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
/// it has reached all agents.
const WAVE_TILES_MAX: f32 = 48.0;

/// How strongly each broadcast's ring is drawn: where many speak at once, each is fainter, or nothing else is seen.
pub(super) fn wave_strength(effects: &[SceneEffect]) -> f32 {
    strength_among(effects, 3.0, |kind| matches!(kind, EffectKind::Broadcast { .. }))
}

/// How strongly the light of each agent that a message reaches is drawn.
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
        EffectKind::ElevationEnded { level, success: true } => succeeded(at, level, progress),
        EffectKind::ElevationEnded {
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

/// Sparks around a column at its end.
const SPARKS: u16 = 34;

/// Half of a beam's width in pixels at least, and its height for each level: it is seen from an overview.
const BEAM_PIXELS: f32 = 12.0;
const BEAM_LEVEL_PIXELS: f32 = 26.0;

/// Elevations under way: a circle of signs in the team's colour, a beam that is seen from afar, stones that rise around it.
pub(super) fn elevations(frame: &Frame<'_>, list: &mut DrawList) {
    for elevation in &frame.scene.elevations {
        let participants = frame.scene.participants(elevation);
        let team = participants.first().and_then(|id| frame.scene.agent(*id));
        let light = color_of(elevation.level);
        let color = team.map_or(light, |agent| frame.colors.team(agent.team));
        let progress = elevation.progress;
        for position in frame.window.copies(middle_of(elevation.tile)) {
            if !frame.view.sees(grounded(position), 5.0) {
                continue;
            }
            let risen = smoothstep(0.0, 0.08, progress);
            let mut at = Particles {
                frame,
                position,
                list,
            };
            let [width, height] = beam(&at, elevation.level);
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
            stones(&mut at, elevation.level, progress, 1.0);
        }
    }
}

/// Width and height of the beam of an elevation from this level, in tiles: higher for a higher level, and as many pixels from
/// afar as it takes to be seen.
fn beam(at: &Particles<'_>, level: Level) -> [f32; 2] {
    let level = f32::from(level.get());
    let pixels = 110.0 + BEAM_LEVEL_PIXELS * level;
    [
        at.at_least(0.26 + 0.03 * level, BEAM_PIXELS + level),
        at.at_least(1.4 + 0.55 * level, pixels),
    ]
}

/// The stones that an elevation takes rise from the ground and circle, a ring for each kind; `aloft` is how much of their
/// height they have. At the end they are drawn in.
fn stones(at: &mut Particles<'_>, level: Level, progress: f32, aloft: f32) {
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
fn color_of(level: Level) -> Rgb {
    let share = f32::from(level.get() - 1) / 6.0;
    Rgb::hex(0x5C_C8_FF).mix(palette::GOLD, share.min(1.0))
}

const CONFETTI: u32 = 22;
/// How long they fall, in seconds of the viewer: after that the picture stands still and costs nothing.
pub(super) const VICTORY_SECONDS: f32 = 30.0;
const FADE_SECONDS: f32 = 3.0;
const UNITS_PER_SECOND: f32 = 100.0;
/// How high they begin, in tiles.
const CONFETTI_HEIGHT: f32 = 2.4;
/// Agents that are celebrated: those who win, and a few who come too late to count.
const CELEBRATED_MAX: usize = 12;

/// Once a team has won: light on its highest agents, and a rain of confetti around them.
pub(super) fn victory(frame: &Frame<'_>, list: &mut DrawList) {
    let Some(winner) = frame.scene.winner else { return };
    let team = frame.colors.team(winner);
    let celebrated = (frame.scene.agents.iter())
        .filter(|agent| agent.team == winner && agent.level == Level::LAST)
        .take(CELEBRATED_MAX);
    for agent in celebrated {
        let home = Vec2::new(agent.x, agent.y) + frame.places.beside(agent.id);
        for position in frame.window.copies(home) {
            if !frame.view.sees(grounded(position), 3.0) {
                continue;
            }
            let mut at = Particles {
                frame,
                position,
                list,
            };
            at.column(0.16, 3.2, 0.4, palette::GOLD, COLUMN_PACE);
            at.halo(0.9, 0.14, palette::GOLD);
            for piece in 0..CONFETTI {
                confetti(&mut at, scramble(agent.id.0 * CONFETTI + piece), team);
            }
        }
    }
}

/// One piece: falls, sways, and begins again at the top.
fn confetti(at: &mut Particles<'_>, lots: u32, team: Rgb) {
    let (own, units) = (signed(lots, 0), at.frame.won_seconds * UNITS_PER_SECOND);
    let left = ((VICTORY_SECONDS - at.frame.won_seconds) / FADE_SECONDS).min(1.0);
    let fallen = (units * (0.006 + 0.002 * own) + own * 7.0).rem_euclid(1.0);
    let sway = (units * 0.05 + own * 20.0).sin() * 0.12;
    let color = match lots >> 24 & 3 {
        0 => palette::GOLD,
        1 => Rgb::hex(0xFF_FF_FF),
        _ => team,
    };
    let off = Vec2::new(signed(lots, 8) + sway, signed(lots, 16) - sway) * 0.75;
    let height = CONFETTI_HEIGHT * (1.0 - fallen) + 0.03;
    let strength = 2.2 * left * (fallen * std::f32::consts::PI).sin().sqrt();
    at.beside(off)
        .light(GlowKind::Spark, height, [0.036, 0.05], strength, color);
}

/// A place at which rings, sparks and columns of light are drawn.
struct Particles<'a> {
    frame: &'a Frame<'a>,
    position: Vec2,
    list: &'a mut DrawList,
}

impl Particles<'_> {
    /// Particles at a place `off` from this one.
    fn beside(&mut self, off: Vec2) -> Particles<'_> {
        Particles {
            frame: self.frame,
            position: self.position + off,
            list: self.list,
        }
    }

    /// So many tiles, or as many as are that many pixels here.
    fn at_least(&self, tiles: f32, pixels: f32) -> f32 {
        tiles.max(pixels / self.frame.view.pixels_per_tile(grounded(self.position)).max(1.0))
    }

    /// A ring on the ground that grows to `reach`.
    fn ring(&mut self, reach: f32, progress: f32, width: f32, color: Rgb, opacity: f32) {
        let ring = Decal::at(self.position, reach, color.with(opacity)).with([progress.sqrt(), width]);
        self.list.decal(DecalKind::Ring, ring);
    }

    /// A circle of signs that turns slowly.
    fn rune(&mut self, reach: f32, progress: f32, color: Rgb) {
        let turn = self.frame.units * 0.012;
        let rune = Decal::at(self.position, reach, color.with(1.0)).with([progress, turn]);
        self.list.decal(DecalKind::Rune, rune);
    }

    fn spark(&mut self, height: f32, size: f32, strength: f32, color: Rgb) {
        self.light(GlowKind::Spark, height, [size, size], strength, color);
    }

    fn halo(&mut self, width: f32, strength: f32, color: Rgb) {
        self.light(GlowKind::Halo, 0.5, [width, width * 0.75], strength, color);
    }

    /// A light of `[width, height]` so far above the ground.
    fn light(&mut self, kind: GlowKind, above: f32, sides: [f32; 2], strength: f32, color: Rgb) {
        let at = grounded(self.position) + Vec3::Y * above;
        self.list.glow(kind, Glow::at(at, sides, strength, color));
    }

    /// A column of light, in which things rise at `pace`.
    fn column(&mut self, width: f32, height: f32, strength: f32, color: Rgb, pace: f32) {
        let column = Glow {
            param: self.frame.units * pace,
            ..Glow::at(grounded(self.position), [width, height], strength, color)
        };
        self.list.glow(GlowKind::Column, column);
    }

    /// Sparks thrown up and out that fall again.
    fn burst(&mut self, progress: f32, count: u16, reach: f32, color: Rgb) {
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
