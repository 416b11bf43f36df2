//! The events of the game as lines, newest first, for the panel and the terminal.
//!
//! A team that talks has one line, and so have agents of a team that hatch or rise together. Only text for people is
//! spelled out ([`words::is_for_people`]); the tooltip shows what was sent.

use std::collections::VecDeque;

use egui::text::TextWrapping;
use egui::{Align, Align2, FontId, Label, Layout, Response, RichText, Sense, Ui, pos2, vec2};
use trantor_client::feed::FeedKind;
use trantor_client::{FeedEntry, SceneTeam};
use trantor_model::{AgentId, Level, TeamId, Tile};

use super::icons::{self, Icon, Pen};
use super::theme::{self, grouped, text};
use super::{PanelContext, words};
use crate::intent::{Intent, Selection};

/// Lines kept: more than a screen has rows.
const LINES_MAX: usize = 200;
/// Characters of a broadcast in a line: the room beside time and team in a terminal of usual width.
const LINE_CHARS_MAX: usize = 60;
/// Characters of a broadcast in the tooltip: the limit of our servers.
pub(super) const TEXT_CHARS_MAX: usize = 256;

/// Broadcasts of a line that are kept as they were sent.
const SAID_MAX: usize = 6;

#[derive(Clone, Debug, Default)]
pub struct EventFeed {
    lines: VecDeque<Line>,
}

/// One or several events.
#[derive(Clone, Debug)]
struct Line {
    /// When the last of them happened, in whole units.
    units: i128,
    /// When it took its place in the list, in whole units.
    placed: i128,
    text: String,
    icon: Icon,
    subject: Subject,
    team: Option<TeamId>,
    agent: Option<AgentId>,
    tile: Option<Tile>,
    group: Option<Group>,
    /// Events of the group in this line.
    count: u32,
    /// The last broadcasts of the group, newest first.
    said: VecDeque<(AgentId, Box<[u8]>)>,
}

/// Events that make one line together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Joined(TeamId),
    Rose(TeamId, Level),
    Talk(TeamId),
}

