//! Graphics devices, off screen: one that is lost (in the window it is in `window/`), and another kind of one.

use std::io::Write as _;

use trantor_render::gpu::{Context, Offscreen, Pixels, Quality, Renderer};
use trantor_time::RealTime;
use trantor_viewer::offscreen::screenshot::Studio;
use trantor_viewer::shots::SHOTS;
use trantor_viewer::stage::Stage;

const SIZE: (u32, u32) = (640, 360);

/// A device, unless there is nothing to draw with.
fn device() -> Option<Context> {
    match Context::without_window() {
        Ok(context) => Some(context),
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "nothing to draw with: {why}");
            let mut out = std::io::stderr().lock();
            writeln!(out, "SKIPPED, nothing was drawn: {why}").expect("somebody reads what tests say");
            None
        }
    }
}

fn draw_with(
    context: &Context,
    stage: &mut Stage,
    quality: Quality,
    now: RealTime,
) -> anyhow::Result<Pixels> {
    Studio::new(context, quality, SIZE).picture(stage, now)
}

/// Drawing with a lost device is an error, and a new one draws what the old one drew, to the pixel.
#[test]
fn a_lost_device_is_noticed_and_a_new_one_draws_the_same() {
    let Some(old) = device() else { return };
    for quality in [Quality::Swift, Quality::Fine] {
        let context = Context::without_window().expect("there was one a moment ago");
        let (mut stage, now) = SHOTS[0].stage(SIZE);
        let before = draw_with(&old, &mut stage, quality, now).expect("it is not lost yet");
        assert_eq!(context.lost(), None);
        context.lose();
        let why = context.lost().expect("it was given up").to_owned();
        let refused = draw_with(&context, &mut stage, quality, now).expect_err("it is lost");
        assert!(refused.to_string().contains(&why), "{refused:#} says {why:?}");
        let new = Context::without_window().expect("there was one a moment ago");
        let after = draw_with(&new, &mut stage, quality, now).expect("it is not lost");
        assert!(
            before == after,
            "{quality:?}: the new device draws something else"
        );
    }
}

/// On a graphics card the swift picture is the same one with smooth edges.
#[test]
fn a_swift_picture_has_smooth_edges_on_a_graphics_card() {
    let Some(context) = device() else { return };
    let (mut stage, _) = SHOTS[1].stage(SIZE);
    stage.set_detail(Quality::Swift.detail());
    stage.finish_paint();
    stage.compose();
    let mut draw = |is_software| {
        stage.drawing().1.forget_uploads();
        let format = Offscreen::FORMAT;
        let mut renderer = Renderer::for_adapter(&context, is_software, Quality::Swift, format, SIZE);
        let target = Offscreen::new(&context.device, format, SIZE);
        let (list, paint) = stage.drawing();
        renderer.upload(&context.device, &context.queue, list, paint);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        renderer.encode(&mut encoder, list, &target.view());
        target.encode_copy(&mut encoder);
        context.queue.submit([encoder.finish()]);
        target.read(&context).expect("the device is not lost").rgba
    };
    let [plain, smooth] = [true, false].map(&mut draw);
    let values = |rgba: &[u8]| rgba.iter().map(|&value| i32::from(value)).collect::<Vec<_>>();
    let (plain, smooth) = (values(&plain), values(&smooth));
    // From pixel to pixel of a row, four values apart.
    let steps = |rgba: &[i32]| -> i64 {
        let far = rgba.iter().zip(&rgba[4..]).map(|(one, next)| (one - next).abs());
        far.filter(|&step| step > 60).map(i64::from).sum()
    };
    assert!(
        steps(&smooth) < steps(&plain) * 9 / 10,
        "{} is hardly less than {}",
        steps(&smooth),
        steps(&plain)
    );
    let apart: i64 = plain
        .iter()
        .zip(&smooth)
        .map(|(one, other)| i64::from((one - other).abs()))
        .sum();
    let mean = apart as f64 / plain.len() as f64;
    assert!(mean < 4.0, "another picture: {mean}");
}
