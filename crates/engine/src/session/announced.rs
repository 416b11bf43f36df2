//! Sessions with bytes that the shell has not been told of since they came.

use std::collections::VecDeque;

use super::{Role, Sessions};
use crate::input::ConnId;

/// Each session stands here once at most.
#[derive(Debug, Default)]
pub(super) struct Announced {
    players: VecDeque<ConnId>,
    /// Those who can wait for the others.
    viewers: VecDeque<ConnId>,
}

impl Sessions {
    /// The next session with bytes that the shell has not been told of, viewers last.
    pub(crate) fn take_announced(&mut self) -> Option<ConnId> {
        self.take_announced_player()
            .or_else(|| self.first_with_bytes(|sessions| sessions.announced.viewers.pop_front()))
    }

    /// The same, without viewers.
    pub(crate) fn take_announced_player(&mut self) -> Option<ConnId> {
        self.first_with_bytes(|sessions| sessions.announced.players.pop_front())
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

    /// Has the shell told of what waits for a session, unless it is about to be.
    pub(super) fn announce(&mut self, conn: ConnId) {
        let Some(session) = self.get_mut(conn) else { return };
        if !session.is_announced && !session.outbox.is_empty() {
            session.is_announced = true;
            match session.role {
                Role::TextViewer | Role::Viewer(_) => self.announced.viewers.push_back(conn),
                _ => self.announced.players.push_back(conn),
            }
        }
    }
}
