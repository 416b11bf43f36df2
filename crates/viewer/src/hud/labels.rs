//! Levels above agents and words above speakers, placed so that none covers another.
//!
//! A badge in the team's colour counts the level; from near it has the agent's number beside it, and under the pointer
//! everything. A few speakers whose words are for people have those beside it; what bots say is a ring on the ground
//! alone. Whoever matters most is placed first: the selected agent, then those who speak, then by level. A label for
//! which there is no room is left out; in a crowd that is kinder than an unreadable heap.

use egui::{Color32, Context, FontId, LayerId, Order, Painter, Pos2, Rect, Stroke, pos2, vec2};
use glam::Vec3;
use trantor_client::{EffectKind, SceneAgent, speech};
use trantor_model::{AgentId, Level, TeamId, Tile};

use super::theme::{Colors, color, ink_on};
use super::{HudInput, directions};
use crate::intent::Selection;
use trantor_render::picture::compose::MIDDLE_HEIGHT;
use trantor_render::picture::palette;

/// Labels placed at once; more would hide the board.
const LABELS_MAX: usize = 60;
/// Labels with words placed at once; more cannot be read before they go, and a crowd that speaks would hide the board.
const SPOKEN_MAX: usize = 6;
/// A tile is this many pixels high before agents on it have badges.
const BADGE_PIXELS: f32 = 22.0;
/// And before they have numbers.
const NUMBER_PIXELS: f32 = 56.0;
/// Above an agent's feet, in tiles, before its scale.
const HEIGHT: f32 = 0.83;
/// Characters of what is said that are shown.
const WORDS_SHOWN: usize = 34;
/// Diameter of a badge, in points.
const BADGE: f32 = 16.0;
/// From the pointer to the middle of a body that it means, in points.
const POINTED: f32 = 20.0;
/// And to the middle of its tile at most, where tiles are too small for badges.
const MAY_BE_POINTED: f32 = 60.0;

#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Candidates of a frame, most important first.
    candidates: Vec<Candidate>,
    /// Those of one tile, team and level who have one badge.
    counted: Vec<(Tile, TeamId, Level)>,
    /// What labels cover already.
    taken: Vec<Rect>,
}

#[derive(Debug)]
struct Candidate {
    weight: u32,
    agent: AgentId,
    at: Pos2,
    beside: Beside,
    /// Whether others are on its tile.
    is_shared: bool,
}

/// What is beside a badge.
#[derive(Debug)]
enum Beside {
    Nothing,
    /// Who it is.
    Name(String),
    /// What is said.
    Words(String),
}

/// Whose badges are one if they are on one tile.
fn group_of(agent: &SceneAgent) -> (Tile, TeamId, Level) {
    (agent.tile, agent.team, agent.level)
}

