//! The debugging view: figures of the inside, the frame-time plot, the log, and the command line.
//!
//! It shows [`Figures`] and passes lines on; what the figures are and what commands do is the game loop's.

use egui::{
    Align2, Area, Color32, Context, EventFilter, FontId, Id, Key, Modifiers, Order, RichText, ScrollArea,
    Stroke, Ui, pos2, vec2,
};

use super::HudInput;
use super::columns;
use super::figures::{FRAMES_KEPT, Figures, Group};
use super::layout::KEYS_HEIGHT;
use super::report::Report;
use super::theme::{self, Colors};
use crate::console::{Console, Said};

/// Width of the view, in points.
const WIDTH: f32 = 640.0;
/// From the view to the window's edges, both together, in points.
const AROUND: f32 = 16.0;
/// Height of the command line, in points.
const LINE_HEIGHT: f32 = 26.0;
/// Least width of a column of figures, and what is between columns, in points.
const COLUMN_LEAST: f32 = 165.0;
const COLUMN_GAP: f32 = 20.0;
/// Between a group and the heading of the next one, and below all of them, in points.
const GROUP_GAP: f32 = 9.0;
/// Height of the words above the bars of frames, in points.
const SCALE_HEIGHT: f32 = 18.0;
/// Height of what was said, in points.
const SAID_HEIGHT: f32 = 84.0;

/// Keys that belong to the command line while it has the focus: tab completes, and does not go on to the next widget.
const KEYS_KEPT: EventFilter = EventFilter {
    tab: true,
    vertical_arrows: true,
    horizontal_arrows: true,
    escape: false,
};

#[derive(Debug, Default)]
pub(super) struct DebugView {
    /// Whether keys shall go into the command line from the next frame on.
    wants_focus: bool,
}

impl DebugView {
    /// Lets keys go into the command line.
    pub(super) fn focus(&mut self) {
        self.wants_focus = true;
    }

    pub(super) fn show(
        &mut self,
        context: &Context,
        colors: &Colors,
        input: &HudInput<'_>,
        console: &mut Console,
        report: &mut Report,
    ) {
        let card = colors.upper_card();
        let around = egui::Vec2::splat(AROUND) + vec2(0.0, KEYS_HEIGHT) + card.total_margin().sum();
        let room = (context.content_rect().size() - around).max(egui::Vec2::splat(1.0));
        let response = Area::new(Id::unique("debug"))
            .anchor(Align2::CENTER_BOTTOM, vec2(0.0, -KEYS_HEIGHT))
            .order(Order::Foreground)
            .constrain(false)
            .show(context, |ui| {
                card.show(ui, |ui| {
                    ui.set_width(room.x.min(WIDTH));
                    ui.spacing_mut().item_spacing.y = 2.0;
                    // All but the command line is scrolled where it does not fit.
                    theme::scrolled(ui, (room.y - LINE_HEIGHT).max(1.0), |ui| {
                        figures(ui, colors, input.figures);
                        plot(ui, colors, input.figures);
                        for line in &input.figures.log {
                            ui.add(egui::Label::new(small(line, colors.gold)).truncate());
                        }
                        said(ui, colors, console);
                    });
                    self.line(ui, colors, console, report);
                });
            });
        report.widget("debug", response.response.rect);
    }

    /// The command line.
    fn line(&mut self, ui: &mut Ui, colors: &Colors, console: &mut Console, report: &mut Report) {
        let id = Id::unique("command");
        let has_focus = ui.memory(|memory| memory.has_focus(id));
        // These keys would else move the focus or the cursor.
        let (tab, up, down) = ui.input_mut(|keys| {
            let mut pressed = |key| has_focus && keys.consume_key(Modifiers::NONE, key);
            (pressed(Key::Tab), pressed(Key::ArrowUp), pressed(Key::ArrowDown))
        });
        let response = ui
            .horizontal(|ui| {
                ui.label(RichText::new(">").monospace().color(colors.accent));
                let field = egui::TextEdit::singleline(&mut console.line)
                    .id(id)
                    .font(FontId::monospace(12.0))
                    .hint_text("help, speed 500, rate hud 10, lag 100 20 …   tab completes")
                    .event_filter(KEYS_KEPT)
                    .desired_width(f32::INFINITY);
                ui.add(field)
            })
            .inner;
        report.widget("command-line", response.rect);
        report.state("command-line-focus", response.has_focus());
        // Only now is in the line what was typed before them.
        if tab {
            console.complete();
        }
        if up || down {
            console.look(up);
        }
        if std::mem::take(&mut console.was_replaced) {
            cursor_to_end(ui.ctx(), id, console.line.chars().count());
        }
        if response.lost_focus() && ui.input(|keys| keys.key_pressed(Key::Enter)) {
            console.enter();
            self.wants_focus = true;
        }
        if std::mem::take(&mut self.wants_focus) {
            response.request_focus();
        }
    }
}

