//! Metrics: what the server counts, under which name, and where each value comes from.
//!
//! Counters are plain fields of the loop's thread, next to what they count. [`collect`] is the one list of names and
//! sources; the loop runs it when the exporter asks ([`crate::export`]), so that an idle server does nothing for it, and a
//! pass only adds to its fields. The text is made on the exporter's thread by `prometheus-client`.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use trantor_engine::{CloseReason, Counters, Engine, EngineStats, FiredKind, Spans};
use trantor_game::{Delays, DueKind, LagTotals};
use trantor_play::minds::{MindGroupState, MindKind};
use trantor_time::{NANOS, RealSpan};

use crate::autosave::Autosave;
use crate::passes::{Histogram, LoopStats, REAL_KINDS, bounds_seconds};
use crate::recorder::Recorder;
use crate::scripts::ScriptTotals;
use crate::shell::Shell;
use crate::shell::timers::Timers;

const PREFIX: &str = "trantor";

/// The loop's own figures, which the console shows if it is asked for none by name.
const OF_LOOP: [&str; 9] = [
    "uptime_seconds",
    "loop_passes",
    "loop_pass_average_seconds",
    "loop_pass_max_seconds",
    "loop_pass_work_average",
    "loop_idle_sleeps",
    "loop_utilization_ratio",
    "outbound_depth_messages",
    "outbound_messages",
];

/// What the log line of `--metrics-log` shows; the rest is for scrapers.
const LOGGED: [&str; 5] = [
    "deadline_lateness_seconds",
    "loop_pass_seconds",
    "loop_utilization_ratio",
    "sessions_agents",
    "game_slips",
];

#[derive(Debug)]
struct Metric {
    /// Without the prefix and, for a counter, without `_total`.
    name: &'static str,
    help: &'static str,
    value: Value,
}

#[derive(Debug)]
enum Value {
    Counter(f64),
    Gauge(f64),
    /// By the values of one label.
    Family(MetricType, &'static str, Vec<(&'static str, f64)>),
    Histogram(Box<Histogram>),
    /// In units of game time.
    Delays(Box<Delays>),
}

/// Metrics of one moment, in the order of [`collect`].
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Metric>);

impl Collector for Table {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Metric { name, help, value } in &self.0 {
            let kind = match value {
                Value::Counter(_) => MetricType::Counter,
                Value::Gauge(_) => MetricType::Gauge,
                Value::Family(kind, ..) => *kind,
                Value::Histogram(_) | Value::Delays(_) => MetricType::Histogram,
            };
            let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
            match value {
                Value::Counter(value) => ConstCounter::new(*value).encode(metric)?,
                Value::Gauge(value) => ConstGauge::new(*value).encode(metric)?,
                Value::Family(kind, label, samples) => {
                    for (of, value) in samples {
                        let labelled = &[(*label, *of)];
                        let metric = metric.encode_family(labelled)?;
                        match kind {
                            MetricType::Gauge => ConstGauge::new(*value).encode(metric)?,
                            _ => ConstCounter::new(*value).encode(metric)?,
                        }
                    }
                }
                Value::Histogram(histogram) => {
                    let bounds = bounds_seconds().chain([f64::INFINITY]);
                    let buckets: Vec<_> = bounds.zip(histogram.buckets).collect();
                    let sum = seconds(histogram.sum);
                    metric.encode_histogram::<NoLabelSet>(sum, histogram.count(), &buckets, None)?;
                }
                Value::Delays(delays) => {
                    let buckets: Vec<_> = delays.buckets().collect();
                    let sum = delays.sum().as_units_f64();
                    metric.encode_histogram::<NoLabelSet>(sum, delays.count(), &buckets, None)?;
                }
            }
        }
        Ok(())
    }
}

