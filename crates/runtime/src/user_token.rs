//! The token of a server that programs of the same user operate: a file that they alone can read.
//!
//! A server creates it at its start, named by its address, and holds a lock on it for as long as it runs: a file without
//! a lock is of a server that was killed. It is skipped, and the next server that starts removes it. Which peers show a
//! token, and what they may do with it, is not known here.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use system::{create_new, directories, fill_random, make_directory, open};

use crate::files::{open_regular, open_to_hold, read_opened};

/// Random bytes of a token: 2^128 of them cannot be tried.
const TOKEN_RANDOM_BYTES: usize = 16;

/// Longest file that is read: a token in hexadecimal digits has 32 bytes.
const FILE_BYTES_MAX: u64 = 1024;

/// The end of a file's name.
const EXTENSION: &str = ".token";

/// Files looked at in one start: removing so many takes some tens of milliseconds, and the next start continues.
const FILES_SWEPT_MAX: usize = 1024;

/// A token that no other server has, in a file for programs of this user. The file goes with this.
#[derive(Debug)]
pub struct UserToken {
    token: String,
    path: PathBuf,
    /// Locked.
    _file: File,
}

impl UserToken {
    /// Creates a token for the server that listens on `address`, and replaces that of a former one.
    ///
    /// # Errors
    /// If there is no directory that only this user can read, or no randomness.
    pub fn create(address: SocketAddr) -> io::Result<Self> {
        Self::create_in(&make_directory()?, address)
    }

    fn create_in(directory: &Path, address: SocketAddr) -> io::Result<Self> {
        let token = random_hex()?;
        // Between its creation and its lock a file looks like that of a killed server: one start at a time. Others hold
        // this lock for as long as a sweep takes.
        let directory_lock = open_to_hold(directory)?;
        directory_lock.lock()?;
        sweep(directory);
        let path = directory.join(file_name(address));
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = create_new(&path)?;
        // A reader holds it for a moment only.
        file.lock()?;
        writeln!(file, "{token}")?;
        Ok(Self {
            token,
            path,
            _file: file,
        })
    }

    /// The token: one word.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UserToken {
    fn drop(&mut self) {
        // The next server on that address may have replaced it.
        if open_regular(&self.path).is_ok_and(|file| text_in(file).is_some_and(|text| text == self.token)) {
            // A file that stays has lost its lock, and is skipped.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The token of the server at the other end of a connection, if it runs on this machine and left one for this user;
/// `local` and `peer` are the ends.
///
/// It is not looked for where the other end is another machine, which a server here may share its port with.
pub fn user_token(local: SocketAddr, peer: SocketAddr) -> Option<String> {
    directories().find_map(|directory| user_token_in(&directory, local, peer))
}

fn user_token_in(directory: &Path, local: SocketAddr, peer: SocketAddr) -> Option<String> {
    names_of(local, peer)
        .iter()
        .find_map(|name| read(&directory.join(name)))
}

/// What a server's file may be called that was reached so: by that address, or by all addresses.
fn names_of(local: SocketAddr, peer: SocketAddr) -> Vec<String> {
    let ip = peer.ip().to_canonical();
    if !ip.is_loopback() && local.ip().to_canonical() != ip {
        return Vec::new();
    }
    let mut hosts = vec![ip];
    if ip.is_ipv4() {
        hosts.push(Ipv4Addr::UNSPECIFIED.into());
    }
    hosts.push(IpAddr::from(Ipv6Addr::UNSPECIFIED));
    let port = peer.port();
    hosts
        .into_iter()
        .map(|host| file_name(SocketAddr::new(host, port)))
        .collect()
}

fn file_name(address: SocketAddr) -> String {
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    format!("{address}{EXTENSION}")
}

/// Removes files of servers that were killed. One that cannot be removed stays, and is skipped by readers.
///
/// The directory is to be locked: otherwise the file of a server that is just starting could go.
fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    let is_token = |name: &str| {
        name.strip_suffix(EXTENSION)
            .is_some_and(|name| name.parse::<SocketAddr>().is_ok())
    };
    let tokens = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_token));
    for path in tokens.take(FILES_SWEPT_MAX).map(|entry| entry.path()) {
        // Shared, as readers lock it: to them an exclusive lock means that its server runs.
        if open(&path).is_ok_and(|file| file.try_lock_shared().is_ok()) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The token in a file that is this user's alone, if the server that wrote it runs.
fn read(path: &Path) -> Option<String> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            log::warn!("{}: no token is read: {error}", path.display());
            return None;
        }
    };
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    text_in(file).filter(|token| !token.is_empty())
}

/// What is written in a token's file.
fn text_in(file: File) -> Option<String> {
    let text = String::from_utf8(read_opened(file, FILE_BYTES_MAX).ok()?).ok()?;
    Some(text.trim_end().to_owned())
}

