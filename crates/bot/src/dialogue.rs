//! Client side of the text protocol on one connection: bytes in, events out.
//!
//! It uses no socket and no clock. An answer comes with its command; every other line is an event of its own.

use std::collections::VecDeque;
use std::sync::Arc;

use trantor_model::{Command, Counts, Percept, Resource, Sight};
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::{AiLine, Cut, Dialect, LineCutter, parse_server_line, write_command};
use trantor_strategy::flight::{Flight, IN_FLIGHT_MAX};

/// Lifetime of one food, for servers that send food as lifetime.
const FOOD_LIFE_UNITS: u32 = 126;

/// An event from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The agent has a place in its team, and commands may be sent.
    Joined {
        /// Free places of the team.
        places: u32,
        /// The map's width and height in tiles.
        size: (u32, u32),
    },
    /// No such team, or no free place. Some servers allow another try, some close.
    Refused,
    /// The answer to a command; of `Incantation` the level reached, or `Ko`. A look has the agent itself on its first tile.
    Answer(Command, Percept),
    /// What answers no command: a message, a push, the beginning of an elevation, and the end of one that another agent had
    /// asked for (the level, or `Ko`); also a list or a number that no open command asked for, since servers answer
    /// late, or in another order. Until an elevation ends the server executes no command of the agent.
    Percept(Percept),
    /// The agent starved. The server closes the connection.
    Dead,
    /// An unknown line.
    Unknown(Vec<u8>),
}

/// Protocol state of one connection.
#[derive(Debug)]
pub struct Dialogue {
    dialect: Dialect,
    team: Vec<u8>,
    phase: Phase,
    cutter: LineCutter,
    flight: Flight,
    in_flight_max: usize,
    is_held: bool,
    /// Whether this server omits the agent itself from its tile, as observed so far.
    is_looker_left_out: bool,
    /// Whether this server sends food as lifetime; `None` before the first inventory.
    is_food_life: Option<bool>,
    /// Whether the answer of a command never came, as a later one's showed.
    has_lost: bool,
    events: VecDeque<Event>,
    unsent: Vec<u8>,
}

/// Phase of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was received.
    Greeting,
    /// The team's name was sent.
    Named,
    /// The number of places was received.
    Counted(u32),
    /// In the game.
    Playing,
}

impl Dialogue {
    /// For an agent of this team.
    pub fn new(team: &[u8], dialect: Dialect) -> Self {
        Self {
            dialect,
            team: team.to_vec(),
            phase: Phase::Greeting,
            cutter: LineCutter::with_max(ANSWER_BYTES_MAX),
            flight: Flight::default(),
            in_flight_max: IN_FLIGHT_MAX,
            is_held: false,
            is_looker_left_out: false,
            is_food_life: None,
            has_lost: false,
            events: VecDeque::new(),
            unsent: Vec::new(),
        }
    }

    /// Handles bytes from the server, cut anywhere.
    pub fn take_in(&mut self, mut piece: &[u8]) {
        // Taken out, since its lines borrow it.
        let mut cutter = std::mem::take(&mut self.cutter);
        while let Some(cut) = cutter.next(&mut piece) {
            match cut {
                Cut::Line(line) => self.line(line),
                Cut::TooLong => self.events.push_back(Event::Unknown(Vec::new())),
            }
        }
        self.cutter = cutter;
    }

    /// The next event.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Limits the outstanding commands below ten: some servers read one command per packet.
    pub fn limit_in_flight(&mut self, most: usize) {
        self.in_flight_max = most.clamp(1, IN_FLIGHT_MAX);
    }

    /// Whether another command may be sent: at most ten are outstanding, and none before the join.
    pub fn may_send(&self) -> bool {
        self.phase == Phase::Playing && self.flight.len() < self.in_flight_max
    }

    /// Outstanding commands.
    pub fn open(&self) -> usize {
        self.flight.len()
    }

    /// Whether an elevation is in progress; the server will send its end.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Sends a command.
    ///
    /// # Panics
    /// If [`Self::may_send`] is false.
    pub fn send(&mut self, command: Command) {
        assert!(self.may_send(), "the caller checks may_send");
        write_command(&mut self.unsent, self.dialect, &command);
        self.flight.sent(command);
    }

    /// Sends one more command, whatever the limit, because no answer has come for long: one that changes nothing, whose answer
    /// shows that those before it are lost. `false` if ten are open.
    pub fn ask_again(&mut self) -> bool {
        let command = self.flight.ask_again();
        if let Some(command) = &command {
            write_command(&mut self.unsent, self.dialect, command);
        }
        command.is_some()
    }

    /// Whether the server has ever left a command without an answer that it answered a later one.
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// The game time that the next answer takes at most, in units: that of a step at least, since a server may be busy.
    pub fn awaited_units(&self) -> u16 {
        let elevation = Command::Incantation.duration_units();
        let oldest = self.flight.iter().next();
        match self.is_held {
            true => elevation,
            false => oldest.map_or(elevation, |oldest| {
                oldest.duration_units().max(Command::Forward.duration_units())
            }),
        }
    }