impl Table {
    fn help(&mut self, help: &'static str) -> Row<'_> {
        Row { help, table: self }
    }

    /// The page that Prometheus scrapes, in OpenMetrics text.
    pub(crate) fn into_text(self) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(self));
        let mut page = String::new();
        text::encode(&mut page, &registry).expect("writing to a string does not fail");
        page
    }

    /// For the console: the samples of metrics with `word` in their names, as [`Self::into_text`] has them without the buckets
    /// of histograms, or else the loop's own.
    pub(crate) fn into_lines(mut self, word: Option<&str>) -> Result<String, String> {
        self.0.retain(|metric| match word {
            Some(word) => format!("{PREFIX}_{}", metric.name).contains(word),
            None => OF_LOOP.contains(&metric.name),
        });
        if let (true, Some(word)) = (self.0.is_empty(), word) {
            return Err(format!(
                "no metric has {word:?} in its name; metrics {PREFIX} lists all of them"
            ));
        }
        let page = self.into_text();
        let is_sample = |line: &&str| !line.starts_with('#') && !line.contains("_bucket{");
        Ok(page
            .lines()
            .filter(is_sample)
            .map(|line| format!("{line}\n"))
            .collect())
    }

    /// The line for the log, of numbers and of histograms by p50, p99 and p99.9.
    pub(crate) fn to_log_line(&self) -> String {
        let logged = self.0.iter().filter(|metric| LOGGED.contains(&metric.name));
        let shown = logged.map(|Metric { name, value, .. }| match value {
            Value::Counter(value) | Value::Gauge(value) => format!("{name}={value:.3}"),
            Value::Histogram(histogram) => {
                let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| histogram.quantile(quantile));
                format!("{name}={p50}/{p99}/{p999}")
            }
            Value::Family(..) | Value::Delays(_) => unreachable!("none of these is logged"),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// What one or more families are about, by the values of a label.
struct By<T> {
    label: &'static str,
    rows: Vec<(&'static str, T)>,
}

fn by<T>(label: &'static str, rows: impl IntoIterator<Item = (&'static str, T)>) -> By<T> {
    let rows = rows.into_iter().collect();
    By { label, rows }
}

/// A row of the table that is yet to get its name and value.
struct Row<'a> {
    table: &'a mut Table,
    help: &'static str,
}

impl Row<'_> {
    fn add(self, name: &'static str, value: Value) {
        let help = self.help;
        self.table.0.push(Metric { name, help, value });
    }

    fn counter(self, name: &'static str, value: u64) {
        self.add(name, Value::Counter(value as f64));
    }

    fn gauge(self, name: &'static str, value: f64) {
        self.add(name, Value::Gauge(value));
    }

    /// A sample for each row, under the row's name.
    fn family<T>(self, name: &'static str, kind: MetricType, by: &By<T>, of: fn(&T) -> f64) {
        let samples = by.rows.iter().map(|(row, value)| (*row, of(value)));
        self.add(name, Value::Family(kind, by.label, samples.collect()));
    }

    fn counters<T>(self, name: &'static str, by: &By<T>, of: fn(&T) -> f64) {
        self.family(name, MetricType::Counter, by, of);
    }

    fn gauges<T>(self, name: &'static str, by: &By<T>, of: fn(&T) -> f64) {
        self.family(name, MetricType::Gauge, by, of);
    }

    fn histogram(self, name: &'static str, of: &Histogram) {
        self.add(name, Value::Histogram(Box::new(*of)));
    }
}

fn seconds(span: RealSpan) -> f64 {
    span.as_nanos() as f64 / NANOS as f64
}

/// Every metric with its help text, name and source, as of now.
pub(crate) fn collect(shell: &mut Shell) -> Table {
    let stats = shell.engine.stats(shell.now);
    let mut table = Table::default();
    collect_passes(&mut table, &shell.stats, &stats);
    collect_deadlines(&mut table, &shell.stats, &stats);
    collect_loop(&mut table, shell, &stats);
    collect_timers(&mut table, &shell.timers);
    collect_sockets(&mut table, shell);
    collect_journal(&mut table, shell);
    collect_saves(&mut table, shell);
    collect_game(&mut table, &mut shell.engine, &stats);
    collect_lag(&mut table, &shell.engine);
    collect_scripts(&mut table, &shell.scripts.totals());
    collect_minds(&mut table, &shell.engine, &shell.stats.mind_lateness);
    collect_requests(&mut table, &stats.counters);
    collect_sessions(&mut table, &stats);
    table
}

