//! Meetings on one tile for elevations: the roles of caller and follower.
//!
//! ```text
//! caller    Call Call Call …   Go   stones down   look  Incantation  look  Incantation …   End
//! follower    … towards the sound …  Here   stones down  look look …                      forage
//! ```
//!
//! A message from direction 0 shows that its sender stands on the same tile. Every part has a timeout in units,
//! after which the agent forages on its own again; so a death, a push or a lost message delays a team and never
//! stops it.
//!
//! While messages are lost the members of a meeting say again what may not have been received, and wait for longer.
//! Out of the caller's range they walk towards members that repeat its call; the caller itself moves on now and then,
//! with those that have come, until it is in range of all.

use std::collections::BTreeMap;
use std::sync::Arc;

use trantor_model::{Command, Counts, Level, Resource, Sight};

use crate::body::{Body, ELEVATION_UNITS, FOOD_UNITS, is_ahead, towards_sound};
use crate::signal::Verb;
use crate::team::{Climb, FOOD_RESERVE, food_for, levels_between};

/// How long a caller waits for all before it makes do with enough.
const ALL_UNITS: u64 = 500;

/// How long the caller of a camp waits for all, and for the first egg to hatch; and for how long it wants eggs: what
/// hatches after it began does not hear of it.
const CAMP_ALL_UNITS: u64 = 300;
const CAMP_FIRST_UNITS: u64 = 130;
const CAMP_EGGS_UNITS: u64 = 190;

/// Agents with which a camp begins, and those of them that climb.
const CAMP_AGENTS: usize = 8;
const CAMP_CLIMBERS: usize = 6;

/// How long the leader of a camp waits for what suppliers bring, and for them to leave before the first elevation.
const SUPPLY_UNITS: u64 = 500;
const LEAVING_UNITS: u64 = 30;

/// How often it says what lies there while it waits.
const CAMP_SAY_UNITS: u64 = 60;

/// As `CAMP_SAY_UNITS`, while nothing is lacking, and to say it delays the next elevation: at every second one.
const CAMP_SAY_UNITS_RISING: u64 = 500;

/// Meals between two elevations at most, so that all eat at the same time.
const MEALS_MAX: u32 = 3;

/// How long a caller waits for enough.
const ENOUGH_UNITS: u64 = 800;

/// How long a follower walks or waits without a message from the caller.
const SILENCE_UNITS: u64 = 150;

/// How long a leader waits for stones to be put down.
const GATHERED_UNITS: u64 = 250;

/// How long a follower waits before it puts down what an elevation lacks, where the server wants no stone too many: the leader
/// puts down what it has first.
const LEADER_UNITS: u64 = 40;

/// How long a follower waits for an elevation to end: one that begins as late as the leader lets it. Some servers
/// announce an elevation only at its end, and until then nothing seems to happen.
const RISEN_UNITS: u64 = GATHERED_UNITS + ELEVATION_UNITS;

/// How long a leader waits for an agent that has been pushed off its tile, or has died.
const MISSING_UNITS: u64 = 90;

/// How often a follower announces its arrival.
const HERE_UNITS: u64 = 60;

/// As `HERE_UNITS`, while messages are lost, and how often the leader then repeats that all are here.
const REPEAT_UNITS: u64 = 25;

/// How many times as long a caller waits, and a follower for its call, while messages are lost.
const LOSSY_PATIENCE: u64 = 2;

/// How long a caller calls from one tile while messages are lost, and tiles to the next one: members that are here
/// follow soon, and others come into range.
const MOVE_UNITS: u64 = 400;
const MOVE_TILES: usize = 4;

/// Tiles to walk towards a member that repeats a call: it walks as well, and the caller is beyond.
const RELAYED_STRIDE: usize = 3;

/// How long after a call of the caller itself a repeated one shows no better way.
const DIRECT_UNITS: u64 = 50;

/// Food below which an agent does not stay for another elevation: it takes two, and the way to the next meal more.
const FOOD_TO_STAY: u32 = 4;

/// As `FOOD_TO_STAY`, at a camp where none lies, since suppliers may bring some; and what it takes for another elevation there.
const FOOD_TO_WAIT: u32 = 1;
const FOOD_TO_RISE: u32 = 3;

/// Elevations that may fail in a row before the caller gives up.
const FAILURES_MAX: u32 = 3;

/// A part in a meeting.
#[derive(Clone, Debug)]
pub(crate) enum Meeting {
    Calling(Calling),
    /// All are here; asks for one elevation after another.
    Leading(Leading),
    /// On its way to the caller, or there.
    Following(Following),
    /// Has put its stones down, and waits for elevations.
    Gathered(Gathered),
}

