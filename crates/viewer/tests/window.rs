//! The viewer in a real X window, moved by injected input, against a real server.
//!
//! Xvfb gives the window a display of 60 Hz, xdotool moves the mouse, and the server is asked by a second
//! connection what came of it. Needs both programs; without them the test says that it is skipped, and on CI
//! it fails.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use trantor_server::background::Background;
use trantor_server::options::Options;

/// How long anything may take on a busy machine that draws with its processors, before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of the viewer that are read while one is waited for; it says a line only when something changes.
const LINES_MAX: usize = 100_000;
const TOOLS: [&str; 3] = ["Xvfb", "xdotool", "xrandr"];

#[test]
fn r_000_31_r_000_36_the_window_changes_the_speed_pauses_and_steps() {
    if !tools_are_here() {
        return;
    }
    let server = start_server();
    let mut asker = Asker::connect(server.address());
    assert_eq!(asker.frequency(), 100);

    let display = Display::start();
    let mut viewer = Viewer::start(&display, server.address());
    viewer.wait_for("state link live");

    // A drag along the slider, which is logarithmic from 1 to 10,000: to the left of the middle is below 100.
    let slider = viewer.place_of("speed-slider");
    display.drag(slider.at(0.5), slider.at(0.25));
    let dragged = asker.wait_for_frequency(|frequency| (2..100).contains(&frequency));
    viewer.wait_for(&format!("state frequency {dragged}"));

    // The other way round: a change made elsewhere shows in the window.
    asker.send("sst 250");
    viewer.wait_for("state frequency 250");

    display.click(viewer.place_of("pause").at(0.5));
    viewer.wait_for("state paused true");
    viewer.wait_for("state unconfirmed false");
    assert_eq!(asker.frequency(), 250, "a pause is not a change of frequency");

    let step = viewer.place_of("step-unit").at(0.5);
    display.click(step);
    let first = viewer.wait_for_whole_unit();
    display.click(step);
    assert_eq!(
        viewer.wait_for_whole_unit(),
        first + 1,
        "a second step is the next unit"
    );

    display.click(viewer.place_of("pause").at(0.5));
    viewer.wait_for("state paused false");
}

/// Whether all tools can be found. On CI a missing one is a failure.
fn tools_are_here() -> bool {
    let paths: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let is_missing = |tool: &&str| !paths.iter().any(|folder| folder.join(tool).is_file());
    let missing: Vec<&str> = TOOLS.into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI lacks {}",
        missing.join(", ")
    );
    eprintln!("SKIPPED: the window test needs {}", missing.join(", "));
    false
}

/// A server on a thread of this process.
fn start_server() -> Background {
    let options = Options::default();
    let listen = SocketAddr::new(options.bind, 0);
    Background::start(listen, options.engine_config(7)).unwrap()
}

/// A text viewer that asks for the speed.
struct Asker {
    socket: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Asker {
    fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let lines = BufReader::new(socket.try_clone().unwrap());
        let mut asker = Self { socket, lines };
        asker.send("GRAPHIC");
        // The burst tells the speed once.
        asker.next_frequency();
        asker
    }

    fn send(&mut self, line: &str) {
        self.socket.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn frequency(&mut self) -> u32 {
        self.send("sgt");
        self.next_frequency()
    }

    /// Reads changes as they are told until one fits.
    fn wait_for_frequency(&mut self, fits: impl Fn(u32) -> bool) -> u32 {
        for _ in 0..LINES_MAX {
            let frequency = self.next_frequency();
            if fits(frequency) {
                // A drag passes many values; the last is the one the server keeps.
                return self.settled(frequency);
            }
        }
        panic!("no such frequency came");
    }

    fn settled(&mut self, mut frequency: u32) -> u32 {
        self.socket
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        while let Some(next) = self.try_next_frequency() {
            frequency = next;
        }
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        frequency
    }

    fn next_frequency(&mut self) -> u32 {
        self.try_next_frequency()
            .expect("the server tells a frequency in time")
    }

    fn try_next_frequency(&mut self) -> Option<u32> {
        for _ in 0..LINES_MAX {
            let mut line = String::new();
            self.lines.read_line(&mut line).ok()?;
            if let Some(frequency) = line.strip_prefix("sgt ") {
                return frequency.trim().parse().ok();
            }
        }
        None
    }
}

/// An X server of its own, with a screen of 60 Hz; ended when dropped.
struct Display {
    server: Child,
    name: String,
}

impl Display {
    fn start() -> Self {
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x720x24",
                "-noreset",
                "-nolisten",
                "tcp",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut number)
            .unwrap();
        let display = Self {
            server,
            name: format!(":{}", number.trim()),
        };
        let mode = [
            "--newmode",
            "h60",
            "72.00",
            "1280",
            "1344",
            "1472",
            "1600",
            "720",
            "723",
            "728",
            "750",
        ];
        display.run("xrandr", &mode);
        display.run("xrandr", &["--addmode", "screen", "h60"]);
        display.run("xrandr", &["--output", "screen", "--mode", "h60"]);
        display
    }

