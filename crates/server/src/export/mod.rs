//! `/metrics`, `/health` and the log line: what the server counts, told to others.
//!
//! It has a loop and a thread of its own, which sleeps until somebody asks or a line for the log is due. The meters
//! are read where the server's loop publishes them with its passes, so that telling them costs that loop nothing.
//! For what the engine counts it is sent an action, and for `/health` too, unless it has shown just before that it runs.

mod exchanges;
mod http;

use std::io;
use std::net::SocketAddr;

use mio::Token;
use trantor_engine::ConnId;
use trantor_runtime::life::{LoopThread, StartError};
use trantor_runtime::metrics::loop_meter::LoopReader;
use trantor_runtime::metrics::{Collector, Reader};
use trantor_runtime::service::{
    self, EndReason, Outbound, Service, ServiceBuilder, ServiceLoop, ServiceSettings, Stage, StageTurn,
};
use trantor_runtime::stages::Budget;
use trantor_runtime::{Poster, RealClock};
use trantor_time::{RealSpan, RealTime};

use self::exchanges::{Exchanges, Read};
use self::http::{Request, Status};
use crate::conn::READ_BYTES_MAX;
use crate::engine_source::EngineSource;
use crate::listener::{Door, Listener};
use crate::mio_wait::{MioWait, ReadyList};
use crate::options::MetricsOptions;
use crate::shell::Shell;

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

const TOKEN_LISTENER: Token = Token(usize::MAX - 16);

/// What the server's loop offers to be told and asked.
#[derive(Clone)]
pub struct Sources {
    /// What the loop counts of its passes.
    pub passes: LoopReader,
    /// What the server counts.
    pub server: Reader,
    /// Where to ask whether it runs.
    pub poster: Poster<Service<Shell>>,
}

/// The exporter at work; dropping it ends it.
pub struct Exporter {
    address: Option<SocketAddr>,
    _thread: LoopThread<EndReason>,
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
            let exporter = build(&options, listener, sources)?;
            let signal = exporter.stop_signal();
            Ok::<_, io::Error>((exporter, signal))
        };
        let thread = LoopThread::start("metrics", make, |exporter| exporter.run().why)?;
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

/// What the exporter's loop works on.
struct Desk {
    listener: Option<Listener>,
    ready: ReadyList,
    read_buffer: Box<[u8]>,
    exchanges: Exchanges,
    /// Answers, which leave with the flush of the pass; one for each connection at most.
    answers: Outbound<ConnId, Vec<u8>>,
    collector: Collector,
    server: Poster<Service<Shell>>,
    health: Health,
}

/// What is known of whether the server's loop runs.
#[derive(Default)]
struct Health {
    /// The loop has been asked, and has not answered yet.
    asked_at: Option<RealTime>,
    answered_at: Option<RealTime>,
    /// Connections that wait for its answer.
    waiting: Vec<ConnId>,
}

fn build(
    options: &MetricsOptions,
    mut listener: Option<Listener>,
    sources: Sources,
) -> io::Result<ServiceLoop<Desk, RealClock, MioWait>> {
    let wait = MioWait::new()?;
    if let Some(listener) = &mut listener {
        listener.watch(wait.registry(), TOKEN_LISTENER)?;
        listener.limit_rate(EXCHANGES_PER_SECOND);
        listener.set_waiting_max(WAITING_MAX);
    }
    let collector_of = |sources: &Sources| {
        let mut collector = Collector::new(options.every);
        collector.add("loop", sources.passes.clone());
        collector.add("server", sources.server.clone());
        collector.add("engine", EngineSource::new(sources.poster.clone()));
        collector
    };
    let mut log_collector = options.log.to_level().map(|level| {
        let mut collector = collector_of(&sources);
        collector.log_at(level, &LOGGED);
        collector
    });
    let desk = Desk {
        listener,
        ready: wait.ready(),
        read_buffer: vec![0; READ_BYTES_MAX].into(),
        exchanges: Exchanges::new(wait.registry().try_clone()?, options.hosts.clone()),
        answers: Outbound::new(CONNECTIONS_MAX),
        collector: collector_of(&sources),
        server: sources.poster,
        health: Health::default(),
    };
    let mut builder = ServiceBuilder::new(
        "metrics",
        ServiceSettings::default(),
        desk,
        RealClock::new(),
        wait,
    )
    .stage("exchanges", Budget::new(64, service::STAGE_TIME), Serve)
    .posts(service::POSTED)
    .timers(service::TIMERS)
    .stage_fn("answers", Budget::new(64, service::STAGE_TIME), flush);
    if let Some(mut collector) = log_collector.take() {
        let gather = move |service: &mut Service<Desk>| {
            collector.gather(service.now());
            Ok(())
        };
        builder
            .service()
            .every("metrics_log", options.every, gather)
            .expect("the first timer fits");
    }
    Ok(builder.build())
}