fn collect_passes(m: &mut Table, own: &LoopStats, stats: &EngineStats) {
    let uptime = stats.uptime_ms as f64 / 1e3;
    let utilization = if uptime > 0.0 {
        seconds(own.busy) / uptime
    } else {
        0.0
    };
    let stages = by("stage", own.stages.iter().map(|stage| (stage.name, stage)));
    m.help("Time since the start, sleeping included")
        .gauge("uptime_seconds", uptime);
    m.help("Passes of the server's loop")
        .counter("loop_passes", own.passes);
    m.help("Passes in which nothing was done")
        .counter("loop_idle_passes", own.idle_passes);
    m.help("Time spent in passes")
        .add("loop_busy_seconds", Value::Counter(seconds(own.busy)));
    m.help("Share of the uptime that was spent in passes")
        .gauge("loop_utilization_ratio", utilization);
    m.help("Duration of passes")
        .histogram("loop_pass_seconds", &own.pass_time);
    m.help("Items that the stages of passes did")
        .counters("loop_stage_items", &stages, |stage| stage.items as f64);
    m.help("Time that the stages of passes took")
        .counters("loop_stage_seconds", &stages, |stage| seconds(stage.time));
    m.help("Average duration of a pass")
        .gauge("loop_pass_average_seconds", seconds(own.pass_average()));
    m.help("Longest pass")
        .gauge("loop_pass_max_seconds", seconds(own.pass_max));
    m.help("Items that the stages of a pass do on average")
        .gauge("loop_pass_work_average", own.work_average());
    m.help("Sleeps that the loop began with nothing to do")
        .counter("loop_idle_sleeps", own.idle_sleeps);
    m.help("How late a sleep ended after its deadline")
        .histogram("loop_wake_lateness_seconds", &own.wake_lateness);
}

fn collect_deadlines(m: &mut Table, own: &LoopStats, stats: &EngineStats) {
    let of_game = DueKind::ALL
        .map(FiredKind::Game)
        .into_iter()
        .zip(stats.counters.fired);
    let deadlines = of_game.chain(REAL_KINDS.into_iter().zip(own.real_deadlines));
    let deadlines = by("kind", deadlines.map(|(kind, count)| (kind.name(), count)));
    m.help("Deadlines that fired, by kind")
        .counters("deadlines", &deadlines, |count| *count as f64);
    m.help("How late deadlines fired")
        .histogram("deadline_lateness_seconds", &own.deadline_lateness);
    let Spans {
        p50_ns,
        p99_ns,
        p999_ns,
        max_ns,
        ..
    } = stats.lateness;
    let quantiles = [
        ("0.5", p50_ns),
        ("0.99", p99_ns),
        ("0.999", p999_ns),
        ("1", max_ns),
    ];
    let quantiles = by("quantile", quantiles);
    m.help("How late deadlines fired since the start, by quantile")
        .gauges("deadline_lateness_quantile_seconds", &quantiles, |ns| {
            *ns as f64 / 1e9
        });
}

fn collect_loop(m: &mut Table, shell: &Shell, stats: &EngineStats) {
    let wait = shell.wait.stats;
    m.help("Waits that could sleep")
        .counter("wait_sleeps", wait.sleeps);
    m.help("Times that the system ended a sleep")
        .counter("wait_wake_ups", wait.wake_ups);
    m.help("Times that the system's timer was set")
        .counter("wait_timers_set", wait.timers_set);
    m.help("Sleeps prolonged so that dense deadlines share a wake-up")
        .counter("wait_deferred", wait.deferred);
    m.help("Spins before a deadline, with --precise")
        .counter("wait_spins", wait.spins);
    m.help("Times that spinning was disabled on a shared core")
        .counter("wait_spins_disabled", wait.spins_disabled);
    m.help("Tasks of other threads that wait for the loop")
        .gauge("tasks_waiting", shell.tasks.len() as f64);
    m.help("Tasks of other threads that the loop ran")
        .counter("tasks", shell.tasks_run);
    m.help("Tasks refused, since too many waited or the loop was stopping")
        .counter("tasks_refused", shell.tasks.refused());
    m.help("Deadlines of sessions and ticks that are set")
        .gauge("session_timers_pending", stats.timers_pending as f64);
}

