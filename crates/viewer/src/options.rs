//! The command line.
//!
//! `-h` is the host and `-p` the port, as everywhere around Zappy, so help is `--help` alone. Mistakes, help and completions
//! are those of [`trantor_cli`].

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::parser::ValueSource;
use clap::{ArgAction, Args, Parser};

use trantor_cli::values::{decimal, explained_choice, whole};
use trantor_cli::{OptionError, Parsed};
use trantor_client::Language;
use trantor_protocol::limits::TOKEN_FILE_BYTES_MAX;
use trantor_protocol::read_token;
use trantor_render::gpu::Quality;
use trantor_render::picture::palette::Theme;
use trantor_runtime::files::read_regular_text;

use crate::demo::DemoScene;
use crate::film::{MEGABYTE, MEGABYTES, MEGABYTES_MAX, PER_SECOND_MAX, film_path};

/// The usage of `trantor-viewer`.
pub const USAGE: &str = "[-p PORT] [-h HOST] [--replay PATH] [--film FILE] [--text] [OPTIONS]";

/// The options.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "trantor-viewer",
    version,
    about = "A window on the arena: picture, figures and speed control.",
    disable_help_flag = true
)]
pub struct Cli {
    /// The server's port
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 4242, value_parser = whole::<u16>(1, 65_535))]
    pub port: u16,
    /// The server's host
    #[arg(short = 'h', long, value_name = "HOST", default_value = "localhost")]
    pub host: String,
    /// A file with the server's token in its first line; without it, the token that a server of this user has left
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Draw one picture without a window into FILE (PNG), and end
    #[arg(long, value_name = "FILE")]
    pub screenshot: Option<PathBuf>,
    /// Draw in this terminal instead of a window; into a pipe, a plain page a second
    #[arg(long, conflicts_with = "screenshot")]
    pub text: bool,
    /// Play a recording: its files, or its directory
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port", "demo_scene", "token_file"])]
    pub replay: Option<PathBuf>,
    /// The film to make
    #[command(flatten)]
    pub film: FilmOptions,
    /// How long to watch before the screenshot
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = decimal(0.0, AFTER_SECONDS_MAX), allow_negative_numbers = true)]
    pub after: f64,
    /// Width and height of the window or the screenshot, in pixels [default: as last time, or 1280x720 points of the display]
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub size: Option<(u32, u32)>,
    /// Show a synthetic scene instead of a server's game
    #[arg(long, value_name = "NAME")]
    pub demo_scene: Option<DemoScene>,
    /// The light of the picture and the colours of the panels; the light then stands still instead of drifting with game time
    #[arg(long, value_name = "NAME", value_parser = explained_choice([("dark", "An evening", Theme::Dark), ("light", "A clear morning", Theme::Light)]))]
    pub theme: Option<Theme>,
    /// Render quality [default: as last time, or what the graphics adapter affords]
    #[arg(long, value_name = "NAME", value_parser = explained_choice([("swift", "For drawing by the processor", Quality::Swift), ("fine", "For graphics cards", Quality::Fine)]))]
    pub quality: Option<Quality>,
    /// Leave out all panels
    #[arg(long)]
    pub no_hud: bool,
    /// What to speak with the server
    #[arg(long, value_name = "NAME", default_value = "frames", value_parser = explained_choice([("frames", "Our own: everything, exactly timed", Language::Frames), ("gui", "What viewers of every Zappy server speak", Language::Text)]))]
    pub dialect: Language,
    /// Let the director move the camera from the start (F7): near where elevations begin, else the whole map
    #[arg(long)]
    pub director: bool,
    /// Print where widgets are and what they say, as lines for scripted tests
    #[arg(long)]
    pub report_widgets: bool,
    /// Print this help
    #[arg(long, action = ArgAction::HelpLong)]
    help: Option<bool>,
}

/// A film without a window.
#[derive(Clone, Debug, Args)]
pub struct FilmOptions {
    /// Draw a recording (--replay, or a server that plays one), picture by picture, without a window into FILE, and end: a .webm or .mp4 through ffmpeg if that is installed, or a .gif; without an ending the first that can be made
    #[arg(long, value_name = "FILE", value_parser = film_path, conflicts_with_all = ["screenshot", "text"])]
    pub film: Option<PathBuf>,
    /// Where the film begins [default: at the beginning]
    #[arg(long, value_name = "UNIT", requires = "film", allow_negative_numbers = true)]
    pub from: Option<i64>,
    /// Where the film ends [default: at the end]
    #[arg(long, value_name = "UNIT", requires = "film", allow_negative_numbers = true)]
    pub to: Option<i64>,
    /// Pictures a second of the film
    #[arg(long, value_name = "PICTURES", default_value = "20", value_parser = whole::<u32>(1, PER_SECOND_MAX.into()))]
    pub fps: u32,
    /// Units a second of the film; pictures are whole units apart
    #[arg(long, value_name = "UNITS", default_value = "100", value_parser = whole::<u32>(1, 10_000))]
    pub speed: u32,
    /// Largest size of a film or a recording of the window, in megabytes; a GIF gets smaller and fewer pictures to fit
    #[arg(long = "film-limit", value_name = "MB", default_value_t = MEGABYTES, value_parser = whole::<u32>(1, MEGABYTES_MAX.into()))]
    pub limit: u32,
    /// Only the best moments of the recording, a minute at most, under the director
    #[arg(long, requires = "film", conflicts_with_all = ["from", "to", "demo_scene"])]
    pub highlights: bool,
}

