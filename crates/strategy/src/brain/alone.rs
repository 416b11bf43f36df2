//! Behaviour outside meetings: foraging, status messages, and the decisions to call the team or to let it grow.

use rand_core::Rng;
use trantor_model::{Command, Counts, Level, Resource, Sight, Turn};

use super::camp::EARLY_UNITS;
use super::{Brain, FOOD_TO_SPARE};
use crate::forage::{self, Demand};
use crate::meeting::{Calling, Laying, Meeting, lay_stones};
use crate::signal::Verb;
use crate::team::{ACQUAINTED_UNITS, Climb, food_for, second_level};

/// How often an agent sends the others what it has, in units.
const STATUS_UNITS: u64 = 100;

/// How often it asks how many places are left.
const PLACES_UNITS: u64 = 150;

/// How long a team must seem too small before it grows.
const TOO_SMALL_UNITS: u64 = 150;

/// How long to wait after an egg for an agent to hatch from it.
const AFTER_FORK_UNITS: u64 = 700;

/// How much later each agent calls than the one with the next lower number, so that few call at once.
const CALL_TURN_UNITS: u64 = 60;

/// How long to hope for provisions for the whole climb; then for three levels, then for one.
const HOPE_UNITS: [u64; 2] = [3_000, 6_000];

/// Stones put down or picked up for the first elevation at most: where more lie too many there is a better tile nearby.
const LAID_ALONE_MAX: usize = 8;

/// Looks without an answer after which an agent forages without.
const LOOKS_UNANSWERED: u32 = 2;

/// Tiles that it then walks at most before it looks again: a server may have lost its answers for a while only.
const BLIND_STEPS_MAX: u32 = 8;

/// When things were last done, and since when they have been so; all in units of the agent's own life.
#[derive(Clone, Debug, Default)]
pub(super) struct Diary {
    /// When it last sent its status.
    pub(super) status_at: Option<u64>,
    /// Places the team has left, as last received, and when that was asked.
    pub(super) places: Option<u32>,
    places_at: Option<u64>,
    /// When it last repeated a call.
    pub(super) call_relayed_at: u64,
    /// Since when the team has seemed too small.
    too_small_since: Option<u64>,
    /// Since when a climb has seemed possible.
    pub(super) provided_since: Option<u64>,
    /// Before then it does not call.
    pub(super) next_call_at: u64,
    /// Before then it lays no egg.
    next_fork_at: u64,
    /// When the level last changed.
    pub(super) risen_at: u64,
    /// How often in a row it looked and saw nothing.
    pub(super) looks_unanswered: u32,
    /// Whether an elevation without a meeting was ever refused.
    pub(super) was_refused: bool,
}

impl Brain {
    /// Feeds, gathers, speaks, and watches for when to call.
    pub(super) fn think_alone(&mut self) {
        let Some(sights) = self.sights.take() else {
            self.grope();
            return;
        };
        self.speak_if_due();
        if self.think_of_camp(&sights) {
            return;
        }
        self.watch_team();
        if let Some(climb) = self.climb_to_call() {
            self.meeting = Some(Meeting::Calling(Calling::new(climb, self.me, self.body.clock)));
            self.say(Verb::Call {
                level: self.body.level,
                eggs: 0,
            });
            return;
        }
        if self.should_fork() {
            self.diary.next_fork_at = self.body.clock + AFTER_FORK_UNITS;
            self.plan.push_back(Command::Fork);
        } else if !self.rise_alone(&sights) {
            let tour = forage::tour(&sights, &self.demand(), &mut self.rng);
            self.plan.extend(tour);
        }
        self.plan.extend([Command::Inventory, Command::Look]);
    }

    /// Looks. Where a server does not answer that, or in words of its own, the agent feeds on what it happens to walk over, and
    /// looks the less often the longer that is so.
    fn grope(&mut self) {
        let steps = match self.diary.looks_unanswered {
            0..LOOKS_UNANSWERED => 0,
            unanswered => unanswered.min(BLIND_STEPS_MAX),
        };
        self.diary.looks_unanswered += 1;
        for _ in 0..steps {
            let food = Command::Take(Resource::Food);
            self.plan.extend([Command::Forward, food.clone(), food]);
        }
        if steps > 0 && self.rng.next_u32().is_multiple_of(4) {
            self.plan.push_back(Command::Turn(Turn::Left));
        }
        self.plan.extend([Command::Inventory, Command::Look]);
    }

