//! A screen that shows nothing: for the tests of the loop, and to measure its pace without a display.

use std::collections::VecDeque;

use trantor_time::{Rate, RealSpan, RealTime};

use super::Screen;
use crate::figures::Figures;
use crate::intent::Intent;
use crate::state::ViewerState;

/// A display that reports a rate, and a renderer that makes its lists and throws them away.
#[derive(Debug)]
pub struct PretendScreen {
    /// What the display reports, from the next frame on.
    pub rate: Rate,
    /// Its density; the picture has the same size in pixels.
    pub pixels_per_point: f32,
    /// What else a frame does, given when it began.
    pub work: fn(RealTime),
    /// Lays out the panels, if there is one.
    pub panels: Option<egui::Context>,
    /// What the pointer does with the panels, one thing a frame.
    pub pointer: VecDeque<egui::Event>,
    /// When frames were drawn, each at the instant that its systems were given, as far as there is room.
    pub drawn: Vec<RealTime>,
    pub asked: Vec<Intent>,
}

/// Frames that are noted: an hour at 144 a second.
const FRAMES_MAX: usize = 144 * 3_600;
const PIXELS: (u32, u32) = (1280, 720);

impl PretendScreen {
    /// A display that shows so many pictures a second.
    ///
    /// # Panics
    /// If that is no rate.
    pub fn new(per_second: f64) -> Self {
        Self {
            rate: Rate::per_second(per_second).expect("a rate"),
            pixels_per_point: 1.0,
            work: |_| (),
            panels: None,
            pointer: VecDeque::new(),
            drawn: Vec::new(),
            asked: Vec::new(),
        }
    }

    pub fn intervals(&self) -> impl Iterator<Item = RealSpan> + '_ {
        self.drawn.windows(2).map(|pair| pair[1] - pair[0])
    }
}

impl Screen for PretendScreen {
    fn display_rate(&mut self, _: RealTime) -> Rate {
        self.rate
    }

    fn size(&self) -> ((u32, u32), f32) {
        (PIXELS, self.pixels_per_point)
    }

    fn lay_out(&mut self, state: &mut ViewerState, figures: &Figures, now: RealTime) {
        if let Some(egui) = &self.panels {
            let events = self.pointer.pop_front().into_iter().collect();
            let mut output = lay_out(state, egui, PIXELS, figures, now, events);
            output.textures_delta.clear();
            std::hint::black_box(egui.tessellate(output.shapes, output.pixels_per_point));
        }
    }

    fn draw(&mut self, state: &mut ViewerState, now: RealTime) -> anyhow::Result<bool> {
        state.compose();
        (self.work)(now);
        if self.drawn.len() < FRAMES_MAX {
            self.drawn.push(now);
        }
        Ok(true)
    }

    fn host_request(&mut self, what: Intent, _: &mut ViewerState, _: RealTime) -> Option<String> {
        self.asked.push(what);
        None
    }
}

/// Lays out the panels in a picture of `size`, in pixels, at one pixel a point of the display.
pub fn lay_out(
    state: &mut ViewerState,
    egui: &egui::Context,
    size: (u32, u32),
    figures: &Figures,
    now: RealTime,
    events: Vec<egui::Event>,
) -> egui::FullOutput {
    // egui's points are larger where the panels are.
    let size = egui::vec2(size.0 as f32, size.1 as f32) / egui.zoom_factor();
    let input = egui::RawInput {
        screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
        time: Some(now.as_nanos() as f64 / 1e9),
        events,
        ..Default::default()
    };
    egui.run_ui(input, |ui| state.panels(&ui.ctx().clone(), figures, now))
}
