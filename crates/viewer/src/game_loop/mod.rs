//! The viewer's loop: frames by the clock, systems once a frame, events in the time between.
//!
//! ```text
//!      frame due                                     not due
//!      one pass of the systems, in their order                  one event after the other: what the platform
//!      input > network > mirror > interpolation                 tells is put in line, what the network brought
//!        > hud > sound > graphics > statistics > timers                 goes to the client, until the later of frame start
//!      those that have a rate of their own skip frames          + interval and frame end + half its duration;
//!                                                               nothing left: sleep until the next frame
//! ```
//!
//! [`GameLoop`] is a value: whoever owns the thread tells it of events and asks it when to come again. The window
//! does so from winit's callbacks ([`crate::app`]), the terminal and the benchmark from a parked thread
//! ([`parked`]). What is drawn on is a [`Screen`]; the list of systems is in [`systems`]; who may change what of it
//! while it runs, in [`commands`].

pub mod commands;
pub mod figures;
pub mod frame_times;
pub mod parked;
pub mod pretend;
pub mod systems;

use trantor_runtime::fault::{Fault, Faults};
use trantor_runtime::frames::{FramePacer, target_rate};
use trantor_runtime::listeners::TimerServer;
use trantor_runtime::publish::Published;
use trantor_runtime::systems::{SystemControl, SystemNotStarted, Systems};
use trantor_time::{Clock, Rate, RealTime};

use crate::input::{Input, InputQueue, Pointer};
use crate::settings::Settings;
use crate::sound::Sound;
use crate::stage::{Outside, Stage};

use self::figures::Figures;
use self::frame_times::FrameTimes;

/// What a loop draws on: a window, a terminal, a pretence.
pub trait Screen {
    /// The rate to aim at, asked once a frame.
    fn display_rate(&mut self, now: RealTime) -> Rate;

    /// How large the picture is, in pixels, and how many of them a point of the display has; panels may be scaled on top.
    fn size(&self) -> ((u32, u32), f32);

    /// Lays out what lies over the picture.
    fn lay_out(&mut self, stage: &mut Stage, figures: &Figures, now: RealTime);

    /// Draws, and hands the picture over. Answers whether anything was drawn.
    ///
    /// # Errors
    /// If it could not be, and it is worth telling.
    fn draw(&mut self, stage: &mut Stage, now: RealTime) -> anyhow::Result<bool>;

    /// Does what only the program around a stage can do; answers what the user should read.
    fn outside(&mut self, what: Outside, stage: &mut Stage, now: RealTime) -> Option<String>;
}

/// Who asked for a timer, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listener {
    /// The panels: the message shown last has been there long enough.
    Notice,
    /// The user, who wants to read this then.
    Reminder(String),
}

/// Timers that may be asked for; the user's are the only ones that could be many.
pub const TIMERS_MAX: usize = 256;

/// The state that all systems share.
#[derive(Debug)]
pub struct Viewer<S> {
    /// What is watched, and how.
    pub stage: Stage,
    /// What it is drawn on.
    pub screen: S,
    /// What keys and mouse did since the last frame.
    pub inputs: InputQueue,
    /// What is remembered from one start to the next.
    pub settings: Settings,
    /// When a frame is due.
    pub pacer: FramePacer,
    /// Timers that parts of the viewer and the user ask for.
    pub timers: TimerServer<Listener>,
    /// Values by name that any part may read.
    pub published: Published,
    /// What the debugging view shows; filled only while it is open.
    pub figures: Figures,
    /// What the game sounds like.
    pub sound: Sound,
    frame_times: FrameTimes,
    pointer: Pointer,
    /// Failures of systems, and the last of them.
    faults: (u64, Option<Fault>),
    /// Whether this is the first frame, which shows things as they are and updates nothing.
    is_first_frame: bool,
    /// A frequency that the user set, which no display changes.
    fixed_rate: bool,
}

/// The loop.
#[derive(Debug)]
pub struct GameLoop<S: Screen, C> {
    viewer: Viewer<S>,
    systems: Systems<Viewer<S>>,
    faults: Faults,
    clock: C,
}

/// When to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// At once; something waits.
    Now,
    /// Then, or with the first event.
    At(RealTime),
}

/// Pieces from the network that are handled before the platform is looked at again.
const PIECES_PER_TURN: u32 = 16;

