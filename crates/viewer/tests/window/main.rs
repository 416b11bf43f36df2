//! The viewer in a real X window, moved by injected input, against a real server.
//!
//! Xvfb gives the window a display of 60 Hz, xdotool moves the mouse, and the viewer reports its state. Without the tools
//! the tests say that they are skipped, and on CI they fail.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

mod desktop;

use std::io::Write as _;
use std::net::TcpStream;

use desktop::Desktop;

#[test]
fn the_window_changes_the_speed_pauses_and_steps() {
    let Some(mut desktop) = Desktop::start() else {
        return;
    };
    // A change made elsewhere shows in the window.
    let mut other = TcpStream::connect(desktop.server.address()).unwrap();
    other.write_all(b"GRAPHIC\nsst 250\n").unwrap();
    desktop.wait_for("frequency 250");

    // A drag along the slider, which is logarithmic from 1 to 10,000: to the left of the middle is below 100.
    let (from, to) = (
        desktop.widget("speed-slider", 0.5),
        desktop.widget("speed-slider", 0.25),
    );
    desktop.mouse(from, "sleep 0.3 mousedown 1 sleep 0.3");
    desktop.mouse(to, "sleep 0.5 mouseup 1 sleep 1");
    let is_dragged = |frequency: &str| (2..100).contains(&frequency.parse::<u32>().unwrap());
    desktop.wait_for_state("frequency", is_dragged);

    let pause = desktop.widget("pause", 0.5);
    desktop.click(pause);
    desktop.wait_for("paused true");
    desktop.wait_for("unconfirmed false");
    desktop.wait_for_state("frequency", is_dragged);

    let step = desktop.widget("step-unit", 0.5);
    desktop.click(step);
    let first = desktop.wait_for_whole_unit_after(0);
    desktop.click(step);
    assert_eq!(desktop.wait_for_whole_unit_after(first), first + 1);

    desktop.click(pause);
    desktop.wait_for("paused false");
}

#[test]
fn keys_typed_lines_and_the_mouse_reach_panels_and_board() {
    let Some(mut desktop) = Desktop::start() else {
        return;
    };
    desktop.focus();
    // A number typed into a field.
    let field = desktop.widget("speed-field", 0.4);
    desktop.click(field);
    desktop.wait_for("speed-field-focus true");
    desktop.type_line("33");
    desktop.wait_for("frequency 33");
    desktop.wait_for("unconfirmed false");

    // The board: a click selects, the right button turns, the wheel goes nearer.
    let middle = (600.0, 400.0);
    desktop.click(middle);
    desktop.wait_for_state("selection", |selection| selection.starts_with("tile "));
    let turned = desktop.wait_for_state("yaw", |_| true);
    desktop.mouse(middle, "sleep 0.2 mousedown 3 sleep 0.2");
    desktop.mouse((700.0, 400.0), "sleep 0.3 mouseup 3");
    desktop.wait_for_state("yaw", |yaw| yaw != turned);
    let far = desktop.wait_for_state("distance", |_| true);
    desktop.mouse(middle, "sleep 0.2 click 4 click 4");
    desktop.wait_for_state("distance", |distance| distance != far);

    // Keys, and that no panel takes the keyboard for Tab, which selects the next agent.
    desktop.keys("Tab F4");
    desktop.wait_for("theme Light");
    // The command line, and what it changes is saved.
    desktop.keys("colon");
    desktop.command("quality fine");
    desktop.wait_for("quality fine");
    let settings = desktop.settings();
    assert!(settings.contains("quality = \"fine\""), "{settings}");
    desktop.quit();
}

#[test]
fn a_key_that_is_held_when_the_window_gets_the_keyboard_does_nothing() {
    let Some(mut desktop) = Desktop::start() else {
        return;
    };
    desktop.wait_for("help false");
    desktop.window("windowsize 900 560");
    desktop.wait_for("size 900x560");
    // Outside of the window the key goes nowhere; held long enough, it repeats.
    desktop.mouse((1_200.0, 700.0), "keydown h");
    desktop.focus();
    desktop.mouse((1_200.0, 700.0), "sleep 1 keyup h");
    desktop.keys("l");
    desktop.wait_for("labels false");
    let is_shown = desktop.seen.iter().any(|line| line == "state help true");
    assert!(!is_shown, "it was not pressed here");
    desktop.keys("h");
    desktop.wait_for("help true");
}

