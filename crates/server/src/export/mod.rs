//! `/metrics`, `/health` and the log line: what the server counts, told to others (R-003-65).
//!
//! It has a loop and a thread of its own, which sleeps until somebody asks or a line for the log is due. The meters
//! are read where the server's loop publishes them with its passes, so that telling them costs that loop nothing.
//! For what the engine counts it is sent an action, and for `/health` too: whether it runs is what is asked.

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
    self, EndReason, Outbound, Service, ServiceBuilder, ServiceLoop, ServiceSettings, StageTurn,
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

/// Connections at one time; a new one closes the oldest. A handful of scrapers never come near, and a peer that
/// opens thousands takes descriptors from nobody.
const CONNECTIONS_MAX: usize = 32;

/// How long a connection may take from its first byte to its end.
const EXCHANGE_SPAN: RealSpan = RealSpan::from_secs(5);

/// How long the server's loop may take to show that it runs. Its longest pass is far below.
const HEALTH_SPAN: RealSpan = RealSpan::from_secs(1);

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
}

fn build(
    options: &MetricsOptions,
    mut listener: Option<Listener>,
    sources: Sources,
) -> io::Result<ServiceLoop<Desk, RealClock, MioWait>> {
    let wait = MioWait::new()?;
    if let Some(listener) = &mut listener {
        listener.watch(wait.registry(), TOKEN_LISTENER)?;
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
        exchanges: Exchanges::new(wait.registry().try_clone()?),
        answers: Outbound::new(CONNECTIONS_MAX),
        collector: collector_of(&sources),
        server: sources.poster,
    };
    let mut builder = ServiceBuilder::new(
        "metrics",
        ServiceSettings::default(),
        desk,
        RealClock::new(),
        wait,
    )
    .stage_fn("exchanges", Budget::new(64, service::STAGE_TIME), serve)
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

/// Takes connections and requests in.
fn serve(service: &mut Service<Desk>, turn: &mut StageTurn<'_>) {
    let now = service.now();
    let desk = &mut service.state;
    while let Some(ready) = desk.ready.pop() {
        match ready.token {
            TOKEN_LISTENER => desk.listener.iter_mut().for_each(Listener::note_ready),
            _ => desk.exchanges.note_ready(ready),
        }
    }
    while service.state.has_pending(now) && turn.admits() {
        if let Some(conn) = service.state.accept_one(now) {
            // It closes a connection that is still there; its number is given to no other.
            let close = move |service: &mut Service<Desk>| {
                service.state.close(conn);
                Ok(())
            };
            if let Err(refused) = service.once("exchange_limit", EXCHANGE_SPAN, close) {
                log::warn!("a connection to the metrics is refused: {refused}");
                service.state.close(conn);
            }
        }
    }
    while service.state.exchanges.has_to_read() && turn.admits() {
        if let Some((conn, Request::Health)) = service.state.read_one(now) {
            ask_server(service, conn);
        }
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

/// Has the server's loop show that it runs: it is to post an answer back, within a time limit.
fn ask_server(service: &mut Service<Desk>, conn: ConnId) {
    let desk = service.poster();
    let ask = move |_: &mut Service<Shell>| {
        let runs = move |service: &mut Service<Desk>| {
            let now = service.now();
            service.state.answer_health(conn, true, now);
        };
        // A desk that has no room or is gone needs no answer: the limit below is its answer.
        let _no_room = desk.post("health_answer", runs);
    };
    let is_asked = service.state.server.post("health", ask).is_ok();
    let give_up = move |service: &mut Service<Desk>| {
        let now = service.now();
        service.state.answer_health(conn, false, now);
        Ok(())
    };
    if !is_asked || service.once("health_limit", HEALTH_SPAN, give_up).is_err() {
        let now = service.now();
        service.state.answer_health(conn, false, now);
    }
}

impl Desk {
    fn has_pending(&self, now: RealTime) -> bool {
        self.listener
            .as_ref()
            .is_some_and(|listener| listener.has_pending(now))
    }

    fn accept_one(&mut self, now: RealTime) -> Option<ConnId> {
        let (socket, _) = self.listener.as_mut()?.accept(now)?;
        if self.exchanges.len() == CONNECTIONS_MAX {
            let oldest = self.exchanges.oldest().expect("there are as many as may be");
            self.close(oldest);
        }
        match self.exchanges.open(socket) {
            Ok(conn) => Some(conn),
            Err(error) => {
                log::warn!("a connection to the metrics cannot be watched: {error}");
                None
            }
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

    /// Answers a question of health, unless it was answered before.
    fn answer_health(&mut self, conn: ConnId, runs: bool, now: RealTime) {
        let answer = match runs {
            true => http::answer(Status::Ok, "ok\n"),
            false => http::answer(Status::Unavailable, "the server's loop does not answer\n"),
        };
        self.answer(conn, answer, now);
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
            self.listener.iter_mut().for_each(Listener::room_was_made);
        }
    }
}