/// What to do next in a meeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Carry these out.
    Do(Vec<Command>),
    Say(Verb),
    /// The one, then the other.
    SayAndDo(Verb, Vec<Command>),
    /// Announce that all are here, put the stones down, and continue as the leader.
    Begin(Leading),
    /// Leave the meeting; tell the others if it ends for all.
    Leave {
        ends_for_all: bool,
    },
}

/// See [`Meeting::Calling`].
#[derive(Clone, Debug)]
pub(crate) struct Calling {
    climb: Climb,
    me: u32,
    since: u64,
    /// Since when it has called from this tile.
    moved_at: u64,
    /// Agents that have arrived, with their food.
    here: BTreeMap<u32, u32>,
}

/// See [`Meeting::Leading`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leading {
    to: Level,
    /// How many came, the leader included.
    agents: u32,
    /// How many the climb needs: the leader makes do with them when the others do not come back.
    agents_enough: u32,
    /// The least food of any of them on arrival.
    food_min: u32,
    /// The leader's own food at that time, and the time: from either follows how much was eaten since.
    own_food: u32,
    begun_at: u64,
    /// When stones were last put down, or an elevation ended.
    progress_at: u64,
    /// When it last said that all are here; `None` once an elevation showed it to all.
    go_at: Option<u64>,
    /// The highest number of those that climb.
    last: u32,
    failures: u32,
    /// Whether the last one failed at once.
    was_refused: bool,
    /// Whether the server wants no stone too many.
    pub(crate) is_exact: bool,
    /// If suppliers bring what is needed.
    camp: Option<CampCare>,
}

/// What the leader of a camp has done since the last elevation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CampCare {
    /// When it last said what lies there.
    said_at: Option<u64>,
    has_eaten: bool,
}

/// See [`Meeting::Following`].
#[derive(Clone, Debug)]
pub(crate) struct Following {
    pub(crate) caller: u32,
    received_at: u64,
    /// When a message came from the caller itself.
    received_directly_at: Option<u64>,
    /// The direction of the caller's last message, until the follower acts on it.
    direction: Option<u8>,
    /// Whether the caller was ahead when the follower last acted.
    was_ahead: bool,
    /// When it last announced its arrival; `None` while on its way.
    arrival_sent_at: Option<u64>,
}

/// See [`Meeting::Gathered`].
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    pub(crate) caller: u32,
    progress_at: u64,
    is_camp: bool,
    /// Whether the leader said so after a refusal: the server wants no stone too many.
    pub(crate) is_exact: bool,
}

impl Calling {
    pub(crate) fn new(climb: Climb, me: u32, clock: u64) -> Self {
        Self {
            climb,
            me,
            since: clock,
            moved_at: clock,
            here: BTreeMap::new(),
        }
    }

    pub(crate) fn level(&self) -> Level {
        self.climb.from
    }

    /// How many have arrived.
    pub(crate) fn here(&self) -> usize {
        self.here.len()
    }

    /// Notes the arrival of an agent on the caller's tile.
    pub(crate) fn arrived(&mut self, who: u32, food: u32) {
        self.here.insert(who, food);
    }

