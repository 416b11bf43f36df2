//! Agents and eggs: where they stand, what their bodies do, how their level shows.

use glam::{Vec2, Vec3};
use trantor_client::{SceneAction, SceneAgent};
use trantor_model::{AgentId, CommandKind, Level};

use super::super::draw_list::{Decal, DecalKind, DrawList, Instance};
use super::super::palette;
use super::super::shapes::Shape;
use super::marks::mark;
use super::places::{ASIDE, HEAD_HEIGHT, Place};
use super::{Frame, grounded, middle_of, scramble, signed, smoothstep};

/// Pixels of a tile, were it enlarged as agents are, below which an agent is only a colour and an upright.
const PAWN_PIXELS: f32 = 18.0;
/// Pixels of a tile below which it is a dot, and how many pixels that is across: each is still there, and all of them
/// do not hide the land.
const DOT_PIXELS: f32 = 2.5;
const DOT_ACROSS_PIXELS: f32 = 2.4;

pub(super) fn compose(frame: &Frame<'_>, births: &[(AgentId, f32)], list: &mut DrawList) {
    let enlarged = frame.places.enlarged();
    for group in frame.places.groups() {
        let reach = (0.7 + 0.2 * (group.count as f32).sqrt().min(4.0)) * enlarged;
        let color = frame.colors.team(group.team).with(group.gathered);
        mark(
            frame,
            DecalKind::Aura,
            Decal::at(middle_of(group.tile), reach, color),
            list,
        );
    }
    for agent in &frame.scene.agents {
        for position in frame.window.copies(Vec2::new(agent.x, agent.y)) {
            if !frame.view.sees(grounded(position), 0.9 * enlarged + ASIDE) {
                continue;
            }
            let pixels = frame.view.pixels_per_tile(grounded(position));
            if pixels < DOT_PIXELS {
                let scale = DOT_ACROSS_PIXELS / (Shape::SPECK_ACROSS * pixels);
                list.body(
                    Shape::Speck,
                    Instance::at(position, scale, frame.colors.team(agent.team)).glowing(0.3),
                );
                continue;
            }
            let place = frame.places.of(agent, position, &frame.view);
            draw(frame, agent, births, place, list);
        }
    }
    for egg in &frame.scene.eggs {
        let lots = scramble(egg.egg.0 ^ 0x0e66);
        let home = middle_of(egg.tile) + Vec2::new(signed(lots, 0), signed(lots, 8)) * 0.2;
        for position in frame.window.copies(home) {
            let middle = grounded(position);
            let detail = frame.detail_at(middle);
            if detail <= 0.0 || !frame.view.sees(middle, 0.5) {
                continue;
            }
            // An egg rocks a little now and then, so that it is seen to be alive.
            let rock = (frame.units * 0.11 + signed(lots, 16) * 9.0).sin().powi(9) * 0.12 * frame.lively();
            list.decal(DecalKind::Contact, contact(position, 0.2, 0.25, 120.0 * detail));
            list.body(
                Shape::Egg,
                Instance {
                    pose: [0.0, rock, 0.0, 0.0],
                    ..Instance::at(position, 0.95 * detail, frame.colors.team(egg.team))
                        .facing(signed(lots, 24) * std::f32::consts::PI)
                },
            );
        }
    }
}

/// The soft dark spot under a thing of this height.
pub(super) fn contact(position: Vec2, reach: f32, height: f32, opacity: f32) -> Decal {
    Decal::at(position, reach, [0, 0, 0, opacity as u8]).with([height, 0.0])
}

fn draw(frame: &Frame<'_>, agent: &SceneAgent, births: &[(AgentId, f32)], place: Place, list: &mut DrawList) {
    let birth = births
        .binary_search_by_key(&agent.id, |&(id, _)| id)
        .map_or(1.0, |place| grown(births[place].1));
    let Place { position, pixels, .. } = place;
    let scale = place.scale * birth;
    let color = frame.colors.team(agent.team);
    if pixels * frame.places.enlarged() < PAWN_PIXELS {
        // Of ten thousand agents each is one thing to draw, without a shadow or a stance that could be seen.
        list.body(Shape::Pawn, Instance::at(position, scale, color).glowing(0.05));
        return;
    }
    let near = pixels > frame.detail.characters;
    let stance = Stance::of(agent, frame);

    list.decal(
        DecalKind::Contact,
        contact(position, 0.3 * scale, 0.6 * scale, 150.0),
    );
    // One who is held stands on the circle of signs, which would not be read under a second one.
    if !agent.held {
        let standing = Decal {
            yaw: agent.heading,
            ..Decal::at(position, 0.4 * scale.max(0.8), color.with(1.0))
        };
        let params = [f32::from(agent.level.get()), 0.0];
        list.decal(DecalKind::Standing, standing.with(params));
    }
    let body = Instance {
        position: [position.x, stance.lift, position.y],
        stretch: stance.stretch,
        pose: stance.pose,
        ..Instance::at(position, scale, color)
            .facing(agent.heading)
            .accented(palette::GOLD)
            .glowing(stance.glow)
    };
    list.body(if near { Shape::Character } else { Shape::Figurine }, body);
    if agent.level == Level::LAST {
        let head = Vec3::new(
            position.x,
            stance.lift + HEAD_HEIGHT * scale * stance.stretch,
            position.y,
        );
        list.body(
            Shape::Crown,
            Instance {
                position: head.to_array(),
                ..Instance::at(position, scale, palette::GOLD).facing(agent.heading)
            },
        );
    }
}

