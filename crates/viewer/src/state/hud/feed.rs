//! The events of the match as lines, newest first, for the panel and the terminal.
//!
//! An event has one line, with its team and what it means: of an elevation only the end is listed, and events of a team that
//! follow each other closely share a line. Only text for people is listed ([`words::is_for_people`]); the inspector has
//! the rest.

use std::collections::{BTreeMap, VecDeque};

use egui::text::TextWrapping;
use egui::{
    Align, Align2, Context, Label, Layout, Margin, Order, Rect, Response, RichText, Sense, TextStyle, Ui,
    pos2, vec2,
};
use trantor_client::{ElevationOutcome, FeedEntry, FeedKind, Scene, SceneTeam, Who};
use trantor_model::{AgentId, Level, TeamId, Tile, WINNING_AGENTS};

use super::icons::{self, Icon, Pen};
use super::layout::EDGE;
use super::theme::{self, grouped, match_time, text};
use super::{PanelContext, words};
use crate::intent::{Intent, Selection};

/// Lines kept: more than a screen has rows.
const LINES_MAX: usize = 200;
/// Characters of a broadcast in a line: the room beside time and team in a terminal of usual width.
const LINE_CHARS_MAX: usize = 60;
/// Characters of a broadcast in the tooltip: the limit of our servers.
pub(super) const TEXT_CHARS_MAX: usize = 256;

/// Units within which all who rise with an elevation are listed.
const ELEVATION_UNITS: i128 = 10;
/// Broadcasts of a line that are kept as they were sent.
const SAID_MAX: usize = 6;

#[derive(Clone, Debug, Default)]
pub struct EventFeed {
    lines: VecDeque<Line>,
    /// When a team first reached a level, in whole units.
    reached: BTreeMap<(TeamId, Level), i128>,
    is_won: bool,
}

/// One or several equal events.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// When the last of them happened, in whole units.
    pub(super) units: i128,
    /// When it took its place in the list, in whole units.
    placed: i128,
    kind: FeedKind,
    text: String,
    pub(super) team: Option<TeamId>,
    agent: Option<AgentId>,
    pub(super) tile: Option<Tile>,
    count: u32,
    /// Whether its team had not reached the level before, and whether no other team had.
    is_new: bool,
    is_first: bool,
    /// The last broadcasts, newest first.
    said: VecDeque<(AgentId, Box<[u8]>)>,
}

impl Line {
    /// The line of a single event, without its text; `None` for what is not listed.
    fn of(entry: &FeedEntry) -> Option<Self> {
        let mut said = VecDeque::new();
        let (team, agent, tile) = match &entry.kind {
            FeedKind::Said(_, words) if !words::is_for_people(words) => return None,
            FeedKind::Said(who, words) => {
                said.push_front((who.agent, words.clone()));
                (Some(who.team), Some(who.agent), None)
            }
            FeedKind::Joined(who)
            | FeedKind::Died(who, _)
            | FeedKind::Left(who, _)
            | FeedKind::Pushed(who)
            | FeedKind::Rose(who, _) => (Some(who.team), Some(who.agent), None),
            FeedKind::EggLaid(_, team, tile) | FeedKind::EggBroken(_, team, tile) => {
                (Some(*team), None, Some(*tile))
            }
            FeedKind::ElevationEnded(tile, _, ElevationOutcome::Broke { team, .. }) => {
                (*team, None, Some(*tile))
            }
            FeedKind::Won(team) => (Some(*team), None, None),
            FeedKind::Announced(_) => (None, None, None),
            _ => return None,
        };
        let units = entry.at.whole_units();
        Some(Self {
            units,
            placed: units,
            kind: entry.kind.clone(),
            text: String::new(),
            team,
            agent,
            tile,
            count: 1,
            is_new: false,
            is_first: false,
            said,
        })
    }

    /// Units after the last event in which another one joins its line, and for which the line keeps its place: lines
    /// that move up with each broadcast of a busy game cannot be read. `None` for events with a line of their own.
    fn spans(&self) -> Option<(i128, i128)> {
        match self.kind {
            FeedKind::Joined(_) | FeedKind::Died(..) => Some((50, 0)),
            FeedKind::Rose(..) => Some((100, 101)),
            FeedKind::ElevationEnded(..) | FeedKind::Announced(_) | FeedKind::Won(_) => None,
            _ => Some((300, 301)),
        }
    }

