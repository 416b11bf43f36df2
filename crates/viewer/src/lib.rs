//! The window on the arena: picture, HUD and speed control around `trantor-client`.
//!
//! ```text
//! socket thread ─ bytes ─> Client ─ Scene ─> picture ─ DrawList ─> gpu ─> window, or a file
//! ```
//!
//! [`picture`] decides what is drawn and knows no graphics card; [`gpu`] draws it and knows no game. The rules of
//! the game and the protocol are the client's: nothing here decides what is true.

pub mod demo;
pub mod gpu;
pub mod options;
pub mod picture;
pub mod screenshot;

use options::Cli;

/// Does what the command line asks for.
///
/// # Errors
/// If it cannot be done; the text is for the person who asked.
pub fn run(cli: &Cli) -> anyhow::Result<()> {
    match (&cli.screenshot, cli.demo_scene) {
        (Some(file), Some(demo)) => screenshot::of_demo(demo, cli, file),
        _ => anyhow::bail!("only --screenshot of a --demo-scene can be made yet"),
    }
}
