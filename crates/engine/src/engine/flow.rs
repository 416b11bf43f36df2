//! Throttling: requests are carried out while a peer keeps to its rate limit and reads its answers.
//!
//! A throttled peer is not read for a while. It loses nothing but speed, and its cost to the others is bounded: by the rate, and
//! by an outbox that grows by one more answer at most. An answer about the whole map can be large, and is written piece by piece
//! as the peer reads it.

use trantor_model::Command;
use trantor_time::timers::round_up;
use trantor_time::{Frequency, RealSpan, RealTime, TimerId, TokenRate};

use super::Engine;
use super::deadlines::Timer;
use crate::burst::{AnswerKind, ViewerQuirks};
use crate::limits::{self, Limits};
use crate::session::{Observer, Request, Role, Session, Throttle};
use crate::shell::{CloseReason, ConnId, Output};

/// The shortest pause of a peer beyond its rate: a flood costs a wake-up for each pause, and not for each request.
const RATE_PAUSE_SPAN: RealSpan = RealSpan::from_millis(50);

impl Engine {
    /// Takes in bytes of a peer and carries out every whole request in them.
    pub(super) fn read(&mut self, conn: ConnId, bytes: &[u8], now: RealTime) {
        self.figures.counters.bytes_in += bytes.len() as u64;
        let Some(session) = self
            .sessions
            .get_mut(conn)
            .filter(|session| !session.is_leaving())
        else {
            self.drain(conn, bytes.len(), now);
            return;
        };
        session.last_read_at = now;
        match session.flow.is_read && self.is_behind() {
            true => self.throttle(conn, bytes, Throttle::OlderWork, now),
            false => self.process_bytes(conn, bytes, now),
        }
    }

    /// Carries out every whole request in `bytes`, as far as the peer may go on; keeps the rest.
    pub(super) fn process_bytes(&mut self, conn: ConnId, bytes: &[u8], now: RealTime) {
        match self.sessions.get_mut(conn) {
            // The shell had some under way when it was asked to stop reading.
            Some(session) if !session.flow.is_read => self.keep_unread(conn, bytes),
            Some(_) => self.process_all(conn, bytes, now),
            None => {}
        }
    }

    /// Drops bytes of a peer that is gone or is being closed, at the rate at which they would be processed: a flood to the last
    /// delays no other.
    pub(super) fn drain(&mut self, conn: ConnId, bytes: usize, now: RealTime) {
        self.figures.counters.bytes_dropped += bytes as u64;
        let rate = self.request_rate();
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        let bucket = &mut session.flow.bucket;
        bucket.take(requests_for(bytes).saturating_add(1));
        if let Some(at) = bucket.next_at(now, rate) {
            self.throttle(
                conn,
                &[],
                Throttle::Rate(at.max(now.saturating_add(RATE_PAUSE_SPAN))),
                now,
            );
        }
    }

    fn process_all(&mut self, conn: ConnId, mut bytes: &[u8], now: RealTime) {
        let rate = self.request_rate();
        let spare_rate = self.config.limits.spare_request_rate();
        while !bytes.is_empty() {
            let is_stepping = self.is_own_step_under_way(conn);
            let Some(session) = self.sessions.get_mut(conn) else {
                return;
            };
            let why = match is_stepping {
                true => Some(Throttle::Step),
                false => throttle_of(session, now, rate),
            };
            let is_polling =
                matches!(why, Some(Throttle::Rate(_))) && matches!(session.role, Role::TextViewer);
            let flow = &mut session.flow;
            if let Some(why) = why
                && !(is_polling && flow.bucket.borrow(&mut self.rates.spare, now, spare_rate))
            {
                self.throttle(conn, bytes, why, now);
                return;
            }
            let before = bytes.len();
            let violations_before = session.violations;
            let request = session.next_request(&mut bytes, &self.config);
            self.figures.counters.violations += u64::from(session.violations - violations_before);
            session.flow.bucket.take(requests_for(before - bytes.len()));
            let Some(request) = request else { return };
            let counts_as = match request {
                Request::Command(_, Command::Refused(_)) => limits::REQUESTS_PER_REFUSAL,
                _ => 1,
            };
            session.flow.bucket.take(counts_as);
            if let Request::Command(agent, command) = &request
                && let Some(at) = self.charge_estimate(*agent, command, now)
            {
                self.throttle_command(conn, command.clone(), bytes, at, now);
                return;
            }
            self.carry_out(conn, request, now);
        }
    }

