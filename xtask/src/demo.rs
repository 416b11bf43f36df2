//! `cargo xtask demo`: server, bots and viewer together, ended together.
//!
//! The abbey are bots over TCP, which are careful; caravan and horde are scripts in the server.
//!
//! With a display the viewer's window decides when it is over, and one match follows another. Without one the match runs
//! for a while, and the server's list of its clients and a picture are left behind. Every match is recorded.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::process;

/// From a victory to the next match, in seconds: the server stays, and the viewer shows the victory.
const BETWEEN_MATCHES_SECONDS: &str = "12";

/// The team of the bots.
const BOTS: &str = "abbey";

/// The teams of `assets/minds/TEAM.luau`.
const SCRIPTS: [&str; 2] = ["caravan", "horde"];

/// In every such match messages between agents take time and get lost.
const MATCHES_PER_LAG: u32 = 3;

/// The oldest recordings are removed beyond this: the server's least, and some dozens of matches.
const RECORDINGS_KEPT: &str = "64MB";

/// Matches whose recordings are named at the end: a screen has room for them.
const RECORDINGS_SHOWN_MAX: usize = 10;

/// Flags of the demo.
#[derive(clap::Args, Clone)]
pub struct Options {
    /// Units of game time per second at the start
    #[arg(short, long, default_value_t = 60)]
    frequency: u32,
    /// Agents in each of the three teams
    #[arg(long, default_value_t = 6)]
    team_size: u32,
    /// Where the world's chance comes from; the same seed gives the same map
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Do not open a window, even if there is a display
    #[arg(long)]
    no_window: bool,
    /// Without a window: how long the match is watched
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Without a window: where the picture goes
    #[arg(long, default_value = "target/demo.png")]
    screenshot: PathBuf,
    /// Where matches are recorded, a folder for each; the oldest are removed beyond 64 MB
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    record: PathBuf,
}

/// Runs the demo to its end; fails if one of the programs failed before.
pub fn run(options: &Options) -> Result<ExitCode> {
    println!("demo: building the server, the bots and the viewer; the first time this takes 5 to 12 minutes");
    let programs = ["trantor-server", "trantor-bot", "trantor-viewer"];
    let [server, bot, viewer] = process::build(process::PLAY_PROFILE, programs)?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGCHLD])?;
    let mut demo = Demo {
        options: options.clone(),
        server,
        bot,
        viewer,
        matches: 0,
        port: 0,
        output: None,
        recordings: Vec::new(),
        running: Vec::new(),
    };
    demo.start_match()?;
    let has_window = !options.no_window && has_display();
    let how = if has_window {
        "close the window or press Ctrl-C to end".to_owned()
    } else {
        let seconds = options.seconds;
        format!(
            "without a window (a display needs DISPLAY or WAYLAND_DISPLAY) the match is watched for {seconds} s"
        )
    };
    let address = format!("127.0.0.1:{}", demo.port);
    println!(
        "demo: {BOTS} is of bots over TCP, caravan and horde of scripts in the server at {address}; {how}"
    );
    demo.start_viewer(has_window)?;
    let status = demo.until_closed(&mut signals)?;
    if has_window {
        demo.end(|_| true);
        demo.say_how_to_watch_again();
        return Ok(status.unwrap_or(ExitCode::SUCCESS));
    }
    // The server may have failed.
    if let Ok(clients) = demo.console("clients") {
        print!("{clients}");
    }
    demo.end(|_| true);
    if let Some(output) = &mut demo.output {
        let mut line = String::new();
        output.read_line(&mut line)?;
        print!("{line}");
    }
    if status == Some(ExitCode::SUCCESS) {
        println!("picture: {}", options.screenshot.display());
    }
    demo.say_how_to_watch_again();
    Ok(status.unwrap_or(ExitCode::FAILURE))
}

/// Whether there is a display to open a window on.
fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The newest run in a folder of recordings.
fn newest_run(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let runs = entries.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.strip_prefix("run-")?.parse().ok()?;
        Some((number, entry.path()))
    });
    runs.max().map(|(_, path)| path)
}

