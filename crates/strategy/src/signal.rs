//! Messages between agents of a team, each one word of ASCII.
//!
//! ```text
//! t2.SENDER.NUMBER.VERB[.FIELD…][.r.SENDER.NUMBER.AGE.VERB[.FIELD…]]….CHECK
//! t2.48271.12.s.2.19.1.0.0.2.0.0.2877912345
//! ```
//!
//! What follows an `r` is a message of another member that the sender repeats, for members out of that one's range.
//!
//! One word without commas or quotes passes every server and does not break other teams' agents. The check is
//! a hash of the team's name and the rest: it keeps foreign and damaged messages out, and another team of the
//! same program. It is no secret; numbers that must rise keep a message that is merely repeated from working.

use std::fmt::Write;

use trantor_model::{Counts, Level};

/// The first word of every message; raised with the layout.
const VERSION: &str = "t2";

/// Messages of others that one message repeats at most: a slow line still carries one in a few units.
pub(crate) const RELAYED_MAX: usize = 8;

/// A decoded message; see [`SignalCodec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The sender: a number that an agent draws at birth.
    pub(crate) sender: u32,
    /// Greater than that of any earlier message of the sender.
    pub(crate) number: u32,
    pub(crate) verb: Verb,
    /// Messages of other members; none while all messages arrive.
    pub(crate) relayed: Vec<Relayed>,
}

/// A message of one member, repeated by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relayed {
    pub(crate) sender: u32,
    pub(crate) number: u32,
    /// Units that the repeating members have known it, in total.
    pub(crate) age: u32,
    pub(crate) verb: Verb,
}

impl Signal {
    /// Whether a [`crate::Brain`] only takes note of it: it neither needs the direction nor has a new command to send
    /// after it.
    #[inline]
    pub fn is_notice(&self) -> bool {
        matches!(self.verb, Verb::Status(_)) && self.relayed.is_empty()
    }
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// What the sender is and has.
    Status(Status),
    /// "You of my level, come here", and "so many eggs are wanted".
    Call { level: Level, eggs: u32 },
    /// "I stand where the caller does", with the food left.
    Here { caller: u32, food: u32 },
    /// "All are here: you with numbers up to `last` put your stones down and stay, the others supply us."
    Go { last: u32 },
    /// "I stand at this leader's camp: its climbers have this level, and this lies there."
    Camp {
        leader: u32,
        level: Level,
        ground: Counts,
    },
    /// "It is over: go your ways."
    End,
}

/// What an agent is and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) level: Level,
    pub(crate) food: u32,
    /// Stones carried; the place of food is 0.
    pub(crate) stones: Counts,
}

/// Writes and reads the messages of one team. One decodes for all members in a process ([`crate::Brain::receive`]).
#[derive(Clone, Debug)]
pub struct SignalCodec {
    team: Vec<u8>,
}

impl SignalCodec {
    /// For the team with that name.
    pub fn new(team: &[u8]) -> Self {
        Self { team: team.to_vec() }
    }

    /// Encodes a message.
    pub(crate) fn write(&self, signal: &Signal) -> Box<[u8]> {
        let mut text = format!("{VERSION}.{}.{}", signal.sender, signal.number);
        write_verb(&mut text, &signal.verb);
        for relayed in &signal.relayed {
            let Relayed {
                sender, number, age, ..
            } = relayed;
            push(&mut text, format_args!(".r.{sender}.{number}.{age}"));
            write_verb(&mut text, &relayed.verb);
        }
        let check = self.check(text.as_bytes());
        push(&mut text, format_args!(".{check}"));
        text.into_bytes().into()
    }

    /// A message of this team; `None` for everything else, which changes nothing for a brain of the team.
    pub fn read(&self, text: &[u8]) -> Option<Signal> {
        // Some servers hand quotes and blanks on, some of them add their own.
        let text = std::str::from_utf8(text).ok()?.trim_matches([' ', '"']);
        let (body, check) = text.rsplit_once('.')?;
        if check.parse() != Ok(self.check(body.as_bytes())) {
            return None;
        }
        let mut fields = body.split('.');
        if fields.next()? != VERSION {
            return None;
        }
        let (sender, number) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let verb = read_verb(&mut fields)?;
        let mut relayed = Vec::new();
        while let Some(field) = fields.next() {
            if field != "r" || relayed.len() == RELAYED_MAX {
                return None;
            }
            relayed.push(Relayed {
                sender: fields.next()?.parse().ok()?,
                number: fields.next()?.parse().ok()?,
                age: fields.next()?.parse().ok()?,
                verb: read_verb(&mut fields)?,
            });
        }
        Some(Signal {
            sender,
            number,
            verb,
            relayed,
        })
    }

