//! Unidentified peers by address. When connections are short, the oldest of the address with most of them is evicted, so that a
//! flood of silent connections evicts its own first. When that is necessary is the engine's to decide ([`crate::engine`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use super::Session;
use crate::input::ConnId;
use crate::limits::address_group;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Unidentified {
    /// In order of arrival; looked up, never gone through.
    by_group: HashMap<IpAddr, BTreeMap<u64, ConnId>>,
    /// Groups of addresses by how many each has.
    by_count: BTreeSet<(usize, IpAddr)>,
    len: u32,
}

impl Unidentified {
    /// Adds a session that has just come.
    pub(super) fn add(&mut self, session: &Session) {
        let group = address_group(session.peer);
        let conns = self.by_group.entry(group).or_default();
        self.by_count.remove(&(conns.len(), group));
        conns.insert(session.arrival, session.conn);
        self.by_count.insert((conns.len(), group));
        self.len += 1;
    }

    /// Removes a session, if it is here.
    pub(super) fn remove(&mut self, session: &Session) {
        let group = address_group(session.peer);
        let Some(conns) = self.by_group.get_mut(&group) else {
            return;
        };
        let count = conns.len();
        if conns.remove(&session.arrival).is_none() {
            return;
        }
        self.len -= 1;
        self.by_count.remove(&(count, group));
        match conns.len() {
            0 => drop(self.by_group.remove(&group)),
            count => drop(self.by_count.insert((count, group))),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The oldest of the group with most of them.
    pub(crate) fn oldest(&self) -> Option<ConnId> {
        let (_, group) = self.by_count.last()?;
        self.oldest_of(*group)
    }

    /// The oldest of the group of an address.
    pub(crate) fn oldest_of(&self, peer: IpAddr) -> Option<ConnId> {
        let conns = self.by_group.get(&address_group(peer))?;
        conns.values().next().copied()
    }
}
