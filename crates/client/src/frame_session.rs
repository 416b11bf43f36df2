//! The decoder of frames: what each message of our servers does, and checks of it as it comes in.
//!
//! Agents, eggs and tiles of a change are checked in [`trantor_model::world`] when it is shown. The text of other servers is
//! decoded in [`crate::text_session`].

use std::sync::Arc;

use trantor_model::show::SHOWN_TEXT_BYTES_MAX;
use trantor_model::{Change, Shown, ShownBy};
use trantor_protocol::FrameError;
use trantor_protocol::limits::{
    COMMANDS_WAITING_MAX, HISTORY_EVENTS_MAX, HISTORY_SCORES_MAX, LINKS_SHOWN_MAX, MARKS_MAX, SHOWN_BYTES_MAX,
};
use trantor_protocol::wire::{
    ClientHello, ClockAnchor, FrameCutter, History, RecordingInfo, ServerHello, SnapshotPart, ToClient,
    ToServer, WIRE_VERSION, WIRE_WORD, read_frame,
};
use trantor_time::{GameTime, RealTime};

use crate::clock_sync::{ClockSync, ServerTime};
use crate::control::{Controls, Recording};
use crate::display_clock::{Anchor, DisplayClock};
use crate::error::ProtocolError;
use crate::interface::{ClientEvent, ClientStats};
use crate::readable::readable;
use crate::scene::LinkState;
use crate::scene::TEAMS_MAX;
use crate::session::Session;
use crate::timeline::Snapshot;

/// Pieces of a world after which credit is given back: often enough that the default of 20 never runs dry, and not once
/// for every piece.
const CREDIT_BATCH: u32 = 5;

/// Bytes of notes, marks and cards held: twice what a server keeps, since owners are sent one after the other and the copy is
/// of different moments.
const SHOWN_BYTES_HELD_MAX: usize = 2 * SHOWN_BYTES_MAX;

#[derive(Debug)]
pub(crate) struct FrameSession {
    cutter: FrameCutter,
    /// When our hello left.
    hello_sent: RealTime,
    joined: Option<Box<Joined>>,
}

/// What begins with the server's hello.
#[derive(Debug)]
struct Joined {
    hello: ServerHello,
    /// When it came.
    at: RealTime,
    clock: ClockSync,
    stream: StreamTime,
    /// What happened before the world that is being received.
    history: Option<History>,
    /// A world that is being received.
    loading: Option<Snapshot>,
    /// Pieces of it for which no credit was given back yet.
    credit_owed: u32,
    anchor_us: Option<i64>,
    /// The instant of the last tick that is complete.
    complete_us: Option<i64>,
    tick_age_ns: i64,
}

impl FrameSession {
    pub fn new() -> Self {
        Self {
            cutter: FrameCutter::new::<ToClient>(),
            hello_sent: RealTime::ZERO,
            joined: None,
        }
    }

    pub fn start(&mut self, session: &mut Session, now: RealTime) {
        session.write_first_line(WIRE_WORD);
        session.send(&ToServer::Hello(ClientHello {
            version: WIRE_VERSION,
            program: session.config.program.clone(),
        }));
        self.hello_sent = now;
    }

    pub fn read(&mut self, bytes: &[u8], session: &mut Session, now: RealTime) -> Result<(), ProtocolError> {
        if self.joined.is_none() && bytes.starts_with(b"ko\n") {
            return Err(ProtocolError::SpeaksText);
        }
        // The cutter is taken out so that a frame that borrows from it can be handled with all the rest.
        let mut cutter = std::mem::replace(&mut self.cutter, FrameCutter::new::<ToClient>());
        let result = self.read_frames(&mut cutter, bytes, session, now);
        self.cutter = cutter;
        result
    }

    pub fn handle_timeout(&mut self, session: &mut Session, now: RealTime) {
        if let Some(joined) = &mut self.joined
            && let Some(token) = joined.clock.poll_probe(now)
        {
            session.send(&ToServer::Probe { token });
        }
    }

    pub fn next_timeout(&self) -> RealTime {
        let probe = self
            .joined
            .as_ref()
            .and_then(|joined| joined.clock.next_probe_at());
        probe.unwrap_or(RealTime::MAX)
    }

