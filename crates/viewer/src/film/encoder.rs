//! Films through an encoder that is installed: `ffmpeg`, fed with pictures through a pipe.
//!
//! The encoder writes beside the film's file, and takes its place only when it is whole and within its limit.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use trantor_runtime::threads::{self, Thread};
use trantor_time::RealSpan;

use super::{MEGABYTE, Shape};
use trantor_render::gpu::Pixels;

/// The program, looked for on `PATH`.
const PROGRAM: &str = "ffmpeg";
/// How long it may take to list what it can encode.
const LIST_SPAN: RealSpan = RealSpan::from_secs(5);
/// Bytes that are read of its lists and messages: the longest list has a few tens of thousands.
const OUTPUT_BYTES_MAX: u64 = 256 * 1_024;

/// A codec of the program: the ending of its files, its name, how it is asked for good pictures at a bounded rate. Better ones
/// come first.
struct Codec {
    ending: &'static str,
    name: &'static str,
    options: &'static [&'static str],
}

const CODECS: [Codec; 4] = [
    Codec {
        ending: "webm",
        name: "libvpx-vp9",
        options: &[
            "-crf",
            "32",
            "-row-mt",
            "1",
            "-deadline",
            "good",
            "-cpu-used",
            "4",
        ],
    },
    Codec {
        ending: "webm",
        name: "libvpx",
        options: &["-crf", "12", "-deadline", "good", "-cpu-used", "4"],
    },
    Codec {
        ending: "mp4",
        name: "libx264",
        options: &["-crf", "23", "-movflags", "+faststart"],
    },
    Codec {
        ending: "mp4",
        name: "libopenh264",
        options: &["-movflags", "+faststart"],
    },
];

/// The part of the limit that the pictures of the whole film are to take: encoders keep to a rate on average only.
const RATE_SHARE: f64 = 0.85;

/// An encoder that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoder {
    program: PathBuf,
    /// Place in [`CODECS`].
    codec: usize,
}

impl Encoder {
    /// The best encoder for files of this ending.
    pub fn find(ending: &str) -> Option<Self> {
        let program = on_path(PROGRAM)?;
        let listed = listed(&program)?;
        let is_listed = |codec: &Codec| listed.split_whitespace().any(|word| word == codec.name);
        let codec = CODECS
            .iter()
            .position(|codec| codec.ending == ending && is_listed(codec))?;
        Some(Self { program, codec })
    }

    /// The ending of its files.
    pub fn ending(&self) -> &'static str {
        CODECS[self.codec].ending
    }
}

/// Why there is no encoder for files of this ending, and what to do.
pub fn what_is_missing(ending: &str) -> String {
    let codecs = CODECS
        .iter()
        .filter(|codec| codec.ending == ending)
        .map(|codec| codec.name);
    let codecs = codecs.collect::<Vec<_>>().join(" or ");
    format!("a .{ending} needs {PROGRAM} with {codecs} on the PATH")
}

fn on_path(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
}

/// What the program says it can encode.
fn listed(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error", "-encoders"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let output = child.stdout.take()?;
    let reader = threads::spawn("encoders", move || read_some(output)).ok()?;
    let text = reader.join_within(LIST_SPAN);
    // It has ended, or takes too long; then its end lets the reader end.
    let _ended_itself = child.kill();
    let _ = child.wait();
    match text {
        Ok(text) => text.ok(),
        Err(reader) => {
            drop(reader.join());
            None
        }
    }
}

