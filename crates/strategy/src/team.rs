//! What an agent knows of its team from messages, and what the team should do next.
//!
//! Six agents of the last level win, so what counts is the sixth best: its level is the one that must rise.
//! If the agents of that level are enough for the next elevation, they climb, up to the level of the next
//! better ones. If not, spare agents below climb towards them; if there are none, the team must grow. A lower [`Skill`]
//! plays for the second or fourth best in the same way.
//!
//! Messages may be lost, or not reach every member. A gap in the numbers of a sender shows it, and so does a
//! repeated message that did not come by itself. For some time from then on members repeat to each other what they
//! last received, and are more patient. While all messages arrive nothing is repeated.

use trantor_model::{Counts, Level};

use crate::body::{ELEVATION_UNITS, FOOD_UNITS};
use crate::signal::{RELAYED_MAX, Relayed, Signal, Status, Verb};
use crate::skill::{QUORUM, Skill};

/// Agents above those needed that climb together at most: of more, those with enough food and then the most stones.
const COHORT_SPARES_MAX: usize = 1;

/// Agents beyond the six that a team wants at most.
const SPARES_MAX: usize = 3;

/// Agents that a young team grows to: six that climb, and suppliers.
pub(crate) const AGENTS_AT_CAMP: usize = 24;

/// How many agents a team may have that began with `size`: room to make good for losses, and for a small team to
/// grow until it can win. A team that only multiplied would eat the map bare.
pub fn agents_at_most(size: usize) -> usize {
    size.saturating_mul(2).max(AGENTS_AT_CAMP)
}

/// Members remembered at most: a bound against forged names. While all of them are fresh, new ones are ignored.
const MEMBERS_MAX: usize = 64;

/// How long a member counts as living after its last message. Members send one about every hundred units, but
/// not while an elevation holds them.
const FRESH_UNITS: u64 = 500;

/// As `FRESH_UNITS`, while messages are lost: what is repeated comes late.
const FRESH_UNITS_LOSSY: u64 = 1_000;

/// How old an agent is when it has received messages of all others.
pub(crate) const ACQUAINTED_UNITS: u64 = 600;

/// How long messages count as being lost after the last one that was.
const LOSSY_UNITS: u64 = 1_500;

/// Food that must be left when a climb is over, and for the way to it.
pub(crate) const FOOD_RESERVE: u32 = 5;

/// What is known of the others, in no order.
///
/// One vector for each field, all of one length: in a team of hundreds nearly all messages come from members that
/// there is no room for, and then only the senders are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Team {
    skill: Skill,
    senders: Vec<u32>,
    received_at: Vec<u64>,
    /// A lower bound of `received_at`, so that not every message has to search for the oldest.
    oldest_received_at: u64,
    /// Before this messages count as being lost; 0 if none was.
    lossy_before: u64,
    numbers: Vec<Numbers>,
    statuses: Vec<Status>,
}

/// Numbers of a member's messages.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    /// Of the last one received from the member itself.
    last: u32,
    /// Of the one that the status is from: of a repeated one it may be above the last.
    status: u32,
    /// Whether the status has not been repeated to others yet.
    is_to_relay: bool,
}

/// A climb that would help the team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Climb {
    /// The level of the cohort.
    pub(crate) from: Level,
    /// The level they should reach.
    pub(crate) to: Level,
    /// Their numbers, in ascending order.
    pub(crate) cohort: Vec<u32>,
}

impl Climb {
    /// Whether it is that of a camp, which begins at the first level: others rise alone to the second.
    pub(crate) fn is_camp(&self) -> bool {
        self.from == Level::FIRST
    }
}

impl Numbers {
    /// Those of a status that was not repeated yet.
    fn of(last: u32, status: u32) -> Self {
        Self {
            last,
            status,
            is_to_relay: true,
        }
    }
}

impl Team {
    pub(crate) fn new(skill: Skill) -> Self {
        Self {
            skill,
            ..Self::default()
        }
    }

    /// Agents that are to rise together. A team that grows waits for those that it lacks; any other makes do with those it has.
    fn party(&self, clock: u64) -> usize {
        let wanted = self.skill.party();
        if self.skill.grows() || clock < ACQUAINTED_UNITS {
            return wanted;
        }
        wanted.min(self.alive(clock).count() + 1)
    }

