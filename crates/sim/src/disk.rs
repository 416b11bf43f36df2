//! The disk under the shipped recorder and autosave: writes fail, are slow or torn, a crash takes what was not synced,
//! and bits change.
//!
//! It promises what disks promise: synced bytes stay, names stay once their directory is synced, and a file is renamed
//! or not. Of everything else a crash leaves as much as is drawn. Planted faults of storage are here: what the shipped
//! code asks for is left out, as if it had not asked.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use trantor_server::store::{Entry, Files, Handle, OpenFile};
use trantor_time::RealSpan;

use crate::fault::{Fault, Sabotage};
use crate::plan::Storage;
use crate::rng::Rng;

/// The most bytes at the end of what was not synced that a crash turns into zeros.
const ZEROED_BYTES_MAX: u32 = 600;

/// Writes that a full disk refuses before there is room again.
const REFUSED_WHILE_FULL: u32 = 4;

/// The longest that a slow write takes.
const SLOW_MS_MAX: u32 = 150;

/// The directory of saves, and that of recordings.
pub(crate) const SAVES: &str = "/saves";
pub(crate) const RECORDINGS: &str = "/recordings";

/// All files; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Disk(Arc<Mutex<Content>>);

#[derive(Debug)]
struct Content {
    nodes: Vec<Node>,
    rng: Rng,
    /// What goes wrong, and how often; see [`Storage`].
    storage: Storage,
    sabotage: Sabotage,
    /// So many more writes find it full.
    full_for: u32,
    /// How long the loop has waited for writes.
    took: RealSpan,
    /// Whether a job is writing, for which the loop does not wait.
    is_job: bool,
    /// Operations until the power fails.
    power: Option<u32>,
    refused: u64,
    /// Everything that was appended to pieces of the journal, whatever became of it.
    appended: BTreeMap<PathBuf, Vec<u8>>,
    /// The bytes of the latest save, and journal bytes held back, for sabotage.
    last_save: Vec<u8>,
    held: Vec<u8>,
}

/// A file or a directory.
#[derive(Debug)]
struct Node {
    is_directory: bool,
    /// The name that a crash leaves, and those that it was given since; `None` while it has none.
    names: Vec<Option<PathBuf>>,
    bytes: Vec<u8>,
    /// Bytes from the beginning that stay.
    synced: usize,
    /// A sync has failed: later ones do nothing.
    is_lost: bool,
    is_locked: bool,
    is_rotten: bool,
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
    pub(crate) fn new(storage: Storage, sabotage: Sabotage, rng: Rng) -> Self {
        Self(Arc::new(Mutex::new(Content {
            nodes: Vec::new(),
            rng,
            storage,
            sabotage,
            full_for: 0,
            took: RealSpan::ZERO,
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

    /// From now on it takes everything, at once.
    pub(crate) fn calm(&self) {
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

    /// How long the loop has waited for writes since the last call.
    pub(crate) fn take_time(&self) -> RealSpan {
        std::mem::replace(&mut self.content().took, RealSpan::ZERO)
    }

    /// Writes refused so far.
    pub(crate) fn refused(&self) -> u64 {
        self.content().refused
    }

    /// Does what a job does, after which the power fails if it does so within `power` operations.
    pub(crate) fn job<T>(&self, power: Option<u32>, work: impl FnOnce() -> T) -> T {
        self.content().is_job = true;
        self.content().power = power;
        let done = work();
        self.content().is_job = false;
        done
    }

    /// Changes a bit of what was synced, in some files. Answers how many.
    pub(crate) fn rot(&self) -> u64 {
        let mut content = self.content();
        let Content {
            nodes, rng, storage, ..
        } = &mut *content;
        let mut count = 0;
        for node in nodes.iter_mut().filter(|node| node.synced > 0) {
            if rng.one_in(storage.rot_one_in) {
                let at = rng.below(node.synced as u32) as usize;
                node.bytes[at] ^= 1 << rng.below(8);
                node.is_rotten = true;
                count += 1;
            }
        }
        count
    }

    /// Whether a bit has changed in a file, or in one below a directory.
    pub(crate) fn has_rot(&self, path: &Path) -> bool {
        let content = self.content();
        let mut rotten = content.nodes.iter().filter(|node| node.is_rotten);
        rotten.any(|node| node.name().is_some_and(|name| name.starts_with(path)))
    }

    /// The lengths of the files in a directory whose names end so.
    pub(crate) fn lengths(&self, directory: &Path, ending: &str) -> Vec<(PathBuf, usize)> {
        let content = self.content();
        let files = content.nodes.iter().filter(|node| node.is_named(ending));
        let named = files.filter_map(|node| Some((node.name()?.to_owned(), node.bytes.len())));
        named
            .filter(|(name, _)| name.parent() == Some(directory))
            .collect()
    }

    /// One of these files that has less on the disk, if there is one.
    pub(crate) fn unsynced(&self, lengths: &[(PathBuf, usize)]) -> Option<PathBuf> {
        let content = self.content();
        let is_short = |(name, length): &&(PathBuf, usize)| {
            content
                .find(name)
                .is_some_and(|node| content.nodes[node].synced < *length)
        };
        lengths.iter().find(is_short).map(|(name, _)| name.clone())
    }

    /// Removes a directory with all that is in it, as an operator might.
    pub(crate) fn remove_all(&self, directory: &Path) {
        for node in &mut self.content().nodes {
            if node.name().is_some_and(|name| name.starts_with(directory)) {
                node.names = vec![None];
            }
        }
    }

    /// Puts a copy of one file in the place of another, to stay.
    pub(crate) fn put_back(&self, from: &Path, to: &Path) {
        let mut content = self.content();
        if let (Some(from), Some(to)) = (content.find(from), content.find(to)) {
            let bytes = content.nodes[from].bytes.clone();
            let is_rotten = content.nodes[from].is_rotten;
            let node = &mut content.nodes[to];
            (node.synced, node.bytes, node.is_rotten) = (bytes.len(), bytes, is_rotten);
        }
    }

    /// All that was appended to the piece that has this name, packed or not.
    pub(crate) fn appended(&self, piece: &Path) -> Option<Vec<u8>> {
        let plain = piece.to_string_lossy();
        let plain = plain.strip_suffix(".zst").unwrap_or(&plain);
        self.content().appended.get(Path::new(plain)).cloned()
    }

    /// The power fails, and comes back.
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
                // The file was made longer, and what belongs there was not written.
                let zeroed = (rng.below(ZEROED_BYTES_MAX) as usize).min(kept);
                let from = node.bytes.len() - zeroed;
                node.bytes[from..].fill(0);
            }
            node.synced = node.bytes.len();
            (node.is_locked, node.is_lost) = (false, false);
            node.names = vec![Some(name.clone())];
            left.insert(name, node);
        }
        let directories: Vec<_> = left.iter().filter(|(_, node)| node.is_directory).collect();
        let directories: Vec<PathBuf> = directories.into_iter().map(|(name, _)| name.clone()).collect();
        left.retain(|name, _| {
            name.parent()
                .is_none_or(|parent| parent == Path::new("/") || directories.iter().any(|it| it == parent))
        });
        *nodes = left.into_values().collect();
        content.power = None;
        content.held.clear();
    }
}

impl Content {
    /// Counts an operation.
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
            is_lost: false,
            is_locked: false,
            is_rotten: false,
        });
        Ok(self.nodes.len() - 1)
    }

