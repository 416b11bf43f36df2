//! Operators' requests and viewers' changes of pace: one enum, and the one place that applies it.
//!
//! Operators are those who run the server: a console, a connection that operates, a test. How they write a request down is not
//! known here. A viewer requests the same changes of speed, pause, step and seek ([`Engine::control`]).

use std::fmt;

use trantor_game::{AdminAction, GameInput, Handled, PaceChange, Refusal};
use trantor_model::lag::show;
use trantor_model::{AgentId, Show, ShownBy};
use trantor_protocol::text::GuiEvent;
use trantor_protocol::wire::StepKind;
use trantor_time::{Frequency, GameTime, RealTime};

use super::Engine;
use super::pace::frequency_asked;
use crate::limits::FREQUENCY_ASKED_MAX;
use crate::shell::{CloseReason, ConnId};

/// One request of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminRequest {
    /// Starts a game: greets the waiting peers and starts time.
    Start,
    /// Changes the speed, in units a second.
    SetFrequency(u32),
    /// Stops game time.
    Pause,
    /// Resumes game time.
    Resume,
    /// Moves paused game time on.
    Step(Step),
    /// Runs so many units as fast as [`crate::limits::FREQUENCY_ASKED_MAX`], and goes back to the speed there was.
    Sprint(u32),
    /// Moves a recording to another moment; one outside stands for the nearer end.
    Seek(GameTime),
    /// Sends a message to all text viewers.
    Say(Vec<u8>),
    /// Disconnects the player of an agent.
    Kick(AgentId),
    /// Closes a connection, of whatever role.
    Disconnect(ConnId),
    /// Changes the game: world, agents, eggs or rules.
    Act(AdminAction),
}

impl AdminRequest {
    /// Whether a scenario may request it beside its actions, and the speed that it changes to, if it does.
    pub(crate) fn check_for_scenario(&self) -> Result<Option<Frequency>, AdminRefusal> {
        match self {
            Self::SetFrequency(asked) => frequency_asked(*asked).map(Some),
            Self::Say(text) if text.contains(&b'\n') => Err(AdminRefusal::NotOneLine),
            Self::Say(_) => Ok(None),
            _ => Err(AdminRefusal::NotForScenarios),
        }
    }
}

/// How far paused game time is moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the next whole unit, and on to the last of so many; one at least.
    Units(u32),
    /// To the next event.
    Event,
    /// To the end of the first action under way, or to the next event if there is none.
    Action,
}

impl From<StepKind> for Step {
    fn from(kind: StepKind) -> Self {
        match kind {
            StepKind::Unit => Self::Units(1),
            StepKind::Event => Self::Event,
            StepKind::Action => Self::Action,
        }
    }
}

/// For logs, of what viewers may request.
impl fmt::Display for AdminRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetFrequency(asked) => write!(f, "{asked} units/s"),
            Self::Pause => f.write_str("pause"),
            Self::Resume => f.write_str("resume"),
            Self::Step(Step::Units(1)) => f.write_str("step to the next unit"),
            Self::Step(Step::Units(units)) => write!(f, "step {units} units"),
            Self::Step(Step::Event) => f.write_str("step to the next event"),
            Self::Step(Step::Action) => f.write_str("step to the end of an action"),
            Self::Seek(to) => write!(f, "seek to unit {}", to.whole_units()),
            Self::Act(AdminAction::SetLag { lag }) => write!(f, "lag {}", show(lag.as_ref())),
            other => write!(f, "{other:?}"),
        }
    }
}

/// Why a request was refused, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminRefusal {
    /// The number asked for is out of range.
    #[error("the frequency is a whole number from 1 to {FREQUENCY_ASKED_MAX}, not {0}")]
    Frequency(u32),
    /// Game time stands still already.
    #[error("the game is paused already")]
    AlreadyPaused,
    /// Game time is running.
    #[error("the game is not paused")]
    NotPaused,
    /// Before the start there is no time to stop or move.
    #[error("the game has not been started")]
    NotStarted,
    /// A start happens once.
    #[error("the game was started already")]
    AlreadyStarted,
    /// At the end of a recording there is nothing to go on to.
    #[error("the recording is over; go back in it first")]
    RecordingOver,
    /// Nothing more of the game that is shown was received.
    #[error("the game waits for the program that plays it")]
    Awaited,
    /// In lock-step, time goes from moment to moment and takes no steps.
    #[error("in lock-step there are no steps")]
    LockStep,
    /// Nothing happens any more once a team has won.
    #[error("the match is over")]
    MatchOver,
    /// A step to the next event needs one.
    #[error("nothing is due in this game, ever")]
    NothingDue,
    /// What is shown is being played just now.
    #[error("this is a game that is being played, not a recording")]
    NotARecording,
    /// The recording can no longer be played there, although it could when it was opened.
    #[error("the recording cannot be played there; the server's log says why")]
    Unplayable,
    /// A recording cannot be changed.
    #[error("this is a recording: it can be watched, and not changed")]
    Recorded,
    /// The game does not allow it.
    #[error("the game refuses: {0}")]
    Game(Refusal),
    /// The message would be more than one line.
    #[error("a message is one line: it must not contain a line feed")]
    NotOneLine,
    /// Neither a connection nor a mind plays that agent.
    #[error("nothing plays agent {}", .0.0)]
    NobodyPlays(AgentId),
    /// There is no such connection.
    #[error("there is no connection {0}")]
    NoConnection(ConnId),
    /// A scenario acts within the game, and changes its speed.
    #[error("a scenario cannot do that")]
    NotForScenarios,
    /// In lock-step there is no speed.
    #[error("in lock-step the game is as fast as its players")]
    SprintInLockStep,
    /// A sprint needs a clock that moves.
    #[error("the game is paused: resume it first")]
    SprintWhilePaused,
    /// As many groups of minds as there may be.
    #[error("there are at most {max} groups of minds", max = crate::limits::MIND_GROUPS_MAX)]
    TooManyMindGroups,
    /// A sprint of no units, or of too many.
    #[error("a sprint is 1 to {max} units, not {0}", max = crate::limits::SPRINT_UNITS_MAX)]
    Sprint(u32),
}

