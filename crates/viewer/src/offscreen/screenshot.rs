//! One picture into a file, without a window: the viewer runs for a while and is drawn once.

use std::path::Path;

use anyhow::{Context as _, bail};
use trantor_client::LinkState;
use trantor_time::{Clock as _, RealSpan, RealTime};

use super::Headless;
use crate::game_loop::figures::Figures;
use crate::game_loop::pretend::lay_out;
use crate::options::Cli;
use crate::painter::{Laid, Painter};
use crate::state::ViewerState;
use trantor_render::gpu::{Context, Offscreen, Pixels, Quality, Renderer};

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
    target: Offscreen,
    renderer: Renderer,
    painter: Painter,
    egui: egui::Context,
    laid: Laid,
    size: (u32, u32),
    is_settled: bool,
}

impl<'a> Studio<'a> {
    pub fn new(context: &'a Context, quality: Quality, size: (u32, u32)) -> Self {
        Self {
            target: Offscreen::new(&context.device, Offscreen::FORMAT, size),
            renderer: Renderer::new(context, quality, Offscreen::FORMAT, size),
            painter: Painter::new(context, Offscreen::FORMAT),
            egui: egui::Context::default(),
            laid: Laid::empty(),
            context,
            size,
            is_settled: false,
        }
    }

    /// Draws the present state; panels animate by `now`.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn picture(&mut self, state: &mut ViewerState, now: RealTime) -> anyhow::Result<Pixels> {
        state.detail = self.renderer.quality().detail();
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
        let Context { device, queue, .. } = self.context;
        let mut encoder = device.create_command_encoder(&Default::default());
        let view = self.target.view();
        let (list, paint) = state.drawing();
        self.renderer.upload(device, queue, list, paint);
        self.renderer.encode(&mut encoder, list, &view);
        let onto = (&mut encoder, &view, self.size);
        self.painter.paint(self.context, &mut self.laid, Some(onto));
        self.target.encode_copy(&mut encoder);
        queue.submit([encoder.finish()]);
        Ok(self.target.read(self.context)?)
    }

    fn lay_out(&mut self, state: &mut ViewerState, now: RealTime) {
        let output = lay_out(state, &self.egui, self.size, &Figures::default(), now, Vec::new());
        self.laid.textures.append(output.textures_delta);
        self.laid.primitives = self.egui.tessellate(output.shapes, output.pixels_per_point);
        self.laid.pixels_per_point = output.pixels_per_point;
    }
}
