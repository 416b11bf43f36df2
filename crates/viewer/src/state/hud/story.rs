//! The story of a match once it is over: the race, the turning points, and how each team lived.
//!
//! ```text
//! ♛ red wins                                    0:36
//! RACE           the plot
//! TURNING POINTS three pictures, which lead there in a recording
//! TEAMS          mean level, deaths, time without a command
//! ```
//!
//! A window that has no room for all of it has no pictures, and then only what comes first.

use std::cmp::Reverse;

use egui::{
    Align2, Color32, Context, FontId, Id, Key, LayerId, Order, Painter, Pos2, Rect, Response, RichText,
    Sense, Sides, Stroke, Ui, vec2,
};
use glam::Vec2;
use trantor_client::Scene;
use trantor_model::{AgentId, Level, TeamId, Tile, WINNING_AGENTS};
use trantor_protocol::wire::MarkKind;
use trantor_render::picture::palette::Theme;
use trantor_render::picture::torus::TorusWindow;
use trantor_time::{GameSpan, GameTime, RealSpan, RealTime};

use super::feed::{self, Line};
use super::icons::{CROWN, PERSON, Pen};
use super::layout::EDGE;
use super::teams::{self, team_id};
use super::theme::{self, Colors, match_time, text, truncated};
use super::{Hud, PanelContext, score};
use crate::input::Action;
use crate::intent::Intent;

/// How long the winners are seen before the story.
const AFTER: RealSpan = RealSpan::from_secs(3);
/// How long before a turning point a jump leads: an elevation is half done.
const BEFORE: GameSpan = GameSpan::from_units(150);
/// The keys of the turning points that lead there, and so how many there are.
const KEYS: [Key; 3] = [Key::Num1, Key::Num2, Key::Num3];

/// Width of what is in the card, in points: wider, lines of the plot and rows of the table are hard to follow.
const WIDTH_MAX: f32 = 640.0;
/// Heights of the sections with their headings, in points.
const HEAD: f32 = 40.0;
const FOOT: f32 = 26.0;
const HEADING: f32 = 24.0;
const ROW: f32 = 20.0;
const PLOT_AROUND: f32 = 44.0;
const PLOT: [f32; 2] = [54.0, 110.0];
/// Lines in the plot at most, those of the best: more cannot be distinguished.
const LINES_MAX: usize = 10;
const PICTURE: egui::Vec2 = vec2(208.0, 96.0);
/// Least width of a picture whose words can be read, and height of its words.
const PICTURE_WIDTH_LEAST: f32 = 160.0;
const PICTURE_WORDS: f32 = 58.0;
/// Teams from which on they stand in two columns; the gap between these, and the width of a figure.
const TWO_COLUMNS_FROM: usize = 4;
const COLUMN_GAP: f32 = 32.0;
const FIGURE: f32 = 46.0;
/// Part of its time that the slowest team is idle, from which on it is noted.
const IDLE_NOTED: f64 = 0.01;
const TABLE_TIP: &str = "Mean level of the six best; deaths; part of the time in which agents were free and had no \
                         command, the most in yellow. As far as this viewer has seen the match.";

/// Points of a tile in a picture.
const TILE: f32 = 24.0;
/// Agents in a picture: more would be a blot.
const AGENTS_MAX: usize = 48;
/// Tiles that a picture reaches to each side.
const REACH: Vec2 = Vec2::new(PICTURE.x / TILE / 2.0 + 0.5, PICTURE.y / TILE / 2.0 + 0.5);
/// From an event to the scene of which its picture is made, at most: later all have gone on.
const FRESH: GameSpan = GameSpan::from_units(300);

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

/// The agents around the place of a deed, from above.
#[derive(Clone, Debug)]
pub(super) struct Vignette {
    middle: Tile,
    /// Where they were from there, and their teams.
    agents: Vec<(Vec2, TeamId)>,
}

impl Vignette {
    /// Of an event at `at` on a tile, or where an agent is; `None` if that is not known any more.
    pub(super) fn of(scene: &Scene, at: GameTime, tile: Option<Tile>, by: Option<AgentId>) -> Option<Self> {
        let window = TorusWindow::whole(scene.ground.as_ref()?.size);
        let middle = tile.or_else(|| Some(scene.agent(by?)?.tile))?;
        let from = Vec2::new(f32::from(middle.x), f32::from(middle.y));
        let off = |x, y| window.shortest(from, Vec2::new(x, y));
        let agents = scene
            .agents
            .iter()
            .map(|agent| (off(agent.x, agent.y), agent.team));
        let near = agents.filter(|(off, _)| off.abs().cmplt(REACH).all());
        (scene.clock.game - at <= FRESH).then(|| Self {
            middle,
            agents: near.take(AGENTS_MAX).collect(),
        })
    }

