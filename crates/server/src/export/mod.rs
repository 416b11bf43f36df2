//! `/metrics`, `/health` and the log line: what the server counts, told to others.
//!
//! It has a loop and a thread of its own, which sleeps until a request comes or a line for the log is due. The meters
//! are read where the server's loop publishes them with its passes, so that reading them costs that loop nothing.
//! For what the engine counts it is sent a task, and for `/health` too, unless it has shown just before that it runs.

mod exchanges;
mod http;

use std::io;
use std::net::SocketAddr;

use crossbeam_channel::{Receiver, Sender, bounded};
use mio::Token;
use trantor_engine::ConnId;
use trantor_runtime::life::{LoopThread, StartError, StopSignal};
use trantor_runtime::metrics::{Collector, Reader};
use trantor_runtime::{RealClock, Wait as _, Waker};
use trantor_time::{Clock, RealSpan, RealTime};

use self::exchanges::{Exchanges, Read};
use self::http::{Request, Status};
use crate::conn::READ_BYTES_MAX;
use crate::engine_source::EngineSource;
use crate::listener::{Door, Listener};
use crate::loop_meter::LoopReader;
use crate::mio_wait::MioWait;
use crate::options::MetricsOptions;
use crate::shell::Shell;
use crate::tasks::TaskSender;

/// Connections at one time; a new one evicts another. A handful of scrapers never come near, and a peer that
/// opens thousands takes descriptors from nobody.
const CONNECTIONS_MAX: usize = 32;

/// Connections taken in within a second. Each `/metrics` takes some microseconds of the server's loop, and each connection
/// has an eighth of a second at least before it can be evicted.
const EXCHANGES_PER_SECOND: u32 = 200;

/// Connections that may wait for that: the oldest has waited for a second then.
const WAITING_MAX: usize = 256;

/// How long a connection may take from its first byte to its end.
const EXCHANGE_SPAN: RealSpan = RealSpan::from_secs(5);

/// How long the server's loop may take to show that it runs. Its longest pass is far below.
const HEALTH_SPAN: RealSpan = RealSpan::from_secs(1);

/// How long a sign of life of the server's loop answers `/health`: however often that is asked, the loop is asked four times
/// a second, and an idle one never.
const HEALTH_FRESH_SPAN: RealSpan = RealSpan::from_millis(250);

/// What Prometheus sees before each name.
const NAME_PREFIX: &str = "trantor_";

/// What is worth a line in the log; the rest is for scrapers.
const LOGGED: [&str; 5] = [
    "due.lateness_ns",
    "server.loop.pass.duration_ns",
    "server.loop.utilization",
    "sessions.agents",
    "game.slips",
];

/// Connections accepted and reads in a pass, so that a peer that sends without end does not delay the others.
const ITEMS_MAX: usize = 64;

const TOKEN_LISTENER: Token = Token(usize::MAX - 16);

/// What the server's loop offers to be told and asked.
#[derive(Clone)]
pub struct Sources {
    /// What the loop counts of its passes.
    pub passes: LoopReader,
    /// What the server counts.
    pub server: Reader,
    /// Where to ask whether it runs.
    pub tasks: TaskSender,
}

/// The exporter at work; dropping it ends it.
pub struct Exporter {
    address: Option<SocketAddr>,
    _thread: LoopThread<()>,
}

impl Exporter {
    /// Starts telling what `sources` have, as `options` say.
    ///
    /// # Errors
    /// If the address cannot be listened on, or there is no thread. One line.
    pub fn start(options: &MetricsOptions, sources: Sources) -> Result<Self, StartError> {
        let listener = match options.address {
            Some(address) => {
                let cannot = |error| StartError::NotMade(format!("no metrics on {address}: {error}"));
                Some(Listener::open(Door::Address(address)).map_err(cannot)?)
            }
            None => None,
        };
        let address = listener.as_ref().map(Listener::address);
        let options = options.clone();
        let make = move || {
            let exporter = ExportLoop::new(&options, listener, sources)?;
            let signal = exporter.stop.clone();
            Ok::<_, io::Error>((exporter, signal))
        };
        let thread = LoopThread::start("metrics", make, ExportLoop::run)?;
        Ok(Self {
            address,
            _thread: thread,
        })
    }

