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
//! In lock-step the order within a moment is that of the agents' numbers. So there must be one row for each, found
//! through a map where the short list fails, and a deadline is put into its place in the row. Whoever schedules goes
//! through the agents by number most of the time, so the place is next to the one before.
//!
//! Starts are kept apart: they are only ever set for the present instant, at which nothing ranks behind them,
//! so that a plain queue is enough.

use std::collections::{BTreeMap, VecDeque};

use trantor_model::AgentId;
use trantor_time::{DeadlineHeap, GameTime, TimerId};

use super::places::{Pending, Places};
use super::{Due, Moment, Rank};

/// Rows remembered for what is scheduled next. Most commands take 7 units and the rest one of five other
/// lengths, so a few rows take nearly all.
const RECENT_ROWS: usize = 4;

/// Pending deadlines.
#[derive(Clone, Debug)]
pub(super) struct Queue {
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
    /// In lock-step, the row of each moment.
    by_moment: Option<BTreeMap<Moment, TimerId>>,
}

/// Names a pending deadline until it is taken or cancelled. It is not good for anything afterwards: places
/// are used again, and whoever holds a ticket lets go of it when its deadline is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticket {
    /// Its place among the pending.
    Pending(u32),
    /// The place of a meal among the pending meals.
    Meal(u32),
    /// The start of an agent.
    Start(AgentId),
}

/// Deadlines of one moment in their order; never empty.
#[derive(Clone, Copy, Debug)]
struct Row {
    first: u32,
    last: u32,
    /// Where one was put in last, or a neighbour of that place.
    latest: u32,
}

impl Queue {
    /// Nothing pending yet. In lock-step, what is due at one moment goes by the agents' numbers.
    pub(super) fn new(lock_step: bool) -> Self {
        Self {
            rows: DeadlineHeap::new(),
            pending: Places::default(),
            recent: [None; RECENT_ROWS],
            oldest: 0,
            starts: VecDeque::new(),
            starts_at: GameTime::ZERO,
            next: None,
            by_moment: lock_step.then(BTreeMap::new),
        }
    }

    /// Adds a deadline, behind all of the same moment and rank, in lock-step behind all of the same agent and those
    /// before. A start must be set for the present instant, that is at or before everything pending.
    pub(super) fn schedule(&mut self, at: GameTime, due: Due) -> Ticket {
        if self.next.is_none_or(|next| at < next) {
            self.next = Some(at);
        }
        if let Due::Start(agent) = due {
            self.add_start(at, agent);
            return Ticket::Start(agent);
        }
        let moment = due.moment(at);
        let place = self.pending.next_place();
        let known = self
            .recent
            .iter()
            .position(|recent| recent.is_some_and(|(recent, _)| recent == moment));
        let recent = known.and_then(|known| self.recent[known]);
        match recent.and_then(|(_, id)| Some((id, self.rows.get_mut(id)?))) {
            Some((id, row)) => match &self.by_moment {
                None => {
                    let last = std::mem::replace(&mut row.last, place);
                    self.pending.at_mut(last).after = Some(place);
                    self.pending.fill(due, id, Some(last), None);
                }
                Some(_) => put_in_order(row, id, due, &mut self.pending),
            },
            None => self.schedule_in_other_row(moment, due, place, known),
        }
        match due {
            Due::Hunger(_) => Ticket::Meal(place),
            _ => Ticket::Pending(place),
        }
    }

    /// Adds a deadline whose row was not among the last used, or is used up.
    fn schedule_in_other_row(&mut self, moment: Moment, due: Due, place: u32, known: Option<usize>) {
        let listed = self
            .by_moment
            .as_ref()
            .and_then(|rows| rows.get(&moment).copied());
        let id = match listed {
            Some(id) => {
                let row = self.rows.get_mut(id).expect("a row is listed while it lasts");
                put_in_order(row, id, due, &mut self.pending);
                id
            }
            None => {
                let row = Row {
                    first: place,
                    last: place,
                    latest: place,
                };
                let id = self.rows.schedule(moment, row);
                if let Some(rows) = &mut self.by_moment {
                    rows.insert(moment, id);
                }
                self.pending.fill(due, id, None, None);
                id
            }
        };
        self.remember(moment, id, known);
    }

    /// When the first deadline is. O(1).
    pub(super) fn next_deadline(&self) -> Option<GameTime> {
        self.next
    }

    /// Whether the first deadline is a start.
    pub(super) fn is_start_next(&self) -> bool {
        match self.rows.first() {
            Some((moment, _)) if self.starts.is_empty() || moment.at <= self.starts_at => false,
            _ => !self.starts.is_empty(),
        }
    }

    /// The key of the first deadline.
    pub(super) fn first(&self) -> Option<Moment> {
        let row = self.rows.first().map(|(moment, _)| moment);
        let start = (!self.starts.is_empty()).then(|| self.start_moment());
        row.into_iter().chain(start).min()
    }