impl Group {
    /// Units after the last event in which another one joins the group, and for which its line keeps its place: lines
    /// that move up with each broadcast of a busy game cannot be read.
    fn spans(self) -> (i128, i128) {
        match self {
            Self::Joined(_) => (50, 0),
            Self::Rose(..) => (10, 0),
            Self::Talk(_) => (300, 301),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Life,
    Rituals,
    Words,
}

impl Line {
    /// Adds an event of the same group; returns whether the line moves up.
    fn add(&mut self, event: Self, keeps_place: i128, teams: &[SceneTeam]) -> bool {
        (self.units, self.agent) = (event.units, event.agent);
        self.count += event.count;
        event.said.into_iter().for_each(|said| self.said.push_front(said));
        self.said.truncate(SAID_MAX);
        match event.group {
            Some(Group::Talk(team)) => self.text = talk_text(team, self.count, &self.said, teams),
            Some(Group::Joined(team) | Group::Rose(team, _)) => {
                let (_, verb) = event.text.split_once(' ').unwrap_or_default();
                self.text = format!("{}: {} {verb}", team_name(teams, team), self.count);
            }
            None => {}
        }
        let moves_up = event.units - self.placed >= keeps_place;
        if moves_up {
            self.placed = event.units;
        }
        moves_up
    }
}

impl EventFeed {
    /// Adds an event; single steps and objects have no line.
    pub fn add(&mut self, entry: &FeedEntry, teams: &[SceneTeam]) {
        let Some(event) = line(entry, teams) else {
            return;
        };
        let (span, keeps_place) = event.group.map_or((0, 0), Group::spans);
        let continues = |line: &Line| line.group == event.group && event.units - line.units <= span;
        let place = match event.group {
            Some(_) => self.lines.iter().position(continues),
            None => None,
        };
        let moved = match place {
            None => Some(event),
            Some(place) if self.lines[place].add(event, keeps_place, teams) => self.lines.remove(place),
            Some(_) => None,
        };
        if let Some(line) = moved {
            self.lines.truncate(LINES_MAX - 1);
            self.lines.push_front(line);
        }
    }

    /// Forgets later events, after a jump back in a recording; in whole units.
    pub fn rewind(&mut self, units: i128) {
        self.lines.retain(|line| line.units <= units);
    }

    /// Lines with time, team and place, for screens without colours and pointer; the newest first.
    pub fn plain_lines(&self, teams: &[SceneTeam]) -> impl Iterator<Item = String> {
        self.lines.iter().map(|line| {
            let (at, text) = (line.placed, &line.text);
            let team = line.team.filter(|_| text.starts_with('#'));
            let team = team.map_or_else(String::new, |team| team_name(teams, team) + " ");
            let place = line.tile.map(|tile| format!(" at {},{}", tile.x, tile.y));
            format!("{at:>7} {team}{text}{}", place.unwrap_or_default())
        })
    }
}

fn line(entry: &FeedEntry, teams: &[SceneTeam]) -> Option<Line> {
    use Subject::{Life, Rituals, Words};
    let name = |team: TeamId| team_name(teams, team);
    let (who, team, tile) = match &entry.kind {
        FeedKind::Joined(who) | FeedKind::Died(who, _) | FeedKind::Left(who, _) => (Some(who), None, None),
        FeedKind::Said(who, _) | FeedKind::Pushed(who) | FeedKind::Rose(who, _) => (Some(who), None, None),
        FeedKind::EggLaid(_, team, tile) | FeedKind::EggBroken(_, team, tile) => {
            (None, Some(*team), Some(*tile))
        }
        FeedKind::RitualStarted(tile, ..) | FeedKind::RitualEnded(tile, ..) => (None, None, Some(*tile)),
        FeedKind::Won(team) => (None, Some(*team), None),
        _ => (None, None, None),
    };
    let team = who.map(|who| who.team).or(team);
    let (mut group, mut said) = (None, VecDeque::new());
    let by = |verb: &str| who.map_or_else(String::new, |who| format!("#{} {verb}", who.agent.0));
    let (icon, subject, text) = match &entry.kind {
        FeedKind::Joined(who) => {
            group = Some(Group::Joined(who.team));
            (icons::PERSON, Life, by("hatched"))
        }
        FeedKind::Died(_, level) => (icons::DIED, Life, by(&format!("died at level {}", level.get()))),
        FeedKind::Left(_, level) => (icons::LEFT, Life, by(&format!("left at level {}", level.get()))),
        FeedKind::Pushed(_) => (icons::PUSHED, Life, by("pushed")),
        FeedKind::Rose(who, level) => {
            group = Some(Group::Rose(who.team, *level));
            (
                icons::ROSE,
                Rituals,
                by(&format!("reached level {}", level.get())),
            )
        }
        FeedKind::Said(who, words) => {
            group = Some(Group::Talk(who.team));
            said.push_front((who.agent, words.clone()));
            (icons::TALK, Words, talk_text(who.team, 1, &said, teams))
        }
        FeedKind::EggLaid(_, team, _) => (icons::EGG, Life, format!("{} laid an egg", name(*team))),
        FeedKind::EggBroken(_, team, _) => (icons::EGG, Life, format!("an egg of {} broke", name(*team))),
        FeedKind::RitualStarted(_, level, agents) => {
            let (from, to) = (level.get(), level.get() + 1);
            (
                icons::RITUAL,
                Rituals,
                format!("{agents} raise level {from} to {to}"),
            )
        }
        FeedKind::RitualEnded(_, level, success) => {
            let result = if *success { "succeeded" } else { "failed" };
            (
                icons::RITUAL,
                Rituals,
                format!("ritual of level {} {result}", level.get()),
            )
        }
        FeedKind::Won(team) => (icons::CROWN, Rituals, format!("{} wins the game", name(*team))),
        FeedKind::Announced(text) => (icons::SOUND, Words, text.to_string()),
        FeedKind::Started(..) | FeedKind::Refused(..) | FeedKind::Carried(..) => return None,
    };
    let units = entry.at.whole_units();
    Some(Line {
        units,
        placed: units,
        text,
        icon,
        subject,
        team,
        agent: who.map(|who| who.agent),
        tile,
        group,
        count: 1,
        said,
    })
}

/// How often a team spoke, and its newest words for people.
fn talk_text(team: TeamId, count: u32, said: &VecDeque<(AgentId, Box<[u8]>)>, teams: &[SceneTeam]) -> String {
    let team = team_name(teams, team);
    let newest = said.iter().find(|(_, words)| words::is_for_people(words));
    let newest = newest.map(|(agent, words)| (agent, words::line(words, LINE_CHARS_MAX)));
    match (newest, count) {
        (Some((agent, words)), 1) => format!("#{} “{words}”", agent.0),
        (Some((_, words)), count) => format!("{team} talks · {count} “{words}”"),
        (None, count) => format!("{team} talks · {count}"),
    }
}

/// A team's name, or its number while the name is unknown.
pub fn team_name(teams: &[SceneTeam], team: TeamId) -> String {
    if team == TeamId::DRAW {
        return "no team".to_owned();
    }
    let known = teams.get(usize::from(team.0));
    known.map_or_else(|| format!("team {}", team.0), |team| team.name.to_string())
}

/// Lines shown at most; with less room than for the least there is no panel.
const SHOWN_MAX: usize = 9;
const SHOWN_LEAST: usize = 3;
const LINE_HEIGHT: f32 = 18.0;
const AROUND: f32 = 76.0;
/// Room for the card with the least lines, in points.
pub(super) const HEIGHT_LEAST: f32 = LINE_HEIGHT * SHOWN_LEAST as f32 + AROUND;
const TEXT_WIDTH: f32 = 300.0;
const FILTERS: [(&str, Subject); 3] = [
    ("life", Subject::Life),
    ("rituals", Subject::Rituals),
    ("words", Subject::Words),
];

/// Shows the newest events but those of `hidden` subjects.
pub(super) fn show(ui: &mut Ui, cx: &mut PanelContext<'_>, feed: &EventFeed, hidden: &mut Vec<Subject>) {
    let free = ui.ctx().content_rect().bottom() - ui.cursor().top() - AROUND;
    let shown = ((free / LINE_HEIGHT) as usize).min(SHOWN_MAX);
    if shown < SHOWN_LEAST {
        return;
    }
    cx.colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.horizontal(|ui| {
            theme::heading(ui, &cx.colors, "Events");
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = 3.0;
                ui.spacing_mut().button_padding = vec2(5.0, 2.0);
                for (name, subject) in FILTERS.into_iter().rev() {
                    let is_shown = !hidden.contains(&subject);
                    let button = theme::toggle(&cx.colors, is_shown, RichText::new(name).size(10.0));
                    if ui.add(button).clicked() {
                        hidden.retain(|hidden| *hidden != subject);
                        hidden.extend(is_shown.then_some(subject));
                    }
                }
            });
        });
        let lines = feed.lines.iter().filter(|line| !hidden.contains(&line.subject));
        let mut lines = lines.take(shown).peekable();
        if lines.peek().is_none() {
            ui.label(RichText::new("nothing yet").small().weak());
        }
        lines.for_each(|line| show_line(ui, cx, line));
    });
}

