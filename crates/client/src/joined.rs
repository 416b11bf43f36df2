//! What every message of a server of ours does, once it has let us in.
//!
//! Times are checked here as they come in, marks in [`crate::stream_time`]; numbers and tiles of a change in
//! [`crate::world`] when it is shown. Bytes, and how a session begins and ends, are [`crate::session`]'s.

use trantor_model::{AgentId, CommandKind};
use trantor_protocol::limits::{COMMANDS_WAITING_MAX, HISTORY_EVENTS_MAX, HISTORY_SCORES_MAX, MARKS_MAX};
use trantor_protocol::wire::{
    Change, ClockAnchor, History, RecordingInfo, ServerHello, ServerStats, SnapshotPart, ToClient, ToServer,
};
use trantor_time::{GameTime, RealTime};

use crate::acks::Acks;
use crate::client::{ClientEvent, Events};
use crate::clock_sync::{ClockSync, ServerTime};
use crate::control::{Control, ControlError};
use crate::display_clock::{Anchor, DisplayClock};
use crate::error::{ProtocolError, StreamError, WorldError};
use crate::link::readable;
use crate::outbox::Outbox;
use crate::recording::Recording;
use crate::scene::{LinkState, Scene};
use crate::session::TEAMS_MAX;
use crate::stats::ClientStats;
use crate::stream_time::StreamTime;
use crate::timeline::{Snapshot, Timeline};

/// The largest game time believed, in nanounits: more than the fastest clock shows in a million years. It
/// leaves room for every sum and product in 128 bits.
const GAME_TIME_NU_MAX: i128 = 1 << 96;

/// All that begins with the server's hello.
#[derive(Debug)]
pub(crate) struct Joined {
    hello: ServerHello,
    /// When it came.
    at: RealTime,
    stream: StreamTime,
    control: Control,
    /// What is watched, if it is no game that is being played.
    recording: Option<Recording>,
    /// Waiting commands of the agent watched, as told last.
    waiting: Option<(AgentId, Vec<Option<CommandKind>>)>,
    /// What happened before the world that is being received.
    history: Option<History>,
    /// A world that is being received.
    loading: Option<Snapshot>,
    /// The world that is shown.
    timeline: Option<Timeline>,
    /// The clock of the world to come, until there is one.
    display: Option<DisplayClock>,
    anchor_us: Option<i64>,
    /// The instant of the last tick that is complete.
    complete_us: Option<i64>,
    tick_age_ns: i64,
}

/// What a message may change besides the world.
pub(crate) struct Context<'a> {
    pub(crate) clock: &'a mut ClockSync,
    pub(crate) acks: &'a mut Acks,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) stats: &'a mut ClientStats,
    pub(crate) events: &'a mut Events,
    pub(crate) now: RealTime,
}

impl Joined {
    /// What follows from the server's hello, over a link with this round trip.
    pub(crate) fn new(hello: ServerHello, rtt_ns: i64, now: RealTime) -> Self {
        // Until it is measured: a tick and a half, and the way here and back.
        let delay_ns = i64::from(hello.tick_period_us)
            .saturating_mul(1_500)
            .saturating_add(rtt_ns);
        Self {
            stream: StreamTime::new(hello.tick_period_us, hello.last_tick, hello.next_tick_us),
            control: Control::new(hello.may_control),
            recording: None,
            waiting: None,
            history: None,
            loading: Some(empty_world(&hello)),
            timeline: None,
            display: Some(DisplayClock::new(delay_ns)),
            anchor_us: None,
            complete_us: None,
            tick_age_ns: 0,
            hello,
            at: now,
        }
    }

    /// Speed and pause under the user's hand.
    pub(crate) fn control_mut(&mut self) -> &mut Control {
        &mut self.control
    }

    /// Speed and pause under the user's hand.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// The time-line of what is watched, if it is a recording.
    pub(crate) fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// The user wants to see another moment. Answers the message to send, if it is to be sent now.
    ///
    /// # Errors
    /// If there is no recording, or the server does not listen.
    pub(crate) fn seek(&mut self, to: GameTime, acks: &mut Acks) -> Result<Option<ToServer>, ControlError> {
        let recording = self.recording.as_mut().ok_or(ControlError::NotARecording)?;
        match self.control.may_control() {
            true => Ok(recording.seek(to, acks)),
            false => Err(ControlError::NotAllowed),
        }
    }

