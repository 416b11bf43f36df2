//! What happened, newest first, for those who looked elsewhere; with filters.
//!
//! A team that talks has one line, and so have those of a team who rise together. Only words for people are spelled out
//! ([`trantor_client::speech`]); the pointer over such a line shows what was said as it came.

mod line;

use std::collections::VecDeque;

use egui::text::TextWrapping;
use egui::{Align, Layout, Response, RichText, Sense, Ui, vec2};
use glam::Vec2;
use trantor_client::feed::FeedKind;
use trantor_client::speech::{self, Talk};
use trantor_client::{FeedEntry, Scene, Who};

use self::line::{Group, Line, Subject, line_of, talk_in_words, team_name};
use super::HudInput;
use super::directions;
use super::icons;
use super::report::Report;
use super::speed::grouped;
use super::theme::{self, Colors};
use crate::intent::{Intent, Selection};

/// Lines kept.
const LINES_MAX: usize = 200;
/// Lines shown at once, at most and at least: fewer would be none.
const SHOWN_MAX: usize = 9;
const SHOWN_LEAST: usize = 3;
/// Height of a line, and of what is above and below all of them, in points.
const LINE_HEIGHT: f32 = 18.0;
const AROUND: f32 = 76.0;
/// How wide a broadcast is in full, in points.
const SAID_WIDTH: f32 = 300.0;
/// Characters of it: all that servers of ours tell.
pub(super) const WORDS_FULL: usize = 256;

/// The lines, and which are wanted.
#[derive(Debug)]
pub(super) struct Feed {
    lines: VecDeque<Line>,
    wanted: [bool; 3],
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            lines: VecDeque::with_capacity(LINES_MAX),
            wanted: [true; 3],
        }
    }
}

impl Feed {
    /// Notes an entry if it is one for the list: steps and single stones are not.
    pub(super) fn tell(&mut self, entry: &FeedEntry, scene: &Scene) {
        if let FeedKind::Said(who, words) = &entry.kind
            && self.goes_on(entry.at.whole_units(), *who, words, scene)
        {
            return;
        }
        let Some(mut line) = line_of(entry, scene) else {
            return;
        };
        let together = |one: &Line| {
            one.group == line.group
                && line
                    .group
                    .is_some_and(|group| line.units - one.units <= group.lasts_units())
        };
        if let Some(place) = self.lines.iter().position(together)
            && let Some(before) = self.lines.remove(place)
        {
            line.count += before.count;
            if let Some(Group::Joined(team) | Group::Rose(team, _)) = line.group {
                // Not one of them, but all.
                let (_, does) = line.text.split_once(' ').unwrap_or_default();
                line.text = format!("{}: {} {does}", team_name(scene, team), line.count);
            }
        }
        if self.lines.len() == LINES_MAX {
            self.lines.pop_back();
        }
        self.lines.push_front(line);
    }

    /// Adds words to the talk that they belong to, if there is one.
    fn goes_on(&mut self, units: i128, who: Who, words: &[u8], scene: &Scene) -> bool {
        let goes_on = |line: &Line| {
            line.talk
                .as_ref()
                .is_some_and(|talk| talk.goes_on(units, who.team))
        };
        let Some(place) = self.lines.iter().position(goes_on) else {
            return false;
        };
        if let Some(line) = self.lines.get_mut(place)
            && let Some(talk) = &mut line.talk
        {
            let goes_up = talk.add(units, who, words);
            (line.units, line.agent) = (units, Some(who.agent));
            line.text = talk_in_words(talk, scene);
            if goes_up && let Some(line) = self.lines.remove(place) {
                self.lines.push_front(line);
            }
        }
        true
    }

    /// What is shown was moved back: what happened later has not happened.
    pub(super) fn go_back_to(&mut self, units: i128) {
        self.lines.retain(|line| line.units <= units);
    }

    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        colors: &Colors,
        input: &HudInput<'_>,
        report: &mut Report,
        intents: &mut Vec<Intent>,
    ) {
        let free = ui.ctx().content_rect().bottom() - ui.cursor().top() - AROUND;
        let shown = ((free / LINE_HEIGHT) as usize).min(SHOWN_MAX);
        if shown < SHOWN_LEAST {
            return;
        }
        colors.card().show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.horizontal(|ui| {
                theme::heading(ui, colors, "Events");
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.spacing_mut().item_spacing.x = 3.0;
                    for ((_, name), wanted) in Subject::ALL.iter().zip(&mut self.wanted).rev() {
                        let text = RichText::new(*name).size(10.0);
                        ui.spacing_mut().button_padding = vec2(5.0, 2.0);
                        let response = ui.add(theme::toggle(colors, *wanted, text));
                        report.widget(&format!("feed-{name}"), response.rect);
                        report.state(&format!("feed-{name}"), *wanted);
                        if response.clicked() {
                            *wanted = !*wanted;
                        }
                    }
                });
            });
            let wanted = self.wanted;
            let mut lines = self.lines.iter().filter(|line| {
                let place = Subject::ALL
                    .iter()
                    .position(|(subject, _)| *subject == line.subject());
                place.is_some_and(|place| wanted[place])
            });
            for number in 0..shown {
                let Some(line) = lines.next() else {
                    if number == 0 {
                        ui.label(RichText::new("nothing yet").small().color(colors.weak));
                    }
                    break;
                };
                show_line(ui, colors, line, input, intents);
            }
        });
    }
}