/// A path as it is typed in this folder.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// A server, a team of bots and a viewer. Dropping it ends them all: none is left behind, whatever went wrong.
struct Demo {
    options: Options,
    server: PathBuf,
    bot: PathBuf,
    viewer: PathBuf,
    /// Begun so far.
    matches: u32,
    /// 0 before the first match.
    port: u16,
    /// Standard output of the server.
    output: Option<BufReader<ChildStdout>>,
    /// The folders of the matches so far.
    recordings: Vec<PathBuf>,
    running: Vec<(&'static str, Child)>,
}

impl Demo {
    /// Only errors of the programs reach the terminal.
    fn start(&mut self, name: &'static str, command: &mut Command) -> Result<&mut Child> {
        let child = command.stdin(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start the {name}"))?;
        self.running.push((name, child));
        Ok(&mut self.running.last_mut().expect("it was just started").1)
    }

    /// Starts a server, at the port of the one before, and the bots.
    fn start_match(&mut self) -> Result<()> {
        let (port, options) = (self.port, &self.options);
        let (places, speed, seed) = (options.team_size, options.frequency, options.seed);
        let minds = SCRIPTS.map(|team| format!("--mind {team}=script:assets/minds/{team}.luau:{places}"));
        let (teams, minds) = (SCRIPTS.join(" "), minds.join(" "));
        let flags =
            format!("-p {port} -c {places} -f {speed} --seed {seed} --log error -n {BOTS} {teams} {minds}");
        let recorded =
            std::path::absolute(&options.record).context("the folder of recordings has no path")?;
        let mut server = Command::new(&self.server);
        server.current_dir(process::root()).args(flags.split(' '));
        server.arg("--record").arg(&recorded);
        server.args(["--record-keep", RECORDINGS_KEPT]);
        self.matches += 1;
        if self.matches.is_multiple_of(MATCHES_PER_LAG) {
            server.args(["--lag", "radio"]);
            println!("demo: in this match messages between agents take time (--lag radio)");
        }
        let server = self.start("server", server.stdout(Stdio::piped()))?;
        let mut output = BufReader::new(server.stdout.take().expect("its output is a pipe"));
        let mut line = String::new();
        output.read_line(&mut line)?;
        // "trantor-server: listening on 127.0.0.1:4242 (…)"
        let address = line.split_whitespace().nth(3);
        let address: Option<SocketAddr> = address.and_then(|word| word.parse().ok());
        let address =
            address.with_context(|| format!("the server does not say where it listens: {line:?}"))?;
        (self.port, self.output) = (address.port(), Some(output));
        // It is there before the server says that it listens.
        if let Some(recording) = newest_run(&recorded) {
            println!("demo: this match is recorded in {}", shown(&recording));
            self.recordings.push(recording);
        }
        let flags = format!("-h 127.0.0.1 -p {} -n {BOTS} --team-size {places}", self.port);
        let mut bots = Command::new(&self.bot);
        self.start("bots", bots.args(flags.split(' ')).stdout(Stdio::null()))?;
        Ok(())
    }

    fn start_viewer(&mut self, has_window: bool) -> Result<()> {
        let mut viewer = Command::new(&self.viewer);
        viewer.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "--director"]);
        if !has_window {
            let picture = &self.options.screenshot;
            if let Some(folder) = picture.parent() {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
            }
            let seconds = self.options.seconds.max(1).to_string();
            viewer.arg("--screenshot").arg(picture);
            viewer.args(["--after", &seconds]);
        }
        self.start("viewer", viewer.stdout(Stdio::null())).map(drop)
    }

    /// Prints the line that plays the match once more, or each of several matches that are still there.
    fn say_how_to_watch_again(&mut self) {
        self.recordings.retain(|recording| recording.is_dir());
        let viewer = shown(&self.viewer);
        match &self.recordings[..] {
            [] => println!("demo: no match was recorded"),
            [recording] => println!(
                "demo: watch the match again: {viewer} --replay {}",
                shown(recording)
            ),
            recordings => {
                println!("demo: watch the last matches again:");
                let first = recordings.len().saturating_sub(RECORDINGS_SHOWN_MAX);
                for recording in &recordings[first..] {
                    println!("  {viewer} --replay {}", shown(recording));
                }
            }
        }
    }

    /// Waits until the viewer or the server ends, or a signal comes. Once a match is over another begins, with the next seed
    /// and at the speed that was set last; the viewer finds it at the same port.
    /// Returns how that one ended; `None` after a signal.
    fn until_closed(&mut self, signals: &mut Signals) -> Result<Option<ExitCode>> {
        for signal in signals.forever() {
            if signal != SIGCHLD {
                break;
            }
            for (name, exit) in self.take_ended() {
                match name {
                    "viewer" | "server" if exit.success() => return Ok(Some(ExitCode::SUCCESS)),
                    "viewer" | "server" => {
                        eprintln!("demo: the {name} failed: {exit}");
                        return Ok(Some(ExitCode::FAILURE));
                    }
                    // The viewer has shown the victory.
                    "pause" => {
                        let speed = self.console("tick")?;
                        let speed = speed.split(' ').next().and_then(|word| word.parse().ok());
                        self.options.frequency = speed.context("the server names no speed")?;
                        self.end(|name| name == "server");
                        self.options.seed += 1;
                        self.start_match()?;
                    }
                    // The bots end with the match.
                    _ => drop(self.start("pause", Command::new("sleep").arg(BETWEEN_MATCHES_SECONDS))?),
                }
            }
        }
        Ok(None)
    }

    /// The server's answer to a line of an operator.
    fn console(&self, line: &str) -> Result<String> {
        let mut console = Command::new(&self.server);
        console.args(["console", "-h", "127.0.0.1", "-p", &self.port.to_string(), line]);
        let output = console.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "the server's console failed");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Programs that have ended since the last call.
    fn take_ended(&mut self) -> Vec<(&'static str, ExitStatus)> {
        let mut ended = Vec::new();
        self.running.retain_mut(|(name, child)| {
            let exit = child.try_wait().ok().flatten();
            ended.extend(exit.map(|exit| (*name, exit)));
            exit.is_none()
        });
        ended
    }

    /// Asks programs to end, the last started first, and waits until they have.
    fn end(&mut self, is_meant: fn(&str) -> bool) {
        let running = std::mem::take(&mut self.running).into_iter();
        let (mut meant, others): (Vec<_>, _) = running.partition(|(name, _)| is_meant(name));
        self.running = others;
        for (_, child) in meant.iter_mut().rev() {
            // The programs shut down on SIGTERM; one that ended by itself is not asked.
            if matches!(child.try_wait(), Ok(None)) {
                let mut kill = Command::new("kill");
                let asked = kill.arg(child.id().to_string()).stderr(Stdio::null()).status();
                if !asked.is_ok_and(|status| status.success()) {
                    child.kill().ok();
                }
            }
        }
        for (name, mut child) in meant {
            if let Err(error) = child.wait() {
                eprintln!("demo: cannot wait for the {name}: {error}");
            }
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.end(|_| true);
    }
}
