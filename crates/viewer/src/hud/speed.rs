//! The card of time: the rate, slider, pause, steps, presets, volume, and how well server and viewer keep up.

use egui::{
    Align, Button, Color32, FontId, Frame, Layout, Margin, Response, RichText, Sense, Slider, StrokeKind,
};
use egui::{TextEdit, Ui, vec2};
use trantor_client::ControlRequest;
use trantor_protocol::limits::TEXT_FREQUENCY_MAX;
use trantor_protocol::wire::StepKind;

use super::PanelContext;
use super::icons::{Control, Pen};
use super::theme::{self, Colors, grouped};
use crate::intent::Intent;
use crate::sound::{SoundChange, Volume};

/// Width of the rate while it is typed, in points.
const RATE_WIDTH: f32 = 72.0;
/// Width of the volume's words, in points.
const VOLUME_WIDTH: f32 = 40.0;

/// The card, and the rate while it is typed.
#[derive(Debug, Default)]
pub(super) struct SpeedCard {
    typed: Option<String>,
}

impl SpeedCard {
    pub(super) fn show(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        cx.colors.card().show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            let units = format!("{} u", grouped(cx.scene().clock.game.whole_units()));
            let units = RichText::new(units).monospace().color(cx.colors.weak);
            egui::Sides::new().show(
                ui,
                |ui| theme::heading(ui, &cx.colors, "Time"),
                |ui| ui.label(units),
            );
            self.rate(ui, cx);
            slider(ui, cx);
            buttons(ui, cx);
            if let Some(volume) = cx.input.volume {
                sound(ui, cx, volume);
            }
            if cx.plan.is_wide() {
                figures(ui, cx);
            }
        });
    }

    /// The rate, as large text that can be typed over.
    fn rate(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let clock = &cx.scene().clock;
        ui.horizontal(|ui| {
            let is_typing = self.typed.is_some();
            let mut text = self.typed.take().unwrap_or_else(|| match clock.frequency {
                0 => "–".to_owned(),
                frequency => frequency.to_string(),
            });
            let color = match clock.unconfirmed {
                true => cx.colors.gold,
                false => cx.colors.text,
            };
            let font = FontId::proportional(24.0);
            // As wide as the number, so that the unit stands beside it; while typing, as any number.
            let (width, fill) = if is_typing {
                (RATE_WIDTH, cx.colors.well)
            } else {
                let shown = ui.painter().layout_no_wrap(text.clone(), font.clone(), color);
                (shown.size().x.ceil() + 1.0, Color32::TRANSPARENT)
            };
            let field = TextEdit::singleline(&mut text)
                .font(font)
                .text_color(color)
                .min_size(vec2(0.0, 0.0))
                .desired_width(width)
                .frame(Frame::new().fill(fill))
                .margin(Margin::symmetric(2, 0));
            let response = ui.add(field);
            cx.report.widget("speed-field", response.rect);
            cx.report.state("speed-field-focus", response.has_focus());
            if response.lost_focus() {
                if ui.input(|keys| keys.key_pressed(egui::Key::Enter))
                    && let Ok(frequency) = text.trim().parse::<u32>()
                {
                    set_frequency(cx, frequency);
                }
            } else if response.has_focus() {
                if response.gained_focus() {
                    text.clear();
                }
                self.typed = Some(text);
            }
            ui.label(RichText::new("units / s").color(cx.colors.weak));
        });
    }
}

fn set_frequency(cx: &mut PanelContext<'_>, frequency: u32) {
    let frequency = frequency.clamp(1, TEXT_FREQUENCY_MAX);
    cx.ask(Intent::Control(ControlRequest::SetFrequency(frequency)));
}

fn slider(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    ui.spacing_mut().slider_width = ui.available_width();
    let current = cx.scene().clock.frequency;
    let mut frequency = current.clamp(1, TEXT_FREQUENCY_MAX);
    let slider = Slider::new(&mut frequency, 1..=TEXT_FREQUENCY_MAX)
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
        let (icon, request) = match is_paused {
            true => (Control::Play, ControlRequest::Resume),
            false => (Control::Pause, ControlRequest::Pause),
        };
        let pause = button(ui, &cx.colors, icon, 32.0, true);
        cx.report.widget("pause", pause.rect);
        if pause.clicked() {
            cx.ask(Intent::Control(request));
        }
        for (name, icon, kind, tip) in [
            ("step-unit", Control::StepUnit, StepKind::Unit, "one unit"),
            (
                "step-event",
                Control::StepEvent,
                StepKind::Event,
                "to the next event",
            ),
            (
                "step-action",
                Control::StepAction,
                StepKind::Action,
                "to the end of an action",
            ),
        ] {
            let step = button(ui, &cx.colors, icon, 26.0, is_paused).on_hover_text(tip);
            cx.report.widget(name, step.rect);
            if step.clicked() {
                cx.ask(Intent::Control(ControlRequest::Step(kind)));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            ui.spacing_mut().button_padding.x = 4.0;
            for (preset, name) in [(1_000, "1k"), (100, "100"), (10, "10")] {
                let name = RichText::new(name).size(11.0);
                let button = theme::toggle(&cx.colors, frequency == preset, name);
                let response = ui.add(Button::min_size(button, vec2(28.0, 26.0)));
                cx.report.widget(&format!("speed-{preset}"), response.rect);
                if response.clicked() {
                    set_frequency(cx, preset);
                }
            }
        });
    });
}

