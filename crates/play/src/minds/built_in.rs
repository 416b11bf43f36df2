//! The minds that are built in. How a team plays to win is [`trantor_strategy`]'s.

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_model::{Command, Percept, Resource, Turn};
use trantor_strategy::flight::Flight;
use trantor_strategy::{Brain, SignalCodec, Skill};

/// The minds built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MindKind {
    /// Walks in one direction for ever, and starves.
    Trivial,
    /// Asks for anything at random, one command at a time.
    Random,
    /// Lives, and rises as far as an agent can alone.
    Solo,
    /// Rises with one other.
    Duo,
    /// Rises with three others.
    Quartet,
    /// Rises with five others, to the last level.
    Sextet,
    /// Plays to win with all means: the team grows, too.
    Team,
}

impl MindKind {
    /// All of them. From `Solo` on each beats the one before it in most matches: `docs/minds.md` has the figures.
    pub const ALL: [Self; 7] = [
        Self::Trivial,
        Self::Random,
        Self::Solo,
        Self::Duo,
        Self::Quartet,
        Self::Sextet,
        Self::Team,
    ];

    /// The word by which it is asked for.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Random => "random",
            Self::Solo => "solo",
            Self::Duo => "duo",
            Self::Quartet => "quartet",
            Self::Sextet => "sextet",
            Self::Team => "team",
        }
    }

    /// The kind that is called that.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// How well it plays; `None` if it does not try to.
    const fn skill(self) -> Option<Skill> {
        match self {
            Self::Trivial | Self::Random => None,
            Self::Solo => Some(Skill::Solo),
            Self::Duo => Some(Skill::Duo),
            Self::Quartet => Some(Skill::Quartet),
            Self::Sextet => Some(Skill::Sextet),
            Self::Team => Some(Skill::Team),
        }
    }

    /// The codec of minds of this kind in the team with that name; `None` if they ignore messages.
    pub(super) fn codec(self, team: &[u8]) -> Option<SignalCodec> {
        match self {
            Self::Trivial | Self::Random | Self::Solo => None,
            _ => Some(SignalCodec::new(team)),
        }
    }

    /// The mind of a newborn agent of the team with that name. All its randomness comes from `seed`, which should
    /// differ between agents.
    pub(super) fn awaken(self, team: &[u8], seed: u64) -> BuiltIn {
        match self.skill() {
            Some(skill) => BuiltIn::Brain(Box::new(Brain::with_skill(skill, team, seed))),
            None if self == Self::Random => BuiltIn::Random(Box::new(Dabbler::new(seed))),
            None => BuiltIn::Trivial { is_under_way: false },
        }
    }
}

pub(super) enum BuiltIn {
    /// Walks ahead, one step after the other.
    Trivial {
        is_under_way: bool,
    },
    /// Boxed, as those that play to win are: all minds are then as small as the first kind.
    Random(Box<Dabbler>),
    Brain(Box<Brain>),
}

impl BuiltIn {
    #[inline]
    pub(super) fn perceive(&mut self, percept: &Percept) {
        match self {
            // Only a step is answered so.
            Self::Trivial { is_under_way } => *is_under_way &= *percept != Percept::Ok,
            Self::Random(dabbler) => dabbler.perceive(percept),
            Self::Brain(brain) => brain.perceive(percept),
        }
    }

    /// The next command, if one should be sent now; it counts as sent. Asked until it answers `None`, at birth
    /// and again whenever something was perceived. Commands beyond [`trantor_game::OUTSTANDING_MAX`] are lost,
    /// as they are on a server.
    #[inline]
    pub(super) fn next_command(&mut self) -> Option<Command> {
        match self {
            Self::Trivial { is_under_way } => {
                (!std::mem::replace(is_under_way, true)).then_some(Command::Forward)
            }
            Self::Random(dabbler) => dabbler.next_command(),
            Self::Brain(brain) => brain.next_command(),
        }
    }

    /// Whether an agent should take a place that the mind knows to be free in its team; asking clears it.
    #[inline]
    pub(super) fn take_free_place(&mut self) -> bool {
        match self {
            Self::Brain(brain) => brain.take_free_place(),
            _ => false,
        }
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
    fn new(seed: u64) -> Self {
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

    fn elevation_ended(&mut self) {
        self.is_held = false;
        self.flight.elevation_ended();
    }

    fn perceive(&mut self, percept: &Percept) {
        match percept {
            Percept::Ko if self.is_held => self.elevation_ended(),
            Percept::Level(_) => self.elevation_ended(),
            Percept::ElevationUnderway => self.is_held = true,
            answer => drop(self.flight.answered(answer)),
        }
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
