//! A disk on which writing fails, is slow or is torn, of which a crash takes what was not forced to it, and on which
//! bits change.
//!
//! It promises what disks promise: bytes that were synced stay, names that were synced stay, and a file is renamed
//! or not. Of everything else a crash leaves as much as chance wants.

use std::collections::BTreeMap;

use trantor_time::RealSpan;

use crate::plan::Storage;
use crate::rng::Rng;

/// The most bytes at the end of what was not synced that a crash turns into zeros.
const ZEROED_BYTES_MAX: u32 = 600;

/// Writes that a full disk refuses before there is room again.
const REFUSED_WHILE_FULL: u32 = 4;

/// The longest that a slow write takes.
const SLOW_MS_MAX: u32 = 150;

/// Files, by their names.
#[derive(Debug)]
pub(crate) struct Disk {
    files: BTreeMap<String, Content>,
    rng: Rng,
    /// What goes wrong, and how often; see [`Storage`].
    storage: Storage,
    /// So many more writes find it full.
    full_for: u32,
    /// How long writes have taken since somebody asked.
    took: RealSpan,
}

#[derive(Debug)]
struct Content {
    bytes: Vec<u8>,
    /// Bytes from the beginning that stay.
    synced: usize,
    listed: Listed,
}

/// What of a name stays.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Listed {
    /// A crash may take the file.
    No,
    /// A crash may give it this name back.
    As(String),
    /// It stays.
    Yes,
}

/// The disk is full, or says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl Disk {
    pub(crate) fn new(storage: Storage, rng: Rng) -> Self {
        Self {
            files: BTreeMap::new(),
            rng,
            storage,
            full_for: 0,
            took: RealSpan::ZERO,
        }
    }

    /// From now on it takes everything, at once.
    pub(crate) fn calm(&mut self) {
        self.storage.refuse_one_in = 0;
        self.storage.full_one_in = 0;
        self.storage.slow_one_in = 0;
        self.full_for = 0;
    }

    /// How long writes have taken since this was asked last.
    pub(crate) fn take_time(&mut self) -> RealSpan {
        std::mem::replace(&mut self.took, RealSpan::ZERO)
    }

    /// Writes behind what is there; refused, it may have written a part.
    pub(crate) fn append(&mut self, name: &str, bytes: &[u8]) -> Result<(), Refused> {
        if self.rng.one_in(self.storage.slow_one_in) {
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
        let file = self.files.entry(name.to_owned()).or_insert(Content {
            bytes: Vec::new(),
            synced: 0,
            listed: Listed::No,
        });
        file.bytes.extend(&bytes[..written]);
        match is_refused {
            true => Err(Refused),
            false => Ok(()),
        }
    }

    /// Takes back what was written behind the first `length` bytes.
    pub(crate) fn truncate(&mut self, name: &str, length: usize) {
        if let Some(file) = self.files.get_mut(name) {
            file.bytes.truncate(length);
            file.synced = file.synced.min(length);
        }
    }

    /// Forces the bytes of a file to the disk, not its name.
    pub(crate) fn sync(&mut self, name: &str) {
        if let Some(file) = self.files.get_mut(name) {
            file.synced = file.bytes.len();
        }
    }

    /// Forces the names of all files to the disk.
    pub(crate) fn sync_names(&mut self) {
        for file in self.files.values_mut() {
            file.listed = Listed::Yes;
        }
    }

    /// Gives a file another name, which no file has.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(mut file) = self.files.remove(from) {
            file.listed = Listed::As(from.to_owned());
            self.files.insert(to.to_owned(), file);
        }
    }

    /// Puts the bytes of one file in the place of those of another, to stay.
    pub(crate) fn put_back(&mut self, from: &str, to: &str) {
        if let Some(bytes) = self.files.get(from).map(|file| file.bytes.clone()) {
            let synced = bytes.len();
            let listed = Listed::Yes;
            self.files.insert(
                to.to_owned(),
                Content {
                    bytes,
                    synced,
                    listed,
                },
            );
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.files.remove(name);
    }

    pub(crate) fn read(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(|file| &file.bytes[..])
    }

    /// Bytes of a file that a crash leaves; `None` if it may leave no such file.
    pub(crate) fn lasting_bytes(&self, name: &str) -> Option<usize> {
        let file = self.files.get(name)?;
        (file.listed == Listed::Yes).then_some(file.synced)
    }

    /// The files whose names end so, in order.
    pub(crate) fn names(&self, ending: &str) -> Vec<String> {
        let names = self.files.keys().filter(|name| name.ends_with(ending));
        names.cloned().collect()
    }

    /// A bit of what was synced is another now, in some files; answers which.
    pub(crate) fn rot(&mut self) -> Vec<String> {
        let mut rotten = Vec::new();
        for (name, file) in &mut self.files {
            if file.synced > 0 && self.rng.one_in(self.storage.rot_one_in) {
                let at = self.rng.below(file.synced as u32) as usize;
                file.bytes[at] ^= 1 << self.rng.below(8);
                rotten.push(name.clone());
            }
        }
        rotten
    }

    /// The machine loses its power.
    pub(crate) fn crash(&mut self) {
        for (name, mut file) in std::mem::take(&mut self.files) {
            let name = match std::mem::replace(&mut file.listed, Listed::Yes) {
                Listed::No if self.rng.one_in(2) => continue,
                Listed::As(before) if self.rng.one_in(2) => before,
                _ => name,
            };
            let unsynced = file.bytes.len() - file.synced;
            let left = self.rng.below(unsynced as u32 + 1) as usize;
            file.bytes.truncate(file.synced + left);
            if self.rng.one_in(3) {
                // The file was made longer, and what belongs there was not written.
                let zeroed = (self.rng.below(ZEROED_BYTES_MAX) as usize).min(left);
                let from = file.bytes.len() - zeroed;
                file.bytes[from..].fill(0);
            }
            file.synced = file.bytes.len();
            self.files.insert(name, file);
        }
    }
}
