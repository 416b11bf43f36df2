//! A world that is drawn frame by frame, and seen in some way.

use glam::Vec2;
use trantor_render::gpu::{Context, Offscreen, Quality, Renderer};
use trantor_render::picture::compose::Marks;
use trantor_render::picture::ground::{GroundPaint, PaintMode};
use trantor_render::picture::palette::Mood;
use trantor_render::picture::{CameraPose, Compose, DrawList, Options};
use trantor_runtime::real_clock::RealClock;
use trantor_time::{Clock as _, RealSpan};

use super::WARMING;
use super::figures::{Samples, all, own};
use super::walkers::Walkers;

/// Parts of a frame that are ours, in their order.
pub const PARTS: [&str; 4] = ["scene", "lists", "ground", "handing over"];
/// From how far a near view looks, in tiles.
const NEAR_TILES: f32 = 16.0;
/// Frames of a flight from the whole to near and back.
const FLIGHT_FRAMES: f32 = 90.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Whole,
    Near,
    Flying,
}

pub const SEEN: [Seen; 3] = [Seen::Whole, Seen::Near, Seen::Flying];

impl Seen {
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Near => "near",
            Self::Flying => "from the one to the other",
        }
    }

    /// From where it is looked at in a frame.
    fn pose(self, whole: CameraPose, frame: usize) -> CameraPose {
        let turns = frame as f32 / FLIGHT_FRAMES * std::f32::consts::TAU;
        match self {
            Self::Whole => whole,
            Self::Near => CameraPose {
                distance: NEAR_TILES.min(whole.distance),
                ..whole
            },
            Self::Flying => {
                let away = 0.5 + 0.5 * turns.cos();
                CameraPose {
                    distance: NEAR_TILES.min(whole.distance)
                        * (whole.distance / NEAR_TILES).max(1.0).powf(away),
                    yaw: turns.sin(),
                    ..whole
                }
            }
        }
    }
}

/// Everything that shows a world, in the order of a frame.
pub struct Watched {
    pub walkers: Walkers,
    seen: Seen,
    whole: CameraPose,
    options: Options,
    composer: Compose,
    list: DrawList,
    paint: GroundPaint,
    target: Offscreen,
    renderer: Renderer,
    frames: usize,
}

impl Watched {
    pub fn new(
        context: &Context,
        (side, agents): (u16, u32),
        seen: Seen,
        quality: Quality,
        size: (u32, u32),
    ) -> Self {
        Self::of(
            context,
            Walkers::new(u32::from(side), agents),
            side,
            seen,
            quality,
            size,
        )
    }

    pub fn of(
        context: &Context,
        walkers: Walkers,
        side: u16,
        seen: Seen,
        quality: Quality,
        size: (u32, u32),
    ) -> Self {
        let sides = Vec2::splat(f32::from(side));
        Self {
            walkers,
            seen,
            whole: CameraPose::overview(sides, size.0 as f32 / size.1 as f32, (Vec2::ZERO, Vec2::ONE)),
            options: Options {
                pixels: size,
                mood: Mood::dusk(),
                paint_everywhere: false,
                middle: None,
                detail: quality.detail(),
                elapsed_seconds: 1.0 / 60.0,
            },
            composer: Compose::default(),
            list: DrawList::default(),
            paint: GroundPaint::default(),
            target: Offscreen::new(&context.device, Offscreen::FORMAT, size),
            renderer: Renderer::new(context, quality, Offscreen::FORMAT, size),
            frames: 0,
        }
    }

    pub fn run(mut self, context: &Context, frames: usize) -> anyhow::Result<Row> {
        let clock = RealClock::new();
        let mut row = Row::default();
        for frame in 0..frames + WARMING {
            let used = all();
            let spent = self.frame(context);
            let handed = clock.now();
            context.device.poll(wgpu::PollType::wait_indefinitely())?;
            if frame < WARMING {
                continue;
            }
            for (part, spent) in row.parts.iter_mut().zip(spent) {
                part.push(spent);
            }
            let ours = spent.into_iter().fold(RealSpan::ZERO, |sum, part| sum + part);
            row.ours.push(ours);
            row.picture.push(clock.now() - handed);
            row.processor.push((all() - used - ours).max(RealSpan::ZERO));
        }
        row.things = self.list.instances();
        Ok(row)
    }

    /// One frame up to where the device has it; answers what each part took.
    pub fn frame(&mut self, context: &Context) -> [RealSpan; PARTS.len()] {
        let start = own();
        self.walkers.tell();
        self.walkers.draw();
        let written = own();
        let scene = &self.walkers.scene;
        let pose = self.seen.pose(self.whole, self.frames);
        self.frames += 1;
        self.composer
            .compose(scene, &pose, &self.options, &Marks::default(), &mut self.list);
        let listed = own();
        if let Some(ground) = &scene.ground {
            self.paint.update(ground, PaintMode::Mixture);
            self.paint.follow_agents(ground.size, scene);
        }
        let painted = own();
        self.renderer
            .upload(&context.device, &context.queue, &self.list, &mut self.paint);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        self.renderer
            .encode(&mut encoder, &self.list, &self.target.view());
        context.queue.submit([encoder.finish()]);
        [
            written - start,
            listed - written,
            painted - listed,
            own() - painted,
        ]
    }
}

#[derive(Default)]
pub struct Row {
    things: usize,
    parts: [Samples; PARTS.len()],
    ours: Samples,
    picture: Samples,
    processor: Samples,
}

impl Row {
    pub fn cells(&self, good: f64) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|part| format!("{:.3}", part.median()))
            .collect();
        format!(
            "{} | {} | {:.2} [{good}] | {:.2} | {:.2} | {:.1} | {:.1} |",
            self.things,
            parts.join(" | "),
            self.ours.median(),
            self.ours.at(0.99),
            self.ours.max(),
            self.picture.median(),
            self.processor.median(),
        )
    }
}