/// Reads a bounded beginning, and the rest so that its writer can end.
fn read_some(mut output: impl io::Read) -> String {
    let mut bytes = Vec::new();
    let _ended = output.by_ref().take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
    let _ended = io::copy(&mut output, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A film that an encoder is making.
pub struct EncodedFilm {
    child: Child,
    pictures: Option<ChildStdin>,
    messages: Option<Thread<String>>,
    /// Where it writes, until the film is whole.
    partial: PathBuf,
    file: PathBuf,
    shape: Shape,
    /// The last picture, and how many were sent.
    shown: Vec<u8>,
    sent: u64,
}

impl EncodedFilm {
    /// # Errors
    /// If the program cannot be started.
    pub fn start(encoder: &Encoder, file: &Path, shape: Shape) -> io::Result<Self> {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let partial = file.with_file_name(name);
        let codec = &CODECS[encoder.codec];
        let (width, height) = shape.size;
        let seconds = shape.turns.max(1) as f64 / f64::from(shape.per_second);
        let bits_per_second = shape.bytes_max as f64 * 8.0 * RATE_SHARE / seconds;
        // Beyond this it would only be a number; a kilobit is what a still costs.
        let rate = (bits_per_second as u64).clamp(1_000, 1_000_000_000).to_string();
        let mut command = Command::new(&encoder.program);
        command.args(["-hide_banner", "-loglevel", "error", "-y"]);
        command.args([
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgba",
            "-s",
            &format!("{width}x{height}"),
        ]);
        command.args(["-r", &shape.per_second.to_string(), "-i", "pipe:0", "-an"]);
        // Half the colours: both sides are even then.
        command.args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p"]);
        command.args(["-c:v", codec.name]).args(codec.options);
        command.args(["-b:v", &rate, "-maxrate", &rate, "-bufsize", &rate]);
        // The same pictures give the same file.
        command.args([
            "-fflags",
            "+bitexact",
            "-flags:v",
            "+bitexact",
            "-map_metadata",
            "-1",
        ]);
        command.args(["-fs", &shape.bytes_max.to_string(), "-f", codec.ending]);
        command.arg(&partial);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let pictures = child.stdin.take();
        let messages = child.stderr.take();
        let messages = messages.map(|output| threads::spawn("encoder", move || read_some(output)));
        Ok(Self {
            child,
            pictures,
            messages: messages.transpose()?,
            partial,
            file: file.to_owned(),
            shape,
            shown: Vec::new(),
            sent: 0,
        })
    }

    /// Adds the picture number `turn`.
    ///
    /// # Errors
    /// If the program has ended.
    pub fn add(&mut self, turn: u64, pixels: &Pixels) -> io::Result<()> {
        self.repeat_until(turn)?;
        self.shown.clone_from(&pixels.rgba);
        Ok(())
    }

    /// Ends the film as long as `turns` pictures.
    ///
    /// # Errors
    /// If the program says that it failed, or the film does not fit its limit.
    pub fn finish(mut self, turns: u64) -> io::Result<()> {
        self.repeat_until(turns)?;
        self.pictures = None;
        let status = self.child.wait()?;
        if !status.success() {
            return Err(self.failure());
        }
        let bytes = fs::metadata(&self.partial)?.len();
        match bytes <= self.shape.bytes_max {
            true => fs::rename(&self.partial, &self.file),
            false => Err(self.too_large()),
        }
    }

    /// Sends the last picture for each number before `turn`.
    fn repeat_until(&mut self, turn: u64) -> io::Result<()> {
        while self.sent < turn && !self.shown.is_empty() {
            let pictures = self.pictures.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            match pictures.write_all(&self.shown) {
                Ok(()) => self.sent += 1,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(self.early_end()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Why the program takes no more pictures.
    fn early_end(&mut self) -> io::Error {
        self.pictures = None;
        match self.child.wait() {
            Ok(status) if status.success() => self.too_large(),
            _ => self.failure(),
        }
    }

    fn too_large(&self) -> io::Error {
        let megabytes = self.shape.bytes_max / MEGABYTE;
        io::Error::other(format!(
            "the film does not fit {megabytes} MB: choose a larger --film-limit, a smaller --size or less of the game"
        ))
    }

    fn failure(&mut self) -> io::Error {
        let messages = self.messages.take().and_then(|messages| messages.join().ok());
        let messages = messages.unwrap_or_default();
        let first = messages.lines().next().unwrap_or("it failed without a message");
        io::Error::other(format!("{PROGRAM}: {}", first.replace(char::is_control, " ")))
    }
}

impl Drop for EncodedFilm {
    fn drop(&mut self) {
        self.pictures = None;
        // A film that is whole has another name by now.
        let _has_ended = self.child.kill();
        let _has_ended = self.child.wait();
        let _is_gone = fs::remove_file(&self.partial);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program that lists one codec, and writes as many bytes as it is sent.
    const WHOLE: &str = "#!/bin/sh
for last; do :; done
case $last in
    -encoders) echo ' V....D libvpx-vp9 libvpx VP9' ;;
    *) bytes=$(wc -c); head -c $bytes /dev/zero > \"$last\" ;;
esac
";
    const BROKEN: &str = "#!/bin/sh
echo 'no room on the device' >&2
exit 1
";

    #[test]
    fn a_film_takes_its_place_when_it_is_whole_and_fits_its_limit() {
        let folder = std::env::temp_dir().join(format!("trantor-encoder-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let program = |name: &str, text: &str| {
            let program = folder.join(name);
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            program
        };
        let (whole, broken) = (program("whole", WHOLE), program("broken", BROKEN));
        assert!(listed(&whole).unwrap().contains("libvpx-vp9"));
        let file = folder.join("match.webm");
        fs::write(&file, "the film before").unwrap();
        // 32 bytes each; picture 1 is left out.
        let make = |program: &Path, turns: u64| {
            let encoder = Encoder {
                program: program.to_owned(),
                codec: 0,
            };
            let shape = Shape {
                size: (4, 2),
                per_second: 20,
                turns,
                bytes_max: 100,
            };
            let mut film = EncodedFilm::start(&encoder, &file, shape)?;
            for turn in (0..turns).filter(|turn| *turn != 1) {
                let rgba = vec![0; 32];
                let (width, height) = shape.size;
                film.add(turn, &Pixels { width, height, rgba })?;
            }
            film.finish(turns)
        };
        let too_large = make(&whole, 4).unwrap_err().to_string();
        assert!(too_large.contains("--film-limit"), "{too_large}");
        let failed = make(&broken, 3).unwrap_err().to_string();
        assert_eq!(failed, "ffmpeg: no room on the device");
        assert_eq!(fs::read_to_string(&file).unwrap(), "the film before");
        make(&whole, 3).unwrap();
        assert_eq!(fs::read(&file).unwrap().len(), 3 * 32);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing else is left");
        fs::remove_dir_all(&folder).unwrap();
    }
}
