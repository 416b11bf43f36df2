//! The server's loop: one pass after another, on one thread, around one [`Engine`](trantor_engine::Engine).
//!
//! A pass is, in this order (R-000-23): wait; accept; read what is ready; run what was posted; run due work; carry
//! out what the engine asks for; flush; bring the watched sockets up to date; go round. The clock is read once a
//! pass, right after the wait, and everything in the pass happens at that instant; further readings only measure.
//! An idle agent's next command has no stage of its own: its start is a deadline of the game, the last in rank at
//! its instant, so that due work reaches it in the one order that does not depend on where passes are cut.
//!
//! What the stages do is in [`crate::shell`]. This file decides when the loop sleeps and when it ends.

use std::io;
use std::net::SocketAddr;

use mio::Token;
use trantor_engine::EngineConfig;
use trantor_runtime::fault::Fault;
use trantor_runtime::life::{StopRequest, StopSignal};
use trantor_runtime::posts::POSTS_MAX;
use trantor_runtime::{FaultPolicy, Faults, Poster, Posts, RealClock, Wait};
use trantor_time::{Clock, RealSpan, RealTime};

use crate::listener::Listener;
use crate::mio_wait::MioWait;
use crate::shell::{Shell, stage};
use crate::signals::Termination;

/// How long an ending loop goes on trying to deliver what it owes. With the rest of the end it stays well within
/// the second that people and service managers wait (R-000-26).
const ENDING_SPAN: RealSpan = RealSpan::from_millis(500);

/// Tokens of what is watched besides connections, whose tokens count from zero.
const TOKEN_LISTENER: Token = Token(usize::MAX - 16);
const TOKEN_SIGNALS: Token = Token(usize::MAX - 17);

/// The loop, ready to run.
pub struct EventLoop {
    wait: MioWait,
    clock: RealClock,
    shell: Shell,
    posts: Posts<Shell>,
    faults: Faults,
    termination: Option<Termination>,
    stop: StopSignal,
    address: SocketAddr,
    /// Until when it still tries to deliver; set once it is ending.
    ends_at: Option<RealTime>,
}

impl EventLoop {
    /// A loop that listens on `address`, around a new engine.
    ///
    /// # Errors
    /// If the address cannot be listened on, or the system gives no descriptors.
    pub fn new(address: SocketAddr, config: EngineConfig) -> io::Result<Self> {
        let mut listener = Listener::bind(address)?;
        let address = listener.address();
        let wait = MioWait::new()?;
        listener.watch(wait.registry(), TOKEN_LISTENER)?;
        let clock = RealClock::new();
        Ok(Self {
            clock,
            posts: Posts::new(POSTS_MAX, wait.waker()),
            // An action that failed half-way may have left the engine half changed: better to end.
            faults: Faults::new(FaultPolicy::FailFast),
            termination: None,
            stop: StopSignal::new(wait.waker()),
            address,
            ends_at: None,
            shell: Shell::new(config, listener, wait.registry(), clock)?,
            wait,
        })
    }

    /// Ends in order at SIGINT or SIGTERM. For the one loop of a program: signals are the process's.
    ///
    /// # Errors
    /// If the system does not let us handle them.
    pub fn end_at_signals(&mut self) -> io::Result<()> {
        self.termination = Some(Termination::watch(self.wait.registry(), TOKEN_SIGNALS)?);
        Ok(())
    }

    /// The address listened on, with the port that the system chose if it was asked to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks the loop to end, from any thread.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Posts actions to be run in the loop, from any thread.
    pub fn poster(&self) -> Poster<Shell> {
        self.posts.poster()
    }

    /// Runs until a signal or [`Self::stop_signal`] ends it; everybody connected is then let go.
    ///
    /// # Errors
    /// If a posted action failed.
    pub fn run(&mut self) -> Result<(), Fault> {
        let mut until = self.shell.next_wake();
        loop {
            self.wait.wait(until);
            let now = self.clock.now();
            self.pass(now);
            if let Some(fault) = self.faults.fatal() {
                return Err(fault.clone());
            }
            if self.has_ended(now) {
                self.shell.close_all();
                return Ok(());
            }
            until = self.shell.next_wake();
            if let Some(ends_at) = self.ends_at {
                until = Some(until.map_or(ends_at, |until| until.min(ends_at)));
            }
        }
    }

    fn pass(&mut self, now: RealTime) {
        let Self { wait, shell, .. } = self;
        shell.begin_pass(now);
        let mut is_terminated = None;
        for ready in wait.ready() {
            match ready.token {
                TOKEN_LISTENER => shell.note_new_connections(),
                TOKEN_SIGNALS => is_terminated = self.termination.as_mut().and_then(Termination::received),
                _ => shell.note_ready(ready),
            }
        }
        if let Some(signal) = is_terminated {
            log::info!("{signal}: ending");
            self.stop.request();
        }
        if self.ends_at.is_none() && self.stop.requested() >= StopRequest::Orderly {
            self.ends_at = Some(now + ENDING_SPAN);
            self.posts.close();
            shell.refuse_input();
        }

        shell.accept();
        shell.read();
        self.run_posts();
        let Self { wait, shell, .. } = self;
        shell.run_due_work();
        shell.carry_out_outputs();
        shell.flush();
        shell.update_watch();
        shell.end_pass(self.posts.len(), wait.stats());
    }

    fn run_posts(&mut self) {
        let mut turn = self.shell.enter(stage::POSTS);
        while !self.posts.is_empty() && turn.admits(self.clock.now()) {
            self.posts.run_next(&mut self.shell, &mut self.faults);
        }
        self.shell.leave(turn);
    }

    fn has_ended(&self, now: RealTime) -> bool {
        let Some(ends_at) = self.ends_at else { return false };
        let is_forced = self.stop.requested() == StopRequest::Forced;
        is_forced || now >= ends_at || !self.shell.owes_anything()
    }
}