/// A button with an icon.
fn button(ui: &mut Ui, colors: &Colors, icon: Control, width: f32, enabled: bool) -> Response {
    let sense = if enabled { Sense::click() } else { Sense::hover() };
    let (rect, response) = ui.allocate_exact_size(vec2(width, 26.0), sense);
    let (visuals, fill) = match enabled {
        true => (*ui.style().interact(&response), colors.text),
        false => (
            ui.visuals().widgets.noninteractive,
            colors.weak.gamma_multiply(0.5),
        ),
    };
    let (radius, edge) = (visuals.corner_radius, visuals.bg_stroke);
    ui.painter()
        .rect(rect, radius, visuals.weak_bg_fill, edge, StrokeKind::Inside);
    Pen::new(ui.painter(), rect.center(), 12.0).control(icon, fill);
    response
}

/// The volume as a speaker to click on and a slider.
fn sound(ui: &mut Ui, cx: &mut PanelContext<'_>, volume: Volume) {
    let (icon, tip, words) = match volume.is_muted {
        true => (Control::Muted, "sound on", "off".to_owned()),
        false => (Control::Sound, "sound off", format!("{} %", volume.percent)),
    };
    cx.report.state("sound", words.replace(' ', ""));
    ui.horizontal(|ui| {
        let mute = button(ui, &cx.colors, icon, 32.0, true).on_hover_text(tip);
        cx.report.widget("mute", mute.rect);
        if mute.clicked() {
            cx.ask(Intent::Sound(SoundChange::ToggleMute));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let size = vec2(VOLUME_WIDTH, ui.spacing().interact_size.y);
            ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
                ui.set_min_width(VOLUME_WIDTH);
                ui.label(RichText::new(words).color(cx.colors.weak));
            });
            if volume.is_muted {
                ui.visuals_mut().selection.bg_fill = cx.colors.weak.gamma_multiply(0.35);
            }
            ui.spacing_mut().slider_width = ui.available_width();
            let mut percent = volume.percent;
            let slider = ui.add(Slider::new(&mut percent, 0..=100).show_value(false));
            cx.report.widget("volume-slider", slider.rect);
            if slider.changed() {
                cx.ask(Intent::Sound(SoundChange::Volume(percent)));
            }
        });
    });
}

/// What is reached, and how well this end keeps up.
fn figures(ui: &mut Ui, cx: &PanelContext<'_>) {
    let (clock, colors, frames) = (&cx.scene().clock, &cx.colors, cx.input.frames);
    ui.add_space(2.0);
    ui.spacing_mut().item_spacing.y = 2.0;
    if let Some(server) = cx.input.stats.and_then(|stats| stats.server.as_ref()) {
        let reached = server.effective_frequency_milli as f64 / 1e3;
        let is_slow = !clock.paused && reached < f64::from(clock.frequency) * 0.98;
        let color = if is_slow { colors.gold } else { colors.text };
        let rate = RichText::new(format!("{reached:.1} u/s"));
        theme::row(ui, colors, "reached", rate.color(color));
        let late = format!("{:.2} ms", server.lateness_p99_ns as f64 / 1e6);
        theme::row(ui, colors, "lateness p99", late);
        let (skipped, slipped) = (server.ticks_skipped, server.slipped_units);
        if skipped + slipped > 0 {
            let ticks = if skipped == 1 { "tick" } else { "ticks" };
            let words = format!("{skipped} {ticks}, {slipped} u");
            theme::row(ui, colors, "skipped, slipped", words);
        }
    }
    if let Some(stats) = cx.input.stats {
        let ms = |ns: i64| ns as f64 / 1e6;
        let (error, round_trip) = (ms(stats.clock.error_bound_ns), ms(stats.clock.rtt_best_ns));
        let words = format!("±{error:.2} ms · {round_trip:.2} ms");
        theme::row(ui, colors, "clock, round trip", words);
    }
    // A single picture has no rate.
    if frames.target > 0.0 {
        let rate = frames
            .per_second
            .map_or("–".to_owned(), |rate| format!("{rate:.0}"));
        theme::row(
            ui,
            colors,
            "frames / s",
            format!("{rate} of {:.0}", frames.target),
        );
    }
}
