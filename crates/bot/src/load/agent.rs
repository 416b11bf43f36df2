//! One agent of the load generator: keeps commands in flight and records the lateness of their answers.
//!
//! It parses only the kind of an answer, so that the generator stays far cheaper than the server.

use std::collections::VecDeque;

use rand_pcg::Pcg32;
use trantor_model::CommandKind;
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::client::write_command;
use trantor_protocol::text::{Cut, Dialect, LineCutter, without_nuls_before, words};
use trantor_time::{Frequency, RealSpan, RealTime};

use super::mix::Mix;
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
    pub(super) unsent: Vec<u8>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> RealTime {
        RealTime::ZERO.saturating_add(RealSpan::from_millis(ms))
    }

    fn ready() -> (LoadAgent, Figures) {
        let mut agent = LoadAgent::new("red", Dialect::Epitech, 1);
        let mut figures = Figures::new();
        agent.take_in(b"WELCOME\n", at_ms(0), &mut figures);
        assert_eq!(agent.unsent, b"red\n");
        agent.unsent.clear();
        agent.take_in(b"0\n5 5\n", at_ms(0), &mut figures);
        assert_eq!(agent.state(), AgentState::Ready);
        figures.is_measuring = true;
        (agent, figures)
    }

    #[test]
    fn lateness_counts_from_the_ideal_end_and_not_from_the_last_answer() {
        let (mut agent, mut figures) = ready();
        let mix: Mix = "forward=1".parse().unwrap();
        let speed = Frequency::new(100).unwrap();
        agent.fill(2, &mix, speed, at_ms(0));
        assert_eq!(agent.unsent, b"Forward\nForward\n");
        // Ideal ends: 70 and 140 ms. The first is 5 ms late, the second on time.
        agent.take_in(b"ok\n", at_ms(75), &mut figures);
        agent.take_in(b"ok\n", at_ms(140), &mut figures);
        let late_ms = |quantile| figures.lateness_ns.value_at_quantile(quantile) / 1_000_000;
        assert_eq!((late_ms(0.0), late_ms(1.0)), (0, 5));
        assert_eq!(figures.latency_ns.max() / 1_000_000, 140);
        assert_eq!((figures.counts.commands, figures.counts.early), (2, 0));
        let steady = agent.steady().unwrap();
        assert_eq!(
            (steady.first_at, steady.last_at, steady.units),
            (at_ms(75), at_ms(140), 7)
        );
        assert_eq!(steady.least_lateness, RealSpan::ZERO);
    }

    #[test]
    fn what_is_overdue_at_the_end_counts_as_late_and_what_is_not_does_not() {
        let speed = Frequency::new(100).unwrap();
        let mix: Mix = "forward=1".parse().unwrap();
        let (mut agent, mut figures) = ready();
        agent.fill(2, &mix, speed, at_ms(0));
        agent.take_in(b"ok\n", at_ms(70), &mut figures);
        // One is due at 140 ms, and one at 210.
        agent.fill(2, &mix, speed, at_ms(70));
        agent.end_measuring(at_ms(0), at_ms(100), speed, &mut figures);
        assert_eq!(
            (figures.counts.commands, figures.counts.commands_unanswered),
            (1, 0)
        );
        assert_eq!(figures.lateness_ns.len(), 1);
        let steady = agent.steady().unwrap();
        assert_eq!(
            (steady.until, steady.under_way),
            (at_ms(100), RealSpan::from_millis(30))
        );

        agent.end_measuring(at_ms(0), at_ms(3_140), speed, &mut figures);
        assert_eq!(
            (figures.counts.commands, figures.counts.commands_unanswered),
            (1, 2)
        );
        let late_ms = |quantile| figures.lateness_ns.value_at_quantile(quantile) / 1_000_000;
        assert_eq!(
            (figures.lateness_ns.len(), late_ms(0.5) / 10, late_ms(1.0) / 10),
            (3, 293, 300)
        );
        let steady = agent.steady().unwrap();
        assert_eq!(
            (steady.last_at, steady.until, steady.under_way),
            (at_ms(70), at_ms(3_140), RealSpan::from_millis(70))
        );
    }

    #[test]
    fn answers_that_come_together_fill_no_time_between_them() {
        let speed = Frequency::new(100).unwrap();
        let mix: Mix = "forward=1".parse().unwrap();
        let (mut agent, mut figures) = ready();
        agent.fill(4, &mix, speed, at_ms(0));
        // An overloaded server answers two at a time, late by one.
        agent.take_in(b"ok\nok\n", at_ms(140), &mut figures);
        agent.take_in(b"ok\nok\n", at_ms(280), &mut figures);
        let steady = agent.steady().unwrap();
        assert_eq!((steady.first_at, steady.units), (at_ms(140), 14));
    }

    #[test]
    fn who_was_never_answered_had_nothing_of_the_time() {
        let speed = Frequency::new(100).unwrap();
        let (mut agent, mut figures) = ready();
        agent.fill(1, &"forward=1".parse().unwrap(), speed, at_ms(0));
        agent.end_measuring(at_ms(10), at_ms(60), speed, &mut figures);
        assert_eq!((agent.steady(), figures.counts.commands_unanswered), (None, 0));
        agent.end_measuring(at_ms(10), at_ms(1_070), speed, &mut figures);
        let steady = agent.steady().unwrap();
        assert_eq!(
            (steady.first_at, steady.units, figures.counts.commands_unanswered),
            (at_ms(10), 0, 1)
        );
        assert_eq!(steady.least_lateness, RealSpan::from_millis(1_000));
    }

    #[test]
    fn places_and_size_may_come_on_one_line() {
        let mut agent = LoadAgent::new("red", Dialect::Epitech, 1);
        agent.take_in(b"WELCOME\n2 10 12\n", at_ms(0), &mut Figures::new());
        assert_eq!(agent.state(), AgentState::Ready);
    }

    #[test]
    fn nuls_behind_line_feeds_hide_no_answer() {
        let (mut agent, mut figures) = ready();
        let speed = Frequency::new(100).unwrap();
        agent.fill(2, &"take=1".parse().unwrap(), speed, at_ms(0));
        agent.take_in(b"\0ok\n\0ko\n\0dead\n", at_ms(140), &mut figures);
        assert_eq!(
            (
                figures.counts.commands,
                figures.counts.commands_refused,
                figures.counts.unasked_lines
            ),
            (2, 1, 0)
        );
        assert_eq!(agent.state(), AgentState::Dead);
    }

    #[test]
    fn early_answers_and_unasked_lines_are_counted_apart() {
        let (mut agent, mut figures) = ready();
        let speed = Frequency::new(100).unwrap();
        agent.fill(1, &"take=1".parse().unwrap(), speed, at_ms(0));
        agent.take_in(b"message 1, hello\nko\n", at_ms(60), &mut figures);
        assert_eq!(
            (
                figures.counts.unasked_lines,
                figures.counts.commands_refused,
                figures.counts.early
            ),
            (1, 1, 1)
        );
        agent.fill(1, &"take=1".parse().unwrap(), speed, at_ms(60));
        agent.take_in(b"ok\n", at_ms(131), &mut figures);
        assert_eq!(
            figures.counts.early, 1,
            "the next one is due 70 ms after the early one"
        );
        assert_eq!(figures.lateness_ns.max() / 1_000_000, 1);
        agent.take_in(b"dead\n", at_ms(140), &mut figures);
        assert_eq!((agent.state(), figures.counts.deaths), (AgentState::Dead, 1));
    }
}