/// By the names of `timer list`.
fn collect_timers(m: &mut Table, timers: &Timers) {
    let by_name = by("timer", timers.stats());
    m.help("Named timers that are set")
        .gauge("timers_set", timers.set_count() as f64);
    m.help("Runs of a named timer")
        .counters("timer_runs", &by_name, |it| it.runs as f64);
    m.help("Periods for which a named timer did not run: it was late, or had a reason")
        .counters("timer_skipped", &by_name, |it| it.skipped as f64);
    m.help("Runs of a named timer that failed")
        .counters("timer_errors", &by_name, |it| it.errors as f64);
    m.help("Longest run of a named timer")
        .gauges("timer_duration_max_seconds", &by_name, |it| {
            seconds(it.duration_max)
        });
    m.help("Latest run of a named timer")
        .gauges("timer_lateness_max_seconds", &by_name, |it| {
            seconds(it.lateness_max)
        });
}

fn collect_sockets(m: &mut Table, shell: &Shell) {
    let conns = shell.conns.stats;
    let listener = shell.listener.as_ref().map(|it| it.stats).unwrap_or_default();
    m.help("Open connections")
        .gauge("connections_open", shell.conns.len() as f64);
    m.help("Connections whose peers do not read")
        .gauge("connections_write_blocked", shell.conns.blocked() as f64);
    m.help("Connections opened")
        .counter("connections_opened", conns.opened);
    m.help("Connections closed, by either side")
        .counter("connections_closed", conns.closed);
    m.help("Connections closed since the system could not watch them")
        .counter("connections_watch_failures", conns.watches_failed);
    m.help("Reads that brought bytes")
        .counter("socket_reads", conns.reads);
    m.help("Bytes read").counter("socket_read_bytes", conns.bytes_in);
    m.help("Writes that took bytes")
        .counter("socket_writes", conns.writes);
    m.help("Bytes written")
        .counter("socket_written_bytes", conns.bytes_out);
    m.help("Writes that found the peer's buffers full")
        .counter("socket_writes_blocked", conns.writes_blocked);
    m.help("Connections accepted from the system")
        .counter("listener_accepted", listener.accepted);
    m.help("Connections gone before they were handed on")
        .counter("listener_aborted", listener.aborted);
    m.help("Connections reset, since too many were waiting")
        .counter("listener_refused", listener.refused);
    m.help("Times that --accept-rate made connections wait")
        .counter("listener_rate_limited", listener.slowed);
    m.help("Pauses of accepting, since descriptors ran out")
        .counter("listener_back_offs", listener.back_offs);
}

fn collect_journal(m: &mut Table, shell: &Shell) {
    let recorder = shell.storage.recorder.as_ref();
    let journal = recorder.map(Recorder::stats).unwrap_or_default();
    m.help("Bytes of the journal, before packing")
        .counter("journal_written_bytes", journal.bytes);
    m.help("Writes of the journal")
        .counter("journal_writes", journal.writes);
    m.help("Files of the journal finished")
        .counter("journal_pieces", journal.pieces);
    m.help("Files of the journal packed")
        .counter("journal_packed", journal.packed);
    m.help("Files of the journal left unpacked")
        .counter("journal_pack_failures", journal.not_packed);
    m.help("Times that the journal was forced to the disk")
        .counter("journal_syncs", journal.synced);
    m.help("Times that the disk refused that")
        .counter("journal_sync_failures", journal.not_synced);
    m.help("Times that recording stopped")
        .counter("journal_failures", journal.failures);
    m.help("Of those, since saves would have had no room")
        .counter("journal_disk_full", journal.no_room);
    m.help("Of those, since the journal's files were removed")
        .counter("journal_removed", journal.removed);
    m.help("Times that recording began again")
        .counter("journal_resumed", journal.resumed);
}

