//! Collects the figures of the loop, in the frames in which the debugging view is open and when they are asked for. Rates
//! are counted once a second.

use trantor_client::ClientStats;
use trantor_time::{Due, Pace, RealSpan, RealTime};

use super::Viewer;
use crate::figures::{Group, judged, messages_sent, row};
use crate::logging;

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
    let report = &mut viewer.state.hud().report;
    let target = pacer.budget.rate().as_per_second();
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
    let took = viewer
        .pacer
        .frames
        .iter()
        .map(|(_, took)| took.as_millis_f64() as f32);
    figures.frame_ms.extend(took);
    figures.period_ms = viewer.pacer.budget.rate().interval().as_millis_f64() as f32;
    figures.log = logging::recent(LOG_LINES);
}

pub(super) fn groups<S>(viewer: &mut Viewer<S>, now: RealTime) -> Vec<Group> {
    let stats = viewer.state.source().stats(now);
    let mut groups = vec![
        frames(viewer, now),
        systems(viewer),
        pending(viewer, now),
        connection(stats.as_ref()),
        server(stats.as_ref()),
    ];
    let messages = stats.and_then(|stats| stats.messages);
    groups.extend(messages.map(|totals| Group::new("Messages", messages_sent(&totals))));
    groups
}

fn ms(span: RealSpan) -> String {
    format!("{:.2} ms", span.as_millis_f64())
}

fn nanos_ms(nanos: i64) -> String {
    ms(RealSpan::from_nanos(nanos))
}

fn pair(one: u64, other: u64) -> String {
    format!("{one}, {other}")
}

fn frames<S>(viewer: &Viewer<S>, now: RealTime) -> Group {
    let pacer = &viewer.pacer;
    let target = pacer.budget.rate();
    let rate = viewer.rates.frames();
    let shown = rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}"));
    let is_slow = rate.is_some_and(|rate| rate < target.as_per_second() * 0.95);
    let (p50, p99) = (pacer.took(0.5), pacer.took(0.99));
    let all = now.since(viewer.started).as_secs_f64().max(1e-3);
    let share = |span: RealSpan| format!("{:.1} %", span.as_secs_f64() * 100.0 / all);
    let shares = [pacer.time_in_frames, pacer.time_in_events].map(share).join(", ");
    let rows = [
        Some(judged(
            "a second",
            format!("{shown} of {:.1}", target.as_per_second()),
            is_slow,
        )),
        Some(judged("took p50", ms(p50), p50 > target.interval())),
        Some(judged("took p99", ms(p99), p99 > target.interval())),
        Some(row("apart p99", ms(pacer.interval(0.99)))),
        pacer.first_shown.map(|first| row("first one after", ms(first))),
        Some(row("longest ever", ms(pacer.longest))),
        Some(row("frames, events", shares)),
        Some(row("drawn things", viewer.state.drawing.list().instances())),
    ];
    Group::new("Frames", rows.into_iter().flatten())
}

/// Rate and mean time of each system.
fn systems<S>(viewer: &Viewer<S>) -> Group {
    let systems = viewer.schedule.systems().iter().enumerate();
    let rows = systems.map(|(place, system)| {
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
        judged(system.name, value, overruns > 0 || failures > 0)
    });
    Group::new("Systems", rows)
}

/// Systems and queues with pending work.
fn pending<S>(viewer: &mut Viewer<S>, now: RealTime) -> Group {
    let until = |at: RealTime| format!("in {}", ms((at - now).max(RealSpan::ZERO)));
    let mut rows = Vec::new();
    for system in viewer.schedule.systems() {
        if let Due::At(at) = system.pacer.due() {
            rows.push(row(system.name, until(at)));
        }
    }
    let message = viewer.state.hud().notice_until();
    rows.extend(message.map(|at| row("message goes", until(at))));
    let source = viewer.state.source();
    rows.extend(source.next_timeout().map(|at| row("connection", until(at))));
    rows.push(row("pieces in line", source.pieces_waiting()));
    let dropped = viewer.inputs.dropped;
    rows.push(judged("inputs dropped", dropped, dropped > 0));
    let (count, last) = viewer.schedule.failures();
    rows.push(judged("failures", count, count > 0));
    rows.extend(last.map(|failure| judged("the last", failure, true)));
    Group::new("Pending", rows)
}

fn connection(stats: Option<&ClientStats>) -> Group {
    let Some(stats) = stats else {
        return Group::new("Connection", [row("there is none", "")]);
    };
    // Only text servers send such lines; they are skipped.
    let skipped = stats.ignored + stats.ignored_lines;
    let rows = [
        row("received", format!("{} KiB", stats.bytes_in / 1024)),
        row("ticks, skipped", pair(stats.ticks, stats.ticks_skipped)),
        row("clock error", nanos_ms(stats.clock.error_bound_ns)),
        row("round trip", nanos_ms(stats.clock.rtt_best_ns)),
        row("shown behind", nanos_ms(stats.display_delay_ns)),
        row("heard ago", nanos_ms(stats.network_age_ns)),
        judged(
            "pending, late",
            pair(stats.pending as u64, stats.late),
            stats.hurried > 0,
        ),
        row("unacknowledged", stats.unacknowledged),
        judged(
            "strange, unknown",
            pair(stats.ignored, stats.ignored_lines),
            skipped > 0,
        ),
    ];
    Group::new("Connection", rows)
}

fn server(stats: Option<&ClientStats>) -> Group {
    let Some(server) = stats.and_then(|stats| stats.server.as_ref()) else {
        return Group::new("Server", [row("has not said yet", "")]);
    };
    let millis = |nanos: u64| format!("{:.3} ms", nanos as f64 / 1e6);
    let speed = server.effective_frequency_milli as f64 / 1e3;
    let slipped = server.slipped_units;
    let rows = [
        row("up", format!("{:.1} s", server.uptime_ms as f64 / 1e3)),
        row("passes", server.passes),
        row("deadlines", server.deadlines_fired),
        row("late p99", millis(server.lateness_p99_ns)),
        row("late max", millis(server.lateness_max_ns)),
        row("units / s", format!("{speed:.2}")),
        judged("slipped", format!("{slipped} u"), slipped > 0),
        judged("ticks skipped", server.ticks_skipped, server.ticks_skipped > 0),
        row(
            "connections",
            format!("{}, {} viewers", server.connections, server.viewers),
        ),
    ];
    Group::new("Server", rows)
}
