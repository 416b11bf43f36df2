//! `cargo xtask demo`: server, bots and viewer together, ended together.
//!
//! With a display the viewer's window decides when it is over, and one match follows another. Without one the match runs
//! for a while, and the server's list of its clients and a picture are left behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::process;

/// How long the end of a match is shown before the next one begins, in seconds.
const BETWEEN_MATCHES_SECONDS: &str = "12";
/// Who plays.
const TEAMS: [&str; 2] = ["red", "blue"];
/// Bytes of a line of the server, whose lines are short.
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
    println!("demo: building the server, the bots and the viewer; the first time this takes some minutes");
    let built = process::build(
        process::PLAY_PROFILE,
        ["trantor-server", "trantor-bot", "trantor-viewer"],
    )?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGCHLD])?;
    let mut running = Match::start(options.clone(), built)?;
    let has_window = !options.no_window && process::has_display();
    if has_window {
        println!(
            "demo: the server listens on port {}; close the window or press Ctrl-C to end",
            running.port
        );
    } else {
        println!(
            "demo: the server listens on port {}; without a window (a display needs DISPLAY or WAYLAND_DISPLAY) the match is \
             watched for {} s",
            running.port, options.seconds
        );
    }
    running.start_viewer(has_window)?;
    let status = running.until_closed(&mut signals)?;
    if has_window {
        return Ok(status.unwrap_or(ExitCode::SUCCESS));
    }
    running.print_clients()?;
    running.programs.end();
    print!("{}", next_line(&mut running.words)?);
    if status == Some(ExitCode::SUCCESS) {
        println!("picture: {}", options.screenshot.display());
    }
    Ok(status.unwrap_or(ExitCode::FAILURE))
}

/// A server, two teams of bots and a viewer.
struct Match {
    options: Options,
    server: PathBuf,
    bot: PathBuf,
    viewer: PathBuf,
    programs: Programs,
    port: u16,
    /// What the server prints.
    words: BufReader<ChildStdout>,
}

impl Match {
    /// Starts the server and the bots.
    fn start(options: Options, [server, bot, viewer]: [PathBuf; 3]) -> Result<Self> {
        let mut programs = Programs::default();
        let (port, words) = serve(&mut programs, &server, &options, 0)?;
        let mut begun = Self {
            options,
            server,
            bot,
            viewer,
            programs,
            port,
            words,
        };
        begun.start_teams()?;
        Ok(begun)
    }

    fn start_teams(&mut self) -> Result<()> {
        for team in TEAMS {
            let mut bots = Command::new(&self.bot);
            bots.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-n", team]);
            bots.args(["--team-size", &self.options.team_size.to_string()]);
            self.programs.start(team, &mut bots)?;
        }
        Ok(())
    }

    fn start_viewer(&mut self, has_window: bool) -> Result<()> {
        let mut viewer = Command::new(&self.viewer);
        viewer.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        if !has_window {
            let picture = &self.options.screenshot;
            if let Some(folder) = picture.parent() {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
            }
            let seconds = self.options.seconds.max(1).to_string();
            viewer
                .arg("--screenshot")
                .arg(picture)
                .args(["--after", &seconds]);
        }
        self.programs.start("viewer", &mut viewer)
    }

