//! Requests in text: greetings, agents' commands, text viewers' requests.

use trantor_game::{GameInput, Handled};
use trantor_model::{AgentId, Command, Control, GameRefusal, Percept, Refusal, TeamId};
use trantor_protocol::HTTP_REFUSAL;
use trantor_protocol::text::{AiLine, GuiEvent, GuiRefusal, GuiRequest, write_ai_line, write_gui_event};
use trantor_time::{NANOS, RealSpan, RealTime};

use super::Engine;
use super::deadlines::Timer;
use crate::burst::{Answer, AnswerKind, ground, inventory, level, position, write_teams};
use crate::limits;
use crate::session::{Inbox, Observer, Request, Role, TokenShown};
use crate::shell::{CloseReason, ConnId};

impl Engine {
    pub(super) fn start(&mut self, now: RealTime) -> Result<(), Refusal> {
        self.course.pace.start(now)?;
        if let Some(duration) = self.config.match_duration {
            self.timers
                .schedule(now.saturating_add(duration), Timer::MatchEnd);
        }
        if !self.course.is_lock_step() {
            self.join_minds();
        }
        let waiting: Vec<ConnId> = self.sessions.iter().map(|session| session.conn).collect();
        for conn in waiting {
            let Some(session) = self.sessions.get_mut(conn) else {
                continue;
            };
            if !session.role.waits_for_start() {
                continue;
            }
            let said = std::mem::take(&mut session.flow.unread);
            self.greet(conn);
            self.process_bytes(conn, &said, now);
        }
        self.begin_if_full(now);
        Ok(())
    }

    /// Greets a peer and sets the deadline for it to identify itself.
    pub(super) fn greet(&mut self, conn: ConnId) {
        self.sessions.set_role(conn, Role::Greeted { failures: 0 });
        self.set_limit(conn, Some(self.config.limits.greeting_span));
        self.send_line(conn, &AiLine::Welcome);
    }

    pub(super) fn carry_out(&mut self, conn: ConnId, request: Request, now: RealTime) {
        match request {
            Request::Join(_) | Request::WatchText(_) | Request::WatchFrames(_) if !self.has_place() => {
                self.sessions
                    .schedule_close(conn, CloseReason::TooManyConnections);
            }
            Request::Join(team) if self.is_gathering() => self.take_seat(conn, team, now),
            Request::Join(team) => self.join(conn, team),
            Request::WatchText(token) => self.watch_text(conn, token.as_deref(), now),
            Request::WatchFrames(token) => self.watch_frames(conn, token.as_deref(), now),
            Request::Operate { token, rest } => {
                self.operate(conn, token.as_deref(), now);
                self.process_bytes(conn, &rest, now);
            }
            Request::OperatorLine(line) => self.operator_line(conn, line),
            Request::Command(agent, command) => self.command(agent, command),
            Request::Gui(request) => self.gui_request(conn, request, now),
            Request::Message(message) => self.message(conn, message, now),
            Request::Broken(error) => self.protocol_error(conn, &error.to_string(), now),
            Request::InboxFull => self.sessions.schedule_close(conn, CloseReason::InboxFull),
            Request::TooManyViolations => self.sessions.schedule_close(conn, CloseReason::Violations),
            Request::Http => {
                self.sessions
                    .push(conn, |outbox| outbox.extend_from_slice(HTTP_REFUSAL));
                self.close_after_flush(conn, CloseReason::HttpRequest);
            }
            Request::Tls => self.close_after_flush(conn, CloseReason::TlsHello),
        }
    }

    /// Whether one more peer may play or watch: the last places are for operators.
    fn has_place(&self) -> bool {
        let identified = self.sessions.len() - self.sessions.unidentified.len() as usize;
        identified < self.config.limits.places_max() as usize
    }

