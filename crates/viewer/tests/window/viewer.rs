//! The viewer as a process, and what it reports of itself.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crossbeam_channel::{Receiver, bounded};
use trantor_runtime::threads::{self, Thread};

use crate::display::{Display, Place};
use trantor_runtime::real_clock::RealClock;
use trantor_time::{Clock as _, RealTime};

use crate::{LINES_MAX, PATIENCE};

/// Rows of a picture, from above, in which the viewer may say something.
const NOTICE_ROWS: usize = 150;

/// The viewer's process, and what it reports.
pub(crate) struct Viewer {
    process: Child,
    lines: Receiver<String>,
    _reader: Thread<()>,
    seen: Vec<String>,
    folder: PathBuf,
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
        let (told, lines) = bounded(LINES_MAX);
        // A reader of its own, so that a viewer that says nothing is not waited for without end.
        let reader = threads::spawn("viewer-lines", move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| told.send(line))
                .ok();
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

    /// Reads lines until this one is said, or was said last of its kind.
    pub(crate) fn wait_for(&mut self, line: &str) {
        let kind = line.rsplit_once(' ').expect("a line is a kind and a value").0;
        let since = RealClock::new().now();
        for _ in 0..LINES_MAX {
            let last = self
                .seen
                .iter()
                .rev()
                .find(|seen| seen.rsplit_once(' ').is_some_and(|(said, _)| said == kind));
            if last.is_some_and(|last| last == line) {
                return;
            }
            self.next_line(since, line);
        }
        panic!("the viewer never said {line:?}");
    }

    /// Gives the window the keyboard, and waits until it knows: keys pressed before that are not for it.
    pub(crate) fn focus(&mut self, display: &Display) {
        display.focus();
        self.wait_for("state focused true");
    }

    /// Whether this line is among those read so far.
    pub(crate) fn has_said(&self, line: &str) -> bool {
        self.seen.iter().any(|seen| seen == line)
    }

    /// Reads until this is said with a value that fits, or was said last, and answers the value.
    pub(crate) fn wait_for_state(&mut self, name: &str, fits: impl Fn(&str) -> bool) -> String {
        let prefix = format!("state {name} ");
        let since = RealClock::new().now();
        for _ in 0..LINES_MAX {
            let last = self.seen.iter().rev().find_map(|line| line.strip_prefix(&prefix));
            if let Some(value) = last.filter(|value| fits(value)) {
                return value.to_owned();
            }
            self.next_line(since, name);
        }
        panic!("the viewer never said a fitting {name}");
    }

    /// What it remembers.
    pub(crate) fn settings(&self) -> String {
        std::fs::read_to_string(self.folder.join("trantor/viewer.toml")).unwrap_or_default()
    }

    /// Where it writes pictures.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
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

    /// Sends what Ctrl-C sends.
    pub(crate) fn interrupt(&self) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(status.success(), "kill: {status}");
    }

    /// Waits for its end.
    pub(crate) fn wait_for_end(&mut self) -> bool {
        self.wait_for_status() == Some(0)
    }

    /// Waits for its end, and answers the status; none if a signal ended it.
    pub(crate) fn wait_for_status(&mut self) -> Option<i32> {
        let since = RealClock::new().now();
        // The reader ends with the last line, which comes with the end of the process.
        while self.lines.recv_timeout(PATIENCE.to_std()).is_ok() {
            assert!(
                RealClock::new().now() - since < PATIENCE,
                "the viewer does not end"
            );
        }
        self.process.wait().unwrap().code()
    }

    /// Reads game times, said only while the game stands still, until one is a whole unit, and answers which. It is the
    /// one after the time said before: a step goes no further.
    pub(crate) fn wait_for_whole_unit(&mut self) -> u64 {
        let since = RealClock::new().now();
        for _ in 0..LINES_MAX {
            let before = self.seen.iter().rev().find_map(|line| GameTime::said_in(line));
            let now = GameTime::said_in(&self.next_line(since, "a whole unit"));
            if let (Some(before), Some(now @ GameTime { units, fraction: 0 })) = (before, now) {
                assert_eq!(units, before.units + 1, "from {before:?} to {now:?}");
                return units;
            }
        }
        panic!("the viewer never told a whole unit");
    }

    /// Where a widget was said to be last.
    pub(crate) fn place_of(&mut self, widget: &str) -> Place {
        let prefix = format!("widget {widget} ");
        let since = RealClock::new().now();
        for _ in 0..LINES_MAX {
            if let Some(line) = self.seen.iter().rev().find_map(|line| line.strip_prefix(&prefix)) {
                let sides: Vec<f32> = line.split(' ').map(|side| side.parse().unwrap()).collect();
                let [left, top, right, bottom] = sides[..] else {
                    panic!("{line:?} is no rectangle")
                };
                return Place {
                    left,
                    top,
                    right,
                    bottom,
                };
            }
            self.next_line(since, widget);
        }
        panic!("the viewer never showed {widget}");
    }

    /// The next line of one wait, that began at `since`.
    fn next_line(&mut self, since: RealTime, waiting_for: &str) -> String {
        let line = self.lines.recv_timeout(PATIENCE.to_std());
        let is_late = RealClock::new().now() - since > PATIENCE;
        let Ok(line) = line
            .map_err(drop)
            .and_then(|line| if is_late { Err(()) } else { Ok(line) })
        else {
            let last: Vec<&String> = self.seen.iter().rev().take(40).collect();
            panic!("the viewer never said {waiting_for}; its last lines, newest first: {last:#?}")
        };
        self.seen.push(line.clone());
        line
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// A game time as the viewer says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GameTime {
    units: u64,
    /// Billionths of a unit.
    fraction: u32,
}

impl GameTime {
    pub(crate) fn said_in(line: &str) -> Option<Self> {
        let (units, fraction) = line.strip_prefix("state game ")?.split_once('.')?;
        Some(Self {
            units: units.parse().unwrap(),
            fraction: fraction.parse().unwrap(),
        })
    }
}
