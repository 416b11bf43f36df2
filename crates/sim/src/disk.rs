//! Simulated disk under the shipped recorder and autosave: writes fail, are slow or torn, a crash loses unsynced data, and
//! bits flip.
//!
//! Guarantees: synced bytes survive a crash, names survive once their directory is synced, and a rename is atomic. A random
//! part of everything else survives. Injected storage faults ignore a request of the shipped code, as if it was forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::TryLockError;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use trantor_server::store::{Entry, Files, Handle, OpenFile};
use trantor_time::RealSpan;

use crate::fault::{Fault, FaultInjector};
use crate::plan::{Plan, Storage};
use crate::rng::Rng;

/// Most unsynced bytes that a crash turns into zeros.
const ZEROED_BYTES_MAX: u32 = 600;

/// Writes that fail before a full disk has room again.
const WRITES_FAILED_WHILE_FULL: u32 = 4;

/// Longest slow write.
const SLOW_MS_MAX: u32 = 150;

/// Directories of the server.
pub(crate) const SAVES: &str = "/saves";
pub(crate) const RECORDINGS: &str = "/recordings";

/// Clones share the files.
#[derive(Clone, Debug)]
pub(crate) struct Disk(Arc<Mutex<Content>>);

#[derive(Debug)]
struct Content {
    nodes: Vec<Node>,
    rng: Rng,
    /// Rates of faults.
    storage: Storage,
    injector: FaultInjector,
    /// Writes until it has room again.
    full_for: u32,
    /// Time that the server's loop waited for writes.
    write_wait: RealSpan,
    /// A job is running; the loop does not wait for it.
    is_job: bool,
    /// Operations until the power fails; `None` if it does not.
    power: Option<u32>,
    refused: u64,
    /// All bytes appended to each piece of the journal, written or not.
    appended: BTreeMap<PathBuf, Vec<u8>>,
    /// For injected faults: bytes of the latest save, and delayed journal bytes.
    last_save: Vec<u8>,
    held: Vec<u8>,
}

/// A file or a directory.
#[derive(Debug)]
struct Node {
    is_directory: bool,
    /// The synced name, then later ones, any of which a crash may leave; `None` for none.
    names: Vec<Option<PathBuf>>,
    bytes: Vec<u8>,
    /// Length of the prefix that survives a crash.
    synced: usize,
    /// A sync has failed: later ones have no effect, as on Linux.
    has_sync_failed: bool,
    is_locked: bool,
    is_corrupt: bool,
}

impl Node {
    fn name(&self) -> Option<&Path> {
        self.names.last().and_then(Option::as_deref)
    }

    fn is_named(&self, ending: &str) -> bool {
        self.name()
            .is_some_and(|name| name.to_string_lossy().ends_with(ending))
    }
}

/// An open file.
#[derive(Debug)]
struct Opened {
    disk: Disk,
    node: usize,
    has_lock: AtomicBool,
}

