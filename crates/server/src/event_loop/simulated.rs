//! The loop in a simulation, which sleeps for it, accepts, and runs its disk jobs when it wants them done.
//!
//! Everything else is the loop that ships: stages and budgets, connections, wake-up limiter, timers, tasks, storage.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use trantor_engine::{Engine, FiredKind};
use trantor_time::{Clock, RealTime};

use super::{EndReason, Ended, EventLoop};
use crate::listener::{Acceptor, Listener};
use crate::passes::{REAL_KINDS, StageUse};
use crate::shell::{Shell, disk::Work};
use crate::wait::Ready;

impl EventLoop {
    /// A loop around `engine` that accepts connections of `acceptor`. Nothing of it runs on another thread.
    pub fn simulated(engine: Engine, acceptor: Box<dyn Acceptor>, clock: Box<dyn Clock>) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut listener = Listener::of(acceptor, address);
        listener.limit_rate(engine.config().limits.accepts_per_second);
        let mut shell = Shell::new(engine, listener, clock.now())?;
        shell.disk.simulate();
        Ok(Self::of(shell, clock, address))
    }

    /// When the loop wakes if nothing else wakes it: the next deadline, or later if the limiter defers it.
    pub fn wake_at(&mut self) -> Option<RealTime> {
        let until = match self.shell.tasks.len() {
            0 => self.next_wake(),
            _ => Some(self.passes.end()),
        };
        match until {
            Some(until) if until > self.passes.end() => self.shell.wait.wake_at(Some(until)),
            _ => until,
        }
    }

    /// The next deadline of the loop, which the limiter may defer.
    pub fn next_deadline(&self) -> Option<RealTime> {
        self.next_wake()
    }

    /// A sleep has ended at `now`: the limiter takes a token if it was for a deadline.
    pub fn note_woken(&mut self, now: RealTime) {
        let until = self.next_wake();
        if until.is_some_and(|until| until > self.passes.end()) {
            self.shell.wait.note_woken(until, now);
        }
    }

    /// Runs a pass with these sockets `ready`; answers why the loop ended, once it has.
    pub fn pass_with(&mut self, ready: impl IntoIterator<Item = Ready>) -> Option<EndReason> {
        self.shell.wait.report(ready);
        self.shell.now = self.clock.now().max(self.shell.now);
        self.last_wake = Some(self.shell.now);
        self.run_pass()
    }

    /// The next disk job that waits for a worker: its name and its work. Its end comes to the next pass.
    pub fn take_disk_job(&mut self) -> Option<(&'static str, Work)> {
        self.shell.disk.take_work()
    }

    /// Ends the loop after the last pass.
    pub fn finish(self, why: EndReason) -> Ended {
        self.end(why)
    }

    pub fn engine(&self) -> &Engine {
        &self.shell.engine
    }

    pub fn shell(&mut self) -> &mut Shell {
        &mut self.shell
    }

    /// Ticks since the loop began.
    pub fn ticks_run(&self) -> u64 {
        let kinds = REAL_KINDS.iter().zip(self.shell.stats.real_deadlines);
        kinds
            .filter(|(kind, _)| **kind == FiredKind::Tick)
            .map(|(_, count)| count)
            .sum()
    }

    /// What each stage spent in the latest pass.
    pub fn stages(&self) -> &[StageUse] {
        self.passes.stages()
    }

    #[cfg(feature = "faults")]
    pub fn ignore_budgets(&mut self) {
        self.passes.ignore_budgets();
    }
}
