//! Agents and the control viewer of the load generator in transcripts; see [`crate::transcripts`].

use trantor_protocol::text::Dialect;
use trantor_time::{Frequency, RealSpan, RealTime};

use super::agent::LoadAgent;
use super::mix::Mix;
use super::report::Figures;
use super::viewer::Control;
use crate::transcripts::{Part, at_ms, ms_of, received};

/// An agent that joined and is measured.
pub(crate) struct LoadPart {
    agent: LoadAgent,
    figures: Figures,
    mix: Mix,
    speed: Frequency,
}

impl LoadPart {
    pub(crate) fn new(mix: &str, speed: Frequency) -> Self {
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
pub(crate) struct ControlPart(Control);

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
