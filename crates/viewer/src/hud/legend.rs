//! What the colours of a heat map mean: of which resource it is, and how much of it each colour stands for.

use egui::{Align2, Area, Context, FontId, Id, Order, Rect, Sense, pos2, vec2};

use super::layout::Plan;
use super::theme::{Colors, color, ink_on};
use super::{HudInput, icons};
use trantor_render::picture::ground::{PaintMode, heat_color};

/// How many of a resource a colour stands for: one step of it each.
const COUNTS: [u32; 7] = [0, 1, 2, 4, 8, 16, 32];
/// Width of a colour at least and at most, and its height, in points.
const WIDTH_LEAST: f32 = 15.0;
const WIDTH_MOST: f32 = 26.0;
const HEIGHT: f32 = 15.0;

/// Shows it while there is a heat map, above what is along the bottom; answers what it covers.
pub(super) fn show(context: &Context, colors: &Colors, plan: Plan, input: &HudInput<'_>) -> Option<Rect> {
    let PaintMode::Heat(resource) = input.paint_mode else {
        return None;
    };
    let (left, right, bottom) = plan.bottom(input.recording.is_some(), input.selection);
    let laid = Area::new(Id::unique("legend"))
        .pivot(Align2::CENTER_BOTTOM)
        .fixed_pos(pos2(f32::midpoint(left, right), bottom))
        .order(Order::Middle)
        .constrain(false)
        .fade_in(false)
        .interactable(false)
        .show(context, |ui| {
            let card = colors.card().inner_margin(egui::Margin::symmetric(12, 6));
            let around = card.total_margin().sum().x;
            card.show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.spacing_mut().item_spacing.x = 6.0;
                    let (sign, _) = ui.allocate_exact_size(vec2(12.0, HEIGHT), Sense::hover());
                    icons::resource(ui.painter(), sign.center(), 12.0, resource);
                    ui.add(egui::Label::new(format!("heat: {}", resource.name())).extend());
                    let room = right - left - around - ui.min_rect().width() - 6.0;
                    let width = (room / COUNTS.len() as f32).clamp(WIDTH_LEAST, WIDTH_MOST);
                    let size = vec2(width * COUNTS.len() as f32, HEIGHT);
                    let (scale, _) = ui.allocate_exact_size(size, Sense::hover());
                    for (place, count) in (0u8..).zip(COUNTS) {
                        let at = pos2(scale.left() + f32::from(place) * width, scale.top());
                        let cell = Rect::from_min_size(at, vec2(width, HEIGHT));
                        let fill = color(heat_color(count));
                        ui.painter().rect_filled(cell, 0.0, fill);
                        let more = if count == 32 { "+" } else { "" };
                        let font = FontId::proportional(9.5);
                        let text = format!("{count}{more}");
                        ui.painter()
                            .text(cell.center(), Align2::CENTER_CENTER, text, font, ink_on(fill));
                    }
                });
            });
        });
    Some(laid.response.rect)
}
