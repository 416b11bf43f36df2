//! All sessions: found by connection or by agent, listed by what they watch, and which of them need a write.
//!
//! The lists are in the order in which their members came, so that everything told to several is told in an
//! order that a replay repeats.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;

use trantor_model::AgentId;
use trantor_time::{RealSpan, RealTime};

use super::delay::{Delay, To};
use super::{Observer, OutboxFull, Role, Session, TokenShown};
use crate::input::ConnId;
use crate::limits;
use crate::output::CloseReason;

/// The session store (R-003-53).
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// By the connection's place in the shell's table, which keeps places low.
    slots: Vec<Option<Session>>,
    open: usize,
    /// Looked up, never gone through.
    by_agent: HashMap<AgentId, ConnId>,
    text_viewers: Vec<ConnId>,
    viewers: Vec<ConnId>,
    /// Sessions with bytes that the shell has not been told of; each stands here once at most.
    announced: VecDeque<ConnId>,
    /// The viewers among them, who can wait for the others.
    announced_viewers: VecDeque<ConnId>,
    /// Text viewers that have news and were not announced for them: so many in their list from `next_late` on, and
    /// round its end.
    late: usize,
    next_late: usize,
    /// Agents that have nothing to do and could do something.
    owing: usize,
    /// Bytes that wait in all outboxes together.
    owed_bytes: usize,
    /// Sessions to which more is owed than a peer that reads leaves waiting; each stands here once at most.
    filling: Vec<ConnId>,
    /// Connections by address; looked up, never gone through.
    by_address: HashMap<IpAddr, u32>,
    /// To be let go before the engine returns; each stands here once at most.
    doomed: VecDeque<(ConnId, CloseReason)>,
    /// What viewers are told later.
    delay: Delay,
    /// The text viewers that are, as long as they are the same.
    delayed_text_viewers: Option<Rc<[ConnId]>>,
    /// The latest instant that was handed in: when what is queued now is queued.
    now: RealTime,
    /// What was meant for sessions that are gone.
    undeliverable: u64,
}

impl Sessions {
    /// Adds a session.
    ///
    /// # Panics
    /// If its place is taken: the shell hands out free places only.
    pub(crate) fn insert(&mut self, session: Session) {
        *self.by_address.entry(session.peer).or_default() += 1;
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
        let session = self.slots[conn.slot as usize].take()?;
        self.open -= 1;
        self.owed_bytes -= session.outbox.len();
        self.owing -= usize::from(session.owes_command);
        self.unlist(&session.role, conn);
        if session.held_bytes > 0 {
            self.delay.forget(conn);
        }
        if let Some(count) = self.by_address.get_mut(&session.peer) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&session.peer);
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

    /// The state of a viewer of ours, unless it is gone or something else.
    pub(crate) fn observer(&self, conn: ConnId) -> Option<&Observer> {
        self.get(conn)?.observer()
    }

    /// The same, to be changed.
    pub(crate) fn observer_mut(&mut self, conn: ConnId) -> Option<&mut Observer> {
        self.get_mut(conn)?.observer_mut()
    }

    /// The connection of an agent.
    pub(crate) fn of_agent(&self, agent: AgentId) -> Option<ConnId> {
        self.by_agent.get(&agent).copied()
    }

    /// Notes whether an agent has nothing to do and could do something.
    pub(crate) fn set_owing(&mut self, conn: ConnId, owes_command: bool) {
        if let Some(session) = self.get_mut(conn) {
            let before = std::mem::replace(&mut session.owes_command, owes_command);
            self.owing += usize::from(owes_command);
            self.owing -= usize::from(before);
        }
    }

    /// Agents that have nothing to do and could do something.
    pub(crate) fn owing(&self) -> usize {
        self.owing
    }

    /// Gives a session another role, and puts it on the lists of that one.
    pub(crate) fn set_role(&mut self, conn: ConnId, role: Role) {
        let Some(session) = self.get_mut(conn) else { return };
        let previous = std::mem::replace(&mut session.role, role);
        let owed = std::mem::take(&mut session.owes_command);
        self.owing -= usize::from(owed);
        self.unlist(&previous, conn);
        // It may have had news that it was not announced for.
        self.announce(conn);
        match &self.slots[conn.slot as usize]
            .as_ref()
            .expect("it was there just now")
            .role
        {
            Role::Agent(agent) => {
                let agent = *agent;
                self.by_agent.insert(agent, conn);
            }
            Role::TextViewer => {
                self.text_viewers.push(conn);
                self.delayed_text_viewers = None;
            }
            Role::Viewer(_) => self.viewers.push(conn),
            Role::Held(_) | Role::Greeted { .. } | Role::Operator | Role::Leaving { .. } => {}
        }
    }

