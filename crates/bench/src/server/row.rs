//! One row of the table: a fresh server under one load, watched from outside.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use trantor_bot::load::{LoadConfig, Mix, Phase, Report, Speed, run_watched};
use trantor_game::OUTSTANDING_MAX;
use trantor_protocol::text::Dialect;
use trantor_runtime::RealClock;
use trantor_time::{Clock, Frequency, RealSpan};

use super::least::Found;
use super::{Figure, JournalCost};
use crate::child::{Server, ServerProgram};
use crate::samples::Runs;

/// Tiles of the map for each agent: enough for all to live, and rows differ in agents only.
const TILES_PER_AGENT: usize = 10;

/// The least side of a map.
const SIDE_MIN: usize = 20;

/// How long a load runs before it counts.
const WARM_UP: RealSpan = RealSpan::from_millis(1_500);

/// How long all agents may take to join.
const JOIN_PATIENCE: RealSpan = RealSpan::from_secs(60);

/// What a server is put under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) agents: usize,
    pub(super) frequency: u32,
    /// Whether all agents begin at one instant.
    pub(super) in_step: bool,
    pub(super) in_flight: usize,
    pub(super) text_viewers: usize,
    pub(super) frame_viewers: usize,
}

/// What was found under a load.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) load: Load,
    pub(super) commands_per_s: f64,
    /// Of the game time there was, how much commands filled.
    pub(super) achieved: f64,
    /// How much slower the game was than asked for, because the machine was full; 0 to 1.
    pub(super) slowed: f64,
    pub(super) late_p50_us: f64,
    pub(super) late_p99_us: f64,
    pub(super) late_p999_us: f64,
    /// Of one core, 1 being all of it.
    pub(super) core: f64,
    pub(super) us_per_command: f64,
    pub(super) user_us_per_command: f64,
    pub(super) switches_per_command: f64,
    pub(super) bytes_per_agent: f64,
    pub(super) memory_bytes: f64,
    pub(super) generator_core: f64,
    /// Of a server that keeps a journal.
    pub(super) journal: JournalCost,
}

/// Commands that an agent keeps open where the load does not say otherwise.
const COMMANDS_OPEN: usize = 2;

/// The server as it stands at one moment.
struct Sample {
    processor: RealSpan,
    user: RealSpan,
    switches: u64,
    memory_bytes: u64,
}

impl Load {
    /// Agents that begin at different moments.
    pub(super) const fn spread(agents: usize, frequency: u32) -> Self {
        Self {
            agents,
            frequency,
            in_step: false,
            in_flight: COMMANDS_OPEN,
            text_viewers: 0,
            frame_viewers: 0,
        }
    }

    /// Agents that begin at one moment.
    pub(super) const fn in_step(agents: usize, frequency: u32) -> Self {
        Self {
            in_step: true,
            ..Self::spread(agents, frequency)
        }
    }

    /// Agents that keep as many commands open as the rules allow.
    pub(super) const fn with_all_open(agents: usize, frequency: u32) -> Self {
        Self {
            in_flight: OUTSTANDING_MAX,
            ..Self::spread(agents, frequency)
        }
    }

    /// What stands in the first column.
    pub(super) fn name(&self) -> String {
        let mut name = self.agents.to_string();
        if self.in_step {
            name += ", in step";
        }
        if self.in_flight != COMMANDS_OPEN {
            name += &format!(", {} open", self.in_flight);
        }
        if self.text_viewers > 0 {
            name += &format!(" and {} text viewers", self.text_viewers);
        }
        if self.frame_viewers > 0 {
            name += &format!(" and {} viewers of ours", self.frame_viewers);
        }
        name
    }

    fn map_side(&self) -> usize {
        let tiles = self.agents * TILES_PER_AGENT;
        tiles.isqrt().clamp(SIDE_MIN, 1_000)
    }

    /// The same for the load generator.
    pub(super) fn config(&self, server: SocketAddr, span: RealSpan) -> Result<LoadConfig> {
        Ok(LoadConfig {
            server,
            teams: vec!["red".to_owned(), "blue".to_owned()],
            agents: self.agents,
            text_viewers: self.text_viewers,
            frame_viewers: self.frame_viewers,
            in_flight: self.in_flight,
            mix: Mix::default(),
            dialect: Dialect::default(),
            speed: Speed::Set(Frequency::new(u64::from(self.frequency))?),
            warm_up: WARM_UP,
            duration: span,
            in_step: self.in_step,
            join_patience: JOIN_PATIENCE,
            seed: 1,
        })
    }
}

