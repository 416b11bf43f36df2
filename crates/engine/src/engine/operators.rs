//! Control of the server: authorisation of peers, and operators' lines for the shell's console.
//!
//! What a line of the console means is the shell's to know; what it leads to comes back by
//! [`Engine::control`] and [`Engine::answer_operator`].
//!
//! Any peer may watch; [`ControlAccess`] names those that may control. Agents never may: each of their lines is a
//! command of the text protocol or `ko`.

use trantor_game::{GameInput, Handled};
use trantor_model::AdminAction;
use trantor_play::view::{Client, ClientKind};
use trantor_time::{RealSpan, RealTime};

use super::Engine;
use super::flow::requests_for;
use crate::config::{ControlAccess, Token};
use crate::limits::{self, Limits};
use crate::session::{Inbox, Role, TokenShown};
use crate::shell::{CloseReason, ConnId, OperatorLine};

pub(super) const WRONG_TOKEN: &str = "this is not the server's token";

impl Engine {
    /// The match's time is over. A game that is won already has nothing left to end.
    pub(super) fn end_match(&mut self) {
        let handled = self.apply(GameInput::Admin(AdminAction::EndMatch));
        debug_assert!(
            handled == Handled::Done || self.game.winner().is_some(),
            "a match ends, or has ended: {handled:?}"
        );
    }

    /// The next line of an operator, if one can be carried out by now; [`Self::operator_line_at`] says when it should be. Each is
    /// to be answered: until then no other line of that operator comes, so that answers are in the order of the lines.
    pub fn poll_operator_line(&mut self) -> Option<OperatorLine> {
        if self.is_step_under_way() {
            return None;
        }
        let place = self.next_operator_line()?;
        let said = self.operators.lines.remove(place)?;
        self.operators.unanswered.insert(said.conn);
        self.rates
            .operators
            .take(requests_for(said.line.len()).saturating_add(1));
        Some(said)
    }

    fn next_operator_line(&self) -> Option<usize> {
        let is_free = |said: &OperatorLine| !self.operators.unanswered.contains(&said.conn);
        self.operators.lines.iter().position(is_free)
    }

    /// When the next line of an operator is to be carried out, `now` at the earliest: those of all operators together have
    /// a rate. `None` if there is none, or none before a step has led to its end: another step begins where that one has
    /// led to.
    pub fn operator_line_at(&self, now: RealTime) -> Option<RealTime> {
        if self.next_operator_line().is_none() || self.is_step_under_way() {
            return None;
        }
        let mut bucket = self.rates.operators;
        Some(bucket.next_at(now, limits::OPERATOR_LINE_RATE).unwrap_or(now))
    }

    /// Whether what became due by a step is not all done.
    pub(super) fn is_step_under_way(&self) -> bool {
        !self.course.is_lock_step()
            && self.course.pace.clock().is_paused()
            && self
                .next_due()
                .is_some_and(|at| at <= self.course.pace.game_now())
    }

    /// Answers an operator in text, ends of lines included. One that was disconnected, perhaps by its own line, and has been
    /// written to for the last time, is sent nothing more.
    pub fn answer_operator(&mut self, conn: ConnId, answer: &str) {
        self.operators.unanswered.remove(&conn);
        let requests = answer.len() / limits::ANSWER_BYTES_PER_REQUEST;
        self.rates
            .operators
            .take(u32::try_from(requests).unwrap_or(u32::MAX));
        self.note_line_done(conn);
        let session = self.sessions.get(conn);
        let is_write_shut = session.is_some_and(
            |session| matches!(&session.role, Role::Leaving { is_write_shut, .. } if *is_write_shut),
        );
        if !is_write_shut {
            self.sessions
                .push(conn, |outbox| outbox.extend_from_slice(answer.as_bytes()));
        }
        self.settle();
    }