    fn is_alike(&self, other: &Self) -> bool {
        let is_alike = match (&self.kind, &other.kind) {
            (FeedKind::Rose(_, level), FeedKind::Rose(_, other)) => level == other,
            (kind, other) => std::mem::discriminant(kind) == std::mem::discriminant(other),
        };
        is_alike && self.team == other.team
    }

    pub(super) fn icon(&self) -> Icon {
        match self.kind {
            FeedKind::Died(..) => icons::DIED,
            FeedKind::Left(..) => icons::LEFT,
            FeedKind::Pushed(_) => icons::PUSHED,
            FeedKind::EggLaid(..) | FeedKind::EggBroken(..) => icons::EGG,
            FeedKind::Rose(..) => icons::ROSE,
            FeedKind::ElevationEnded(..) => icons::ELEVATION,
            FeedKind::Said(..) => icons::TALK,
            FeedKind::Announced(_) => icons::SPEAKER,
            FeedKind::Won(_) => icons::CROWN,
            _ => icons::PERSON,
        }
    }

    /// Whether it decides a match; the rest is everyday life.
    fn is_highlight(&self) -> bool {
        self.has_failed()
            || matches!(
                self.kind,
                FeedKind::Rose(..) | FeedKind::Announced(_) | FeedKind::Won(_)
            )
    }

    /// Whether it is an elevation that broke.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.kind, FeedKind::ElevationEnded(..))
    }

    fn compose(&mut self, teams: &[SceneTeam]) {
        let team = self.team.map(|team| team_name(teams, team));
        let name = team.as_deref().unwrap_or_default();
        let agent = self
            .agent
            .map_or_else(String::new, |agent| format!("#{}", agent.0));
        // "red: #3 died at level 2" and "red: 3 died".
        let did = |verb: &str, level: &Level| match self.count {
            1 => format!("{name}: {agent} {verb} at level {}", level.get()),
            count => format!("{name}: {count} {verb}"),
        };
        let eggs = |verb: &str| match self.count {
            1 => format!("{name} {verb} an egg"),
            count => format!("{name} {verb} {count} eggs"),
        };
        self.text = match &self.kind {
            FeedKind::Died(_, level) => did("died", level),
            FeedKind::Left(_, level) => did("left", level),
            FeedKind::Pushed(_) if self.count == 1 => format!("{name}: {agent} pushed the others away"),
            FeedKind::Pushed(_) => format!("{name} pushed others away {} times", self.count),
            FeedKind::EggLaid(..) => eggs("laid"),
            FeedKind::EggBroken(..) => eggs("lost"),
            FeedKind::Rose(_, level) => self.rose(name, *level),
            FeedKind::ElevationEnded(_, level, outcome) => {
                let pushed_away = match outcome {
                    ElevationOutcome::Broke { pushed_away, .. } => *pushed_away,
                    ElevationOutcome::Succeeded => None,
                };
                broken(team.as_deref(), *level, pushed_away)
            }
            FeedKind::Said(..) => {
                let newest = self
                    .said
                    .front()
                    .map(|(_, said)| words::line(said, LINE_CHARS_MAX));
                let newest = newest.unwrap_or_default();
                match self.count {
                    1 => format!("{name}: “{newest}”"),
                    count => format!("{name}: “{newest}” · {count} broadcasts"),
                }
            }
            FeedKind::Announced(text) => text.to_string(),
            FeedKind::Won(_) => format!("{name} wins"),
            _ if self.count == 1 => format!("{name}: {agent} hatched"),
            _ => format!("{name}: {} hatched", self.count),
        };
    }

    fn rose(&self, name: &str, level: Level) -> String {
        let number = level.get();
        let is_last_but_one = level.next() == Some(Level::LAST) && self.count >= WINNING_AGENTS;
        match (self.is_new, self.count) {
            (true, _) if is_last_but_one => format!("{name} reached level {number}: one more and they win"),
            (true, _) if self.is_first => format!("{name} reached level {number}, first to get there"),
            (true, _) => format!("{name} reached level {number}"),
            (false, count) => format!("{name}: {count} reached level {number}"),
        }
    }

    /// The agent, if it is still on the map, or the tile.
    fn place(&self, scene: &Scene) -> Option<Selection> {
        let agent = self.agent.filter(|id| scene.agent(*id).is_some());
        agent.map(Selection::Agent).or(self.tile.map(Selection::Tile))
    }

    /// Adds an equal event; returns whether the line moves up.
    fn add(&mut self, event: Self, keeps_place: i128, teams: &[SceneTeam]) -> bool {
        (self.units, self.agent) = (event.units, event.agent);
        self.count += 1;
        event.said.into_iter().for_each(|said| self.said.push_front(said));
        self.said.truncate(SAID_MAX);
        self.compose(teams);
        let moves_up = event.units - self.placed >= keeps_place;
        if moves_up {
            self.placed = event.units;
        }
        moves_up
    }
}

