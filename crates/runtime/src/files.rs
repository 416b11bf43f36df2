//! Files that somebody names: opened without waiting, regular, bounded, and not overwritten by mistake.
//!
//! A path that a person types, or that another user may replace, can lead to a pipe, a device or a file without end. A
//! plain open of a pipe waits until somebody writes to it, and a plain read of a device never ends. Programs read such
//! files through these functions alone; what the bytes mean is for the callers to say.

use std::fs::{File, FileType, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Opens a regular file for reading, without waiting. A link is followed.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if it is anything but a regular file, with what it is; else what the system says.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Before it is opened, because opening alone has effects on some devices; and again afterwards, because another
    // file may have taken its place in between.
    check_regular(&path.metadata()?)?;
    let file = system::open_without_waiting(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens a regular file or a directory, without waiting, to lock or sync it.
///
/// # Errors
/// As [`open_regular`].
pub fn open_to_hold(path: &Path) -> io::Result<File> {
    let check = |found: Metadata| match found.is_dir() {
        true => Ok(()),
        false => check_regular(&found),
    };
    check(path.metadata()?)?;
    let file = system::open_to_hold(path)?;
    check(file.metadata()?)?;
    Ok(file)
}

/// The content of a regular file of at most `bytes_max` bytes.
///
/// # Errors
/// As [`open_regular`]; [`ErrorKind::FileTooLarge`] if it has more bytes, whatever size it claims or has when it is opened.
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_opened(open_regular(path)?, bytes_max)
}

/// As [`read_regular`], of a file that holds UTF-8.
///
/// # Errors
/// As [`read_regular`]; [`ErrorKind::InvalidData`] if it is no UTF-8.
pub fn read_regular_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, bytes_max)?)
        .map_err(|_not_text| io::Error::new(ErrorKind::InvalidData, "it is not a text in UTF-8"))
}

/// As [`read_regular`], of a file that [`open_regular`] has opened.
///
/// # Errors
/// As [`read_regular`].
pub fn read_opened(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let why = format!("it has more than the {bytes_max} bytes that are read");
        io::Error::new(ErrorKind::FileTooLarge, why)
    };
    let claimed = file.metadata()?.len();
    if claimed > bytes_max {
        return Err(too_large());
    }
    // Files of the system claim to be empty, and others grow: the bound holds for what is read.
    let mut bytes = Vec::with_capacity(usize::try_from(claimed).unwrap_or_default());
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(too_large()),
        false => Ok(bytes),
    }
}

/// Refuses to overwrite a file that is something else than what is to be written, such as a recording that is being read
/// or a token: one that is there is empty, or begins with one of `beginnings`. What is not there may be written, and so
/// may what is no regular file. `kind` names what is to be written, as in "a picture".
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if it is something else; what the system says if it cannot be read.
pub fn check_overwrite(path: &Path, kind: &str, beginnings: &[&[u8]]) -> io::Result<()> {
    match path.metadata() {
        Ok(found) if found.is_file() => {}
        _ => return Ok(()),
    }
    let longest = beginnings.iter().map(|beginning| beginning.len()).max();
    let mut begins = Vec::new();
    open_regular(path)?
        .take(longest.unwrap_or_default().max(1) as u64)
        .read_to_end(&mut begins)?;
    if begins.is_empty() || beginnings.iter().any(|beginning| begins.starts_with(beginning)) {
        return Ok(());
    }
    let why = format!("it is there and is not {kind}: it is not overwritten; remove it or name another file");
    Err(io::Error::new(ErrorKind::AlreadyExists, why))
}

/// Refuses what is no regular file.
fn check_regular(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let why = format!(
        "it is {}, and only a regular file is read",
        kind(found.file_type())
    );
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

fn kind(found: FileType) -> &'static str {
    match found.is_dir() {
        true => "a directory",
        false => system::special_kind(found),
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{File, FileType, OpenOptions};
    use std::io;
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
    use std::path::Path;

    use rustix::fs::OFlags;

    /// Reads do not wait either: some files of the system are regular by name and block as a pipe does.
    pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
    }

    pub(super) fn open_to_hold(path: &Path) -> io::Result<File> {
        open_without_waiting(path)
    }

    pub(super) fn special_kind(found: FileType) -> &'static str {
        if found.is_fifo() {
            "a pipe"
        } else if found.is_socket() {
            "a socket"
        } else if found.is_char_device() || found.is_block_device() {
            "a device"
        } else {
            "a special file"
        }
    }
}

