//! What is said on one connection, from the greeting on: bytes in, meaning out.
//!
//! No socket and no clock: the caller hands bytes in, and asks what was heard. Answers come with the
//! command they belong to; all else is news.

use std::collections::VecDeque;

use trantor_model::{Command, Counts, Level, Resource, Sight};
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::client::{ServerLine, parse_server_line, write_command};
use trantor_protocol::text::{Cut, Dialect, LineCutter};
use trantor_strategy::flight::{AnswerKind, Flight, IN_FLIGHT_MAX};

/// Units of life in one food: some servers send food as life left.
const FOOD_LIFE_UNITS: u32 = 126;

/// One thing that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The agent has a place in its team, and commands may be sent.
    Joined {
        /// Places the team has left.
        places: u32,
        /// The map's width in tiles.
        width: u32,
        /// The map's height in tiles.
        height: u32,
    },
    /// There is no such team, or no place in it. Some servers let one try again, some close.
    Refused,
    /// The answer to a command.
    Answer {
        /// The command.
        command: Command,
        /// Its answer.
        answer: Answer,
    },
    /// Something that no command asked for.
    News(News),
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done.
    Ok,
    /// It was not.
    Ko,
    /// To a look: what is in sight, nearest row first, each from left to right, the looker included.
    Look(Vec<Sight>),
    /// To an inventory: what is carried.
    Inventory(Counts),
    /// To a question for places: how many the team has left.
    Places(u32),
    /// To an incantation: the level reached.
    Level(Level),
}

/// What an agent is sent unasked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// An agent spoke.
    Message {
        /// From where: 0 here, 1 ahead, then counter-clockwise to 8.
        direction: u8,
        /// What was said, byte for byte.
        text: Vec<u8>,
    },
    /// Another agent pushed this one off its tile.
    Pushed {
        /// Where it came from, as seen by itself: 1, 3, 5 or 7.
        direction: u8,
    },
    /// An elevation began, with this agent in it. Until it ends nothing else is carried out.
    ElevationUnderway,
    /// An elevation that another agent asked for succeeded.
    Level(Level),
    /// An elevation that another agent asked for failed.
    ElevationFailed,
    /// The agent starved. The connection ends.
    Dead,
    /// A line of which nothing could be made.
    Unknown(Vec<u8>),
}

/// One connection's side of the protocol.
#[derive(Debug)]
pub struct Dialogue {
    dialect: Dialect,
    team: Vec<u8>,
    phase: Phase,
    cutter: LineCutter,
    flight: Flight,
    in_flight_max: usize,
    is_held: bool,
    /// Whether this server leaves the looker out of its own tile, as far as was seen.
    is_looker_left_out: bool,
    /// Whether this server sends food as life left, once it sent any.
    is_food_life: Option<bool>,
    heard: VecDeque<Heard>,
    unsent: Vec<u8>,
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was received.
    Greeting,
    /// The team's name was said.
    Named,
    /// The number of places was received.
    Counted(u32),
    /// In the game.
    Playing,
}

impl Dialogue {
    /// Will ask for a place in the team with that name.
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

    /// Takes in bytes from the server, in any pieces.
    pub fn take_in(&mut self, mut piece: &[u8]) {
        // The cutter lends its lines, so it leaves for the time of the loop.
        let mut cutter = std::mem::take(&mut self.cutter);
        while let Some(cut) = cutter.next(&mut piece) {
            match cut {
                Cut::Line(line) => self.line(line),
                Cut::TooLong => self.heard.push_back(Heard::News(News::Unknown(Vec::new()))),
            }
        }
        self.cutter = cutter;
    }

    /// The next thing that was heard.
    pub fn poll(&mut self) -> Option<Heard> {
        self.heard.pop_front()
    }

    /// Lets fewer commands be open than ten: some servers take what comes at once for one command.
    pub fn limit_in_flight(&mut self, most: usize) {
        self.in_flight_max = most.clamp(1, IN_FLIGHT_MAX);
    }

    /// Whether another command may be sent: ten may be open, and none before a place was given.
    pub fn may_send(&self) -> bool {
        self.phase == Phase::Playing && self.flight.len() < self.in_flight_max
    }

    /// Commands sent and not answered.
    pub fn open(&self) -> usize {
        self.flight.len()
    }

    /// Whether an elevation is under way, whose end will be announced.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Sends a command.
    ///
    /// # Panics
    /// If [`Self::may_send`] is not so.
    pub fn send(&mut self, command: Command) {
        assert!(
            self.may_send(),
            "the caller asks first whether a command may be sent"
        );
        write_command(&mut self.unsent, self.dialect, &command);
        self.flight.sent(command);
    }

    /// What is open will never be answered, or was answered in a way that nothing could be made of. Answers that come
    /// all the same are matched to later commands by their kind.
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
            // Whatever the server says first is its greeting; each has its own word.
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

    /// An answer, with its command; a stray one, such as the second `ko` of some servers, is no answer.
    fn answer(&mut self, kind: AnswerKind, answer: Answer, stray: &[u8]) -> Heard {
        let had_asked = self.flight.asks_for_ritual();
        match self.flight.answered(kind) {
            Some(command) => {
                // Nothing is carried out for an agent that is held: the elevation was over, and only others got its end.
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

    /// The 42 dialects leave the looker out of its own tile, but not all their servers do, and some of the others do:
    /// those that once tell of nobody there.
    fn with_looker(&mut self, mut sights: Vec<Sight>) -> Vec<Sight> {
        if let Some(here) = sights.first_mut() {
            self.is_looker_left_out |= here.agents == 0;
            here.agents = here.agents.saturating_add(u32::from(self.is_looker_left_out));
        }
        sights
    }

    /// Some servers send food as life left, that of the food being digested included: in the 42 dialects they should,
    /// in the other they should not. The first number shows which, since a newborn has ten food, and that is 1,260 units.
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

    /// More than a broadcast may hold can be in sight.
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
    fn who_is_not_told_of_the_end_of_an_elevation_is_held_until_the_next_answer() {
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
            "now it is known that this one leaves it out"
        );
    }

    #[test]
    fn food_may_be_told_as_life_in_any_dialect() {
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