#[test]
fn the_window_follows_its_size_and_the_rate_of_its_display() {
    let Some(mut desktop) = Desktop::start() else {
        return;
    };
    desktop.wait_for("frames-target 60.0");
    desktop.set_mode("h144");
    desktop.wait_for("frames-target 144.0");
    // As small as a window can be: nothing can be drawn on it, and it comes back.
    for (width, height) in [(1, 1), (900, 560)] {
        desktop.window(&format!("windowsize {width} {height}"));
        desktop.wait_for(&format!("size {width}x{height}"));
    }
    desktop.wait_for("link live");
    desktop.focus();
    desktop.quit();
}

#[test]
fn a_frame_is_drawn_only_if_the_window_is_seen_and_the_picture_has_changed() {
    let Some(mut desktop) = Desktop::start() else {
        return;
    };
    desktop.focus();
    desktop.keys("space");
    desktop.wait_for("paused true");
    desktop.wait_for("resting true");
    // Frames go on at their rate, though the window shows the last one.
    desktop.wait_for("frames-target 60.0");
    desktop.wait_for("drawn true");
    for key in ["h", "F4"] {
        desktop.keys(key);
        desktop.wait_for("resting false");
        desktop.wait_for("resting true");
    }
    desktop.window("windowunmap");
    desktop.wait_for("drawn false");
    desktop.wait_for("frames-target 10.0");
    // A window that was hidden may have lost its contents.
    desktop.window("windowmap");
    desktop.wait_for("drawn true");
    desktop.wait_for("frames-target 60.0");
    desktop.wait_for("resting false");
    desktop.wait_for("resting true");
    desktop.focus();
    desktop.keys("space");
    desktop.wait_for("resting false");
    desktop.quit();
}

#[test]
fn a_lost_graphics_device_or_surface_is_made_anew_in_the_same_window_and_a_picture_is_as_it_was() {
    let Some(mut desktop) = Desktop::start() else {
        return;
    };
    desktop.focus();
    desktop.keys("space");
    desktop.wait_for("paused true");
    desktop.wait_for("unconfirmed false");
    desktop.keys("F2");
    desktop.wait_for("panels false");
    // All that glides has come to its end.
    desktop.wait_for("resting true");
    let before = desktop.picture();
    let is_as_before = |desktop: &mut Desktop| {
        let after = desktop.picture();
        let differing = before.iter().zip(&after).filter(|(one, other)| one != other);
        let part = differing.count() as f64 / before.len() as f64;
        assert!(part < 0.001, "a part of {part} of the picture differs");
    };
    let recoveries = desktop.wait_for_state("surface-recoveries", |_| true);
    let mut recoveries: u64 = recoveries.parse().unwrap();
    for (line, more) in [("gpu outdated", 1), ("gpu lose-surface", 1), ("gpu timeout", 0)] {
        recoveries += more;
        desktop.keys("colon");
        desktop.command(line);
        desktop.wait_for(&format!("surface-recoveries {recoveries}"));
        // One frame is not drawn, and the next one is.
        desktop.wait_for("drawn false");
        desktop.wait_for("drawn true");
        desktop.keys("Escape");
        desktop.wait_for("command-line-focus false");
        is_as_before(&mut desktop);
    }
    desktop.wait_for("devices 1");
    desktop.keys("colon");
    desktop.command("gpu lose");
    desktop.wait_for("devices 2");
    // Panels are new, without focus; the window is the one that had the focus.
    desktop.keys("Escape");
    desktop.wait_for("command-line-focus false");
    is_as_before(&mut desktop);
    desktop.quit();
}

#[test]
fn each_end_of_the_window_ends_the_program_in_order() {
    for (end, status) in [
        // Xlib ends the program when the display is gone; a panic would be 101.
        (Desktop::end_display as fn(&mut Desktop), 1),
        (|desktop| desktop.window("windowclose"), 84),
        (|desktop| desktop.interrupt(), 0),
    ] {
        let Some(mut desktop) = Desktop::start() else {
            return;
        };
        end(&mut desktop);
        assert_eq!(desktop.status(), Some(status));
        let is_saved = desktop.settings().contains("full_screen");
        assert!(
            is_saved || status == 1,
            "settings are saved: {}",
            desktop.settings()
        );
    }
}
