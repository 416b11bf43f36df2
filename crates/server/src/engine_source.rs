//! What the engine counts of its sessions and its game, for a collector of metrics on another thread.
//!
//! Gathering it goes through all sessions, so no pass does it; the loop is sent a task when somebody asks. That
//! is some microseconds of the loop's time a scrape, shows a resting server as it is, and wakes nobody otherwise.

use std::error::Error;
use std::sync::mpsc::sync_channel;

use trantor_engine::{CloseReason, EngineStats};
use trantor_runtime::fault::CallbackResult;
use trantor_runtime::metrics::collector::Source;
use trantor_runtime::metrics::{Sample, Value};
use trantor_time::{NANOS, RealSpan, RealTime};

use crate::shell::Shell;
use crate::tasks::TaskSender;

/// How long the loop may take to answer before its other metrics are told without these: many long passes.
const ANSWER_SPAN: RealSpan = RealSpan::from_millis(500);

/// Asks the loop for the engine's counts.
pub struct EngineSource {
    tasks: TaskSender,
}

/// The engine's counts at one moment.
struct Told {
    stats: EngineStats,
    frequency: u32,
    is_paused: bool,
    game_units: f64,
}

impl EngineSource {
    /// A source that asks the loop behind `tasks`.
    pub fn new(tasks: TaskSender) -> Self {
        Self { tasks }
    }

    fn ask(&self) -> Result<Told, Box<dyn Error>> {
        let (told, answer) = sync_channel(1);
        let tell = move |shell: &mut Shell| {
            let engine = &mut shell.engine;
            let stats = engine.stats(shell.now);
            let clock = engine.game_clock();
            let (frequency, is_paused) = (clock.frequency().get(), clock.is_paused());
            let game_units = engine.game_now().as_units_f64();
            // Whoever asked may have lost patience.
            let _received = told.send(Told {
                stats,
                frequency,
                is_paused,
                game_units,
            });
        };
        self.tasks.send("engine_stats", tell)?;
        let told = answer.recv_timeout(ANSWER_SPAN.to_std());
        told.map_err(|_| "the loop does not answer".into())
    }
}

impl Source for EngineSource {
    fn collect(&mut self, _now: RealTime, samples: &mut Vec<Sample>) -> CallbackResult {
        let Told {
            stats,
            frequency,
            is_paused,
            game_units,
        } = self.ask()?;
        let mut tell = |name: &'static str, value| {
            samples.push(Sample {
                name: name.into(),
                value,
            })
        };
        for (name, value) in gauges(&stats) {
            tell(name, Value::Gauge(value));
        }
        tell("game.frequency_per_second", Value::Gauge(f64::from(frequency)));
        tell("game.paused_count", Value::Gauge(f64::from(u8::from(is_paused))));
        tell("game.time_units_count", Value::Gauge(game_units));
        for (name, count) in counters(&stats) {
            tell(name, Value::Counter(count));
        }
        samples.extend(
            CloseReason::ALL
                .into_iter()
                .zip(stats.counters.closed)
                .map(|(reason, count)| Sample {
                    name: format!("sessions.closed.{}_count", reason.name()).into(),
                    value: Value::Counter(count),
                }),
        );
        Ok(())
    }
}

fn gauges(stats: &EngineStats) -> [(&'static str, f64); 7] {
    [
        ("sessions.agents_count", stats.agents as f64),
        ("sessions.text_viewers_count", stats.text_viewers as f64),
        ("sessions.viewers_count", stats.viewers as f64),
        ("outbox.depth_bytes", stats.outbox_bytes as f64),
        ("outbox.age_ns", stats.outbox_age.as_nanos() as f64),
        ("outbox.wait_p99_ns", stats.outbox_waits.p99_ns as f64),
        ("timers.real.active_count", stats.timers_pending as f64),
    ]
}

fn counters(stats: &EngineStats) -> [(&'static str, u64); 33] {
    let counters = &stats.counters;
    let slipped_units = stats.slipped.as_nanounits() / i128::from(NANOS);
    [
        ("sessions.closed_by_peer_count", counters.closed_by_peer),
        ("sessions.dropped_bytes", counters.bytes_dropped),
        ("sessions.violations_count", counters.violations),
        ("sessions.throttled_count", counters.throttled),
        ("sessions.throttled_peers_count", counters.throttled_peers),
        ("sessions.blocked_count", counters.blocked),
        ("sessions.blocked_peers_count", counters.blocked_peers),
        ("outbox.undeliverable_count", counters.undeliverable),
        ("game.joined_count", counters.joined),
        ("game.joins_refused_count", counters.joins_refused),
        ("game.eggs_refused_count", stats.eggs_refused),
        ("sessions.tokens_refused_count", counters.tokens_refused),
        ("sessions.operators_refused_count", counters.operators_refused),
        ("game.slips_count", stats.slips),
        (
            "game.slipped_units_count",
            u64::try_from(slipped_units).unwrap_or(u64::MAX),
        ),
        ("commands.taken_count", counters.commands),
        ("commands.malformed_count", counters.commands_malformed),
        ("commands.dropped_count", counters.commands_dropped),
        ("gui.requests_count", counters.gui_requests),
        ("gui.unknown_count", counters.gui_unknown),
        ("gui.refused_count", counters.gui_refused),
        ("viewers.messages_count", counters.messages),
        ("viewers.messages_refused_count", counters.messages_refused),
        ("viewers.snapshots_count", counters.snapshots),
        ("viewers.thinned_count", counters.viewers_thinned),
        ("viewers.encode_failures_count", counters.encode_failures),
        ("operators.requests_count", counters.admin_requests),
        ("ticks.run_count", stats.ticks_run),
        ("ticks.skipped_count", stats.ticks_skipped),
        ("timers.game.executed_count", counters.deadlines_fired()),
        ("timers.real.executed_count", counters.timers),
        ("timers.real.wheel_steps_count", stats.wheel_steps),
        ("outbox.writes_count", stats.outbox_waits.count),
    ]
}