    pub(super) fn resume_peer(&mut self, conn: ConnId, now: RealTime) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        session.flow.resume = None;
        self.continue_answer(conn, now);
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        if session.flow.is_read || session.flow.answer.is_some() {
            return;
        }
        let unread = std::mem::take(&mut session.flow.unread);
        session.flow.is_read = true;
        let agent = session.agent();
        if let Some((agent, command)) = agent.zip(session.flow.throttled_command.take()) {
            self.command(agent, command);
        }
        self.process_all(conn, &unread, now);
        // Even if it is leaving by now: it is drained.
        if self
            .sessions
            .get(conn)
            .is_some_and(|session| session.flow.is_read)
        {
            self.want_reading(conn, true);
        }
    }

    /// Writes the next piece of an answer about the whole world or map, as far as the peer has room and rate for it.
    pub(super) fn continue_answer(&mut self, conn: ConnId, now: RealTime) {
        let rate = self.request_rate();
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        let Some(mut answer) = session.flow.answer.take() else {
            return;
        };
        let room = limits::OUTBOX_PAUSE_BYTES
            .saturating_sub(session.outbox.len())
            .min(self.take_piece(now));
        let (game, quirks) = (&self.game, ViewerQuirks::of(&self.config));
        let is_seeking = self.sessions.text_viewers.is_seeking();
        let mut answered = 0;
        self.sessions.push(conn, |outbox| {
            let before = outbox.len();
            answer.write_on(outbox, quirks, game, room);
            answered = outbox.len() - before;
        });
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        if answer.kind == AnswerKind::Map {
            let requests = answered / limits::ANSWER_BYTES_PER_REQUEST;
            let requests = u32::try_from(requests).unwrap_or(u32::MAX);
            session.flow.bucket.take(requests);
        }
        // What comes behind it is in the log, which is about all of the world once a seek is shown.
        if answer.next < answer.until() || (answer.is_world() && is_seeking) {
            // A viewer that has all waits for the end of the seek, or for another.
            let is_sent = answer.next == answer.until();
            session.flow.answer = Some(answer);
            if !is_sent && session.outbox.len() < limits::OUTBOX_PAUSE_BYTES {
                let at = session.flow.bucket.next_at(now, rate);
                self.continue_answer_at(conn, at.unwrap_or(now));
            }
        } else if answer.is_world() {
            self.sessions.finish_joining(conn);
            self.end_text_greeting(conn);
        }
    }

    /// Some of a peer's backlog was written: if it waited for that, it resumes in the next pass.
    pub(super) fn room_was_made(&mut self, conn: ConnId) {
        let now = self.sessions.now();
        let rate = self.request_rate();
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        session.flow.taken_at = now;
        if session.flow.waits_for_room()
            && session.outbox.len() <= limits::OUTBOX_RESUME_BYTES
            && !session.is_leaving()
        {
            let at = session.flow.bucket.next_at(now, rate).unwrap_or(now);
            match session.flow.answer {
                Some(_) => self.continue_answer_at(conn, at),
                None => self.resume_at(conn, at),
            }
        }
    }

    /// Schedules stall checks for peers with a large backlog, or with the rest of a snapshot to come.
    pub(super) fn watch_backlogs(&mut self) {
        while let Some(conn) = self.sessions.backlogged.pop() {
            let now = self.sessions.now();
            let Some(session) = self.sessions.get_mut(conn) else {
                continue;
            };
            if session.flow.stall.is_none() {
                session.flow.taken_at = now;
            }
            let (span, _) = stall_limit(session, &self.config.limits);
            let at = session.flow.taken_at.saturating_add(span);
            self.check_stall_at(conn, at);
        }
    }

    fn check_stall_at(&mut self, conn: ConnId, at: RealTime) {
        let timer = self.timers.schedule(round_up(at), Timer::Stall(conn));
        let session = self.sessions.get_mut(conn);
        let before = session.and_then(|session| session.flow.stall.replace(timer));
        if let Some(before) = before {
            self.timers.cancel(before);
        }
    }

    /// Schedules what text viewers are sent in turns and piece by piece, and resumes those that join.
    pub(super) fn schedule_text(&mut self) {
        let now = self.sessions.now();
        if let Some(at) = self.sessions.text_viewers.schedule_turn(now) {
            self.timers.schedule(at, Timer::TextTurns);
        }
        if std::mem::take(&mut self.sessions.text_viewers.is_joining_resumed) {
            for conn in self.sessions.text_viewers.joining.clone() {
                self.continue_answer_at(conn, now);
            }
        }
        if let Some(at) = self.sessions.text_viewers.schedule_piece(now) {
            self.timers.schedule(at, Timer::TextPiece);
        }
    }

    /// Sends all text viewers up to so many bytes more of what they are sent piece by piece.
    pub(super) fn publish_text_piece(&mut self, bytes: usize) {
        let (game, quirks) = (&self.game, ViewerQuirks::of(&self.config));
        self.sessions
            .publish_piece(|out, answer| answer.write_on(out, quirks, game, bytes));
    }

    /// The stall limit has changed; it counts for pending checks as well.
    pub(super) fn look_for_stalls_anew(&mut self) {
        let now = self.sessions.now();
        let checked = self
            .sessions
            .iter()
            .filter(|session| session.flow.stall.is_some());
        for conn in checked.map(|session| session.conn).collect::<Vec<_>>() {
            self.check_stall_at(conn, now);
        }
    }

    /// Stall check: disconnects a peer that has read nothing of its backlog, or given no credit for the rest of a snapshot.
    pub(super) fn look_for_stall(&mut self, conn: ConnId, now: RealTime) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        session.flow.stall = None;
        // Not the limit itself: a peer that reads down to it would stay throttled.
        let output = (session.outbox.len() > limits::OUTBOX_RESUME_BYTES).then_some(session.flow.taken_at);
        let snapshot = session.observer().and_then(Observer::snapshot_waits_since);
        let Some(since) = output.into_iter().chain(snapshot).min() else {
            session.flow.is_backlogged = false;
            return;
        };
        let (span, reason) = stall_limit(session, &self.config.limits);
        let at = since.saturating_add(span);
        if at > now {
            session.flow.stall = Some(self.timers.schedule(round_up(at), Timer::Stall(conn)));
        } else if output == Some(since) {
            self.close_now(conn, reason);
        } else {
            let words = "no credit was given for the rest of the world";
            self.say_goodbye(conn, words, CloseReason::Stalled, now);
        }
    }

    /// Drops the input of a closing session: it is read only to be drained.
    pub(super) fn end_flow(&mut self, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        let flow = &mut session.flow;
        flow.unread = Vec::new();
        flow.throttled_command = None;
        flow.answer = None;
        let (go_on, stall) = (flow.resume.take(), flow.stall.take());
        if !std::mem::replace(&mut flow.is_read, true) {
            self.want_reading(conn, true);
        }
        self.cancel_flow(go_on, stall);
    }

    fn want_reading(&mut self, conn: ConnId, is_wanted: bool) {
        self.pending
            .outputs
            .push_back(Output::Reading { conn, is_wanted });
    }

    pub(super) fn cancel_flow(&mut self, go_on: Option<TimerId>, stall: Option<TimerId>) {
        for timer in go_on.into_iter().chain(stall) {
            self.timers.cancel(timer);
        }
    }

    pub(super) fn throttle(&mut self, conn: ConnId, bytes: &[u8], why: Throttle, now: RealTime) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        let flow = &mut session.flow;
        if std::mem::replace(&mut flow.is_read, false) {
            let is_wanted = false;
            self.pending
                .outputs
                .push_back(Output::Reading { conn, is_wanted });
        }
        match why {
            Throttle::Rate(at) | Throttle::FanOut(at) => {
                self.figures.counters.throttled += 1;
                self.figures.counters.throttled_peers +=
                    u64::from(!std::mem::replace(&mut flow.was_throttled, true));
                self.resume_at(conn, at);
            }
            // What became due by the step, or before, goes first at that instant.
            Throttle::Step | Throttle::OlderWork => self.resume_at(conn, now),
            Throttle::Output | Throttle::Answer | Throttle::Lines => {
                self.figures.counters.blocked += 1;
                self.figures.counters.blocked_peers +=
                    u64::from(!std::mem::replace(&mut flow.was_blocked, true));
            }
        }
        self.keep_unread(conn, bytes);
    }

    /// Keeps a command until its team may send again. `rest` is what was read behind it.
    fn throttle_command(&mut self, conn: ConnId, command: Command, rest: &[u8], at: RealTime, now: RealTime) {
        if let Some(session) = self.sessions.get_mut(conn) {
            session.flow.throttled_command = Some(command);
        }
        self.throttle(conn, rest, Throttle::FanOut(at), now);
    }

    fn keep_unread(&mut self, conn: ConnId, bytes: &[u8]) {
        let Some(session) = self.sessions.get_mut(conn) else {
            return;
        };
        if session.is_leaving() {
            return;
        }
        if session.flow.unread.len() + bytes.len() > limits::HELD_BYTES_MAX {
            self.sessions.schedule_close(conn, CloseReason::InboxFull);
            return;
        }
        session.flow.unread.extend_from_slice(bytes);
    }

    /// Resumes an answer about the whole world or map at `at`, or when those before it have had their turn. An answer that may not
    /// continue before then delays no other.
    pub(super) fn continue_answer_at(&mut self, conn: ConnId, at: RealTime) {
        let free_at = self
            .delivery
            .map_answered_at
            .saturating_add(limits::ANSWER_SPACING);
        let free_at = free_at.max(self.sessions.now());
        if at <= free_at {
            self.delivery.map_answered_at = free_at;
        }
        self.resume_at(conn, at.max(free_at));
    }

    /// Bytes that the next piece of an answer may have: as many as would have been written since the last one, if there
    /// had been viewers to write them for.
    fn take_piece(&mut self, now: RealTime) -> usize {
        /// After so many turns without a piece it is as large as may be.
        const TURNS_MAX: usize = limits::ANSWER_BYTES_AT_ONCE / limits::ANSWER_BYTES_PER_TURN;
        let quiet = now.since(self.delivery.map_answered_at);
        self.delivery.map_answered_at = self.delivery.map_answered_at.max(now);
        let turns = quiet.as_nanos() / limits::ANSWER_SPACING.as_nanos();
        let turns = usize::try_from(turns).unwrap_or(0).clamp(1, TURNS_MAX);
        turns * limits::ANSWER_BYTES_PER_TURN
    }

    pub(super) fn resume_at(&mut self, conn: ConnId, at: RealTime) {
        if let Some(session) = self.sessions.get_mut(conn)
            && session.flow.resume.is_none()
        {
            session.flow.resume = Some(self.timers.schedule(at, Timer::Resume(conn)));
        }
    }

    fn request_rate(&self) -> TokenRate {
        let speed = match self.course.is_lock_step() {
            // As fast as they think: no speed is too high.
            true => Frequency::new(u64::from(Frequency::MAX)).expect("the highest frequency is one"),
            false => self.course.pace.clock().frequency(),
        };
        self.config.limits.request_rate_at(speed)
    }
}

