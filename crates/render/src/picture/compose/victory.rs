//! Once a team has won: light on its highest agents, and a rain of confetti around them.

use glam::Vec2;
use trantor_model::Level;

use super::super::draw_list::{DrawList, GlowKind};
use super::super::palette::{self, Rgb};
use super::effects::COLUMN_PACE;
use super::particles::Particles;
use super::{Frame, grounded, scramble, signed};

const CONFETTI: u32 = 22;
/// How long they fall, in seconds of the viewer: after that the picture stands still and costs nothing.
pub(super) const SECONDS: f32 = 30.0;
const FADE_SECONDS: f32 = 3.0;
const UNITS_PER_SECOND: f32 = 100.0;
/// How high they begin, in tiles.
const CONFETTI_HEIGHT: f32 = 2.4;
/// Agents that are celebrated: those who win, and a few who come too late to count.
const CELEBRATED_MAX: usize = 12;

pub(super) fn compose(frame: &Frame<'_>, list: &mut DrawList) {
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
    let left = ((SECONDS - at.frame.won_seconds) / FADE_SECONDS).min(1.0);
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