fn collect_saves(m: &mut Table, shell: &Shell) {
    let autosave = shell.storage.autosave.as_ref();
    let saves = autosave.map(Autosave::stats).unwrap_or_default();
    m.help("Saves written").counter("saves", saves.saved);
    m.help("Saves not written, since the same state was on the disk")
        .counter("saves_unchanged", saves.unchanged);
    m.help("Saves not begun, since one was under way")
        .counter("saves_skipped", saves.skipped);
    m.help("Saves that failed")
        .counter("save_failures", saves.failures);
    m.help("How long a save held the loop")
        .histogram("save_capture_seconds", &shell.stats.save_capture);
    m.help("How long a save took on the disk worker")
        .histogram("save_write_seconds", &shell.stats.save_write);
    collect_jobs(m, shell);
}

fn collect_game(m: &mut Table, engine: &mut Engine, stats: &EngineStats) {
    let clock = engine.game_clock();
    let (speed, is_paused) = (clock.frequency().get().into(), u8::from(clock.is_paused()).into());
    let slipped = stats.slipped.as_nanounits() / i128::from(NANOS);
    m.help("Speed of the game")
        .gauge("game_speed_units_per_second", speed);
    m.help("1 while the game is paused")
        .gauge("game_paused", is_paused);
    m.help("Game time")
        .gauge("game_time_units", engine.game_now().as_units_f64());
    m.help("Passes in which the machine was too slow and the game slowed down")
        .counter("game_slips", stats.slips);
    m.help("Game time given up that way, in units")
        .counter("game_slipped_units", u64::try_from(slipped).unwrap_or(u64::MAX));
    m.help("Eggs not laid, since the team or the world has as many as it may")
        .counter("game_eggs_refused", stats.eggs_refused);
    m.help("Ticks of the viewers' grid")
        .counter("ticks", stats.ticks_run);
    m.help("Ticks skipped although a viewer was connected")
        .counter("ticks_skipped", stats.ticks_skipped);
}

/// Of messages between agents that take time.
fn collect_lag(m: &mut Table, engine: &Engine) {
    let world = engine.game().world();
    let is_on = world.lag().is_some() || world.own_lags().any(|(_, lag)| lag.is_some());
    let LagTotals {
        counts,
        crowded_out,
        links,
        delays,
    } = world.lag_totals();
    let ends = [
        ("delivered", counts.delivered),
        ("lost", counts.lost),
        ("out_of_range", counts.out_of_range),
        ("line_full", counts.line_full),
        ("crowded_out", crowded_out),
    ];
    m.help("1 while messages between agents take time (--lag)")
        .gauge("lag_on", u8::from(is_on).into());
    m.help("Messages sent on links between agents, one for each hearer")
        .counter("lag_messages_sent", counts.sent);
    m.help("Messages and copies that arrived, and messages that did not, by reason")
        .counters("lag_messages", &by("outcome", ends), |count| *count as f64);
    m.help("Messages that arrive twice")
        .counter("lag_messages_copied", counts.duplicated);
    m.help("Messages and copies in flight")
        .gauge("lag_messages_in_flight", counts.in_flight as f64);
    m.help("Links between agents in use")
        .gauge("lag_links", links as f64);
    m.help("Game time from sending to arrival, in units")
        .add("lag_delay_units", Value::Delays(Box::new(delays)));
}

