//! Seats: places for agents that the caller decides for, and what these are sent meanwhile, as arrays or as lines of the text
//! protocol.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use trantor_model::{AgentId, Command};
use trantor_play::minds::{Act, Mind, MindFactory, Newborn, Percept};
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::{AiLine, Dialect, parse_command, write_ai_line, write_percept};
use trantor_time::GameTime;

use crate::actions::word;

/// Messages that a seat keeps: as many as six agents and their answers in one step. Older ones are dropped.
pub(crate) const MESSAGES_MAX: usize = 12;
/// Text that a seat keeps until it is read, in bytes: what a server keeps for an agent. Messages beyond it are dropped.
const TEXT_BYTES_MAX: usize = ANSWER_BYTES_MAX;
/// The words of the lines.
const DIALECT: Dialect = Dialect::Epitech;

/// A place for one agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seat {
    pub agent: Option<AgentId>,
    /// Its agent has lived and is gone.
    pub is_gone: bool,
    /// Direction and word of what it heard in this step, the oldest first.
    pub heard: Vec<(u8, u8)>,
    /// The lines that its agent was sent and that were not read, if it is sent lines.
    pub text: Option<Vec<u8>>,
    /// It waits until then.
    pub waits_until: GameTime,
    /// What it had when it saw something last; level 0: it has seen nothing yet.
    pub level: u8,
    pub food: u32,
    pub stones: u32,
}

impl Seat {
    /// Its agent has read what it was sent.
    pub(crate) fn forget_text(&mut self) {
        if let Some(text) = &mut self.text {
            text.clear();
        }
    }
}

/// The seats of a game, shared with the minds that hold them.
pub(crate) type Seats = Rc<RefCell<Vec<Seat>>>;

/// The mind of an agent that the caller decides for: it remembers, and decides nothing.
struct Sitter {
    seats: Seats,
    seat: usize,
}

impl Mind for Sitter {
    fn perceive(&mut self, percept: &Percept) {
        let seat = &mut self.seats.borrow_mut()[self.seat];
        if let Some(text) = &mut seat.text {
            let is_message = matches!(percept, Percept::Message { .. });
            if !is_message || text.len() < TEXT_BYTES_MAX {
                write_percept(text, DIALECT, percept);
            }
        } else if let Percept::Message { direction, text } = percept {
            if seat.heard.len() == MESSAGES_MAX {
                seat.heard.remove(0);
            }
            seat.heard.push((*direction, word(text)));
        }
    }

    fn decides_after_percepts(&self) -> bool {
        false
    }

    fn decide(&mut self, _now: GameTime, _acts: &mut Vec<Act>) {}

    fn wake_at(&self) -> Option<GameTime> {
        None
    }

    fn died(&mut self, _now: GameTime, _acts: &mut Vec<Act>) {
        if let Some(text) = &mut self.seats.borrow_mut()[self.seat].text {
            write_ai_line(text, DIALECT, &AiLine::Dead);
        }
    }
}

/// One line with its end.
pub(crate) fn line(line: &AiLine<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_ai_line(&mut bytes, DIALECT, line);
    bytes
}

/// The command in a line, without its end.
pub(crate) fn command_in(line: &[u8]) -> Command {
    parse_command(DIALECT, line)
}

impl Drop for Sitter {
    fn drop(&mut self) {
        if let Ok(mut seats) = self.seats.try_borrow_mut() {
            let seat = &mut seats[self.seat];
            seat.agent = None;
            seat.is_gone = true;
        }
    }
}

/// Gives the newborn of a team its seats, one after the other.
pub(crate) struct Seating {
    pub seats: Seats,
    pub left: Range<usize>,
    pub is_raw: bool,
}

impl MindFactory for Seating {
    fn awaken(&mut self, born: &Newborn) -> Box<dyn Mind> {
        let seat = self.left.next().expect("each newborn has a seat");
        let (places, size) = (born.places, born.map);
        let greeting = || line(&AiLine::Accepted { places, size });
        self.seats.borrow_mut()[seat] = Seat {
            agent: Some(born.agent),
            text: self.is_raw.then(greeting),
            ..Seat::default()
        };
        Box::new(Sitter {
            seats: self.seats.clone(),
            seat,
        })
    }
}
