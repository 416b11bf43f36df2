//! Connects a mind with a dialogue: events go to the mind, its commands to the server.

use trantor_model::Command;
use trantor_protocol::text::Dialect;
use trantor_strategy::{Brain, Percept, agent_seed};

use crate::dialogue::{Answer, Dialogue, Event};

/// One agent of a team, without its socket.
#[derive(Debug)]
pub(crate) struct Player {
    pub(crate) dialogue: Dialogue,
    team: Vec<u8>,
    seed: u64,
    /// Number of a replacement, in case it joins now: 0 for one of the team's first agents, and another number for each
    /// later one ([`agent_seed`]).
    pub(crate) replacement: u64,
    /// Of the joined agent; a placeholder before.
    pub(crate) brain: Brain,
    pub(crate) state: PlayerState,
    /// Answers since it was last taken.
    pub(crate) progress: Option<Progress>,
}

/// Recent answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Answers to commands of this duration in all.
    Answered(u32),
    /// Only unknown lines.
    Strange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlayerState {
    Joining,
    /// The server has no place for it.
    Refused,
    Playing,
    /// It starved.
    Dead,
}

impl Player {
    /// An agent of `team`. Its generator is seeded by `seed`, the first lines from the server and its replacement's number.
    pub(crate) fn new(team: &[u8], dialect: Dialect, seed: u64, in_flight_max: usize) -> Self {
        let mut dialogue = Dialogue::new(team, dialect);
        dialogue.limit_in_flight(in_flight_max);
        Self {
            dialogue,
            team: team.to_vec(),
            seed,
            replacement: 0,
            brain: Brain::new(team, seed),
            state: PlayerState::Joining,
            progress: None,
        }
    }

    /// Handles bytes from the server, and sends commands. It decides after each line, so that cuts of the stream do not
    /// matter.
    pub(crate) fn take_in(&mut self, bytes: &[u8]) {
        self.dialogue.take_in(bytes);
        while let Some(event) = self.dialogue.poll() {
            self.take_event(&event);
            self.decide();
        }
    }

    /// Whether it waits for an answer or the end of an elevation.
    pub(crate) fn is_waiting(&self) -> bool {
        self.dialogue.open() > 0 || self.dialogue.is_held()
    }

    /// Drops overdue answers after `units` and sends new commands.
    pub(crate) fn forget(&mut self, units: u32) {
        self.dialogue.forget();
        self.brain.forget(u64::from(units));
        self.decide();
    }

    fn decide(&mut self) {
        while self.state == PlayerState::Playing && self.dialogue.may_send() {
            match self.brain.next_command() {
                Some(command) => self.dialogue.send(command),
                None => break,
            }
        }
    }

    fn take_event(&mut self, event: &Event) {
        let ritual_units = Command::Incantation.duration_units();
        let (units, percept) = match event {
            Event::Joined { places, .. } => {
                let seed = agent_seed(self.seed, &self.team, *places, self.replacement);
                self.brain = Brain::new(&self.team, seed);
                self.state = PlayerState::Playing;
                return;
            }
            Event::Refused => {
                self.state = PlayerState::Refused;
                return;
            }
            Event::Dead => {
                self.state = PlayerState::Dead;
                return;
            }
            Event::Unknown(line) => {
                log::debug!("cannot parse {:?}", line.escape_ascii().to_string());
                self.progress.get_or_insert(Progress::Strange);
                return;
            }
            Event::Answer(command, answer) => {
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
            &Event::Message { direction, ref text } => (None, Percept::Message { direction, text }),
            &Event::Pushed { direction } => (None, Percept::Pushed { direction }),
            Event::ElevationUnderway => (Some(0), Percept::ElevationUnderway),
            Event::Level(level) => (Some(ritual_units), Percept::Level(*level)),
            Event::ElevationFailed => (Some(ritual_units), Percept::Ko),
        };
        if let Some(units) = units {
            let before = match self.progress {
                Some(Progress::Answered(units)) => units,
                Some(Progress::Strange) | None => 0,
            };
            self.progress = Some(Progress::Answered(before.saturating_add(u32::from(units))));
        }
        self.brain.perceive(percept);
    }
}
