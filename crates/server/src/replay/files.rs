//! Pieces of a journal as files: which there are, and their bytes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use trantor_game::journal::MAGIC;
use trantor_runtime::files::open_regular;
use trantor_runtime::threads;

use crate::archive::{COMPRESSED, JOURNAL, packed};

/// The most bytes of one piece that are read. The recorder ends a piece long before; a whole game of `sim --record` is one
/// piece, however long it is.
const PIECE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The most bytes that a packed piece may unpack to. The recorder's have less even in the largest world, and a small
/// file that claims to hold much more is hostile.
const UNPACKED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What a packed file begins with.
const PACKED_MAGIC: [u8; 4] = zstd::zstd_safe::MAGICNUMBER.to_le_bytes();

/// The files that `paths` stand for, in the order given, those of a directory by their numbers.
///
/// Directories are looked through with what is in them: `--record` makes one for each run. Where a piece lies both
/// packed and not, a crash came between packing it and removing the other: the packed one is whole, and is taken.
pub fn pieces_in(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        collect(path, &mut files).map_err(named)?;
        if files.len() == before {
            let why = format!("{}: no piece of a journal is here", path.display());
            return Err(io::Error::new(ErrorKind::NotFound, why));
        }
    }
    Ok(files)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut here = Vec::new();
    for entry in fs::read_dir(directory)? {
        here.push(entry?.path());
    }
    here.sort_by_cached_key(|path| by_number(path));
    for path in &here {
        // A link could lead back here, and two of them to an endless walk.
        if path.is_dir() && !path.is_symlink() {
            collect(path, files)?;
            continue;
        }
        let name = path.to_string_lossy();
        let is_packed = name.ends_with(COMPRESSED);
        let is_plain = name.ends_with(JOURNAL) && !here.contains(&packed(path));
        if is_packed || is_plain {
            files.push(path.clone());
        }
    }
    Ok(())
}

/// What runs and pieces are sorted by: their numbers may have a digit more than those before.
fn by_number(path: &Path) -> (String, u64, PathBuf) {
    let name = path
        .file_name()
        .map_or_else(Default::default, |name| name.to_string_lossy());
    let is_digit = |letter: char| letter.is_ascii_digit();
    let (word, rest) = name.split_at(name.find(is_digit).unwrap_or(name.len()));
    let digits = rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len());
    let number = rest[..digits].parse().unwrap_or(u64::MAX);
    (word.to_owned(), number, path.to_owned())
}

/// The bytes of the piece in a file, unpacked. Of a file that holds no journal they are the first few.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_from(open(path)?)
}

/// As [`read`], of a file that was opened.
pub fn read_from(opened: impl Read) -> io::Result<Vec<u8>> {
    let mut file = BufReader::new(opened);
    // Its name does not count: people pack and unpack files, and call them as they like.
    let is_packed = file.fill_buf()?.starts_with(&PACKED_MAGIC);
    let (mut source, bytes_max): (Box<dyn Read + '_>, u64) = match is_packed {
        true => (
            Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
            UNPACKED_BYTES_MAX,
        ),
        false => (Box::new(file), PIECE_BYTES_MAX),
    };
    let mut bytes = Vec::new();
    source.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
    if bytes != MAGIC {
        // Opening them reports it; no gigabyte is read of a file that is no journal.
        return Ok(bytes);
    }
    let rest_max = bytes_max + 1 - MAGIC.len() as u64;
    source.take(rest_max).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let why = format!("unpacked, this has more than the {bytes_max} bytes that are read");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Opens a piece, or the packed one if it was packed since the directory was looked through.
fn open(path: &Path) -> io::Result<File> {
    match open_regular(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && path.to_string_lossy().ends_with(JOURNAL) => {
            open_regular(&packed(path)).map_err(|_neither| error)
        }
        opened => opened,
    }
}

/// Does `work` with each file, with a progress bar on a terminal; the results are in the order of the files.
pub(crate) fn for_each_file<T: Send + 'static>(
    files: &[PathBuf],
    work: impl Fn(&Path) -> T + Send + Sync + 'static,
) -> io::Result<Vec<T>> {
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(files.len().max(1)));
    let files: Arc<[PathBuf]> = files.into();
    let next = Arc::new(AtomicUsize::new(0));
    let results: Arc<Mutex<Vec<Option<T>>>> = Arc::new(Mutex::new(files.iter().map(|_| None).collect()));
    let bar = progress_bar(Some(files.len() as u64), "{bar:40} {pos}/{len} files, {eta} left");
    let work = Arc::new(work);
    let mut running = Vec::new();
    for worker in 0..workers {
        let (files, next, results) = (Arc::clone(&files), Arc::clone(&next), Arc::clone(&results));
        let (work, bar) = (Arc::clone(&work), bar.clone());
        running.push(threads::spawn(&format!("journal {worker}"), move || {
            while let Some(place) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < files.len())
            {
                let result = work(&files[place]);
                results.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(result);
                bar.inc(1);
            }
        })?);
    }
    for thread in running {
        thread.join().map_err(io::Error::other)?;
    }
    bar.finish_and_clear();
    let results = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
    let results = results.into_iter();
    Ok(results
        .map(|result| result.expect("every file was taken by a thread that ended well"))
        .collect())
}

/// A progress line on standard error, if that is a terminal.
pub(crate) fn progress_bar(length: Option<u64>, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.with_style(ProgressStyle::with_template(template).expect("the template is well formed"))
}
