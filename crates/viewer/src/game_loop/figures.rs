//! What goes on inside, as plain figures: for the debugging view in the window and in the terminal.
//!
//! Figures are words and numbers in groups; how they look is the screen's. They are collected in the frames in which
//! somebody looks at them, and in no other.

use trantor_client::ClientStats;
use trantor_runtime::publish::Published;
use trantor_runtime::systems::{SystemCall, SystemControl};
use trantor_time::{Due, Pace, RealSpan, RealTime};

use super::{Listener, Viewer};
use crate::logging;
use crate::source::Source;

/// Timers of the user that are listed.
const TIMERS_LISTED: usize = 6;
/// Lines of the log that are shown.
const LOG_LINES: usize = 5;

/// Groups of figures, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The groups.
    pub groups: Vec<Group>,
    /// What the log said last, oldest first.
    pub log: Vec<String>,
    /// Milliseconds of the last frames, oldest first.
    pub frame_ms: Vec<f32>,
    /// Milliseconds from a frame to the next, as aimed at.
    pub period_ms: f32,
}

/// Figures of one thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// What they are of.
    pub title: &'static str,
    /// Names and values.
    pub rows: Vec<Row>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub name: String,
    /// How much.
    pub value: String,
    /// Whether it is worse than it should be.
    pub is_bad: bool,
}

impl Group {
    fn new(title: &'static str) -> Self {
        Self {
            title,
            rows: Vec::new(),
        }
    }

    fn row(&mut self, name: impl Into<String>, value: impl ToString) {
        self.judged(name, value, false);
    }

    fn judged(&mut self, name: impl Into<String>, value: impl ToString, is_bad: bool) {
        self.rows.push(Row {
            name: name.into(),
            value: value.to_string(),
            is_bad,
        });
    }
}

/// Publishes what is this viewer's own, beside what its systems publish of themselves.
pub(super) fn publish<S>(viewer: &mut Viewer<S>, now: RealTime) {
    let Viewer {
        stage,
        published,
        frame_times,
        inputs,
        ..
    } = viewer;
    published.set("frame.took_p50_ms", frame_times.took(0.5).as_millis_f64());
    published.set("frame.took_p99_ms", frame_times.took(0.99).as_millis_f64());
    published.set(
        "frame.interval_p99_ms",
        frame_times.interval(0.99).as_millis_f64(),
    );
    if let Some(off) = frame_times.pace().off_period(0.99) {
        published.set("frame.off_period_p99_ms", off.as_millis_f64());
    }
    if let Some(first) = frame_times.first_shown() {
        published.set("frame.first_after_ms", first.as_millis_f64());
    }
    published.set("input.dropped_count", inputs.dropped() as f64);
    published.set("graphics.instances_count", stage.instances() as f64);
    if let Some(stats) = stage.source().stats(now) {
        published.set("network.received_bytes", stats.bytes_in as f64);
        published.set("network.silent_ms", stats.network_age_ns as f64 / 1e6);
        published.set("clock.error_ms", stats.clock.error_bound_ns as f64 / 1e6);
        published.set("clock.round_trip_ms", stats.clock.rtt_best_ns as f64 / 1e6);
        published.set("display.delay_ms", stats.display_delay_ns as f64 / 1e6);
    }
}

/// Tells tests how the loop keeps its pace.
pub(super) fn report<S>(viewer: &mut Viewer<S>) {
    let Viewer {
        stage,
        published,
        pacer,
        ..
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
        if let Some(value) = published.get(value) {
            report.state(name, format_args!("{value:.2}"));
        }
    }
}

/// Collects all figures of this frame.
pub(super) fn collect<S>(viewer: &mut Viewer<S>, call: &SystemCall<'_>) {
    let now = call.now;
    let stats = viewer.stage.source().stats(now);
    let groups = vec![
        frames(viewer, call.control),
        systems(&viewer.published, call.control),
        pending(viewer, call.control, now),
        connection(viewer, stats.as_ref()),
        server(stats.as_ref()),
    ];
    let figures = &mut viewer.figures;
    figures.groups = groups;
    figures.frame_ms.clear();
    figures.frame_ms.extend(viewer.frame_times.millis());
    figures.period_ms = viewer.pacer.target().interval().as_millis_f64() as f32;
    figures.log = logging::recent(LOG_LINES);
}

fn ms(span: RealSpan) -> String {
    format!("{:.2} ms", span.as_millis_f64())
}

fn nanos_ms(nanos: i64) -> String {
    ms(RealSpan::from_nanos(nanos))
}

