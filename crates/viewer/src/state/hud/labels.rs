//! Labels over agents, placed so that none covers another.
//!
//! A badge in the team's colour shows the level; from near the agent's number is beside it, and under the pointer
//! everything. Agents of a team on one tile have one banner: team, number of agents, level, and how much of their elevation is
//! done. A few broadcasts for people have their text beside the badge. The most important labels are placed first:
//! the selected agent, then speakers, then by level. A label without room is left out.
//!
//! From near an agent's note is a second line of its label, like speech. Marks on the map have labels of their own.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use egui::{
    Align2, Color32, Context, FontId, Id, LayerId, Order, Painter, Pos2, Rect, Shape, Stroke, StrokeKind,
    Vec2,
};
use egui::{pos2, vec2};
use glam::Vec3;
use trantor_client::{EffectKind, SceneAgent};
use trantor_model::{AgentId, Level, ShownBy, TeamId, Tile};
use trantor_render::picture::compose::MIDDLE_HEIGHT;
use trantor_render::picture::palette;

use super::theme::{color, ink_on};
use super::{PanelContext, words};
use crate::intent::Selection;

/// Labels placed at most: more would hide the board.
const LABELS_MAX: usize = 60;
/// Labels with broadcasts at most: more cannot be read in time.
const SPOKEN_MAX: usize = 6;
/// Pixels of a tile from which on agents have badges, and numbers.
const BADGE_PIXELS: f32 = 22.0;
const NUMBER_PIXELS: f32 = 56.0;
/// Height above an agent's feet, in tiles, before its scale.
const HEIGHT: f32 = 0.83;
/// Characters of a broadcast that are shown.
const TEXT_CHARS_MAX: usize = 34;
const BADGE: f32 = 16.0;
/// Height of the bar that shows how much of an elevation is done.
const TRACK: f32 = 3.0;
/// Notes shown at most: more would hide the board.
const NOTES_MAX: usize = 12;
/// Characters of a note that are shown; the inspector has all of it.
const NOTE_CHARS_MAX: usize = 48;
/// Height of a note's line, and of the point below it.
const NOTE: f32 = 15.0;
const POINT: f32 = 5.0;
/// Labels of marks at most: more would hide the board.
const MARKS_MAX: usize = 24;
/// Marks looked at for a label in a frame, as far as they are near enough.
const MARKS_CONSIDERED_MAX: usize = 256;
/// Characters of such a label that are shown: a few words.
const MARK_CHARS_MAX: usize = 32;
/// Height of such a label, and of the dot in it.
const MARK: f32 = 15.0;
const MARK_DOT: f32 = 3.5;
/// Distance of the pointer from an agent it points at, in points; from its tile, where tiles are too small for badges.
const POINTED: f32 = 20.0;
const MAY_BE_POINTED: f32 = 60.0;

#[derive(Debug)]
struct Candidate {
    weight: u32,
    agent: AgentId,
    at: Pos2,
    /// Text beside the badge.
    text: Option<String>,
    /// What the agent thinks.
    note: Option<String>,
    is_spoken: bool,
    /// Agents that share the label, and the lowest and the highest of their levels.
    count: usize,
    levels: [Level; 2],
    /// How much of their elevation is done, while one is under way.
    elevation: Option<f32>,
}

impl Candidate {
    /// What the banner of a group says beside its badge.
    fn banner(&self, team: &str) -> String {
        let [lowest, highest] = self.levels.map(Level::get);
        match lowest == highest {
            true => format!("{team} ×{}", self.count),
            false => format!("{team} ×{} · levels {lowest}–{highest}", self.count),
        }
    }
}

