//! Pictures and films into files, without a window: the viewer runs for a while and is drawn once, or picture by picture
//! ([`film`]).

pub mod film;

use std::path::Path;

use anyhow::{Context as _, bail};
use trantor_client::LinkState;
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Waker};
use trantor_time::{Clock as _, RealSpan, RealTime};

use crate::figures::Figures;
use crate::game_loop::pretend::lay_out;
use crate::options::Cli;
use crate::painter::FramePainter;
use crate::state::ViewerState;
use trantor_render::gpu::{Context, Offscreen, Pixels, Quality};

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

/// Runs for as long as `cli` says, and writes a picture of the end to `file`. The time of a demo is set without waiting.
///
/// # Errors
/// If no world came, if there is no graphics adapter, or the file cannot be written.
pub fn take(mut headless: Headless, cli: &Cli, file: &Path) -> anyhow::Result<()> {
    let size = cli.size.unwrap_or(Cli::SIZE);
    headless.resize(size);
    let after = RealSpan::from_nanos((cli.after * 1e9) as i64);
    let now = if headless.state.source().as_demo().is_some() {
        // The longest effects last a few hundred units; nothing from before that shows.
        let (begin, end) = (RealTime::ZERO, RealTime::ZERO + after);
        headless.state.update(None, begin);
        watch_demo(&mut headless.state, begin.max(end - RealSpan::from_secs(5)), end);
        end
    } else {
        let end = headless.clock.now() + after;
        headless.run(STEP, |_, now| now >= end)
    };
    let mut state = headless.state;
    if state.scene().ground.is_none() {
        let why = match &state.scene().link {
            LinkState::Ended { reason } => format!(": {reason}"),
            _ => "; --after waits longer".to_owned(),
        };
        let (name, seconds) = (state.source().name(), cli.after);
        bail!("no game was seen at {name} within {seconds} s{why}");
    }
    let context = Context::without_window()?;
    let pixels = Studio::new(&context, quality_of_a_still(cli), size).picture(&mut state, now)?;
    state.source().leave();
    pixels
        .write_png(file)
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The quality that `cli` asks for; a still may take its time on any adapter.
pub fn quality_of_a_still(cli: &Cli) -> Quality {
    cli.quality.unwrap_or(Quality::Fine)
}

/// Time between updates, as on a display.
const STEP: RealSpan = RealSpan::from_nanos(16_666_667);

/// Updates a demo from moment to moment as a display would.
pub fn watch_demo(state: &mut ViewerState, mut now: RealTime, end: RealTime) {
    while now < end {
        let step = STEP.min(end - now);
        now += step;
        state.update(Some(step), now);
    }
}

/// Layouts before the one that is drawn: enough for panels' animations to end.
const SETTLING: i64 = 16;

/// A screen in memory, for one picture or many.
pub struct Studio<'a> {
    context: &'a Context,
    painter: FramePainter,
    size: (u32, u32),
    is_settled: bool,
}

impl<'a> Studio<'a> {
    pub fn new(context: &'a Context, quality: Quality, size: (u32, u32)) -> Self {
        Self {
            painter: FramePainter::new(context, quality, Offscreen::FORMAT, size),
            context,
            size,
            is_settled: false,
        }
    }

    /// Draws the present state; panels animate by `now`.
    pub fn picture(&mut self, state: &mut ViewerState, now: RealTime) -> anyhow::Result<Pixels> {
        state.drawing.detail = self.painter.renderer.quality().detail();
        state.finish_paint();
        state.compose();
        if !std::mem::replace(&mut self.is_settled, true) {
            // A new painter knows no textures, and gets them from new panels.
            state.hud().forget_context();
            // The first layout only measures; later ones end the animations.
            for round in 0..SETTLING {
                self.lay_out(state, now + STEP * round);
            }
        }
        self.lay_out(state, now + STEP * SETTLING);
        Ok(self.painter.picture(self.context, state, self.size)?)
    }

    fn lay_out(&mut self, state: &mut ViewerState, now: RealTime) {
        let figures = Figures::default();
        let output = lay_out(state, &self.painter.egui, self.size, &figures, now, Vec::new());
        self.painter.lay(output);
    }
}
