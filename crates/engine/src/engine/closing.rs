//! The beginnings and ends of sessions, by either side.
//!
//! In an orderly close the outbox is flushed, the writing half is shut down, and input is drained for a while, since closing with
//! unread input would make the kernel answer with a reset that eats the last lines. A peer that breaks a limit is closed at once.

use std::net::IpAddr;

use trantor_game::{Agent, GameInput, Handled};
use trantor_model::{AgentId, LeaveCause};
use trantor_time::timers::round_up;
use trantor_time::{RealSpan, RealTime};

use super::Engine;
use super::deadlines::Timer;
use super::lock_step::LockStep;
use crate::limits;
use crate::session::{Role, Session};
use crate::shell::{CloseReason, ConnId, Output};

impl Engine {
    /// A peer has connected: it is greeted, or closed if there are too many. Where places are short, the oldest peer that
    /// has not said what it is makes room.
    pub(super) fn open(&mut self, conn: ConnId, peer: IpAddr, now: RealTime) {
        let limits = &self.config.limits;
        let open = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
        let unidentified = &self.sessions.unidentified;
        let (makes_room, refusal) = if self.sessions.count_at(peer) >= limits.connections_of(peer) {
            (
                unidentified.oldest_of(peer),
                Some(CloseReason::TooManyFromAddress),
            )
        } else if open >= limits.connections_max {
            (unidentified.oldest(), Some(CloseReason::TooManyConnections))
        } else {
            (None, None)
        };
        let refused = refusal.filter(|_| makes_room.is_none());
        if let Some(oldest) = makes_room {
            self.sessions.schedule_close(oldest, CloseReason::Evicted);
        }
        let arrival = self.figures.counters.opened;
        let request_rate = limits.request_rate_at(self.course.pace.clock().frequency());
        self.sessions
            .insert(Session::new(conn, peer, arrival, now, limits, request_rate));
        match refused {
            Some(reason) => self.sessions.schedule_close(conn, reason),
            None if self.course.pace.is_started() => self.greet(conn),
            None => {}
        }
    }

    pub(super) fn closed_by_peer(&mut self, conn: ConnId) {
        log::debug!("{}: hung up", self.shown(conn));
        match self
            .forget(conn, LeaveCause::Disconnected)
            .map(|session| session.role)
        {
            // It was on its way out anyway, and hung up as it should.
            Some(Role::Leaving { reason, .. }) => self.figures.counters.closed[reason.index()] += 1,
            Some(_) => self.figures.counters.closed_by_peer += 1,
            None => {}
        }
    }

    /// Closes a session at once, without flushing its outbox.
    pub(super) fn close_now(&mut self, conn: ConnId, reason: CloseReason) {
        let shown = self.shown(conn);
        if self.forget(conn, LeaveCause::Dismissed).is_some() {
            log::debug!("{shown}: disconnected, {}", reason.name());
            self.figures.counters.closed[reason.index()] += 1;
            self.pending.outputs.push_back(Output::Close { conn, reason });
        }
    }

    /// Closes a session once its outbox is flushed. Its agent, if it has one, must be gone already.
    pub(super) fn close_after_flush(&mut self, conn: ConnId, reason: CloseReason) {
        let Some(session) = self.sessions.get(conn) else {
            return;
        };
        if session.is_leaving() {
            return;
        }
        let was_watching = session.observer().is_some();
        self.leave_seat(conn);
        self.sessions.set_role(
            conn,
            Role::Leaving {
                reason,
                is_write_shut: false,
            },
        );
        self.end_flow(conn);
        self.set_limit(conn, Some(limits::FLUSH_SPAN));
        if was_watching {
            self.stop_watch_if_unwatched();
        }
        self.finish_writing(conn);
    }

    pub(super) fn finish_writing(&mut self, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        let is_done = session.outbox.is_empty();
        if let Role::Leaving { is_write_shut, .. } = &mut session.role
            && is_done
            && !*is_write_shut
        {
            *is_write_shut = true;
            self.pending.outputs.push_back(Output::ShutdownWrite { conn });
            self.set_limit(conn, Some(limits::LINGER_SPAN));
        }
    }

