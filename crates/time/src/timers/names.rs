//! The names of timers: who bears them, and what is counted under them.
//!
//! A name outlives its timers so that its counters can still be read; but names may come from scripts, so only
//! so many unused ones are kept, and those beyond are forgotten at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use slab::Slab;

use crate::slots::TimerId;
use crate::stats::WorkStats;

/// Unused names that are kept for their counters: more than any dashboard shows.
const UNUSED_NAMES_MAX: usize = 256;

/// Where a name is kept, as long as it is in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameIndex(usize);

#[derive(Debug, Default)]
pub(super) struct Names {
    by_name: BTreeMap<Arc<str>, usize>,
    entries: Slab<Entry>,
    unused: usize,
}

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    /// Timers of this name, runs that are out, and walks through its timers.
    uses: usize,
    /// The first timer of this name.
    first: Option<TimerId>,
    stats: WorkStats,
}

impl Names {
    /// Finds `name`, adding it if it is new, and uses it once more.
    pub(super) fn enter(&mut self, name: &str) -> NameIndex {
        let index = self.find(name).unwrap_or_else(|| self.add(name));
        self.retain(index);
        index
    }

    pub(super) fn find(&self, name: &str) -> Option<NameIndex> {
        self.by_name.get(name).copied().map(NameIndex)
    }

    pub(super) fn name(&self, index: NameIndex) -> Arc<str> {
        self.entries[index.0].name.clone()
    }

    pub(super) fn first(&mut self, index: NameIndex) -> &mut Option<TimerId> {
        &mut self.entries[index.0].first
    }

    pub(super) fn stats(&mut self, index: NameIndex) -> &mut WorkStats {
        &mut self.entries[index.0].stats
    }

    /// Uses the name once more; it stays until as many times released.
    pub(super) fn retain(&mut self, index: NameIndex) {
        let entry = &mut self.entries[index.0];
        self.unused -= usize::from(entry.uses == 0);
        entry.uses += 1;
    }

    /// Uses the name once less. The last use may end it.
    pub(super) fn release(&mut self, index: NameIndex) {
        let entry = &mut self.entries[index.0];
        entry.uses -= 1;
        if entry.uses > 0 {
            return;
        }
        self.unused += 1;
        if self.unused > UNUSED_NAMES_MAX {
            let entry = self.entries.remove(index.0);
            self.by_name.remove(&entry.name);
            self.unused -= 1;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &WorkStats)> {
        self.by_name
            .iter()
            .map(|(name, &index)| (&**name, &self.entries[index].stats))
    }

    pub(super) fn reset_maxima(&mut self) {
        self.entries
            .iter_mut()
            .for_each(|(_, entry)| entry.stats.reset_maxima());
    }

    fn add(&mut self, name: &str) -> NameIndex {
        let name: Arc<str> = name.into();
        let entry = Entry {
            name: name.clone(),
            uses: 0,
            first: None,
            stats: WorkStats::default(),
        };
        let index = self.entries.insert(entry);
        self.by_name.insert(name, index);
        self.unused += 1;
        NameIndex(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_name_is_kept_and_so_many_unused_ones() {
        let mut names = Names::default();
        let used = names.enter("used");
        for number in 0..10 * UNUSED_NAMES_MAX {
            let index = names.enter(&format!("script {number}"));
            names.stats(index).executed = 1;
            names.release(index);
        }
        assert_eq!(names.iter().count(), UNUSED_NAMES_MAX + 1);
        assert_eq!(&*names.name(used), "used");
        let again = names.enter("script 0");
        assert_eq!(names.stats(again).executed, 1, "its counters were kept");
        names.release(again);
        names.release(used);
        assert_eq!(names.iter().count(), UNUSED_NAMES_MAX);
    }
}
