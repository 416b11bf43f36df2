//! Places and values of widgets as lines for scripted tests (`--report-widgets`).
//!
//! ```text
//! widget speed-slider 944 96 1220 118       left, top, right, bottom, in pixels of the window
//! state frequency 100
//! state paused false
//! state link live
//! ```
//!
//! A line is written when it differs from the last one of that name. While off, nothing is formatted.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::Hud;
use crate::state::ViewerState;

#[derive(Debug, Default)]
pub struct Report {
    pub is_on: bool,
    pixels_per_point: f32,
    last: BTreeMap<String, String>,
    lines: Vec<String>,
}

impl Report {
    /// Begins a frame with the state that belongs to no single panel.
    pub(super) fn begin(&mut self, context: &egui::Context, hud: &Hud, state: &ViewerState) {
        if !self.is_on {
            return;
        }
        self.pixels_per_point = context.pixels_per_point();
        let size = context.content_rect().size() * self.pixels_per_point;
        self.state("size", format_args!("{:.0}x{:.0}", size.x, size.y));
        for (name, is_on) in [
            ("focused", context.input(|input| input.focused)),
            ("help", hud.panels.help),
            ("debug", hud.panels.debug),
            ("labels", hud.panels.labels),
            ("panels", hud.panels.any),
            ("paused", state.scene.clock.paused),
            ("unconfirmed", state.scene.clock.unconfirmed),
        ] {
            self.state(name, is_on);
        }
        self.state("theme", format_args!("{:?}", state.settings.shown_theme()));
        let pose = state.rig.camera.goal;
        self.state("yaw", format_args!("{:.2}", pose.yaw));
        self.state("distance", format_args!("{:.1}", pose.distance));
        let notice = hud.shown_notice().unwrap_or("none");
        self.state("notice", notice.replace(' ', "_"));
        self.state("frequency", state.scene.clock.frequency);
        let link = format!("{:?}", state.scene.link).to_lowercase();
        self.state("link", link.split(' ').next().unwrap_or_default());
        // A running clock would add a line in each frame.
        if state.scene.clock.paused {
            let at = state.scene.clock.game;
            let (units, fraction) = (at.whole_units(), at.unit_fraction_nu());
            self.state("game", format_args!("{units}.{fraction:09}"));
        }
    }

    /// Reports where a widget is; `rect` is in points.
    pub(super) fn widget(&mut self, name: &str, rect: egui::Rect) {
        if self.is_on {
            let [left, top, right, bottom] = [rect.left(), rect.top(), rect.right(), rect.bottom()]
                .map(|at| (at * self.pixels_per_point).round());
            self.line("widget", name, format!("{left} {top} {right} {bottom}"));
        }
    }

    pub fn state(&mut self, name: &str, value: impl Display) {
        if self.is_on {
            self.line("state", name, value.to_string());
        }
    }

    pub fn take_lines(&mut self) -> impl Iterator<Item = String> + '_ {
        self.lines.drain(..)
    }

    fn line(&mut self, kind: &str, name: &str, value: String) {
        let key = format!("{kind} {name}");
        if self.last.get(&key) != Some(&value) {
            self.lines.push(format!("{key} {value}"));
            self.last.insert(key, value);
        }
    }
}
