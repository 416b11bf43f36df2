//! The debugging view: figures, frame times, the log and the command line; and the command line by itself.
//!
//! It shows [`Figures`] and passes lines on; the game loop collects figures and executes commands.

use egui::{
    Align2, Color32, Context, EventFilter, FontId, Id, Key, Label, Modifiers, Order, Rect, RichText,
    ScrollArea, Sense, Sides, Stroke, TextEdit, Ui, Vec2, pos2, vec2,
};

use super::PanelContext;
use super::layout::{EDGE, KEYS_HEIGHT};
use super::theme::{self, Colors, text, truncated};
use crate::console::{Console, Output};
use crate::figures::{FRAMES_KEPT, Figures, Group};

const WIDTH: f32 = 640.0;
const PALETTE_WIDTH: f32 = 560.0;
const PALETTE_HEIGHT: f32 = 280.0;
/// Below the cards at the top of a wide window, where the search is.
const PALETTE_TOP: f32 = 70.0;
/// From the view to the window's edges, both together, in points.
const AROUND: f32 = 16.0;
const LINE_HEIGHT: f32 = 26.0;
const COLUMN_LEAST: f32 = 165.0;
const COLUMN_GAP: f32 = 20.0;
const SCALE_HEIGHT: f32 = 18.0;
const ANSWERS_HEIGHT: f32 = 84.0;
/// Keys that stay in the command line while it has the focus.
const KEYS_KEPT: EventFilter = EventFilter {
    tab: true,
    vertical_arrows: true,
    horizontal_arrows: true,
    escape: false,
};

/// `wants_focus`: whether the command line gets the focus.
pub(super) fn show(
    context: &Context,
    cx: &mut PanelContext<'_>,
    console: &mut Console,
    wants_focus: &mut bool,
) {
    let card = cx.colors.upper_card();
    let around = Vec2::splat(AROUND) + vec2(0.0, KEYS_HEIGHT) + card.total_margin().sum();
    let room = (context.content_rect().size() - around).max(Vec2::splat(1.0));
    let at = context.content_rect().center_bottom() - vec2(0.0, KEYS_HEIGHT);
    let area = theme::area("debug", Order::Foreground, Align2::CENTER_BOTTOM, at).fade_in(true);
    let (colors, shown) = (cx.colors, cx.figures);
    theme::show_card(context, area, card, |ui| {
        ui.set_width(room.x.min(WIDTH));
        ui.spacing_mut().item_spacing.y = 2.0;
        // The command line stays in view; the rest scrolls.
        theme::scrolled(ui, (room.y - LINE_HEIGHT).max(1.0), |ui| {
            figures(ui, &colors, shown);
            frame_times(ui, &colors, shown);
            for line in &shown.log {
                truncated(ui, text(line, 10.0, colors.gold).monospace());
            }
            answers(ui, &colors, console);
        });
        command_line(ui, cx, console, wants_focus);
    });
}

/// The command line alone, with what can follow or the last answer below it; whether it stays open.
pub(super) fn palette(
    context: &Context,
    cx: &mut PanelContext<'_>,
    console: &mut Console,
    wants_focus: &mut bool,
) -> bool {
    let card = cx.colors.upper_card();
    let top = if cx.plan.is_wide() { PALETTE_TOP } else { EDGE };
    let around = Vec2::splat(AROUND) + vec2(0.0, top) + card.total_margin().sum();
    let room = (context.content_rect().size() - around).max(Vec2::splat(1.0));
    let at = context.content_rect().center_top() + vec2(0.0, top);
    let area = theme::area("palette", Order::Foreground, Align2::CENTER_TOP, at);
    let colors = cx.colors;
    let was_empty = console.line.trim().is_empty();
    let laid = theme::show_card(context, area, card, |ui| {
        ui.set_width(room.x.min(PALETTE_WIDTH));
        command_line(ui, cx, console, wants_focus);
        // Text and Enter may come in one frame.
        let is_left = was_empty && !console.has_entered();
        let is_open = !(is_left && ui.input(|keys| keys.key_pressed(Key::Enter)));
        let below = match console.line.trim().is_empty() {
            true => console.last_answer().cloned().collect(),
            false => console.suggestions(),
        };
        let height = (room.y - LINE_HEIGHT).clamp(1.0, PALETTE_HEIGHT);
        theme::scrolled(ui, height, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            for line in &below {
                output_line(ui, line, 11.0, [colors.text, colors.text, colors.gold]);
            }
        });
        is_open
    });
    laid.inner
}

