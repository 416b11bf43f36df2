//! What moves game time, as one value: the clock, lock-step or a recording.
//!
//! All three have a game clock ([`Pace`]). In lock-step it stands still and leaps to the next deadline once no agent is awaited;
//! under a recording it runs, and a journal is in the place of the connections' inputs. Who is connected and what is sent is
//! the engine's to say.

use trantor_time::{Frequency, GameTime, RealTime};

use super::lock_step::LockStep;
use super::pace::Pace;
use super::playback::Playback;

/// What moves game time.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) pace: Pace,
    pub(super) sprint: Option<Sprint>,
    /// The game time at which an input arrived that is carried out later, while it is.
    pub(super) arrived: Option<GameTime>,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    Clock,
    LockStep(LockStep),
    Recorded(Box<Playback>),
}

/// A running sprint. A change of speed ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sprint {
    pub(super) until: GameTime,
    /// The speed before it.
    pub(super) back_to: Frequency,
    /// Whether that was the recorded one, which may be another by the end.
    pub(super) follows_recording: bool,
}

impl Course {
    /// In lock-step, or by the clock.
    pub(super) fn new(pace: Pace, lock_step: Option<LockStep>) -> Self {
        Self {
            pace,
            sprint: None,
            arrived: None,
            mode: lock_step.map_or(Mode::Clock, Mode::LockStep),
        }
    }

    /// A recording takes the place of the clock.
    pub(super) fn follow(&mut self, playback: Playback) {
        self.mode = Mode::Recorded(Box::new(playback));
    }

    pub(crate) fn is_lock_step(&self) -> bool {
        matches!(self.mode, Mode::LockStep(_))
    }

    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.mode, Mode::Recorded(_))
    }

    /// Whether inputs have an instant at which they arrive: not in lock-step, nor under a recording.
    pub(super) fn is_by_clock(&self) -> bool {
        matches!(self.mode, Mode::Clock)
    }

    pub(crate) fn lock_step(&self) -> Option<&LockStep> {
        match &self.mode {
            Mode::LockStep(lock_step) => Some(lock_step),
            Mode::Clock | Mode::Recorded(_) => None,
        }
    }

    pub(super) fn lock_step_mut(&mut self) -> Option<&mut LockStep> {
        match &mut self.mode {
            Mode::LockStep(lock_step) => Some(lock_step),
            Mode::Clock | Mode::Recorded(_) => None,
        }
    }

    pub(super) fn playback(&self) -> Option<&Playback> {
        match &self.mode {
            Mode::Recorded(playback) => Some(playback),
            Mode::Clock | Mode::LockStep(_) => None,
        }
    }

    pub(super) fn playback_mut(&mut self) -> Option<&mut Playback> {
        match &mut self.mode {
            Mode::Recorded(playback) => Some(playback),
            Mode::Clock | Mode::LockStep(_) => None,
        }
    }

    /// At the end of a recording time stands still, exactly there. Answers whether it does; not before the start.
    pub(super) fn stop_at_end(&mut self, now: RealTime, end: GameTime) -> bool {
        if !self.pace.is_started() {
            return false;
        }
        if !self.pace.clock().is_paused() {
            self.pace.pause(now).expect("it runs");
            if let Some(playback) = self.playback_mut() {
                playback.is_stopped_at_end = true;
            }
        }
        self.pace.jump(now, end);
        true
    }

    /// Time that stands still only because the recording was over moves again.
    pub(super) fn resume_at_end(&mut self, now: RealTime) {
        let playback = self.playback_mut();
        if playback.is_some_and(|playback| std::mem::take(&mut playback.is_stopped_at_end)) {
            self.pace
                .resume(now)
                .expect("it was stopped at the end of the recording");
        }
    }

    pub(super) fn sprint_ends_at(&self) -> Option<RealTime> {
        self.pace.clock().real_at(self.sprint?.until)
    }

    /// A recording goes to another moment: a sprint that was under way was to somewhere else.
    pub(super) fn abandon_sprint(&mut self, now: RealTime) {
        if let Some(sprint) = self.sprint {
            self.leave_sprint(sprint, now);
        }
    }

    /// Restores the speed before the sprint, as of `at`, or the recorded speeds where they applied; returns it.
    pub(super) fn leave_sprint(&mut self, sprint: Sprint, at: RealTime) -> Frequency {
        self.sprint = None;
        let recorded = match self.playback_mut() {
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
}