    /// The commands that wait for their turn, of the agent watched, once they were told.
    pub(crate) fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        let (agent, commands) = self.waiting.as_ref()?;
        Some((*agent, commands))
    }

    /// Another agent is watched from now on.
    pub(crate) fn forget_waiting(&mut self) {
        self.waiting = None;
    }

    /// What is shown, once a world is complete.
    pub(crate) fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    /// What is shown, once a world is complete.
    pub(crate) fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        self.timeline.as_mut()
    }

    /// Writes the scene of the instant at which the server's clock shows `server_now`, except for the link.
    ///
    /// # Errors
    /// If a change that is due cannot be.
    pub(crate) fn scene(
        &mut self,
        server_now: Option<ServerTime>,
        scene: &mut Scene,
    ) -> Result<(), WorldError> {
        let shown = match (&mut self.timeline, server_now) {
            (Some(timeline), Some(server_now)) => timeline.scene(server_now, scene),
            _ => Ok(()),
        };
        self.control.fill(&mut scene.clock);
        scene.clock.delay_ms = self.hello.delay_ms;
        shown
    }

    /// Whether the world is there, or how much of it. A jump in a recording is no reason to say that one waits.
    pub(crate) fn link(&self, now: RealTime) -> LinkState {
        let is_jumping = self.recording.as_ref().is_some_and(Recording::is_loading);
        match (&self.timeline, &self.loading) {
            (Some(_), None) => LinkState::Live,
            (Some(_), Some(_)) if is_jumping => LinkState::Live,
            (_, loading) => {
                let tiles = loading
                    .as_ref()
                    .map_or(0, |snapshot| snapshot.world.ground().len()) as u32;
                let delay_ms = self.hello.delay_ms;
                let passed_ms = now.since(self.at).as_nanos() / 1_000_000;
                let left_ms = u32::try_from(i64::from(delay_ms) - passed_ms).unwrap_or(0);
                match tiles == 0 && left_ms > 0 {
                    true => LinkState::Delayed { delay_ms, left_ms },
                    false => LinkState::Loading {
                        tiles,
                        of: self.hello.size.area() as u32,
                    },
                }
            }
        }
    }

    /// Adds what is known here to the figures for the HUD.
    pub(crate) fn count(&self, stats: &mut ClientStats) {
        stats.ticks_skipped = self.stream.skipped();
        stats.tick_age_ns = self.tick_age_ns;
        if let Some(timeline) = &self.timeline {
            timeline.count(stats);
        }
    }

    /// Takes a message.
    ///
    /// # Errors
    /// If it cannot be right here and now.
    pub(crate) fn take(&mut self, message: ToClient, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        match message {
            ToClient::Refused { reason, .. } => {
                context.events.push(ClientEvent::Refused {
                    reason: readable(&reason),
                });
            }
            ToClient::ProbeReply { token, server_us } => {
                context.clock.answered(token, server_us, context.now)?;
            }
            ToClient::Snapshot(part) => self.load(part, context)?,
            ToClient::SnapshotEnd { at } => self.finish(at, context)?,
            ToClient::TickBegin { number, skipped } => self.stream.begin(number, skipped)?,
            ToClient::TickEnd { number } => self.end_tick(number, context)?,
            ToClient::StreamTime { instant_us } => self.stream.update(instant_us)?,
            ToClient::Changes { at, changes } => self.change(at, changes, context)?,
            ToClient::Ack { number } => {
                context.acks.ack(number)?;
                self.control.ack(number);
                if let Some(message) = self.control.poll_wanted(context.acks) {
                    context.outbox.write_message(&message);
                }
                if let Some(recording) = &mut self.recording {
                    recording.ack(number);
                    if let Some(message) = recording.poll_wanted(context.acks) {
                        context.outbox.write_message(&message);
                    }
                }
            }
            ToClient::Clock(anchor) => self.anchor(&anchor, context)?,
            ToClient::Stats(stats) => context.stats.server = Some(checked_stats(stats)?),
            ToClient::Recording(info) => {
                check_recording(&info)?;
                if let Some(display) = self.display() {
                    display.set_end(info.end);
                }
                if self.recording.replace(Recording::new(info)).is_some() {
                    return Err(ProtocolError::OutOfPlace {
                        what: "a second recording",
                        when: "after the first",
                    });
                }
            }
            ToClient::Waiting { agent, commands } => {
                if commands.len() > COMMANDS_WAITING_MAX {
                    return Err(ProtocolError::TooMuch {
                        what: "waiting commands",
                        max: COMMANDS_WAITING_MAX,
                    });
                }
                self.waiting = Some((agent, commands));
            }
            ToClient::Sought(anchor) => self.jump(&anchor, context)?,
            ToClient::History(history) => {
                check_history(&history, self.hello.teams.len())?;
                self.history = Some(history);
            }
            ToClient::Hello(_) | ToClient::Goodbye { .. } => {
                unreachable!("these two are the session's own")
            }
        }
        Ok(())
    }

    /// A piece of the world. The first piece after the last one begins a world anew, and what is shown stays
    /// until that is complete.
    fn load(&mut self, part: SnapshotPart, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_times_of_part(&part)?;
        self.loading
            .get_or_insert_with(|| empty_world(&self.hello))
            .load(part)?;
        if let Some(items) = context.acks.processed() {
            context.send(&ToServer::Credit { items });
        }
        Ok(())
    }

    fn finish(&mut self, at: GameTime, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_time(at)?;
        let mut snapshot = self.loading.take().ok_or(ProtocolError::OutOfPlace {
            what: "the end of a world",
            when: "without its pieces",
        })?;
        snapshot.finish(at)?;
        snapshot.history = self.history.take();
        if let Some(items) = context.acks.settle() {
            context.send(&ToServer::Credit { items });
        }
        let (display, version) = match (self.timeline.take(), self.display.take()) {
            (Some(timeline), _) => timeline.into_clock(),
            (None, display) => (display.unwrap_or_else(|| DisplayClock::new(0)), 0),
        };
        self.timeline = Some(Timeline::new(snapshot, display, version));
        if let Some(recording) = &mut self.recording {
            recording.loaded();
        }
        context.events.push(ClientEvent::Live);
        Ok(())
    }

    fn end_tick(&mut self, number: u64, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        self.stream.end(number)?;
        context.stats.ticks = context.stats.ticks.saturating_add(1);
        let Some(tick_us) = self.stream.last_tick_us() else {
            return Ok(());
        };
        // What this tick told may be as old as the tick before. When we joined there may have been none for long.
        let complete_us = self
            .complete_us
            .replace(tick_us)
            .unwrap_or(tick_us.saturating_sub(self.stream.period_us()));
        let (complete, tick) = (
            context.clock.server_time(complete_us),
            context.clock.server_time(tick_us),
        );
        if let Some(server_now) = context.clock.server_at(context.now) {
            self.tick_age_ns = server_now.since_ns(tick);
            if let Some(display) = self.display() {
                display.arrived(complete, tick, server_now);
            }
        }
        Ok(())
    }

    fn change(
        &mut self,
        at: GameTime,
        changes: Vec<Change>,
        context: &mut Context<'_>,
    ) -> Result<(), ProtocolError> {
        let is_jumping = self.recording.as_ref().is_some_and(Recording::is_loading);
        let timeline = self
            .timeline
            .as_mut()
            .filter(|_| self.loading.is_none() && !is_jumping)
            .ok_or(ProtocolError::OutOfPlace {
                what: "a change of the world",
                when: "before the world was complete",
            })?;
        check_time(at)?;
        context.stats.changes_in = context.stats.changes_in.saturating_add(changes.len() as u64);
        timeline.advance(at)?;
        for change in changes {
            check_times_of(&change)?;
            timeline.push(at, change)?;
        }
        Ok(())
    }

    /// The recording was moved. A world that was being received is of no use any more; what is shown stays until
    /// the one of the new moment is complete.
    fn jump(&mut self, anchor: &ClockAnchor, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        let recording = self.recording.as_mut().ok_or(ProtocolError::OutOfPlace {
            what: "another moment",
            when: "in a game that is being played",
        })?;
        recording.sought(anchor.game);
        self.loading = None;
        if let Some(display) = self.display() {
            display.forget_anchors();
        }
        self.anchor(anchor, context)
    }

    fn anchor(&mut self, anchor: &ClockAnchor, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_time(anchor.game)?;
        let to_us = anchor.real_us;
        if let Some(from_us) = self.anchor_us
            && to_us < from_us
        {
            return Err(StreamError::AnchorBack { from_us, to_us }.into());
        }
        self.anchor_us = Some(to_us);
        self.control.told(anchor).map_err(|_| ProtocolError::TooMuch {
            what: "changes of speed",
            max: crate::prediction::WAITING_MAX,
        })?;
        let at: ServerTime = context.clock.server_time(anchor.real_us);
        if let Some(display) = self.display() {
            display.anchor(Anchor {
                at,
                game: anchor.game,
                frequency: anchor.frequency,
                paused: anchor.paused,
            });
        }
        Ok(())
    }

    fn display(&mut self) -> Option<&mut DisplayClock> {
        match &mut self.timeline {
            Some(timeline) => Some(&mut timeline.clock),
            None => self.display.as_mut(),
        }
    }
}