impl Disk {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self(Arc::new(Mutex::new(Content {
            nodes: Vec::new(),
            rng: Rng::new(plan.seed, 5),
            storage: plan.storage,
            injector: plan.injector.clone(),
            full_for: 0,
            write_wait: RealSpan::ZERO,
            is_job: false,
            power: None,
            refused: 0,
            appended: BTreeMap::new(),
            last_save: Vec::new(),
            held: Vec::new(),
        })))
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().expect("no thread panics with it")
    }

    /// From now on writes and syncs succeed without delay.
    pub(crate) fn stop_faults(&self) {
        let mut content = self.content();
        content.storage = Storage {
            refuse_one_in: 0,
            full_one_in: 0,
            slow_one_in: 0,
            unsynced_one_in: 0,
            ..content.storage
        };
        content.full_for = 0;
    }

    /// Time that the loop waited for writes since the last call.
    pub(crate) fn take_write_wait(&self) -> RealSpan {
        std::mem::replace(&mut self.content().write_wait, RealSpan::ZERO)
    }

    /// Failed writes.
    pub(crate) fn refused(&self) -> u64 {
        self.content().refused
    }

    /// Runs a job; operations after the first `power` fail.
    pub(crate) fn job<T>(&self, power: Option<u32>, work: impl FnOnce() -> T) -> T {
        self.content().is_job = true;
        self.content().power = power;
        let done = work();
        self.content().is_job = false;
        done
    }

    /// Flips a synced bit in some files; returns their number.
    pub(crate) fn flip_bits(&self) -> u64 {
        let mut content = self.content();
        let Content {
            nodes, rng, storage, ..
        } = &mut *content;
        let mut count = 0;
        for node in nodes.iter_mut().filter(|node| node.synced > 0) {
            if rng.one_in(storage.corrupt_one_in) {
                let at = rng.below(node.synced as u32) as usize;
                node.bytes[at] ^= 1 << rng.below(8);
                node.is_corrupt = true;
                count += 1;
            }
        }
        count
    }

    /// Whether a bit was flipped in this file or below this directory.
    pub(crate) fn is_corrupt_below(&self, path: &Path) -> bool {
        let content = self.content();
        let mut rotten = content.nodes.iter().filter(|node| node.is_corrupt);
        rotten.any(|node| node.name().is_some_and(|name| name.starts_with(path)))
    }

    /// Files of a directory with this name ending, and their lengths.
    pub(crate) fn lengths(&self, directory: &Path, ending: &str) -> Vec<(PathBuf, usize)> {
        let content = self.content();
        let files = content.nodes.iter().filter(|node| node.is_named(ending));
        let named = files.filter_map(|node| Some((node.name()?.to_owned(), node.bytes.len())));
        named
            .filter(|(name, _)| name.parent() == Some(directory))
            .collect()
    }

    /// A file whose synced part is shorter than this length.
    pub(crate) fn unsynced(&self, lengths: &[(PathBuf, usize)]) -> Option<PathBuf> {
        let content = self.content();
        let is_short = |(name, length): &&(PathBuf, usize)| {
            content
                .find(name)
                .is_some_and(|node| content.nodes[node].synced < *length)
        };
        lengths.iter().find(is_short).map(|(name, _)| name.clone())
    }

    /// Removes a directory and its content, as an operator might.
    pub(crate) fn remove_all(&self, directory: &Path) {
        for node in &mut self.content().nodes {
            if node.name().is_some_and(|name| name.starts_with(directory)) {
                node.names = vec![None];
            }
        }
    }

    /// Replaces the content of `to` by that of `from`, synced.
    pub(crate) fn put_back(&self, from: &Path, to: &Path) {
        let mut content = self.content();
        if let (Some(from), Some(to)) = (content.find(from), content.find(to)) {
            let bytes = content.nodes[from].bytes.clone();
            let is_corrupt = content.nodes[from].is_corrupt;
            let node = &mut content.nodes[to];
            (node.synced, node.bytes, node.is_corrupt) = (bytes.len(), bytes, is_corrupt);
        }
    }

    /// All bytes appended to a piece, given by its plain or packed name.
    pub(crate) fn appended(&self, piece: &Path) -> Option<Vec<u8>> {
        let plain = piece.to_string_lossy();
        let plain = plain.strip_suffix(".zst").unwrap_or(&plain);
        self.content().appended.get(Path::new(plain)).cloned()
    }

    /// Power failure and restart.
    pub(crate) fn crash(&self) {
        let mut content = self.content();
        let Content { nodes, rng, .. } = &mut *content;
        let mut left: BTreeMap<PathBuf, Node> = BTreeMap::new();
        for mut node in std::mem::take(nodes) {
            let place = rng.below(node.names.len() as u32) as usize;
            let Some(name) = node.names.swap_remove(place) else {
                continue;
            };
            let unsynced = node.bytes.len() - node.synced;
            let kept = rng.below(unsynced as u32 + 1) as usize;
            node.bytes.truncate(node.synced + kept);
            if rng.one_in(3) {
                // The length was written, and the data was not.
                let zeroed = (rng.below(ZEROED_BYTES_MAX) as usize).min(kept);
                let from = node.bytes.len() - zeroed;
                node.bytes[from..].fill(0);
            }
            node.synced = node.bytes.len();
            (node.is_locked, node.has_sync_failed) = (false, false);
            node.names = vec![Some(name.clone())];
            left.insert(name, node);
        }
        let directories = left.iter().filter(|(_, node)| node.is_directory);
        let mut directories: BTreeSet<_> = directories.map(|(name, _)| name.clone()).collect();
        directories.insert("/".into());
        left.retain(|name, _| name.parent().is_some_and(|parent| directories.contains(parent)));
        *nodes = left.into_values().collect();
        content.power = None;
        content.held.clear();
    }
}

