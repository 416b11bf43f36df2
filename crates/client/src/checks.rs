//! Checks of what a server sends, as it comes in: game times, their order, and how much there is.
//!
//! Stream time and marks are [`crate::stream_time`]'s; numbers and tiles of a change are checked in
//! [`crate::world`] when it is shown.

use trantor_protocol::limits::{HISTORY_EVENTS_MAX, HISTORY_SCORES_MAX, MARKS_MAX};
use trantor_protocol::wire::{
    Change, History, RecordingInfo, ServerHello, ServerStats, SnapshotPart, WIRE_VERSION,
};
use trantor_time::GameTime;

use crate::error::{ProtocolError, StreamError};

/// Teams shown. Far more than a game has; each has a line in every frame.
pub(crate) const TEAMS_MAX: usize = 1_024;

/// The largest game time believed, in nanounits: more than the fastest clock shows in a million years. It
/// leaves room for every sum and product in 128 bits.
const GAME_TIME_NU_MAX: i128 = 1 << 96;

/// The server's hello.
pub(crate) fn check_hello(hello: &ServerHello) -> Result<(), ProtocolError> {
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
    check_teams(hello.teams.len())
}

/// The server's figures.
pub(crate) fn check_stats(stats: &ServerStats) -> Result<(), ProtocolError> {
    check_teams(stats.teams.len())
}

fn check_teams(teams: usize) -> Result<(), ProtocolError> {
    match teams <= TEAMS_MAX {
        true => Ok(()),
        false => Err(ProtocolError::TooMuch {
            what: "teams",
            max: TEAMS_MAX,
        }),
    }
}

/// A game time that a game can reach.
pub(crate) fn check_time(at: GameTime) -> Result<(), StreamError> {
    match (0..=GAME_TIME_NU_MAX).contains(&at.as_nanounits()) {
        true => Ok(()),
        false => Err(StreamError::GameTimeRange { at }),
    }
}

fn check_times(times: impl IntoIterator<Item = GameTime>) -> Result<(), StreamError> {
    times.into_iter().try_for_each(check_time)
}

/// Marks lie in the recording and in order, and there are not too many.
pub(crate) fn check_recording(info: &RecordingInfo) -> Result<(), ProtocolError> {
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
pub(crate) fn check_history(history: &History, teams: usize) -> Result<(), ProtocolError> {
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

/// The game times of a change.
pub(crate) fn check_times_of(change: &Change) -> Result<(), StreamError> {
    match change {
        Change::Joined { food_ends, .. } | Change::Inventory { food_ends, .. } => check_times(*food_ends),
        Change::ActionStarted { action, .. } => check_times([action.start, action.end]),
        Change::RitualStarted(ritual) => check_times([ritual.start, ritual.end]),
        _ => Ok(()),
    }
}

/// The game times of a piece of a world.
pub(crate) fn check_times_of_part(part: &SnapshotPart) -> Result<(), StreamError> {
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
