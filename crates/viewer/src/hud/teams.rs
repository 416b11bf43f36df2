//! Who is winning: the leader and how near it is to victory, then each team's agents by level, food and eggs, best
//! first.

use egui::{CornerRadius, Response, RichText, Sense, Stroke, Ui, vec2};
use trantor_client::SceneTeam;
use trantor_model::{Resource, TeamId};

use super::report::Report;
use super::score::{self, ScoreLine};
use super::theme::{self, Colors};
use super::{HudInput, icons};
use crate::intent::{Intent, Selection};

/// Agents of the highest level that win a game.
const WINNING_AGENTS: u32 = 6;
/// Characters of who ties, at most: the width of the card. Longer names are counted instead.
const TIE_CHARS_MAX: usize = 36;
/// Rows shown; a game with more teams shows the best.
const ROWS_MAX: usize = 8;
/// Height of a row with its levels and of one without, in a column and in a strip; in points, with what is between rows.
const LEVELS_HEIGHT: f32 = 68.0;
const LINE_HEIGHT: f32 = 34.0;
const STRIP_LINE_HEIGHT: f32 = 32.0;
/// Height of the line that says how many more teams there are.
const MORE_HEIGHT: f32 = 20.0;
/// Height of all else in a column's card, with the window's edges: with the score, and without.
const REST_HEIGHT: f32 = 230.0;
const REST_UNSCORED_HEIGHT: f32 = 125.0;
/// Height of the card's edges and of who leads.
const HEADLINE_HEIGHT: f32 = 48.0;

/// What of the teams there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Teams that have a row.
    rows: usize,
    /// Teams that have none.
    more: usize,
    /// Whether it is a card in a column: with a title, and with the levels and the score that there is room for.
    is_column: bool,
    has_levels: bool,
    has_score: bool,
}

impl Room {
    /// In a column of a window of that height, in points.
    pub(super) fn of_column(height: f32, teams: usize) -> Self {
        let shown = teams.min(ROWS_MAX) as f32;
        let more = if teams > ROWS_MAX { MORE_HEIGHT } else { 0.0 };
        let rest = more + REST_HEIGHT + score::extra_height(teams.min(ROWS_MAX));
        let has_score = LINE_HEIGHT * shown + rest < height;
        Self {
            is_column: true,
            has_levels: LEVELS_HEIGHT * shown + rest < height,
            has_score,
            ..match has_score {
                true => Self::of_lines(f32::INFINITY, LINE_HEIGHT, teams),
                false => Self::of_lines(height - REST_UNSCORED_HEIGHT, LINE_HEIGHT, teams),
            }
        }
    }

    /// In a card of at most that height.
    pub(super) fn of_strip(height: f32, teams: usize) -> Self {
        Self::of_lines(height - HEADLINE_HEIGHT, STRIP_LINE_HEIGHT, teams)
    }

    /// As many lines as there is room for, with one that tells how many more there are.
    fn of_lines(height: f32, line: f32, teams: usize) -> Self {
        let fitting = |height: f32| ((height / line).max(0.0) as usize).min(ROWS_MAX);
        let rows = match fitting(height) {
            rows if rows >= teams => teams,
            _ => fitting(height - MORE_HEIGHT),
        };
        Self {
            rows,
            more: teams - rows,
            is_column: false,
            has_levels: false,
            has_score: false,
        }
    }

    /// Height of the card in a strip.
    pub(super) fn height(self) -> f32 {
        let more = if self.more > 0 { MORE_HEIGHT } else { 0.0 };
        HEADLINE_HEIGHT + STRIP_LINE_HEIGHT * self.rows as f32 + more
    }
}

pub(super) fn show(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    (score, room): (&ScoreLine, Room),
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    let teams = &input.scene.teams;
    colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = if room.is_column { 6.0 } else { 4.0 };
        if room.is_column {
            let title = |ui: &mut Ui| ui.label(RichText::new("Trantor").size(19.0).strong());
            let source = |ui: &mut Ui| {
                let source = RichText::new(input.source).small().color(colors.weak);
                ui.add(egui::Label::new(source).truncate())
            };
            egui::Sides::new().shrink_right().show(ui, title, source);
        }
        if teams.is_empty() {
            ui.label(RichText::new("no teams yet").color(colors.weak));
            return;
        }
        let mut standings: Vec<usize> = (0..teams.len()).collect();
        standings.sort_by_key(|&team| std::cmp::Reverse(standing(&teams[team])));
        let leaders = leaders(teams);
        headline(ui, colors, input, &leaders, standings[0]);
        standings.truncate(room.rows);
        for &team in &standings {
            let leads = leaders[..] == [team];
            let response = row(ui, colors, input, team, (leads, room.has_levels), intents);
            report.widget(&format!("team-{team}"), response.rect);
        }
        if room.more > 0 {
            let text = match room.rows {
                0 => format!("{} teams", room.more),
                _ => format!("and {} more", room.more),
            };
            ui.label(RichText::new(text).small().color(colors.weak));
        }
        if room.has_score {
            score.show(ui, colors, teams, &standings);
        }
    });
}