    /// Where it listens, if it does, with the port that the system chose if it was asked to.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

/// The exporter's loop.
struct ExportLoop {
    wait: MioWait,
    stop: StopSignal,
    listener: Option<Listener>,
    read_buffer: Box<[u8]>,
    exchanges: Exchanges,
    collector: Collector,
    log_line: Option<LogLine>,
    server: TaskSender,
    health: Health,
}

/// The line for the log.
struct LogLine {
    collector: Collector,
    every: RealSpan,
    due: RealTime,
}

/// What is known of whether the server's loop runs.
struct Health {
    /// The loop has been asked, and has not answered yet.
    asked_at: Option<RealTime>,
    answered_at: Option<RealTime>,
    /// Connections that wait for its answer.
    waiting: Vec<ConnId>,
    /// Where the loop answers: one question at a time.
    answers: Receiver<()>,
    to_answer: Sender<()>,
    waker: Waker,
}

impl ExportLoop {
    fn new(options: &MetricsOptions, mut listener: Option<Listener>, sources: Sources) -> io::Result<Self> {
        let wait = MioWait::new()?;
        if let Some(listener) = &mut listener {
            listener.watch(wait.registry(), TOKEN_LISTENER)?;
            listener.limit_rate(EXCHANGES_PER_SECOND);
            listener.set_waiting_max(WAITING_MAX);
        }
        let collector_of = |sources: &Sources| {
            let mut collector = Collector::default();
            collector.add("loop", sources.passes.clone());
            collector.add("server", sources.server.clone());
            collector.add("engine", EngineSource::new(sources.tasks.clone()));
            collector
        };
        let log_line = options.log.to_level().map(|level| {
            let mut collector = collector_of(&sources);
            collector.log_at(level, &LOGGED);
            LogLine {
                collector,
                every: options.every,
                due: RealClock::new().now() + options.every,
            }
        });
        let (to_answer, answers) = bounded(1);
        Ok(Self {
            stop: StopSignal::new(wait.waker()),
            listener,
            read_buffer: vec![0; READ_BYTES_MAX].into(),
            exchanges: Exchanges::new(wait.registry().try_clone()?, options.hosts.clone()),
            collector: collector_of(&sources),
            log_line,
            server: sources.tasks,
            health: Health {
                asked_at: None,
                answered_at: None,
                waiting: Vec::new(),
                answers,
                to_answer,
                waker: wait.waker(),
            },
            wait,
        })
    }

    /// Runs until it is asked to stop.
    fn run(mut self) {
        let clock = RealClock::new();
        while !self.stop.is_requested() {
            self.wait.wait(self.next_wake(clock.now()));
            self.pass(clock.now());
        }
    }

    fn pass(&mut self, now: RealTime) {
        while let Some(ready) = self.wait.next_ready() {
            match ready.token {
                TOKEN_LISTENER => self.listener.iter_mut().for_each(Listener::note_ready),
                _ => self.exchanges.note_ready(ready),
            }
        }
        self.close_overdue(now);
        if self.health.answers.try_recv().is_ok() {
            self.health.asked_at = None;
            self.health.answered_at = Some(now);
            self.answer_health(true);
        }
        if self.health.overdue_at().is_some_and(|at| at <= now) {
            self.answer_health(false);
        }
        for _ in 0..ITEMS_MAX {
            if self.has_pending(now) {
                self.accept_one(now);
            } else if self.exchanges.has_to_read() {
                self.read_one(now);
            } else {
                break;
            }
        }
        self.exchanges.write_on();
        while let Some(conn) = self.exchanges.next_over() {
            self.close(conn);
        }
        self.exchanges.update_watch();
        if let Some(line) = self.log_line.as_mut().filter(|line| line.due <= now) {
            line.collector.gather(now);
            line.due = now + line.every;
        }
    }

