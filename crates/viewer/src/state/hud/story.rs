//! The story of a match once it is over: why it went so, how each team lived, the race, and the turning points.
//!
//! ```text
//! ♛ red wins                                    0:36
//! caravan stood at level 4 for 20 s: no phiras.
//! TEAMS          mean level, deaths, idle time, levels that it was first to have
//! TURNING POINTS three pictures, which lead there in a recording
//! RACE           the plot
//! ```
//!
//! All figures are the match's own ([`trantor_model::MatchTotals`]), however much of it was seen. The card is beside the
//! winners; a window that has no room for all of it has no pictures, and then only what comes first.

use std::cmp::Reverse;

use egui::{
    Align2, Color32, Context, FontId, Key, Label, Order, Painter, Pos2, Rect, Response, RichText, Sense,
    Sides, Stroke, Ui, vec2,
};
use glam::Vec2;
use trantor_client::Scene;
use trantor_model::totals::{Cause, TURNING_POINTS_MAX, TurningPoint};
use trantor_model::{Level, MatchTotals, TeamId, TeamTotals, WINNING_AGENTS};
use trantor_render::picture::palette::Theme;
use trantor_render::picture::torus::TorusWindow;
use trantor_time::{GameSpan, RealSpan, RealTime};

use super::feed::{self, Row};
use super::icons::{self, CROWN, Icon, PERSON, Pen};
use super::layout::EDGE;
use super::teams::{self, team_id};
use super::theme::{self, match_time, text, truncated};
use super::{Hud, PanelContext, score};
use crate::input::Action;
use crate::intent::Intent;

/// How long the winners are seen before the story.
const AFTER: RealSpan = RealSpan::from_secs(3);
/// How long before a turning point a jump leads: an elevation is half done.
const BEFORE: GameSpan = GameSpan::from_units(150);
/// The keys of the turning points that lead there.
const KEYS: [Key; TURNING_POINTS_MAX] = [Key::Num1, Key::Num2, Key::Num3];

/// Width of the card, in points: wider, lines of the plot and rows of the table are hard to follow. As a part of the window,
/// so that the winners have the other part; and the least width of a window that has both.
const WIDTH_MAX: f32 = 640.0;
const SHARE: f32 = 0.52;
const BESIDE_FROM: f32 = 560.0;
/// Heights of the sections with their headings, in points.
const HEAD: f32 = 40.0;
const FOOT: f32 = 26.0;
const HEADING: f32 = 24.0;
const ROW: f32 = 20.0;
const WHY: f32 = 42.0;
const PLOT_AROUND: f32 = 44.0;
const PLOT: [f32; 2] = [54.0, 110.0];
/// Lines in the plot at most, those of the best: more cannot be distinguished.
const LINES_MAX: usize = 10;
const PICTURE: egui::Vec2 = vec2(208.0, 96.0);
/// Least width of a picture whose words can be read, and height of its words.
const PICTURE_WIDTH_LEAST: f32 = 160.0;
const PICTURE_WORDS: f32 = 58.0;
/// Rows of the table at most, and those that come before the turning points.
const ROWS_MAX: usize = 10;
const ROWS_FIRST: usize = 6;
/// Teams from which on they stand in two columns where there is room; the gap between these, and the widths of the figures.
const TWO_COLUMNS_FROM: usize = 6;
const TWO_COLUMNS_WIDTH: f32 = 560.0;
const COLUMN_GAP: f32 = 32.0;
const FIGURES: [f32; 4] = [38.0, 44.0, 40.0, 46.0];
/// Part of its time that the slowest team is idle, from which on it is noted.
const IDLE_NOTED: f64 = 0.01;
const TABLE_TIP: &str = "Mean level of the six best; agents that died; part of the time in which agents were free and had no \
                         command, the most in yellow; levels that the team was first to reach. As the match counted it: – \
                         where this server does not say.";
/// Shown in the place of a figure that is not known.
const UNKNOWN: &str = "–";