    fn click(&self, at: Point) {
        self.xdotool(at, "sleep 0.3 mousedown 1 sleep 0.3 mouseup 1");
    }

    fn drag(&self, from: Point, to: Point) {
        self.xdotool(from, "sleep 0.3 mousedown 1 sleep 0.3");
        self.xdotool(to, "sleep 0.5 mouseup 1");
    }

    /// Moves the mouse and does there what the words say. A button is held for some frames: one that is pressed and
    /// let go within one is missed by a slider.
    fn xdotool(&self, at: Point, words: &str) {
        let (x, y) = (at.x.round().to_string(), at.y.round().to_string());
        let arguments: Vec<&str> = ["mousemove", &x, &y]
            .into_iter()
            .chain(words.split(' '))
            .collect();
        self.run("xdotool", &arguments);
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = Command::new(program)
            .args(arguments)
            .env("DISPLAY", &self.name)
            .status()
            .unwrap();
        assert!(status.success(), "{program} {arguments:?}: {status}");
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// The viewer's process, and what it reports.
struct Viewer {
    process: Child,
    lines: BufReader<ChildStdout>,
    seen: Vec<String>,
}

impl Viewer {
    fn start(display: &Display, server: SocketAddr) -> Self {
        let settings = std::env::temp_dir().join(format!("trantor-window-test-{}", std::process::id()));
        let mut process = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
            .args(["-h", &server.ip().to_string(), "-p", &server.port().to_string()])
            .args(["--report-widgets", "--size", "1280x720"])
            .env("DISPLAY", &display.name)
            .env_remove("WAYLAND_DISPLAY")
            .env("XDG_CONFIG_HOME", &settings)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            lines,
            seen: Vec::new(),
        }
    }

    /// Reads lines until this one is said, or was said last of its kind.
    fn wait_for(&mut self, line: &str) {
        let kind = line.rsplit_once(' ').expect("a line is a kind and a value").0;
        for _ in 0..LINES_MAX {
            let last = self
                .seen
                .iter()
                .rev()
                .find(|seen| seen.rsplit_once(' ').is_some_and(|(said, _)| said == kind));
            if last.is_some_and(|last| last == line) {
                return;
            }
            self.read_line();
        }
        panic!("the viewer never said {line:?}");
    }

    /// Reads game times, said only while the game stands still, until one is a whole unit, and answers which. It is the
    /// one after the time said before: a step goes no further.
    fn wait_for_whole_unit(&mut self) -> u64 {
        for _ in 0..LINES_MAX {
            let before = self.seen.iter().rev().find_map(|line| GameTime::said_in(line));
            let now = GameTime::said_in(&self.read_line());
            if let (Some(before), Some(now @ GameTime { units, fraction: 0 })) = (before, now) {
                assert_eq!(units, before.units + 1, "from {before:?} to {now:?}");
                return units;
            }
        }
        panic!("the viewer never told a whole unit");
    }

    /// Where a widget was said to be last.
    fn place_of(&mut self, widget: &str) -> Place {
        let prefix = format!("widget {widget} ");
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
            self.read_line();
        }
        panic!("the viewer never showed {widget}");
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        let count = self.lines.read_line(&mut line).unwrap();
        assert!(count > 0, "the viewer ended; it had said {:#?}", self.seen);
        let line = line.trim_end().to_string();
        self.seen.push(line.clone());
        line
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).ok();
    }
}

/// A game time as the viewer says it.
#[derive(Clone, Copy, Debug)]
struct GameTime {
    units: u64,
    /// Billionths of a unit.
    fraction: u32,
}

impl GameTime {
    fn said_in(line: &str) -> Option<Self> {
        let (units, fraction) = line.strip_prefix("state game ")?.split_once('.')?;
        Some(Self {
            units: units.parse().unwrap(),
            fraction: fraction.parse().unwrap(),
        })
    }
}

/// A rectangle of the window, in pixels. There is no window manager: the window begins where the screen does.
#[derive(Clone, Copy, Debug)]
struct Place {
    left: f32,
    top: f32,
    right: f32,
    bottom: f32,
}

impl Place {
    /// The point at this part of the width, half-way down.
    fn at(self, part: f32) -> Point {
        Point {
            x: self.left + (self.right - self.left) * part,
            y: f32::midpoint(self.top, self.bottom),
        }
    }
}

/// A point of the screen, in pixels.
#[derive(Clone, Copy, Debug)]
struct Point {
    x: f32,
    y: f32,
}
