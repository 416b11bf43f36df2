//! The brain of one agent: routes what is perceived, and decides when nothing else is planned.
//!
//! What is planned is carried out to its end, up to nine commands ahead; then the brain thinks again. A call
//! of its team drops the rest of a plan.

mod alone;
mod camp;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_model::{Command, Counts, Level, Percept, Sight};

use self::alone::Diary;
use self::camp::{Camp, Opening};
use crate::body::{Body, direction_after, towards_sound};
use crate::flight::{Flight, IN_FLIGHT_MAX};
use crate::meeting::{Following, Gathered, Meeting, Step, put_all_down};
use crate::signal::{RELAYED_MAX, Relayed, Signal, SignalCodec, Status, Verb};
use crate::skill::Skill;
use crate::team::Team;

/// How old what is known of one's food may be in a meeting. Where answers are slow to come more time passes
/// than is counted, so this is asked for and not computed.
const INVENTORY_UNITS: u64 = 30;

/// How long not to call after a meeting that came to nothing.
const AFTER_MEETING_UNITS: u64 = 150;

/// How often an agent repeats a call to members out of the caller's range.
const CALL_RELAY_UNITS: u64 = 40;

/// How old a call may be to be repeated or followed: it bounds how far it goes.
const CALL_AGE_UNITS_MAX: u64 = 150;

/// Food without which an agent does not follow a call, rise alone or lay an egg.
const FOOD_TO_SPARE: u32 = 4;

/// Decides for one agent. See the crate's first page for how teams play.
#[derive(Clone, Debug)]
pub struct Brain {
    me: u32,
    skill: Skill,
    codec: SignalCodec,
    rng: Pcg32,
    body: Body,
    team: Team,
    flight: Flight,
    plan: VecDeque<Command>,
    /// What was seen last, until something is decided on it.
    sights: Option<Arc<[Sight]>>,
    /// Whether it has seen as far as its level allows.
    is_sight_known: bool,
    meeting: Option<Meeting>,
    /// Messages sent so far.
    sent: u32,
    diary: Diary,
    has_free_place: bool,
    /// Whether the server lets no elevation begin while stones too many lie there.
    is_exact: bool,
    opening: Opening,
    /// The camp that this agent supplies.
    camp: Option<Camp>,
    /// The last call of the caller with the lowest number.
    heard_call: Option<HeardCall>,
}

/// A call as it was received, from the caller or from a member that repeated it.
#[derive(Clone, Copy, Debug)]
struct HeardCall {
    caller: u32,
    number: u32,
    level: Level,
    sent_at: u64,
    is_to_relay: bool,
}

impl Brain {
    /// The brain of a newborn agent of the team with that name, at its highest skill.
    ///
    /// The rng is seeded by `seed`. It must differ between the agents of a team, since an
    /// agent's name among the others is drawn from it.
    pub fn new(team: &[u8], seed: u64) -> Self {
        Self::with_skill(Skill::default(), team, seed)
    }

    /// As `new`, with a skill.
    pub fn with_skill(skill: Skill, team: &[u8], seed: u64) -> Self {
        let mut rng = Pcg32::new(seed, 0x7a70_7079);
        Self {
            me: rng.next_u32(),
            skill,
            codec: SignalCodec::new(team),
            rng,
            body: Body::newborn(),
            team: Team::new(skill),
            flight: Flight::default(),
            plan: VecDeque::new(),
            sights: None,
            is_sight_known: false,
            meeting: None,
            sent: 0,
            diary: Diary::default(),
            has_free_place: false,
            is_exact: false,
            opening: Opening::default(),
            camp: None,
            heard_call: None,
        }
    }

