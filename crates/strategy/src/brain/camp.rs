//! The camp: a team grows at once, and six climb on one tile from the first level to the last while the others bring
//! stones and food.
//!
//! Seven elevations take 2,100 units, whatever else is done: so they begin as early as they can. The first agent that has
//! the stone of the first elevation calls; its eggs, and those of the agents that hatch from them, lie on its tile, so that
//! none has to walk there. Six of them climb, and eat what lies there. The others, and those born elsewhere, are suppliers. One
//! of them stays and says what lies there, which is also how those born elsewhere find the way; the others know it, since they
//! count their steps.
//!
//! Where messages are late, lost or out of range, where eggs do not hatch at once, or when the camp comes to nothing, the team
//! plays on without.

use rand_core::Rng;
use trantor_model::{Command, Counts, Level, Resource, Sight, Turn};

use super::Brain;
use crate::body::{ELEVATION_UNITS, Pose, direction_after, towards_sound};
use crate::forage::{self, Demand, MEETING_AGENTS, place_in_sight};
use crate::meeting::{Calling, Meeting, put_all_down};
use crate::signal::Verb;
use crate::team::{AGENTS_AT_CAMP, Climb, second_level, stones_for};

/// Others that must be heard for a camp to be called, and how old an agent is then at most. All first agents of a team are born
/// at once, but on connections of their own, where what one instant brings comes at several: nothing may depend on whose
/// message is there first. Where messages are late or lost it is too risky.
const OTHERS_HEARD: usize = 5;
const HEARD_UNITS: u64 = 60;

/// Age at which an agent that speaks first waits for what others say meanwhile, or sees that it was born at a camp.
const BORN_UNITS: u64 = 20;

/// How long none rises alone, or calls without a stone.
pub(super) const EARLY_UNITS: u64 = 120;

/// When the agent with the lowest number calls at the earliest, and how much later each other one.
const FIRST_TURN_UNITS: u64 = 15;
const TURN_UNITS: u64 = 60;

/// Commands of one tour until then, so that it can call soon.
const TOUR_COMMANDS_MAX: usize = 4;

/// Time from an egg to the next one of the same agent.
const EGG_UNITS: u64 = 46;

/// Agents at a camp with which its leader lays no more eggs, and calls.
const LEADER_EGGS: usize = 3;

/// How old an agent may be, above the first level, to become a supplier.
const JOIN_UNITS: u64 = 1_200;

/// How long a camp counts as alive after the last message of its leader, which speaks before every second elevation: two of
/// them, and some time for supplies.
const CAMP_UNITS: u64 = 1_100;

/// How long no other must be heard from there before a supplier that is there stays to speak.
const BEACON_UNITS: u64 = 60;

/// How long a supplier forages before a delivery, for the first elevation and for later ones; and what is worth one before.
const DELIVERY_UNITS: [u64; 2] = [150, 350];
const LOAD: u64 = 10;

/// Food at a camp below which it is worth more than stones.
const FOOD_AT_CAMP: u32 = 20;

/// Tiles that a supplier walks before it forages: near the camp little is left.
const LEAVE_TILES: usize = 3;

/// Food that a supplier keeps.
const FOOD_TO_KEEP: u32 = 4;

/// Food that a supplier carries at most: twice a load, since much of it lies together.
const FOOD_MAX: u32 = 24;

/// How the team's first units go.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    /// Whether all others were heard at once.
    is_heard: bool,
    /// Whether any member has called to a camp.
    is_over: bool,
    /// Until then the agent does not rise alone.
    pub(super) rises_at: u64,
    /// Eggs wanted where this agent stands.
    eggs: u32,
    /// When it last laid one.
    egg_at: Option<u64>,
}

/// The camp that an agent supplies. Its place is that of a default [`Pose`].
#[derive(Clone, Debug)]
pub(super) struct Camp {
    /// `u32::MAX` while no message of it has come.
    leader: u32,
    /// Of its climbers.
    level: Level,
    /// What lies there, as last seen by any member.
    ground: Counts,
    /// When its leader was last heard.
    received_at: u64,
    /// When the supplier that stays there was last heard.
    beacon_at: u64,
    /// When this agent was last there.
    left_at: u64,
    /// Whether it has been there.
    is_found: bool,
    /// Where it was last heard from, until acted on.
    bearing: Option<u8>,
    /// Whether this agent stays there to speak.
    is_beacon: bool,
}

impl Camp {
    fn new(leader: u32, now: u64) -> Self {
        Self {
            leader,
            level: Level::FIRST,
            ground: Counts::ZERO,
            received_at: now,
            beacon_at: 0,
            left_at: 0,
            is_found: false,
            bearing: None,
            is_beacon: false,
        }
    }

    /// Whether one of these stones is lacking there for the next elevation, or the one after it. The first needs one that the
    /// caller has.
    fn lacks_of(&self, stones: &Counts) -> bool {
        let to = Level::new(self.level.get() + 2).unwrap_or(Level::LAST);
        let needed = stones_for(self.level.max(second_level()), to);
        Resource::ALL
            .into_iter()
            .any(|resource| stones[resource] > 0 && self.ground[resource] < needed[resource])
    }

