//! The figures of the debugging view, in the window and in the terminal, and values by name.
//!
//! Figures are collected in the frames in which the debugging view is open, values once a second.

use std::borrow::Cow;
use std::collections::BTreeMap;

use trantor_client::ClientStats;
use trantor_time::{Pace, RealSpan, RealTime};

use super::Viewer;
use crate::hud::figures::Group;
use crate::logging;

/// Timers of the user that are listed.
const TIMERS_LISTED: usize = 6;
/// Lines of the log that are shown.
const LOG_LINES: usize = 5;

/// Numbers by dotted names, for `values` and the panels; set once a second.
#[derive(Debug, Default)]
pub struct Values {
    /// The numbers.
    pub by_name: BTreeMap<Cow<'static, str>, f64>,
    /// When they were set last, and what had been counted by then: passes, frames, calls of each system.
    last: Option<(RealTime, Vec<u64>)>,
}

impl Values {
    /// The value of that name, once it is known.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.by_name.get(name).copied()
    }

    fn set(&mut self, name: impl Into<Cow<'static, str>>, value: f64) {
        self.by_name.insert(name.into(), value);
    }

    /// How often a system was called in the last second.
    pub fn calls_per_second(&self, system: &str) -> Option<f64> {
        self.get(&format!("system.{system}.calls_per_second"))
    }
}

/// Sets all values. Rates are over the time since the last call.
pub(super) fn set_values<S>(viewer: &mut Viewer<S>, now: RealTime) {
    let Viewer {
        stage,
        values,
        pacer,
        inputs,
        schedule,
        started,
        drawn,
        ..
    } = viewer;
    let systems = schedule.systems();
    let counts: Vec<u64> = [pacer.frames(), *drawn]
        .into_iter()
        .chain(systems.iter().map(|system| system.calls()))
        .collect();
    if let Some((last, before)) = values.last.take()
        && now > last
    {
        let names = ["loop.passes_per_second".into(), "loop.frames_per_second".into()];
        let of_systems = systems
            .iter()
            .map(|system| Cow::from(format!("system.{}.calls_per_second", system.name)));
        let seconds = now.since(last).as_secs_f64();
        for (name, (count, before)) in names
            .into_iter()
            .chain(of_systems)
            .zip(counts.iter().zip(&before))
        {
            values.set(name, (count - before) as f64 / seconds);
        }
    }
    values.last = Some((now, counts));
    values.set("loop.uptime_seconds", now.since(*started).as_secs_f64());
    values.set("loop.passes_count", pacer.frames() as f64);
    values.set("loop.frames_count", *drawn as f64);
    values.set("frame.took_p50_ms", pacer.took(0.5).as_millis_f64());
    values.set("frame.took_p99_ms", pacer.took(0.99).as_millis_f64());
    values.set("frame.interval_p99_ms", pacer.interval(0.99).as_millis_f64());
    if let Some(off) = pacer.pace().off_period(0.99) {
        values.set("frame.off_period_p99_ms", off.as_millis_f64());
    }
    if let Some(first) = pacer.first_shown() {
        values.set("frame.first_after_ms", first.as_millis_f64());
    }
    values.set("input.dropped_count", inputs.dropped() as f64);
    values.set("graphics.instances_count", stage.instances() as f64);
    if let Some(stats) = stage.source().stats(now) {
        values.set("network.received_bytes", stats.bytes_in as f64);
        values.set("network.silent_ms", stats.network_age_ns as f64 / 1e6);
        values.set("clock.error_ms", stats.clock.error_bound_ns as f64 / 1e6);
        values.set("clock.round_trip_ms", stats.clock.rtt_best_ns as f64 / 1e6);
        values.set("display.delay_ms", stats.display_delay_ns as f64 / 1e6);
    }
}

/// Tells tests how the loop keeps its pace.
pub(super) fn report<S>(viewer: &mut Viewer<S>) {
    let Viewer {
        stage, values, pacer, ..
    } = viewer;
    let report = &mut stage.hud().report;
    report.state(
        "frames-target",
        format_args!("{:.1}", pacer.target().as_per_second()),
    );
    for (name, value) in [
        ("frames-per-second", "loop.frames_per_second"),
        ("interval-p99-ms", "frame.interval_p99_ms"),
        ("took-p50-ms", "frame.took_p50_ms"),
        ("first-frame-after-ms", "frame.first_after_ms"),
    ] {
        if let Some(value) = values.get(value) {
            report.state(name, format_args!("{value:.2}"));
        }
    }
}

/// Collects all figures of this frame.
pub(super) fn collect<S>(viewer: &mut Viewer<S>, now: RealTime) {
    let stats = viewer.stage.source().stats(now);
    let groups = vec![
        frames(viewer),
        systems(viewer),
        pending(viewer, now),
        connection(stats.as_ref()),
        server(stats.as_ref()),
    ];
    let figures = &mut viewer.figures;
    figures.groups = groups;
    figures.frame_ms.clear();
    figures.frame_ms.extend(viewer.pacer.millis());
    figures.period_ms = viewer.pacer.target().interval().as_millis_f64() as f32;
    figures.log = logging::recent(LOG_LINES);
}

fn ms(span: RealSpan) -> String {
    format!("{:.2} ms", span.as_millis_f64())
}

fn nanos_ms(nanos: i64) -> String {
    ms(RealSpan::from_nanos(nanos))
}

