//! Where panels are: two columns and a map in a corner, or cards along the top where there is no room for those.

use egui::{Align2, Rect, pos2, vec2};
use glam::Vec2;

use super::teams::Room;
use super::theme::{self, Colors};
use super::{Hud, HudInput, help, inspect, minimap, teams};
use crate::intent::{Intent, Selection};

/// Width of the columns on both sides, in points.
pub const COLUMN_WIDTH: f32 = 256.0;
/// From the window's edge to the first card, and between panels side by side, in points.
pub(super) const EDGE: f32 = 16.0;
/// From a card to the one below it, in points.
const GAP: f32 = 8.0;
/// A window less wide than this, in points, has a strip of cards along its top instead of columns.
const COLUMNS_FROM: f32 = 900.0;
/// A window less wide than this has its cards one below the other.
const TWO_CARDS_FROM: f32 = COLUMN_WIDTH * 2.0 + EDGE * 3.0;
/// A window less high than this, in points, has either the map in the corner or the inspector: both would be too low.
const MAP_AND_INSPECTOR_FROM: f32 = 960.0;
/// Height of the card of time in a strip, with its sound, in points.
const TIME_HEIGHT: f32 = 172.0;
/// Height of the line of keys with what is around it, and of the time-line of a recording with its gap, in points.
pub(super) const KEYS_HEIGHT: f32 = 58.0;
const TIMELINE_HEIGHT: f32 = 76.0;

/// Height of what is told in the middle, in points: a pause, who won. It is left free of the board, which would otherwise jump.
const BANNER_HEIGHT: f32 = 44.0;

/// How panels share a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A column on either side.
    Columns,
    /// Two cards side by side along the top.
    Pair,
    /// Cards one below the other.
    Stack,
    /// No panels.
    Nothing,
}

/// Where panels go in a window of a size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    size: egui::Vec2,
    shape: Shape,
    /// What of the teams is shown.
    room: Room,
}

impl Plan {
    /// For a window of `size` points and a game of so many teams.
    pub(super) fn new(size: egui::Vec2, teams: usize) -> Self {
        let (shape, room) = if size.x >= COLUMNS_FROM {
            (Shape::Columns, Room::of_column(size.y, teams))
        } else if size.x >= TWO_CARDS_FROM {
            (Shape::Pair, Room::of_strip((size.y * 0.4).max(180.0), teams))
        } else {
            (Shape::Stack, Room::of_strip(size.y * 0.3, teams))
        };
        Self { size, shape, room }
    }

    /// For a window whose panels are not shown.
    pub(super) fn without_panels(size: egui::Vec2) -> Self {
        Self {
            shape: Shape::Nothing,
            ..Self::new(size, 0)
        }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.shape == Shape::Columns
    }

    /// What is covered along the top over the whole width: nothing between two columns.
    fn above(&self) -> f32 {
        match self.shape {
            Shape::Columns | Shape::Nothing => 0.0,
            Shape::Pair => EDGE + self.room.height().max(TIME_HEIGHT),
            Shape::Stack => EDGE + TIME_HEIGHT + GAP + self.room.height(),
        }
    }

    /// From the left and from the right edge to what lies between the columns.
    fn aside(&self) -> f32 {
        if self.is_wide() {
            COLUMN_WIDTH + EDGE * 2.0
        } else {
            EDGE
        }
    }

    /// Where what is told in the middle begins: who won, messages.
    pub(super) fn middle_top(&self) -> f32 {
        (self.above() + GAP).max(EDGE)
    }

    /// How wide that may be.
    pub(super) fn middle_width(&self) -> f32 {
        self.size.x - self.aside() * 2.0
    }

    /// Height along the bottom that the line of keys takes, and what is around it.
    fn keys_height(&self) -> f32 {
        if self.size.x >= help::HINTS_FROM {
            KEYS_HEIGHT
        } else {
            EDGE
        }
    }

    /// Where the time-line may be: its left, right and lower edge.
    pub(super) fn timeline(&self, selection: Selection) -> (f32, f32, f32) {
        let right = match (self.shape, selection) {
            (Shape::Pair, Selection::None) | (Shape::Stack | Shape::Nothing, _) => EDGE,
            // Under the card of time is another, down to the window's edge.
            (Shape::Columns | Shape::Pair, _) => COLUMN_WIDTH + EDGE * 2.0,
        };
        (
            self.aside(),
            self.size.x - right,
            self.size.y - self.keys_height(),
        )
    }

    /// Where what belongs above all that is along the bottom may be: its left, right and lower edge.
    pub(super) fn bottom(&self, has_timeline: bool, selection: Selection) -> (f32, f32, f32) {
        let (left, right, bottom) = self.timeline(selection);
        let above = if has_timeline { TIMELINE_HEIGHT } else { 0.0 };
        (left, right, bottom - above)
    }

    /// Down to where the column on the right may reach.
    fn right_bottom(&self, has_timeline: bool) -> f32 {
        match self.shape {
            Shape::Stack => {
                // Or nothing of the board would be left.
                let (.., free) = self.bottom(has_timeline, Selection::None);
                free.min(self.size.y * 0.68)
            }
            _ => self.size.y - EDGE,
        }
    }

