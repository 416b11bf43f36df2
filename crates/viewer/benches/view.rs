//! What a frame costs: everything of ours on one core, and the whole picture on the adapter at hand.
//!
//! Stands for a viewer of a busy game at 100 units a second and 60 frames a second: 20 × 20 tiles with 12 agents,
//! 100 × 100 with 1,000, and 1,000 × 1,000 with 10,000 and a million resources, each as a whole and from near. Good:
//! 0.3, 0.8 and 3 ms for all of it that is not the graphics card's (scene, lists, ground, handing over).
//!
//! On a software adapter the picture takes the processor's time as well, and all of its cores: the last two columns.

#[path = "../../client/benches/walkers/mod.rs"]
mod walkers;

use std::io::Write as _;

use clap::Parser;
use glam::Vec2;
use trantor_runtime::real_clock::{RealClock, processor_time_for_measurement};
use trantor_time::{Clock as _, RealSpan, RealTime};
use trantor_viewer::gpu::painter::Painter;
use trantor_viewer::gpu::{Context, Offscreen, Quality, Renderer};
use trantor_viewer::picture::compose::Marks;
use trantor_viewer::picture::ground::{GroundPaint, PaintMode};
use trantor_viewer::picture::palette::Mood;
use trantor_viewer::picture::{CameraPose, Compose, DrawList, Options};
use trantor_viewer::screenshot;
use trantor_viewer::shots::SHOTS;

use walkers::Walkers;

#[derive(Parser)]
struct Arguments {
    /// Frames measured of each
    #[arg(long, default_value_t = 60)]
    frames: usize,
    /// Width and height of the picture
    #[arg(long, default_value = "1280x720")]
    size: String,
    /// Only the panels
    #[arg(long)]
    panels: bool,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Sides, agents, and what is good for all of ours, in milliseconds.
const WORLDS: [(u16, u32, f64); 3] = [(20, 12, 0.3), (100, 1_000, 0.8), (1_000, 10_000, 3.0)];
/// From how far a near view looks, in tiles.
const NEAR_TILES: f32 = 16.0;
/// Frames before the first that counts: they make pipelines and grow buffers.
const WARMING: usize = 5;
/// Parts of a frame that are ours, in their order.
const PARTS: [&str; 4] = ["scene", "lists", "ground", "handing over"];

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let size = arguments
        .size
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or_else(|| anyhow::anyhow!("a size as 1280x720"))?;
    let context = Context::without_window()?;
    let mut out = std::io::stdout().lock();
    let info = context.adapter.get_info();
    writeln!(
        out,
        "Medians of {} frames of {} x {} on {}, in ms",
        arguments.frames, size.0, size.1, info.name
    )?;
    if arguments.panels {
        return panels(&context, &arguments, size, &mut out);
    }
    writeln!(
        out,
        "| world | seen | quality | instances | {} | ours [good] | picture | its processor time |",
        PARTS.join(" | ")
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|")?;
    for (side, agents, good) in WORLDS {
        for (seen, near) in [("whole", false), ("near", true)] {
            for quality in [Quality::Swift, Quality::Fine] {
                let figures = Measured::new(&context, (side, agents), near, quality, size)
                    .run(&context, arguments.frames)?;
                let parts: Vec<String> = figures.parts.iter().map(|part| format!("{part:.3}")).collect();
                writeln!(
                    out,
                    "| {side} × {side}, {agents} agents | {seen} | {quality:?} | {} | {} | {:.2} [{good}] | {:.1} | {:.1} |",
                    figures.instances,
                    parts.join(" | "),
                    figures.ours,
                    figures.picture,
                    figures.processor,
                )?;
            }
        }
    }
    panels(&context, &arguments, size, &mut out)?;
    Ok(())
}

/// What the panels cost over a map of ordinary size: laying out is ours, painting the adapter's.
fn panels(
    context: &Context,
    arguments: &Arguments,
    size: (u32, u32),
    out: &mut impl std::io::Write,
) -> anyhow::Result<()> {
    let clock = RealClock::new();
    let (mut stage, now) = SHOTS[0].stage(size);
    let egui = egui::Context::default();
    let mut painter = Painter::new(context, Offscreen::FORMAT);
    let target = Offscreen::new(&context.device, Offscreen::FORMAT, size);
    let view = target.view();
    let (mut laying, mut handing, mut picture, mut processor) = (vec![], vec![], vec![], vec![]);
    for frame in 0..arguments.frames + WARMING {
        let now = now + RealSpan::from_millis(16) * frame as i64;
        stage.update(Some(RealSpan::from_millis(16)), now);
        let used = processor_time_for_measurement().unwrap_or_default();
        let start = clock.now();
        let mut laid = screenshot::lay_out(&mut stage, &egui, size, now);
        let laid_out = clock.now();
        let mut encoder = context.device.create_command_encoder(&Default::default());
        painter.paint(context, &mut laid, Some((&mut encoder, &view, size)));
        context.queue.submit([encoder.finish()]);
        let handed = clock.now();
        context.device.poll(wgpu::PollType::wait_indefinitely())?;
        let done = clock.now();
        let spent = processor_time_for_measurement().unwrap_or_default() - used;
        if frame >= WARMING {
            laying.push((laid_out - start).as_millis_f64());
            handing.push((handed - laid_out).as_millis_f64());
            picture.push((done - handed).as_millis_f64());
            processor.push((spent - (handed - start)).max(RealSpan::ZERO).as_millis_f64());
        }
    }
    writeln!(
        out,
        "Panels over 20 × 20 with 36 agents: laid out {:.2}, handed over {:.2}, painted {:.1}, of which processor {:.1}",
        median(laying),
        median(handing),
        median(picture),
        median(processor),
    )?;
    Ok(())
}

/// A world that is drawn frame by frame.
struct Measured {
    walkers: Walkers,
    pose: CameraPose,
    options: Options,
    composer: Compose,
    list: DrawList,
    paint: GroundPaint,
    target: Offscreen,
    renderer: Renderer,
}

/// Medians, in milliseconds.
struct Figures {
    instances: usize,
    parts: [f64; PARTS.len()],
    ours: f64,
    picture: f64,
    processor: f64,
}

impl Measured {
    fn new(
        context: &Context,
        (side, agents): (u16, u32),
        near: bool,
        quality: Quality,
        size: (u32, u32),
    ) -> Self {
        let sides = Vec2::splat(f32::from(side));
        let whole = CameraPose::overview(sides, size.0 as f32 / size.1 as f32, (Vec2::ZERO, Vec2::ONE));
        let pose = CameraPose {
            distance: if near { NEAR_TILES } else { whole.distance },
            ..whole
        };
        Self {
            walkers: Walkers::new(u32::from(side), agents),
            pose,
            options: Options {
                pixels: size,
                mood: Mood::dusk(),
                paint_everywhere: false,
                middle: None,
                detail: quality.detail(),
            },
            composer: Compose::default(),
            list: DrawList::default(),
            paint: GroundPaint::default(),
            target: Offscreen::new(&context.device, Offscreen::FORMAT, size),
            renderer: Renderer::new(context, quality, Offscreen::FORMAT, size),
        }
    }

