//! Where panels are: two columns and a map in a corner, or a few lines along the top where there is no room for those.

use egui::{Align2, Rect, vec2};
use glam::Vec2;

use super::theme::{self, Colors};
use super::{Hud, HudInput, Intent, Selection, inspect, teams};

/// Width of the columns on both sides, in points.
pub const COLUMN_WIDTH: f32 = 256.0;
/// From the window's edge to the first card, in points.
const EDGE: f32 = 16.0;
/// A window less wide than this, in points, has a strip of cards along its top instead of columns.
const COLUMNS_FROM: f32 = 900.0;
/// A window less wide than this has room for one card only.
const TWO_CARDS_FROM: f32 = COLUMN_WIDTH * 2.0 + EDGE * 3.0;
/// Height of that strip, in points.
const STRIP_HEIGHT: f32 = 176.0;
/// Height of what is along the bottom, in points: keys, and the time-line of a recording above them.
const KEYS_HEIGHT: f32 = 52.0;
const TIMELINE_HEIGHT: f32 = 76.0;

impl Hud {
    /// The part of a window of `points` that no panel covers, as least and most share of its sides.
    pub fn clear_part(&self, points: egui::Vec2, has_timeline: bool) -> (Vec2, Vec2) {
        if !self.panels.any {
            return (Vec2::splat(0.02), Vec2::splat(0.98));
        }
        let points = (points / self.scale).max(egui::Vec2::splat(1.0));
        let (aside, above) = if points.x < COLUMNS_FROM {
            (EDGE, STRIP_HEIGHT + EDGE)
        } else {
            (COLUMN_WIDTH + EDGE * 2.0, EDGE)
        };
        let below = KEYS_HEIGHT + if has_timeline { TIMELINE_HEIGHT } else { 0.0 };
        // A window of nothing but panels still has a middle.
        let above = (above / points.y).min(0.4);
        let below = (below / points.y).min(0.4);
        (
            Vec2::new(aside / points.x, above),
            Vec2::new(1.0 - aside / points.x, 1.0 - below),
        )
    }

    /// The same part of what `context` lays out.
    pub(super) fn clear_rect(&self, context: &egui::Context, input: &HudInput<'_>) -> Rect {
        let whole = context.content_rect();
        let (least, most) = self.clear_part(whole.size() * self.scale, input.recording.is_some());
        let at = |share: Vec2| whole.min + vec2(share.x, share.y) * whole.size();
        Rect::from_min_max(at(least), at(most))
    }

    pub(super) fn columns(
        &mut self,
        context: &egui::Context,
        colors: &Colors,
        input: &HudInput<'_>,
        intents: &mut Vec<Intent>,
    ) {
        let size = context.content_rect().size();
        let is_wide = size.x >= COLUMNS_FROM;
        let column = |name, anchor, offset, content: &mut dyn FnMut(&mut egui::Ui)| {
            theme::column(context, name, anchor, offset, COLUMN_WIDTH, content);
        };
        if size.x >= TWO_CARDS_FROM {
            column("left", Align2::LEFT_TOP, vec2(EDGE, EDGE), &mut |ui| {
                let room = if is_wide {
                    teams::Room::All
                } else {
                    teams::Room::Lines
                };
                let report = &mut self.report;
                teams::show(ui, colors, input, (&self.score, room), report, intents);
                if is_wide {
                    self.feed.show(ui, colors, input, report, intents);
                }
            });
        }
        column("right", Align2::RIGHT_TOP, vec2(-EDGE, EDGE), &mut |ui| {
            self.speed
                .show(ui, colors, input, is_wide, &mut self.report, intents);
            inspect::show(ui, colors, input, &self.doings, &mut self.report, intents);
        });
        let free = matches!(input.selection, Selection::None);
        if is_wide && (size.y > 460.0 && free || size.y > 780.0) {
            column("minimap", Align2::RIGHT_BOTTOM, vec2(-EDGE, -EDGE), &mut |ui| {
                self.minimap.show(ui, colors, input, &mut self.report, intents);
            });
        }
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
                let (least, most) = hud.clear_part(vec2(width, height), true);
                assert!(
                    least.cmplt(most).all() || width < 100.0,
                    "{width} x {height}: {least} to {most}"
                );
                assert!(least.cmpge(Vec2::ZERO).all() && most.y <= 1.0);
            }
        }
        let (least, most) = hud.clear_part(vec2(3840.0, 2160.0), false);
        assert!(
            (most - least).min_element() > 0.6,
            "panels cover a small part of a large window"
        );
    }
}