    /// Changes which peers may control the server. It holds for all peers from now on, and for operators' lines that were not
    /// carried out: with another token, peers that showed the last one must reconnect. Answers whether it is another.
    pub fn set_control(&mut self, control: ControlAccess, token: Option<Token>) -> bool {
        let is_another = token != self.config.token;
        if is_another {
            self.sessions.forget_tokens();
        }
        self.config.control = control;
        self.config.token = token;
        let lines = std::mem::take(&mut self.operators.lines);
        for said in lines {
            match self.may_control(said.conn) {
                true => self.operators.lines.push_back(said),
                false => {
                    self.note_line_done(said.conn);
                    self.refuse_operator(said.conn, self.config.control.refusal());
                }
            }
        }
        is_another
    }

    /// A line of an operator waits no longer. One that was not read because of its lines is read again once half of them
    /// are done.
    fn note_line_done(&mut self, conn: ConnId) {
        let now = self.sessions.now();
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        let waiting = &mut session.flow.lines_waiting;
        *waiting = waiting.saturating_sub(1);
        if *waiting == limits::OPERATOR_LINES_AHEAD_MAX / 2 && !session.flow.is_read {
            self.resume_at(conn, now);
        }
    }

    pub(super) fn forget_lines_of(&mut self, conn: ConnId) {
        self.operators.lines.retain(|said| said.conn != conn);
        self.operators.unanswered.remove(&conn);
    }

    /// All connections, in the order of the shell's table.
    pub fn clients(&self) -> impl Iterator<Item = Client> {
        self.sessions.iter().map(|session| Client {
            conn: session.conn,
            peer: session.peer,
            kind: match &session.role {
                Role::Ungreeted { .. } | Role::Seated => ClientKind::Waiting,
                Role::Greeted { .. } => ClientKind::Greeted,
                Role::Agent(agent) => ClientKind::Agent(*agent),
                Role::TextViewer => ClientKind::TextViewer,
                Role::Viewer(_) => ClientKind::Viewer,
                Role::Operator => ClientKind::Operator,
                Role::Leaving { .. } => ClientKind::Leaving,
            },
            may_control: session.agent().is_none() && self.may_control(session.conn),
            unread_bytes: session.outbox.len(),
        })
    }

    /// Changes the limits of later connections on their number, rate and silence, and for all connections how long a
    /// backlog may stay unread. Existing connections keep their other limits.
    pub fn set_limits(&mut self, limits: &Limits) {
        self.config.limits = Limits {
            message_bytes_max: self.config.limits.message_bytes_max,
            violations_max: self.config.limits.violations_max,
            output_bytes_max: self.config.limits.output_bytes_max,
            agent_outbox_bytes_max: self.config.limits.agent_outbox_bytes_max,
            viewer_outbox_bytes_max: self.config.limits.viewer_outbox_bytes_max,
            ..limits.clone()
        };
        self.look_for_stalls_anew();
    }

    /// Changes the spectator delay for later connections. They are as late as those who
    /// came before, as long as these watch: all that is delayed is in one queue.
    pub fn set_spectator_delay(&mut self, delay: RealSpan) {
        self.config.spectator_delay = delay;
    }

    /// A peer is about to watch: unless it may control the game, it sees the past of it.
    pub(super) fn delay_spectator(&mut self, conn: ConnId) {
        let delay = match self.may_control(conn) {
            true => RealSpan::ZERO,
            false => self.config.spectator_delay,
        };
        if let Some(session) = self.sessions.get_mut(conn) {
            session.delay = delay;
        }
    }

    pub(super) fn delay_of(&self, conn: ConnId) -> RealSpan {
        self.sessions
            .get(conn)
            .map_or(RealSpan::ZERO, |session| session.delay)
    }