    /// Called agents that have not arrived.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> {
        let others = self.climb.cohort.iter().filter(|&&number| number != self.me);
        others.copied().filter(|number| !self.here.contains_key(number))
    }

    /// `eggs` are wanted of those that come to a camp.
    pub(crate) fn next(&mut self, body: &Body, eggs: u32, is_lossy: bool) -> Step {
        let patience = if is_lossy { LOSSY_PATIENCE } else { 1 };
        let waited = body.clock - self.since;
        let here = self.here.len() + 1;
        let is_camp = self.climb.is_camp();
        let is_complete = if is_camp {
            here >= CAMP_AGENTS && !is_lossy
        } else {
            let enough = here >= self.agents_needed();
            self.missing().next().is_none() || (enough && waited > ALL_UNITS)
        };
        if is_complete {
            return Step::Begin(self.lead(body));
        }
        let has_grown = waited <= CAMP_FIRST_UNITS || here > 1 && waited <= CAMP_ALL_UNITS;
        let is_vain = is_camp && (is_lossy || !has_grown);
        if is_vain || waited > ENOUGH_UNITS * patience || body.food() < FOOD_TO_STAY {
            return Step::Leave { ends_for_all: true };
        }
        if is_lossy && body.clock > self.moved_at + MOVE_UNITS {
            self.moved_at = body.clock;
            self.here.clear();
            return Step::Do(vec![Command::Forward; MOVE_TILES]);
        }
        Step::Say(Verb::Call {
            level: self.climb.from,
            eggs: if waited < CAMP_EGGS_UNITS { eggs } else { 0 },
        })
    }

    /// The part after it, with those of the cohort that have come, or the climbers of a camp.
    fn lead(&self, body: &Body) -> Leading {
        let is_camp = self.climb.is_camp();
        let others = if is_camp { CAMP_CLIMBERS - 1 } else { usize::MAX };
        let is_meant = |number: &u32| is_camp || self.climb.cohort.contains(number);
        let came = self
            .here
            .iter()
            .filter(|(number, _)| is_meant(number))
            .take(others);
        let food_min = came.clone().map(|(_, &food)| food).chain([body.food()]).min();
        let last = came.clone().map(|(&number, _)| number).max().filter(|_| is_camp);
        Leading {
            to: self.climb.to,
            agents: came.count() as u32 + 1,
            agents_enough: self.agents_needed() as u32,
            food_min: food_min.unwrap_or(0),
            own_food: body.food(),
            begun_at: body.clock,
            progress_at: body.clock,
            go_at: Some(body.clock),
            last: last.unwrap_or(u32::MAX),
            failures: 0,
            was_refused: false,
            is_exact: false,
            camp: is_camp.then(CampCare::default),
        }
    }

    fn agents_needed(&self) -> usize {
        let levels = levels_between(self.climb.from, self.climb.to);
        let needed = levels.filter_map(Level::requirement).map(|needed| needed.agents);
        needed.max().unwrap_or(0) as usize
    }
}

impl Leading {
    /// The message that all are here.
    pub(crate) fn go(&self) -> Verb {
        Verb::Go { last: self.last }
    }

    pub(crate) fn elevation_ended(&mut self, success: bool, clock: u64) {
        self.progress_at = clock;
        self.go_at = None;
        self.camp = self.camp.take().map(|camp| CampCare {
            has_eaten: false,
            ..camp
        });
        self.was_refused = false;
        self.failures = if success { 0 } else { self.failures + 1 };
    }

    /// The server did not let an elevation begin.
    pub(crate) fn refused(&mut self, clock: u64) {
        self.elevation_ended(false, clock);
        self.was_refused = true;
    }

    pub(crate) fn next(
        &mut self,
        me: u32,
        body: &Body,
        sights: Option<Arc<[Sight]>>,
        is_lossy: bool,
    ) -> Step {
        let Some(needed) = body.level.requirement() else {
            return Step::Leave { ends_for_all: true };
        };
        let is_hungry = self.camp.is_none() && self.least_food_left(body) < FOOD_TO_STAY;
        if body.level >= self.to || is_hungry || self.failures >= FAILURES_MAX {
            return Step::Leave { ends_for_all: true };
        }
        let Some(here) = sights.and_then(|sights| sights.first().copied()) else {
            return Step::Do(vec![Command::Look]);
        };
        if self.camp.is_some() && starves_at_camp(body, &here) {
            return Step::Leave { ends_for_all: true };
        }
        let waited = body.clock - self.progress_at;
        let wanted = if waited > MISSING_UNITS {
            self.agents_enough
        } else {
            self.agents
        };
        let can_begin = here.agents >= wanted.max(needed.agents) && here.ground.covers(&needed.stones);
        if let Some(step) = self.care_for_camp(me, body, &here, can_begin) {
            return step;
        }
        let agents = if is_lossy { 1 } else { here.agents };
        let laying = match self.was_refused || self.is_exact {
            true => Laying::Exactly { agents },
            false => Laying::Enough,
        };
        let mut changes = lay_stones(laying, &body.stones(), &here, &needed.stones);
        if !changes.is_empty() {
            changes.push(Command::Look);
            if self.was_refused && !self.is_exact && !is_lossy {
                // The others then help. Where messages are lost it is said again for another reason.
                self.is_exact = true;
                return Step::SayAndDo(self.go(), changes);
            }
            return Step::Do(changes);
        }
        if can_begin {
            return Step::Do(vec![Command::Incantation]);
        }
        let patience = if self.camp.is_some() {
            SUPPLY_UNITS
        } else {
            GATHERED_UNITS
        };
        if waited > patience {
            return Step::Leave { ends_for_all: true };
        }
        if let Some(go_at) = &mut self.go_at
            && is_lossy
            && body.clock >= *go_at + REPEAT_UNITS
        {
            *go_at = body.clock;
            return Step::Say(self.go());
        }
        Step::Do(vec![Command::Look])
    }