/// What the workers do, by name.
fn collect_jobs(m: &mut Table, shell: &Shell) {
    let jobs = by("name", shell.jobs.stats());
    m.help("Jobs done off the loop")
        .counters("jobs", &jobs, |job| job.runs as f64);
    m.help("Jobs that failed")
        .counters("job_failures", &jobs, |job| job.failed as f64);
    m.help("Jobs refused, since one of the name was under way")
        .counters("jobs_refused", &jobs, |job| job.refused as f64);
    m.help("Jobs that wait for a worker")
        .gauges("jobs_waiting", &jobs, |job| job.waiting as f64);
    m.help("Jobs that a worker is at")
        .gauges("jobs_running", &jobs, |job| job.running as f64);
    m.help("Time that jobs took")
        .counters("job_seconds", &jobs, |job| seconds(job.took));
    m.help("The longest job")
        .gauges("job_max_seconds", &jobs, |job| seconds(job.took_max));
    m.help("The longest wait for a worker")
        .gauges("job_wait_max_seconds", &jobs, |job| seconds(job.waited_max));
    let ages = jobs
        .rows
        .iter()
        .map(|(name, job)| (*name, job.oldest_age(shell.now)));
    m.help("How long the oldest job has waited")
        .gauges("jobs_oldest_seconds", &by("name", ages), |age| seconds(*age));
}

fn collect_scripts(m: &mut Table, totals: &ScriptTotals) {
    let errors = by("kind", [("run", totals.errors), ("source", totals.mistakes)]);
    m.help("Scripts of minds and scenarios that are loaded")
        .gauge("scripts_loaded", totals.loaded as f64);
    m.help("Scripts that failed too often or took too long, and wait for an operator")
        .gauge("scripts_suspended", totals.suspended as f64);
    m.help("Times that routines of scripts ran on")
        .counter("script_resumptions", totals.resumptions);
    m.help(
        "Errors of scripts: routines that failed (run), and changed files that were not taken over (source)",
    )
    .counters("script_errors", &errors, |count| *count as f64);
    m.help("Decisions of scripts that took too long, which the match did not wait for")
        .counter("script_late_decisions", totals.late);
    m.help("Memory of the scripts' virtual machines")
        .gauge("script_memory_bytes", totals.memory_bytes as f64);
}

fn collect_minds(m: &mut Table, engine: &Engine, lateness: &Histogram) {
    let kinds = MindKind::ALL.map(MindKind::name).into_iter().chain(["script"]);
    let groups = by(
        "kind",
        kinds.map(|kind| {
            let is_of = |group: &&MindGroupState| group.source.name().split(':').next() == Some(kind);
            (kind, engine.mind_groups().filter(is_of).collect::<Vec<_>>())
        }),
    );
    m.help("Agents with minds in the server")
        .gauges("minds", &groups, |groups| {
            groups.iter().map(|it| f64::from(it.living)).sum()
        });
    m.help("Decisions of minds")
        .counters("mind_decisions", &groups, |groups| {
            groups.iter().map(|it| it.decisions as f64).sum()
        });
    m.help("Minds whose decision is overdue by a whole period of their rate")
        .gauge("minds_starved", engine.minds_starved() as f64);
    m.help("How late minds decided that have a rate or asked to be woken")
        .histogram("mind_lateness_seconds", lateness);
}

fn collect_requests(m: &mut Table, counters: &Counters) {
    m.help("Agents that joined")
        .counter("game_joins", counters.joined);
    m.help("Greetings that named no team, or one without a place")
        .counter("game_joins_refused", counters.joins_refused);
    m.help("Commands of agents, malformed ones included")
        .counter("commands", counters.commands);
    m.help("Lines of agents that could not be carried out")
        .counter("commands_malformed", counters.commands_malformed);
    m.help("Commands beyond the ten that may wait")
        .counter("commands_dropped", counters.commands_dropped);
    m.help("Requests of text viewers")
        .counter("gui_requests", counters.gui_requests);
    m.help("Of those, answered suc")
        .counter("gui_requests_unknown", counters.gui_unknown);
    m.help("Of those, answered sbp")
        .counter("gui_requests_refused", counters.gui_refused);
    m.help("Messages of viewers that speak frames")
        .counter("viewer_messages", counters.messages);
    m.help("Of those, refused")
        .counter("viewer_messages_refused", counters.messages_refused);
    m.help("Snapshots sent to viewers")
        .counter("viewer_snapshots", counters.snapshots);
    m.help("Of those, to viewers that were too slow for the changes")
        .counter("viewer_resyncs", counters.viewers_thinned);
    m.help("Messages too large for a frame")
        .counter("viewer_encode_failures", counters.encode_failures);
    m.help("Notes, marks, cards and announcements without room")
        .counter("viewer_shows_dropped", counters.shows_dropped);
    m.help("Requests of operators")
        .counter("operator_requests", counters.admin_requests);
}