    /// Takes note of the time.
    pub(crate) fn set_now(&mut self, now: RealTime) {
        self.now = self.now.max(now);
    }

    /// The latest instant that was handed in.
    pub(crate) fn now(&self) -> RealTime {
        self.now
    }

    /// Messages that were meant for sessions that are gone, or on their way out without another word
    /// (R-003-46).
    pub(crate) fn undeliverable(&self) -> u64 {
        self.undeliverable
    }

    /// Adds to what a session is owed: now, or later if it is told of the past. One that has no room left is doomed.
    pub(crate) fn push(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        let now = self.now;
        let slot = self.slots.get_mut(conn.slot as usize).and_then(Option::as_mut);
        match slot.filter(|session| session.conn == conn && !session.is_doomed) {
            Some(session) if session.delay > RealSpan::ZERO => {
                let mut what = Vec::new();
                write(&mut what);
                let (delay, held) = (session.delay, &mut session.held_bytes);
                if self.delay.hold(now, delay, conn, held, what).is_err() {
                    self.doom(conn, CloseReason::OutboxFull);
                }
            }
            _ => self.push_at_once(conn, write),
        }
    }

    /// Adds to what a session is owed now, whatever it is otherwise told later.
    pub(crate) fn push_at_once(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        self.push_quietly(conn, write);
        self.announce(conn);
    }

    /// The same, without telling the shell.
    fn push_quietly(&mut self, conn: ConnId, write: impl FnOnce(&mut Vec<u8>)) {
        let now = self.now;
        let Some(session) = self.get_mut(conn).filter(|session| !session.is_doomed) else {
            self.undeliverable += 1;
            return;
        };
        let before = session.outbox.len();
        match session.outbox.push(now, session.outbox_bytes_max, write) {
            Ok(()) => {
                let added = session.outbox.len() - before;
                if session.outbox.len() >= limits::OUTBOX_PAUSE_BYTES && !session.flow.is_filling {
                    session.flow.is_filling = true;
                    self.filling.push(conn);
                }
                self.owed_bytes += added;
            }
            Err(OutboxFull) => self.doom(conn, CloseReason::OutboxFull),
        }
    }

    /// Notes that the first `count` bytes of what a session is owed were written; answers how long the oldest of them
    /// had waited, and nothing if there is no such session.
    ///
    /// # Panics
    /// If that is more than there were.
    pub(crate) fn sent(&mut self, conn: ConnId, count: usize) -> Option<RealSpan> {
        let now = self.now;
        let waited = self.get_mut(conn)?.outbox.sent(now, count);
        self.owed_bytes -= count;
        Some(waited)
    }

    /// Bytes that wait in all outboxes together.
    pub(crate) fn owed_bytes(&self) -> usize {
        self.owed_bytes
    }

    /// The session to which most is owed, of those that are not on their way out.
    pub(crate) fn most_owed(&self) -> Option<ConnId> {
        let staying = self.iter().filter(|session| !session.is_doomed);
        staying
            .max_by_key(|session| session.outbox.len())
            .map(|session| session.conn)
    }

    /// Adds the same bytes to what each text viewer is owed: they were encoded once for all of them.
    ///
    /// A few are announced at once. Many are by and by, see [`Self::announce_late`]: a write for each of them and for
    /// each event would be most of a server's work.
    pub(crate) fn push_to_text_viewers(&mut self, bytes: &[u8]) {
        let mut delay = RealSpan::ZERO;
        let are_few = self.text_viewers.len() <= limits::TEXT_VIEWERS_AT_ONCE_MAX;
        for index in 0..self.text_viewers.len() {
            let conn = self.text_viewers[index];
            match self.get(conn).map_or(RealSpan::ZERO, |session| session.delay) {
                RealSpan::ZERO => self.push_quietly(conn, |outbox| outbox.extend_from_slice(bytes)),
                its => delay = delay.max(its),
            }
            if are_few {
                self.announce(conn);
            }
        }
        if !are_few {
            self.late = self.text_viewers.len();
        }
        if delay > RealSpan::ZERO {
            self.hold_for_text_viewers(delay, bytes);
        }
    }