    fn found(&mut self, pose: &mut Pose) {
        self.is_found = true;
        *pose = Pose::default();
    }
}

impl Brain {
    /// A member calls from `direction` to a camp, where so many eggs are wanted.
    pub(super) fn called_to_camp(&mut self, sender: u32, eggs: u32, direction: u8) {
        self.opening.is_over = true;
        self.opening.rises_at = self.body.clock + ELEVATION_UNITS;
        if direction == 0 {
            self.opening.eggs = eggs;
        }
        let calls_too =
            matches!(&self.meeting, Some(Meeting::Calling(calling)) if calling.level() == Level::FIRST);
        if calls_too && sender < self.me {
            self.leave_meeting();
        }
    }

    /// A message about the camp of `leader` came from `direction`.
    pub(super) fn receive_camp(
        &mut self,
        sender: u32,
        leader: u32,
        level: Level,
        ground: &Counts,
        direction: u8,
    ) {
        let now = self.body.clock;
        let is_late = self.camp.is_none() && self.body.level > Level::FIRST && now > JOIN_UNITS;
        if self.meeting.is_some() || is_late {
            return;
        }
        self.opening.is_over = true;
        let camp = self.camp.get_or_insert_with(|| Camp::new(leader, now));
        camp.leader = camp.leader.min(leader);
        if camp.leader != leader {
            return;
        }
        camp.level = camp.level.max(level);
        camp.ground = *ground;
        camp.bearing = direction_after(direction, self.flight.iter().chain(&self.plan));
        if direction == 0 {
            camp.found(&mut self.body.pose);
        }
        // Of two that began to speak at once the one with the lower number stays.
        let stays = camp.is_beacon && direction == 0 && sender > self.me;
        if sender == leader {
            camp.received_at = now;
        } else if !stays {
            camp.beacon_at = now;
        }
    }

    /// The meeting or camp of `leader` is over.
    pub(super) fn camp_ended(&mut self, leader: u32) {
        self.camp.take_if(|camp| camp.leader == leader);
        self.opening.rises_at = 0;
    }

    /// Plans what a supplier or an agent of a young team does; `false` if the agent is neither.
    pub(super) fn think_of_camp(&mut self, sights: &[Sight]) -> bool {
        let now = self.body.clock;
        self.camp.take_if(|camp| now > camp.received_at + CAMP_UNITS);
        if let Some(camp) = self.camp.take() {
            self.supply(camp, sights);
            return true;
        }
        let is_crowd = sights.first().is_some_and(|here| here.agents >= MEETING_AGENTS);
        if now < BORN_UNITS && !self.plan.is_empty() {
            // It speaks; so do the others, and then it knows them, and whether a camp calls.
            self.sights = Some(sights.into());
            return true;
        }
        if now < BORN_UNITS && is_crowd {
            // Born in a crowd: that is a camp, and it has not spoken since.
            self.opening.is_over = true;
            let mut camp = Camp::new(u32::MAX, now);
            camp.found(&mut self.body.pose);
            camp.left_at = now;
            self.camp = Some(camp);
            self.plan
                .extend([Command::Forward, Command::Inventory, Command::Look]);
            return true;
        }
        self.open_camp(sights)
    }

    /// Calls to a camp once it is this agent's turn; `false` if it never is.
    fn open_camp(&mut self, sights: &[Sight]) -> bool {
        if !self.skill.grows() {
            return false;
        }
        let now = self.body.clock;
        let (mut rank, mut cohort, mut are_young) = (0, vec![self.me], self.body.level == Level::FIRST);
        for (number, status) in self.team.alive(now) {
            rank += u64::from(number < self.me);
            are_young &= status.level == Level::FIRST;
            cohort.push(number);
        }
        self.opening.is_heard |= now < HEARD_UNITS && cohort.len() > OTHERS_HEARD;
        let may_be_heard = now < HEARD_UNITS || self.opening.is_heard;
        let can_grow = self.diary.places == Some(0) && cohort.len() < AGENTS_AT_CAMP;
        if self.opening.is_over || !are_young || !can_grow || !may_be_heard {
            return false;
        }
        let has_stone = self.body.stones()[Resource::Linemate] > 0;
        let first_at = if has_stone { FIRST_TURN_UNITS } else { EARLY_UNITS };
        if now < first_at + rank * TURN_UNITS || !self.opening.is_heard {
            let mut tour = forage::tour(sights, &self.demand(), &mut self.rng);
            tour.truncate(TOUR_COMMANDS_MAX);
            self.plan.extend(tour);
            self.plan.extend([Command::Inventory, Command::Look]);
            return true;
        }
        self.opening.is_over = true;
        cohort.sort_unstable();
        let (from, to) = (Level::FIRST, Level::LAST);
        self.meeting = Some(Meeting::Calling(Calling::new(
            Climb { from, to, cohort },
            self.me,
            now,
        )));
        self.say(Verb::Call { level: from, eggs: 0 });
        true
    }

