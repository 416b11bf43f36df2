//! The viewer in a real X window, moved by injected input, against a real server.
//!
//! Xvfb gives the window a display of 60 Hz, xdotool moves the mouse, and the viewer reports what came of it. Needs both
//! programs; without them the test says that it is skipped, and on CI it fails.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

mod display;
mod viewer;

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

use display::{Display, Point, tools_are_here};
use trantor_server::background::Background;
use trantor_server::options::Options;
use trantor_time::RealSpan;
use viewer::Viewer;

/// How long anything may take on a busy machine that draws with its processors, before the test fails.
const PATIENCE: RealSpan = RealSpan::from_secs(30);
/// Lines of the viewer that are read while one is waited for; it says a line only when something changes.
const LINES_MAX: usize = 100_000;

/// A server on a thread of this process, a display, and a viewer in a window there that shows the server's game; nothing
/// where the tools are missing.
fn watching() -> Option<(Background, Display, Viewer)> {
    if !tools_are_here() {
        return None;
    }
    let options = Options::default();
    let listen = SocketAddr::new(options.bind, 0);
    let server = Background::start(listen, options.engine_config(7)).unwrap();
    let display = Display::start();
    let mut viewer = Viewer::start(&display, server.address());
    viewer.wait_for("state link live");
    Some((server, display, viewer))
}

#[test]
fn the_window_changes_the_speed_pauses_and_steps() {
    let Some((server, display, mut viewer)) = watching() else {
        return;
    };
    // A change made elsewhere shows in the window.
    let mut other = TcpStream::connect(server.address()).unwrap();
    other.write_all(b"GRAPHIC\nsst 250\n").unwrap();
    viewer.wait_for("state frequency 250");

    // A drag along the slider, which is logarithmic from 1 to 10,000: to the left of the middle is below 100.
    let slider = viewer.place_of("speed-slider");
    display.drag(slider.at(0.5), slider.at(0.25));
    let is_dragged = |frequency: &str| (2..100).contains(&frequency.parse::<u32>().unwrap());
    viewer.wait_for_state("frequency", is_dragged);

    display.click(viewer.place_of("pause").at(0.5));
    viewer.wait_for("state paused true");
    viewer.wait_for("state unconfirmed false");
    viewer.wait_for_state("frequency", is_dragged);

    let step = viewer.place_of("step-unit").at(0.5);
    display.click(step);
    let first = viewer.wait_for_whole_unit_after(0);
    display.click(step);
    assert_eq!(viewer.wait_for_whole_unit_after(first), first + 1);

    display.click(viewer.place_of("pause").at(0.5));
    viewer.wait_for("state paused false");
}

#[test]
fn keys_typed_lines_and_the_mouse_reach_panels_and_board() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    viewer.focus(&display);
    // A number typed into a field.
    display.click(viewer.place_of("speed-field").at(0.4));
    viewer.wait_for("state speed-field-focus true");
    display.type_line("33");
    viewer.wait_for("state frequency 33");
    viewer.wait_for("state unconfirmed false");

    // The board: a click selects, the right button turns, the wheel goes nearer.
    let middle = Point { x: 600.0, y: 400.0 };
    display.click(middle);
    viewer.wait_for_state("selection", |selection| selection.starts_with("tile "));
    let turned = viewer.wait_for_state("yaw", |_| true);
    display.click_right_and_drag(middle, Point { x: 700.0, y: 400.0 });
    viewer.wait_for_state("yaw", |yaw| yaw != turned);
    let far = viewer.wait_for_state("distance", |_| true);
    display.wheel(middle);
    viewer.wait_for_state("distance", |distance| distance != far);

    // Keys, and that no panel takes the keyboard for Tab, which is the next agent's.
    display.keys("Tab F4");
    viewer.wait_for("state theme Light");
    display.keys("slash");
    viewer.wait_for("state search true");
    display.keys("Escape");
    viewer.wait_for("state search false");

    // The command line: a key that is bound and a quality, both remembered, a picture, the end.
    display.keys("colon");
    viewer.wait_for("state command-line-focus true");
    display.type_line("bind pause p");
    viewer.wait_for_state("pause-keys", |keys| keys == "p");
    viewer.wait_for("state command-line-focus true");
    display.type_line("quality fine");
    viewer.wait_for("state quality fine");
    let settings = viewer.settings();
    assert!(
        settings.contains("pause = [\"p\"]") && settings.contains("quality = \"fine\""),
        "{settings}"
    );
    viewer.wait_for("state command-line-focus true");
    display.type_line("do screenshot");
    let said = viewer.wait_for_state("notice", |notice| notice.starts_with("saved_as_"));
    let picture = viewer.folder.join(said.trim_start_matches("saved_as_"));
    assert!(
        picture.metadata().unwrap().len() > 10_000,
        "a picture has some bytes"
    );
    display.keys("F10");
    assert_eq!(viewer.wait_for_status(), Some(0), "it ends in order");
}

#[test]
fn a_key_that_is_held_when_the_window_gets_the_keyboard_does_nothing() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    viewer.wait_for("state help false");
    display.resize(900, 560);
    viewer.wait_for("state size 900x560");
    // Outside of the window the key goes nowhere; held long enough, it repeats.
    display.xdotool(Point { x: 1200.0, y: 700.0 }, "keydown h");
    viewer.focus(&display);
    display.xdotool(Point { x: 1200.0, y: 700.0 }, "sleep 1 keyup h");
    display.keys("l");
    viewer.wait_for("state labels false");
    let is_shown = viewer.seen.iter().any(|line| line == "state help true");
    assert!(!is_shown, "it was not pressed here");
    display.keys("h");
    viewer.wait_for("state help true");
}

