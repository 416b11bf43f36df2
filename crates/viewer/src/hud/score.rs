//! The score of each team over game time, as lines.

use std::cmp::Reverse;

use egui::{Align2, FontId, Pos2, Rect, Response, RichText, Sense, Shape, Stroke, Ui, pos2, vec2};
use trantor_client::{Scene, SceneTeam};
use trantor_model::{Level, TeamId};
use trantor_protocol::wire::ScorePoint;

use super::directions;
use super::theme::{self, Colors, grouped};

/// Samples kept; beyond that every other one is dropped and the interval doubles.
const SAMPLES_MAX: usize = 480;
/// The first interval between samples, in units.
const INTERVAL_UNITS: i128 = 10;
/// Least height of the lines, and height of the times below them, in points.
const HEIGHT_LEAST: f32 = 72.0;
const TIMES_HEIGHT: f32 = 14.0;
/// From the scale's numbers to the lines, and from the end of a line to its value, in points.
const SCALE_GAP: f32 = 5.0;
const VALUE_GAP: f32 = 13.0;
/// From one value to the next, in points.
const VALUES_APART: f32 = 11.0;
/// Points of a line at most: more could not be seen.
const POINTS_MAX: usize = 160;

/// A team's score: an agent of level `n` counts `n²`.
fn score(team: &SceneTeam) -> u64 {
    let level = |number: u8| Level::new(number).expect("there are eight");
    let counts = team.by_level.iter().zip(1..);
    counts
        .map(|(&count, number)| u64::from(count) * level(number).score())
        .sum()
}

#[derive(Clone, Debug)]
struct Sample {
    units: f64,
    /// Of each team.
    scores: Vec<u64>,
    /// Whether it begins a line: what was before is unknown.
    begins: bool,
}

impl Sample {
    /// The scores of these teams, with their indices.
    fn of<'a>(&'a self, teams: &'a [usize]) -> impl Iterator<Item = (u64, usize)> + 'a {
        teams
            .iter()
            .filter_map(|&team| Some((*self.scores.get(team)?, team)))
    }
}

/// The scores so far.
#[derive(Debug)]
pub(super) struct ScoreHistory {
    samples: Vec<Sample>,
    interval_units: i128,
    next_at: i128,
    /// Whether the next sample begins a line, unless it follows the last one directly.
    leaves_gap: bool,
}

impl Default for ScoreHistory {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl ScoreHistory {
    /// With the score so far, in order of time.
    pub(super) fn new(points: &[ScorePoint]) -> Self {
        let sample = |(place, point): (usize, &ScorePoint)| Sample {
            units: point.at.as_units_f64(),
            scores: point.scores.clone(),
            begins: place == 0,
        };
        let mut history = Self {
            samples: points.iter().enumerate().map(sample).collect(),
            interval_units: INTERVAL_UNITS,
            next_at: 0,
            leaves_gap: false,
        };
        if let [first, .., last] = points {
            let units = last.at.whole_units() - first.at.whole_units();
            history.interval_units = (units / points.len() as i128).max(INTERVAL_UNITS);
            history.next_at = history.after(last.at.whole_units());
        }
        history
    }

    /// When the next sample is due after `units`.
    fn after(&self, units: i128) -> i128 {
        (units / self.interval_units + 1) * self.interval_units
    }

