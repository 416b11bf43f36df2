//! What happened, newest first, for those who looked elsewhere; with filters.

use std::collections::VecDeque;

use egui::text::{LayoutJob, TextWrapping};
use egui::{Align, Color32, Layout, RichText, Sense, Ui, vec2};
use glam::Vec2;
use trantor_client::feed::FeedKind;
use trantor_client::{FeedEntry, Scene};
use trantor_model::{AgentId, TeamId, Tile};

use super::report::Report;
use super::speed::grouped;
use super::theme::{self, Colors, color};
use super::{HudInput, Intent, Selection};
use crate::picture::palette;

/// Lines kept.
const LINES_MAX: usize = 200;
/// Lines shown at once.
const SHOWN: usize = 9;
/// Characters of a broadcast shown.
const WORDS_SHOWN: usize = 42;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Life,
    Ritual,
    Words,
}

impl Subject {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Life, "life"),
        (Self::Ritual, "rituals"),
        (Self::Words, "words"),
    ];
}

#[derive(Debug)]
struct Line {
    units: i128,
    text: String,
    tint: Color32,
    subject: Subject,
    agent: Option<AgentId>,
    tile: Option<Tile>,
}

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
        let team_name = |team: TeamId| {
            scene
                .teams
                .get(usize::from(team.0))
                .map_or_else(|| format!("team {}", team.0), |team| team.name.to_string())
        };
        let (subject, text, team, agent, tile) = match &entry.kind {
            FeedKind::Joined(who) => (
                Subject::Life,
                "hatched".to_owned(),
                Some(who.team),
                Some(who.agent),
                None,
            ),
            FeedKind::Died(who, level) => {
                let text = format!("died at level {}", level.get());
                (Subject::Life, text, Some(who.team), Some(who.agent), None)
            }
            FeedKind::Left(who, _) => (
                Subject::Life,
                "left".to_owned(),
                Some(who.team),
                Some(who.agent),
                None,
            ),
            FeedKind::Said(who, words) => {
                (Subject::Words, said(words), Some(who.team), Some(who.agent), None)
            }
            FeedKind::Pushed(who) => (
                Subject::Life,
                "pushed".to_owned(),
                Some(who.team),
                Some(who.agent),
                None,
            ),
            FeedKind::EggLaid(_, team, tile) => (
                Subject::Life,
                format!("{} laid an egg", team_name(*team)),
                Some(*team),
                None,
                Some(*tile),
            ),
            FeedKind::EggBroken(_, team, tile) => {
                let text = format!("an egg of {} broke", team_name(*team));
                (Subject::Life, text, Some(*team), None, Some(*tile))
            }
            FeedKind::RitualStarted(tile, level, held) => {
                let text = format!("{held} raise level {} to {}", level.get(), level.get() + 1);
                (Subject::Ritual, text, None, None, Some(*tile))
            }
            FeedKind::RitualEnded(tile, level, success) => {
                let how = if *success { "succeeded" } else { "failed" };
                let text = format!("ritual of level {} {how}", level.get());
                (Subject::Ritual, text, None, None, Some(*tile))
            }
            FeedKind::Rose(who, level) => {
                let text = format!("reached level {}", level.get());
                (Subject::Ritual, text, Some(who.team), Some(who.agent), None)
            }
            FeedKind::Won(team) => (
                Subject::Ritual,
                format!("{} wins the game", team_name(*team)),
                Some(*team),
                None,
                None,
            ),
            FeedKind::Started(..) | FeedKind::Refused(..) | FeedKind::Carried(..) => return,
        };
        if self.lines.len() == LINES_MAX {
            self.lines.pop_back();
        }
        let text = match agent {
            Some(agent) => format!("#{} {text}", agent.0),
            None => text,
        };
        self.lines.push_front(Line {
            units: entry.at.whole_units(),
            text,
            tint: team.map_or(color(palette::GOLD), |team| color(palette::team(team))),
            subject,
            agent,
            tile,
        });
    }

    /// A recording was moved back: what happened later has not happened.
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
        colors.card().show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 3.0;
            ui.horizontal(|ui| {
                theme::heading(ui, colors, "Events");
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.spacing_mut().item_spacing.x = 3.0;
                    for ((_, name), wanted) in Subject::ALL.iter().zip(&mut self.wanted).rev() {
                        let text = RichText::new(*name).size(9.5);
                        ui.spacing_mut().button_padding = vec2(5.0, 2.0);
                        let response = ui.add(egui::Button::selectable(*wanted, text));
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
                    .position(|(subject, _)| *subject == line.subject);
                place.is_some_and(|place| wanted[place])
            });
            let height = ui.text_style_height(&egui::TextStyle::Small) + 3.0;
            for number in 0..SHOWN {
                let Some(line) = lines.next() else {
                    if number == 0 {
                        ui.label(RichText::new("nothing yet").small().color(colors.weak));
                    }
                    break;
                };
                show_line(ui, colors, line, height, input, intents);
            }
        });
    }
}

fn show_line(
    ui: &mut Ui,
    colors: &Colors,
    line: &Line,
    height: f32,
    input: &HudInput<'_>,
    intents: &mut Vec<Intent>,
) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::click());
    let painter = ui.painter_at(rect);
    if response.hovered() {
        painter.rect_filled(rect, 3.0, colors.well);
    }
    painter.circle_filled(egui::pos2(rect.left() + 4.0, rect.center().y), 3.0, line.tint);
    let age = input.scene.clock.game.whole_units() - line.units;
    let age = painter.text(
        egui::pos2(rect.right(), rect.center().y),
        egui::Align2::RIGHT_CENTER,
        format!("{} u", grouped(-age)),
        egui::FontId::proportional(9.5),
        colors.weak,
    );
    let left = rect.left() + 13.0;
    let small = egui::FontId::proportional(10.5);
    let mut job = LayoutJob::simple_singleline(line.text.clone(), small, colors.text);
    job.wrap = TextWrapping::truncate_at_width(age.left() - 6.0 - left);
    let text = painter.layout_job(job);
    painter.galley(
        egui::pos2(left, rect.center().y - text.size().y / 2.0),
        text,
        colors.text,
    );
    if response.clicked() {
        if let Some(agent) = line.agent.and_then(|id| input.scene.agent(id)) {
            intents.push(Intent::Select(Selection::Agent(agent.id)));
            intents.push(Intent::LookAt(Vec2::new(agent.x, agent.y)));
        } else if let Some(tile) = line.tile {
            intents.push(Intent::Select(Selection::Tile(tile)));
            intents.push(Intent::LookAt(Vec2::new(f32::from(tile.x), f32::from(tile.y))));
        }
    }
}

/// What somebody said, as far as it fits and can be read.
pub(super) fn said(words: &[u8]) -> String {
    let text = String::from_utf8_lossy(words);
    let mut shown: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(WORDS_SHOWN)
        .collect();
    if text.chars().nth(WORDS_SHOWN).is_some() {
        shown.push('…');
    }
    format!("“{shown}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_and_never_control_the_screen() {
        assert_eq!(said(b"hello"), "“hello”");
        assert_eq!(said(b"a\x07b\nc"), "“a b c”");
        assert_eq!(said(&[0xff, b'x']), "“\u{fffd}x”");
        assert_eq!(said(&[b'x'; 100]).chars().count(), WORDS_SHOWN + 3);
    }
}
