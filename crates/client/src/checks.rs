//! Checks of what a server sends, as it comes in: the order of game times, and how much there is.
//!
//! Stream time and marks are [`crate::stream_time`]'s; numbers and tiles of a change are checked in
//! [`crate::world`] when it is shown.

use trantor_protocol::limits::{HISTORY_EVENTS_MAX, HISTORY_SCORES_MAX, MARKS_MAX};
use trantor_protocol::wire::{History, RecordingInfo, ServerHello, ServerStats, WIRE_VERSION};
use trantor_time::GameTime;

use crate::error::{ProtocolError, StreamError};

/// Teams shown. Far more than a game has; each has a line in every frame.
pub(crate) const TEAMS_MAX: usize = 1_024;

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
    check_count("teams", teams, TEAMS_MAX)
}

/// There are not too many of something.
pub(crate) fn check_count(what: &'static str, count: usize, max: usize) -> Result<(), ProtocolError> {
    match count <= max {
        true => Ok(()),
        false => Err(ProtocolError::TooMuch { what, max }),
    }
}

fn check_order(times: impl IntoIterator<Item = GameTime>, begin: GameTime) -> Result<GameTime, StreamError> {
    times.into_iter().try_fold(begin, |last, at| match at < last {
        true => Err(StreamError::GameTimeBack { at, last }),
        false => Ok(at),
    })
}

/// Marks lie in the recording and in order, and there are not too many.
pub(crate) fn check_recording(info: &RecordingInfo) -> Result<(), ProtocolError> {
    check_count("marks", info.marks.len(), MARKS_MAX)?;
    let last = check_order(info.marks.iter().map(|mark| mark.at), info.begin)?;
    match last <= info.end {
        true => Ok(()),
        false => Err(StreamError::GameTimeRange { at: last }.into()),
    }
}

/// A history is in order of time and bounded, and scores are of all teams.
pub(crate) fn check_history(history: &History, teams: usize) -> Result<(), ProtocolError> {
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
