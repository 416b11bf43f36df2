//! How the teams got to where they are: one line each, over game time.

use egui::{Align2, FontId, Pos2, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};
use trantor_client::{Scene, SceneTeam};
use trantor_model::{Level, TeamId};
use trantor_protocol::wire::ScorePoint;

use super::directions;
use super::speed::grouped;
use super::theme::{self, Colors};

/// Samples kept; when there are more, every other one goes and the next come half as often.
const SAMPLES_MAX: usize = 480;
/// Units from one sample to the next, at first.
const SAMPLE_EVERY_UNITS: i128 = 10;
/// Height of the lines at least, in points.
const HEIGHT_LEAST: f32 = 72.0;
/// Below the lines, for the time.
const TIMES_HEIGHT: f32 = 14.0;
/// Between the scale's numbers and the lines, and from a line's end to its value, in points.
const SCALE_GAP: f32 = 5.0;
const VALUE_GAP: f32 = 13.0;
/// From one value to the next, so that all can be read.
const VALUES_APART: f32 = 11.0;
/// Size of the numbers' type.
const SMALL: f32 = 10.0;
/// Points of a line at most: more could not be seen.
const POINTS_MAX: usize = 160;

/// A team's score: an agent of level `n` counts `n²`, so that one who rises is worth more than one more egg.
fn score(team: &SceneTeam) -> u64 {
    let level = |number: u8| Level::new(number).expect("there are eight");
    (team.by_level.iter().zip(1..))
        .map(|(&count, number)| u64::from(count) * level(number).score())
        .sum()
}

/// The lines.
#[derive(Debug)]
pub(super) struct ScoreLine {
    /// Units, each team's score then, and whether a line begins with it.
    samples: Vec<(f64, Vec<u64>, bool)>,
    every_units: i128,
    next_at: i128,
    /// Whether the next sample begins a line, if it does not follow on the last one.
    leaves_gap: bool,
}

impl Default for ScoreLine {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            every_units: SAMPLE_EVERY_UNITS,
            next_at: 0,
            leaves_gap: false,
        }
    }
}

impl ScoreLine {
    /// What was scored before, in order of time.
    pub(super) fn of(points: &[ScorePoint]) -> Self {
        let sample = |point: &ScorePoint| (point.at.as_units_f64(), point.scores.clone(), false);
        let mut line = Self {
            samples: points.iter().map(sample).collect(),
            ..Self::default()
        };
        if let ([first, ..], Some(last)) = (&mut line.samples[..], points.last()) {
            first.2 = true;
            let units = last.at.whole_units() - points[0].at.whole_units();
            line.every_units = (units / points.len() as i128).max(SAMPLE_EVERY_UNITS);
            line.next_at = (last.at.whole_units() / line.every_units + 1) * line.every_units;
        }
        line
    }

    pub(super) fn sample(&mut self, scene: &Scene) {
        let units = scene.clock.game.whole_units();
        // Time stops with a victory, and the line ends with it.
        let is_last = scene.winner.is_some()
            && (self.samples.last()).is_none_or(|(at, ..)| *at < scene.clock.game.as_units_f64());
        if scene.teams.is_empty() || units < self.next_at && !is_last {
            return;
        }
        self.next_at = (units / self.every_units + 1) * self.every_units;
        let follows_on = |last: f64| units as f64 - last <= self.every_units as f64;
        let begins = match self.samples.last() {
            Some(&(last, ..)) => self.leaves_gap && !follows_on(last),
            None => true,
        };
        self.leaves_gap = false;
        self.samples.push((
            scene.clock.game.as_units_f64(),
            scene.teams.iter().map(score).collect(),
            begins,
        ));
        if self.samples.len() > SAMPLES_MAX {
            let mut place = 0;
            let mut left_out_begins = false;
            self.samples.retain_mut(|(.., begins)| {
                place += 1;
                let is_kept = place % 2 == 1;
                *begins |= left_out_begins;
                left_out_begins = *begins && !is_kept;
                is_kept
            });
            self.every_units *= 2;
        }
    }