/// Takes connections and requests in, and ends those whose time is over.
struct Serve;

impl Stage<Desk> for Serve {
    fn run(&mut self, service: &mut Service<Desk>, turn: &mut StageTurn<'_>) {
        let now = service.now();
        let desk = &mut service.state;
        while let Some(ready) = desk.ready.pop() {
            match ready.token {
                TOKEN_LISTENER => desk.listener.iter_mut().for_each(Listener::note_ready),
                _ => desk.exchanges.note_ready(ready),
            }
        }
        desk.close_overdue(now);
        if desk.health.overdue_at().is_some_and(|at| at <= now) {
            desk.answer_health(false, now);
        }
        while desk.has_pending(now) && turn.admits() {
            desk.accept_one(now);
        }
        while service.state.exchanges.has_to_read() && turn.admits() {
            if let Some((conn, Request::Health)) = service.state.read_one(now) {
                ask_health(service, conn);
            }
        }
    }

    fn next_wake(&self, service: &Service<Desk>) -> Option<RealTime> {
        let (now, desk) = (service.now(), &service.state);
        let reading = desk.exchanges.has_to_read().then_some(now);
        let accepting = desk.listener.as_ref().and_then(Listener::next_try);
        let overdue = desk.exchanges.oldest().map(|(_, began)| began + EXCHANGE_SPAN);
        [reading, accepting, overdue, desk.health.overdue_at()]
            .into_iter()
            .flatten()
            .min()
            .map(|at| at.max(now))
    }
}

/// Writes what is answered, as far as the peers take it.
fn flush(service: &mut Service<Desk>, turn: &mut StageTurn<'_>) {
    let now = service.now();
    let desk = &mut service.state;
    desk.answers.flush(&mut desk.exchanges, turn, now);
    desk.exchanges.write_on();
    while let Some(conn) = desk.exchanges.next_over() {
        desk.close(conn);
    }
    desk.exchanges.update_watch();
}

/// Answers whether the server's loop runs, at once if it is known, or when the loop has answered or did not in time.
fn ask_health(service: &mut Service<Desk>, conn: ConnId) {
    let now = service.now();
    let poster = service.poster();
    let desk = &mut service.state;
    desk.health.waiting.push(conn);
    if desk.health.is_known_alive(now) {
        return desk.answer_health(true, now);
    }
    if desk.health.asked_at.is_none() {
        let ask = move |_: &mut Service<Shell>| {
            let runs = move |service: &mut Service<Desk>| {
                let now = service.now();
                let desk = &mut service.state;
                desk.health.asked_at = None;
                desk.health.answered_at = Some(now);
                desk.answer_health(true, now);
            };
            // There is room for the only one, unless the exporter has ended.
            let _ended = poster.post("health_answer", runs);
        };
        match desk.server.post("health", ask) {
            Ok(()) => desk.health.asked_at = Some(now),
            Err(_) => desk.answer_health(false, now),
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

impl Desk {
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

    /// Reads once. Answers the request that this made whole, if any; all but a question of health is answered here.
    fn read_one(&mut self, now: RealTime) -> Option<(ConnId, Request)> {
        let (conn, read) = self.exchanges.read_next(&mut self.read_buffer)?;
        let request = match read {
            Read::Ended => {
                self.close(conn);
                return None;
            }
            Read::More => return None,
            Read::Whole(request) => request,
        };
        match request {
            Request::Metrics => {
                let text = self.collector.gather(now).to_prometheus(NAME_PREFIX);
                self.answer(conn, http::answer(Status::Ok, &text), now);
            }
            Request::Health => {}
            Request::Refused(status) => self.answer(conn, http::refusal(status), now),
        }
        Some((conn, request))
    }

    /// Answers all who wait to hear whether the server's loop runs.
    fn answer_health(&mut self, runs: bool, now: RealTime) {
        let answer = match runs {
            true => http::answer(Status::Ok, "ok\n"),
            false => http::answer(Status::Unavailable, "the server's loop does not answer\n"),
        };
        for conn in std::mem::take(&mut self.health.waiting) {
            self.answer(conn, answer.clone(), now);
        }
    }

    /// Queues the answer of an exchange that waits for one.
    fn answer(&mut self, conn: ConnId, answer: Vec<u8>, now: RealTime) {
        if self.exchanges.take_question(conn) {
            let queued = self.answers.queue(conn, answer, now);
            assert!(queued.is_ok(), "there is room for an answer to each connection");
        }
    }

    fn close(&mut self, conn: ConnId) {
        if self.exchanges.close(conn) {
            self.answers.forget(conn);
            self.health.waiting.retain(|waiting| *waiting != conn);
            self.listener.iter_mut().for_each(Listener::room_was_made);
        }
    }
}
