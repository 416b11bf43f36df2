//! Commands that were sent and are not answered yet, and which of them an answer belongs to.
//!
//! Answers come in the order of the commands, but not every line is an answer: an agent that takes part in an
//! elevation begun by another receives `ko` unasked when it fails, and some servers say `ko` twice. So answers are
//! also matched by kind, and one that fits no open command is left alone.
//!
//! Where a server is silent for too long its peer asks again, for something that changes nothing. The answer to that shows
//! that the commands before it are lost: none has to be forgotten on a guess, and late answers still find their commands.

use std::collections::VecDeque;

use trantor_model::{Command, CommandKind, Percept};

/// Commands a server keeps for an agent, the one it is carrying out included; what is above is lost.
pub const IN_FLIGHT_MAX: usize = 10;

/// The open commands, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    open: VecDeque<Command>,
    /// Whether it was asked again since an answer came, and by which request.
    asked_again: bool,
    request: usize,
}

impl Flight {
    /// Whether another command may be sent.
    pub fn has_room(&self) -> bool {
        self.open.len() < IN_FLIGHT_MAX
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Durations of the open commands.
    pub fn units(&self) -> u64 {
        self.open
            .iter()
            .map(|command| u64::from(command.duration_units()))
            .sum()
    }

    /// Whether nothing is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A command was sent.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn sent(&mut self, command: Command) {
        assert!(self.has_room(), "the caller asks for room first");
        self.open.push_back(command);
    }

    /// What to send because of a long silence; it counts as sent. First a request that takes no time in the game, so that a game
    /// that is paused, or waits for others, is not changed by it. Where that is not answered it is another, and from then on
    /// the one that was. `None` if there is no room: nothing of so much was answered, and the flight is best forgotten.
    pub fn ask_again(&mut self) -> Option<Command> {
        const REQUESTS: [Command; 3] = [Command::ConnectNbr, Command::Inventory, Command::Look];
        self.request += usize::from(self.asked_again);
        self.asked_again = true;
        self.has_room().then(|| {
            let command = REQUESTS[self.request % REQUESTS.len()].clone();
            self.sent(command.clone());
            command
        })
    }

    /// The open commands, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Command> {
        self.open.iter()
    }

    /// Takes the command that an answer belongs to; `None` if it belongs to none.
    ///
    /// The level that an elevation reached is no such answer: [`Self::elevation_ended`] takes that.
    ///
    /// If the oldest command cannot be answered so but a later one can, the ones before it were lost, and are
    /// forgotten. `ok` and `ko` may be what a server says to anything that it does not know: where no open command is
    /// answered so, they are the answer of the only one, or end the wait for all after it was asked again.
    pub fn answered(&mut self, answer: &Percept) -> Option<Command> {
        let fitting = match answer {
            // Refusals come unasked, too: only the oldest command may be meant.
            Percept::Ko => self
                .open
                .front()
                .is_some_and(|oldest| may_answer(answer, oldest))
                .then_some(0),
            _ => self.open.iter().position(|command| may_answer(answer, command)),
        };
        let is_word = matches!(answer, Percept::Ok | Percept::Ko);
        let ends_all = is_word && (self.open.len() == 1 || self.asked_again);
        let at = fitting.or_else(|| self.open.len().checked_sub(1).filter(|_| ends_all))?;
        self.asked_again = false;
        self.open.drain(..at);
        self.open.pop_front()
    }

    /// Whether the oldest command asks for an elevation.
    pub fn asks_for_elevation(&self) -> bool {
        self.open.front() == Some(&Command::Incantation)
    }

    /// What is open was lost, or answered in an unknown way.
    pub fn forget(&mut self) {
        self.open.clear();
        self.asked_again = false;
    }

    /// An elevation in which this agent takes part has ended; if it had asked for it, that is the answer, and
    /// the command comes back.
    pub fn elevation_ended(&mut self) -> Option<Command> {
        self.asked_again = false;
        self.asks_for_elevation().then(|| self.open.pop_front()).flatten()
    }
}

/// Whether `command`, well formed, is ever answered in this way.
fn may_answer(answer: &Percept, command: &Command) -> bool {
    let Some(kind) = command.kind() else {
        return *answer == Percept::Ko;
    };
    match kind {
        CommandKind::Look => matches!(answer, Percept::Look(_)),
        CommandKind::Inventory => matches!(answer, Percept::Inventory { .. }),
        CommandKind::ConnectNbr => matches!(answer, Percept::Places(_)),
        CommandKind::Forward | CommandKind::Right | CommandKind::Left => *answer == Percept::Ok,
        // An elevation is answered by the level reached; some servers say `ok` instead.
        CommandKind::Incantation
        | CommandKind::Broadcast
        | CommandKind::Eject
        | CommandKind::Fork
        | CommandKind::Take
        | CommandKind::Set => matches!(answer, Percept::Ok | Percept::Ko),
    }
}

#[cfg(test)]
mod tests {
    use trantor_model::Resource;

    use super::*;

    #[test]
    fn answers_go_to_the_commands_they_fit_and_the_end_of_an_elevation_to_its_asker() {
        let sight = Percept::Look([].into());
        let take = Command::Take(Resource::Food);
        let mut flight = Flight::default();
        for command in [Command::Forward, Command::Inventory, Command::Look, take.clone()] {
            flight.sent(command);
        }
        assert_eq!(
            flight.answered(&Percept::Ko),
            None,
            "one that no command asked for"
        );
        assert_eq!(flight.answered(&Percept::Ok), Some(Command::Forward));
        assert_eq!(
            flight.answered(&sight),
            Some(Command::Look),
            "the one before was lost"
        );
        assert_eq!(flight.elevation_ended(), None, "of another agent");
        assert_eq!(flight.answered(&Percept::Ko), Some(take));
        assert_eq!((flight.is_empty(), flight.answered(&Percept::Ok)), (true, None));
        flight.sent(Command::Incantation);
        assert_eq!(flight.elevation_ended(), Some(Command::Incantation));
        for open in 0..IN_FLIGHT_MAX {
            assert_eq!((flight.has_room(), flight.len()), (true, open));
            flight.sent(Command::Look);
        }
        assert!(!flight.has_room());
    }
}