/// Puts a fresh server under `load` and measures for `span`, with `more` words on the server's command line.
pub(super) fn measure(program: &ServerProgram, load: Load, span: RealSpan, more: &[&str]) -> Result<Figures> {
    let side = load.map_side().to_string();
    let places = load.agents.div_ceil(2).to_string();
    let mut plain = vec!["-f", "1", "-x", &side, "-y", &side, "-c", &places, "--seed", "1"];
    // How fast they may come is not what is measured.
    plain.extend(["--accept-rate", "1000000"]);
    let server = program.start(&[&plain[..], more].concat())?;
    let empty = Sample::take(&server)?;
    let clock = RealClock::new();
    let (mut samples, mut slips) = (Vec::new(), Vec::new());
    let report = run_watched(&load.config(server.address, span)?, |phase: Phase| {
        samples.push((phase, Sample::take(&server)));
        if matches!(phase, Phase::Warm | Phase::Measured) {
            slips.push((clock.now(), server.metric("trantor_game_slipped_units_total")));
        }
    });
    let report = report.with_context(|| format!("{} at {}", load.name(), load.frequency))?;
    let mut at = |wanted: Phase| {
        let found = samples.iter().position(|(phase, _)| *phase == wanted);
        samples
            .swap_remove(found.expect("a load that was measured went through all phases"))
            .1
    };
    let (joined, begun, ended) = (at(Phase::Joined)?, at(Phase::Measuring)?, at(Phase::Measured)?);
    let mut figures = Figures::new(load, &report, [&empty, &joined, &begun, &ended]);
    if let [(from, before), (to, after)] = slips.as_slice() {
        let units = to.since(*from).as_secs_f64() * f64::from(load.frequency);
        let number = |told: &Result<f64>| told.as_ref().copied().unwrap_or(f64::NAN);
        figures.slowed = (number(after) - number(before)) / units;
    }
    let total = |name: &str| server.metric(name).unwrap_or(f64::NAN);
    figures.journal = JournalCost {
        writes_per_command: total("trantor_journal_writes_total") / total("trantor_commands_total"),
        busy_share: total("trantor_loop_stage_seconds_total{stage=\"journal\"}")
            / total("trantor_loop_busy_seconds_total"),
    };
    Ok(figures)
}

impl Sample {
    fn take(server: &Server) -> Result<Self> {
        Ok(Self {
            processor: server.processor_time()?,
            user: server.user_time()?,
            switches: server.switches()?,
            memory_bytes: server.memory_bytes()?,
        })
    }
}

impl Figures {
    fn new(load: Load, report: &Report, [empty, joined, begun, ended]: [&Sample; 4]) -> Self {
        let commands = report.commands.max(1) as f64;
        let used_s = (ended.processor - begun.processor).as_secs_f64();
        let user_s = (ended.user - begun.user).as_secs_f64();
        let grown = joined.memory_bytes.saturating_sub(empty.memory_bytes) as f64;
        Self {
            load,
            commands_per_s: report.commands_per_s,
            achieved: report.achieved_of_ideal,
            slowed: f64::NAN,
            late_p50_us: report.lateness.p50_us,
            late_p99_us: report.lateness.p99_us,
            late_p999_us: report.lateness.p999_us,
            core: used_s / report.measured_s,
            us_per_command: used_s * 1e6 / commands,
            user_us_per_command: user_s * 1e6 / commands,
            switches_per_command: (ended.switches - begun.switches) as f64 / commands,
            bytes_per_agent: grown / report.agents.max(1) as f64,
            memory_bytes: ended.memory_bytes as f64,
            generator_core: report.own_core.unwrap_or(f64::NAN),
            journal: JournalCost {
                writes_per_command: f64::NAN,
                busy_share: f64::NAN,
            },
        }
    }

    /// Each figure as it was in the middle one of the `rounds` of one load; of an even number, the greater of two.
    ///
    /// # Panics
    /// If there was no round.
    pub(super) fn median(rounds: &[Self]) -> Self {
        let median = |figure: Figure| rounds.iter().map(figure).collect::<Runs>().median();
        Self {
            load: rounds[0].load,
            commands_per_s: median(|round| round.commands_per_s),
            achieved: median(|round| round.achieved),
            slowed: median(|round| round.slowed),
            late_p50_us: median(|round| round.late_p50_us),
            late_p99_us: median(|round| round.late_p99_us),
            late_p999_us: median(|round| round.late_p999_us),
            core: median(|round| round.core),
            us_per_command: median(|round| round.us_per_command),
            user_us_per_command: median(|round| round.user_us_per_command),
            switches_per_command: median(|round| round.switches_per_command),
            bytes_per_agent: median(|round| round.bytes_per_agent),
            memory_bytes: median(|round| round.memory_bytes),
            generator_core: median(|round| round.generator_core),
            journal: JournalCost {
                writes_per_command: median(|round| round.journal.writes_per_command),
                busy_share: median(|round| round.journal.busy_share),
            },
        }
    }

    /// What can be found of other programs too.
    pub(super) fn seen(&self) -> Found {
        Found {
            late_p99_us: self.late_p99_us,
            core: self.core,
        }
    }

    /// Its cells in the table.
    pub(super) fn cells(&self) -> Vec<String> {
        vec![
            self.load.name(),
            self.load.frequency.to_string(),
            format!("{:.0}", self.commands_per_s),
            format!("{:.4}", self.achieved),
            format!("{:.1}", self.slowed * 100.0),
            format!("{:.0}", self.late_p50_us),
            format!("{:.0}", self.late_p99_us),
            format!("{:.0}", self.late_p999_us),
            format!("{:.1}", self.core * 100.0),
            format!("{:.2}", self.us_per_command),
            format!("{:.2}", self.user_us_per_command),
            format!("{:.2}", self.switches_per_command),
            format!("{:.1}", self.bytes_per_agent / 1_024.0),
            format!("{:.1}", self.memory_bytes / 1e6),
            format!("{:.0}", self.generator_core * 100.0),
        ]
    }
}
