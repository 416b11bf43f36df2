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
            .or_else(|| self.take_announced_viewer())
    }

    /// The same, without viewers.
    pub(crate) fn take_announced_player(&mut self) -> Option<ConnId> {
        self.first_with_bytes(|sessions| sessions.announced.players.pop_front())
    }

    /// The same, viewers only.
    pub(crate) fn take_announced_viewer(&mut self) -> Option<ConnId> {
        self.first_with_bytes(|sessions| sessions.announced.viewers.pop_front())
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
    pub(crate) fn announce(&mut self, conn: ConnId) {
        if let Some(list) = self.list_to_announce(conn) {
            list.push_back(conn);
        }
    }

    /// The same, before all others of its kind: the shell has told it a part.
    pub(crate) fn announce_first(&mut self, conn: ConnId) {
        if let Some(list) = self.list_to_announce(conn) {
            list.push_front(conn);
        }
    }

    /// Where a session is to stand, if bytes wait for it and it stands nowhere; from now on it does.
    fn list_to_announce(&mut self, conn: ConnId) -> Option<&mut VecDeque<ConnId>> {
        let session = self.get_mut(conn)?;
        if session.is_announced || session.outbox.is_empty() {
            return None;
        }
        session.is_announced = true;
        let is_viewer = matches!(session.role, Role::TextViewer | Role::Viewer(_));
        Some(match is_viewer {
            true => &mut self.announced.viewers,
            false => &mut self.announced.players,
        })
    }
}
