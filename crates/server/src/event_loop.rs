//! The server's loop: a service loop over mio's poll, around one [`Engine`].
//!
//! `stages` has its stages, [`crate::shell`] what they work on. It runs on the calling thread or on one
//! of its own, and several can run in one process.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use trantor_engine::{Control, Engine, EngineConfig, EngineStats, PlaybackStart};
use trantor_game::replay::Recording;
use trantor_game::{Game, GameConfig, Snapshot};
use trantor_runtime::life::StopSignal;
use trantor_runtime::metrics::Reader;
use trantor_runtime::service::{self, EndReason, Service, ServiceBuilder, ServiceLoop, ServiceSettings};
use trantor_runtime::stages::Budget;
use trantor_runtime::{FaultPolicy, Poster, RealClock};
use trantor_time::{Clock, RealSpan, RealTime};

use crate::autosave::{self, Autosave};
use crate::export::Sources;
use crate::keep_alive::KeepAlive;
use crate::listener::{Door, Listener};
use crate::meters::Meters;
use crate::mio_wait::MioWait;
use crate::recorder::RecordKeep;
use crate::reload::Reload;
use crate::service_manager::ServiceManager;
use crate::shell::Shell;
use crate::stages::{Accept, DueWork, Flush, Journal, Messages, Operators, Outputs, Read, Statistics, Watch};

/// How long an ending loop goes on trying to deliver what it owes. With the rest of the end it stays well within
/// the second that people and service managers wait.
const ENDING_SPAN: RealSpan = RealSpan::from_millis(500);

/// The loop, ready to run.
pub struct EventLoop {
    service: ServiceLoop<Shell, RealClock, MioWait>,
    address: SocketAddr,
    meters: Reader,
    clock: RealClock,
}

impl EventLoop {
    /// A loop that listens at `door`, mostly an address, around a new engine.
    ///
    /// # Errors
    /// If the address cannot be listened on, or the system gives no descriptors.
    pub fn new(door: impl Into<Door>, config: EngineConfig) -> io::Result<Self> {
        let accepts_per_second = config.limits.accepts_per_second;
        Self::around(door.into(), accepts_per_second, |now| {
            Ok(Engine::new(config, now))
        })
    }

