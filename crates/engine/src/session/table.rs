//! All sessions: found by connection or by agent, and listed by what they are.
//!
//! What they are sent and which of them are dirty is in [`super::send`], what all text viewers are sent in
//! [`super::text_viewers`]. The lists are in the order in which their members came, so that what several are sent is sent in an
//! order that a replay repeats.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;

use trantor_model::{AgentId, MapSize};
use trantor_time::RealTime;

use super::send::{Delay, Dirty};
use super::text_viewers::TextViewers;
use super::{Observer, Role, Session, TokenShown};
use crate::limits::{self, address_group};
use crate::shell::{CloseReason, ConnId};

/// Hashes numbers that the game gives out one after the other, several times per command: no peer can choose them so that they
/// collide, so that a multiplication is enough.
#[derive(Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        /// 2⁶⁴ divided by the golden ratio, odd: consecutive numbers end up far apart in the high bits.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(FACTOR);
    }
}

/// The session store.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// By the connection's place in the shell's table, which keeps places low.
    pub(super) slots: Vec<Option<Session>>,
    open: usize,
    /// Looked up, never gone through.
    by_agent: HashMap<AgentId, ConnId, BuildHasherDefault<NumberHasher>>,
    pub(crate) text_viewers: TextViewers,
    /// Frame viewers in order of arrival, those before their hello included.
    pub(crate) viewers: Vec<ConnId>,
    pub(super) dirty: Dirty,
    /// Agents that have nothing to do and could do something.
    pub(crate) idle_agents: usize,
    /// Bytes that wait in all outboxes together.
    pub(crate) outbox_bytes: usize,
    /// Messages that wait there, and messages that were put there so far.
    pub(crate) messages_waiting: u64,
    pub(crate) messages_queued: u64,
    /// Sessions with a larger backlog than a peer that reads leaves, or with the rest of a snapshot. An agent is
    /// here once more when it exceeds its limit.
    pub(crate) backlogged: Vec<ConnId>,
    /// Connections by [`address_group`]; looked up, never gone through.
    by_address: HashMap<IpAddr, u32>,
    /// Unidentified sessions.
    pub(crate) unidentified: Unidentified,
    /// To be disconnected before the engine returns; each stands here once at most.
    pub(crate) closing: VecDeque<(ConnId, CloseReason)>,
    /// What viewers are sent later.
    pub(super) delay: Delay,
    /// The latest instant that was handed in: when what is queued now is queued.
    pub(super) now: RealTime,
    /// What was meant for sessions that are gone.
    pub(crate) undeliverable: u64,
}

impl Sessions {
    /// No sessions, in a game on a map of this size.
    pub(crate) fn new(map: MapSize) -> Self {
        Self {
            slots: Vec::new(),
            open: 0,
            by_agent: HashMap::default(),
            text_viewers: TextViewers::default(),
            viewers: Vec::new(),
            dirty: Dirty::default(),
            idle_agents: 0,
            outbox_bytes: 0,
            messages_waiting: 0,
            messages_queued: 0,
            backlogged: Vec::new(),
            by_address: HashMap::new(),
            unidentified: Unidentified::default(),
            closing: VecDeque::new(),
            delay: Delay::new(limits::delayed_bytes_max(map)),
            now: RealTime::ZERO,
            undeliverable: 0,
        }
    }

    /// Adds a session.
    ///
    /// # Panics
    /// If its place is taken: the shell hands out free places only.
    pub(crate) fn insert(&mut self, session: Session) {
        *self.by_address.entry(address_group(session.peer)).or_default() += 1;
        self.unidentified.add(&session);
        let slot = session.conn.slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        let previous = self.slots[slot].replace(session);
        assert!(
            previous.is_none(),
            "the shell hands out a place again once it is free"
        );
        self.open += 1;
    }