fn random_hex() -> io::Result<String> {
    let mut bytes = [0; TOKEN_RANDOM_BYTES];
    fill_random(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Files and directories that this user alone can read, and randomness: what is different from system to system.
#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io::{self, Read as _};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
    use std::path::{Path, PathBuf};

    use crate::files::open_regular;

    /// Where tokens are: those directories that are this user's alone.
    pub(super) fn directories() -> impl Iterator<Item = PathBuf> {
        candidates().filter(|path| check_directory(path).is_ok())
    }

    /// Where tokens may be: the user's runtime directory, one in the temporary directory, which every user can make
    /// first, and one that nobody else can make.
    fn candidates() -> impl Iterator<Item = PathBuf> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let user = rustix::process::geteuid().as_raw();
        [
            runtime.map(|path| path.join("trantor")),
            Some(std::env::temp_dir().join(format!("trantor-{user}"))),
            std::env::home_dir().map(|path| path.join(".trantor")),
        ]
        .into_iter()
        .flatten()
        .filter(|path| path.is_absolute())
    }

    /// The directory that a new token goes into, made if it is not there.
    pub(super) fn make_directory() -> io::Result<PathBuf> {
        make_first(candidates())
    }

    /// The first of these directories that is this user's alone, made if it is not there.
    pub(super) fn make_first(candidates: impl Iterator<Item = PathBuf>) -> io::Result<PathBuf> {
        let mut refused = Vec::new();
        for path in candidates {
            match make(&path) {
                Ok(()) => return Ok(path),
                Err(error) => refused.push(format!("{}: {error}", path.display())),
            }
        }
        Err(io::Error::new(io::ErrorKind::NotFound, refused.join("; ")))
    }

    pub(super) fn make(path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => check_directory(path),
        }
    }

    fn check_directory(path: &Path) -> io::Result<()> {
        let found = path.symlink_metadata()?;
        check(found.is_dir(), &found)
    }

    fn check(is_expected: bool, found: &Metadata) -> io::Result<()> {
        let is_ours = found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0;
        match is_expected && is_ours {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it must belong to this user, and no other user may use it",
            )),
        }
    }

    /// Makes a file; nothing is followed or replaced.
    pub(super) fn create_new(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    }

    /// Opens a file that only this user can have written and can read. A link is not followed.
    pub(super) fn open(path: &Path) -> io::Result<File> {
        // Its directory is this user's alone: no other user exchanges it between the two looks.
        let found = path.symlink_metadata()?;
        check(found.is_file(), &found)?;
        open_regular(path)
    }

    pub(super) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
        File::open("/dev/urandom")?.read_exact(bytes)
    }
}