    /// Takes in what the agent received.
    pub fn perceive(&mut self, percept: &Percept) {
        match percept {
            Percept::Ko if self.body.is_held => self.elevation_ended(false),
            Percept::Ok | Percept::Ko => self.answered(percept),
            Percept::Look(sights) => {
                self.answered(percept);
                self.look_tells_level(sights.len());
                self.diary.looks_unanswered = 0;
                self.sights = Some(Arc::clone(sights));
            }
            Percept::Inventory { inventory, .. } => {
                self.answered(percept);
                self.body.set_inventory(inventory);
            }
            Percept::Places(places) => {
                self.answered(percept);
                self.diary.places = Some(*places);
            }
            Percept::Message { direction, text } => {
                if let Some(signal) = self.codec.read(text) {
                    self.receive(&signal, *direction);
                }
            }
            Percept::Pushed { direction } => self.pushed(*direction),
            Percept::ElevationUnderway => {
                self.body.is_held = true;
                if let Some(Meeting::Following(following)) = &self.meeting
                    && following.has_arrived()
                {
                    self.gather(following.caller, false);
                }
                self.meeting_progressed();
            }
            Percept::Level(level) => {
                self.body.level = *level;
                self.elevation_ended(true);
                self.diary.risen_at = self.body.clock;
            }
        }
    }

    /// Takes in a message of the team, decoded by its [`crate::SignalCodec`].
    pub fn receive(&mut self, signal: &Signal, direction: u8) {
        let is_ignored = self.skill.is_alone() || signal.sender == self.me;
        if is_ignored || !self.team.receive(signal, self.body.clock) {
            return;
        }
        self.received(signal, direction);
        for relayed in &signal.relayed {
            if relayed.sender != self.me {
                self.team.receive_relayed(relayed, self.body.clock);
                self.received_relayed(relayed, direction);
            }
        }
    }

    /// The next command to send, if one should be sent now. It counts as sent.
    ///
    /// Call it until it answers `None`, then again after something was perceived. At most nine commands are
    /// open at a time: one less than a server keeps, so that there is room to ask again.
    pub fn next_command(&mut self) -> Option<Command> {
        if self.flight.len() >= IN_FLIGHT_MAX - 1 {
            return None;
        }
        if self.plan.is_empty() && self.flight.is_empty() && !self.body.is_held {
            self.think();
            debug_assert!(
                !self.plan.is_empty(),
                "an agent that does nothing has no sense of time"
            );
        }
        let command = self.plan.pop_front()?;
        self.flight.sent(command.clone());
        Some(command)
    }

    /// No answer has come for long: the agent asks again, for something that changes nothing. It counts as sent; see
    /// [`Flight::ask_again`]. `false` if there is no room, and the agent best forgets.
    pub fn ask_again(&mut self) -> bool {
        self.flight.ask_again().is_some()
    }

    /// What is open was lost, or was answered in a way that no parser knows. The agent asks anew.
    pub fn forget(&mut self) {
        self.flight.forget();
        self.plan.clear();
        self.sights = None;
        self.body.is_held = false;
    }

    /// The agent's level, as last received.
    pub fn level(&self) -> Level {
        self.body.level
    }

    /// Whether the team has a place for another agent that no agent seems to take; asking clears it.
    pub fn take_free_place(&mut self) -> bool {
        std::mem::take(&mut self.has_free_place)
    }

    fn answered(&mut self, answer: &Percept) {
        let had_asked = self.flight.asks_for_elevation();
        let open_units = self.flight.units();
        let Some(command) = self.flight.answered(answer) else {
            return;
        };
        // What was lost took its time, or at least was waited for.
        let lost_units = open_units - self.flight.units() - u64::from(command.duration_units());
        self.body.clock += lost_units;
        // Nothing is carried out for an agent that is held: the elevation was over, and only others got its end.
        if !had_asked || command == Command::Incantation {
            self.body.is_held = false;
        }
        self.body.carried_out(&command, *answer != Percept::Ko);
        if command == Command::Fork && *answer == Percept::Ok {
            self.has_free_place = true;
        }
        if command == Command::Incantation {
            match (&mut self.meeting, answer) {
                (Some(Meeting::Leading(leading)), Percept::Ko) => leading.refused(self.body.clock),
                (Some(Meeting::Leading(leading)), _) => leading.elevation_ended(true, self.body.clock),
                (_, Percept::Ko) => self.diary.was_refused = true,
                _ => {}
            }
        }
    }