impl EventFeed {
    /// Begins with the levels that teams have reached before what is known of the past: no later team is the first to get
    /// there.
    pub(super) fn new(teams: &[SceneTeam], past: &[FeedEntry]) -> Self {
        let mut feed = Self::default();
        for (team, id) in teams.iter().zip(0..) {
            let best = team.by_level.iter().rposition(|&agents| agents > 0);
            let levels = (1..).map_while(|level| Level::new(level).ok());
            let passed = levels.take(best.map_or(0, |place| place + 1));
            feed.reached
                .extend(passed.map(|level| ((TeamId(id), level), i128::MIN)));
        }
        for entry in past {
            if let FeedKind::Rose(who, level) = entry.kind {
                feed.reached.remove(&(who.team, level));
            }
        }
        feed
    }

    /// Adds an event. Single steps, objects and texts of programs have no line, nor has what comes after the victory.
    pub fn add(&mut self, entry: &FeedEntry, teams: &[SceneTeam]) {
        let is_listed = |line: &Line| !self.is_won || matches!(line.kind, FeedKind::Announced(_));
        let Some(mut event) = Line::of(entry).filter(is_listed) else {
            return;
        };
        self.is_won |= matches!(event.kind, FeedKind::Won(_));
        if let FeedKind::Rose(Who { team, .. }, level) = event.kind {
            let ahead = |(other, reached): &(TeamId, Level)| *other != team && *reached >= level;
            event.is_new = !self.reached.contains_key(&(team, level));
            event.is_first = event.is_new && teams.len() > 1 && !self.reached.keys().any(ahead);
            self.reached.entry((team, level)).or_insert(event.units);
        }
        let alike = event.spans().and_then(|(span, keeps_place)| {
            // That a team has reached a level is a line of the one elevation.
            let span = |line: &Line| if line.is_new { ELEVATION_UNITS } else { span };
            let continues = |line: &Line| line.is_alike(&event) && event.units - line.units <= span(line);
            Some((self.lines.iter().position(continues)?, keeps_place))
        });
        let moved = match alike {
            None => {
                event.compose(teams);
                Some(event)
            }
            Some((place, keeps_place)) if self.lines[place].add(event, keeps_place, teams) => {
                self.lines.remove(place)
            }
            Some(_) => None,
        };
        if let Some(line) = moved {
            if self.lines.len() == LINES_MAX {
                // What decides the match is kept for its end.
                let oldest = self.lines.iter().rposition(|line| !line.is_highlight());
                self.lines.remove(oldest.unwrap_or(LINES_MAX - 1));
            }
            self.lines.push_front(line);
        }
    }

    /// Forgets later events, after a jump back in a recording; in whole units.
    pub fn rewind(&mut self, units: i128) {
        self.lines.retain(|line| line.units <= units);
        self.reached.retain(|_, at| *at <= units);
        self.is_won = self.win().is_some();
    }

    fn win(&self) -> Option<&Line> {
        self.lines
            .iter()
            .find(|line| matches!(line.kind, FeedKind::Won(_)))
    }

    /// The next line before `than` with an agent or a place, the newest without `than`: when it took its place in the
    /// list, its words, and where that is, unless it has died since.
    pub fn before(&self, than: Option<i128>, scene: &Scene) -> Option<(i128, &str, Option<Selection>)> {
        let is_seen = |line: &&Line| line.agent.is_some() || line.tile.is_some();
        let is_before = |line: &&Line| than.is_none_or(|than| line.placed < than);
        let line = self.lines.iter().filter(is_seen).find(is_before)?;
        Some((line.placed, &line.text, line.place(scene)))
    }

