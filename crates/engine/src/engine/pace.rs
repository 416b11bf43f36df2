//! How game time follows real time: the game clock, the start, speed, pause and steps, and the slip rule.
//!
//! A sample of the clock at the start of each pass, and one for each input, becomes `G`, the game time of what is done
//! next. When the machine cannot keep up, [`OverloadGovernor`] lets the clock slip: the game is then slower, not lossy.
//!
//! A sprint (`tick sprint`) is a stretch of game time at full speed, after which the speed is again what it was. It ends at the
//! exact game time, however late the pass that notices: the clock is set back as of that instant. But where the work of the way
//! there is not done, the game slips as at any speed, and the sprint takes longer.

use trantor_game::{GameInput, Handled, PaceChange};
use trantor_model::control::{FREQUENCY_ASKED_MAX, frequency_asked};
use trantor_model::{Refusal, Step};
use trantor_protocol::text::GuiEvent;
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, OverloadGovernor, RealSpan, RealTime};

use super::Engine;
use super::course::Sprint;

/// The game clock and the game time of the present pass.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    clock: GameClock,
    started: bool,
    /// Time stands still but for leaps: lock-step.
    leaps: bool,
    governor: OverloadGovernor,
    game_now: GameTime,
    /// Where game time was last moved to at once. What became due by that was due then.
    moved_to: GameTime,
}

impl Pace {
    /// A game clock that shows `game_now` at `now`; it stands still until [`Self::start`], and with `leaps` also
    /// after that.
    pub(crate) fn new(
        now: RealTime,
        game_now: GameTime,
        frequency: Frequency,
        overload_max: Option<RealSpan>,
        leaps: bool,
    ) -> Self {
        let mut clock = GameClock::new(now, game_now, frequency);
        clock.pause(now);
        Self {
            clock,
            started: false,
            leaps,
            governor: OverloadGovernor::new(overload_max),
            game_now,
            moved_to: game_now,
        }
    }

    /// Takes `G` for a pass that begins at `now`, or an input of that instant; returns whether the clock slipped.
    ///
    /// `earliest` is the earliest deadline of the game.
    pub(crate) fn take(&mut self, now: RealTime, earliest: Option<GameTime>) -> bool {
        let slips_before = self.governor.slips();
        self.game_now = self.governor.read(&mut self.clock, now, earliest);
        self.governor.slips() > slips_before
    }

    /// Whether game time may go as far as `to` at its present speed while `earliest`, the earliest deadline of the game, is
    /// not done.
    pub(crate) fn may_reach(&self, to: GameTime, earliest: Option<GameTime>) -> bool {
        self.governor.allows(to, earliest, self.clock.frequency())
    }

    /// The game time of the pass: what is due at it is due, and nothing else.
    pub(crate) fn game_now(&self) -> GameTime {
        self.game_now
    }

    /// The game time of something that arrived at `at` and had to wait: no later than that of the pass.
    pub(crate) fn game_at(&self, at: RealTime) -> GameTime {
        self.clock.now(at).min(self.game_now)
    }

    /// In lock-step, moves on to a deadline at which the game need not wait any more.
    pub(crate) fn leap_to(&mut self, deadline: GameTime) {
        debug_assert!(self.leaps && self.started, "only lock-step leaps");
        self.game_now = self.clock.step_to(deadline);
    }