    pub(super) fn sample(&mut self, scene: &Scene) {
        let (whole, units) = (scene.clock.game.whole_units(), scene.clock.game.as_units_f64());
        let last = self.samples.last().map(|last| last.units);
        // Time stops with a victory, and the lines end with it.
        let is_final = scene.winner.is_some() && last.is_none_or(|last| last < units);
        if scene.teams.is_empty() || whole < self.next_at && !is_final {
            return;
        }
        self.next_at = self.after(whole);
        let follows = last.is_some_and(|last| whole as f64 - last <= self.interval_units as f64);
        self.samples.push(Sample {
            units,
            scores: scene.teams.iter().map(score).collect(),
            begins: last.is_none() || self.leaves_gap && !follows,
        });
        self.leaves_gap = false;
        if self.samples.len() > SAMPLES_MAX {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        let (mut is_kept, mut dropped_begin) = (false, false);
        self.samples.retain_mut(|sample| {
            is_kept = !is_kept;
            sample.begins |= dropped_begin;
            dropped_begin = sample.begins && !is_kept;
            is_kept
        });
        self.interval_units *= 2;
    }

    /// Forgets what was scored after a moment, in whole units.
    pub(super) fn rewind(&mut self, units: i128) {
        self.samples.retain(|sample| sample.units <= units as f64);
        self.next_at = units;
    }

    /// Notes that the time up to the next sample is unknown.
    pub(super) fn leave_gap(&mut self) {
        self.leaves_gap = true;
        self.next_at = 0;
    }

    /// Shows the lines of the teams in `shown`, best first.
    pub(super) fn show(&self, ui: &mut Ui, colors: &Colors, teams: &[SceneTeam], shown: &[usize]) {
        let [first, .., last] = &self.samples[..] else {
            return;
        };
        ui.horizontal(|ui| {
            theme::heading(ui, colors, "Score");
            let words = RichText::new("sum of squared levels");
            ui.label(words.small().color(colors.weak));
        });
        let height = lines_height(shown.len());
        let size = vec2(ui.available_width(), height + TIMES_HEIGHT);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        let scores = self.samples.iter().flat_map(|sample| sample.of(shown));
        let most = round_up(scores.map(|(score, _)| score).max().unwrap_or(0));
        // Numbers stand beside the lines; they take at most a third of the width each.
        let width = |number: u64| number_galley(ui, colors, number).size().x.min(size.x / 3.0);
        let scale_width = width(most).max(width(most / 2));
        let values_width = last.of(shown).map(|(score, _)| width(score)).fold(0.0, f32::max);
        let plot = Plot {
            lines: Rect::from_min_max(
                pos2(rect.left() + scale_width + SCALE_GAP, rect.top()),
                pos2(rect.right() - values_width - VALUE_GAP, rect.top() + height),
            ),
            first: first.units,
            last: last.units,
            most,
        };
        plot.scale(ui, colors, rect);
        for &team in shown.iter().rev() {
            self.line(ui, colors, &plot, team);
        }
        plot.values(ui, colors, last, shown);
        self.tip(ui, response, colors, &plot, (teams, shown));
    }

    fn line(&self, ui: &Ui, colors: &Colors, plot: &Plot, team: usize) {
        let tint = team_tint(colors, team);
        let step = self.samples.len().div_ceil(POINTS_MAX);
        let mut points: Vec<Pos2> = Vec::new();
        // From the end, which is always drawn.
        for (number, sample) in self.samples.iter().rev().enumerate() {
            if (sample.begins || number % step == 0)
                && let Some(&score) = sample.scores.get(team)
            {
                points.push(plot.at(sample.units, score));
            }
            if sample.begins {
                let line = std::mem::take(&mut points);
                for stroke in [colors.rim_under(2.0, tint), Stroke::new(2.0, tint)] {
                    ui.painter().add(Shape::line(line.clone(), stroke));
                }
            }
        }
    }

    /// The scores at the pointer.
    fn tip(
        &self,
        ui: &Ui,
        response: Response,
        colors: &Colors,
        plot: &Plot,
        (teams, shown): (&[SceneTeam], &[usize]),
    ) {
        let pointer = response.hover_pos();
        let Some(pointer) = pointer.filter(|at| plot.lines.x_range().contains(at.x)) else {
            return;
        };
        let share = f64::from((pointer.x - plot.lines.left()) / plot.lines.width());
        let units = plot.first + (plot.last - plot.first) * share;
        let after = self.samples.partition_point(|sample| sample.units < units);
        let Some(sample) = self.samples.get(after) else {
            return;
        };
        let x = plot.at(sample.units, 0).x;
        ui.painter()
            .vline(x, plot.lines.y_range(), Stroke::new(1.0, colors.weak));
        response.on_hover_ui_at_pointer(|ui| {
            ui.label(format!("at {} units", grouped(sample.units as i128)));
            for (score, team) in sample.of(shown) {
                ui.horizontal(|ui| {
                    theme::swatch(ui, colors, team_tint(colors, team), 8.0);
                    let name = teams.get(team).map_or("", |team| &*team.name);
                    let words = format!("{name} {}", grouped(i128::from(score)));
                    ui.label(directions::body(ui, &words));
                });
            }
        });
    }
}

/// Where the lines are, and what they span.
struct Plot {
    lines: Rect,
    first: f64,
    last: f64,
    most: u64,
}

impl Plot {
    fn at(&self, units: f64, score: u64) -> Pos2 {
        let across = (units - self.first) / (self.last - self.first).max(1.0);
        pos2(
            self.lines.left() + self.lines.width() * across as f32,
            self.lines.bottom() - self.lines.height() * (score as f64 / self.most as f64) as f32,
        )
    }

    /// Lines at nothing, half and all of the scale with their numbers, and the times below.
    fn scale(&self, ui: &Ui, colors: &Colors, rect: Rect) {
        let painter = ui.painter();
        for value in [0, self.most / 2, self.most] {
            let y = self.at(self.first, value).y;
            painter.hline(self.lines.x_range(), y, Stroke::new(1.0, colors.edge));
            if value > 0 {
                let number = number_galley(ui, colors, value);
                let right = self.lines.left() - SCALE_GAP;
                let at = pos2(right - number.size().x, y - number.size().y / 2.0);
                painter.galley(at, number, colors.weak);
            }
        }
        for (units, x, align) in [
            (self.first, self.lines.left(), Align2::LEFT_BOTTOM),
            (self.last, self.lines.right(), Align2::RIGHT_BOTTOM),
        ] {
            let words = format!("{} u", grouped(units as i128));
            let font = FontId::proportional(10.0);
            painter.text(pos2(x, rect.bottom()), align, words, font, colors.weak);
        }
    }

