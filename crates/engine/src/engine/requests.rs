//! What peers say in text, carried out: greetings, agents' commands, text viewers' requests.

use trantor_game::{GameInput, Handled, PaceChange, Refusal};
use trantor_model::{AgentId, Command, TeamId};
use trantor_protocol::HTTP_REFUSAL;
use trantor_protocol::text::{AiLine, GuiEvent, GuiRefusal, GuiRequest, write_ai_line, write_gui_event};
use trantor_time::{NANOS, RealSpan, RealTime};

use super::Engine;
use crate::admin::{PaceRequest, Paced, Step};
use crate::input::ConnId;
use crate::limits;
use crate::output::CloseReason;
use crate::pace::PaceRefusal;
use crate::replicate::write_teams;
use crate::session::{Answer, AnswerKind, Inbox, Observer, Request, Role, TokenShown};
use crate::timers::Timer;

impl Engine {
    /// Begins the game, and greets those who wait for it.
    pub(super) fn start(&mut self, now: RealTime) -> Result<(), PaceRefusal> {
        self.pace.start(now)?;
        if let Some(duration) = self.config.match_duration {
            self.timers
                .schedule(now.saturating_add(duration), Timer::MatchEnd);
        }
        let waiting: Vec<ConnId> = self.sessions.iter().map(|session| session.conn).collect();
        for conn in waiting {
            let said = match self.sessions.get_mut(conn).map(|session| &mut session.role) {
                Some(Role::Held(held)) => std::mem::take(&mut held.said),
                _ => continue,
            };
            self.greet(conn);
            self.process_bytes(conn, &said, now);
        }
        self.begin_if_full(now);
        Ok(())
    }

