//! Finding an agent by its number or a team by its name.

use egui::{Align2, Area, Context, Id, Key, Order, vec2};
use glam::Vec2;
use trantor_client::SceneAgent;

use super::layout::{EDGE, Plan};
use super::report::Report;
use super::theme::{self, Colors};
use super::{HudInput, directions};
use crate::intent::{Intent, Selection};

/// Agents listed.
const FOUND_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Search {
    text: Option<String>,
    just_opened: bool,
}

impl Search {
    pub(super) fn is_open(&self) -> bool {
        self.text.is_some()
    }

    pub(super) fn toggle(&mut self) {
        self.text = match self.text {
            Some(_) => None,
            None => Some(String::new()),
        };
        self.just_opened = true;
    }

    pub(super) fn show(
        &mut self,
        context: &Context,
        colors: &Colors,
        input: &HudInput<'_>,
        report: &mut Report,
        intents: &mut Vec<Intent>,
    ) {
        let Some(text) = &mut self.text else { return };
        let plan = Plan::new(context.content_rect().size(), input.scene.teams.len());
        let mut chosen = None;
        Area::new(Id::unique("search"))
            .anchor(
                Align2::CENTER_TOP,
                vec2(0.0, if plan.is_wide() { 70.0 } else { EDGE }),
            )
            .order(Order::Foreground)
            .show(context, |ui| {
                colors.upper_card().show(ui, |ui| {
                    ui.set_width(300.0);
                    let field = egui::TextEdit::singleline(text)
                        .hint_text("number of an agent, or name of a team")
                        .desired_width(f32::INFINITY);
                    let response = ui.add(field);
                    report.widget("search-field", response.rect);
                    if self.just_opened {
                        response.request_focus();
                        self.just_opened = false;
                    }
                    let enter = ui.input(|keys| keys.key_pressed(Key::Enter));
                    for (place, agent) in found(input, text).take(FOUND_MAX).enumerate() {
                        ui.horizontal(|ui| {
                            theme::swatch(ui, colors, colors.team(agent.team), 9.0);
                            let team = input.scene.teams.get(usize::from(agent.team.0));
                            let name = team.map_or("", |team| &*team.name);
                            let words = format!("#{} · {name} · level {}", agent.id.0, agent.level.get());
                            let font = egui::TextStyle::Button.resolve(ui.style());
                            let words = directions::job(&words, font, egui::Color32::PLACEHOLDER);
                            let button = ui.add(egui::Button::new(words).frame(false).truncate());
                            if button.clicked() || (enter && place == 0) {
                                chosen = Some(*agent);
                            }
                        });
                    }
                });
            });
        if let Some(agent) = chosen {
            self.text = None;
            intents.push(Intent::Select(Selection::Agent(agent.id)));
            intents.push(Intent::Visit(Vec2::new(agent.x, agent.y)));
        }
    }
}

/// Agents whose number begins so, or whose team's name holds it.
fn found<'a>(input: &HudInput<'a>, text: &str) -> impl Iterator<Item = &'a SceneAgent> {
    let wanted = text.trim().trim_start_matches('#').to_lowercase();
    let teams: Vec<bool> = input
        .scene
        .teams
        .iter()
        .map(|team| team.name.to_lowercase().contains(&wanted))
        .collect();
    let scene = input.scene;
    scene.agents.iter().filter(move |agent| {
        agent.id.0.to_string().starts_with(&wanted)
            || teams.get(usize::from(agent.team.0)).copied().unwrap_or(false)
    })
}
