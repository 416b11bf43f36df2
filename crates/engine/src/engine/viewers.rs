//! Frame viewers: their requests, and the answers.

use trantor_game::{AdminAction, history};
use trantor_protocol::limits::{HISTORY_EVENTS_MAX, HISTORY_SCORES_MAX};
use trantor_protocol::wire::{
    ClientHello, FeedEntry, History, ScorePoint, ServerHello, ToClient, ToServer, WIRE_VERSION,
};
use trantor_time::{RealSpan, RealTime};

use super::Engine;
use super::admin::AdminRequest;
use super::operators::WRONG_TOKEN;
use super::watching::Ticks;
use crate::replicate::{clock_anchor, send, send_at_once};
use crate::session::{Observer, TokenShown, Watched};
use crate::shell::{CloseReason, ConnId};

const _: () = assert!(
    history::EVENTS_MAX <= HISTORY_EVENTS_MAX && history::SCORES_MAX <= HISTORY_SCORES_MAX,
    "what is kept is no more than may be sent"
);

impl Engine {
    /// Carries out a message of a frame viewer, and acknowledges it after its effects.
    pub(super) fn message(&mut self, conn: ConnId, message: ToServer, now: RealTime) {
        self.counters.messages += 1;
        let delay = self.delay_of(conn);
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        let number = observer.numbers.receive();
        let is_welcome = observer.is_welcome();
        match message {
            ToServer::Hello(hello) if !is_welcome => return self.hello(conn, &hello, number, now),
            _ if !is_welcome => return self.protocol_error(conn, "the first message is a hello", now),
            ToServer::Hello(_) => return self.protocol_error(conn, "a hello is said once", now),
            ToServer::Goodbye => return self.close_after_flush(conn, CloseReason::Goodbye),
            ToServer::Probe { token } => {
                let server_us = observer.us_at(now - delay);
                send_at_once(
                    &mut self.sessions,
                    conn,
                    &ToClient::ProbeReply { token, server_us },
                );
            }
            ToServer::Credit { items } => {
                if observer.credit(items).is_err() {
                    return self.protocol_error(
                        conn,
                        "more credit was given back than pieces were sent",
                        now,
                    );
                }
                self.send_snapshot(conn, now);
            }
            ToServer::SetFrequency { frequency } => {
                self.viewer_request(conn, &AdminRequest::SetFrequency(frequency), number, now);
            }
            ToServer::Pause => self.viewer_request(conn, &AdminRequest::Pause, number, now),
            ToServer::Resume => self.viewer_request(conn, &AdminRequest::Resume, number, now),
            ToServer::Step(kind) => {
                self.viewer_request(conn, &AdminRequest::Step(kind.into()), number, now);
            }
            ToServer::Seek { at } => self.viewer_request(conn, &AdminRequest::Seek(at), number, now),
            ToServer::SetLag { lag } => {
                let action = AdminAction::SetLag { lag };
                self.viewer_request(conn, &AdminRequest::Act(action), number, now);
            }
            ToServer::SetTeamLag { team, lag } => {
                let action = AdminAction::SetTeamLag { team, lag };
                self.viewer_request(conn, &AdminRequest::Act(action), number, now);
            }
            ToServer::Watch { agent } => {
                observer.watched = agent.map(|agent| Watched { agent, sent: None });
            }
        }
        self.acknowledge(conn, now);
    }

    pub(super) fn protocol_error(&mut self, conn: ConnId, reason: &str, now: RealTime) {
        self.say_goodbye(conn, reason, CloseReason::ProtocolError, now);
    }

    pub(super) fn say_goodbye(&mut self, conn: ConnId, words: &str, reason: CloseReason, now: RealTime) {
        let words = words.to_owned();
        self.send_message_at_once(conn, now, &ToClient::Goodbye { reason: words });
        self.close_after_flush(conn, reason);
    }

