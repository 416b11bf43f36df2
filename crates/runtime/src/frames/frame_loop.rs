//! The frame loop for programs that own their event loop: frames and events by the rule, one wait for both.

use trantor_time::{Clock, Rate, RealTime};

use crate::fault::{CallbackResult, Faults, caught};
use crate::inbox::{Inbox, Sender};
use crate::life::{StopRequest, StopSignal};
use crate::wait::Wait;

use super::{Frame, FramePacer, Turn, UpdateStep};

/// What a frame loop shows, and what it does about events.
pub trait Screen {
    /// What wakes the loop besides frames.
    type Event: Send;

    /// Brings what is shown to `step.instant`.
    ///
    /// # Errors
    /// With a message; the screen is then closed by [`Self::close`], not the program.
    fn update(&mut self, step: UpdateStep) -> CallbackResult;

    /// Draws, and hands the picture over.
    fn render(&mut self, frame: &Frame);

    /// Handles one event.
    fn handle(&mut self, event: Self::Event);

    /// Passes on work that events left: uploads, meshes. Called at least every tenth of an interval, and before sleeping.
    fn flush(&mut self) {}

    /// Closes the screen whose update failed, telling the user `message`. Answers whether there is one left to show.
    fn close(&mut self, message: &str) -> bool;
}

/// A loop of frames and events.
#[derive(Debug)]
pub struct FrameLoop<S: Screen, C, W> {
    screen: S,
    inbox: Inbox<S::Event>,
    pacer: FramePacer,
    faults: Faults,
    stop: StopSignal,
    clock: C,
    wait: W,
}

impl<S: Screen, C: Clock, W: Wait> FrameLoop<S, C, W> {
    /// A loop that aims at `target`; at most `events_max` events of each priority wait for it.
    pub fn new(screen: S, target: Rate, events_max: usize, clock: C, wait: W) -> Self {
        Self {
            screen,
            inbox: Inbox::new(events_max, wait.waker()),
            pacer: FramePacer::new(target, clock.now()),
            faults: Faults::default(),
            stop: StopSignal::new(wait.waker()),
            clock,
            wait,
        }
    }

    /// A handle with which any thread puts events.
    pub fn sender(&self) -> Sender<S::Event> {
        self.inbox.sender()
    }

    /// A handle with which any thread asks the loop to end.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// The pacer, to change the target and to see what was measured.
    pub fn pacer(&mut self) -> &mut FramePacer {
        &mut self.pacer
    }

    /// What is shown.
    pub fn screen(&mut self) -> &mut S {
        &mut self.screen
    }

    /// The failures so far.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Runs until it is asked to end, and gives the screen back.
    pub fn run(mut self) -> S {
        while self.stop.requested() == StopRequest::None {
            self.pass();
        }
        self.screen
    }

    /// Does one thing: draws a frame, handles events until the next is due, or sleeps.
    pub fn pass(&mut self) {
        let now = self.clock.now();
        let mut turn = self.pacer.turn(now, !self.inbox.is_empty());
        if turn == Turn::Frame && self.inbox.is_empty() {
            // Back-to-back frames never sleep; what the wait watches over gets its turn all the same.
            self.wait.wait(Some(now));
            turn = self.pacer.turn(now, !self.inbox.is_empty());
        }
        match turn {
            Turn::Frame => self.draw(now),
            Turn::Events { until } => self.handle_events(until),
            Turn::Sleep { until } => {
                if self.pacer.is_unflushed() {
                    self.flush();
                }
                self.wait.wait(Some(until));
            }
        }
    }

    fn draw(&mut self, now: RealTime) {
        let frame = self.pacer.begin_frame(now);
        let Self { screen, faults, .. } = self;
        if let Some(step) = frame.update
            && let Err(message) = caught(|| screen.update(step))
        {
            faults.note("update", message.clone());
            if !screen.close(&message) {
                self.stop.request();
            }
        }
        faults.guard("render", || {
            screen.render(&frame);
            Ok::<_, String>(())
        });
        self.pacer.end_frame(self.clock.now());
    }

