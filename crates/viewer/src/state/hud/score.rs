//! The race of the teams over match time, as steps: the mean level of their six best agents.

use std::cmp::Reverse;

use egui::{
    Align2, FontFamily, FontId, Painter, Pos2, Rect, Response, RichText, Sense, Shape, Stroke, Ui, pos2, vec2,
};
use trantor_client::{Scene, SceneTeam};
use trantor_model::{Level, WINNING_AGENTS};
use trantor_protocol::wire::ScorePoint;

use super::teams::team_id;
use super::theme::{self, Colors, grouped, match_time};
use super::words;

/// Samples kept: more could not be seen. Beyond that every other one is dropped and the interval doubles.
const SAMPLES_MAX: usize = 240;
/// The first interval between samples, in units.
const INTERVAL_UNITS: i128 = 10;
/// Height of the lines in the card of the race, and of the times below them.
pub(super) const HEIGHT: f32 = 72.0;
const TIMES_HEIGHT: f32 = 14.0;
/// From the scale's numbers to the lines, and from the end of a line to its value, in points.
const SCALE_GAP: f32 = 5.0;
const VALUE_GAP: f32 = 13.0;
const VALUES_APART: f32 = 11.0;

/// The scores of these teams at a point, with their indices.
fn scores_of<'a>(point: &'a ScorePoint, teams: &'a [usize]) -> impl Iterator<Item = (u64, usize)> + 'a {
    let scored = |&team: &usize| Some((*point.scores.get(team)?, team));
    teams.iter().filter_map(scored)
}

/// The score of each team ([`Level::score`]) in order of time.
#[derive(Debug, Default)]
pub(super) struct ScoreHistory {
    points: Vec<ScorePoint>,
    /// 0 before the first sample.
    interval_units: i128,
    next_at: i128,
}

impl ScoreHistory {
    /// With the score so far, in order of time.
    pub(super) fn new(points: Vec<ScorePoint>) -> Self {
        let mut history = Self::default();
        if let [first, .., last] = &points[..] {
            let units = last.at.whole_units() - first.at.whole_units();
            history.interval_units = (units / points.len() as i128).max(INTERVAL_UNITS);
            history.next_at = last.at.whole_units() + 1;
        }
        history.points = points;
        history
    }

    /// Adds points that are later than those there are.
    pub(super) fn add(&mut self, points: Vec<ScorePoint>) {
        for point in points {
            if self.points.last().is_none_or(|last| last.at <= point.at) {
                self.next_at = point.at.whole_units() + 1;
                self.push(point);
            }
        }
    }

    /// Adds the present score, some time after the last point.
    pub(super) fn sample(&mut self, scene: &Scene) {
        let (at, units) = (scene.clock.game, scene.clock.game.whole_units());
        // Time stops with a victory, and the lines end with it.
        let is_final = scene.winner.is_some() && self.points.last().is_none_or(|last| last.at < at);
        let is_early = self.points.last().is_some_and(|last| at < last.at);
        if scene.teams.is_empty() || is_early || units < self.next_at && !is_final {
            return;
        }
        let interval = self.interval_units.max(INTERVAL_UNITS);
        self.next_at = (units / interval + 1) * interval;
        let scores = scene
            .teams
            .iter()
            .map(|team| Level::score(&team.by_level))
            .collect();
        self.push(ScorePoint { at, scores });
    }

    /// A point at which nothing has changed only prolongs the step before it.
    fn push(&mut self, point: ScorePoint) {
        if let [.., before, last] = &mut self.points[..]
            && before.scores == last.scores
            && last.scores == point.scores
        {
            last.at = point.at;
            return;
        }
        self.points.push(point);
        if self.points.len() > SAMPLES_MAX {
            let mut is_kept = false;
            self.points.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.interval_units = self.interval_units.max(INTERVAL_UNITS) * 2;
        }
    }

    /// Forgets later scores; in whole units.
    pub(super) fn rewind(&mut self, units: i128) {
        self.points
            .retain(|point| point.at.as_units_f64() <= units as f64);
        self.next_at = units;
    }

