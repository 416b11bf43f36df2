//! Pieces of a journal as files: which there are, and their bytes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::store::{COMPRESSED, JOURNAL};

/// The most bytes of one piece that are read, unpacked. The recorder ends a piece long before, and a file that
/// claims to unpack to more is not one of its.
pub const PIECE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Why a piece could not be read from its file.
#[derive(Debug, thiserror::Error)]
pub enum PieceFileError {
    /// The system says no.
    #[error("{}: {}", path.display(), self.why())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It unpacks to more than any piece.
    #[error("{}: {}", .0.display(), self.why())]
    TooLarge(PathBuf),
    /// There is no journal in this directory.
    #[error("{}: {}", .0.display(), self.why())]
    NoPieces(PathBuf),
}

impl PieceFileError {
    /// What is wrong, without the file's name.
    pub fn why(&self) -> String {
        match self {
            Self::Io { error, .. } => error.to_string(),
            Self::TooLarge(_) => {
                format!("unpacked, this has more than the {PIECE_BYTES_MAX} bytes that are read")
            }
            Self::NoPieces(_) => "no piece of a journal lies here".to_owned(),
        }
    }

    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Io { path, error }
    }
}

/// The files that `paths` stand for, in the order given, those of a directory by name.
///
/// Directories are looked through with what is in them: `--record` makes one for each run. Where a piece lies both
/// packed and not, a crash came between packing it and removing the other: the packed one is whole, and is taken.
///
/// # Errors
/// A directory that cannot be read, or has no piece in it.
pub fn pieces_in(paths: &[PathBuf]) -> Result<Vec<PathBuf>, PieceFileError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        collect(path, &mut files)?;
        if files.len() == before {
            return Err(PieceFileError::NoPieces(path.clone()));
        }
    }
    Ok(files)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), PieceFileError> {
    let mut here = Vec::new();
    for entry in fs::read_dir(directory).map_err(PieceFileError::io(directory))? {
        here.push(entry.map_err(PieceFileError::io(directory))?.path());
    }
    here.sort();
    for path in &here {
        if path.is_dir() {
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

/// The name that a piece has once it is packed.
fn packed(plain: &Path) -> PathBuf {
    plain.with_extension(COMPRESSED.trim_start_matches('.'))
}

/// The bytes of the piece in a file, unpacked.
///
/// # Errors
/// A file that cannot be read, or unpacks to more than `PIECE_BYTES_MAX`.
pub fn read(path: &Path) -> Result<Vec<u8>, PieceFileError> {
    let file = File::open(path).map_err(PieceFileError::io(path))?;
    let is_packed = path.to_string_lossy().ends_with(COMPRESSED);
    let mut source: Box<dyn Read> = match is_packed {
        true => Box::new(zstd::stream::read::Decoder::new(file).map_err(PieceFileError::io(path))?),
        false => Box::new(file),
    };
    let mut bytes = Vec::new();
    source
        .by_ref()
        .take(PIECE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(PieceFileError::io(path))?;
    if bytes.len() as u64 > PIECE_BYTES_MAX {
        return Err(PieceFileError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}