    /// What is shown was moved back: what was scored later has not been.
    pub(super) fn go_back_to(&mut self, units: i128) {
        self.samples.retain(|(at, ..)| *at <= units as f64);
        self.next_at = units;
    }

    /// What is scored next may be long after what was scored last, and nothing is known of the time between.
    pub(super) fn leave_gap(&mut self) {
        self.leaves_gap = true;
        self.next_at = 0;
    }

    /// `shown` are the teams that have a line, best first.
    pub(super) fn show(&self, ui: &mut Ui, colors: &Colors, teams: &[SceneTeam], shown: &[usize]) {
        let [(first, ..), .., (last, reached, _)] = &self.samples[..] else {
            return;
        };
        let (first, last) = (*first, *last);
        let tint = |team: usize| colors.team(TeamId(u16::try_from(team).unwrap_or(u16::MAX)));
        ui.horizontal(|ui| {
            theme::heading(ui, colors, "Score");
            ui.label(
                egui::RichText::new("sum of squared levels")
                    .small()
                    .color(colors.weak),
            );
        });
        let height = lines_height(shown.len());
        let size = vec2(ui.available_width(), height + TIMES_HEIGHT);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        let painter = ui.painter_at(rect.expand(6.0));
        let scores = self
            .samples
            .iter()
            .flat_map(|(_, scores, _)| scores_of(scores, shown));
        let most = round_up(scores.map(|(score, _)| score).max().unwrap_or(0));
        let word = |number: u64| {
            let text = grouped(i128::from(number));
            painter.layout_no_wrap(text, FontId::proportional(SMALL), colors.weak)
        };
        // Numbers stand beside the lines, and are as wide as they are.
        let widest = |numbers: &mut dyn Iterator<Item = u64>| {
            numbers
                .map(|number| word(number).size().x)
                .fold(0.0, f32::max)
                .min(size.x / 3.0)
        };
        let scale = widest(&mut [most / 2, most].into_iter());
        let values = widest(&mut scores_of(reached, shown).map(|(score, _)| score));
        let lines = Rect::from_min_max(
            pos2(rect.left() + scale + SCALE_GAP, rect.top()),
            pos2(rect.right() - values - VALUE_GAP, rect.top() + height),
        );
        let place = |units: f64, score: u64| {
            let across = (units - first) / (last - first).max(1.0);
            pos2(
                lines.left() + lines.width() * across as f32,
                lines.bottom() - lines.height() * (score as f64 / most as f64) as f32,
            )
        };
        for share in [0u64, 1, 2] {
            let value = most * share / 2;
            let y = place(first, value).y;
            painter.hline(lines.x_range(), y, Stroke::new(1.0, colors.edge));
            if share > 0 {
                let word = word(value);
                let at = pos2(rect.left() + scale - word.size().x, y - word.size().y / 2.0);
                painter.galley(at, word, colors.weak);
            }
        }
        for (units, x, align) in [
            (first, lines.left(), Align2::LEFT_BOTTOM),
            (last, lines.right(), Align2::RIGHT_BOTTOM),
        ] {
            let text = format!("{} u", grouped(units as i128));
            let font = FontId::proportional(SMALL);
            painter.text(pos2(x, rect.bottom()), align, text, font, colors.weak);
        }
        let step = self.samples.len().div_ceil(POINTS_MAX);
        for &team in shown.iter().rev() {
            // Back from the end, which is always there.
            let under = colors.rim_under(2.0, tint(team));
            let mut points: Vec<Pos2> = Vec::new();
            for (number, (units, scores, begins)) in self.samples.iter().rev().enumerate() {
                if (*begins || number % step == 0)
                    && let Some(&score) = scores.get(team)
                {
                    points.push(place(*units, score));
                }
                if *begins {
                    let line = std::mem::take(&mut points);
                    if under != Stroke::NONE {
                        painter.add(Shape::line(line.clone(), under));
                    }
                    painter.add(Shape::line(line, Stroke::new(2.0, tint(team))));
                }
            }
        }
        // What each team has reached, beside the end of its line; the best is the topmost.
        let mut reached: Vec<(u64, usize)> = scores_of(reached, shown).collect();
        reached.sort_by_key(|&(score, _)| std::cmp::Reverse(score));
        let mut heights: Vec<f32> = reached.iter().map(|&(score, _)| place(last, score).y).collect();
        // Beside the lines, or the last of them and the time would read as one.
        let half = VALUES_APART / 2.0;
        spread(
            &mut heights,
            lines.top() + half,
            lines.bottom() - half,
            VALUES_APART,
        );
        for ((score, team), y) in reached.into_iter().zip(heights) {
            let end = place(last, score);
            painter.circle(end, 3.0, tint(team), colors.rim(tint(team)));
            painter.circle(pos2(end.x + 8.0, y), 2.5, tint(team), colors.rim(tint(team)));
            let word = word(score);
            let at = pos2(end.x + VALUE_GAP, y - word.size().y / 2.0);
            painter.galley(at, word, colors.weak);
        }
        if let Some(pointer) = response.hover_pos().filter(|at| lines.x_range().contains(at.x)) {
            let share = f64::from((pointer.x - lines.left()) / lines.width());
            let units = first + (last - first) * share;
            let after = self.samples.partition_point(|(at, ..)| *at < units);
            if let Some((at, scores, _)) = self.samples.get(after) {
                let x = place(*at, 0).x;
                painter.vline(x, lines.y_range(), Stroke::new(1.0, colors.weak));
                response.on_hover_ui_at_pointer(|ui| {
                    ui.label(format!("at {} units", grouped(*at as i128)));
                    for (score, team) in scores_of(scores, shown) {
                        ui.horizontal(|ui| {
                            theme::swatch(ui, colors, tint(team), 8.0);
                            let name = teams.get(team).map_or("", |team| &*team.name);
                            let words = format!("{name} {}", grouped(i128::from(score)));
                            let font = egui::TextStyle::Body.resolve(ui.style());
                            ui.label(directions::job(&words, font, egui::Color32::PLACEHOLDER));
                        });
                    }
                });
            }
        }
    }
}