    /// Says what lies at the camp, eats, and waits for food and for suppliers to leave; `None` if nothing of it is due.
    fn care_for_camp(&mut self, me: u32, body: &Body, here: &Sight, can_begin: bool) -> Option<Step> {
        let camp = self.camp.as_mut()?;
        // Suppliers that have not left yet would be held, too.
        let waited = body.clock - self.progress_at;
        if self.go_at.is_some() && here.agents > self.agents && waited < LEAVING_UNITS {
            return Some(Step::Do(vec![Command::Look]));
        }
        let mut commands = Vec::new();
        if !camp.has_eaten || body.food() <= FOOD_TO_RISE {
            commands = meal(body, here);
            camp.has_eaten |= !commands.is_empty();
        }
        let is_fed = body.food() + commands.len() as u32 >= FOOD_TO_RISE;
        let say_units = match can_begin && is_fed {
            true => CAMP_SAY_UNITS_RISING,
            false => CAMP_SAY_UNITS,
        };
        let is_to_say = camp.said_at.is_none_or(|at| body.clock >= at + say_units);
        if commands.is_empty() && is_fed && !is_to_say {
            return None;
        }
        // Another may take a meal first: an elevation is asked for on what was eaten.
        let begins = can_begin && body.food() >= FOOD_TO_RISE && !self.was_refused;
        commands.push(if begins {
            Command::Incantation
        } else {
            Command::Look
        });
        if !is_to_say {
            return Some(Step::Do(commands));
        }
        camp.said_at = Some(body.clock);
        let camp = Verb::Camp {
            leader: me,
            level: body.level,
            ground: here.ground,
        };
        Some(Step::SayAndDo(camp, commands))
    }

    /// What the agent that came with the least food should still have.
    ///
    /// More time passes than is counted where answers are slow to come; the leader's own food shows it.
    fn least_food_left(&self, body: &Body) -> u32 {
        let by_clock = (body.clock - self.begun_at) / FOOD_UNITS;
        let by_stomach = self.own_food.saturating_sub(body.food());
        let eaten = by_stomach.max(u32::try_from(by_clock).unwrap_or(u32::MAX));
        self.food_min.saturating_sub(eaten)
    }
}

impl Following {
    pub(crate) fn new(caller: u32, clock: u64) -> Self {
        Self {
            caller,
            received_at: clock,
            received_directly_at: None,
            direction: None,
            was_ahead: false,
            arrival_sent_at: None,
        }
    }

    /// Notes a message of the caller; `direction` is relative to the agent after all open commands.
    pub(crate) fn received(&mut self, direction: Option<u8>, clock: u64) {
        self.received_at = clock;
        self.received_directly_at = Some(clock);
        if let Some(direction) = direction {
            self.direction = Some(direction);
            if direction != 0 {
                self.arrival_sent_at = None;
            }
        }
    }

    /// Notes a message of the caller that a member repeats from `direction`. It leads there while the caller is out of range.
    pub(crate) fn received_relayed(&mut self, direction: Option<u8>, clock: u64) {
        self.received_at = clock;
        if !self.is_in_range(clock) && direction.is_some_and(|direction| direction != 0) {
            self.direction = direction;
        }
    }

    /// Whether the caller itself was received of late.
    fn is_in_range(&self, clock: u64) -> bool {
        self.received_directly_at
            .is_some_and(|at| clock <= at + DIRECT_UNITS)
    }

    /// Whether the caller's last message came from the same tile.
    pub(crate) fn has_arrived(&self) -> bool {
        self.arrival_sent_at.is_some()
    }

    pub(crate) fn next(&mut self, body: &Body, is_lossy: bool) -> Step {
        let (patience, here_units) = if is_lossy {
            (LOSSY_PATIENCE, REPEAT_UNITS)
        } else {
            (1, HERE_UNITS)
        };
        if body.clock - self.received_at > SILENCE_UNITS * patience || body.food() < FOOD_TO_STAY {
            return Step::Leave { ends_for_all: false };
        }
        match self.direction.take() {
            Some(0) => {
                let is_due = self.arrival_sent_at.is_none_or(|at| body.clock - at > here_units);
                if !is_due {
                    return Step::Do(vec![Command::Look]);
                }
                self.arrival_sent_at = Some(body.clock);
                Step::Say(Verb::Here {
                    caller: self.caller,
                    food: body.food(),
                })
            }
            Some(direction) => {
                let stride = match (self.is_in_range(body.clock), self.was_ahead) {
                    (false, _) => RELAYED_STRIDE,
                    (true, true) => 2,
                    (true, false) => 1,
                };
                self.was_ahead = is_ahead(direction);
                Step::Do(towards_sound(direction, stride))
            }
            // The member that repeated the call has walked on.
            None if is_lossy && !self.has_arrived() && !self.is_in_range(body.clock) => {
                Step::Do(vec![Command::Forward])
            }
            None if self.has_arrived() => Step::Do(vec![Command::Look]),
            // Little time passes until the caller's next message.
            None => Step::Do(vec![Command::Inventory]),
        }
    }
}