    /// Whether the world is there, or how much of it. A jump in a recording is no reason to say that one waits.
    pub fn link(&self, session: &Session, now: RealTime) -> LinkState {
        let Some(joined) = &self.joined else {
            return LinkState::Greeting;
        };
        if session.timeline.is_some() && (joined.loading.is_none() || session.is_jumping()) {
            return LinkState::Live;
        }
        let loading = joined.loading.as_ref();
        let tiles = loading.map_or(0, |snapshot| snapshot.world.ground().len()) as u32;
        let delay_ms = session.delay_ms;
        let passed_ms = now.since(joined.at).as_nanos() / 1_000_000;
        let left_ms = u32::try_from(i64::from(delay_ms) - passed_ms).unwrap_or(0);
        match tiles == 0 && left_ms > 0 {
            true => LinkState::Delayed { delay_ms, left_ms },
            false => LinkState::Loading {
                tiles,
                of: joined.hello.size.area() as u32,
            },
        }
    }

    pub fn server_at(&mut self, now: RealTime) -> Option<ServerTime> {
        self.joined.as_mut()?.clock.server_at(now)
    }

    pub fn count(&self, now: RealTime, stats: &mut ClientStats) {
        if let Some(joined) = &self.joined {
            stats.clock = joined.clock.estimate(now);
            stats.saturated = joined.clock.saturated();
            stats.ticks_skipped = joined.stream.skipped;
            stats.tick_age_ns = joined.tick_age_ns;
        }
    }

    fn take(&mut self, message: ToClient, session: &mut Session, now: RealTime) -> Result<(), ProtocolError> {
        match (&mut self.joined, message) {
            (_, ToClient::Goodbye { reason }) | (None, ToClient::Refused { reason, .. }) => {
                return Err(ProtocolError::Closed(readable(&reason)));
            }
            (None, ToClient::Hello(hello)) => {
                self.joined = Some(Box::new(Joined::new(hello, self.hello_sent, session, now)?));
            }
            (None, _) => return Err(out_of_place("a message", "before the server's hello")),
            (Some(_), ToClient::Hello(_)) => {
                return Err(out_of_place("a second hello", "after the first"));
            }
            (Some(joined), message) => joined.take(message, session, now)?,
        }
        Ok(())
    }

    fn read_frames(
        &mut self,
        cutter: &mut FrameCutter,
        mut bytes: &[u8],
        session: &mut Session,
        now: RealTime,
    ) -> Result<(), ProtocolError> {
        let is_first = self.joined.is_none();
        let ended = |error| match error {
            // Text, taken for a length: a server that knows no `TRANTOR` may take it for the name of a team.
            FrameError::TooLong { .. } if is_first => ProtocolError::SpeaksText,
            error => error.into(),
        };
        while let Some(frame) = cutter.next(&mut bytes).map_err(ended)? {
            let message = read_frame(frame)?;
            session.stats.messages_in = session.stats.messages_in.saturating_add(1);
            self.take(message, session, now)?;
        }
        Ok(())
    }
}

impl Joined {
    /// What follows from the server's hello.
    fn new(
        hello: ServerHello,
        hello_sent: RealTime,
        session: &mut Session,
        now: RealTime,
    ) -> Result<Self, ProtocolError> {
        check_hello(&hello)?;
        let mut clock = ClockSync::new();
        clock.handshake(hello_sent, hello.since_reference_us, now);
        session.is_joined = true;
        session.delay_ms = hello.delay_ms;
        session.controls = Controls::new(hello.may_control);
        // Until it is measured: a tick and a half, and the way here and back.
        let delay_ns = i64::from(hello.tick_period_us)
            .saturating_mul(1_500)
            .saturating_add(clock.estimate(now).rtt_best_ns);
        session.clock = DisplayClock::new(delay_ns);
        session.push(ClientEvent::Welcome {
            program: readable(&hello.program),
            teams: hello.teams.iter().map(|name| readable(name)).collect(),
            size: hello.size,
            may_control: hello.may_control,
            ticks: hello.last_tick.map_or(0, |(number, _)| number.saturating_add(1)),
        });
        Ok(Self {
            clock,
            stream: StreamTime::new(hello.tick_period_us, hello.last_tick, hello.next_tick_us),
            history: None,
            loading: Some(empty_world(&hello)),
            credit_owed: 0,
            anchor_us: None,
            complete_us: None,
            tick_age_ns: 0,
            hello,
            at: now,
        })
    }

