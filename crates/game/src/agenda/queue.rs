//! The store of pending deadlines: those of one moment in a row, and a heap of the moments.
//!
//! Agents that started together end together, so in a game that leaps thousands of deadlines fall on few
//! moments. Each moment then costs the heap once, and each deadline only a link. Where every deadline has a
//! moment of its own, as with agents on a network, this is a heap with one more step.
//!
//! The order is that of moments, then registration. A row is found again only through a short list of those
//! last used; a deadline that misses it begins a second row of the same moment, which comes after the first,
//! since the first gets no more.
//!
//! Starts are kept apart: they are only ever set for the present instant, at which nothing ranks behind them,
//! so that a plain queue is enough.

use std::collections::VecDeque;

use trantor_model::AgentId;
use trantor_time::{DeadlineHeap, GameTime, TimerId};

use super::places::{Pending, Places};
use super::{Due, Moment};

/// Rows remembered for what is scheduled next. Most commands take 7 units and the rest one of five other
/// lengths, so a few rows take nearly all.
const RECENT_ROWS: usize = 4;

/// Pending deadlines.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    rows: DeadlineHeap<Moment, Row>,
    pending: Places,
    recent: [Option<(Moment, TimerId)>; RECENT_ROWS],
    /// Which of the recent rows was forgotten last.
    oldest: usize,
    /// Who starts a command at `starts_at`, in order.
    starts: VecDeque<AgentId>,
    starts_at: GameTime,
    /// The earliest deadline; asked for several times per action.
    next: Option<GameTime>,
    lock_step: bool,
}

/// Names a pending deadline until it is taken or cancelled. It is not good for anything afterwards: places
/// are used again, and whoever holds a ticket lets go of it when its deadline is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticket {
    /// Its place among the pending.
    Pending(u32),
    /// The start of an agent.
    Start(AgentId),
}

/// Deadlines of one moment, in order of registration; never empty.
#[derive(Clone, Copy, Debug)]
struct Row {
    first: u32,
    last: u32,
}

impl Agenda {
    /// Nothing pending yet. In lock-step, what is due at one moment goes by the agents' numbers.
    pub(crate) fn new(lock_step: bool) -> Self {
        Self {
            rows: DeadlineHeap::new(),
            pending: Places::default(),
            recent: [None; RECENT_ROWS],
            oldest: 0,
            starts: VecDeque::new(),
            starts_at: GameTime::ZERO,
            next: None,
            lock_step,
        }
    }

    /// Adds a deadline, behind all of the same moment and rank. A start must be set for the present instant,
    /// that is at or before everything pending.
    pub(crate) fn schedule(&mut self, at: GameTime, due: Due) -> Ticket {
        if self.next.is_none_or(|next| at < next) {
            self.next = Some(at);
        }
        if let Due::Start(agent) = due {
            self.add_start(at, agent);
            return Ticket::Start(agent);
        }
        let moment = due.moment(at, self.lock_step);
        let place = self.pending.next_place();
        let known = self
            .recent
            .iter()
            .position(|recent| recent.is_some_and(|(recent, _)| recent == moment));
        let row = known.and_then(|known| self.recent[known]);
        let (row, before) = match row.and_then(|(_, id)| Some((id, self.rows.get_mut(id)?))) {
            Some((id, row)) => {
                let last = std::mem::replace(&mut row.last, place);
                self.pending.at_mut(last).after = Some(place);
                (id, Some(last))
            }
            None => (self.begin_row(moment, place, known), None),
        };
        self.pending.fill(due, row, before);
        Ticket::Pending(place)
    }

    /// When the first deadline is. O(1).
    pub(crate) fn next_deadline(&self) -> Option<GameTime> {
        self.next
    }

    /// Whether the first deadline is a start.
    pub(crate) fn is_start_next(&self) -> bool {
        match self.rows.first() {
            Some((moment, _)) if self.starts.is_empty() || moment.at <= self.starts_at => false,
            _ => !self.starts.is_empty(),
        }
    }

    /// Takes the first deadline.
    pub(crate) fn take_first(&mut self) -> Option<(GameTime, Due)> {
        match self.rows.first() {
            Some((moment, row)) if self.starts.is_empty() || moment.at <= self.starts_at => {
                let due = self.remove(row.first);
                Some((moment.at, due))
            }
            _ => {
                let agent = self.starts.pop_front()?;
                self.find_next();
                Some((self.starts_at, Due::Start(agent)))
            }
        }
    }

