//! Operators' requests, carried out.

use trantor_game::{AdminAction, GameInput, Handled};
use trantor_protocol::text::GuiEvent;
use trantor_time::RealTime;

use super::Engine;
use crate::admin::{AdminRefusal, AdminRequest, PaceRequest};
use crate::output::CloseReason;

impl Engine {
    /// Carries out a request of an operator.
    ///
    /// # Errors
    /// If it does not fit; nothing has changed then.
    pub fn admin(&mut self, request: AdminRequest, now: RealTime) -> Result<(), AdminRefusal> {
        self.sessions.set_now(now);
        self.take_game_time(now);
        self.counters.admin_requests += 1;
        let done = self.carry_out_admin(request, now);
        self.settle();
        done
    }

    fn carry_out_admin(&mut self, request: AdminRequest, now: RealTime) -> Result<(), AdminRefusal> {
        match request {
            // A second one in lock-step: whoever is missing is waited for no longer.
            AdminRequest::Start if self.pace.is_started() && self.is_gathering() => self.begin_lock_step(now),
            AdminRequest::Start => {
                self.start(now)?;
                self.send_clock(now);
            }
            AdminRequest::SetFrequency(frequency) => {
                self.change_pace(PaceRequest::SetFrequency(frequency), now)?;
            }
            AdminRequest::Pause => self.change_pace(PaceRequest::Pause, now)?,
            AdminRequest::Resume => self.change_pace(PaceRequest::Resume, now)?,
            AdminRequest::Step(step) => self.change_pace(PaceRequest::Step(step), now)?,
            AdminRequest::Sprint(units) => self.start_sprint(units, now)?,
            AdminRequest::Say(text) => {
                if text.contains(&b'\n') {
                    return Err(AdminRefusal::NotOneLine);
                }
                self.text_updates
                    .announce(&mut self.sessions, &GuiEvent::Message(&text));
            }
            AdminRequest::Kick(agent) => {
                self.sessions
                    .of_agent(agent)
                    .ok_or(AdminRefusal::NobodyPlays(agent))?;
                self.remove_agent(agent, CloseReason::Kicked);
            }
            AdminRequest::Disconnect(conn) => {
                let session = self.sessions.get(conn).filter(|session| !session.is_leaving());
                match session.ok_or(AdminRefusal::NoConnection(conn))?.agent() {
                    Some(agent) => self.remove_agent(agent, CloseReason::Kicked),
                    None => {
                        self.forget_lines_of(conn);
                        self.close_after_flush(conn, CloseReason::Kicked);
                    }
                }
            }
            AdminRequest::Seek(to) => self.seek(to, now)?,
            AdminRequest::Act(_) if self.is_playback() => return Err(AdminRefusal::Recorded),
            AdminRequest::Act(action) => {
                let input = GameInput::Admin(action);
                if let Handled::Refused(refusal) = self.apply(input.clone()) {
                    return Err(AdminRefusal::Game(refusal));
                }
                self.note_hunger(&input);
            }
        }
        Ok(())
    }

    /// The match's time is over. A game that is won already has nothing left to end.
    pub(super) fn end_match(&mut self) {
        let handled = self.apply(GameInput::Admin(AdminAction::EndMatch));
        debug_assert!(
            handled == Handled::Done || self.game.winner().is_some(),
            "a match ends, or has ended: {handled:?}"
        );
    }
}