    fn take(&mut self, message: ToClient, session: &mut Session, now: RealTime) -> Result<(), ProtocolError> {
        match message {
            ToClient::Refused { reason, .. } => session.push(ClientEvent::Refused {
                reason: readable(&reason),
            }),
            ToClient::ProbeReply { token, server_us } => self.clock.answered(token, server_us, now)?,
            ToClient::Snapshot(part) => self.load(part, session)?,
            ToClient::SnapshotEnd { at } => self.finish(at, session)?,
            ToClient::TickBegin { number, skipped } => self.stream.begin(number, skipped)?,
            ToClient::TickEnd { number } => self.end_tick(number, session, now)?,
            ToClient::StreamTime { instant_us } => self.stream.update(instant_us)?,
            ToClient::Changes { at, changes } => self.change(at, changes, session)?,
            ToClient::Ack { number } => session.ack(number)?,
            ToClient::Clock(anchor) => self.anchor(&anchor, session)?,
            ToClient::Stats(stats) => {
                check_count("teams", stats.teams.len(), TEAMS_MAX)?;
                session.stats.server = Some(stats);
            }
            ToClient::Recording(info) => {
                check_recording(&info)?;
                session.clock.set_end(info.end);
                if session.recording.replace(Recording::new(info)).is_some() {
                    return Err(out_of_place("a second recording", "after the first"));
                }
            }
            ToClient::Waiting { agent, commands } => {
                check_count("waiting commands", commands.len(), COMMANDS_WAITING_MAX)?;
                session.waiting = Some((agent, commands));
            }
            ToClient::Sought(anchor) => self.jump(&anchor, session)?,
            ToClient::History(history) => {
                check_history(&history, self.hello.teams.len())?;
                self.history = Some(history);
            }
            ToClient::Shown { anew, owners } => self.show(anew, owners, session)?,
            ToClient::Announced { text } => {
                check_count("bytes in an announcement", text.len(), SHOWN_TEXT_BYTES_MAX)?;
                session.announce(readable(&text));
            }
            ToClient::Lag(lag) => {
                check_count("teams", lag.teams.len(), TEAMS_MAX)?;
                session.show_lag(&lag, &self.hello.teams);
            }
            ToClient::Links { agent, links } => {
                check_count("links", links.len(), LINKS_SHOWN_MAX)?;
                session.links = Some((agent, links));
            }
            ToClient::Hello(_) | ToClient::Goodbye { .. } => {
                unreachable!("the session takes these two itself")
            }
        }
        Ok(())
    }

    /// A piece of the world. The first piece after the last one begins a world anew, and what is shown stays
    /// until that is complete.
    fn load(&mut self, part: SnapshotPart, session: &mut Session) -> Result<(), ProtocolError> {
        self.loading
            .get_or_insert_with(|| empty_world(&self.hello))
            .load(part)?;
        self.credit_owed += 1;
        if self.credit_owed >= CREDIT_BATCH {
            self.give_credit(session);
        }
        Ok(())
    }

    fn give_credit(&mut self, session: &mut Session) {
        let items = std::mem::take(&mut self.credit_owed);
        if items > 0 {
            session.send(&ToServer::Credit { items });
        }
    }

    fn finish(&mut self, at: GameTime, session: &mut Session) -> Result<(), ProtocolError> {
        let taken = self.loading.take();
        let mut snapshot = taken.ok_or(out_of_place("the end of a world", "without its pieces"))?;
        snapshot.finish(at)?;
        snapshot.history = self.history.take();
        self.give_credit(session);
        session.show(snapshot);
        Ok(())
    }

