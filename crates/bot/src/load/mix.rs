//! The command mix of the load generator.

use std::str::FromStr;

use rand_core::Rng;
use trantor_model::{Command, CommandKind, Resource, Turn};

/// Kinds of commands with their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    weights: Vec<(CommandKind, u32)>,
    total: u32,
}

/// An invalid mix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    /// A part is not `word=weight`.
    #[error("{0:?} is not a command and its weight, as in forward=4")]
    Part(String),
    /// An unknown command, or one that cannot be part of a load.
    #[error(
        "{0:?} is no command for a mix; there are forward, right, left, look, inventory, broadcast, connect_nbr, eject, take, set"
    )]
    Word(String),
    /// All weights are zero.
    #[error("a mix needs a weight above 0")]
    Empty,
}

/// Commands of a mix. Fork and incantation are left out: eggs would fill the world, and an elevation suspends answers.
const WORDS: [(&str, CommandKind); 10] = [
    ("forward", CommandKind::Forward),
    ("right", CommandKind::Right),
    ("left", CommandKind::Left),
    ("look", CommandKind::Look),
    ("inventory", CommandKind::Inventory),
    ("broadcast", CommandKind::Broadcast),
    ("connect_nbr", CommandKind::ConnectNbr),
    ("eject", CommandKind::Eject),
    ("take", CommandKind::Take),
    ("set", CommandKind::Set),
];

/// Largest weight, so that the sum cannot overflow.
const WEIGHT_MAX: u32 = 1_000_000;

impl Mix {
    /// The next command. `take` and `set` are of food: agents that walk and take survive.
    pub fn draw(&self, rng: &mut impl Rng) -> Command {
        let mut ticket = rng.next_u32() % self.total;
        for &(kind, weight) in &self.weights {
            if ticket < weight {
                return command(kind);
            }
            ticket -= weight;
        }
        unreachable!("a ticket below the total falls into some weight")
    }

    fn new(weights: Vec<(CommandKind, u32)>) -> Result<Self, MixError> {
        let total = weights.iter().map(|&(_, weight)| weight).sum();
        if total == 0 {
            return Err(MixError::Empty);
        }
        Ok(Self { weights, total })
    }
}

impl Default for Mix {
    /// Keeps an agent alive on a map with food, with some looks.
    fn default() -> Self {
        let weights = vec![
            (CommandKind::Forward, 4),
            (CommandKind::Take, 4),
            (CommandKind::Right, 1),
            (CommandKind::Look, 1),
        ];
        Self::new(weights).expect("these weights are above 0")
    }
}

impl FromStr for Mix {
    type Err = MixError;

    /// `forward=4,take=4,look=1`.
    fn from_str(text: &str) -> Result<Self, MixError> {
        let part = |part: &str| {
            let wrong = || MixError::Part(part.to_owned());
            let (word, weight) = part.split_once('=').ok_or_else(wrong)?;
            let weight: u32 = weight.trim().parse().map_err(|_| wrong())?;
            let known = WORDS.iter().find(|(name, _)| *name == word.trim());
            let &(_, kind) = known.ok_or_else(|| MixError::Word(word.to_owned()))?;
            if weight > WEIGHT_MAX {
                return Err(wrong());
            }
            Ok((kind, weight))
        };
        Self::new(text.split(',').map(part).collect::<Result<_, _>>()?)
    }
}

fn command(kind: CommandKind) -> Command {
    match kind {
        CommandKind::Forward => Command::Forward,
        CommandKind::Right => Command::Turn(Turn::Right),
        CommandKind::Left => Command::Turn(Turn::Left),
        CommandKind::Look => Command::Look,
        CommandKind::Inventory => Command::Inventory,
        CommandKind::Broadcast => Command::Broadcast(b"load".to_vec().into()),
        CommandKind::ConnectNbr => Command::ConnectNbr,
        CommandKind::Fork => Command::Fork,
        CommandKind::Eject => Command::Eject,
        CommandKind::Take => Command::Take(Resource::Food),
        CommandKind::Set => Command::Set(Resource::Food),
        CommandKind::Incantation => Command::Incantation,
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg32;

    use super::*;

    #[test]
    fn a_mix_is_drawn_by_its_weights() {
        let mix: Mix = "forward=3, look=1,eject=0".parse().unwrap();
        let mut rng = Pcg32::new(1, 1);
        let drawn: Vec<_> = (0..4_000).map(|_| mix.draw(&mut rng)).collect();
        let looks = drawn.iter().filter(|command| **command == Command::Look).count();
        assert!((900..1_100).contains(&looks), "{looks} of 4000");
        assert!(!drawn.contains(&Command::Eject));
    }

    #[test]
    fn mistakes_are_error() {
        let error = |text: &str| text.parse::<Mix>().unwrap_err().to_string();
        assert!(error("forward").contains("forward=4"));
        assert!(error("forward=x").contains("forward=x"));
        assert!(error("forward=5000000").contains("5000000"));
        assert!(error("fork=1").contains("\"fork\""));
        assert!(error("look=0").contains("above 0"));
    }
}
