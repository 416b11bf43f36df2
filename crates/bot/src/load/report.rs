//! Figures of the load generator and their report, as a table or JSON.

use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;
use trantor_model::CommandKind;
use trantor_time::{Frequency, RealSpan};

use super::agent::Steady;
use super::cli::{Options, SECONDS_MAX, Speed};

/// Largest achieved/ideal of a game that follows the clock: agents start within a command, and a server that lagged gains on
/// the ideal.
const ACHIEVED_MAX: f64 = 1.5;

/// Message if [`Report::has_lost_all_agents`].
pub const AGENTS_LOST: &str = "all agents were lost before the measurement ended";

/// Largest value, which no run exceeds: a command may be outstanding for the warm-up and the measurement, each at most
/// [`SECONDS_MAX`]. The size of a histogram grows with its logarithm only.
const LONGEST_SECS_MAX: i64 = 3 * SECONDS_MAX as i64;

/// Counters over all peers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Agents that died since the start.
    pub deaths: u64,
    /// Connections of living agents and viewers that the server closed or that broke, since the start.
    pub connections_lost: u64,
    /// Commands answered while measuring.
    pub commands: u64,
    /// Commands answered with `ko` while measuring.
    pub commands_refused: u64,
    /// Commands overdue at the end of measuring. Latency and lateness include their values at that time.
    pub commands_unanswered: u64,
    /// Answers before their ideal end. Only a server that lags gives them: it stamps arriving commands with the game time that
    /// it has reached, and so answers early by the lag.
    pub early: u64,
    /// Unsolicited lines to agents, such as messages.
    pub unasked_lines: u64,
    /// Lines to all text viewers.
    pub viewer_lines: u64,
    /// Frames to all frame viewers.
    pub viewer_frames: u64,
    /// Bytes to all viewers.
    pub viewer_bytes: u64,
    /// Bytes to all agents.
    pub agent_bytes: u64,
}

/// The measurement. Histograms hold only answers that came or were due while measuring.
#[derive(Debug)]
pub struct Figures {
    /// Whether answers count.
    pub is_measuring: bool,
    /// Counters.
    pub counts: Counts,
    /// The least lateness; negative if an answer was early, which the histogram cannot hold.
    pub earliest: Option<RealSpan>,
    /// From sending a command to its answer.
    pub latency_ns: Histogram<u64>,
    /// From the ideal end of a command to its answer.
    pub lateness_ns: Histogram<u64>,
    /// Lateness by kind of command, in the order of [`CommandKind::ALL`].
    pub lateness_by_kind_ns: Vec<Histogram<u64>>,
}

/// The report. Units are in the names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The least lateness; negative if an answer was early.
    #[serde(skip)]
    pub earliest: Option<RealSpan>,
    /// Units of game time a second.
    pub frequency: u32,
    /// Speed after the measurement. If it differs, another client changed it, and lateness is not valid. `None` if it was not
    /// queried or not answered in time.
    pub frequency_at_end: Option<u32>,
    /// Whether the user gave the speed, and it was neither queried nor set.
    pub frequency_assumed: bool,
    /// Agents that joined.
    pub agents: usize,
    /// Agents that were refused.
    pub agents_refused: usize,
    /// Agents that were alive and connected when the measurement ended.
    pub agents_at_end: usize,
    /// Text viewers and frame viewers.
    pub viewers: [usize; 2],
    /// Commands in flight of each agent.
    pub in_flight: usize,
    /// Whether all agents started at one instant.
    pub in_step: bool,
    /// Length of the measurement.
    pub measured_s: f64,
    /// Counters.
    #[serde(flatten)]
    pub counts: Counts,
    /// Commands answered a second.
    pub commands_per_s: f64,
    /// Share of game time filled by commands, from each agent's first answer to the end or its death. The current command
    /// counts with its possible progress.
    pub achieved_of_ideal: f64,
    /// As `achieved_of_ideal`, for the worst agent.
    pub achieved_of_ideal_min: f64,
    /// From sending a command to its answer.
    pub latency: Quantiles,
    /// From the ideal end of a command to its answer.
    pub lateness: Quantiles,
    /// The least lateness of each agent, over all agents: the delay of its first command, on which all later ones depend.
    pub standing_lateness: Quantiles,
    /// Lateness by kind of command, without unused kinds.
    pub lateness_by_kind: Vec<(String, Quantiles)>,
    /// Processor time of the generator while measuring, as a share of a core; `None` where the system does not report it.
    pub own_core: Option<f64>,
}

/// Summary of a histogram, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// Number of values.
    pub count: u64,
    /// 50th percentile.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Maximum.
    pub max_us: f64,
}