    /// A peer asks for a place in a team. The first whole line gets it; nothing counts before.
    fn join(&mut self, conn: ConnId, team: Option<TeamId>) {
        let handled = match team {
            Some(team) => self.apply_quietly(GameInput::Join { team }),
            None => Handled::Refused(GameRefusal::UnknownTeam),
        };
        let Handled::Joined(agent) = handled else {
            self.greeting_failed(conn);
            return;
        };
        self.figures.counters.joined += 1;
        let places = team
            .and_then(|team| self.game.world().team(team))
            .map_or(0, |team| team.places());
        self.sessions.set_role(conn, Role::Agent(agent));
        self.set_limit(conn, self.config.limits.idle_span);
        if let Some(team) = team {
            let name = &self.config.game.teams[usize::from(team.0)];
            log::debug!("{}: joined {name}", self.shown(conn));
        }
        self.note_idle(agent);
        self.send_accepted(conn, places);
        self.publish_events(None);
    }

    pub(super) fn send_accepted(&mut self, conn: ConnId, places_left: u32) {
        let places = self.config.join_places.of(places_left);
        let size = self.config.game.size;
        self.send_line(conn, &AiLine::Accepted { places, size });
    }

    /// A wrong answer to the greeting: the peer may try again a few times.
    pub(super) fn greeting_failed(&mut self, conn: ConnId) {
        self.figures.counters.joins_refused += 1;
        self.send_line(conn, &Percept::Ko.into());
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        if let Role::Greeted { failures } = &mut session.role {
            *failures += 1;
            if *failures >= limits::GREETING_FAILURES_MAX {
                self.close_after_flush(conn, CloseReason::GreetingFailures);
            }
        }
    }

    fn watch_text(&mut self, conn: ConnId, token: Option<&[u8]>, now: RealTime) {
        if self.take_token(conn, token, now) == TokenShown::Wrong {
            return self.greeting_failed(conn);
        }
        self.delay_spectator(conn);
        self.sessions.set_role(conn, Role::TextViewer);
        log::debug!("{}: watches in text", self.shown(conn));
        self.set_limit(conn, None);
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        session.outbox.make_stream();
        session.outbox_bytes_max = self
            .config
            .limits
            .text_viewer_outbox_bytes_max(self.config.game.size);
        session.flow.answer = Some(Answer::new(AnswerKind::Greeting));
        let (ids, size, frequency) = (
            self.config.gui_ids,
            self.config.game.size,
            self.course.pace.clock().frequency(),
        );
        self.sessions.push(conn, |outbox| {
            write_gui_event(outbox, ids, &GuiEvent::MapSize(size));
            write_gui_event(outbox, ids, &GuiEvent::Frequency(frequency));
        });
        self.continue_answer(conn, now);
    }

    /// A text viewer knows the world for the first time: a delayed spectator is sent a message about that.
    pub(super) fn end_text_greeting(&mut self, conn: ConnId) {
        let delay = self.delay_of(conn);
        if delay > RealSpan::ZERO {
            let secs = delay.as_nanos() / NANOS;
            let text = format!("what you see is the game of {secs} seconds ago");
            self.send_text_line(conn, &GuiEvent::Message(text.as_bytes()));
        }
    }

    fn watch_frames(&mut self, conn: ConnId, token: Option<&[u8]>, now: RealTime) {
        // A wrong one is refused with the hello, in frames and in words.
        self.take_token(conn, token, now);
        self.delay_spectator(conn);
        self.sessions
            .set_role(conn, Role::Viewer(Box::new(Observer::new(now))));
        // The limit on the greeting stays until the hello has come.
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        session.inbox = Inbox::frames(&self.config.limits);
        session.outbox.make_stream();
        session.outbox_bytes_max = self.config.limits.viewer_outbox_bytes_max;
        if session.delay > RealSpan::ZERO {
            session.outbox_bytes_max += limits::snapshot_bytes_max(self.config.game.size);
        }
    }

