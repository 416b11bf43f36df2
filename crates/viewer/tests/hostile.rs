//! A server that sends lines without end, watched by the whole program: its memory stays bounded, and it goes on.
//!
//! What each message may do is tested with the client; here nothing around it keeps what it drops.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Memory that a viewer in a terminal may take here: the largest world and feed of a text server, and the program itself.
const RESIDENT_KIB_MAX: u64 = 128 * 1024;
/// Bytes that the server sends: enough that keeping them all would show.
const SENT_BYTES: usize = 128 << 20;
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, ended with the test.
struct Viewer(Child);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn lines_without_end_are_not_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let viewer = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
        .args(["--text", "-h", "127.0.0.1", "-p", &port, "--dialect", "gui"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut viewer = Viewer(viewer);
    let (mut server, _) = listener.accept().unwrap();
    server.set_write_timeout(Some(PATIENCE)).unwrap();
    server.write_all(b"WELCOME\nmsz 10 10\nsgt 10000\n").unwrap();
    let text = "x".repeat(1_000);
    let (mut sent, mut id) = (0, 0);
    while sent < SENT_BYTES {
        let mut lines = String::new();
        for _ in 0..100 {
            id += 1;
            // Writing to a string cannot fail.
            let _ = write!(
                lines,
                "tna team-{id}\npnw #{id} 1 1 1 1 {text}\npnw #{id} 1 1 1 1 red\nenw #{id} #-1 2 2\npic 3 3 1 #{id}\n\
                 pbc #{id} {text}\nebo #{}\nsmg {text}\nppo #{id} 1 {} 2\npex #{id}\nsgt {}\nunknown {text}\n",
                id + 1_000_000,
                id % 10,
                id % 9_999 + 1,
            );
        }
        server
            .write_all(lines.as_bytes())
            .expect("the viewer stays and reads");
        sent += lines.len();
    }
    assert!(viewer.0.try_wait().unwrap().is_none(), "it has ended");
    let status = std::fs::read_to_string(format!("/proc/{}/status", viewer.0.id())).unwrap();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let most: u64 = most.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(most < RESIDENT_KIB_MAX, "{most} KiB");
}
