//! The state of a frame viewer: its clock, credit and feed.
//!
//! A viewer first gets a snapshot, in pieces and on credit, and from then on changes. One that reads too slowly is not sent all
//! of the past: its changes are dropped, and once it has caught up it gets a fresh snapshot.

use std::sync::Arc;

use trantor_game::Game;
use trantor_model::{AgentId, CommandKind};
use trantor_protocol::wire::ReceivedNumbers;
use trantor_time::{RealSpan, RealTime};

use crate::limits;
use crate::snapshot::{Population, Snapshot};

/// The state of a frame viewer after its hello, and before it as far as it has one.
#[derive(Debug)]
pub(crate) struct Observer {
    /// Instants to and from this viewer are microseconds after this one.
    pub(crate) reference: RealTime,
    /// Numbers of its messages, and what was acknowledged.
    pub(crate) numbers: ReceivedNumbers,
    /// The stream time it was sent.
    pub(crate) stream_time: StreamTime,
    /// Pieces of a snapshot it has not given credit back for.
    in_flight: u32,
    pub(crate) feed: Feed,
    /// Position in the log of frames: what lies before it was sent, or is in the snapshot.
    pub(crate) position: u64,
    /// Whether it has moved paused time, and what became due by that may not be done.
    pub(crate) has_stepped: bool,
    /// The agent whose waiting commands it watches.
    pub(crate) watched: Option<Watched>,
}

/// An agent that a viewer watches.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) agent: AgentId,
    /// The waiting commands sent last; `None` before the first time.
    pub(crate) sent: Option<Vec<Option<CommandKind>>>,
}

/// How a viewer is kept up to date.
#[derive(Debug)]
pub(crate) enum Feed {
    /// Before its hello it is sent nothing.
    Silent,
    Snapshot {
        /// The part not sent yet.
        snapshot: Snapshot,
        /// Changes since it was begun became too many.
        is_outdated: bool,
        /// When it was begun, or a piece of it was last sent.
        moved_at: RealTime,
    },
    /// It has the world and is sent every change.
    Updates,
    /// It does not read fast enough, or there is no room for its delayed updates: it gets no changes, but another
    /// snapshot once it has caught up.
    Behind,
}

/// A viewer gave back more credit than it had received pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreditOverdrawn;

impl Observer {
    pub(crate) fn new(reference: RealTime) -> Self {
        Self {
            reference,
            numbers: ReceivedNumbers::default(),
            stream_time: StreamTime::default(),
            in_flight: 0,
            feed: Feed::Silent,
            position: 0,
            has_stepped: false,
            watched: None,
        }
    }

    pub(crate) fn is_welcome(&self) -> bool {
        !matches!(self.feed, Feed::Silent)
    }

    /// An instant as this viewer counts it: whole microseconds after its reference, rounded down.
    pub(crate) fn us_at(&self, instant: RealTime) -> i64 {
        (instant - self.reference).as_nanos().div_euclid(1_000)
    }

    /// The first instant not before `instant` that this viewer can represent exactly.
    pub(crate) fn next_whole_us(&self, instant: RealTime) -> (i64, RealTime) {
        let us = -(-(instant - self.reference).as_nanos()).div_euclid(1_000);
        (us, self.reference + RealSpan::from_micros(us))
    }

    /// Starts a snapshot of a world with this population, at this position in the log.
    pub(crate) fn begin_snapshot(&mut self, population: Arc<Population>, position: u64, now: RealTime) {
        self.feed = Feed::Snapshot {
            snapshot: Snapshot::new(population),
            is_outdated: false,
            moved_at: now,
        };
        self.position = position;
    }

    /// Whether it will read on from its position.
    pub(crate) fn reads_log(&self) -> bool {
        matches!(
            self.feed,
            Feed::Updates
                | Feed::Snapshot {
                    is_outdated: false,
                    ..
                }
        )
    }

    /// The next piece of a snapshot that there is credit for, which is lent if `is_lent`. The last one is the
    /// snapshot's end.
    pub(crate) fn next_part(&mut self, game: &Game, is_lent: bool, now: RealTime) -> Option<Arc<[u8]>> {
        let Feed::Snapshot {
            snapshot, moved_at, ..
        } = &mut self.feed
        else {
            return None;
        };
        if !snapshot.is_over() && !snapshot.is_end_next(game) {
            if self.in_flight >= limits::SNAPSHOT_CREDIT && !is_lent {
                return None;
            }
            self.in_flight += 1;
        }
        *moved_at = now;
        snapshot.next(game)
    }

    /// Since when the rest of a snapshot has waited for credit, if one is not sent to its end.
    pub(crate) fn snapshot_waits_since(&self) -> Option<RealTime> {
        match &self.feed {
            Feed::Snapshot {
                snapshot, moved_at, ..
            } if !snapshot.is_over() => Some(*moved_at),
            _ => None,
        }
    }

    /// The viewer has processed `items` pieces.
    pub(crate) fn credit(&mut self, items: u32) -> Result<(), CreditOverdrawn> {
        self.in_flight = self.in_flight.checked_sub(items).ok_or(CreditOverdrawn)?;
        Ok(())
    }
}

/// The stream time that one viewer holds, in microseconds after its reference: the server instant that it attributes to what it
/// reads.
///
/// A begin mark sets it to the tick's scheduled instant. Between ticks it is sent lazily, just before a message whose stream time
/// would otherwise be wrong. The two must never collide: an event that is processed while a tick is due already, but has not run,
/// is stamped below that tick's instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamTime {
    sent_us: Option<i64>,
}

impl StreamTime {
    /// What to send the viewer before a message about an event at `event_us`; `None` if it knows already.
    ///
    /// `next_tick_us` is the instant of the next tick that will be marked.
    pub(crate) fn before_event(&mut self, event_us: i64, next_tick_us: i64) -> Option<i64> {
        let instant_us = event_us.min(next_tick_us - 1);
        if self.sent_us.is_some_and(|sent_us| instant_us <= sent_us) {
            return None;
        }
        self.sent_us = Some(instant_us);
        Some(instant_us)
    }

    /// The begin mark of a tick at `instant_us` was sent.
    ///
    /// # Panics
    /// If stream time would not increase by it; the clamp above sees to that.
    pub(crate) fn at_tick(&mut self, instant_us: i64) {
        assert!(
            self.sent_us.is_none_or(|sent_us| sent_us < instant_us),
            "stream time increases with every tick"
        );
        self.sent_us = Some(instant_us);
    }
}