impl Context<'_> {
    fn send(&mut self, message: &ToServer) {
        self.acks.send();
        self.outbox.write_message(message);
    }
}

fn empty_world(hello: &ServerHello) -> Snapshot {
    let teams = hello.teams.iter().map(|name| readable(name).into());
    Snapshot::new(hello.size, teams.collect())
}

fn checked_stats(stats: ServerStats) -> Result<ServerStats, ProtocolError> {
    match stats.teams.len() <= TEAMS_MAX {
        true => Ok(stats),
        false => Err(ProtocolError::TooMuch {
            what: "teams",
            max: TEAMS_MAX,
        }),
    }
}

fn check_time(at: GameTime) -> Result<(), StreamError> {
    match (0..=GAME_TIME_NU_MAX).contains(&at.as_nanounits()) {
        true => Ok(()),
        false => Err(StreamError::GameTimeRange { at }),
    }
}

fn check_times(times: impl IntoIterator<Item = GameTime>) -> Result<(), StreamError> {
    times.into_iter().try_for_each(check_time)
}

/// Marks lie in the recording and in order, and there are not too many.
fn check_recording(info: &RecordingInfo) -> Result<(), ProtocolError> {
    check_times([info.begin, info.end])?;
    if info.marks.len() > MARKS_MAX {
        return Err(ProtocolError::TooMuch {
            what: "marks",
            max: MARKS_MAX,
        });
    }
    let mut last = info.begin;
    for mark in &info.marks {
        if mark.at < last {
            return Err(StreamError::GameTimeBack { at: mark.at, last }.into());
        }
        last = mark.at;
    }
    match last <= info.end {
        true => Ok(()),
        false => Err(StreamError::GameTimeRange { at: last }.into()),
    }
}

