//! Levels above agents and words above speakers, placed so that none covers another.
//!
//! A badge in the team's colour counts the level; from near it has the agent's number beside it, and under the pointer
//! everything. Whoever matters most is placed first: the selected agent, then those who speak, then by level. A label
//! for which there is no room is left out; in a crowd that is kinder than an unreadable heap.

use egui::{Color32, Context, FontId, LayerId, Order, Painter, Pos2, Rect, Stroke, pos2, vec2};
use glam::Vec3;
use trantor_client::{EffectKind, SceneAgent, speech};
use trantor_model::{AgentId, Level};

use super::theme::{Colors, color, ink_on};
use super::{HudInput, Selection, icons};
use crate::picture::palette;

/// Labels shown at once; more would hide the board.
const LABELS_MAX: usize = 60;
/// A tile is this many pixels high before agents on it have badges.
const BADGE_PIXELS: f32 = 22.0;
/// And before they have numbers.
const NUMBER_PIXELS: f32 = 56.0;
/// Above an agent's feet, in tiles.
const HEIGHT: f32 = 0.98;
/// Characters of what is said that are shown.
const WORDS_SHOWN: usize = 34;
/// Diameter of a badge, in points.
const BADGE: f32 = 16.0;
/// Height of the sign of words, in points.
const SIGN: f32 = 10.0;
/// From the pointer to the middle of a body that it means, in points; and from that middle up to its label.
const POINTED: f32 = 20.0;
const HALF_BODY: f32 = 14.0;

#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Candidates of a frame, most important first.
    candidates: Vec<Candidate>,
    /// What labels cover already.
    taken: Vec<Rect>,
}

#[derive(Debug)]
struct Candidate {
    weight: u32,
    agent: AgentId,
    at: Pos2,
    beside: Beside,
}

/// What is beside a badge.
#[derive(Debug)]
enum Beside {
    Nothing,
    Words(String),
    /// The sign of words that are for programs.
    Speaks,
}

impl Labels {
    /// `clear` is what no panel covers: words are not to begin under one.
    pub(super) fn show(&mut self, context: &Context, input: &HudInput<'_>, clear: Rect) {
        let colors = Colors::of(input.theme);
        self.collect(context, input);
        self.taken.clear();
        let painter = context.layer_painter(LayerId::new(Order::Background, egui::Id::unique("labels")));
        for candidate in self.candidates.iter().take(LABELS_MAX) {
            let Some(agent) = input.scene.agent(candidate.agent) else {
                continue;
            };
            let words = match &candidate.beside {
                Beside::Words(words) => {
                    Some(painter.layout_no_wrap(words.clone(), FontId::proportional(12.0), colors.text))
                }
                _ => None,
            };
            let width = BADGE
                + match (&words, &candidate.beside) {
                    (Some(words), _) => words.size().x + 12.0,
                    (None, Beside::Speaks) => SIGN + 12.0,
                    (None, _) => 0.0,
                };
            let mut rect =
                Rect::from_min_size(candidate.at - vec2(width / 2.0, BADGE + 2.0), vec2(width, BADGE));
            if clear.contains(candidate.at) && rect.left() < clear.left() {
                rect = rect.translate(vec2(clear.left() - rect.left(), 0.0));
            }
            if self.taken.iter().any(|taken| taken.intersects(rect)) {
                continue;
            }
            self.taken.push(rect.expand(1.0));
            if width > BADGE {
                painter.rect(
                    rect,
                    BADGE / 2.0,
                    colors.card,
                    Stroke::new(1.0, colors.edge),
                    egui::StrokeKind::Outside,
                );
            }
            if let Beside::Speaks = candidate.beside {
                let sign = pos2(rect.left() + BADGE + 5.0 + SIGN / 2.0, rect.center().y);
                icons::event(&painter, sign, SIGN, icons::Event::Words, colors.weak);
            }
            if let Some(words) = words {
                let left = rect.left() + BADGE + 5.0;
                let top = rect.center().y - words.size().y / 2.0;
                painter.galley(pos2(left, top), words, Color32::WHITE);
            }
            let middle = pos2(rect.left() + BADGE / 2.0, rect.center().y);
            badge(&painter, middle, color(palette::team(agent.team)), agent.level);
        }
    }

