//! One agent of the load generator: keeps commands in flight and records the lateness of their answers.
//!
//! It parses only the kind of an answer, so that the generator stays far cheaper than the server.

use std::collections::VecDeque;

use rand_pcg::Pcg32;
use trantor_model::CommandKind;
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::{Cut, Dialect, LineCutter, without_nuls_before, words, write_command};
use trantor_time::{Frequency, RealSpan, RealTime};

use super::cli::Mix;
use super::report::Figures;

/// An agent that always has commands in flight.
#[derive(Debug)]
pub struct LoadAgent {
    team: String,
    dialect: Dialect,
    state: AgentState,
    cutter: LineCutter,
    open: VecDeque<Open>,
    /// Ideal end of the last command sent.
    ideal_end: RealTime,
    rng: Pcg32,
    /// Bytes to be written to the server; the writer takes them out.
    pub(crate) unsent: Vec<u8>,
    steady: Option<Steady>,
}

/// State of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// Nothing was received.
    Greeting,
    /// The team's name was sent.
    Named,
    /// The number of places was received; the map's size is to come.
    Counted,
    /// It joined.
    Ready,
    /// The server has no place for it.
    Refused,
    /// It starved.
    Dead,
}

/// An outstanding command.
#[derive(Clone, Copy, Debug)]
struct Open {
    kind: CommandKind,
    units: u16,
    sent_at: RealTime,
    ideal_end: RealTime,
}

/// Answers while measuring, from the first one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Time of the first answer, or the start of measuring if a due answer is missing.
    pub first_at: RealTime,
    /// Time of the last answer.
    pub last_at: RealTime,
    /// End of its life or of measuring, so that a server that stops answering is not measured by its last answer.
    pub until: RealTime,
    /// Durations of all commands answered after the first.
    pub units: u64,
    /// Possible progress of the current command since the last answer, at most its duration.
    pub under_way: RealSpan,
    /// The least lateness of an answer: the agent's first command was read that late, and all others follow from it.
    pub least_lateness: RealSpan,
}

impl LoadAgent {
    /// For an agent of `team`.
    pub fn new(team: &str, dialect: Dialect, seed: u64) -> Self {
        Self {
            team: team.to_owned(),
            dialect,
            state: AgentState::Greeting,
            cutter: LineCutter::with_max(ANSWER_BYTES_MAX),
            open: VecDeque::new(),
            ideal_end: RealTime::ZERO,
            rng: Pcg32::new(seed, 0x6c6f_6164),
            unsent: Vec::new(),
            steady: None,
        }
    }

    /// Its state.
    pub fn state(&self) -> AgentState {
        self.state
    }

    /// Answers while measuring.
    pub fn steady(&self) -> Option<Steady> {
        self.steady
    }

    /// Handles bytes received at `now`.
    pub fn take_in(&mut self, mut piece: &[u8], now: RealTime, figures: &mut Figures) {
        // Taken out, since its lines borrow it.
        let mut cutter = std::mem::take(&mut self.cutter);
        while let Some(cut) = cutter.next(&mut piece) {
            if let Cut::Line(line) = cut {
                self.line(line, now, figures);
            }
        }
        self.cutter = cutter;
    }

    /// Sends commands until `in_flight` are open.
    pub fn fill(&mut self, in_flight: usize, mix: &Mix, speed: Frequency, now: RealTime) {
        while self.state == AgentState::Ready && self.open.len() < in_flight {
            let command = mix.draw(&mut self.rng);
            write_command(&mut self.unsent, self.dialect, &command);
            let units = command.duration_units();
            let kind = command.kind().expect("a mix holds no refused commands");
            self.ideal_end = self.ideal_end.max(now).saturating_add(span_of(units, speed));
            self.open.push_back(Open {
                kind,
                units,
                sent_at: now,
                ideal_end: self.ideal_end,
            });
        }
    }

    /// The server is ahead of the ideal by `-by`: moves the ideal ends of all later commands.
    ///
    /// This happens after it lagged: arriving commands are stamped with the game time that it has reached, and queued
    /// commands keep the gain.
    fn move_ideal_ends(&mut self, by: RealSpan) {
        self.ideal_end += by;
        for open in &mut self.open {
            open.ideal_end += by;
        }
    }

    /// Ends the measurement from `begun` to `now`. Overdue commands count with their lateness so far; commands whose ideal
    /// end is later do not count.
    pub fn end_measuring(&mut self, begun: RealTime, now: RealTime, speed: Frequency, figures: &mut Figures) {
        if self.state != AgentState::Ready {
            return;
        }
        for open in self.open.iter().take_while(|open| open.ideal_end < now) {
            figures.leave_unanswered(open.kind, now.since(open.sent_at), now - open.ideal_end);
        }
        let Some(first) = self.open.front() else { return };
        if self.steady.is_none() && first.ideal_end < now {
            self.steady = Some(Steady::begin(begun, now - first.ideal_end));
        }
        if let Some(steady) = &mut self.steady {
            steady.until = now;
            steady.under_way = span_of(first.units, speed).min(now.since(steady.last_at));
        }
    }

    fn line(&mut self, line: &[u8], now: RealTime, figures: &mut Figures) {
        let line = without_nuls_before(line);
        match self.state {
            AgentState::Greeting => {
                self.unsent.extend_from_slice(self.team.as_bytes());
                self.unsent.push(b'\n');
                self.state = AgentState::Named;
            }
            AgentState::Named if line == b"ko" => self.state = AgentState::Refused,
            // Some servers send places and size on one line.
            AgentState::Named if words(line).count() == 3 => self.state = AgentState::Ready,
            AgentState::Named => self.state = AgentState::Counted,
            AgentState::Counted => self.state = AgentState::Ready,
            AgentState::Ready if line == self.dialect.words().dead.as_bytes() => {
                self.state = AgentState::Dead;
                figures.counts.deaths += 1;
            }
            AgentState::Ready => self.in_game(line, now, figures),
            AgentState::Refused | AgentState::Dead => {}
        }
    }

    fn in_game(&mut self, line: &[u8], now: RealTime, figures: &mut Figures) {
        let is_answer = matches!(line, b"ok" | b"ko" | [b'[' | b'{' | b'0'..=b'9', ..]);
        let answered = if is_answer { self.open.pop_front() } else { None };
        let Some(open) = answered else {
            figures.counts.unasked_lines += u64::from(figures.is_measuring);
            return;
        };
        figures.counts.commands_refused += u64::from(figures.is_measuring && line == b"ko");
        let lateness = now - open.ideal_end;
        figures.answer(open.kind, now.since(open.sent_at), lateness);
        if lateness < RealSpan::ZERO {
            self.move_ideal_ends(lateness);
        }
        if !figures.is_measuring {
            return;
        }
        match &mut self.steady {
            Some(steady) => {
                // Answers received together with the first one took no time after it.
                if now > steady.first_at {
                    steady.units += u64::from(open.units);
                }
                steady.last_at = now;
                steady.until = now;
                steady.least_lateness = steady.least_lateness.min(lateness);
            }
            None => self.steady = Some(Steady::begin(now, lateness)),
        }
    }
}

impl Steady {
    fn begin(at: RealTime, lateness: RealSpan) -> Self {
        Self {
            first_at: at,
            last_at: at,
            until: at,
            units: 0,
            under_way: RealSpan::ZERO,
            least_lateness: lateness,
        }
    }
}

/// Length of `units` at this speed.
pub fn span_of(units: u16, speed: Frequency) -> RealSpan {
    RealSpan::from_nanos(i64::from(units) * 1_000_000_000 / i64::from(speed.get()))
}