    /// Drops the outstanding commands: their answers are lost or unknown. Late answers are matched to later commands by
    /// kind.
    pub fn forget(&mut self) {
        self.flight.forget();
        self.is_held = false;
    }

    /// Bytes to be written to the server; the writer takes them out.
    pub fn unsent(&mut self) -> &mut Vec<u8> {
        &mut self.unsent
    }

    fn line(&mut self, line: &[u8]) {
        let read = parse_server_line(self.dialect, line);
        match self.phase {
            // The first line is the greeting, whatever its word.
            Phase::Greeting => {
                self.phase = Phase::Named;
                self.unsent.extend_from_slice(&self.team);
                self.unsent.push(b'\n');
            }
            Phase::Named => match read {
                AiLine::Percept(Percept::Places(places)) => self.phase = Phase::Counted(places),
                AiLine::PlacesAndSize(places, width, height) => self.joined(places, (width, height)),
                AiLine::Percept(Percept::Ko) => self.events.push_back(Event::Refused),
                _ => {}
            },
            Phase::Counted(places) => {
                if let AiLine::Size(width, height) = read {
                    self.joined(places, (width, height));
                }
            }
            Phase::Playing => {
                let event = self.in_game(read);
                self.events.push_back(event);
            }
        }
    }

    fn joined(&mut self, places: u32, size: (u32, u32)) {
        self.phase = Phase::Playing;
        self.events.push_back(Event::Joined { places, size });
    }

    fn in_game(&mut self, read: AiLine<'_>) -> Event {
        let percept = match read {
            AiLine::Percept(percept) => percept,
            AiLine::Dead => return Event::Dead,
            AiLine::Unknown(line) => return Event::Unknown(line.to_vec()),
            AiLine::Welcome | AiLine::Accepted { .. } | AiLine::Size(..) | AiLine::PlacesAndSize(..) => {
                return Event::Unknown(Vec::new());
            }
        };
        match percept {
            Percept::Ko if self.is_held => self.elevation_ended(percept),
            Percept::Level(_) => self.elevation_ended(percept),
            Percept::Look(sights) => {
                let sights = self.with_looker(sights);
                self.answer(Percept::Look(sights))
            }
            Percept::Inventory {
                inventory,
                life_units,
            } => {
                let inventory = self.in_whole_food(inventory);
                self.answer(Percept::Inventory {
                    inventory,
                    life_units,
                })
            }
            Percept::Ok | Percept::Ko | Percept::Places(_) => self.answer(percept),
            Percept::ElevationUnderway => {
                self.is_held = true;
                Event::Percept(percept)
            }
            Percept::Message { .. } | Percept::Pushed { .. } => Event::Percept(percept),
        }
    }

    /// Matches an answer with its command; ignores strays such as the second `ko` of some servers, which are this word.
    fn answer(&mut self, answer: Percept) -> Event {
        let had_asked = self.flight.asks_for_elevation();
        let open = self.flight.len();
        match self.flight.answered(&answer) {
            Some(command) => {
                self.has_lost |= self.flight.len() + 1 < open;
                // An agent in an elevation gets no answers: it is over, and the server sent its end to others only.
                if !had_asked || command == Command::Incantation {
                    self.is_held = false;
                }
                Event::Answer(command, answer)
            }
            None => match answer {
                Percept::Ok => Event::Unknown(b"ok".to_vec()),
                Percept::Ko => Event::Unknown(b"ko".to_vec()),
                answer => Event::Percept(answer),
            },
        }
    }

    fn elevation_ended(&mut self, end: Percept) -> Event {
        self.is_held = false;
        match self.flight.elevation_ended() {
            Some(command) => Event::Answer(command, end),
            None => Event::Percept(end),
        }
    }

    /// Servers of the 42 dialects omit the agent itself from its tile; some do not, and some of the other dialects do. A first
    /// tile without an agent shows it.
    fn with_looker(&mut self, mut sights: Arc<[Sight]>) -> Arc<[Sight]> {
        if let Some(here) = Arc::make_mut(&mut sights).first_mut() {
            self.is_looker_left_out |= here.agents == 0;
            here.agents = here.agents.saturating_add(u32::from(self.is_looker_left_out));
        }
        sights
    }

    /// Some servers send food as lifetime, with the current food: in the 42 dialects they should, in the others they should
    /// not. The first number decides, since a new agent has ten food, or 1,260 units.
    fn in_whole_food(&mut self, mut carried: Counts) -> Counts {
        let sent = carried[Resource::Food];
        if *self.is_food_life.get_or_insert(sent > FOOD_LIFE_UNITS) {
            carried[Resource::Food] = sent.saturating_sub(1) / FOOD_LIFE_UNITS;
        }
        carried
    }
}
