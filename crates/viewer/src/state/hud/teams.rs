//! The race: the match clock, who leads, and a lane with eight gates for each team.
//!
//! ```text
//! red   ▐███|███|███|█2█|█4▌|   |   |   ▏   two agents of level 4 and four of level 5
//! ```
//!
//! A lane is filled up to the mean level of the team's six best agents, with the progress of their elevations.

use std::collections::BTreeMap;

use egui::{Align2, Color32, FontId, Rect, RichText, Sense, Sides, Stroke, StrokeKind, TextStyle};
use egui::{Ui, UiBuilder, lerp, pos2, vec2};
use trantor_client::{Scene, SceneTeam};
use trantor_model::{Level, Resource, TeamId, WINNING_AGENTS};

use super::PanelContext;
use super::icons::CROWN;
use super::score::{self, ScoreHistory};
use super::theme::{self, Colors, grouped, match_time, text, truncated};
use crate::intent::{Intent, Selection};
use crate::state::acts::best_agent;

/// Characters of the names in a tie that fit the card; of longer ones the number of teams is shown.
const TIE_CHARS_MAX: usize = 36;
/// Height of a row with the name above the lane, and beside it, in points.
pub(super) const TALL_ROW: f32 = 42.0;
pub(super) const ROW: f32 = 24.0;
pub(super) const ROW_GAP: f32 = 4.0;
const LANE: f32 = 18.0;
/// Part of a row that a name beside the lane takes.
const NAME_SHARE: f32 = 0.36;
const SWATCH: f32 = 10.0;
const HEADLINE_TIP: &str =
    "Six agents of level 8 win. The team whose six best agents have the highest mean level leads.";
/// Part of the frequency, and of the display's pictures, below which something is wrong.
const RATE_LEAST: f64 = 0.95;
const FRAMES_LEAST: f64 = 0.5;

/// The progress of elevations by team and level: agents that take part, and the sum of what is done.
type Rising = BTreeMap<(TeamId, Level), (u32, f32)>;

pub(super) fn show(ui: &mut Ui, cx: &mut PanelContext<'_>, score: &ScoreHistory) {
    let (teams, plan) = (&cx.scene().teams, cx.plan);
    cx.colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = ROW_GAP;
        clock(ui, cx);
        if teams.is_empty() {
            ui.label(RichText::new("no teams yet").color(cx.colors.weak));
            return;
        }
        let mut standings: Vec<usize> = (0..teams.len()).collect();
        standings.sort_by_key(|&team| std::cmp::Reverse(standing(&teams[team])));
        headline(ui, cx, &leaders(teams), standings[0]);
        if plan.rows > 0 {
            let rising = rising(cx.scene());
            let (row_height, shown) = (plan.row_height(), plan.rows.min(teams.len()) as f32);
            egui::ScrollArea::vertical()
                .id_salt("race")
                .max_height((row_height + ROW_GAP) * shown)
                .min_scrolled_height((row_height + ROW_GAP) * shown)
                .auto_shrink([false, true])
                .show_rows(ui, row_height, teams.len(), |ui, rows| {
                    for &team in &standings[rows] {
                        row(ui, cx, team, &rising, row_height);
                    }
                });
        }
        if plan.has_score {
            standings.truncate(plan.rows);
            score.show(ui, &cx.colors, teams, &standings, score::HEIGHT);
        }
    });
}

/// The match clock, which stops with the victory, and a dot when something is wrong.
fn clock(ui: &mut Ui, cx: &PanelContext<'_>) {
    let units = cx.scene().clock.game.as_units_f64().max(0.0);
    let tenths = (units / 10.0) as u64 % 10;
    let time = format!("{}.{tenths}", match_time(units as i128));
    let time = RichText::new(time).text_style(TextStyle::Heading).strong();
    let tip = format!(
        "unit {} · match time is game time at 100 units a second",
        grouped(units as i128)
    );
    let trouble = trouble(cx);
    let clock = |ui: &mut Ui| drop(ui.label(time).on_hover_text(tip));
    let source = |ui: &mut Ui| {
        if cx.plan.is_stage {
            return;
        }
        if let Some(trouble) = trouble {
            let (rect, dot) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
            ui.painter()
                .circle_filled(rect.center(), 5.0, cx.colors.gold_fill);
            dot.on_hover_text(format!("{trouble}; F3 shows more"));
        }
        let source = RichText::new(cx.state.source.name())
            .small()
            .color(cx.colors.weak);
        truncated(ui, source);
    };
    Sides::new().shrink_right().show(ui, clock, source);
}