/// What decides who leads: agents of the highest level first, then of the next, and so on.
fn standing(team: &SceneTeam) -> [u32; 8] {
    let mut levels = team.by_level;
    levels.reverse();
    levels
}

/// The teams with the best standing; none if nobody is there.
fn leaders(teams: &[SceneTeam]) -> Vec<usize> {
    let best = teams.iter().map(standing).max().unwrap_or_default();
    let is_best = |&team: &usize| best != [0; 8] && standing(&teams[team]) == best;
    (0..teams.len()).filter(is_best).collect()
}

/// Which teams tie, and how high they are: "red, blue and green tie at level 6".
fn tie(teams: &[SceneTeam], leaders: &[usize]) -> String {
    let Some((&last, others)) = leaders.split_last() else {
        return "nobody leads yet".to_owned();
    };
    let level = teams[last]
        .by_level
        .iter()
        .rposition(|&count| count > 0)
        .map_or(1, |place| place + 1);
    let others: Vec<&str> = others.iter().map(|&team| &*teams[team].name).collect();
    let named = format!(
        "{} and {} tie at level {level}",
        others.join(", "),
        teams[last].name
    );
    match named.chars().count() {
        ..=TIE_CHARS_MAX => named,
        _ => format!("{} teams tie at level {level}", leaders.len()),
    }
}

/// Who leads, and how many of the six that win it has.
fn headline(ui: &mut Ui, colors: &Colors, input: &HudInput<'_>, leaders: &[usize], best: usize) {
    let teams = &input.scene.teams;
    let winner = input.scene.winner.map(|team| usize::from(team.0));
    let (who, does) = match (winner, leaders) {
        (Some(team), _) => (teams.get(team), "has won".to_owned()),
        (None, &[team]) => (teams.get(team), "leads".to_owned()),
        (None, _) => (None, tie(teams, leaders)),
    };
    let reached = teams[winner.unwrap_or(best).min(teams.len() - 1)].by_level[7];
    let said = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        if let Some(team) = who {
            let (rect, _) = ui.allocate_exact_size(vec2(16.0, 16.0), Sense::hover());
            icons::crown(ui.painter(), rect.center(), 15.0, colors.gold_fill, colors);
            // A long name leaves room for what it does.
            let font = egui::FontId::proportional(14.0);
            let does = ui.painter().layout_no_wrap(does.clone(), font, colors.weak);
            let room = (ui.available_width() - does.size().x - 5.0).max(0.0);
            ui.scope(|ui| {
                ui.set_max_width(room);
                ui.add(egui::Label::new(RichText::new(&*team.name).size(14.0).strong()).truncate());
            });
        }
        ui.label(RichText::new(&does).size(14.0).color(colors.weak));
    };
    let count = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        let text = format!("{}/{WINNING_AGENTS}", reached.min(WINNING_AGENTS));
        ui.label(RichText::new(text).strong());
        for place in (0..WINNING_AGENTS).rev() {
            let (rect, _) = ui.allocate_exact_size(vec2(6.0, 12.0), Sense::hover());
            let (fill, rim) = match place < reached {
                true => (colors.gold_fill, colors.rim(colors.gold_fill)),
                false => (colors.well, Stroke::NONE),
            };
            ui.painter().rect(rect, 2.0, fill, rim, egui::StrokeKind::Inside);
        }
    };
    let response = ui.scope(|ui| match who.is_none() && !leaders.is_empty() {
        // The names take the width of the card, and the row below shows how near they are.
        true => said(ui),
        false => drop(egui::Sides::new().shrink_left().show(ui, said, count)),
    });
    response.response.on_hover_text(
        "Six agents of level 8 win. Who has most of the highest level leads; among equals the next lower one counts.",
    );
}

