//! The stages of the server's pass, in their order, and what each may spend.
//!
//! ```text
//!  wait ─> accept ─> read ─> operators ─> posts ─> timers ─> due work ─> outputs ─> journal ─> flush ─> messages ─> watch
//!  ─> statistics ─> round
//! ```
//!
//! The clock is read right after the wait, and again after each read: what came in is stamped with that instant, and the
//! pass goes on at it, so that no input is older than its stamp. Every stage takes at least one
//! item and stops at its budget, so that a storm of due work does not starve the sockets, nor a flood of input
//! the due work; what is left over comes first in the next pass, which then does not wait.
//!
//! The start of an idle agent's next command has no stage of its own: it is a deadline of the game, the last in
//! rank at its instant, so that due work reaches it in the one order that does not depend on where passes are cut.

use trantor_engine::Engine;
use trantor_runtime::service::{Service, Stage, StageTurn};
use trantor_runtime::stages::Budget;
use trantor_time::{NANOS, RealSpan, RealTime};

use crate::autosave;
use crate::console;
use crate::listener::Listener;
use crate::recorder::{self, Recorder};
use crate::shell::{Flushed, Shell};

/// Time that a stage may take in one pass: a tenth of what a player would notice.
const STAGE_SPAN: RealSpan = RealSpan::from_millis(5);

/// How long the server stays after a win that ends it: the slowest of many viewers hear of something twenty times a second.
const AFTER_WIN_SPAN: RealSpan = RealSpan::from_secs(2);

/// Takes new connections in.
pub(crate) struct Accept;

impl Accept {
    /// Each takes some tens of microseconds, and those inside are not to notice (docs/decisions/0117); see also
    /// [`Listener::limit_rate`].
    pub(crate) const BUDGET: Budget = Budget::new(8, RealSpan::from_micros(50));
}

impl Stage<Shell> for Accept {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        let now = service.now();
        service.state.engine.begin_pass(now);
        let signal = service.state.sort_ready();
        if let Some(name) = signal.and_then(|signal| service.state.obey(signal)) {
            log::info!("{name}: ending");
            service.stop_signal().request();
        }
        while has_pending(&service.state, now) && turn.admits() {
            turn.name_item("accept");
            service.state.accept_one(turn.arrival());
        }
    }

    fn next_wake(&self, service: &Service<Shell>) -> Option<RealTime> {
        let now = service.now();
        let next = service.state.listener.as_ref().and_then(Listener::next_try);
        next.map(|at| at.max(now))
    }

    fn close(&mut self, service: &mut Service<Shell>) {
        service.state.refuse_input();
    }
}

fn has_pending(shell: &Shell, now: RealTime) -> bool {
    shell
        .listener
        .as_ref()
        .is_some_and(|listener| listener.has_pending(now))
}

/// Reads what is ready: first of all from those who have just sent something (`read_turns`).
pub(crate) struct Read;

impl Read {
    /// Reads, not connections: each is bounded by [`crate::conn::READ_BYTES_MAX`]. A read of a flood takes ten times as
    /// long as one of a command, and due work waits for all of them, so the span is short.
    pub(crate) const BUDGET: Budget = Budget::new(128, RealSpan::from_micros(50));
}

impl Stage<Shell> for Read {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        while service.state.conns.has_to_read() && turn.admits_short() {
            turn.name_item("read");
            service.state.read_one(|| turn.arrival());
        }
    }

    fn next_wake(&self, service: &Service<Shell>) -> Option<RealTime> {
        service.state.conns.has_to_read().then(|| service.now())
    }
}

/// Carries out what operators said over connections.
pub(crate) struct Operators;

impl Operators {
    /// Some lines take milliseconds, and whoever sends hundreds at once is to hold nobody up for longer than one of
    /// them does. Those that come later, of operators that were held up, are taken in the next pass.
    pub(crate) const BUDGET: Budget = Budget::new(16, RealSpan::from_micros(50));
}

impl Stage<Shell> for Operators {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        while service.state.engine.has_operator_line() && turn.admits() {
            turn.name_item("operator's line");
            console::answer_operator(service);
        }
    }

    fn next_wake(&self, service: &Service<Shell>) -> Option<RealTime> {
        service.state.engine.has_operator_line().then(|| service.now())
    }
}

/// Carries out deadlines, of the game and of the engine, one after another.
#[derive(Default)]
pub(crate) struct DueWork {
    /// Whether the latest turn left some, which an orderly end waits for.
    is_cut_short: bool,
}

impl DueWork {
    /// Small, because deadlines bunch, and the last reply of a bunch waits for all others: after a stall with
    /// 4,000 agents, cutting and flushing every 64 took the p99 of lateness from 3 ms to 1 ms.
    pub(crate) const BUDGET: Budget = Budget::new(64, STAGE_SPAN);
}