/// `cards`: rectangles of panels. No label lies under one.
pub(super) fn show(context: &Context, cx: &PanelContext<'_>, cards: &[Rect]) {
    let (mut taken, mut spoken): (Vec<Rect>, _) = (Vec::new(), 0);
    let (screen, colors) = (context.content_rect(), &cx.colors);
    let painter = context.layer_painter(LayerId::new(Order::Background, Id::unique("labels")));
    let (mut notes, mut marks) = (0, 0);
    // What the server marks belongs to the board: agents find room beside it.
    mark_labels(&painter, cx, (screen, cards), true, (&mut marks, &mut taken));
    let labels_before = taken.len();
    for candidate in candidates(context, cx) {
        if taken.len() - labels_before == LABELS_MAX {
            break;
        }
        let Some(agent) = cx.scene().agent(candidate.agent) else {
            continue;
        };
        if candidate.is_spoken && spoken == SPOKEN_MAX {
            continue;
        }
        let (at, count) = (candidate.at, candidate.count);
        let is_free = |rect: Rect| !taken.iter().any(|other| other.intersects(rect));
        // Before text is laid out: of a crowd most have no room for a badge.
        if !is_free(rect_above(at, vec2(BADGE, BADGE))) {
            continue;
        }
        let banner = (count > 1).then(|| candidate.banner(&cx.team_name(agent.team)));
        let text = candidate.text.or(banner);
        let galley = text.map(|text| {
            let font = FontId::proportional(12.0);
            painter.layout_job(words::job(&text, font, colors.text))
        });
        let width = BADGE + galley.as_ref().map_or(0.0, |galley| galley.size().x + 12.0);
        let rect = beside_cards(at, vec2(width, BADGE), screen, cards);
        let is_clear = |rect: Rect| {
            let is_covered = |card: &Rect| card.contains(at) || card.intersects(rect);
            screen.contains_rect(rect) && !cards.iter().any(is_covered)
        };
        // The selected agent always has its label, even under a card's edge.
        let is_selected = cx.state.selection == Selection::Agent(candidate.agent);
        if !is_clear(rect) && !is_selected || !is_free(rect) {
            continue;
        }
        let note = candidate.note.filter(|_| notes < NOTES_MAX).map(|note| {
            let font = FontId::proportional(11.5);
            painter.layout_job(words::job(&note, font, colors.text))
        });
        // A note without room is left out, and the label stays.
        let with_note = note.and_then(|note| {
            let size = vec2(width.max(note.size().x + 14.0), BADGE + NOTE);
            let rect = beside_cards(at - vec2(0.0, POINT), size, screen, cards);
            (is_clear(rect) && is_free(rect)).then_some((rect, note))
        });
        let rect = with_note.as_ref().map_or(rect, |(rect, _)| *rect);
        taken.push(rect.expand(1.0));
        spoken += usize::from(candidate.is_spoken);
        let edge = Stroke::new(1.0, colors.edge);
        if galley.is_some() || with_note.is_some() {
            painter.rect(rect, BADGE / 2.0, colors.card, edge, StrokeKind::Outside);
        }
        let middle = rect.top() + BADGE / 2.0;
        if let Some(done) = candidate.elevation {
            let track = Rect::from_min_max(
                pos2(rect.left() + BADGE + 4.0, rect.bottom() - TRACK),
                pos2(rect.right() - BADGE / 2.0, rect.bottom()),
            );
            let filled = track.with_max_x(egui::lerp(track.x_range(), done));
            painter.rect_filled(track, TRACK / 2.0, colors.edge);
            painter.rect_filled(filled, TRACK / 2.0, colors.gold_fill);
        }
        if let Some(galley) = galley {
            let lifted = if candidate.elevation.is_some() {
                TRACK / 2.0
            } else {
                0.0
            };
            let top = middle - lifted - galley.size().y / 2.0;
            painter.galley(pos2(rect.left() + BADGE + 5.0, top), galley, Color32::WHITE);
        }
        if let Some((_, note)) = with_note {
            notes += 1;
            let x = at.x.clamp(rect.left() + BADGE, rect.right() - BADGE);
            let corner = |x: f32, y: f32| pos2(x, rect.bottom() + y);
            let point = vec![corner(x - POINT, 0.0), corner(x + POINT, 0.0), corner(x, POINT)];
            painter.add(Shape::convex_polygon(point, colors.card, Stroke::NONE));
            let top = rect.top() + BADGE - 1.0;
            painter.galley(pos2(rect.left() + 7.0, top), note, Color32::WHITE);
        }
        let middle = pos2(rect.left() + BADGE / 2.0, middle);
        badge(&painter, middle, colors.team(agent.team), candidate.levels[1]);
    }
    mark_labels(&painter, cx, (screen, cards), false, (&mut marks, &mut taken));
}

