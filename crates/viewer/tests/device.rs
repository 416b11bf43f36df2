//! A graphics device that is lost, off screen; in the window it is in `window/`.

use std::io::Write as _;

use trantor_viewer::gpu::{Context, Quality};
use trantor_viewer::screenshot::draw_with;
use trantor_viewer::shots::SHOTS;

const SIZE: (u32, u32) = (640, 360);

/// Whoever draws with a lost device is told so, and a new one draws what the old one drew, to the pixel.
#[test]
fn a_lost_device_is_noticed_and_a_new_one_draws_the_same() {
    let old = match Context::without_window() {
        Ok(context) => context,
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "nothing to draw with: {why}");
            let mut out = std::io::stderr().lock();
            writeln!(out, "SKIPPED, no device was lost: {why}").expect("somebody reads what tests say");
            return;
        }
    };
    for quality in [Quality::Swift, Quality::Fine] {
        let context = Context::without_window().expect("there was one a moment ago");
        let (mut stage, now) = SHOTS[0].stage(SIZE);
        let before = draw_with(&old, &mut stage, quality, SIZE, now).expect("it is not lost yet");
        assert_eq!(context.lost(), None);
        context.lose();
        let why = context.lost().expect("it was given up").to_owned();
        let refused = draw_with(&context, &mut stage, quality, SIZE, now).expect_err("it is lost");
        assert!(refused.to_string().contains(&why), "{refused:#} says {why:?}");
        let new = Context::without_window().expect("there was one a moment ago");
        let after = draw_with(&new, &mut stage, quality, SIZE, now).expect("it is not lost");
        assert!(
            before == after,
            "{quality:?}: the new device draws something else"
        );
    }
}
