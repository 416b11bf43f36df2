//! A film without a window, by the program itself. Where there is nothing to draw with, the test says so and ends; with `CI=true`
//! it fails.

use std::process::{Command, Output};

/// A film of the first ten units of a demo, a picture for each.
fn film(file: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
        .args([
            "--demo-scene",
            "ritual",
            "--to",
            "10",
            "--fps",
            "50",
            "--speed",
            "50",
        ])
        .args(["--size", "96x64", "--quality", "swift", "--film"])
        .arg(file)
        .output()
        .expect("the program starts")
}

#[test]
fn the_same_film_is_drawn_each_time() {
    let files = [1, 2]
        .map(|number| std::env::temp_dir().join(format!("trantor-film-{}-{number}.gif", std::process::id())));
    for file in &files {
        let output = film(file);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() && said.contains("adapter") {
            assert!(std::env::var_os("CI").is_none(), "nothing to draw with: {said}");
            println!("skipped: nothing to draw with: {said}");
            return;
        }
        assert!(output.status.success(), "{said}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("11 pictures, 1 units apart, in "), "{said}");
    }
    let [one, other] = files.each_ref().map(|file| std::fs::read(file).unwrap());
    assert!(one == other, "{} and {} bytes", one.len(), other.len());
    assert!(one.starts_with(b"GIF89a\x60\0\x40\0") && one.ends_with(b";"));
    files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

#[test]
fn what_cannot_be_drawn_or_written_is_said_at_once() {
    // Each would wait for a game otherwise; the last one for a recording.
    for (arguments, says) in [
        (
            &["--screenshot", "/nowhere/picture.png"][..],
            "cannot write /nowhere/picture.png",
        ),
        (&["--screenshot", "/", "--after", "60"], "cannot write /"),
        (
            &["-p", "1", "--film", "/nowhere/film.gif"],
            "cannot write /nowhere/film.gif",
        ),
        (
            &["--film", "/tmp/film.gif"],
            "--film needs a recording: --replay PATH",
        ),
        (
            &["--replay", "/nowhere/at/all", "--film", "/tmp/film.gif"],
            "trantor-server",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(84), "{arguments:?}: {said}");
        assert!(
            said.contains(says) && !said.contains("no game"),
            "{arguments:?}: {said}"
        );
    }
}