    /// Eggs that the caller of a camp wants; 0 of any other agent.
    pub(super) fn eggs_wanted(&mut self) -> u32 {
        if !matches!(&self.meeting, Some(Meeting::Calling(calling)) if calling.level() == Level::FIRST) {
            return 0;
        }
        let known = self.team.alive(self.body.clock).count() + 1;
        self.opening.eggs = AGENTS_AT_CAMP.saturating_sub(known) as u32;
        self.opening.eggs
    }

    /// Lays an egg where the camp will be, if one is due.
    pub(super) fn lay_egg_at_camp(&mut self) -> bool {
        let now = self.body.clock;
        let is_there = match &self.meeting {
            Some(Meeting::Following(following)) => following.has_arrived(),
            Some(Meeting::Calling(calling)) => {
                calling.level() == Level::FIRST && calling.here() < LEADER_EGGS
            }
            _ => false,
        };
        let is_due = self.opening.egg_at.is_none_or(|at| now >= at + EGG_UNITS);
        if self.opening.eggs == 0 || !is_there || !is_due {
            return false;
        }
        self.opening.eggs = 0;
        self.opening.egg_at = Some(now);
        self.plan.push_back(Command::Fork);
        true
    }

    /// Forages for a camp, and brings there what was found.
    fn supply(&mut self, mut camp: Camp, sights: &[Sight]) {
        let now = self.body.clock;
        let food = self.body.food();
        let spare_food = food.saturating_sub(FOOD_TO_KEEP);
        let load = self.body.stones().total() + u64::from(spare_food);
        let forages_until = camp.left_at + DELIVERY_UNITS[usize::from(camp.level > Level::FIRST)];
        let has_lacking = camp.lacks_of(&self.body.stones());
        let is_due = load >= LOAD || has_lacking || (load > 0 && now > forages_until);
        let is_there = camp.is_found && self.body.pose.place_of(0, 0) == (0, 0);
        let is_beacon_heard = now <= camp.beacon_at + BEACON_UNITS;
        camp.is_beacon &= is_there;
        if is_there {
            camp.left_at = now;
        }
        if is_there && load > 0 {
            self.plan.extend(put_all_down(&self.body));
            self.plan
                .extend((0..spare_food).map(|_| Command::Set(Resource::Food)));
        } else if is_there && camp.leader < u32::MAX && !is_beacon_heard {
            camp.is_beacon = true;
            camp.ground = sights.first().map_or(Counts::ZERO, |here| here.ground);
            if food < FOOD_TO_KEEP && camp.ground[Resource::Food] > 0 {
                self.plan.push_back(Command::Take(Resource::Food));
            }
            self.say(Verb::Camp {
                leader: camp.leader,
                level: camp.level,
                ground: camp.ground,
            });
        } else if is_there {
            let turn = [None, Some(Turn::Left), Some(Turn::Right)][self.rng.next_u32() as usize % 3];
            self.plan.extend(turn.map(Command::Turn));
            self.plan.extend([const { Command::Forward }; LEAVE_TILES]);
        } else if is_due && camp.is_found {
            self.plan.extend(self.body.pose.route_to(0, 0).0);
        } else if is_due && let Some(bearing) = camp.bearing.take() {
            self.plan.extend(towards_sound(bearing, 2));
        } else if is_due && is_beacon_heard {
            // Little time passes until its next message.
            self.plan.push_back(Command::Inventory);
            self.sights = Some(sights.into());
            self.camp = Some(camp);
            return;
        } else {
            let tour = forage::tour(
                &self.beyond_camp(&camp, sights),
                &self.supplies(&camp),
                &mut self.rng,
            );
            self.plan.extend(tour);
        }
        self.plan.extend([Command::Inventory, Command::Look]);
        self.camp = Some(camp);
    }

    /// What is in sight, without what lies at the camp.
    fn beyond_camp(&self, camp: &Camp, sights: &[Sight]) -> Vec<Sight> {
        let mut sights = sights.to_vec();
        for (index, sight) in sights.iter_mut().enumerate() {
            let (ahead, right) = place_in_sight(index);
            if camp.is_found && self.body.pose.place_of(ahead, right) == (0, 0) {
                sight.ground = Counts::ZERO;
            }
        }
        sights
    }

    /// What a camp needs, and what its supplier does.
    fn supplies(&self, camp: &Camp) -> Demand {
        let have = [&camp.ground, &self.body.stones()];
        let mut wanted = self
            .team
            .stones_lacking_at_camp(camp.level, have, self.body.clock);
        let mut worth = Counts([0, 4, 4, 4, 4, 4, 6]);
        let food = self.body.food();
        (wanted[Resource::Food], worth[Resource::Food]) = match food {
            0..FOOD_TO_KEEP => (10, 30),
            _ if camp.ground[Resource::Food] < FOOD_AT_CAMP => (FOOD_MAX.saturating_sub(food), 12),
            _ => (FOOD_MAX.saturating_sub(food), 4),
        };
        Demand { wanted, worth }
    }
}
