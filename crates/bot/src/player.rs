//! A brain on a connection: what is heard goes to the brain, what it decides goes out.

use trantor_model::Level;
use trantor_protocol::text::Dialect;
use trantor_strategy::{Brain, Percept, agent_seed};

use crate::dialogue::{Answer, Dialogue, Heard, News};

/// One agent of a team, without its socket.
#[derive(Debug)]
pub struct Player {
    dialogue: Dialogue,
    team: Vec<u8>,
    seed: u64,
    replacement: u64,
    /// Of the agent that was born; before, of one that never will be.
    brain: Brain,
    state: PlayerState,
}

/// How an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerState {
    /// It has not been given a place yet.
    Joining,
    /// The server has none for it.
    Refused,
    /// It plays.
    Playing,
    /// It starved.
    Dead,
}

impl Player {
    /// An agent that will ask for a place in `team`. All its chance grows from `seed` and from what it is told at
    /// birth; `replacement` is 0 for the first agents of a team and another number for each that comes later
    /// ([`agent_seed`]).
    pub fn new(team: &[u8], dialect: Dialect, seed: u64, replacement: u64) -> Self {
        Self {
            dialogue: Dialogue::new(team, dialect),
            team: team.to_vec(),
            seed,
            replacement,
            brain: Brain::new(team, seed),
            state: PlayerState::Joining,
        }
    }

    /// Takes in bytes from the server; what follows from them is in [`Self::unsent`].
    ///
    /// It decides after each line, so that it does not matter how the lines were cut on their way.
    pub fn take_in(&mut self, bytes: &[u8]) {
        self.dialogue.take_in(bytes);
        while let Some(heard) = self.dialogue.poll() {
            self.heard(&heard);
            self.decide();
        }
    }

    fn decide(&mut self) {
        while self.state == PlayerState::Playing && self.dialogue.may_send() {
            match self.brain.next_command() {
                Some(command) => self.dialogue.send(command),
                None => break,
            }
        }
    }

    /// Bytes to be written to the server.
    pub fn unsent(&self) -> &[u8] {
        self.dialogue.unsent()
    }

    /// So many of [`Self::unsent`] were written.
    pub fn sent(&mut self, count: usize) {
        self.dialogue.sent(count);
    }

    /// How it is doing.
    pub fn state(&self) -> PlayerState {
        self.state
    }

    /// Its level, as it was last told.
    pub fn level(&self) -> Level {
        self.brain.level()
    }

    /// Whether it knows of a place for another agent of its team; asking clears it.
    pub fn take_free_place(&mut self) -> bool {
        self.brain.take_free_place()
    }

    fn heard(&mut self, heard: &Heard) {
        let percept = match heard {
            Heard::Joined { places, .. } => {
                let seed = agent_seed(self.seed, &self.team, *places, self.replacement);
                self.brain = Brain::new(&self.team, seed);
                self.state = PlayerState::Playing;
                return;
            }
            Heard::Refused => {
                self.state = PlayerState::Refused;
                return;
            }
            Heard::Answer { answer, .. } => match answer {
                Answer::Ok => Percept::Ok,
                Answer::Ko => Percept::Ko,
                Answer::Look(sights) => Percept::Look(sights),
                Answer::Inventory(carried) => Percept::Inventory(carried),
                Answer::Places(places) => Percept::Places(*places),
                Answer::Level(level) => Percept::Level(*level),
            },
            Heard::News(news) => match news {
                News::Message { direction, text } => Percept::Message {
                    direction: *direction,
                    text,
                },
                News::Pushed { direction } => Percept::Pushed {
                    direction: *direction,
                },
                News::ElevationUnderway => Percept::ElevationUnderway,
                News::Level(level) => Percept::Level(*level),
                News::ElevationFailed => Percept::Ko,
                News::Dead => {
                    self.state = PlayerState::Dead;
                    return;
                }
                News::Unknown(line) => {
                    log::debug!("nothing can be made of {:?}", line.escape_ascii().to_string());
                    return;
                }
            },
        };
        self.brain.perceive(percept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_joins_and_plays() {
        let mut player = Player::new(b"red", Dialect::Epitech, 1, 0);
        player.take_in(b"WELCOME\n");
        assert_eq!(player.unsent(), b"red\n");
        player.sent(4);
        player.take_in(b"5\n20 20\n");
        assert_eq!(player.state(), PlayerState::Playing);
        assert_eq!(player.unsent(), b"Inventory\nLook\n");
        player.sent(player.unsent().len());
        player.take_in(b"[ food 9 ]\n[ player linemate,,, ]\n");
        let sent = String::from_utf8(player.unsent().to_vec()).unwrap();
        assert!(sent.contains("Broadcast t1."), "it says what it has: {sent}");
        assert!(sent.contains("Incantation\n"), "it rises at once: {sent}");
        player.take_in(b"dead\n");
        assert_eq!(player.state(), PlayerState::Dead);
    }

    #[test]
    fn a_player_without_a_place_sends_nothing() {
        let mut player = Player::new(b"red", Dialect::Epitech, 1, 0);
        player.take_in(b"WELCOME\nko\n");
        assert_eq!(player.state(), PlayerState::Refused);
        assert_eq!(player.unsent(), b"red\n");
    }
}