    pub(super) fn session_limit_passed(&mut self, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        session.limit = None;
        match session.role {
            Role::Leaving { reason, .. } => self.close_now(conn, reason),
            Role::Agent(agent) => self.see_whether_idle(conn, agent),
            _ => self.close_now(conn, CloseReason::GreetingTimeout),
        }
    }

    /// An agent's idle limit passed: it goes if it has said nothing and had nothing to do for that long, and is looked at
    /// again later otherwise. Looking now and then is cheaper than moving a limit at each word.
    fn see_whether_idle(&mut self, conn: ConnId, agent: AgentId) {
        let now = self.sessions.now();
        let may_act = !self.is_paused() && self.game.world().agent(agent).is_some_and(Agent::is_idle);
        let (Some(limit), Some(session)) = (self.config.limits.idle_span, self.sessions.get_mut(conn)) else {
            return;
        };
        if !may_act {
            session.last_read_at = now;
        }
        let silent = now.since(session.last_read_at);
        if silent < limit {
            self.set_limit(conn, Some(limit - silent));
        } else {
            self.remove_agent(agent, CloseReason::Idle);
        }
    }

    pub(super) fn agent_died(&mut self, agent: AgentId) {
        if let Some(conn) = self.sessions.of_agent(agent) {
            log::debug!("{}: died", self.shown(conn));
            self.close_after_flush(conn, CloseReason::Died);
        }
    }

    pub(super) fn remove_agent(&mut self, agent: AgentId, reason: CloseReason) {
        let conn = self.sessions.of_agent(agent);
        if let Some(conn) = conn {
            log::debug!("{}: dismissed, {}", self.shown(conn), reason.name());
            self.close_after_flush(conn, reason);
        }
        self.leave(agent, LeaveCause::Dismissed);
    }

    /// Disconnects all agents at the end of the game, after what is in their outboxes and without another line.
    pub(super) fn remove_agents(&mut self) {
        let agents: Vec<AgentId> = self.game.world().agents().map(|agent| agent.id).collect();
        for agent in agents {
            self.remove_agent(agent, CloseReason::GameOver);
        }
        for conn in self.course.lock_step().map_or_else(Vec::new, LockStep::seated) {
            self.close_after_flush(conn, CloseReason::GameOver);
        }
    }

    pub(super) fn set_limit(&mut self, conn: ConnId, span: Option<RealSpan>) {
        let now = self.sessions.now();
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        if let Some(limit) = session.limit.take() {
            self.timers.cancel(limit);
        }
        session.limit = span.map(|span| {
            let at = round_up(now.saturating_add(span));
            self.timers.schedule(at, Timer::SessionLimit(conn))
        });
    }

    fn forget(&mut self, conn: ConnId, cause: LeaveCause) -> Option<Session> {
        self.set_limit(conn, None);
        let session = self.sessions.remove(conn)?;
        self.cancel_flow(session.flow.resume, session.flow.stall);
        self.leave_seat(conn);
        match session.agent() {
            Some(agent) if cause == LeaveCause::Disconnected && self.is_behind() => {
                self.pending.departing.insert(agent);
                self.timers.schedule(self.sessions.now(), Timer::Leave(agent));
            }
            Some(agent) => self.leave(agent, cause),
            None => {}
        }
        if session.observer().is_some() {
            self.stop_watch_if_unwatched();
        }
        Some(session)
    }

    /// Removes an agent whose peer disconnected while older work was due, unless it died meanwhile.
    pub(super) fn leave_late(&mut self, agent: AgentId) {
        self.pending.departing.remove(&agent);
        if self.game.world().agent(agent).is_some() {
            self.leave(agent, LeaveCause::Disconnected);
        }
    }

    fn leave(&mut self, agent: AgentId, cause: LeaveCause) {
        let handled = self.apply(GameInput::Leave { agent, cause });
        debug_assert_eq!(handled, Handled::Done, "an agent with a session lives");
    }
}
