//! Draws the gallery: every shot into a folder, and the page that shows them.
//!
//! `cargo xtask gallery` runs this. What is drawn is the viewer's own stage with its own panels; only the window is
//! missing. Pictures are synthetic scenes, so that each is the same each time.

mod small_png;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use trantor_viewer::demo::DemoScene;
use trantor_viewer::gpu::Quality;
use trantor_viewer::screenshot;
use trantor_viewer::shots::{SHOTS, Shot};

#[derive(Parser)]
struct Arguments {
    /// The folder of the documentation
    docs: PathBuf,
    /// Only the shots whose name contains this word; the page stays as it is
    #[arg(long)]
    only: Option<String>,
}

/// Width and height of the pictures.
const SIZE: (u32, u32) = (1280, 720);
/// The same of what is all grain, and would be too many bytes.
const SIZE_OF_GRAIN: (u32, u32) = (960, 540);
/// Bytes of a picture at most: a page of a dozen is to be there at once.
const BYTES_MOST: u64 = 250_000;
/// Where the pictures are, beside the page.
const FOLDER: &str = "images/gallery";

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = arguments.docs.join(FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let wanted = |shot: &&Shot| {
        arguments
            .only
            .as_ref()
            .is_none_or(|word| shot.name.contains(word.as_str()))
    };
    let mut out = std::io::stdout().lock();
    for shot in SHOTS.iter().filter(wanted) {
        let file = folder.join(shot.name).with_extension("png");
        let bytes = take(shot, &file)?;
        writeln!(out, "{} {} kB", file.display(), bytes / 1000)?;
    }
    if arguments.only.is_none() {
        let page = arguments.docs.join("gallery.md");
        std::fs::write(&page, text()).with_context(|| format!("cannot write {}", page.display()))?;
    }
    Ok(())
}

/// Takes one picture and answers its bytes.
fn take(shot: &Shot, file: &Path) -> Result<u64> {
    let size = match shot.scene {
        DemoScene::BigWorld => SIZE_OF_GRAIN,
        _ => SIZE,
    };
    let (mut stage, now) = shot.stage(size);
    let pixels = screenshot::draw(&mut stage, Quality::Fine, size, now)?;
    small_png::write(&pixels, file).with_context(|| format!("cannot write {}", file.display()))?;
    let bytes = std::fs::metadata(file)?.len();
    ensure!(
        bytes <= BYTES_MOST,
        "{} has {bytes} bytes, at most {BYTES_MOST} are wanted",
        file.display()
    );
    Ok(bytes)
}

/// The page.
fn text() -> String {
    let mut page = String::from(
        "# Gallery\n\nPictures by the viewer itself, without a window: `cargo xtask gallery` draws them anew, and this page \
         with them.\nThe scenes are synthetic (`--demo-scene`); the panels are those of every match.\n",
    );
    for shot in SHOTS {
        let Shot {
            name, title, caption, ..
        } = shot;
        write!(
            page,
            "\n## {title}\n\n![{title}]({FOLDER}/{name}.png)\n\n{caption}\n"
        )
        .expect("a string takes everything");
    }
    page
}