    fn hello(&mut self, conn: ConnId, hello: &ClientHello, number: u64, now: RealTime) {
        if hello.version != WIRE_VERSION {
            let reason = format!(
                "this server speaks version {WIRE_VERSION} of the viewer protocol, and {} speaks version {}",
                hello.program.escape_debug(),
                hello.version
            );
            send_at_once(&mut self.sessions, conn, &ToClient::Refused { number, reason });
            return self.close_after_flush(conn, CloseReason::VersionRefused);
        }
        if self.token_shown(conn) == TokenShown::Wrong {
            let reason = WRONG_TOKEN.to_owned();
            send_at_once(&mut self.sessions, conn, &ToClient::Refused { number, reason });
            return self.close_after_flush(conn, CloseReason::ControlRefused);
        }
        log::debug!(
            "{}: watches with {}",
            self.shown(conn),
            hello.program.escape_debug()
        );
        self.set_limit(conn, None);
        self.start_watch(now);
        let may_control = self.may_control(conn);
        let delay = self.delay_of(conn);
        let position = self.frame_updates.flush();
        let population = self.population();
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        // A delayed viewer sees the past, and a clock of the past.
        observer.reference = now - delay;
        observer.begin_snapshot(population, position, now);
        let message = ToClient::Hello(ServerHello {
            version: WIRE_VERSION,
            program: self.config.program.clone(),
            since_reference_us: 0,
            tick_period_us: u32::try_from(Ticks::PERIOD.as_nanos() / 1_000).expect("a tick is short"),
            last_tick: self
                .ticks
                .last()
                .map(|(number, instant)| (number, observer.us_at(instant))),
            next_tick_us: observer.us_at(self.ticks.next()),
            size: self.config.game.size,
            teams: self.config.game.teams.clone(),
            may_control,
            delay_ms: u32::try_from(delay.as_nanos() / 1_000_000).unwrap_or(u32::MAX),
        });
        self.counters.snapshots += 1;
        send_at_once(&mut self.sessions, conn, &message);
        self.send_clock_to(conn, now);
        if let Some(playback) = self.playback.as_ref().filter(|playback| !playback.is_live) {
            let message = ToClient::Recording(playback.info.clone());
            send(&mut self.sessions, conn, &message);
        }
        if let Some(lag) = self.lag_state() {
            send(&mut self.sessions, conn, &ToClient::Lag(lag));
        }
        self.send_history(conn);
        self.send_shown(conn);
        self.acknowledge(conn, now);
        self.send_snapshot(conn, now);
    }

    /// What happened before the world that a viewer is sent next.
    pub(super) fn send_history(&mut self, conn: ConnId) {
        let points = self.history.points(self.game.now());
        let events = self.history.events().cloned();
        let message = ToClient::History(History {
            scores: points.map(|(at, scores)| ScorePoint { at, scores }).collect(),
            events: events.map(|(at, kind)| FeedEntry { at, kind }).collect(),
        });
        send(&mut self.sessions, conn, &message);
    }

    fn viewer_request(&mut self, conn: ConnId, request: &AdminRequest, number: u64, now: RealTime) {
        match (self.control(conn, request, now), request) {
            (Ok(()), AdminRequest::Step(_)) => {
                if let Some(observer) = self.sessions.observer_mut(conn) {
                    observer.has_stepped = true;
                }
            }
            (Ok(()), _) => {}
            (Err(reason), _) => {
                self.counters.messages_refused += 1;
                self.send_message_at_once(conn, now, &ToClient::Refused { number, reason });
            }
        }
    }

    /// Whether what became due by a viewer's last step is not done yet: what it says next counts from where that leads to,
    /// or several steps to the next event that arrive together would all be to the same one.
    pub(super) fn is_own_step_under_way(&mut self, conn: ConnId) -> bool {
        let has_stepped = |observer: &Observer| observer.has_stepped;
        if !self.sessions.observer(conn).is_some_and(has_stepped) {
            return false;
        }
        let is_under_way = self.is_step_under_way();
        if let Some(observer) = self.sessions.observer_mut(conn) {
            observer.has_stepped = is_under_way;
        }
        is_under_way
    }

    fn acknowledge(&mut self, conn: ConnId, now: RealTime) {
        let ack = self
            .sessions
            .observer_mut(conn)
            .and_then(|observer| observer.numbers.take_ack());
        if let Some(number) = ack {
            self.send_message_at_once(conn, now, &ToClient::Ack { number });
        }
    }

    /// Sends every frame viewer the state of the game clock, at once after each change.
    pub(super) fn send_clock(&mut self, now: RealTime) {
        for conn in self.welcome_viewers() {
            self.send_clock_to(conn, now);
        }
    }

    fn send_clock_to(&mut self, conn: ConnId, now: RealTime) {
        let Some(observer) = self.sessions.observer(conn) else {
            return;
        };
        let anchor = clock_anchor(observer, &self.shown_clock(now), now);
        self.send_message(conn, now, &ToClient::Clock(anchor));
    }

    /// Sends a message that belongs to this moment.
    pub(super) fn send_message(&mut self, conn: ConnId, now: RealTime, message: &ToClient) {
        self.send_stream_time(conn, now);
        send(&mut self.sessions, conn, message);
    }

    /// Sends a message about the connection rather than the game, which no delay applies to.
    fn send_message_at_once(&mut self, conn: ConnId, now: RealTime, message: &ToClient) {
        if self.delay_of(conn) == RealSpan::ZERO {
            return self.send_message(conn, now, message);
        }
        send_at_once(&mut self.sessions, conn, message);
    }

    /// Sends the stream time, if the viewer would otherwise take what follows for another moment.
    pub(super) fn send_stream_time(&mut self, conn: ConnId, now: RealTime) {
        let next_tick = self.ticks.next();
        let Some(observer) = self.sessions.observer_mut(conn) else {
            return;
        };
        if !observer.is_welcome() {
            // Without a hello there is no reference to count from.
            return;
        }
        let (event_us, next_tick_us) = (observer.us_at(now), observer.us_at(next_tick));
        if let Some(instant_us) = observer.stream_time.before_event(event_us, next_tick_us) {
            send(&mut self.sessions, conn, &ToClient::StreamTime { instant_us });
        }
    }
}