/// Points of a tile in a picture.
const TILE: f32 = 24.0;

/// When the story opens, and whether the user has closed it.
#[derive(Debug, Default)]
pub(super) struct Story {
    won_at: Option<RealTime>,
    pub is_open: bool,
    is_closed: bool,
}

impl Story {
    pub(super) fn follow(&mut self, scene: &Scene, now: RealTime) {
        if scene.winner.is_none() {
            return *self = Self::default();
        }
        let won_at = *self.won_at.get_or_insert(now);
        self.is_open = !self.is_closed && now.since(won_at) >= AFTER;
    }

    pub(super) fn close(&mut self) -> bool {
        self.is_closed = self.won_at.is_some();
        std::mem::take(&mut self.is_open)
    }
}

/// The left edge of the card in a window of `size` points, if something is beside it.
pub(super) fn left(size: egui::Vec2) -> Option<f32> {
    (size.x >= BESIDE_FROM).then(|| size.x - EDGE - (size.x * SHARE).min(WIDTH_MAX))
}

/// Shows the story on the right of the window; returns its rectangle.
pub(super) fn show(context: &Context, cx: &mut PanelContext<'_>, hud: &Hud) -> Rect {
    let window = context.content_rect();
    let mut room = window.shrink(EDGE.min(window.width() * 0.03));
    room.min.x = left(window.size()).unwrap_or(room.min.x);
    // Above the timeline, and below what the connection says.
    let side = room.left();
    for card in hud.cards.iter().filter(|card| card.right() > side) {
        match card.top() > window.center().y {
            true => room.max.y = room.max.y.min(card.top() - 8.0),
            false => room.min.y = room.min.y.max(card.bottom() + 8.0),
        }
    }
    let card = cx.colors.upper_card();
    let around = card.total_margin().sum();
    let width = (room.width() - around.x).max(1.0);
    let area = theme::area("story", Order::Middle, Align2::RIGHT_CENTER, room.right_center());
    let card = card.stroke(Stroke::new(2.0, cx.colors.gold_fill));
    let laid = theme::show_card(context, area, card, |ui| {
        ui.set_width(width);
        ui.spacing_mut().item_spacing.y = 4.0;
        content(ui, cx, hud, room.height() - around.y);
    });
    laid.response.rect
}

