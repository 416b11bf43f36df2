//! Pictures drawn off screen, compared with stored ones.
//!
//! `UPDATE_GOLDEN=1 cargo test -p trantor-viewer --test golden` draws them anew; the difference is then looked
//! at like code. A picture that differs is left beside the build's other files, and the message says where.
//! `UPDATE_GALLERY=1` draws the same moments large, for docs/gallery.md.
//!
//! The pictures were made by Mesa's software driver. Others round differently, hence the tolerance; where there is
//! nothing to draw with, the test says so and ends, but with `CI=true` it fails.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use trantor_model::AgentId;
use trantor_render::gpu::{Context, Offscreen, Pixels, Quality, Renderer};
use trantor_render::picture::palette::Theme;
use trantor_time::{RealSpan, RealTime};
use trantor_viewer::demo::DemoScene;
use trantor_viewer::input::Action;
use trantor_viewer::intent::Selection;
use trantor_viewer::offscreen::{Studio, watch_demo};
use trantor_viewer::state::ViewerState;
use trantor_viewer::state::hud::Panels;

/// Small, so that all of them together take seconds and kilobytes.
const SIZE: (u32, u32) = (400, 225);
/// Panels need room.
const SIZE_WITH_PANELS: (u32, u32) = (1_000, 600);
/// Mean difference of a channel that is let pass, in steps of 255.
const MEAN_MOST: f64 = 1.0;
/// Difference of a channel from which on a pixel counts as another, and the part of such pixels that is let pass:
/// edges may fall on the other side of a pixel.
const PIXEL_DIFFERS: u8 = 40;
const DIFFERING_MOST: f64 = 0.004;

/// Those that the gallery has of a recorded match instead (docs/testing.md).
const OF_A_MATCH: [&str; 5] = ["overview", "close", "elevation", "victory", "day"];

/// Of the pictures of the gallery, which have panels as well.
const SIZE_IN_GALLERY: (u32, u32) = (1280, 720);

/// A moment of a synthetic scene, and what the user did before.
#[derive(Clone, Copy)]
struct Shot {
    name: &'static str,
    scene: DemoScene,
    /// Which moment of it, in milliseconds of a demo at its own speed.
    at_ms: i64,
    /// For how long before that it is watched, for what has a past: score lines, trails, a gliding camera.
    watched_ms: i64,
    /// Whether the gallery shows it with panels.
    panels: bool,
    theme: Theme,
    /// What the user does once the scene is there.
    act: fn(&mut ViewerState, RealTime),
    /// How it is compared: the quality, and whether with panels.
    compared: &'static [(Quality, bool)],
}

/// From which the others differ.
const PLAIN: Shot = Shot {
    name: "overview",
    scene: DemoScene::Overview,
    at_ms: 5_000,
    watched_ms: 500,
    panels: false,
    theme: Theme::Dark,
    act: |_, _| (),
    compared: &[(Quality::Swift, false)],
};

const SHOTS: [Shot; 12] = [
    Shot {
        watched_ms: 5_000,
        panels: true,
        compared: &[
            (Quality::Fine, false),
            (Quality::Swift, false),
            (Quality::Swift, true),
        ],
        ..PLAIN
    },
    Shot {
        name: "close",
        scene: DemoScene::Close,
        compared: &[(Quality::Fine, false), (Quality::Swift, false)],
        ..PLAIN
    },
    Shot {
        name: "elevation",
        scene: DemoScene::Elevation,
        at_ms: 3_450,
        compared: &[(Quality::Fine, false), (Quality::Swift, false)],
        ..PLAIN
    },
    Shot {
        name: "victory",
        scene: DemoScene::Victory,
        at_ms: 2_200,
        panels: true,
        ..PLAIN
    },
    Shot {
        name: "broadcast",
        scene: DemoScene::Broadcast,
        watched_ms: 5_000,
        panels: true,
        compared: &[(Quality::Swift, false), (Quality::Swift, true)],
        ..PLAIN
    },
    Shot {
        name: "lag",
        scene: DemoScene::Lag,
        panels: true,
        compared: &[(Quality::Fine, false), (Quality::Swift, true)],
        ..PLAIN
    },
    Shot {
        name: "heat-map",
        panels: true,
        watched_ms: 5_000,
        act: |state, now| state.act(Action::HeatMap, now),
        ..PLAIN
    },
    Shot {
        name: "inspector",
        scene: DemoScene::Close,
        watched_ms: 5_000,
        panels: true,
        act: |state, now| {
            state.select(Selection::Agent(AgentId(24)));
            state.act(Action::Follow, now);
        },
        compared: &[(Quality::Fine, false)],
        ..PLAIN
    },
    Shot {
        name: "minds",
        scene: DemoScene::Minds,
        panels: true,
        act: |state, _| state.select(Selection::Agent(AgentId(7))),
        compared: &[(Quality::Fine, false), (Quality::Swift, true)],
        ..PLAIN
    },
    Shot {
        name: "day",
        watched_ms: 5_000,
        panels: true,
        theme: Theme::Light,
        compared: &[(Quality::Fine, false)],
        ..PLAIN
    },
    Shot {
        name: "big-world",
        scene: DemoScene::BigWorld,
        watched_ms: 50,
        ..PLAIN
    },
    Shot {
        name: "whole-world",
        scene: DemoScene::BigWorld,
        watched_ms: 3_000,
        panels: true,
        act: |state, now| state.act(Action::Overview, now),
        compared: &[],
        ..PLAIN
    },
];

