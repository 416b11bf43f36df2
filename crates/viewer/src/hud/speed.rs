//! Time under the user's hand: the rate asked for and the rate reached, slider, field, pause and steps. Below
//! them the sound, where there is any.

use egui::{Align, Layout, Response, RichText, Sense, Ui, vec2};
use trantor_client::ControlRequest;
use trantor_protocol::limits::TEXT_FREQUENCY_MAX;
use trantor_protocol::wire::StepKind;

use super::icons::{self, Sign};
use super::report::Report;
use super::theme::{self, Colors};
use super::{HudInput, volume};
use crate::intent::Intent;

/// Width of the rate while it is typed, in points.
const RATE_WIDTH: f32 = 72.0;

/// The card, and the text being typed.
#[derive(Debug, Default)]
pub(super) struct SpeedCard {
    typed: Option<String>,
}

impl SpeedCard {
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        colors: &Colors,
        input: &HudInput<'_>,
        has_figures: bool,
        report: &mut Report,
        intents: &mut Vec<Intent>,
    ) {
        colors.card().show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            ui.horizontal(|ui| {
                theme::heading(ui, colors, "Time");
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let units = input.scene.clock.game.whole_units();
                    ui.label(
                        RichText::new(format!("{} u", grouped(units)))
                            .monospace()
                            .color(colors.weak),
                    );
                });
            });
            self.rate(ui, colors, input, report, intents);
            slider(ui, input, report, intents);
            buttons(ui, colors, input, report, intents);
            if let Some(volume) = input.volume {
                volume::show(ui, colors, volume, report, intents);
            }
            if has_figures {
                figures(ui, colors, input);
            }
        });
    }

    /// The rate asked for, as large text that can be typed over.
    fn rate(
        &mut self,
        ui: &mut Ui,
        colors: &Colors,
        input: &HudInput<'_>,
        report: &mut Report,
        intents: &mut Vec<Intent>,
    ) {
        ui.horizontal(|ui| {
            let shown = match input.scene.clock.frequency {
                0 => "–".to_owned(),
                frequency => frequency.to_string(),
            };
            let typing = self.typed.is_some();
            let mut text = self.typed.take().unwrap_or(shown);
            let color = if input.scene.clock.unconfirmed {
                colors.gold
            } else {
                colors.text
            };
            // As wide as the number, so that its unit stands beside it; while somebody types, as any number.
            let font = egui::FontId::proportional(24.0);
            let width = match typing {
                true => RATE_WIDTH,
                false => {
                    let shown = ui.painter().layout_no_wrap(text.clone(), font.clone(), color);
                    shown.size().x.ceil() + 1.0
                }
            };
            let field = egui::TextEdit::singleline(&mut text)
                .font(font)
                .text_color(color)
                .min_size(vec2(0.0, 0.0))
                .desired_width(width)
                .frame(egui::Frame::new().fill(if typing {
                    colors.well
                } else {
                    egui::Color32::TRANSPARENT
                }))
                .margin(egui::Margin::symmetric(2, 0));
            let response = ui.add(field);
            report.widget("speed-field", response.rect);
            report.state("speed-field-focus", response.has_focus());
            if response.lost_focus() {
                if ui.input(|keys| keys.key_pressed(egui::Key::Enter))
                    && let Ok(frequency) = text.trim().parse::<u32>()
                {
                    ask(intents, frequency);
                }
            } else if response.has_focus() {
                if response.gained_focus() {
                    text.clear();
                }
                self.typed = Some(text);
            }
            ui.label(RichText::new("units / s").color(colors.weak));
        });
    }
}

fn ask(intents: &mut Vec<Intent>, frequency: u32) {
    intents.push(Intent::Control(ControlRequest::SetFrequency(
        frequency.clamp(1, TEXT_FREQUENCY_MAX),
    )));
}

fn slider(ui: &mut Ui, input: &HudInput<'_>, report: &mut Report, intents: &mut Vec<Intent>) {
    ui.spacing_mut().slider_width = ui.available_width();
    let known = input.scene.clock.frequency > 0;
    let mut frequency = input.scene.clock.frequency.clamp(1, TEXT_FREQUENCY_MAX);
    let slider = egui::Slider::new(&mut frequency, 1..=TEXT_FREQUENCY_MAX)
        .logarithmic(true)
        .show_value(false);
    let response = ui.add_enabled(known, slider);
    report.widget("speed-slider", response.rect);
    // What was moved counts, never what differs: a change made elsewhere must not be answered by another.
    if response.changed() {
        ask(intents, frequency);
    }
}