/// Height of the lines of so many teams, in points: that of their values below each other.
fn lines_height(teams: usize) -> f32 {
    HEIGHT_LEAST.max(VALUES_APART * teams as f32)
}

/// Height of the lines of so many teams beyond the usual, in points.
pub(super) fn extra_height(teams: usize) -> f32 {
    lines_height(teams) - HEIGHT_LEAST
}

/// The scores of these teams, with whose they are, in their order.
fn scores_of<'a>(scores: &'a [u64], shown: &'a [usize]) -> impl Iterator<Item = (u64, usize)> + 'a {
    shown.iter().filter_map(|&team| Some((*scores.get(team)?, team)))
}

/// Moves heights apart that are too near to each other, all between `least` and `most`, in their order. There is room
/// for all of them.
fn spread(heights: &mut [f32], least: f32, most: f32, apart: f32) {
    let mut free = most;
    for height in heights.iter_mut().rev() {
        *height = height.min(free);
        free = *height - apart;
    }
    let mut free = least;
    for height in heights {
        *height = height.max(free);
        free = *height + apart;
    }
}

/// The next number that halves to a round one.
fn round_up(score: u64) -> u64 {
    let mut decade = 10u64;
    loop {
        for tenths in [10, 12, 16, 20, 24, 30, 40, 60, 80] {
            let most = (decade / 10).saturating_mul(tenths);
            if score <= most {
                return most;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_time::GameTime;

    #[test]
    fn a_long_game_keeps_few_samples_and_its_whole_length() {
        let mut line = ScoreLine::default();
        let mut scene = Scene {
            teams: vec![SceneTeam::default()],
            ..Scene::default()
        };
        for units in (0..2_000_000).step_by(5) {
            scene.clock.game = GameTime::from_units(units);
            line.sample(&scene);
        }
        assert!(
            (SAMPLES_MAX / 3..=SAMPLES_MAX).contains(&line.samples.len()),
            "{}",
            line.samples.len()
        );
        assert_eq!(line.samples[0].0, 0.0);
        assert!(line.samples.last().unwrap().0 > 1_980_000.0);
        assert!(line.samples.is_sorted_by(|one, other| one.0 < other.0));
    }

    #[test]
    fn a_recording_that_is_moved_back_is_scored_anew_from_there() {
        let mut line = ScoreLine::default();
        let mut scene = Scene {
            teams: vec![SceneTeam::default()],
            ..Scene::default()
        };
        for units in [0, 100, 200, 300, 150, 160] {
            scene.clock.game = GameTime::from_units(units);
            if units == 150 {
                line.go_back_to(150);
            }
            line.sample(&scene);
        }
        let at: Vec<f64> = line.samples.iter().map(|(at, ..)| *at).collect();
        assert_eq!(at, [0.0, 100.0, 150.0, 160.0]);
    }

    #[test]
    fn a_jump_forward_leaves_a_gap_that_stays_when_samples_go() {
        let mut line = ScoreLine::default();
        let mut scene = Scene {
            teams: vec![SceneTeam::default()],
            ..Scene::default()
        };
        let mut sample = |line: &mut ScoreLine, units| {
            scene.clock.game = GameTime::from_units(units);
            line.sample(&scene);
        };
        let begins = |line: &ScoreLine| -> Vec<f64> {
            let begins = line.samples.iter().filter(|(.., begins)| *begins);
            begins.map(|(at, ..)| *at).collect()
        };
        for units in 0..35 {
            sample(&mut line, units);
        }
        line.leave_gap();
        sample(&mut line, 36);
        assert_eq!(begins(&line), [0.0], "hardly a jump");
        line.leave_gap();
        sample(&mut line, 1_003);
        sample(&mut line, 1_500);
        assert_eq!(begins(&line), [0.0, 1_003.0]);
        for units in 1_501..30_000 {
            sample(&mut line, units);
        }
        let begins = begins(&line);
        assert!(line.every_units > SAMPLE_EVERY_UNITS);
        assert!(
            begins.len() == 2 && (1_003.0..1_600.0).contains(&begins[1]),
            "{begins:?}"
        );
    }

    #[test]
    fn the_line_ends_with_what_was_scored_at_the_victory() {
        let mut line = ScoreLine::default();
        let mut scene = Scene {
            teams: vec![SceneTeam::default()],
            ..Scene::default()
        };
        for (units, winner, of_level_8) in [(100, None, 5), (103, None, 5), (104, Some(TeamId(0)), 6)] {
            scene.clock.game = GameTime::from_units(units);
            scene.winner = winner;
            scene.teams[0].by_level[7] = of_level_8;
            for _ in 0..3 {
                line.sample(&scene);
            }
        }
        let samples: Vec<_> = line
            .samples
            .iter()
            .map(|(at, scores, _)| (*at, scores[0]))
            .collect();
        assert_eq!(samples, [(100.0, 5 * 64), (104.0, 6 * 64)]);
    }

    #[test]
    fn a_level_counts_its_square() {
        let team = SceneTeam {
            by_level: [2, 0, 1, 0, 0, 0, 0, 1],
            ..SceneTeam::default()
        };
        assert_eq!(score(&team), 2 + 9 + 64);
    }

    #[test]
    fn the_scale_ends_above_the_best_and_halves_to_a_round_number() {
        for (score, most) in [
            (0, 10),
            (10, 10),
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
