//! What a frame costs: lists and uploads on one core, and the whole picture on the adapter at hand.
//!
//! Stands for a viewer that shows 20 × 20 tiles with 36 agents, the same from near, and 1,000 × 1,000 tiles with 10,000 agents. Good:
//! 0.3 ms for the lists of the first, 3 ms for those of the last (R-X-40 asks for frames at the display's rate).
//! On a software adapter the picture itself takes the processor's time, and all of its cores.

use std::io::Write as _;

use clap::Parser;
use trantor_client::Scene;
use trantor_runtime::real_clock::{RealClock, processor_time_for_measurement};
use trantor_time::{Clock as _, RealSpan};
use trantor_viewer::demo::{Demo, DemoScene};
use trantor_viewer::gpu::{Context, Offscreen, Quality, Renderer};
use trantor_viewer::picture::compose::Marks;
use trantor_viewer::picture::ground::{GroundPaint, PaintMode};
use trantor_viewer::picture::palette::Mood;
use trantor_viewer::picture::{Compose, DrawList, Options};

#[derive(Parser)]
struct Arguments {
    /// Frames measured of each
    #[arg(long, default_value_t = 30)]
    frames: u32,
    /// Width and height of the picture
    #[arg(long, default_value = "1280x720")]
    size: String,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

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
        "{} frames of {} x {} on {}",
        arguments.frames, size.0, size.1, info.name
    )?;
    writeln!(
        out,
        "| scene | quality | instances | lists, ms | upload, ms | picture, ms | processor, ms |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for which in [
        DemoScene::Overview,
        DemoScene::Close,
        DemoScene::Ritual,
        DemoScene::BigWorld,
    ] {
        for quality in [Quality::Swift, Quality::Fine] {
            let figures = measure(&context, which, quality, size, arguments.frames)?;
            writeln!(out, "| {which:?} | {quality:?} | {figures} |")?;
        }
    }
    Ok(())
}

fn measure(
    context: &Context,
    which: DemoScene,
    quality: Quality,
    size: (u32, u32),
    frames: u32,
) -> anyhow::Result<String> {
    let clock = RealClock::new();
    let demo = Demo::new(which);
    let mut scene = Scene::default();
    let mut composer = Compose::default();
    let mut list = DrawList::default();
    let mut paint = GroundPaint::default();
    let target = Offscreen::new(&context.device, Offscreen::FORMAT, size);
    let mut renderer = Renderer::new(&context.device, quality, Offscreen::FORMAT, size);
    let whole = (glam::Vec2::ZERO, glam::Vec2::ONE);
    let pose = demo.camera(size.0 as f32 / size.1 as f32, whole);
    let options = Options {
        pixels: size,
        mood: Mood::dusk(),
        paint_everywhere: false,
        middle: None,
        detail: quality.detail(),
    };
    let mut spent = [RealSpan::ZERO; 3];
    let mut processor = RealSpan::ZERO;
    // The first frames make pipelines and grow buffers.
    for frame in 0..frames + 3 {
        demo.scene(500.0 + f64::from(frame), &mut scene);
        let used = processor_time_for_measurement().unwrap_or_default();
        let start = clock.now();
        composer.compose(&scene, &pose, &options, &Marks::default(), &mut list);
        if let Some(ground) = &scene.ground {
            paint.update(ground, PaintMode::Mixture);
        }
        let listed = clock.now();
        renderer.upload(&context.device, &context.queue, &list, &mut paint);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        renderer.encode(&mut encoder, &list, &target.view());
        let commands = encoder.finish();
        let handed_over = clock.now();
        context.queue.submit([commands]);
        context.device.poll(wgpu::PollType::wait_indefinitely())?;
        let end = clock.now();
        if frame >= 3 {
            for (sum, span) in spent
                .iter_mut()
                .zip([listed - start, handed_over - listed, end - handed_over])
            {
                *sum += span;
            }
            processor += processor_time_for_measurement().unwrap_or_default() - used;
        }
    }
    let mean = |span: RealSpan| span.as_millis_f64() / f64::from(frames);
    Ok(format!(
        "{} | {:.3} | {:.3} | {:.1} | {:.1}",
        list.instances(),
        mean(spent[0]),
        mean(spent[1]),
        mean(spent[2]),
        mean(processor)
    ))
}