/// A newborn grows past its size and settles.
fn grown(progress: f32) -> f32 {
    let spring = (progress * 9.0).min(std::f32::consts::PI * 1.5);
    (1.0 - (-progress * 14.0).exp() * spring.cos()).clamp(0.02, 1.2)
}

struct Stance {
    pose: [f32; 4],
    lift: f32,
    stretch: f32,
    glow: f32,
}

impl Stance {
    fn of(agent: &SceneAgent, frame: &Frame<'_>) -> Self {
        let own_rhythm = agent.id.0 as f32 * 1.7;
        let breath = (frame.units * 0.09 + own_rhythm).sin();
        let mut stance = Self {
            pose: [
                0.0,
                0.0,
                0.05 + 0.03 * breath,
                0.12 * (frame.units * 0.031 + own_rhythm).sin(),
            ],
            lift: 0.0,
            stretch: 1.0 + 0.012 * breath,
            glow: 0.0,
        };
        if agent.held {
            stance.pose[2] = 1.9 + 0.12 * breath;
            stance.lift = 0.05 + 0.03 * breath;
            stance.glow = 0.07 + 0.03 * breath;
        }
        if frame.scene.winner == Some(agent.team) {
            // Those who have won jump, each in its own time.
            let jump = (frame.units * 0.12 + own_rhythm).sin().abs();
            stance.pose[2] = 2.2 + 0.4 * jump;
            stance.lift += 0.16 * jump;
        }
        if let Some(action) = agent.action.as_ref().filter(|action| !action.refused) {
            stance.act(action);
        }
        // Where time rushes, bodies stand still: their places alone can be followed.
        let lively = frame.lively();
        stance.pose = stance.pose.map(|angle| angle * lively);
        stance.lift *= lively;
        stance.stretch = 1.0 + (stance.stretch - 1.0) * lively;
        stance
    }

    fn act(&mut self, action: &SceneAction) {
        let progress = action.progress;
        let turn = progress * std::f32::consts::TAU;
        // Rises and falls once during the action.
        let arc = (progress * std::f32::consts::PI).sin();
        match action.kind {
            CommandKind::Forward => {
                // Two strides a tile, with a small bounce for each foot.
                self.pose[0] = (turn * 2.0).sin() * 0.75;
                self.pose[1] = 0.14;
                self.lift += (turn * 2.0).cos().abs() * 0.028;
            }
            CommandKind::Right | CommandKind::Left => {
                self.lift += arc * 0.05;
                self.stretch += 0.05 * arc;
            }
            CommandKind::Look => self.pose[3] = turn.sin() * 0.85,
            CommandKind::Inventory => self.pose[3] = arc * -0.5,
            CommandKind::Broadcast => {
                self.pose[2] = 2.3 * smoothstep(0.0, 0.4, progress);
                self.stretch += 0.06 * (turn * 2.0).sin();
            }
            CommandKind::Take | CommandKind::Set => {
                self.pose[1] = arc * 0.75;
                self.pose[2] = arc * 1.1;
                self.stretch -= 0.06 * arc;
            }
            CommandKind::Eject => {
                // Draws back, then lunges.
                let lunge = smoothstep(0.55, 0.9, progress);
                self.pose[1] = -0.35 * smoothstep(0.0, 0.5, progress) * (1.0 - lunge) + 0.5 * lunge;
                self.pose[2] = 1.4 * lunge;
            }
            CommandKind::Fork => {
                self.stretch -= 0.14 * arc - 0.02 * (turn * 6.0).sin();
                self.pose[2] = 0.5 * arc;
            }
            CommandKind::Incantation => {
                self.pose[2] = 1.9;
                self.lift += 0.1 * smoothstep(0.0, 0.3, progress);
                self.glow = 0.08 + 0.14 * progress * progress;
            }
            CommandKind::ConnectNbr => {}
        }
    }
}
