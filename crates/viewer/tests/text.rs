//! The view for terminals, as a program in a pipe: no display, no adapter, no terminal.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn a_page_is_written_to_a_pipe_and_the_end_of_its_reader_is_the_end() {
    let mut viewer = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
        .args(["--text", "--demo-scene", "overview"])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdin(Stdio::null())
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

#[test]
fn without_a_display_it_is_told_what_else_there_is() {
    let output = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
        .args(["--demo-scene", "overview"])
        .env("DISPLAY", ":nowhere")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(84), "{said}");
    assert!(said.contains("--text") && said.contains("--screenshot"), "{said}");
    assert!(said.contains("DISPLAY is :nowhere"), "{said}");
}

#[test]
fn a_picture_of_a_game_that_nobody_plays_is_refused() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = unused.local_addr().unwrap().port().to_string();
    drop(unused);
    let file = std::env::temp_dir().join(format!("trantor-nothing-{}.png", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
        .args(["-h", "127.0.0.1", "-p", &port, "--after", "0.2", "--screenshot"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(84), "{said}");
    assert!(
        said.contains(&format!("no game was seen at 127.0.0.1:{port} within 0.2 s")),
        "{said}"
    );
    assert!(!file.exists());
}

#[test]
fn without_a_graphics_adapter_it_is_told_what_to_install() {
    let output = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
        .args(["--demo-scene", "overview", "--screenshot", "never-written.png"])
        .env("WGPU_BACKEND", "vulkan")
        .env("VK_DRIVER_FILES", "/nonexistent")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(84), "{said}");
    assert!(
        said.contains("mesa-vulkan-drivers") && said.contains("--text"),
        "{said}"
    );
}