    /// Handles what waits, beginning none at or after `until`.
    fn handle_events(&mut self, until: RealTime) {
        let mut now = self.clock.now();
        while now < until {
            let Some(event) = self.inbox.take() else { return };
            let Self { screen, faults, .. } = self;
            faults.guard("event", || {
                screen.handle(event);
                Ok::<_, String>(())
            });
            let started = now;
            now = self.clock.now();
            self.pacer.event_handled(started, now);
            if self.pacer.flush_due(now) {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        let Self { screen, faults, .. } = self;
        faults.guard("flush", || {
            screen.flush();
            Ok::<_, String>(())
        });
        self.pacer.flushed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::Priority;
    use crate::wait::ManualWait;
    use trantor_time::{ManualClock, RealSpan};

    /// Notes what is asked of it; rendering takes a millisecond, an update of a broken screen fails.
    struct Noting {
        clock: ManualClock,
        log: Vec<String>,
        is_broken: bool,
        screens: u32,
    }

    impl Screen for Noting {
        type Event = &'static str;

        fn update(&mut self, step: UpdateStep) -> CallbackResult {
            self.log
                .push(format!("update {} ms", step.elapsed.as_millis_f64()));
            if self.is_broken {
                Err("no scene".into())
            } else {
                Ok(())
            }
        }

        fn render(&mut self, frame: &Frame) {
            self.log.push(format!("render {}", frame.number));
            self.clock.advance(RealSpan::from_millis(1));
        }

        fn handle(&mut self, event: &'static str) {
            self.log.push(event.to_owned());
        }

        fn flush(&mut self) {
            self.log.push("flush".to_owned());
        }

        fn close(&mut self, message: &str) -> bool {
            self.log.push(format!("closed: {message}"));
            self.is_broken = false;
            self.screens -= 1;
            self.screens > 0
        }
    }

    fn noting_loop() -> (FrameLoop<Noting, ManualClock, ManualWait>, ManualWait) {
        let clock = ManualClock::default();
        let wait = ManualWait::new(&clock);
        let screen = Noting {
            clock: clock.clone(),
            log: Vec::new(),
            is_broken: false,
            screens: 2,
        };
        let target = Rate::per_second(100.0).unwrap();
        (FrameLoop::new(screen, target, 16, clock, wait.clone()), wait)
    }

    fn at(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    #[test]
    fn a_frame_is_an_update_and_a_rendering_with_events_between() {
        let (mut frame_loop, wait) = noting_loop();
        let sender = frame_loop.sender();
        wait.at(at(4), move |_| {
            sender.put(Priority::Network, "event").unwrap();
            None
        });
        for _ in 0..6 {
            frame_loop.pass();
        }
        // The first frame has no update. The event woke the loop between frames; what it left was flushed before
        // sleeping.
        let expected = ["render 0", "event", "flush", "update 10 ms", "render 1"];
        assert_eq!(frame_loop.screen().log, expected);
    }

    #[test]
    fn a_failing_update_closes_its_screen_and_not_the_program() {
        let (mut frame_loop, _) = noting_loop();
        frame_loop.pass();
        frame_loop.screen().is_broken = true;
        (0..2).for_each(|_| frame_loop.pass());
        assert_eq!(
            frame_loop.screen().log,
            ["render 0", "update 10 ms", "closed: no scene", "render 1"]
        );
        assert_eq!(frame_loop.stop_signal().requested(), StopRequest::None);
        assert_eq!(
            frame_loop.faults().first().unwrap().to_string(),
            "update failed: no scene"
        );
        frame_loop.screen().is_broken = true;
        (0..2).for_each(|_| frame_loop.pass());
        assert_eq!(
            frame_loop.stop_signal().requested(),
            StopRequest::Orderly,
            "the last screen is closed"
        );
    }

    #[test]
    fn a_stop_ends_the_loop_in_its_sleep() {
        let (frame_loop, wait) = noting_loop();
        let signal = frame_loop.stop_signal();
        wait.at(at(5), move |_| {
            signal.request();
            None
        });
        assert_eq!(frame_loop.run().log, ["render 0"]);
    }
}