/// Draws the labels of the marks of the server, or of agents, that find room.
fn mark_labels(
    painter: &Painter,
    cx: &PanelContext<'_>,
    (screen, cards): (Rect, &[Rect]),
    of_server: bool,
    (marks, taken): (&mut usize, &mut Vec<Rect>),
) {
    let (Some((view, window)), Some(ground)) = (&cx.view, &cx.scene().ground) else {
        return;
    };
    let owners = cx.scene().shown.iter();
    let owners = owners.filter(|(by, _)| (**by == ShownBy::Server) == of_server && cx.scene().is_there(**by));
    let labelled = owners
        .flat_map(|(_, shown)| &shown.marks)
        .filter_map(|(_, mark)| {
            let tile = Some(mark)
                .filter(|mark| !mark.text.is_empty())?
                .label_tile(ground.size)?;
            let home = window.home(glam::Vec2::new(f32::from(tile.x), f32::from(tile.y)));
            let at = Vec3::new(home.x, 0.0, home.y);
            let is_near = view.pixels_per_tile(at) >= BADGE_PIXELS;
            let point = view.project(at).filter(|_| is_near)?;
            Some((pos2(point.x * screen.width(), point.y * screen.height()), mark))
        });
    for (at, mark) in labelled.take(MARKS_CONSIDERED_MAX) {
        if *marks == MARKS_MAX {
            break;
        }
        let text = words::line(mark.text.as_bytes(), MARK_CHARS_MAX);
        let job = words::job(&text, FontId::proportional(11.0), cx.colors.text);
        let galley = painter.layout_job(job);
        let size = vec2(galley.size().x + 4.0 * MARK_DOT + 8.0, MARK);
        // Below the middle of its tile, so that who stands there is seen.
        let rect = Rect::from_center_size(at + vec2(0.0, MARK), size);
        let is_taken = taken.iter().chain(cards).any(|other| other.intersects(rect));
        if !screen.contains_rect(rect) || is_taken {
            continue;
        }
        *marks += 1;
        taken.push(rect.expand(1.0));
        let [red, green, blue] = mark.colour;
        let color = Color32::from_rgb(red, green, blue);
        let edge = Stroke::new(1.0, color);
        painter.rect(rect, MARK / 2.0, cx.colors.card, edge, StrokeKind::Outside);
        let dot = pos2(rect.left() + 2.0 * MARK_DOT, rect.center().y);
        painter.circle_filled(dot, MARK_DOT, color);
        let corner = pos2(dot.x + 2.0 * MARK_DOT, dot.y - galley.size().y / 2.0);
        painter.galley(corner, galley, Color32::WHITE);
    }
}

