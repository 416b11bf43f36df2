//! Parts of the bots and of the load generator, each tested by transcripts without sockets on a manual clock.
//!
//! `: PART ARGUMENTS` begins with a new one. `< LINE` comes from the server, `! COMMAND` is sent to it, and any other line
//! is a step, most with a time in milliseconds. `> LINE` is what it sends then, and `= VALUE` what it says or is. `xN` at
//! the end of a line repeats it. `BLESS=1` writes both.

use std::fmt::Write as _;

use trantor_model::{Command, Percept};
use trantor_protocol::text::{Dialect, parse_command};
use trantor_time::{Frequency, RealSpan, RealTime};

use crate::dialogue::{Dialogue, Event};
use crate::load::agent::LoadAgent;
use crate::load::cli::Mix;
use crate::load::peer::Control;
use crate::load::report::Figures;
use crate::roster::{Next, Roster};
use crate::team::{Overdue, Player, TeamUnits};

/// A part under test: takes a step, and returns what it sends and what it is then.
trait Part {
    fn step(&mut self, step: &str) -> (Vec<u8>, Vec<String>);
}

fn at_ms(ms: &str) -> RealTime {
    RealTime::ZERO.saturating_add(RealSpan::from_millis(ms.parse().expect(ms)))
}

fn ms_of(at: RealTime) -> i64 {
    at.since(RealTime::ZERO).as_nanos() / 1_000_000
}

/// A line of the server: `\0` is a NUL, and `(WORD*N)` the word so many times.
fn received(line: &str) -> Vec<u8> {
    let line = line.replace("\\0", "\0");
    let repeated = line.split_once('(').and_then(|(before, rest)| {
        let (part, after) = rest.split_once(')')?;
        let (word, count) = part.split_once('*')?;
        Some(before.to_owned() + &word.repeat(count.parse().ok()?) + after)
    });
    (repeated.unwrap_or(line) + "\n").into_bytes()
}

fn described(event: &Event) -> String {
    match event {
        Event::Answer(command, Percept::Look(sights)) => {
            format!("{command:?}: {} tiles, {:?}", sights.len(), sights[0])
        }
        Event::Percept(Percept::Message { direction, text }) => {
            format!("Message from {direction}: {}", text.escape_ascii())
        }
        Event::Answer(command, Percept::Inventory { inventory, .. }) => {
            format!("Answer({command:?}, Inventory({inventory:?}))")
        }
        Event::Percept(Percept::Inventory { inventory, .. }) => format!("Unasked(Inventory({inventory:?}))"),
        Event::Percept(Percept::Ko) => "ElevationFailed".to_owned(),
        Event::Percept(percept) => format!("{percept:?}"),
        Event::Unknown(line) => format!("Unknown: {}", line.escape_ascii()),
        event => format!("{event:?}"),
    }
}

impl Part for Dialogue {
    fn step(&mut self, step: &str) -> (Vec<u8>, Vec<String>) {
        match step.split_once(' ') {
            Some(("<", line)) => self.take_in(&received(line)),
            Some(("!", command)) => self.send(parse_command(Dialect::Epitech, command.as_bytes())),
            Some(_) => drop(self.ask_again()),
            None => self.forget(),
        }
        let mut said: Vec<String> = std::iter::from_fn(|| self.poll())
            .map(|it| described(&it))
            .collect();
        if !self.may_send() {
            said.push("may not send".to_owned());
        }
        (std::mem::take(self.unsent()), said)
    }
}

impl Part for Player {
    fn step(&mut self, step: &str) -> (Vec<u8>, Vec<String>) {
        match step.split_once(' ') {
            Some(("<", line)) => self.take_in(&received(line)),
            _ => self.ask_again(),
        }
        let units = self.answered_units.take();
        let answered = units.map(|units| format!("{units} units answered"));
        let said = answered.into_iter().chain([format!("{:?}", self.state)]);
        (std::mem::take(self.dialogue.unsent()), said.collect())
    }
}