    fn paint(&self, painter: &Painter, colors: &Colors, middle: Pos2) {
        for (number, &(off, team)) in self.agents.iter().enumerate() {
            // Those on one tile stand around its middle.
            let before = self.agents[..number].iter().filter(|other| other.0 == off);
            let turn = before.count() as f32 * std::f32::consts::TAU / WINNING_AGENTS as f32;
            let at = middle + (vec2(off.x, off.y) + 0.45 * egui::Vec2::angled(turn)) * TILE;
            Pen::new(painter, at, 18.0).icon(PERSON, Color32::from_black_alpha(200));
            Pen::new(painter, at, 14.5).icon(PERSON, colors.team(team));
        }
    }
}

/// Shows the story in the middle of the window; returns its rectangle.
pub(super) fn show(context: &Context, cx: &mut PanelContext<'_>, hud: &Hud) -> Rect {
    let window = context.content_rect();
    let shade = LayerId::new(Order::Background, Id::unique("story-shade"));
    context
        .layer_painter(shade)
        .rect_filled(window, 0.0, Color32::from_black_alpha(120));
    let mut room = window.shrink(EDGE.min(window.width() * 0.03));
    // Above the timeline, and below what the connection says.
    for card in &hud.cards {
        match card.top() > window.center().y {
            true => room.max.y = room.max.y.min(card.top() - 8.0),
            false => room.min.y = room.min.y.max(card.bottom() + 8.0),
        }
    }
    let card = cx.colors.upper_card();
    let around = card.total_margin().sum();
    let width = (room.width() - around.x).min(WIDTH_MAX);
    let area = theme::area("story", Order::Middle, Align2::CENTER_CENTER, room.center());
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
    let winner = scene.winner.map(|team| usize::from(team.0));
    let mut standings: Vec<usize> = (0..scene.teams.len()).collect();
    standings.sort_by_key(|&team| Reverse((Some(team) == winner, teams::standing(&scene.teams[team]))));
    let points = hud.feed.turning_points(KEYS.len());

    // What there is room for: turning points, the best team, the plot, pictures, more teams, and then a higher plot.
    let mut free = height - HEAD - FOOT;
    let mut take = |wanted: f32, is_wanted: bool| {
        let fits = is_wanted && wanted <= free;
        free -= if fits { wanted } else { 0.0 };
        fits
    };
    let lines = ROW * points.len() as f32;
    let has_points = take(HEADING + lines, !points.is_empty());
    let has_table = take(HEADING + ROW, !standings.is_empty());
    let has_plot = take(PLOT_AROUND + PLOT[0], true);
    let is_wide = width >= PICTURE_WIDTH_LEAST * KEYS.len() as f32;
    let has_pictures = take(PICTURE.y + PICTURE_WORDS - lines, has_points && is_wide);
    let columns = 1 + usize::from(standings.len() >= TWO_COLUMNS_FROM && is_wide);
    let rows = standings.len().div_ceil(columns).min(1 + (free / ROW) as usize);
    let plot = (PLOT[0] + free - ROW * (rows as f32 - 1.0)).min(PLOT[1]);

    head(ui, cx);
    if has_plot {
        let best = &standings[..standings.len().min(LINES_MAX)];
        hud.score.show(ui, &cx.colors, &scene.teams, best, plot);
    }
    let recording = cx.state.source.recording().filter(|_| has_points);
    if has_points {
        theme::heading(ui, &cx.colors, "Turning points");
        let mut chosen = Vec::new();
        match has_pictures {
            true => ui.columns(KEYS.len(), |columns| {
                for (ui, line) in columns.iter_mut().zip(&points) {
                    let is_chosen = picture(ui, cx, line).clicked();
                    chosen.push(feed::show_line(ui, cx, line, 3).clicked() || is_chosen);
                }
            }),
            false => chosen.extend(
                points
                    .iter()
                    .map(|line| feed::show_line(ui, cx, line, 1).clicked()),
            ),
        }
        let is_typing = ui.ctx().egui_wants_keyboard_input();
        let is_pressed = |key| !is_typing && ui.input(|input| input.key_pressed(key));
        let mut chosen = points.iter().zip(chosen).zip(KEYS);
        let chosen = chosen.find(|((_, is_clicked), key)| *is_clicked || is_pressed(*key));
        if let (Some(((line, _), _)), Some(_)) = (chosen, recording) {
            let units = i64::try_from(line.units).unwrap_or(i64::MAX);
            let tile = line.vignette.as_ref().map(|vignette| vignette.middle);
            cx.request(Intent::Revisit(
                GameTime::from_units(units) - BEFORE,
                tile.or(line.tile),
            ));
        }
    }
    if has_table {
        standings.truncate(rows * columns);
        table(ui, cx, hud, &standings, columns);
    }
    let keys = recording.map_or("", |_| "1, 2, 3: see it again");
    let close = |ui: &mut Ui| ui.button("Esc: back to the board").clicked();
    let ((), is_closed) = Sides::new().show(ui, |ui| drop(ui.weak(keys)), close);
    if is_closed {
        cx.request(Intent::Do(Action::Clear));
    }
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

/// Where a turning point happened, and who was there.
fn picture(ui: &mut Ui, cx: &PanelContext<'_>, line: &Line) -> Response {
    let size = vec2(ui.available_width(), PICTURE.y);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let (painter, colors, middle) = (ui.painter_at(rect), &cx.colors, rect.center());
    let ground = match cx.state.theme() {
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
    let tint = line.team.map_or(colors.gold, |team| colors.team(team));
    let ring = if line.has_failed() {
        colors.alarm
    } else {
        colors.gold_fill
    };
    painter.circle(
        middle,
        TILE * 1.3,
        tint.gamma_multiply(0.35),
        Stroke::new(2.0, ring),
    );
    match &line.vignette {
        Some(vignette) => vignette.paint(&painter, colors, middle),
        None => Pen::new(&painter, middle, 26.0).icon(line.icon(), Color32::WHITE),
    }
    response
}

/// How each team lived: the mean level of its six best, its deaths, and the time without a command.
fn table(ui: &mut Ui, cx: &PanelContext<'_>, hud: &Hud, standings: &[usize], columns: usize) {
    let (colors, teams) = (&cx.colors, &cx.scene().teams);
    let tally = |place: usize| hud.tallies.get(&team_id(place)).copied().unwrap_or_default();
    // A recording knows all deaths; a viewer of a live match those that it has seen.
    let deaths = |place: usize| match cx.state.source.recording() {
        Some(recording) => {
            let died = MarkKind::Died { team: team_id(place) };
            let deaths = recording.marks().iter().filter(|mark| mark.kind == died);
            deaths.map(|mark| mark.count).sum()
        }
        None => tally(place).deaths,
    };
    let shares = (0..teams.len()).filter_map(|place| tally(place).idle_share());
    let most = shares.fold(IDLE_NOTED, f64::max);
    let row = |ui: &mut Ui, figures: [String; 3], shades: [Color32; 2], name: &dyn Fn(&mut Ui)| {
        let [shade, last_shade] = shades;
        let shades = [shade, shade, last_shade];
        Sides::new().height(ROW).shrink_left().show(ui, name, |ui| {
            for (figure, shade) in figures.iter().zip(shades).rev() {
                let (rect, _) = ui.allocate_exact_size(vec2(FIGURE, ROW), Sense::hover());
                let (at, font) = (rect.right_center(), FontId::proportional(13.0));
                ui.painter().text(at, Align2::RIGHT_CENTER, figure, font, shade);
            }
        });
    };
    let column = |ui: &mut Ui, standings: &[usize]| {
        ui.spacing_mut().item_spacing = vec2(6.0, 0.0);
        let names = ["level", "deaths", "idle"].map(str::to_owned);
        row(ui, names, [colors.weak; 2], &|ui| {
            theme::heading(ui, colors, "Teams");
        });
        for &place in standings {
            let share = tally(place).idle_share();
            let shade = if share >= Some(most) {
                colors.gold
            } else {
                colors.text
            };
            let share = share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0));
            let level = score::mean_text(Level::score(&teams[place].by_level));
            let figures = [level, deaths(place).to_string(), share];
            row(ui, figures, [colors.text, shade], &|ui| {
                theme::swatch(ui, colors, colors.team(team_id(place)), 9.0);
                truncated(ui, RichText::new(&*teams[place].name));
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