impl Shot {
    /// Sets it up for a picture of `size` pixels; answers also the moment that it shows.
    fn state(&self, size: (u32, u32)) -> (ViewerState, RealTime) {
        let mut state = ViewerState::demo(self.scene);
        state.settings.theme = Some(self.theme);
        state.drawing.light_stands = true;
        if !self.panels {
            state.hud().panels = Panels::default();
        }
        state.resize(size, egui::vec2(size.0 as f32, size.1 as f32));
        // A demo begins when it is looked at first; what is watched of it comes after a leap.
        state.update(None, RealTime::ZERO);
        let end = RealTime::ZERO + RealSpan::from_millis(self.at_ms);
        let start = (end - RealSpan::from_millis(self.watched_ms)).max(RealTime::ZERO);
        state.update(Some(RealSpan::ZERO), start);
        (self.act)(&mut state, start);
        watch_demo(&mut state, start, end);
        (state, end)
    }

    fn draw(&self, context: &Context, quality: Quality, size: (u32, u32)) -> Pixels {
        let (mut state, now) = self.state(size);
        let mut studio = Studio::new(context, quality, size);
        studio.picture(&mut state, now).expect("the device is not lost")
    }
}

/// A device, unless there is nothing to draw with.
fn device() -> Option<Context> {
    let device = Context::without_window();
    if let Err(why) = &device {
        assert!(std::env::var_os("CI").is_none(), "nothing to draw with: {why}");
        let mut out = std::io::stderr().lock();
        writeln!(out, "SKIPPED, nothing was drawn: {why}").expect("the error output is open");
    }
    device.ok()
}