impl Stage<Shell> for DueWork {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        let now = service.now();
        while is_due(&service.state.engine, now) && turn.admits() {
            let Some(fired) = service.state.engine.fire_next(now) else {
                break;
            };
            turn.name_item(fired.kind.name());
            service.state.meters.note_due(fired);
        }
        self.is_cut_short = is_due(&service.state.engine, now);
    }

    fn next_wake(&self, service: &Service<Shell>) -> Option<RealTime> {
        service.state.engine.poll_timeout()
    }

    fn waiting(&self) -> usize {
        usize::from(self.is_cut_short)
    }
}

fn is_due(engine: &Engine, now: RealTime) -> bool {
    engine.poll_timeout().is_some_and(|at| at <= now)
}

/// Does what the engine asks for.
pub(crate) struct Outputs;

impl Stage<Shell> for Outputs {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        service.state.carry_out_outputs(|| {
            turn.admits();
            turn.name_item("output");
        });
        if service.state.take_won() {
            autosave::save_soon(service);
            if service.state.ends_at_win {
                end_later(service);
            }
        }
        autosave::save_if_wanted(service);
    }
}

/// Ends the loop when everybody was told who has won: viewers hear it in turn, with the next tick, and spectators later.
fn end_later(service: &mut Service<Shell>) {
    let span = AFTER_WIN_SPAN + service.state.engine.config().spectator_delay;
    log::info!(
        "the match is over: the server ends in {} s",
        span.as_nanos() / NANOS
    );
    let ended = service.once("after win", span, |service| {
        service.stop_signal().request();
        Ok(())
    });
    if let Err(error) = ended {
        log::warn!("it ends now, with no timer left to wait for viewers: {error}");
        service.stop_signal().request();
    }
}

/// Writes the journal, before anybody is told what happened: what a peer knows of is recorded.
pub(crate) struct Journal;

impl Stage<Shell> for Journal {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        let now = service.now();
        let shell = &mut service.state;
        let Some(recorder) = &mut shell.recorder else {
            return;
        };
        turn.admits();
        turn.name_item("journal");
        recorder.write(&mut shell.engine, now);
        recorder::pack_finished(service);
        recorder::sync_later(service);
        recorder::retry_later(service);
    }

    fn next_wake(&self, service: &Service<Shell>) -> Option<RealTime> {
        service.state.recorder.as_ref().and_then(Recorder::write_at)
    }
}

/// Writes answers, and what waits before them, as far as the peers take it.
#[derive(Default)]
pub(crate) struct Flush {
    /// Connections with bytes that could not be written, as of the latest turn. Viewers that take no more are among them.
    unwritten: usize,
}

impl Flush {
    /// Writes, so that one connection with many lines is cut short like many with one.
    pub(crate) const BUDGET: Budget = Budget::new(1_024, STAGE_SPAN);
}

impl Stage<Shell> for Flush {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        let now = service.now();
        let shell = &mut service.state;
        shell.note_writable();
        let mut is_cut_short = false;
        while let Some(conn) = shell.engine.next_dirty_answer() {
            let admits = || {
                let admitted = turn.admits_short();
                turn.name_item("write");
                admitted
            };
            if shell.flush_one(conn, now, admits) == Flushed::CutShort {
                is_cut_short = true;
                break;
            }
        }
        // A connection that was owed nothing more may be closed now, without waiting for another pass.
        shell.carry_out_outputs(|| {});
        self.unwritten = shell.conns.blocked() + usize::from(is_cut_short);
    }

    fn waiting(&self) -> usize {
        self.unwritten
    }
}

/// Writes to viewers, and to players what they are sent because of others: a thousand may watch, and a thousand hear what one
/// says. Within a budget of its own, after all answers.
#[derive(Default)]
pub(crate) struct Messages {
    /// Whether the latest turn left some, which an orderly end waits for.
    is_cut_short: bool,
}

impl Messages {
    /// So many writes that a player whose deadline falls into them is not late by more than its wake-up.
    pub(crate) const BUDGET: Budget = Budget::new(32, RealSpan::from_micros(120));
}

impl Stage<Shell> for Messages {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        let now = service.now();
        let shell = &mut service.state;
        self.is_cut_short = false;
        while let Some(conn) = shell.engine.next_dirty_message() {
            let admits = || {
                let admitted = turn.admits();
                turn.name_item("message");
                admitted
            };
            if shell.flush_one(conn, now, admits) == Flushed::CutShort {
                self.is_cut_short = true;
                break;
            }
        }
        shell.carry_out_outputs(|| {});
    }

    fn waiting(&self) -> usize {
        usize::from(self.is_cut_short)
    }
}

/// Has the system watch for writing only where bytes wait. What it changes is bounded by what was flushed, and a
/// socket left out would wait for ever, so it has no budget.
pub(crate) struct Watch;

impl Stage<Shell> for Watch {
    fn run(&mut self, service: &mut Service<Shell>, _turn: &mut StageTurn<'_>) {
        let now = service.now();
        service.state.update_watch(now);
    }
}

/// Shows to others what was counted.
pub(crate) struct Statistics;