    /// The part of the window that panels leave free.
    fn clear(&self, has_timeline: bool) -> Rect {
        let below = self.keys_height() + if has_timeline { TIMELINE_HEIGHT } else { 0.0 };
        // A window of nothing but panels still has a middle.
        let above = (self.middle_top() + BANNER_HEIGHT).min(self.size.y * 0.4);
        let below = below.min(self.size.y * 0.4);
        let aside = self.aside().min(self.size.x * 0.4);
        Rect::from_min_max(pos2(aside, above), pos2(self.size.x - aside, self.size.y - below))
    }
}

impl Hud {
    /// The part of a window of `points` that no panel covers in a game of so many teams, as least and most share of
    /// its sides.
    pub fn clear_part(&self, points: egui::Vec2, has_timeline: bool, teams: usize) -> (Vec2, Vec2) {
        if !self.panels.any {
            return (Vec2::splat(0.02), Vec2::splat(0.98));
        }
        let points = (points / self.scale).max(egui::Vec2::splat(1.0));
        let clear = Plan::new(points, teams).clear(has_timeline);
        let share = |at: egui::Pos2| Vec2::new(at.x / points.x, at.y / points.y);
        (share(clear.min), share(clear.max))
    }

    /// Lays out the columns, and notes in [`Hud::cards`] where they are.
    pub(super) fn columns(
        &mut self,
        context: &egui::Context,
        colors: &Colors,
        input: &HudInput<'_>,
        intents: &mut Vec<Intent>,
    ) {
        let size = context.content_rect().size();
        let plan = Plan::new(size, input.scene.teams.len());
        let mut cards = std::mem::take(&mut self.cards);
        let mut column = |name, anchor, offset, width, content: &mut dyn FnMut(&mut egui::Ui)| {
            let covered = theme::column(context, name, anchor, offset, width, content);
            cards.push(covered);
            covered.bottom()
        };
        if plan.shape != Shape::Stack {
            column(
                "left",
                Align2::LEFT_TOP,
                vec2(EDGE, EDGE),
                COLUMN_WIDTH,
                &mut |ui| {
                    let report = &mut self.report;
                    teams::show(ui, colors, input, (&self.score, plan.room), report, intents);
                    if plan.is_wide() {
                        self.feed.show(ui, colors, input, report, intents);
                    }
                },
            );
        }
        let width = match plan.shape {
            Shape::Columns | Shape::Pair => COLUMN_WIDTH,
            Shape::Stack | Shape::Nothing => (size.x - EDGE * 2.0).max(1.0),
        };
        // Where the map in the corner begins, if it is as high as there is room for.
        let inside = COLUMN_WIDTH - colors.card().total_margin().sum().x;
        let map_top = minimap::height(input, inside).map(|height| size.y - EDGE - height);
        let map_top = map_top.filter(|_| plan.is_wide());
        let is_free = matches!(input.selection, Selection::None);
        let map_beside = map_top.filter(|_| is_free || size.y >= MAP_AND_INSPECTOR_FROM);
        let right_bottom = column("right", Align2::RIGHT_TOP, vec2(-EDGE, EDGE), width, &mut |ui| {
            let report = &mut self.report;
            self.speed
                .show(ui, colors, input, plan.is_wide(), report, intents);
            if plan.shape == Shape::Stack {
                teams::show(ui, colors, input, (&self.score, plan.room), report, intents);
            }
            let bottom = plan.right_bottom(input.recording.is_some());
            let bottom = map_beside.map_or(bottom, |top| bottom.min(top - GAP));
            inspect::show(ui, colors, input, (&self.doings, bottom), report, intents);
        });
        if map_beside.is_some_and(|top| top >= right_bottom + GAP) {
            let corner = vec2(-EDGE, -EDGE);
            column("minimap", Align2::RIGHT_BOTTOM, corner, COLUMN_WIDTH, &mut |ui| {
                self.minimap.show(ui, colors, input, &mut self.report, intents);
            });
        }
        self.cards = cards;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_every_window_is_clear() {
        let mut hud = Hud::new(false);
        for (width, height) in [
            (1.0, 1.0),
            (320.0, 200.0),
            (800.0, 600.0),
            (1280.0, 720.0),
            (3840.0, 2160.0),
        ] {
            for scale in [0.5, 1.0, 2.0] {
                hud.scale = scale;
                let (least, most) = hud.clear_part(vec2(width, height), true, 4);
                assert!(
                    least.cmplt(most).all() || width < 100.0,
                    "{width} x {height}: {least} to {most}"
                );
                assert!(least.cmpge(Vec2::ZERO).all() && most.y <= 1.0);
            }
        }
        let (least, most) = hud.clear_part(vec2(3840.0, 2160.0), false, 4);
        assert!(
            (most - least).min_element() > 0.6,
            "panels cover a small part of a large window"
        );
    }
}