impl Labels {
    /// `cards` is what panels cover: labels are not to lie under one.
    pub(super) fn show(&mut self, context: &Context, input: &HudInput<'_>, cards: &[Rect]) {
        let colors = Colors::of(input.theme).with_teams(&input.scene.teams);
        self.collect(context, input);
        self.taken.clear();
        self.counted.clear();
        let mut spoken = 0;
        let screen = context.content_rect();
        let painter = context.layer_painter(LayerId::new(Order::Background, egui::Id::unique("labels")));
        for (place, candidate) in self.candidates.iter().enumerate() {
            if self.taken.len() == LABELS_MAX {
                break;
            }
            let Some(agent) = input.scene.agent(candidate.agent) else {
                continue;
            };
            let is_spoken = matches!(candidate.beside, Beside::Words(_));
            if is_spoken && spoken == SPOKEN_MAX {
                continue;
            }
            let (mut at, mut count) = (candidate.at, 1);
            if candidate.is_shared && matches!(candidate.beside, Beside::Nothing) {
                if self.counted.contains(&group_of(agent)) {
                    continue;
                }
                self.counted.push(group_of(agent));
                (at, count) = self.group(place, input);
            }
            // Before words are laid out: of a crowd most have no room for a badge.
            let badge_alone = rect_above(at, BADGE);
            let is_free = |taken: &[Rect], rect: Rect| !taken.iter().any(|other| other.intersects(rect));
            if !is_free(&self.taken, badge_alone) {
                continue;
            }
            let text = match &candidate.beside {
                Beside::Name(words) | Beside::Words(words) => Some(words.clone()),
                Beside::Nothing => (count > 1).then(|| format!("×{count}")),
            };
            let words = text.map(|text| {
                let font = FontId::proportional(12.0);
                painter.layout_job(directions::job(&text, font, colors.text))
            });
            let width = BADGE + words.as_ref().map_or(0.0, |words| words.size().x + 12.0);
            let is_selected = input.selection == Selection::Agent(candidate.agent);
            let rect = beside_cards(at, width, screen, cards);
            // Of the selected one it is always told where it is, even under a panel's edge.
            let is_clear = screen.contains_rect(rect)
                && !cards
                    .iter()
                    .any(|card| card.contains(at) || card.intersects(rect));
            if !is_clear && !is_selected {
                continue;
            }
            if !is_free(&self.taken, rect) {
                continue;
            }
            self.taken.push(rect.expand(1.0));
            spoken += usize::from(is_spoken);
            if width > BADGE {
                painter.rect(
                    rect,
                    BADGE / 2.0,
                    colors.card,
                    Stroke::new(1.0, colors.edge),
                    egui::StrokeKind::Outside,
                );
            }
            if let Some(words) = words {
                let left = rect.left() + BADGE + 5.0;
                let top = rect.center().y - words.size().y / 2.0;
                painter.galley(pos2(left, top), words, Color32::WHITE);
            }
            let middle = pos2(rect.left() + BADGE / 2.0, rect.center().y);
            badge(&painter, middle, colors.team(agent.team), agent.level);
        }
    }

    /// Above the heads of all that have one badge with the candidate at `place`, the first of them; and how many they are.
    fn group(&self, place: usize, input: &HudInput<'_>) -> (Pos2, usize) {
        let first = &self.candidates[place];
        let group = |of: &Candidate| input.scene.agent(of.agent).map(group_of);
        // Those of a level are beside each other.
        let rest = self.candidates[place..].iter();
        let of_level = rest.take_while(|other| other.weight == first.weight);
        let alike =
            of_level.filter(|other| matches!(other.beside, Beside::Nothing) && group(other) == group(first));
        let (mut sum, mut top, mut count) = (0.0, first.at.y, 0);
        for other in alike {
            (sum, top, count) = (sum + other.at.x, top.min(other.at.y), count + 1);
        }
        (pos2(sum / count as f32, top), count)
    }

    fn collect(&mut self, context: &Context, input: &HudInput<'_>) {
        self.candidates.clear();
        let Some((view, window)) = input.view else { return };
        let screen = context.content_rect();
        let on_screen = |point: glam::Vec2| pos2(point.x * screen.width(), point.y * screen.height());
        let home = |agent: &SceneAgent| window.home(glam::Vec2::new(agent.x, agent.y));
        let place = |agent: &SceneAgent| {
            let home = home(agent);
            let place = input.places.of(agent, home, view);
            let point = view.project(place.above(HEIGHT))?;
            let inside = point.cmpge(glam::Vec2::ZERO).all() && point.cmple(glam::Vec2::ONE).all();
            inside.then(|| (on_screen(point), place))
        };
        for effect in &input.scene.effects {
            if let (EffectKind::Broadcast { text }, Some((id, _))) = (effect.kind, effect.agent)
                && let Some(words) = said(input.scene.text(text))
                && let Some((at, place)) = input.scene.agent(id).and_then(place)
                && place.pixels >= BADGE_PIXELS
            {
                // The latest words of somebody come last in the list, and first here.
                self.candidates.push(Candidate {
                    weight: 1_000 - (effect.progress * 500.0) as u32,
                    agent: id,
                    at,
                    beside: Beside::Words(words),
                    is_shared: place.is_shared,
                });
            }
        }
        let pointer = context.pointer_hover_pos();
        let may_be_pointed = |ground: Vec3| {
            pointer.is_some_and(|pointer| {
                let point = view.project(ground);
                point.is_some_and(|point| pointer.distance(on_screen(point)) < MAY_BE_POINTED)
            })
        };
        for agent in &input.scene.agents {
            let selected = input.selection == Selection::Agent(agent.id);
            let home = home(agent);
            let ground = Vec3::new(home.x, 0.0, home.y);
            // That is nearly all of a large world; where exactly they stand need not be known.
            if !selected && view.pixels_per_tile(ground) < BADGE_PIXELS && !may_be_pointed(ground) {
                continue;
            }
            let Some((at, place)) = place(agent) else {
                continue;
            };
            let pixels = place.pixels;
            let pointed = pointer
                .and_then(|pointer| {
                    let middle = view.project(place.above(MIDDLE_HEIGHT))?;
                    Some(pointer.distance(on_screen(middle)))
                })
                .filter(|&off| off < POINTED);
            if pixels < BADGE_PIXELS && !selected && pointed.is_none() {
                continue;
            }
            let weight = match (pointed, selected) {
                (_, true) => 4_000,
                (Some(off), false) => 3_000 - off as u32,
                (None, false) => u32::from(agent.level.get()),
            };
            let beside = if pointed.is_some() || selected {
                let team = input.scene.teams.get(usize::from(agent.team.0));
                let team = team.map_or("", |team| &*team.name);
                Beside::Name(format!("#{} {team} · level {}", agent.id.0, agent.level.get()))
            } else if pixels > NUMBER_PIXELS {
                Beside::Name(format!("#{}", agent.id.0))
            } else {
                Beside::Nothing
            };
            self.candidates.push(Candidate {
                weight,
                agent: agent.id,
                at,
                beside,
                is_shared: place.is_shared,
            });
        }
        // Equal weights in the order of their numbers, so that labels do not take turns.
        self.candidates
            .sort_unstable_by_key(|candidate| (std::cmp::Reverse(candidate.weight), candidate.agent));
    }
}