impl FilmOptions {
    /// Largest size of a film or a recording of the window.
    pub fn bytes_max(&self) -> u64 {
        u64::from(self.limit) * MEGABYTE
    }
}

impl Cli {
    /// The default size of a picture.
    pub const SIZE: (u32, u32) = (1280, 720);

    /// The server's token, if there is an option for its file.
    ///
    /// # Errors
    /// If it cannot be read or holds no token.
    pub fn token(&self) -> anyhow::Result<Option<String>> {
        let Some(path) = &self.token_file else {
            return Ok(None);
        };
        let text = read_regular_text(path, TOKEN_FILE_BYTES_MAX)
            .with_context(|| format!("{}: the token cannot be read", path.display()))?;
        let token = read_token(&text).with_context(|| path.display().to_string())?;
        Ok(Some(token.to_owned()))
    }
}

/// A film needs one of these options: the default server plays no recording.
const FILMED: [&str; 4] = ["replay", "demo_scene", "host", "port"];
const FILM_OF_WHAT: &str =
    "needs a recording: --replay PATH, or -p PORT of a server that plays one (trantor-server replay play)";

/// The result of a command line.
#[derive(Debug)]
pub enum Invocation {
    /// Run with these options.
    Run(Box<Cli>),
    /// Print this and exit with status 0.
    Print(String),
}

/// Reads the command line `arguments`, the program's name first.
///
/// # Errors
/// The first mistake.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, OptionError> {
    let (cli, matches) = match trantor_cli::parse::<Cli>(arguments)? {
        Parsed::Run(parsed) => parsed,
        Parsed::Print(text) => return Ok(Invocation::Print(text)),
    };
    let is_named = |arg: &&str| matches.value_source(arg) == Some(ValueSource::CommandLine);
    match &cli.film.film {
        Some(film) if !FILMED.iter().any(is_named) => Err(OptionError::new(
            format!("--film {}", film.display()),
            FILM_OF_WHAT,
        )),
        _ => Ok(Invocation::Run(Box::new(cli))),
    }
}

/// Longest time to watch before a screenshot, in seconds: a day.
const AFTER_SECONDS_MAX: f64 = 86_400.0;

/// Longest side of a picture in pixels: what every graphics adapter can draw on.
const SIDE_PIXELS_MAX: u32 = 8_192;

fn size(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| {
        text.parse()
            .ok()
            .filter(|side| (16..=SIDE_PIXELS_MAX).contains(side))
    };
    text.split_once('x')
        .and_then(|(width, height)| Some((side(width)?, side(height)?)))
        .ok_or_else(|| format!("must be a width and a height from 16 to {SIDE_PIXELS_MAX}, as in 1280x720"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(line: &str) -> Result<Invocation, OptionError> {
        parse(line.split(' ').map(OsString::from))
    }

    fn run(line: &str) -> Cli {
        match invocation(line) {
            Ok(Invocation::Run(cli)) => *cli,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_token_is_the_first_line_of_a_file() {
        assert_eq!(run("trantor-viewer").token().unwrap(), None);
        let file = std::env::temp_dir().join(format!("trantor-viewer-token-{}", std::process::id()));
        let cli = run(&format!("trantor-viewer --token-file {}", file.display()));
        assert!(format!("{:#}", cli.token().unwrap_err()).contains("the token cannot be read"));
        std::fs::write(&file, "a-token-for-this-test\n").unwrap();
        let token = cli.token().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(token.as_deref(), Some("a-token-for-this-test"));
    }

    #[test]
    fn h_is_the_host_and_a_mistake_is_answered_by_one_line_that_says_what_is_accepted() {
        let cli = run("trantor-viewer -h arena.example -p 4321 --theme light --quality swift");
        assert_eq!((cli.host.as_str(), cli.port), ("arena.example", 4321));
        let chosen = (Some(Theme::Light), Some(Quality::Swift));
        assert_eq!((cli.theme, cli.quality), chosen);
        let help = invocation("trantor-viewer --help");
        assert!(matches!(help, Ok(Invocation::Print(text)) if text.contains("--screenshot")));
        for (options, names) in [
            ("-p 0", "1 to 65535"),
            ("--size 12", "1280x720"),
            ("--after -1", "--after"),
            ("--demo-scene nowhere", "overview"),
            ("--film a.gif --fps 51", "from 1 to 50"),
            ("--from 3", "--film"),
            ("--film a.gif", "--replay PATH"),
            ("--replay x -p 4242", "--port"),
            ("--frobnicate", "--frobnicate"),
            ("--hots x", "--hots: unknown option; did you mean --host?"),
            (
                "--theme lihgt",
                "--theme lihgt: must be dark or light; did you mean light?",
            ),
            ("-h", "-h is the host, --help is help"),
        ] {
            let said = invocation(&format!("trantor-viewer {options}"))
                .unwrap_err()
                .to_string();
            assert!(said.contains(names), "{options}: {said}");
            assert_eq!(said.lines().count(), 1, "{options}: {said}");
        }
    }
}