impl Gathered {
    pub(crate) fn new(caller: u32, clock: u64, is_camp: bool) -> Self {
        Self {
            caller,
            progress_at: clock,
            is_camp,
            is_exact: false,
        }
    }

    /// An elevation began, or ended, well or not.
    pub(crate) fn progressed(&mut self, clock: u64) {
        self.progress_at = clock;
    }

    pub(crate) fn next(&mut self, body: &Body, sights: Option<Arc<[Sight]>>) -> Step {
        let here = sights.and_then(|sights| sights.first().copied());
        let (supply_units, is_hungry) = match self.is_camp {
            true => (
                SUPPLY_UNITS,
                here.is_some_and(|here| starves_at_camp(body, &here)),
            ),
            false => (0, body.food() < FOOD_TO_STAY),
        };
        let waited = body.clock - self.progress_at;
        if waited > RISEN_UNITS + supply_units || is_hungry {
            return Step::Leave { ends_for_all: false };
        }
        let mut commands = match (&here, body.level.requirement()) {
            (Some(here), _) if self.is_camp => meal(body, here),
            (Some(here), Some(needed)) if self.is_exact => {
                let laying = match waited > LEADER_UNITS {
                    true => Laying::Share,
                    false => Laying::ShareOfSurplus,
                };
                lay_stones(laying, &body.stones(), here, &needed.stones)
            }
            _ => Vec::new(),
        };
        if commands.is_empty() {
            commands.push(Command::Look);
        }
        Step::Do(commands)
    }
}

/// Whether an agent at a camp has to look for food elsewhere.
fn starves_at_camp(body: &Body, here: &Sight) -> bool {
    body.food() < FOOD_TO_WAIT && here.ground[Resource::Food] == 0
}

/// What to eat now of what lies here, so that all can.
fn meal(body: &Body, here: &Sight) -> Vec<Command> {
    let share = here.ground[Resource::Food].div_ceil(here.agents.max(1));
    let lacking = (food_for(body.level, Level::LAST) - FOOD_RESERVE + 1).saturating_sub(body.food());
    vec![Command::Take(Resource::Food); share.min(lacking).min(MEALS_MAX) as usize]
}

/// Puts every stone down.
pub(crate) fn put_all_down(body: &Body) -> Vec<Command> {
    let stones = body.stones();
    let each = stones.iter().filter(|(resource, _)| *resource != Resource::Food);
    each.flat_map(|(resource, count)| (0..count).map(move |_| Command::Set(resource)))
        .collect()
}

/// How an agent has on its tile what an elevation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Laying {
    /// It puts down what is lacking; more may lie there.
    Enough,
    /// It also picks up what is too many, alone or with so many in all.
    Exactly { agents: u32 },
    /// Its share of both, beside a leader that does it exactly.
    Share,
    /// As `Share`, but puts nothing down.
    ShareOfSurplus,
}

/// Puts down what an elevation lacks on this tile, and picks up what is too many.
pub(crate) fn lay_stones(laying: Laying, carried: &Counts, here: &Sight, needed: &Counts) -> Vec<Command> {
    let agents = here.agents.max(1);
    let mut commands = Vec::new();
    for (resource, need) in needed.iter().filter(|(resource, _)| *resource != Resource::Food) {
        let lies = here.ground[resource];
        let (lacking, surplus) = (need.saturating_sub(lies), lies.saturating_sub(need));
        let (lacking, surplus) = match laying {
            Laying::Enough => (lacking, 0),
            Laying::Exactly { agents } => (lacking, surplus.div_ceil(agents.max(1))),
            Laying::Share => (lacking.div_ceil(agents), surplus / agents),
            Laying::ShareOfSurplus => (0, surplus / agents),
        };
        commands.extend((0..lacking.min(carried[resource])).map(|_| Command::Set(resource)));
        commands.extend((0..surplus).map(|_| Command::Take(resource)));
    }
    commands
}