    /// An agent's command goes into its queue of ten, where it waits its turn.
    pub(super) fn command(&mut self, agent: AgentId, command: Command) {
        self.figures.counters.commands += 1;
        self.figures.counters.commands_malformed += u64::from(matches!(command, Command::Refused(_)));
        match self.apply(GameInput::Command { agent, command }) {
            Handled::Done => {
                self.note_idle(agent);
                if let Some(lock_step) = self.course.lock_step_mut() {
                    lock_step.look_at(&self.game, self.players.minds.as_deref(), agent);
                }
            }
            Handled::Refused(GameRefusal::QueueFull) => self.figures.counters.commands_dropped += 1,
            handled => unreachable!("an agent with a session lives and plays: {handled:?}"),
        }
    }

    fn gui_request(&mut self, conn: ConnId, request: Result<GuiRequest, GuiRefusal>, now: RealTime) {
        self.figures.counters.gui_requests += 1;
        match request.and_then(|request| self.answer_gui(conn, request, now)) {
            Ok(()) => {}
            Err(GuiRefusal::Unknown) => {
                self.figures.counters.gui_unknown += 1;
                self.send_text_line(conn, &GuiEvent::UnknownRequest);
            }
            Err(GuiRefusal::BadParameter) => {
                self.figures.counters.gui_refused += 1;
                self.send_text_line(conn, &GuiEvent::BadParameter);
            }
        }
    }

    /// Answers a request of a text viewer: at once, and as many as come.
    fn answer_gui(&mut self, conn: ConnId, request: GuiRequest, now: RealTime) -> Result<(), GuiRefusal> {
        let (game, ids) = (&self.game, self.config.gui_ids);
        let size = self.config.game.size;
        let agent = |id| game.world().agent(id).ok_or(GuiRefusal::BadParameter);
        let answer = match request {
            // These two reveal nothing of the game, so a delayed spectator gets them at once, as a sign of life.
            GuiRequest::MapSize => {
                self.sessions.push_at_once(conn, |outbox| {
                    write_gui_event(outbox, ids, &GuiEvent::MapSize(size));
                });
                return Ok(());
            }
            GuiRequest::Teams => {
                self.sessions
                    .push_at_once(conn, |outbox| write_teams(outbox, ids, game));
                return Ok(());
            }
            GuiRequest::Map => {
                if let Some(session) = self.sessions.get_mut(conn) {
                    session.flow.answer = Some(Answer::new(AnswerKind::Map));
                    self.continue_answer(conn, now);
                }
                return Ok(());
            }
            GuiRequest::Tile(tile) if !size.contains(tile) => return Err(GuiRefusal::BadParameter),
            GuiRequest::Tile(tile) => ground(game, tile),
            GuiRequest::Position(id) => position(agent(id)?),
            GuiRequest::Level(id) => level(agent(id)?),
            GuiRequest::Inventory(id) => inventory(agent(id)?),
            GuiRequest::Frequency => GuiEvent::Frequency(self.course.pace.clock().frequency()),
            GuiRequest::SetFrequency(frequency) => {
                let request = Control::SetFrequency(frequency.get());
                if let Err(reason) = self.control_by_viewer(conn, &request, now) {
                    self.figures.counters.gui_refused += 1;
                    // The sheet has no word for why; an operator's word is shown to people.
                    self.sessions.push_at_once(conn, |outbox| {
                        write_gui_event(outbox, ids, &GuiEvent::BadParameter);
                        write_gui_event(outbox, ids, &GuiEvent::Message(reason.to_string().as_bytes()));
                    });
                }
                return Ok(());
            }
        };
        self.send_text_line(conn, &answer);
        Ok(())
    }

    pub(super) fn send_line(&mut self, conn: ConnId, line: &AiLine<'_>) {
        let dialect = self.config.dialect;
        self.sessions
            .push(conn, |outbox| write_ai_line(outbox, dialect, line));
    }

    fn send_text_line(&mut self, conn: ConnId, line: &GuiEvent<'_>) {
        let ids = self.config.gui_ids;
        self.sessions
            .push(conn, |outbox| write_gui_event(outbox, ids, line));
    }
}
