//! What the panels cost over a map of ordinary size, and over the largest: laying out is ours, painting the adapter's.

use std::io::Write;

use trantor_render::gpu::{Context, Offscreen};
use trantor_runtime::real_clock::RealClock;
use trantor_time::{Clock as _, RealSpan};
use trantor_viewer::game_loop::pretend::lay_out;
use trantor_viewer::hud::figures::Figures;
use trantor_viewer::painter::{Laid, Painter};
use trantor_viewer::shots::{SHOTS, Shot};

use super::WARMING;
use super::figures::{Samples, all, own};

/// Shots over which panels are measured, and how many agents they have.
const OVER: [(&str, &str); 2] = [
    ("overview", "20 × 20, 36 agents"),
    ("whole-world", "1000 × 1000, 10000 agents"),
];
const STEP: RealSpan = RealSpan::from_millis(16);

pub fn measure(
    context: &Context,
    frames: usize,
    size: (u32, u32),
    out: &mut impl Write,
) -> anyhow::Result<()> {
    writeln!(
        out,
        "\n| panels over | laid out | p99 | max | handed over | painted | its processor time |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for (name, world) in OVER {
        if let Some(shot) = SHOTS.iter().find(|shot| shot.name == name) {
            writeln!(out, "| {world} | {}", over(context, shot, frames, size)?)?;
        }
    }
    Ok(())
}

fn over(context: &Context, shot: &Shot, frames: usize, size: (u32, u32)) -> anyhow::Result<String> {
    let clock = RealClock::new();
    let (mut stage, now) = shot.stage(size);
    let egui = egui::Context::default();
    let mut painter = Painter::new(context, Offscreen::FORMAT);
    let target = Offscreen::new(&context.device, Offscreen::FORMAT, size);
    let view = target.view();
    let [mut laying, mut handing, mut picture, mut processor]: [Samples; 4] = Default::default();
    for frame in 0..frames + WARMING {
        let now = now + STEP * frame as i64;
        stage.update(Some(STEP), now);
        let (used, start) = (all(), own());
        let output = lay_out(&mut stage, &egui, size, &Figures::default(), now, Vec::new());
        let mut laid = Laid {
            textures: output.textures_delta,
            primitives: egui.tessellate(output.shapes, output.pixels_per_point),
            pixels_per_point: output.pixels_per_point,
        };
        let laid_out = own();
        let mut encoder = context.device.create_command_encoder(&Default::default());
        painter.paint(context, &mut laid, Some((&mut encoder, &view, size)));
        context.queue.submit([encoder.finish()]);
        let (handed, handed_at) = (own(), clock.now());
        context.device.poll(wgpu::PollType::wait_indefinitely())?;
        if frame >= WARMING {
            laying.push(laid_out - start);
            handing.push(handed - laid_out);
            picture.push(clock.now() - handed_at);
            processor.push((all() - used - (handed - start)).max(RealSpan::ZERO));
        }
    }
    Ok(format!(
        "{:.2} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} |",
        laying.median(),
        laying.at(0.99),
        laying.max(),
        handing.median(),
        picture.median(),
        processor.median(),
    ))
}