    /// Lines with match time and place, for screens without colours and pointer; the newest first.
    pub fn plain_lines(&self) -> impl Iterator<Item = String> {
        self.lines.iter().map(|line| {
            let place = line.tile.map(|tile| format!(" at {},{}", tile.x, tile.y));
            let at = match_time(line.placed);
            format!("{at:>5} {}{}", line.text, place.unwrap_or_default())
        })
    }
}

/// That an elevation from a level broke: whose, and who was pushed away.
pub(super) fn broken(team: Option<&str>, level: Level, pushed_away: Option<AgentId>) -> String {
    let whose = team.map_or_else(|| "an".to_owned(), |team| format!("{team}'s"));
    let why = pushed_away.map(|agent| format!(": #{} was pushed away", agent.0));
    let why = why.unwrap_or_default();
    format!("{whose} elevation to level {} broke{why}", level.get() + 1)
}

/// A team's name, or its number while the name is unknown.
pub fn team_name(teams: &[SceneTeam], team: TeamId) -> String {
    if team == TeamId::DRAW {
        return "no team".to_owned();
    }
    let known = teams.get(usize::from(team.0));
    known.map_or_else(|| format!("team {}", team.0), |team| team.name.to_string())
}

/// With less room than for the least lines there is no panel.
const SHOWN_LEAST: usize = 3;
const LINE_HEIGHT: f32 = 20.0;
const AROUND: f32 = 84.0;
/// Room for the card with the least lines, in points.
pub(super) const HEIGHT_LEAST: f32 = LINE_HEIGHT * SHOWN_LEAST as f32 + AROUND;
/// Its greatest height, so that the board has room.
const HEIGHT_MAX: f32 = 260.0;
const TIME_WIDTH: f32 = 36.0;
const ICON_WIDTH: f32 = 18.0;
const TEXT_WIDTH: f32 = 300.0;

/// Shows the newest events, or only those that decide the match.
pub(super) fn show(ui: &mut Ui, cx: &mut PanelContext<'_>, feed: &EventFeed, only_highlights: &mut bool) {
    let free = (ui.ctx().content_rect().bottom() - ui.cursor().top() - AROUND).min(HEIGHT_MAX);
    if free < LINE_HEIGHT * SHOWN_LEAST as f32 {
        return;
    }
    cx.colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 3.0;
        ui.horizontal(|ui| {
            theme::heading(ui, &cx.colors, "Events");
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.spacing_mut().button_padding = vec2(5.0, 2.0);
                let button = theme::toggle(&cx.colors, *only_highlights, RichText::new("highlights").small());
                *only_highlights ^= ui.add(button).clicked();
            });
        });
        let bottom = ui.cursor().top() + free;
        let lines = feed.lines.iter();
        let mut lines = lines
            .filter(|line| !*only_highlights || line.is_highlight())
            .peekable();
        if lines.peek().is_none() {
            ui.label(RichText::new("nothing yet").small().weak());
        }
        for line in lines {
            if ui.cursor().top() + LINE_HEIGHT > bottom {
                break;
            }
            show_event(ui, cx, line, 2);
        }
    });
}

/// The newest event in a line along the bottom of a window that has no room for more; returns its rectangle.
pub(super) fn ticker(context: &Context, cx: &mut PanelContext<'_>, feed: &EventFeed) -> Option<Rect> {
    let line = feed.lines.front()?;
    let margin = Margin::symmetric(8, 6);
    let (left, right, _) = cx.plan.bottom(false, cx.state.selection);
    let card = cx.colors.card().inner_margin(margin);
    let room = (right - left - card.total_margin().sum().x).max(1.0);
    let bottom = context.content_rect().bottom() - EDGE;
    let area = theme::area("ticker", Order::Middle, Align2::LEFT_BOTTOM, pos2(left, bottom));
    let laid = theme::show_card(context, area, card, |ui| {
        ui.set_width(room);
        show_event(ui, cx, line, 1);
    });
    Some(laid.response.rect)
}

/// Shows a line in at most so many rows; a click leads to its agent or place.
fn show_event(ui: &mut Ui, cx: &mut PanelContext<'_>, line: &Line, rows: usize) {
    if !show_line(ui, cx, line, rows).clicked() {
        return;
    }
    if let Some(place) = line.place(cx.scene()) {
        cx.request(Intent::Visit(place));
    }
}

