//! A queue for accepted connections that serves addresses in turn.
//!
//! The system's backlog is first in, first out: one address that connects thousands of times a second fills it for all.
//! Here each address waits behind its own connections only. The rate is [`super`]'s.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use trantor_engine::limits::address_group;

/// Items by the address they come from, for IPv6 by network.
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    /// Looked up, never gone through; none is empty.
    by_group: HashMap<IpAddr, VecDeque<T>>,
    /// Groups with items, each once, in the order in which they are served.
    turns: VecDeque<IpAddr>,
    len: usize,
    len_max: usize,
}

impl<T> FairQueue<T> {
    pub(super) fn new(len_max: usize) -> Self {
        Self {
            by_group: HashMap::new(),
            turns: VecDeque::new(),
            len: 0,
            len_max,
        }
    }

    /// Sets how many items there may be; those that are there stay.
    pub(super) fn set_len_max(&mut self, len_max: usize) {
        self.len_max = len_max;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an item. An address may have as many as there is room left for (a dynamic threshold, Choudhury and Hahne): one
    /// that floods takes half, and the next finds as much.
    ///
    /// # Errors
    /// The item, if its address has its share or there is no room.
    pub(super) fn push(&mut self, peer: IpAddr, item: T) -> Result<(), T> {
        let group = address_group(peer);
        let room = self.len_max.saturating_sub(self.len);
        let items = self.by_group.get(&group).map_or(0, VecDeque::len);
        if items >= room {
            return Err(item);
        }
        if items == 0 {
            self.turns.push_back(group);
        }
        self.by_group.entry(group).or_default().push_back(item);
        self.len += 1;
        Ok(())
    }

    /// The oldest item of the address whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        let group = self.turns.pop_front()?;
        let items = self.by_group.get_mut(&group)?;
        let item = items.pop_front()?;
        match items.is_empty() {
            true => drop(self.by_group.remove(&group)),
            false => self.turns.push_back(group),
        }
        self.len -= 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_room_for_other_addresses() {
        let mut queue = FairQueue::new(100);
        let taken = |queue: &mut FairQueue<()>, peer: &str| {
            let peer = peer.parse().unwrap();
            (0..1_000).filter(|_| queue.push(peer, ()).is_ok()).count()
        };
        assert_eq!(taken(&mut queue, "192.0.2.1"), 50);
        assert_eq!(taken(&mut queue, "2001:db8::1"), 25);
        assert_eq!(taken(&mut queue, "2001:db8::ffff:1"), 0, "it is the same network");
        assert_eq!(taken(&mut queue, "::ffff:192.0.2.1"), 0, "it is the same address");
        assert_eq!(queue.push("192.0.2.3".parse().unwrap(), ()), Ok(()));
        while queue.pop().is_some() {}
        assert!(queue.is_empty());
        assert_eq!(taken(&mut queue, "192.0.2.1"), 50);
    }
}
