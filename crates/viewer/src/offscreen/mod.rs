//! Pictures and films into files, without a window.

pub mod film;
pub mod screenshot;

use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Waker};
use trantor_time::{Clock as _, RealSpan, RealTime};

use crate::state::ViewerState;

/// A viewer without a screen, which waits for its connection itself.
#[derive(Debug)]
pub struct Headless {
    state: ViewerState,
    parker: Parker,
    clock: RealClock,
    /// Whether the camera and trails stand still, so that waiting changes no picture.
    is_still: bool,
}

impl Headless {
    /// # Errors
    /// Those of `make_state`.
    pub fn new(make_state: impl FnOnce(Waker) -> anyhow::Result<ViewerState>) -> anyhow::Result<Self> {
        let parker = Parker::new();
        Ok(Self {
            state: make_state(parker.waker())?,
            parker,
            clock: RealClock::new(),
            is_still: false,
        })
    }

    fn resize(&mut self, size: (u32, u32)) {
        self.state.resize(size, egui::vec2(size.0 as f32, size.1 as f32));
    }

    /// Updates every `step` at least until `is_done`, and answers the time of the last update.
    fn run(
        &mut self,
        step: RealSpan,
        mut is_done: impl FnMut(&mut ViewerState, RealTime) -> bool,
    ) -> RealTime {
        let mut last = None;
        loop {
            let now = self.clock.now();
            while self.state.source().take_network(now) {}
            let elapsed = last.filter(|_| !self.is_still).map(|last| now.since(last));
            self.state.update(elapsed, now);
            if is_done(&mut self.state, now) {
                return now;
            }
            last = Some(now);
            self.parker.wait(Some(now + step));
        }
    }
}