impl Content {
    fn operate(&mut self) -> io::Result<()> {
        match &mut self.power {
            Some(0) => Err(io::Error::other("the power has failed")),
            Some(more) => {
                *more -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn find(&self, path: &Path) -> Option<usize> {
        self.nodes.iter().rposition(|node| node.name() == Some(path))
    }

    fn found(&mut self, path: &Path) -> io::Result<usize> {
        self.operate()?;
        self.find(path).ok_or(ErrorKind::NotFound.into())
    }

    fn make(&mut self, path: &Path, is_directory: bool) -> io::Result<usize> {
        self.operate()?;
        let parent = path.parent().unwrap_or(Path::new("/"));
        if parent != Path::new("/") && self.find(parent).is_none() {
            return Err(ErrorKind::NotFound.into());
        }
        if self.find(path).is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if is_directory {
            self.appended.retain(|piece, _| !piece.starts_with(path));
        }
        self.nodes.push(Node {
            is_directory,
            names: vec![None, Some(path.to_owned())],
            bytes: Vec::new(),
            synced: 0,
            has_sync_failed: false,
            is_locked: false,
            is_corrupt: false,
        });
        Ok(self.nodes.len() - 1)
    }

    fn append(&mut self, node: usize, bytes: &[u8]) -> io::Result<()> {
        self.operate()?;
        let bytes = self.tampered(node, bytes);
        if self.rng.one_in(self.storage.slow_one_in) && !self.is_job {
            self.write_wait += self.rng.millis(1, SLOW_MS_MAX);
        }
        if self.rng.one_in(self.storage.full_one_in) {
            self.full_for = WRITES_FAILED_WHILE_FULL;
        }
        let is_full = self.full_for > 0;
        self.full_for -= u32::from(is_full);
        let is_refused = is_full || self.rng.one_in(self.storage.refuse_one_in);
        let written = match is_refused {
            true => self.rng.below(bytes.len() as u32 + 1) as usize,
            false => bytes.len(),
        };
        self.nodes[node].bytes.extend(&bytes[..written]);
        self.refused += u64::from(is_refused);
        match is_refused && !self.injector.is(Fault::IgnoredWriteError) {
            true => Err(ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    /// The bytes to append after an injected fault.
    fn tampered(&mut self, node: usize, bytes: &[u8]) -> Vec<u8> {
        if self.nodes[node].is_named(".trs.aside") {
            let last = std::mem::replace(&mut self.last_save, bytes.to_vec());
            return match self.injector.is(Fault::StaleSave) && !last.is_empty() {
                true => last,
                false => bytes.to_vec(),
            };
        }
        if !self.nodes[node].is_named(".trj") {
            return bytes.to_vec();
        }
        if let Some(name) = self.nodes[node].name() {
            self.appended.entry(name.to_owned()).or_default().extend(bytes);
        }
        let mut bytes = bytes.to_vec();
        bytes.append(&mut self.held);
        if self.injector.injects_from_then_on(Fault::TruncatedJournal) {
            bytes.clear();
        } else if self.injector.injects(Fault::JournalOutOfOrder) {
            self.held = std::mem::take(&mut bytes);
        }
        bytes
    }

    fn sync(&mut self, node: usize) -> io::Result<()> {
        self.operate()?;
        if self.is_sync_left_out(node) {
            return Ok(());
        }
        if self.rng.one_in(self.storage.unsynced_one_in) {
            self.nodes[node].has_sync_failed = true;
            return Err(io::Error::other("input/output error"));
        }
        let synced = &mut self.nodes[node];
        if !synced.has_sync_failed {
            synced.synced = synced.bytes.len();
        }
        if let (true, Some(directory)) = (synced.is_directory, synced.name().map(Path::to_owned)) {
            let is_in = |name: &Option<PathBuf>| name.as_deref().and_then(Path::parent) == Some(&*directory);
            for node in self.nodes.iter_mut().filter(|node| node.names.iter().any(is_in)) {
                node.names.drain(..node.names.len() - 1);
            }
        }
        Ok(())
    }

    fn is_sync_left_out(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        let is_newest = || {
            self.nodes
                .iter()
                .all(|other| !other.is_named(".trj") || other.name() <= node.name())
        };
        self.injector.is(Fault::UnsyncedSave) && node.is_named(".trs.aside")
            || self.injector.is(Fault::UnsyncedPack) && node.is_named(".zst.aside")
            || self.injector.is(Fault::UnsyncedSaveName) && node.is_named(SAVES)
            || self.injector.is(Fault::UnsyncedRunName) && node.is_named(RECORDINGS)
            || self.injector.is(Fault::UnsyncedEarlierPieces) && node.is_named(".trj") && !is_newest()
    }
}

impl Files for Disk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.content().make(path, true).map(|_| ())
    }

    fn create_directories(&self, path: &Path) -> io::Result<()> {
        match self.create_directory(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => {
                // The directories of saves and recordings survive every crash.
                let mut content = self.content();
                if let Some(node) = content.find(path) {
                    content.nodes[node].names.drain(..1);
                }
                made
            }
        }
    }

    fn create(&self, path: &Path) -> io::Result<OpenFile> {
        let node = self.content().make(path, false)?;
        Ok(self.opened(node))
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let node = self.content().found(path)?;
        Ok(self.opened(node))
    }

    fn read(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        let mut content = self.content();
        let node = content.found(path)?;
        Ok(Box::new(io::Cursor::new(content.nodes[node].bytes.clone())))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let mut content = self.content();
        content.found(directory)?;
        let is_in = |(_, node): &(usize, &Node)| node.name().and_then(Path::parent) == Some(directory);
        let nodes = content.nodes.iter().enumerate().filter(is_in);
        let mut entries: Vec<_> = nodes
            .map(|(place, node)| Entry {
                path: node.name().map(Path::to_owned).unwrap_or_default(),
                is_file: !node.is_directory,
                bytes: node.bytes.len() as u64,
                modified: SystemTime::UNIX_EPOCH + Duration::from_secs(place as u64),
            })
            .collect();
        if content.injector.is(Fault::OlderSave) && directory == Path::new(SAVES) && entries.len() > 1 {
            entries.sort_by(|one, other| one.path.cmp(&other.path));
            entries.pop();
        }
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut content = self.content();
        let node = content.found(from)?;
        if let Some(replaced) = content.find(to) {
            content.nodes[replaced].names.push(None);
        }
        content.nodes[node].names.push(Some(to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut content = self.content();
        let node = content.found(path)?;
        content.nodes[node].names.push(None);
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut content = self.content();
        let node = content.found(path)?;
        let mut names = content.nodes.iter().filter_map(Node::name);
        if names.any(|name| name.parent() == Some(path)) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        content.nodes[node].names.push(None);
        Ok(())
    }

    fn free_beside(&self, _: &Path, _: &Path) -> Option<u64> {
        let mut content = self.content();
        let is_full = content.full_for > 0;
        content.full_for -= u32::from(is_full);
        Some(if is_full { 0 } else { u64::MAX })
    }
}

impl Disk {
    fn opened(&self, node: usize) -> OpenFile {
        Arc::new(Opened {
            disk: self.clone(),
            node,
            has_lock: AtomicBool::new(false),
        })
    }
}

impl Handle for Opened {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.disk.content().append(self.node, bytes)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut content = self.disk.content();
        content.operate()?;
        if !content.injector.is(Fault::TornRecord) {
            let node = &mut content.nodes[self.node];
            node.bytes.truncate(length as usize);
            node.synced = node.synced.min(node.bytes.len());
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.content().sync(self.node)
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        let node = &mut self.disk.content().nodes[self.node];
        if node.is_locked {
            return Err(TryLockError::WouldBlock);
        }
        node.is_locked = true;
        self.has_lock.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn is_at(&self, path: &Path) -> bool {
        let content = self.disk.content();
        content.injector.is(Fault::IgnoredRemoval) || content.nodes[self.node].name() == Some(path)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.has_lock.load(Ordering::Relaxed) {
            self.disk.content().nodes[self.node].is_locked = false;
        }
    }
}
