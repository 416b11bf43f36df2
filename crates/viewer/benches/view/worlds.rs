//! Frames of a busy game at 100 units a second and 60 frames a second, seen as a whole, from near, and by a camera that
//! flies between the two.
//!
//! The parts are processor time of the loop's thread, so that other programs do not show in them. On a software adapter the
//! picture takes the processor's time as well, and all of its cores: the last two columns.

use std::io::Write as _;

use glam::Vec2;
use trantor_render::gpu::{Context, Offscreen, Quality, Renderer};
use trantor_render::picture::compose::Marks;
use trantor_render::picture::ground::{GroundPaint, PaintMode};
use trantor_render::picture::palette::Mood;
use trantor_render::picture::{CameraPose, Compose, DrawList, Options};
use trantor_runtime::real_clock::{RealClock, thread_time_for_measurement};
use trantor_time::{Clock as _, RealSpan};

use super::walkers::Walkers;
use super::{processor_time, quantile};

/// Sides and agents.
const WORLDS: [(u16, u32); 3] = [(20, 12), (100, 1_000), (1_000, 10_000)];
const SIZE: (u32, u32) = (1_280, 720);
/// Frames before the first that counts: they make pipelines, grow buffers, and paint and upload the largest map.
const WARM_UP_FRAMES: usize = 60;
/// Distance of a near view, in tiles.
const NEAR_TILES: f32 = 16.0;
/// Frames of a flight from the whole to near and back.
const FLIGHT_FRAMES: f32 = 90.0;

#[derive(Clone, Copy, Debug)]
enum Seen {
    Whole,
    Near,
    Flying,
}

impl Seen {
    fn pose(self, whole: CameraPose, frame: usize) -> CameraPose {
        let near = NEAR_TILES.min(whole.distance);
        let turns = frame as f32 / FLIGHT_FRAMES * std::f32::consts::TAU;
        let (distance, yaw) = match self {
            Self::Whole => (whole.distance, whole.yaw),
            Self::Near => (near, whole.yaw),
            Self::Flying => {
                let away = 0.5 + 0.5 * turns.cos();
                (
                    near * (whole.distance / NEAR_TILES).max(1.0).powf(away),
                    turns.sin(),
                )
            }
        };
        CameraPose {
            distance,
            yaw,
            ..whole
        }
    }
}

pub fn measure(frames: usize, side: Option<u16>, fine: bool) -> anyhow::Result<()> {
    let context = Context::without_window()?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{frames} frames of {SIZE:?} on {}; medians in milliseconds\n\n\
         | world | seen | quality | things | scene | lists | ground | upload | together | p99 | max | picture | its processor time |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|",
        context.adapter.get_info().name
    )?;
    let qualities = [Quality::Swift, Quality::Fine];
    let qualities = &qualities[..1 + usize::from(fine)];
    for (side, agents) in WORLDS
        .into_iter()
        .filter(|world| side.is_none_or(|side| side == world.0))
    {
        for seen in [Seen::Whole, Seen::Near, Seen::Flying] {
            for &quality in qualities {
                let row = row(&context, frames, (side, agents), seen, quality)?;
                writeln!(
                    out,
                    "| {side} × {side}, {agents} agents | {seen:?} | {quality:?} | {row}"
                )?;
            }
        }
    }
    Ok(())
}

/// The cells of one row: everything that shows a world, frame by frame.
fn row(
    context: &Context,
    frames: usize,
    (side, agents): (u16, u32),
    seen: Seen,
    quality: Quality,
) -> anyhow::Result<String> {
    let Context { device, queue, .. } = context;
    let aspect = SIZE.0 as f32 / SIZE.1 as f32;
    let whole = CameraPose::overview(Vec2::splat(f32::from(side)), aspect, (Vec2::ZERO, Vec2::ONE));
    let options = Options {
        pixels: SIZE,
        mood: Mood::dusk(),
        paint_everywhere: false,
        middle: None,
        detail: quality.detail(),
        elapsed_seconds: 1.0 / 60.0,
    };
    let mut walkers = Walkers::new(u32::from(side), agents);
    let (mut composer, mut list, mut paint) =
        (Compose::default(), DrawList::default(), GroundPaint::default());
    let target = Offscreen::new(device, Offscreen::FORMAT, SIZE);
    let mut renderer = Renderer::new(context, quality, Offscreen::FORMAT, SIZE);
    let clock = RealClock::new();
    // Four parts, their sum, the picture, its processor time.
    let mut columns: [Vec<f64>; 7] = Default::default();
    for frame in 0..frames + WARM_UP_FRAMES {
        let (used, start) = (processor_time(), thread_time());
        walkers.advance();
        let written = thread_time();
        let scene = &walkers.scene;
        let pose = seen.pose(whole, frame);
        composer.compose(scene, &pose, &options, &Marks::default(), &mut list);
        let listed = thread_time();
        if let Some(ground) = &scene.ground {
            paint.update(ground, PaintMode::Mixture);
            paint.follow_agents(ground.size, scene);
        }
        let painted = thread_time();
        renderer.upload(device, queue, &list, &mut paint);
        let mut encoder = device.create_command_encoder(&Default::default());
        renderer.encode(&mut encoder, &list, &target.view());
        queue.submit([encoder.finish()]);
        let (uploaded, uploaded_at) = (thread_time(), clock.now());
        device.poll(wgpu::PollType::wait_indefinitely())?;
        if frame >= WARM_UP_FRAMES {
            let spans = [
                written - start,
                listed - written,
                painted - listed,
                uploaded - painted,
                uploaded - start,
                clock.now() - uploaded_at,
                (processor_time() - used - (uploaded - start)).max(RealSpan::ZERO),
            ];
            for (column, span) in columns.iter_mut().zip(spans) {
                column.push(span.as_millis_f64());
            }
        }
    }
    let [scene, lists, ground, upload, together, picture, processor] =
        columns.each_ref().map(|column| quantile(column, 0.5));
    let [p99, max] = [0.99, 1.0].map(|share| quantile(&columns[4], share));
    Ok(format!(
        "{} | {scene:.3} | {lists:.3} | {ground:.3} | {upload:.3} | {together:.2} | {p99:.2} | {max:.2} | {picture:.1} \
         | {processor:.1} |",
        list.instances()
    ))
}

/// Processor time of this thread.
fn thread_time() -> RealSpan {
    thread_time_for_measurement().unwrap_or_default()
}