    /// When there is something to do, if nothing comes; `None` for never.
    fn next_wake(&self, now: RealTime) -> Option<RealTime> {
        let listener = self.listener.as_ref();
        let next = [
            self.exchanges.has_to_read().then_some(now),
            listener.and_then(Listener::next_try),
            self.exchanges.oldest().map(|(_, began)| began + EXCHANGE_SPAN),
            self.health.overdue_at(),
            self.log_line.as_ref().map(|line| line.due),
        ];
        next.into_iter().flatten().min()
    }

    fn has_pending(&self, now: RealTime) -> bool {
        self.listener
            .as_ref()
            .is_some_and(|listener| listener.has_pending(now))
    }

    fn accept_one(&mut self, now: RealTime) {
        let Some((socket, peer)) = self.listener.as_mut().and_then(|listener| listener.accept(now)) else {
            return;
        };
        if self.exchanges.len() == CONNECTIONS_MAX {
            let evicted = self.exchanges.to_evict().expect("there are as many as may be");
            self.close(evicted);
        }
        if let Err(error) = self.exchanges.open(socket, peer, now) {
            log::warn!("a connection to the metrics cannot be watched: {error}");
        }
    }

    /// Closes connections that have had their time.
    fn close_overdue(&mut self, now: RealTime) {
        while let Some((conn, began)) = self.exchanges.oldest()
            && began + EXCHANGE_SPAN <= now
        {
            self.close(conn);
        }
    }

    /// Reads once, and answers the request that this made whole, if any.
    fn read_one(&mut self, now: RealTime) {
        let Some((conn, read)) = self.exchanges.read_next(&mut self.read_buffer) else {
            return;
        };
        let request = match read {
            Read::Ended => {
                self.close(conn);
                return;
            }
            Read::More => return,
            Read::Whole(request) => request,
        };
        match request {
            Request::Metrics => {
                let text = self.collector.gather(now).to_prometheus(NAME_PREFIX);
                self.exchanges.answer(conn, http::answer(Status::Ok, &text));
            }
            Request::Health => self.ask_health(conn, now),
            Request::Refused(status) => self.exchanges.answer(conn, http::refusal(status)),
        }
    }

    /// Answers whether the server's loop runs, at once if it is known, or when the loop has answered or did not in time.
    fn ask_health(&mut self, conn: ConnId, now: RealTime) {
        self.health.waiting.push(conn);
        if self.health.is_known_alive(now) {
            return self.answer_health(true);
        }
        if self.health.asked_at.is_none() {
            let (to_answer, waker) = (self.health.to_answer.clone(), self.health.waker.clone());
            let answer = move |_: &mut Shell| {
                // There is room for the only one, unless the exporter has ended.
                let _ended = to_answer.try_send(());
                waker.wake();
            };
            match self.server.send("health", answer) {
                Ok(()) => self.health.asked_at = Some(now),
                Err(_) => self.answer_health(false),
            }
        }
    }

    /// Answers all who wait to hear whether the server's loop runs.
    fn answer_health(&mut self, runs: bool) {
        let answer = match runs {
            true => http::answer(Status::Ok, "ok\n"),
            false => http::answer(Status::Unavailable, "the server's loop does not answer\n"),
        };
        for conn in std::mem::take(&mut self.health.waiting) {
            self.exchanges.answer(conn, answer.clone());
        }
    }

    fn close(&mut self, conn: ConnId) {
        if self.exchanges.close(conn) {
            self.health.waiting.retain(|waiting| *waiting != conn);
            self.listener.iter_mut().for_each(Listener::room_was_made);
        }
    }
}

impl Health {
    fn is_known_alive(&self, now: RealTime) -> bool {
        self.answered_at.is_some_and(|at| now < at + HEALTH_FRESH_SPAN)
    }

    /// When the loop counts as hanging, if a connection waits for it.
    fn overdue_at(&self) -> Option<RealTime> {
        self.asked_at
            .filter(|_| !self.waiting.is_empty())
            .map(|at| at + HEALTH_SPAN)
    }
}