    /// Agents that climb together at most.
    fn cohort_max(&self, clock: u64) -> usize {
        self.party(clock) + COHORT_SPARES_MAX
    }

    /// The level that they can reach.
    pub(crate) fn goal(&self, clock: u64) -> Level {
        highest_reachable(second_level(), Level::LAST, self.party(clock))
    }

    /// Takes note of a message; `false` if it is a repetition.
    pub(crate) fn receive(&mut self, signal: &Signal, clock: u64) -> bool {
        let number = signal.number;
        if let Some(place) = self.place(signal.sender) {
            let last = &mut self.numbers[place].last;
            if number <= *last {
                return false;
            }
            if number - *last > 1 {
                self.lossy_before = clock + LOSSY_UNITS + 1;
            }
            *last = number;
            self.update(place, number, &signal.verb, clock);
        } else if let Verb::Status(status) = &signal.verb
            && let Some(place) = self.free_place(clock)
        {
            let numbers = Numbers::of(number, number);
            self.insert(place, signal.sender, clock, numbers, *status);
        }
        true
    }

    /// Takes note of a newborn that says with its first message that it has come to a camp.
    pub(crate) fn meet(&mut self, signal: &Signal, food: u32, clock: u64) {
        let &Signal { sender, number, .. } = signal;
        if self.place(sender).is_none()
            && let Some(place) = self.free_place(clock)
        {
            if number > 1 {
                self.lossy_before = clock + LOSSY_UNITS + 1;
            }
            let (level, stones) = (Level::FIRST, Counts::ZERO);
            let status = Status { level, food, stones };
            self.insert(place, sender, clock, Numbers::of(number, number), status);
        }
    }

    /// Takes note of a message that another member repeats.
    pub(crate) fn receive_relayed(&mut self, relayed: &Relayed, clock: u64) {
        let Verb::Status(status) = relayed.verb else {
            return;
        };
        let sent_at = clock.saturating_sub(u64::from(relayed.age));
        if let Some(place) = self.place(relayed.sender) {
            if relayed.number <= self.numbers[place].status {
                return;
            }
            self.update(place, relayed.number, &relayed.verb, sent_at);
        } else if let Some(place) = self.free_place(clock) {
            let numbers = Numbers::of(0, relayed.number);
            self.insert(place, relayed.sender, sent_at, numbers, status);
        } else {
            return;
        }
        self.lossy_before = clock + LOSSY_UNITS + 1;
    }

    /// The latest statuses that were not repeated yet, the freshest first. They count as repeated.
    pub(crate) fn take_relays(&mut self, clock: u64) -> Vec<Relayed> {
        if !self.is_lossy(clock) {
            return Vec::new();
        }
        let is_wanted = |&place: &usize| {
            self.numbers[place].is_to_relay && is_fresh(self.received_at[place], clock, FRESH_UNITS_LOSSY)
        };
        let mut places: Vec<usize> = (0..self.senders.len()).filter(is_wanted).collect();
        places
            .sort_unstable_by_key(|&place| std::cmp::Reverse((self.received_at[place], self.senders[place])));
        places.truncate(RELAYED_MAX);
        let relay = |place: usize| {
            self.numbers[place].is_to_relay = false;
            Relayed {
                sender: self.senders[place],
                number: self.numbers[place].status,
                age: u32::try_from(clock - self.received_at[place]).unwrap_or(u32::MAX),
                verb: Verb::Status(self.statuses[place]),
            }
        };
        places.into_iter().map(relay).collect()
    }

    /// Whether messages have been lost of late.
    pub(crate) fn is_lossy(&self, clock: u64) -> bool {
        clock < self.lossy_before
    }

    /// How long a member counts as living after its last message.
    fn fresh_units(&self, clock: u64) -> u64 {
        if self.is_lossy(clock) {
            FRESH_UNITS_LOSSY
        } else {
            FRESH_UNITS
        }
    }