fn buttons(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    let clock = &input.scene.clock;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let (sign, request) = if clock.paused {
            (Sign::Play, ControlRequest::Resume)
        } else {
            (Sign::Pause, ControlRequest::Pause)
        };
        let pause = button(ui, colors, sign, 32.0, true);
        report.widget("pause", pause.rect);
        if pause.clicked() {
            intents.push(Intent::Control(request));
        }
        for (name, sign, kind, tip) in [
            ("step-unit", Sign::StepUnit, StepKind::Unit, "one unit"),
            (
                "step-event",
                Sign::StepEvent,
                StepKind::Event,
                "to the next event",
            ),
            (
                "step-action",
                Sign::StepAction,
                StepKind::Action,
                "to the end of an action",
            ),
        ] {
            let step = button(ui, colors, sign, 26.0, clock.paused).on_hover_text(tip);
            report.widget(name, step.rect);
            if step.clicked() {
                intents.push(Intent::Control(ControlRequest::Step(kind)));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            ui.spacing_mut().button_padding.x = 4.0;
            for preset in [1_000, 100, 10u32] {
                let text = RichText::new(if preset >= 1_000 {
                    "1k".to_owned()
                } else {
                    preset.to_string()
                })
                .size(11.0);
                let chosen = clock.frequency == preset;
                let response = ui.add(theme::toggle(colors, chosen, text).min_size(vec2(28.0, 26.0)));
                report.widget(&format!("speed-{preset}"), response.rect);
                if response.clicked() {
                    ask(intents, preset);
                }
            }
        });
    });
}

/// A button that shows a sign.
pub(super) fn button(ui: &mut Ui, colors: &Colors, sign: Sign, width: f32, enabled: bool) -> Response {
    let sense = if enabled { Sense::click() } else { Sense::hover() };
    let (rect, response) = ui.allocate_exact_size(vec2(width, 26.0), sense);
    let visuals = if enabled {
        *ui.style().interact(&response)
    } else {
        ui.style().visuals.widgets.noninteractive
    };
    ui.painter().rect(
        rect,
        visuals.corner_radius,
        visuals.weak_bg_fill,
        visuals.bg_stroke,
        egui::StrokeKind::Inside,
    );
    let fill = if enabled {
        colors.text
    } else {
        colors.weak.gamma_multiply(0.5)
    };
    icons::sign(ui.painter(), rect.center(), 12.0, sign, fill);
    response
}

/// What is reached, and how well this end keeps up.
fn figures(ui: &mut Ui, colors: &Colors, input: &HudInput<'_>) {
    ui.add_space(2.0);
    ui.spacing_mut().item_spacing.y = 2.0;
    if let Some(server) = input.stats.and_then(|stats| stats.server.as_ref()) {
        let reached = server.effective_frequency_milli as f64 / 1e3;
        let asked = f64::from(input.scene.clock.frequency);
        let short = !input.scene.clock.paused && asked > 0.0 && reached < asked * 0.98;
        let text =
            RichText::new(format!("{reached:.1} u/s")).color(if short { colors.gold } else { colors.text });
        theme::row(ui, colors, "reached", text);
        let late = format!("{:.2} ms", server.lateness_p99_ns as f64 / 1e6);
        theme::row(ui, colors, "lateness p99", late);
        if server.ticks_skipped + server.slipped_units > 0 {
            let ticks = if server.ticks_skipped == 1 {
                "tick"
            } else {
                "ticks"
            };
            let text = format!("{} {ticks}, {} u", server.ticks_skipped, server.slipped_units);
            theme::row(ui, colors, "skipped, slipped", text);
        }
    }
    if let Some(stats) = input.stats {
        let clock = &stats.clock;
        let text = format!(
            "±{:.2} ms · {:.2} ms",
            clock.error_bound_ns as f64 / 1e6,
            clock.rtt_best_ns as f64 / 1e6
        );
        theme::row(ui, colors, "clock, round trip", text);
    }
    // A single picture has no rate.
    if input.frames.target <= 0.0 {
        return;
    }
    let frames = match input.frames.per_second {
        Some(rate) => format!("{rate:.0} of {:.0}", input.frames.target),
        None => format!("– of {:.0}", input.frames.target),
    };
    theme::row(ui, colors, "frames / s", frames);
}

/// A number with its thousands apart.
pub(super) fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3 + 1);
    if number < 0 {
        grouped.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let plain = |number| grouped(number).replace('\u{2009}', " ");
        assert_eq!(plain(0), "0");
        assert_eq!(plain(999), "999");
        assert_eq!(plain(-1_234_567), "-1 234 567");
    }
}