impl Part for Roster {
    fn step(&mut self, step: &str) -> (Vec<u8>, Vec<String>) {
        let (ms, what) = step.split_once(' ').expect(step);
        let now = at_ms(ms);
        match what {
            "connecting" => self.connecting(now),
            "joined" => self.joined(),
            "refused" => self.not_joined(true, now),
            "turned away" => self.not_joined(false, now),
            "died" => self.died(now),
            "closed" => self.closed(true, now),
            "broken off" => self.closed(false, now),
            "free place" => self.free_place(now),
            _ => assert_eq!(what, "later"),
        }
        let next = match self.next(now) {
            Next::Wait(Some(until)) => format!("Wait until {} ms", ms_of(until)),
            next => format!("{next:?}"),
        };
        (
            Vec::new(),
            vec![format!("{next}, replacement {}", self.replacement())],
        )
    }
}

/// An agent whose answers may be overdue, another of its team, and the time.
struct OverduePart {
    overdue: Overdue,
    other: Overdue,
    passed: TeamUnits,
    now: RealTime,
}

impl Part for OverduePart {
    fn step(&mut self, step: &str) -> (Vec<u8>, Vec<String>) {
        let (what, ms) = step.split_once(' ').unwrap_or((step, "0"));
        self.now += at_ms(ms).since(RealTime::ZERO);
        let mut awaited = Command::Forward.duration_units();
        match what {
            "answered" => self.overdue.answered(7, &mut self.passed, self.now),
            "other" => self.other.answered(7, &mut self.passed, self.now),
            "again" => {
                self.now = self.overdue.at(awaited);
                self.overdue.asked_again(self.passed, self.now);
            }
            "elevation" => awaited = Command::Incantation.duration_units(),
            _ => assert_eq!(what, "later"),
        }
        let is_overdue = self.overdue.is_overdue(awaited, self.passed, self.now);
        let limit = ms_of(self.overdue.at(awaited)) - ms_of(self.now);
        let limit = format!("limit in {limit} ms");
        let said = format!("{limit}{}", if is_overdue { ", overdue" } else { "" });
        (Vec::new(), vec![said])
    }
}

/// An agent that joined and is measured.
struct LoadPart {
    agent: LoadAgent,
    figures: Figures,
    mix: Mix,
    speed: Frequency,
}

impl LoadPart {
    fn new(mix: &str, speed: Frequency) -> Self {
        let mut figures = Figures::new();
        let mut agent = LoadAgent::new("red", Dialect::Epitech, 1);
        agent.take_in(b"WELCOME\n0 5 5\n", RealTime::ZERO, &mut figures);
        agent.unsent.clear();
        figures.is_measuring = true;
        let mix = mix.parse().expect(mix);
        Self {
            agent,
            figures,
            mix,
            speed,
        }
    }
}

impl Part for LoadPart {
    /// `MS < LINE`, `MS fill COUNT`, or `MS end BEGUN_MS`.
    fn step(&mut self, step: &str) -> (Vec<u8>, Vec<String>) {
        let [ms, what, rest] = step.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("{step}");
        };
        let now = at_ms(ms);
        match what {
            "<" => self.agent.take_in(&received(rest), now, &mut self.figures),
            "fill" => self
                .agent
                .fill(rest.parse().expect(step), &self.mix, self.speed, now),
            _ => self
                .agent
                .end_measuring(at_ms(rest), now, self.speed, &mut self.figures),
        }
        let ms = |span: RealSpan| span.as_nanos() / 1_000_000;
        let counts = &self.figures.counts;
        let lateness =
            [0.0, 0.5, 1.0].map(|part| self.figures.lateness_ns.value_at_quantile(part) / 1_000_000);
        let mut said = vec![
            format!(
                "{:?}: {} answered, {} refused, {} early, {} unanswered, {} unasked lines",
                self.agent.state(),
                counts.commands,
                counts.commands_refused,
                counts.early,
                counts.commands_unanswered,
                counts.unasked_lines
            ),
            format!("lateness of {} {lateness:?} ms", self.figures.lateness_ns.len()),
        ];
        said.extend(self.agent.steady().map(|it| {
            format!(
                "steady from {} to {} until {} ms: {} units and {} ms, late by {} ms at least",
                ms_of(it.first_at),
                ms_of(it.last_at),
                ms_of(it.until),
                it.units,
                ms(it.under_way),
                ms(it.least_lateness)
            )
        }));
        (std::mem::take(&mut self.agent.unsent), said)
    }
}