fn frames<S>(viewer: &mut Viewer<S>, control: &SystemControl) -> Group {
    let mut group = Group::new("Frames");
    let times = &viewer.frame_times;
    let target = viewer.pacer.target();
    let rate = viewer.published.get("loop.frames_per_second");
    let shown = rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}"));
    let is_slow = rate.is_some_and(|rate| rate < target.as_per_second() * 0.95);
    group.judged(
        "a second",
        format!("{shown} of {:.1}", target.as_per_second()),
        is_slow,
    );
    let (p50, p99) = (times.took(0.5), times.took(0.99));
    group.judged("took p50", ms(p50), p50 > target.interval());
    group.judged("took p99", ms(p99), p99 > target.interval());
    group.row("apart p99", ms(times.interval(0.99)));
    if let Some(off) = times.pace().off_period(0.99) {
        group.judged("off the period p99", ms(off), off > target.interval());
    }
    if let Some(first) = times.first_shown() {
        group.row("first one after", ms(first));
    }
    group.row("longest ever", ms(viewer.pacer.stats().frame_time_max()));
    let share = |span: RealSpan| span.as_secs_f64() * 100.0;
    let stats = viewer.pacer.stats();
    let (in_frames, in_events) = (share(stats.time_in_frames()), share(stats.time_in_events()));
    let all = viewer
        .published
        .get("loop.uptime_seconds")
        .unwrap_or(0.0)
        .max(1e-3);
    group.row(
        "frames, events",
        format!("{:.1} %, {:.1} %", in_frames / all, in_events / all),
    );
    group.row("drawn things", viewer.stage.instances());
    let speed = f64::from(control.speed_thousandths()) / 1e3;
    if speed != 1.0 || control.is_paused() {
        group.row("simulated", format!("{speed} of real time"));
    }
    group
}

/// Time by stage of a frame, and rates: each system is a stage.
fn systems(published: &Published, control: &SystemControl) -> Group {
    let mut group = Group::new("Systems");
    for name in control.names() {
        let (Some(pace), Some(stats)) = (control.pace_of(name), control.stats_of(name)) else {
            continue;
        };
        let rate = published.get(&format!("system.{name}.calls_per_second"));
        let rate = rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.0}"));
        let wanted = match pace {
            Pace::Uncapped => String::new(),
            Pace::At(wanted) => format!(" of {}", wanted.as_per_second()),
        };
        let mean = RealSpan::from_nanos(stats.time_ns / (stats.calls.max(1) as i64));
        let mut value = format!("{rate}{wanted}/s · {}", ms(mean));
        let failing = control.failing(name);
        if control.due_of(name) == Some(Due::Never) {
            "off".clone_into(&mut value);
        } else if let Some(failing) = failing {
            value.push_str(&format!(" · {} failures", failing.failures));
        } else if stats.overruns > 0 {
            value.push_str(&format!(" · {} over", stats.overruns));
        }
        group.judged(name, value, stats.overruns > 0 || failing.is_some());
    }
    group
}

/// Pending work by name and deadline, and what waits in lines.
fn pending<S>(viewer: &mut Viewer<S>, control: &SystemControl, now: RealTime) -> Group {
    let mut group = Group::new("Pending");
    let until = |at: RealTime| format!("in {}", ms((at - now).max(RealSpan::ZERO)));
    for name in control.names() {
        if let Some(Due::At(at)) = control.due_of(name) {
            group.row(name, until(at));
        }
    }
    for (number, at, listener) in viewer.timers.pending().into_iter().take(TIMERS_LISTED) {
        group.row(timer_name(number.get(), &listener), until(at));
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
    let (count, last) = &viewer.faults;
    group.judged("failures", count, *count > 0);
    if let Some(fault) = last {
        group.judged("the last", fault, true);
    }
    group
}

/// A timer as it is listed.
pub(super) fn timer_name(number: u64, listener: &Listener) -> String {
    match listener {
        Listener::Notice => format!("#{number} message goes"),
        Listener::Reminder(text) => format!("#{number} “{text}”"),
    }
}

fn connection<S>(viewer: &mut Viewer<S>, stats: Option<&ClientStats>) -> Group {
    let mut group = Group::new("Connection");
    if let Source::Live(live) = viewer.stage.source()
        && let Some((lag, counts)) = live.lag()
    {
        group.judged("lag on purpose", lag.words(), true);
        group.row("on the way", format!("{} of {}", counts.in_flight, counts.sent));
    }
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
