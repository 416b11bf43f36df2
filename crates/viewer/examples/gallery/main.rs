//! Draws the gallery: every shot into a folder, and the page that shows them.
//!
//! `cargo xtask gallery` runs this. What is drawn is the viewer's own state with its own panels; only the window is
//! missing. Most pictures are synthetic scenes, the same each time; those of a recording and of what goes on inside
//! need a server that plays one (`--recording`).

mod live;
mod small_png;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use trantor_render::gpu::{Context, Pixels, Quality};
use trantor_viewer::demo::DemoScene;
use trantor_viewer::input::Action;
use trantor_viewer::offscreen::screenshot::Studio;
use trantor_viewer::shots::{SHOTS, Shot};

#[derive(Parser)]
struct Arguments {
    /// The folder of the documentation
    docs: PathBuf,
    /// The port of a server on this machine that plays a recording
    #[arg(long)]
    recording: Option<u16>,
    /// Only the shots whose name contains this word; the page stays as it is
    #[arg(long)]
    only: Option<String>,
}

/// Width and height of the pictures.
const SIZE: (u32, u32) = (1280, 720);
/// The same of what is all grain, and would be too many bytes.
const SIZE_OF_GRAIN: (u32, u32) = (960, 540);
/// Bytes of a picture at most: a page of a dozen is to be there at once.
const BYTES_MOST: u64 = 400_000;
/// Where the pictures are, beside the page.
const FOLDER: &str = "images/gallery";

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = arguments.docs.join(FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let wanted = |name: &str| {
        arguments
            .only
            .as_ref()
            .is_none_or(|word| name.contains(word.as_str()))
    };
    let file_of = |name: &str| folder.join(name).with_extension("png");
    let mut out = std::io::stdout().lock();
    // The recording goes on from here, so that pictures of it come first.
    let mut in_terminal = None;
    if let Some(port) = arguments.recording {
        let (pictures, text) = take_live(port)?;
        for ([name, ..], pixels) in LIVE.iter().zip(pictures).filter(|([name, ..], _)| wanted(name)) {
            let bytes = keep(&pixels, &file_of(name))?;
            writeln!(out, "{name} {} kB", bytes / 1000)?;
        }
        in_terminal = Some(text);
    }
    for shot in SHOTS.iter().filter(|shot| wanted(shot.name)) {
        let bytes = take(shot, &file_of(shot.name))?;
        writeln!(out, "{} {} kB", shot.name, bytes / 1000)?;
    }
    if let (None, Some(in_terminal)) = (&arguments.only, in_terminal) {
        let page = arguments.docs.join("gallery.md");
        std::fs::write(&page, text(&in_terminal))
            .with_context(|| format!("cannot write {}", page.display()))?;
    }
    Ok(())
}

/// Pictures of a recording that a server plays: name, title, caption.
const LIVE: [[&str; 3]; 2] = [
    [
        "timeline",
        "A match again, at any moment",
        "A recorded match of two teams of bots, shown by `trantor-server replay play`: the time-line at the bottom jumps \
         to any moment and marks what happened.",
    ],
    [
        "debugging",
        "What goes on inside",
        "Frames, systems, queues, clocks and pending work of the viewer itself, and a command line.",
    ],
];
/// How long a recording is watched before the first picture: until events and scores are there.
const WATCHED: Duration = Duration::from_secs(10);
/// And before each of the others.
const SETTLED: Duration = Duration::from_secs(5);
/// Columns and rows of the terminal.
const TERMINAL: (u16, u16) = (118, 24);

/// Takes the pictures of [`LIVE`], in their order, and the page of a terminal.
fn take_live(port: u16) -> Result<([Pixels; 2], String)> {
    let context = Context::without_window()?;
    let mut watcher = live::Watcher::connect(&context, "localhost", port, SIZE)?;
    let now = watcher.now();
    if watcher.state().scene().clock.paused {
        watcher.state().act(Action::Pause, now);
    }
    watcher.run(WATCHED);
    let timeline = watcher.picture()?;
    let text = watcher.text(TERMINAL.0, TERMINAL.1);
    let now = watcher.now();
    watcher.state().act(Action::Debug, now);
    watcher.run(SETTLED);
    Ok(([timeline, watcher.picture()?], text))
}

/// Takes one picture and answers its bytes.
fn take(shot: &Shot, file: &Path) -> Result<u64> {
    let size = match shot.scene {
        DemoScene::BigWorld => SIZE_OF_GRAIN,
        _ => SIZE,
    };
    let (mut state, now) = shot.state(size);
    let context = Context::without_window()?;
    let pixels = Studio::new(&context, Quality::Fine, size).picture(&mut state, now)?;
    keep(&pixels, file)
}

/// Writes a picture and answers its bytes.
fn keep(pixels: &Pixels, file: &Path) -> Result<u64> {
    small_png::write(pixels, file).with_context(|| format!("cannot write {}", file.display()))?;
    let bytes = std::fs::metadata(file)?.len();
    ensure!(
        bytes <= BYTES_MOST,
        "{} has {bytes} bytes, at most {BYTES_MOST} are wanted",
        file.display()
    );
    Ok(bytes)
}

fn text(in_terminal: &str) -> String {
    let mut page = String::from(
        "# Gallery\n\nPictures by the viewer itself, without a window: `cargo xtask gallery` draws them anew, and this page \
         with them.\nMost scenes are synthetic (`--demo-scene`), the last ones a recorded match; the panels are those of every match.\n",
    );
    let shots = SHOTS.iter().map(|shot| [shot.name, shot.title, shot.caption]);
    for [name, title, caption] in shots.chain(LIVE) {
        write!(
            page,
            "\n## {title}\n\n![{title}]({FOLDER}/{name}.png)\n\n{caption}\n"
        )
        .expect("a string takes everything");
    }
    write!(
        page,
        "\n## Without a display\n\nThe same match in a terminal, for ssh: `trantor-viewer --text`.\n\n```text\n{}\n```\n",
        in_terminal.trim_end()
    )
    .expect("a string takes everything");
    page
}