/// How long a session may read nothing of its backlog, and the reason with which it is closed then.
fn stall_limit(session: &Session, limits: &Limits) -> (RealSpan, CloseReason) {
    match session.agent().is_some() && session.outbox.len() > session.outbox_bytes_max {
        true => (
            limits.stall_span.min(limits::FULL_OUTBOX_SPAN),
            CloseReason::OutboxFull,
        ),
        false => (limits.stall_span, CloseReason::Stalled),
    }
}

/// As how many requests so many bytes count, beside what is asked in them.
pub(super) fn requests_for(bytes: usize) -> u32 {
    u32::try_from(bytes / limits::BYTES_PER_REQUEST).unwrap_or(u32::MAX)
}

fn throttle_of(session: &mut Session, now: RealTime, rate: TokenRate) -> Option<Throttle> {
    if session.is_leaving() || session.role.waits_for_start() {
        return None;
    }
    if session.flow.answer.is_some() {
        return Some(Throttle::Answer);
    }
    if session.outbox.len() >= limits::OUTBOX_PAUSE_BYTES {
        return Some(Throttle::Output);
    }
    if session.flow.lines_waiting >= limits::OPERATOR_LINES_AHEAD_MAX {
        return Some(Throttle::Lines);
    }
    let at = session.flow.bucket.next_at(now, rate)?;
    Some(Throttle::Rate(at.max(now.saturating_add(RATE_PAUSE_SPAN))))
}