/// Elsewhere than on Unix a server has no token for its user, and clients find none.
#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};

    pub(super) fn directories() -> impl Iterator<Item = PathBuf> {
        std::iter::empty()
    }

    pub(super) fn make_directory() -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn create_new(_: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn open(_: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn fill_random(_: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address and a port")
    }

    /// A directory of this user alone, removed at the end.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("trantor-test-{name}-{}", std::process::id()));
            system::make(&path).expect("a directory of our own");
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("it is there");
        }
    }

    #[test]
    fn a_token_is_read_by_its_user_while_its_server_runs() {
        let directory = Directory::new("token");
        let (local, server) = (address("127.0.0.1:50000"), address("127.0.0.1:4242"));
        let read = |peer: SocketAddr| user_token_in(&directory.0, local, peer);
        let ours = UserToken::create_in(&directory.0, server).unwrap();
        let other = UserToken::create_in(&directory.0, address("0.0.0.0:4243")).unwrap();
        assert_eq!(read(server).as_deref(), Some(ours.token()));
        assert_eq!(read(address("127.0.0.1:4243")).as_deref(), Some(other.token()));
        assert_ne!(ours.token(), other.token());
        assert_eq!(ours.token().len(), 2 * TOKEN_RANDOM_BYTES);
        let found = fs::metadata(ours.path()).unwrap();
        assert_eq!(found.mode() & 0o777, 0o600);
        assert_eq!(found.uid(), rustix::process::geteuid().as_raw());
        assert_eq!(fs::metadata(&directory.0).unwrap().mode() & 0o777, 0o700);
        let path = ours.path().to_owned();
        drop(ours);
        assert!(!path.exists());
        assert_eq!(read(server), None);
    }

    #[test]
    fn the_file_of_a_killed_server_is_skipped_and_replaced() {
        let directory = Directory::new("killed");
        let (local, server) = (address("127.0.0.1:50000"), address("127.0.0.1:4242"));
        let path = directory.0.join("127.0.0.1:4242.token");
        create_new(&path)
            .unwrap()
            .write_all(b"0123456789abcdef\n")
            .unwrap();
        assert_eq!(
            user_token_in(&directory.0, local, server),
            None,
            "its lock is free"
        );
        let first = UserToken::create_in(&directory.0, server).unwrap();
        let second = UserToken::create_in(&directory.0, server).unwrap();
        drop(first);
        let read = user_token_in(&directory.0, local, server);
        assert_eq!(read.as_deref(), Some(second.token()), "each removes its own only");
    }

    #[test]
    fn a_start_removes_the_files_of_killed_servers_and_no_others() {
        let directory = Directory::new("sweep");
        let create = |name: &str| {
            let path = directory.0.join(name);
            create_new(&path).unwrap();
            path
        };
        let running = UserToken::create_in(&directory.0, address("127.0.0.1:4242")).unwrap();
        let killed = ["127.0.0.1:4243.token", "0.0.0.0:4242.token", "[::1]:4242.token"].map(create);
        let others = ["note.token", "127.0.0.1:4243"].map(create);
        let started = UserToken::create_in(&directory.0, address("127.0.0.1:4244")).unwrap();
        assert!([running.path(), started.path()].iter().all(|path| path.exists()));
        assert!(!killed.iter().any(|path| path.exists()));
        assert!(others.iter().all(|path| path.exists()));
    }

    #[test]
    fn servers_that_start_at_once_keep_their_files() {
        let directory = Directory::new("starts");
        let start = |port| {
            for _ in 0..32 {
                let token = UserToken::create_in(&directory.0, SocketAddr::from(([127, 0, 0, 1], port)));
                let token = token.expect("another start does not disturb it");
                assert_eq!(read(token.path()).as_deref(), Some(token.token()));
            }
        };
        std::thread::scope(|scope| {
            for port in 1..=4 {
                scope.spawn(move || start(port));
            }
        });
    }

    #[test]
    fn files_that_others_could_have_made_are_neither_read_nor_followed() {
        let directory = Directory::new("others");
        let path = directory.0.join("file");
        create_new(&path).unwrap();
        assert!(open(&path).is_ok());
        let link = directory.0.join("link");
        symlink(&path, &link).unwrap();
        assert!(open(&link).is_err());
        assert!(create_new(&link).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(open(&path).is_err(), "its group can read it");
        let shared = directory.0.join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(system::make(&shared).is_err());
        let linked = directory.0.join("linked");
        symlink(&directory.0, &linked).unwrap();
        assert!(system::make(&linked).is_err());
    }

    /// A directory that another user made first holds nobody up: the next one is used.
    #[test]
    fn a_directory_that_somebody_else_could_use_is_passed_over() {
        let directory = Directory::new("first");
        let theirs = directory.0.join("theirs");
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
        let leads_nowhere = directory.0.join("leads-nowhere");
        symlink(directory.0.join("missing"), &leads_nowhere).unwrap();
        let ours = directory.0.join("ours");
        let made = system::make_first([theirs.clone(), leads_nowhere.clone(), ours.clone()].into_iter());
        assert_eq!(made.unwrap(), ours);
        let refused = system::make_first([theirs, leads_nowhere].into_iter()).unwrap_err();
        let words = "theirs: it must belong to this user, and no other user may use it; ";
        assert!(refused.to_string().contains(words), "{refused}");
    }

    /// A server that ends, and a program that looks for its token, do not wait for a pipe.
    #[test]
    fn a_pipe_in_place_of_a_token_holds_nobody_up() {
        let directory = Directory::new("pipe");
        let (local, server) = (address("127.0.0.1:50000"), address("127.0.0.1:4242"));
        let token = UserToken::create_in(&directory.0, server).unwrap();
        fs::remove_file(token.path()).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            token.path(),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(user_token_in(&directory.0, local, server), None);
        let path = token.path().to_owned();
        drop(token);
        assert!(path.exists(), "it is not the server's");
    }

    #[test]
    fn a_server_elsewhere_is_shown_no_token_of_this_machine() {
        for (local, peer, names) in [
            (
                "127.0.0.1:9",
                "127.0.0.1:4242",
                &["127.0.0.1:4242.token", "0.0.0.0:4242.token", "[::]:4242.token"][..],
            ),
            ("[::1]:9", "[::1]:4242", &["[::1]:4242.token", "[::]:4242.token"]),
            (
                "10.0.0.7:9",
                "10.0.0.7:4242",
                &["10.0.0.7:4242.token", "0.0.0.0:4242.token", "[::]:4242.token"],
            ),
            ("10.0.0.7:9", "10.0.0.8:4242", &[]),
            ("[2001:db8::1]:9", "[2001:db8::2]:4242", &[]),
        ] {
            assert_eq!(names_of(address(local), address(peer)), names, "{local} {peer}");
        }
    }
}
