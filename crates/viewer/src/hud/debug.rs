//! What goes on inside: frames, their stages, the connection, the server (R-001-50, R-001-52).
//!
//! Closed, it costs nothing: nothing is collected for it that is not collected anyway.

use std::collections::VecDeque;

use egui::{Align2, Area, Color32, Context, Id, Order, RichText, Stroke, Ui, pos2, vec2};

use super::HudInput;
use super::theme::{self, Colors};

/// Frames in the plot.
const FRAMES_SHOWN: usize = 240;

#[derive(Debug, Default)]
pub(super) struct DebugView {
    frame_ms: VecDeque<f32>,
}

impl DebugView {
    pub(super) fn show(&mut self, context: &Context, colors: &Colors, input: &HudInput<'_>) {
        if self.frame_ms.len() == FRAMES_SHOWN {
            self.frame_ms.pop_front();
        }
        self.frame_ms.push_back(input.frames.last_ms as f32);
        Area::new(Id::unique("debug"))
            .anchor(Align2::CENTER_BOTTOM, vec2(0.0, -52.0))
            .order(Order::Foreground)
            .interactable(false)
            .show(context, |ui| {
                colors.card().show(ui, |ui| {
                    ui.set_width(560.0);
                    ui.spacing_mut().item_spacing.y = 3.0;
                    ui.columns(3, |columns| {
                        self.frames(&mut columns[0], colors, input);
                        connection(&mut columns[1], colors, input);
                        server(&mut columns[2], colors, input);
                    });
                    self.plot(ui, colors, input);
                });
            });
    }

    fn frames(&self, ui: &mut Ui, colors: &Colors, input: &HudInput<'_>) {
        let frames = &input.frames;
        theme::heading(ui, colors, "Frames");
        let rate = frames
            .per_second
            .map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}"));
        theme::row(ui, colors, "a second", format!("{rate} of {:.1}", frames.target));
        theme::row(
            ui,
            colors,
            "p50, p99",
            format!("{:.2}, {:.2} ms", frames.p50_ms, frames.p99_ms),
        );
        theme::row(ui, colors, "longest", format!("{:.2} ms", frames.max_ms));
        for (name, time) in ["scene", "draw list", "panels", "hand over"]
            .into_iter()
            .zip(frames.stages_ms)
        {
            theme::row(ui, colors, name, format!("{time:.2} ms"));
        }
        theme::row(ui, colors, "instances", frames.instances.to_string());
    }

    fn plot(&self, ui: &mut Ui, colors: &Colors, input: &HudInput<'_>) {
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 54.0), egui::Sense::hover());
        let painter = ui.painter_at(rect);
        painter.rect_filled(rect, 5.0, colors.well);
        let period = (1e3 / input.frames.target.max(1.0)) as f32;
        let most = self.frame_ms.iter().copied().fold(period * 1.5, f32::max);
        let height = |ms: f32| rect.bottom() - rect.height() * (ms / most);
        painter.line_segment(
            [
                pos2(rect.left(), height(period)),
                pos2(rect.right(), height(period)),
            ],
            Stroke::new(1.0, colors.accent.gamma_multiply(0.6)),
        );
        let step = rect.width() / FRAMES_SHOWN as f32;
        for (place, &ms) in self.frame_ms.iter().enumerate() {
            let left = rect.left() + place as f32 * step;
            let color: Color32 = if ms > period { colors.gold } else { colors.accent };
            let bar =
                egui::Rect::from_min_max(pos2(left, height(ms)), pos2(left + step.max(1.0), rect.bottom()));
            painter.rect_filled(bar, 0.0, color.gamma_multiply(0.8));
        }
        painter.text(
            rect.left_top() + vec2(5.0, 3.0),
            Align2::LEFT_TOP,
            format!("{most:.1} ms"),
            egui::FontId::proportional(9.5),
            colors.weak,
        );
    }
}

fn connection(ui: &mut Ui, colors: &Colors, input: &HudInput<'_>) {
    theme::heading(ui, colors, "Connection");
    let Some(stats) = input.stats else {
        ui.label(RichText::new("none").color(colors.weak));
        return;
    };
    let ms = |nanos: i64| format!("{:.2} ms", nanos as f64 / 1e6);
    theme::row(ui, colors, "received", format!("{} KiB", stats.bytes_in / 1024));
    theme::row(ui, colors, "messages", stats.messages_in.to_string());
    theme::row(
        ui,
        colors,
        "ticks, skipped",
        format!("{}, {}", stats.ticks, stats.ticks_skipped),
    );
    theme::row(ui, colors, "clock error", ms(stats.clock.error_bound_ns));
    theme::row(ui, colors, "round trip", ms(stats.clock.rtt_best_ns));
    theme::row(ui, colors, "shown behind", ms(stats.display_delay_ns));
    theme::row(ui, colors, "heard ago", ms(stats.network_age_ns));
    theme::row(
        ui,
        colors,
        "pending, late",
        format!("{}, {}", stats.pending, stats.late),
    );
    theme::row(ui, colors, "unacknowledged", stats.unacknowledged.to_string());
}

fn server(ui: &mut Ui, colors: &Colors, input: &HudInput<'_>) {
    theme::heading(ui, colors, "Server");
    let Some(server) = input.stats.and_then(|stats| stats.server.as_ref()) else {
        ui.label(RichText::new("has not said yet").color(colors.weak));
        return;
    };
    theme::row(
        ui,
        colors,
        "up",
        format!("{:.1} s", server.uptime_ms as f64 / 1e3),
    );
    theme::row(ui, colors, "passes", server.passes.to_string());
    theme::row(ui, colors, "deadlines", server.deadlines_fired.to_string());
    theme::row(
        ui,
        colors,
        "late p99",
        format!("{:.3} ms", server.lateness_p99_ns as f64 / 1e6),
    );
    theme::row(
        ui,
        colors,
        "late max",
        format!("{:.3} ms", server.lateness_max_ns as f64 / 1e6),
    );
    theme::row(
        ui,
        colors,
        "units / s",
        format!("{:.2}", server.effective_frequency_milli as f64 / 1e3),
    );
    theme::row(ui, colors, "slipped", format!("{} u", server.slipped_units));
    theme::row(
        ui,
        colors,
        "connections",
        format!("{}, {} viewers", server.connections, server.viewers),
    );
}