    fn update(&mut self, place: usize, number: u32, verb: &Verb, sent_at: u64) {
        self.received_at[place] = self.received_at[place].max(sent_at);
        let numbers = &mut self.numbers[place];
        if number <= numbers.status {
            return;
        }
        *numbers = Numbers::of(numbers.last, number);
        let status = &mut self.statuses[place];
        match *verb {
            Verb::Status(new) => *status = new,
            Verb::Call { level, .. } => status.level = level,
            Verb::Here { food, .. } => status.food = food,
            Verb::Go { .. } | Verb::Camp { .. } | Verb::End => {}
        }
    }

    /// Where there is room for a new member: behind the last one, or in place of one that is not fresh.
    fn free_place(&mut self, clock: u64) -> Option<usize> {
        if self.senders.len() < MEMBERS_MAX {
            return Some(self.senders.len());
        }
        self.stale_place(clock)
    }

    fn insert(&mut self, place: usize, sender: u32, received_at: u64, numbers: Numbers, status: Status) {
        self.oldest_received_at = self.oldest_received_at.min(received_at);
        if place < self.senders.len() {
            self.senders[place] = sender;
            self.received_at[place] = received_at;
            self.numbers[place] = numbers;
            self.statuses[place] = status;
        } else {
            self.senders.push(sender);
            self.received_at.push(received_at);
            self.numbers.push(numbers);
            self.statuses.push(status);
        }
    }

    /// After a time without messages: known members get some time to send again.
    pub(crate) fn believe_again(&mut self, clock: u64) {
        for received_at in &mut self.received_at {
            *received_at = (*received_at).max(clock.saturating_sub(FRESH_UNITS / 2));
        }
    }

    /// A member did not come when it was called: it may be dead.
    pub(crate) fn doubt(&mut self, number: u32) {
        if let Some(place) = self.place(number) {
            self.received_at[place] = 0;
            self.oldest_received_at = 0;
        }
    }

    /// Numbers and state of the members believed to live, in no order; the caller is not among them.
    pub(crate) fn alive(&self, clock: u64) -> impl Iterator<Item = (u32, &Status)> {
        let span = self.fresh_units(clock);
        let members = self.senders.iter().zip(&self.statuses).zip(&self.received_at);
        members.filter_map(move |((&number, status), &received_at)| {
            is_fresh(received_at, clock, span).then_some((number, status))
        })
    }

    /// The most useful climb that living agents can make; `me` is one of them.
    pub(crate) fn climb(&self, me: u32, my_level: Level, clock: u64) -> Option<Climb> {
        let mut levels: Vec<(Level, u32)> = self
            .alive(clock)
            .map(|(number, status)| (status.level, number))
            .chain([(my_level, me)])
            .collect();
        levels.sort_by_key(|&(level, _)| std::cmp::Reverse(level));
        let cohort_max = self.cohort_max(clock);
        let (last, _) = *levels.get(self.party(clock) - 1)?;
        let of_level = |wanted: Level| -> Vec<u32> {
            let same = levels.iter().filter(|(level, _)| *level == wanted);
            let mut numbers: Vec<u32> = same.map(|&(_, number)| number).collect();
            if numbers.len() > cohort_max {
                // Others come when they are called, too, but are not waited for.
                let store = |number| {
                    self.place(number)
                        .map_or((u32::MAX, 0), |place| store(&self.statuses[place], wanted))
                };
                numbers.sort_by_key(|&number| std::cmp::Reverse((store(number), number)));
                numbers.truncate(cohort_max);
            }
            numbers.sort_unstable();
            numbers
        };
        let candidates = (2..=last.get()).rev().filter_map(|level| Level::new(level).ok());
        for from in candidates {
            let cohort = of_level(from);
            let next_better = levels
                .iter()
                .map(|&(level, _)| level)
                .filter(|&level| level > from)
                .min();
            let goal = next_better.unwrap_or(Level::LAST);
            let to = highest_reachable(from, goal, cohort.len());
            if to > from {
                return Some(Climb { from, to, cohort });
            }
        }
        None
    }

    /// Agents that the team should have: one more for each loss, up to [`SPARES_MAX`], in expectation of more
    /// losses.
    pub(crate) fn agents_wanted(&self, clock: u64) -> usize {
        let lost = self.senders.len() - self.alive(clock).count();
        QUORUM + lost.min(SPARES_MAX)
    }

