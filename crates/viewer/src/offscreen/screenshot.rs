//! One picture into a file, without a window: the same stage, watched for a while, drawn once.

use std::path::Path;

use anyhow::{Context as _, bail};
use trantor_client::LinkState;
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock as _, RealSpan, RealTime};

use crate::hud::figures::Figures;
use crate::options::Cli;
use crate::painter::{Laid, Painter};
use crate::stage::Stage;
use trantor_render::gpu::{Context, Offscreen, Pixels, Quality, Renderer};

/// Watches `stage` for as long as `cli` says, draws it and writes the picture to `file`.
///
/// A demo is not waited for: its time is what it is told to be.
///
/// # Errors
/// If there was nothing to be seen, if there is nothing to draw with, or the file cannot be written.
pub fn take(mut stage: Stage, mut parker: Parker, cli: &Cli, file: &Path) -> anyhow::Result<()> {
    let size = cli.size.unwrap_or(Cli::SIZE);
    stage.resize(size, egui::vec2(size.0 as f32, size.1 as f32));
    let after = RealSpan::from_nanos((cli.after * 1e9) as i64);
    let now = if stage.source().as_demo().is_some() {
        watch_demo(&mut stage, after)
    } else {
        watch(&mut stage, &mut parker, after)
    };
    if stage.scene().ground.is_none() {
        let why = match &stage.scene().link {
            LinkState::Ended { reason } => format!(": {reason}"),
            _ => "; --after waits longer".to_owned(),
        };
        let (name, seconds) = (stage.source().name(), cli.after);
        bail!("no game was seen at {name} within {seconds} s{why}");
    }
    let pixels = draw(&mut stage, quality_of_a_still(cli), size, now)?;
    stage.source().leave();
    pixels
        .write_png(file)
        .with_context(|| format!("cannot write {}", file.display()))
}

/// What `cli` asks for; a still may take its time, whoever draws it.
pub fn quality_of_a_still(cli: &Cli) -> Quality {
    cli.quality.unwrap_or(Quality::Fine)
}

/// Steps in which what is watched is brought forward: those of a display.
const STEP: RealSpan = RealSpan::from_nanos(16_666_667);

fn watch_demo(stage: &mut Stage, after: RealSpan) -> RealTime {
    // What lasts longest on the board is a few hundred units; before that nothing can be seen any more.
    let first = (after - RealSpan::from_secs(5)).max(RealSpan::ZERO);
    stage.update(None, RealTime::ZERO);
    let mut now = RealTime::ZERO + first;
    let end = RealTime::ZERO + after;
    while now < end {
        let step = STEP.min(end - now);
        now += step;
        stage.update(Some(step), now);
    }
    end
}

fn watch(stage: &mut Stage, parker: &mut Parker, after: RealSpan) -> RealTime {
    let clock = RealClock::new();
    let start = clock.now();
    let end = start + after;
    let mut last = None;
    loop {
        let now = clock.now();
        while stage.source().take_network(now) {}
        stage.update(last.map(|last| now.since(last)), now);
        last = Some(now);
        if now >= end {
            return now;
        }
        parker.wait(Some(end.min(now + STEP)));
    }
}

/// Layouts before the one that is drawn: enough for panels' animations to end.
const SETTLING: i64 = 16;

/// Draws a stage as it is, with a device of its own.
///
/// # Errors
/// If there is nothing to draw with.
pub fn draw(stage: &mut Stage, quality: Quality, size: (u32, u32), now: RealTime) -> anyhow::Result<Pixels> {
    draw_with(&Context::without_window()?, stage, quality, size, now)
}

/// The same with a device that is there.
///
/// # Errors
/// If the device is lost.
pub fn draw_with(
    context: &Context,
    stage: &mut Stage,
    quality: Quality,
    size: (u32, u32),
    now: RealTime,
) -> anyhow::Result<Pixels> {
    Studio::new(context, quality, size).draw(stage, now)
}

/// All that is needed to draw without a window, for one picture or many.
pub struct Studio<'a> {
    context: &'a Context,
    target: Offscreen,
    renderer: Renderer,
    painter: Painter,
    egui: egui::Context,
    quality: Quality,
    size: (u32, u32),
    /// Whether a picture was drawn.
    has_drawn: bool,
}

impl<'a> Studio<'a> {
    /// One for pictures of that size.
    pub fn new(context: &'a Context, quality: Quality, size: (u32, u32)) -> Self {
        Self {
            target: Offscreen::new(&context.device, Offscreen::FORMAT, size),
            renderer: Renderer::new(context, quality, Offscreen::FORMAT, size),
            painter: Painter::new(context, Offscreen::FORMAT),
            egui: egui::Context::default(),
            context,
            quality,
            size,
            has_drawn: false,
        }
    }

    /// Draws a stage as it is; `now` is what panels that move go by.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn draw(&mut self, stage: &mut Stage, now: RealTime) -> anyhow::Result<Pixels> {
        let Self { context, target, .. } = self;
        stage.set_detail(self.quality.detail());
        stage.finish_paint();
        stage.compose();
        if !std::mem::replace(&mut self.has_drawn, true) {
            // New panels know nothing of what others were given.
            stage.hud().forget_context();
            // The first layout only measures; later ones settle what glides into place.
            for round in 0..SETTLING {
                let mut laid = lay_out(stage, &self.egui, self.size, now + STEP * round);
                self.painter.paint(context, &mut laid, None);
            }
        }
        let mut laid = lay_out(stage, &self.egui, self.size, now + STEP * SETTLING);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        let view = target.view();
        let (list, paint) = stage.drawing();
        self.renderer.upload(&context.device, &context.queue, list, paint);
        self.renderer.encode(&mut encoder, list, &view);
        self.painter
            .paint(context, &mut laid, Some((&mut encoder, &view, self.size)));
        target.encode_copy(&mut encoder);
        context.queue.submit([encoder.finish()]);
        Ok(target.read(context)?)
    }
}

/// Lays out the panels of a stage, at one pixel a point.
pub fn lay_out(stage: &mut Stage, context: &egui::Context, size: (u32, u32), now: RealTime) -> Laid {
    let input = egui::RawInput {
        screen_rect: Some(egui::Rect::from_min_size(
            egui::Pos2::ZERO,
            egui::vec2(size.0 as f32, size.1 as f32),
        )),
        time: Some(now.as_nanos() as f64 / 1e9),
        ..Default::default()
    };
    let output = context.run_ui(input, |ui| {
        stage.panels(&ui.ctx().clone(), &Figures::default(), now)
    });
    Laid {
        textures: output.textures_delta,
        primitives: context.tessellate(output.shapes, output.pixels_per_point),
        pixels_per_point: output.pixels_per_point,
    }
}
