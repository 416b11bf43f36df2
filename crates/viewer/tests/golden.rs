//! Pictures drawn off screen, compared with stored ones.
//!
//! `UPDATE_GOLDEN=1 cargo test -p trantor-viewer --test golden` draws them anew; the difference is then looked
//! at like code. A picture that differs is left beside the build's other files, and the message says where.
//!
//! The pictures were made by Mesa's software driver. Others round differently, hence the tolerance; where there is
//! nothing to draw with, the test says so and ends, but with `CI=true` it fails.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use trantor_render::gpu::{Context, Offscreen, Pixels, Quality, Renderer};
use trantor_viewer::offscreen::screenshot::Studio;
use trantor_viewer::shots::{SHOTS, Shot};

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

/// Which shots are compared, and drawn how: each scene without panels both ways, and one with them.
const COMPARED: &[(&str, Quality, bool)] = &[
    ("overview", Quality::Fine, false),
    ("overview", Quality::Swift, false),
    ("overview", Quality::Swift, true),
    ("close", Quality::Fine, false),
    ("close", Quality::Swift, false),
    ("victory", Quality::Swift, false),
    ("ritual", Quality::Fine, false),
    ("ritual", Quality::Swift, false),
    ("broadcast", Quality::Swift, false),
    ("broadcast", Quality::Swift, true),
    ("heat-map", Quality::Swift, false),
    ("inspector", Quality::Fine, false),
    ("day", Quality::Fine, false),
    ("big-world", Quality::Swift, false),
];

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
    let renew = std::env::var_os("UPDATE_GOLDEN").is_some();
    let wrong: Vec<String> = COMPARED
        .iter()
        .filter_map(|&(name, quality, panels)| {
            let drawn = draw(&context, name, quality, panels);
            let file = format!(
                "{name}{}{}.png",
                if quality == Quality::Swift { "-swift" } else { "" },
                if panels { "-panels" } else { "" }
            );
            let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/golden")
                .join(&file);
            if renew {
                drawn
                    .write_png(&kept)
                    .expect("the folder of pictures can be written");
                return None;
            }
            compare(&kept, &drawn).err().map(|why| {
                let actual = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(&file);
                drawn
                    .write_png(&actual)
                    .expect("the build's folder can be written");
                format!("{file}: {why}; it is now as {}", actual.display())
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// On a graphics card the swift picture is the same one with smooth edges.
#[test]
fn a_swift_picture_has_smooth_edges_on_a_graphics_card() {
    let Some(context) = device() else { return };
    let size = (640, 360);
    let (mut state, _) = SHOTS[1].state(size);
    state.detail = Quality::Swift.detail();
    state.finish_paint();
    state.compose();
    let [plain, smooth] = [true, false].map(|is_software| {
        state.drawing().1.forget_uploads();
        let format = Offscreen::FORMAT;
        let mut renderer = Renderer::for_adapter(&context, is_software, Quality::Swift, format, size);
        let target = Offscreen::new(&context.device, format, size);
        let (list, paint) = state.drawing();
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

/// What the tolerance lets pass is less than what anybody would see.
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

fn draw(context: &Context, name: &str, quality: Quality, panels: bool) -> Pixels {
    let shot = SHOTS
        .iter()
        .find(|shot| shot.name == name)
        .expect("the names above are those of shots");
    let shot = Shot { panels, ..*shot };
    let size = if panels { SIZE_WITH_PANELS } else { SIZE };
    let (mut state, now) = shot.state(size);
    let mut studio = Studio::new(context, quality, size);
    studio.picture(&mut state, now).expect("the device is not lost")
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