fn frames<S>(viewer: &Viewer<S>) -> Group {
    let mut group = Group::new("Frames");
    let pacer = &viewer.pacer;
    let target = pacer.target();
    let rate = viewer.values.get("loop.frames_per_second");
    let shown = rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}"));
    let is_slow = rate.is_some_and(|rate| rate < target.as_per_second() * 0.95);
    group.judged(
        "a second",
        format!("{shown} of {:.1}", target.as_per_second()),
        is_slow,
    );
    let (p50, p99) = (pacer.took(0.5), pacer.took(0.99));
    group.judged("took p50", ms(p50), p50 > target.interval());
    group.judged("took p99", ms(p99), p99 > target.interval());
    group.row("apart p99", ms(pacer.interval(0.99)));
    if let Some(off) = pacer.pace().off_period(0.99) {
        group.judged("off the period p99", ms(off), off > target.interval());
    }
    if let Some(first) = pacer.first_shown() {
        group.row("first one after", ms(first));
    }
    group.row("longest ever", ms(pacer.longest()));
    let (in_frames, in_events) = pacer.time_in_frames_and_events();
    let all = viewer.values.get("loop.uptime_seconds").unwrap_or(0.0).max(1e-3);
    let share = |span: RealSpan| span.as_secs_f64() * 100.0 / all;
    group.row(
        "frames, events",
        format!("{:.1} %, {:.1} %", share(in_frames), share(in_events)),
    );
    group.row("drawn things", viewer.stage.instances());
    group
}

/// Time by stage of a frame, and rates: each system is a stage.
fn systems<S>(viewer: &Viewer<S>) -> Group {
    let mut group = Group::new("Systems");
    for system in viewer.schedule.systems() {
        let rate = viewer.values.calls_per_second(system.name);
        let rate = rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.0}"));
        let wanted = match system.pace() {
            Some(Pace::At(wanted)) => format!(" of {}", wanted.as_per_second()),
            Some(Pace::Uncapped) | None => String::new(),
        };
        let mut value = format!("{rate}{wanted}/s · {}", ms(system.mean_time()));
        let (failures, overruns) = (system.failures(), system.overruns());
        if system.pace().is_none() {
            "off".clone_into(&mut value);
        } else if failures > 0 {
            value.push_str(&format!(" · {failures} failures"));
        } else if overruns > 0 {
            value.push_str(&format!(" · {overruns} over"));
        }
        group.judged(system.name, value, overruns > 0 || failures > 0);
    }
    group
}

/// Pending work by name and deadline, and what waits in lines.
fn pending<S>(viewer: &mut Viewer<S>, now: RealTime) -> Group {
    let mut group = Group::new("Pending");
    let until = |at: RealTime| format!("in {}", ms((at - now).max(RealSpan::ZERO)));
    for system in viewer.schedule.systems() {
        if let Some(at) = system.due_at() {
            group.row(system.name, until(at));
        }
    }
    for timer in viewer.timers.running().iter().take(TIMERS_LISTED) {
        group.row(timer.title(), until(timer.at));
    }
    let source = viewer.stage.source();
    if let Some(at) = source.next_timeout() {
        group.row("connection", until(at));
    }
    group.row("pieces in line", source.pieces_waiting());
    group.judged(
        "inputs dropped",
        viewer.inputs.dropped(),
        viewer.inputs.dropped() > 0,
    );
    let (count, last) = viewer.schedule.failures();
    group.judged("failures", count, count > 0);
    if let Some(failure) = last {
        group.judged("the last", failure, true);
    }
    group
}

fn connection(stats: Option<&ClientStats>) -> Group {
    let mut group = Group::new("Connection");
    let Some(stats) = stats else {
        group.row("there is none", "");
        return group;
    };
    group.row("received", format!("{} KiB", stats.bytes_in / 1024));
    group.row(
        "ticks, skipped",
        format!("{}, {}", stats.ticks, stats.ticks_skipped),
    );
    group.row("clock error", nanos_ms(stats.clock.error_bound_ns));
    group.row("round trip", nanos_ms(stats.clock.rtt_best_ns));
    group.row("shown behind", nanos_ms(stats.display_delay_ns));
    group.row("heard ago", nanos_ms(stats.network_age_ns));
    group.judged(
        "pending, late",
        format!("{}, {}", stats.pending, stats.late),
        stats.hurried > 0,
    );
    group.row("unacknowledged", stats.unacknowledged);
    // Only text servers say such things; all others are left.
    group.judged(
        "strange, unknown",
        format!("{}, {}", stats.ignored, stats.ignored_lines),
        stats.ignored + stats.ignored_lines > 0,
    );
    group
}

fn server(stats: Option<&ClientStats>) -> Group {
    let mut group = Group::new("Server");
    let Some(server) = stats.and_then(|stats| stats.server.as_ref()) else {
        group.row("has not said yet", "");
        return group;
    };
    group.row("up", format!("{:.1} s", server.uptime_ms as f64 / 1e3));
    group.row("passes", server.passes);
    group.row("deadlines", server.deadlines_fired);
    group.row(
        "late p99",
        format!("{:.3} ms", server.lateness_p99_ns as f64 / 1e6),
    );
    group.row(
        "late max",
        format!("{:.3} ms", server.lateness_max_ns as f64 / 1e6),
    );
    group.row(
        "units / s",
        format!("{:.2}", server.effective_frequency_milli as f64 / 1e3),
    );
    group.judged(
        "slipped",
        format!("{} u", server.slipped_units),
        server.slipped_units > 0,
    );
    group.judged("ticks skipped", server.ticks_skipped, server.ticks_skipped > 0);
    group.row(
        "connections",
        format!("{}, {} viewers", server.connections, server.viewers),
    );
    group
}
