//! The legend of a heat map: its resource, and the count that each colour stands for.

use egui::{Align2, Context, FontId, Label, Margin, Order, Rect, Sense, pos2, vec2};
use trantor_render::picture::ground::{PaintMode, heat_color};

use super::PanelContext;
use super::theme::{self, color, ink_on};

/// The count of each colour; the last one stands for more as well.
const COUNTS: [u32; 7] = [0, 1, 2, 4, 8, 16, 32];
/// Width of a colour at least and at most, and its height, in points.
const WIDTH_LEAST: f32 = 15.0;
const WIDTH_MOST: f32 = 26.0;
const HEIGHT: f32 = 15.0;

/// Shows it above the time-line while there is a heat map; returns its rectangle.
pub(super) fn show(context: &Context, cx: &PanelContext<'_>) -> Option<Rect> {
    let PaintMode::Heat(resource) = cx.state.paint_mode else {
        return None;
    };
    let (left, right, bottom) = cx
        .plan
        .bottom(cx.state.source.recording().is_some(), cx.state.selection);
    let card = cx.colors.card().inner_margin(Margin::symmetric(12, 6));
    let around = card.total_margin().sum().x;
    let area = theme::area("legend", Order::Middle).interactable(false);
    let area = area
        .pivot(Align2::CENTER_BOTTOM)
        .fixed_pos(pos2(f32::midpoint(left, right), bottom));
    let content = |ui: &mut egui::Ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        theme::icon(ui, vec2(12.0, HEIGHT), 12.0, |pen| pen.resource(resource));
        ui.add(Label::new(format!("heat: {}", resource.name())).extend());
        let room = right - left - around - ui.min_rect().width() - 6.0;
        let count = COUNTS.len() as f32;
        let width = (room / count).clamp(WIDTH_LEAST, WIDTH_MOST);
        let (scale, _) = ui.allocate_exact_size(vec2(width * count, HEIGHT), Sense::hover());
        for (place, count) in (0u8..).zip(COUNTS) {
            let at = pos2(scale.left() + f32::from(place) * width, scale.top());
            let cell = Rect::from_min_size(at, vec2(width, HEIGHT));
            let fill = color(heat_color(count));
            ui.painter().rect_filled(cell, 0.0, fill);
            let more = if COUNTS.ends_with(&[count]) { "+" } else { "" };
            let (text, font) = (format!("{count}{more}"), FontId::proportional(9.5));
            let painter = ui.painter();
            painter.text(cell.center(), Align2::CENTER_CENTER, text, font, ink_on(fill));
        }
    };
    let laid = area.show(context, |ui| card.show(ui, |ui| ui.horizontal(content)));
    Some(laid.response.rect)
}