#[test]
fn pictures_are_as_they_were() {
    let Some(context) = device() else { return };
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let renew = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for shot in SHOTS {
        for &(quality, panels) in shot.compared {
            let size = if panels { SIZE_WITH_PANELS } else { SIZE };
            let drawn = Shot { panels, ..shot }.draw(&context, quality, size);
            let swift = if quality == Quality::Swift { "-swift" } else { "" };
            let file = format!("{}{swift}{}.png", shot.name, if panels { "-panels" } else { "" });
            let kept = crate_folder.join("tests/golden").join(&file);
            if renew {
                drawn.write_png(&kept).expect("the folder can be written");
            } else if let Err(why) = compare(&kept, &drawn) {
                let actual = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(&file);
                drawn.write_png(&actual).expect("the folder can be written");
                wrong.push(format!("{file}: {why}; it is now as {}", actual.display()));
            }
        }
        if std::env::var_os("UPDATE_GALLERY").is_some() && !OF_A_MATCH.contains(&shot.name) {
            let file = crate_folder.join(format!("../../docs/images/gallery/{}.png", shot.name));
            let drawn = shot.draw(&context, Quality::Fine, SIZE_IN_GALLERY);
            drawn.write_png(&file).expect("the folder can be written");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// On a graphics card the swift picture is the same one with smooth edges.
#[test]
fn a_swift_picture_has_smooth_edges_on_a_graphics_card() {
    let Some(context) = device() else { return };
    let size = (640, 360);
    let (mut state, _) = SHOTS[1].state(size);
    state.drawing.detail = Quality::Swift.detail();
    state.finish_paint();
    state.compose();
    let [plain, smooth] = [true, false].map(|is_software| {
        state.drawing.list_and_paint().1.forget_uploads();
        let format = Offscreen::FORMAT;
        let mut renderer = Renderer::for_adapter(&context, is_software, Quality::Swift, format, size);
        let target = Offscreen::new(&context.device, format, size);
        let (list, paint) = state.drawing.list_and_paint();
        renderer.upload(&context.device, &context.queue, list, paint);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        renderer.encode(&mut encoder, list, &target.view());
        target.encode_copy(&mut encoder);
        context.queue.submit([encoder.finish()]);
        target.read(&context).expect("the device is not lost").rgba
    });
    // From pixel to pixel of a row, four values apart.
    let steps = |rgba: &[u8]| -> u64 {
        let far = rgba.iter().zip(&rgba[4..]).map(|(one, next)| one.abs_diff(*next));
        far.filter(|&step| step > 60).map(u64::from).sum()
    };
    let (hard, soft) = (steps(&plain), steps(&smooth));
    assert!(soft < hard * 9 / 10, "{soft} is hardly less than {hard}");
    let apart = plain
        .iter()
        .zip(&smooth)
        .map(|(one, other)| u64::from(one.abs_diff(*other)));
    let mean = apart.sum::<u64>() as f64 / plain.len() as f64;
    assert!(mean < 4.0, "another picture: {mean}");
}

/// What the tolerance lets pass is less than what an eye would see.
#[test]
fn a_change_that_can_be_seen_is_noticed() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/close.png");
    let picture = read(&kept);
    assert_eq!(differs(&picture, &picture), None);
    let mut brighter = picture.clone();
    brighter
        .rgba
        .iter_mut()
        .for_each(|channel| *channel = channel.saturating_add(2));
    assert!(differs(&picture, &brighter).is_some(), "a little brighter");
    let mut moved = picture.clone();
    moved.rgba.rotate_right(4);
    assert!(differs(&picture, &moved).is_some(), "moved by a pixel");
    let mut covered = picture.clone();
    for row in 100..116 {
        let start = (row * picture.width as usize + 190) * 4;
        covered.rgba[start..start + 24 * 4].fill(255);
    }
    assert!(differs(&picture, &covered).is_some(), "an agent is white");
}

/// # Errors
/// How the picture differs from the one that is kept.
fn compare(kept: &Path, drawn: &Pixels) -> Result<(), String> {
    if !kept.exists() {
        return Err("there is no such picture yet; UPDATE_GOLDEN=1 makes it".to_owned());
    }
    differs(&read(kept), drawn).map_or(Ok(()), Err)
}

fn differs(kept: &Pixels, drawn: &Pixels) -> Option<String> {
    if (kept.width, kept.height) != (drawn.width, drawn.height) {
        return Some(format!(
            "{} × {} instead of {} × {}",
            drawn.width, drawn.height, kept.width, kept.height
        ));
    }
    let mut sum = 0u64;
    let mut differing = 0u64;
    for (kept, drawn) in kept.rgba.chunks_exact(4).zip(drawn.rgba.chunks_exact(4)) {
        let off = [0, 1, 2].map(|channel| kept[channel].abs_diff(drawn[channel]));
        sum += off.iter().map(|&off| u64::from(off)).sum::<u64>();
        differing += u64::from(off.iter().any(|&off| off >= PIXEL_DIFFERS));
    }
    let pixels = (kept.rgba.len() / 4) as f64;
    let (mean, part) = (sum as f64 / pixels / 3.0, differing as f64 / pixels);
    (mean > MEAN_MOST || part > DIFFERING_MOST).then(|| {
        format!(
            "a channel differs by {mean:.2} of 255 in the mean [{MEAN_MOST}], and {:.2} % of pixels clearly [{:.2}]",
            part * 100.0,
            DIFFERING_MOST * 100.0
        )
    })
}

fn read(file: &Path) -> Pixels {
    let open = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut reader = png::Decoder::new(BufReader::new(open))
        .read_info()
        .expect("what is kept are pictures");
    let mut rgb = vec![0; reader.output_buffer_size().expect("small pictures fit in memory")];
    let info = reader.next_frame(&mut rgb).expect("what is kept are pictures");
    assert_eq!(
        info.color_type,
        png::ColorType::Rgb,
        "pictures are kept without opacity"
    );
    Pixels {
        width: info.width,
        height: info.height,
        rgba: rgb
            .chunks_exact(3)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX])
            .collect(),
    }
}
