//! How long frames are while somebody joins the largest world: no frame may be seen to come late.
//!
//! The world comes in the pieces in which servers send it, some in each frame. That they are cut out of bytes is not in
//! these figures: it is done piece by piece as well.

use std::io::Write;

use trantor_render::gpu::{Context, Quality};

use super::WORLDS;
use super::figures::{Samples, own};
use super::walkers::Joining;
use super::worlds::{Seen, Watched};

/// Pieces taken for a frame.
const PIECES_A_FRAME: usize = 16;
/// Frames after the world is there: until all of it is painted and handed over.
const FRAMES_AFTER: usize = 60;

pub fn measure(context: &Context, size: (u32, u32), out: &mut impl Write) -> anyhow::Result<()> {
    let (side, agents, _) = WORLDS[WORLDS.len() - 1];
    writeln!(
        out,
        "\n| joining {side} × {side} with {agents} agents | frames | median | max |"
    )?;
    writeln!(out, "|---|---|---|---|")?;
    let mut joining = Joining::new(u32::from(side), agents);
    let mut receiving = Samples::default();
    let mut frames = 0;
    loop {
        let start = own();
        let is_done = !(0..PIECES_A_FRAME).all(|_| joining.take());
        receiving.push(own() - start);
        frames += 1;
        if is_done {
            break;
        }
    }
    let start = own();
    let walkers = joining.finish();
    let finished = own() - start;
    let mut watched = Watched::of(context, walkers, side, Seen::Whole, Quality::Swift, size);
    let [mut first, mut after]: [Samples; 2] = Default::default();
    for frame in 0..FRAMES_AFTER {
        let start = own();
        watched.frame(context);
        let spent = own() - start;
        context.device.poll(wgpu::PollType::wait_indefinitely())?;
        match frame {
            0 => first.push(spent + finished),
            _ => after.push(spent),
        }
    }
    for (what, frames, samples) in [
        ("while its pieces come", frames, &receiving),
        ("the first that shows it", 1, &first),
        ("after that", FRAMES_AFTER - 1, &after),
    ] {
        writeln!(
            out,
            "| {what} | {frames} | {:.2} | {:.2} |",
            samples.median(),
            samples.max()
        )?;
    }
    Ok(())
}
