//! The keys: a line at the bottom, and all of them on request.

use egui::{Align2, Area, Context, Id, Order, RichText, Ui, vec2};

use super::theme::{self, Colors};
use super::{HudInput, Intent};
use crate::input::{Action, Bindings};

/// What the line at the bottom names.
const HINTS: [(Action, &str); 7] = [
    (Action::Pause, "pause"),
    (Action::Faster, "faster"),
    (Action::Slower, "slower"),
    (Action::StepUnit, "step"),
    (Action::Overview, "whole map"),
    (Action::HeatMap, "heat map"),
    (Action::Help, "all keys"),
];

/// The line at the bottom.
pub(super) fn hints(context: &Context, colors: &Colors, input: &HudInput<'_>) {
    /// Points of width below which they would cover the columns.
    const WIDTH_LEAST: f32 = 1_150.0;
    if context.content_rect().width() < WIDTH_LEAST {
        return;
    }
    Area::new(Id::unique("hints"))
        .anchor(Align2::CENTER_BOTTOM, vec2(0.0, -12.0))
        .order(Order::Middle)
        .fade_in(false)
        .interactable(false)
        .show(context, |ui| {
            let frame = colors.card().inner_margin(egui::Margin::symmetric(12, 6));
            frame.show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.spacing_mut().item_spacing.x = 5.0;
                    for (action, words) in HINTS {
                        if let Some(key) = input.bindings.keys_of(action).next() {
                            cap(ui, colors, key);
                            ui.add(
                                egui::Label::new(RichText::new(words).size(11.0).color(colors.weak)).extend(),
                            );
                            ui.add_space(5.0);
                        }
                    }
                });
            });
        });
}

/// Everything that keys and mouse do.
pub(super) fn show(context: &Context, colors: &Colors, input: &HudInput<'_>, intents: &mut Vec<Intent>) {
    let response = Area::new(Id::unique("help"))
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .order(Order::Foreground)
        .show(context, |ui| {
            colors.card().show(ui, |ui| {
                ui.set_width(560.0);
                ui.label(RichText::new("Keys").size(18.0).strong());
                mouse(ui, colors);
                ui.add_space(4.0);
                let half = Action::ALL.len().div_ceil(2);
                ui.columns(2, |columns| {
                    for (column, actions) in columns.iter_mut().zip(Action::ALL.chunks(half)) {
                        column.spacing_mut().item_spacing.y = 3.0;
                        for &action in actions {
                            line(column, colors, input.bindings, action);
                        }
                    }
                });
                ui.add_space(2.0);
                let note =
                    "To change keys, type : and then, for instance, bind pause p. They are remembered.";
                ui.label(RichText::new(note).small().color(colors.weak));
            });
        })
        .response;
    if response.clicked() {
        intents.push(Intent::Do(Action::Help));
    }
}

fn mouse(ui: &mut Ui, colors: &Colors) {
    theme::heading(ui, colors, "Mouse");
    for (how, what) in [
        ("click", "select an agent or a tile"),
        ("drag", "move the board"),
        ("drag with the right button", "turn and tilt"),
        ("wheel, pinch", "nearer and further"),
    ] {
        theme::row(ui, colors, how, what);
    }
}

fn line(ui: &mut Ui, colors: &Colors, bindings: &Bindings, action: Action) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(action.meaning()).size(11.5));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 3.0;
            for key in bindings.keys_of(action) {
                cap(ui, colors, key);
            }
        });
    });
}

/// A key as it looks.
fn cap(ui: &mut Ui, colors: &Colors, key: &str) {
    let name = match key {
        "arrowup" => "↑",
        "arrowdown" => "↓",
        "arrowleft" => "←",
        "arrowright" => "→",
        "escape" => "esc",
        "pageup" => "pg ↑",
        "pagedown" => "pg ↓",
        other => other,
    };
    egui::Frame::new()
        .fill(colors.well)
        .stroke(egui::Stroke::new(1.0, colors.edge))
        .corner_radius(4)
        .inner_margin(egui::Margin::symmetric(5, 1))
        .show(ui, |ui| {
            ui.add(egui::Label::new(RichText::new(name).size(10.5).monospace()).extend())
        });
}
