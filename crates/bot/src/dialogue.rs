//! Client side of the text protocol on one connection: bytes in, events out.
//!
//! It uses no socket and no clock. An answer comes with its command; all else is [`News`].

use std::collections::VecDeque;

use trantor_model::{Command, Counts, Level, Resource, Sight};
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::client::{ServerLine, parse_server_line, write_command};
use trantor_protocol::text::{Cut, Dialect, LineCutter};
use trantor_strategy::flight::{AnswerKind, Flight, IN_FLIGHT_MAX};

/// Lifetime of one food, for servers that send food as lifetime.
const FOOD_LIFE_UNITS: u32 = 126;

/// An event from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The agent has a place in its team, and commands may be sent.
    Joined {
        /// Free places of the team.
        places: u32,
        /// The map's width in tiles.
        width: u32,
        /// The map's height in tiles.
        height: u32,
    },
    /// No such team, or no free place. Some servers allow another try, some close.
    Refused,
    /// The answer to a command.
    Answer {
        /// The command.
        command: Command,
        /// Its answer.
        answer: Answer,
    },
    /// An unsolicited event.
    News(News),
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `ok`.
    Ok,
    /// `ko`.
    Ko,
    /// To `Look`: tiles in sight, nearest row first, each from left to right, with the agent itself.
    Look(Vec<Sight>),
    /// To `Inventory`.
    Inventory(Counts),
    /// To `Connect_nbr`: free places of the team.
    Places(u32),
    /// To `Incantation`: the new level.
    Level(Level),
}

