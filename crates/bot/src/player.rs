//! A brain on a connection: what is heard goes to the brain, what it decides goes out.

use trantor_model::Level;
use trantor_protocol::text::Dialect;
use trantor_strategy::{Brain, Percept};

use crate::dialogue::{Answer, Dialogue, Heard, News};

/// One agent of a team, without its socket.
#[derive(Debug)]
pub struct Player {
    dialogue: Dialogue,
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
    /// An agent that will ask for a place in `team`. Seeds of one team must differ.
    pub fn new(team: &[u8], dialect: Dialect, seed: u64) -> Self {
        Self {
            dialogue: Dialogue::new(team, dialect),
            brain: Brain::new(team, seed),
            state: PlayerState::Joining,
        }
    }

    /// Takes in bytes from the server; what follows from them is in [`Self::unsent`].
    pub fn take_in(&mut self, bytes: &[u8]) {
        self.dialogue.take_in(bytes);
        while let Some(heard) = self.dialogue.poll() {
            self.heard(&heard);
        }
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
            Heard::Joined { .. } => {
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
        let mut player = Player::new(b"red", Dialect::Epitech, 1);
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
        let mut player = Player::new(b"red", Dialect::Epitech, 1);
        player.take_in(b"WELCOME\nko\n");
        assert_eq!(player.state(), PlayerState::Refused);
        assert_eq!(player.unsent(), b"red\n");
    }
}