/// An empty histogram of nanoseconds with three significant digits.
fn histogram_ns() -> Histogram<u64> {
    let longest = RealSpan::from_secs(LONGEST_SECS_MAX);
    Histogram::new_with_bounds(1, longest.as_nanos() as u64, 3).expect("these bounds and digits are in range")
}

fn record(histogram_ns: &mut Histogram<u64>, span: RealSpan) {
    histogram_ns.saturating_record(u64::try_from(span.as_nanos()).unwrap_or(0));
}

impl Figures {
    /// All zero, and not measuring.
    pub(crate) fn new() -> Self {
        Self {
            is_measuring: false,
            counts: Counts::default(),
            earliest: None,
            latency_ns: histogram_ns(),
            lateness_ns: histogram_ns(),
            lateness_by_kind_ns: CommandKind::ALL.iter().map(|_| histogram_ns()).collect(),
        }
    }

    /// A command was answered.
    pub fn answer(&mut self, kind: CommandKind, latency: RealSpan, lateness: RealSpan) {
        if self.is_measuring {
            self.counts.commands += 1;
            self.counts.early += u64::from(lateness < RealSpan::ZERO);
            self.earliest = Some(self.earliest.map_or(lateness, |least| least.min(lateness)));
            self.record(kind, latency, lateness);
        }
    }

    /// Records an overdue command at the end of measuring with its lateness so far.
    pub fn leave_unanswered(&mut self, kind: CommandKind, latency: RealSpan, lateness: RealSpan) {
        self.counts.commands_unanswered += 1;
        self.record(kind, latency, lateness);
    }

    fn record(&mut self, kind: CommandKind, latency: RealSpan, lateness: RealSpan) {
        record(&mut self.latency_ns, latency);
        record(&mut self.lateness_ns, lateness);
        record(&mut self.lateness_by_kind_ns[kind as usize], lateness);
    }
}

impl Report {
    /// Without what only the connections show: agents that joined, were refused and live, the speed at the end, and the
    /// generator's own processor time.
    pub(super) fn new(
        config: &Options,
        speed: Frequency,
        measured: RealSpan,
        figures: &Figures,
        agents: &[Steady],
    ) -> Self {
        let measured_s = measured.as_secs_f64();
        let mut standing_ns = histogram_ns();
        for steady in agents {
            record(&mut standing_ns, steady.least_lateness);
        }
        let (achieved_of_ideal, achieved_of_ideal_min) = achieved(speed, agents);
        let by_kind = CommandKind::ALL.iter().zip(&figures.lateness_by_kind_ns);
        Self {
            frequency: speed.get(),
            frequency_at_end: None,
            frequency_assumed: matches!(config.speed(), Speed::Assumed(_)),
            agents: 0,
            agents_refused: 0,
            agents_at_end: 0,
            viewers: [config.text_viewers, config.frame_viewers],
            in_flight: config.in_flight,
            in_step: config.in_step,
            measured_s,
            commands_per_s: figures.counts.commands as f64 / measured_s,
            counts: figures.counts.clone(),
            earliest: figures.earliest,
            achieved_of_ideal,
            achieved_of_ideal_min,
            latency: Quantiles::of(&figures.latency_ns),
            lateness: Quantiles::of(&figures.lateness_ns),
            standing_lateness: Quantiles::of(&standing_ns),
            lateness_by_kind: by_kind
                .filter(|(_, histogram)| !histogram.is_empty())
                .map(|(kind, histogram)| (format!("{kind:?}"), Quantiles::of(histogram)))
                .collect(),
            own_core: None,
        }
    }

    /// The `--require` options that this report does not meet, a sentence each.
    pub fn unmet_requirements(&self, options: &Options) -> Vec<String> {
        let is_confirmed = self.frequency_assumed || self.frequency_at_end == Some(self.frequency);
        let is_valid = is_confirmed && self.achieved_of_ideal <= ACHIEVED_MAX;
        let state = if is_valid { "" } else { " and not valid" };
        let losses = self.agents_refused as u64 + self.counts.deaths + self.counts.connections_lost;
        let (p99_us, efficiency) = (self.lateness.p99_us, self.achieved_of_ideal_min);
        let p99 = options.require_p99.filter(|most| !is_valid || p99_us > *most);
        let least = options
            .require_efficiency
            .filter(|least| !is_valid || efficiency < *least);
        let most_losses = options.require_losses.filter(|most| losses > *most);
        let unmet = [
            p99.map(|most| {
                format!("--require-p99 {most}: the 99th percentile of lateness is {p99_us:.1} µs{state}")
            }),
            least.map(|least| {
                format!("--require-efficiency {least}: the worst agent achieved {efficiency:.5}{state}")
            }),
            most_losses.map(|most| {
                format!(
                    "--require-losses {most}: {losses} lost ({} refused, {} died, {} disconnected)",
                    self.agents_refused, self.counts.deaths, self.counts.connections_lost
                )
            }),
        ];
        unmet.into_iter().flatten().collect()
    }