impl Engine {
    /// Carries out a request of an operator.
    ///
    /// # Errors
    /// If it does not fit; nothing has changed then.
    pub fn admin(&mut self, request: AdminRequest, now: RealTime) -> Result<(), AdminRefusal> {
        self.sessions.set_now(now);
        self.take_game_time(now);
        self.counters.admin_requests += 1;
        let done = self.apply_request(request, now);
        self.settle();
        done
    }

    pub(super) fn apply_request(&mut self, request: AdminRequest, now: RealTime) -> Result<(), AdminRefusal> {
        match request {
            // A second one in lock-step: the game begins without the missing agents.
            AdminRequest::Start if self.pace.is_started() && self.is_gathering() => self.begin_lock_step(now),
            AdminRequest::Start => {
                self.start(now)?;
                self.send_clock(now);
            }
            AdminRequest::SetFrequency(asked) => {
                let frequency = self.pace.set_frequency(now, asked)?;
                self.sprint = None;
                self.pace_changed(PaceChange::Frequency(frequency), now);
            }
            AdminRequest::Pause => {
                match self.lock_step {
                    Some(_) => self.hold_leaps(true)?,
                    // It stands still until more comes, and is to do so beyond that.
                    None if self.is_live() && self.is_stopped_at_end() => {}
                    None => self.pace.pause(now)?,
                }
                self.pace_changed(PaceChange::Paused, now);
            }
            AdminRequest::Resume | AdminRequest::Step(_) if self.is_recording_over() => {
                return Err(match self.is_live() {
                    true => AdminRefusal::Awaited,
                    false => AdminRefusal::RecordingOver,
                });
            }
            AdminRequest::Resume => {
                match self.lock_step {
                    Some(_) => self.hold_leaps(false)?,
                    None => self.pace.resume(now)?,
                }
                self.pace_changed(PaceChange::Resumed, now);
            }
            AdminRequest::Step(step) => {
                self.step(step)?;
                self.pace_changed(PaceChange::Stepped, now);
            }
            AdminRequest::Sprint(units) => self.start_sprint(units, now)?,
            AdminRequest::Say(text) => {
                if text.contains(&b'\n') {
                    return Err(AdminRefusal::NotOneLine);
                }
                self.text_updates
                    .announce(&mut self.sessions, &GuiEvent::Message(&text));
                let text = String::from_utf8_lossy(&text).into();
                self.show(ShownBy::Server, Show::Announce(text));
            }
            AdminRequest::Kick(agent) => {
                if self.sessions.of_agent(agent).is_none() && self.mind_of(agent).is_none() {
                    return Err(AdminRefusal::NobodyPlays(agent));
                }
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
                if let Handled::Refused(refusal) = self.apply(GameInput::Admin(action)) {
                    return Err(AdminRefusal::Game(refusal));
                }
            }
        }
        Ok(())
    }

    /// Changes the pace for a viewer, or moves the recording.
    ///
    /// # Errors
    /// If it may not, or the pace cannot be changed like that, in words for a person.
    pub(super) fn control(
        &mut self,
        conn: ConnId,
        request: &AdminRequest,
        now: RealTime,
    ) -> Result<(), String> {
        let changed = match self.may_change_pace(conn) {
            true => self
                .apply_request(request.clone(), now)
                .map_err(|refusal| refusal.to_string()),
            false => Err(self.config.control.refusal().to_owned()),
        };
        let refused = self.counters.gui_refused + self.counters.messages_refused;
        match &changed {
            Ok(()) => log::debug!("{}: {request}", self.shown(conn)),
            Err(reason) => {
                // Once in a while, however often it asks.
                if let Some(refused) = self.meters.refusals_logged.note(now, refused + 1) {
                    log::info!(
                        "{}: {request}: {reason} ({refused} requests were refused)",
                        self.shown(conn)
                    );
                }
            }
        }
        changed
    }
}