    /// FNV-1a over the team's name and the message.
    fn check(&self, body: &[u8]) -> u32 {
        let bytes = self.team.iter().chain(body);
        bytes.fold(0x811c_9dc5, |hash, &byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
    }
}

fn write_verb(text: &mut String, verb: &Verb) {
    match verb {
        Verb::Status(status) => {
            push(text, format_args!(".s.{}.{}", status.level.get(), status.food));
            write_counts(text, &status.stones.0[1..]);
        }
        Verb::Call { level, eggs } => push(text, format_args!(".c.{}.{eggs}", level.get())),
        Verb::Here { caller, food } => push(text, format_args!(".h.{caller}.{food}")),
        Verb::Go { last } => push(text, format_args!(".g.{last}")),
        Verb::Camp {
            leader,
            level,
            ground,
        } => {
            push(text, format_args!(".k.{leader}.{}", level.get()));
            write_counts(text, &ground.0);
        }
        Verb::End => text.push_str(".e"),
    }
}

fn read_verb<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Verb> {
    Some(match fields.next()? {
        "s" => {
            let level = read_level(fields.next()?)?;
            let food = fields.next()?.parse().ok()?;
            let mut stones = Counts::ZERO;
            read_counts(fields, &mut stones.0[1..])?;
            Verb::Status(Status { level, food, stones })
        }
        "c" => Verb::Call {
            level: read_level(fields.next()?)?,
            eggs: fields.next()?.parse().ok()?,
        },
        "h" => Verb::Here {
            caller: fields.next()?.parse().ok()?,
            food: fields.next()?.parse().ok()?,
        },
        "g" => Verb::Go {
            last: fields.next()?.parse().ok()?,
        },
        "k" => {
            let leader = fields.next()?.parse().ok()?;
            let level = read_level(fields.next()?)?;
            let mut ground = Counts::ZERO;
            read_counts(fields, &mut ground.0)?;
            Verb::Camp {
                leader,
                level,
                ground,
            }
        }
        "e" => Verb::End,
        _ => return None,
    })
}

fn write_counts(text: &mut String, counts: &[u32]) {
    for count in counts {
        push(text, format_args!(".{count}"));
    }
}

fn read_counts<'a>(fields: &mut impl Iterator<Item = &'a str>, counts: &mut [u32]) -> Option<()> {
    for count in counts {
        *count = fields.next()?.parse().ok()?;
    }
    Some(())
}

fn read_level(field: &str) -> Option<Level> {
    Level::new(field.parse().ok()?).ok()
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes anything");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verb() -> impl Strategy<Value = Verb> {
        let level = || (1u8..=8).prop_map(|level| Level::new(level).unwrap());
        prop_oneof![
            (level(), any::<u32>(), any::<[u32; 6]>()).prop_map(|(level, food, six)| {
                let mut stones = Counts::ZERO;
                stones.0[1..].copy_from_slice(&six);
                Verb::Status(Status { level, food, stones })
            }),
            (level(), any::<u32>()).prop_map(|(level, eggs)| Verb::Call { level, eggs }),
            any::<(u32, u32)>().prop_map(|(caller, food)| Verb::Here { caller, food }),
            any::<u32>().prop_map(|last| Verb::Go { last }),
            (level(), any::<u32>(), any::<[u32; 7]>()).prop_map(|(level, leader, seven)| {
                let ground = Counts(seven);
                Verb::Camp {
                    leader,
                    level,
                    ground,
                }
            }),
            Just(Verb::End),
        ]
    }

    fn relayed() -> impl Strategy<Value = Relayed> {
        (any::<(u32, u32, u32)>(), verb()).prop_map(|((sender, number, age), verb)| Relayed {
            sender,
            number,
            age,
            verb,
        })
    }

    proptest! {
        #[test]
        fn messages_come_back_to_their_team_alone(
            sender: u32, number: u32, verb in verb(), relayed in prop::collection::vec(relayed(), 0..=RELAYED_MAX)
        ) {
            let signal = Signal { sender, number, verb, relayed };
            let text = SignalCodec::new(b"red").write(&signal);
            prop_assert_eq!(SignalCodec::new(b"red").read(&text), Some(signal.clone()));
            prop_assert_eq!(SignalCodec::new(b"blue").read(&text), None);
            let quoted = [b"\"", &text[..], b"\" "].concat();
            prop_assert_eq!(SignalCodec::new(b"red").read(&quoted), Some(signal));
            prop_assert!(text.iter().all(|byte| byte.is_ascii_graphic() && *byte != b','));
        }

        #[test]
        fn one_wrong_byte_and_it_is_noise(
            sender: u32, verb in verb(), one in relayed(), at: prop::sample::Index, byte: u8
        ) {
            let code = SignalCodec::new(b"red");
            let text = code.write(&Signal { sender, number: 1, verb, relayed: vec![one] });
            let mut damaged = text.to_vec();
            damaged[at.index(text.len())] = byte;
            let trimmed = damaged.trim_ascii();
            prop_assume!(trimmed != &text[..] && !damaged.contains(&b'"'));
            prop_assert_eq!(code.read(&damaged), None);
        }
    }
}