    /// The first deadline that is not a start.
    pub(super) fn first_due(&self) -> Option<Due> {
        let (_, row) = self.rows.first()?;
        Some(self.pending.at(row.first).due)
    }

    fn start_moment(&self) -> Moment {
        Moment {
            at: self.starts_at,
            rank: Rank::Start,
        }
    }

    /// Takes the first deadline.
    pub(super) fn take_first(&mut self) -> Option<(GameTime, Due)> {
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
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        match ticket {
            Ticket::Pending(place) | Ticket::Meal(place) => {
                self.remove(place);
            }
            Ticket::Start(agent) => {
                self.starts.retain(|&other| other != agent);
                self.find_next();
            }
        }
    }

    /// What is due under a ticket.
    pub(super) fn get(&self, ticket: Ticket) -> Option<Due> {
        match ticket {
            Ticket::Pending(place) | Ticket::Meal(place) => Some(self.pending.at(place).due),
            Ticket::Start(agent) => self.starts.contains(&agent).then_some(Due::Start(agent)),
        }
    }

    /// When it is due.
    pub(super) fn deadline_of(&self, ticket: Ticket) -> Option<GameTime> {
        match ticket {
            Ticket::Pending(place) | Ticket::Meal(place) => {
                let row = self.pending.at(place).row;
                self.rows.deadline_of(row).map(|moment| moment.at)
            }
            Ticket::Start(agent) => self.starts.contains(&agent).then_some(self.starts_at),
        }
    }

    /// How many deadlines are pending.
    pub(super) fn len(&self) -> usize {
        self.pending.taken() + self.starts.len()
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.pending.clear();
        self.recent = [None; RECENT_ROWS];
        self.starts.clear();
        self.next = None;
        if let Some(rows) = &mut self.by_moment {
            rows.clear();
        }
    }

    /// Everything pending with its key, in the order in which it will be taken.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (Moment, Due)> {
        let rows = self.rows.in_order();
        let before_starts = rows.partition_point(|(moment, _)| moment.at <= self.starts_at);
        let dues_of = move |(moment, row): (Moment, Row)| {
            let places = std::iter::successors(Some(row.first), |&place| self.pending.at(place).after);
            places.map(move |place| (moment, self.pending.at(place).due))
        };
        let mut before: Vec<_> = rows.into_iter().map(|(moment, row)| (moment, *row)).collect();
        let after = before.split_off(before_starts);
        let starts = self
            .starts
            .iter()
            .map(|&agent| (self.start_moment(), Due::Start(agent)));
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
        if self.by_moment.is_some() && self.starts.back().is_some_and(|&last| last > agent) {
            let place = self.starts.partition_point(|&other| other < agent);
            self.starts.insert(place, agent);
        } else {
            self.starts.push_back(agent);
        }
    }

    /// Remembers a row in place of the `known` one of that moment, which is used up: were both remembered, the older
    /// could be found after the newer one has been added to.
    fn remember(&mut self, moment: Moment, row: TimerId, known: Option<usize>) {
        let place = known.unwrap_or_else(|| {
            self.oldest = (self.oldest + 1) % RECENT_ROWS;
            self.oldest
        });
        self.recent[place] = Some((moment, row));
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
            if let (Some(rows), Some(moment)) = (&mut self.by_moment, self.rows.deadline_of(id)) {
                rows.remove(&moment);
            }
            self.rows.cancel(id);
            self.find_next();
            return due;
        }
        let row = self
            .rows
            .get_mut(id)
            .expect("a row lasts as long as it has deadlines");
        if row.latest == place {
            row.latest = before.or(after).expect("one of its neighbours is left");
        }
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

/// Puts a deadline into the next place, behind all in its row that belong to the same agent or one before.
fn put_in_order(row: &mut Row, id: TimerId, due: Due, pending: &mut Places) {
    let comes_before = |other: u32, pending: &Places| pending.at(other).due.owner() <= due.owner();
    let mut before = Some(row.latest);
    while let Some(other) = before
        && !comes_before(other, pending)
    {
        before = pending.at(other).before;
    }
    let mut after = match before {
        Some(before) => pending.at(before).after,
        None => Some(row.first),
    };
    while let Some(other) = after
        && comes_before(other, pending)
    {
        before = Some(other);
        after = pending.at(other).after;
    }
    let place = pending.next_place();
    match before {
        Some(before) => pending.at_mut(before).after = Some(place),
        None => row.first = place,
    }
    match after {
        Some(after) => pending.at_mut(after).before = Some(place),
        None => row.last = place,
    }
    row.latest = place;
    pending.fill(due, id, before, after);
}

#[cfg(test)]
mod tests;
