//! The time-line of a recording: where it stands, what happened when, and jumps by mouse.
//!
//! ```text
//! 1 200 u   ▏  ┆ ╻   ╻┆  ┆     ▼   ╻      ●    ┆            ♛▕   90 000 u
//!           deaths below, elevations above, ▼ another speed, bright between the ends of a repeated span
//! ```

use egui::{
    Align, Align2, Area, Color32, Context, Id, Layout, Order, Pos2, Rect, RichText, Sense, Shape, Stroke, Ui,
    pos2, vec2,
};
use trantor_client::Recording;
use trantor_protocol::wire::{Mark, MarkKind};
use trantor_time::GameTime;

use super::layout::Plan;
use super::report::Report;
use super::speed::grouped;
use super::theme::{self, Colors};
use super::{HudInput, directions, icons};
use crate::input::Action;
use crate::intent::Intent;

/// Height of the line with its marks, in points.
const HEIGHT: f32 = 30.0;
/// A time-line less wide than this, in points, has no buttons: there are keys for all of them.
const BUTTONS_FROM: f32 = 340.0;

/// Shows the time-line, if what is watched is a recording, between the columns; answers what it covers.
pub(super) fn show(
    context: &Context,
    colors: &Colors,
    input: &HudInput<'_>,
    report: &mut Report,
    intents: &mut Vec<Intent>,
) -> Option<Rect> {
    let recording = input.recording?;
    let margin = egui::Margin::symmetric(12, 7);
    let size = context.content_rect().size();
    let (left, right, bottom) = Plan::new(size, input.scene.teams.len()).timeline(input.selection);
    let room = right - left - margin.sum().x - 2.0;
    let laid = Area::new(Id::unique("timeline"))
        .pivot(Align2::LEFT_BOTTOM)
        .fixed_pos(pos2(left, bottom))
        .constrain(false)
        .order(Order::Middle)
        .fade_in(false)
        .show(context, |ui| {
            colors.card().inner_margin(margin).show(ui, |ui| {
                ui.set_width(room.max(1.0));
                ui.spacing_mut().item_spacing.y = 3.0;
                let shown = recording.target().unwrap_or(input.scene.clock.game);
                words(ui, colors, input, recording, shown, intents);
                line(ui, colors, input, recording, shown, report, intents);
            });
        });
    report.widget("timeline-card", laid.response.rect);
    Some(laid.response.rect)
}

fn words(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    recording: &Recording,
    shown: GameTime,
    intents: &mut Vec<Intent>,
) {
    let has_buttons = ui.available_width() >= BUTTONS_FROM;
    ui.horizontal(|ui| {
        let text = format!("{} u", grouped(shown.whole_units()));
        ui.label(RichText::new(text).monospace().color(colors.text));
        if recording.target().is_some() {
            ui.label(RichText::new("jumping …").small().color(colors.gold));
        }
        let (from, to) = input.repeat.ends();
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().button_padding = vec2(5.0, 1.0);
            let end = format!("{} u", grouped(recording.end().whole_units()));
            ui.label(RichText::new(end).monospace().color(colors.weak));
            if !has_buttons {
                return;
            }
            // Or the last of them and the end would read as one.
            ui.add_space(10.0);
            for (action, words, is_on) in [
                (Action::RepeatNothing, "play on", false),
                (Action::RepeatTo, "to here", to.is_some()),
                (Action::RepeatFrom, "repeat from here", from.is_some()),
            ] {
                if action == Action::RepeatNothing && from.is_none() && to.is_none() {
                    continue;
                }
                let text = RichText::new(words).size(10.0);
                if ui.add(theme::toggle(colors, is_on, text)).clicked() {
                    intents.push(Intent::Do(action));
                }
            }
        });
    });
}

fn line(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    recording: &Recording,
    shown: GameTime,
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::click_and_drag());
    report.widget("timeline", rect);
    let scale = Scale::new(recording, rect);
    // Room for the knob at either end.
    let painter = ui.painter_at(rect.expand(8.0));
    let middle = rect.center().y;
    let rail = Rect::from_min_max(pos2(rect.left(), middle - 2.5), pos2(rect.right(), middle + 2.5));
    painter.rect_filled(rail, 2.5, colors.well);
    painter.rect_filled(
        rail.with_max_x(scale.x_of(shown)),
        2.5,
        colors.accent.gamma_multiply(0.55),
    );
    let (from, to) = input.repeat.ends();
    if from.is_some() || to.is_some() {
        let left = from.map_or(rect.left(), |from| scale.x_of(from));
        let right = to.map_or(rect.right(), |to| scale.x_of(to));
        let span = Rect::from_min_max(pos2(left, rect.top()), pos2(right, rect.bottom()));
        painter.rect_filled(span, 3.0, colors.accent.gamma_multiply(0.16));
    }
    for mark in recording.marks() {
        paint_mark(&painter, colors, mark, scale.x_of(mark.at), rect);
    }
    let at = pos2(scale.x_of(shown), middle);
    painter.circle(at, 6.0, colors.card.to_opaque(), Stroke::new(1.5, colors.text));
    if let Some(pointer) = response.interact_pointer_pos()
        && (response.clicked() || response.dragged())
    {
        intents.push(Intent::Seek(scale.moment_at(pointer.x)));
    }
    if let Some(pointer) = response.hover_pos() {
        let words = words_at(recording, input, &scale, pointer.x);
        let font = egui::TextStyle::Body.resolve(ui.style());
        response.on_hover_text_at_pointer(directions::job(&words, font, egui::Color32::PLACEHOLDER));
    }
}

