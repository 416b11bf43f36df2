//! The figures of the debugging view, in the window and in the terminal, and of the command `values`.
//!
//! They are collected in the frames in which the view is open, and when they are asked for. Rates are counted once a
//! second.

use trantor_client::ClientStats;
use trantor_time::{Due, Pace, RealSpan, RealTime};

use super::Viewer;
use crate::hud::figures::Group;
use crate::logging;

/// Timers of the user that are listed.
const TIMERS_LISTED: usize = 6;
/// Lines of the log that are shown.
const LOG_LINES: usize = 5;

/// Frames drawn and calls of each system a second, over the time between the last two counts.
#[derive(Debug, Default)]
pub struct Rates {
    counted: Option<(RealTime, Vec<u64>)>,
    per_second: Vec<f64>,
}

impl Rates {
    pub(super) fn frames(&self) -> Option<f64> {
        self.per_second.first().copied()
    }

    /// Of the system in this place of the list.
    pub(super) fn calls(&self, system: usize) -> Option<f64> {
        self.per_second.get(system + 1).copied()
    }
}

pub(super) fn count_rates<S>(viewer: &mut Viewer<S>, now: RealTime) {
    let calls = viewer.schedule.systems().iter();
    let calls = calls.map(|system| system.pacer.calls());
    let counts: Vec<u64> = std::iter::once(viewer.drawn).chain(calls).collect();
    let rates = &mut viewer.rates;
    if let Some((last, before)) = &rates.counted
        && now > *last
    {
        let seconds = now.since(*last).as_secs_f64();
        let added = counts.iter().zip(before).map(|(count, before)| count - before);
        rates.per_second = added.map(|added| added as f64 / seconds).collect();
    }
    rates.counted = Some((now, counts));
}

/// Reports to tests how the loop keeps its pace.
pub(super) fn report<S>(viewer: &mut Viewer<S>) {
    let (pacer, rate) = (&viewer.pacer, viewer.rates.frames());
    let report = &mut viewer.stage.hud().report;
    let target = pacer.target().as_per_second();
    report.state("frames-target", format_args!("{target:.1}"));
    for (name, value) in [
        ("frames-per-second", rate),
        ("interval-p99-ms", Some(pacer.interval(0.99).as_millis_f64())),
        ("took-p50-ms", Some(pacer.took(0.5).as_millis_f64())),
        (
            "first-frame-after-ms",
            pacer.first_shown.map(RealSpan::as_millis_f64),
        ),
    ] {
        if let Some(value) = value {
            report.state(name, format_args!("{value:.2}"));
        }
    }
}

pub(super) fn collect<S>(viewer: &mut Viewer<S>, now: RealTime) {
    viewer.figures.groups = groups(viewer, now);
    let figures = &mut viewer.figures;
    figures.frame_ms.clear();
    figures.frame_ms.extend(viewer.pacer.millis());
    figures.period_ms = viewer.pacer.target().interval().as_millis_f64() as f32;
    figures.log = logging::recent(LOG_LINES);
}

pub(super) fn groups<S>(viewer: &mut Viewer<S>, now: RealTime) -> Vec<Group> {
    let stats = viewer.stage.source().stats(now);
    vec![
        frames(viewer, now),
        systems(viewer),
        pending(viewer, now),
        connection(stats.as_ref()),
        server(stats.as_ref()),
    ]
}

fn ms(span: RealSpan) -> String {
    format!("{:.2} ms", span.as_millis_f64())
}

fn nanos_ms(nanos: i64) -> String {
    ms(RealSpan::from_nanos(nanos))
}

fn frames<S>(viewer: &Viewer<S>, now: RealTime) -> Group {
    let mut group = Group::new("Frames");
    let pacer = &viewer.pacer;
    let target = pacer.target();
    let rate = viewer.rates.frames();
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
    if let Some(off) = pacer.pace.off_period(0.99) {
        group.judged("off the period p99", ms(off), off > target.interval());
    }
    if let Some(first) = pacer.first_shown {
        group.row("first one after", ms(first));
    }
    group.row("longest ever", ms(pacer.longest));
    let all = now.since(viewer.started).as_secs_f64().max(1e-3);
    let share = |span: RealSpan| span.as_secs_f64() * 100.0 / all;
    group.row(
        "frames, events",
        format!(
            "{:.1} %, {:.1} %",
            share(pacer.time_in_frames),
            share(pacer.time_in_events)
        ),
    );
    group.row("drawn things", viewer.stage.instances());
    group
}

/// Time by stage of a frame, and rates: each system is a stage.
fn systems<S>(viewer: &Viewer<S>) -> Group {
    let mut group = Group::new("Systems");
    for (place, system) in viewer.schedule.systems().iter().enumerate() {
        let rate = viewer.rates.calls(place);
        let rate = rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.0}"));
        let wanted = match system.pace() {
            Some(Pace::At(wanted)) => format!(" of {}", wanted.as_per_second()),
            Some(Pace::Uncapped) | None => String::new(),
        };
        let mut value = format!("{rate}{wanted}/s · {}", ms(system.mean_time()));
        let (failures, overruns) = (system.failures(), system.pacer.overruns());
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
        if let Due::At(at) = system.pacer.due() {
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
    group.judged("inputs dropped", viewer.inputs.dropped, viewer.inputs.dropped > 0);
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
