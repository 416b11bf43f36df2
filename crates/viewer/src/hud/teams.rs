//! Who is winning: each team's agents by level, food, eggs, and how near it is to victory.

use egui::{Align, CornerRadius, Layout, Response, RichText, Sense, Ui, vec2};
use trantor_client::SceneTeam;
use trantor_model::{Resource, TeamId};

use super::report::Report;
use super::score::ScoreLine;
use super::theme::{Colors, color};
use super::{HudInput, Intent, icons};
use crate::picture::palette;

/// Agents of the highest level that win a game.
const WINNING_AGENTS: u32 = 6;
/// Rows shown; a game with more teams shows the best.
const ROWS_MAX: usize = 8;

pub(super) fn show(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    score: &ScoreLine,
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 5.0;
        ui.horizontal(|ui| {
            ui.label(RichText::new("Trantor").size(19.0).strong());
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.label(RichText::new(input.source).small().color(colors.weak));
            });
        });
        ui.add_space(2.0);
        let leader = leader(&input.scene.teams);
        let mut standings: Vec<usize> = (0..input.scene.teams.len()).collect();
        if standings.len() > ROWS_MAX {
            standings.sort_by_key(|&team| std::cmp::Reverse(standing(&input.scene.teams[team])));
            standings.truncate(ROWS_MAX);
            standings.sort_unstable();
        }
        for team in standings {
            let response = row(ui, colors, input, team, leader == Some(team), intents);
            report.widget(&format!("team-{team}"), response.rect);
        }
        if input.scene.teams.is_empty() {
            ui.label(RichText::new("no teams yet").color(colors.weak));
        }
        score.show(ui, colors, &input.scene.teams);
    });
}

/// What decides who leads: agents of the highest level first, then of the next, and so on.
fn standing(team: &SceneTeam) -> [u32; 8] {
    let mut levels = team.by_level;
    levels.reverse();
    levels
}

fn leader(teams: &[SceneTeam]) -> Option<usize> {
    let best = teams.iter().map(standing).max()?;
    let mut leaders = (0..teams.len()).filter(|&team| standing(&teams[team]) == best);
    let first = leaders.next()?;
    (best != [0; 8] && leaders.next().is_none()).then_some(first)
}

fn row(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    place: usize,
    leads: bool,
    intents: &mut Vec<Intent>,
) -> Response {
    let team = &input.scene.teams[place];
    let id = TeamId(u16::try_from(place).unwrap_or(u16::MAX));
    let tint = color(palette::team(id));
    let places = input
        .stats
        .and_then(|stats| stats.server.as_ref())
        .and_then(|server| server.teams.get(place))
        .map_or(team.eggs, |figures| figures.places);
    let response = egui::Frame::new()
        .fill(colors.well)
        .corner_radius(CornerRadius::same(7))
        .inner_margin(egui::Margin::symmetric(9, 6))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 4.0;
            ui.horizontal(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(11.0, 11.0), Sense::hover());
                ui.painter().rect_filled(rect, 3.0, tint);
                ui.label(RichText::new(&*team.name).strong());
                if leads {
                    let (rect, _) = ui.allocate_exact_size(vec2(13.0, 11.0), Sense::hover());
                    icons::crown(ui.painter(), rect.center(), 12.0, colors.gold);
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.spacing_mut().item_spacing.x = 4.0;
                    ui.label(RichText::new(places.to_string()).color(colors.weak));
                    let (rect, _) = ui.allocate_exact_size(vec2(9.0, 11.0), Sense::hover());
                    icons::egg(ui.painter(), rect.center(), 11.0, tint);
                    ui.add_space(3.0);
                    ui.label(
                        RichText::new(team.carried[Resource::Food.index()].to_string()).color(colors.weak),
                    );
                    let (rect, _) = ui.allocate_exact_size(vec2(10.0, 11.0), Sense::hover());
                    icons::resource(ui.painter(), rect.center(), 10.0, Resource::Food);
                    ui.add_space(3.0);
                    ui.label(RichText::new(team.agents.to_string()).strong().size(14.0));
                });
            });
            levels(ui, colors, team, tint);
        })
        .response
        .interact(Sense::click());
    if response.clicked()
        && let Some(agent) = input
            .scene
            .agents
            .iter()
            .filter(|agent| agent.team == id)
            .max_by_key(|agent| (agent.level, std::cmp::Reverse(agent.id)))
    {
        intents.push(Intent::Select(super::Selection::Agent(agent.id)));
        intents.push(Intent::LookAt(glam::Vec2::new(agent.x, agent.y)));
    }
    response
}

/// Eight columns, one for each level, as high as the team has agents there.
fn levels(ui: &mut Ui, colors: &Colors, team: &SceneTeam, tint: egui::Color32) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::hover());
    let most = team.by_level.iter().copied().max().unwrap_or(0).max(4) as f32;
    let step = rect.width() / 8.0;
    let painter = ui.painter();
    let ground = rect.bottom() - 9.0;
    for (level, &count) in team.by_level.iter().enumerate() {
        let left = rect.left() + step * level as f32;
        let full = egui::Rect::from_min_max(
            egui::pos2(left + 2.0, rect.top()),
            egui::pos2(left + step - 2.0, ground),
        );
        painter.rect_filled(full, 2.0, colors.well);
        let height = full.height() * (count as f32 / most);
        let filled = full.with_min_y(ground - height);
        let winning = level == 7;
        painter.rect_filled(filled, 2.0, if winning { colors.gold } else { tint });
        let text = if winning && count > 0 {
            format!("{count}/{WINNING_AGENTS}")
        } else {
            (level + 1).to_string()
        };
        let shade = if count > 0 {
            colors.text
        } else {
            colors.weak.gamma_multiply(0.6)
        };
        painter.text(
            egui::pos2(full.center().x, rect.bottom()),
            egui::Align2::CENTER_BOTTOM,
            text,
            egui::FontId::proportional(8.5),
            shade,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(by_level: [u32; 8]) -> SceneTeam {
        SceneTeam {
            by_level,
            ..SceneTeam::default()
        }
    }

    #[test]
    fn the_highest_level_leads_and_a_tie_leads_nobody() {
        let many = team([9, 0, 0, 0, 0, 0, 0, 0]);
        let high = team([0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(leader(&[many.clone(), high.clone()]), Some(1));
        assert_eq!(leader(&[high.clone(), high]), None);
        assert_eq!(leader(&[team([0; 8])]), None, "nobody is there");
        assert_eq!(leader(&[]), None);
    }
}