#[test]
fn the_window_follows_its_size_and_the_rate_of_its_display() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    viewer.wait_for("state frames-target 60.0");
    display.set_mode("h144");
    viewer.wait_for("state frames-target 144.0");
    // As small as a window can be: nothing can be drawn on it, and it comes back.
    for (width, height) in [(1, 1), (900, 560)] {
        display.resize(width, height);
        viewer.wait_for(&format!("state size {width}x{height}"));
    }
    viewer.wait_for("state link live");
    viewer.focus(&display);
    display.keys("F10");
    assert_eq!(viewer.wait_for_status(), Some(0), "it ends in order");
}

#[test]
fn a_window_that_nobody_sees_is_not_drawn() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    viewer.wait_for("state drawn true");
    display.show(false);
    viewer.wait_for("state drawn false");
    viewer.wait_for("state frames-target 10.0");
    display.show(true);
    viewer.wait_for("state drawn true");
    viewer.wait_for("state frames-target 60.0");
    viewer.focus(&display);
    display.keys("F10");
    assert_eq!(viewer.wait_for_status(), Some(0), "it ends in order");
}

#[test]
fn a_picture_that_stands_still_is_not_drawn_again_until_it_changes() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    viewer.focus(&display);
    display.keys("space");
    viewer.wait_for("state paused true");
    viewer.wait_for("state resting true");
    // Frames go on at their rate, which is what is shown of them.
    viewer.wait_for("state frames-target 60.0");
    viewer.wait_for("state drawn true");
    for key in ["h", "l"] {
        display.keys(key);
        viewer.wait_for("state resting false");
        viewer.wait_for("state resting true");
    }
    // A window that was away may have lost what it showed.
    display.show(false);
    viewer.wait_for("state drawn false");
    display.show(true);
    viewer.wait_for("state drawn true");
    viewer.wait_for("state resting false");
    viewer.wait_for("state resting true");
    viewer.focus(&display);
    display.keys("space");
    viewer.wait_for("state resting false");
    display.keys("F10");
    assert_eq!(viewer.wait_for_status(), Some(0), "it ends in order");
}

#[test]
fn a_lost_graphics_device_or_surface_is_made_anew_in_the_same_window_and_a_picture_is_as_it_was() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    viewer.focus(&display);
    display.keys("space");
    viewer.wait_for("state paused true");
    viewer.wait_for("state unconfirmed false");
    display.keys("F2");
    viewer.wait_for("state panels false");
    // What glides has come to its end.
    viewer.wait_for("state resting true");
    let before = viewer.picture(&display);
    let force = |viewer: &mut Viewer, line: &str, comes: &str| {
        display.keys("colon");
        viewer.wait_for("state command-line-focus true");
        display.type_line(line);
        viewer.wait_for(comes);
    };
    let is_as_before = |viewer: &mut Viewer| {
        let after = viewer.picture(&display);
        let differing = before.iter().zip(&after).filter(|(one, other)| one != other);
        let part = differing.count() as f64 / before.len() as f64;
        assert!(part < 0.001, "a part of {part} of the picture is another");
    };
    let number = |recoveries: &str| recoveries.parse::<u64>().unwrap();
    let mut recoveries = number(&viewer.wait_for_state("surface-recoveries", |_| true));
    for (line, more) in [("gpu outdated", 1), ("gpu lose-surface", 1), ("gpu timeout", 0)] {
        recoveries += more;
        force(
            &mut viewer,
            line,
            &format!("state surface-recoveries {recoveries}"),
        );
        // One frame is not drawn, and the next one is.
        viewer.wait_for("state drawn false");
        viewer.wait_for("state drawn true");
        display.keys("F3");
        viewer.wait_for("state command-line-focus false");
        is_as_before(&mut viewer);
    }
    viewer.wait_for("state devices 1");
    force(&mut viewer, "gpu lose", "state devices 2");
    // Panels are new, without focus; the window is the one that had the focus.
    display.keys("F3");
    viewer.wait_for("state debug false");
    is_as_before(&mut viewer);
    display.keys("F10");
    assert_eq!(viewer.wait_for_status(), Some(0), "it ends in order");
}

#[test]
fn without_its_display_it_ends_and_does_not_panic() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    drop(display);
    // The library that speaks with the display ends the program: in order for it, with status 1.
    assert_eq!(viewer.wait_for_status(), Some(1), "no panic, which would be 101");
}

#[test]
fn an_interrupt_ends_the_window_in_order_and_keeps_settings() {
    let Some((_server, _display, mut viewer)) = watching() else {
        return;
    };
    viewer.interrupt();
    assert_eq!(viewer.wait_for_status(), Some(0), "it ends in order");
    assert!(viewer.settings().contains("full_screen"), "{}", viewer.settings());
}

#[test]
fn a_window_that_another_program_destroys_is_the_end() {
    let Some((_server, display, mut viewer)) = watching() else {
        return;
    };
    display.run("xdotool", &["search", "--name", "Trantor", "windowclose"]);
    assert_eq!(viewer.wait_for_status(), Some(84), "it ends and says why");
}