    fn append(&mut self, node: usize, bytes: &[u8]) -> io::Result<()> {
        self.operate()?;
        let bytes = self.tampered(node, bytes);
        if self.rng.one_in(self.storage.slow_one_in) && !self.is_job {
            let millis = self.rng.between(1, SLOW_MS_MAX);
            self.took += RealSpan::from_millis(i64::from(millis));
        }
        if self.rng.one_in(self.storage.full_one_in) {
            self.full_for = REFUSED_WHILE_FULL;
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
        match is_refused && !self.sabotage.is(Fault::UnnoticedRefusal) {
            true => Err(ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    /// The bytes that a planted fault appends in place of `bytes`.
    fn tampered(&mut self, node: usize, bytes: &[u8]) -> Vec<u8> {
        if self.nodes[node].is_named(".trs.aside") {
            let last = std::mem::replace(&mut self.last_save, bytes.to_vec());
            return match self.sabotage.is(Fault::StaleSave) && !last.is_empty() {
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
        if self.sabotage.is(Fault::ShortJournal)
            && (self.sabotage.has_struck() || self.sabotage.strikes(Fault::ShortJournal))
        {
            bytes.clear();
        } else if self.sabotage.strikes(Fault::JournalOutOfOrder) {
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
            self.nodes[node].is_lost = true;
            return Err(io::Error::other("input/output error"));
        }
        let synced = &mut self.nodes[node];
        if !synced.is_lost {
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
        self.sabotage.is(Fault::HastySave) && node.is_named(".trs.aside")
            || self.sabotage.is(Fault::HastyPack) && node.is_named(".zst.aside")
            || self.sabotage.is(Fault::UnlistedSave) && node.is_named(SAVES)
            || self.sabotage.is(Fault::UnlistedRun) && node.is_named(RECORDINGS)
            || self.sabotage.is(Fault::OneSyncedPiece) && node.is_named(".trj") && !is_newest()
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
                // The directories of saves and recordings were there long before.
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
        if content.sabotage.is(Fault::OlderSave) && directory == Path::new(SAVES) && entries.len() > 1 {
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
        if !content.sabotage.is(Fault::TornRun) {
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
        content.sabotage.is(Fault::UnnoticedRemoval) || content.nodes[self.node].name() == Some(path)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.has_lock.load(Ordering::Relaxed) {
            self.disk.content().nodes[self.node].is_locked = false;
        }
    }
}