fn collect_sessions(m: &mut Table, stats: &EngineStats) {
    let counters = &stats.counters;
    let closed = CloseReason::ALL
        .map(CloseReason::name)
        .into_iter()
        .zip(counters.closed);
    let closed = closed.chain([("by_peer", counters.closed_by_peer)]);
    m.help("Sessions closed, by reason")
        .counters("sessions_closed", &by("reason", closed), |count| *count as f64);
    let wait_p99 = stats.outbox_waits.p99_ns as f64 / 1e9;
    m.help("Connected agents")
        .gauge("sessions_agents", stats.agents as f64);
    m.help("Connected text viewers")
        .gauge("sessions_text_viewers", stats.text_viewers as f64);
    m.help("Connected viewers that speak frames")
        .gauge("sessions_viewers", stats.viewers as f64);
    m.help("Bytes that came for a session that was closing")
        .counter("sessions_dropped_bytes", counters.bytes_dropped);
    m.help("Lines and messages that were too long")
        .counter("sessions_violations", counters.violations);
    m.help("Times that a peer asked too fast and was not read for a while")
        .counter("sessions_throttled", counters.throttled);
    m.help("Peers to whom that happened")
        .counter("sessions_throttled_peers", counters.throttled_peers);
    m.help("Times that a peer left its answers unread and was not read")
        .counter("sessions_blocked", counters.blocked);
    m.help("Peers to whom that happened")
        .counter("sessions_blocked_peers", counters.blocked_peers);
    m.help("Wrong tokens")
        .counter("sessions_tokens_refused", counters.tokens_refused);
    m.help("Peers that may not operate the server and tried")
        .counter("sessions_operators_refused", counters.operators_refused);
    m.help("Bytes that wait to be written")
        .gauge("outbox_bytes", stats.outbox_bytes as f64);
    m.help("How long the oldest of them has waited")
        .gauge("outbox_oldest_seconds", seconds(stats.outbox_age));
    m.help("Messages that wait to be written: replies, and what is sent to a viewer at one time")
        .gauge("outbound_depth_messages", stats.messages_waiting as f64);
    m.help("Messages that were queued for peers")
        .counter("outbound_messages", stats.messages_queued);
    m.help("Wait of bytes before they were written, 99th percentile since the start")
        .gauge("outbox_wait_p99_seconds", wait_p99);
    m.help("Writes from outboxes")
        .counter("outbox_writes", stats.outbox_waits.count);
    m.help("Messages for sessions that were gone")
        .counter("outbox_undeliverable", counters.undeliverable);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_scraped_with_cumulative_buckets_and_logged_by_quantiles() {
        let mut spans = Histogram::default();
        for millis in [1, 3, 3, 20_000] {
            spans.record(RealSpan::from_millis(millis));
        }
        let mut table = Table::default();
        table.help("Duration").histogram("loop_pass_seconds", &spans);
        table.help("Slips").counter("game_slips", 7);
        assert_eq!(
            table.to_log_line(),
            "loop_pass_seconds=0.005/inf/inf game_slips=7.000"
        );
        let page = table.into_text();
        for line in [
            "# TYPE trantor_loop_pass_seconds histogram",
            "trantor_loop_pass_seconds_sum 20.007",
            "trantor_loop_pass_seconds_count 4",
            "trantor_loop_pass_seconds_bucket{le=\"0.0005\"} 0",
            "trantor_loop_pass_seconds_bucket{le=\"0.001\"} 1",
            "trantor_loop_pass_seconds_bucket{le=\"10.0\"} 3",
            "trantor_loop_pass_seconds_bucket{le=\"+Inf\"} 4",
            "trantor_game_slips_total 7.0",
        ] {
            assert!(page.lines().any(|other| other == line), "no {line} in:\n{page}");
        }
    }
}
