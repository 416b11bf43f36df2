//! Figures as data: names and values in groups, the last frame times and the last log lines.
//!
//! The game loop collects them; the debugging view, the terminal and the command `values` show them.

use trantor_protocol::wire::LinkTotals;
use trantor_time::GameSpan;

/// Frames in the plot and in its percentiles: four seconds at 60 a second.
pub const FRAMES_KEPT: usize = 240;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Groups in the order in which they are shown.
    pub groups: Vec<Group>,
    pub log: Vec<String>,
    /// Milliseconds of the last frames, oldest first.
    pub frame_ms: Vec<f32>,
    /// The frame interval aimed at, in milliseconds.
    pub period_ms: f32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub title: &'static str,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    pub value: String,
    pub is_bad: bool,
}

impl Group {
    pub fn new(title: &'static str, rows: impl IntoIterator<Item = Row>) -> Self {
        Self {
            title,
            rows: rows.into_iter().collect(),
        }
    }
}

pub fn row(name: &str, value: impl ToString) -> Row {
    judged(name, value, false)
}

pub fn judged(name: &str, value: impl ToString, is_bad: bool) -> Row {
    Row {
        name: name.to_owned(),
        value: value.to_string(),
        is_bad,
    }
}

/// What became of the messages of a link, or of all.
pub fn messages_sent(totals: &LinkTotals) -> [Row; 8] {
    let LinkTotals { counts, .. } = totals;
    let [p50, p99] = [totals.delay_p50, totals.delay_p99].map(GameSpan::as_units_f64);
    [
        row("sent", counts.sent),
        row("delivered", counts.delivered),
        row("lost", counts.lost),
        row("copied", counts.duplicated),
        row("out of range", counts.out_of_range),
        row("queue full", counts.line_full),
        row("in flight", counts.in_flight),
        row("delay p50, p99", format!("{p50:.1}, {p99:.1} u")),
    ]
}