/// A label of that width above a head at `at`.
fn rect_above(at: Pos2, width: f32) -> Rect {
    Rect::from_min_size(at - vec2(width / 2.0, BADGE + 2.0), vec2(width, BADGE))
}

/// The same, moved aside as far as it has to be for the window's edges and for `cards` that begin beside `at`.
fn beside_cards(at: Pos2, width: f32, screen: Rect, cards: &[Rect]) -> Rect {
    let rect = rect_above(at, width);
    let (mut least, mut most) = (screen.left(), screen.right());
    for card in cards
        .iter()
        .filter(|card| card.y_range().intersects(rect.y_range()))
    {
        if card.right() <= at.x {
            least = least.max(card.right());
        } else if card.left() >= at.x {
            most = most.min(card.left());
        }
    }
    let left = rect.left().min(most - width - 1.0).max(least + 1.0);
    rect.translate(vec2(left - rect.left(), 0.0))
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

/// What is said, as far as it fits; nothing of what is for programs.
fn said(words: &[u8]) -> Option<String> {
    speech::is_for_people(words).then(|| speech::line(words, WORDS_SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_programs_are_left_out() {
        assert_eq!(said(b"come here").as_deref(), Some("come here"));
        assert_eq!(said(b"t1.3815615345.7.s.2"), None);
        let long = "word ".repeat(20);
        assert!(said(long.as_bytes()).unwrap().ends_with('…'));
    }

    #[test]
    fn a_label_is_moved_aside_until_it_is_beside_cards() {
        let screen = Rect::from_min_max(Pos2::ZERO, pos2(600.0, 400.0));
        let (left, right) = (
            Rect::from_min_max(pos2(10.0, 10.0), pos2(200.0, 300.0)),
            Rect::from_min_max(pos2(420.0, 10.0), pos2(590.0, 300.0)),
        );
        let placed = |x, y| beside_cards(pos2(x, y), 120.0, screen, &[left, right]);
        assert_eq!(
            placed(310.0, 100.0).center().x,
            310.0,
            "where there is room it is above the head"
        );
        assert!((200.0..202.0).contains(&placed(205.0, 100.0).left()));
        assert!((418.0..420.0).contains(&placed(415.0, 100.0).right()));
        assert!(
            (418.0..420.0).contains(&placed(400.0, 300.0).right()),
            "one it reaches into"
        );
        assert!(
            (0.0..2.0).contains(&placed(4.0, 390.0).left()),
            "the window's edges"
        );
        assert!((598.0..600.0).contains(&placed(599.0, 390.0).right()));
    }
}