    fn show(
        &self,
        anew: bool,
        owners: Vec<(ShownBy, Shown)>,
        session: &mut Session,
    ) -> Result<(), ProtocolError> {
        let shown = Arc::make_mut(&mut session.shown);
        if anew {
            shown.clear();
        }
        for (by, what) in owners {
            if !what.is_valid(self.hello.size) {
                return Err(out_of_place("a note, mark or card", "beyond its limits"));
            }
            match what.is_empty() {
                true => drop(shown.remove(&by)),
                false => drop(shown.insert(by, Arc::new(what))),
            }
        }
        let bytes = shown.values().map(|what| what.bytes()).sum();
        check_count("bytes of notes, marks and cards", bytes, SHOWN_BYTES_HELD_MAX)
    }

    fn end_tick(&mut self, number: u64, session: &mut Session, now: RealTime) -> Result<(), ProtocolError> {
        let tick_us = self.stream.end(number)?;
        session.stats.ticks = session.stats.ticks.saturating_add(1);
        // What this tick brought may be as old as the tick before. When we joined there may have been none for long.
        let complete_us = self
            .complete_us
            .replace(tick_us)
            .unwrap_or(tick_us.saturating_sub(self.stream.period_us));
        let [complete, tick] = [complete_us, tick_us].map(|us| self.clock.server_time(us));
        if let Some(server_now) = self.clock.server_at(now) {
            self.tick_age_ns = server_now.since_ns(tick);
            session.clock.arrived(complete, tick, server_now);
        }
        Ok(())
    }

    fn change(
        &mut self,
        at: GameTime,
        changes: Vec<Change>,
        session: &mut Session,
    ) -> Result<(), ProtocolError> {
        let is_jumping = session.is_jumping();
        let timeline = (session.timeline.as_mut())
            .filter(|_| self.loading.is_none() && !is_jumping)
            .ok_or(out_of_place(
                "a change of the world",
                "before the world was complete",
            ))?;
        let count = &mut session.stats.changes_in;
        *count = count.saturating_add(changes.len() as u64);
        timeline.advance(at)?;
        for change in changes {
            timeline.push(at, change)?;
        }
        Ok(())
    }

    /// The recording was moved, or another game has begun. A world that was being received is of no use any more; what is shown
    /// stays until the new one is complete.
    fn jump(&mut self, anchor: &ClockAnchor, session: &mut Session) -> Result<(), ProtocolError> {
        if let Some(recording) = &mut session.recording {
            recording.jumped_to = Some(anchor.game);
        }
        self.loading = None;
        session.clock.forget_anchors();
        self.anchor(anchor, session)
    }

    fn anchor(&mut self, anchor: &ClockAnchor, session: &mut Session) -> Result<(), ProtocolError> {
        let to_us = anchor.real_us;
        if let Some(from_us) = self.anchor_us
            && to_us < from_us
        {
            return Err(ProtocolError::AnchorBack { from_us, to_us });
        }
        self.anchor_us = Some(to_us);
        session.controls.confirm(anchor.frequency, anchor.paused);
        session.clock.anchor(Anchor {
            at: self.clock.server_time(anchor.real_us),
            game: anchor.game,
            frequency: anchor.frequency,
            paused: anchor.paused,
        });
        Ok(())
    }
}

/// Tick marks and stream time: the server instant of the point reached in its messages.
///
/// Instants are those that travel: microseconds after the connection's reference. Our own clock has no part in this.
#[derive(Debug)]
struct StreamTime {
    period_us: i64,
    /// Number of the next tick, and its instant if none is skipped.
    next: (u64, i64),
    /// Stream time; `None` before the first tick or update.
    now_us: Option<i64>,
    /// The tick whose end mark has not come, with its instant.
    open: Option<(u64, i64)>,
    /// Instants at which no tick ran, of all marks seen.
    skipped: u64,
}

impl StreamTime {
    /// As the hello says. `period_us` is positive.
    fn new(period_us: u32, last_tick: Option<(u64, i64)>, next_tick_us: i64) -> Self {
        let period_us = i64::from(period_us);
        let next = last_tick.map_or((0, next_tick_us), |(number, us)| {
            (number.saturating_add(1), us.saturating_add(period_us))
        });
        Self {
            period_us,
            next,
            now_us: None,
            open: None,
            skipped: 0,
        }
    }