    /// Shows the lines of the teams in `shown`, best first, `height` points high.
    pub(super) fn show(
        &self,
        ui: &mut Ui,
        colors: &Colors,
        teams: &[SceneTeam],
        shown: &[usize],
        height: f32,
    ) {
        let [first, .., last] = &self.points[..] else {
            return;
        };
        ui.horizontal(|ui| {
            theme::heading(ui, colors, "Race");
            ui.label(RichText::new("mean level of the six best").small().weak());
        });
        let size = vec2(ui.available_width(), height + TIMES_HEIGHT);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        let width = |value: String| {
            let galley = ui.painter().layout_no_wrap(value, FONT, colors.weak);
            galley.size().x
        };
        let (scale_width, values_width) = (width("8".to_owned()), width(mean_text(0)));
        let plot = Plot {
            lines: Rect::from_min_max(
                pos2(rect.left() + scale_width + SCALE_GAP, rect.top()),
                pos2(rect.right() - values_width - VALUE_GAP, rect.top() + height),
            ),
            first: first.at.as_units_f64(),
            last: last.at.as_units_f64(),
        };
        plot.scale(ui, colors, rect);
        for &team in shown.iter().rev() {
            let line = steps(&self.points, team, |units, score| plot.at(units, score));
            let stroke = Stroke::new(2.0, colors.legible(team_tint(colors, team)));
            ui.painter().add(Shape::line(line, stroke));
        }
        plot.values(ui, colors, last, shown);
        let pointer = response
            .hover_pos()
            .filter(|at| plot.lines.x_range().contains(at.x));
        let pointed = pointer.map(|pointer| plot.units_at(pointer.x));
        let is_after = |point: &&ScorePoint| pointed.is_some_and(|units| point.at.as_units_f64() >= units);
        if let Some(point) = self.points.iter().find(is_after) {
            plot.tip(ui, response, colors, point, (teams, shown));
        }
    }
}

/// The corners of a team's line: its score holds until the moment at which it changes.
fn steps(points: &[ScorePoint], team: usize, at: impl Fn(f64, u64) -> Pos2) -> Vec<Pos2> {
    let mut corners = Vec::new();
    let mut before = None;
    for point in points {
        let Some(&score) = point.scores.get(team) else {
            continue;
        };
        let units = point.at.as_units_f64();
        if let Some(before) = before.replace(score).filter(|before| *before != score) {
            corners.push(at(units, before));
        }
        corners.push(at(units, score));
    }
    corners
}

struct Plot {
    lines: Rect,
    first: f64,
    last: f64,
}

impl Plot {
    fn at(&self, units: f64, score: u64) -> Pos2 {
        let across = (units - self.first) / (self.last - self.first).max(1.0);
        let up = mean(score) / 8.0;
        self.lines.lerp_inside(vec2(across as f32, 1.0 - up as f32))
    }

    fn units_at(&self, x: f32) -> f64 {
        let share = f64::from((x - self.lines.left()) / self.lines.width());
        self.first + (self.last - self.first) * share
    }

    /// Lines at some levels with their numbers, and the times below.
    fn scale(&self, ui: &Ui, colors: &Colors, rect: Rect) {
        let painter = ui.painter();
        for level in [0, 2, 4, 6, 8] {
            let y = self.at(self.first, level * u64::from(WINNING_AGENTS)).y;
            painter.hline(self.lines.x_range(), y, Stroke::new(1.0, colors.edge));
            if level % 4 == 0 && level > 0 {
                let at = pos2(self.lines.left() - SCALE_GAP, y);
                write(painter, at, Align2::RIGHT_CENTER, &level.to_string(), colors);
            }
        }
        for (units, x, align) in [
            (self.first, self.lines.left(), Align2::LEFT_BOTTOM),
            (self.last, self.lines.right(), Align2::RIGHT_BOTTOM),
        ] {
            write(
                painter,
                pos2(x, rect.bottom()),
                align,
                &match_time(units as i128),
                colors,
            );
        }
    }