/// Between moments of a recording and places on the screen.
#[derive(Clone, Copy, Debug)]
struct Scale {
    begin: GameTime,
    end: GameTime,
    left: f32,
    width: f32,
}

impl Scale {
    fn new(recording: &Recording, rect: Rect) -> Self {
        Self {
            begin: recording.begin(),
            end: recording.end(),
            left: rect.left(),
            width: rect.width().max(1.0),
        }
    }

    fn x_of(&self, at: GameTime) -> f32 {
        let length = (self.end - self.begin).as_units_f64().max(1e-9);
        let share = (at - self.begin).as_units_f64() / length;
        self.left + self.width * share.clamp(0.0, 1.0) as f32
    }

    /// The moment at a place, to the whole unit.
    fn moment_at(&self, x: f32) -> GameTime {
        let share = f64::from(((x - self.left) / self.width).clamp(0.0, 1.0));
        let units = self.begin.as_units_f64() + share * (self.end - self.begin).as_units_f64();
        GameTime::from_units(units.round() as i64).clamp(self.begin, self.end)
    }
}

fn paint_mark(painter: &egui::Painter, colors: &Colors, mark: &Mark, x: f32, rect: Rect) {
    let middle = rect.center().y;
    // What stands for many is higher, up to the edge.
    let reach = 5.0 + (mark.count as f32).log2().min(4.0) * 1.5;
    let tick = |from: f32, to: f32, shade: Color32| {
        let under = colors.rim_under(2.0, shade);
        if under != Stroke::NONE {
            painter.line_segment([pos2(x, from), pos2(x, to)], under);
        }
        painter.line_segment([pos2(x, from), pos2(x, to)], Stroke::new(2.0, shade));
    };
    match mark.kind {
        MarkKind::Died { team } => tick(middle + 4.0, middle + 4.0 + reach, colors.team(team)),
        MarkKind::Rose { team, level } => {
            let top = middle - 4.0 - reach;
            tick(middle - 4.0, top, colors.team(team));
            if level.get() == 8 {
                let gold = colors.gold_fill;
                painter.circle(pos2(x, top), 2.2, gold, colors.rim(gold));
            }
        }
        MarkKind::Speed { .. } => {
            let top = rect.top();
            let points: Vec<Pos2> = vec![pos2(x - 3.0, top), pos2(x + 3.0, top), pos2(x, top + 5.0)];
            painter.add(Shape::convex_polygon(points, colors.accent, Stroke::NONE));
        }
        MarkKind::Paused | MarkKind::Resumed => tick(middle - 3.0, middle + 3.0, colors.weak),
        MarkKind::Won { .. } => {
            let at = pos2(x, rect.top() + 5.0);
            icons::crown(painter, at, 12.0, colors.gold_fill, colors);
        }
    }
}

/// A mark this near to the pointer is meant, in points.
const NEAR_POINTS: f32 = 3.0;
/// Marks named at the pointer: where more are near, the picture tells more than their names.
const NAMED_MAX: usize = 4;

/// The moment under the pointer, and what happened near it.
fn words_at(recording: &Recording, input: &HudInput<'_>, scale: &Scale, x: f32) -> String {
    let mut words = format!("{} u", grouped(scale.moment_at(x).whole_units()));
    let near = recording
        .marks()
        .iter()
        .filter(|mark| (scale.x_of(mark.at) - x).abs() <= NEAR_POINTS);
    for mark in near.take(NAMED_MAX) {
        words.push('\n');
        words.push_str(&mark_words(mark, input));
    }
    words
}

fn mark_words(mark: &Mark, input: &HudInput<'_>) -> String {
    let team = |team: trantor_model::TeamId| {
        let known = input.scene.teams.get(usize::from(team.0));
        known.map_or_else(|| "somebody".to_owned(), |team| team.name.to_string())
    };
    let what = match mark.kind {
        MarkKind::Died { team: of } => format!("{}: a death", team(of)),
        MarkKind::Rose { team: of, level } => format!("{}: level {} reached", team(of), level.get()),
        MarkKind::Speed { frequency } => format!("speed {}", frequency.get()),
        MarkKind::Paused => "paused".to_owned(),
        MarkKind::Resumed => "resumed".to_owned(),
        MarkKind::Won { team: of } => format!("{} wins", team(of)),
    };
    match mark.count {
        1 => what,
        count => format!("{what}, {count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_moments_belong_together() {
        let scale = Scale {
            begin: GameTime::from_units(1_000),
            end: GameTime::from_units(5_000),
            left: 100.0,
            width: 400.0,
        };
        for (x, units) in [(100.0, 1_000), (300.0, 3_000), (500.0, 5_000)] {
            assert_eq!(scale.moment_at(x), GameTime::from_units(units));
            assert!((scale.x_of(GameTime::from_units(units)) - x).abs() < 0.01);
        }
        assert_eq!(
            scale.moment_at(-50.0),
            GameTime::from_units(1_000),
            "outside stands for the nearer end"
        );
        assert_eq!(scale.moment_at(9_999.0), GameTime::from_units(5_000));
        let empty = Scale {
            end: GameTime::from_units(1_000),
            ..scale
        };
        assert_eq!(empty.moment_at(300.0), GameTime::from_units(1_000));
    }
}
