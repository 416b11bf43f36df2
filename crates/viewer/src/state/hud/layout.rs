//! Where panels are: two columns and a map in a corner, or cards along the top of a small window.

use egui::{Align2, Order, Rect, Ui, pos2, vec2};
use glam::Vec2;

use super::{Hud, PanelContext, feed, help, inspect, minimap, shown, speed, teams, theme};
use crate::intent::Selection;

pub const COLUMN_WIDTH: f32 = 256.0;
/// From the window's edge to the first card, and between panels side by side, in points.
pub(super) const EDGE: f32 = 16.0;
const GAP: f32 = 8.0;
/// Least width of a window with columns, and with two cards side by side, in points.
const COLUMNS_FROM: f32 = 900.0;
const TWO_CARDS_FROM: f32 = COLUMN_WIDTH * 2.0 + EDGE * 3.0;
/// Least height of a window that has the map in the corner and the inspector at once, in points.
const MAP_AND_INSPECTOR_FROM: f32 = 960.0;
/// Height of the card of time in a strip, with its sound, in points.
const TIME_HEIGHT: f32 = 172.0;
/// Height of the line of keys with its margins, and of the time-line with its gap, in points.
pub(super) const KEYS_HEIGHT: f32 = 58.0;
const TIMELINE_HEIGHT: f32 = 76.0;
/// Height of the banner, in points. It is left free of the board, which would otherwise jump.
const BANNER_HEIGHT: f32 = 44.0;
/// Teams shown at most; in a larger game the best.
const ROWS_MAX: usize = 8;
/// Height of a team with its levels and of one without, in a column and in a strip, with the gap; in points.
const LEVELS_HEIGHT: f32 = 68.0;
const LINE_HEIGHT: f32 = 34.0;
const STRIP_LINE_HEIGHT: f32 = 32.0;
const MORE_HEIGHT: f32 = 20.0;
/// Height of the rest of a column's card of teams with the window's edges, with and without the score.
const REST_HEIGHT: f32 = 230.0;
const REST_UNSCORED_HEIGHT: f32 = 125.0;
/// Height of a card's edges and the headline.
const HEADLINE_HEIGHT: f32 = 48.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Columns,
    Pair,
    /// Cards one below the other.
    Stack,
    Nothing,
}

/// Places of the panels in a window, and the content that fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    size: egui::Vec2,
    shape: Shape,
    teams: usize,
    /// Teams that are shown.
    pub rows: usize,
    pub has_levels: bool,
    pub has_score: bool,
}

impl Plan {
    /// For a window of `size` points, whose left column has a card of the scenario that is so high.
    pub(super) fn new(size: egui::Vec2, teams: usize, scenario: f32) -> Self {
        let shown = teams.min(ROWS_MAX);
        let more = if teams > shown { MORE_HEIGHT } else { 0.0 };
        // The scenario's announcements are among the events: these have room too.
        let below = match scenario > 0.0 {
            true => scenario + GAP + feed::HEIGHT_LEAST,
            false => 0.0,
        };
        let fits = |line: f32| line * shown as f32 + more + REST_HEIGHT + below < size.y;
        let has_score = size.x >= COLUMNS_FROM && fits(LINE_HEIGHT);
        let (shape, height, line) = if size.x >= COLUMNS_FROM {
            (Shape::Columns, size.y - REST_UNSCORED_HEIGHT - below, LINE_HEIGHT)
        } else if size.x >= TWO_CARDS_FROM {
            (
                Shape::Pair,
                (size.y * 0.4).max(180.0) - HEADLINE_HEIGHT,
                STRIP_LINE_HEIGHT,
            )
        } else {
            (Shape::Stack, size.y * 0.3 - HEADLINE_HEIGHT, STRIP_LINE_HEIGHT)
        };
        // The last line may count the other teams.
        let fitting = |height: f32| ((height / line).max(0.0) as usize).min(ROWS_MAX);
        let rows = match fitting(height) {
            _ if has_score => shown,
            rows if rows >= teams => teams,
            _ => fitting(height - MORE_HEIGHT),
        };
        Self {
            size,
            shape,
            teams,
            rows,
            has_levels: has_score && fits(LEVELS_HEIGHT),
            has_score,
        }
    }

    pub(super) fn without_panels(size: egui::Vec2) -> Self {
        Self {
            shape: Shape::Nothing,
            ..Self::new(size, 0, 0.0)
        }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.shape == Shape::Columns
    }

    /// Height covered along the top over the whole width.
    fn above(&self) -> f32 {
        let more = if self.teams > self.rows { MORE_HEIGHT } else { 0.0 };
        let teams = HEADLINE_HEIGHT + STRIP_LINE_HEIGHT * self.rows as f32 + more;
        match self.shape {
            Shape::Columns | Shape::Nothing => 0.0,
            Shape::Pair => EDGE + teams.max(TIME_HEIGHT),
            Shape::Stack => EDGE + TIME_HEIGHT + GAP + teams,
        }
    }

    /// Width of a column with its margins, on either side.
    fn aside(&self) -> f32 {
        match self.is_wide() {
            true => COLUMN_WIDTH + EDGE * 2.0,
            false => EDGE,
        }
    }

