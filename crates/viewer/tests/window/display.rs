//! An X server of its own, and the hand that moves mouse and keys on it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

const TOOLS: [&str; 3] = ["Xvfb", "xdotool", "xrandr"];

/// Whether all tools can be found. On CI a missing one is a failure.
pub(crate) fn tools_are_here() -> bool {
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

/// An X server of its own, with a screen of 60 Hz; ended when dropped.
pub(crate) struct Display {
    server: Child,
    _turn: MutexGuard<'static, ()>,
    /// As `DISPLAY` names it.
    pub(crate) name: String,
}

/// One window at a time: it draws with the processors. Where tests are processes of their own, `.config/nextest.toml` sees to
/// that.
static TURN: Mutex<()> = Mutex::new(());

impl Display {
    pub(crate) fn start() -> Self {
        // A test that failed with it has left nothing behind that matters to the next one.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
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
            _turn: turn,
            name: format!(":{}", number.trim()),
        };
        for (name, megahertz) in [("h60", "72.00"), ("h144", "172.80")] {
            let totals = ["1280", "1344", "1472", "1600", "720", "723", "728", "750"];
            let mode: Vec<&str> = ["--newmode", name, megahertz].into_iter().chain(totals).collect();
            display.run("xrandr", &mode);
            display.run("xrandr", &["--addmode", "screen", name]);
        }
        display.set_mode("h60");
        display
    }

    pub(crate) fn click(&self, at: Point) {
        self.xdotool(at, "sleep 0.3 mousedown 1 sleep 0.3 mouseup 1");
    }

    pub(crate) fn click_right_and_drag(&self, from: Point, to: Point) {
        self.xdotool(from, "sleep 0.2 mousedown 3 sleep 0.2");
        self.xdotool(to, "sleep 0.3 mouseup 3");
    }

    /// Turns the wheel away from the user.
    pub(crate) fn wheel(&self, at: Point) {
        self.xdotool(at, "sleep 0.2 click 4 click 4");
    }

    /// Presses keys, by the names that X has for them.
    pub(crate) fn keys(&self, names: &str) {
        let arguments: Vec<&str> = ["key", "--delay", "60"]
            .into_iter()
            .chain(names.split(' '))
            .collect();
        self.run("xdotool", &arguments);
    }

    /// Types a line into what has the focus.
    pub(crate) fn type_line(&self, line: &str) {
        self.run("xdotool", &["type", "--delay", "40", line]);
        self.keys("Return");
    }

    /// Lets the display report another rate: `h60` or `h144`.
    pub(crate) fn set_mode(&self, mode: &str) {
        self.run("xrandr", &["--output", "screen", "--mode", mode]);
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        let (width, height) = (width.to_string(), height.to_string());
        self.run(
            "xdotool",
            &["search", "--name", "Trantor", "windowsize", &width, &height],
        );
    }

    /// Takes the window from the screen, as minimising does, or puts it back.
    pub(crate) fn show(&self, is_shown: bool) {
        let how = if is_shown { "windowmap" } else { "windowunmap" };
        self.run("xdotool", &["search", "--name", "Trantor", how]);
    }

    /// There is no window manager that would give the window the keyboard.
    pub(crate) fn focus(&self) {
        self.run("xdotool", &["search", "--name", "Trantor", "windowfocus"]);
    }

    /// Drags with the left button, and gives a slow viewer time to see that it went up.
    pub(crate) fn drag(&self, from: Point, to: Point) {
        self.xdotool(from, "sleep 0.3 mousedown 1 sleep 0.3");
        self.xdotool(to, "sleep 0.5 mouseup 1 sleep 1");
    }

    /// Moves the mouse and does there what the words say. A button is held for some frames: one that is pressed and
    /// released within one is missed by a slider.
    pub(crate) fn xdotool(&self, at: Point, words: &str) {
        let (x, y) = (at.x.round().to_string(), at.y.round().to_string());
        let arguments: Vec<&str> = ["mousemove", &x, &y]
            .into_iter()
            .chain(words.split(' '))
            .collect();
        self.run("xdotool", &arguments);
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str]) {
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

/// A rectangle of the window, in pixels. There is no window manager: the window begins where the screen does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) left: f32,
    pub(crate) top: f32,
    pub(crate) right: f32,
    pub(crate) bottom: f32,
}

impl Place {
    /// The point at this part of the width, half-way down.
    pub(crate) fn at(self, part: f32) -> Point {
        Point {
            x: self.left + (self.right - self.left) * part,
            y: f32::midpoint(self.top, self.bottom),
        }
    }
}

/// A point of the screen, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f32,
    pub(crate) y: f32,
}