    /// Greets a peer and gives it some time to say what it is.
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
            Request::HeldTooMuch => self.sessions.schedule_close(conn, CloseReason::InboxFull),
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
            None => Handled::Refused(Refusal::UnknownTeam),
        };
        let Handled::Joined(agent) = handled else {
            self.greeting_failed(conn);
            return;
        };
        self.counters.joined += 1;
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

    /// Tells a peer that it has its place, when so many of the team are left.
    pub(super) fn send_accepted(&mut self, conn: ConnId, places_left: u32) {
        let places = self.config.places_told.of(places_left);
        let size = self.config.game.size;
        self.send_line(conn, &AiLine::Accepted { places, size });
    }

    /// A wrong answer to the greeting: the peer may try again, but not for ever.
    pub(super) fn greeting_failed(&mut self, conn: ConnId) {
        self.counters.joins_refused += 1;
        self.send_line(conn, &AiLine::Ko);
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
            self.pace.clock().frequency(),
        );
        self.sessions.push(conn, |outbox| {
            write_gui_event(outbox, ids, &GuiEvent::MapSize(size));
            write_gui_event(outbox, ids, &GuiEvent::Frequency(frequency));
        });
        self.continue_answer(conn, now);
    }

    /// A text viewer knows the world for the first time: one that sees the past is told so.
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
        self.counters.commands += 1;
        self.counters.commands_malformed += u64::from(matches!(command, Command::Refused(_)));
        match self.apply(GameInput::Command { agent, command }) {
            Handled::Done => {
                self.note_idle(agent);
                if let Some(lock_step) = &mut self.lock_step {
                    lock_step.look_at(&self.game, agent);
                }
            }
            Handled::Refused(Refusal::QueueFull) => self.counters.commands_dropped += 1,
            handled => unreachable!("an agent with a session lives and plays: {handled:?}"),
        }
    }

    fn gui_request(&mut self, conn: ConnId, request: Result<GuiRequest, GuiRefusal>, now: RealTime) {
        self.counters.gui_requests += 1;
        match request.and_then(|request| self.answer_gui(conn, request, now)) {
            Ok(()) => {}
            Err(GuiRefusal::Unknown) => {
                self.counters.gui_unknown += 1;
                self.send_text_line(conn, &GuiEvent::UnknownRequest);
            }
            Err(GuiRefusal::BadParameter) => {
                self.counters.gui_refused += 1;
                self.send_text_line(conn, &GuiEvent::BadParameter);
            }
        }
    }

    /// Answers a request of a text viewer: at once, and as many as come.
    fn answer_gui(&mut self, conn: ConnId, request: GuiRequest, now: RealTime) -> Result<(), GuiRefusal> {
        let (game, ids) = (&self.game, self.config.gui_ids);
        let size = self.config.game.size;
        let answer = match request {
            // These two are no news of the game; a spectator that is told later knows by them that the server is there.
            GuiRequest::MapSize => {
                self.sessions.push_at_once(conn, |outbox| {
                    write_gui_event(outbox, ids, &GuiEvent::MapSize(size));
                });
                return Ok(());
            }
            GuiRequest::Tile(tile) => {
                if !size.contains(tile) {
                    return Err(GuiRefusal::BadParameter);
                }
                GuiEvent::Tile {
                    tile,
                    ground: *game.world().ground(tile),
                }
            }
            GuiRequest::Map => {
                if let Some(session) = self.sessions.get_mut(conn) {
                    session.flow.answer = Some(Answer::new(AnswerKind::Map));
                    self.continue_answer(conn, now);
                }
                return Ok(());
            }
            GuiRequest::Teams => {
                self.sessions
                    .push_at_once(conn, |outbox| write_teams(outbox, ids, game));
                return Ok(());
            }
            GuiRequest::Position(id) => {
                let agent = game.world().agent(id).ok_or(GuiRefusal::BadParameter)?;
                GuiEvent::Position {
                    agent: id,
                    tile: agent.tile(),
                    facing: agent.facing(),
                }
            }
            GuiRequest::Level(id) => {
                let agent = game.world().agent(id).ok_or(GuiRefusal::BadParameter)?;
                GuiEvent::Level {
                    agent: id,
                    level: agent.level(),
                }
            }
            GuiRequest::Inventory(id) => {
                let agent = game.world().agent(id).ok_or(GuiRefusal::BadParameter)?;
                GuiEvent::Inventory {
                    agent: id,
                    tile: Some(agent.tile()),
                    inventory: *agent.inventory(),
                }
            }
            GuiRequest::Frequency => GuiEvent::Frequency(self.pace.clock().frequency()),
            GuiRequest::SetFrequency(frequency) => {
                let request = PaceRequest::SetFrequency(frequency.get());
                if let Err(reason) = self.control_pace(conn, request, now) {
                    self.counters.gui_refused += 1;
                    self.note_pace_refused(conn, request, &reason, now);
                    // The sheet has no word for why; an operator's word is shown to people.
                    self.sessions.push_at_once(conn, |outbox| {
                        write_gui_event(outbox, ids, &GuiEvent::BadParameter);
                        write_gui_event(outbox, ids, &GuiEvent::Message(reason.as_bytes()));
                    });
                }
                return Ok(());
            }
        };
        self.send_text_line(conn, &answer);
        Ok(())
    }

    /// Changes how game time follows real time, and tells every viewer.
    pub(super) fn change_pace(&mut self, request: PaceRequest, now: RealTime) -> Result<(), PaceRefusal> {
        self.refuse_if_recording_is_over(request)?;
        let (change, paced) = match request {
            PaceRequest::SetFrequency(asked) => {
                let frequency = self.pace.set_frequency(now, asked)?;
                self.sprint = None;
                (PaceChange::Frequency(frequency), Paced::Frequency(frequency))
            }
            PaceRequest::Pause => {
                match &mut self.lock_step {
                    Some(_) => self.hold_leaps(true)?,
                    None => self.pace.pause(now)?,
                }
                (PaceChange::Paused, Paced::Other)
            }
            PaceRequest::Resume => {
                match &mut self.lock_step {
                    Some(_) => self.hold_leaps(false)?,
                    None => self.pace.resume(now)?,
                }
                (PaceChange::Resumed, Paced::Other)
            }
            PaceRequest::Step(Step::Units(units)) => {
                self.pace.step_units(units, self.recording_end())?;
                (PaceChange::Stepped, Paced::Other)
            }
            PaceRequest::Step(Step::Event) => {
                self.pace
                    .step_event(self.next_game_deadline())
                    .map_err(|refusal| self.why_no_event(refusal))?;
                (PaceChange::Stepped, Paced::Other)
            }
            PaceRequest::Step(Step::Action) => {
                let end = self.next_action_end().or_else(|| self.next_game_deadline());
                let limit = self.recording_end();
                self.pace
                    .step_event(end.map(|end| limit.map_or(end, |limit| end.min(limit))))
                    .map_err(|refusal| self.why_no_event(refusal))?;
                (PaceChange::Stepped, Paced::Other)
            }
        };
        self.pace_changed(change, paced, now);
        Ok(())
    }

    fn why_no_event(&self, refusal: PaceRefusal) -> PaceRefusal {
        match self.game.winner().is_some() && refusal == PaceRefusal::NothingDue {
            true => PaceRefusal::MatchOver,
            false => refusal,
        }
    }

    /// Records a change of pace that was made, and tells every viewer.
    pub(super) fn pace_changed(&mut self, change: PaceChange, paced: Paced, now: RealTime) {
        if self.is_playback() {
            self.note_pace_of_playback(change);
        } else {
            self.note_pace(change);
        }
        self.announce_pace(paced, now);
    }

    /// Tells every viewer how the clock goes on.
    pub(super) fn announce_pace(&mut self, paced: Paced, now: RealTime) {
        if let Paced::Frequency(frequency) = paced {
            self.text_updates
                .announce(&mut self.sessions, &GuiEvent::Frequency(frequency));
        }
        self.send_clock(now);
    }

    /// Tells one peer one line in the words of agents.
    pub(super) fn send_line(&mut self, conn: ConnId, line: &AiLine<'_>) {
        let dialect = self.config.dialect;
        self.sessions
            .push(conn, |outbox| write_ai_line(outbox, dialect, line));
    }

    /// Tells one text viewer one line.
    fn send_text_line(&mut self, conn: ConnId, line: &GuiEvent<'_>) {
        let ids = self.config.gui_ids;
        self.sessions
            .push(conn, |outbox| write_gui_event(outbox, ids, line));
    }
}