#[derive(Default)]
struct ControlPart(Control);

impl Part for ControlPart {
    fn step(&mut self, step: &str) -> (Vec<u8>, Vec<String>) {
        match step.split_once(' ') {
            Some(("<", line)) => self.0.take_in(&received(line)),
            Some((_, speed)) => {
                let speed = Frequency::new(speed.parse().expect(step));
                self.0.set(speed.expect("a speed"));
            }
            None => self.0.query(),
        }
        let speed = self.0.speed.map(Frequency::get);
        let said = format!("{speed:?}{}", if self.0.was_refused { " refused" } else { "" });
        (std::mem::take(&mut self.0.unsent), vec![said])
    }
}

/// The part that a line begins with; a dialogue is `new`, or has `joined`.
fn part(line: &str) -> Box<dyn Part> {
    let mut words = line.split(' ');
    let name = words.next().expect(line);
    let mut number = || words.next().expect(line).parse().expect(line);
    match name {
        "player" => Box::new(Player::new(b"red", Dialect::Epitech, 1, number())),
        "roster" => {
            let patience = RealSpan::from_secs(number() as i64);
            Box::new(Roster::new(number(), number(), patience, RealTime::ZERO))
        }
        "overdue" => {
            let passed = TeamUnits::default();
            let overdue = Overdue::new(passed, RealTime::ZERO);
            let (other, now) = (overdue.clone(), RealTime::ZERO);
            Box::new(OverduePart {
                overdue,
                other,
                passed,
                now,
            })
        }
        "load" => Box::new(LoadPart::new(
            &line["load ".len()..],
            Frequency::new(100).expect("a speed"),
        )),
        "control" => Box::new(ControlPart::default()),
        _ => {
            let dialect = match words.next() {
                Some("42") => Dialect::French42,
                Some("2016") => Dialect::Epitech2016,
                _ => Dialect::Epitech,
            };
            let mut dialogue = Dialogue::new(b"red", dialect);
            if name == "joined" {
                dialogue.take_in(b"WELCOME\n2\n10 12\n");
                assert!(dialogue.poll().is_some(), "it joined");
                dialogue.unsent().clear();
            }
            Box::new(dialogue)
        }
    }
}

/// Plays a transcript; answers it with what was sent and said.
fn play(transcript: &str) -> String {
    let (mut played, mut subject) = (String::new(), None);
    for line in transcript.lines().filter(|line| !line.starts_with(['>', '='])) {
        writeln!(played, "{line}").expect("a string takes all");
        if let Some(named) = line.strip_prefix(": ") {
            subject = Some(part(named));
        } else if !line.starts_with('#') {
            let repeated = line
                .rsplit_once(" x")
                .and_then(|(step, count)| Some((step, count.parse().ok()?)));
            let (step, count) = repeated.unwrap_or((line, 1));
            let subject = subject.as_mut().expect("a part comes first");
            let (mut sent, mut said) = (Vec::new(), Vec::new());
            for _ in 0..count {
                let (bytes, values) = subject.step(step);
                sent.extend(bytes);
                said = values;
            }
            for line in String::from_utf8_lossy(&sent).lines() {
                writeln!(played, "> {line}").expect("a string takes all");
            }
            for value in said {
                writeln!(played, "= {value}").expect("a string takes all");
            }
        }
    }
    played
}

#[test]
fn transcripts() {
    trantor_transcript::check_folder(env!("CARGO_MANIFEST_DIR"), "tests/transcripts", play);
}
