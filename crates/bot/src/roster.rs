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
pub struct Roster {
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
pub enum Next {
    /// Open one more connection, and report it by [`Roster::connecting`].
    Connect,
    /// Wait for events, at most until this instant.
    Wait(Option<RealTime>),
    /// Give up or finish.
    Finish(Finish),
}

/// Reason of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
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
    pub fn new(wanted: usize, most: usize, patience: RealSpan, now: RealTime) -> Self {
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
    pub fn next(&self, now: RealTime) -> Next {
        let agents = self.playing + self.joining;
        if self.was_closed && agents == 0 {
            return Next::Finish(if self.was_closed_in_order {
                Finish::Closed
            } else {
                Finish::BrokenOff
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
        Next::Wait(Some(if lacks {
            gives_up_at.min(self.next_try_at)
        } else {
            gives_up_at
        }))
    }

    /// A connection is being opened.
    pub fn connecting(&mut self, now: RealTime) {
        self.joining += 1;
        self.asked_at = now;
        self.extra = self
            .extra
            .saturating_sub(usize::from(self.playing + self.joining > self.wanted));
    }

    /// A connecting agent joined.
    pub fn joined(&mut self) {
        self.joining -= 1;
        self.playing += 1;
        self.joins += 1;
        // The game continues: earlier closes were of single connections.
        self.was_closed = false;
        self.was_closed_in_order = false;
    }

    /// A connecting agent was refused.
    pub fn refused(&mut self, now: RealTime) {
        self.was_refused = true;
        self.failed(now);
    }

    /// A connection failed or ended before the answer.
    pub fn turned_away(&mut self, now: RealTime) {
        self.was_turned_away = true;
        self.failed(now);
    }

    fn failed(&mut self, now: RealTime) {
        self.joining -= 1;
        self.extra = 0;
        self.next_try_at = now.saturating_add(RETRY_AFTER);
    }

    /// An agent died. Its place may be free: retry at once.
    pub fn died(&mut self, now: RealTime) {
        self.was_closed = false;
        self.was_closed_in_order = false;
        self.next_try_at = now;
        self.left(now);
    }

    /// The connection of a living agent was closed cleanly or broke.
    pub fn closed(&mut self, in_order: bool, now: RealTime) {
        self.was_closed = true;
        self.was_closed_in_order |= in_order;
        self.next_try_at = now.saturating_add(RETRY_AFTER);
        self.left(now);
    }

    /// An agent found a free place.
    pub fn free_place(&mut self, now: RealTime) {
        self.extra = 1;
        self.next_try_at = self.next_try_at.min(now);
    }

    /// Number of the next agent that joins, as a replacement: 0 for the first `wanted` agents, then 1 and so on. Failed
    /// attempts do not count, since their number depends on timing.
    pub fn replacement(&self) -> u64 {
        (self.joins + 1).saturating_sub(self.wanted as u64)
    }

    /// Agents in the game.
    pub fn playing(&self) -> usize {
        self.playing
    }

    fn left(&mut self, now: RealTime) {
        self.playing -= 1;
        if self.playing == 0 {
            self.nobody_since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> RealTime {
        RealTime::ZERO.saturating_add(RealSpan::from_millis(ms))
    }

    /// Six wanted, twelve at most, ten seconds of patience.
    fn roster() -> Roster {
        Roster::new(6, 12, RealSpan::from_secs(10), at_ms(0))
    }

    fn fill(roster: &mut Roster) {
        while roster.next(at_ms(0)) == Next::Connect {
            roster.connecting(at_ms(0));
        }
        for _ in 0..6 {
            roster.joined();
        }
        assert_eq!(roster.next(at_ms(0)), Next::Wait(None));
    }

    #[test]
    fn as_many_as_wanted_connect_at_once() {
        let mut roster = roster();
        for _ in 0..6 {
            assert_eq!(roster.next(at_ms(0)), Next::Connect);
            roster.connecting(at_ms(0));
        }
        assert_eq!(roster.next(at_ms(0)), Next::Wait(Some(at_ms(10_000))));
    }

    #[test]
    fn who_comes_later_is_counted_by_places_and_not_by_tries() {
        let mut roster = roster();
        assert_eq!(roster.replacement(), 0);
        fill(&mut roster);
        assert_eq!(roster.replacement(), 1);
        roster.connecting(at_ms(0));
        roster.refused(at_ms(0));
        assert_eq!(roster.replacement(), 1);
        roster.connecting(at_ms(0));
        roster.joined();
        assert_eq!(roster.replacement(), 2);
    }

    #[test]
    fn who_is_refused_tries_again_later_and_gives_up_in_the_end() {
        let mut roster = Roster::new(1, 2, RealSpan::from_secs(1), at_ms(0));
        roster.connecting(at_ms(0));
        roster.refused(at_ms(10));
        assert_eq!(roster.next(at_ms(10)), Next::Wait(Some(at_ms(510))));
        assert_eq!(roster.next(at_ms(510)), Next::Connect);
        roster.connecting(at_ms(0));
        roster.refused(at_ms(520));
        assert_eq!(roster.next(at_ms(520)), Next::Wait(Some(at_ms(1_000))));
        assert_eq!(roster.next(at_ms(1_000)), Next::Finish(Finish::NoPlace));
    }

    #[test]
    fn without_patience_the_server_is_asked_once_and_heard() {
        let mut roster = Roster::new(1, 2, RealSpan::ZERO, at_ms(0));
        assert_eq!(roster.next(at_ms(0)), Next::Connect);
        roster.connecting(at_ms(1));
        let silent = roster.clone();
        assert_eq!(roster.next(at_ms(1)), Next::Wait(Some(at_ms(2_001))));
        roster.refused(at_ms(5));
        assert_eq!(roster.next(at_ms(5)), Next::Finish(Finish::NoPlace));
        assert_eq!(silent.next(at_ms(2_001)), Next::Finish(Finish::NoAnswer));
        let mut let_go = silent.clone();
        let_go.turned_away(at_ms(5));
        assert_eq!(let_go.next(at_ms(5)), Next::Finish(Finish::TurnedAway));
    }

    #[test]
    fn while_some_play_others_are_tried_for_without_end() {
        let mut roster = roster();
        fill(&mut roster);
        roster.died(at_ms(5_000));
        for round in 0..100 {
            let now = 5_000 + 500 * round;
            assert_eq!(roster.next(at_ms(now)), Next::Connect);
            roster.connecting(at_ms(0));
            roster.refused(at_ms(now));
            assert_eq!(roster.next(at_ms(now)), Next::Wait(Some(at_ms(now + 500))));
        }
    }

    #[test]
    fn a_place_the_team_knows_of_is_taken_up_to_the_most() {
        let mut roster = roster();
        fill(&mut roster);
        for _ in 0..6 {
            roster.free_place(at_ms(1_000));
            assert_eq!(roster.next(at_ms(1_000)), Next::Connect);
            roster.connecting(at_ms(0));
            assert_eq!(roster.next(at_ms(1_000)), Next::Wait(None));
            roster.joined();
        }
        roster.free_place(at_ms(1_000));
        assert_eq!(roster.next(at_ms(1_000)), Next::Wait(None), "twelve are enough");
        assert_eq!(roster.playing(), 12);
    }

    #[test]
    fn the_game_is_over_when_all_are_closed_alive() {
        let mut roster = roster();
        fill(&mut roster);
        let mut broken_off = roster.clone();
        for nth in 0..6 {
            assert!(matches!(roster.next(at_ms(9)), Next::Wait(_)));
            // A server that stops resets connections with unread input.
            roster.closed(nth == 0, at_ms(9));
            broken_off.closed(false, at_ms(9));
        }
        assert_eq!(roster.next(at_ms(9)), Next::Finish(Finish::Closed));
        assert_eq!(broken_off.next(at_ms(9)), Next::Finish(Finish::BrokenOff));
    }

    #[test]
    fn one_that_is_let_go_does_not_end_the_game_for_those_who_play_on() {
        let mut roster = roster();
        fill(&mut roster);
        roster.closed(true, at_ms(9));
        assert_eq!(roster.next(at_ms(509)), Next::Connect);
        let mut alone = roster.clone();
        roster.connecting(at_ms(509));
        roster.joined();
        for roster in [&mut roster, &mut alone] {
            while roster.playing() > 0 {
                roster.died(at_ms(600));
            }
            assert_eq!(
                roster.next(at_ms(600)),
                Next::Connect,
                "its places may be free again"
            );
        }
    }

    #[test]
    fn a_dead_team_has_its_own_ending() {
        let mut roster = roster();
        fill(&mut roster);
        for _ in 0..6 {
            roster.died(at_ms(9));
        }
        while roster.next(at_ms(9)) == Next::Connect {
            roster.connecting(at_ms(0));
            roster.refused(at_ms(9));
        }
        assert_eq!(roster.next(at_ms(10_009)), Next::Connect);
        roster.connecting(at_ms(0));
        roster.refused(at_ms(10_010));
        assert_eq!(roster.next(at_ms(10_010)), Next::Finish(Finish::AllDead));
    }
}