    /// Keeps something for all text viewers that are told later.
    fn hold_for_text_viewers(&mut self, delay: RealSpan, bytes: &[u8]) {
        let to = self.delayed_text_viewers.take().unwrap_or_else(|| {
            let is_delayed = |conn: &&ConnId| {
                self.get(**conn)
                    .is_some_and(|session| session.delay > RealSpan::ZERO)
            };
            self.text_viewers.iter().filter(is_delayed).copied().collect()
        });
        if self.delay.hold_for_several(self.now, delay, &to, bytes).is_err() {
            log::warn!("too much happens for the spectators' delay: they are let go");
            self.delay.clear();
            for conn in to.iter() {
                self.doom(*conn, CloseReason::OutboxFull);
            }
        }
        self.delayed_text_viewers = Some(to);
    }

    /// Tells viewers what they are to know by now.
    pub(crate) fn release(&mut self, now: RealTime) {
        while let Some((to, what)) = self.delay.take_due(now) {
            match to {
                To::One(conn) => {
                    if let Some(session) = self.get_mut(conn) {
                        session.held_bytes -= what.len();
                    }
                    self.tell_past(conn, &what);
                    self.announce(conn);
                }
                To::Several(conns) => {
                    conns.iter().for_each(|conn| self.tell_past(*conn, &what));
                    if conns.len() <= limits::TEXT_VIEWERS_AT_ONCE_MAX {
                        conns.iter().for_each(|conn| self.announce(*conn));
                    } else {
                        self.late = self.text_viewers.len();
                    }
                }
            }
        }
    }

    /// When [`Self::release`] has something to do.
    pub(crate) fn next_release(&self) -> Option<RealTime> {
        self.delay.next_deadline()
    }

    /// Text viewers that have news and were not announced for them.
    pub(crate) fn late(&self) -> usize {
        self.late
    }

    /// Announces the next `count` of the text viewers that were not.
    pub(crate) fn announce_late(&mut self, count: usize) {
        let count = count.min(self.late);
        self.late -= count;
        for _ in 0..count {
            if self.next_late >= self.text_viewers.len() {
                self.next_late = 0;
            }
            if let Some(&conn) = self.text_viewers.get(self.next_late) {
                self.announce(conn);
            }
            self.next_late += 1;
        }
    }

    fn tell_past(&mut self, conn: ConnId, what: &[u8]) {
        if self.get(conn).is_some_and(|session| !session.is_going()) {
            self.push_quietly(conn, |outbox| outbox.extend_from_slice(what));
        }
    }

    /// Notes that a session is to be let go at once.
    pub(crate) fn doom(&mut self, conn: ConnId, reason: CloseReason) {
        if let Some(session) = self.get_mut(conn)
            && !session.is_doomed
        {
            session.is_doomed = true;
            self.doomed.push_back((conn, reason));
        }
    }

    /// The next session to which too much is owed for a peer that reads.
    pub(crate) fn take_filling(&mut self) -> Option<ConnId> {
        self.filling.pop()
    }

    /// Connections from an address.
    pub(crate) fn count_at(&self, peer: IpAddr) -> u32 {
        self.by_address.get(&peer).copied().unwrap_or(0)
    }

    /// The next session to be let go.
    pub(crate) fn take_doomed(&mut self) -> Option<(ConnId, CloseReason)> {
        self.doomed.pop_front()
    }

    /// The next session with bytes that the shell has not been told of, viewers last.
    pub(crate) fn take_announced(&mut self) -> Option<ConnId> {
        self.take_announced_player()
            .or_else(|| self.first_with_bytes(|sessions| sessions.announced_viewers.pop_front()))
    }

    /// The same, without viewers.
    pub(crate) fn take_announced_player(&mut self) -> Option<ConnId> {
        self.first_with_bytes(|sessions| sessions.announced.pop_front())
    }

    fn first_with_bytes(&mut self, mut next: impl FnMut(&mut Self) -> Option<ConnId>) -> Option<ConnId> {
        while let Some(conn) = next(self) {
            if let Some(session) = self.get_mut(conn) {
                session.is_announced = false;
                if !session.outbox.is_empty() {
                    return Some(conn);
                }
            }
        }
        None
    }

    /// Text viewers in the order they came.
    pub(crate) fn text_viewers(&self) -> &[ConnId] {
        &self.text_viewers
    }

    /// Viewers of ours in the order they came, those who have not said hello included.
    pub(crate) fn viewers(&self) -> &[ConnId] {
        &self.viewers
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

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.open
    }

    /// How many of them play.
    pub(crate) fn agents(&self) -> usize {
        self.by_agent.len()
    }