/// Shows a line in at most so many rows.
fn show_line(ui: &mut Ui, cx: &PanelContext<'_>, line: &Line, rows: usize) -> Response {
    let row = Row {
        units: line.placed,
        text: &line.text,
        team: line.team,
        icon: line.icon(),
    };
    show_row(ui, cx, &row, rows).on_hover_ui(|ui| tip(ui, cx, line))
}

/// A moment in a line.
pub(super) struct Row<'a> {
    /// When, in whole units.
    pub(super) units: i128,
    pub(super) text: &'a str,
    pub(super) team: Option<TeamId>,
    pub(super) icon: Icon,
}

/// Shows match time, icon and text in at most so many rows.
pub(super) fn show_row(ui: &mut Ui, cx: &PanelContext<'_>, line: &Row<'_>, rows: usize) -> Response {
    let colors = &cx.colors;
    let (font, width) = (TextStyle::Body.resolve(ui.style()), ui.available_width());
    let mut job = words::job(line.text, font, colors.text);
    job.break_on_newline = false;
    job.wrap = TextWrapping {
        max_width: width - TIME_WIDTH - ICON_WIDTH,
        max_rows: rows,
        break_anywhere: false,
        ..TextWrapping::default()
    };
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    let (rect, response) = ui.allocate_exact_size(vec2(width, galley.size().y), Sense::click());
    let painter = ui.painter_at(rect);
    if response.hovered() {
        painter.rect_filled(rect, 3.0, colors.well);
    }
    let middle = rect.top() + galley.rows.first().map_or(0.0, |row| row.height()) / 2.0;
    let font = TextStyle::Small.resolve(ui.style());
    let at = pos2(rect.left() + TIME_WIDTH - 6.0, middle);
    painter.text(
        at,
        Align2::RIGHT_CENTER,
        match_time(line.units),
        font,
        colors.weak,
    );
    let fill = line.team.map_or(colors.gold, |team| colors.team(team));
    let at = pos2(rect.left() + TIME_WIDTH + 6.0, middle);
    Pen::new(&painter, at, 11.0).icon(line.icon, colors.legible(fill));
    let at = pos2(rect.left() + TIME_WIDTH + ICON_WIDTH, rect.top());
    painter.galley(at, galley, colors.text);
    response
}

/// The whole line, its moment in units, and the last broadcasts as they were sent.
fn tip(ui: &mut Ui, cx: &PanelContext<'_>, line: &Line) {
    ui.set_max_width(TEXT_WIDTH);
    ui.spacing_mut().item_spacing.y = 3.0;
    ui.add(Label::new(words::body(ui, &line.text)).wrap());
    ui.label(text(
        format!("unit {}", grouped(line.placed)),
        11.5,
        cx.colors.weak,
    ));
    for (agent, words) in &line.said {
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            ui.label(text(format!("#{}", agent.0), 11.5, cx.colors.weak));
            let words = RichText::new(words::line(words, TEXT_CHARS_MAX));
            ui.add(Label::new(words.monospace().size(11.5)).wrap());
        });
    }
}

#[cfg(test)]
mod tests {
    use trantor_time::GameTime;

    use super::*;

    fn who(agent: u32, team: u16) -> Who {
        Who {
            agent: AgentId(agent),
            team: TeamId(team),
        }
    }

    fn teams(by_level: [u32; 8]) -> Vec<SceneTeam> {
        let team = |name: &str| SceneTeam {
            name: name.into(),
            by_level,
            ..SceneTeam::default()
        };
        ["red", "blue"].map(team).to_vec()
    }

    fn add(feed: &mut EventFeed, units: i64, kind: FeedKind) -> String {
        let at = GameTime::from_units(units);
        feed.add(&FeedEntry { at, kind }, &teams([0; 8]));
        feed.plain_lines().next().unwrap_or_default()
    }