    /// Whether there are six, and some of them will soon rise from the first level on their own.
    pub(crate) fn has_beginners(&self, my_level: Level, clock: u64) -> bool {
        let levels = || {
            self.alive(clock)
                .map(|(_, status)| status.level)
                .chain([my_level])
        };
        levels().count() >= QUORUM && levels().any(|level| level == Level::FIRST)
    }

    /// Stones that a camp lacks for its climb from `level` on, beside what lies there and what its suppliers carry.
    pub(crate) fn stones_lacking_at_camp(&self, level: Level, have: [&Counts; 2], clock: u64) -> Counts {
        let mut lacking = stones_for(level, Level::LAST);
        let others = self.alive(clock).map(|(_, status)| &status.stones);
        for stones in others.chain(have) {
            subtract(&mut lacking, stones);
        }
        lacking
    }

    /// Stones that the team still lacks for the whole climb of the agents with the level of `me`.
    pub(crate) fn stones_lacking(&self, my_level: Level, mine: &Counts, clock: u64) -> Counts {
        let from = my_level.max(second_level());
        let mut lacking = stones_for(from, self.goal(clock));
        let is_of_level = |&(_, status): &(u32, &Status)| status.level.max(second_level()) == from;
        let mut others: Vec<_> = self.alive(clock).filter(is_of_level).collect();
        // Those that are not waited for may not bring theirs.
        others.sort_by_key(|&(number, status)| std::cmp::Reverse((store(status, from), number)));
        let others = others
            .iter()
            .take(self.cohort_max(clock) - 1)
            .map(|(_, status)| &status.stones);
        for stones in others.chain([mine]) {
            subtract(&mut lacking, stones);
        }
        lacking
    }

    /// Whether a cohort has the food and stones for a climb. `me` and `mine` stand for the agent that asks.
    pub(crate) fn is_provided(&self, climb: &Climb, me: u32, mine: &Status) -> bool {
        let food_needed = food_for(climb.from, climb.to);
        let mut lacking = stones_for(climb.from, climb.to);
        for number in &climb.cohort {
            let status = if *number == me {
                mine
            } else {
                &self.statuses[self.place(*number).expect("a cohort is made of members")]
            };
            if status.food < food_needed {
                return false;
            }
            subtract(&mut lacking, &status.stones);
        }
        lacking == Counts::ZERO
    }

    fn place(&self, number: u32) -> Option<usize> {
        // Without an early exit the compiler compares many at once, and most numbers are not there.
        let is_known = |known, &sender: &u32| known | (sender == number);
        let known = self.senders.iter().fold(false, is_known);
        known.then(|| self.senders.iter().position(|&sender| sender == number))?
    }

    /// The member with the oldest message, if it is not fresh; of equals the one with the lowest number.
    fn stale_place(&mut self, clock: u64) -> Option<usize> {
        let span = self.fresh_units(clock);
        if is_fresh(self.oldest_received_at, clock, span) {
            return None;
        }
        let members = self.received_at.iter().zip(&self.senders).enumerate();
        let (place, (&received_at, _)) = members.min_by_key(|&(_, key)| key)?;
        self.oldest_received_at = received_at;
        (!is_fresh(received_at, clock, span)).then_some(place)
    }
}

/// Whether a member whose last message is of `received_at` counts as living; 0 stands for a doubted one.
fn is_fresh(received_at: u64, clock: u64, span: u64) -> bool {
    received_at > 0 && received_at + span >= clock
}

/// The level at which agents first need each other.
pub(crate) fn second_level() -> Level {
    Level::FIRST.next().expect("the first level is not the last")
}

/// What a member of that level brings to a climb: food as far as it is needed, and stones.
fn store(status: &Status, level: Level) -> (u32, u64) {
    (
        status.food.min(food_for(level, Level::LAST)),
        status.stones.total(),
    )
}

/// Stones used up by all elevations from one level to another.
pub(crate) fn stones_for(from: Level, to: Level) -> Counts {
    let mut total = Counts::ZERO;
    for level in levels_between(from, to) {
        let needed = level.requirement().map_or(Counts::ZERO, |needed| needed.stones);
        for (sum, stones) in total.0.iter_mut().zip(needed.0) {
            *sum += stones;
        }
    }
    total
}

