//! Sessions, lists and game agree.
//!
//! Run after each verb in builds with assertions, so that tests and simulations have it and a release pays
//! nothing. It goes through all sessions.

use std::collections::BTreeSet;

use trantor_model::AgentId;

use crate::engine::Engine;
use crate::limits;
use crate::session::{Answer, Feed, Role, Session};

impl Engine {
    /// Compares every part with its neighbours.
    ///
    /// # Panics
    /// If two of them do not agree, which is an inside mistake.
    pub fn check(&self) {
        let mut agents = 0;
        let mut seated = BTreeSet::new();
        let mut text_viewers = 0;
        let mut viewers = 0;
        let mut welcome_viewers = 0;
        let mut unidentified = 0;
        for session in self.sessions.iter() {
            self.check_session(session);
            unidentified += u32::from(session.role.is_unidentified());
            match &session.role {
                Role::Agent(agent) => {
                    agents += 1;
                    assert_eq!(
                        self.sessions.of_agent(*agent),
                        Some(session.conn),
                        "each agent is found"
                    );
                    assert!(
                        self.game.world().agent(*agent).is_some(),
                        "agent {} of {:?} lives",
                        agent.0,
                        session.conn
                    );
                }
                Role::TextViewer => {
                    text_viewers += 1;
                    let (viewers, conn) = (&self.sessions.text_viewers, &session.conn);
                    let is_coming = session.flow.answer.as_ref().is_some_and(Answer::is_world);
                    assert!(
                        match is_coming {
                            true => viewers.joining.contains(conn),
                            false => viewers.watching.contains(conn),
                        },
                        "each text viewer is listed, by whether it knows the world"
                    );
                }
                Role::Viewer(observer) => {
                    viewers += 1;
                    welcome_viewers += usize::from(observer.is_welcome());
                    assert!(
                        self.sessions.viewers.contains(&session.conn),
                        "each viewer is listed"
                    );
                    assert!(
                        observer.updates_from <= self.frame_updates.len(),
                        "the index of the first update is in range"
                    );
                    if let Feed::Snapshot {
                        updates: Some(updates),
                        ..
                    } = &observer.feed
                    {
                        assert!(
                            updates.len() <= limits::VIEWER_UPDATES_BYTES_MAX,
                            "updates kept behind a snapshot are bounded"
                        );
                    }
                }
                Role::Ungreeted(held) => {
                    assert!(
                        !self.pace.is_started(),
                        "all peers are greeted once the game is started"
                    );
                    assert!(
                        held.said.len() <= limits::HELD_BYTES_MAX,
                        "what is held is bounded"
                    );
                }
                Role::Seated(said) => {
                    seated.insert(session.conn);
                    assert!(said.len() <= limits::HELD_BYTES_MAX, "what is kept is bounded");
                }
                Role::Greeted { failures } => {
                    assert!(
                        *failures < limits::GREETING_FAILURES_MAX,
                        "who fails too often goes"
                    );
                    assert!(session.limit.is_some(), "a greeting has a limit");
                }
                Role::Operator => {}
                Role::Leaving { is_write_shut, .. } => {
                    assert!(session.limit.is_some(), "leaving has a limit");
                    assert!(
                        !is_write_shut || session.outbox.is_empty(),
                        "writing ends after the last byte"
                    );
                }
            }
        }
        assert_eq!(
            agents,
            self.sessions.agents(),
            "no agent is found that has no session"
        );
        let living = |agent: &&AgentId| self.game.world().agent(**agent).is_some();
        let departing = self.departing.iter().filter(living).count();
        assert_eq!(
            agents + departing,
            match self.playback.is_some() || self.game.winner().is_some() {
                true => 0,
                false => self.game.world().agents().len(),
            },
            "every living agent is played or about to leave, and none in a recording or after the end"
        );
        assert_eq!(
            text_viewers,
            self.sessions.text_viewers.len(),
            "no text viewer is listed twice"
        );
        assert_eq!(
            unidentified,
            self.sessions.unidentified.len(),
            "peers that have not said what they are are listed"
        );
        self.sessions.check_text_log();
        assert_eq!(viewers, self.sessions.viewers.len(), "no viewer is listed twice");
        assert_eq!(
            self.watch.is_some(),
            welcome_viewers > 0,
            "ticks run exactly while a viewer watches"
        );
        if let Some(lock_step) = &self.lock_step {
            lock_step.check(&self.game, &seated);
        }
        let queued: usize = self.sessions.iter().map(|session| session.outbox.len()).sum();
        assert_eq!(
            queued, self.sessions.outbox_bytes,
            "bytes in outboxes are counted"
        );
        assert!(
            queued <= self.config.limits.output_bytes_max,
            "the bytes of all outboxes are bounded"
        );
        assert!(
            self.sessions.text_viewers.turns_left == 0
                || (self.are_text_updates_due && self.sessions.text_viewers.turns_left <= text_viewers),
            "text viewers that wait for their turn get it"
        );
        assert!(
            self.game.now() <= self.pace.game_now(),
            "the game is never ahead of its clock"
        );
    }

    fn check_session(&self, session: &Session) {
        session.outbox.check();
        assert!(
            session.outbox.len() <= session.outbox_bytes_max
                || (session.agent().is_some() && session.flow.is_backlogged)
                || session.is_leaving(),
            "an outbox is bounded, that of an agent that reads nothing by time"
        );
        assert!(
            session.violations <= self.config.limits.violations_max,
            "who offends too often goes"
        );
        assert!(
            session.inbox.pending_bytes() <= trantor_protocol::limits::INBOX_BYTES_MAX,
            "what is kept of a line or frame is bounded"
        );
        let flow = &session.flow;
        assert!(
            flow.unread.len() <= limits::HELD_BYTES_MAX && (flow.is_read <= flow.unread.is_empty()),
            "what was read and not carried out is bounded, and is there only while a peer is throttled"
        );
        assert!(
            flow.throttled_command.is_none() || (!flow.is_read && flow.resume.is_some()),
            "a throttled command is carried out at a known time"
        );
        assert!(
            !flow.waits_for_room()
                || (flow.is_backlogged && session.outbox.len() > limits::OUTBOX_RESUME_BYTES),
            "a throttled peer resumes at some time, or when it has read, or is closed"
        );
        assert!(
            flow.is_backlogged == flow.stall.is_some() || session.is_leaving(),
            "a backlog has a stall check"
        );
        assert!(
            flow.is_backlogged || session.is_leaving() || session.outbox.len() < limits::OUTBOX_PAUSE_BYTES,
            "a backlog is known"
        );
        assert!(
            !session.is_leaving() || session.agent().is_none(),
            "a leaving session has no agent"
        );
    }
}