fn show_line(ui: &mut Ui, cx: &mut PanelContext<'_>, line: &Line) {
    let size = vec2(ui.available_width(), LINE_HEIGHT - 2.0);
    let (rect, mut response) = ui.allocate_exact_size(size, Sense::click());
    let painter = ui.painter_at(rect);
    let (colors, middle) = (&cx.colors, rect.center().y);
    if response.hovered() {
        painter.rect_filled(rect, 3.0, colors.well);
    }
    let fill = line.team.map_or(colors.gold, |team| colors.team(team));
    Pen::new(&painter, pos2(rect.left() + 6.0, middle), 10.0).icon(line.icon, colors.legible(fill));
    let age = cx.scene().clock.game.whole_units() - line.placed;
    let age = format!("{} u ago", grouped(age));
    let (at, font) = (pos2(rect.right(), middle), FontId::proportional(10.0));
    let age = painter.text(at, Align2::RIGHT_CENTER, age, font, colors.weak);
    let left = rect.left() + 17.0;
    let mut job = words::job(&line.text, FontId::proportional(11.0), colors.text);
    job.break_on_newline = false;
    job.wrap = TextWrapping::truncate_at_width(age.left() - 6.0 - left);
    let galley = painter.layout_job(job);
    let at = pos2(left, middle - galley.size().y / 2.0);
    let is_cut = galley.elided;
    painter.galley(at, galley, colors.text);
    if !line.said.is_empty() {
        response = show_said(response, cx, line);
    } else if is_cut {
        response = response.on_hover_text(&line.text);
    }
    if response.clicked() {
        if let Some(agent) = line.agent.and_then(|id| cx.scene().agent(id)) {
            cx.visit_agent(agent);
        } else if let Some(tile) = line.tile {
            cx.request(Intent::Select(Selection::Tile(tile)));
            cx.visit_tile(tile);
        }
    }
}

