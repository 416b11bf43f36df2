//! The card of time: the rate, slider, pause, steps and presets.

use egui::{Align, Button, Color32, DragValue, Layout, RichText, Slider, Stroke, TextStyle, Ui, vec2};
use trantor_model::control::FREQUENCY_ASKED_MAX;
use trantor_model::{Control, Step};

use super::PanelContext;
use super::icons::{self, Icon, Pen};
use super::theme;
use crate::intent::Intent;

pub(super) fn show(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    cx.colors.card().show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 6.0;
        rate(ui, cx);
        slider(ui, cx);
        buttons(ui, cx);
    });
}

/// The rate in large digits, to drag or to type over.
fn rate(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let clock = &cx.scene().clock;
    let mut frequency = clock.frequency;
    let color = if clock.unconfirmed {
        cx.colors.gold
    } else {
        cx.colors.text
    };
    ui.horizontal(|ui| {
        let field = |ui: &mut Ui| {
            let style = ui.style_mut();
            style.drag_value_text_style = TextStyle::Heading;
            style.spacing.interact_size.x = 0.0;
            style.spacing.button_padding = vec2(2.0, 0.0);
            style.visuals.override_text_color = Some(color);
            style.visuals.widgets.inactive.weak_bg_fill = Color32::TRANSPARENT;
            style.visuals.widgets.inactive.bg_stroke = Stroke::NONE;
            let field = DragValue::new(&mut frequency).range(0..=FREQUENCY_ASKED_MAX);
            let field = field
                .update_while_editing(false)
                .custom_formatter(|rate, _| match rate {
                    0.0 => "–".to_owned(),
                    rate => rate.to_string(),
                });
            ui.add(field)
        };
        let response = ui.scope(field).inner;
        cx.report.widget("speed-field", response.rect);
        cx.report.state("speed-field-focus", response.has_focus());
        if response.changed() {
            set_frequency(cx, frequency);
        }
        ui.weak("units / s");
    });
}

fn set_frequency(cx: &mut PanelContext<'_>, frequency: u32) {
    let frequency = frequency.clamp(1, FREQUENCY_ASKED_MAX);
    cx.request(Intent::Control(Control::SetFrequency(frequency)));
}

fn slider(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    ui.spacing_mut().slider_width = ui.available_width();
    let current = cx.scene().clock.frequency;
    let mut frequency = current.clamp(1, FREQUENCY_ASKED_MAX);
    let slider = Slider::new(&mut frequency, 1..=FREQUENCY_ASKED_MAX)
        .logarithmic(true)
        .show_value(false);
    let response = ui.add_enabled(current > 0, slider);
    cx.report.widget("speed-slider", response.rect);
    // Only a move of the slider counts: a change made elsewhere must not be answered by another one.
    if response.changed() {
        set_frequency(cx, frequency);
    }
}

fn buttons(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let (is_paused, frequency) = (cx.scene().clock.paused, cx.scene().clock.frequency);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.spacing_mut().button_padding = vec2(2.0, 0.0);
        let (icon, tip, request) = match is_paused {
            true => (icons::PLAY, "resume", Control::Resume),
            false => (icons::PAUSE, "pause", Control::Pause),
        };
        if button(ui, cx, ("pause", icon, tip), 32.0, true) {
            cx.request(Intent::Control(request));
        }
        for (name, icon, tip, kind) in [
            ("step-unit", icons::STEP_UNIT, "one unit", Step::Units(1)),
            ("step-event", icons::STEP_EVENT, "to the next event", Step::Event),
            (
                "step-action",
                icons::STEP_ACTION,
                "to the end of an action",
                Step::Action,
            ),
        ] {
            if button(ui, cx, (name, icon, tip), 26.0, is_paused) {
                cx.request(Intent::Control(Control::Step(kind)));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            ui.spacing_mut().button_padding.x = 4.0;
            for (preset, name) in [(1_000, "1k"), (100, "100"), (10, "10")] {
                let button = theme::toggle(&cx.colors, frequency == preset, RichText::new(name).size(11.0));
                if ui.add(button.min_size(vec2(28.0, 26.0))).clicked() {
                    set_frequency(cx, preset);
                }
            }
        });
    });
}

/// A button with an icon and a tip; returns whether it is clicked.
fn button(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    (name, icon, tip): (&str, Icon, &str),
    width: f32,
    is_enabled: bool,
) -> bool {
    let button = Button::new("").min_size(vec2(width, 26.0));
    let response = ui.add_enabled(is_enabled, button).on_hover_text(tip);
    let color = match is_enabled {
        true => cx.colors.text,
        false => cx.colors.weak.gamma_multiply(0.5),
    };
    Pen::new(ui.painter(), response.rect.center(), 12.0).icon(icon, color);
    cx.report.widget(name, response.rect);
    response.clicked()
}