impl<S: Screen + 'static, C: Clock> GameLoop<S, C> {
    /// A loop that shows `stage` on `screen`.
    pub fn new(stage: Stage, screen: S, settings: Settings, clock: C) -> Self {
        let now = clock.now();
        let timers = TimerServer::new(TIMERS_MAX);
        Self {
            systems: systems::declare(now, &timers),
            viewer: Viewer {
                stage,
                screen,
                inputs: InputQueue::default(),
                sound: Sound::new(&settings),
                settings,
                pacer: FramePacer::new(target_rate([]), now),
                timers,
                published: Published::new(),
                figures: Figures::default(),
                frame_times: FrameTimes::default(),
                pointer: Pointer::default(),
                faults: (0, None),
                is_first_frame: true,
                fixed_rate: false,
            },
            faults: Faults::default(),
            clock,
        }
    }

    /// Starts the systems.
    ///
    /// # Errors
    /// With the first that could not be.
    pub fn start(&mut self) -> Result<(), SystemNotStarted> {
        self.systems.start(&mut self.viewer)
    }

    /// The state, for whoever owns the thread.
    pub fn viewer(&mut self) -> &mut Viewer<S> {
        &mut self.viewer
    }

    /// The switches of the systems.
    pub fn control(&mut self) -> &mut SystemControl {
        self.systems.control()
    }

    /// Whether a system asked for the end.
    pub fn is_over(&mut self) -> bool {
        self.systems.control().is_shutdown_requested()
    }

    /// The clock that the loop goes by.
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

    /// The platform has nothing more: handles what the network brought, draws if a frame is due, and answers when to
    /// come again.
    pub fn turn(&mut self) -> Wake {
        let is_quiet = self.handle_network();
        let now = self.clock.now();
        // While pieces wait, the frame rule was asked after each.
        if is_quiet && self.viewer.pacer.frame_due_when_quiet(now) {
            self.frame(now);
        }
        // What events left to be sent is not kept for the next frame.
        let now = self.clock.now();
        self.viewer.stage.source().tend(now);
        self.viewer.pacer.flushed();
        let wake = self.next_wake(now);
        if !is_quiet || self.viewer.stage.source().has_network() || wake <= now {
            Wake::Now
        } else {
            Wake::At(wake)
        }
    }

    /// Says goodbye, and gives back what is to be remembered.
    pub fn finish(mut self) -> (S, Settings) {
        self.viewer.stage.source().leave();
        self.viewer.stage.remember(&mut self.viewer.settings);
        log::info!("{}", self.viewer.frame_times.pace());
        (self.viewer.screen, self.viewer.settings)
    }

    /// Handles pieces from the network, the oldest first; answers whether none is left.
    fn handle_network(&mut self) -> bool {
        for _ in 0..PIECES_PER_TURN {
            let started = self.clock.now();
            if !self.viewer.stage.source().take_network(started) {
                return true;
            }
            self.after_event(started);
        }
        false
    }

    fn next_wake(&mut self, now: RealTime) -> RealTime {
        let frame = self.viewer.pacer.next_wake(now);
        let timeout = self.viewer.stage.source().next_timeout();
        timeout.map_or(frame, |timeout| timeout.min(frame))
    }

    fn after_event(&mut self, started: RealTime) {
        let now = self.clock.now();
        self.viewer.pacer.event_handled(started, now);
        if self.viewer.pacer.frame_due(now) {
            self.frame(now);
        } else if self.viewer.pacer.flush_due(now) {
            self.viewer.stage.source().tend(now);
            self.viewer.pacer.flushed();
        }
    }

    /// One frame: one pass of the systems.
    fn frame(&mut self, now: RealTime) {
        let Self {
            viewer,
            systems,
            faults,
            clock,
        } = self;
        let rate = viewer.screen.display_rate(now);
        if !viewer.fixed_rate && rate != viewer.pacer.target() {
            viewer.pacer.set_target(rate);
        }
        viewer.is_first_frame = viewer.pacer.begin_frame(now).update.is_none();
        systems.run_due(viewer, now, &mut || clock.now(), faults);
        let end = clock.now();
        viewer.pacer.end_frame(end);
        viewer.frame_times.add(viewer.pacer.target(), now, end);
        if viewer.faults.0 != faults.count() {
            viewer.faults = (faults.count(), faults.last().cloned());
            viewer.say_new_failures(systems.control(), now);
        }
    }
}

impl<S> Viewer<S> {
    /// Puts what a person did in line for the next frame.
    pub fn put_input(&mut self, input: Input) {
        self.inputs.put(input);
    }

    /// Says on the screen which systems failed in the frame of `now`, once for each row of failures.
    fn say_new_failures(&mut self, control: &SystemControl, now: RealTime) {
        let failing = control
            .names()
            .filter_map(|name| Some((name, control.failing(name)?)));
        for (name, failing) in failing.filter(|(_, failing)| failing.failures == 1 && failing.at == now) {
            let message = &failing.message;
            self.stage
                .notice(format!("{name} failed, and is tried again: {message}"));
        }
    }
}

#[cfg(test)]
mod tests;