    pub(super) fn middle_top(&self) -> f32 {
        (self.above() + GAP).max(EDGE)
    }

    pub(super) fn middle_width(&self) -> f32 {
        self.size.x - self.aside() * 2.0
    }

    /// Height of the line of keys along the bottom, with its margins.
    fn keys_height(&self) -> f32 {
        match self.size.x >= help::HINTS_FROM {
            true => KEYS_HEIGHT,
            false => EDGE,
        }
    }

    /// Left, right and lower edge of the room between the columns, above the time-line if there is one.
    pub(super) fn bottom(&self, has_timeline: bool, selection: Selection) -> (f32, f32, f32) {
        let right = match (self.shape, selection) {
            (Shape::Pair, Selection::None) | (Shape::Stack | Shape::Nothing, _) => EDGE,
            // The inspector reaches down to the window's edge.
            (Shape::Columns | Shape::Pair, _) => COLUMN_WIDTH + EDGE * 2.0,
        };
        let above = if has_timeline { TIMELINE_HEIGHT } else { 0.0 };
        let bottom = self.size.y - self.keys_height() - above;
        (self.aside(), self.size.x - right, bottom)
    }

    /// The lower edge of the column on the right.
    fn right_bottom(&self, has_timeline: bool) -> f32 {
        let (_, _, bottom) = self.bottom(has_timeline, Selection::None);
        match self.shape {
            // Or nothing of the board would be left.
            Shape::Stack => bottom.min(self.size.y * 0.68),
            _ => self.size.y - EDGE,
        }
    }

    /// The part of the window that panels leave free.
    fn clear(&self, has_timeline: bool) -> Rect {
        let below = self.keys_height() + if has_timeline { TIMELINE_HEIGHT } else { 0.0 };
        // A window full of panels still has a middle.
        let above = (self.middle_top() + BANNER_HEIGHT).min(self.size.y * 0.4);
        let below = below.min(self.size.y * 0.4);
        let aside = self.aside().min(self.size.x * 0.4);
        Rect::from_min_max(pos2(aside, above), pos2(self.size.x - aside, self.size.y - below))
    }
}

impl Hud {
    /// The part of a window of `points` that no panel covers: its corners, from 0 to 1.
    pub fn clear_part(&self, points: egui::Vec2, has_timeline: bool, teams: usize) -> (Vec2, Vec2) {
        if !self.panels.any {
            return (Vec2::splat(0.02), Vec2::splat(0.98));
        }
        let points = (points / self.scale).max(egui::Vec2::splat(1.0));
        // The scenario's card is in the column and changes nothing beside it.
        let clear = Plan::new(points, teams, 0.0).clear(has_timeline);
        let share = |at: egui::Pos2| Vec2::new(at.x / points.x, at.y / points.y);
        (share(clear.min), share(clear.max))
    }

    /// Lays out the columns and adds them to [`Hud::cards`].
    pub(super) fn columns(&mut self, context: &egui::Context, cx: &mut PanelContext<'_>) {
        let (size, plan) = (context.content_rect().size(), cx.plan);
        let cards = &mut self.cards;
        let mut column = |name, anchor, width, content: &mut dyn FnMut(&mut Ui)| {
            let Align2([x, y]) = anchor;
            let offset = vec2(-x.to_sign() * EDGE, -y.to_sign() * EDGE);
            let area = theme::area(name, Order::Middle).anchor(anchor, offset);
            let laid = area.show(context, |ui| {
                ui.set_width(width);
                ui.spacing_mut().item_spacing.y = GAP;
                content(ui);
            });
            cards.push(laid.response.rect);
            laid.response.rect.bottom()
        };
        if plan.shape != Shape::Stack {
            column("left", Align2::LEFT_TOP, COLUMN_WIDTH, &mut |ui| {
                teams::show(ui, cx, &self.score);
                if plan.is_wide() {
                    shown::scenario(ui, cx);
                    feed::show(ui, cx, &self.feed, &mut self.hidden);
                }
            });
        }
        let width = match plan.shape {
            Shape::Stack => (size.x - EDGE * 2.0).max(1.0),
            _ => COLUMN_WIDTH,
        };
        // The top of the map in the corner, where there is room for it.
        let inside = COLUMN_WIDTH - cx.colors.card().total_margin().sum().x;
        let map_height = minimap::height(cx, inside).filter(|_| plan.is_wide());
        let is_beside = cx.state.selection == Selection::None || size.y >= MAP_AND_INSPECTOR_FROM;
        let map_top = map_height
            .filter(|_| is_beside)
            .map(|height| size.y - EDGE - height);
        let right_bottom = column("right", Align2::RIGHT_TOP, width, &mut |ui| {
            speed::show(ui, cx);
            if plan.shape == Shape::Stack {
                teams::show(ui, cx, &self.score);
            }
            let bottom = plan.right_bottom(cx.state.source.recording().is_some());
            let bottom = map_top.map_or(bottom, |top| bottom.min(top - GAP));
            inspect::show(ui, cx, &self.activity, bottom);
        });
        if map_top.is_some_and(|top| top >= right_bottom + GAP) {
            column("minimap", Align2::RIGHT_BOTTOM, COLUMN_WIDTH, &mut |ui| {
                self.minimap.show(ui, cx);
            });
        }
    }
}