    /// A loop that listens at `door`, mostly an address, around an engine that goes on with `game`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn resume(door: impl Into<Door>, config: EngineConfig, game: Game) -> io::Result<Self> {
        let accepts_per_second = config.limits.accepts_per_second;
        Self::around(door.into(), accepts_per_second, |now| {
            Ok(Engine::resume(config, game, now))
        })
    }

    /// A loop that listens at `door` and shows `recording`; see [`Engine::play`].
    ///
    /// # Errors
    /// As [`Self::new`], or if the recording is not what it was when it was read.
    pub fn play(
        door: impl Into<Door>,
        config: EngineConfig,
        recording: &Arc<Recording>,
        start: PlaybackStart,
    ) -> io::Result<Self> {
        let accepts_per_second = config.limits.accepts_per_second;
        Self::around(door.into(), accepts_per_second, |now| {
            Engine::play(config, recording, start, now).map_err(io::Error::other)
        })
    }

    fn around(
        door: Door,
        accepts_per_second: u32,
        make: impl FnOnce(RealTime) -> io::Result<Engine>,
    ) -> io::Result<Self> {
        let mut listener = Listener::open(door)?;
        listener.limit_rate(accepts_per_second);
        let address = listener.address();
        let wait = MioWait::new()?;
        let clock = RealClock::new();
        let (meters, reader) = Meters::new(wait.counts());
        let mut shell = Shell::new(
            make(clock.now())?,
            listener,
            wait.registry().try_clone()?,
            wait.ready(),
            wait.patience(),
            meters,
        )?;
        // Programs of this user find its token as soon as they can connect.
        if shell.engine.config().control == Control::User {
            shell.set_control(Control::User, None);
        }
        let settings = ServiceSettings {
            // What failed half-way may have left the engine half changed: better to end.
            on_fault: FaultPolicy::FailFast,
            stop_limit: ENDING_SPAN,
            ..ServiceSettings::default()
        };
        let service = ServiceBuilder::new("server", settings, shell, clock, wait)
            .stage("accept", Accept::BUDGET, Accept)
            .stage("read", Read::BUDGET, Read)
            .stage("operators", Operators::BUDGET, Operators)
            .posts(service::POSTED)
            .timers(service::TIMERS)
            .stage("due work", DueWork::BUDGET, DueWork::default())
            .stage("outputs", Budget::UNLIMITED, Outputs)
            .stage("journal", Budget::UNLIMITED, Journal)
            .stage("flush", Flush::BUDGET, Flush::default())
            .stage("messages", Messages::BUDGET, Messages::default())
            .stage("watch", Budget::UNLIMITED, Watch)
            .stage("statistics", Budget::UNLIMITED, Statistics)
            .build();
        Ok(Self {
            service,
            address,
            meters: reader,
            clock,
        })
    }

    /// Ends in order at SIGINT or SIGTERM. For the one loop of a program: signals are the process's.
    ///
    /// # Errors
    /// If the system does not let us handle them.
    pub fn end_at_signals(&mut self) -> io::Result<()> {
        self.service.service().state.watch_signals()
    }

    /// Reads the options again at SIGHUP, which otherwise ends the loop.
    pub fn reload_at_hang_up(&mut self, reload: Reload) {
        self.service.service().state.reload = Some(reload);
    }

    /// Tells a service manager that `what` is ready, that it is alive as often as that is wanted, and of its end.
    ///
    /// # Errors
    /// If there are too many timers.
    pub fn serve(&mut self, manager: ServiceManager, what: &str) -> io::Result<()> {
        let service = self.service.service();
        manager.ready(what);
        if let Some(every) = manager.sign_of_life_every() {
            service
                .every("watchdog", every, |service| {
                    service.state.manager.alive();
                    Ok(())
                })
                .map_err(io::Error::other)?;
        }
        service.state.manager = manager;
        Ok(())
    }

    /// Ends in order once a team has won, when everybody was told.
    pub fn end_at_win(&mut self) {
        self.service.service().state.ends_at_win = true;
    }

    /// Wakes a little before the game's deadlines and spins for the rest, until the core turns out to be shared.
    pub fn wake_precisely(&mut self) {
        self.service.service().state.is_precise = true;
    }

    /// Holds no more connections than this at one time, also while they wait to be taken in.
    pub fn leave_descriptors(&mut self, connections_room: usize) {
        self.service.service().state.leave_descriptors(connections_room);
    }

    /// Sets when peers count as gone that nothing is heard of; `None`: never.
    pub fn keep_alive(&mut self, keep_alive: Option<KeepAlive>) {
        self.service.service().state.conns.set_keep_alive(keep_alive);
    }

    /// Keeps a journal of everything in `directory`, and of older ones as much as `keep` says.
    ///
    /// # Errors
    /// If no file can be made there, or the system refuses a thread.
    pub fn record(&mut self, directory: &Path, keep: RecordKeep) -> io::Result<()> {
        self.service.service().state.start_recording(directory, keep)?;
        self.service.start_workers(self.clock)
    }

    /// Saves the game so often, and once more at the end.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn save(&mut self, autosave: Autosave, every: RealSpan) -> io::Result<()> {
        let clock = self.clock;
        let service = self.service.service();
        service.state.autosave = Some(autosave);
        service.state.engine.expect_saves();
        service
            .every(autosave::TIMER, every, move |service| {
                if let Err(reason) = autosave::save(service, clock) {
                    log::warn!("{reason}");
                }
                Ok(())
            })
            .map_err(io::Error::other)?;
        self.service.start_workers(clock)
    }

    /// What a save would hold now.
    pub(crate) fn state_to_save(&mut self) -> Arc<Snapshot> {
        self.service.service().state.engine.state_to_save()
    }

    /// What its game was made from.
    pub fn game_config(&mut self) -> GameConfig {
        self.service.service().state.engine.game().config().clone()
    }

    /// The address listened on, with the port that the system chose if it was asked to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks the loop to end, from any thread.
    pub fn stop_signal(&self) -> StopSignal {
        self.service.stop_signal()
    }

    /// Posts actions to be run in the loop, from any thread.
    pub fn poster(&mut self) -> Poster<Service<Shell>> {
        self.service.service().poster()
    }

    /// What an exporter needs to tell how this loop does.
    pub fn sources(&mut self) -> Sources {
        Sources {
            passes: self.service.metrics(),
            server: self.meters.clone(),
            poster: self.poster(),
        }
    }

    /// Runs until a signal or [`Self::stop_signal`] ends it; everybody connected is then let go.
    pub fn run(self) -> Ended {
        let clock = self.clock;
        let mut ended = self.service.run();
        ended.state.close_all();
        if matches!(ended.why, EndReason::Stopped | EndReason::StopLimit) {
            ended.state.finish_keeping();
        }
        Ended {
            why: ended.why,
            stats: ended.state.engine.stats(clock.now()),
            digest: ended.state.engine.game().digest(),
        }
    }
}

