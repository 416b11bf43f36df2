//! A screen that shows nothing: for the tests of the loop, and to measure its pace
//! without a display.

use trantor_time::{Rate, RealSpan, RealTime};

use super::Screen;
use crate::hud::figures::Figures;
use crate::intent::Intent;
use crate::stage::Stage;

/// A display that reports a rate, and a renderer that makes its lists and throws them away.
#[derive(Debug)]
pub struct PretendScreen {
    rate: Rate,
    pixels_per_point: f32,
    /// When each frame was drawn, as far as there is room.
    drawn: Vec<RealTime>,
    /// What else a frame does, told when it began.
    work: fn(RealTime),
    asked: Vec<Intent>,
}

/// Frames that are noted: an hour at 144 a second.
const FRAMES_MAX: usize = 144 * 3_600;
/// Size of the picture that is not drawn.
const PIXELS: (u32, u32) = (1280, 720);

impl PretendScreen {
    /// A display that shows `rate` pictures a second.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            pixels_per_point: 1.0,
            drawn: Vec::new(),
            work: |_| (),
            asked: Vec::new(),
        }
    }

    /// The same, with `work` to be done in each frame; it is told when the frame began.
    pub fn working(self, work: fn(RealTime)) -> Self {
        Self { work, ..self }
    }

    /// A display of that density, the same in pixels.
    pub fn with_density(self, pixels_per_point: f32) -> Self {
        Self {
            pixels_per_point,
            ..self
        }
    }

    /// Another display: it reports another rate from the next frame on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// When frames were drawn, each at the instant that its systems were given.
    pub fn drawn(&self) -> &[RealTime] {
        &self.drawn
    }

    /// From each frame to the next.
    pub fn intervals(&self) -> impl Iterator<Item = RealSpan> + '_ {
        self.drawn.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// What was asked of the program around the loop.
    pub fn asked(&self) -> &[Intent] {
        &self.asked
    }
}

impl Screen for PretendScreen {
    fn display_rate(&mut self, _: RealTime) -> Rate {
        self.rate
    }

    fn size(&self) -> ((u32, u32), f32) {
        (PIXELS, self.pixels_per_point)
    }

    fn lay_out(&mut self, _: &mut Stage, _: &Figures, _: RealTime) {}

    fn draw(&mut self, stage: &mut Stage, now: RealTime) -> anyhow::Result<bool> {
        stage.compose();
        (self.work)(now);
        if self.drawn.len() < FRAMES_MAX {
            self.drawn.push(now);
        }
        Ok(true)
    }

    fn host_request(&mut self, what: Intent, _: &mut Stage, _: RealTime) -> Option<String> {
        if self.asked.len() < FRAMES_MAX {
            self.asked.push(what);
        }
        None
    }
}