fn cursor_to_end(context: &Context, id: Id, chars: usize) {
    let mut state = egui::text_edit::TextEditState::load(context, id).unwrap_or_default();
    let end = egui::text::CCursor::new(chars);
    state
        .cursor
        .set_char_range(Some(egui::text::CCursorRange::one(end)));
    state.store(context, id);
}

fn small(text: &str, color: Color32) -> RichText {
    RichText::new(text).monospace().size(10.0).color(color)
}

/// Groups side by side, in up to three columns as even as they can be in their order.
fn figures(ui: &mut Ui, colors: &Colors, figures: &Figures) {
    /// More would be too narrow for the longest lines.
    const COLUMNS_MAX: usize = 3;
    let count = columns::fitting(ui.available_width(), COLUMN_LEAST, COLUMN_GAP, COLUMNS_MAX);
    let heights: Vec<usize> = figures.groups.iter().map(|group| group.rows.len() + 2).collect();
    let places = columns::even(&heights, count);
    let line = ui.spacing().item_spacing.y;
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = COLUMN_GAP;
        ui.columns(count, |columns| {
            let mut last = None;
            for (group, place) in figures.groups.iter().zip(places) {
                let column = &mut columns[place];
                column.spacing_mut().item_spacing = vec2(8.0, line);
                if last.replace(place) == Some(place) {
                    column.add_space(GROUP_GAP);
                }
                self::group(column, colors, group);
            }
        });
    });
    ui.add_space(GROUP_GAP);
}

fn group(ui: &mut Ui, colors: &Colors, group: &Group) {
    ui.spacing_mut().interact_size.y = 13.0;
    theme::heading(ui, colors, group.title);
    for row in &group.rows {
        let color = if row.is_bad { colors.gold } else { colors.text };
        ui.horizontal(|ui| {
            ui.label(RichText::new(&row.name).size(10.5).color(colors.weak));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let value = RichText::new(&row.value).size(10.5).color(color);
                ui.add(egui::Label::new(value).truncate());
            });
        });
    }
}

/// A bar for each frame, a line at the time that there is for one.
fn plot(ui: &mut Ui, colors: &Colors, figures: &Figures) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 60.0), egui::Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 5.0, colors.well);
    let period = figures.period_ms;
    let most = figures.frame_ms.iter().copied().fold(period * 1.5, f32::max);
    // The highest bar ends below what is written.
    let highest = rect.height() - SCALE_HEIGHT;
    let height = |ms: f32| rect.bottom() - highest * (ms / most);
    painter.line_segment(
        [
            pos2(rect.left(), height(period)),
            pos2(rect.right(), height(period)),
        ],
        Stroke::new(1.0, colors.accent.gamma_multiply(0.6)),
    );
    let step = rect.width() / FRAMES_KEPT as f32;
    for (place, &ms) in figures.frame_ms.iter().enumerate() {
        let left = rect.left() + place as f32 * step;
        let color: Color32 = if ms > period { colors.gold } else { colors.accent };
        let bar = egui::Rect::from_min_max(pos2(left, height(ms)), pos2(left + step.max(1.0), rect.bottom()));
        painter.rect_filled(bar, 0.0, color.gamma_multiply(0.8));
    }
    painter.text(
        rect.left_top() + vec2(5.0, 3.0),
        Align2::LEFT_TOP,
        format!("{most:.1} ms at most, {period:.1} ms to keep the rate"),
        FontId::proportional(10.0),
        colors.weak,
    );
}

fn said(ui: &mut Ui, colors: &Colors, console: &Console) {
    if console.said().next().is_none() {
        return;
    }
    ui.add_space(3.0);
    ScrollArea::vertical()
        .max_height(SAID_HEIGHT)
        .stick_to_bottom(true)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for said in console.said() {
                let text = match said {
                    Said::Asked(text) => small(&format!("> {text}"), colors.weak),
                    Said::Answered(text) => small(text, colors.text),
                    Said::Refused(text) => small(text, colors.gold),
                };
                ui.add(egui::Label::new(text).wrap());
            }
        });
}