    #[test]
    fn an_elevation_is_one_line_that_says_what_it_means() {
        let level = |number| Level::new(number).unwrap();
        let mut feed = EventFeed::new(&[], &[]);
        let rises = |feed: &mut EventFeed, units, team, number, agents: u32| {
            let rose = |agent| FeedKind::Rose(who(agent, team), level(number));
            (0..agents)
                .map(|agent| add(feed, units, rose(agent)))
                .last()
                .unwrap()
        };
        let tile = Tile { x: 3, y: 4 };
        add(&mut feed, 900, FeedKind::ElevationStarted(tile, level(4), 6));
        add(
            &mut feed,
            2_100,
            FeedKind::ElevationEnded(tile, level(4), ElevationOutcome::Succeeded),
        );
        assert_eq!(
            rises(&mut feed, 2_100, 0, 5, 6),
            " 0:21 red reached level 5, first to get there"
        );
        assert_eq!(rises(&mut feed, 2_200, 1, 5, 6), " 0:22 blue reached level 5");
        assert_eq!(rises(&mut feed, 2_300, 0, 5, 2), " 0:23 red: 2 reached level 5");
        assert_eq!(rises(&mut feed, 2_390, 0, 5, 1), " 0:23 red: 3 reached level 5");
        let broke = |team, pushed_away| {
            FeedKind::ElevationEnded(tile, level(5), ElevationOutcome::Broke { team, pushed_away })
        };
        assert_eq!(
            add(&mut feed, 2_500, broke(Some(TeamId(0)), Some(AgentId(14)))),
            " 0:25 red's elevation to level 6 broke: #14 was pushed away at 3,4"
        );
        assert_eq!(
            rises(&mut feed, 3_000, 1, 7, 6),
            " 0:30 blue reached level 7: one more and they win"
        );
        assert_eq!(add(&mut feed, 6_100, FeedKind::Won(TeamId(1))), " 1:01 blue wins");
        add(&mut feed, 6_100, broke(Some(TeamId(0)), None));
        assert_eq!(
            add(&mut feed, 6_101, FeedKind::Left(who(1, 0), level(7))),
            " 1:01 blue wins"
        );
        assert_eq!(feed.lines.len(), 6, "the match is over");
        feed.rewind(2_250);
        assert_eq!(
            rises(&mut feed, 2_300, 0, 6, 1),
            " 0:23 red reached level 6, first to get there"
        );
        let late_teams = teams([0, 0, 0, 0, 1, 0, 0, 0]);
        let mut late = EventFeed::new(&late_teams, &[]);
        assert_eq!(rises(&mut late, 10, 0, 5, 1), " 0:00 red: 1 reached level 5");
        assert_eq!(
            rises(&mut late, 10, 0, 6, 1),
            " 0:00 red reached level 6, first to get there"
        );
        let (at, kind) = (GameTime::from_units(9), FeedKind::Rose(who(1, 0), level(5)));
        let mut with_past = EventFeed::new(&late_teams, &[FeedEntry { at, kind }]);
        assert_eq!(rises(&mut with_past, 10, 0, 5, 1), " 0:00 red reached level 5");
    }

    #[test]
    fn events_that_belong_together_are_one_line_and_codes_of_bots_are_none() {
        let mut feed = EventFeed::default();
        let said = |agent, words: &[u8]| FeedKind::Said(who(agent, 0), words.into());
        add(&mut feed, 0, said(1, b"here"));
        add(&mut feed, 1, FeedKind::Joined(who(3, 0)));
        add(&mut feed, 20, said(2, b"blue come 0"));
        assert_eq!(
            add(&mut feed, 90, said(2, b"where?")),
            " 0:00 red: #3 hatched",
            "it keeps its place"
        );
        assert_eq!(
            add(&mut feed, 301, said(2, b"hello")),
            " 0:03 red: “hello” · 3 broadcasts"
        );
        assert_eq!(add(&mut feed, 900, said(1, b"here")), " 0:09 red: “here”");
        (0..300).for_each(|agent| drop(add(&mut feed, 901, FeedKind::Left(who(agent, 0), Level::FIRST))));
        assert_eq!(feed.plain_lines().next().unwrap(), " 0:09 red: 300 left");
        let announced = FeedKind::Announced("the famine begins".into());
        assert_eq!(add(&mut feed, 903, announced), " 0:09 the famine begins");
        (1_000..1_500).for_each(|at| drop(add(&mut feed, at * 51, FeedKind::Joined(who(3, 0)))));
        assert_eq!(feed.lines.len(), LINES_MAX);
        feed.rewind(902);
        assert_eq!(feed.lines.len(), 0, "older lines were dropped");
    }
}
