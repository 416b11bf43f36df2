//! Read scheduling: connections with fresh data go before connections with a backlog.
//!
//! One read takes a player's command whole. A flooding peer always has more, and a hundred of them would delay a command by
//! a hundred reads, a millisecond. They have a queue of their own, with a turn after each [`FRESH_IN_A_ROW_MAX`] fresh
//! connections, or when no connection is fresh.

use std::collections::VecDeque;

use trantor_engine::ConnId;

/// Fresh connections in a row. Few enough for a large message of an honest peer to be read while thousands play, and enough
/// for floods to cost others no more than an eighth.
const FRESH_IN_A_ROW_MAX: u32 = 8;

/// Connections with something to read. The owner sees to it that each is in it once at most.
#[derive(Debug, Default)]
pub(super) struct ReadTurns {
    /// Connections with fresh data.
    fresh: VecDeque<ConnId>,
    /// Connections with more than one read takes, or that were throttled.
    more: VecDeque<ConnId>,
    /// Turns of fresh connections since the last one of the others.
    fresh_in_a_row: u32,
}

impl ReadTurns {
    pub(super) fn push_fresh(&mut self, id: ConnId) {
        self.fresh.push_back(id);
    }

    pub(super) fn push_more(&mut self, id: ConnId) {
        self.more.push_back(id);
    }

    pub(super) fn pop(&mut self) -> Option<ConnId> {
        if self.fresh_in_a_row < FRESH_IN_A_ROW_MAX
            && let Some(id) = self.fresh.pop_front()
        {
            self.fresh_in_a_row += 1;
            return Some(id);
        }
        self.fresh_in_a_row = 0;
        self.more.pop_front().or_else(|| self.fresh.pop_front())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.more.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.fresh.clear();
        self.more.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(slot: u32) -> ConnId {
        ConnId { slot, generation: 0 }
    }

    #[test]
    fn a_command_does_not_wait_for_floods() {
        let mut turns = ReadTurns::default();
        (0..100).for_each(|flood| turns.push_more(id(flood)));
        turns.push_fresh(id(1_000));
        turns.push_fresh(id(1_001));
        let order: Vec<u32> = (0..4).map(|_| turns.pop().unwrap().slot).collect();
        assert_eq!(order, [1_000, 1_001, 0, 1]);
    }

    #[test]
    fn a_backlog_is_not_starved_by_fresh_data() {
        let mut turns = ReadTurns::default();
        turns.push_more(id(7));
        turns.push_more(id(8));
        let mut seen = Vec::new();
        for player in 0..100 {
            turns.push_fresh(id(1_000 + player));
            turns.push_fresh(id(2_000 + player));
            seen.push(turns.pop().unwrap().slot);
        }
        let places: Vec<_> = [7, 8]
            .map(|flood| seen.iter().position(|&slot| slot == flood))
            .into();
        assert_eq!(places, [Some(8), Some(17)]);
    }
}
