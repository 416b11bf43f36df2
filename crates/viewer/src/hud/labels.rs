//! Names above agents and words above speakers, placed so that none covers another.
//!
//! Whoever matters most is placed first: the selected agent, then those who speak, then by level. A label for
//! which there is no room is left out; in a crowd that is kinder than an unreadable heap.

use egui::{Color32, Context, FontId, LayerId, Order, Pos2, Rect, pos2, vec2};
use glam::Vec3;
use trantor_client::{EffectKind, SceneAgent};
use trantor_model::AgentId;

use super::theme::{Colors, color};
use super::{HudInput, Selection};
use crate::picture::palette;

/// Labels shown at once; more would hide the board.
const LABELS_MAX: usize = 60;
/// A tile is this many pixels high before agents on it have labels.
const LABEL_PIXELS: f32 = 26.0;
/// Above an agent's feet, in tiles.
const HEIGHT: f32 = 0.98;
/// Characters of what is said that are shown.
const WORDS_SHOWN: usize = 34;

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
    words: Option<String>,
}

impl Labels {
    pub(super) fn show(&mut self, context: &Context, input: &HudInput<'_>) {
        let colors = Colors::of(input.theme);
        self.collect(context, input);
        self.taken.clear();
        let painter = context.layer_painter(LayerId::new(Order::Background, egui::Id::unique("labels")));
        for candidate in self.candidates.iter().take(LABELS_MAX) {
            let Some(agent) = input.scene.agent(candidate.agent) else {
                continue;
            };
            let text = match &candidate.words {
                Some(words) => words.clone(),
                None => format!("{} · {}", agent.id.0, agent.level.get()),
            };
            let size = if candidate.words.is_some() { 12.0 } else { 10.0 };
            let galley = painter.layout_no_wrap(text, FontId::proportional(size), colors.text);
            let padding = vec2(5.0, 2.0);
            let outer = galley.size() + padding * 2.0 + vec2(6.0, 0.0);
            let rect = Rect::from_min_size(candidate.at - vec2(outer.x / 2.0, outer.y), outer);
            if self.taken.iter().any(|taken| taken.intersects(rect)) {
                continue;
            }
            self.taken.push(rect.expand(1.0));
            let tint = color(palette::team(agent.team));
            let fill = if candidate.words.is_some() {
                colors.card
            } else {
                colors.card.gamma_multiply(0.72)
            };
            painter.rect_filled(rect, 5.0, fill);
            let mark = Rect::from_min_size(rect.min, vec2(4.0, rect.height()));
            let left = egui::CornerRadius {
                nw: 5,
                sw: 5,
                ne: 0,
                se: 0,
            };
            painter.rect_filled(mark, left, tint);
            painter.galley(rect.min + padding + vec2(5.0, 0.0), galley, Color32::WHITE);
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
            let large = view.pixels_per_tile(head) > LABEL_PIXELS;
            inside.then(|| (pos2(point.x * screen.width(), point.y * screen.height()), large))
        };
        for effect in &input.scene.effects {
            if let (EffectKind::Broadcast { text }, Some((id, _))) = (effect.kind, effect.agent)
                && let Some((at, _)) = input.scene.agent(id).and_then(place)
            {
                let words = String::from_utf8_lossy(input.scene.text(text));
                let mut shown: String = words
                    .chars()
                    .filter(|letter| !letter.is_control())
                    .take(WORDS_SHOWN)
                    .collect();
                if words.chars().nth(WORDS_SHOWN).is_some() {
                    shown.push('…');
                }
                // The latest words of somebody come last in the list, and first here.
                self.candidates.push(Candidate {
                    weight: 1_000 - (effect.progress * 500.0) as u32,
                    agent: id,
                    at,
                    words: Some(shown),
                });
            }
        }
        for agent in &input.scene.agents {
            let selected = input.selection == Selection::Agent(agent.id);
            if let Some((at, large)) = place(agent)
                && (large || selected)
            {
                let weight = if selected {
                    2_000
                } else {
                    u32::from(agent.level.get())
                };
                self.candidates.push(Candidate {
                    weight,
                    agent: agent.id,
                    at,
                    words: None,
                });
            }
        }
        // Equal weights in the order of their numbers, so that labels do not take turns.
        self.candidates
            .sort_unstable_by_key(|candidate| (std::cmp::Reverse(candidate.weight), candidate.agent));
    }
}