impl Stage<Shell> for Statistics {
    fn run(&mut self, service: &mut Service<Shell>, turn: &mut StageTurn<'_>) {
        turn.admits();
        let shell = &mut service.state;
        if let Some(recorder) = &shell.recorder {
            shell.meters.count_recording(recorder.stats());
        }
        if let Some(autosave) = &shell.autosave {
            shell.meters.count_saves(autosave.stats());
        }
        shell.meters.publish(&shell.conns, shell.listener.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::cell::{Cell, RefCell};
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::rc::Rc;

    use trantor_runtime::Wait;
    use trantor_runtime::service::{self, ServiceBuilder, ServiceLoop, ServiceSettings};
    use trantor_runtime::wait::{Waker, Woken};
    use trantor_time::{Clock, ManualClock};

    use crate::meters::Meters;
    use crate::mio_wait::MioWait;
    use crate::options::Options;

    /// A manual clock that moves between any two readings, and an agent's peer that speaks within a pass.
    #[derive(Clone)]
    struct MovingClock {
        clock: ManualClock,
        peer: Rc<RefCell<TcpStream>>,
        /// Readings until it speaks, while it is yet to speak.
        speaks_in: Rc<Cell<Option<u32>>>,
        spoke_at: Rc<Cell<RealTime>>,
    }

    impl Clock for MovingClock {
        fn now(&self) -> RealTime {
            self.clock.advance(RealSpan::from_millis(1));
            match self.speaks_in.get() {
                Some(0) => {
                    self.spoke_at.set(self.clock.now());
                    self.peer.borrow_mut().write_all(b"ght\n").unwrap();
                    self.speaks_in.set(None);
                }
                more => self.speaks_in.set(more.map(|readings| readings - 1)),
            }
            self.clock.now()
        }
    }

    /// Sees what is ready, and never sleeps.
    struct Polling {
        wait: MioWait,
        clock: MovingClock,
        /// Whether the peer speaks after the next wait: at the second reading, which is not that of the pass.
        is_armed: Rc<Cell<bool>>,
    }

    impl Wait for Polling {
        fn wait(&mut self, _until: Option<RealTime>) -> Woken {
            let woken = self.wait.wait(Some(RealTime::ZERO));
            if self.is_armed.take() {
                self.clock.speaks_in.set(Some(1));
            }
            woken
        }

        fn waker(&self) -> Waker {
            self.wait.waker()
        }
    }

    /// Passes until `is_reached`; everything is on loopback and comes at once, or soon.
    fn pass_until(
        service: &mut ServiceLoop<Shell, MovingClock, Polling>,
        is_reached: impl Fn(&Engine) -> bool,
    ) {
        for _ in 0..100_000 {
            if is_reached(&service.service().state.engine) {
                return;
            }
            service.pass();
        }
        panic!("it is never reached");
    }

    /// The peer sends the end of its command when the pass has begun, and the read stage finds it.
    #[test]
    fn what_is_read_is_stamped_after_it_was_sent() {
        let options = Options {
            port: 0,
            ..Options::default()
        };
        let listener = Listener::open(options.listen_address().into()).unwrap();
        let peer = TcpStream::connect(listener.address()).unwrap();
        let clock = MovingClock {
            clock: ManualClock::default(),
            peer: Rc::new(RefCell::new(peer)),
            speaks_in: Rc::default(),
            spoke_at: Rc::default(),
        };
        let (wait, is_armed) = (MioWait::new().unwrap(), Rc::<Cell<bool>>::default());
        let (meters, _reader) = Meters::new(wait.counts());
        let engine = Engine::new(options.engine_config(1), clock.clock.now());
        let registry = wait.registry().try_clone().unwrap();
        let shell = Shell::new(engine, listener, registry, wait.ready(), wait.patience(), meters).unwrap();
        let wait = Polling {
            wait,
            clock: clock.clone(),
            is_armed: Rc::clone(&is_armed),
        };
        let mut service = ServiceBuilder::new("test", ServiceSettings::default(), shell, clock.clone(), wait)
            .stage("accept", Accept::BUDGET, Accept)
            .stage("read", Read::BUDGET, Read)
            .posts(service::POSTED)
            .timers(service::TIMERS)
            .stage("due work", DueWork::BUDGET, DueWork::default())
            .stage("outputs", Budget::UNLIMITED, Outputs)
            .build();
        let team = options.engine_config(1).game.teams[0].clone();
        clock
            .peer
            .borrow_mut()
            .write_all(format!("{team}\n").as_bytes())
            .unwrap();
        pass_until(&mut service, |engine| engine.game().world().agents().len() == 1);
        // The system reports the beginning before the pass; the rest comes within it.
        clock.peer.borrow_mut().write_all(b"Ri").unwrap();
        is_armed.set(true);
        let started = |engine: &Engine| {
            let agent = engine.game().world().agents().next()?;
            agent.action().map(|action| action.start)
        };
        pass_until(&mut service, |engine| started(engine).is_some());
        let engine = &service.service().state.engine;
        let spoke_at = engine.game_clock().now(clock.spoke_at.get());
        assert!(started(engine).unwrap() >= spoke_at);
    }
}
