//! `cargo xtask demo`: server, bots and viewer together, ended together.
//!
//! With a display the viewer's window decides when it is over, and one match follows another. Without one the same match runs for a while
//! under a plain text viewer, and a summary and a picture are left behind.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::process;

mod programs;
mod summary;

pub use programs::Programs;
use summary::Summary;

/// How often a match without a window looks whether it was told to end.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);
/// How long the end of a match is shown before the next one begins, in seconds.
const BETWEEN_MATCHES_SECONDS: &str = "12";
/// Who plays.
const TEAMS: [&str; 2] = ["red", "blue"];
/// A line of the server longer than this is not one: the first lines are short, and a map's are too.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Flags of the demo.
#[derive(clap::Args, Clone)]
pub struct Options {
    /// Units of game time per second at the start
    #[arg(short, long, default_value_t = 100)]
    frequency: u32,
    /// Agents in each of the two teams
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
}

/// Runs the demo to its end; answers failure if one of the programs failed before.
pub fn run(options: &Options) -> Result<ExitCode> {
    let viewer = process::build_program("trantor-viewer", "trantor-viewer")?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGCHLD])?;
    let mut running = Match::start(options, &[])?;
    let port = running.port;

    if !options.no_window && process::has_display() {
        println!("demo: the server listens on port {port}; close the window or press Ctrl-C to end");
        let window = Command::new(viewer)
            .args(["-h", "127.0.0.1", "-p", &port.to_string()])
            .spawn()
            .context("cannot start the viewer")?;
        running.programs.add("viewer", window);
        return running.until_closed(options, &mut signals);
    }
    let Match {
        mut programs,
        mut words,
        ..
    } = running;

    if !options.no_window {
        println!("demo: there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window");
    }
    println!(
        "demo: the server listens on port {port}; watching for {} s",
        options.seconds
    );
    if let Some(folder) = options.screenshot.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let picture = Command::new(viewer)
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "--screenshot"])
        .arg(&options.screenshot)
        .args(["--after", &options.seconds.saturating_sub(1).max(1).to_string()])
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start the viewer")?;
    programs.add("picture", picture);
    let summary = watch(port, Duration::from_secs(options.seconds), &mut signals)?;
    let picture_made = programs.wait_for("picture")?;
    programs.end();
    print!("{summary}{}", next_line(&mut words)?);
    if picture_made {
        println!("picture: {}", options.screenshot.display());
        Ok(ExitCode::SUCCESS)
    } else {
        println!("picture: none; the viewer failed, see its message above");
        Ok(ExitCode::FAILURE)
    }
}

/// Plays a match for so long at `frequency` and records it into `folder`.
pub fn record(folder: &Path, frequency: u32, how_long: Duration) -> Result<()> {
    let options = Options {
        frequency,
        team_size: 6,
        seed: 7,
        no_window: true,
        seconds: how_long.as_secs(),
        screenshot: PathBuf::new(),
    };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGCHLD])?;
    let mut running = Match::start(&options, &["--record".as_ref(), folder.as_os_str()])?;
    watch(running.port, how_long, &mut signals)?;
    running.programs.end();
    Ok(())
}

/// Shows a recording, standing still at `at`; answers the server, which ends when it is dropped, and its port.
pub fn replay(folder: &Path, at: &str) -> Result<(Programs, u16)> {
    let server = process::build_program("trantor-server", "trantor-server")?;
    let mut child = Command::new(server)
        .args(["replay", "play", "-p", "0", "-f", "100", "--paused", "--at", at])
        .arg(folder)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start the server")?;
    let mut words = BufReader::new(child.stdout.take().expect("the server's output was piped"));
    let mut programs = Programs::default();
    programs.add("server", child);
    let port = port_announced(&mut words)?;
    Ok((programs, port))
}

/// A server and two teams of bots.
struct Match {
    server: PathBuf,
    bot: PathBuf,
    programs: Programs,
    port: u16,
    /// What the server prints.
    words: BufReader<ChildStdout>,
}

impl Match {
    fn start(options: &Options, server_flags: &[&OsStr]) -> Result<Self> {
        let (server, bot) = (
            process::build_program("trantor-server", "trantor-server")?,
            process::build_program("trantor-bot", "trantor-bot")?,
        );
        let mut programs = Programs::default();
        let (child, port, words) = serve(&server, options, 0, server_flags)?;
        programs.add("server", child);
        let mut begun = Self {
            server,
            bot,
            programs,
            port,
            words,
        };
        begun.send_teams(options)?;
        Ok(begun)
    }

