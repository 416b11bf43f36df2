//! The viewer's loop: frames by the clock, systems once a frame, events in the time between.
//!
//! ```text
//!      frame due                                     not due
//!      one pass of the systems, in their order                  one event after the other: what the platform
//!      input > network > interpolation > mirror                 tells is put in line, what the network brought
//!        > hud > graphics > statistics                          goes to the client, until the later of frame start
//!      those that have a rate of their own skip frames          + interval and frame end + half its duration;
//!                                                               nothing left: sleep until the next frame
//! ```
//!
//! [`GameLoop`] is a value: the owner of the thread hands it events and asks when to call again. The window
//! does so from winit's callbacks ([`crate::app`]), the terminal and the benchmark from a loop of their own. What is
//! drawn on is a [`Screen`]; the list of systems is in [`systems`]; who may change what of it while it runs, in
//! [`commands`].

mod commands;
pub mod figures;
pub mod pretend;
pub mod systems;

use std::collections::VecDeque;

use trantor_runtime::fault::caught;
use trantor_time::frame_budget::target_rate;
use trantor_time::{Clock, FrameBudget, Rate, RealSpan, RealTime, Turn};

use crate::figures::{FRAMES_KEPT, Figures};
use crate::input::{Input, InputQueue};
use crate::intent::Intent;
use crate::settings::Settings;
use crate::state::{Pointer, ViewerState};

use self::figures::Rates;
use self::systems::Schedule;

/// What a loop draws on: a window, a terminal, memory.
pub trait Screen {
    /// The rate to aim at, asked once a frame.
    fn display_rate(&mut self, now: RealTime) -> Rate;

    /// How large the picture is, in pixels, and how many of them a point of the display has; panels may be scaled on top.
    fn size(&self) -> ((u32, u32), f32);

    /// Lays out the panels over the picture.
    fn lay_out(&mut self, state: &mut ViewerState, figures: &Figures, now: RealTime);

    /// Draws, and hands the picture over. Answers whether anything was drawn.
    ///
    /// # Errors
    /// If drawing failed, with a message for the user.
    fn draw(&mut self, state: &mut ViewerState, now: RealTime) -> anyhow::Result<bool>;

    /// Carries out a request that only the program around the state can; answers a message for the user.
    fn host_request(&mut self, what: Intent, state: &mut ViewerState, now: RealTime) -> Option<String>;
}

#[derive(Debug)]
pub struct Viewer<S> {
    pub state: ViewerState,
    pub screen: S,
    pub inputs: InputQueue,
    pub pacer: FramePacer,
    pub schedule: Schedule,
    /// What the debugging view shows; filled only while it is open.
    pub figures: Figures,
    rates: Rates,
    pointer: Pointer,
    started: RealTime,
    /// Frames that were drawn; a screen may leave one out.
    drawn: u64,
    /// Whether this is the first frame, which shows things as they are and updates nothing.
    is_first_frame: bool,
    /// A frequency that the user set, which no display changes.
    fixed_rate: bool,
    is_over: bool,
}

#[derive(Debug)]
pub struct GameLoop<S: Screen, C> {
    viewer: Viewer<S>,
    clock: C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// At once; something waits.
    Now,
    /// Then, or with the first event.
    At(RealTime),
}

/// Pieces from the network that are handled before the platform is looked at again.
const PIECES_PER_TURN: u32 = 16;

impl<S: Screen, C: Clock> GameLoop<S, C> {
    pub fn new(mut state: ViewerState, screen: S, clock: C) -> Self {
        state.hud().console.systems = systems::list::<S>().map(|(name, ..)| name).to_vec();
        let schedule = Schedule::new(systems::list::<S>().map(|(name, pace, _)| (name, pace)));
        Self {
            viewer: Viewer {
                state,
                screen,
                inputs: InputQueue::default(),
                pacer: FramePacer::new(),
                schedule,
                figures: Figures::default(),
                rates: Rates::default(),
                pointer: Pointer::default(),
                started: clock.now(),
                drawn: 0,
                is_first_frame: true,
                fixed_rate: false,
                is_over: false,
            },
            clock,
        }
    }

    pub fn viewer(&mut self) -> &mut Viewer<S> {
        &mut self.viewer
    }

    pub fn is_over(&self) -> bool {
        self.viewer.is_over
    }

    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Handles an event that the platform would not queue. Its time is counted, and if a frame is due then, it is
    /// drawn though more events may wait.
    pub fn event(&mut self, handle: impl FnOnce(&mut Viewer<S>, RealTime)) {
        let started = self.clock.now();
        handle(&mut self.viewer, started);
        self.after_event(started);
    }

    /// The platform has no more events: handles the network, draws if a frame is due, and answers when to call again.
    pub fn turn(&mut self) -> Wake {
        let is_quiet = self.handle_network();
        let now = self.clock.now();
        // While pieces wait, the frame rule was asked after each.
        if is_quiet && self.viewer.pacer.budget.turn(now, false) == Turn::Frame {
            self.frame(now);
        }
        // Requests of these events are not kept for the next frame.
        let now = self.clock.now();
        self.viewer.state.source().tend(now);
        let wake = self.next_wake(now);
        if !is_quiet || self.viewer.state.source().pieces_waiting() > 0 || wake <= now {
            Wake::Now
        } else {
            Wake::At(wake)
        }
    }

