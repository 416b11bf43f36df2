//! What a frame costs: everything of ours on one core, and the whole picture on the adapter at hand.
//!
//! Stands for a viewer of a busy game at 100 units a second and 60 frames a second: 20 × 20 tiles with 12 agents,
//! 100 × 100 with 1,000, and 1,000 × 1,000 with 10,000 and a million resources; each as a whole, from near, and by an eye
//! that flies from the one to the other and turns. Good: 0.3, 0.8 and 3 ms for all of it that is not the graphics card's
//! (scene, lists, ground, handing over). Then the panels over a small map and over the largest world, what it takes to
//! take over what happened, and how long the frames are while somebody joins the largest world.
//!
//! Ours is processor time of the one thread that does it, so that other programs do not show in it. On a software adapter
//! the picture takes the processor's time as well, and all of its cores: the last two columns.

mod events;
mod figures;
mod joining;
mod panels;
mod walkers;
mod worlds;

use std::io::Write as _;

use clap::Parser;
use trantor_render::gpu::{Context, Quality};

use worlds::{PARTS, SEEN, Watched};

#[derive(Parser)]
struct Arguments {
    /// Frames measured of each
    #[arg(long, default_value_t = 240)]
    frames: usize,
    /// Width and height of the picture
    #[arg(long, default_value = "1280x720")]
    size: String,
    /// Only these parts: worlds, panels, events, joining
    #[arg(long, value_delimiter = ',', default_value = "worlds,panels,events,joining")]
    only: Vec<String>,
    /// Only worlds of this side
    #[arg(long)]
    side: Option<u16>,
    /// Also with the beauty that graphics cards are given; a software adapter takes minutes for it
    #[arg(long)]
    fine: bool,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Sides, agents, and what is good for all of ours, in milliseconds.
const WORLDS: [(u16, u32, f64); 3] = [(20, 12, 0.3), (100, 1_000, 0.8), (1_000, 10_000, 3.0)];
/// Frames before the first that counts: they make pipelines, grow buffers, and paint and hand over the largest map.
const WARMING: usize = 60;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let size = arguments
        .size
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or_else(|| anyhow::anyhow!("a size as 1280x720"))?;
    let wants = |part: &str| arguments.only.iter().any(|only| only == part);
    let context = Context::without_window()?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} frames of {} x {} on {}; milliseconds, medians where nothing else is said",
        arguments.frames,
        size.0,
        size.1,
        context.adapter.get_info().name
    )?;
    if wants("worlds") {
        writeln!(
            out,
            "\n| world | seen | quality | things | {} | ours [good] | p99 | max | picture | its processor time |",
            PARTS.join(" | ")
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
        let qualities = [Quality::Swift, Quality::Fine];
        let qualities = &qualities[..1 + usize::from(arguments.fine)];
        for &(side, agents, good) in WORLDS
            .iter()
            .filter(|world| arguments.side.is_none_or(|side| side == world.0))
        {
            for seen in SEEN {
                for &quality in qualities {
                    let row = Watched::new(&context, (side, agents), seen, quality, size)
                        .run(&context, arguments.frames)?;
                    writeln!(
                        out,
                        "| {side} × {side}, {agents} agents | {} | {quality:?} | {}",
                        seen.name(),
                        row.cells(good)
                    )?;
                }
            }
        }
    }
    if wants("panels") {
        panels::measure(&context, arguments.frames, size, &mut out)?;
    }
    if wants("events") {
        events::measure(arguments.frames, &mut out)?;
    }
    if wants("joining") {
        joining::measure(&context, size, &mut out)?;
    }
    Ok(())
}
