//! What the connection is doing, when it is not simply working; who won; short messages.

use egui::{Align2, Area, Context, Id, Order, RichText, vec2};
use trantor_client::LinkState;

use super::HudInput;
use super::theme::{Colors, color};
use crate::picture::palette;

pub(super) fn show(context: &Context, colors: &Colors, input: &HudInput<'_>) {
    let text = match &input.scene.link {
        LinkState::Live => {
            if let Some(winner) = input.scene.winner {
                let name = input
                    .scene
                    .teams
                    .get(usize::from(winner.0))
                    .map_or("somebody", |team| &team.name);
                line(
                    context,
                    colors,
                    RichText::new(format!("{name} wins")).size(20.0).strong(),
                    color(palette::team(winner)),
                );
            } else if input.scene.clock.paused {
                line(context, colors, RichText::new("paused").size(14.0), colors.accent);
            } else if input.scene.clock.delay_ms > 0 {
                let text = format!("{} s ago", input.scene.clock.delay_ms / 1_000);
                line(context, colors, RichText::new(text).size(14.0), colors.accent);
            }
            return;
        }
        LinkState::Connecting => format!("connecting to {} …", input.source),
        LinkState::Greeting => format!("{} answers …", input.source),
        LinkState::Delayed { delay_ms, left_ms } => format!(
            "shown {} s late, the first of it in {} s",
            delay_ms / 1_000,
            left_ms.div_ceil(1_000)
        ),
        LinkState::Loading { tiles, of } => {
            let share = u64::from(*tiles) * 100 / u64::from((*of).max(1));
            format!("receiving the world: {share} %")
        }
        LinkState::Silent { for_ms } => format!("nothing heard for {:.1} s", *for_ms as f64 / 1e3),
        LinkState::Ended { reason } => reason.to_string(),
    };
    line(context, colors, RichText::new(text).size(14.0), colors.gold);
}

fn line(context: &Context, colors: &Colors, text: RichText, mark: egui::Color32) {
    Area::new(Id::unique("banner"))
        .anchor(Align2::CENTER_TOP, vec2(0.0, 14.0))
        .order(Order::Middle)
        .fade_in(false)
        .interactable(false)
        .show(context, |ui| {
            colors.card().show(ui, |ui| {
                ui.horizontal(|ui| {
                    let (rect, _) = ui.allocate_exact_size(vec2(9.0, 9.0), egui::Sense::hover());
                    ui.painter().circle_filled(rect.center(), 4.5, mark);
                    ui.add(egui::Label::new(text).extend());
                });
            });
        });
}

/// Shows a message.
pub(super) fn notice(context: &Context, colors: &Colors, text: &str) {
    Area::new(Id::unique("notice"))
        .anchor(Align2::CENTER_TOP, vec2(0.0, 64.0))
        .order(Order::Foreground)
        .interactable(false)
        .show(context, |ui| {
            colors
                .card()
                .show(ui, |ui| ui.label(RichText::new(text).color(colors.text)));
        });
}