    /// The last scores beside the ends of their lines, as many of the best as there is room for.
    fn values(&self, ui: &Ui, colors: &Colors, last: &ScorePoint, shown: &[usize]) {
        let painter = ui.painter();
        let mut values: Vec<(u64, usize)> = scores_of(last, shown).collect();
        values.sort_by_key(|&(score, _)| Reverse(score));
        values.truncate((self.lines.height() / VALUES_APART) as usize);
        let height = |&(score, _): &(u64, usize)| self.at(self.last, score).y;
        let mut heights: Vec<f32> = values.iter().map(height).collect();
        let half = VALUES_APART / 2.0;
        spread(&mut heights, self.lines.top() + half, self.lines.bottom() - half);
        for ((score, team), y) in values.into_iter().zip(heights) {
            let end = self.at(self.last, score);
            let tint = team_tint(colors, team);
            painter.circle(end, 3.0, tint, colors.rim(tint));
            painter.circle(pos2(end.x + 8.0, y), 2.5, tint, colors.rim(tint));
            let at = pos2(end.x + VALUE_GAP, y);
            write(painter, at, Align2::LEFT_CENTER, &mean_text(score), colors);
        }
    }

    fn tip(
        &self,
        ui: &Ui,
        response: Response,
        colors: &Colors,
        point: &ScorePoint,
        (teams, shown): (&[SceneTeam], &[usize]),
    ) {
        let x = self.at(point.at.as_units_f64(), 0).x;
        let line = Stroke::new(1.0, colors.weak);
        ui.painter().vline(x, self.lines.y_range(), line);
        response.on_hover_ui_at_pointer(|ui| {
            let units = point.at.whole_units();
            ui.label(format!("{} · unit {}", match_time(units), grouped(units)));
            for (score, team) in scores_of(point, shown) {
                ui.horizontal(|ui| {
                    theme::swatch(ui, colors, team_tint(colors, team), 8.0);
                    let name = teams.get(team).map_or("", |team| &*team.name);
                    let score = format!("{name} {}", mean_text(score));
                    ui.label(words::body(ui, &score));
                });
            }
        });
    }
}

fn team_tint(colors: &Colors, team: usize) -> egui::Color32 {
    colors.team(team_id(team))
}

/// The mean level of a team's six best, of their sum.
fn mean(score: u64) -> f64 {
    score as f64 / f64::from(WINNING_AGENTS)
}

pub(super) fn mean_text(score: u64) -> String {
    format!("{:.1}", mean(score))
}

const FONT: FontId = FontId {
    size: 11.0,
    family: FontFamily::Proportional,
};

fn write(painter: &Painter, at: Pos2, align: Align2, text: &str, colors: &Colors) {
    painter.text(at, align, text, FONT, colors.weak);
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

#[cfg(test)]
mod tests {
    use trantor_model::TeamId;
    use trantor_time::GameTime;

    use super::*;

    fn add(history: &mut ScoreHistory, units: i64, winner: Option<TeamId>) {
        let mut team = SceneTeam::default();
        // Otherwise nothing has changed, and the points between are none.
        team.by_level[(units.wrapping_mul(0x9E37_79B9) >> 20) as usize % 8] = 1;
        let mut scene = Scene {
            teams: vec![team],
            winner,
            ..Scene::default()
        };
        scene.clock.game = GameTime::from_units(units);
        history.sample(&scene);
    }

    #[test]
    fn a_long_game_keeps_few_samples() {
        let mut history = ScoreHistory::default();
        (0..1_000_000)
            .step_by(5)
            .for_each(|units| add(&mut history, units, None));
        assert!((SAMPLES_MAX / 3..=SAMPLES_MAX).contains(&history.points.len()));
        assert!(history.points.is_sorted_by_key(|point| point.at));
    }

    #[test]
    fn the_lines_end_with_the_victory_and_begin_again_after_a_jump_back() {
        let mut history = ScoreHistory::default();
        let won = Some(TeamId(0));
        for (units, winner) in [(100, None), (103, None), (104, won), (104, won)] {
            add(&mut history, units, winner);
        }
        let units = |history: &ScoreHistory| -> Vec<i128> {
            let points = history.points.iter();
            points.map(|point| point.at.whole_units()).collect()
        };
        assert_eq!(units(&history), [100, 104]);
        history.rewind(102);
        add(&mut history, 102, None);
        assert_eq!(units(&history), [100, 102]);
    }
}