    /// Some servers send a new level only to one of those that rose. But one sees as many rows as one's level, which
    /// counts where that was so before.
    fn look_tells_level(&mut self, tiles: usize) {
        let sees_that_far = |level: &Level| tiles == (usize::from(level.get()) + 1).pow(2);
        if sees_that_far(&self.body.level) {
            self.is_sight_known = true;
        } else if self.is_sight_known
            && let Some(level) =
                std::iter::successors(self.body.level.next(), |level| level.next()).find(sees_that_far)
        {
            self.body.level = level;
            self.diary.risen_at = self.body.clock;
            self.meeting_progressed();
        }
    }

    /// Agents that stand gathered have their patience back.
    fn meeting_progressed(&mut self) {
        if let Some(Meeting::Gathered(gathered)) = &mut self.meeting {
            gathered.progressed(self.body.clock);
        }
    }

    fn elevation_ended(&mut self, success: bool) {
        self.flight.elevation_ended();
        if self.body.is_held {
            self.body.elevation_ended();
        }
        self.meeting_progressed();
        match &mut self.meeting {
            Some(Meeting::Leading(leading)) => {
                leading.elevation_ended(success, self.body.clock);
                self.is_exact |= success && leading.is_exact;
            }
            Some(Meeting::Gathered(gathered)) => self.is_exact |= success && gathered.is_exact,
            _ => {}
        }
        self.team.believe_again(self.body.clock);
    }

    /// Reacts to a message of the team.
    fn received(&mut self, signal: &Signal, direction: u8) {
        match signal.verb {
            Verb::Call { level, eggs } => {
                if level == Level::FIRST {
                    self.called_to_camp(signal.sender, eggs, direction);
                }
                let call = HeardCall {
                    caller: signal.sender,
                    number: signal.number,
                    level,
                    sent_at: self.body.clock,
                    is_to_relay: true,
                };
                self.heard(call);
                self.called(&call, direction, true);
            }
            Verb::Here { caller, food } => {
                if let Some(Meeting::Calling(calling)) = &mut self.meeting
                    && caller == self.me
                    && direction == 0
                {
                    calling.arrived(signal.sender, food);
                    if calling.level() == Level::FIRST {
                        self.team.meet(signal, food, self.body.clock);
                    }
                }
            }
            Verb::Go { last } => {
                if let Some(Meeting::Gathered(gathered)) = &mut self.meeting {
                    let is_again = gathered.caller == signal.sender && !self.team.is_lossy(self.body.clock);
                    gathered.is_exact |= is_again;
                } else if let Some(Meeting::Following(following)) = &self.meeting
                    && following.caller == signal.sender
                {
                    if direction == 0 && following.has_arrived() && self.me <= last {
                        self.gather(signal.sender, last < u32::MAX);
                    } else {
                        self.leave_meeting();
                        if last < u32::MAX {
                            let ground = Counts::ZERO;
                            self.receive_camp(
                                signal.sender,
                                signal.sender,
                                self.body.level,
                                &ground,
                                direction,
                            );
                            // Out of the way: the first elevation begins.
                            self.plan.push_back(Command::Forward);
                        }
                    }
                }
            }
            Verb::Camp {
                leader,
                level,
                ground,
            } => {
                self.receive_camp(signal.sender, leader, level, &ground, direction);
            }
            // The most frequent message by far: nothing else is looked at.
            Verb::Status(_) if !self.team.is_lossy(self.body.clock) => {}
            // In a meeting none says what it has: the end was not received.
            Verb::End | Verb::Status(_) => {
                if signal.verb == Verb::End {
                    self.camp_ended(signal.sender);
                }
                let caller = match &self.meeting {
                    Some(Meeting::Following(following)) => Some(following.caller),
                    Some(Meeting::Gathered(gathered)) => Some(gathered.caller),
                    _ => None,
                };
                if caller == Some(signal.sender) {
                    self.leave_meeting();
                }
            }
        }
    }

