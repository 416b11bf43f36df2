//! Pictures and films into files, without a window.

pub mod film;
pub mod screenshot;

use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _, Waker};
use trantor_time::{Clock as _, RealSpan, RealTime};

use crate::stage::Stage;

/// A viewer without a screen, which waits for its connection itself.
#[derive(Debug)]
pub struct Headless {
    stage: Stage,
    parker: Parker,
    clock: RealClock,
    /// Whether the camera and trails stand still, so that waiting changes no picture.
    is_still: bool,
}

impl Headless {
    /// # Errors
    /// Those of `make_stage`.
    pub fn new(make_stage: impl FnOnce(Waker) -> anyhow::Result<Stage>) -> anyhow::Result<Self> {
        let parker = Parker::new();
        Ok(Self {
            stage: make_stage(parker.waker())?,
            parker,
            clock: RealClock::new(),
            is_still: false,
        })
    }

    fn resize(&mut self, size: (u32, u32)) {
        self.stage.resize(size, egui::vec2(size.0 as f32, size.1 as f32));
    }

    /// Updates every `step` at least until `is_done`, and answers the time of the last update.
    fn run(&mut self, step: RealSpan, mut is_done: impl FnMut(&mut Stage, RealTime) -> bool) -> RealTime {
        let mut last = None;
        loop {
            let now = self.clock.now();
            while self.stage.source().take_network(now) {}
            let elapsed = last.filter(|_| !self.is_still).map(|last| now.since(last));
            self.stage.update(elapsed, now);
            if is_done(&mut self.stage, now) {
                return now;
            }
            last = Some(now);
            self.parker.wait(Some(now + step));
        }
    }
}