    /// Waits until the viewer or the server ends, or a signal comes. Once a match is over another begins, with the next seed
    /// and at the speed that was set last; the viewer finds it at the same port.
    /// Answers how that one ended; `None` after a signal.
    fn until_closed(&mut self, signals: &mut Signals) -> Result<Option<ExitCode>> {
        for signal in signals.forever() {
            if signal != SIGCHLD {
                break;
            }
            for (name, exit) in self.programs.take_ended() {
                match name {
                    "viewer" | "server" if exit.success() => return Ok(Some(ExitCode::SUCCESS)),
                    "viewer" | "server" => {
                        eprintln!("demo: the {name} failed: {exit}");
                        return Ok(Some(ExitCode::FAILURE));
                    }
                    "pause" => {
                        self.options.seed += 1;
                        (_, self.words) = serve(&mut self.programs, &self.server, &self.options, self.port)?;
                        self.start_teams()?;
                    }
                    _ if ["red", "blue", "pause"]
                        .iter()
                        .any(|name| self.programs.has(name)) => {}
                    _ => {
                        // Without a server the viewer shows the victory, and counts the seconds to its next try.
                        self.options.frequency = speed_at(self.port)?;
                        self.programs.end_one("server");
                        let mut pause = Command::new("sleep");
                        self.programs.start("pause", pause.arg(BETWEEN_MATCHES_SECONDS))?;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Prints the server's list of its clients: the agents with their teams and levels.
    fn print_clients(&self) -> Result<()> {
        let mut console = Command::new(&self.server);
        console.args([
            "console",
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "clients",
        ]);
        process::status(&mut console).map(drop)
    }
}

/// Starts a server; answers where it listens, and what it prints.
fn serve(
    programs: &mut Programs,
    server: &Path,
    options: &Options,
    port: u16,
) -> Result<(u16, BufReader<ChildStdout>)> {
    let mut command = Command::new(server);
    command.args(["-p", &port.to_string(), "-n"]).args(TEAMS);
    command.args(["-c", &options.team_size.to_string()]);
    command.args(["-f", &options.frequency.to_string()]);
    command.args(["--seed", &options.seed.to_string()]);
    programs.start_server(&mut command)
}

/// Units a second at which the server on that port runs, as a viewer is sent first.
fn speed_at(port: u16) -> Result<u32> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("cannot connect to the server")?;
    stream.write_all(b"GRAPHIC\n")?;
    for line in BufReader::new(stream).lines() {
        if let Some(speed) = line?.strip_prefix("sgt ") {
            return speed.parse().context("the server sent no speed");
        }
    }
    bail!("the server broke the connection")
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

/// The programs that were started. Dropping it ends them all: none is left behind, whatever went wrong.
#[derive(Default)]
pub struct Programs {
    running: Vec<(&'static str, Child)>,
}

impl Programs {
    fn start(&mut self, name: &'static str, command: &mut Command) -> Result<()> {
        let child = command.stdin(Stdio::null()).spawn();
        self.running
            .push((name, child.with_context(|| format!("cannot start the {name}"))?));
        Ok(())
    }

    /// Starts a server, and reads from its first line the port it was given.
    pub fn start_server(&mut self, command: &mut Command) -> Result<(u16, BufReader<ChildStdout>)> {
        self.start("server", command.stdout(Stdio::piped()))?;
        let (_, child) = self.running.last_mut().expect("it was just started");
        let mut words = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let line = next_line(&mut words)?;
        let address = line
            .split("listening on ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
        let port = port.with_context(|| format!("the server did not say where it listens, but {line:?}"))?;
        Ok((port, words))
    }

    fn has(&self, name: &str) -> bool {
        self.running.iter().any(|(running, _)| *running == name)
    }

    /// Those that have ended, and how. They are forgotten.
    fn take_ended(&mut self) -> Vec<(&'static str, ExitStatus)> {
        let mut ended = Vec::new();
        self.running.retain_mut(|(name, child)| {
            let exit = child.try_wait().ok().flatten();
            ended.extend(exit.map(|exit| (*name, exit)));
            exit.is_none()
        });
        ended
    }

    /// Asks one to end, and waits until it has.
    fn end_one(&mut self, name: &str) {
        let (wanted, others) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|(running, _)| *running == name);
        self.running = wanted;
        self.end();
        self.running = others;
    }

    /// Asks all to end, the last started first, and waits until they have.
    fn end(&mut self) {
        for (_, child) in self.running.iter_mut().rev() {
            // The programs end in order on SIGTERM; one that ended by itself is not asked.
            if matches!(child.try_wait(), Ok(None)) {
                let mut kill = Command::new("kill");
                let asked = kill.arg(child.id().to_string()).stderr(Stdio::null()).status();
                if !asked.is_ok_and(|status| status.success()) {
                    child.kill().ok();
                }
            }
        }
        for (name, mut child) in self.running.drain(..) {
            if let Err(error) = child.wait() {
                eprintln!("demo: cannot wait for the {name}: {error}");
            }
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.end();
    }
}