    /// Reacts to a message of the team that another member repeats.
    fn received_relayed(&mut self, relayed: &Relayed, direction: u8) {
        let Verb::Call { level, .. } = relayed.verb else {
            return;
        };
        let call = HeardCall {
            caller: relayed.sender,
            number: relayed.number,
            level,
            sent_at: self.body.clock.saturating_sub(u64::from(relayed.age)),
            is_to_relay: true,
        };
        if call.sent_at + CALL_AGE_UNITS_MAX >= self.body.clock && self.heard(call) {
            self.called(&call, direction, false);
        }
    }

    /// Takes note of a call; `false` if a later one is known.
    fn heard(&mut self, call: HeardCall) -> bool {
        if let Some(known) = &self.heard_call
            && known.sent_at + CALL_AGE_UNITS_MAX >= self.body.clock
            && (known.caller < call.caller || known.caller == call.caller && known.number >= call.number)
        {
            return false;
        }
        self.heard_call = Some(call);
        true
    }

    /// An agent calls those of a level, itself or by another member.
    fn called(&mut self, call: &HeardCall, direction: u8, is_direct: bool) {
        let &HeardCall { caller, level, .. } = call;
        // To a camp come those that hatch there; the others will supply it.
        let is_supplier = self.camp.is_some() || level == Level::FIRST && direction > 0;
        if level != self.body.level || is_supplier || self.body.food() < FOOD_TO_SPARE {
            return;
        }
        // Of two callers, all follow the one with the lower number, the other caller included.
        let follows = match &self.meeting {
            None => true,
            Some(Meeting::Calling(calling)) => caller < self.me && calling.level() == level,
            Some(Meeting::Following(following)) => caller < following.caller,
            // It calls again: the end was not received.
            Some(Meeting::Gathered(gathered)) => caller == gathered.caller && is_direct,
            Some(Meeting::Leading(_)) => false,
        };
        if follows {
            self.plan.clear();
            self.meeting = Some(Meeting::Following(Following::new(caller, self.body.clock)));
        }
        if let Some(Meeting::Following(following)) = &mut self.meeting
            && following.caller == caller
        {
            let open = self.flight.iter().chain(&self.plan);
            let direction = direction_after(direction, open);
            if is_direct {
                following.received(direction, self.body.clock);
            } else {
                following.received_relayed(direction, self.body.clock);
            }
        }
    }

    /// Pushed off its tile: its last sight is outdated. From a meeting it walks back at once.
    fn pushed(&mut self, direction: u8) {
        self.sights = None;
        // From ahead is one tile back; directions count counter-clockwise, and quarters clockwise.
        self.body.pose.step(6 - direction.min(8) / 2);
        let stays = matches!(self.meeting, Some(Meeting::Leading(_) | Meeting::Gathered(_)));
        if stays && let Some(back) = direction_after(direction, self.flight.iter()) {
            let rest = std::mem::take(&mut self.plan);
            self.plan.extend(towards_sound(back, 1));
            self.plan.extend(rest);
        }
    }

    /// Puts its stones down and stays for elevations.
    fn gather(&mut self, caller: u32, is_camp: bool) {
        self.plan.clear();
        if !self.is_exact {
            self.plan.extend(put_all_down(&self.body));
        }
        self.sights = None;
        let mut gathered = Gathered::new(caller, self.body.clock, is_camp);
        gathered.is_exact = self.is_exact;
        self.meeting = Some(Meeting::Gathered(gathered));
    }

    fn leave_meeting(&mut self) {
        // Where messages are lost a member that did not come may not have received the call.
        if let Some(Meeting::Calling(calling)) = &self.meeting
            && !self.team.is_lossy(self.body.clock)
        {
            for missing in calling.missing() {
                self.team.doubt(missing);
            }
        }
        self.meeting = None;
        self.plan.clear();
        self.diary.status_at = None;
        self.diary.provided_since = None;
        self.diary.next_call_at = self.body.clock + AFTER_MEETING_UNITS;
        self.team.believe_again(self.body.clock);
    }

