//! Figures for the debugging view: names and values in groups, the last frame times and the last log lines.

/// Frames in the plot and in its percentiles: four seconds at 60 a second.
pub const FRAMES_KEPT: usize = 240;

/// What the debugging view shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Groups in the order in which they are shown.
    pub groups: Vec<Group>,
    /// The last log lines, oldest first.
    pub log: Vec<String>,
    /// Milliseconds of the last frames, oldest first.
    pub frame_ms: Vec<f32>,
    /// The frame interval aimed at, in milliseconds.
    pub period_ms: f32,
}

/// Figures under one heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The heading.
    pub title: &'static str,
    /// Names and values.
    pub rows: Vec<Row>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it measures.
    pub name: String,
    /// The value with its unit.
    pub value: String,
    /// Whether it is worse than it should be.
    pub is_bad: bool,
}

impl Group {
    /// An empty group.
    pub fn new(title: &'static str) -> Self {
        Self {
            title,
            rows: Vec::new(),
        }
    }

    /// Adds a figure.
    pub fn row(&mut self, name: impl Into<String>, value: impl ToString) {
        self.judged(name, value, false);
    }

    /// Adds a figure that may be marked as bad.
    pub fn judged(&mut self, name: impl Into<String>, value: impl ToString, is_bad: bool) {
        self.rows.push(Row {
            name: name.into(),
            value: value.to_string(),
            is_bad,
        });
    }
}