    fn run(mut self, context: &Context, frames: usize) -> anyhow::Result<Figures> {
        let clock = RealClock::new();
        let mut parts: [Vec<f64>; PARTS.len()] = Default::default();
        let (mut ours, mut picture, mut processor) = (Vec::new(), Vec::new(), Vec::new());
        for frame in 0..frames + WARMING {
            let used = processor_time_for_measurement().unwrap_or_default();
            let start = clock.now();
            let ends = self.frame(context, &clock);
            context.device.poll(wgpu::PollType::wait_indefinitely())?;
            let done = clock.now();
            if frame < WARMING {
                continue;
            }
            let mut from = start;
            for (part, end) in parts.iter_mut().zip(ends) {
                part.push((end - from).as_millis_f64());
                from = end;
            }
            ours.push((from - start).as_millis_f64());
            picture.push((done - from).as_millis_f64());
            let spent = processor_time_for_measurement().unwrap_or_default() - used;
            processor.push((spent - (from - start)).max(RealSpan::ZERO).as_millis_f64());
        }
        Ok(Figures {
            instances: self.list.instances(),
            parts: parts.map(median),
            ours: median(ours),
            picture: median(picture),
            processor: median(processor),
        })
    }

    /// One frame up to where the device has it; answers when each part ended.
    fn frame(&mut self, context: &Context, clock: &RealClock) -> [RealTime; PARTS.len()] {
        self.walkers.tell();
        self.walkers.draw();
        let written = clock.now();
        let scene = &self.walkers.scene;
        self.composer.compose(
            scene,
            &self.pose,
            &self.options,
            &Marks::default(),
            &mut self.list,
        );
        let listed = clock.now();
        if let Some(ground) = &scene.ground {
            self.paint.update(ground, PaintMode::Mixture);
        }
        let painted = clock.now();
        self.renderer
            .upload(&context.device, &context.queue, &self.list, &mut self.paint);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        self.renderer
            .encode(&mut encoder, &self.list, &self.target.view());
        context.queue.submit([encoder.finish()]);
        [written, listed, painted, clock.now()]
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