fn content(ui: &mut Ui, cx: &mut PanelContext<'_>, hud: &Hud, height: f32) {
    let (scene, width) = (cx.scene(), ui.available_width());
    let totals = scene.totals.as_deref();
    let winner = scene.winner.map(|team| usize::from(team.0));
    let mut standings: Vec<usize> = (0..scene.teams.len()).collect();
    standings.sort_by_key(|&team| Reverse((Some(team) == winner, team_score(scene, team))));
    let points = totals.map_or(&[][..], |totals| &totals.turning_points);
    let why = totals.and_then(|totals| totals.why_text(scene.winner, |team| cx.team_name(team)));

    // What there is room for: why, the teams, turning points, the plot, pictures, and then a higher plot.
    let mut free = height - HEAD - FOOT;
    let mut take = |wanted: f32, is_wanted: bool| {
        let fits = is_wanted && wanted <= free;
        free -= if fits { wanted } else { 0.0 };
        fits
    };
    let has_why = take(WHY, why.is_some());
    let columns = 1 + usize::from(standings.len() >= TWO_COLUMNS_FROM && width >= TWO_COLUMNS_WIDTH);
    let has_table = take(HEADING + ROW, !standings.is_empty());
    let wanted = standings.len().div_ceil(columns).clamp(1, ROWS_MAX);
    let mut rows = (1..=wanted.min(ROWS_FIRST))
        .take_while(|&row| row == 1 || take(ROW, true))
        .count();
    let lines = ROW * points.len() as f32;
    let has_points = take(HEADING + lines, !points.is_empty());
    rows += (rows..wanted).take_while(|_| take(ROW, true)).count();
    let has_plot = take(PLOT_AROUND + PLOT[0], true);
    let is_wide = width >= PICTURE_WIDTH_LEAST * KEYS.len() as f32;
    let has_pictures = take(PICTURE.y + PICTURE_WORDS - lines, has_points && is_wide);
    let plot = (PLOT[0] + free).min(PLOT[1]);

    head(ui, cx);
    if let Some(why) = why.filter(|_| has_why) {
        ui.add(Label::new(RichText::new(format!("{why}."))).wrap());
    }
    if has_table {
        let shown = &standings[..standings.len().min(rows * columns)];
        table(ui, cx, shown, columns);
    }
    let recording = cx.state.source.recording().filter(|_| has_points);
    if has_points {
        theme::heading(ui, &cx.colors, "Turning points");
        let mut chosen = Vec::new();
        match has_pictures {
            true => ui.columns(KEYS.len(), |columns| {
                for (ui, point) in columns.iter_mut().zip(points) {
                    let is_chosen = picture(ui, cx, point).clicked();
                    chosen.push(line(ui, cx, point, 3).clicked() || is_chosen);
                }
            }),
            false => chosen.extend(points.iter().map(|point| line(ui, cx, point, 1).clicked())),
        }
        let is_typing = ui.ctx().egui_wants_keyboard_input();
        let is_pressed = |key| !is_typing && ui.input(|input| input.key_pressed(key));
        let mut chosen = points.iter().zip(chosen).zip(KEYS);
        let chosen = chosen.find(|((_, is_clicked), key)| *is_clicked || is_pressed(*key));
        if let (Some(((point, _), _)), Some(_)) = (chosen, recording) {
            cx.request(Intent::Revisit(point.at - BEFORE, Some(point.tile)));
        }
    }
    if has_plot {
        let best = &standings[..standings.len().min(LINES_MAX)];
        hud.score.show(ui, &cx.colors, &scene.teams, best, plot);
    }
    let keys = recording.map_or("", |_| "1, 2, 3: see it again");
    let close = |ui: &mut Ui| ui.button("Esc: back to the board").clicked();
    let ((), is_closed) = Sides::new().show(ui, |ui| drop(ui.weak(keys)), close);
    if is_closed {
        cx.request(Intent::Do(Action::Clear));
    }
}

/// The score with which a team ended, of the match or as it is seen.
fn team_score(scene: &Scene, team: usize) -> u64 {
    let totals = scene.totals.as_ref().and_then(|totals| totals.teams.get(team));
    totals.map_or_else(|| teams::standing(&scene.teams[team]), |team| team.score)
}

/// Who has won, and when.
fn head(ui: &mut Ui, cx: &PanelContext<'_>) {
    let (scene, colors) = (cx.scene(), &cx.colors);
    let Some(winner) = scene.winner else { return };
    let time = text(match_time(scene.clock.game.whole_units()), 16.0, colors.weak);
    let name = |ui: &mut Ui| {
        theme::icon(ui, vec2(24.0, 30.0), 22.0, |pen| pen.icon(CROWN, colors.gold));
        theme::swatch(ui, colors, colors.team(winner), 12.0);
        let words = format!("{} wins", cx.team_name(winner));
        truncated(ui, RichText::new(words).size(24.0).strong());
    };
    Sides::new()
        .shrink_left()
        .show(ui, name, |ui| drop(ui.label(time)));
}

