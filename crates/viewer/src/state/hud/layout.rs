//! Where panels are: two columns and a map in a corner, or cards along the top of a small window.

use egui::{Align2, Order, Rangef, Rect, Ui, pos2, vec2};
use glam::Vec2;

use super::{Hud, PanelContext, Panels, feed, help, inspect, minimap, speed, story, teams, theme};
use crate::intent::Selection;

/// Size of a window, in points of the display, from which on panels grow with it, and how much at most.
const GROWS_FROM: egui::Vec2 = vec2(1_600.0, 900.0);
const GROWS_TO: f32 = 1.6;
/// How much larger panels are on a stage: text of 20 points instead of 13.
const STAGE_SCALE: f32 = 20.0 / 13.0;
/// How small panels of a film become, so that it has the board beside the race.
const FILM_SCALE_LEAST: f32 = 0.8;
pub const COLUMN_WIDTH: f32 = 256.0;
/// From the window's edge to the first card, and between panels side by side, in points.
pub(super) const EDGE: f32 = 16.0;
pub(super) const GAP: f32 = 8.0;
/// Least width of a window with columns, and with two cards side by side, in points.
const COLUMNS_FROM: f32 = 900.0;
const TWO_CARDS_FROM: f32 = COLUMN_WIDTH * 2.0 + EDGE * 3.0;
/// Least width of a stage with the board beside the race, and room for a banner in the middle, in points.
const BESIDE_FROM: f32 = COLUMN_WIDTH * 2.0 + EDGE * 14.0;
/// Least height of a window that has the map in the corner and the inspector at once, in points.
const MAP_AND_INSPECTOR_FROM: f32 = 960.0;
/// Height of the card of time in a strip, in points.
const TIME_HEIGHT: f32 = 140.0;
/// Least height of a window with the card of time above that of the race, in points; lower ones have keys for it.
const STACK_TIME_FROM: f32 = 400.0;
/// Least height of a window with the time-line of a recording, in points: lower ones have keys for it, and a board instead.
const TIMELINE_FROM: f32 = 320.0;
/// Height of the line of keys with its margins, and of the time-line with its gap, in points.
pub(super) const KEYS_HEIGHT: f32 = 58.0;
const TIMELINE_HEIGHT: f32 = 76.0;
/// Height of the banner, in points. It is left free of the board, which would otherwise jump.
const BANNER_HEIGHT: f32 = 44.0;
/// Teams shown at once at most; the others are scrolled to.
const ROWS_MAX: usize = 10;
/// Height of the card of the race without its rows and its plot, and of the plot, in points.
const RACE_HEIGHT: f32 = 86.0;
const PLOT_HEIGHT: f32 = 118.0;

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
    /// Teams that are shown at once.
    pub rows: usize,
    has_tall_rows: bool,
    pub has_score: bool,
    /// Whether the events have a card; else the newest is a line at the bottom.
    has_feed: bool,
    /// Whether an audience watches: the race and the events alone.
    pub is_stage: bool,
    /// Whether it is a film, in which there is no mouse.
    pub is_film: bool,
    /// The left edge of the story, if it is open and not over everything.
    beside: Option<f32>,
}

impl Plan {
    /// For a window of `size` points, whose left column has a card of the scenario that is so high.
    pub(super) fn new(size: egui::Vec2, teams: usize, scenario: f32, panels: Panels) -> Self {
        let is_stage = panels.stage || panels.film;
        let shown = teams.min(ROWS_MAX);
        let rows_height = |row: f32| (row + teams::ROW_GAP) * shown as f32;
        let (shape, room) = if size.x >= COLUMNS_FROM {
            (Shape::Columns, size.y - EDGE * 2.0 - RACE_HEIGHT)
        } else if size.x >= TWO_CARDS_FROM {
            // On a stage nothing is beside or below it.
            let share = if is_stage { 0.5 } else { 0.4 };
            (Shape::Pair, (size.y * share).max(180.0) - RACE_HEIGHT)
        } else {
            (Shape::Stack, size.y * 0.3 - RACE_HEIGHT)
        };
        let is_wide = shape == Shape::Columns;
        let cards = feed::HEIGHT_LEAST + GAP + if scenario > 0.0 { scenario + GAP } else { 0.0 };
        let has_feed = is_wide && room - rows_height(teams::ROW) >= cards;
        let free = if has_feed { room - cards } else { room };
        let fits = |row: f32| is_wide && rows_height(row) + PLOT_HEIGHT <= free;
        let fitting = (free / (teams::ROW + teams::ROW_GAP)).max(0.0) as usize;
        Self {
            size,
            shape,
            rows: shown.min(fitting),
            has_tall_rows: fits(teams::TALL_ROW),
            has_score: fits(teams::ROW),
            has_feed,
            is_stage,
            is_film: panels.film,
            beside: None,
        }
    }

    /// Whether the newest event is a line along the bottom.
    pub(super) fn has_ticker(&self) -> bool {
        !self.has_feed && self.shape != Shape::Nothing
    }

    pub(super) fn row_height(&self) -> f32 {
        match self.has_tall_rows {
            true => teams::TALL_ROW,
            false => teams::ROW,
        }
    }

    pub(super) fn without_panels(size: egui::Vec2) -> Self {
        Self {
            shape: Shape::Nothing,
            ..Self::new(size, 0, 0.0, Panels::default())
        }
    }

    /// Beside the story, whose left edge is at `left`.
    pub(super) fn beside(size: egui::Vec2, left: Option<f32>) -> Self {
        Self {
            beside: left,
            ..Self::without_panels(size)
        }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.shape == Shape::Columns
    }

    /// Whether the board is beside the race instead of below it: nothing else is up there on a stage.
    fn is_beside(&self) -> bool {
        self.is_stage && self.shape == Shape::Pair && self.size.x >= BESIDE_FROM
    }

