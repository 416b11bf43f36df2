//! Connects a mind with a dialogue: events go to the mind, its commands to the server.

use trantor_model::{Command, Level};
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
    /// Of the joined agent; a placeholder before.
    brain: Brain,
    state: PlayerState,
    progress: Option<Progress>,
}

/// Recent answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Answers to commands of this duration in all.
    Answered(u32),
    /// Only unknown lines.
    Strange,
}

/// State of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerState {
    /// It has not joined yet.
    Joining,
    /// The server has no place for it.
    Refused,
    /// It plays.
    Playing,
    /// It starved.
    Dead,
}

impl Player {
    /// An agent of `team`. Its generator is seeded by `seed`, the first lines from the server and [`Self::replaces`].
    pub fn new(team: &[u8], dialect: Dialect, seed: u64) -> Self {
        Self {
            dialogue: Dialogue::new(team, dialect),
            team: team.to_vec(),
            seed,
            replacement: 0,
            brain: Brain::new(team, seed),
            state: PlayerState::Joining,
            progress: None,
        }
    }

    /// Sets the number of a replacement, in case it joins now: 0 for one of the team's first agents, and another number for
    /// each later one ([`agent_seed`]).
    pub fn replaces(&mut self, replacement: u64) {
        self.replacement = replacement;
    }

    /// Limits the outstanding commands.
    pub fn limit_in_flight(&mut self, most: usize) {
        self.dialogue.limit_in_flight(most);
    }

    /// Handles bytes from the server; commands go to [`Self::unsent`].
    ///
    /// It decides after each line, so that cuts of the stream do not matter.
    pub fn take_in(&mut self, bytes: &[u8]) {
        self.dialogue.take_in(bytes);
        while let Some(heard) = self.dialogue.poll() {
            self.heard(&heard);
            self.decide();
        }
    }

    /// Answers since the last call; `None` if there were none.
    pub fn take_progress(&mut self) -> Option<Progress> {
        self.progress.take()
    }

    /// Whether it waits for an answer or the end of an elevation.
    pub fn is_waiting(&self) -> bool {
        self.dialogue.open() > 0 || self.dialogue.is_held()
    }

    /// Drops overdue answers after `units` and sends new commands.
    pub fn forget(&mut self, units: u32) {
        self.dialogue.forget();
        self.brain.forget(u64::from(units));
        self.decide();
    }

    fn answered(&mut self, units: u16) {
        let before = match self.progress {
            Some(Progress::Answered(units)) => units,
            Some(Progress::Strange) | None => 0,
        };
        self.progress = Some(Progress::Answered(before.saturating_add(u32::from(units))));
    }

    fn decide(&mut self) {
        while self.state == PlayerState::Playing && self.dialogue.may_send() {
            match self.brain.next_command() {
                Some(command) => self.dialogue.send(command),
                None => break,
            }
        }
    }

    /// Bytes to be written to the server; the writer takes them out.
    pub fn unsent(&mut self) -> &mut Vec<u8> {
        self.dialogue.unsent()
    }

    /// Its state.
    pub fn state(&self) -> PlayerState {
        self.state
    }

    /// Its level, as last received.
    pub fn level(&self) -> Level {
        self.brain.level()
    }

    /// Whether it found a free place for another agent; clears the flag.
    pub fn take_free_place(&mut self) -> bool {
        self.brain.take_free_place()
    }

    fn heard(&mut self, heard: &Heard) {
        let ritual_units = Command::Incantation.duration_units();
        let (units, percept) = match heard {
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
            Heard::Answer { command, answer } => {
                let units = match command {
                    // A refused ritual takes no time; of an accepted one the server sends the end.
                    Command::Incantation => 0,
                    command => command.duration_units(),
                };
                let percept = match answer {
                    Answer::Ok => Percept::Ok,
                    Answer::Ko => Percept::Ko,
                    Answer::Look(sights) => Percept::Look(sights),
                    Answer::Inventory(carried) => Percept::Inventory(carried),
                    Answer::Places(places) => Percept::Places(*places),
                    Answer::Level(level) => Percept::Level(*level),
                };
                (Some(units), percept)
            }
            Heard::News(news) => match *news {
                News::Message { direction, ref text } => (None, Percept::Message { direction, text }),
                News::Pushed { direction } => (None, Percept::Pushed { direction }),
                News::ElevationUnderway => (Some(0), Percept::ElevationUnderway),
                News::Level(level) => (Some(ritual_units), Percept::Level(level)),
                News::ElevationFailed => (Some(ritual_units), Percept::Ko),
                News::Dead => {
                    self.state = PlayerState::Dead;
                    return;
                }
                News::Unknown(ref line) => {
                    log::debug!("cannot parse {:?}", line.escape_ascii().to_string());
                    self.progress.get_or_insert(Progress::Strange);
                    return;
                }
            },
        };
        if let Some(units) = units {
            self.answered(units);
        }
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
        player.unsent().clear();
        player.take_in(b"5\n20 20\n");
        assert_eq!(player.state(), PlayerState::Playing);
        assert_eq!(player.unsent(), b"Inventory\nLook\n");
        player.unsent().clear();
        player.take_in(b"[ food 9 ]\n[ player linemate,,, ]\n");
        let sent = String::from_utf8(player.unsent().to_vec()).unwrap();
        assert!(
            sent.contains("Broadcast t1."),
            "it broadcasts its inventory: {sent}"
        );
        assert!(sent.contains("Incantation\n"), "it elevates at once: {sent}");
        player.take_in(b"dead\n");
        assert_eq!(player.state(), PlayerState::Dead);
    }

    #[test]
    fn one_command_at_a_time_is_all_that_some_servers_take() {
        let mut player = Player::new(b"red", Dialect::Epitech, 1);
        player.limit_in_flight(1);
        player.take_in(b"WELCOME\n5\n20 20\n");
        for (answer, command) in [("", "red\nInventory\n"), ("[ food 9 ]\n", "Look\n")] {
            player.take_in(answer.as_bytes());
            assert_eq!(player.unsent(), command.as_bytes());
            player.unsent().clear();
        }
    }

    #[test]
    fn who_waits_for_an_answer_that_will_not_come_asks_anew() {
        let mut player = Player::new(b"red", Dialect::Epitech, 1);
        player.take_in(b"WELCOME\n5\n20 20\n");
        player.unsent().clear();
        player.take_in(b"message 1, hello\n");
        assert_eq!(player.take_progress(), None);
        player.take_in(b"Your bag: empty\n");
        assert_eq!(player.take_progress(), Some(Progress::Strange));
        player.take_in(b"[ player,,, ]\n[ 1 ]\n");
        assert_eq!(player.take_progress(), Some(Progress::Answered(7)));
        player.unsent().clear();
        player.take_in(b"Elevation underway\n");
        assert_eq!(player.take_progress(), Some(Progress::Answered(0)));
        assert_eq!(player.unsent(), b"");
        player.forget(400);
        assert_eq!(player.unsent(), b"Inventory\nLook\n");
    }

    #[test]
    fn a_player_without_a_place_sends_nothing() {
        let mut player = Player::new(b"red", Dialect::Epitech, 1);
        player.take_in(b"WELCOME\nko\n");
        assert_eq!(player.state(), PlayerState::Refused);
        assert_eq!(player.unsent(), b"red\n");
    }
}