/// What happened at a turning point, in words, with the team that it is about.
fn describe(point: &TurningPoint, cx: &PanelContext<'_>) -> (String, Option<TeamId>, Icon) {
    let name = |team: TeamId| cx.team_name(team);
    match point.cause {
        Cause::Lead { team, from } => {
            let from = from
                .map(|from| format!(" from {}", name(from)))
                .unwrap_or_default();
            (
                format!("{} took the lead{from}", name(team)),
                Some(team),
                icons::ROSE,
            )
        }
        Cause::Broke {
            team,
            level,
            pushed_away,
        } => {
            let text = feed::broken(team.map(name).as_deref(), level, pushed_away);
            (text, team, icons::ELEVATION)
        }
        Cause::Died { who, level } => {
            let text = format!(
                "{}: #{} died at level {}",
                name(who.team),
                who.agent.0,
                level.get()
            );
            (text, Some(who.team), icons::DIED)
        }
        Cause::Stood { team, level } => {
            let text = format!(
                "{} reached level {}, and lost its time there",
                name(team),
                level.get()
            );
            (text, Some(team), PERSON)
        }
        Cause::LastStep { team } => {
            let text = format!("{} reached level 7: one more and they win", name(team));
            (text, Some(team), icons::ROSE)
        }
    }
}

/// A turning point as a line of at most so many rows.
fn line(ui: &mut Ui, cx: &PanelContext<'_>, point: &TurningPoint, rows: usize) -> Response {
    let (words, team, icon) = describe(point, cx);
    let row = Row {
        units: point.at.whole_units(),
        text: &words,
        team,
        icon,
    };
    feed::show_row(ui, cx, &row, rows).on_hover_text(words.as_str())
}

/// Where a turning point happened, and who was there.
fn picture(ui: &mut Ui, cx: &PanelContext<'_>, point: &TurningPoint) -> Response {
    let size = vec2(ui.available_width(), PICTURE.y);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let (painter, colors, middle) = (ui.painter_at(rect), &cx.colors, rect.center());
    let ground = match cx.state.settings.shown_theme() {
        Theme::Dark => Color32::from_rgb(0x33, 0x55, 0x4C),
        Theme::Light => Color32::from_rgb(0x8C, 0xB4, 0x76),
    };
    painter.rect_filled(rect, 0.0, ground);
    let tiles = (-5i8..=5).flat_map(|x| (-2i8..=2).map(move |y| (x, y)));
    for (x, y) in tiles.filter(|(x, y)| (x + y) % 2 == 0) {
        let tile = middle + vec2(f32::from(x), f32::from(y)) * TILE;
        let tile = Rect::from_center_size(tile, egui::Vec2::splat(TILE));
        painter.rect_filled(tile, 0.0, Color32::from_white_alpha(10));
    }
    let (_, team, icon) = describe(point, cx);
    let tint = team.map_or(colors.gold, |team| colors.team(team));
    let ring = match point.cause {
        Cause::Broke { .. } | Cause::Died { .. } => colors.alarm,
        _ => colors.gold_fill,
    };
    let stroke = Stroke::new(2.0, ring);
    painter.circle(middle, TILE * 1.3, tint.gamma_multiply(0.35), stroke);
    match point.nearby.is_empty() {
        true => Pen::new(&painter, middle, 26.0).icon(icon, Color32::WHITE),
        false => paint_nearby(&painter, cx, point, middle),
    }
    response
}

/// The agents around, those on one tile around its middle.
fn paint_nearby(painter: &Painter, cx: &PanelContext<'_>, point: &TurningPoint, middle: Pos2) {
    let Some(ground) = &cx.scene().ground else { return };
    let window = TorusWindow::whole(ground.size);
    let place = |tile: trantor_model::Tile| Vec2::new(f32::from(tile.x), f32::from(tile.y));
    for (number, &(tile, team)) in point.nearby.iter().enumerate() {
        let before = point.nearby[..number].iter().filter(|other| other.0 == tile);
        let turn = before.count() as f32 * std::f32::consts::TAU / WINNING_AGENTS as f32;
        let off = window.shortest(place(point.tile), place(tile));
        let at = middle + (vec2(off.x, off.y) + 0.45 * egui::Vec2::angled(turn)) * TILE;
        Pen::new(painter, at, 18.0).icon(PERSON, Color32::from_black_alpha(200));
        Pen::new(painter, at, 14.5).icon(PERSON, cx.colors.team(team));
    }
}

