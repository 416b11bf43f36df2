//! A stretch of game time at full speed, after which the speed is again what it was: `tick sprint` of the console.
//!
//! It ends at the exact game time, however late the pass that notices: the clock is set back as of that instant. But where
//! the work of the way there is not done, the game slips as at any speed, and the sprint takes longer (R-X-9).

use trantor_game::PaceChange;
use trantor_time::{Frequency, GameSpan, GameTime, RealTime};

use super::Engine;
use crate::admin::{AdminRefusal, PaceRequest, Paced};
use crate::limits;
use crate::pace::PaceRefusal;

/// A sprint under way. Another speed asked for meanwhile ends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sprint {
    until: GameTime,
    /// The speed before it.
    back_to: Frequency,
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
        let (from, back_to) = match self.sprint {
            Some(sprint) => (sprint.until, sprint.back_to),
            None => (self.pace.game_now(), self.pace.clock().frequency()),
        };
        self.change_pace(PaceRequest::SetFrequency(limits::FREQUENCY_ASKED_MAX), now)?;
        let until = from + GameSpan::from_units(i64::from(units));
        self.sprint = Some(Sprint { until, back_to });
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
        let Sprint { until, back_to } = self.sprint?;
        if !self.pace.may_reach(until, self.next_game_deadline()) {
            return None;
        }
        self.sprint = None;
        let set = self.pace.set_frequency(at, back_to.get());
        debug_assert_eq!(set, Ok(back_to), "it was the speed before");
        Some(back_to)
    }

    /// A recording goes to another moment: a sprint that was under way was to somewhere else.
    pub(super) fn abandon_sprint(&mut self, now: RealTime) {
        if let Some(Sprint { back_to, .. }) = self.sprint.take() {
            let set = self.pace.set_frequency(now, back_to.get());
            debug_assert_eq!(set, Ok(back_to), "it was the speed before");
        }
    }

    /// Tells everybody that a sprint is over.
    pub(super) fn sprint_ended(&mut self, frequency: Frequency, now: RealTime) {
        log::info!("the sprint is over: {} units/s", frequency.get());
        self.pace_changed(PaceChange::Frequency(frequency), Paced::Frequency(frequency), now);
    }
}