fn command_line(ui: &mut Ui, cx: &mut PanelContext<'_>, console: &mut Console, wants_focus: &mut bool) {
    let id = Id::unique("command");
    let has_focus = ui.memory(|memory| memory.has_focus(id));
    // These keys would else move the focus or the cursor.
    let (tab, up, down) = ui.input_mut(|keys| {
        let mut pressed = |key| has_focus && keys.consume_key(Modifiers::NONE, key);
        (pressed(Key::Tab), pressed(Key::ArrowUp), pressed(Key::ArrowDown))
    });
    let field = TextEdit::singleline(&mut console.line)
        .id(id)
        .font(FontId::monospace(12.0))
        .hint_text("help, speed 500, rate hud 10 …   tab completes")
        .event_filter(KEYS_KEPT)
        .desired_width(f32::INFINITY);
    let prompt = RichText::new(">").monospace().color(cx.colors.accent);
    let line = ui.horizontal(|ui| {
        ui.label(prompt);
        ui.add(field)
    });
    let response = line.inner;
    cx.report.state("command-line-focus", response.has_focus());
    // The field has applied the text typed before these keys.
    if tab {
        console.complete();
    }
    if up || down {
        console.recall(up);
    }
    if std::mem::take(&mut console.was_replaced) {
        cursor_to_end(ui.ctx(), id, console.line.chars().count());
    }
    if response.lost_focus() && ui.input(|keys| keys.key_pressed(Key::Enter)) {
        console.enter();
        *wants_focus = true;
    }
    // The first layout of an area only measures it.
    if ui.is_visible() && std::mem::take(wants_focus) {
        response.request_focus();
    }
}

fn cursor_to_end(context: &Context, id: Id, chars: usize) {
    let mut state = egui::text_edit::TextEditState::load(context, id).unwrap_or_default();
    let end = egui::text::CCursorRange::one(egui::text::CCursor::new(chars));
    state.cursor.set_char_range(Some(end));
    state.store(context, id);
}

fn figures(ui: &mut Ui, colors: &Colors, figures: &Figures) {
    let count = theme::columns_in(ui.available_width(), COLUMN_LEAST, COLUMN_GAP);
    let heights = figures.groups.iter().map(|group| group.rows.len() + 2);
    theme::in_columns(ui, (count, COLUMN_GAP), heights.collect(), |ui, place| {
        ui.spacing_mut().item_spacing = vec2(8.0, 2.0);
        group(ui, colors, &figures.groups[place]);
        ui.add_space(9.0);
    });
}

fn group(ui: &mut Ui, colors: &Colors, group: &Group) {
    ui.spacing_mut().interact_size.y = 13.0;
    theme::heading(ui, colors, group.title);
    for row in &group.rows {
        let color = if row.is_bad { colors.gold } else { colors.text };
        let name = |ui: &mut Ui| ui.label(text(&row.name, 10.5, colors.weak));
        let value = |ui: &mut Ui| truncated(ui, text(&row.value, 10.5, color));
        Sides::new().shrink_right().show(ui, name, value);
    }
}

/// A bar for each frame, and a line at the frame interval.
fn frame_times(ui: &mut Ui, colors: &Colors, figures: &Figures) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 60.0), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 5.0, colors.well);
    let period = figures.period_ms;
    let most = figures.frame_ms.iter().copied().fold(period * 1.5, f32::max);
    let y_of = |ms: f32| rect.bottom() - (rect.height() - SCALE_HEIGHT) * (ms / most);
    let line = Stroke::new(1.0, colors.accent.gamma_multiply(0.6));
    painter.hline(rect.x_range(), y_of(period), line);
    let step = rect.width() / FRAMES_KEPT as f32;
    for (place, &ms) in figures.frame_ms.iter().enumerate() {
        let left = rect.left() + place as f32 * step;
        let color: Color32 = if ms > period { colors.gold } else { colors.accent };
        let bar = Rect::from_min_max(pos2(left, y_of(ms)), pos2(left + step.max(1.0), rect.bottom()));
        painter.rect_filled(bar, 0.0, color.gamma_multiply(0.8));
    }
    let words = format!("{most:.1} ms at most, {period:.1} ms to keep the rate");
    let (at, font) = (rect.left_top() + vec2(5.0, 3.0), FontId::proportional(10.0));
    painter.text(at, Align2::LEFT_TOP, words, font, colors.weak);
}

fn answers(ui: &mut Ui, colors: &Colors, console: &Console) {
    if console.output.is_empty() {
        return;
    }
    ui.add_space(3.0);
    let scroll = ScrollArea::vertical().max_height(ANSWERS_HEIGHT);
    let scroll = scroll.stick_to_bottom(true).auto_shrink([false, true]);
    scroll.show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for line in &console.output {
            output_line(ui, line, 10.0, [colors.weak, colors.text, colors.gold]);
        }
    });
}

/// Shows a line; the shades are those of commands, of answers and of errors.
fn output_line(ui: &mut Ui, line: &Output, size: f32, [command, answer, error]: [Color32; 3]) {
    let words = match line {
        Output::Command(line) => text(format!("> {line}"), size, command),
        Output::Answer(line) => text(line, size, answer),
        Output::Error(line) => text(line, size, error),
    };
    ui.add(Label::new(words.monospace()).wrap());
}