    fn collect(&mut self, context: &Context, input: &HudInput<'_>) {
        self.candidates.clear();
        let Some((view, window)) = input.view else { return };
        let screen = context.content_rect();
        let place = |agent: &SceneAgent| {
            let home = window.home(glam::Vec2::new(agent.x, agent.y));
            let head = Vec3::new(home.x, HEIGHT, home.y);
            let point = view.project(head)?;
            let inside = point.cmpge(glam::Vec2::ZERO).all() && point.cmple(glam::Vec2::ONE).all();
            let pixels = view.pixels_per_tile(head);
            inside.then(|| (pos2(point.x * screen.width(), point.y * screen.height()), pixels))
        };
        for effect in &input.scene.effects {
            if let (EffectKind::Broadcast { text }, Some((id, _))) = (effect.kind, effect.agent)
                && let Some((at, _)) = input.scene.agent(id).and_then(place)
            {
                // The latest words of somebody come last in the list, and first here.
                self.candidates.push(Candidate {
                    weight: 1_000 - (effect.progress * 500.0) as u32,
                    agent: id,
                    at,
                    beside: said(input.scene.text(text)),
                });
            }
        }
        let pointer = context.pointer_hover_pos();
        for agent in &input.scene.agents {
            let selected = input.selection == Selection::Agent(agent.id);
            let Some((at, pixels)) = place(agent) else {
                continue;
            };
            let pointed = pointer
                .map(|pointer| pointer.distance(at + vec2(0.0, HALF_BODY)))
                .filter(|&off| off < POINTED);
            if pixels < BADGE_PIXELS && !selected && pointed.is_none() {
                continue;
            }
            let weight = match (pointed, selected) {
                (Some(off), _) => 3_000 - off as u32,
                (None, true) => 2_000,
                (None, false) => u32::from(agent.level.get()),
            };
            let beside = if pointed.is_some() || selected {
                let team = input.scene.teams.get(usize::from(agent.team.0));
                let team = team.map_or("", |team| &*team.name);
                Beside::Words(format!("#{} {team} · level {}", agent.id.0, agent.level.get()))
            } else if pixels > NUMBER_PIXELS {
                Beside::Words(format!("#{}", agent.id.0))
            } else {
                Beside::Nothing
            };
            self.candidates.push(Candidate {
                weight,
                agent: agent.id,
                at,
                beside,
            });
        }
        // Equal weights in the order of their numbers, so that labels do not take turns.
        self.candidates
            .sort_unstable_by_key(|candidate| (std::cmp::Reverse(candidate.weight), candidate.agent));
    }
}

/// A level on the team's colour; the last one within gold.
fn badge(painter: &Painter, middle: Pos2, team: Color32, level: Level) {
    let edge = if level == Level::LAST {
        Stroke::new(2.0, color(palette::GOLD))
    } else {
        Stroke::new(1.0, Color32::from_black_alpha(110))
    };
    painter.circle(middle, BADGE / 2.0 - 1.0, team, edge);
    painter.text(
        middle,
        egui::Align2::CENTER_CENTER,
        level.get(),
        FontId::proportional(11.0),
        ink_on(team),
    );
}

/// What is said, as far as it fits; of what is for programs only that something is said.
fn said(words: &[u8]) -> Beside {
    if speech::is_for_people(words) {
        Beside::Words(speech::line(words, WORDS_SHOWN))
    } else {
        Beside::Speaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_programs_are_a_sign() {
        assert!(matches!(said(b"come here"), Beside::Words(words) if words == "come here"));
        assert!(matches!(said(b"t1.3815615345.7.s.2"), Beside::Speaks));
        let long = "word ".repeat(20);
        assert!(matches!(said(long.as_bytes()), Beside::Words(words) if words.ends_with('…')));
    }
}