/// What is wrong with server, connection or picture, if anything.
fn trouble(cx: &PanelContext<'_>) -> Option<String> {
    let (clock, frames) = (&cx.scene().clock, cx.frames);
    let server = cx.stats.as_ref().and_then(|stats| stats.server.as_ref());
    let wanted = f64::from(clock.frequency);
    let reached = server.map_or(wanted, |server| server.effective_frequency_milli as f64 / 1e3);
    let per_second = frames.per_second.unwrap_or(frames.target);
    if !clock.paused && cx.scene().winner.is_none() && reached < wanted * RATE_LEAST {
        Some(format!(
            "the server reaches {reached:.0} of {wanted:.0} units a second"
        ))
    } else if per_second < frames.target * FRAMES_LEAST {
        let target = frames.target;
        Some(format!(
            "{per_second:.0} of {target:.0} frames a second are drawn"
        ))
    } else {
        let hurried = cx.stats.as_ref().map_or(0, |stats| stats.hurried);
        (hurried > 0).then(|| format!("{hurried} changes were shown early: too many waited"))
    }
}

/// The order of standings is that of the race: the sum of the levels of the six best.
pub(super) fn standing(team: &SceneTeam) -> u64 {
    Level::score(&team.by_level)
}

/// The teams that lead the race; none while all agents have the first level.
fn leaders(teams: &[SceneTeam]) -> Vec<usize> {
    let best = teams.iter().map(standing).max().unwrap_or_default();
    let has_begun = teams
        .iter()
        .any(|team| team.by_level[1..].iter().any(|&agents| agents > 0));
    let is_best = |&team: &usize| has_begun && standing(&teams[team]) == best;
    (0..teams.len()).filter(is_best).collect()
}

fn rising(scene: &Scene) -> Rising {
    let mut rising = Rising::new();
    for elevation in &scene.elevations {
        let participants = scene.participants(elevation).iter();
        for agent in participants.filter_map(|&id| scene.agent(id)) {
            let (agents, done) = rising.entry((agent.team, elevation.level)).or_default();
            (*agents, *done) = (*agents + 1, *done + elevation.progress);
        }
    }
    rising
}

/// How far a team has come, from 0 to 8: the mean level of its six best agents, with the progress of their elevations.
fn runner(id: TeamId, team: &SceneTeam, rising: &Rising) -> f32 {
    let mut sum = Level::score(&team.by_level) as f32;
    let mut places = WINNING_AGENTS;
    for level in (1..=8).rev().filter_map(|level| Level::new(level).ok()) {
        let counted = team.by_level[usize::from(level.get()) - 1].min(places);
        places -= counted;
        if let Some(&(agents, done)) = rising.get(&(id, level)) {
            sum += done / agents as f32 * agents.min(counted) as f32;
        }
    }
    sum / WINNING_AGENTS as f32
}

/// Which teams tie: "red, blue and green tie at 4.5".
fn tie(teams: &[SceneTeam], leaders: &[usize]) -> String {
    let Some((&last, others)) = leaders.split_last() else {
        return "no team leads yet".to_owned();
    };
    let mean = score::mean_text(standing(&teams[last]));
    let others: Vec<&str> = others.iter().map(|&team| &*teams[team].name).collect();
    let names = format!("{} and {}", others.join(", "), teams[last].name);
    let named = format!("{names} tie at {mean}");
    match named.chars().count() {
        ..=TIE_CHARS_MAX => named,
        _ => format!("{} teams tie at {mean}", leaders.len()),
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

pub(super) fn team_id(place: usize) -> TeamId {
    TeamId(u16::try_from(place).unwrap_or(u16::MAX))
}

fn row(ui: &mut Ui, cx: &mut PanelContext<'_>, place: usize, rising: &Rising, height: f32) {
    let (scene, colors) = (cx.scene(), cx.colors);
    let team = &scene.teams[place];
    let id = team_id(place);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::click());
    if response.hovered() {
        ui.painter().rect_filled(rect, 4.0, colors.well);
    }
    let tint = colors.team(id);
    let is_tall = height >= TALL_ROW;
    let (name_rect, lane) = match is_tall {
        true => (
            rect.with_max_y(rect.bottom() - LANE),
            rect.with_min_y(rect.bottom() - LANE),
        ),
        false => {
            let edge = lerp(rect.x_range(), NAME_SHARE);
            let inset = (height - LANE) / 2.0;
            let lane = rect.with_min_x(edge + 4.0).shrink2(vec2(0.0, inset));
            (rect.with_max_x(edge), lane)
        }
    };
    {
        let ui = &mut ui.new_child(UiBuilder::new().max_rect(name_rect));
        let name = |ui: &mut Ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            theme::swatch(ui, &colors, tint, SWATCH);
            truncated(ui, RichText::new(&*team.name).strong());
        };
        let agents = |ui: &mut Ui| {
            if is_tall {
                let agents = format!("{} agents", short(team.agents.into()));
                ui.label(RichText::new(agents).small().color(colors.weak));
            }
        };
        Sides::new()
            .height(name_rect.height())
            .shrink_left()
            .show(ui, name, agents);
    }
    paint_lane(ui, &colors, lane, team, tint, runner(id, team, rising));
    let response = response.on_hover_ui(|ui| tip(ui, cx, id, team));
    if response.clicked()
        && let Some(agent) = best_agent(&scene.agents, place)
    {
        cx.request(Intent::Visit(Selection::Agent(agent.id)));
    }
}

