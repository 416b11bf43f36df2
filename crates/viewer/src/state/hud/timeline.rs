//! The time-line of a recording: position, events, and jumps with the mouse.
//!
//! ```text
//! 0:12   ▏  ┆ ╻   ╻┆  ┆     ▼   ╻      ●    ┆            ♛▕   15:00
//!        deaths below, elevations above, ▼ another speed, bright between the ends of a repeated span
//! ```

use egui::{Align, Align2, Color32, Context, Layout, Margin, Order, Painter, Rect, RichText, Sense, Shape};
use egui::{Rangef, Stroke, Ui, pos2, remap_clamp, vec2};
use trantor_client::Recording;
use trantor_model::{Control, Mark, MarkKind};
use trantor_time::{Frequency, GameTime};

use super::icons::{CROWN, Pen};
use super::theme::{self, Colors, grouped, match_time};
use super::{PanelContext, words};
use crate::input::Action;
use crate::intent::Intent;

/// Height of the line with its marks, in points.
const HEIGHT: f32 = 30.0;
/// Least width of a time-line with buttons, in points: there are keys for all of them.
const BUTTONS_FROM: f32 = 340.0;
/// Units a second at which match time passes as it is shown.
const USUAL_SPEED: u32 = 100;
/// Marks this near to the pointer are named, in points.
const NEAR_POINTS: f32 = 3.0;
/// Marks named at once: a longer list covers the picture.
const NAMED_MAX: usize = 4;

/// Shows the time-line of a recording, where there is room for it; returns its rectangle.
pub(super) fn show(context: &Context, cx: &mut PanelContext<'_>) -> Option<Rect> {
    let recording = cx.state.source.recording();
    let recording = recording.filter(|_| cx.plan.has_timeline())?;
    let margin = Margin::symmetric(12, 7);
    let (left, right, bottom) = cx.plan.bottom(false, cx.state.selection);
    let room = right - left - margin.sum().x - 2.0;
    let card = cx.colors.card().inner_margin(margin);
    let area = theme::area("timeline", Order::Middle, Align2::LEFT_BOTTOM, pos2(left, bottom));
    let laid = theme::show_card(context, area, card, |ui| {
        ui.set_width(room.max(1.0));
        ui.spacing_mut().item_spacing.y = 3.0;
        let shown = recording.target().unwrap_or(cx.scene().clock.game);
        header(ui, cx, recording, shown);
        line(ui, cx, recording, shown);
    });
    Some(laid.response.rect)
}

fn header(ui: &mut Ui, cx: &mut PanelContext<'_>, recording: &Recording, shown: GameTime) {
    let has_buttons = ui.available_width() >= BUTTONS_FROM;
    let time = |ui: &mut Ui, at: GameTime, color| {
        let time = RichText::new(match_time(at.whole_units()))
            .monospace()
            .color(color);
        let units = format!("unit {}", grouped(at.whole_units()));
        ui.label(time).on_hover_text(units);
    };
    let (from, to) = cx.state.repeat.ends();
    ui.horizontal(|ui| {
        time(ui, shown, cx.colors.text);
        if recording.target().is_some() {
            ui.label(RichText::new("jumping …").small().color(cx.colors.gold));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().button_padding = vec2(5.0, 1.0);
            time(ui, recording.end(), cx.colors.weak);
            if !has_buttons {
                return;
            }
            ui.add_space(10.0);
            recorded_speed(ui, cx, recording);
            let repeats = from.is_some() || to.is_some();
            for (action, words, is_on, is_shown) in [
                (Action::RepeatNothing, "play on", false, repeats),
                (Action::RepeatTo, "to here", to.is_some(), true),
                (Action::RepeatFrom, "repeat from here", from.is_some(), true),
            ] {
                let words = RichText::new(words).size(10.0);
                if is_shown && ui.add(theme::toggle(&cx.colors, is_on, words)).clicked() {
                    cx.request(Intent::Do(action));
                }
            }
        });
    });
}

/// A button for the speed at which it was recorded, and there, for the usual one.
fn recorded_speed(ui: &mut Ui, cx: &mut PanelContext<'_>, recording: &Recording) {
    let Some(recorded) = recording.recorded_speed().map(Frequency::get) else {
        return;
    };
    let is_so = cx.scene().clock.frequency == recorded;
    let (speed, words) = match is_so {
        false => (recorded, format!("as recorded: {}/s", grouped(recorded.into()))),
        true => (USUAL_SPEED, format!("{USUAL_SPEED}/s")),
    };
    let words = RichText::new(words).size(10.0);
    if recorded != USUAL_SPEED && ui.add(theme::toggle(&cx.colors, false, words)).clicked() {
        cx.request(Intent::Control(Control::SetFrequency(speed)));
    }
}

