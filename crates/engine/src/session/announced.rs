//! Sessions with bytes that the shell has not been told of since they came, in two queues by priority.
//!
//! Answers go first: an agent waits for its own. What viewers are sent, and what an agent is sent because of others, can wait
//! for them, and may be a great deal.

use std::collections::VecDeque;

use super::{Role, Session, Sessions};
use crate::input::ConnId;

/// Each session stands in each queue once at most.
#[derive(Debug, Default)]
pub(super) struct Announced {
    answers: VecDeque<ConnId>,
    messages: VecDeque<ConnId>,
}

/// In which queues a session stands, and to which it belongs.
#[derive(Debug, Default)]
pub(super) struct Announcement {
    among_answers: bool,
    among_messages: bool,
    /// Whether an answer has come since nothing waited.
    pub(super) owes_answer: bool,
}

impl Sessions {
    /// The next session with bytes that the shell has not been told of; those with answers first.
    pub(crate) fn take_announced(&mut self) -> Option<ConnId> {
        self.take_announced_answer()
            .or_else(|| self.take_announced_message())
    }

    /// Whether [`Self::take_announced`] may have one.
    pub(crate) fn has_announced(&self) -> bool {
        !self.announced.answers.is_empty() || !self.announced.messages.is_empty()
    }

    /// The same, those with answers only.
    pub(crate) fn take_announced_answer(&mut self) -> Option<ConnId> {
        while let Some(conn) = self.announced.answers.pop_front() {
            if let Some(session) = self.get_mut(conn) {
                session.announcement.among_answers = false;
                if !session.outbox.is_empty() {
                    return Some(conn);
                }
            }
        }
        None
    }

    /// The same, the others only.
    pub(crate) fn take_announced_message(&mut self) -> Option<ConnId> {
        while let Some(conn) = self.announced.messages.pop_front() {
            if let Some(session) = self.get_mut(conn) {
                session.announcement.among_messages = false;
                if !session.outbox.is_empty() && !session.announcement.among_answers {
                    return Some(conn);
                }
            }
        }
        None
    }

    /// Has the shell told of what waits for a session, unless it is about to be.
    pub(crate) fn announce(&mut self, conn: ConnId) {
        if let Some(queue) = self.queue_to_join(conn) {
            queue.push_back(conn);
        }
    }

    /// The same, before all others of its kind: the shell has told it a part.
    pub(crate) fn announce_first(&mut self, conn: ConnId) {
        if let Some(queue) = self.queue_to_join(conn) {
            queue.push_front(conn);
        }
    }

    /// The queue in which a session is to stand from now on, if bytes wait for it and it does not yet. One that was sent messages
    /// and is then answered joins the first one too.
    fn queue_to_join(&mut self, conn: ConnId) -> Option<&mut VecDeque<ConnId>> {
        let session = self.get_mut(conn)?;
        let has_priority = session.has_priority();
        let announcement = &mut session.announcement;
        if session.outbox.is_empty() || announcement.among_answers {
            return None;
        }
        if has_priority {
            announcement.among_answers = true;
            return Some(&mut self.announced.answers);
        }
        if announcement.among_messages {
            return None;
        }
        announcement.among_messages = true;
        Some(&mut self.announced.messages)
    }
}

impl Session {
    fn has_priority(&self) -> bool {
        let is_viewer = matches!(self.role, Role::TextViewer | Role::Viewer(_));
        self.announcement.owes_answer && !is_viewer
    }
}