    /// A peer wants to operate the server. One that may not is sent the reason and closed.
    pub(super) fn operate(&mut self, conn: ConnId, token: Option<&[u8]>, now: RealTime) {
        let reason = match self.take_token(conn, token, now) {
            TokenShown::Wrong => WRONG_TOKEN,
            _ if self.may_control(conn) => {
                log::info!("{}: operates the server", self.shown(conn));
                self.sessions.set_role(conn, Role::Operator);
                self.set_limit(conn, None);
                let line_bytes_max = self.config.limits.message_bytes_max;
                if let Some(session) = self.sessions.get_mut(conn) {
                    // Longer ones are violations, as for everybody.
                    session.inbox = Inbox::lines_of(line_bytes_max.min(limits::OPERATOR_LINE_BYTES_MAX));
                    session.outbox.make_stream();
                    session.outbox_bytes_max = limits::OPERATOR_OUTBOX_BYTES_MAX;
                }
                return self
                    .sessions
                    .push(conn, |outbox| outbox.extend_from_slice(b"ok\n"));
            }
            _ => self.config.control.refusal(),
        };
        self.figures.counters.operators_refused += 1;
        if let Some(refused) = self
            .figures
            .meters
            .operators_logged
            .note(now, self.figures.counters.operators_refused)
        {
            log::info!(
                "{}: may not operate: {reason} ({refused} were refused)",
                self.shown(conn)
            );
        }
        self.refuse_operator(conn, reason);
        self.close_after_flush(conn, CloseReason::ControlRefused);
    }

    pub(super) fn operator_line(&mut self, conn: ConnId, line: Option<String>) {
        if !self.may_control(conn) {
            self.refuse_operator(conn, self.config.control.refusal());
            return self.close_after_flush(conn, CloseReason::ControlRefused);
        }
        match line {
            Some(line) if self.operators.lines.len() < limits::OPERATOR_LINES_MAX => {
                if let Some(session) = self.sessions.get_mut(conn) {
                    session.flow.lines_waiting += 1;
                }
                self.operators.lines.push_back(OperatorLine { conn, line });
            }
            Some(_) => self.refuse_operator(conn, "too many lines at once"),
            None => self.refuse_operator(conn, "this line is too long"),
        }
    }

    fn refuse_operator(&mut self, conn: ConnId, reason: &str) {
        self.sessions.push(conn, |outbox| {
            outbox.extend_from_slice(b"ko ");
            outbox.extend_from_slice(reason.as_bytes());
            outbox.push(b'\n');
        });
    }

    /// Takes note of the token that a peer shows, if the server asks for one.
    pub(super) fn take_token(&mut self, conn: ConnId, shown: Option<&[u8]>, now: RealTime) -> TokenShown {
        let Some(shown) = shown.filter(|_| self.config.control.asks_for_token()) else {
            return TokenShown::Nothing;
        };
        let is_right = self.config.token.as_ref().is_some_and(|token| token.is(shown));
        let token = match is_right {
            true => TokenShown::Right,
            false => TokenShown::Wrong,
        };
        if token == TokenShown::Wrong {
            self.figures.counters.tokens_refused += 1;
            if let Some(wrong) = self
                .figures
                .meters
                .tokens_logged
                .note(now, self.figures.counters.tokens_refused)
            {
                let last = self.shown(conn);
                log::warn!("{wrong} wrong tokens were shown, the last one by {last}");
            }
        }
        if let Some(session) = self.sessions.get_mut(conn) {
            session.token = token;
        }
        token
    }

    pub(super) fn may_control(&self, conn: ConnId) -> bool {
        self.sessions.get(conn).is_some_and(|session| {
            let has_token = session.token == TokenShown::Right;
            self.config.control.allows(session.peer, has_token)
        })
    }

    /// Whether a peer may change the speed, in the ways that its protocol has.
    pub(super) fn may_change_pace(&self, conn: ConnId) -> bool {
        self.sessions.get(conn).is_some_and(|session| {
            let has_token = session.token == TokenShown::Right;
            match session.role {
                Role::TextViewer => self.config.control.allows_speed(session.peer, has_token),
                _ => self.config.control.allows(session.peer, has_token),
            }
        })
    }

    /// A connection as it stands in logs: `connection 3.0 (127.0.0.1, agent 7)`.
    pub(super) fn shown(&self, conn: ConnId) -> String {
        let Some(session) = self.sessions.get(conn) else {
            return format!("connection {conn}");
        };
        let peer = session.peer;
        match session.agent() {
            Some(agent) => format!("connection {conn} ({peer}, agent {})", agent.0),
            None => format!("connection {conn} ({peer})"),
        }
    }
}