/// A lane of eight levels with the number of agents of each, filled as far as the team has come.
fn paint_lane(ui: &Ui, colors: &Colors, lane: Rect, team: &SceneTeam, tint: Color32, at: f32) {
    let painter = ui.painter();
    painter.rect_filled(lane, 4.0, colors.well);
    let x_at = |level: f32| lerp(lane.x_range(), level / 8.0);
    let done = lane.with_max_x(x_at(at.min(8.0)));
    if at > 0.0 {
        painter.rect_filled(done, 4.0, tint.gamma_multiply(0.5));
        let runner = Rect::from_center_size(pos2(done.right(), lane.center().y), vec2(4.0, LANE + 4.0));
        painter.rect(runner, 2.0, tint, colors.rim(tint), StrokeKind::Inside);
    }
    for (place, &agents) in team.by_level.iter().enumerate() {
        let (left, right) = (x_at(place as f32), x_at(place as f32 + 1.0));
        let (shade, width) = match place {
            7 => (colors.gold, 2.0),
            _ => (colors.edge, 1.0),
        };
        painter.vline(right - width / 2.0, lane.y_range(), Stroke::new(width, shade));
        if agents > 0 {
            let at = pos2((left + right) / 2.0, lane.center().y);
            painter.text(
                at,
                Align2::CENTER_CENTER,
                short(agents.into()),
                FontId::proportional(11.5),
                colors.text,
            );
        }
    }
}

fn tip(ui: &mut Ui, cx: &PanelContext<'_>, id: TeamId, team: &SceneTeam) {
    let server = cx.stats.as_ref().and_then(|stats| stats.server.as_ref());
    let figures = server.and_then(|server| server.teams.get(usize::from(id.0)));
    let places = figures.map_or(team.eggs, |figures| figures.places);
    let food = grouped(team.carried[Resource::Food.index()].into());
    ui.label(RichText::new(&*team.name).strong());
    ui.label(format!(
        "{} agents, {places} free places, {food} food carried",
        team.agents
    ));
    for (level, &count) in team.by_level.iter().enumerate().filter(|(_, count)| **count > 0) {
        ui.label(format!("{count} of level {}", level + 1));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leads_the_race_leads_and_a_tie_is_named() {
        let team = |name: &str, by_level| SceneTeam {
            name: name.into(),
            by_level,
            ..SceneTeam::default()
        };
        let (many, high) = ([5, 0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 6, 0, 0, 0, 0]);
        let headline = |teams: &[SceneTeam]| tie(teams, &leaders(teams));
        let mut teams = vec![team("low", many), team("red", high)];
        assert_eq!(leaders(&teams), [1]);
        teams.push(team("blue", high));
        assert_eq!(headline(&teams), "red and blue tie at 4.0");
        teams.push(team("a team with a long name", high));
        assert_eq!(headline(&teams), "3 teams tie at 4.0");
        assert_eq!(headline(&[team("red", [0; 8])]), "no team leads yet");
    }

    #[test]
    fn a_runner_is_the_mean_level_of_the_six_best_with_the_progress_of_their_elevation() {
        let (id, level) = (TeamId(0), |number| Level::new(number).unwrap());
        let team = SceneTeam {
            by_level: [3, 4, 2, 0, 0, 0, 0, 0],
            ..SceneTeam::default()
        };
        assert_eq!(runner(id, &team, &Rising::new()), 14.0 / 6.0);
        // Two of level 2 are half way, and three of level 1 are none of the six.
        let rising = Rising::from([((id, level(2)), (2, 1.0)), ((id, level(1)), (3, 3.0))]);
        assert_eq!(runner(id, &team, &rising), 15.0 / 6.0);
        assert_eq!(runner(TeamId(1), &SceneTeam::default(), &rising), 0.0);
    }
}
