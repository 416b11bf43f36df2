//! The standings: the leader and its progress to victory, then each team's agents by level, food and eggs.

use egui::{Align2, Color32, FontId, Frame, Margin, Rect, RichText, Sense, Sides, Stroke};
use egui::{StrokeKind, Ui, pos2, vec2};
use trantor_client::SceneTeam;
use trantor_model::{Resource, TeamId};

use super::PanelContext;
use super::icons::{CROWN, PERSON, Pen};
use super::score::ScoreHistory;
use super::theme::{self, Colors, text, truncated};

/// Agents of the highest level that win a game.
const WINNING_AGENTS: u32 = 6;
/// Characters of the names in a tie that fit the card; of longer ones the number of teams is shown.
const TIE_CHARS_MAX: usize = 36;
const HEADLINE_TIP: &str = "Six agents of level 8 win. Who has most of the highest level leads; among equals the next lower one counts.";

pub(super) fn show(ui: &mut Ui, cx: &mut PanelContext<'_>, score: &ScoreHistory) {
    let (teams, plan, weak) = (&cx.scene().teams, cx.plan, cx.colors.weak);
    cx.colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = if plan.is_wide() { 6.0 } else { 4.0 };
        if plan.is_wide() {
            let title = |ui: &mut Ui| ui.label(RichText::new("Trantor").size(19.0).strong());
            let source = RichText::new(cx.state.source.name()).small().color(weak);
            let source = |ui: &mut Ui| truncated(ui, source);
            Sides::new().shrink_right().show(ui, title, source);
        }
        if teams.is_empty() {
            ui.label(RichText::new("no teams yet").color(weak));
            return;
        }
        let mut standings: Vec<usize> = (0..teams.len()).collect();
        standings.sort_by_key(|&team| std::cmp::Reverse(standing(&teams[team])));
        let leaders = leaders(teams);
        headline(ui, cx, &leaders, standings[0]);
        standings.truncate(plan.rows);
        for &team in &standings {
            row(ui, cx, team, leaders[..] == [team]);
        }
        if plan.rows < teams.len() {
            let more = teams.len() - plan.rows;
            let text = match plan.rows {
                0 => format!("{more} teams"),
                _ => format!("and {more} more"),
            };
            ui.label(RichText::new(text).small().color(weak));
        }
        if plan.has_score {
            score.show(ui, &cx.colors, teams, &standings);
        }
    });
}

/// The order of standings: by agents of the highest level, then of the next lower one, and so on.
fn standing(team: &SceneTeam) -> [u32; 8] {
    let mut levels = team.by_level;
    levels.reverse();
    levels
}

/// The teams with the best standing; none while no team has agents.
fn leaders(teams: &[SceneTeam]) -> Vec<usize> {
    let best = teams.iter().map(standing).max().unwrap_or_default();
    let is_best = |&team: &usize| best != [0; 8] && standing(&teams[team]) == best;
    (0..teams.len()).filter(is_best).collect()
}

/// Which teams tie at which level: "red, blue and green tie at level 6".
fn tie(teams: &[SceneTeam], leaders: &[usize]) -> String {
    let Some((&last, others)) = leaders.split_last() else {
        return "no team leads yet".to_owned();
    };
    let highest = teams[last].by_level.iter().rposition(|&count| count > 0);
    let level = highest.map_or(1, |place| place + 1);
    let others: Vec<&str> = others.iter().map(|&team| &*teams[team].name).collect();
    let names = format!("{} and {}", others.join(", "), teams[last].name);
    let named = format!("{names} tie at level {level}");
    match named.chars().count() {
        ..=TIE_CHARS_MAX => named,
        _ => format!("{} teams tie at level {level}", leaders.len()),
    }
}

/// Who leads, and how many of the six winning agents it has.
fn headline(ui: &mut Ui, cx: &PanelContext<'_>, leaders: &[usize], best: usize) {
    let (teams, colors) = (&cx.scene().teams, &cx.colors);
    let winner = cx.scene().winner.map(|team| usize::from(team.0));
    let (team, verb) = match (winner, leaders) {
        (Some(team), _) if team < teams.len() => (teams.get(team), "has won".to_owned()),
        (Some(_), _) => (None, "a draw".to_owned()),
        (None, &[team]) => (teams.get(team), "leads".to_owned()),
        (None, _) => (None, tie(teams, leaders)),
    };
    let reached = teams[winner.unwrap_or(best).min(teams.len() - 1)].by_level[7];
    let verb = text(verb, 14.0, colors.weak);
    let words = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let Some(team) = team else {
            return drop(ui.label(verb));
        };
        theme::icon(ui, vec2(16.0, 16.0), 15.0, |pen| pen.icon(CROWN, colors.gold));
        // A long name is cut, not the verb.
        let font = FontId::proportional(14.0);
        let width = ui
            .painter()
            .layout_no_wrap(verb.text().to_owned(), font, colors.weak)
            .size()
            .x;
        let room = (ui.available_width() - width - 5.0).max(0.0);
        ui.scope(|ui| {
            ui.set_max_width(room);
            truncated(ui, RichText::new(&*team.name).size(14.0).strong());
        });
        ui.label(verb);
    };
    let count = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        ui.strong(format!("{}/{WINNING_AGENTS}", reached.min(WINNING_AGENTS)));
        for place in (0..WINNING_AGENTS).rev() {
            let fill = (place < reached).then_some(colors.gold_fill);
            theme::pip(ui, colors, vec2(6.0, 12.0), fill);
        }
    };
    let headline = ui.scope(|ui| match team.is_none() && !leaders.is_empty() {
        // Names that tie take the width of the card; the rows below show the counts.
        true => words(ui),
        false => drop(Sides::new().shrink_left().show(ui, words, count)),
    });
    headline.response.on_hover_text(HEADLINE_TIP);
}