/// How a loop ended, and what it had done by then.
#[derive(Debug)]
pub struct Ended {
    /// Why it ended.
    pub why: EndReason,
    /// The last figures.
    pub stats: EngineStats,
    /// One number for the state in which the game was left, as `trantor-server sim` tells it.
    pub digest: u64,
}

impl fmt::Display for Ended {
    /// One line for people and scripts: how long, how much, how late, and what the machine could not keep up with.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineStats {
            uptime_ms,
            counters,
            lateness,
            slipped,
            ..
        } = &self.stats;
        write!(
            f,
            "ended after {:.1} s: {} deadlines, {} commands, lateness p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms, slipped {:.1} units, \
             state {:016x}",
            *uptime_ms as f64 / 1e3,
            counters.fired.iter().sum::<u64>(),
            counters.commands,
            lateness.p50_ns as f64 / 1e6,
            lateness.p99_ns as f64 / 1e6,
            lateness.max_ns as f64 / 1e6,
            slipped.as_units_f64(),
            self.digest,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::Write as _;

    use crate::options::Options;
    use crate::{console, recorder};

    /// One on a port that the system chooses.
    fn event_loop(options: Options) -> EventLoop {
        let options = Options { port: 0, ..options };
        EventLoop::new(options.listen_address(), options.engine_config(1)).unwrap()
    }

    #[test]
    fn what_is_recorded_is_forced_to_the_disk_in_the_background() {
        let directory = std::env::temp_dir().join(format!("trantor-sync-{}", std::process::id()));
        let mut event_loop = event_loop(Options::default());
        event_loop.record(&directory, RecordKeep::default()).unwrap();
        let mut service = event_loop.service;
        let poster = service.service().poster();
        poster.post("wake", |_: &mut Service<Shell>| {}).unwrap();
        service.pass();
        let synced = |service: &mut ServiceLoop<Shell, RealClock, MioWait>| {
            let recorder = service.service().state.recorder.as_ref();
            recorder.map_or(0, |recorder| recorder.stats().synced)
        };
        let timer = service.next_wake().unwrap();
        assert!(
            timer > RealClock::new().now(),
            "the beginning of the journal waits for its turn"
        );
        recorder::sync(service.service());
        while synced(&mut service) == 0 {
            service.pass();
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_save_that_is_not_begun_is_not_said_to_be() {
        let directory = std::env::temp_dir().join(format!("trantor-save-twice-{}", std::process::id()));
        let mut event_loop = event_loop(Options::default());
        let say = |event_loop: &mut EventLoop| console::carry_out(event_loop.service.service(), None, "save");
        assert!(say(&mut event_loop).unwrap_err().contains("--save DIR"));
        let autosave = Autosave::new(&directory, 3).unwrap();
        event_loop.save(autosave, RealSpan::from_secs(60)).unwrap();
        assert!(say(&mut event_loop).unwrap().starts_with("saving in "));
        let refused = say(&mut event_loop).unwrap_err();
        assert!(refused.contains("still being written"), "{refused}");
        drop(event_loop);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    /// Drawing a map takes milliseconds, and an operator may ask for hundreds at once.
    #[test]
    fn an_operator_that_asks_for_much_at_once_gets_it_in_many_passes() {
        let mut event_loop = event_loop(Options {
            width: 200,
            height: 200,
            control: Control::Loopback,
            ..Options::default()
        });
        let mut peer = std::net::TcpStream::connect(event_loop.address()).unwrap();
        let lines = format!("ADMIN\n{}tick rate 200\n", "map\n".repeat(100));
        peer.write_all(lines.as_bytes()).unwrap();
        let now = event_loop.clock.now();
        let service = &mut event_loop.service;
        loop {
            service.pass();
            let engine = &mut service.service().state.engine;
            if engine.has_operator_line() {
                break;
            }
            assert_eq!(engine.stats(now).counters.admin_requests, 0, "all in one pass");
        }
    }
}
