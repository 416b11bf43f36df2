//! An opponent such as others write: a team that multiplies by `Fork` until it is a crowd, eats what it finds, and meets for
//! elevations at any agent that has the stones and calls. One command at a time, and nothing that needs more than the protocol.

use std::collections::VecDeque;

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_model::{Command, Counts, Level, Percept, Resource, Sight, Turn};
use trantor_protocol::text::Dialect;

use crate::dialogue::{Dialogue, Event};

/// Agents that the team grows to.
pub(super) const AGENTS_MAX: usize = 130;

/// Food with which an agent lays an egg, calls, or takes no more.
const FOOD_TO_FORK: u32 = 6;
const FOOD_TO_CALL: u32 = 8;
const FOOD_ENOUGH: u32 = 25;

/// Calls of one agent until it goes on with foraging.
const CALLS_MAX: u32 = 60;

pub(super) struct Grower {
    pub(super) dialogue: Dialogue,
    rng: Pcg32,
    level: Level,
    carried: Counts,
    sights: Vec<Sight>,
    plan: VecDeque<Command>,
    /// Where it was called from, and how many decisions ago.
    call: Option<(u8, u32)>,
    calls: u32,
    has_joined: bool,
    pub(super) is_dead: bool,
    pub(super) is_refused: bool,
    /// Eggs laid since it was last taken.
    pub(super) eggs: u32,
    pub(super) may_fork: bool,
}

impl Grower {
    pub(super) fn new(team: &[u8], seed: u64) -> Self {
        Self {
            dialogue: Dialogue::new(team, Dialect::Epitech),
            rng: Pcg32::new(seed, 0x6772_6f77),
            level: Level::FIRST,
            carried: Counts::ZERO,
            sights: Vec::new(),
            plan: VecDeque::new(),
            call: None,
            calls: 0,
            has_joined: false,
            is_dead: false,
            is_refused: false,
            eggs: 0,
            may_fork: true,
        }
    }

    pub(super) fn has_joined(&self) -> bool {
        self.has_joined
    }

    pub(super) fn take_in(&mut self, bytes: &[u8]) {
        self.dialogue.take_in(bytes);
        while let Some(event) = self.dialogue.poll() {
            self.take_event(event);
        }
        if self.has_joined && self.dialogue.open() == 0 && !self.dialogue.is_held() {
            if self.plan.is_empty() {
                self.think();
            }
            if let Some(command) = self.plan.pop_front() {
                self.dialogue.send(command);
            }
        }
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::Joined { .. } => {
                self.has_joined = true;
                self.plan.extend([Command::Inventory, Command::Look]);
            }
            Event::Refused => self.is_refused = true,
            Event::Dead => self.is_dead = true,
            Event::Percept(Percept::Level(level)) | Event::Answer(_, Percept::Level(level)) => {
                self.risen(level)
            }
            Event::Percept(Percept::Ko) => self.plan.clear(),
            Event::Percept(Percept::Message { direction, text })
                if *text == *call(self.level) && self.calls == 0 =>
            {
                self.call = Some((direction, 0));
            }
            Event::Answer(command, answer) => match (command, answer) {
                (_, Percept::Look(sights)) => self.sights = sights.to_vec(),
                (_, Percept::Inventory { inventory, .. }) => self.carried = inventory,
                (Command::Fork, Percept::Ok) => self.eggs += 1,
                (Command::Take(resource), Percept::Ok) => self.carried.add_one(resource),
                (Command::Set(resource), Percept::Ok) => drop(self.carried.take_one(resource)),
                _ => {}
            },
            _ => {}
        }
    }

    fn risen(&mut self, level: Level) {
        self.level = level;
        (self.calls, self.call) = (0, None);
        self.plan.clear();
    }

    fn think(&mut self) {
        let Some(&here) = self.sights.first() else {
            self.plan.extend([Command::Inventory, Command::Look]);
            return;
        };
        let food = self.carried[Resource::Food];
        let stones = self.level.requirement().map(|needed| needed.stones);
        let lies_or_is_carried = |resource: Resource| here.ground[resource] + self.carried[resource];
        let has_stones = stones.is_some_and(|stones| {
            stones
                .iter()
                .all(|(resource, needed)| lies_or_is_carried(resource) >= needed)
        });
        let agents = self.level.requirement().map_or(0, |needed| needed.agents);
        if self.may_fork && food >= FOOD_TO_FORK {
            self.plan.push_back(Command::Fork);
        } else if let Some((direction, age)) = self.call.filter(|_| food > 3) {
            self.call = (age < 12).then_some((direction, age + 1));
            match direction {
                0 => {}
                1 | 2 | 8 => self.plan.push_back(Command::Forward),
                3..=5 => self.plan.extend([Command::Turn(Turn::Left), Command::Forward]),
                _ => self.plan.extend([Command::Turn(Turn::Right), Command::Forward]),
            }
        } else if has_stones && food >= FOOD_TO_CALL.min(3 + agents) && self.calls < CALLS_MAX {
            if here.agents >= agents {
                for (resource, needed) in stones.unwrap_or(Counts::ZERO).iter() {
                    let lacking = needed.saturating_sub(here.ground[resource]);
                    self.plan.extend((0..lacking).map(|_| Command::Set(resource)));
                }
                self.plan.push_back(Command::Incantation);
            }
            self.calls += 1;
            if agents > 1 {
                self.plan.push_back(Command::Broadcast(call(self.level).into()));
            }
        } else {
            self.calls = self.calls.saturating_sub(1);
            self.forage(food, stones.unwrap_or(Counts::ZERO));
        }
        self.plan.extend([Command::Inventory, Command::Look]);
    }

    /// To the nearest tile with something to take, or anywhere.
    fn forage(&mut self, food: u32, stones: Counts) {
        let is_wanted = |resource: Resource| match resource {
            Resource::Food => food < FOOD_ENOUGH,
            stone => self.carried[stone] < stones[stone],
        };
        let found = self.sights.iter().enumerate().find_map(|(at, sight)| {
            let wanted = Resource::ALL
                .into_iter()
                .find(|&resource| sight.ground[resource] > 0 && is_wanted(resource))?;
            Some((at, sight.ground[wanted].min(4), wanted))
        });
        let Some((at, count, resource)) = found else {
            match self.rng.next_u32() % 5 {
                0 => self.plan.push_back(Command::Turn(Turn::Left)),
                1 => self.plan.push_back(Command::Turn(Turn::Right)),
                _ => {}
            }
            self.plan.extend([Command::Forward, Command::Forward]);
            return;
        };
        let ahead = at.isqrt();
        let aside = at as i64 - (ahead * ahead + ahead) as i64;
        self.plan.extend((0..ahead).map(|_| Command::Forward));
        if aside != 0 {
            let turn = if aside < 0 { Turn::Left } else { Turn::Right };
            self.plan.push_back(Command::Turn(turn));
            self.plan.extend((0..aside.abs()).map(|_| Command::Forward));
        }
        self.plan.extend((0..count).map(|_| Command::Take(resource)));
    }
}

fn call(level: Level) -> Vec<u8> {
    format!("grow {}", level.get()).into_bytes()
}