    fn send_teams(&mut self, options: &Options) -> Result<()> {
        for team in TEAMS {
            let bots = Command::new(&self.bot)
                .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-n", team])
                .args(["--team-size", &options.team_size.to_string()])
                .stdin(Stdio::null())
                .spawn();
            self.programs.add(team, bots.context("cannot start the bots")?);
        }
        Ok(())
    }

    /// Waits until the viewer or the server ends, or a signal comes; then ends all. Once a match is over another begins,
    /// with the next seed and at the speed that was set last; the viewer finds it at the same port.
    fn until_closed(&mut self, options: &Options, signals: &mut Signals) -> Result<ExitCode> {
        let mut options = options.clone();
        let mut status = ExitCode::SUCCESS;
        'watching: for signal in signals.forever() {
            if signal != SIGCHLD {
                break;
            }
            for (name, exit) in self.programs.take_ended() {
                match name {
                    "viewer" | "server" => {
                        if !exit.success() {
                            eprintln!("demo: the {name} failed: {exit}");
                            status = ExitCode::FAILURE;
                        }
                        break 'watching;
                    }
                    "pause" => {
                        options.seed += 1;
                        let (child, _, words) = serve(&self.server, &options, self.port, &[])?;
                        self.programs.add("server", child);
                        self.words = words;
                        self.send_teams(&options)?;
                    }
                    _ if !TEAMS
                        .into_iter()
                        .chain(["pause"])
                        .any(|other| self.programs.has(other)) =>
                    {
                        // Without a server the viewer shows the victory, and counts the seconds to its next try.
                        options.frequency = speed_at(self.port)?;
                        self.programs.end_one("server");
                        let pause = Command::new("sleep").arg(BETWEEN_MATCHES_SECONDS).spawn();
                        self.programs.add("pause", pause.context("cannot wait")?);
                    }
                    _ => {}
                }
            }
        }
        self.programs.end();
        Ok(status)
    }
}

/// Starts a server; answers where it listens, and what it prints.
fn serve(
    program: &Path,
    options: &Options,
    port: u16,
    flags: &[&OsStr],
) -> Result<(Child, u16, BufReader<ChildStdout>)> {
    let mut child = Command::new(program)
        .args(["-p", &port.to_string(), "-n"])
        .args(TEAMS)
        .args(["-c", &options.team_size.to_string()])
        .args(["-f", &options.frequency.to_string()])
        .args(["--seed", &options.seed.to_string()])
        .args(flags)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start the server")?;
    let mut words = BufReader::new(child.stdout.take().expect("the server's output was piped"));
    let port = port_announced(&mut words)?;
    Ok((child, port, words))
}

/// Units a second at which the server on that port runs, as a viewer is told first.
fn speed_at(port: u16) -> Result<u32> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("cannot connect to the server")?;
    stream.write_all(b"GRAPHIC\n")?;
    for line in BufReader::new(stream).lines() {
        if let Some(speed) = line?.strip_prefix("sgt ") {
            return speed.parse().context("the server told no speed");
        }
    }
    bail!("the server broke the connection")
}

/// Reads the server's first line, which tells the port it was given.
fn port_announced(words: &mut impl BufRead) -> Result<u16> {
    let line = next_line(words)?;
    let port = line.split("listening on ").nth(1).and_then(|rest| {
        let address = rest.split_whitespace().next()?;
        address.rsplit(':').next()?.parse().ok()
    });
    port.with_context(|| format!("the server did not say where it listens, but {line:?}"))
}

/// The next line the server prints, empty at the end.
fn next_line(words: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    words
        .take(LINE_BYTES_MAX)
        .read_line(&mut line)
        .context("cannot read what the server prints")?;
    Ok(line)
}

/// Watches the match as a text viewer for so long, or until a signal says to end.
fn watch(port: u16, how_long: Duration, signals: &mut Signals) -> Result<Summary> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("cannot connect to the server")?;
    stream.set_read_timeout(Some(SIGNAL_CHECK))?;
    stream.write_all(b"GRAPHIC\n")?;
    let mut lines = BufReader::new(stream);
    let mut summary = Summary::default();
    let mut line = Vec::new();
    let checks = how_long.as_millis() / SIGNAL_CHECK.as_millis();
    let deadline = crate::ci::Stopwatch::start();
    for _ in 0..=checks.max(1) {
        if signals.pending().any(|signal| signal != SIGCHLD) {
            break;
        }
        loop {
            match lines.read_until(b'\n', &mut line) {
                Ok(0) => return Ok(summary),
                Ok(_) => {
                    summary.note(&line);
                    line.clear();
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(error) => return Err(error).context("the server broke the connection"),
            }
            if deadline.elapsed() >= how_long {
                return Ok(summary);
            }
        }
    }
    Ok(summary)
}
