//! One picture into a file, without a window.

use std::path::Path;

use anyhow::Context as _;
use trantor_client::Scene;

use crate::demo::{self, Demo, DemoScene};
use crate::gpu::{Context, Offscreen, Quality};
use crate::options::{Cli, QualityChoice, Theme};
use crate::picture::compose::Marks;
use crate::picture::ground::{GroundPaint, PaintMode};
use crate::picture::palette::Mood;
use crate::picture::{Compose, DrawList, Options};

/// Draws a synthetic scene as long after its beginning as `cli` says, and writes it to `file`.
///
/// # Errors
/// If there is nothing to draw with, or the file cannot be written.
pub fn of_demo(which: DemoScene, cli: &Cli, file: &Path) -> anyhow::Result<()> {
    let demo = Demo::new(which);
    let mut scene = Scene::default();
    demo.scene(cli.after * f64::from(demo::FREQUENCY), &mut scene);
    // A still has no frame before it; it shows what a smooth one would.
    scene.clock.elapsed_units = 1.0;
    let options = Options {
        pixels: cli.size,
        mood: match cli.theme.unwrap_or_default() {
            Theme::Dark => Mood::dusk(),
            Theme::Light => Mood::day(),
        },
        paint_everywhere: false,
        middle: None,
    };
    let pose = demo.camera(cli.size.0 as f32 / cli.size.1 as f32);
    let mut list = DrawList::default();
    Compose::default().compose(&scene, &pose, &options, &Marks::default(), &mut list);
    let mut paint = GroundPaint::default();
    if let Some(ground) = &scene.ground {
        paint.update(ground, PaintMode::Mixture);
    }
    let quality = match cli.quality {
        Some(QualityChoice::Swift) => Quality::Swift,
        // A still may take its time, whoever draws it.
        Some(QualityChoice::Fine) | None => Quality::Fine,
    };
    let mut offscreen = Offscreen::new(Context::without_window()?, quality, cli.size);
    let pixels = offscreen.draw(&list, &mut paint, |_, _, _| {})?;
    pixels
        .write_png(file)
        .with_context(|| format!("cannot write {}", file.display()))
}
