//! The command mix of the load generator.

use std::str::FromStr;

use rand_core::Rng;
use trantor_model::{Command, Resource, Turn};

/// Commands with their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    weights: Vec<(Command, u32)>,
    total: u32,
}

/// Largest weight, so that the sum cannot overflow.
const WEIGHT_MAX: u32 = 1_000_000;

impl Mix {
    /// The next command.
    pub fn draw(&self, rng: &mut impl Rng) -> Command {
        let mut ticket = rng.next_u32() % self.total;
        for (command, weight) in &self.weights {
            if ticket < *weight {
                return command.clone();
            }
            ticket -= weight;
        }
        unreachable!("a ticket below the total falls into some weight")
    }
}

impl FromStr for Mix {
    type Err = String;

    /// `forward=4,take=4,look=1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let wrong = || format!("{part:?} is not a command and its weight, as in forward=4");
            let (word, weight) = part.split_once('=').ok_or_else(wrong)?;
            let weight = weight.trim().parse().ok().filter(|weight| *weight <= WEIGHT_MAX);
            Ok((command(word)?, weight.ok_or_else(wrong)?))
        };
        let weights: Vec<_> = text.split(',').map(part).collect::<Result<_, String>>()?;
        match weights.iter().map(|(_, weight)| weight).sum() {
            0 => Err("a mix needs a weight above 0".to_owned()),
            total => Ok(Self { weights, total }),
        }
    }
}

/// Fork and incantation are left out: eggs would fill the world, and an elevation suspends answers. `take` and `set` are of
/// food: agents that walk and take survive.
fn command(word: &str) -> Result<Command, String> {
    Ok(match word.trim() {
        "forward" => Command::Forward,
        "right" => Command::Turn(Turn::Right),
        "left" => Command::Turn(Turn::Left),
        "look" => Command::Look,
        "inventory" => Command::Inventory,
        "broadcast" => Command::Broadcast(b"load".to_vec().into()),
        "connect_nbr" => Command::ConnectNbr,
        "eject" => Command::Eject,
        "take" => Command::Take(Resource::Food),
        "set" => Command::Set(Resource::Food),
        _ => {
            return Err(format!(
                "{word:?} is no command for a mix; there are forward, right, left, look, inventory, broadcast, \
                 connect_nbr, eject, take, set"
            ));
        }
    })
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
    fn mistakes_are_errors() {
        for (text, part) in [
            ("forward", "forward=4"),
            ("forward=x", "forward=x"),
            ("forward=5000000", "5000000"),
            ("fork=1", "\"fork\""),
            ("look=0", "above 0"),
        ] {
            let error = text.parse::<Mix>().unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