    /// A tick begins: stream time is its instant, one period after the last one and those skipped.
    fn begin(&mut self, number: u64, skipped: u64) -> Result<(), ProtocolError> {
        let (expected, unless_skipped_us) = self.next;
        if self.open.is_some() {
            return Err(ProtocolError::TickNotEnded { number });
        }
        if number != expected {
            return Err(ProtocolError::TickNumber { number, expected });
        }
        let ranges = i64::try_from(skipped).ok().and_then(|skipped| {
            let instant_us = skipped
                .checked_mul(self.period_us)?
                .checked_add(unless_skipped_us)?;
            let next = (number.checked_add(1)?, instant_us.checked_add(self.period_us)?);
            Some((instant_us, next))
        });
        let (instant_us, next) = ranges.ok_or(ProtocolError::TickRange)?;
        self.update(instant_us)?;
        self.next = next;
        self.open = Some((number, instant_us));
        self.skipped = self.skipped.saturating_add(skipped);
        Ok(())
    }

    /// The tick is complete. Returns its instant.
    fn end(&mut self, number: u64) -> Result<i64, ProtocolError> {
        let ended = self.open.take_if(|(open, _)| *open == number);
        ended
            .map(|(_, instant_us)| instant_us)
            .ok_or(ProtocolError::TickNotBegun { number })
    }

    /// The server sent stream time itself, which increases: an update that changes nothing is not sent.
    fn update(&mut self, to_us: i64) -> Result<(), ProtocolError> {
        match self.now_us {
            Some(from_us) if to_us <= from_us => Err(ProtocolError::StreamTimeBack { from_us, to_us }),
            _ => {
                self.now_us = Some(to_us);
                Ok(())
            }
        }
    }
}

fn empty_world(hello: &ServerHello) -> Snapshot {
    let teams = hello.teams.iter().map(|name| readable(name).into());
    Snapshot::new(hello.size, teams.collect())
}

fn out_of_place(what: &'static str, when: &'static str) -> ProtocolError {
    ProtocolError::OutOfPlace { what, when }
}

/// The version is ours and the numbers are possible.
fn check_hello(hello: &ServerHello) -> Result<(), ProtocolError> {
    if hello.version != WIRE_VERSION {
        return Err(ProtocolError::OtherVersion {
            theirs: hello.version,
            ours: WIRE_VERSION,
        });
    }
    if hello.tick_period_us == 0 {
        return Err(ProtocolError::BadHello {
            what: "its ticks take no time",
        });
    }
    check_count("teams", hello.teams.len(), TEAMS_MAX)
}

/// There are not too many of something.
fn check_count(what: &'static str, count: usize, max: usize) -> Result<(), ProtocolError> {
    match count <= max {
        true => Ok(()),
        false => Err(ProtocolError::TooMuch { what, max }),
    }
}

fn check_order(
    times: impl IntoIterator<Item = GameTime>,
    begin: GameTime,
) -> Result<GameTime, ProtocolError> {
    times.into_iter().try_fold(begin, |last, at| match at < last {
        true => Err(ProtocolError::GameTimeBack { at, last }),
        false => Ok(at),
    })
}

/// Marks lie in the recording and in order, and there are not too many.
fn check_recording(info: &RecordingInfo) -> Result<(), ProtocolError> {
    check_count("marks", info.marks.len(), MARKS_MAX)?;
    let last = check_order(info.marks.iter().map(|mark| mark.at), info.begin)?;
    match last <= info.end {
        true => Ok(()),
        false => Err(ProtocolError::GameTimeRange { at: last }),
    }
}

/// A history is in order of time and bounded, and scores are of all teams.
fn check_history(history: &History, teams: usize) -> Result<(), ProtocolError> {
    let History { scores, events } = history;
    check_count("moments of the score", scores.len(), HISTORY_SCORES_MAX)?;
    check_count("scores", scores.len() * teams, HISTORY_SCORES_MAX)?;
    check_count("past events", events.len(), HISTORY_EVENTS_MAX)?;
    if scores.iter().any(|point| point.scores.len() != teams) {
        return Err(ProtocolError::OutOfPlace {
            what: "a score",
            when: "of other teams than there are",
        });
    }
    let begin = GameTime::from_nanounits(i128::MIN);
    check_order(scores.iter().map(|point| point.at), begin)?;
    check_order(events.iter().map(|entry| entry.at), begin)?;
    Ok(())
}