/// Elsewhere a path leads to no pipe by accident, and what is no file is refused when it is opened.
#[cfg(not(unix))]
mod system {
    use std::fs::{File, FileType, OpenOptions};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::path::Path;

    /// Without it Windows opens no directory (`FILE_FLAG_BACKUP_SEMANTICS`).
    const OF_DIRECTORY: u32 = 0x0200_0000;

    pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    /// Only what is open for writing can be synced.
    pub(super) fn open_to_hold(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(path.is_file())
            .custom_flags(OF_DIRECTORY)
            .open(path)
    }

    pub(super) fn special_kind(_: FileType) -> &'static str {
        "a special file"
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::PathBuf;

    use super::*;

    /// A directory that is removed at the end.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("trantor-files-{name}-{}", std::process::id()));
            fs::create_dir(&path).expect("it is new");
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("it is there");
        }
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_waits() {
        let directory = Directory::new("kinds");
        let pipe = directory.0.join("pipe");
        // Nobody will ever write to it: a plain open would wait for good.
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let socket = directory.0.join("socket");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = directory.0.join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for (path, kind) in [
            (directory.0.as_path(), "a directory"),
            (&pipe, "a pipe"),
            (&link, "a pipe"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/dev/tty"), "a device"),
        ] {
            let refused = read_regular(path, 10).unwrap_err();
            assert_eq!(
                refused.kind(),
                ErrorKind::InvalidInput,
                "{}: {refused}",
                path.display()
            );
            assert_eq!(
                refused.to_string(),
                format!("it is {kind}, and only a regular file is read")
            );
        }
        let missing = read_regular(&directory.0.join("missing"), 10).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_has_a_bound_whatever_size_it_claims() {
        let directory = Directory::new("sizes");
        let path = directory.0.join("file");
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), b"0123456789");
        assert_eq!(read_regular_text(&path, 10).unwrap(), "0123456789");
        let too_large = "it has more than the 9 bytes that are read";
        assert_eq!(read_regular(&path, 9).unwrap_err().to_string(), too_large);
        // A hole of a terabyte: it is not even begun.
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let refused = read_regular(&path, 9).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        // It grew after it was opened.
        fs::write(&path, "01234").unwrap();
        let opened = open_regular(&path).unwrap();
        let mut grown = File::options().append(true).open(&path).unwrap();
        grown.write_all(b"56789").unwrap();
        assert_eq!(read_opened(opened, 9).unwrap_err().to_string(), too_large);
    }

    #[test]
    fn only_a_file_of_its_own_kind_is_overwritten() {
        let directory = Directory::new("overwrite");
        let path = directory.0.join("file");
        let check = || check_overwrite(&path, "a picture", &[b"GIF8", b"\x89PNG"]);
        assert!(check().is_ok(), "it is not there");
        for (content, may) in [
            (&b""[..], true),
            (b"GIF89a", true),
            (b"\x89PNG\r", true),
            (b"TRANTORJ", false),
            (b"G", false),
        ] {
            fs::write(&path, content).unwrap();
            assert_eq!(check().is_ok(), may, "{content:?}");
        }
        let link = directory.0.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let refused = check_overwrite(&link, "a picture", &[b"GIF8"]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert!(check_overwrite(Path::new("/dev/null"), "a picture", &[]).is_ok());
    }

    #[test]
    fn a_text_is_utf_8() {
        let directory = Directory::new("text");
        let path = directory.0.join("file");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        let refused = read_regular_text(&path, 10).unwrap_err();
        assert_eq!(refused.to_string(), "it is not a text in UTF-8");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_of_the_system_that_claims_to_be_empty_is_bounded_too() {
        let maps = Path::new("/proc/self/maps");
        assert_eq!(maps.metadata().unwrap().len(), 0);
        assert!(!read_regular(maps, 1024 * 1024).unwrap().is_empty());
        let refused = read_regular(maps, 10).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
    }
}