fn line(ui: &mut Ui, cx: &mut PanelContext<'_>, recording: &Recording, shown: GameTime) {
    let size = vec2(ui.available_width(), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    cx.report.widget("timeline", rect);
    // Between game time and places on the screen.
    let (begin, end) = (recording.begin(), recording.end());
    let units = begin.as_units_f64()..=end.as_units_f64();
    let pixels = f64::from(rect.left())..=f64::from(rect.right());
    let x_of = |at: GameTime| remap_clamp(at.as_units_f64(), units.clone(), pixels.clone()) as f32;
    let moment_at = |x: f32| {
        let units = remap_clamp(f64::from(x), pixels.clone(), units.clone());
        GameTime::from_units(units.round() as i64).clamp(begin, end)
    };
    let (painter, colors) = (ui.painter_at(rect.expand(8.0)), &cx.colors);
    let middle = rect.center().y;
    let rail = Rect::from_min_max(pos2(rect.left(), middle - 2.5), pos2(rect.right(), middle + 2.5));
    painter.rect_filled(rail, 2.5, colors.well);
    let done = rail.with_max_x(x_of(shown));
    painter.rect_filled(done, 2.5, colors.accent.gamma_multiply(0.55));
    let (from, to) = cx.state.repeat.ends();
    if from.is_some() || to.is_some() {
        let left = from.map_or(rect.left(), x_of);
        let right = to.map_or(rect.right(), x_of);
        let span = rect.with_min_x(left).with_max_x(right);
        painter.rect_filled(span, 3.0, colors.accent.gamma_multiply(0.16));
    }
    for mark in recording.marks() {
        paint_mark(&painter, colors, mark, x_of(mark.at), rect);
    }
    let at = pos2(x_of(shown), middle);
    painter.circle(at, 6.0, colors.card.to_opaque(), Stroke::new(1.5, colors.text));
    if let Some(pointer) = response.interact_pointer_pos()
        && (response.clicked() || response.dragged())
    {
        cx.request(Intent::Control(Control::Seek(moment_at(pointer.x))));
    }
    if let Some(pointer) = response.hover_pos() {
        let units = moment_at(pointer.x).whole_units();
        let mut words = format!("{} · unit {}", match_time(units), grouped(units));
        let marks = recording.marks().iter();
        let near = marks.filter(|mark| (x_of(mark.at) - pointer.x).abs() <= NEAR_POINTS);
        for mark in near.take(NAMED_MAX) {
            words.push('\n');
            words.push_str(&mark_text(mark, cx));
        }
        response.on_hover_text_at_pointer(words::body(ui, &words));
    }
}

fn paint_mark(painter: &Painter, colors: &Colors, mark: &Mark, x: f32, rect: Rect) {
    let middle = rect.center().y;
    // A mark of many events is higher.
    let reach = 5.0 + (mark.count as f32).log2().min(4.0) * 1.5;
    let tick = |from: f32, to: f32, shade: Color32| {
        painter.vline(x, Rangef::new(from, to), Stroke::new(2.0, colors.legible(shade)));
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
            let points = vec![pos2(x - 3.0, top), pos2(x + 3.0, top), pos2(x, top + 5.0)];
            painter.add(Shape::convex_polygon(points, colors.accent, Stroke::NONE));
        }
        MarkKind::Paused | MarkKind::Resumed => tick(middle - 3.0, middle + 3.0, colors.weak),
        MarkKind::Won { .. } => Pen::new(painter, pos2(x, rect.top() + 5.0), 12.0).icon(CROWN, colors.gold),
    }
}

fn mark_text(mark: &Mark, cx: &PanelContext<'_>) -> String {
    let what = match mark.kind {
        MarkKind::Died { team } => format!("{}: a death", cx.team_name(team)),
        MarkKind::Rose { team, level } => {
            format!("{}: level {} reached", cx.team_name(team), level.get())
        }
        MarkKind::Speed { frequency } => format!("speed {}", frequency.get()),
        MarkKind::Paused => "paused".to_owned(),
        MarkKind::Resumed => "resumed".to_owned(),
        MarkKind::Won { team } => format!("{} wins", cx.team_name(team)),
    };
    match mark.count {
        1 => what,
        count => format!("{what}, {count} times"),
    }
}
