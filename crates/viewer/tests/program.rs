//! The program as a whole, without a window: text into a pipe, films, and what it refuses.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn viewer(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn a_page_is_written_to_a_pipe_and_the_end_of_its_reader_is_the_end() {
    let mut viewer = viewer(&["--text", "--demo-scene", "overview"])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(viewer.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(
        first.starts_with("trantor live | unit ") && first.contains(" at 100/s"),
        "{first}"
    );
    let page: Vec<String> = lines.by_ref().take(32).map(Result::unwrap).collect();
    assert!(page.iter().any(|line| line.contains("Terminus")), "{page:#?}");
    assert!(
        page.iter().all(|line| !line.contains('\x1b')),
        "a pipe is no terminal"
    );
    // The reader is gone: the next page is the last.
    drop(lines);
    assert!(viewer.wait().unwrap().success());
}

/// A film of the first ten units of a demo, a picture for each.
fn film(file: &Path) -> Output {
    let mut viewer = viewer(&[
        "--demo-scene",
        "elevation",
        "--to",
        "10",
        "--fps",
        "50",
        "--speed",
        "50",
    ]);
    let viewer = viewer.args(["--size", "96x64", "--quality", "swift", "--film"]);
    viewer.arg(file).output().expect("the viewer runs")
}

/// Where there is nothing to draw with, the test says so and ends; with `CI=true` it fails.
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
        assert!(
            said.starts_with("11 pictures, 1 units apart, in ") && said.ends_with(" MB\n"),
            "{said}"
        );
    }
    let [one, other] = files.each_ref().map(|file| std::fs::read(file).unwrap());
    assert!(one == other, "{} and {} bytes", one.len(), other.len());
    assert!(one.starts_with(b"GIF89a\x60\0\x40\0") && one.ends_with(b";"));
    files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

/// What is read is not written over, under whatever name, and neither is anything else that is no picture.
#[test]
fn a_film_replaces_pictures_and_films_only() {
    let folder = std::env::temp_dir().join(format!("trantor-overwrite-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let recording = folder.join("g.trj");
    std::fs::write(&recording, "TRANTORJ and more").unwrap();
    for name in ["film.gif", "film.png"] {
        std::fs::hard_link(&recording, folder.join(name)).unwrap();
    }
    let by_name = "must be the name of a";
    let by_content = "it is there and is not a picture or a film";
    for (option, name, reason) in [
        ("--film", "g.trj", by_name),
        ("--film", "film.gif", by_content),
        ("--screenshot", "g.trj", by_content),
        ("--screenshot", "film.png", by_content),
    ] {
        let output = viewer(&["--replay"])
            .arg(&recording)
            .arg(option)
            .arg(folder.join(name))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(84), "{option} {name}: {said}");
        assert!(said.contains(reason), "{option} {name}: {said}");
        assert_eq!(std::fs::read(&recording).unwrap(), b"TRANTORJ and more");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// In one line that says what is wrong or what else there is, with status 84, and as soon as it is known: most of these
/// would wait for a game otherwise.
#[test]
fn what_cannot_be_shown_or_written_is_refused() {
    for (line, environment, says) in [
        (
            "--screenshot /nowhere/picture.png",
            "",
            "cannot write /nowhere/picture.png",
        ),
        ("--screenshot / --after 60", "", "cannot write /"),
        (
            "-p 1 --film /nowhere/film.gif",
            "",
            "cannot write /nowhere/film.gif",
        ),
        (
            "--film /tmp/film.gif",
            "",
            "--film /tmp/film.gif: needs a recording: --replay PATH",
        ),
        (
            "-p 1 --film /tmp/film.mp4",
            "PATH=/nowhere",
            "/tmp/film.mp4: a .mp4 needs ffmpeg with libx264 or libopenh264 on the PATH; or name a .gif",
        ),
        ("-p 1 --film /tmp/film.gfi", "", "did you mean gif?"),
        ("--hots x", "", "--hots: unknown option; did you mean --host?"),
        (
            "--replay /nowhere/at/all --film /tmp/film.gif",
            "",
            "trantor-server",
        ),
        (
            "-h 127.0.0.1 -p 1 --after 0.2 --screenshot /tmp/trantor-nothing.png",
            "",
            "no game was seen at 127.0.0.1:1 within 0.2 s",
        ),
        ("--demo-scene overview", "DISPLAY=:nowhere", "DISPLAY is :nowhere"),
        ("--demo-scene overview", "DISPLAY=:nowhere", "--text"),
        (
            "--demo-scene overview --screenshot /tmp/trantor-nothing.png",
            "WGPU_BACKEND=vulkan VK_DRIVER_FILES=/nonexistent",
            "mesa-vulkan-drivers",
        ),
    ] {
        let mut viewer = viewer(&line.split(' ').collect::<Vec<_>>());
        let variables = environment
            .split_whitespace()
            .filter_map(|set| set.split_once('='));
        let output = viewer
            .env_remove("WAYLAND_DISPLAY")
            .envs(variables)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(84), "{line}: {said}");
        assert!(said.contains(says), "{line}: {said}");
        assert_eq!(output.stdout, b"", "{line}");
        assert!(!Path::new("/tmp/trantor-nothing.png").exists(), "{line}");
    }
}
