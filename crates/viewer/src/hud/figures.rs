//! Figures of the inside for the debugging view: words and numbers in groups. How they look is the screen's.

/// Frames that the plot shows, and that its percentiles are of: four seconds at 60 a second.
pub const FRAMES_KEPT: usize = 240;

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
    /// A group without figures yet.
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

    /// Adds a figure that may be bad.
    pub fn judged(&mut self, name: impl Into<String>, value: impl ToString, is_bad: bool) {
        self.rows.push(Row {
            name: name.into(),
            value: value.to_string(),
            is_bad,
        });
    }
}