    /// The last score of each team beside the end of its line; the best is the topmost.
    fn values(&self, ui: &Ui, colors: &Colors, last: &Sample, shown: &[usize]) {
        let painter = ui.painter();
        let mut values: Vec<(u64, usize)> = last.of(shown).collect();
        values.sort_by_key(|&(score, _)| Reverse(score));
        let mut heights: Vec<f32> = values
            .iter()
            .map(|&(score, _)| self.at(self.last, score).y)
            .collect();
        let half = VALUES_APART / 2.0;
        spread(&mut heights, self.lines.top() + half, self.lines.bottom() - half);
        for ((score, team), y) in values.into_iter().zip(heights) {
            let end = self.at(self.last, score);
            let tint = team_tint(colors, team);
            painter.circle(end, 3.0, tint, colors.rim(tint));
            painter.circle(pos2(end.x + 8.0, y), 2.5, tint, colors.rim(tint));
            let number = number_galley(ui, colors, score);
            let at = pos2(end.x + VALUE_GAP, y - number.size().y / 2.0);
            painter.galley(at, number, colors.weak);
        }
    }
}

fn team_tint(colors: &Colors, team: usize) -> egui::Color32 {
    colors.team(TeamId(u16::try_from(team).unwrap_or(u16::MAX)))
}

fn number_galley(ui: &Ui, colors: &Colors, number: u64) -> std::sync::Arc<egui::Galley> {
    let words = grouped(i128::from(number));
    ui.painter()
        .layout_no_wrap(words, FontId::proportional(10.0), colors.weak)
}

/// Height of the lines of so many teams, in points: that of their values below each other.
fn lines_height(teams: usize) -> f32 {
    HEIGHT_LEAST.max(VALUES_APART * teams as f32)
}

/// Height beyond the least for so many teams, in points.
pub(super) fn extra_height(teams: usize) -> f32 {
    lines_height(teams) - HEIGHT_LEAST
}

/// Moves heights apart that are too near to each other, between `least` and `most` and in their order.
fn spread(heights: &mut [f32], least: f32, most: f32) {
    let mut free = most;
    for height in heights.iter_mut().rev() {
        *height = height.min(free);
        free = *height - VALUES_APART;
    }
    let mut free = least;
    for height in heights {
        *height = height.max(free);
        free = *height + VALUES_APART;
    }
}

/// The next number that halves to a round one.
fn round_up(score: u64) -> u64 {
    let mut decade = 1u64;
    loop {
        let steps = [10, 12, 16, 20, 24, 30, 40, 60, 80].map(|tenths| decade.saturating_mul(tenths));
        if let Some(most) = steps.into_iter().find(|&most| score <= most) {
            return most;
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use trantor_time::GameTime;

    use super::*;

    fn add(history: &mut ScoreHistory, units: i64, winner: Option<TeamId>) {
        let mut scene = Scene {
            teams: vec![SceneTeam::default()],
            winner,
            ..Scene::default()
        };
        scene.clock.game = GameTime::from_units(units);
        history.sample(&scene);
    }

    #[test]
    fn a_long_game_keeps_few_samples_and_the_gap_of_a_jump() {
        let mut history = ScoreHistory::default();
        (0..35).for_each(|units| add(&mut history, units, None));
        history.leave_gap();
        add(&mut history, 1_003, None);
        (1_010..1_000_000)
            .step_by(5)
            .for_each(|units| add(&mut history, units, None));
        assert!((SAMPLES_MAX / 3..=SAMPLES_MAX).contains(&history.samples.len()));
        assert!(history.samples.is_sorted_by(|one, other| one.units < other.units));
        assert_eq!(history.samples.iter().filter(|sample| sample.begins).count(), 2);
    }

    #[test]
    fn the_lines_end_with_the_victory_and_begin_again_after_a_jump_back() {
        let mut history = ScoreHistory::default();
        for (units, winner) in [
            (100, None),
            (103, None),
            (104, Some(TeamId(0))),
            (104, Some(TeamId(0))),
        ] {
            add(&mut history, units, winner);
        }
        let units = |history: &ScoreHistory| -> Vec<f64> {
            history.samples.iter().map(|sample| sample.units).collect()
        };
        assert_eq!(units(&history), [100.0, 104.0]);
        history.rewind(102);
        add(&mut history, 102, None);
        assert_eq!(units(&history), [100.0, 102.0]);
    }

    #[test]
    fn the_scale_ends_above_the_best_and_halves_to_a_round_number() {
        for (score, most) in [
            (0, 10),
            (11, 12),
            (39, 40),
            (81, 100),
            (213, 240),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(round_up(score), most);
        }
    }
}
