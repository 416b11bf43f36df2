//! Figures for the debugging view: names and values in groups, the last frame times and the last log lines.

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