    fn has_time(&self) -> bool {
        !self.is_stage && (self.shape != Shape::Stack || self.size.y >= STACK_TIME_FROM)
    }

    /// Height covered along the top over the whole width.
    fn above(&self) -> f32 {
        let teams = RACE_HEIGHT + (teams::ROW + teams::ROW_GAP) * self.rows as f32;
        match self.shape {
            Shape::Columns | Shape::Nothing => 0.0,
            Shape::Pair if self.is_beside() => 0.0,
            Shape::Pair if self.is_stage => EDGE + teams,
            Shape::Pair => EDGE + teams.max(TIME_HEIGHT),
            Shape::Stack if self.has_time() => EDGE + TIME_HEIGHT + GAP + teams,
            Shape::Stack => EDGE + teams,
        }
    }

    /// Width of a column with its margins, on either side.
    fn aside(&self) -> f32 {
        match self.is_wide() || self.is_beside() {
            true => COLUMN_WIDTH + EDGE * 2.0,
            false => EDGE,
        }
    }

    pub(super) fn middle_top(&self) -> f32 {
        (self.above() + GAP).max(EDGE)
    }

    /// Left and right edge of the room between the columns.
    pub(super) fn middle(&self) -> Rangef {
        let right = if self.is_stage { EDGE } else { self.aside() };
        let right = self.beside.map_or(self.size.x - right, |left| left - GAP);
        Rangef::new(self.aside(), right)
    }

    /// Height of the line of keys along the bottom, with its margins.
    fn keys_height(&self) -> f32 {
        match self.has_ticker() || self.size.x >= help::HINTS_FROM && !self.is_stage {
            true => KEYS_HEIGHT,
            false => EDGE,
        }
    }

    /// Whether there is room for the time-line of a recording.
    pub(super) fn has_timeline(&self) -> bool {
        self.size.y >= TIMELINE_FROM && !self.is_film
    }

    fn timeline_height(&self, has_timeline: bool) -> f32 {
        match has_timeline && self.has_timeline() {
            true => TIMELINE_HEIGHT,
            false => 0.0,
        }
    }

    /// Left, right and lower edge of the room between the columns, above the time-line if there is one.
    pub(super) fn bottom(&self, has_timeline: bool, selection: Selection) -> (f32, f32, f32) {
        let right = match (self.shape, selection) {
            _ if self.is_stage => EDGE,
            (Shape::Pair, Selection::None) | (Shape::Stack | Shape::Nothing, _) => EDGE,
            // The inspector reaches down to the window's edge.
            (Shape::Columns | Shape::Pair, _) => COLUMN_WIDTH + EDGE * 2.0,
        };
        let bottom = self.size.y - self.keys_height() - self.timeline_height(has_timeline);
        let left = if self.is_wide() { self.aside() } else { EDGE };
        (left, self.size.x - right, bottom)
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
        let below = self.keys_height() + self.timeline_height(has_timeline);
        // A window full of panels still has a middle.
        let above = (self.middle_top() + BANNER_HEIGHT).min(self.size.y * 0.4);
        let below = below.min(self.size.y * 0.4);
        let middle = self.middle();
        let left = middle.min.min(self.size.x * 0.4);
        let right = match self.beside {
            Some(_) => middle.max,
            None => middle.max.max(self.size.x * 0.6),
        };
        Rect::from_min_max(pos2(left, above), pos2(right, self.size.y - below))
    }
}

impl Hud {
    /// The size of the panels in a window of so many points of the display, as a multiple of the display's scale.
    pub fn zoom(&self, points: egui::Vec2) -> f32 {
        let grown = (points / GROWS_FROM).min_elem().clamp(1.0, GROWS_TO);
        let audience = match self.panels {
            Panels { stage: true, .. } => STAGE_SCALE,
            Panels { film: true, .. } => (points.x / BESIDE_FROM).clamp(FILM_SCALE_LEAST, 1.0),
            _ => 1.0,
        };
        self.scale * grown * audience
    }

    /// The part of a window of `points` that no panel covers: its corners, from 0 to 1.
    pub fn clear_part(&self, points: egui::Vec2, has_timeline: bool, teams: usize) -> (Vec2, Vec2) {
        if !self.panels.any {
            return (Vec2::splat(0.02), Vec2::splat(0.98));
        }
        let points = (points / self.zoom(points)).max(egui::Vec2::splat(1.0));
        // The scenario's card is in the column and changes nothing beside it.
        let plan = match self.tells_story() {
            true => Plan::beside(points, story::left(points)),
            false => Plan::new(points, teams, 0.0, self.panels),
        };
        let clear = plan.clear(has_timeline);
        let share = |at: egui::Pos2| Vec2::new(at.x / points.x, at.y / points.y);
        (share(clear.min), share(clear.max))
    }

    /// Lays out the columns and adds them to [`Hud::cards`].
    pub(super) fn columns(&mut self, context: &egui::Context, cx: &mut PanelContext<'_>) {
        let (size, plan) = (context.content_rect().size(), cx.plan);
        let cards = &mut self.cards;
        let mut column = |name, anchor: Align2, width, content: &mut dyn FnMut(&mut Ui)| {
            let at = anchor.pos_in_rect(&context.content_rect().shrink(EDGE));
            let area = theme::area(name, Order::Middle, anchor, at);
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
                    inspect::scenario(ui, cx);
                    if plan.has_feed {
                        feed::show(ui, cx, &self.feed, &mut self.only_highlights);
                    }
                }
            });
        }
        if plan.is_stage && plan.shape != Shape::Stack {
            return;
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
            if plan.has_time() {
                speed::show(ui, cx);
            }
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