    /// Leaves the server, and answers the screen and the settings to be saved.
    pub fn finish(mut self) -> (S, Settings) {
        self.viewer.state.source().leave();
        (self.viewer.screen, self.viewer.state.settings)
    }

    /// Handles pieces from the network, the oldest first; answers whether none is left.
    fn handle_network(&mut self) -> bool {
        for _ in 0..PIECES_PER_TURN {
            let started = self.clock.now();
            if !self.viewer.state.source().take_network(started) {
                return true;
            }
            self.after_event(started);
        }
        false
    }

    fn next_wake(&mut self, now: RealTime) -> RealTime {
        let frame = match self.viewer.pacer.budget.turn(now, false) {
            Turn::Sleep { until } => until,
            Turn::Frame | Turn::Events { .. } => now,
        };
        let timeout = self.viewer.state.source().next_timeout();
        timeout.map_or(frame, |timeout| timeout.min(frame))
    }

    fn after_event(&mut self, started: RealTime) {
        let now = self.clock.now();
        self.viewer.pacer.time_in_events += now.since(started);
        if self.viewer.pacer.budget.turn(now, true) == Turn::Frame {
            self.frame(now);
        }
    }

    /// One frame: one pass of the systems.
    fn frame(&mut self, now: RealTime) {
        let Self { viewer, clock } = self;
        let rate = viewer.screen.display_rate(now);
        let budget = &mut viewer.pacer.budget;
        if !viewer.fixed_rate && rate != budget.rate() {
            budget.set_rate(rate);
        }
        viewer.is_first_frame = budget.frames() == 0;
        budget.start_frame(now);
        let mut started = clock.now();
        for (index, (_, _, run)) in systems::list().into_iter().enumerate() {
            let Some(elapsed) = viewer.schedule.begin_call(index, now) else {
                continue;
            };
            let outcome = caught(|| run(viewer, elapsed, now));
            let ended = clock.now();
            let took = ended.since(started);
            if let Some(message) = viewer.schedule.end_call(index, now, took, outcome) {
                viewer.state.notice(message);
            }
            started = ended;
        }
        viewer.pacer.end_frame(now, clock.now());
    }
}

impl<S> Viewer<S> {
    /// Queues input for the next frame.
    pub fn put_input(&mut self, input: Input) {
        self.inputs.put(input);
    }

    pub fn quit(&mut self) {
        self.is_over = true;
    }
}

/// When a frame is due, and what frames and events took.
#[derive(Debug)]
pub struct FramePacer {
    pub budget: FrameBudget,
    /// When the last frames began, and how long they took.
    frames: VecDeque<(RealTime, RealSpan)>,
    /// From the start of the program to the end of the first frame, once there was one.
    first_shown: Option<RealSpan>,
    longest: RealSpan,
    time_in_frames: RealSpan,
    pub time_in_events: RealSpan,
}

impl FramePacer {
    fn new() -> Self {
        Self {
            budget: FrameBudget::new(target_rate([])),
            frames: VecDeque::with_capacity(FRAMES_KEPT),
            first_shown: None,
            longest: RealSpan::ZERO,
            time_in_frames: RealSpan::ZERO,
            time_in_events: RealSpan::ZERO,
        }
    }

    /// The frame that began at `started` is drawn and handed over at `now`.
    fn end_frame(&mut self, started: RealTime, now: RealTime) {
        self.budget.end_frame(now);
        let took = now - started;
        if self.frames.len() == FRAMES_KEPT {
            self.frames.pop_front();
        }
        self.frames.push_back((started, took));
        self.first_shown.get_or_insert(now - RealTime::ZERO);
        self.longest = self.longest.max(took);
        self.time_in_frames += took;
    }

    /// The time below which a share `quantile` (0 to 1) of the last frames stayed; zero before the first.
    fn took(&self, quantile: f64) -> RealSpan {
        quantile_of(self.frames.iter().map(|&(_, took)| took), quantile)
    }

    /// The time from one frame's start to the next below which a share `quantile` of the last ones stayed.
    fn interval(&self, quantile: f64) -> RealSpan {
        let starts = self.frames.iter().map(|&(start, _)| start);
        let intervals = starts.clone().skip(1).zip(starts);
        quantile_of(intervals.map(|(next, start)| next - start), quantile)
    }
}

fn quantile_of(spans: impl Iterator<Item = RealSpan>, quantile: f64) -> RealSpan {
    let mut sorted: Vec<RealSpan> = spans.collect();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1) as f64;
    sorted
        .get((last * quantile).round() as usize)
        .copied()
        .unwrap_or(RealSpan::ZERO)
}

#[cfg(test)]
mod tests;
