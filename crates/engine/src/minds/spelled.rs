//! A mind that hears and speaks lines of text, as an agent behind a connection does.
//!
//! Every percept is written as the server writes it and read as an agent reads it, and every command the other
//! way, so a run through it shows that nothing is lost on the way, and costs what the protocol costs.

use trantor_model::Command;
use trantor_protocol::text::client::{ServerLine, parse_server_line, write_command};
use trantor_protocol::text::{AiLine, Dialect, parse_command, write_ai_line};

use super::{Mind, Percept};

/// Lines to and from a mind, in Epitech's words.
#[derive(Debug)]
pub struct Spelled<M> {
    mind: M,
    line: Vec<u8>,
}

impl<M: Mind> Spelled<M> {
    /// The same mind, behind lines.
    pub fn new(mind: M) -> Self {
        Self {
            mind,
            line: Vec::new(),
        }
    }

    /// Takes in one line of a server, without its end. What an agent makes nothing of is passed over.
    pub fn hear(&mut self, line: &[u8]) {
        let heard = parse_server_line(Dialect::Epitech, line);
        if let Some(percept) = percept_of(&heard) {
            self.mind.perceive(percept);
        }
    }

    /// Appends the line of the mind's next command, with its end; answers whether there was one.
    pub fn say(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(command) = self.mind.next_command() else {
            return false;
        };
        write_command(out, Dialect::Epitech, &command);
        true
    }
}

impl<M: Mind> Mind for Spelled<M> {
    fn perceive(&mut self, percept: Percept<'_>) {
        self.line.clear();
        write_ai_line(&mut self.line, Dialect::Epitech, &line_of(percept));
        let line = self.line.trim_ascii_end();
        if let Some(percept) = percept_of(&parse_server_line(Dialect::Epitech, line)) {
            self.mind.perceive(percept);
        }
    }

    fn next_command(&mut self) -> Option<Command> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let command = self
            .say(&mut line)
            .then(|| parse_command(Dialect::Epitech, &line[..line.len() - 1]));
        self.line = line;
        command
    }

    fn take_free_place(&mut self) -> bool {
        self.mind.take_free_place()
    }
}

fn line_of(percept: Percept<'_>) -> AiLine<'_> {
    match percept {
        Percept::Ok => AiLine::Ok,
        Percept::Ko => AiLine::Ko,
        Percept::Look(sights) => AiLine::Look(sights),
        // Only the dialects of School 42 tell food as life left.
        Percept::Inventory(inventory) => AiLine::Inventory {
            inventory,
            life_units: 0,
        },
        Percept::Places(places) => AiLine::ConnectNbr(places),
        Percept::Message { direction, text } => AiLine::Message { direction, text },
        Percept::Pushed { direction } => AiLine::Ejected { direction },
        Percept::ElevationUnderway => AiLine::ElevationUnderway,
        Percept::Level(level) => AiLine::CurrentLevel(level),
    }
}

fn percept_of<'a>(line: &'a ServerLine<'_>) -> Option<Percept<'a>> {
    Some(match line {
        ServerLine::Ok => Percept::Ok,
        ServerLine::Ko => Percept::Ko,
        ServerLine::Look(sights) => Percept::Look(sights),
        ServerLine::Inventory(carried) => Percept::Inventory(carried),
        ServerLine::Number(places) => Percept::Places(*places),
        ServerLine::Message { direction, text } => Percept::Message {
            direction: *direction,
            text,
        },
        ServerLine::Ejected { direction } => Percept::Pushed {
            direction: *direction,
        },
        ServerLine::ElevationUnderway => Percept::ElevationUnderway,
        ServerLine::CurrentLevel(level) => Percept::Level(*level),
        ServerLine::Welcome
        | ServerLine::Size(..)
        | ServerLine::NumberAndSize(..)
        | ServerLine::Dead
        | ServerLine::Unknown(_) => {
            return None;
        }
    })
}