fn show_line(ui: &mut Ui, colors: &Colors, line: &Line, input: &HudInput<'_>, intents: &mut Vec<Intent>) {
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), LINE_HEIGHT - 2.0), Sense::click());
    let painter = ui.painter_at(rect);
    if response.hovered() {
        painter.rect_filled(rect, 3.0, colors.well);
    }
    let sign = egui::pos2(rect.left() + 6.0, rect.center().y);
    icons::event(&painter, sign, 10.0, line.event, line.tint, colors);
    let age = input.scene.clock.game.whole_units() - line.placed_units();
    let age = painter.text(
        egui::pos2(rect.right(), rect.center().y),
        egui::Align2::RIGHT_CENTER,
        format!("{} u ago", grouped(age)),
        egui::FontId::proportional(10.0),
        colors.weak,
    );
    let left = rect.left() + 17.0;
    let small = egui::FontId::proportional(11.0);
    let right = age.left() - 6.0;
    let mut job = directions::job(&line.text, small, colors.text);
    job.break_on_newline = false;
    job.wrap = TextWrapping::truncate_at_width(right - left);
    let text = painter.layout_job(job);
    painter.galley(
        egui::pos2(left, rect.center().y - text.size().y / 2.0),
        text,
        colors.text,
    );
    let response = match &line.talk {
        Some(talk) => said(response, colors, talk),
        None => response,
    };
    if response.clicked() {
        if let Some(agent) = line.agent.and_then(|id| input.scene.agent(id)) {
            intents.push(Intent::Select(Selection::Agent(agent.id)));
            intents.push(Intent::Visit(Vec2::new(agent.x, agent.y)));
        } else if let Some(tile) = line.tile {
            intents.push(Intent::Select(Selection::Tile(tile)));
            intents.push(Intent::Visit(Vec2::new(f32::from(tile.x), f32::from(tile.y))));
        }
    }
}

/// Shows under the pointer what was said, as it came.
fn said(response: Response, colors: &Colors, talk: &Talk) -> Response {
    response.on_hover_ui(|ui| {
        ui.set_max_width(SAID_WIDTH);
        ui.spacing_mut().item_spacing.y = 3.0;
        for (agent, words) in talk.kept() {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                ui.label(
                    RichText::new(format!("#{}", agent.0))
                        .size(10.5)
                        .color(colors.weak),
                );
                let words = RichText::new(speech::line(words, WORDS_FULL))
                    .monospace()
                    .size(10.5);
                ui.add(egui::Label::new(words).wrap());
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_model::{AgentId, Level, TeamId};
    use trantor_time::GameTime;

    #[test]
    fn what_belongs_together_is_one_line() {
        let scene = Scene::default();
        let mut feed = Feed::default();
        let who = |agent| Who {
            agent: AgentId(agent),
            team: TeamId(0),
        };
        let mut tell = |units, kind| {
            let at = GameTime::from_units(units);
            feed.tell(&FeedEntry { at, kind }, &scene);
            let lines = feed.lines.iter().map(|line| (line.text.clone(), line.count));
            lines.collect::<Vec<_>>()
        };
        tell(0, FeedKind::Said(who(1), b"here"[..].into()));
        tell(1, FeedKind::Pushed(who(3)));
        let lines = tell(90, FeedKind::Said(who(2), b"where?"[..].into()));
        let (talks, pushed) = ("team 0 talks · 2 “where?”".to_owned(), "#3 pushed".to_owned());
        assert_eq!(lines, [(pushed.clone(), 1), (talks, 1)], "it keeps its place");
        let lines = tell(301, FeedKind::Said(who(2), b"t1.7.g"[..].into()));
        let talks = "team 0 talks · 3 “where?”".to_owned();
        assert_eq!(lines, [(talks, 1), (pushed, 1)], "and not for ever");
        assert_eq!(
            tell(900, FeedKind::Said(who(1), b"here"[..].into())).len(),
            3,
            "long after"
        );
        let two = Level::new(2).unwrap();
        tell(901, FeedKind::Rose(who(1), two));
        assert_eq!(
            tell(901, FeedKind::Rose(who(2), two))[0],
            ("team 0: 2 reached level 2".to_owned(), 2)
        );
        assert_eq!(
            tell(901, FeedKind::Rose(who(3), two))[0].0,
            "team 0: 3 reached level 2"
        );
        assert_eq!(tell(902, FeedKind::Pushed(who(3))).len(), 5);
        assert_eq!(tell(902, FeedKind::Pushed(who(3))).len(), 6, "a push is a push");
    }

    #[test]
    fn ages_grow_downwards() {
        let scene = Scene::default();
        let mut hud = super::super::Hud::new(false);
        let who = |agent| Who {
            agent: AgentId(agent),
            team: TeamId(0),
        };
        let mut tell = |units, kind| {
            let at = GameTime::from_units(units);
            hud.tell(FeedEntry { at, kind }, &scene);
        };
        tell(0, FeedKind::Said(who(1), b"here"[..].into()));
        tell(1, FeedKind::Pushed(who(3)));
        tell(90, FeedKind::Said(who(2), b"where?"[..].into()));
        tell(95, FeedKind::Won(TeamId(0)));
        let placed: Vec<i128> = hud.feed.lines.iter().map(Line::placed_units).collect();
        assert_eq!(placed, [95, 1, 0]);
        hud.go_back_to(GameTime::from_units(94));
        assert_eq!(hud.feed.lines.len(), 2, "the victory is yet to come");
    }
}