    /// Takes a pending deadline off.
    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        match ticket {
            Ticket::Pending(place) => {
                self.remove(place);
            }
            Ticket::Start(agent) => {
                self.starts.retain(|&other| other != agent);
                self.find_next();
            }
        }
    }

    /// What is due under a ticket.
    pub(crate) fn get(&self, ticket: Ticket) -> Option<Due> {
        match ticket {
            Ticket::Pending(place) => Some(self.pending.at(place).due),
            Ticket::Start(agent) => self.starts.contains(&agent).then_some(Due::Start(agent)),
        }
    }

    /// When it is due.
    pub(crate) fn deadline_of(&self, ticket: Ticket) -> Option<GameTime> {
        match ticket {
            Ticket::Pending(place) => {
                let row = self.pending.at(place).row;
                self.rows.deadline_of(row).map(|moment| moment.at)
            }
            Ticket::Start(agent) => self.starts.contains(&agent).then_some(self.starts_at),
        }
    }

    /// How many deadlines are pending.
    pub(crate) fn len(&self) -> usize {
        self.pending.taken() + self.starts.len()
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.pending.clear();
        self.recent = [None; RECENT_ROWS];
        self.starts.clear();
        self.next = None;
    }

    /// Everything pending, in the order in which it will be taken.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Due> {
        let rows = self.rows.in_order();
        let before_starts = rows.partition_point(|(moment, _)| moment.at <= self.starts_at);
        let dues_of = move |row: Row| {
            let places = std::iter::successors(Some(row.first), |&place| self.pending.at(place).after);
            places.map(|place| self.pending.at(place).due)
        };
        let (before, after): (Vec<Row>, Vec<Row>) = (
            rows[..before_starts].iter().map(|(_, row)| **row).collect(),
            rows[before_starts..].iter().map(|(_, row)| **row).collect(),
        );
        let starts = self.starts.iter().map(|&agent| Due::Start(agent));
        before
            .into_iter()
            .flat_map(dues_of)
            .chain(starts)
            .chain(after.into_iter().flat_map(dues_of))
    }

    /// In lock-step starts go by number, whoever comes first.
    fn add_start(&mut self, at: GameTime, agent: AgentId) {
        debug_assert!(self.next == Some(at), "a start is set for the present instant");
        self.starts_at = at;
        if self.lock_step {
            let place = self.starts.partition_point(|&other| other < agent);
            self.starts.insert(place, agent);
        } else {
            self.starts.push_back(agent);
        }
    }

    /// Begins a row, and remembers it in place of the `known` one of that moment, which is used up: were both
    /// remembered, the older could be found after the newer one has been added to.
    fn begin_row(&mut self, moment: Moment, only: u32, known: Option<usize>) -> TimerId {
        let row = self.rows.schedule(
            moment,
            Row {
                first: only,
                last: only,
            },
        );
        let place = known.unwrap_or_else(|| {
            self.oldest = (self.oldest + 1) % RECENT_ROWS;
            self.oldest
        });
        self.recent[place] = Some((moment, row));
        row
    }

    /// Takes a deadline out of its row, and the row off the heap with its last.
    fn remove(&mut self, place: u32) -> Due {
        let Pending {
            due,
            row: id,
            before,
            after,
        } = self.pending.free(place);
        if before.is_none() && after.is_none() {
            self.rows.cancel(id);
            self.find_next();
            return due;
        }
        let row = self
            .rows
            .get_mut(id)
            .expect("a row lasts as long as it has deadlines");
        match before {
            Some(before) => self.pending.at_mut(before).after = after,
            None => row.first = after.expect("one of its neighbours is left"),
        }
        match after {
            Some(after) => self.pending.at_mut(after).before = before,
            None => row.last = before.expect("one of its neighbours is left"),
        }
        due
    }

    fn find_next(&mut self) {
        let row = self.rows.next_deadline().map(|moment| moment.at);
        let start = (!self.starts.is_empty()).then_some(self.starts_at);
        self.next = match (row, start) {
            (Some(row), Some(start)) => Some(row.min(start)),
            (one, other) => one.or(other),
        };
    }
}

#[cfg(test)]
mod tests;