/// An unsolicited event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A broadcast.
    Message {
        /// Direction of the sender: 0 here, 1 ahead, then counter-clockwise to 8.
        direction: u8,
        /// The text, byte for byte.
        text: Vec<u8>,
    },
    /// Another agent pushed this one off its tile.
    Pushed {
        /// Direction of the other agent: 1, 3, 5 or 7.
        direction: u8,
    },
    /// An elevation of this agent began. Until it ends the server executes no command of the agent.
    ElevationUnderway,
    /// An elevation started by another agent succeeded.
    Level(Level),
    /// An elevation started by another agent failed.
    ElevationFailed,
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
    heard: VecDeque<Heard>,
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
            heard: VecDeque::new(),
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
                Cut::TooLong => self.heard.push_back(Heard::News(News::Unknown(Vec::new()))),
            }
        }
        self.cutter = cutter;
    }

    /// The next event.
    pub fn poll(&mut self) -> Option<Heard> {
        self.heard.pop_front()
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
                ServerLine::Number(places) => self.phase = Phase::Counted(places),
                ServerLine::NumberAndSize(places, width, height) => self.joined(places, width, height),
                ServerLine::Ko => self.heard.push_back(Heard::Refused),
                _ => {}
            },
            Phase::Counted(places) => {
                if let ServerLine::Size(width, height) = read {
                    self.joined(places, width, height);
                }
            }
            Phase::Playing => {
                let heard = self.in_game(read);
                self.heard.push_back(heard);
            }
        }
    }

    fn joined(&mut self, places: u32, width: u32, height: u32) {
        self.phase = Phase::Playing;
        self.heard.push_back(Heard::Joined {
            places,
            width,
            height,
        });
    }

    fn in_game(&mut self, read: ServerLine<'_>) -> Heard {
        match read {
            ServerLine::Ok => self.answer(AnswerKind::Done, Answer::Ok, b"ok"),
            ServerLine::Ko if self.is_held => self.elevation_ended(Answer::Ko, News::ElevationFailed),
            ServerLine::Ko => self.answer(AnswerKind::Refused, Answer::Ko, b"ko"),
            ServerLine::Look(sights) => {
                let sights = self.with_looker(sights);
                self.answer(AnswerKind::Sight, Answer::Look(sights), b"[ ]")
            }
            ServerLine::Inventory(carried) => {
                let carried = self.in_whole_food(carried);
                self.answer(AnswerKind::Carried, Answer::Inventory(carried), b"[ ]")
            }
            ServerLine::Number(places) => self.answer(AnswerKind::Places, Answer::Places(places), b""),
            ServerLine::CurrentLevel(level) => self.elevation_ended(Answer::Level(level), News::Level(level)),
            ServerLine::ElevationUnderway => {
                self.is_held = true;
                Heard::News(News::ElevationUnderway)
            }
            ServerLine::Message { direction, text } => Heard::News(News::Message {
                direction,
                text: text.to_vec(),
            }),
            ServerLine::Ejected { direction } => Heard::News(News::Pushed { direction }),
            ServerLine::Dead => Heard::News(News::Dead),
            ServerLine::Unknown(line) => Heard::News(News::Unknown(line.to_vec())),
            ServerLine::Welcome | ServerLine::Size(..) | ServerLine::NumberAndSize(..) => {
                Heard::News(News::Unknown(Vec::new()))
            }
        }
    }

    /// Matches an answer with its command; ignores strays such as the second `ko` of some servers.
    fn answer(&mut self, kind: AnswerKind, answer: Answer, stray: &[u8]) -> Heard {
        let had_asked = self.flight.asks_for_ritual();
        match self.flight.answered(kind) {
            Some(command) => {
                // An agent in an elevation gets no answers: it is over, and the server sent its end to others only.
                if !had_asked || command == Command::Incantation {
                    self.is_held = false;
                }
                Heard::Answer { command, answer }
            }
            None => Heard::News(News::Unknown(stray.to_vec())),
        }
    }

    fn elevation_ended(&mut self, answer: Answer, news: News) -> Heard {
        self.is_held = false;
        match self.flight.ritual_ended() {
            Some(command) => Heard::Answer { command, answer },
            None => Heard::News(news),
        }
    }

    /// Servers of the 42 dialects omit the agent itself from its tile; some do not, and some of the other dialects do. A first
    /// tile without an agent shows it.
    fn with_looker(&mut self, mut sights: Vec<Sight>) -> Vec<Sight> {
        if let Some(here) = sights.first_mut() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn playing(dialect: Dialect) -> Dialogue {
        let mut dialogue = Dialogue::new(b"red", dialect);
        dialogue.take_in(b"WELCOME\n2\n10 12\n");
        assert_eq!(
            dialogue.poll(),
            Some(Heard::Joined {
                places: 2,
                width: 10,
                height: 12
            })
        );
        dialogue.unsent().clear();
        dialogue
    }

    fn answered(dialogue: &mut Dialogue) -> (Command, Answer) {
        match dialogue.poll() {
            Some(Heard::Answer { command, answer }) => (command, answer),
            other => panic!("not an answer: {other:?}"),
        }
    }

    #[test]
    fn the_team_is_named_after_the_greeting_and_not_before() {
        let mut dialogue = Dialogue::new(b"red", Dialect::French42);
        assert_eq!(dialogue.unsent(), b"");
        dialogue.take_in(b"BIENV");
        assert_eq!(dialogue.unsent(), b"");
        dialogue.take_in(b"ENUE\n");
        assert_eq!(dialogue.unsent(), b"red\n");
        dialogue.take_in(b"ko\n");
        assert_eq!(dialogue.poll(), Some(Heard::Refused));
        assert!(!dialogue.may_send());
        dialogue.take_in(b"1\n5 5\n");
        assert!(dialogue.may_send());
    }

    #[test]
    fn places_and_size_may_come_on_one_line() {
        let mut dialogue = Dialogue::new(b"red", Dialect::Epitech);
        dialogue.take_in(b"WELCOME\n2 10 12\n");
        let joined = Heard::Joined {
            places: 2,
            width: 10,
            height: 12,
        };
        assert_eq!(dialogue.poll(), Some(joined));
        assert!(dialogue.may_send());
    }

    #[test]
    fn answers_come_with_their_commands_and_news_in_between() {
        let mut dialogue = playing(Dialect::Epitech);
        dialogue.send(Command::Forward);
        dialogue.send(Command::Take(Resource::Food));
        dialogue.send(Command::ConnectNbr);
        assert_eq!(dialogue.unsent(), b"Forward\nTake food\nConnect_nbr\n");
        dialogue.take_in(b"ok\nmessage 3, hello\nko\neject: 5\n4\n");
        assert_eq!(answered(&mut dialogue), (Command::Forward, Answer::Ok));
        let message = News::Message {
            direction: 3,
            text: b"hello".to_vec(),
        };
        assert_eq!(dialogue.poll(), Some(Heard::News(message)));
        assert_eq!(
            answered(&mut dialogue),
            (Command::Take(Resource::Food), Answer::Ko)
        );
        assert_eq!(dialogue.poll(), Some(Heard::News(News::Pushed { direction: 5 })));
        assert_eq!(answered(&mut dialogue), (Command::ConnectNbr, Answer::Places(4)));
        assert_eq!(dialogue.poll(), None);
    }

    /// A look may be longer than a broadcast may be.
    #[test]
    fn a_look_at_a_crowd_is_answered() {
        let mut dialogue = playing(Dialect::Epitech);
        dialogue.send(Command::Look);
        let players = " player".repeat(5_000);
        dialogue.take_in(format!("[{players},,, ]\n").as_bytes());
        assert!(
            matches!(answered(&mut dialogue), (Command::Look, Answer::Look(sights)) if sights.len() == 4)
        );
    }

    #[test]
    fn elevations_answer_who_asked_and_are_news_to_others() {
        let level = Level::new(2).unwrap();
        let mut asker = playing(Dialect::Epitech);
        asker.send(Command::Incantation);
        asker.take_in(b"Elevation underway\nCurrent level: 2\n");
        assert_eq!(asker.poll(), Some(Heard::News(News::ElevationUnderway)));
        assert_eq!(answered(&mut asker), (Command::Incantation, Answer::Level(level)));
        asker.send(Command::Incantation);
        asker.take_in(b"ko\n");
        assert_eq!(answered(&mut asker), (Command::Incantation, Answer::Ko));

        let mut other = playing(Dialect::Epitech);
        other.send(Command::Look);
        other.take_in(b"Elevation underway\nko\n[ player,,, ]\n");
        assert_eq!(other.poll(), Some(Heard::News(News::ElevationUnderway)));
        assert_eq!(other.poll(), Some(Heard::News(News::ElevationFailed)));
        assert!(matches!(answered(&mut other), (Command::Look, Answer::Look(_))));
    }

    #[test]
    fn an_elevation_without_an_end_line_ends_with_the_next_answer() {
        let mut other = playing(Dialect::Epitech);
        other.send(Command::Look);
        other.send(Command::Set(Resource::Food));
        other.take_in(b"Elevation underway\n[ player,,, ]\nko\n");
        assert_eq!(other.poll(), Some(Heard::News(News::ElevationUnderway)));
        assert_eq!(answered(&mut other).0, Command::Look);
        assert_eq!(answered(&mut other), (Command::Set(Resource::Food), Answer::Ko));
    }

    #[test]
    fn what_is_forgotten_is_open_no_more() {
        let mut dialogue = playing(Dialect::Epitech);
        dialogue.send(Command::Inventory);
        dialogue.take_in(b"Elevation underway\n");
        dialogue.forget();
        dialogue.send(Command::Take(Resource::Food));
        dialogue.take_in(b"[ food 3 ]\nko\n");
        assert_eq!(dialogue.poll(), Some(Heard::News(News::ElevationUnderway)));
        assert_eq!(dialogue.poll(), Some(Heard::News(News::Unknown(b"[ ]".to_vec()))));
        assert_eq!(
            answered(&mut dialogue),
            (Command::Take(Resource::Food), Answer::Ko)
        );
    }

    #[test]
    fn all_layouts_mean_the_same() {
        let mut epitech = playing(Dialect::Epitech);
        let mut epitech_2016 = playing(Dialect::Epitech2016);
        let mut french = playing(Dialect::French42);
        for dialogue in [&mut epitech, &mut epitech_2016, &mut french] {
            dialogue.send(Command::Look);
            dialogue.send(Command::Inventory);
        }
        epitech.take_in(b"[ player food,,, ]\n[ food 9, linemate 1 ]\n");
        epitech_2016.take_in(b"{ joueur nourriture,,,}\n{nourriture 9,linemate 1}\n");
        french.take_in(b"{nourriture, , , }\n{nourriture 1260, linemate 1}\n");
        for _ in 0..2 {
            let meant = answered(&mut epitech);
            assert_eq!(meant, answered(&mut epitech_2016));
            assert_eq!(meant, answered(&mut french));
        }
    }

    #[test]
    fn a_looker_that_is_left_out_is_counted_all_the_same() {
        let mut dialogue = playing(Dialect::Epitech);
        let mut looked = |line: &[u8]| {
            dialogue.send(Command::Look);
            dialogue.take_in(line);
            match answered(&mut dialogue) {
                (Command::Look, Answer::Look(sights)) => sights[0].agents,
                other => panic!("not a look: {other:?}"),
            }
        };
        assert_eq!(looked(b"[ player player,,, ]\n"), 2);
        assert_eq!(looked(b"[ food,,, ]\n"), 1);
        assert_eq!(
            looked(b"[ player,,, ]\n"),
            2,
            "the server is known to omit the agent"
        );
    }

    #[test]
    fn food_may_be_a_lifetime_in_any_dialect() {
        for dialect in [Dialect::Epitech, Dialect::French42] {
            for (first, then, whole) in [("9", "8", [9, 8]), ("1260", "127", [9, 1])] {
                let mut dialogue = playing(dialect);
                let mut read = |food: &str| {
                    dialogue.send(Command::Inventory);
                    let (open, word, close) = match dialect {
                        Dialect::Epitech => ("[ ", "food", " ]"),
                        _ => ("{", "nourriture", "}"),
                    };
                    dialogue.take_in(format!("{open}{word} {food}, linemate 0{close}\n").as_bytes());
                    match answered(&mut dialogue) {
                        (Command::Inventory, Answer::Inventory(carried)) => carried[Resource::Food],
                        other => panic!("not an inventory: {other:?}"),
                    }
                };
                assert_eq!([read(first), read(then)], whole, "{dialect:?}");
            }
        }
    }

    #[test]
    fn nuls_behind_line_feeds_hide_no_answer() {
        let mut dialogue = Dialogue::new(b"red", Dialect::Epitech);
        dialogue.take_in(b"WELCOME\n\x002\n\x0010 12\n\0");
        assert!(matches!(dialogue.poll(), Some(Heard::Joined { places: 2, .. })));
        dialogue.send(Command::Incantation);
        dialogue.take_in(b"Elevation underway\n\0Current level: 2\n");
        assert_eq!(dialogue.poll(), Some(Heard::News(News::ElevationUnderway)));
        assert_eq!(answered(&mut dialogue).0, Command::Incantation);
    }
}