    /// Plans the first elevation, which needs no other agent; returns whether it did.
    pub(super) fn rise_alone(&mut self, sights: &[Sight]) -> bool {
        let (Some(here), Some(needed)) = (sights.first(), Level::FIRST.requirement()) else {
            return false;
        };
        let stones = self.body.stones();
        let laying = match self.diary.was_refused {
            true => Laying::Exactly { agents: 1 },
            false => Laying::Enough,
        };
        let lay = lay_stones(laying, &stones, here, &needed.stones);
        // It would hold the others, too, who may be about to make a camp.
        let holds_others = here.agents > 1 && self.body.clock < EARLY_UNITS;
        let can = self.body.level == Level::FIRST
            && !holds_others
            && self.body.clock > self.opening.rises_at
            && self.body.food() >= FOOD_TO_SPARE
            && here.ground[Resource::Linemate] + stones[Resource::Linemate] > 0
            && lay.len() <= LAID_ALONE_MAX;
        if can {
            self.plan.extend(lay);
            self.plan.push_back(Command::Incantation);
        }
        can
    }

    /// What would be good to have now, and how good.
    pub(super) fn demand(&self) -> Demand {
        let food = self.body.food();
        let goal = food_for(
            self.body.level.max(second_level()),
            self.team.goal(self.body.clock),
        ) + 4;
        let mut wanted = self
            .team
            .stones_lacking(self.body.level, &self.body.stones(), self.body.clock);
        let mut worth = Counts([0, 5, 5, 5, 5, 5, 8]);
        if self.body.level == Level::FIRST {
            worth[Resource::Linemate] = 20;
            wanted[Resource::Linemate] = wanted[Resource::Linemate].max(1);
        }
        (wanted[Resource::Food], worth[Resource::Food]) = match food {
            0..6 => (10, 30),
            _ if food < goal => (goal - food, 4),
            // Others still gather: there is time to eat ahead.
            _ if food < goal + 6 => (goal + 6 - food, 1),
            _ => (0, 0),
        };
        Demand { wanted, worth }
    }

    /// Says what it has, and asks for places, each now and then.
    fn speak_if_due(&mut self) {
        if self.skill.is_alone() {
            return;
        }
        let is_due = |at: Option<u64>, every| at.is_none_or(|at| self.body.clock >= at + every);
        let (status, places) = (
            is_due(self.diary.status_at, STATUS_UNITS),
            is_due(self.diary.places_at, PLACES_UNITS),
        );
        if status || self.has_call_to_relay() {
            self.diary.status_at = Some(self.body.clock);
            self.say(Verb::Status(self.status()));
        }
        if places {
            self.diary.places_at = Some(self.body.clock);
            self.plan.push_back(Command::ConnectNbr);
        }
    }

    /// Keeps track of whether the team is too small for any climb that helps, and of places that no agent takes.
    fn watch_team(&mut self) {
        let now = self.body.clock;
        let can_climb = self.team.climb(self.me, self.body.level, now).is_some();
        let is_full = self.team.alive(now).count() + 1 >= self.team.agents_wanted(now);
        if is_full && (can_climb || self.team.has_beginners(self.body.level, now)) {
            self.diary.too_small_since = None;
            return;
        }
        self.diary.too_small_since.get_or_insert(now);
        if self.must_grow() && self.diary.places.is_some_and(|places| places > 0) {
            self.has_free_place = true;
        }
    }

    /// Whether the team has seemed too small for long enough. A young agent waits for messages of all;
    /// later, a missing agent has already been silent for long.
    fn must_grow(&self) -> bool {
        let now = self.body.clock;
        self.skill.grows()
            && now >= ACQUAINTED_UNITS
            && self
                .diary
                .too_small_since
                .is_some_and(|since| now >= since + TOO_SMALL_UNITS)
    }

    fn should_fork(&self) -> bool {
        let now = self.body.clock;
        let is_first = self.team.alive(now).all(|(number, _)| number > self.me);
        is_first
            && self.must_grow()
            && self.diary.places == Some(0)
            && now >= self.diary.next_fork_at
            && self.body.food() > FOOD_TO_SPARE
    }

    /// The climb to call for now, if it is this agent's turn to call.
    fn climb_to_call(&mut self) -> Option<Climb> {
        let now = self.body.clock;
        let mut climb = self.team.climb(self.me, self.body.level, now)?;
        if climb.from != self.body.level {
            self.diary.provided_since = None;
            return None;
        }
        let hoped = now - self.diary.risen_at;
        // Where messages are lost a meeting takes longer, and so it should be for more levels.
        let patience = if self.team.is_lossy(now) { 2 } else { 1 };
        let levels = match HOPE_UNITS
            .iter()
            .filter(|&&units| hoped > units * patience)
            .count()
        {
            0 => 7,
            1 => 3,
            _ => 1,
        };
        climb.to = Level::new(climb.from.get() + levels).map_or(climb.to, |level| level.min(climb.to));
        if !self.team.is_provided(&climb, self.me, &self.status()) {
            self.diary.provided_since = None;
            return None;
        }
        let since = *self.diary.provided_since.get_or_insert(now);
        let turn = climb.cohort.iter().filter(|&&number| number < self.me).count() as u64;
        (now >= self.diary.next_call_at && now >= since + turn * CALL_TURN_UNITS).then_some(climb)
    }
}