/// Shows the last broadcasts as they were sent, under the pointer.
fn show_said(response: Response, cx: &PanelContext<'_>, line: &Line) -> Response {
    response.on_hover_ui(|ui| {
        ui.set_max_width(TEXT_WIDTH);
        ui.spacing_mut().item_spacing.y = 3.0;
        for (agent, words) in &line.said {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                ui.label(text(format!("#{}", agent.0), 10.5, cx.colors.weak));
                let words = RichText::new(words::line(words, TEXT_CHARS_MAX));
                ui.add(Label::new(words.monospace().size(10.5)).wrap());
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use trantor_client::Who;
    use trantor_time::GameTime;

    use super::*;

    #[test]
    fn events_that_belong_together_are_one_line() {
        let mut feed = EventFeed::default();
        let (team, two) = (TeamId(0), Level::new(2).unwrap());
        let who = |agent| Who {
            agent: AgentId(agent),
            team,
        };
        let said = |agent, words: &[u8]| FeedKind::Said(who(agent), words.into());
        let mut add = |units, kind| {
            let at = GameTime::from_units(units);
            feed.add(&FeedEntry { at, kind }, &[]);
            feed.plain_lines(&[]).collect::<Vec<_>>()
        };
        add(0, said(1, b"here"));
        add(1, FeedKind::Pushed(who(3)));
        let lines = add(90, said(2, b"where?"));
        let expected = ["      1 team 0 #3 pushed", "      0 team 0 talks · 2 “where?”"];
        assert_eq!(lines, expected, "it keeps its place");
        let lines = add(301, said(2, b"t1.7.g"));
        let expected = ["    301 team 0 talks · 3 “where?”", "      1 team 0 #3 pushed"];
        assert_eq!(lines, expected, "and moves up after a while");
        assert_eq!(add(900, said(1, b"here")).len(), 3);
        add(901, FeedKind::Rose(who(1), two));
        let lines = add(901, FeedKind::Rose(who(2), two));
        assert_eq!(lines[0], "    901 team 0: 2 reached level 2");
        add(902, FeedKind::Pushed(who(3)));
        let lines = add(902, FeedKind::Pushed(who(3)));
        assert_eq!(lines.len(), 6, "pushes are not grouped");
        let lines = add(903, FeedKind::Announced("the famine begins".into()));
        assert_eq!(lines[0], "    903 the famine begins");
        (1_000..1_500).for_each(|units| drop(add(units, FeedKind::Pushed(who(3)))));
        assert_eq!(feed.lines.len(), LINES_MAX);
        feed.rewind(902);
        assert_eq!(feed.lines.len(), 0, "older lines were dropped");
    }
}
