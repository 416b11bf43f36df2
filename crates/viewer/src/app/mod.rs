//! The window and its loop.
//!
//! Frames are paced by [`trantor_runtime::frames::FramePacer`], and so by the clock alone (R-002-25): whether window
//! events, the network or nothing at all woke the loop, the next frame is drawn when it is due and not before.
//!
//! ```text
//! winit event ──────> handled at once, its time counted ─┐
//! network bytes ────> taken piece by piece ──────────────┼─> frame due? draw
//! nothing left ─────> sleep until frame, time-out, wake ─┘
//! ```

mod handler;
mod pointer;
mod refresh;
mod window;

use anyhow::Context as _;
use trantor_runtime::wait::{WakeGate, Waker};
use winit::event_loop::EventLoop;

use crate::options::Cli;
use crate::settings::Settings;
use crate::stage::Stage;

/// Something came from another thread.
#[derive(Clone, Copy, Debug)]
pub struct Roused;

/// Opens a window and shows what `make_stage` makes, until the window is closed.
///
/// # Errors
/// If there is no display, or nothing to draw with.
pub fn run(
    cli: &Cli,
    settings: Settings,
    make_stage: impl FnOnce(Waker) -> anyhow::Result<Stage>,
) -> anyhow::Result<()> {
    let event_loop = EventLoop::<Roused>::with_user_event()
        .build()
        .context("there is no display to open a window on; --screenshot FILE makes a picture without one")?;
    let proxy = event_loop.create_proxy();
    let gate = WakeGate::new(move || {
        // A loop that is gone needs no rousing.
        let _ = proxy.send_event(Roused);
    });
    let stage = make_stage(gate.waker())?;
    let mut app = handler::App::new(cli, settings, stage, gate);
    event_loop.run_app(&mut app).context("the window's loop failed")?;
    app.finish()
}
