//! Two minds that do not play to win: one that costs nothing, and one that tries everything.

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_model::{Command, Resource, Turn};
use trantor_strategy::flight::{AnswerKind, Flight};

use super::{Mind, Percept};

/// Walks ahead, one step after the other.
#[derive(Debug, Default)]
pub(super) struct Walker {
    is_under_way: bool,
}

impl Mind for Walker {
    fn perceive(&mut self, percept: Percept<'_>) {
        // Only a step is answered so.
        if percept == Percept::Ok {
            self.is_under_way = false;
        }
    }

    fn next_command(&mut self) -> Option<Command> {
        let was_under_way = std::mem::replace(&mut self.is_under_way, true);
        (!was_under_way).then_some(Command::Forward)
    }
}

/// Asks for anything at random, and waits for the answer.
#[derive(Debug)]
pub(super) struct Dabbler {
    rng: Pcg32,
    flight: Flight,
    is_held: bool,
}

impl Dabbler {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Pcg32::new(seed, 0x6461_6262),
            flight: Flight::default(),
            is_held: false,
        }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.rng.next_u32() % bound
    }

    fn resource(&mut self) -> Resource {
        Resource::ALL[self.below(Resource::COUNT as u32) as usize]
    }

    fn whim(&mut self) -> Command {
        // Steps and food weigh more than the rest, so that it lives for a while and gets about.
        match self.below(24) {
            0..8 => Command::Forward,
            8 => Command::Turn(Turn::Left),
            9 => Command::Turn(Turn::Right),
            10 | 11 => Command::Look,
            12 => Command::Inventory,
            13 => {
                let word = self.rng.next_u32();
                Command::Broadcast(format!("{word:x}").into_bytes().into())
            }
            14 => Command::ConnectNbr,
            15 => Command::Fork,
            16 => Command::Eject,
            17 => Command::Set(self.resource()),
            18 => Command::Incantation,
            19 => Command::Take(self.resource()),
            _ => Command::Take(Resource::Food),
        }
    }

    fn ritual_ended(&mut self) {
        self.is_held = false;
        self.flight.ritual_ended();
    }
}

impl Mind for Dabbler {
    fn perceive(&mut self, percept: Percept<'_>) {
        let answer = match percept {
            Percept::Ok => AnswerKind::Done,
            Percept::Ko if self.is_held => return self.ritual_ended(),
            Percept::Ko => AnswerKind::Refused,
            Percept::Look(_) => AnswerKind::Sight,
            Percept::Inventory(_) => AnswerKind::Carried,
            Percept::Places(_) => AnswerKind::Places,
            Percept::Level(_) => return self.ritual_ended(),
            Percept::ElevationUnderway => {
                self.is_held = true;
                return;
            }
            Percept::Message { .. } | Percept::Pushed { .. } => return,
        };
        self.flight.answered(answer);
    }

    fn next_command(&mut self) -> Option<Command> {
        if !self.flight.is_empty() || self.is_held {
            return None;
        }
        let command = self.whim();
        self.flight.sent(command.clone());
        Some(command)
    }
}