/// The candidates for labels, the most important first.
fn candidates(context: &Context, cx: &PanelContext<'_>) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    // Those that stand for all agents of a tile and team.
    let mut groups: BTreeMap<(Tile, TeamId), usize> = BTreeMap::new();
    let places = cx.state.drawing.places();
    let (selection, scene) = (cx.state.selection, cx.scene());
    let Some((view, window)) = &cx.view else {
        return candidates;
    };
    let screen = context.content_rect();
    let on_screen = |ground: Vec3| {
        let point = view.project(ground)?;
        let inside = point.cmpge(glam::Vec2::ZERO).all() && point.cmple(glam::Vec2::ONE).all();
        Some((pos2(point.x * screen.width(), point.y * screen.height()), inside))
    };
    let home = |agent: &SceneAgent| window.home(glam::Vec2::new(agent.x, agent.y));
    let place = |agent: &SceneAgent| {
        let place = places.of(agent, home(agent), view);
        let (at, _) = on_screen(place.above(HEIGHT)).filter(|(_, inside)| *inside)?;
        Some((at, place))
    };
    for effect in &scene.effects {
        if let (EffectKind::Broadcast { text, .. }, Some((id, _))) = (effect.kind, effect.agent)
            && let words = scene.text(text)
            && words::is_for_people(words)
            && let Some(agent) = scene.agent(id)
            && let Some((at, place)) = place(agent)
            && place.pixels >= BADGE_PIXELS
        {
            // Later broadcasts of an agent are further down the list, and weigh more.
            candidates.push(Candidate {
                weight: 1_000 - (effect.progress * 500.0) as u32,
                agent: id,
                at,
                text: Some(words::line(words, TEXT_CHARS_MAX)),
                note: None,
                is_spoken: true,
                count: 1,
                levels: [agent.level; 2],
                elevation: None,
            });
        }
    }
    let pointer = context.pointer_hover_pos();
    let from_pointer = |ground: Vec3, most: f32| {
        let distance = pointer?.distance(on_screen(ground)?.0);
        (distance < most).then_some(distance)
    };
    for agent in &scene.agents {
        let is_selected = selection == Selection::Agent(agent.id);
        let home = home(agent);
        let ground = Vec3::new(home.x, 0.0, home.y);
        // Nearly all agents of a large world end here, before it is known where exactly they stand.
        if !is_selected
            && view.pixels_per_tile(ground) * places.enlarged() < BADGE_PIXELS
            && from_pointer(ground, MAY_BE_POINTED).is_none()
        {
            continue;
        }
        let Some((at, place)) = place(agent) else { continue };
        let pointed = from_pointer(place.above(MIDDLE_HEIGHT), POINTED);
        if place.pixels * places.enlarged() < BADGE_PIXELS && !is_selected && pointed.is_none() {
            continue;
        }
        let level = agent.level.get();
        let weight = match pointed {
            _ if is_selected => 4_000,
            Some(distance) => 3_000 - distance as u32,
            None => u32::from(level),
        };
        let text = if pointed.is_some() || is_selected {
            let team = cx.team_name(agent.team);
            Some(format!("#{} {team} · level {level}", agent.id.0))
        } else {
            (place.pixels > NUMBER_PIXELS).then(|| format!("#{}", agent.id.0))
        };
        let note = scene.shown_by_agent(agent.id).map(|shown| &shown.note);
        let note = note.filter(|note| text.is_some() && !note.is_empty());
        let note = note.map(|note| words::line(note.as_bytes(), NOTE_CHARS_MAX));
        if place.is_shared && pointed.is_none() && !is_selected && note.is_none() {
            let first = *groups.entry((agent.tile, agent.team)).or_insert(candidates.len());
            if let Some(first) = candidates.get_mut(first) {
                let [lowest, highest] = first.levels;
                first.levels = [lowest.min(agent.level), highest.max(agent.level)];
                first.weight = first.weight.max(weight) + 1;
                first.text = None;
                first.count += 1;
                let x = first.at.x + (at.x - first.at.x) / first.count as f32;
                first.at = pos2(x, first.at.y.min(at.y));
                continue;
            }
        }
        candidates.push(Candidate {
            weight,
            agent: agent.id,
            at,
            text,
            note,
            is_spoken: false,
            count: 1,
            levels: [agent.level; 2],
            elevation: (scene.elevations.iter().filter(|_| agent.held))
                .find(|elevation| elevation.tile == agent.tile)
                .map(|elevation| elevation.progress),
        });
    }
    // Equal weights in the order of numbers, so that labels do not take turns.
    candidates.sort_unstable_by_key(|candidate| (Reverse(candidate.weight), candidate.agent));
    candidates
}

/// A label of that size above a head at `at`.
fn rect_above(at: Pos2, size: Vec2) -> Rect {
    Rect::from_min_size(at - vec2(size.x / 2.0, size.y + 2.0), size)
}

/// A label above a head, moved aside from the window's edges and from `cards` beside `at`.
fn beside_cards(at: Pos2, size: Vec2, screen: Rect, cards: &[Rect]) -> Rect {
    let rect = rect_above(at, size);
    let (mut least, mut most) = (screen.left(), screen.right());
    let is_level = |card: &&Rect| card.y_range().intersects(rect.y_range());
    for card in cards.iter().filter(is_level) {
        if card.right() <= at.x {
            least = least.max(card.right());
        } else if card.left() >= at.x {
            most = most.min(card.left());
        }
    }
    let left = rect.left().min(most - size.x - 1.0).max(least + 1.0);
    rect.translate(vec2(left - rect.left(), 0.0))
}

/// A level on the team's colour; the highest one has a golden edge.
fn badge(painter: &Painter, middle: Pos2, team: Color32, level: Level) {
    let edge = match level == Level::LAST {
        true => Stroke::new(2.0, color(palette::GOLD)),
        false => Stroke::new(1.0, Color32::from_black_alpha(110)),
    };
    painter.circle(middle, BADGE / 2.0 - 1.0, team, edge);
    let (font, ink) = (FontId::proportional(11.0), ink_on(team));
    painter.text(middle, Align2::CENTER_CENTER, level.get(), font, ink);
}
