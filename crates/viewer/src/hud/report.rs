//! Where widgets are and what they say, as lines for scripted tests (`--report-widgets`).
//!
//! ```text
//! widget speed-slider 944 96 1220 118       left, top, right, bottom, in pixels of the window
//! state frequency 100
//! state paused false
//! state link live
//! ```
//!
//! A line is given when it differs from the last one of that name. Off, nothing is formatted.

use std::collections::BTreeMap;
use std::fmt::Display;

use trantor_client::{LinkState, Scene};

/// Collects lines.
#[derive(Debug)]
pub struct Report {
    on: bool,
    pixels_per_point: f32,
    said: BTreeMap<String, String>,
    lines: Vec<String>,
}

impl Report {
    /// Collects if `on`.
    pub fn new(on: bool) -> Self {
        Self {
            on,
            pixels_per_point: 1.0,
            said: BTreeMap::new(),
            lines: Vec::new(),
        }
    }

    /// Whether anybody reads.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// A frame begins.
    pub fn begin(&mut self, pixels_per_point: f32) {
        self.pixels_per_point = pixels_per_point;
    }

    /// A widget is at `rect`, in points.
    pub fn widget(&mut self, name: &str, rect: egui::Rect) {
        if self.on {
            let [left, top, right, bottom] = [rect.left(), rect.top(), rect.right(), rect.bottom()]
                .map(|at| (at * self.pixels_per_point).round());
            self.say("widget", name, format_args!("{left} {top} {right} {bottom}"));
        }
    }

    /// Something has a value.
    pub fn state(&mut self, name: &str, value: impl Display) {
        if self.on {
            self.say("state", name, value);
        }
    }

    /// What the scene says of time and connection.
    pub(super) fn scene(&mut self, scene: &Scene) {
        if !self.on {
            return;
        }
        self.state("frequency", scene.clock.frequency);
        self.state("paused", scene.clock.paused);
        self.state("unconfirmed", scene.clock.unconfirmed);
        self.state("agents", scene.agents.len());
        let link = match &scene.link {
            LinkState::Connecting => "connecting",
            LinkState::Greeting => "greeting",
            LinkState::Delayed { .. } => "delayed",
            LinkState::Loading { .. } => "loading",
            LinkState::Live => "live",
            LinkState::Silent { .. } => "silent",
            LinkState::Ended { .. } => "ended",
        };
        self.state("link", link);
        if scene.clock.paused {
            // Only where it stands still: a running clock would say something each frame.
            let units = scene.clock.game;
            self.state(
                "game",
                format_args!("{}.{:09}", units.whole_units(), units.unit_fraction_nu()),
            );
        }
    }

    /// The lines since this was last asked.
    pub fn take_lines(&mut self) -> impl Iterator<Item = String> + '_ {
        self.lines.drain(..)
    }

    fn say(&mut self, kind: &str, name: &str, value: impl Display) {
        let key = format!("{kind} {name}");
        let value = value.to_string();
        if self.said.get(&key) != Some(&value) {
            self.lines.push(format!("{key} {value}"));
            self.said.insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_news_is_said() {
        let mut report = Report::new(true);
        report.begin(2.0);
        let rect = egui::Rect::from_min_max(egui::pos2(1.0, 2.0), egui::pos2(3.0, 4.5));
        for paused in [false, false, true] {
            report.widget("speed-slider", rect);
            report.state("paused", paused);
        }
        let lines: Vec<String> = report.take_lines().collect();
        assert_eq!(
            lines,
            [
                "widget speed-slider 2 4 6 9",
                "state paused false",
                "state paused true"
            ]
        );
        let mut off = Report::new(false);
        off.state("paused", true);
        assert_eq!(off.take_lines().count(), 0);
    }
}
