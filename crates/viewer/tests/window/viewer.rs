//! The viewer as a process, and what it reports of itself.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crossbeam_channel::{Receiver, bounded};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::threads::{self, Thread};
use trantor_time::Clock as _;

use crate::display::{Display, Place};
use crate::{LINES_MAX, PATIENCE};

/// Rows of a picture, from above, in which the viewer may say something.
const NOTICE_ROWS: usize = 150;

/// The viewer's process, and what it reports.
pub(crate) struct Viewer {
    process: Child,
    lines: Receiver<String>,
    _reader: Thread<()>,
    /// What it has said so far.
    pub(crate) seen: Vec<String>,
    /// Where it writes pictures, and what it remembers.
    pub(crate) folder: PathBuf,
}

impl Viewer {
    pub(crate) fn start(display: &Display, server: SocketAddr) -> Self {
        // A folder for each: nextest gives each test a process of its own.
        let folder = std::env::temp_dir().join(format!("trantor-window-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
            .args(["-h", &server.ip().to_string(), "-p", &server.port().to_string()])
            .args(["--report-widgets", "--size", "1280x720"])
            .env("DISPLAY", &display.name)
            .env_remove("WAYLAND_DISPLAY")
            .env("XDG_CONFIG_HOME", &folder)
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let (said, lines) = bounded(LINES_MAX);
        // A reader of its own, so that a silent viewer is not waited for without end.
        let reader = threads::spawn("viewer-lines", move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.for_each(|line| said.send(line).unwrap_or_default());
        })
        .unwrap();
        Self {
            process,
            lines,
            _reader: reader,
            seen: Vec::new(),
            folder,
        }
    }

    /// Reads lines until `find` finds what it looks for in all of them.
    fn find<T>(&mut self, what: &str, find: impl Fn(&[String]) -> Option<T>) -> T {
        let end = RealClock::new().now() + PATIENCE;
        loop {
            if let Some(found) = find(&self.seen) {
                return found;
            }
            let line = self.lines.recv_timeout(PATIENCE.to_std());
            let last: Vec<&String> = self.seen.iter().rev().take(40).collect();
            let is_in_time = line.is_ok() && RealClock::new().now() < end && self.seen.len() < LINES_MAX;
            assert!(
                is_in_time,
                "the viewer never said {what}; its last lines, newest first: {last:#?}"
            );
            self.seen.extend(line);
        }
    }

    /// Reads lines until this one is said, or was said last of its kind.
    pub(crate) fn wait_for(&mut self, line: &str) {
        let (kind, value) = line.rsplit_once(' ').expect("a line is a kind and a value");
        let kind = kind.strip_prefix("state ").expect("only states are waited for");
        self.wait_for_state(kind, |said| said == value);
    }

    /// Reads until this is said with a value that fits, or was said last, and answers the value.
    pub(crate) fn wait_for_state(&mut self, name: &str, fits: impl Fn(&str) -> bool) -> String {
        let prefix = format!("state {name} ");
        self.find(name, |seen| {
            let last = seen.iter().rev().find_map(|line| line.strip_prefix(&prefix));
            last.filter(|value| fits(value)).map(str::to_owned)
        })
    }

    /// Reads game times, said only while the game stands still, until one is a whole unit, and answers which.
    pub(crate) fn wait_for_whole_unit_after(&mut self, before: u64) -> u64 {
        let game = self.wait_for_state("game", |game| {
            let units = game.strip_suffix(".000000000");
            units.is_some_and(|units| units.parse::<u64>().unwrap() > before)
        });
        game.split('.').next().unwrap().parse().unwrap()
    }

    /// Where a widget was said to be last.
    pub(crate) fn place_of(&mut self, widget: &str) -> Place {
        let prefix = format!("widget {widget} ");
        let line = self.find(widget, |seen| {
            let last = seen.iter().rev().find_map(|line| line.strip_prefix(&prefix));
            last.map(str::to_owned)
        });
        let sides: Vec<f32> = line.split(' ').map(|side| side.parse().unwrap()).collect();
        let [left, top, right, bottom] = sides[..] else {
            panic!("{line:?} is no rectangle")
        };
        Place {
            left,
            top,
            right,
            bottom,
        }
    }

    /// Gives the window the keyboard, and waits until it knows: keys pressed before that are not for it.
    pub(crate) fn focus(&mut self, display: &Display) {
        display.focus();
        self.wait_for("state focused true");
    }

    pub(crate) fn settings(&self) -> String {
        std::fs::read_to_string(self.folder.join("trantor/viewer.toml")).unwrap_or_default()
    }

    /// Has a picture saved and answers its pixels, without the upper rows, where it says that it saved one.
    pub(crate) fn picture(&mut self, display: &Display) -> Vec<u8> {
        let last = self.wait_for_state("notice", |_| true);
        display.keys("F12");
        let said = self.wait_for_state("notice", |notice| {
            notice.starts_with("saved_as_") && notice != last
        });
        let file = std::fs::File::open(self.folder.join(said.trim_start_matches("saved_as_"))).unwrap();
        let mut reader = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        pixels.split_off(info.line_size * NOTICE_ROWS)
    }

    pub(crate) fn interrupt(&self) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(status.success(), "kill: {status}");
    }

    /// Waits for its end, and answers the status; none if a signal ended it.
    pub(crate) fn wait_for_status(&mut self) -> Option<i32> {
        let end = RealClock::new().now() + PATIENCE;
        // The reader ends with the last line, which comes with the end of the process.
        while self.lines.recv_timeout(PATIENCE.to_std()).is_ok() {
            assert!(RealClock::new().now() < end, "the viewer does not end");
        }
        self.process.wait().unwrap().code()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}