    fn announce(&mut self, conn: ConnId) {
        let Some(session) = self.get_mut(conn) else { return };
        if !session.is_announced && !session.outbox.is_empty() {
            session.is_announced = true;
            match session.role {
                Role::TextViewer | Role::Viewer(_) => self.announced_viewers.push_back(conn),
                _ => self.announced.push_back(conn),
            }
        }
    }

    fn unlist(&mut self, role: &Role, conn: ConnId) {
        match role {
            Role::Agent(agent) => drop(self.by_agent.remove(agent)),
            Role::TextViewer => {
                self.text_viewers.retain(|viewer| *viewer != conn);
                self.delayed_text_viewers = None;
                // Places in the list have moved: everybody is gone round to once more.
                self.late = if self.late > 0 { self.text_viewers.len() } else { 0 };
            }
            Role::Viewer(_) => self.viewers.retain(|viewer| *viewer != conn),
            Role::Held(_) | Role::Greeted { .. } | Role::Operator | Role::Leaving { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::limits::Limits;

    fn conn(slot: u32, generation: u32) -> ConnId {
        ConnId { slot, generation }
    }

    fn session(conn: ConnId) -> Session {
        let limits = Limits::default();
        Session::new(conn, IpAddr::V4(Ipv4Addr::LOCALHOST), RealTime::ZERO, &limits, 1)
    }

    fn sessions(slots: u32) -> Sessions {
        let mut sessions = Sessions::default();
        for slot in 0..slots {
            sessions.insert(session(conn(slot, 0)));
        }
        sessions
    }

    #[test]
    fn r_000_11_a_late_word_about_a_connection_that_is_gone_reaches_nobody() {
        let mut sessions = sessions(2);
        assert!(sessions.remove(conn(1, 0)).is_some());
        sessions.insert(session(conn(1, 1)));
        assert!(sessions.get(conn(1, 0)).is_none());
        assert!(sessions.remove(conn(1, 0)).is_none());
        sessions.push(conn(1, 0), |outbox| outbox.push(b'x'));
        assert_eq!(sessions.take_announced(), None);
        assert!(sessions.get(conn(1, 1)).is_some());
        assert_eq!(sessions.len(), 2);
    }

    #[test]
    fn lists_follow_the_roles() {
        let mut sessions = sessions(3);
        sessions.set_role(conn(2, 0), Role::TextViewer);
        sessions.set_role(conn(0, 0), Role::TextViewer);
        sessions.set_role(conn(1, 0), Role::Agent(AgentId(7)));
        assert_eq!(
            sessions.text_viewers(),
            [conn(2, 0), conn(0, 0)],
            "in the order they came"
        );
        assert_eq!(sessions.of_agent(AgentId(7)), Some(conn(1, 0)));
        sessions.remove(conn(2, 0));
        let leaving = Role::Leaving {
            reason: CloseReason::Died,
            is_write_shut: false,
        };
        sessions.set_role(conn(1, 0), leaving);
        assert_eq!(sessions.text_viewers(), [conn(0, 0)]);
        assert_eq!(sessions.of_agent(AgentId(7)), None);
        assert_eq!((sessions.len(), sessions.agents()), (2, 0));
    }

    #[test]
    fn each_session_is_announced_once_and_only_while_bytes_wait() {
        let mut sessions = sessions(2);
        for slot in [1, 0, 1, 1] {
            sessions.push(conn(slot, 0), |outbox| outbox.push(b'x'));
        }
        assert_eq!(sessions.take_announced(), Some(conn(1, 0)));
        sessions.push(conn(1, 0), |outbox| outbox.push(b'x'));
        sessions.sent(conn(0, 0), 1);
        assert_eq!(
            sessions.take_announced(),
            Some(conn(1, 0)),
            "what was written meanwhile is not announced"
        );
        assert_eq!(sessions.take_announced(), None);
    }

    #[test]
    fn r_002_57_a_session_without_room_is_doomed_once() {
        let mut sessions = sessions(1);
        sessions.get_mut(conn(0, 0)).unwrap().outbox_bytes_max = 3;
        for _ in 0..5 {
            sessions.push(conn(0, 0), |outbox| outbox.extend_from_slice(b"ok"));
        }
        assert_eq!(
            sessions.take_doomed(),
            Some((conn(0, 0), CloseReason::OutboxFull))
        );
        assert_eq!(sessions.take_doomed(), None);
        assert!(sessions.get(conn(0, 0)).unwrap().is_going());
    }
}
