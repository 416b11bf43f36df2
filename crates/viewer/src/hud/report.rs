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

use trantor_client::{LinkState, Scene};

/// Collects lines.
#[derive(Debug, Default)]
pub struct Report {
    is_on: bool,
    pixels_per_point: f32,
    last: BTreeMap<String, String>,
    lines: Vec<String>,
}

impl Report {
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins a frame.
    pub(super) fn begin(&mut self, pixels_per_point: f32) {
        self.pixels_per_point = pixels_per_point;
    }

    /// Reports where a widget is; `rect` is in points.
    pub(super) fn widget(&mut self, name: &str, rect: egui::Rect) {
        if self.is_on {
            let [left, top, right, bottom] = [rect.left(), rect.top(), rect.right(), rect.bottom()]
                .map(|at| (at * self.pixels_per_point).round());
            self.line("widget", name, format!("{left} {top} {right} {bottom}"));
        }
    }

    /// Reports a value.
    pub fn state(&mut self, name: &str, value: impl Display) {
        if self.is_on {
            self.line("state", name, value.to_string());
        }
    }

    /// Reports time and connection.
    pub(super) fn scene(&mut self, scene: &Scene) {
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
        // A running clock would add a line in each frame.
        if scene.clock.paused {
            let at = scene.clock.game;
            let value = format_args!("{}.{:09}", at.whole_units(), at.unit_fraction_nu());
            self.state("game", value);
        }
    }

    /// The lines since the last call.
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