/// A history is in order of time and bounded, and scores are of all teams.
fn check_history(history: &History, teams: usize) -> Result<(), ProtocolError> {
    let scores = history
        .scores
        .iter()
        .map(|point| point.scores.len())
        .sum::<usize>();
    for (count, what, max) in [
        (scores, "scores", HISTORY_SCORES_MAX),
        (history.scores.len(), "moments of the score", HISTORY_SCORES_MAX),
        (history.events.len(), "past events", HISTORY_EVENTS_MAX),
    ] {
        if count > max {
            return Err(ProtocolError::TooMuch { what, max });
        }
    }
    if history.scores.iter().any(|point| point.scores.len() != teams) {
        return Err(ProtocolError::OutOfPlace {
            what: "a score",
            when: "of other teams than there are",
        });
    }
    let points = history.scores.iter().map(|point| point.at);
    let events = history.events.iter().map(|entry| entry.at);
    for times in [points.collect::<Vec<_>>(), events.collect()] {
        check_times(times.iter().copied())?;
        if let Some(pair) = times.windows(2).find(|pair| pair[1] < pair[0]) {
            let (at, last) = (pair[1], pair[0]);
            return Err(StreamError::GameTimeBack { at, last }.into());
        }
    }
    Ok(())
}

fn check_times_of(change: &Change) -> Result<(), StreamError> {
    match change {
        Change::Joined { food_ends, .. } | Change::Inventory { food_ends, .. } => check_times(*food_ends),
        Change::ActionStarted { action, .. } => check_times([action.start, action.end]),
        Change::RitualStarted(ritual) => check_times([ritual.start, ritual.end]),
        _ => Ok(()),
    }
}

fn check_times_of_part(part: &SnapshotPart) -> Result<(), StreamError> {
    match part {
        SnapshotPart::Ground { .. } | SnapshotPart::Eggs(_) | SnapshotPart::Winner(_) => Ok(()),
        SnapshotPart::Agents(agents) => agents.iter().try_for_each(|agent| {
            check_times(agent.food_ends)?;
            agent
                .action
                .iter()
                .try_for_each(|action| check_times([action.start, action.end]))
        }),
        SnapshotPart::Rituals(rituals) => rituals
            .iter()
            .try_for_each(|ritual| check_times([ritual.start, ritual.end])),
    }
}
