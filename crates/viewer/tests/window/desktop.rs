//! An X server of its own with a viewer in a window, a server that it watches, and a hand on mouse and keys.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, bounded};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::threads::{self, Thread};
use trantor_server::background::Background;
use trantor_server::options::Options;
use trantor_time::{Clock as _, RealSpan};

const TOOLS: [&str; 3] = ["Xvfb", "xdotool", "xrandr"];
/// How long anything may take on a busy machine that draws with its processors, before the test fails.
const PATIENCE: RealSpan = RealSpan::from_secs(90);
/// Lines of the viewer that are read while one is waited for; it writes a line only when something changes.
const LINES_MAX: usize = 100_000;
/// Rows of a picture, from above, that may show a notice.
const NOTICE_ROWS: usize = 150;

/// One window at a time: it draws with the processors. For tests in processes of their own `.config/nextest.toml` says so.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) struct Desktop {
    pub(crate) server: Background,
    xvfb: Child,
    /// As `DISPLAY` names it.
    display: String,
    viewer: Child,
    lines: Receiver<String>,
    _reader: Thread<()>,
    /// Lines read so far.
    pub(crate) seen: Vec<String>,
    /// Where the viewer writes pictures and its settings.
    pub(crate) folder: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Desktop {
    /// A viewer that shows the game of a server on a thread of this process, on a display of 60 Hz; `None` where the tools
    /// are missing, except on CI, which fails.
    pub(crate) fn start() -> Option<Self> {
        let paths: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
        let is_missing = |tool: &&str| !paths.iter().any(|folder| folder.join(tool).is_file());
        let missing: Vec<&str> = TOOLS.into_iter().filter(is_missing).collect();
        if !missing.is_empty() {
            assert!(std::env::var_os("CI").is_none(), "CI lacks {missing:?}");
            eprintln!("SKIPPED: the window test needs {missing:?}");
            return None;
        }
        // A test that failed with it has left nothing behind that matters to the next one.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let (xvfb, display) = start_xvfb();
        let options = Options::default();
        let listen = SocketAddr::new(options.bind, 0);
        let server = Background::start(listen, options.engine_config(7)).unwrap();
        let folder = std::env::temp_dir().join(format!("trantor-window-test-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("trantor")).unwrap();
        // It begins after 20 seconds without input, which a busy machine may take to draw what a test waits for.
        std::fs::write(folder.join("trantor/viewer.toml"), "director = false\n").unwrap();
        let (host, port) = (server.address().ip(), server.address().port());
        let mut viewer = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
            .args(["-h", &host.to_string(), "-p", &port.to_string()])
            .args(["--report-widgets", "--size", "1280x720"])
            .env("DISPLAY", &display)
            .env_remove("WAYLAND_DISPLAY")
            .env("XDG_CONFIG_HOME", &folder)
            .env("HOME", &folder)
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(viewer.stdout.take().unwrap());
        let (sender, lines) = bounded(LINES_MAX);
        // A reader of its own, so that the wait for a silent viewer ends.
        let reader = threads::spawn("viewer-lines", move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.for_each(|line| sender.send(line).unwrap_or_default());
        });
        let mut desktop = Self {
            server,
            xvfb,
            display,
            viewer,
            lines,
            _reader: reader.unwrap(),
            seen: Vec::new(),
            folder,
            _turn: turn,
        };
        for (name, megahertz) in [("h60", "72.00"), ("h144", "172.80")] {
            let mode = format!("--newmode {name} {megahertz} 1280 1344 1472 1600 720 723 728 750");
            desktop.run("xrandr", &mode);
            desktop.run("xrandr", &format!("--addmode screen {name}"));
        }
        desktop.set_mode("h60");
        desktop.wait_for("link live");
        Some(desktop)
    }

    pub(crate) fn run(&self, program: &str, words: &str) {
        self.run_with(program, &words.split(' ').collect::<Vec<_>>());
    }

    fn run_with(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(program);
        let command = command.args(arguments).env("DISPLAY", &self.display);
        let status = command.status().unwrap();
        assert!(status.success(), "{program} {arguments:?}: {status}");
    }

    /// Changes the rate of the display: `h60` or `h144`.
    pub(crate) fn set_mode(&self, mode: &str) {
        self.run("xrandr", &format!("--output screen --mode {mode}"));
    }

    /// Does something to the window, in the words of xdotool.
    pub(crate) fn window(&self, words: &str) {
        self.run("xdotool", &format!("search --name Trantor {words}"));
    }

    /// Gives the window the keyboard (there is no window manager), and waits until it knows.
    pub(crate) fn focus(&mut self) {
        self.window("windowfocus");
        self.wait_for("focused true");
    }

    /// Presses keys, by the names that X has for them.
    pub(crate) fn keys(&self, names: &str) {
        self.run("xdotool", &format!("key --delay 60 {names}"));
    }

    /// Types a line into the widget with the focus.
    pub(crate) fn type_line(&self, line: &str) {
        self.run_with("xdotool", &["type", "--delay", "40", line]);
        // Where a frame takes a second, line and Return would come in one: people do not type so fast.
        self.run("xdotool", "sleep 1 key Return");
    }

    /// Types a line into the command line once it has the focus.
    pub(crate) fn command(&mut self, line: &str) {
        self.wait_for("command-line-focus true");
        self.type_line(line);
    }

    /// Moves the mouse and goes on with the words of xdotool. A button is held for some frames: a slider misses one that
    /// is pressed and released within one.
    pub(crate) fn mouse(&self, (x, y): (f32, f32), words: &str) {
        self.run("xdotool", &format!("mousemove {x:.0} {y:.0} {words}"));
    }

    pub(crate) fn click(&self, at: (f32, f32)) {
        self.mouse(at, "sleep 0.3 mousedown 1 sleep 0.3 mouseup 1");
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
                "never {what}; the last lines, newest first: {last:#?}"
            );
            self.seen.extend(line);
        }
    }

    /// Reads until the last report of this state has this value.
    pub(crate) fn wait_for(&mut self, state: &str) {
        let (name, value) = state.rsplit_once(' ').expect("a state has a name and a value");
        self.wait_for_state(name, |reported| reported == value);
    }

    /// Reads until the last report of a state has a value that fits.
    pub(crate) fn wait_for_state(&mut self, name: &str, fits: impl Fn(&str) -> bool) -> String {
        let prefix = format!("state {name} ");
        self.find(name, |seen| {
            let last = seen.iter().rev().find_map(|line| line.strip_prefix(&prefix));
            last.filter(|value| fits(value)).map(str::to_owned)
        })
    }

    /// The next game time that is a whole unit; it is reported only while the game is paused.
    pub(crate) fn wait_for_whole_unit_after(&mut self, before: u64) -> u64 {
        let unit = |game: &str| game.strip_suffix(".000000000")?.parse::<u64>().ok();
        let game = self.wait_for_state("game", |game| unit(game).is_some_and(|unit| unit > before));
        unit(&game).unwrap()
    }

    /// The point at a share of a widget's width, half-way down.
    pub(crate) fn widget(&mut self, name: &str, share: f32) -> (f32, f32) {
        let prefix = format!("widget {name} ");
        let line = self.find(name, |seen| {
            let last = seen.iter().rev().find_map(|line| line.strip_prefix(&prefix));
            last.map(str::to_owned)
        });
        let sides: Vec<f32> = line.split(' ').map(|side| side.parse().unwrap()).collect();
        let [left, top, right, bottom] = sides[..] else {
            panic!("{line:?} is no rectangle")
        };
        (left + (right - left) * share, f32::midpoint(top, bottom))
    }

    pub(crate) fn settings(&self) -> String {
        std::fs::read_to_string(self.folder.join("trantor/viewer.toml")).unwrap_or_default()
    }

    /// Saves a picture and answers its pixels, without the upper rows, which show the notice of it.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let last = self.wait_for_state("notice", |_| true);
        self.keys("F12");
        let notice = self.wait_for_state("notice", |notice| {
            notice.starts_with("saved_as_") && notice != last
        });
        let file = std::fs::File::open(self.folder.join(notice.trim_start_matches("saved_as_"))).unwrap();
        let mut reader = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        pixels.split_off(info.line_size * NOTICE_ROWS)
    }

    pub(crate) fn interrupt(&self) {
        self.run("kill", &format!("-INT {}", self.viewer.id()));
    }

    pub(crate) fn end_display(&mut self) {
        self.xvfb.kill().ok();
        self.xvfb.wait().ok();
    }

    /// Waits for the viewer's end, and answers its status; `None` if a signal ended it.
    pub(crate) fn status(&mut self) -> Option<i32> {
        let end = RealClock::new().now() + PATIENCE;
        // The reader ends with the last line, which comes with the end of the process.
        while self.lines.recv_timeout(PATIENCE.to_std()).is_ok() {
            assert!(RealClock::new().now() < end, "the viewer does not end");
        }
        self.viewer.wait().unwrap().code()
    }

    /// Quits by the key, in order.
    pub(crate) fn quit(mut self) {
        self.keys("F10");
        assert_eq!(self.status(), Some(0), "it ends in order");
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.viewer.kill().ok();
        self.viewer.wait().ok();
        self.end_display();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn start_xvfb() -> (Child, String) {
    let mut xvfb = Command::new("Xvfb")
        .args("-displayfd 1 -screen 0 1280x720x24 -noreset -nolisten tcp".split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = String::new();
    BufReader::new(xvfb.stdout.take().unwrap())
        .read_line(&mut number)
        .unwrap();
    (xvfb, format!(":{}", number.trim()))
}
