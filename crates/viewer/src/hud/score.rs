//! How the teams got to where they are: one line each, over game time.

use egui::{Ui, vec2};
use egui_plot::{Line, Plot, PlotPoints};
use trantor_client::{Scene, SceneTeam};
use trantor_model::TeamId;

use super::theme::{Colors, color};
use crate::picture::palette;

/// Samples kept; when there are more, every other one goes and the next come half as often.
const SAMPLES_MAX: usize = 480;
/// Units from one sample to the next, at first.
const SAMPLE_EVERY_UNITS: i128 = 10;

/// A team's score: an agent of level `n` counts `n²`, so that one who rises is worth more than one more egg.
fn score(team: &SceneTeam) -> u64 {
    team.by_level
        .iter()
        .zip(1u64..)
        .map(|(&count, level)| u64::from(count) * level * level)
        .sum()
}

/// The lines.
#[derive(Debug)]
pub(super) struct ScoreLine {
    /// Units, and each team's score then.
    samples: Vec<(f64, Vec<u64>)>,
    every_units: i128,
    next_at: i128,
}

impl Default for ScoreLine {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            every_units: SAMPLE_EVERY_UNITS,
            next_at: 0,
        }
    }
}

impl ScoreLine {
    pub(super) fn sample(&mut self, scene: &Scene) {
        let units = scene.clock.game.whole_units();
        if scene.teams.is_empty() || units < self.next_at {
            return;
        }
        self.next_at = (units / self.every_units + 1) * self.every_units;
        self.samples.push((
            scene.clock.game.as_units_f64(),
            scene.teams.iter().map(score).collect(),
        ));
        if self.samples.len() > SAMPLES_MAX {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every_units *= 2;
        }
    }

    /// A recording was moved back: what was scored later has not been.
    pub(super) fn go_back_to(&mut self, units: i128) {
        self.samples.retain(|(at, _)| *at <= units as f64);
        self.next_at = units;
    }

    pub(super) fn show(&self, ui: &mut Ui, colors: &Colors, teams: &[SceneTeam]) {
        if self.samples.len() < 2 {
            return;
        }
        ui.add_space(2.0);
        let names: Vec<String> = teams.iter().map(|team| team.name.to_string()).collect();
        Plot::new("score")
            .height(70.0)
            .width(ui.available_width())
            .show_axes(false)
            .show_grid(false)
            .show_background(false)
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .set_margin_fraction(vec2(0.01, 0.08))
            .include_y(0.0)
            .label_formatter(|pointed| match pointed {
                egui_plot::HoverPosition::NearDataPoint {
                    plot_name, position, ..
                } => Some(format!(
                    "{plot_name}: {:.0}\nat {:.0} units",
                    position.y, position.x
                )),
                egui_plot::HoverPosition::Elsewhere { .. } => None,
            })
            .show(ui, |plot| {
                for (team, name) in names.into_iter().enumerate() {
                    let points: PlotPoints<'_> = self
                        .samples
                        .iter()
                        .filter_map(|(units, scores)| Some([*units, *scores.get(team)? as f64]))
                        .collect();
                    let id = TeamId(u16::try_from(team).unwrap_or(u16::MAX));
                    plot.line(Line::new(name, points).color(color(palette::team(id))).width(1.8));
                }
            });
        ui.label(
            egui::RichText::new("score: sum of squared levels")
                .size(9.0)
                .color(colors.weak),
        );
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
        let at: Vec<f64> = line.samples.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [0.0, 100.0, 150.0, 160.0]);
    }

    #[test]
    fn a_level_counts_its_square() {
        let team = SceneTeam {
            by_level: [2, 0, 1, 0, 0, 0, 0, 1],
            ..SceneTeam::default()
        };
        assert_eq!(score(&team), 2 + 9 + 64);
    }
}