fn row(ui: &mut Ui, cx: &mut PanelContext<'_>, place: usize, leads: bool) {
    let (scene, colors, has_levels) = (cx.scene(), cx.colors, cx.plan.has_levels);
    let team = &scene.teams[place];
    let id = TeamId(u16::try_from(place).unwrap_or(u16::MAX));
    let tint = colors.team(id);
    let server = cx.stats.as_ref().and_then(|stats| stats.server.as_ref());
    let places = server.and_then(|server| server.teams.get(place));
    let places = places.map_or(team.eggs, |figures| figures.places);
    let edge = if leads {
        colors.gold.gamma_multiply(0.8)
    } else {
        Color32::TRANSPARENT
    };
    let frame = Frame::new()
        .fill(colors.well)
        .stroke(Stroke::new(1.0, edge))
        .corner_radius(8);
    let frame = frame.inner_margin(Margin::symmetric(8, if has_levels { 6 } else { 2 }));
    let row = frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 4.0;
        let name = |ui: &mut Ui| {
            theme::swatch(ui, &colors, tint, 12.0);
            truncated(ui, RichText::new(&*team.name).strong());
        };
        let figures = |ui: &mut Ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            let food = team.carried[Resource::Food.index()];
            let color = colors.legible(tint);
            figure(ui, places.into(), "free places", |pen| pen.egg(tint, &colors));
            figure(ui, food, "food carried", |pen| pen.resource(Resource::Food));
            figure(ui, team.agents.into(), "agents", |pen| pen.icon(PERSON, color));
        };
        Sides::new().shrink_left().show(ui, name, figures);
        if has_levels {
            levels(ui, &colors, team, tint);
        }
    });
    let response = row.response.interact(Sense::click());
    if response.clicked() {
        let agents = scene.agents.iter().filter(|agent| agent.team == id);
        if let Some(agent) = agents.max_by_key(|agent| (agent.level, std::cmp::Reverse(agent.id))) {
            cx.visit_agent(agent);
        }
    }
}

/// A number and its icon, from the right, with a tip.
fn figure(ui: &mut Ui, number: u64, what: &str, icon: impl FnOnce(Pen<'_>)) {
    let tip = format!("{number} {what}");
    ui.label(short(number)).on_hover_text(&tip);
    theme::icon(ui, vec2(11.0, 14.0), 12.0, icon).on_hover_text(tip);
    ui.add_space(2.0);
}

/// A number in at most three digits and a unit.
fn short(number: u64) -> String {
    let (unit, name) = match number {
        0..1_000 => return number.to_string(),
        1_000..1_000_000 => (1_000, "k"),
        1_000_000.. => (1_000_000, "M"),
    };
    match number * 10 / unit {
        tenths @ ..1_000 => format!("{}.{}{name}", tenths / 10, tenths % 10),
        tenths => format!("{}{name}", tenths / 10),
    }
}

/// A column for each level, as high as the team has agents of it.
fn levels(ui: &mut Ui, colors: &Colors, team: &SceneTeam, tint: Color32) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 30.0), Sense::hover());
    let most = team.by_level.iter().copied().max().unwrap_or(0).max(4) as f32;
    let step = rect.width() / 8.0;
    let painter = ui.painter();
    let ground = rect.bottom() - 12.0;
    for (level, &count) in team.by_level.iter().enumerate() {
        let left = rect.left() + step * level as f32;
        let full = Rect::from_min_max(pos2(left + 2.0, rect.top()), pos2(left + step - 2.0, ground));
        painter.rect_filled(full, 2.0, colors.well);
        if count > 0 {
            let filled = full.with_min_y(ground - full.height() * (count as f32 / most));
            let fill = if level == 7 { colors.gold_fill } else { tint };
            painter.rect(filled, 2.0, fill, colors.rim(fill), StrokeKind::Inside);
        }
        let shade = if count > 0 { colors.text } else { colors.weak };
        let at = pos2(full.center().x, rect.bottom() + 1.0);
        let font = FontId::proportional(10.0);
        painter.text(at, Align2::CENTER_BOTTOM, level + 1, font, shade);
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

    #[test]
    fn the_highest_level_leads_and_a_tie_is_named() {
        let team = |name: &str, by_level| SceneTeam {
            name: name.into(),
            by_level,
            ..SceneTeam::default()
        };
        let (many, high) = ([9, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0]);
        let headline = |teams: &[SceneTeam]| tie(teams, &leaders(teams));
        let mut teams = vec![team("low", many), team("red", high)];
        assert_eq!(leaders(&teams), [1]);
        teams.push(team("blue", high));
        assert_eq!(headline(&teams), "red and blue tie at level 6");
        teams.push(team("a team with a long name", high));
        assert_eq!(headline(&teams), "3 teams tie at level 6");
        assert_eq!(headline(&[team("red", [0; 8])]), "no team leads yet");
    }
}