    /// Forgets a session; it is on no list then.
    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<Session> {
        self.get(conn)?;
        let mut session = self.slots[conn.slot as usize].take()?;
        self.open -= 1;
        self.outbox_bytes -= session.outbox.len();
        self.messages_waiting -= session.outbox.messages_waiting();
        self.idle_agents -= usize::from(session.is_idle);
        self.unlist(&session.role, conn);
        self.delay.forget(&mut session.delayed);
        self.unidentified.remove(&session);
        let group = address_group(session.peer);
        if let Some(count) = self.by_address.get_mut(&group) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&group);
            }
        }
        Some(session)
    }

    /// A session, unless it is gone.
    pub(crate) fn get(&self, conn: ConnId) -> Option<&Session> {
        let session = self.slots.get(conn.slot as usize)?.as_ref()?;
        (session.conn == conn).then_some(session)
    }

    /// A session to be changed, unless it is gone. Roles are changed by [`Self::set_role`].
    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut Session> {
        let session = self.slots.get_mut(conn.slot as usize)?.as_mut()?;
        (session.conn == conn).then_some(session)
    }

    pub(crate) fn observer(&self, conn: ConnId) -> Option<&Observer> {
        self.get(conn)?.observer()
    }

    pub(crate) fn observer_mut(&mut self, conn: ConnId) -> Option<&mut Observer> {
        self.get_mut(conn)?.observer_mut()
    }

    pub(crate) fn of_agent(&self, agent: AgentId) -> Option<ConnId> {
        self.by_agent.get(&agent).copied()
    }

    pub(crate) fn set_idle(&mut self, conn: ConnId, is_idle: bool) {
        if let Some(session) = self.get_mut(conn) {
            let before = std::mem::replace(&mut session.is_idle, is_idle);
            self.idle_agents += usize::from(is_idle);
            self.idle_agents -= usize::from(before);
        }
    }

    /// Gives a session another role, and puts it on the lists of that one.
    pub(crate) fn set_role(&mut self, conn: ConnId, role: Role) {
        // One that stops watching has what happened until then.
        self.catch_up(conn);
        let Some(session) = self.get_mut(conn) else { return };
        (session.text_position, session.is_behind_log) = (None, false);
        let previous = std::mem::replace(&mut session.role, role);
        let is_identified = !session.role.is_unidentified();
        let owed = std::mem::take(&mut session.is_idle);
        self.idle_agents -= usize::from(owed);
        self.unlist(&previous, conn);
        if is_identified && let Some(session) = &self.slots[conn.slot as usize] {
            self.unidentified.remove(session);
        }
        // It may have output for which it was not marked.
        self.mark_dirty(conn);
        match &self.slots[conn.slot as usize]
            .as_ref()
            .expect("it was there just now")
            .role
        {
            Role::Agent(agent) => {
                let agent = *agent;
                self.by_agent.insert(agent, conn);
            }
            Role::TextViewer => self.text_viewers.add(conn),
            Role::Viewer(_) => self.viewers.push(conn),
            _ => {}
        }
    }

    /// Notes that a session is to be disconnected at once.
    pub(crate) fn schedule_close(&mut self, conn: ConnId, reason: CloseReason) {
        if let Some(session) = self.get_mut(conn)
            && !session.is_closing
        {
            session.is_closing = true;
            self.closing.push_back((conn, reason));
        }
    }

    /// Connections from the group of an address.
    pub(crate) fn count_at(&self, peer: IpAddr) -> u32 {
        self.by_address.get(&address_group(peer)).copied().unwrap_or(0)
    }

    /// Takes back from all sessions what the token gave them: there is another one.
    pub(crate) fn forget_tokens(&mut self) {
        for session in self.slots.iter_mut().flatten() {
            session.token = TokenShown::Nothing;
        }
    }

    /// All sessions in the order of the shell's table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.slots.iter().flatten()
    }

    pub(crate) fn len(&self) -> usize {
        self.open
    }

    pub(crate) fn agents(&self) -> usize {
        self.by_agent.len()
    }

    fn unlist(&mut self, role: &Role, conn: ConnId) {
        match role {
            Role::Agent(agent) => drop(self.by_agent.remove(agent)),
            Role::TextViewer => self.remove_text_viewer(conn),
            Role::Viewer(_) => self.viewers.retain(|viewer| *viewer != conn),
            _ => {}
        }
    }
}

/// Unidentified peers by address. When connections are short, the oldest of the address with most of them is evicted, so that a
/// flood of silent connections evicts its own first.
#[derive(Debug, Default)]
pub(crate) struct Unidentified {
    /// In order of arrival; looked up, never gone through.
    by_group: HashMap<IpAddr, BTreeMap<u64, ConnId>>,
    /// Groups of addresses by how many each has.
    by_count: BTreeSet<(usize, IpAddr)>,
    len: u32,
}

impl Unidentified {
    pub(super) fn add(&mut self, session: &Session) {
        let group = address_group(session.peer);
        let conns = self.by_group.entry(group).or_default();
        self.by_count.remove(&(conns.len(), group));
        conns.insert(session.arrival, session.conn);
        self.by_count.insert((conns.len(), group));
        self.len += 1;
    }

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