    pub(crate) fn clock(&self) -> &GameClock {
        &self.clock
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// How many nanoseconds after its nominal instant a game deadline is fired at `now`. Slips and changes
    /// of speed do not hide lateness, since it is counted in game time; while paused there is none, and what a step passed
    /// over is late from the end of the step on.
    pub(crate) fn lateness_ns(&self, now: RealTime, deadline: GameTime) -> u64 {
        if self.clock.is_paused() {
            return 0;
        }
        let due = deadline.max(self.moved_to);
        let late_nu = (self.clock.now(now) - due).as_nanounits().max(0);
        u64::try_from(late_nu / i128::from(self.clock.frequency().get())).unwrap_or(u64::MAX)
    }

    pub(crate) fn slips(&self) -> (u64, GameSpan) {
        (self.governor.slips(), self.governor.slipped())
    }

    pub(crate) fn start(&mut self, now: RealTime) -> Result<(), Refusal> {
        if self.started {
            return Err(Refusal::AlreadyStarted);
        }
        self.started = true;
        if !self.leaps {
            self.clock.resume(now);
        }
        Ok(())
    }

    /// Changes the speed at `now`; also while paused, for later.
    pub(crate) fn set_frequency(&mut self, now: RealTime, asked: u32) -> Result<Frequency, Refusal> {
        let frequency = frequency_asked(asked)?;
        self.clock.set_frequency(now, frequency);
        Ok(frequency)
    }

    pub(crate) fn pause(&mut self, now: RealTime) -> Result<(), Refusal> {
        if !self.started {
            return Err(Refusal::NotStarted);
        }
        if self.clock.is_paused() {
            return Err(Refusal::AlreadyPaused);
        }
        self.clock.pause(now);
        Ok(())
    }

    pub(crate) fn resume(&mut self, now: RealTime) -> Result<(), Refusal> {
        self.must_be_paused()?;
        self.clock.resume(now);
        Ok(())
    }

    /// Moves paused game time to the next whole unit, and on to the last of so many, at least one, but not beyond `end`.
    /// What is due then is due in this pass.
    pub(crate) fn step_units(&mut self, units: u32, end: Option<GameTime>) -> Result<GameTime, Refusal> {
        self.must_be_paused()?;
        let further = GameSpan::from_units(i64::from(units.saturating_sub(1)));
        let last = self.clock.clone().step_unit() + further;
        let reached = self.clock.step_to(end.map_or(last, |end| end.min(last)));
        Ok(self.move_to(reached))
    }

    pub(crate) fn step_event(&mut self, earliest: Option<GameTime>) -> Result<GameTime, Refusal> {
        self.must_be_paused()?;
        let earliest = earliest.ok_or(Refusal::NothingDue)?;
        let reached = self.clock.step_to(earliest);
        Ok(self.move_to(reached))
    }

    /// Takes the game time that a step has reached; answers that of the pass from now on.
    fn move_to(&mut self, reached: GameTime) -> GameTime {
        self.game_now = self.game_now.max(reached);
        self.moved_to = self.game_now;
        self.game_now
    }

    /// Moves game time to `to`, backwards or forwards: a recording goes to another moment. Speed and pause stay.
    pub(crate) fn jump(&mut self, now: RealTime, to: GameTime) {
        let is_paused = self.clock.is_paused();
        self.clock = GameClock::new(now, to, self.clock.frequency());
        if is_paused {
            self.clock.pause(now);
        }
        self.governor.restart();
        self.game_now = to;
        self.moved_to = to;
    }

    fn must_be_paused(&self) -> Result<(), Refusal> {
        if self.leaps {
            return Err(Refusal::LockStep);
        }
        match (self.started, self.clock.is_paused()) {
            (false, _) => Err(Refusal::NotStarted),
            (true, false) => Err(Refusal::NotPaused),
            (true, true) => Ok(()),
        }
    }
}

impl Engine {
    pub(super) fn step(&mut self, step: Step) -> Result<(), Refusal> {
        let limit = self.recording_end();
        let until = match step {
            Step::Units(units) => return self.course.pace.step_units(units, limit).map(drop),
            Step::Event => self.next_game_deadline().or(self.next_mind_wake()),
            Step::Action => {
                let end = self.next_action_end().or_else(|| self.next_game_deadline());
                end.map(|end| limit.map_or(end, |limit| end.min(limit)))
            }
        };
        match self.course.pace.step_event(until) {
            Err(Refusal::NothingDue) if self.game.winner().is_some() => Err(Refusal::MatchOver),
            stepped => stepped.map(drop),
        }
    }

    /// Records a change of pace, and sends every viewer the state of the clock.
    pub(super) fn pace_changed(&mut self, change: PaceChange, now: RealTime) {
        match self.course.playback_mut() {
            Some(playback) => playback.note_pace(change),
            None => self.note_pace(change),
        }
        self.announce_pace(change, now);
    }

    /// Records a change of pace.
    pub(super) fn note_pace(&mut self, change: PaceChange) {
        let handled = self.apply(GameInput::Pace(change));
        debug_assert_eq!(
            handled,
            Handled::Done,
            "a change of pace changes nothing in the game"
        );
    }

    fn announce_pace(&mut self, change: PaceChange, now: RealTime) {
        if let PaceChange::Frequency(frequency) = change {
            self.delivery
                .text
                .announce(&mut self.sessions, &GuiEvent::Frequency(frequency));
        }
        self.send_clock(now);
    }

    /// Begins a sprint of so many units; another one that is under way is followed by this one.
    pub(super) fn start_sprint(&mut self, units: u32, now: RealTime) -> Result<(), Refusal> {
        if !self.course.pace.is_started() {
            return Err(Refusal::NotStarted);
        }
        if self.course.is_lock_step() {
            return Err(Refusal::SprintInLockStep);
        }
        if self.course.pace.clock().is_paused() {
            return Err(Refusal::SprintWhilePaused);
        }
        let mut sprint = self.course.sprint.unwrap_or(Sprint {
            until: self.course.pace.game_now(),
            back_to: self.course.pace.clock().frequency(),
            follows_recording: self
                .course
                .playback()
                .is_some_and(|playback| playback.follows_speed),
        });
        let frequency = self.course.pace.set_frequency(now, FREQUENCY_ASKED_MAX)?;
        self.pace_changed(PaceChange::Frequency(frequency), now);
        sprint.until += GameSpan::from_units(i64::from(units));
        self.course.sprint = Some(sprint);
        Ok(())
    }

    /// The game time at which the sprint under way ends, if there is one.
    pub fn sprint_until(&self) -> Option<GameTime> {
        self.course.sprint.map(|sprint| sprint.until)
    }

    /// Ends the sprint if that is due at `now`, before the pass takes its game time; answers the speed from then on.
    pub(super) fn end_sprint(&mut self, now: RealTime) -> Option<Frequency> {
        let at = self.course.sprint_ends_at().filter(|at| *at <= now)?;
        let sprint = self.course.sprint?;
        if !self
            .course
            .pace
            .may_reach(sprint.until, self.next_awaited_deadline())
        {
            return None;
        }
        Some(self.course.leave_sprint(sprint, at))
    }

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
