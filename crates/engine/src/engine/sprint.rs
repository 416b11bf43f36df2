//! A stretch of game time at full speed, after which the speed is again what it was: `tick sprint` of the console.
//!
//! It ends at the exact game time, however late the pass that notices: the clock is set back as of that instant. But where
//! the work of the way there is not done, the game slips as at any speed, and the sprint takes longer.

use trantor_game::PaceChange;
use trantor_time::{Frequency, GameSpan, GameTime, RealTime};

use super::Engine;
use crate::admin::{AdminRefusal, PaceRequest};
use crate::limits;
use crate::pace::PaceRefusal;

/// A running sprint. A change of speed ends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sprint {
    until: GameTime,
    /// The speed before it.
    back_to: Frequency,
    /// Whether that was the recorded one, which may be another by the end.
    follows_recording: bool,
}

impl Engine {
    /// Begins a sprint of so many units; another one that is under way is followed by this one.
    pub(super) fn start_sprint(&mut self, units: u32, now: RealTime) -> Result<(), AdminRefusal> {
        if !(1..=limits::SPRINT_UNITS_MAX).contains(&units) {
            return Err(AdminRefusal::Sprint(units));
        }
        if !self.pace.is_started() {
            return Err(PaceRefusal::NotStarted.into());
        }
        if self.lock_step.is_some() {
            return Err(AdminRefusal::SprintInLockStep);
        }
        if self.pace.clock().is_paused() {
            return Err(AdminRefusal::SprintWhilePaused);
        }
        let mut sprint = self.sprint.unwrap_or(Sprint {
            until: self.pace.game_now(),
            back_to: self.pace.clock().frequency(),
            follows_recording: self
                .playback
                .as_ref()
                .is_some_and(|playback| playback.follows_speed),
        });
        self.change_pace(PaceRequest::SetFrequency(limits::FREQUENCY_ASKED_MAX), now)?;
        sprint.until += GameSpan::from_units(i64::from(units));
        self.sprint = Some(sprint);
        Ok(())
    }

    /// The game time at which the sprint under way ends, if there is one.
    pub fn sprint_until(&self) -> Option<GameTime> {
        self.sprint.map(|sprint| sprint.until)
    }

    /// When the sprint under way ends, unless time stands still.
    pub(super) fn sprint_ends_at(&self) -> Option<RealTime> {
        self.pace.clock().real_at(self.sprint?.until)
    }

    /// Ends the sprint if that is due at `now`, before the pass takes its game time; answers the speed from then on.
    pub(super) fn end_sprint(&mut self, now: RealTime) -> Option<Frequency> {
        let at = self.sprint_ends_at().filter(|at| *at <= now)?;
        let sprint = self.sprint?;
        if !self.pace.may_reach(sprint.until, self.next_awaited_deadline()) {
            return None;
        }
        Some(self.leave_sprint(sprint, at))
    }

    /// A recording goes to another moment: a sprint that was under way was to somewhere else.
    pub(super) fn abandon_sprint(&mut self, now: RealTime) {
        if let Some(sprint) = self.sprint {
            self.leave_sprint(sprint, now);
        }
    }

    /// Restores the speed before the sprint, as of `at`, or the recorded speeds where they applied; returns it.
    fn leave_sprint(&mut self, sprint: Sprint, at: RealTime) -> Frequency {
        self.sprint = None;
        let recorded = match &mut self.playback {
            Some(playback) if sprint.follows_recording => {
                playback.follows_speed = true;
                playback.speed_at(sprint.until)
            }
            _ => None,
        };
        // A journal may hold a speed that is not allowed.
        if let Some(Ok(speed)) = recorded.map(|speed| self.pace.set_frequency(at, speed.get())) {
            return speed;
        }
        let set = self.pace.set_frequency(at, sprint.back_to.get());
        debug_assert_eq!(set, Ok(sprint.back_to), "it was the speed before");
        sprint.back_to
    }

    /// Announces the end of a sprint.
    pub(super) fn sprint_ended(&mut self, frequency: Frequency, now: RealTime) {
        log::info!("the sprint is over: {} units/s", frequency.get());
        let change = PaceChange::Frequency(frequency);
        // In a recording that speed was not chosen.
        if !self.is_playback() {
            self.note_pace(change);
        }
        self.announce_pace(change, now);
    }
}