fn row(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    place: usize,
    (leads, has_levels): (bool, bool),
    intents: &mut Vec<Intent>,
) -> Response {
    let team = &input.scene.teams[place];
    let id = TeamId(u16::try_from(place).unwrap_or(u16::MAX));
    let tint = colors.team(id);
    let places = input
        .stats
        .and_then(|stats| stats.server.as_ref())
        .and_then(|server| server.teams.get(place))
        .map_or(team.eggs, |figures| figures.places);
    let edge = if leads {
        colors.gold.gamma_multiply(0.8)
    } else {
        egui::Color32::TRANSPARENT
    };
    let response = egui::Frame::new()
        .fill(colors.well)
        .stroke(Stroke::new(1.0, edge))
        .corner_radius(CornerRadius::same(8))
        .inner_margin(egui::Margin::symmetric(8, if has_levels { 6 } else { 2 }))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 4.0;
            let name = |ui: &mut Ui| {
                theme::swatch(ui, colors, tint, 12.0);
                ui.add(egui::Label::new(RichText::new(&*team.name).strong()).truncate());
            };
            let figures = |ui: &mut Ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                let egg = |painter: &_, at| icons::egg(painter, at, 12.0, tint, colors);
                figure(ui, u64::from(places), "places for further agents", egg);
                let food = |painter: &_, at| icons::resource(painter, at, 11.0, Resource::Food);
                let carried = team.carried[Resource::Food.index()];
                figure(ui, carried, "food that they carry", food);
                let person = |painter: &_, at| icons::person(painter, at, 12.0, tint, colors);
                figure(ui, u64::from(team.agents), "agents", person);
            };
            // Figures first: a long name is cut.
            egui::Sides::new().shrink_left().show(ui, name, figures);
            if has_levels {
                levels(ui, colors, team, tint);
            }
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
        intents.push(Intent::Select(Selection::Agent(agent.id)));
        intents.push(Intent::Visit(glam::Vec2::new(agent.x, agent.y)));
    }
    response
}

/// A sign and a number, from the right, that say what they are when they are pointed at.
fn figure(ui: &mut Ui, number: u64, what: &str, sign: impl FnOnce(&egui::Painter, egui::Pos2)) {
    let tip = format!("{number} {what}");
    ui.label(short(number)).on_hover_text(&tip);
    let (rect, response) = ui.allocate_exact_size(vec2(11.0, 14.0), Sense::hover());
    sign(ui.painter(), rect.center());
    response.on_hover_text(tip);
    ui.add_space(2.0);
}

/// A number in few figures: of large ones the first three, so that a name fits beside them.
fn short(number: u64) -> String {
    let in_units = |unit: u64| {
        let tenths = number / (unit / 10);
        if tenths < 1_000 {
            format!("{}.{}", tenths / 10, tenths % 10)
        } else {
            (tenths / 10).to_string()
        }
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => in_units(1_000) + "k",
        1_000_000.. => in_units(1_000_000) + "M",
    }
}

/// Eight columns, one for each level, as high as the team has agents there.
fn levels(ui: &mut Ui, colors: &Colors, team: &SceneTeam, tint: egui::Color32) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 30.0), Sense::hover());
    let most = team.by_level.iter().copied().max().unwrap_or(0).max(4) as f32;
    let step = rect.width() / 8.0;
    let painter = ui.painter();
    let ground = rect.bottom() - 12.0;
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
        if count > 0 {
            let fill = if winning { colors.gold_fill } else { tint };
            painter.rect(filled, 2.0, fill, colors.rim(fill), egui::StrokeKind::Inside);
        }
        let shade = if count > 0 { colors.text } else { colors.weak };
        painter.text(
            egui::pos2(full.center().x, rect.bottom() + 1.0),
            egui::Align2::CENTER_BOTTOM,
            level + 1,
            egui::FontId::proportional(10.0),
            shade,
        );
    }
    response.on_hover_ui(|ui| {
        for (level, &count) in team.by_level.iter().enumerate().filter(|(_, count)| **count > 0) {
            ui.label(format!("{count} of level {}", level + 1));
        }
    });
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
    fn the_highest_level_leads_and_a_tie_is_named() {
        let many = team([9, 0, 0, 0, 0, 0, 0, 0]);
        let high = team([0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(leaders(&[many.clone(), high.clone()]), [1]);
        let named = |name: &str, like: &SceneTeam| SceneTeam {
            name: name.into(),
            ..like.clone()
        };
        let said = |teams: &[SceneTeam]| tie(teams, &leaders(teams));
        let mut teams = vec![named("red", &high), named("blue", &high), named("low", &many)];
        assert_eq!(said(&teams), "red and blue tie at level 6");
        teams.push(named("green", &high));
        assert_eq!(said(&teams), "red, blue and green tie at level 6");
        teams.push(named("a team with a long name", &high));
        assert_eq!(said(&teams), "4 teams tie at level 6");
        assert_eq!(said(&[team([0; 8])]), "nobody leads yet", "nobody is there");
        assert_eq!(said(&[]), "nobody leads yet");
    }
}
