//! Control of the match, by operators, viewers, scenarios and tests: the one place that carries out a [`Control`].
//!
//! How a request is written down is not known here.

use trantor_game::{GameInput, Handled, PaceChange};
use trantor_model::{Control, Refusal, Show, ShownBy};
use trantor_protocol::text::GuiEvent;
use trantor_time::RealTime;

use super::Engine;
use crate::shell::{CloseReason, ConnId};

impl Engine {
    /// Carries out a request.
    ///
    /// # Errors
    /// If it does not fit; nothing has changed then.
    pub fn control(&mut self, request: Control, now: RealTime) -> Result<(), Refusal> {
        self.sessions.set_now(now);
        self.take_game_time(now);
        self.figures.counters.admin_requests += 1;
        let done = self.carry_out_control(request, now);
        self.settle();
        done
    }

    pub(super) fn carry_out_control(&mut self, request: Control, now: RealTime) -> Result<(), Refusal> {
        request.check()?;
        match request {
            // A second one in lock-step: the game begins without the missing agents.
            Control::Start if self.course.pace.is_started() && self.is_gathering() => {
                self.begin_lock_step(now)
            }
            Control::Start => {
                self.start(now)?;
                self.send_clock(now);
            }
            Control::SetFrequency(asked) => {
                let frequency = self.course.pace.set_frequency(now, asked)?;
                self.course.sprint = None;
                self.pace_changed(PaceChange::Frequency(frequency), now);
            }
            Control::Pause => {
                // What waits for more to come stands still already, and is to do so beyond that.
                let waits = self.is_live() && self.is_stopped_at_end();
                match self.course.is_lock_step() {
                    true => self.hold_leaps(true)?,
                    false if waits => {}
                    false => self.course.pace.pause(now)?,
                }
                self.pace_changed(PaceChange::Paused, now);
            }
            Control::Resume | Control::Step(_) if self.is_recording_over() => {
                return Err(match self.is_live() {
                    true => Refusal::Awaited,
                    false => Refusal::RecordingOver,
                });
            }
            Control::Resume => {
                match self.course.is_lock_step() {
                    true => self.hold_leaps(false)?,
                    false => self.course.pace.resume(now)?,
                }
                self.pace_changed(PaceChange::Resumed, now);
            }
            Control::Step(step) => {
                self.step(step)?;
                self.pace_changed(PaceChange::Stepped, now);
            }
            Control::Sprint(units) => self.start_sprint(units, now)?,
            Control::Say(text) => {
                self.delivery
                    .text
                    .announce(&mut self.sessions, &GuiEvent::Message(&text));
                let text = String::from_utf8_lossy(&text).into();
                self.show(ShownBy::Server, Show::Announce(text));
            }
            Control::Kick(agent) => {
                if self.sessions.of_agent(agent).is_none() && self.mind_of(agent).is_none() {
                    return Err(Refusal::NotPlayed(agent));
                }
                self.remove_agent(agent, CloseReason::Kicked);
            }
            Control::Seek(to) => self.seek(to, now)?,
            Control::Act(_) if self.is_playback() => return Err(Refusal::Recorded),
            Control::Act(action) => {
                if let Handled::Refused(refusal) = self.apply(GameInput::Admin(action)) {
                    return Err(Refusal::Game(refusal));
                }
            }
        }
        Ok(())
    }

    /// Disconnects a connection, of whatever role; answers whether there is one.
    pub fn disconnect(&mut self, conn: ConnId, now: RealTime) -> bool {
        self.sessions.set_now(now);
        self.take_game_time(now);
        self.figures.counters.admin_requests += 1;
        let session = self.sessions.get(conn).filter(|session| !session.is_leaving());
        let played = session.map(|session| session.agent());
        match played {
            None => {}
            Some(Some(agent)) => self.remove_agent(agent, CloseReason::Kicked),
            Some(None) => {
                self.forget_lines_of(conn);
                self.close_after_flush(conn, CloseReason::Kicked);
            }
        }
        self.settle();
        played.is_some()
    }

    /// Carries out a request of a viewer.
    ///
    /// # Errors
    /// As [`Self::control`], and if it may not.
    pub(super) fn control_by_viewer(
        &mut self,
        conn: ConnId,
        request: &Control,
        now: RealTime,
    ) -> Result<(), Refusal> {
        let done = match self.may_change_pace(conn) {
            true => self.carry_out_control(request.clone(), now),
            false => Err(Refusal::NotAllowed(self.config.control.refusal())),
        };
        let refused = self.figures.counters.gui_refused + self.figures.counters.messages_refused;
        match &done {
            Ok(()) => log::debug!("{}: {request}", self.shown(conn)),
            Err(reason) => {
                // Once in a while, however often it asks.
                if let Some(refused) = self.figures.meters.refusals_logged.note(now, refused + 1) {
                    log::info!(
                        "{}: {request}: {reason} ({refused} requests were refused)",
                        self.shown(conn)
                    );
                }
            }
        }
        done
    }
}