    /// Decides what to do next. Nothing is planned and nothing is open.
    fn think(&mut self) {
        if self.meeting.is_some() && self.body.inventory_age() > INVENTORY_UNITS {
            self.plan.push_back(Command::Inventory);
            // Both are needed: one way to the server and back is enough.
            let looks_next = matches!(self.meeting, Some(Meeting::Leading(_) | Meeting::Gathered(_)));
            if looks_next && self.sights.is_none() {
                self.plan.push_back(Command::Look);
            }
            return;
        }
        let is_lossy = self.team.is_lossy(self.body.clock);
        if matches!(self.meeting, Some(Meeting::Following(_))) && self.has_call_to_relay() {
            self.say(Verb::Status(self.status()));
        }
        let eggs = self.eggs_wanted();
        if self.lay_egg_at_camp() {
            return;
        }
        let step = match &mut self.meeting {
            None => return self.think_alone(),
            Some(Meeting::Calling(calling)) => calling.next(&self.body, eggs, is_lossy),
            Some(Meeting::Leading(leading)) => {
                leading.next(self.me, &self.body, self.sights.take(), is_lossy)
            }
            Some(Meeting::Following(following)) => following.next(&self.body, is_lossy),
            Some(Meeting::Gathered(gathered)) => gathered.next(&self.body, self.sights.take()),
        };
        match step {
            Step::Do(commands) => self.plan.extend(commands),
            Step::Say(verb) => {
                self.say(verb);
                self.lay_egg_at_camp();
            }
            Step::SayAndDo(verb, commands) => {
                self.say(verb);
                self.plan.extend(commands);
            }
            Step::Begin(mut leading) => {
                self.say(leading.go());
                leading.is_exact = self.is_exact;
                if !self.is_exact {
                    self.plan.extend(put_all_down(&self.body));
                }
                self.sights = None;
                self.meeting = Some(Meeting::Leading(leading));
            }
            Step::Leave { ends_for_all } => {
                self.leave_meeting();
                if ends_for_all {
                    self.say(Verb::End);
                    if is_lossy {
                        self.say(Verb::End);
                    }
                }
                self.think_alone();
            }
        }
    }

    fn status(&self) -> Status {
        Status {
            level: self.body.level,
            food: self.body.food(),
            stones: self.body.stones(),
        }
    }

    fn say(&mut self, verb: Verb) {
        self.sent += 1;
        let relayed = self.take_relays();
        let text = self.codec.write(&Signal {
            sender: self.me,
            number: self.sent,
            verb,
            relayed,
        });
        self.plan.push_back(Command::Broadcast(text));
    }

    /// What to repeat with the next message, each once.
    fn take_relays(&mut self) -> Vec<Relayed> {
        let now = self.body.clock;
        let mut relays = self.team.take_relays(now);
        if self.has_call_to_relay()
            && let Some(call) = &mut self.heard_call
        {
            call.is_to_relay = false;
            self.diary.call_relayed_at = now;
            relays.truncate(RELAYED_MAX - 1);
            relays.push(Relayed {
                sender: call.caller,
                number: call.number,
                age: u32::try_from(now - call.sent_at).unwrap_or(u32::MAX),
                verb: Verb::Call {
                    level: call.level,
                    eggs: 0,
                },
            });
        }
        relays
    }

    /// Whether there is a call that members out of the caller's range may not have received.
    fn has_call_to_relay(&self) -> bool {
        let now = self.body.clock;
        let is_current = |call: &HeardCall| call.is_to_relay && now <= call.sent_at + CALL_AGE_UNITS_MAX;
        self.heard_call.as_ref().is_some_and(is_current)
            && now >= self.diary.call_relayed_at + CALL_RELAY_UNITS
            && self.team.is_lossy(now)
    }
}

/// The seed of one agent of a team.
///
/// Agents of a team must differ, and which one of them is born first is a matter of connections that race. So an
/// agent is known by `places`, the number it receives at birth: how many places its team has left. That number
/// comes again when others are born later; `replacement` keeps those apart, and is 0 for the first agents of a
/// team. Teams that share `seed` still differ by their names.
pub fn agent_seed(seed: u64, team: &[u8], places: u32, replacement: u64) -> u64 {
    // FNV-1a over the name, then the mixing steps of SplitMix64, which keep neighbouring numbers far apart.
    let name = team.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    [seed, u64::from(places), replacement]
        .into_iter()
        .fold(name, |mixed, number| mix(mixed ^ number))
}

fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