/// What the table says of a team: mean level, deaths, idle time, and the levels that it was first to reach.
pub(super) fn figures(scene: &Scene, place: usize) -> [String; 4] {
    let level = score::mean_text(team_score(scene, place));
    let totals = scene.totals.as_deref().filter(|totals| totals.is_whole());
    let known = totals.and_then(|totals| Some((totals, totals.teams.get(place)?)));
    let Some((totals, team)) = known else {
        let unknown = || UNKNOWN.to_owned();
        return [level, unknown(), unknown(), unknown()];
    };
    let idle = team.idle_share().map_or_else(|| UNKNOWN.to_owned(), percent);
    [level, team.died.to_string(), idle, firsts(totals, team_id(place))]
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The levels above the first that a team was first to reach, as "2–4 7".
fn firsts(totals: &MatchTotals, team: TeamId) -> String {
    let mut runs: Vec<[u8; 2]> = Vec::new();
    for number in 2..=Level::LAST.get() {
        let first = Level::new(number).ok().and_then(|level| totals.first_to(level));
        match (first.is_some_and(|(first, _)| first == team), runs.last_mut()) {
            (true, Some(run)) if run[1] + 1 == number => run[1] = number,
            (true, _) => runs.push([number; 2]),
            (false, _) => {}
        }
    }
    let runs = runs.into_iter().map(|[from, to]| match from == to {
        true => from.to_string(),
        false => format!("{from}–{to}"),
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// How each team lived.
fn table(ui: &mut Ui, cx: &PanelContext<'_>, standings: &[usize], columns: usize) {
    let (colors, scene) = (&cx.colors, cx.scene());
    let totals = scene.totals.as_deref().filter(|totals| totals.is_whole());
    let idle_of = |place: usize| totals?.teams.get(place).and_then(TeamTotals::idle_share);
    let shares = (0..scene.teams.len()).filter_map(idle_of);
    let most = shares.fold(IDLE_NOTED, f64::max);
    let row = |ui: &mut Ui, figures: &[String; 4], shades: [Color32; 2], name: &dyn Fn(&mut Ui)| {
        let [shade, idle_shade] = shades;
        let shades = [shade, shade, idle_shade, shade];
        Sides::new().height(ROW).shrink_left().show(ui, name, |ui| {
            for ((figure, shade), width) in figures.iter().zip(shades).zip(FIGURES).rev() {
                let (rect, _) = ui.allocate_exact_size(vec2(width, ROW), Sense::hover());
                let (at, font) = (rect.right_center(), FontId::proportional(13.0));
                ui.painter().text(at, Align2::RIGHT_CENTER, figure, font, shade);
            }
        });
    };
    let left_out = scene.teams.len() - standings.len();
    let column = |ui: &mut Ui, standings: &[usize]| {
        ui.spacing_mut().item_spacing = vec2(6.0, 0.0);
        let names = ["level", "deaths", "idle", "first to"].map(str::to_owned);
        row(ui, &names, [colors.weak; 2], &|ui| {
            theme::heading(ui, colors, "Teams");
            if left_out > 0 {
                ui.label(RichText::new(format!("and {left_out} more")).small().weak());
            }
        });
        for &place in standings {
            let shade = match idle_of(place) >= Some(most) {
                true => colors.gold,
                false => colors.text,
            };
            row(ui, &figures(scene, place), [colors.text, shade], &|ui| {
                theme::swatch(ui, colors, colors.team(team_id(place)), 9.0);
                truncated(ui, RichText::new(&*scene.teams[place].name));
            });
        }
    };
    let laid = ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = COLUMN_GAP;
        let parts = standings.chunks(standings.len().div_ceil(columns));
        ui.columns(columns, |columns| {
            (columns.iter_mut().zip(parts)).for_each(|(ui, part)| column(ui, part));
        });
    });
    laid.response.on_hover_text(TABLE_TIP);
}