/// Food with which all elevations from one level to another can be gone through, and the way to them.
pub(crate) fn food_for(from: Level, to: Level) -> u32 {
    // Ten units pass between two elevations, for a look.
    let units = u64::from(to.get().saturating_sub(from.get())) * (ELEVATION_UNITS + 10);
    units.div_ceil(FOOD_UNITS) as u32 + FOOD_RESERVE
}

/// The highest level that so many agents can reach together, no higher than `goal`.
fn highest_reachable(from: Level, goal: Level, agents: usize) -> Level {
    levels_between(from, goal)
        .take_while(|level| {
            let needed = level.requirement().map_or(0, |needed| needed.agents);
            needed as usize <= agents
        })
        .last()
        .and_then(Level::next)
        .unwrap_or(from)
}

fn subtract(lacking: &mut Counts, have: &Counts) {
    for (lack, have) in lacking.0.iter_mut().zip(have.0) {
        *lack = lack.saturating_sub(have);
    }
}

/// The levels from which one rises to get from one to another.
pub(crate) fn levels_between(from: Level, to: Level) -> impl Iterator<Item = Level> {
    (from.get()..to.get()).filter_map(|level| Level::new(level).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    fn status(of_level: u8) -> Status {
        Status {
            level: level(of_level),
            food: 30,
            stones: Counts::ZERO,
        }
    }

    fn signal(sender: u32, number: u32, verb: Verb) -> Signal {
        Signal {
            sender,
            number,
            verb,
            relayed: Vec::new(),
        }
    }

    /// A team of which the others have these levels; their numbers are 10, 11, and so on.
    fn team(levels: &[u8]) -> Team {
        let mut team = Team::default();
        for (sender, &of_level) in (10..).zip(levels) {
            assert!(team.receive(&signal(sender, 1, Verb::Status(status(of_level))), 1));
        }
        team
    }

    fn climb(others: &[u8], mine: u8) -> Option<(u8, u8, Vec<u32>)> {
        let climb = team(others).climb(1, level(mine), 2)?;
        Some((climb.from.get(), climb.to.get(), climb.cohort))
    }

    #[test]
    fn the_sixth_best_climbs_if_its_level_has_enough_and_else_those_below() {
        for (others, mine, expected) in [
            (&[2; 5][..], 2, Some((2, 8, vec![1, 10, 11, 12, 13, 14]))),
            // Fewer than six do not climb, and neither do they while the sixth is at level 1.
            (&[2; 4], 2, None),
            (&[1, 2, 2, 2, 2], 2, None),
            // Five ahead and one behind: no agent can help it yet.
            (&[4, 4, 4, 4, 4], 3, None),
            // Two more come to level 2; together they can reach the straggler's level, and then all three the others'.
            (&[4, 4, 4, 4, 4, 2, 2], 3, Some((2, 3, vec![15, 16]))),
            (&[4, 4, 4, 4, 4, 3, 3], 3, Some((3, 4, vec![1, 15, 16]))),
            // Four of the sixth best level go no higher than so many can.
            (&[8, 8, 4, 4, 4], 4, Some((4, 6, vec![1, 12, 13, 14]))),
        ] {
            assert_eq!(climb(others, mine), expected, "{others:?} and {mine}");
        }
    }

    #[test]
    fn what_the_climb_needs() {
        assert_eq!(stones_for(level(2), level(8)), Counts([0, 8, 8, 10, 5, 6, 1]));
        assert_eq!(stones_for(level(2), level(3)), Counts([0, 1, 1, 1, 0, 0, 0]));
        assert_eq!(food_for(level(2), level(8)), 15 + FOOD_RESERVE);
        assert_eq!(food_for(level(7), level(8)), 3 + FOOD_RESERVE);
    }

    #[test]
    fn each_stone_is_needed_once_by_the_whole_team() {
        let mut team = team(&[2]);
        let mut theirs = status(2);
        theirs.stones = Counts([0, 5, 8, 99, 0, 0, 0]);
        team.receive(&signal(10, 2, Verb::Status(theirs)), 2);
        let mine = Counts([0, 1, 0, 0, 5, 0, 0]);
        assert_eq!(
            team.stones_lacking(level(1), &mine, 3),
            Counts([0, 2, 0, 0, 0, 6, 1])
        );
        assert_eq!(
            team.stones_lacking(level(3), &mine, 3),
            Counts([0, 6, 7, 9, 0, 6, 1]),
            "those of another level do not count"
        );
    }

    #[test]
    fn a_cohort_is_provided_when_all_are_fed_and_the_stones_are_there() {
        let mut team = team(&[2; 5]);
        let climb = team.climb(1, level(2), 2).unwrap();
        let mut mine = status(2);
        assert!(!team.is_provided(&climb, 1, &mine));
        mine.stones = stones_for(level(2), level(8));
        assert!(team.is_provided(&climb, 1, &mine));
        let mut hungry = status(2);
        hungry.food = food_for(level(2), level(8)) - 1;
        team.receive(&signal(10, 2, Verb::Status(hungry)), 2);
        assert!(!team.is_provided(&climb, 1, &mine));
    }

    #[test]
    fn repetitions_are_ignored_and_silent_members_doubted() {
        let mut team = team(&[2]);
        assert!(!team.receive(&signal(10, 1, Verb::End), 5));
        assert_eq!(team.alive(1 + FRESH_UNITS).count(), 1);
        assert_eq!(team.alive(2 + FRESH_UNITS).count(), 0);
        team.believe_again(2 + FRESH_UNITS);
        assert_eq!(team.alive(2 + FRESH_UNITS).count(), 1);
        team.doubt(10);
        assert_eq!(team.alive(10).count(), 0);
    }

    #[test]
    fn members_repeat_each_status_once_while_messages_are_lost() {
        let mut near = team(&[2, 3]);
        assert_eq!(near.take_relays(1), [], "nothing was lost");
        near.receive(
            &signal(
                10,
                3,
                Verb::Call {
                    level: level(2),
                    eggs: 0,
                },
            ),
            50,
        );
        let relays = near.take_relays(60);
        let described = |relay: &Relayed| (relay.sender, relay.number, relay.age);
        let said: Vec<_> = relays.iter().map(described).collect();
        assert_eq!(said, [(10, 3, 10), (11, 1, 59)], "the freshest first");
        assert_eq!(near.take_relays(60), [], "each once");

        let mut far = team(&[]);
        far.receive_relayed(&relays[0], 100);
        far.receive_relayed(
            &Relayed {
                number: 2,
                age: 0,
                ..relays[0]
            },
            100,
        );
        let known: Vec<_> = far
            .alive(90 + FRESH_UNITS_LOSSY)
            .map(|(number, _)| number)
            .collect();
        assert_eq!(known, [10], "by its age, not by when it was repeated");
        assert_eq!(far.alive(91 + FRESH_UNITS_LOSSY).count(), 0);
        let said: Vec<_> = far.take_relays(110).iter().map(described).collect();
        assert_eq!(said, [(10, 3, 20)], "from member to member, as old as it is");
        assert!(
            far.receive(
                &signal(
                    10,
                    3,
                    Verb::Call {
                        level: level(2),
                        eggs: 0
                    }
                ),
                120
            ),
            "it came by itself, late"
        );
        assert_eq!(
            far.take_relays(100 + LOSSY_UNITS + 1),
            [],
            "nothing was lost for long"
        );
    }

    #[test]
    fn a_full_table_keeps_fresh_members_and_replaces_stale_ones() {
        let mut team = Team::default();
        let mut receive = |sender, clock| {
            let verb = Verb::Status(status(1));
            let number = 1 + u32::from(clock >= FRESH_UNITS);
            team.receive(&signal(sender, number, verb), clock);
            let mut known: Vec<u32> = team.senders.clone();
            known.sort_unstable();
            known
        };
        let all: Vec<u32> = (0..MEMBERS_MAX as u32).collect();
        for &sender in &all {
            receive(sender, 1);
        }
        assert_eq!(receive(1_000, 2), all, "all are fresh");
        for &sender in all.iter().filter(|&&sender| sender != 7) {
            receive(sender, FRESH_UNITS);
        }
        assert_eq!(receive(1_000, 1 + FRESH_UNITS), all, "the last moment");
        let known = receive(1_000, 2 + FRESH_UNITS);
        assert_eq!(known.len(), MEMBERS_MAX, "one comes, one goes");
        assert!(known.contains(&1_000) && !known.contains(&7));
    }
}
