//! Sessions, lists and game agree.
//!
//! Run after each verb in builds with assertions, so that tests and simulations have it and a release pays
//! nothing. It goes through all sessions.

use std::collections::BTreeSet;

use crate::burst::Answer;
use crate::engine::Engine;
use crate::limits;
use crate::session::{Role, Session};

impl Engine {
    /// Compares every part with its neighbours.
    ///
    /// # Panics
    /// If two of them do not agree, which is an inside mistake.
    pub fn check(&self) {
        let (sessions, game) = (&self.sessions, &self.game);
        let (mut agents, mut text_viewers, mut viewers, mut welcome, mut unidentified) = (0, 0, 0, 0, 0);
        let mut seated = BTreeSet::new();
        for session in sessions.iter() {
            let conn = session.conn;
            self.check_session(session);
            unidentified += u32::from(session.role.is_unidentified());
            match &session.role {
                Role::Agent(agent) => {
                    agents += 1;
                    assert_eq!(sessions.of_agent(*agent), Some(conn), "each agent is found");
                    assert!(
                        game.world().agent(*agent).is_some(),
                        "agent {} of {conn} lives",
                        agent.0
                    );
                }
                Role::TextViewer => {
                    text_viewers += 1;
                    let viewers = &sessions.text_viewers;
                    let list = match session.flow.answer.as_ref().is_some_and(Answer::is_world) {
                        true => &viewers.joining,
                        false => &viewers.watching,
                    };
                    assert!(
                        list.contains(&conn),
                        "a text viewer is listed by whether it knows the world"
                    );
                }
                Role::Viewer(observer) => {
                    viewers += 1;
                    welcome += usize::from(observer.is_welcome());
                    assert!(sessions.viewers.contains(&conn), "each viewer is listed");
                    let log = &self.delivery.frames.log;
                    assert!(
                        !observer.reads_log() || (log.begin..=log.end).contains(&observer.position),
                        "no viewer misses changes"
                    );
                }
                Role::Ungreeted { .. } => {
                    assert!(
                        !self.course.pace.is_started(),
                        "all peers are greeted once the game is started"
                    );
                }
                Role::Seated => drop(seated.insert(conn)),
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
                    let is_done = session.outbox.is_empty();
                    assert!(is_done || !is_write_shut, "writing ends after the last byte");
                }
            }
        }
        assert_eq!(agents, sessions.agents(), "no agent is found that has no session");
        let departing = self
            .pending
            .departing
            .iter()
            .filter(|agent| game.world().agent(**agent).is_some());
        let played = match self.course.is_recorded() || game.winner().is_some() {
            true => 0,
            false => game.world().agents().len(),
        };
        let minds = self.players.minds.as_ref().map_or(0, |minds| minds.living());
        assert_eq!(
            agents + departing.count() + minds,
            played,
            "every living agent is played or about to leave"
        );
        let turns_left = sessions.text_viewers.turns_left;
        assert_eq!(
            text_viewers,
            sessions.text_viewers.len(),
            "no text viewer is listed twice"
        );
        assert!(
            turns_left == 0 || (sessions.text_viewers.is_turn_scheduled && turns_left <= text_viewers),
            "text viewers that wait for their turn get it"
        );
        assert_eq!(
            unidentified,
            sessions.unidentified.len(),
            "unidentified peers are listed"
        );
        sessions.check_text_log();
        assert_eq!(viewers, sessions.viewers.len(), "no viewer is listed twice");
        assert_eq!(
            self.delivery.watch.is_some(),
            welcome > 0,
            "ticks run exactly while a viewer watches"
        );
        if let Some(lock_step) = self.course.lock_step() {
            lock_step.check(game, self.players.minds.as_deref(), &seated);
        }
        let queued: usize = sessions.iter().map(|session| session.outbox.len()).sum();
        assert_eq!(queued, sessions.outbox_bytes, "bytes in outboxes are counted");
        let messages = sessions.iter().map(|session| session.outbox.messages_waiting());
        let messages: u64 = messages.sum();
        assert_eq!(
            messages, sessions.messages_waiting,
            "messages in outboxes are counted"
        );
        assert!(
            queued <= self.config.limits.output_bytes_max,
            "the bytes of all outboxes are bounded"
        );
        assert!(
            game.now() <= self.course.pace.game_now(),
            "the game is never ahead of its clock"
        );
    }

    fn check_session(&self, session: &Session) {
        let (flow, outbox, is_leaving) = (&session.flow, &session.outbox, session.is_leaving());
        outbox.check();
        assert!(
            outbox.len() <= session.outbox_bytes_max
                || (session.agent().is_some() && flow.is_backlogged)
                || is_leaving,
            "an outbox is bounded, that of an agent that reads nothing by time"
        );
        assert!(
            session.violations <= self.config.limits.violations_max,
            "who offends too often goes"
        );
        let pending = session.inbox.pending_bytes();
        assert!(
            pending <= trantor_protocol::limits::INBOX_BYTES_MAX,
            "a line or frame is bounded"
        );
        assert!(
            flow.unread.len() <= limits::HELD_BYTES_MAX
                && (flow.is_read <= flow.unread.is_empty() || session.role.waits_for_start()),
            "what was read and not carried out is bounded, and is there only while a peer waits"
        );
        assert!(
            flow.throttled_command.is_none() || (!flow.is_read && flow.resume.is_some()),
            "a throttled command is carried out at a known time"
        );
        assert!(
            !flow.waits_for_room() || (flow.is_backlogged && outbox.len() > limits::OUTBOX_RESUME_BYTES),
            "a throttled peer resumes at some time, or when it has read, or is closed"
        );
        assert!(
            flow.is_backlogged == flow.stall.is_some() || is_leaving,
            "a backlog has a stall check"
        );
        assert!(
            flow.is_backlogged || is_leaving || outbox.len() < limits::OUTBOX_PAUSE_BYTES,
            "a backlog is known"
        );
        assert!(
            !is_leaving || session.agent().is_none(),
            "a leaving session has no agent"
        );
    }
}
