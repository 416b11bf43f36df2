//! Decides how many agents of a team connect, when to retry, and when to give up.
//!
//! Time is an argument; the caller owns the connections, reports their results, and executes [`Roster::next`].

use trantor_time::{RealSpan, RealTime};

/// Interval between attempts to join. Each attempt is a new connection, since servers close peers that retry too often on
/// one.
const RETRY_AFTER: RealSpan = RealSpan::from_millis(500);

/// Shortest wait for the server's answer, whatever the patience.
const ANSWER_SPAN: RealSpan = RealSpan::from_secs(2);

/// Counts of the agents of a team in this process.
#[derive(Clone, Debug)]
pub(crate) struct Roster {
    /// Agents to keep in the game.
    wanted: usize,
    /// Most agents, where the team requests more.
    most: usize,
    /// How long to keep trying while no agent plays.
    patience: RealSpan,
    playing: usize,
    joining: usize,
    /// Known free places beyond the wanted number of agents.
    extra: usize,
    next_try_at: RealTime,
    /// Start of the newest connection.
    asked_at: RealTime,
    /// Since when no agent has played.
    nobody_since: RealTime,
    /// Agents that have joined.
    joins: u64,
    was_refused: bool,
    /// The server closed a connection before it answered.
    was_turned_away: bool,
    /// The server closed the connection of a living agent, and no agent joined or died since, as at the end of a game.
    was_closed: bool,
    /// One of these connections was closed cleanly.
    was_closed_in_order: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Open one more connection, and report it by [`Roster::connecting`].
    Connect,
    /// Wait for events, at most until this instant.
    Wait(Option<RealTime>),
    /// Give up or finish.
    Finish(Finish),
}

/// Reason of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The server closed the connections, as servers do at the end of a game.
    Closed,
    /// All connections broke.
    BrokenOff,
    /// The server has no place for this team.
    NoPlace,
    /// The server closed each connection before it answered.
    TurnedAway,
    /// The server does not answer.
    NoAnswer,
    /// All agents died, and no place is free.
    AllDead,
}

impl Roster {
    /// No agents yet; the first connections are due at once.
    pub(crate) fn new(wanted: usize, most: usize, patience: RealSpan, now: RealTime) -> Self {
        Self {
            wanted,
            most: most.max(wanted),
            patience,
            playing: 0,
            joining: 0,
            extra: 0,
            next_try_at: now,
            asked_at: now,
            nobody_since: now,
            joins: 0,
            was_refused: false,
            was_turned_away: false,
            was_closed: false,
            was_closed_in_order: false,
        }
    }

    /// The next action.
    pub(crate) fn next(&self, now: RealTime) -> Next {
        let agents = self.playing + self.joining;
        if self.was_closed && agents == 0 {
            return Next::Finish(match self.was_closed_in_order {
                true => Finish::Closed,
                false => Finish::BrokenOff,
            });
        }
        let lacks = agents < self.wanted || (self.extra > 0 && agents < self.most);
        if lacks && now >= self.next_try_at {
            return Next::Connect;
        }
        let mut gives_up_at = self.nobody_since.saturating_add(self.patience);
        if self.joining > 0 {
            gives_up_at = gives_up_at.max(self.asked_at.saturating_add(ANSWER_SPAN));
        }
        if self.playing > 0 {
            return Next::Wait(lacks.then_some(self.next_try_at));
        }
        if now >= gives_up_at {
            return Next::Finish(if self.joins > 0 {
                Finish::AllDead
            } else if self.was_refused {
                Finish::NoPlace
            } else if self.was_turned_away {
                Finish::TurnedAway
            } else {
                Finish::NoAnswer
            });
        }
        Next::Wait(Some(match lacks {
            true => gives_up_at.min(self.next_try_at),
            false => gives_up_at,
        }))
    }

    /// A connection is being opened.
    pub(crate) fn connecting(&mut self, now: RealTime) {
        self.joining += 1;
        self.asked_at = now;
        self.extra = self
            .extra
            .saturating_sub(usize::from(self.playing + self.joining > self.wanted));
    }

    /// A connecting agent joined.
    pub(crate) fn joined(&mut self) {
        self.joining -= 1;
        self.playing += 1;
        self.joins += 1;
        // The game continues: earlier closes were of single connections.
        self.was_closed = false;
        self.was_closed_in_order = false;
    }

    /// A connecting agent was refused, or its connection failed or ended before the answer.
    pub(crate) fn not_joined(&mut self, is_refusal: bool, now: RealTime) {
        self.was_refused |= is_refusal;
        self.was_turned_away |= !is_refusal;
        self.joining -= 1;
        self.extra = 0;
        self.next_try_at = now.saturating_add(RETRY_AFTER);
    }

    /// An agent died. Its place may be free: retry at once.
    pub(crate) fn died(&mut self, now: RealTime) {
        self.was_closed = false;
        self.was_closed_in_order = false;
        self.next_try_at = now;
        self.left(now);
    }

    /// The connection of a living agent was closed cleanly or broke.
    pub(crate) fn closed(&mut self, in_order: bool, now: RealTime) {
        self.was_closed = true;
        self.was_closed_in_order |= in_order;
        self.next_try_at = now.saturating_add(RETRY_AFTER);
        self.left(now);
    }

    /// An agent found a free place.
    pub(crate) fn free_place(&mut self, now: RealTime) {
        self.extra = (self.extra + 1).min(self.most);
        self.next_try_at = self.next_try_at.min(now);
    }

    /// Number of the next agent that joins, as a replacement: 0 for the first `wanted` agents, then 1 and so on. Failed
    /// attempts do not count, since their number depends on timing.
    pub(crate) fn replacement(&self) -> u64 {
        (self.joins + 1).saturating_sub(self.wanted as u64)
    }

    fn left(&mut self, now: RealTime) {
        self.playing -= 1;
        if self.playing == 0 {
            self.nobody_since = now;
        }
    }
}