    /// Whether all agents lost their connections before the measurement ended, so that the figures cover a part of it.
    /// Starved agents do not count.
    pub fn has_lost_all_agents(&self) -> bool {
        let joined = u64::try_from(self.agents);
        self.agents_at_end == 0 && joined.is_ok_and(|joined| self.counts.deaths < joined)
    }
}

/// Of all agents together, and of the worst. Agents without a due answer do not count.
fn achieved(speed: Frequency, agents: &[Steady]) -> (f64, f64) {
    let (mut units, mut ideal, mut least) = (0.0, 0.0, f64::INFINITY);
    let units_in = |span: RealSpan| span.as_secs_f64() * f64::from(speed.get());
    for steady in agents.iter().filter(|steady| steady.until > steady.first_at) {
        let possible = units_in(steady.until.since(steady.first_at));
        let filled = steady.units as f64 + units_in(steady.under_way);
        units += filled;
        ideal += possible;
        least = f64::min(least, filled / possible);
    }
    match ideal > 0.0 {
        true => (units / ideal, least),
        false => (0.0, 0.0),
    }
}

impl Quantiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1_000.0;
        Self {
            count: histogram.len(),
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max() as f64 / 1_000.0,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} agents ({} refused, {} died, {} lost), {} in flight, {}, {} + {} viewers, {} units/s, {:.1} s",
            self.agents,
            self.agents_refused,
            self.counts.deaths,
            self.counts.connections_lost,
            self.in_flight,
            if self.in_step { "in step" } else { "spread out" },
            self.viewers[0],
            self.viewers[1],
            self.frequency,
            self.measured_s
        )?;
        writeln!(
            f,
            "{} commands, {:.0} a second; achieved/ideal {:.5} (worst agent {:.5}); {} early, {} unanswered",
            self.counts.commands,
            self.commands_per_s,
            self.achieved_of_ideal,
            self.achieved_of_ideal_min,
            self.counts.early,
            self.counts.commands_unanswered
        )?;
        writeln!(
            f,
            "\n{:16} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "in µs", "count", "p50", "p90", "p99", "p99.9", "max"
        )?;
        write_row(f, "latency", &self.latency)?;
        write_row(f, "lateness", &self.lateness)?;
        write_row(f, "  of an agent", &self.standing_lateness)?;
        for (kind, lateness) in &self.lateness_by_kind {
            write_row(f, &format!("  {kind}"), lateness)?;
        }
        if self.viewers != [0, 0] {
            writeln!(
                f,
                "\nviewers received {} lines and {} frames, {} KiB",
                self.counts.viewer_lines,
                self.counts.viewer_frames,
                self.counts.viewer_bytes / 1_024
            )?;
        }
        if self.achieved_of_ideal > ACHIEVED_MAX {
            writeln!(
                f,
                "\nthe game is faster than {} units/s, as in lock-step: lateness and achieved/ideal are not valid",
                self.frequency
            )?;
        }
        if self.has_lost_all_agents() {
            writeln!(f, "\n{AGENTS_LOST}: the figures are of a part of the time")?;
        }
        match self.frequency_at_end {
            Some(speed) if speed != self.frequency => writeln!(
                f,
                "\nanother client set the speed to {speed} units/s: lateness is not valid"
            )?,
            None if !self.frequency_assumed && !self.has_lost_all_agents() => {
                writeln!(f, "\nspeed not confirmed at the end")?;
            }
            Some(_) | None => {}
        }
        if let Some(core) = self.own_core {
            writeln!(f, "\nthe generator itself used {:.0} % of a core", core * 100.0)?;
        }
        Ok(())
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, row: &Quantiles) -> fmt::Result {
    writeln!(
        f,
        "{name:16} {:>9} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1}",
        row.count, row.p50_us, row.p90_us, row.p99_us, row.p999_us, row.max_us
    )
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use trantor_time::RealTime;

    use super::*;
    use trantor_cli::{Parsed, parse};

    #[test]
    fn achieved_is_game_time_filled_of_game_time_there_was() {
        let at_ms = |ms| RealTime::ZERO.saturating_add(RealSpan::from_millis(ms));
        let steady = |first, last, units, under_way, until| Steady {
            first_at: at_ms(first),
            last_at: at_ms(last),
            until: at_ms(until),
            units,
            under_way: RealSpan::from_millis(under_way),
            least_lateness: RealSpan::ZERO,
        };
        let speed = Frequency::new(100).unwrap();
        let agents = [
            steady(70, 1_020, 95, 50, 1_070),
            steady(0, 430, 43, 70, 1_000),
            steady(5, 5, 0, 0, 5),
        ];
        let (all, least) = achieved(speed, &agents);
        assert!(
            (all - 0.75).abs() < 1e-9 && (least - 0.5).abs() < 1e-9,
            "{all} {least}"
        );
        assert_eq!(achieved(speed, &[]), (0.0, 0.0));
    }

    #[test]
    fn what_makes_figures_useless_is_said() {
        let mut unconfirmed = report("-d 1");
        let text = unconfirmed.to_string();
        assert!(text.ends_with("\nspeed not confirmed at the end\n") && !text.contains(AGENTS_LOST));
        unconfirmed.agents_at_end = 0;
        let text = unconfirmed.to_string();
        assert!(
            text.ends_with(
                "\nall agents were lost before the measurement ended: the figures are of a part of the time\n"
            ),
            "{text}"
        );
        let mut assumed = report("--assume 100");
        assert!(!assumed.to_string().contains("confirmed"));
        assumed.achieved_of_ideal = 1.01;
        assert!(!assumed.to_string().contains("lock-step"));
        assumed.achieved_of_ideal = 448.0;
        assert!(
            assumed
                .to_string()
                .contains("faster than 100 units/s, as in lock-step")
        );
    }

    #[test]
    fn all_are_lost_where_nobody_is_left_and_not_all_have_starved() {
        let mut report = report("-d 1");
        for (agents_at_end, deaths, connections_lost, is_lost) in [
            (12, 0, 0, false),
            (1, 0, 11, false),
            (0, 0, 12, true),
            (0, 11, 1, true),
            (0, 12, 0, false),
            // Lost viewers do not matter.
            (0, 12, 5, false),
        ] {
            (report.agents_at_end, report.counts.deaths) = (agents_at_end, deaths);
            report.counts.connections_lost = connections_lost;
            assert_eq!(
                report.has_lost_all_agents(),
                is_lost,
                "{agents_at_end} {deaths} {connections_lost}"
            );
        }
    }

    #[test]
    fn a_figure_beyond_a_requirement_or_not_valid_does_not_meet_it() {
        let flags = "--require-p99 250.5 --require-efficiency 0.9 --require-losses 2";
        let mut report = report(flags);
        let unmet = |report: &Report| {
            let Ok(Parsed::Run((options, _))) =
                parse(["load"].into_iter().chain(flags.split(' ')).map(OsString::from))
            else {
                panic!("{flags} is refused");
            };
            report.unmet_requirements(&options)
        };
        report.frequency_at_end = Some(100);
        (report.achieved_of_ideal, report.achieved_of_ideal_min) = (1.0, 0.9);
        report.lateness.p99_us = 250.5;
        (report.agents_refused, report.counts.connections_lost) = (1, 1);
        assert_eq!(unmet(&report), [""; 0]);
        report.frequency_at_end = Some(200);
        assert_eq!(unmet(&report).len(), 2, "another client set the speed");
        (report.frequency_at_end, report.counts.deaths) = (Some(100), 1);
        (report.lateness.p99_us, report.achieved_of_ideal_min) = (250.6, 0.89);
        assert_eq!(
            unmet(&report),
            [
                "--require-p99 250.5: the 99th percentile of lateness is 250.6 µs",
                "--require-efficiency 0.9: the worst agent achieved 0.89000",
                "--require-losses 2: 3 lost (1 refused, 1 died, 1 disconnected)",
            ]
        );
        for wrong in [
            "--require-p99 nan",
            "--require-p99 -1",
            "--require-efficiency 1.1",
        ] {
            let words = ["load"].into_iter().chain(wrong.split(' ')).map(OsString::from);
            assert!(parse::<Options>(words).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_stay_exact_however_long_they_are() {
        let mut figures = Figures::new();
        figures.is_measuring = true;
        for seconds in [61, 5_000, 2 * i64::from(SECONDS_MAX)] {
            let span = RealSpan::from_secs(seconds);
            figures.answer(CommandKind::Forward, span, span);
            let kind = &figures.lateness_by_kind_ns[CommandKind::Forward as usize];
            for histogram in [&figures.latency_ns, &figures.lateness_ns, kind] {
                let off = (histogram.max() as f64 / 1e9 / seconds as f64 - 1.0).abs();
                assert!(off < 1e-3, "{} ns instead of {seconds} s", histogram.max());
            }
        }
    }

    /// Report of twelve agents after one second.
    fn report(flags: &str) -> Report {
        let flags = format!("load {flags}");
        let Ok(Parsed::Run((options, _))) = parse(flags.split_whitespace().map(OsString::from)) else {
            panic!("{flags} is refused");
        };
        let speed = Frequency::new(100).unwrap();
        let mut report = Report::new(&options, speed, RealSpan::from_secs(1), &Figures::new(), &[]);
        (report.agents, report.agents_at_end) = (12, 12);
        report
    }
}
